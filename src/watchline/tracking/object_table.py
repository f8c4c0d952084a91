"""The latest rows of a tracker's objects, in slots that stay from batch to batch.

Invariant: every object has one slot, `find` gives it, and `time` has the time of its latest row. A
batch looks up its own ids, reads and writes the slots of its own objects, and takes from a queue
those that have timed out. So a call costs what its rows cost, and never what is known; only
`places`, `columns` and `rows` look at all objects.

A slot of an object that is gone is given to the next new object. Retention depends on the order in
which objects came, so a table that is asked to keeps that order (`ordered`); else the order of
`places` is that of the slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.kernels.arrays import Array, Integers, Mask, Small
from watchline.kernels.buffers import longer_with
from watchline.kernels.compiled import kernel
from watchline.model import SPEED, Attribute, Stream, Type
from watchline.rows import (
    Columns,
    IdTable,
    NumberColumn,
    SlotColumn,
    one_array,
    row_schema,
    slot_column,
    taken,
)
from watchline.tracking import object_index
from watchline.tracking.expiry_queue import ExpiryQueue
from watchline.tracking.object_index import ObjectIndex
from watchline.tracking.plan import ChangePlan

LEAST_ROOM = 64


class Touched(NamedTuple):
    """Objects of a table that changed: the slots that were written, and the ids of objects that are
    gone. A slot may have been freed since, and an object may have come back."""

    slots: Integers
    gone: pa.Array


class ObjectTable:
    """Objects of one stream by slot.

    `held` counts, by slot, the queries that hold an object and that a row alone decides; the caller
    keeps it, and where all objects are kept nobody reads it.
    """

    def __init__(self, stream: Stream, ordered: bool = False):
        self.stream = stream
        self._schema = row_schema(stream)
        self.no_rows = self._schema.empty_table()
        self._columns = {field.name: slot_column(field.type) for field in self._schema}
        self._declared = list(self._columns.values())
        # What each column has.
        self._attributes = stream.attributes
        self._ids = IdTable(self._columns[stream.object])
        self._queue = None if stream.timeout is None else ExpiryQueue()
        self.held: Integers = np.zeros(0, np.int64)
        self._alive: Mask = np.zeros(0, np.bool_)
        self._marks: Small = np.zeros(0, np.int32)
        self._order: Integers | None = np.empty(0, np.int64) if ordered else None
        # Slots from here on were never used.
        self._used = 0
        self._free: list[Integers] = []
        self._count = 0
        # What changed since `touched` was last called; None as long as nobody asks.
        self._written: list[Integers] | None = None
        self._gone: list[pa.Array] = []
        # Made when candidates are first asked for.
        self._index: ObjectIndex | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def times(self) -> Integers:
        """The time of the latest row, by slot."""
        column = self._columns[self.stream.time]
        assert isinstance(column, NumberColumn)
        return column.values

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        own = (self.held, self._alive, self._marks)
        total = sum(int(array.nbytes) for array in own) + self._ids.nbytes
        total += 0 if self._queue is None else self._queue.nbytes
        total += 0 if self._index is None else self._index.nbytes
        return total + sum(column.nbytes for column in self._columns.values())

    def row_bytes(self, names: Iterable[str] | None = None) -> int:
        """The bytes of all rows, or of these attributes of them, as Arrow counts them: a number
        that follows from the rows alone, so that it is the same after a restore, and however rows
        are cut into batches. No row is looked at."""
        columns = self._declared if names is None else [self._columns[n] for n in names]
        return sum(column.row_bytes(self._count) for column in columns)

    # --- SPEED

    @property
    def keeps_speeds(self) -> bool:
        """Whether the SPEED of the latest rows is kept, in a column behind those of the stream."""
        return len(self._attributes) > len(self.stream.attributes)

    def keep_speeds(self) -> None:
        """Keep the SPEED of rows that come from now on; that of the latest rows is not known."""
        if not self.keeps_speeds:
            column = slot_column(pa.float64())
            column.grow(self.room)
            places = self.places()
            column.put(places, pa.nulls(len(places), pa.float64()))
            self._columns[SPEED.name] = column
            self._attributes = (*self._attributes, SPEED)

    def speeds(self, slots: Integers) -> pa.Array:
        """The SPEED of these slots, where it is kept."""
        return self._columns[SPEED.name].take(slots)

    def saved(self, slots: Integers) -> pa.Table:
        """The rows of these slots for a state: with their SPEED, where it is kept."""
        rows = self.take(slots)
        return rows.append_column(SPEED.name, self.speeds(slots)) if self.keeps_speeds else rows

    # --- some objects

    def find(self, ids: pa.Array) -> Integers:
        """The slot of each of these objects, -1 for those that are not known."""
        return self._ids.find(ids)

    def due(self, limit: int) -> Integers:
        """The slots of the objects whose latest rows are older than this."""
        return np.empty(0, np.int64) if self._queue is None else self._queue.due(limit, self.times)

    def distinct(self, slots: Integers) -> tuple[Integers, Integers]:
        """Each of these slots once, by first appearance, and the place of each there; for -1 it is
        -1."""
        return _distinct(slots, self._marks)

    def take(self, slots: Integers) -> pa.Table:
        """The rows of these slots."""
        arrays = [column.take(slots) for column in self._declared]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def take_ids(self, slots: Integers) -> pa.Array:
        """The ids of the objects in these slots."""
        return self._columns[self.stream.object].take(slots)

    @property
    def room(self) -> int:
        """How many slots there may be before the table grows."""
        return len(self._alive)

    def is_alive(self, slots: Integers) -> Mask:
        """Which of these slots have an object."""
        return self._alive[slots]

    def slot_column(self, attribute: Attribute) -> SlotColumn:
        """The values of an attribute by slot."""
        return self._columns[attribute.name]

    def members(self, queries: ChangePlan) -> tuple[Integers, Integers]:
        """Slots, and the numbers of the queries that their rows satisfy, as far as a row alone
        decides. Cost: the candidates that an index over the objects finds, and the rows since it
        was last asked; all objects where there is no narrow condition."""
        slots = None
        if len(self) >= object_index.LEAST_OBJECTS:
            if self._index is None:
                self._index = ObjectIndex(self)
            own_id = self.stream.attribute(self.stream.object)
            slots = self._index.candidates(queries.plan, own_id)
        columns = self.columns() if slots is None else _TableColumns(self, slots)
        rows, numbers = queries.members(columns)
        return (self.places() if slots is None else slots)[rows], numbers

    # --- changes

    def put(self, slots: Integers, rows: pa.Table) -> None:
        """The latest rows of known objects."""
        self.put_some(slots, Columns(rows, self.stream), None)

    def put_some(self, slots: Integers, columns: Columns, places: Integers | None) -> None:
        """The latest rows of known objects are those at these places of a batch; None are all."""
        for attribute, column in zip(self._attributes, self._columns.values(), strict=True):
            column.put(slots, columns.array(attribute), places)
        if self._written is not None:
            self._written.append(slots)
        if self._index is not None and not self._index.note(slots):
            self._index = None

    def hold(self, slots: Integers, held: Integers) -> None:
        """So many queries hold these objects."""
        if self._written is not None:
            self._written.append(slots[self.held[slots] != held])
        self.held[slots] = held

    def add(self, rows: pa.Table) -> Integers:
        """The slots of new objects, each of which has one row."""
        return self.add_some(Columns(rows, self.stream), None)

    def add_some(self, columns: Columns, places: Integers | None) -> Integers:
        """The slots of new objects, which have the rows at these places of a batch, each one; None
        are all."""
        slots = self._new_slots(len(columns) if places is None else len(places))
        self.put_some(slots, columns, places)
        ids = columns.array(self.stream.attribute(self.stream.object))
        self._ids.add(slots, ids if places is None else taken(ids, places))
        if self._queue is not None:
            self._queue.add(slots, self.times[slots])
        self._alive[slots] = True
        self.held[slots] = 0
        self._count += len(slots)
        if self._order is not None:
            self._order = np.concatenate([self._order, slots])
        return slots

    def remove(self, slots: Integers) -> None:
        """Objects are gone, and their slots are free."""
        if not len(slots):
            return
        if self._written is not None:
            self._gone.append(self.take_ids(slots))
        self._ids.remove(slots)
        if self._queue is not None:
            self._queue.remove(slots)
        self._alive[slots] = False
        for column in self._columns.values():
            column.clear(slots)
        self._count -= len(slots)
        self._free.append(slots)
        if self._order is not None:
            self._order = self._order[self._alive[self._order]]

    def _new_slots(self, count: int) -> Integers:
        found = [np.empty(0, np.int64)]
        missing = count
        while missing and self._free:
            last = self._free.pop()
            found.append(last[:missing])
            if len(last) > missing:
                self._free.append(last[missing:])
            missing -= len(found[-1])
        if self._used + missing > len(self._alive):
            self._grow(max(LEAST_ROOM, 2 * len(self._alive), self._used + missing))
        found.append(np.arange(self._used, self._used + missing))
        self._used += missing
        return np.concatenate(found)

    def _grow(self, room: int) -> None:
        for column in self._columns.values():
            column.grow(room)
        self._ids.grow(room)
        if self._queue is not None:
            self._queue.grow(room)
        self.held = longer_with(self.held, room, 0)
        self._marks = longer_with(self._marks, room, 0)
        self._alive = longer_with(self._alive, room, 0)

    # --- what changed

    def touched(self) -> Touched:
        """What changed since this was last called. The first call begins to take notes."""
        slots, gone = self._written or [], self._gone
        self._written, self._gone = [], []
        kind = self._columns[self.stream.object].kind
        return Touched(
            np.concatenate([np.empty(0, np.int64), *slots]),
            pa.concat_arrays([pa.array([], kind), *gone]),
        )

    def delta(self, touched: Sequence[Touched]) -> tuple[pa.Table, pa.Array, Integers]:
        """The rows that touched objects have now, the ids of those that are gone, and how many
        queries hold each of the former."""
        slots = np.unique(np.concatenate([of.slots for of in touched]))
        slots = slots[self._alive[slots]]
        gone = pa.concat_arrays([of.gone for of in touched]).unique()
        return self.saved(slots), gone.filter(pa.array(self.find(gone) < 0)), self.held[slots]

    def apply(self, rows: pa.Table, gone: pa.Array) -> Touched:
        """Take over a delta: what it touched, the slots in the order of the rows."""
        slots = self.find(gone)
        self.remove(slots[slots >= 0])
        slots = self.find(one_array(rows[self.stream.object]))
        known = slots >= 0
        self.put(slots[known], rows.filter(pa.array(known)))
        slots[~known] = self.add(rows.filter(pa.array(~known)))
        return Touched(slots, gone)

    # --- all objects

    def places(self) -> Integers:
        """The slots of all objects. Cost: all slots."""
        if self._order is not None:
            return self._order
        return np.flatnonzero(self._alive[: self._used])

    def rows(self) -> pa.Table:
        """The rows of all objects, in the order of `places`."""
        return self.take(self.places())

    def columns(self) -> Columns:
        """The rows of all objects, for conditions; only attributes that are read cost anything."""
        if self._count == self._used and self._order is None:
            return _TableColumns(self, None)
        return _TableColumns(self, self.places())

    def columns_at(self, slots: Integers) -> Columns:
        """The rows of these slots, for conditions."""
        return _TableColumns(self, slots)

    def numbers(self, name: str, slots: Integers) -> Array | None:
        """A numeric attribute of these slots as `Columns.values` has it; None if it has texts."""
        column = self._columns[name]
        return column.numbers(slots) if isinstance(column, NumberColumn) else None

    def column(self, name: str, slots: Integers | None) -> pa.Array:
        """An attribute of these slots; None are all slots in their order, without a copy."""
        column = self._columns[name]
        return column.first(self._used) if slots is None else column.take(slots)


class _TableColumns(Columns):
    """The attributes of all objects, each read when it is first asked for."""

    def __init__(self, table: ObjectTable, slots: Integers | None):
        super().__init__(table.no_rows, table.stream)
        self._table, self._slots = table, slots

    def __len__(self) -> int:
        return len(self._table) if self._slots is None else len(self._slots)

    def array(self, attribute: Attribute) -> pa.Array:
        if attribute.name not in self._arrays:
            array = self._table.column(attribute.name, self._slots)
            if attribute.type is Type.TIMESTAMP:
                array = array.cast(pa.int64())
            self._arrays[attribute.name] = array
        return self._arrays[attribute.name]

    def values(self, attribute: Attribute) -> npt.NDArray[np.generic]:
        name = attribute.name
        if self._slots is not None and name not in self._values:
            found = self._table.numbers(name, self._slots)
            if found is not None:
                self._values[name] = found
        return super().values(attribute)

    def take(self, rows: Integers) -> Columns:
        return _TableColumns(self._table, rows if self._slots is None else self._slots[rows])


@kernel
def _distinct(slots: Integers, marks: Small) -> tuple[Integers, Integers]:
    """`marks` is all zero, before and after."""
    places, found = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    n = 0
    for i in range(len(slots)):
        s = slots[i]
        if s < 0:
            places[i] = -1
            continue
        if not marks[s]:
            found[n] = s
            n += 1
            marks[s] = n
        places[i] = marks[s] - 1
    for i in range(n):
        marks[found[i]] = 0
    return found[:n].copy(), places
