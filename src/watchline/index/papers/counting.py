"""`counting`: the bounds of each dimension and side in order, and what a row violates counted.

The bounds of a side that a value satisfies are those before or those after its place among them,
and those that it violates are the others. Invariant: a counter is the number of sides on which its
box is violated. It starts either at none, and the violated are counted up; or with the box violated
wherever it is bounded, and the satisfied are counted down: for each side the shorter of the two. To
change from one to the other takes a pass over the counters, so it is done when it saves that.

Cost: a search counts at most half the bounds of each side, a quarter on average; a bound has 12
bytes, and each box one for each side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watchline.index import scan
from watchline.index.papers.merging import Counters, Tally, collect, count_hits
from watchline.index.papers.rebuilt import RebuiltIndex
from watchline.index.scan import finite, scan_run
from watchline.kernels.arrays import Array, Bytes, Doubles, Integers, Mask, Small
from watchline.kernels.compiled import inner, kernel, leaf

# A pass over so many counters takes as long as a hit.
SWITCH = 16


class Sides(NamedTuple):
    """Side 2k has the lower bounds of dimension k, side 2k + 1 the upper ones."""

    bounds: Doubles
    places: Small
    # Where the bounds of each side begin; the next begins where they end.
    starts: Integers
    # (sides, places): 1 where a box is bounded.
    bounded: Bytes


class CountingIndex(RebuiltIndex):
    """Bounds in order, for each dimension; a box is hit when all its dimensions have counted it."""

    kind = "counting"

    def _lay_out(self, lo: Doubles, hi: Doubles) -> float:
        sides = [side[:, k] for k in range(self.dims) for side in (lo, hi)]
        bounded = np.zeros((len(sides), len(self._tally.needs)), dtype=np.uint8)
        orders = []
        for s, side in enumerate(sides):
            bounded[s, : len(side)] = np.isfinite(side)
            order = np.argsort(side, kind="stable")
            orders.append(order[np.isfinite(side[order])])
        starts = np.cumsum([0, *map(len, orders)])
        bounds = np.concatenate([side[order] for side, order in zip(sides, orders, strict=True)])
        self._sides = Sides(bounds, np.concatenate(orders).astype(np.int32), starts, bounded)
        return len(bounds) / 4

    def _needs(self, lo: Doubles, hi: Doubles) -> Array:
        return np.zeros(len(lo), dtype=np.uint8)

    @property
    def _most(self) -> int:
        return 2 * self.dims

    @property
    def _nbytes(self) -> int:
        return super()._nbytes + sum(a.nbytes for a in self._sides)

    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        late = self._late.columns()
        return _search(self._sides, self._tally, *late, points, offsets, found, row, at)


@kernel
def _search(
    sides: Sides,
    boxes: Tally,
    lo: Doubles,
    hi: Doubles,
    ids: Array,
    points: Doubles,
    offsets: Integers,
    found: Array,
    row: int,
    at: int,
) -> tuple[int, int]:
    base, left = boxes.needs.copy(), boxes.needs.copy()
    # Whether the boxes of a side start as violated.
    down = np.zeros(len(sides.bounded), dtype=np.bool_)
    hits = np.empty(scan.BLOCK, dtype=np.uint8)
    for i in range(row, len(points)):
        begin = at
        if finite(points[i]):
            _count_violated(sides, points[i], down, base, left)
            at = collect(left, base, boxes.ids, found, at)
            if at >= 0:
                at = scan_run(lo, hi, ids, points[i], 0, len(ids), hits, found, at)
            if at < 0:
                return i, begin
        offsets[i + 1] = at
    return len(points), at


@inner
def _count_violated(
    sides: Sides, point: Doubles, down: Mask, base: Counters, left: Counters
) -> None:
    bounds, places, starts, bounded = sides
    for s in range(len(bounded)):
        first, end = starts[s], starts[s + 1]
        cut = first + _not_above(bounds[first:end], point[s // 2])
        # A value satisfies the lower bounds that it is not below and the upper ones it is below.
        satisfied, violated = (first, cut), (cut, end)
        if s % 2:
            satisfied, violated = violated, satisfied
        saved = (violated[1] - violated[0]) - (satisfied[1] - satisfied[0])
        if (saved > 0) != down[s] and SWITCH * abs(saved) > len(left):
            down[s] = not down[s]
            _shift(base, left, bounded[s], down[s])
        if down[s]:
            count_hits(left, places, satisfied[0], satisfied[1], -1)
        else:
            count_hits(left, places, violated[0], violated[1], 1)


@leaf()
def _shift(base: Counters, left: Counters, bounded: Bytes, up: bool) -> None:
    """Boxes of a side start as violated from now on, or no longer."""
    if up:
        for j in range(len(base)):
            base[j] += bounded[j]
            left[j] += bounded[j]
    else:
        for j in range(len(base)):
            base[j] -= bounded[j]
            left[j] -= bounded[j]


@leaf()
def _not_above(bounds: Doubles, value: float) -> int:
    """How many bounds are not above a value."""
    low, high = 0, len(bounds)
    while low < high:
        middle = (low + high) >> 1
        if bounds[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
