"""The candidates of nearest-neighbour queries, as the merge of all shards keeps them.

A query has a slot from its first candidate to its last, and each candidate a slot of its own with
its object's row. The candidates of one query are linked, so looking up or replacing those of some
queries costs these candidates, however many there are of others.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Integers
from watchline.kernels.buffers import longer_with
from watchline.kernels.compiled import kernel
from watchline.kernels.slots import SlotPool
from watchline.rows import IdTable, one_array, slot_column

_NONE = -1


class Candidates:
    """The candidates of all kNN queries, by query id, and the size of each query's answer.

    `answers` is the number of members of all answers.
    """

    def __init__(self, schema: pa.Schema):
        self.schema = schema
        self.answers = 0
        self._queries, self._rows = SlotPool(), SlotPool()
        self._ids = slot_column(pa.string())
        self._slots = IdTable(self._ids)
        self._first: Integers = np.empty(0, np.int64)
        self._sizes: Integers = np.empty(0, np.int64)
        self._columns = {field.name: slot_column(field.type) for field in schema}
        self._next: Integers = np.empty(0, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def of(self, ids: pa.Array) -> tuple[Integers, pa.Table]:
        """The candidates of these queries: the place in `ids` of each one's query, and its row."""
        owners, slots = _linked(self._first, self._next, self._slots.find(ids))
        return owners, self._take(slots)

    def sizes(self, ids: pa.Array) -> Integers:
        """How many members the answers of these queries have."""
        slots = self._slots.find(ids)
        sizes = np.zeros(len(slots), np.int64)
        sizes[slots >= 0] = self._sizes[slots[slots >= 0]]
        return sizes

    def ids(self) -> pa.Array:
        """The queries that have candidates. Cost: all slots."""
        return self._ids.take(np.flatnonzero(self._first != _NONE))

    def replace(self, ids: pa.Array, sizes: Integers, owners: Integers, rows: pa.Table) -> None:
        """Give each of these queries these candidates in place of those it has; `owners` are the
        places in `ids` of the candidates' queries."""
        slots = self._slots.find(ids)
        known, has = slots != _NONE, np.bincount(owners, minlength=len(ids)) > 0
        _, old = _linked(self._first, self._next, slots)
        for column in self._columns.values():
            column.clear(old)
        self._rows.give(old)
        self.answers -= int(self._sizes[slots[known]].sum())
        self._first[slots[known]] = _NONE
        self._sizes[slots[known]] = 0
        self._leave(slots[known & ~has])
        new = has & ~known
        slots[new] = self._enter(ids.filter(pa.array(new)))
        self._sizes[slots[has]] = sizes[has]
        self.answers += int(sizes[has].sum())
        self._put(slots[owners], rows)
        self._count += len(rows) - len(old)

    def _leave(self, slots: Integers) -> None:
        self._slots.remove(slots)
        self._ids.clear(slots)
        self._queries.give(slots)

    def _enter(self, ids: pa.Array) -> Integers:
        slots = self._queries.take(len(ids))
        if self._queries.room > len(self._first):
            room = self._queries.room
            self._ids.grow(room)
            self._slots.grow(room)
            self._first = longer_with(self._first, room, _NONE)
            self._sizes = longer_with(self._sizes, room, 0)
        self._ids.put(slots, ids)
        self._slots.add(slots, ids)
        return slots

    def _put(self, queries: Integers, rows: pa.Table) -> None:
        slots = self._rows.take(len(rows))
        if self._rows.room > len(self._next):
            for column in self._columns.values():
                column.grow(self._rows.room)
            self._next = longer_with(self._next, self._rows.room, _NONE)
        for name, column in self._columns.items():
            column.put(slots, one_array(rows[name]))
        _link(self._first, self._next, queries, slots)

    def _take(self, slots: Integers) -> pa.Table:
        arrays = [column.take(slots) for column in self._columns.values()]
        return pa.Table.from_arrays(arrays, schema=self.schema)


# --- kernels


@kernel
def _linked(first: Integers, after: Integers, queries: Integers) -> tuple[Integers, Integers]:
    """The places in `queries` and the slots of all candidates of these; -1 is no query."""
    count = 0
    for q in queries:
        slot = first[q] if q != _NONE else np.int64(_NONE)
        while slot != _NONE:
            count += 1
            slot = after[slot]
    owners, slots = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for i in range(len(queries)):
        slot = first[queries[i]] if queries[i] != _NONE else np.int64(_NONE)
        while slot != _NONE:
            owners[count], slots[count] = i, slot
            count += 1
            slot = after[slot]
    return owners, slots


@kernel
def _link(first: Integers, after: Integers, queries: Integers, slots: Integers) -> None:
    """Candidates in these slots, into the lists of their queries."""
    for i in range(len(slots)):
        after[slots[i]] = first[queries[i]]
        first[queries[i]] = slots[i]
