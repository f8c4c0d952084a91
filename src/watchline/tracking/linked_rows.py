"""The rows of a batch in order, each linked with its object's row before it, as moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Integers
from watchline.model import Stream
from watchline.proximity import FIRST, ROW, TIMEOUT
from watchline.rows import sequence, times_of
from watchline.tracking.ranges import Moves


class LinkedRows:
    """The rows of a batch, each with its object's row before it; nothing of the tracker is touched.

    All rows are `rows`: the latest of each known object, then the batch's. A move is from a row to
    a row, or to none where the object times out; its changes show the row `shown`.
    """

    def __init__(
        self,
        objects: pa.Table,
        batch: pa.Table,
        stream: Stream,
        before: int | None,
        newest: int | None,
    ):
        self._timeout = stream.timeout
        self.known = objects.num_rows
        self.rows = both_tables(objects, batch)
        self.times = times_of(self.rows, stream)
        ids = self.rows[stream.object].chunk(0).dictionary_encode()
        self.codes = ids.indices.to_numpy().astype(np.int64)
        # What is known are different objects: their codes count them.
        self.ids = ids.dictionary
        self.order = self._in_order(batch, before)
        # Rows of one object at one moment count by their attributes, not by their places.
        self.ranks = np.zeros(len(self.times), dtype=np.int64)
        self.ranks[self.order] = np.arange(1, len(self.order) + 1)
        self._link(newest)

    def _in_order(self, batch: pa.Table, newest: int | None) -> Integers:
        """The batch's rows that are not late, as places among all rows, by object and time."""
        known = self.known
        mine, times = self.codes[known:], self.times[known:]
        before = np.full(len(self.ids), FIRST)
        before[:known] = self.times[:known]
        late = times < before[mine]
        if self._timeout is not None and newest is not None:
            late |= times < back(newest, self._timeout)
        self.late = int(np.count_nonzero(late))
        chosen = np.flatnonzero(~late)
        if self.late:
            batch = batch.take(pa.array(chosen))
        order = sequence(mine[chosen], times[chosen], batch)
        return known + chosen[order]

    def _link(self, newest: int | None) -> None:
        """Each row's row before it; which rows are their object's last; who has timed out."""
        codes, times, order, known = self.codes, self.times, self.order, self.known
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = codes[order][1:] != codes[order][:-1]
        before = np.empty(len(order), dtype=np.int64)
        before[1:] = order[:-1]
        mine = codes[order[first]]
        before[first] = np.where(mine < known, mine, -1)
        latest = np.full(len(self.ids), -1)
        latest[:known] = np.arange(known)
        # Later rows overwrite earlier ones of the same object.
        latest[codes[order]] = order
        latest = latest[latest >= 0]
        gap = np.zeros(len(order), dtype=np.bool_)
        expired = latest[:0]
        if self._timeout is not None:
            gap = (before >= 0) & (times[before] < back(times[order], self._timeout))
            if newest is not None:
                over = times[latest] < back(newest, self._timeout)
                expired, latest = latest[over], latest[~over]
        self.kept, self.expired = latest, expired
        gone = np.concatenate([before[gap], expired])
        none = np.full(len(gone), -1)
        self.moves = Moves(
            np.concatenate([np.where(gap, -1, before), gone]), np.concatenate([order, none])
        )
        # The row that the changes of a move show: the object's latest.
        self.shown = np.concatenate([order, gone])
        timeouts = times[gone] + (self._timeout or 0)
        self.when = np.concatenate([times[order], timeouts])
        self.kind = np.repeat([ROW, TIMEOUT], [len(order), len(gone)])


def back(times: Any, interval: int) -> Any:
    """So much earlier, but not before the first moment there is."""
    return np.maximum(times, FIRST + interval) - interval


def both_tables(objects: pa.Table, batch: pa.Table) -> pa.Table:
    """Both tables, each column in one piece."""
    columns = [
        pa.concat_arrays([pa.array([], a.type), *a.chunks, *b.chunks])
        for a, b in zip(objects.columns, batch.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=batch.schema)
