"""Joins of two streams with many queries of few shapes, for tests of the engine."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

import watchline as wl

STREAMS = [
    f"CREATE STREAM {name} (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    " POINT (x, y)"
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


def near(count: int) -> list[str]:
    """Queries by distance, some of one length, and of three streams."""
    found = [
        f"CREATE QUERY near{i} AS SELECT * FROM r [ROWS 20], s [ROWS 20]"
        f" WHERE DISTANCE(r, s) < {0.5 * (1 + i % 3)} AND r.y < {0.2 + 0.8 * i / count}"
        for i in range(count)
    ]
    three = "r [ROWS 9], s [ROWS 9], s AS t [ROWS 9]"
    return [
        *found,
        f"CREATE QUERY three AS SELECT * FROM {three}"
        " WHERE DISTANCE(r, s) < 1 AND DISTANCE(s, t) <= 0.5",
    ]


def told(joiner: wl.Joiner, batches: int = 3) -> Counter[Any]:
    found: Counter[Any] = Counter()
    tables = {name: rows(120, i) for i, name in enumerate("rs")}
    for k in range(batches):
        part = {name: of.slice(40 * k, 40) for name, of in tables.items()}
        for row in joiner.process(part).to_pylist():
            found[row["query_id"], row["r_id"], row["s_id"]] += 1
    return found


def digest() -> str:
    """What some hundred queries are told, as a line."""
    found = told(wl.Joiner(wl.Catalog.of([*STREAMS, *many(100), *near(9)]), ["r", "s"]), 1)
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()
