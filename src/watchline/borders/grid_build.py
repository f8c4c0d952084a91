"""How a grid over boxes that stay (see stationary.py) is chosen from the boxes, and built."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from watchline.borders.strips import EntryBlocks, Grid, StripAxis, cell_on, cells_along, strip_on
from watchline.index import HUGEST, TINIEST
from watchline.kernels.arrays import Doubles, Int, Integers, Small
from watchline.kernels.blocks import LANES, SIDES
from watchline.kernels.compiled import inner, kernel, leaf

# Strips in the mean side of a box, boxes of a cell at least, entries of a place in the guide.
STRIPS, SPARSE, GUIDED = 1.5, 20, 3
# Members of a box on average, at most: 36 bytes each. Fewer make larger cells, and jumps read more.
MEMBERS = 5
# Of the borders' extent, what is left out on either side if that makes the rest much smaller.
OUTLIERS, SMALLER = 0.005, 16.0

# --- sizes


class GridSizes(NamedTuple):
    """The axes and what they lead to, by which a grid is judged before it is built."""

    x: StripAxis
    y: StripAxis
    wide: int
    # Of all borders across an axis the share in a strip, on average; and the members of a cell.
    share: float
    held: float


def grid_sizes(lo: Doubles, hi: Doubles, strips: tuple[int, int] | None = None) -> GridSizes:
    """For boxes (n, 2), so that entries are few and short ways are short; or so many strips."""
    n = len(lo)
    extents = [_extent(lo[:, k], hi[:, k]) for k in range(2)]
    # The mean side of a box in parts of the extent.
    means = [_mean_side(lo[:, k], hi[:, k], *extents[k]) for k in range(2)]
    if strips is None:
        wanted = [STRIPS / max(mean, STRIPS / n) for mean in means]
        most = max(n / SPARSE, 1.0)
        # Both by the same factor, and what falls below one strip is the other's to take.
        factor = math.sqrt(min(1.0, most / (wanted[0] * wanted[1])))
        wanted = [min(w * factor, most) for w in wanted]
        strips = (max(int(wanted[0]), 1), max(int(wanted[1]), 1))
    shares = [mean + 1 / count for mean, count in zip(means, strips, strict=True)]
    x = _axis(extents[0], strips[0], 2 * n * shares[1])
    y = _axis(extents[1], strips[1], 2 * n * shares[0])
    wide, reach = 0, _reach(lo, hi, x, y, 0)
    while reach > MEMBERS * n and max(x.strips, y.strips) >> wide > 1:
        wide += 1
        reach = _reach(lo, hi, x, y, wide)
    cells = -(-x.strips >> wide) * -(-y.strips >> wide)
    return GridSizes(x, y, wide, min(max(shares), 1.0), reach / max(cells, 1))


def _extent(lo: Doubles, hi: Doubles) -> tuple[float, float]:
    """Where the finite borders are, or nearly all of them, if the others are far off."""
    borders = np.concatenate([lo, hi])
    borders = np.sort(borders[np.isfinite(borders)])
    if not len(borders):
        return 0.0, 1.0
    out = int(len(borders) * OUTLIERS)
    low, high = borders[out], borders[-1 - out]
    # In parts: a difference of two numbers may be none.
    if borders[-1] / SMALLER - borders[0] / SMALLER <= high / 2 - low / 2:
        low, high = borders[0], borders[-1]
    return float(low), float(high)


def _mean_side(lo: Doubles, hi: Doubles, low: float, high: float) -> float:
    whole = high / 2 - low / 2
    if not whole > 0.0:
        return 1.0
    sides = np.clip(hi, low, high) / 2 - np.clip(lo, low, high) / 2
    return float(np.mean(sides / whole))


def _axis(extent: tuple[float, float], strips: int, entries: float) -> StripAxis:
    """`entries` are those of a strip that goes along this axis, in all its places."""
    shift = max(math.ceil(math.log2(max(entries / GUIDED / strips, 1.0))), 0)
    cells = strips << shift
    width = min(max(extent[1] / cells - extent[0] / cells, TINIEST), HUGEST)
    return StripAxis(extent[0], 1.0 / width, cells, shift)


# --- building


def build_grid(
    lo: Doubles, hi: Doubles, numbers: Integers, strips: tuple[int, int] | None = None
) -> Grid:
    """A grid of boxes [lo, hi), float64 (n, 2), under these numbers below 2^31."""
    x, y, wide, _, _ = grid_sizes(lo, hi, strips)
    tags = numbers.astype(np.int32)
    (x1, y1), (x2, y2) = np.ascontiguousarray(lo.T), np.ascontiguousarray(hi.T)
    across_x = _borders(x1, x2, y1, y2, tags, x, y)
    across_y = _borders(y1, y2, x1, x2, tags, y, x)
    return Grid(x, y, wide, across_x, across_y, _members(x1, x2, y1, y2, tags, x, y, wide))


def _borders(
    lo: Doubles,
    hi: Doubles,
    low: Doubles,
    high: Doubles,
    tags: Small,
    along: StripAxis,
    across: StripAxis,
) -> EntryBlocks:
    """The borders at lo and hi, each in the strips that [low, high) reaches into."""
    keys, others = np.concatenate([lo, hi]), np.concatenate([hi, lo])
    order = np.argsort(keys)
    # No move passes an infinite border.
    order = order[np.isfinite(keys[order])]
    return _in_strips(keys, others, low, high, tags, order, along, across)


@kernel
def _in_strips(
    keys: Doubles,
    others: Doubles,
    low: Doubles,
    high: Doubles,
    tags: Small,
    order: Integers,
    along: StripAxis,
    across: StripAxis,
) -> EntryBlocks:
    """In this order, by counting first."""
    n, cells = len(low), along.cells
    strips = across.cells >> across.shift
    starts = np.zeros(strips * cells + 1, np.int32)
    for e in order:
        place = cell_on(along, keys[e])
        for s in range(strip_on(across, low[e % n]), strip_on(across, high[e % n]) + 1):
            starts[s * cells + place + 1] += 1
    nexts, total = np.empty(strips, np.int64), 0
    for s in range(strips):
        total = -(-total // LANES) * LANES
        nexts[s] = starts[s * cells] = total
        for c in range(s * cells, (s + 1) * cells):
            total += starts[c + 1]
            starts[c + 1] = total
    lists = _empty_blocks(starts, -(-total // LANES))
    for e in order:
        box = e % n
        bounds = (keys[e], others[e], low[box], high[box])
        for s in range(strip_on(across, low[box]), strip_on(across, high[box]) + 1):
            _put(lists, nexts[s], bounds, tags[box])
            nexts[s] += 1
    return lists


@kernel
def _members(
    x1: Doubles,
    x2: Doubles,
    y1: Doubles,
    y2: Doubles,
    tags: Small,
    x: StripAxis,
    y: StripAxis,
    wide: int,
) -> EntryBlocks:
    width = cells_along(x, wide)
    counts = np.zeros(width * cells_along(y, wide), np.int64)
    for i in range(len(tags)):
        for r in range(strip_on(y, y1[i]) >> wide, (strip_on(y, y2[i]) >> wide) + 1):
            for c in range(strip_on(x, x1[i]) >> wide, (strip_on(x, x2[i]) >> wide) + 1):
                counts[r * width + c] += 1
    starts = np.zeros(len(counts) + 1, np.int32)
    for cell in range(len(counts)):
        starts[cell + 1] = starts[cell] - (-counts[cell] // LANES)
        counts[cell] = starts[cell] * LANES
    lists = _empty_blocks(starts, starts[-1])
    for i in range(len(tags)):
        bounds = (x1[i], x2[i], y1[i], y2[i])
        for r in range(strip_on(y, y1[i]) >> wide, (strip_on(y, y2[i]) >> wide) + 1):
            for c in range(strip_on(x, x1[i]) >> wide, (strip_on(x, x2[i]) >> wide) + 1):
                _put(lists, counts[r * width + c], bounds, tags[i])
                counts[r * width + c] += 1
    return lists


@kernel
def _reach(lo: Doubles, hi: Doubles, x: StripAxis, y: StripAxis, wide: int) -> int:
    """How many cells boxes reach into, all together."""
    total = 0
    for i in range(len(lo)):
        columns = (strip_on(x, hi[i, 0]) >> wide) - (strip_on(x, lo[i, 0]) >> wide) + 1
        total += columns * ((strip_on(y, hi[i, 1]) >> wide) - (strip_on(y, lo[i, 1]) >> wide) + 1)
    return total


@inner
def _empty_blocks(starts: Small, blocks: int) -> EntryBlocks:
    bounds = np.full((SIDES * blocks, LANES), np.nan)
    return EntryBlocks(starts, bounds, np.zeros((blocks, LANES), np.int32))


@leaf(forceinline=True)
def _put(
    lists: EntryBlocks, place: Int, bounds: tuple[float, float, float, float], tag: Int
) -> None:
    block, lane = place // LANES, place % LANES
    for side in range(SIDES):
        lists.bounds[SIDES * block + side, lane] = bounds[side]
    lists.tags[block, lane] = tag
