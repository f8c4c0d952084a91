"""What a call costs follows its rows and the changes that it causes (I5), by counted work.

Work is counted where objects are kept: the slots of columns that a call reads and writes, and the
ids that it looks up. What is written is counted at the store of states. Neither may depend on how
many objects are known or how many queries are registered. Beside queries that move or rank, work is
also counted by the objects of the cells that a query looks at, and by what a call allocates: who
looks at all objects at once makes an array of that length.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watchline as wl
from watchline.proximity import operator
from watchline.rows import IdTable, NumberColumn
from watchline.rows.slot_columns import StringColumn
from watchline.spark import shard_state
from watchline.spark.routing import Shard
from watchline.spark.shard_state import ShardState, StateFiles
from watchline.spark.store import MemoryStore

SECOND = 1_000_000
FEW, MANY = 1_000, 100_000
ROWS = [1, 10, 1_000]
# Of each object, how often a column of it may be read and written in a batch that it reports in.
PASSES = 8
COLUMNS = 6
SCHEMA = pa.schema(
    [("id", pa.string()), ("x", pa.float64()), ("y", pa.float64()), ("n", pa.int64()),
     ("kind", pa.string()), ("ts", pa.timestamp("us", "UTC"))]
)  # fmt: skip
DECLARED = """
CREATE STREAM cars (id STRING, x DOUBLE, y DOUBLE, n BIGINT, kind STRING, ts TIMESTAMP)
       OBJECT id TIME ts TIMEOUT INTERVAL 1 HOUR {retain};
CREATE QUERY middle AS SELECT * FROM cars WHERE x < 50 AND y >= 20 EMIT CHANGES;
CREATE QUERY trucks AS SELECT * FROM cars WHERE kind = 'truck' EMIT CHANGES;
CREATE QUERY short AS SELECT * FROM cars WHERE x < 60 FOR INTERVAL 1 HOUR EMIT CHANGES;
"""


def rows_of(numbers: np.ndarray[Any, Any], second: int) -> pa.Table:
    """The rows of these objects; x and y stand anywhere, but where an object is no chance."""
    draw = np.random.default_rng(second)
    n = len(numbers)
    ids = pa.array([f"car {number:09}" for number in numbers.tolist()])
    kinds = pa.array(np.array(["truck", "van"])[numbers % 2])
    x, y = draw.uniform(0, 100, (2, n))
    ts = pa.array(np.full(n, second * SECOND)).cast(SCHEMA.field("ts").type)
    return pa.table([ids, x, y, numbers, kinds, ts], schema=SCHEMA)


def catalog_of(queries: int, lives: int, retain: str = "") -> wl.Catalog:
    """Some queries by themselves, so many boxes, and so many queries with a life that stays."""
    long = (
        f"CREATE QUERY life{i} AS SELECT * FROM cars WHERE x < {i % 90} FOR INTERVAL 900 HOURS"
        " EMIT CHANGES"
        for i in range(lives)
    )
    catalog = wl.Catalog.of()
    catalog.execute(";\n".join([DECLARED.format(retain=retain), *long]))
    lo = np.random.default_rng(5).uniform(0, 100, (2, queries))
    ids = [f"box{i}" for i in range(queries)]
    width = 100 / np.sqrt(queries)
    catalog.register_boxes("cars", ids, {"x": (lo[0], lo[0] + width), "y": (lo[1], lo[1] + width)})
    return catalog


def tracker_of(catalog: wl.Catalog, known: int) -> wl.Tracker:
    """A tracker that knows so many objects, five of which time out with the next batch."""
    tracker = wl.Tracker(catalog, "cars")
    tracker.process(rows_of(np.arange(10**6, 10**6 + 5), 0))
    tracker.process(rows_of(np.arange(known), 3_599))
    return tracker


class Work:
    """Slots that were read and written, by what did it, and ids that were looked up."""

    def __init__(self) -> None:
        self.slots = 0

    @contextmanager
    def counted(self) -> Iterator[Work]:
        with pytest.MonkeyPatch.context() as patches:
            for of in (NumberColumn, StringColumn):
                for name in ("put", "take", "clear", "numbers", "hashes"):
                    if hasattr(of, name):
                        patches.setattr(of, name, self._counting(getattr(of, name), len))
                patches.setattr(of, "first", self._counting(of.first, int))
            for name in ("find", "add", "remove"):
                patches.setattr(IdTable, name, self._counting(getattr(IdTable, name), len))
            yield self

    def _counting(self, real: Any, size: Any) -> Any:
        def counting(of: Any, first: Any, *more: Any) -> Any:
            self.slots += size(first)
            return real(of, first, *more)

        return counting


class SparkState:
    """The row of a shard in Spark's state store."""

    def __init__(self) -> None:
        self.get: Any = None

    @property
    def exists(self) -> bool:
        return self.get is not None

    def update(self, row: Any) -> None:
        self.get = row


