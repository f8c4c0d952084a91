"""The rows of a batch in order, each linked with its object's row before it, as moves."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.kernels.arrays import Integers
from watchline.kernels.compiled import inner, kernel
from watchline.model import SPEED, Attribute, Stream
from watchline.proximity import FIRST, ROW, TIMEOUT
from watchline.rows import Columns, one_array, sequence
from watchline.tracking.object_table import ObjectTable
from watchline.tracking.ranges import Moves
from watchline.tracking.speeds import speeds_of

# Of a stream without time-outs.
NO_TIMEOUT = -1


class BatchObjects(NamedTuple):
    """The objects that a batch is about, by *code*. The first codes are of known objects, whose
    latest rows are in the `slots` of a source and, as columns, in `known`; the others are of
    objects that are `new`, by their ids. `codes` has the object of each row of the batch."""

    source: Union[ObjectTable, pa.Table]
    known: Columns
    slots: Integers
    new: pa.Array
    codes: Integers

    @staticmethod
    def of_table(
        table: ObjectTable, batch: Columns, newest: int | None, more: Integers
    ) -> BatchObjects:
        """The objects of a table that report, or have timed out when this is the newest time, and
        those in the slots `more`."""
        ids = batch.array(table.stream.attribute(table.stream.object))
        slots = [more, table.find(ids)]
        if newest is not None and table.stream.timeout is not None:
            slots.insert(1, table.due(back(newest, table.stream.timeout)))
        known, places = table.distinct(np.concatenate(slots))
        codes = places[len(places) - len(ids) :]
        new, codes = _coded(ids, codes, len(known))
        return BatchObjects(table, table.columns_at(known), known, new, codes)

    @staticmethod
    def of_rows(rows: pa.Table, batch: pa.Table, stream: Stream) -> BatchObjects:
        """All objects of these rows, of which each has one."""
        known = rows.num_rows
        ids = [table[stream.object].combine_chunks() for table in (rows, batch)]
        coded = pa.concat_arrays(ids).dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int64)[known:]
        new = coded.dictionary[known:]
        return BatchObjects(rows, Columns(rows, stream), np.arange(known), new, codes)

    def rows(self) -> pa.Table:
        """The latest row of each known object."""
        return self.source if isinstance(self.source, pa.Table) else self.source.take(self.slots)


def _coded(ids: pa.Array, codes: Integers, known: int) -> tuple[pa.Array, Integers]:
    """The ids that have no code, each once, and codes for all."""
    unknown = codes < 0
    if not unknown.any():
        return ids[:0], codes
    coded = ids.filter(pa.array(unknown)).dictionary_encode()
    codes[unknown] = known + coded.indices.to_numpy()
    return coded.dictionary, codes


class LinkedRows:
    """The rows of a batch, each with its object's row before it; nothing of the tracker is touched.

    All rows are numbered: the latest of each known object, then the batch's. A move is from a row
    to a row, or to none where the object times out; its changes show the row `shown`.
    """

    def __init__(
        self,
        objects: BatchObjects,
        batch: Columns,
        stream: Stream,
        before: int | None,
        newest: int | None,
    ):
        self._timeout = stream.timeout
        self.objects, self.batch, self.known = objects, batch, len(objects.slots)
        self.count = self.known + len(objects.new)
        self.columns: Columns = _LinkedColumns(objects.known, batch, stream)
        times: Any = self.columns.values(stream.attribute(stream.time))
        self.times: Integers = times
        self.codes = np.concatenate([np.arange(self.known), objects.codes])
        self.order = self._in_order(before)
        self._link(newest)

    @cached_property
    def rows(self) -> pa.Table:
        """All rows as a table. Most batches do without it, because few of their rows are shown; it
        must be asked for before the batch is committed."""
        return both_tables(self.objects.rows(), self.batch.table)

    def derive_speeds(self, stream: Stream) -> None:
        """Give the batch's rows their SPEED, for conditions and for the table of objects. It must
        be asked for before conditions are."""
        speeds = speeds_of(self.columns, stream, self.times, self.moves)
        self.batch.derive(SPEED, pa.array(speeds[self.known :]))

    def rows_for(self, places: Integers) -> tuple[pa.Table, Integers]:
        """A table that has these of all rows, and their places there."""
        if len(places) and places.min() >= self.known:
            return self.batch.table, places - self.known
        return self.rows, places

    @cached_property
    def ranks(self) -> Integers:
        """Rows of one object at one moment count by their attributes, not by their places: each
        row's place in the order, and 0 for those that are late or of before."""
        ranks = np.zeros(len(self.times), dtype=np.int64)
        ranks[self.order] = np.arange(1, len(self.order) + 1)
        return ranks

    def _in_order(self, newest: int | None) -> Integers:
        """The batch's rows that are not late, as places among all rows, by object and time."""
        known, batch = self.known, self.batch.table
        mine, times = self.codes[known:], self.times[known:]
        least = FIRST
        if self._timeout is not None and newest is not None:
            least = int(back(newest, self._timeout))
        late = _late(self.times, self.codes, known, least)
        self.late = len(late)
        if not self.late:
            return known + sequence(mine, times, batch)
        kept = np.ones(len(mine), np.bool_)
        kept[late] = False
        chosen = np.flatnonzero(kept)
        batch = batch.take(pa.array(chosen))
        return known + chosen[sequence(mine[chosen], times[chosen], batch)]

    def _link(self, newest: int | None) -> None:
        """Each row's row before it; which rows are their object's last; who has timed out."""
        timeout = NO_TIMEOUT if self._timeout is None else self._timeout
        # Without a newest time nothing can have timed out.
        limit = FIRST if newest is None else int(back(newest, max(timeout, 0)))
        old, new, self.shown, self.when, self.kind, self.kept, self.expired = _linked(
            self.codes, self.times, self.order, self.known, self.count, timeout, limit
        )
        self.moves = Moves(old, new)

    def commit(self, table: ObjectTable, kept: Integers, held: Integers) -> Integers:
        """Write the latest rows `kept` of objects into their table, each held by so many queries;
        all other known objects of the batch are gone. The slot of each row that was written."""
        slots, gone, changed, changed_at, new, new_at = _written(
            kept, self.codes, self.known, self.objects.slots
        )
        table.remove(gone)
        if len(changed):
            table.put_some(changed, self.batch, changed_at)
        if len(new):
            slots[new] = table.add_some(self.batch, new_at)
        table.hold(slots, held)
        return slots


