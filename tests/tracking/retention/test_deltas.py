"""A tracker that keeps some objects only goes on from a base and deltas as it went on itself."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import watchline as wl
from tests.support.effort import seeds
from watchline.tracking import ChangeQueries, Saved, TouchedState

SECOND = 1_000_000
STATEMENTS = [
    """
CREATE STREAM cars (id STRING, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (x, y)
       TIMEOUT INTERVAL 8 SECONDS MAX SPEED 3 RETAIN SIGNIFICANT;
CREATE QUERY west AS SELECT * FROM cars WHERE x < 30 EMIT CHANGES;
CREATE QUERY brief AS SELECT * FROM cars INSIDE (20, 20, 80, 80) FOR INTERVAL 6 SECONDS;
""",
    """
CREATE QUERY convoy AS SELECT * FROM cars INSIDE ('M', 'car 3', 10, 10);
CREATE QUERY near AS SELECT * FROM cars kNN (3, 90, 90);
""",
    "DROP QUERY west; CREATE QUERY east AS SELECT * FROM cars WHERE x >= 80 EMIT CHANGES;",
]
SCHEMA = pa.schema(
    [("id", pa.string()), ("x", pa.float64()), ("y", pa.float64()),
     ("ts", pa.timestamp("us", "UTC"))]
)  # fmt: skip


def rows(draw: random.Random, second: int) -> pa.Table:
    made = [
        {"id": f"car {i}", "x": draw.uniform(0, 100), "y": draw.uniform(0, 100),
         "ts": second * SECOND}
        for i in draw.sample(range(40), 8)
    ]  # fmt: skip
    return pa.Table.from_pylist(made, SCHEMA)


def state_of(tracker: wl.Tracker) -> tuple[Any, ...]:
    """The objects, who holds each, and the lives."""
    table = tracker._objects.rows
    held = tracker._objects.held.tolist()
    kept = sorted(zip(map(str, table.to_pylist()), held, strict=True))
    lives = tracker._queries.lives
    return kept, lives.births, lives.waiting, tracker.counted()


@pytest.mark.parametrize("seed", seeds(range(6)))
def test_a_base_and_deltas_are_the_tracker(seed: int) -> None:
    draw, catalog = random.Random(seed), wl.Catalog.of(STATEMENTS)
    tracker = wl.Tracker(catalog, "cars", 1)
    blobs, notes = [tracker.snapshot()], list[TouchedState]()
    tracker.touched()
    sizes = set()
    for second in range(1, 25):
        if second in (8, 16):
            tracker.advance_to(tracker.version + 1)
        tracker.process(rows(draw, second))
        touched = tracker.touched()
        assert touched is not None
        notes.append(touched)
        blobs.append(tracker.delta([touched]))
        sizes.add(len(tracker))
        for parts in (blobs[1:], [tracker.delta(notes)]):
            saved = Saved.of(blobs[0], catalog.identity, "cars", parts)
            queries = ChangeQueries(catalog, "cars", tracker.version)
            again = wl.Tracker.resume(queries, saved)
            assert state_of(again) == state_of(tracker)
    assert len(sizes) > 5
