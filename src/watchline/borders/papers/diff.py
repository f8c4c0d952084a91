"""`DiffRmq`: the rival of the BMQ-Index paper (section 5.2), which searches all and subtracts.

An index of ranges finds all queries around a new value; what was found for the stream's last value
is kept, so that a row is one search, not two. Queries in one answer and not in the other are the
crossings. Cost: the whole of both answers, however little has changed; memory is the index and an
answer for each stream.

The index knows queries by their slots, so that an array of stamps by slot takes the difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import watchline.index
from watchline.borders.monitor import Monitor, checked_dims
from watchline.borders.step import ROW_CHANGES, CrossingColumns, Crossings, RowChanges
from watchline.kernels.arrays import Doubles, Integers, Small
from watchline.kernels.buffers import filled_columns
from watchline.kernels.compiled import kernel

# Rows that are searched at once.
CHUNK = 16_384
# Of a stream's row, after the value: where its answer begins, and its length. A place below zero is
# one in the result of the chunk.
PLACE, LENGTH = 0, 1


class Searched(NamedTuple):
    """Rows that were searched together: the slots of their streams, their values, and the queries
    around each; `first` is the place of the first row in the call."""

    slots: Small
    points: Doubles
    offsets: Integers
    queries: Small
    first: int


class KeptAnswers(NamedTuple):
    """The table of streams, their answers, and a stamp for each query."""

    kept: Doubles
    answers: Small
    stamps: Integers


class DiffRmq(Monitor):
    """As `BorderIndex`, on an index of this kind."""

    def __init__(self, kind: str, dims: int = 1):
        super().__init__(checked_dims(dims), 2)
        self.kind = kind
        nothing = np.empty((0, dims))
        self._index = watchline.index.build(kind, nothing, nothing)
        self._answers = np.empty(0, dtype=np.int32)
        self._end = 0
        # The first counts the stamps that were given, the others are of slot 0, 1, …
        self._stamps = np.empty(0, dtype=np.int64)

    @property
    def _nbytes(self) -> int:
        return self._index.nbytes + self._answers.nbytes + self._stamps.nbytes

    def _opened(self, slots: Small) -> Crossings:
        self._index.insert(slots, self._boxes.lo[slots], self._boxes.hi[slots])
        return self._again()

    def _closed(self, slots: Small) -> Crossings:
        self._index.remove(slots)
        return self._again()

    def _settle(self) -> None:
        """Small are the index's ids, and stay."""

    def _left(self, slots: Small) -> Crossings:
        return self._in_place(slots, np.full((len(slots), self.dims), np.inf))

    def _moved(self, numbers: Integers, points: Doubles) -> Crossings:
        slots = self._streams.find(numbers)
        if (slots < 0).any():
            self._meet(numbers, 0.0)
            slots = self._streams.find(numbers)
        rows, tags, signs = self._steps(slots, points)
        return Crossings(rows, numbers[rows], self._boxes.ids[tags], signs)

    def _again(self) -> Crossings:
        """What is different for the streams where they are, now that the queries are others."""
        slots = self._streams.living()
        return self._in_place(slots, self._streams.left[slots])

    def _in_place(self, slots: Small, points: Doubles) -> Crossings:
        found = self._steps(slots, points)
        return self._by_no_row(slots, found, self._boxes.ids[found[1]])

    def _steps(self, slots: Small, points: Doubles) -> RowChanges:
        """The differences that these values make, in order; a value that is nowhere is +inf."""
        nowhere = ~np.isfinite(points).all(axis=1)
        if nowhere.any():
            points = np.where(nowhere.reshape(-1, 1), np.inf, points)
        if len(self._stamps) <= len(self._boxes.rows):
            self._stamps = np.zeros(len(self._boxes.rows) + 1, dtype=np.int64)
        loaded, found = -1, watchline.index.Matches(np.zeros(1, dtype=np.int64), self._answers)

        def fill(room: list[Any], row: int, at: int) -> tuple[int, int]:
            nonlocal loaded, found
            while row < len(slots):
                first = row - row % CHUNK
                last = min(first + CHUNK, len(slots))
                if loaded != first:
                    found = self._index.stab(points[first:last])
                    loaded = first
                row, at = self._differences(
                    slots, points, found, first, CrossingColumns(room[0], *room), row, at
                )
                if row < last:
                    break
                self._keep(slots[first:last], found.ids)
            return row, at

        return filled_columns(fill, len(slots), self._rate, ROW_CHANGES)

    def _differences(
        self,
        slots: Small,
        points: Doubles,
        found: watchline.index.Matches,
        first: int,
        columns: CrossingColumns,
        row: int,
        at: int,
    ) -> tuple[int, int]:
        part = slice(first, first + CHUNK)
        queries = found.ids.astype(np.int32, copy=False)
        searched = Searched(slots[part], points[part], found.offsets, queries, first)
        answers = KeptAnswers(self._streams.rows, self._answers, self._stamps)
        row, at = _differences(searched, answers, columns, row - first, at)
        return first + row, at

    def _keep(self, slots: Small, found: Small) -> None:
        """Answers of a chunk become the streams' own; for room the others are moved together."""
        if self._end + len(found) > len(self._answers):
            lengths = self._streams.right[self._streams.living(), LENGTH]
            larger = np.empty(int(lengths.sum()) * 3 // 2 + len(found) + 1_024, dtype=np.int32)
            self._end = _compact(self._streams.rows, self.dims, self._answers, larger)
            self._answers = larger
        self._end = _keep(slots, self._streams.rows, self.dims, found, self._answers, self._end)


@kernel
def _differences(
    searched: Searched, given: KeptAnswers, columns: CrossingColumns, row: int, at: int
) -> tuple[int, int]:
    """Old answers are stamped; what of the new one has no stamp has come, and the rest is stamped
    anew; what of the old one has the old stamp still has gone."""
    slots, points, offsets, found, first = searched
    kept, answers, stamps = given
    rows, _, tags, signs = columns
    dims = points.shape[1]
    for i in range(row, len(slots)):
        slot = slots[i]
        place, length = int(kept[slot, dims + PLACE]), int(kept[slot, dims + LENGTH])
        old = answers[place : place + length] if place >= 0 else found[~place : ~place + length]
        new = found[offsets[i] : offsets[i + 1]]
        if at + len(old) + len(new) >= len(tags):
            return i, at
        kept[slot, :dims] = points[i]
        kept[slot, dims + PLACE], kept[slot, dims + LENGTH] = ~offsets[i], len(new)
        if len(old) + len(new) == 0:
            continue
        stamps[0] += 2
        before, both = stamps[0], stamps[0] + 1
        for j in range(len(old)):
            stamps[old[j] + 1] = before
        for j in range(len(new)):
            query = new[j]
            rows[at], tags[at], signs[at] = first + i, query, 1
            at += stamps[query + 1] != before
            stamps[query + 1] = both
        for j in range(len(old)):
            query = old[j]
            rows[at], tags[at], signs[at] = first + i, query, -1
            at += stamps[query + 1] == before
    return len(slots), at


@kernel
def _keep(
    slots: Small,
    kept: Doubles,
    dims: int,
    found: Small,
    answers: Small,
    end: int,
) -> int:
    """The last answer of each stream of a chunk to the end of the answers; where they end now."""
    for i in range(len(slots)):
        place = int(kept[slots[i], dims + PLACE])
        if place < 0:
            length = int(kept[slots[i], dims + LENGTH])
            answers[end : end + length] = found[~place : ~place + length]
            kept[slots[i], dims + PLACE] = end
            end += length
    return end


@kernel
def _compact(kept: Doubles, dims: int, answers: Small, larger: Small) -> int:
    """Answers that are not of the chunk, side by side in other memory; where they end."""
    end = 0
    for slot in range(len(kept)):
        if not np.isnan(kept[slot, 0]) and kept[slot, dims + PLACE] >= 0:
            place, length = int(kept[slot, dims + PLACE]), int(kept[slot, dims + LENGTH])
            larger[end : end + length] = answers[place : place + length]
            kept[slot, dims + PLACE] = end
            end += length
    return end