class _LinkedColumns(Columns):
    """The columns of known objects' latest rows, and then those of a batch."""

    def __init__(self, known: Columns, batch: Columns, stream: Stream):
        super().__init__(batch.table, stream)
        self._both = known, batch

    def __len__(self) -> int:
        return sum(map(len, self._both))

    def array(self, attribute: Attribute) -> pa.Array:
        if attribute.name not in self._arrays:
            arrays = [columns.array(attribute) for columns in self._both]
            self._arrays[attribute.name] = pa.concat_arrays(arrays)
        return self._arrays[attribute.name]

    def values(self, attribute: Attribute) -> npt.NDArray[np.generic]:
        if attribute.name not in self._values:
            values = [columns.values(attribute) for columns in self._both]
            self._values[attribute.name] = np.concatenate(values)
        return self._values[attribute.name]


@kernel
def _late(times: Integers, codes: Integers, known: int, least: int) -> Integers:
    """The places in a batch of the rows that are older than their object's latest row, or than
    this; the batch's rows stand behind those of known objects."""
    found, n = np.empty(len(times) - known, np.int64), 0
    for i in range(known, len(times)):
        is_late = times[i] < least
        if codes[i] < known:
            is_late |= times[i] < times[codes[i]]
        found[n] = i - known
        n += is_late
    return found[:n].copy()


@kernel
def _linked(
    codes: Integers,
    times: Integers,
    order: Integers,
    known: int,
    count: int,
    timeout: int,
    limit: int,
) -> tuple[Integers, Integers, Integers, Integers, Integers, Integers, Integers]:
    """The moves of rows in order: old row, new row, the row shown, the time and the kind. First one
    for each row; then, of objects that timed out, those that reported again and the others. And the
    latest rows of all objects that have not timed out when the rows that count are of `limit` or
    later, and of those that have."""
    n = len(order)
    old = np.empty(2 * n + count, np.int64)
    latest = np.full(count, -1)
    for c in range(known):
        latest[c] = c
    gone = 0
    for i in range(n):
        row = order[i]
        c = codes[row]
        before = latest[c]
        latest[c] = row
        if timeout >= 0 and before >= 0 and times[before] < _back(times[row], timeout):
            # The places behind the rows are of those that time out.
            old[n + gone] = before
            gone += 1
            before = -1
        old[i] = before
    expired, kept, last = np.empty(count, np.int64), np.empty(count, np.int64), 0
    m = 0
    for c in range(count):
        if latest[c] < 0:
            continue
        if timeout >= 0 and times[latest[c]] < limit:
            old[n + gone + m] = latest[c]
            expired[m] = latest[c]
            m += 1
        else:
            kept[last] = latest[c]
            last += 1
    total = n + gone + m
    new, shown = np.full(total, -1), np.empty(total, np.int64)
    when, kind = np.empty(total, np.int64), np.full(total, TIMEOUT)
    for i in range(n):
        new[i] = shown[i] = order[i]
        when[i], kind[i] = times[order[i]], ROW
    for i in range(n, total):
        shown[i], when[i] = old[i], times[old[i]] + timeout
    return old[:total].copy(), new, shown, when, kind, kept[:last].copy(), expired[:m].copy()


@kernel
def _written(
    kept: Integers, codes: Integers, known: int, slots: Integers
) -> tuple[Integers, Integers, Integers, Integers, Integers, Integers]:
    """Where the latest rows `kept` of objects are written. The slot of each, -1 for new objects;
    the slots of known objects that are gone; the slots of those that reported, and the places of
    their rows in the batch; which of the rows are of new objects, and the places of these."""
    n = len(kept)
    found, is_gone = np.full(n, -1), np.ones(known, np.bool_)
    changed, changed_at = np.empty(n, np.int64), np.empty(n, np.int64)
    new, new_at = np.empty(n, np.int64), np.empty(n, np.int64)
    changes, news = 0, 0
    for i in range(n):
        c, place = codes[kept[i]], kept[i] - known
        if c >= known:
            new[news], new_at[news] = i, place
            news += 1
            continue
        found[i], is_gone[c] = slots[c], False
        if place >= 0:
            changed[changes], changed_at[changes] = slots[c], place
            changes += 1
    return (
        found,
        slots[is_gone],
        changed[:changes].copy(),
        changed_at[:changes].copy(),
        new[:news].copy(),
        new_at[:news].copy(),
    )


@inner
def _back(time: Any, interval: Any) -> Any:
    """`back` for kernels."""
    return max(time, FIRST + interval) - interval


def back(times: Any, interval: int) -> Any:
    """So much earlier, but not before the first moment there is."""
    return np.maximum(times, FIRST + interval) - interval


def both_tables(objects: pa.Table, batch: pa.Table) -> pa.Table:
    """Both tables, each column in one piece."""
    if not batch.num_rows and objects.num_rows:
        return objects
    columns = [
        pa.concat_arrays([one_array(a), one_array(b)])
        for a, b in zip(objects.columns, batch.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=batch.schema)
