"""The rows of one stream that a joiner keeps: those in windows, and those that wait.

A row waits until every stream has reached its time. Then it is processed with the rows that windows
hold, as one stretch; afterwards only the rows are kept that a later row may still meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from watchline.joining.windows import LONGEST, Stretch
from watchline.kernels.arrays import Integers
from watchline.model import Stream
from watchline.rows import in_time, row_schema, times_of


@dataclass
class Feed:
    """`first` is the place of rows[0] in the stream, `newest` the latest time of any row."""

    stream: Stream
    rows: pa.Table
    waiting: pa.Table
    first: int = 0
    newest: int | None = None

    @staticmethod
    def of(stream: Stream) -> Feed:
        nothing = row_schema(stream).empty_table()
        return Feed(stream, nothing, nothing)

    @property
    def processed(self) -> int:
        return self.first + int(self.rows.num_rows)

    def wait(self, table: pa.Table, clock: int | None) -> int:
        """Take in rows that wait; how many were dropped because the clock has passed them."""
        times, late = times_of(table, self.stream), 0
        if len(times) and clock is not None and (behind := times < clock).any():
            late = int(behind.sum())
            table, times = table.filter(pa.array(~behind)), times[~behind]
        if len(times):
            newest = int(times.max())
            self.newest = newest if self.newest is None else max(self.newest, newest)
            self.waiting = pa.concat_tables([self.waiting, table]).combine_chunks()
        return late

    def release(self, clock: int) -> pa.Table:
        """The rows up to this moment, which wait no longer, in the order of their times."""
        due = times_of(self.waiting, self.stream) <= clock
        rows = self.waiting.filter(pa.array(due))
        self.waiting = self.waiting.filter(pa.array(~due))
        return rows.take(pa.array(in_time(rows, self.stream))).combine_chunks()

    def stretch(self, fresh: pa.Table, turns: Integers) -> Stretch:
        """The rows in windows, and these fresh ones after them."""
        whole = pa.concat_tables([self.rows, fresh]).combine_chunks()
        times = times_of(whole, self.stream)
        return Stretch(self.stream, whole, times, self.first, self.rows.num_rows, turns)

    def trim(self, stretch: Stretch, window: tuple[int, int], now: int) -> None:
        """Keep the rows of a stretch that a row of this moment or a later one may still meet."""
        length, rows = window
        start = max(len(stretch) - rows, 0)
        if length >= 0:
            oldest = max(now - min(length, LONGEST), -(2**63))
            start = min(start, int(np.searchsorted(stretch.times, oldest)))
        self.rows, self.first = stretch.rows.slice(start), stretch.first + start
