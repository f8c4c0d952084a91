"""Parts of the join engine that whole joiners do not reach."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watchline as wl
from watchline.tracking.joining import Asked, Plan
from watchline.windowjoin import BitsDirection, Life, probe

STREAMS = [
    f"CREATE STREAM {name} (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    for name in "rs"
]


def rows(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {
        "id": pa.array(np.arange(n)),
        "x": pa.array(rng.integers(0, 9, n).astype(float)),
        "y": pa.array(rng.random(n)),
        "ts": pa.array(np.arange(n)).cast(pa.timestamp("us", "UTC")),
    }
    return pa.table(columns)


def many(count: int) -> list[str]:
    """Queries of few shapes, so that many share one."""
    rng = np.random.default_rng(3)
    return [
        f"CREATE QUERY q{i} AS SELECT * FROM r [ROWS {rng.integers(1, 30)}], s [ROWS 20]"
        f" WHERE r.x {('<', '=')[i % 2]} s.x AND r.y > {rng.random()} AND s.y < {rng.random()}"
        for i in range(count)
    ]


def told(joiner: wl.Joiner, batches: int = 3) -> Counter[Any]:
    found: Counter[Any] = Counter()
    tables = {name: rows(120, i) for i, name in enumerate("rs")}
    for k in range(batches):
        part = {name: of.slice(40 * k, 40) for name, of in tables.items()}
        for row in joiner.process(part).to_pylist():
            found[row["query_id"], row["r_id"], row["s_id"]] += 1
    return found


def test_members_that_need_too_many_bits_are_probed_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = wl.Catalog.of([*STREAMS, *many(500)])
    whole = told(wl.Joiner(catalog, ["r", "s"]))
    monkeypatch.setattr(probe, "MOST_BYTES", 8 * 60)
    assert told(wl.Joiner(catalog, ["r", "s"])) == whole
    assert set(whole.values()) == {1}
    assert len(whole) > 1_000


def test_directions_that_stay_as_they_are_are_not_made_again() -> None:
    catalog = wl.Catalog.of([*STREAMS, *many(6)])
    asked = [Asked.of(i, entry.query) for i, entry in enumerate(catalog.queries().entries.values())]
    made = []

    def build(direction: Any) -> BitsDirection:
        made.append(direction)
        return BitsDirection(direction)

    first = Plan(asked, [Life()] * 6, build)
    assert len(made) == 4
    # One query less: its two directions change, the two of other shape do not.
    Plan(asked[1:], [Life()] * 5, build, first)
    assert len(made) == 6


def test_numbers_of_queries_that_are_gone_are_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watchline.tracking.joiner.SPARE", 2)
    catalog = wl.Catalog.of(STREAMS)
    joiner = wl.Joiner(catalog, ["r", "s"])
    for text in many(40):
        catalog.execute(text.replace("QUERY", "OR REPLACE QUERY").replace(text.split()[2], "only"))
        joiner.advance_to(catalog.version)
        joiner.process({})
    fresh = wl.Joiner(catalog, ["r", "s"])
    assert told(joiner) == told(fresh) != Counter()
    assert joiner.stats()["queries"] == 1
