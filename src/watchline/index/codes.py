"""Codes of 16 bits for values and for the bounds of boxes: an order-preserving hash.

An axis has cells that hold about as many bounds each. A value in cell c has the code 2c, a bound
has 2c if it is inside the cell and 2c - 1 if the cell begins with it. So codes decide whether a
value is within a bound, unless they are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watchline.index.cells import cell_at, edged_axis
from watchline.kernels.arrays import Codes, Doubles, Integers, Small
from watchline.kernels.compiled import kernel, leaf

# The codes of all dimensions have one table each in a search, which together fit into a cache.
CODES, TABLES = 2**14, 2**17
# More bounds than this are represented by some of them.
SAMPLE = 2**17
# The codes of no lower and of no upper bound: less and greater than all others.
FLOOR, CEILING = 0, 65_535


class Scales(NamedTuple):
    """The axes of all dimensions; a value's cell is one more than the edges at or below it."""

    start: Doubles
    inverse: Doubles
    origin: Doubles
    counts: Integers
    edges: Doubles
    guide: Small

    @property
    def size(self) -> int:
        """More than the greatest cell."""
        return int(self.counts.max(initial=0)) + 2


def scales_of(lo: Doubles, hi: Doubles) -> Scales:
    """Axes whose edges are the bounds, or, if these are very many, as many as there are codes."""
    dims = lo.shape[1]
    most = CODES
    while most * dims > TABLES and most > 256:
        most //= 2
    step = max(1, len(lo) * 2 // SAMPLE)
    axes = []
    for d in range(dims):
        bounds = np.concatenate([lo[::step, d], hi[::step, d]])
        edges = np.unique(bounds[np.isfinite(bounds)])
        if len(edges) >= most:
            edges = edges[np.linspace(0, len(edges) - 1, most - 1).astype(np.int64)]
        axes.append(edged_axis(edges) if len(edges) else None)
    count = max((len(axis.edges) for axis in axes if axis), default=0)
    scales = Scales(
        start=np.zeros(dims),
        inverse=np.zeros(dims),
        origin=np.zeros(dims),
        counts=np.zeros(dims, np.int64),
        edges=np.full((dims, count), np.inf),
        guide=np.zeros((dims, count + 3), np.int32),
    )
    for d, axis in enumerate(axes):
        if axis:
            scales.start[d], scales.inverse[d], scales.origin[d] = axis[:3]
            scales.counts[d] = len(axis.edges)
            scales.edges[d, : len(axis.edges)] = axis.edges
            scales.guide[d, : len(axis.guide)] = axis.guide
    return scales


@leaf(inline="always")
def cell_in(scales: Scales, d: int, value: float) -> int:
    """The cell of a value that is not NaN."""
    n = scales.counts[d]
    if n == 0:
        return 1
    return 1 + cell_at(
        scales.start[d],
        scales.inverse[d],
        scales.origin[d],
        n + 1,
        scales.edges[d, :n],
        scales.guide[d, : n + 3],
        value,
    )


@kernel
def transform(scales: Scales, points: Codes, slots: Small, lo: Doubles, hi: Doubles) -> None:
    """The corner transformation."""
    for slot in slots:
        for d in range(lo.shape[1]):
            points[slot, 2 * d], points[slot, 2 * d + 1] = FLOOR, CEILING
            if lo[slot, d] > -np.inf:
                points[slot, 2 * d] = _bound_code(scales, d, lo[slot, d])
            if hi[slot, d] < np.inf:
                points[slot, 2 * d + 1] = _bound_code(scales, d, hi[slot, d])


@leaf(inline="always")
def _bound_code(scales: Scales, d: int, bound: float) -> int:
    cell = cell_in(scales, d, bound)
    return 2 * cell - (cell > 1 and scales.edges[d, cell - 2] == bound)
