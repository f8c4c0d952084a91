"""Axes: float64 values to cell numbers, by a map that never decreases.

That the map is monotone is all that exactness needs. For a range [lo, hi), every value in a cell
after lo's is above lo and every value in a cell before hi's is below hi, whatever the arithmetic
rounds: such cells are covered, and are never compared again. Only the cells of lo and hi
themselves can be cut, and not even those if the border is the first value of its cell.

Values outside the axis belong to its first or last cell, so its extent is a tuning matter alone.
Cells are equal, or, where borders crowd, bounded by borders themselves: `edges`, of which a table
of equal buckets (`guide`) tells which few to compare.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from watchline.kernels.arrays import Doubles, Integers, Small
from watchline.kernels.compiled import inner, kernel, leaf

# Widths outside of these would make reciprocals that are no numbers, or zero.
TINIEST, HUGEST = 1e-300, 1e300
# Beyond so many cells from zero a cell is narrower than the distance of two numbers.
FINEST = 2.0**52


class Axis(NamedTuple):
    """`cells` cells, equal ones if there are no `edges`."""

    # A value's cell is its distance from `start`, in cells (or in buckets of the guide), less
    # `origin`. Multiples of a width that is a power of two thus begin cells, whatever their sign.
    start: float
    inverse: float
    origin: float
    cells: int
    edges: Doubles
    # Edges that lie before each bucket.
    guide: Small

    @property
    def nbytes(self) -> int:
        return self.edges.nbytes + self.guide.nbytes


class Span(NamedTuple):
    """What a range does to an axis: it covers [first, end) and cuts `low` and `high` (-1: none)."""

    first: int
    end: int
    low: int
    high: int


def equal_axis(low: float, width: float, cells: int) -> Axis:
    """Cells of one width; the first begins at the multiple of it at or below `low`."""
    inverse = 1.0 / min(max(width, TINIEST), HUGEST)
    start, origin = 0.0, math.floor(min(max(low * inverse, -FINEST), FINEST))
    if abs(origin) >= FINEST:
        start, origin = float(low), 0
    nothing = np.empty(0), np.empty(0, dtype=np.int32)
    return Axis(start, inverse, float(origin), int(cells), *nothing)


def edged_axis(edges: Doubles) -> Axis:
    """Cells between these increasing finite edges, and one before and one after them all."""
    cells = len(edges) + 1
    low, high = float(edges[0]), float(edges[-1])
    width = min(max(high / cells - low / cells, TINIEST), HUGEST)
    buckets = equal_axis(low, width, cells + 1)
    guide = np.searchsorted(cells_of(buckets, edges), np.arange(cells + 2)).astype(np.int32)
    return buckets._replace(cells=cells, edges=np.ascontiguousarray(edges), guide=guide)


@inner
def _clamped(value: float, cells: int) -> int:
    if not value > 0.0:
        return 0
    if value >= cells:
        return cells - 1
    return int(value)


@leaf()
def cell_at(
    start: float,
    inverse: float,
    origin: float,
    cells: int,
    edges: Doubles,
    guide: Small,
    value: float,
) -> int:
    """The cell of a value that is not NaN, on the axis of these parts: for loops over rows."""
    scaled = np.floor((value - start) * inverse) - origin
    if len(edges) == 0:
        return _clamped(scaled, cells)
    bucket = _clamped(scaled, len(guide) - 1)
    low, high = guide[bucket], guide[bucket + 1]
    while low < high:
        middle = (low + high) >> 1
        if edges[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def cell_of(axis: Axis, value: float) -> int:
    """The cell of an axis that holds this value."""
    return cell_at(axis.start, axis.inverse, axis.origin, axis.cells, axis.edges, axis.guide, value)


@kernel
def cells_of(axis: Axis, values: Doubles) -> Integers:
    """The cell of each of these values."""
    start, inverse, origin, count, edges, guide = axis
    cells = np.empty(len(values), dtype=np.int64)
    for i in range(len(values)):
        cells[i] = cell_at(start, inverse, origin, count, edges, guide, values[i])
    return cells


@kernel
def begins_cell(axis: Axis, value: float) -> bool:
    """Whether no smaller value is in the value's cell."""
    return cell_of(axis, np.nextafter(value, -np.inf)) < cell_of(axis, value)


@kernel
def span_of(axis: Axis, lo: float, hi: float) -> Span:
    """The cells that [lo, hi) covers and cuts; a range within one cell has it as `low` alone."""
    first, end = cell_of(axis, lo), cell_of(axis, hi)
    low, high = -1, -1
    if lo != -np.inf and not begins_cell(axis, lo):
        low = first
        first += 1
    if hi == np.inf:
        end = axis.cells
    elif not begins_cell(axis, hi):
        high = end
    if high == low:
        high = -1
    elif low < 0 and high >= 0 and end < first:
        low, high = high, -1
    return Span(first, max(first, end), low, high)
