"""What a call costs beside queries that move or rank: its rows and the changes they cause.

Work is counted by what a call allocates: whoever looks at all objects at once makes an array of
that length, and nothing else in a call of one row is as large.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watchline as wl
from watchline.tracking import ChangeQueries, TimeSpan, Tracker

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    " POINT (x, y) TIMEOUT INTERVAL 1 HOUR"
)
# Objects that queries move with, and others.
FOCALS = 100


def followed(objects: int, queries: int, parts: int) -> Tracker:
    """A tracker of so many objects, all within the unit square, and queries of three kinds."""
    draw = np.random.default_rng(2)
    texts = [CARS]
    for i in range(queries):
        x, y = draw.random(2).tolist()
        clauses = (f"kNN (3, {x!r}, {y!r})", f"kNN ('M', 3, {i % FOCALS})",
                   f"INSIDE ('M', {i % FOCALS}, 1e-9, 1e-9)")  # fmt: skip
        texts.append(f"CREATE QUERY q{i} AS SELECT * FROM cars {clauses[i % 3]}")
    catalog = wl.Catalog.of(texts)
    tracker = Tracker.over(ChangeQueries(catalog, "cars", None), catalog.identity, parts)
    tracker.process(rows(np.arange(objects), 0), TimeSpan(0, 0))
    for turn in range(1, 4):
        one_row(tracker, objects, turn)
    return tracker


def rows(ids: Any, time: int) -> pa.Table:
    x, y = np.random.default_rng(time).random((2, len(ids)))
    times = pa.array(np.full(len(ids), time), pa.timestamp("us", "UTC"))
    return pa.table({"id": ids, "x": x, "y": y, "ts": times})


def one_row(tracker: Tracker, objects: int, time: int) -> None:
    """A row of an object that nobody follows."""
    tracker.process(rows(np.array([objects - 1]), time), TimeSpan(time, time))
    tracker.timeline()


def allocated(objects: int, queries: int, parts: int) -> int:
    """The most bytes that a call of one row had in use beside those of before."""
    tracker = followed(objects, queries, parts)
    tracemalloc.start()
    try:
        found = []
        for time in range(4, 9):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            one_row(tracker, objects, time)
            found.append(tracemalloc.get_traced_memory()[1] - before)
        return min(found)
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 2])
def test_a_row_costs_the_same_beside_more_objects(parts: int) -> None:
    few, many = (allocated(objects, 300, parts) for objects in (1_000, 100_000))
    # One bit for each object would be 12,500 bytes.
    assert many < few + 8_000


def test_queries_that_no_row_is_near_are_not_written() -> None:
    """The stamps of an earlier call stay as they are."""
    tracker = followed(1_000, 300, 1)
    operator = tracker._proximity.operator()
    assert operator is not None
    stamps = operator._operator._queries["stamp"]
    before = stamps.copy()
    one_row(tracker, 1_000, 9)
    assert 0 < np.count_nonzero(stamps != before) < 100


def test_a_timeline_has_the_queries_to_which_something_happened() -> None:
    tracker = followed(1_000, 300, 2)
    tracker.process(rows(np.array([999]), 9), TimeSpan(9, 9))
    timeline = tracker.timeline()
    assert timeline is not None
    assert timeline.queries.num_rows < 20
    assert timeline.rows.num_rows <= timeline.records.num_rows < 60
