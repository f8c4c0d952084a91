"""The grid buffer: the plane in cells, and lists of numbers, one for each cell.

A cell is found by a monotone function of each coordinate, in float arithmetic too, and the cells at
the rim reach to infinity. So every point between two points is in the cells between theirs: whoever
is listed in the cells from one corner of a box to the other is found from anywhere in the box.

On Earth columns are of longitudes, from the antimeridian round to it again. Cells that go across it
have a first column beyond the last one: they are those from the first to the rim, and from the
other rim to the last. Where the objects themselves are on both sides of the antimeridian, the grid
is *turned*: its columns go from meridian 0 round to it again.

A list is a chain of blocks, all full but the first. To put a number in or to take it from a known
place costs one block, whatever the length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watchline.kernels.arrays import Array, Doubles, Integers, Small
from watchline.kernels.compiled import kernel, leaf, outer_leaf
from watchline.kernels.earth import Bounds

Cells = tuple[int, int, int, int]

# A block is a cache line: items, and which block comes next.
BLOCK = 16
ITEMS = BLOCK - 1
NONE = -1
# The cells of each level are so much wider than those below: a power of two.
WIDER = 2


class GridFrame(NamedTuple):
    """Columns and rows of cells: where they begin, and cells per unit of length."""

    x: float
    y: float
    per_x: float
    per_y: float
    columns: int
    rows: int


class CellLists(NamedTuple):
    """Of each list: its first block, how many are in that, and in the list; in the last line the
    first free block, and how many there are. A block is fifteen items, and the block after it."""

    heads: Small
    blocks: Small


def chosen_frame(points: Doubles, sides: tuple[float, float], most: int = 1 << 20) -> GridFrame:
    """Cells about so wide and so high over these points, but for the few that lie far out."""
    if not len(points):
        return GridFrame(0.0, 0.0, 0.0, 0.0, 1, 1)
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    with np.errstate(over="ignore"):
        extent = np.maximum(high - low, 0.0) * 1.02
    low = low - 0.01 * extent
    count = [1, 1]
    per = [0.0, 0.0]
    for d in range(2):
        if 0 < extent[d] < np.inf and sides[d] > 0:
            with np.errstate(over="ignore"):
                count[d] = int(min(max(np.ceil(extent[d] / sides[d]), 1), np.sqrt(most)))
                per[d] = float(count[d] / extent[d])
            if not np.isfinite(per[d]):
                count[d], per[d] = 1, 0.0
    return GridFrame(float(low[0]), float(low[1]), per[0], per[1], count[0], count[1])


def levels_of(frame: GridFrame) -> Integers:
    """Of each level of larger and larger cells: its first number, its columns, and a 0; the last
    level has one cell."""
    found, first, columns, rows = [], 0, frame.columns, frame.rows
    while True:
        found.append((first, columns, 0))
        if columns == rows == 1:
            return np.array(found, np.int64)
        first += columns * rows
        columns, rows = (((n - 1) >> WIDER) + 1 for n in (columns, rows))


@leaf
def _slice(x: float, begin: float, per: float, count: int) -> int:
    t = (x - begin) * per
    if not t >= 1.0:
        return 0
    return count - 1 if t >= count else int(t)


@leaf
def cell_holding(frame: GridFrame, x: float, y: float) -> int:
    """The cell that holds a point; the outermost cells hold what is beyond the frame."""
    column = _slice(x, frame.x, frame.per_x, frame.columns)
    return _slice(y, frame.y, frame.per_y, frame.rows) * frame.columns + column


@leaf
def cells_between(frame: GridFrame, x1: float, y1: float, x2: float, y2: float) -> Cells:
    """The first and last column, and the first and last row."""
    return (
        _slice(x1, frame.x, frame.per_x, frame.columns),
        _slice(x2, frame.x, frame.per_x, frame.columns),
        _slice(y1, frame.y, frame.per_y, frame.rows),
        _slice(y2, frame.y, frame.per_y, frame.rows),
    )


@outer_leaf
def turned(longitude: float) -> float:
    """The longitude in a grid that is turned: never less, the farther east of meridian 0."""
    return longitude + 180.0 if longitude < 0.0 else longitude - 180.0


@leaf
def cells_within(frame: GridFrame, is_turned: bool, bounds: Bounds) -> Cells:
    """The cells of all places within these bounds on Earth.

    Of bounds that cross the rim the first column may be the last one, or the next to it: then these
    are all columns.
    """
    west, south, east, north = bounds
    is_across = west > east
    if is_turned:
        # From meridian 0 eastwards the western longitudes come last.
        if (west < 0.0) != (east < 0.0):
            is_across = west < 0.0
        west, east = turned(west), turned(east)
    c1, c2, r1, r2 = cells_between(frame, west, south, east, north)
    if is_across and c1 <= c2 + 1:
        return np.int64(0), np.int64(frame.columns - 1), r1, r2
    return c1, c2, r1, r2


def empty_lists(lists: int, blocks: int) -> CellLists:
    """So many lists without items, and so many free blocks."""
    heads = np.zeros((lists + 1, 3), np.int32)
    heads[:, 0] = NONE
    heads[-1] = 0 if blocks else NONE, blocks, 0
    cells = np.zeros((blocks, BLOCK), np.int32)
    cells[:, ITEMS] = np.arange(1, blocks + 1)
    cells[-1:, ITEMS] = NONE
    return CellLists(heads, cells.reshape(-1))


@leaf
def put(lists: CellLists, number: int, item: int) -> int:
    """The place of the item; there must be a free block."""
    heads, blocks = lists
    block, fill, free = heads[number, 0], heads[number, 1], len(heads) - 1
    if block == NONE or fill == ITEMS:
        new = heads[free, 0]
        heads[free, 0] = blocks[new * BLOCK + ITEMS]
        heads[free, 1] -= 1
        blocks[new * BLOCK + ITEMS] = block
        heads[number, 0] = block = new
        fill = 0
    heads[number, 1] = fill + 1
    heads[number, 2] += 1
    place = block * BLOCK + fill
    blocks[place] = item
    return place


@leaf
def take(lists: CellLists, number: int, place: int) -> int:
    """Takes out what is at the place; the last item comes there and is returned."""
    heads, blocks = lists
    block, fill, free = heads[number, 0], heads[number, 1] - 1, len(heads) - 1
    moved = blocks[block * BLOCK + fill]
    blocks[place] = moved
    heads[number, 1] = fill
    heads[number, 2] -= 1
    if fill == 0:
        after = blocks[block * BLOCK + ITEMS]
        heads[number, 0] = after
        heads[number, 1] = ITEMS if after != NONE else 0
        blocks[block * BLOCK + ITEMS] = heads[free, 0]
        heads[free, 0] = block
        heads[free, 1] += 1
    return moved


@leaf
def find(lists: CellLists, number: int, item: int) -> int:
    """The place of an item that is in the list."""
    heads, blocks = lists
    block, fill = heads[number, 0], heads[number, 1]
    while True:
        start = block * BLOCK
        for place in range(start, start + fill):
            if blocks[place] == item:
                return place
        block, fill = blocks[start + ITEMS], ITEMS


@outer_leaf
def spare_blocks(lists: CellLists) -> int:
    """How many blocks no list uses."""
    return lists.heads[len(lists.heads) - 1, 1]


@kernel
def fill_lists(lists: CellLists, numbers: Array, items: Array, places: Array) -> None:
    """Each item into its list; its place there is noted at `places[item]`."""
    for i in range(len(items)):
        places[items[i]] = put(lists, np.int64(numbers[i]), np.int64(items[i]))
