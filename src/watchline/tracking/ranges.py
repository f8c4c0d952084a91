"""Transitions: the boxes of a part that hold the old row or the new one, but not both.

A *move* is an old row that gives way to a new one; either may be missing. A row that is missing is
a point of NaN, which no box holds; one that has no finite number on an axis is at +inf there, which
no half-open side holds, though a box may not look. So first rows, last rows and moves between key
values all are moves from one point to another below one key.

Few boxes are compared with both points. For many, there are three ways: the border lists give what
lies between; in two dimensions a grid gives what lies between nearby; or an index gives what holds
either point, and the difference is taken. Small steps cross few borders, and large ones many: each
batch goes the way that its own steps make the cheapest, of those whose structure there is. Another
is built as soon as it would have saved what building it costs.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from watchline.borders import (
    DIMENSIONS,
    ROW_CHANGES,
    Borders,
    Grid,
    GridSizes,
    blocks_read,
    build_borders,
    build_grid,
    crossings,
    crossings_of_boxes,
    entries_read,
    grid_crossings,
    grid_sizes,
)
from watchline.index import Index
from watchline.kernels.arrays import Doubles, Int, Integers, Signs, read_only
from watchline.kernels.blocks import LANES
from watchline.kernels.buffers import filled_columns
from watchline.kernels.compiled import inner, kernel, leaf
from watchline.matching import Part, SearchRows, index_cost, index_over, limits, of_each_run

# Nanoseconds of crossings: a rank, an entry in one dimension, and one that is also cross-checked.
RANK, ENTRY, CHECKED = 12.0, 1.0, 10.0
# Nanoseconds of the difference of two stabs for each id in either, and the least a stab may cost.
DIFFER, LEAST = 4.0, 15.0
# Nanoseconds of a move in a grid and of a block there; blocks of a move that are read for a part.
MOVE, BLOCK, PARTLY = 25.0, 9.0, 2.5
# Nanoseconds to build the index of two stabs and the grid, for each box.
BUILD, BUILD_GRID = 2_500.0, 800.0
# Moves by which the steps of a batch are judged, boxes by which it is what a stab will find.
SAMPLE, HELD_SAMPLE = 512, 256

# The ways of deciding moves.
CROSSINGS, STABS, GRID = "crossings", "stabs", "grid"

_building = threading.Lock()


class Transitions(NamedTuple):
    """Move `moves[i]` enters (+1) or leaves (-1) the box of conjunction `numbers[i]`."""

    moves: Integers
    numbers: Integers
    signs: Signs


class Moves(NamedTuple):
    """Rows `old[i]` and `new[i]` of the columns, -1 for none."""

    old: Integers
    new: Integers


@dataclass
class MoveCosts:
    """What the moves of a long run cost each way, by a model, in nanoseconds."""

    part: Part
    run: int

    @property
    def ranks(self) -> float:
        """Of crossings for a move, before it crosses anything."""
        return 2 * RANK * len(self.part.axes)

    @property
    def entry(self) -> float:
        """Of crossings for each border that lies between."""
        return ENTRY if len(self.part.axes) == 1 else CHECKED

    @cached_property
    def index(self) -> tuple[str, float]:
        """The kind of index that is stabbed, and what a row costs there."""
        return index_cost(self.part, self.run)

    @cached_property
    def stabs(self) -> float:
        """Of two stabs and their difference for a move."""
        return 2 * (self.index[1] + DIFFER * self._held())

    @cached_property
    def grid(self) -> GridSizes | None:
        """The sizes of the grid, if there can be one."""
        if len(self.part.axes) != DIMENSIONS:
            return None
        return grid_sizes(*self.boxes)

    def of(self, between: float) -> dict[str, float]:
        """Of a move with so many borders between its rows, each way."""
        costs = {CROSSINGS: self.ranks + self.entry * between, STABS: self.stabs}
        if self.grid is not None:
            ends = BLOCK * 2 * self.grid.held / LANES
            costs[GRID] = self.in_grid(PARTLY) + min(self.nearby * between, ends)
        return costs

    @property
    def nearby(self) -> float:
        """Of a grid for each border that lies between: few of them are in the strip."""
        return BLOCK * self.grid.share / LANES if self.grid else 0.0

    def in_grid(self, blocks: float) -> float:
        """Of a move that reads so many blocks of a grid."""
        return MOVE + BLOCK * blocks

    @property
    def boxes(self) -> tuple[Doubles, Doubles]:
        """Lower and upper bounds (n, d)."""
        chosen = slice(self.part.starts[self.run], self.part.starts[self.run + 1])
        return self.part.lo[:, chosen].T, self.part.hi[:, chosen].T

    def _held(self) -> float:
        """How many boxes hold a point where another one begins, by a few of them."""
        first, end = self.part.starts[self.run], self.part.starts[self.run + 1]
        chosen = slice(first, end, -(-(end - first) // HELD_SAMPLE))
        lo, hi = self.part.lo[:, chosen], self.part.hi[:, chosen]
        points = lo[:, :, np.newaxis]
        inside = (lo[:, np.newaxis] <= points) & (points < hi[:, np.newaxis])
        others = inside.all(axis=0) & ~np.eye(lo.shape[1], dtype=np.bool_)
        return float(others.mean()) * (end - first)


class StepSample:
    """The moves of small batches, until they are enough to judge by."""

    def __init__(self) -> None:
        self._steps: list[tuple[Doubles, Doubles]] = []
        self._count = 0

    def add(self, old: Doubles, new: Doubles) -> tuple[Doubles, Doubles] | None:
        """Moves came; all of them since the last result, if they are a sample now."""
        self._steps.append((old, new))
        self._count += len(old)
        if self._count < SAMPLE:
            return None
        steps, self._steps, self._count = self._steps, [], 0
        before, after = zip(*steps, strict=True)
        return np.concatenate(before), np.concatenate(after)


@dataclass
class LongRun:
    """A run of many boxes: its borders and, when that has become worth it, its index or grid.

    In several dimensions a tag of the borders is a row of `boxes`.
    """

    costs: MoveCosts
    borders: Borders
    boxes: Doubles | None
    numbers: Integers
    _index: Index | None = None
    _grid: Grid | None = None
    # Nanoseconds that index and grid would have saved so far.
    _missed: dict[str, float] = field(default_factory=dict)
    # What a move found in the last batch.
    _rate: float = 1.0
    # The way of the last batch that was judged, and the moves of small batches since.
    _last: str | None = None
    _waiting: StepSample = field(default_factory=StepSample)

    @staticmethod
    def over(part: Part, run: int) -> LongRun:
        numbers = part.numbers[part.starts[run] : part.starts[run + 1]]
        costs = MoveCosts(part, run)
        lo, hi = costs.boxes
        if len(part.axes) == 1:
            return LongRun(costs, build_borders(lo, hi, numbers), None, numbers)
        boxes = np.concatenate([lo, hi], axis=1)
        return LongRun(costs, build_borders(lo, hi, np.arange(len(numbers))), boxes, numbers)

    def transitions(self, moves: Integers, old: Doubles, new: Doubles) -> Transitions:
        return self.crossed(moves, _nowhere(old), _nowhere(new))

    def crossed(self, moves: Integers, old: Doubles, new: Doubles) -> Transitions:
        """The transitions of moves whose points are finite, or at +inf in all dimensions."""
        way = self._way(old, new)
        if way == STABS:
            return self._by_stabs(moves, old, new)
        if way == GRID:
            return self._by_grid(moves, old, new)
        if self.boxes is None:
            rows, tags, signs = crossings(self.borders, old[:, 0], new[:, 0])
            return Transitions(moves[rows], tags, signs)
        rows, tags, signs = crossings_of_boxes(self.borders, self.boxes, old, new)
        return Transitions(moves[rows], self.numbers[tags], signs)

    def _by_stabs(self, moves: Integers, old: Doubles, new: Doubles) -> Transitions:
        """What the index finds for both ends, less what is in both."""
        with _building:
            if self._index is None:
                self._index = index_over(self.costs.part, self.costs.run)
        found = self._index.stab(np.concatenate([old, new]))
        ends = np.arange(len(old)), np.arange(len(old), 2 * len(old))
        parted = differences(found.offsets, found.ids, Moves(*ends), self._size)
        return parted._replace(moves=moves[parted.moves])

    def _by_grid(self, moves: Integers, old: Doubles, new: Doubles) -> Transitions:
        """What lies between in the strips of both ends."""
        with _building:
            if self._grid is None:
                self._grid = build_grid(*self.costs.boxes, self.numbers)
        crossed = Transitions(*grid_crossings(self._grid, moves, old, new, self._rate))
        self._rate = len(crossed.moves) / max(len(moves), 1)
        return crossed

    @cached_property
    def _size(self) -> int:
        """One more than the largest number."""
        return int(self.numbers.max(initial=-1)) + 1

    def _way(self, old: Doubles, new: Doubles) -> str:
        """The cheapest for these moves, of what there is or what is now worth building.

        To judge costs as much as some twenty moves. So small batches go the way of the last that
        was judged, and are judged together when they are a sample.
        """
        if self._last is None or len(old) >= SAMPLE:
            self._last = self._judged(old, new)
        else:
            with _building:
                steps = self._waiting.add(old, new)
            if steps is not None:
                self._last = self._judged(*steps)
        return self._last

    def _judged(self, old: Doubles, new: Doubles) -> str:
        """The cheapest way for these moves, by a sample of them."""
        step = -(-len(old) // SAMPLE) or 1
        seen = old[::step], new[::step]
        sampled = max(len(seen[0]), 1)
        between = entries_read(self.borders, *seen) / sampled
        if self.costs.ranks + self.costs.entry * between <= 2 * LEAST:
            return CROSSINGS
        costs = self.costs.of(between)
        if self._grid is not None:
            blocks = blocks_read(self._grid, *seen) / sampled
            costs[GRID] = self.costs.in_grid(blocks)
        built = {CROSSINGS: True, STABS: self._index is not None, GRID: self._grid is not None}
        best = min(cost for way, cost in costs.items() if built[way])
        for way, cost in costs.items():
            self._missed[way] = self._missed.get(way, 0.0) + max(best - cost, 0.0) * len(old)
        prices = {CROSSINGS: 0.0, STABS: BUILD, GRID: BUILD_GRID}
        worth = (w for w in costs if built[w] or self._missed[w] >= prices[w] * len(self.numbers))
        return min(worth, key=costs.__getitem__)


@dataclass(frozen=True)
class PartTransitions:
    """A part whose boxes decide alone, and the borders of those of its runs that are long."""

    part: Part
    lo: Doubles
    hi: Doubles
    long: dict[int, LongRun]

    @staticmethod
    def over(part: Part) -> PartTransitions:
        n = len(part.numbers)
        if not part.axes:
            # A key alone: no row of that key is looked at any further.
            return PartTransitions(part, np.full((1, n), -np.inf), np.full((1, n), np.nan), {})
        long = {run: LongRun.over(part, run) for run in bordered_runs(part)}
        return PartTransitions(part, part.lo, part.hi, long)

    def transitions(self, rows: SearchRows, moves: Moves) -> Transitions:
        if self.part.key is None and 0 in self.long:
            points = rows.points(self.part.axes)
            ends = ends_of_moves(read_only(points), moves.old, moves.new)
            return self.long[0].crossed(np.arange(len(moves.old)), *ends)
        points = self._points(rows)
        old, new = _at(points, moves.old), _at(points, moves.new)
        if self.part.key is None:
            numbers = np.arange(len(old))
            return self._within(numbers, np.zeros(len(old), np.int64), old, new)
        # An unknown value, and a row that is missing, have the empty run past the last.
        none = len(self.part.starts) - 1
        runs = np.append(rows.runs(self.part), none)
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

    def _points(self, rows: SearchRows) -> Doubles:
        if not self.part.axes:
            return np.zeros((len(rows), 1))
        points = rows.points(self.part.axes)
        finite = np.isfinite(points)
        return points if finite.all() else np.where(finite, points, np.inf)

    def _within(self, moves: Integers, runs: Integers, old: Doubles, new: Doubles) -> Transitions:
        """Moves below one run each."""
        starts, ends = self.part.starts[:-1], self.part.starts[1:].copy()
        for run in self.long:
            ends[run] = starts[run]
        places, numbers, signs = _compare_runs(
            self.lo, self.hi, self.part.numbers, starts[runs], ends[runs], old, new
        )
        pieces = [Transitions(moves[places], numbers, signs)]
        if self.long:
            for lists, those in of_each_run(runs, self.long):
                pieces.append(lists.transitions(moves[those], old[those], new[those]))
        return all_transitions(pieces)


def bordered_runs(part: Part) -> list[int]:
    """The runs of whole boxes that have borders. In these every box looks at every axis."""
    return np.flatnonzero(np.diff(part.starts) > limits.MANY_WHOLE).tolist() if part.axes else []


def all_transitions(pieces: list[Transitions]) -> Transitions:
    """The transitions of all pieces, one piece after the other."""
    if len(pieces) == 1:
        return pieces[0]
    kinds = (np.int64, np.int64, np.int8)
    return Transitions(
        *(
            np.concatenate([np.empty(0, kind), *columns])
            for kind, columns in zip(
                kinds, zip(*pieces, strict=True) if pieces else [()] * 3, strict=True
            )
        )
    )


def differences(offsets: Integers, ids: Integers, moves: Moves, size: int) -> Transitions:
    """What one row of a move has and the other has not; row i has ids[offsets[i]:offsets[i + 1]],
    each id once and less than `size`."""
    # Of memory that nobody wrote to, only the pages that are touched cost anything.
    seen = np.zeros(size, dtype=np.int64)

    def fill(room: list[Any], move: int, at: int) -> tuple[int, int]:
        return _differ(offsets, ids, moves, seen, Transitions(*room), move, at)

    return Transitions(*filled_columns(fill, len(moves.old), 1.0, ROW_CHANGES))


@kernel
def _differ(
    offsets: Integers,
    ids: npt.NDArray[Any],
    moves: Moves,
    seen: Integers,
    out: Transitions,
    move: int,
    at: int,
) -> tuple[int, int]:
    """Moves from `move` on, until there may be no room; the next move and the next place.

    The new row's ids are marked with the move, and marked off again where the old row has them too.
    """
    for i in range(move, len(moves.old)):
        a, b = moves.old[i], moves.new[i]
        old = ids[offsets[a] : offsets[a + 1]] if a >= 0 else ids[:0]
        new = ids[offsets[b] : offsets[b + 1]] if b >= 0 else ids[:0]
        if at + len(old) + len(new) > len(out.moves):
            return i, at
        for j in new:
            seen[j] = i + 1
        for j in old:
            if seen[j] == i + 1:
                seen[j] = 0
            else:
                out.moves[at], out.numbers[at], out.signs[at] = i, j, np.int8(-1)
                at += 1
        for j in new:
            if seen[j] == i + 1:
                out.moves[at], out.numbers[at], out.signs[at] = i, j, np.int8(1)
                at += 1
    return len(moves.old), at


@kernel
def _nowhere(points: Doubles) -> Doubles:
    """A point that is missing, or at +inf in one dimension, as one at +inf in all."""
    for i in range(len(points)):
        somewhere = True
        for d in range(points.shape[1]):
            somewhere &= points[i, d] < np.inf
        if not somewhere:
            points[i] = np.inf
    return points


@kernel
def ends_of_moves(points: Doubles, old: Integers, new: Integers) -> tuple[Doubles, Doubles]:
    """The points of the old and the new rows of moves; one that is missing, or is no finite number
    in one dimension, is at +inf in all."""
    dims = points.shape[1]
    before, after = np.empty((len(old), dims)), np.empty((len(old), dims))
    for i in range(len(old)):
        _put_end(points, old[i], before, i)
        _put_end(points, new[i], after, i)
    return before, after


@leaf(forceinline=True)
def _put_end(points: Doubles, row: Int, found: Doubles, i: Int) -> None:
    somewhere = row >= 0
    if somewhere:
        for d in range(points.shape[1]):
            value = points[row, d]
            found[i, d] = value
            somewhere &= value - value == 0.0
    if not somewhere:
        for d in range(points.shape[1]):
            found[i, d] = np.inf


def _at(points: Doubles, rows: Integers) -> Doubles:
    found = points.take(rows, axis=0, mode="wrap")  # Far faster than points[rows].
    found[rows < 0] = np.nan
    return found


@kernel
def _compare_runs(
    lo: Doubles,
    hi: Doubles,
    numbers: Integers,
    starts: Integers,
    ends: Integers,
    old: Doubles,
    new: Doubles,
) -> tuple[Any, Any, Any]:
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
            # Seldom: what is no transition costs the comparisons alone.
            if before != after:
                moves[n], found[n] = i, numbers[j]
                signs[n] = np.int8(1) if after else np.int8(-1)
                n += 1
    return moves[:n].copy(), found[:n].copy(), signs[:n].copy()


@inner
def _longer(array: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:
    longer = np.empty(room, array.dtype)
    longer[: len(array)] = array
    return longer
