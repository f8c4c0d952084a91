"""The rows of a batch in order, each linked with its object's row before it, as moves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Integers
from watchline.model import Stream
from watchline.proximity import FIRST, ROW, TIMEOUT
from watchline.rows import one_array, sequence, times_of
from watchline.tracking.object_table import ObjectTable
from watchline.tracking.ranges import Moves


class BatchObjects(NamedTuple):
    """The objects that a batch is about, by *code*. The first codes are of `known` objects, each
    with its latest row; the others are of objects that are `new`, by their ids. `slots` are those
    of the known objects, and `codes` has the object of each row of the batch."""

    known: pa.Table
    slots: Integers
    new: pa.Array
    codes: Integers

    @staticmethod
    def of_table(
        table: ObjectTable, batch: pa.Table, newest: int | None, more: Integers
    ) -> BatchObjects:
        """The objects of a table that report, or have timed out when this is the newest time, and
        those in the slots `more`."""
        ids = one_array(batch[table.stream.object])
        slots = [more, table.find(ids)]
        if newest is not None and table.stream.timeout is not None:
            slots.insert(1, table.due(back(newest, table.stream.timeout)))
        known, places = table.distinct(np.concatenate(slots))
        codes = places[len(places) - len(ids) :]
        new, codes = _coded(ids, codes, len(known))
        return BatchObjects(table.take(known), known, new, codes)

    @staticmethod
    def of_rows(rows: pa.Table, batch: pa.Table, stream: Stream) -> BatchObjects:
        """All objects of these rows, of which each has one."""
        known = rows.num_rows
        ids = [table[stream.object].combine_chunks() for table in (rows, batch)]
        coded = pa.concat_arrays(ids).dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int64)[known:]
        return BatchObjects(rows, np.arange(known), coded.dictionary[known:], codes)


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

    All rows are `rows`: the latest of each known object, then the batch's. A move is from a row to
    a row, or to none where the object times out; its changes show the row `shown`.
    """

    def __init__(
        self,
        objects: BatchObjects,
        batch: pa.Table,
        stream: Stream,
        before: int | None,
        newest: int | None,
    ):
        self._timeout = stream.timeout
        self.objects, self.known = objects, objects.known.num_rows
        self.count = self.known + len(objects.new)
        self.rows = both_tables(objects.known, batch)
        self.times = times_of(self.rows, stream)
        self.codes = np.concatenate([np.arange(self.known), objects.codes])
        self.order = self._in_order(batch, before)
        # Rows of one object at one moment count by their attributes, not by their places.
        self.ranks = np.zeros(len(self.times), dtype=np.int64)
        self.ranks[self.order] = np.arange(1, len(self.order) + 1)
        self._link(newest)

    def _in_order(self, batch: pa.Table, newest: int | None) -> Integers:
        """The batch's rows that are not late, as places among all rows, by object and time."""
        known = self.known
        mine, times = self.codes[known:], self.times[known:]
        before = np.full(self.count, FIRST)
        before[:known] = self.times[:known]
        late = times < before[mine]
        if self._timeout is not None and newest is not None:
            late |= times < back(newest, self._timeout)
        self.late = int(np.count_nonzero(late))
        if not self.late:
            return known + sequence(mine, times, batch)
        chosen = np.flatnonzero(~late)
        batch = batch.take(pa.array(chosen))
        return known + chosen[sequence(mine[chosen], times[chosen], batch)]

    def _link(self, newest: int | None) -> None:
        """Each row's row before it; which rows are their object's last; who has timed out."""
        codes, times, order, known = self.codes, self.times, self.order, self.known
        mine = codes[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = mine[1:] != mine[:-1]
        before = np.empty(len(order), dtype=np.int64)
        before[1:] = order[:-1]
        before[first] = np.where(mine[first] < known, mine[first], -1)
        latest = np.full(self.count, -1)
        latest[:known] = np.arange(known)
        # Later rows overwrite earlier ones of the same object.
        latest[mine] = order
        latest = latest[latest >= 0]
        gone = expired = latest[:0]
        if self._timeout is not None:
            gap = (before >= 0) & (times[before] < back(times[order], self._timeout))
            if newest is not None:
                over = times[latest] < back(newest, self._timeout)
                expired, latest = latest[over], latest[~over]
            gone = np.concatenate([before[gap], expired])
            before[gap] = -1
        self.kept, self.expired = latest, expired
        none = np.full(len(gone), -1)
        self.moves = Moves(np.concatenate([before, gone]), np.concatenate([order, none]))
        # The row that the changes of a move show: the object's latest.
        self.shown = np.concatenate([order, gone])
        timeouts = times[gone] + (self._timeout or 0)
        self.when = np.concatenate([times[order], timeouts])
        self.kind = np.repeat([ROW, TIMEOUT], [len(order), len(gone)])

    def commit(self, table: ObjectTable, kept: Integers, held: Integers) -> Integers:
        """Write the latest rows `kept` of objects into their table, each held by so many queries;
        all other known objects of the batch are gone. The slot of each row that was written."""
        codes = self.codes[kept]
        is_known = codes < self.known
        gone = np.ones(self.known, np.bool_)
        gone[codes[is_known]] = False
        table.remove(self.objects.slots[gone])
        slots = np.empty(len(kept), np.int64)
        slots[is_known] = self.objects.slots[codes[is_known]]
        changed = is_known & (kept >= self.known)
        if changed.any():
            table.put(slots[changed], self.rows.take(pa.array(kept[changed])))
        if not is_known.all():
            slots[~is_known] = table.add(self.rows.take(pa.array(kept[~is_known])))
        table.hold(slots, held)
        return slots


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
