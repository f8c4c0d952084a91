"""The slot table of objects against a dict, and the queue of time-outs against a sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from watchline import sql
from watchline.model import Stream
from watchline.rows import row_schema
from watchline.tracking.expiry_queue import ExpiryQueue
from watchline.tracking.object_table import ObjectTable

Row = dict[str, Any]


def declared(kind: str) -> Stream:
    text = (
        f"CREATE STREAM s (id {kind}, x DOUBLE, n BIGINT, name STRING, b BOOLEAN, ts TIMESTAMP)"
        " OBJECT id TIME ts TIMEOUT INTERVAL 10 SECONDS"
    )
    statement = sql.statement(text)
    assert isinstance(statement, sql.CreateStream)
    return statement.stream


def table_of(rows: list[Row], stream: Stream) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=row_schema(stream))


def as_rows(table: pa.Table) -> list[Row]:
    ts = table["ts"].cast(pa.int64())
    return table.set_column(table.column_names.index("ts"), "ts", ts).to_pylist()


IDS = {
    "BIGINT": [0, 1, -1, 2**63 - 1, -(2**63), 7, 8, 9, 10, 11],
    "STRING": ["", "a", "aa", "ä", "🚕", "a\0b", "x" * 300, "b", "c", "d"],
}
TEXTS = ["", "é", "short", "y" * 50, "z" * 999, None]


@st.composite
def rows_of(draw: st.DrawFn, kind: str) -> list[Row]:
    """Rows of different objects."""
    ids = draw(st.lists(st.sampled_from(IDS[kind]), unique=True))
    return [
        {
            "id": object_id,
            "x": draw(st.sampled_from([None, 0.0, -0.0, 5e-324, float("inf"), 1.5])),
            "n": draw(st.sampled_from([None, 0, -(2**63), 2**53 + 1])),
            "name": draw(st.sampled_from(TEXTS)),
            "b": draw(st.sampled_from([None, True, False])),
            "ts": draw(st.integers(-5, 50)),
        }
        for object_id in ids
    ]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("kind", list(IDS))
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_table_is_a_dict(kind: str, ordered: bool, data: st.DataObject) -> None:
    """Whatever is added, written and removed: every object is found, with its latest row."""
    stream = declared(kind)
    table = ObjectTable(stream, ordered)
    known: dict[Any, Row] = {}
    for _ in range(data.draw(st.integers(1, 6))):
        rows = data.draw(rows_of(kind))
        gone = data.draw(st.lists(st.sampled_from(IDS[kind]), unique=True))
        gone = [object_id for object_id in gone if object_id in known]
        kinds = row_schema(stream).field("id").type
        table.remove(table.find(pa.array(gone, kinds)))
        for object_id in gone:
            del known[object_id]
        # Rows of an object never go back in time.
        for r in rows:
            r["ts"] = max(r["ts"], known.get(r["id"], r)["ts"])
        old, new = ([r for r in rows if (r["id"] in known) is side] for side in (True, False))
        table.put(table.find(pa.array([r["id"] for r in old], kinds)), table_of(old, stream))
        table.add(table_of(new, stream))
        known |= {r["id"]: r for r in [*old, *new]}
        assert len(table) == len(known)
        slots = table.find(pa.array(IDS[kind], kinds))
        assert [i for i, s in zip(IDS[kind], slots, strict=True) if s >= 0] == [
            i for i in IDS[kind] if i in known
        ]
        found = as_rows(table.rows())
        assert repr(sorted(found, key=repr)) == repr(sorted(known.values(), key=repr))
        assert table.row_bytes() == table.rows().nbytes
        some = ["name", "b", "ts"]
        assert table.row_bytes(some) == table.rows().select(some).nbytes
        if ordered:
            assert [r["id"] for r in found] == list(known)
        columns = table.columns()
        names = columns.array(stream.attribute("name")).to_pylist()
        assert names == [r["name"] for r in found]
        limit = data.draw(st.integers(-5, 60))
        due = table.take_ids(table.due(limit)).to_pylist()
        assert sorted(due, key=repr) == sorted(
            (i for i, r in known.items() if r["ts"] < limit), key=repr
        )


@pytest.mark.parametrize("kind", list(IDS))
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_base_and_deltas_are_the_table(kind: str, data: st.DataObject) -> None:
    """What was touched since any moment leads from the table of then to that of now."""
    stream = declared(kind)
    kinds = row_schema(stream).field("id").type
    table, copies, touched = ObjectTable(stream), [ObjectTable(stream)], []
    table.touched()
    for _ in range(data.draw(st.integers(1, 5))):
        slots = table.find(pa.array(data.draw(st.lists(st.sampled_from(IDS[kind]))), kinds))
        table.remove(np.unique(slots[slots >= 0]))
        rows = data.draw(rows_of(kind))
        slots = table.find(pa.array([r["id"] for r in rows], kinds))
        made, known = table_of(rows, stream), slots >= 0
        table.put(slots[known], made.filter(pa.array(known)))
        table.add(made.filter(pa.array(~known)))
        touched.append(table.touched())
        copies.append(ObjectTable(stream))
        copies[-1].add(table.rows())
    wanted = repr(sorted(as_rows(table.rows()), key=repr))
    for after, copy in enumerate(copies[:-1]):
        copy.apply(*table.delta(touched[after:])[:2])
        assert repr(sorted(as_rows(copy.rows()), key=repr)) == wanted
        copy.apply(*table.delta(touched[after:])[:2])
        assert repr(sorted(as_rows(copy.rows()), key=repr)) == wanted


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_queue_gives_all_that_are_due(data: st.DataObject) -> None:
    """Slots come up in every call until they report or are removed, and their slots are reused."""
    queue, times = ExpiryQueue(), np.zeros(8, np.int64)
    queue.grow(8)
    alive: dict[int, int] = {}
    limit = 0
    for _ in range(data.draw(st.integers(1, 40))):
        slot, time = data.draw(st.integers(0, 7)), data.draw(st.integers(0, 30))
        if slot not in alive:
            times[slot] = alive[slot] = time
            queue.add(np.array([slot]), np.array([time]))
        elif data.draw(st.booleans()):
            del alive[slot]
            queue.remove(np.array([slot]))
        else:
            # Rows of an object never go back in time.
            times[slot] = alive[slot] = max(time, alive[slot])
        limit = max(limit, data.draw(st.integers(0, 30)))
        assert sorted(queue.due(limit, times).tolist()) == sorted(
            s for s, t in alive.items() if t < limit
        )


def test_a_batch_pays_for_its_own_rows() -> None:
    """One entry of a thousand comes up for each object that is due, and no other is looked at."""
    queue, times = ExpiryQueue(), np.arange(1_000, dtype=np.int64)
    queue.grow(1_000)
    queue.add(np.arange(1_000), times)
    assert queue.due(3, times).tolist() == [0, 1, 2]
    assert queue._count == 997


def test_a_heap_of_texts_is_written_anew_without_old_ones() -> None:
    stream = declared("BIGINT")
    table = ObjectTable(stream)
    row = {"id": 1, "x": 0.0, "n": 0, "name": "", "b": True, "ts": 0}
    table.add(table_of([row], stream))
    for size in range(1, 2_000, 7):
        table.put(np.array([0]), table_of([row | {"name": "x" * size}], stream))
    assert table.rows()["name"].to_pylist() == ["x" * 1_996]
    assert table.nbytes < 100_000
