"""The state of the merge of nearest neighbours: its rows by batch, and what it refuses."""

from __future__ import annotations

import pyarrow as pa
import pytest

import watchline as wl
from watchline.errors import InvalidState
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.shard_state import StateRow
from watchline.spark.store import UNFINISHED, MemoryStore
from watchline.spark.tracking.merge_state import KEPT, BatchRows, MergeMemory
from watchline.tracking import ChangeQueries, MergedAnswers, Received, TimeSpan, Tracker

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    " POINT (x, y)"
)


def row(sequence: int, blob: bytes | None) -> StateRow:
    return StateRow(sequence, 0, 2, "catalog", f"token {sequence}", "a file", blob)


@pytest.mark.parametrize("blob", [None, b"", b"\n{}\n"])
def test_a_batch_goes_on_from_the_newest_row_before_it(blob: bytes | None) -> None:
    store = MemoryStore({})
    assert not BatchRows(store, 1, 0).exists
    for batch in (0, 3, 4, 11):
        BatchRows(store, 1, batch).update(row(batch, blob))
    store.write(f"row-1-9.0123{UNFINISHED}", b"torn")
    store.write("row-11-8", b"another target")
    for batch, before in ((1, 0), (3, 0), (4, 3), (5, 4), (10, 4), (11, 4), (12, 11)):
        assert BatchRows(store, 1, batch).get == row(before, blob)
    assert not BatchRows(store, 1, 0).exists


def test_rows_that_no_batch_can_go_back_to_are_deleted() -> None:
    store = MemoryStore({})
    store.write(f"row-2-1.0123{UNFINISHED}", b"torn")
    for batch in range(20):
        BatchRows(store, 2, batch).update(row(batch, b""))
    kept = sorted(int(name.rpartition("-")[2]) for name in store.list())
    assert kept == list(range(20 - KEPT - 1, 20))


def test_there_is_a_memory_where_files_have_a_place() -> None:
    statements, catalog = CatalogRef(statements=(CARS,)), CatalogRef("/a/catalog", "id")
    assert MergeMemory.of(statements, 2, None) is None
    assert MergeMemory.of(statements, 2, "/a/folder") is not None
    assert MergeMemory.of(catalog, 2, None) is not None


def test_a_state_of_another_batch_is_refused() -> None:
    """A shard has sent more than the merge got."""
    catalog = wl.Catalog.of([CARS, "CREATE QUERY k AS SELECT * FROM cars kNN (1, 0, 0)"])
    tracker = Tracker.over(ChangeQueries(catalog, "cars", None), catalog.identity, 2)
    times = pa.array([1], pa.timestamp("us", "UTC"))
    rows = pa.table({"id": [7], "x": [1.0], "y": [2.0], "ts": times})
    tracker.process(rows, TimeSpan(1, 1))
    timeline = tracker.timeline()
    assert timeline is not None
    merged = MergedAnswers(2)
    assert merged.merge([Received(0, 0, timeline)], tracker.stream).queries.to_pylist() == ["k"]
    with pytest.raises(InvalidState, match="put the folder of the state back"):
        merged.merge([Received(0, 2, timeline)], tracker.stream)