class Shards:
    """The state of one shard, batch by batch: what each batch writes, in bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(shard_state, "INLINE", 64)
        self.store, self.state = MemoryStore(), SparkState()

    def save(self, tracker: wl.Tracker) -> int:
        before = dict(self.store.files)
        kept = ShardState("query", Shard(0, 1), "catalog", StateFiles(self.store), self.state)
        kept.engine()
        kept.save(tracker, tracker.version)
        new = {name: file for name, file in self.store.files.items() if name not in before}
        return sum(map(len, new.values())) + len(str(self.state.get[5]))


def batches(tracker: wl.Tracker, count: int, known: int) -> Iterator[pa.Table]:
    """Batches of so many rows: of known objects, and some of new ones."""
    for i in range(3):
        numbers = np.arange(count) * (known // count)
        numbers[: count // 10] += known + count * (i + 1)
        yield rows_of(np.unique(numbers), 3_602 + i)


@pytest.mark.parametrize("retain", ["", "RETAIN SIGNIFICANT CACHE 1"])
@pytest.mark.parametrize("count", ROWS)
def test_the_work_and_the_bytes_of_a_batch_do_not_follow_the_objects(
    count: int, retain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With time-outs and the end of a life in the first batch."""
    work, written = {}, {}
    for known in (FEW, MANY):
        tracker, shard = tracker_of(catalog_of(50, 20, retain), known), Shards(monkeypatch)
        shard.save(tracker)
        # Its members are read when a life ends: that life goes by itself.
        reasons = tracker.process(rows_of(np.arange(5), 3_601))["reason"].to_pylist()
        assert {"expired", "dropped"} <= set(reasons)
        shard.save(tracker)
        counted, sizes = [], []
        for rows in batches(tracker, count, known):
            with Work().counted() as done:
                tracker.process(rows)
                tracker.summary()
                counted.append(done.slots)
                sizes.append(shard.save(tracker))
        work[known], written[known] = max(counted), max(sizes)
    most = PASSES * COLUMNS * (count + 10)
    assert work[FEW] <= most
    assert work[MANY] <= most
    if count < FEW:
        # Of a thousand objects a thousand rows are a new base.
        assert abs(written[MANY] - written[FEW]) <= 200
    assert written[MANY] <= 3_000 + 200 * count


@pytest.mark.slow
@pytest.mark.parametrize("count", ROWS)
def test_the_work_and_the_bytes_of_a_batch_do_not_follow_the_queries(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lives that stay as they are are not written. A few queries may be searched in another way,
    which reads an attribute more of each row."""
    work, written = {}, {}
    for queries, lives in ((FEW, 20), (MANY, 1_000)):
        tracker = tracker_of(catalog_of(queries, lives), 5_000)
        shard = Shards(monkeypatch)
        shard.save(tracker)
        tracker.process(rows_of(np.arange(5), 3_601))
        shard.save(tracker)
        counted, sizes = [], []
        for rows in batches(tracker, count, 5_000):
            with Work().counted() as done:
                tracker.process(rows)
                tracker.summary()
                counted.append(done.slots)
                sizes.append(shard.save(tracker))
        work[queries], written[queries] = counted, sizes
    assert (np.array(work[MANY]) <= work[FEW]).all()
    assert max(work[FEW]) <= 16 * count
    assert np.abs(np.array(written[FEW]) - written[MANY]).max() <= 200


# Queries with some ten members, or five; a square of side {w} has ten. The focal object reports at
# once.
COMING = {
    "box": "INSIDE (50, 50, 50 + {w}, 50 + {w})",
    "moving box": "INSIDE ('M', '{focal}', {w}, {w})",
    "moving circle": "INSIDE CIRCLE ('M', '{focal}', {w} / 2)",
    "nearest": "kNN (5, 50, 50)",
    "moving nearest": "kNN ('M', 5, '{focal}')",
    "nearest above": "WHERE n > {n} kNN (5, 50, 50)",
    "moving box above": "WHERE n > {n} INSIDE ('M', '{focal}', {w}, {w})",
}


class Looks:
    """How many objects queries may have looked at, by the room for their answers."""

    def __init__(self) -> None:
        self.room = 0

    @contextmanager
    def counted(self) -> Iterator[Looks]:
        real = operator.filled_columns

        def counting(fill: Any, *more: Any) -> Any:
            def noted(columns: list[Any], row: int, at: int) -> tuple[int, int]:
                self.room = max(self.room, len(columns[0]))
                done: tuple[int, int] = fill(columns, row, at)
                return done

            return real(noted, *more)

        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(operator, "filled_columns", counting)
            yield self


@pytest.mark.parametrize("kind", COMING)
def test_a_query_that_comes_and_goes_costs_what_it_opens(kind: str) -> None:
    """With few objects and many, of which as many are near: the version that registers it, the row
    of its focal object, and the version that drops it."""
    slots, allocated = {}, {}
    for known in (FEW, MANY):
        catalog = catalog_of(50, 0, "POINT (x, y)")
        tracker = tracker_of(catalog, known)
        counted = [come_and_go(catalog, tracker, kind, known, turn) for turn in range(6)]
        # The first makes the index over objects, the operator and its values.
        slots[known], allocated[known] = (min(x) for x in zip(*counted[2:], strict=True))
    assert slots[MANY] <= slots[FEW] + 2 * PASSES * COLUMNS
    # One bit for each object would be 12,500 bytes.
    assert allocated[MANY] < allocated[FEW] + 8_000


def come_and_go(
    catalog: wl.Catalog, tracker: wl.Tracker, kind: str, known: int, turn: int
) -> tuple[int, int]:
    """Slots that were read and written while a query came and went, and the most bytes in use."""
    where = {"w": 100 * (10 / known) ** 0.5, "focal": "car 000000007", "n": turn}
    text = f"CREATE QUERY it AS SELECT * FROM cars {COMING[kind].format(**where)}"
    work, looks, most, entered = Work(), Looks(), 0, 0

    def call(of: Any, *given: Any) -> None:
        nonlocal most, entered
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        found = of(*given)
        most = max(most, tracemalloc.get_traced_memory()[1] - before)
        entered += sum(q == "it" for q in found["query_id"].to_pylist())

    tracemalloc.start()
    try:
        with work.counted(), looks.counted():
            catalog.execute(text)
            call(tracker.advance_to, catalog.version)
            call(tracker.process, rows_of(np.array([7]), 3_602 + turn))
            catalog.drop("it")
            call(tracker.advance_to, catalog.version)
    finally:
        tracemalloc.stop()
    assert entered >= 2
    assert looks.room < FEW + 1_024
    return work.slots, most
