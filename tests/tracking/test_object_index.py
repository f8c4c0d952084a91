"""Queries that come and go find their objects through an index over objects, and find the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import watchline as wl
from tests import reference
from tests.support.effort import examples
from tests.support.scripts import Played, Script
from tests.tracking.test_properties import scripts
from watchline.matching import PartSearch
from watchline.tracking import object_index

LAGGING = {"FOLDED": 1e9, "PATIENCE": 1e9, "NARROW": -1.0}
WAYS = {
    "all orders, lagging": LAGGING,
    "all orders, folded each time": {**LAGGING, "FOLDED": 0.0},
    "one order": {**LAGGING, "FOLDED": 0.5, "NARROW": 1e9},
    "given up and made again": {**LAGGING, "PATIENCE": 0.5},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is used however few objects there are."""
    for name, value in {"LEAST_OBJECTS": 0, "MOST_CANDIDATES": 1e9, **WAYS[request.param]}.items():
        monkeypatch.setattr(object_index, name, value)


@pytest.mark.usefixtures("way")
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts())
def test_openings_and_closings_equal_the_oracle(script: Script) -> None:
    kind, timeout, events = script
    both = Played(kind, timeout)
    for event in events:
        both.play(*event)
    # All that is open closes.
    for name in "abcde":
        both.play("drop", name)
    reference.replay(both.events)


class Cars:
    """A tracker of many objects, and their latest rows."""

    def __init__(self, kind: str, seed: int):
        self.rng = np.random.default_rng(seed)
        self.kind, self.now = kind, 0
        self.catalog = wl.Catalog.of(
            f"CREATE STREAM cars (id {kind}, x DOUBLE, y DOUBLE, speed BIGINT, kind STRING,"
            " ts TIMESTAMP) OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 1 SECOND"
        )
        self.tracker = wl.Tracker(self.catalog, "cars")
        self.latest: dict[Any, dict[str, Any]] = {}

    def move(self, count: int, step: int) -> None:
        """So many objects report, somewhere; `step` microseconds pass."""
        rng = self.rng
        self.now += step
        ids = rng.choice(20_000, count, replace=False)
        x = rng.choice([0.0, -0.0, np.inf, -np.inf, 1e300, 0.25], count)
        x = np.where(rng.random(count) < 0.9, rng.random(count), x)
        names = ids.tolist() if self.kind == "BIGINT" else [f"object {i}" for i in ids]
        kinds = [None if k == 0 else f"kind {k}" for k in rng.integers(0, 300, count)]
        speeds = [None if s == 0 else s for s in rng.integers(0, 1_000, count).tolist()]
        y = [None if v < 0.02 else v for v in rng.random(count).tolist()]
        columns = {"id": names, "x": x, "y": y, "speed": speeds, "kind": kinds}
        columns["ts"] = pa.array([self.now] * count, pa.timestamp("us", "UTC"))
        rows = pa.table(columns)
        self.tracker.process(rows)
        for row in rows.drop_columns("ts").to_pylist():
            self.latest[row["id"]] = {**row, "ts": self.now}
        limit = self.now - 1_000_000
        self.latest = {i: row for i, row in self.latest.items() if row["ts"] >= limit}


KINDS = {
    "x >= 0 AND x < 0.001": lambda r: 0 <= r["x"] < 0.001,
    "x = -0.0": lambda r: r["x"] == 0,
    "kind = 'kind 7' AND y < 0.5": lambda r: r["kind"] == "kind 7" and known(r["y"]) < 0.5,
    "kind IN ('kind 8', 'kind 9', 'nobody')": lambda r: r["kind"] in ("kind 8", "kind 9"),
    "speed = 17": lambda r: r["speed"] == 17,
    "speed >= 990 AND y >= 0.5": lambda r: known(r["speed"], 0) >= 990 and known(r["y"], 0) >= 0.5,
    "x < 0.0005 OR kind = 'kind 3'": lambda r: -np.inf < r["x"] < 0.0005 or r["kind"] == "kind 3",
    "kind IS NULL": lambda r: r["kind"] is None,
}


def known(value: Any, otherwise: Any = 1.0) -> Any:
    return otherwise if value is None else value


@pytest.mark.parametrize("kind", ["BIGINT", "STRING"])
@pytest.mark.parametrize("seed", range(2))
def test_members_of_many_objects(kind: str, seed: int) -> None:
    """Rows with NULL in a used attribute are rejected, so objects come before their queries."""
    cars = Cars(kind, seed)
    cars.move(12_000, 1)
    for turn in range(4):
        for i, (where, holds) in enumerate(KINDS.items()):
            wanted = sorted(str(name) for name, row in cars.latest.items() if holds(row))
            cars.catalog.execute(
                f"CREATE QUERY q{i} AS SELECT * FROM cars WHERE {where} EMIT CHANGES"
            )
            came = cars.tracker.advance_to(cars.catalog.version)
            cars.catalog.execute(f"DROP QUERY q{i}")
            went = cars.tracker.advance_to(cars.catalog.version)
            for changes, sign in ((came, 1), (went, -1)):
                assert sorted(map(str, changes["object_id"].to_pylist())) == wanted, where
                assert set(changes["sign"].to_pylist()) <= {sign}
        # Some move, some time out, and others come in their slots.
        cars.move([500, 5_000, 100, 9_000][turn], [1, 400_000, 700_000, 1][turn])


def test_an_opening_looks_at_few_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted work: the rows that are compared with the query."""
    looked: list[int] = []
    candidates = PartSearch.candidates

    def counting(self: PartSearch, rows: Any) -> Any:
        looked.append(len(rows))
        return candidates(self, rows)

    cars = Cars("BIGINT", 5)
    cars.move(12_000, 1)
    monkeypatch.setattr(PartSearch, "candidates", counting)
    wheres = ["kind = 'kind 5'", "x > 0.5 AND x < 0.501", "id = 12 AND x < 0.5", "speed = 5"]
    for i, where in enumerate(wheres):
        cars.catalog.execute(f"CREATE QUERY q{i} AS SELECT * FROM cars WHERE {where} EMIT CHANGES;")
        cars.tracker.advance_to(cars.catalog.version)
        cars.catalog.execute(f"DROP QUERY q{i}")
        cars.tracker.advance_to(cars.catalog.version)
    assert len(looked) >= len(wheres)
    assert max(looked) < 200
