"""Flips: the boxes of a part that hold the old row or the new one, but not both.

A *move* is an old row that gives way to a new one; either may be missing. A row that is missing is
a point of NaN, which no box holds; one that has no finite number on an axis is at +inf there, which
no half-open side holds, though a box may not look. So first rows, last rows and moves between key
values all are moves from one point to another below one key.

Few boxes are compared with both points. For many, there are two ways: the border lists give what
lies between, or an index what holds either point, and the difference is taken. Small steps cross
few borders, and large ones many: each batch goes the way that its own steps make the cheaper.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from watchline.border.lists import Borders, build
from watchline.border.search import collected, crossings, crossings_of_boxes, entries_read
from watchline.index import Index
from watchline.matching import limits
from watchline.matching.plan import Part
from watchline.matching.search import Batch, estimate, index_over

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]

# Nanoseconds of crossings: a rank, an entry in one dimension, and one that is also cross-checked.
RANK, ENTRY, CHECKED = 12.0, 1.0, 5.0
# Nanoseconds of two stabs: a move, beside what its searches cost; and the least that these do.
DIFFERENCE, LEAST = 20.0, 15.0
# Nanoseconds to build the index of two stabs, for each box.
BUILD = 2_500.0
# Moves of a batch by which its steps are judged.
SAMPLE = 512

_building = threading.Lock()


class Flips(NamedTuple):
    """Move `moves[i]` enters (+1) or leaves (-1) the box of conjunction `numbers[i]`."""

    moves: Integers
    numbers: Integers
    signs: Signs


class Moves(NamedTuple):
    """Rows `old[i]` and `new[i]` of the columns, -1 for none."""

    old: Integers
    new: Integers


@dataclass
class LongRun:
    """A run of many boxes: its borders and, when that has become worth it, its index.

    In several dimensions a tag of the borders is a row of `boxes`.
    """

    part: Part
    run: int
    borders: Borders
    boxes: Doubles | None
    numbers: Integers
    _index: Index | None = None
    _estimate: float | None = None
    # Nanoseconds that the index would have saved so far.
    _missed: float = field(default=0.0)

    @staticmethod
    def over(part: Part, run: int) -> LongRun:
        chosen = slice(part.starts[run], part.starts[run + 1])
        lo, hi, numbers = part.lo[:, chosen].T, part.hi[:, chosen].T, part.numbers[chosen]
        if len(part.axes) == 1:
            return LongRun(part, run, build(lo, hi, numbers), None, numbers)
        boxes = np.concatenate([lo, hi], axis=1)
        return LongRun(part, run, build(lo, hi, np.arange(len(numbers))), boxes, numbers)

    def flips(self, moves: Integers, old: Doubles, new: Doubles) -> Flips:
        old, new = _nowhere(old), _nowhere(new)
        if self._is_dear(old, new):
            return self._by_stabs(moves, old, new)
        if self.boxes is None:
            rows, tags, signs = crossings(self.borders, old[:, 0], new[:, 0])
            return Flips(moves[rows], tags, signs)
        rows, tags, signs = crossings_of_boxes(self.borders, self.boxes, old, new)
        return Flips(moves[rows], self.numbers[tags], signs)

    def _by_stabs(self, moves: Integers, old: Doubles, new: Doubles) -> Flips:
        """What the index finds for both ends, less what is in both."""
        with _building:
            if self._index is None:
                self._index = index_over(self.part, self.run)
        found = self._index.stab(np.concatenate([old, new]))
        ends = np.arange(len(old)), np.arange(len(old), 2 * len(old))
        size = int(self.numbers.max(initial=-1)) + 1
        flips = differences(found.offsets, found.ids, Moves(*ends), size)
        return flips._replace(moves=moves[flips.moves])

    def _is_dear(self, old: Doubles, new: Doubles) -> bool:
        """Whether crossings cost more than two stabs, of an index that is there or worth it."""
        step = -(-len(old) // SAMPLE) or 1
        seen = old[::step], new[::step]
        read = entries_read(self.borders, *seen) / max(len(seen[0]), 1)
        dear = self._ranks + self._entry * read
        if dear <= 2 * LEAST + DIFFERENCE or dear <= self.stabs:
            return False
        self._missed += (dear - self.stabs) * len(old)
        return self._index is not None or self._missed >= BUILD * len(self.numbers)

    @property
    def _ranks(self) -> float:
        return 2 * RANK * len(self.part.axes)

    @property
    def _entry(self) -> float:
        return ENTRY if self.boxes is None else CHECKED

    @property
    def stabs(self) -> float:
        """Nanoseconds that two stabs cost a move, by the model."""
        if self._estimate is None:
            self._estimate = estimate(self.part, self.run)[1]
        return DIFFERENCE + 2 * self._estimate

    @property
    def turn(self) -> float:
        """The borders a move must cross for two stabs to be cheaper."""
        return max(0.0, self.stabs - self._ranks) / self._entry


@dataclass(frozen=True)
class PartFlips:
    """A part whose boxes decide alone, and the borders of those of its runs that are long."""

    part: Part
    lo: Doubles
    hi: Doubles
    long: dict[int, LongRun]

    @staticmethod
    def over(part: Part) -> PartFlips:
        n = len(part.numbers)
        if not part.axes:
            # A key alone: no row of that key is looked at any further.
            return PartFlips(part, np.full((1, n), -np.inf), np.full((1, n), np.nan), {})
        # Boxes that do not look at every axis stand in short runs alone.
        many = np.flatnonzero(np.diff(part.starts) > limits.MANY_WHOLE)
        long = {int(run): LongRun.over(part, int(run)) for run in many}
        return PartFlips(part, part.lo, part.hi, long)

    def flips(self, batch: Batch, moves: Moves) -> Flips:
        points = self._points(batch)
        old, new = _at(points, moves.old), _at(points, moves.new)
        if self.part.key is None:
            numbers = np.arange(len(old))
            return self._within(numbers, np.zeros(len(old), np.int64), old, new)
        # An unknown value, and a row that is missing, have the empty run past the last.
        none = len(self.part.starts) - 1
        runs = np.append(batch.runs(self.part), none)
        before, after = runs[moves.old], runs[moves.new]
        same = np.flatnonzero((before == after) & (before != none))
        left = np.flatnonzero((before != after) & (before != none))
        came = np.flatnonzero((before != after) & (after != none))
        nowhere = np.full((len(left) + len(came), points.shape[1]), np.nan)
        return self._within(
            np.concatenate([same, left, came]),
            np.concatenate([before[same], before[left], after[came]]),
            np.concatenate([old[same], old[left], nowhere[: len(came)]]),
            np.concatenate([new[same], nowhere[: len(left)], new[came]]),
        )

    def _points(self, batch: Batch) -> Doubles:
        if not self.part.axes:
            return np.zeros((len(batch), 1))
        points = batch.points(self.part.axes)
        finite = np.isfinite(points)
        return points if finite.all() else np.where(finite, points, np.inf)

    def _within(self, moves: Integers, runs: Integers, old: Doubles, new: Doubles) -> Flips:
        """Moves below one run each."""
        if self.part.key is None and 0 in self.long:
            return self.long[0].flips(moves, old, new)
        starts, ends = self.part.starts[:-1], self.part.starts[1:].copy()
        for run in self.long:
            ends[run] = starts[run]
        found = _flip_runs(self.lo, self.hi, self.part.numbers, starts[runs], ends[runs], old, new)
        flips = [Flips(moves[found[0]], found[1], found[2])]
        if self.long:
            order = np.argsort(runs, kind="stable")
            ordered = runs[order]
            for run, lists in self.long.items():
                those = order[slice(*np.searchsorted(ordered, [run, run + 1]))]
                if len(those):
                    flips.append(lists.flips(moves[those], old[those], new[those]))
        return joined(flips)


def joined(flips: list[Flips]) -> Flips:
    if len(flips) == 1:
        return flips[0]
    kinds = (np.int64, np.int64, np.int8)
    return Flips(
        *(
            np.concatenate([np.empty(0, kind), *columns])
            for kind, columns in zip(
                kinds, zip(*flips, strict=True) if flips else [()] * 3, strict=True
            )
        )
    )


def differences(offsets: Integers, ids: Integers, moves: Moves, size: int) -> Flips:
    """What one row of a move has and the other has not; row i has ids[offsets[i]:offsets[i + 1]],
    each id once and less than `size`."""
    # Of memory that nobody wrote to, only the pages that are touched cost anything.
    seen = np.zeros(size, dtype=np.int64)

    def fill(room: list[Any], move: int, at: int) -> tuple[int, int]:
        return _differ(offsets, ids, moves, seen, Flips(*room), move, at)

    return Flips(*collected(fill, len(moves.old), 1.0))


@nb.njit(cache=True, nogil=True)
def _differ(
    offsets: Integers,
    ids: npt.NDArray[Any],
    moves: Moves,
    seen: Integers,
    flips: Flips,
    move: int,
    at: int,
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Moves from `move` on, until there may be no room; the next move and the next place.

    The new row's ids are marked with the move, and marked off again where the old row has them too.
    """
    for i in range(move, len(moves.old)):
        a, b = moves.old[i], moves.new[i]
        old = ids[offsets[a] : offsets[a + 1]] if a >= 0 else ids[:0]
        new = ids[offsets[b] : offsets[b + 1]] if b >= 0 else ids[:0]
        if at + len(old) + len(new) > len(flips.moves):
            return i, at
        for j in new:
            seen[j] = i + 1
        for j in old:
            if seen[j] == i + 1:
                seen[j] = 0
            else:
                flips.moves[at], flips.numbers[at], flips.signs[at] = i, j, np.int8(-1)
                at += 1
        for j in new:
            if seen[j] == i + 1:
                flips.moves[at], flips.numbers[at], flips.signs[at] = i, j, np.int8(1)
                at += 1
    return len(moves.old), at


