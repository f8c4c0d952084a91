"""The objects of a tracker: the latest row of each, and how many queries hold it.

All access to objects goes through `Objects`. A tracker that is one of several shards has its own
objects and, of the other shards, only those that some query moves with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Integers, Mask
from watchline.model import Stream
from watchline.rows import Columns, row_schema
from watchline.tracking.object_table import ObjectTable, Touched

# Rows of a batch are referred to by this number plus their place, see `RowSource`.
WORKING = 1 << 40


class TouchedObjects(NamedTuple):
    """The objects of a tracker that changed: its own, and those of other shards."""

    own: Touched
    others: Touched


class Objects:
    """The objects of one shard of a stream.

    `own` are its own objects, `others` the focal objects that other shards own. `newest` is the
    newest time of the stream. Retention takes all own objects in the order in which they came: a
    *place* is a number in that order.
    """

    def __init__(self, stream: Stream):
        self.clear(stream)

    def clear(self, stream: Stream) -> None:
        """No objects of this stream, and nothing seen."""
        self.stream = stream
        self._no_rows = row_schema(stream).empty_table()
        # Shedding decides ties by the order in which objects came.
        retention = stream.retention
        self._are_ordered = retention is not None and retention.sheds is not None
        self.own = ObjectTable(stream, ordered=self._are_ordered)
        self.others = ObjectTable(stream)
        # Whether the next state has to be a whole one.
        self._is_new = True
        # Not known after a restore from a state that did not count who holds objects.
        self.is_held_known = True
        self.newest: int | None = None

    def __len__(self) -> int:
        return len(self.own)

    def no_rows(self) -> pa.Table:
        """A table of the stream's columns without rows."""
        return self._no_rows

    # --- SPEED

    @property
    def keeps_speeds(self) -> bool:
        """Whether the SPEED of latest rows is kept. It is from when a query first asks for it, also
        after that query is gone, so that a state says whether it is."""
        return self.own.keeps_speeds

    def keep_speeds(self) -> None:
        """A query asks for SPEED; that of the latest rows is not known, if it was not kept."""
        self.own.keep_speeds()
        self.others.keep_speeds()

    # --- all own objects, by their places

    @property
    def rows(self) -> pa.Table:
        """The rows of own objects."""
        return self.own.rows()

    def columns(self) -> Columns:
        """The rows of own objects, for conditions."""
        return self.own.columns()

    def ids(self) -> pa.Array:
        """The ids of own objects."""
        return self.own.take_ids(self.own.places())

    @property
    def held(self) -> Integers:
        """How many queries hold each own object."""
        return self.own.held[self.own.places()]

    @property
    def nbytes(self) -> int:
        """The bytes of own rows, which follow from the rows alone."""
        return self.own.row_bytes()

    def set_held(self, held: Integers) -> None:
        """So many queries hold each own object now."""
        self.own.hold(self.own.places(), held)
        self.is_held_known = True

    def keep(self, kept: Mask) -> None:
        """Keep these of the own objects."""
        self.own.remove(self.own.places()[~kept])

    def add(self, rows: pa.Table, held: Integers) -> Integers:
        """The slots of more own objects, each held by so many queries."""
        slots = self.own.add(rows)
        self.own.held[slots] = held
        return slots

    # --- state

    def every_row(self) -> pa.Table:
        """The rows of own objects, and then those of others."""
        tables = [table.saved(table.places()) for table in (self.own, self.others)]
        return pa.concat_tables(tables)

    def held_table(self) -> pa.Table:
        """How many queries hold each own object, for a state."""
        return pa.table({"held": self.held.astype(np.int32)})

    def take_over(self, every: pa.Table, others: int, newest: int | None) -> None:
        """The objects of a state, the last of which are others'. Who holds them is not known."""
        self._keep_speeds_of(every)
        count = every.num_rows - others
        slots = self.own.add(every.slice(0, count))
        self.own.held[slots] = 1
        self.others.add(every.slice(count))
        self.newest, self.is_held_known = newest, False

    def _keep_speeds_of(self, rows: pa.Table) -> None:
        """Keep SPEED if it was kept when the state of these rows was written."""
        if len(rows.schema) > len(self._no_rows.schema):
            self.keep_speeds()

    def touched(self) -> TouchedObjects | None:
        """What changed since this was last called; None if all may have. Where there is a bound a
        state is always a whole one, because it has the order of objects in it."""
        own, others = self.own.touched(), self.others.touched()
        is_new, self._is_new = self._is_new, False
        return None if is_new or self._are_ordered else TouchedObjects(own, others)

    def delta(self, touched: Sequence[TouchedObjects]) -> list[pa.Table]:
        """What touched objects are now, for `apply`; where not all are kept, also who holds them,
        as nobody counts that again."""
        rows, gone, held = self.own.delta([of.own for of in touched])
        other_rows, other_gone, _ = self.others.delta([of.others for of in touched])
        tables = [rows, pa.table({"id": gone}), other_rows, pa.table({"id": other_gone})]
        if self.stream.retention is not None:
            tables.append(pa.table({"held": held.astype(np.int32)}))
        return tables

    def apply(self, tables: Sequence[pa.Table], newest: int | None) -> TouchedObjects:
        """Take over a delta: what it touched."""
        rows, gone, other_rows, other_gone, *held = tables
        self.newest = newest
        self._keep_speeds_of(rows)
        own = self.own.apply(rows, gone["id"].combine_chunks())
        if held:
            self.own.hold(own.slots, held[0]["held"].to_numpy().astype(np.int64))
        return TouchedObjects(own, self.others.apply(other_rows, other_gone["id"].combine_chunks()))

    def take_over_held(self, table: pa.Table) -> None:
        """The counts of a state that has them."""
        self.set_held(table["held"].to_numpy().astype(np.int64))


class RowSource(NamedTuple):
    """Rows by their references: `s` is the latest row of the own object in slot s, `-2 - s` that of
    the object in slot s of the others, `WORKING + i` row i of `working`; -1 is nobody's.

    Objects that do not report in a batch are thereby never copied for it.
    """

    objects: Objects
    working: pa.Table

    def take(self, references: Integers) -> pa.Table:
        """The rows of references that are sorted, none of which is -1."""
        first, last = np.searchsorted(references, [0, WORKING])
        parts = (
            self.objects.others.take(-2 - references[:first]) if first else None,
            self.objects.own.take(references[first:last]) if last > first else None,
            self.working.take(pa.array(references[last:] - WORKING)),
        )
        return pa.concat_tables([part for part in parts if part is not None])

    def with_rows(self, references: Integers) -> tuple[pa.Table, Integers]:
        """The working rows and, after them, the other rows that these references mean; and where
        each reference is there."""
        places = references - WORKING
        outside = np.flatnonzero(places < 0)
        if not len(outside):
            return self.working, places
        used, where = np.unique(references[outside], return_inverse=True)
        places[outside] = self.working.num_rows + where
        return pa.concat_tables([self.working, self.take(used)]), places


def other_references(slots: Integers) -> Integers:
    """The references of the latest rows of others' objects."""
    return -2 - slots
