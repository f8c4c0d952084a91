"""`BorderIndex`: for each stream, only the borders it crosses (BMQ-Index).

The query table has the boxes by id, the runs of runs.py their borders, and the stream table for
each stream its last value and, in each dimension, the borders around it. Invariant: no query begins
or ends strictly inside such a segment [low, high); one that is NaN is not known. A value in the
same segments changes nothing: one row of the stream table is read, and no list.

Queries of one dimension have their ids in the lists, others their slots of the query table, in
which candidates are checked. Cost of a change of queries: a search for each stream, and what
generations.py says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from watchline.borders.generations import Generations
from watchline.borders.monitor import Monitor, checked_dims
from watchline.borders.runs import (
    AUTO,
    BEGIN,
    END,
    Borders,
    Steps,
    build_borders,
    rank,
)
from watchline.borders.step import (
    GROUP,
    LEAST,
    ROW_CHANGES,
    CrossingColumns,
    Crossings,
    cross,
    cross_boxes,
    crossings,
    crossings_of_boxes,
    fetch_steps,
)
from watchline.index import hash_place
from watchline.kernels.arrays import Doubles, Int, Integers, Small
from watchline.kernels.buffers import filled_columns
from watchline.kernels.compiled import kernel, leaf
from watchline.kernels.simd import prefetch


class Streams(NamedTuple):
    """The stream table as kernels take it."""

    table: Small
    kept: Doubles
    ids: Integers


class BorderIndex(Monitor):
    """BMQ-Index: lists of borders, a table of queries, a table of streams.

    `steps` tells when a step is long enough for two stabs instead of a walk.
    """

    def __init__(self, dims: int, *, steps: Steps = AUTO):
        # A stream has its value, then the lower ends of its segments, then the upper ones.
        super().__init__(checked_dims(dims), 2 * checked_dims(dims))
        self._steps = steps
        self._lists = Generations(self.dims)

    def explain(self) -> str:
        """What is held, and in how many lists a search looks."""
        sizes = self._lists.entries
        return (
            f"border: {len(self):,} boxes of {self.dims} dimension{'s' if self.dims > 1 else ''},"
            f" {self.streams:,} streams; {sum(sizes):,} borders in {len(sizes)}"
            f" generation{'s' if len(sizes) != 1 else ''}"
        )

    @property
    def _nbytes(self) -> int:
        return self._lists.nbytes

    def _opened(self, slots: Small) -> Crossings:
        borders = self._borders_of(slots)
        opened = self._from_nowhere(borders)
        _narrow_all(borders, self._streams.rows)
        if len(slots):
            self._lists.push(borders)
        return opened

    def _closed(self, slots: Small) -> Crossings:
        closed = self._to_nowhere(self._borders_of(slots), self._streams.living())
        self._lists.discard(self._boxes.lo[slots], self._boxes.hi[slots], self._tags(slots))
        return closed

    def _settle(self) -> None:
        sparse = self._boxes.sparse
        if sparse:
            self._boxes.compact()
        if sparse or self._lists.worn:
            self._lists.replace(self._borders_of(self._boxes.living()))

    def _left(self, slots: Small) -> Crossings:
        return self._to_nowhere(self._lists.borders, slots)

    def _moved(self, numbers: Integers, points: Doubles) -> Crossings:
        def fill(room: list[Any], row: int, at: int) -> tuple[int, int]:
            rows, tags, signs, whose = room
            columns = CrossingColumns(rows, whose, tags, signs)
            row, at = self._advance(numbers, points, columns, row, at)
            if row < len(numbers) and self._streams.find(numbers[row : row + 1])[0] < 0:
                self._meet(numbers[row:], np.nan)
                row, at = self._advance(numbers, points, columns, row, at)
            return row, at

        types = (*ROW_CHANGES, np.int64)
        rows, tags, signs, whose = filled_columns(fill, len(numbers), self._rate, types)
        return Crossings(rows, whose, self._ids_of(tags), signs)

    # --- parts

    def _tags(self, slots: Small) -> Integers:
        return self._boxes.ids[slots] if self.dims == 1 else slots.astype(np.int64)

    def _ids_of(self, tags: Integers) -> Integers:
        return tags if self.dims == 1 else self._boxes.ids[tags]

    def _borders_of(self, slots: Small) -> Borders:
        return build_borders(self._boxes.lo[slots], self._boxes.hi[slots], self._tags(slots))

    def _from_nowhere(self, borders: Borders) -> Crossings:
        """What all streams cross if these borders come."""
        slots = self._streams.living()
        values = self._streams.left[slots]
        return self._crossed(borders, slots, np.full_like(values, np.inf), values)

    def _to_nowhere(self, borders: Borders, slots: Small) -> Crossings:
        """What these streams cross if these borders go, or if they do."""
        values = self._streams.left[slots]
        return self._crossed(borders, slots, values, np.full_like(values, np.inf))

    def _crossed(self, borders: Borders, slots: Small, old: Doubles, new: Doubles) -> Crossings:
        if self.dims == 1:
            changes = crossings(borders, old.reshape(-1), new.reshape(-1), self._steps)
        else:
            changes = crossings_of_boxes(borders, self._boxes.rows, old, new, self._steps)
        return self._by_no_row(slots, changes, self._ids_of(changes[1]))

    def _advance(
        self, numbers: Integers, points: Doubles, columns: CrossingColumns, row: int, at: int
    ) -> tuple[int, int]:
        table = self._streams
        streams = Streams(table.hash, table.rows, table.ids)
        borders, steps = self._lists.borders, self._steps
        if self.dims == 1:
            values = points.reshape(-1)
            return _advance(borders, steps, streams, numbers, values, columns, row, at)
        boxes = self._boxes.rows
        return _advance_boxes(borders, boxes, steps, streams, numbers, points, columns, row, at)


@kernel
def _advance(
    borders: Borders,
    steps: Steps,
    streams: Streams,
    numbers: Integers,
    values: Doubles,
    columns: CrossingColumns,
    row: int,
    at: int,
) -> tuple[int, int]:
    """Rows of one dimension, until they end, a stream is not known, or there may be no room.

    A group of rows at a time: values that stay in their segments are done at once; for the others
    what the search will read is fetched ahead. A value is stored when its row is met, as the next
    one of its stream may be in the same group, and taken back if there is no room for its row.
    """
    table, kept, ids = streams
    slots, moved = np.empty(GROUP, dtype=np.int64), np.empty(GROUP, dtype=np.int64)
    olds, news = np.empty(GROUP), np.empty(GROUP)
    for group in range(row, len(numbers), GROUP):
        count = min(GROUP, len(numbers) - group)
        known = _look_up(table, kept, ids, numbers[group : group + count], slots)
        moves = 0
        for i in range(known):
            value, slot = values[group + i], slots[i]
            old, low, high = kept[slot, 0], kept[slot, 1], kept[slot, 2]
            new = value if np.isfinite(value) else np.inf
            kept[slot, 0] = new
            olds[moves], news[moves], moved[moves] = old, new, i
            if not ((low <= value) & (value < high)) and old != new:
                kept[slot, 1] = np.nan
                moves += 1
        fetch_steps(borders, 0, olds, news, moves)
        for m in range(moves):
            i, new = group + moved[m], news[m]
            end, low, high = cross(borders, steps, i, numbers[i], olds[m], new, columns, at)
            if end < 0:
                for back in range(moves - 1, m - 1, -1):
                    kept[slots[moved[back]], 0] = olds[back]
                return i, at
            at = end
            kept[slots[moved[m]], 1] = low if new < np.inf else np.nan
            kept[slots[moved[m]], 2] = high
        if known < count:
            return group + known, at
    return len(numbers), at


@leaf(forceinline=True)
def _look_up(table: Small, kept: Doubles, ids: Integers, numbers: Integers, slots: Integers) -> int:
    """The slots of a group of streams, before the first that is not known; how many they are."""
    width = kept.shape[1]
    for i in range(len(numbers)):
        slots[i] = hash_place(table, numbers[i])
        prefetch(table, slots[i])
    for i in range(len(numbers)):
        prefetch(kept, max(table[slots[i]], 0) * width)
    for i in range(len(numbers)):
        at = slots[i]
        while table[at] >= 0 and ids[table[at]] != numbers[i]:
            at = (at + 1) & (len(table) - 1)
        slots[i] = table[at]
        if slots[i] < 0:
            return i
    return len(numbers)


@kernel
def _advance_boxes(
    borders: Borders,
    boxes: Doubles,
    steps: Steps,
    streams: Streams,
    numbers: Integers,
    values: Doubles,
    columns: CrossingColumns,
    row: int,
    at: int,
) -> tuple[int, int]:
    """The same for rows of several dimensions, one after the other."""
    table, kept, ids = streams
    dims = values.shape[1]
    slots, step = np.empty(GROUP, dtype=np.int64), np.empty((2, dims))
    olds, news = np.empty(GROUP), np.empty(GROUP)
    for group in range(row, len(numbers), GROUP):
        count = min(GROUP, len(numbers) - group)
        known = _look_up(table, kept, ids, numbers[group : group + count], slots)
        for k in range(dims):
            for i in range(known):
                olds[i], news[i] = kept[slots[i], k], values[group + i, k]
            fetch_steps(borders, k, olds, news, known)
        for i in range(group, group + known):
            slot = slots[i - group]
            somewhere, stays = True, True
            for k in range(dims):
                value = values[i, k]
                somewhere &= np.isfinite(value)
                stays &= (kept[slot, dims + k] <= value) & (value < kept[slot, 2 * dims + k])
                step[0, k], step[1, k] = kept[slot, k], value
            if not stays:
                if not somewhere:
                    step[1] = np.inf
                end = cross_boxes(borders, boxes, steps, i, numbers[i], step, columns, at)
                if end < 0:
                    return i, at
                at = end
                _set_segments(borders, kept[slot], step[1])
            kept[slot, :dims] = step[1]
        if known < count:
            return group + known, at
    return len(numbers), at


@leaf()
def _set_segments(borders: Borders, stream: Doubles, new: Doubles) -> None:
    """The borders around a new value, in the dimensions in which it is not between the old ones."""
    dims = len(new)
    for k in range(dims):
        if (stream[dims + k] <= new[k]) & (new[k] < stream[2 * dims + k]):
            continue
        somewhere = new[k] < np.inf
        stream[dims + k] = LEAST if somewhere else np.nan
        stream[2 * dims + k] = np.inf if somewhere else np.nan
        if somewhere:
            for run in range(k, len(borders.runs), dims):
                _narrow(borders, run, new[k], stream, dims + k, 2 * dims + k)


@kernel
def _narrow_all(borders: Borders, kept: Doubles) -> None:
    """Segments of all streams end at these borders too."""
    dims = len(borders.runs)
    for i in range(len(kept)):
        for k in range(dims):
            # What is free or nowhere has no segment, and is left alone.
            if kept[i, dims + k] < kept[i, 2 * dims + k]:
                _narrow(borders, k, kept[i, k], kept[i], dims + k, 2 * dims + k)


@leaf()
def _narrow(borders: Borders, run: Int, value: float, stream: Doubles, low: Int, high: Int) -> None:
    """Raise stream[low] and lower stream[high] to the borders of a run around the value."""
    keys, place = borders.keys, rank(borders, run, value)
    if place > borders.runs[run, BEGIN]:
        stream[low] = max(stream[low], keys[place - 1])
    if place < borders.runs[run, END]:
        stream[high] = min(stream[high], keys[place])