def _nowhere(points: Doubles) -> Doubles:
    """A point that is missing, or at +inf in one dimension, as one at +inf in all."""
    outside = np.flatnonzero(~(points < np.inf).all(axis=1))
    if len(outside):
        points[outside] = np.inf
    return points


def _at(points: Doubles, rows: Integers) -> Doubles:
    found = points[rows]
    found[rows < 0] = np.nan
    return found


@nb.njit(cache=True, nogil=True)
def _flip_runs(
    lo: Doubles,
    hi: Doubles,
    numbers: Integers,
    starts: Integers,
    ends: Integers,
    old: Doubles,
    new: Doubles,
) -> tuple[Any, Any, Any]:  # pragma: no cover - compiled
    """Each move against the boxes of its run, one by one; where `hi` is NaN a box does not look."""
    room, dims = len(starts) + 64, lo.shape[0]
    moves, found, signs = (
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int8),
    )
    n = 0
    for i in range(len(starts)):
        if n + ends[i] - starts[i] > room:
            room = 2 * room + ends[i] - starts[i]
            moves, found, signs = _longer(moves, room), _longer(found, room), _longer(signs, room)
        here, there = old[i, 0], new[i, 0]
        for j in range(starts[i], ends[i]):
            before = (lo[0, j] <= here) & (not here >= hi[0, j])
            after = (lo[0, j] <= there) & (not there >= hi[0, j])
            for d in range(1, dims):
                before &= (lo[d, j] <= old[i, d]) & (not old[i, d] >= hi[d, j])
                after &= (lo[d, j] <= new[i, d]) & (not new[i, d] >= hi[d, j])
            # Seldom: what is not a flip costs the comparisons alone.
            if before != after:
                moves[n], found[n] = i, numbers[j]
                signs[n] = np.int8(1) if after else np.int8(-1)
                n += 1
    return moves[:n].copy(), found[:n].copy(), signs[:n].copy()


@nb.njit(cache=True, nogil=True)
def _longer(array: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:  # pragma: no cover - compiled
    longer = np.empty(room, array.dtype)
    longer[: len(array)] = array
    return longer
