"""Flips: the boxes of a part that hold the old row or the new one, but not both.

A *move* is an old row that gives way to a new one; either may be missing. A row that is missing, or
has no finite number on an axis, is a point at +inf there, which no half-open box holds: so first
rows, last rows and moves between key values all are moves from one point to another below one key.
Few boxes are compared with both points; for many, the border lists give what lies between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from watchline.border.lists import Borders, build
from watchline.border.search import crossings, crossings_of_boxes
from watchline.evaluate import Columns
from watchline.matching.plan import Part
from watchline.matching.search import points_of, runs_of

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]


# A run of more boxes than this has border lists.
MANY = 128


class Flips(NamedTuple):
    """Move `moves[i]` enters (+1) or leaves (-1) the box of conjunction `numbers[i]`."""

    moves: Integers
    numbers: Integers
    signs: Signs


class Moves(NamedTuple):
    """Rows `old[i]` and `new[i]` of the columns, -1 for none."""

    old: Integers
    new: Integers


@dataclass(frozen=True)
class LongRun:
    """The borders of a run of many boxes; in several dimensions a tag is a row of `boxes`."""

    borders: Borders
    boxes: Doubles | None
    numbers: Integers

    @staticmethod
    def over(lo: Doubles, hi: Doubles, numbers: Integers) -> LongRun:
        """Boxes as (n, d)."""
        if lo.shape[1] == 1:
            return LongRun(build(lo, hi, numbers), None, numbers)
        boxes = np.concatenate([lo, hi], axis=1)
        return LongRun(build(lo, hi, np.arange(len(numbers))), boxes, numbers)

    def flips(self, moves: Integers, old: Doubles, new: Doubles) -> Flips:
        if self.boxes is None:
            rows, tags, signs = crossings(self.borders, old[:, 0], new[:, 0])
            return Flips(moves[rows], tags, signs)
        old, new = _nowhere(old), _nowhere(new)
        rows, tags, signs = crossings_of_boxes(self.borders, self.boxes, old, new)
        return Flips(moves[rows], self.numbers[tags], signs)


@dataclass(frozen=True)
class PartFlips:
    """A part whose boxes decide alone, and the borders of those of its runs that are long."""

    part: Part
    lo: Doubles
    hi: Doubles
    long: dict[int, LongRun]

    @staticmethod
    def over(part: Part) -> PartFlips:
        n = len(part.conjunctions)
        lo, hi = part.lo, part.hi
        if not part.axes:
            # A key alone: every row of that key is within no bounds.
            lo, hi = np.full((1, n), -np.inf), np.full((1, n), np.inf)
        long = {}
        for run in np.flatnonzero(np.diff(part.starts) > MANY) if part.axes else ():
            chosen = slice(part.starts[run], part.starts[run + 1])
            numbers = part.conjunctions[chosen]
            long[int(run)] = LongRun.over(lo[:, chosen].T, hi[:, chosen].T, numbers)
        return PartFlips(part, lo, hi, long)

    def flips(self, columns: Columns, moves: Moves) -> Flips:
        points = self._points(columns)
        old, new = _at(points, moves.old), _at(points, moves.new)
        starts = self.part.starts
        if self.part.key is None:
            numbers = np.arange(len(old))
            return self._within(numbers, np.zeros(len(old), np.int64), old, new)
        # An unknown value, and a row that is missing, have the empty run past the last.
        none = len(starts) - 1
        runs = np.append(runs_of(self.part, columns), none)
        before, after = runs[moves.old], runs[moves.new]
        same = np.flatnonzero((before == after) & (before != none))
        left = np.flatnonzero((before != after) & (before != none))
        came = np.flatnonzero((before != after) & (after != none))
        nowhere = np.full((len(left) + len(came), points.shape[1]), np.inf)
        return self._within(
            np.concatenate([same, left, came]),
            np.concatenate([before[same], before[left], after[came]]),
            np.concatenate([old[same], old[left], nowhere[: len(came)]]),
            np.concatenate([new[same], nowhere[: len(left)], new[came]]),
        )

    def _points(self, columns: Columns) -> Doubles:
        if not self.part.axes:
            return np.zeros((len(columns), 1))
        points = points_of(self.part.axes, columns)
        finite = np.isfinite(points)
        return points if finite.all() else np.where(finite, points, np.inf)

    def _within(self, moves: Integers, runs: Integers, old: Doubles, new: Doubles) -> Flips:
        """Moves below one run each."""
        if self.part.key is None and 0 in self.long:
            return self.long[0].flips(moves, old, new)
        starts, ends = self.part.starts[:-1], self.part.starts[1:].copy()
        for run in self.long:
            ends[run] = starts[run]
        found = _flip_runs(
            self.lo, self.hi, self.part.conjunctions, starts[runs], ends[runs], old, new
        )
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


def _nowhere(points: Doubles) -> Doubles:
    """A point that is at +inf in one dimension is so in all."""
    outside = np.flatnonzero((points == np.inf).any(axis=1))
    if len(outside):
        points[outside] = np.inf
    return points


def _at(points: Doubles, rows: Integers) -> Doubles:
    found = points[rows]
    found[rows < 0] = np.inf
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
    """Each move against the boxes of its run, one by one."""
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
            before = (lo[0, j] <= here) & (here < hi[0, j])
            after = (lo[0, j] <= there) & (there < hi[0, j])
            for d in range(1, dims):
                before &= (lo[d, j] <= old[i, d]) & (old[i, d] < hi[d, j])
                after &= (lo[d, j] <= new[i, d]) & (new[i, d] < hi[d, j])
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
