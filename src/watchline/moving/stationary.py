"""A grid over boxes that stay where they are: of a move, what it enters and leaves (SOLE, 2-D).

SOLE's cells, read along their borders. A move that stays near is decided by the borders it passes,
and a grid says which may be there. The plane is cut into strips along each axis; a strip has the
borders across it, sorted, and a fine *guide* to places in it. A move goes along x at its old y,
then along y at its new x:

        strip of ay  | a ──┼──┼── m |       a  old point       ┼  a border that is passed
                     |            ┼ |       m  (bx, ay)
        strip of by  |            b |       b  new point

Invariant. A box is told on the leg that changes it, unless the other leg changes it back, by exact
comparison of its own bounds: on the first leg, if it holds a or m and not both, and b as m; on the
second the same with a and b exchanged. A box that only one of two points holds has exactly one
border across between them, and is in the strip of the leg; so nothing is missed or told twice.
What a cell's number is decides only what is read: it never decreases with the value, whatever the
arithmetic rounds, and the first and last cells reach to infinity.

A first row, a last row and a jump have no way worth reading. There the *members* of the cells of
both ends are compared, which are all boxes that reach into the cell.

Entries stand in blocks of eight with their bounds beside them, and a block is compared at once.
Cost: a move reads the borders between its ends that stand in one strip, rounded to blocks. A box
has an entry in each strip that it reaches into: strips are about as wide as boxes, so ten or so,
whatever the sizes; and members in cells so large that they are few. 36 bytes an entry.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from watchline.border.lists import bucket_of
from watchline.border.search import Found, collected
from watchline.index.grid import HUGEST, TINIEST
from watchline.index.table import Doubles, Int, Integers, Slots
from watchline.index.vector import CAN_PICK, PICKS, prefetch
from watchline.kernels import inner, kernel, leaf

DIMENSIONS = 2
# Entries of a block, and how many of them a register holds.
LANES, HALF = 8, 4
# Rows of `bounds` for a block.
SIDES = 4

# Strips in the mean side of a box, boxes of a cell at least, entries of a place in the guide.
STRIPS, SPARSE, GUIDED = 1.5, 20, 3
# Members of a box on average, at most.
MEMBERS = 16
# Of the borders' extent, what is left out on either side if that makes the rest much smaller.
OUTLIERS, SMALLER = 0.005, 16.0
# Moves whose memory is fetched ahead together.
GROUP = 16
# Blocks of a way that are read without asking whether members would be fewer.
SHORT = 16
# Moves of a cell for which it is worth it to go cell by cell.
CROWDED = 8


class Axis(NamedTuple):
    """`cells` places of one width, of which 2^shift make a strip."""

    start: float
    inverse: float
    cells: int
    shift: int

    @property
    def strips(self) -> int:
        return self.cells >> self.shift


class Lists(NamedTuple):
    """Entries in blocks: block b has rows 4b to 4b + 3 of `bounds` and row b of `tags`.

    Lanes without an entry are NaN, with which no comparison holds.
    """

    starts: Slots
    bounds: Doubles
    tags: Slots


class Grid(NamedTuple):
    """Borders across x in the strips of y, borders across y in those of x, and members.

    Of borders, the four bounds are the border, the box's other one, and the box on the other axis;
    place c of strip s has the entries from starts[s * cells + c] on, and a strip begins a block. Of
    members they are the box, and `starts` counts blocks. A cell has 2^wide strips of each axis.
    """

    x: Axis
    y: Axis
    wide: int
    across_x: Lists
    across_y: Lists
    members: Lists

    @property
    def entries(self) -> int:
        lists = (self.across_x, self.across_y, self.members)
        return sum(int(np.count_nonzero(x.bounds[::SIDES] == x.bounds[::SIDES])) for x in lists)

    @property
    def nbytes(self) -> int:
        lists = (self.across_x, self.across_y, self.members)
        return sum(array.nbytes for x in lists for array in x)


class Columns(NamedTuple):
    """Where what moves enter and leave is written; a block more than is in use."""

    moves: Integers
    numbers: Integers
    signs: npt.NDArray[np.int8]


# --- sizes


class Sizes(NamedTuple):
    """The axes and what they lead to, by which a grid is judged before it is built."""

    x: Axis
    y: Axis
    wide: int
    # Of all borders across an axis the share in a strip, on average; and the members of a cell.
    share: float
    held: float


def sizes_of(lo: Doubles, hi: Doubles, strips: tuple[int, int] | None = None) -> Sizes:
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
    return Sizes(x, y, wide, min(max(shares), 1.0), reach / max(cells, 1))


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


def _axis(extent: tuple[float, float], strips: int, entries: float) -> Axis:
    """`entries` are those of a strip that goes along this axis, in all its places."""
    shift = max(math.ceil(math.log2(max(entries / GUIDED / strips, 1.0))), 0)
    cells = strips << shift
    width = min(max(extent[1] / cells - extent[0] / cells, TINIEST), HUGEST)
    return Axis(extent[0], 1.0 / width, cells, shift)


# --- building


def build(
    lo: Doubles, hi: Doubles, numbers: Integers, strips: tuple[int, int] | None = None
) -> Grid:
    """A grid of boxes [lo, hi), float64 (n, 2), under these numbers below 2^31."""
    x, y, wide, _, _ = sizes_of(lo, hi, strips)
    tags = numbers.astype(np.int32)
    (x1, y1), (x2, y2) = np.ascontiguousarray(lo.T), np.ascontiguousarray(hi.T)
    across_x = _borders(x1, x2, y1, y2, tags, x, y)
    across_y = _borders(y1, y2, x1, x2, tags, y, x)
    return Grid(x, y, wide, across_x, across_y, _members(x1, x2, y1, y2, tags, x, y, wide))


def _borders(
    lo: Doubles, hi: Doubles, low: Doubles, high: Doubles, tags: Slots, along: Axis, across: Axis
) -> Lists:
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
    tags: Slots,
    order: Integers,
    along: Axis,
    across: Axis,
) -> Lists:  # pragma: no cover - compiled
    """In this order, by counting first."""
    n, cells = len(low), along.cells
    strips = across.cells >> across.shift
    starts = np.zeros(strips * cells + 1, np.int32)
    for e in order:
        place = _cell(along, keys[e])
        for s in range(_strip(across, low[e % n]), _strip(across, high[e % n]) + 1):
            starts[s * cells + place + 1] += 1
    nexts, total = np.empty(strips, np.int64), 0
    for s in range(strips):
        total = -(-total // LANES) * LANES
        nexts[s] = starts[s * cells] = total
        for c in range(s * cells, (s + 1) * cells):
            total += starts[c + 1]
            starts[c + 1] = total
    lists = _room(starts, -(-total // LANES))
    for e in order:
        box = e % n
        bounds = (keys[e], others[e], low[box], high[box])
        for s in range(_strip(across, low[box]), _strip(across, high[box]) + 1):
            _put(lists, nexts[s], bounds, tags[box])
            nexts[s] += 1
    return lists


@kernel
def _members(
    x1: Doubles, x2: Doubles, y1: Doubles, y2: Doubles, tags: Slots, x: Axis, y: Axis, wide: int
) -> Lists:  # pragma: no cover - compiled
    width = _width(x, wide)
    counts = np.zeros(width * _width(y, wide), np.int64)
    for i in range(len(tags)):
        for r in range(_strip(y, y1[i]) >> wide, (_strip(y, y2[i]) >> wide) + 1):
            for c in range(_strip(x, x1[i]) >> wide, (_strip(x, x2[i]) >> wide) + 1):
                counts[r * width + c] += 1
    starts = np.zeros(len(counts) + 1, np.int32)
    for cell in range(len(counts)):
        starts[cell + 1] = starts[cell] - (-counts[cell] // LANES)
        counts[cell] = starts[cell] * LANES
    lists = _room(starts, starts[-1])
    for i in range(len(tags)):
        bounds = (x1[i], x2[i], y1[i], y2[i])
        for r in range(_strip(y, y1[i]) >> wide, (_strip(y, y2[i]) >> wide) + 1):
            for c in range(_strip(x, x1[i]) >> wide, (_strip(x, x2[i]) >> wide) + 1):
                _put(lists, counts[r * width + c], bounds, tags[i])
                counts[r * width + c] += 1
    return lists


@kernel
def _reach(
    lo: Doubles, hi: Doubles, x: Axis, y: Axis, wide: int
) -> int:  # pragma: no cover - compiled
    """How many cells boxes reach into, all together."""
    total = 0
    for i in range(len(lo)):
        columns = (_strip(x, hi[i, 0]) >> wide) - (_strip(x, lo[i, 0]) >> wide) + 1
        total += columns * ((_strip(y, hi[i, 1]) >> wide) - (_strip(y, lo[i, 1]) >> wide) + 1)
    return total


@inner
def _room(starts: Slots, blocks: int) -> Lists:  # pragma: no cover - compiled
    bounds = np.full((SIDES * blocks, LANES), np.nan)
    return Lists(starts, bounds, np.zeros((blocks, LANES), np.int32))


@leaf(forceinline=True)
def _put(
    lists: Lists, place: Int, bounds: tuple[float, float, float, float], tag: Int
) -> None:  # pragma: no cover - compiled
    block, lane = place // LANES, place % LANES
    for side in range(SIDES):
        lists.bounds[SIDES * block + side, lane] = bounds[side]
    lists.tags[block, lane] = tag


@leaf(forceinline=True)
def _cell(axis: Axis, value: float) -> Int:  # pragma: no cover - compiled
    return bucket_of(axis.start, axis.inverse, axis.cells, value)


@leaf(forceinline=True)
def _strip(axis: Axis, value: float) -> Int:  # pragma: no cover - compiled
    return _cell(axis, value) >> axis.shift


@leaf(forceinline=True)
def _width(axis: Axis, wide: Int) -> Int:  # pragma: no cover - compiled
    """Cells along an axis."""
    return (((axis.cells >> axis.shift) - 1) >> wide) + 1


# --- moves


def flips(grid: Grid, moves: Integers, old: Doubles, new: Doubles, rate: float = 1.0) -> Found:
    """Moves, numbers and signs of what moves[i] from old[i] to new[i], float64 (m, 2), enters and
    leaves. A point with a NaN or +inf is nowhere. `rate` is the guess of what a move finds."""
    order = _by_cell(grid.x, grid.y, old, len(old) // CROWDED)

    def fill(room: list[Any], first: int, at: int) -> tuple[int, int]:
        return _flip(grid, order, moves, old, new, Columns(*room), first, at)

    return collected(fill, len(old), rate)


@kernel
def blocks_read(grid: Grid, old: Doubles, new: Doubles) -> int:  # pragma: no cover - compiled
    """How many blocks these moves read."""
    spans, total = np.empty((1, 4), np.int64), 0
    order = np.arange(len(old)).astype(np.int32)
    for i in range(len(old)):
        _fetch_spans(grid, order, i, 1, old, new, spans)
        step = (old[i, 0], new[i, 0], old[i, 1], new[i, 1])
        walked = _walked(grid, spans, 0, step)
        if walked < 0:
            first, end = _cell_members(grid, step[0], step[2])
            walked = end - first
            first, end = _cell_members(grid, step[1], step[3])
            walked += end - first
        total += walked
    return total


@kernel
def _by_cell(x: Axis, y: Axis, points: Doubles, most: int) -> Slots:  # pragma: no cover - compiled
    """An order of the points in which those of one cell, of at most so many, stand together: what
    they read is in the cache."""
    wide = 0
    while _width(x, wide) * _width(y, wide) > max(most, 1):
        wide += 1
    width = _width(x, wide)
    cells = np.empty(len(points), np.int32)
    places = np.zeros(width * _width(y, wide) + 1, np.int64)
    for i in range(len(points)):
        row, column = _strip(y, points[i, 1]) >> wide, _strip(x, points[i, 0]) >> wide
        cells[i] = row * width + column
        places[cells[i] + 1] += 1
    places = np.cumsum(places)
    order = np.empty(len(points), np.int32)
    for i in range(len(points)):
        order[places[cells[i]]] = i
        places[cells[i]] += 1
    return order


@kernel
def _flip(
    grid: Grid,
    order: Slots,
    moves: Integers,
    old: Doubles,
    new: Doubles,
    columns: Columns,
    first: int,
    at: int,
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Moves from `first` in the order on, until there may be no room; the next, and its place."""
    spans = np.empty((GROUP, 4), np.int64)
    for group in range(first, len(order), GROUP):
        count = min(GROUP, len(order) - group)
        _fetch_points(order, group + GROUP, old, new)
        _fetch_spans(grid, order, group, count, old, new, spans)
        for j in range(count):
            i = np.int64(order[group + j])
            step = (old[i, 0], new[i, 0], old[i, 1], new[i, 1])
            if _walked(grid, spans, j, step) >= 0:
                end = _walk(grid, spans, j, moves[i], step, columns, at)
            else:
                end = _jump(grid, moves[i], step, columns, at)
            if end < 0:
                return group + j, at
            at = end
    return len(order), at


@leaf(forceinline=True)
def _fetch_points(
    order: Slots, group: Int, old: Doubles, new: Doubles
) -> None:  # pragma: no cover - compiled
    for j in range(group, min(group + GROUP, len(order))):
        prefetch(old, np.int64(order[j]))
        prefetch(new, np.int64(order[j]))


@leaf(forceinline=True)
def _fetch_spans(
    grid: Grid, order: Slots, group: Int, count: Int, old: Doubles, new: Doubles, spans: Integers
) -> None:  # pragma: no cover - compiled
    """The blocks that both legs of some moves read, first and end; and ask for their memory."""
    x, y, across_x, across_y = grid.x, grid.y, grid.across_x, grid.across_y
    for j in range(count):
        i = np.int64(order[group + j])
        ax, bx = _cell(x, old[i, 0]), _cell(x, new[i, 0])
        ay, by = _cell(y, old[i, 1]), _cell(y, new[i, 1])
        row, column = (ay >> y.shift) * x.cells, (bx >> x.shift) * y.cells
        spans[j, 0], spans[j, 1] = row + min(ax, bx), row + max(ax, bx) + 1
        spans[j, 2], spans[j, 3] = column + min(ay, by), column + max(ay, by) + 1
        prefetch(across_x.starts, spans[j, 0])
        prefetch(across_y.starts, spans[j, 2])
    for j in range(count):
        _to_blocks(across_x, spans, j, 0)
        _to_blocks(across_y, spans, j, 2)


@leaf(forceinline=True)
def _to_blocks(
    lists: Lists, spans: Integers, j: Int, k: Int
) -> None:  # pragma: no cover - compiled
    first = np.int64(lists.starts[np.uint64(spans[j, k])]) // LANES
    end = (np.int64(lists.starts[np.uint64(spans[j, k + 1])]) + LANES - 1) // LANES
    spans[j, k], spans[j, k + 1] = first, end
    prefetch(lists.tags, first)
    for row in range(SIDES):
        prefetch(lists.bounds, SIDES * first + row)


@leaf(forceinline=True)
def _walked(
    grid: Grid, spans: Integers, j: Int, step: tuple[float, float, float, float]
) -> Int:  # pragma: no cover - compiled
    """The blocks on the way of a move; -1 if there is no way, or the members of both ends are
    fewer."""
    ax, bx, ay, by = step
    if not ((ax < np.inf) & (bx < np.inf) & (ay < np.inf) & (by < np.inf)):
        return -1
    blocks = spans[j, 1] - spans[j, 0] + spans[j, 3] - spans[j, 2]
    if blocks > SHORT:
        first, end = _cell_members(grid, ax, ay)
        more, last = _cell_members(grid, bx, by)
        if blocks > end - first + last - more:
            return -1
    return blocks


@leaf(forceinline=True)
def _walk(
    grid: Grid,
    spans: Integers,
    j: Int,
    move: Int,
    step: tuple[float, float, float, float],
    columns: Columns,
    at: Int,
) -> Int:  # pragma: no cover - compiled
    """The borders on both legs; the next place, -1: there may be no room.

    The second leg is the first one of the way back: what is entered there is left here.
    """
    ax, bx, ay, by = step
    x_first, x_end, y_first, y_end = spans[j, 0], spans[j, 1], spans[j, 2], spans[j, 3]
    if at + LANES * (x_end - x_first + y_end - y_first + 1) > len(columns.moves):
        return -1
    for block in range(x_first, x_end):
        at += cross_block(columns, at, move, grid.across_x, block, step, 1)
    for block in range(y_first, y_end):
        at += cross_block(columns, at, move, grid.across_y, block, (by, ay, bx, ax), -1)
    return at


@leaf()
def _jump(
    grid: Grid, move: Int, step: tuple[float, float, float, float], columns: Columns, at: Int
) -> Int:  # pragma: no cover - compiled
    """The members of the cells of both ends."""
    ax, bx, ay, by = step
    first, end = _cell_members(grid, ax, ay)
    more, last = _cell_members(grid, bx, by)
    if at + LANES * (end - first + last - more + 1) > len(columns.moves):
        return -1
    for block in range(first, end):
        at += leave_block(columns, at, move, grid.members, block, step, -1)
    for block in range(more, last):
        at += leave_block(columns, at, move, grid.members, block, (bx, ax, by, ay), 1)
    return at


@leaf()
def _cell_members(grid: Grid, x: float, y: float) -> tuple[Int, Int]:  # pragma: no cover - compiled
    """The blocks of the cell of a point; none if it is nowhere."""
    if not ((x < np.inf) & (y < np.inf)):
        return 0, 0
    wide, starts = grid.wide, grid.members.starts
    row, column = _strip(grid.y, y) >> wide, _strip(grid.x, x) >> wide
    cell = row * _width(grid.x, wide) + column
    return np.int64(starts[cell]), np.int64(starts[cell + 1])


# --- a block at once


def cross_block(
    columns: Columns,
    at: Int,
    move: Int,
    lists: Lists,
    block: Int,
    step: tuple[float, float, float, float],
    sign: Int,
) -> int:
    """Write the boxes of a block of borders that the leg from a to b, at c, changes and that from c
    to d, at b, does not change back; how many. `sign` is that of what is entered."""
    a, b, c, d = step
    bottom, top, count = min(a, b), max(a, b), 0
    for lane in range(LANES):
        key, other, low, high = lists.bounds[SIDES * block : SIDES * block + SIDES, lane]
        passed = bottom < key <= top and (other > top or other <= bottom)
        entered = (other > top) == (a < b)
        if passed and low <= c < high and (low <= d < high or not entered):
            columns.moves[at + count], columns.numbers[at + count] = move, lists.tags[block, lane]
            columns.signs[at + count] = sign if entered else -sign
            count += 1
    return count


def leave_block(
    columns: Columns,
    at: Int,
    move: Int,
    lists: Lists,
    block: Int,
    step: tuple[float, float, float, float],
    sign: Int,
) -> int:
    """Write the boxes of a block of members that hold (a, c) and not (b, d), with this sign."""
    a, b, c, d = step
    count = 0
    for lane in range(LANES):
        x1, x2, y1, y2 = lists.bounds[SIDES * block : SIDES * block + SIDES, lane]
        if x1 <= a < x2 and y1 <= c < y2 and not (x1 <= b < x2 and y1 <= d < y2):
            columns.moves[at + count], columns.numbers[at + count] = move, lists.tags[block, lane]
            columns.signs[at + count] = sign
            count += 1
    return count


# The same as vector instructions. What is told of a box is the highest bit of its tag, so that tag
# and sign are picked together. Masks are whole numbers of all ones or zeros, which stay in
# registers.

I8, I32, I64, F64 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
MASK = ir.VectorType(I64, HALF)


def _compare(builder: Any, operator: str, left: Any, right: Any) -> Any:  # pragma: no cover
    return builder.sext(builder.fcmp_ordered(operator, left, right), MASK)


def _within(builder: Any, low: Any, value: Any, high: Any) -> Any:  # pragma: no cover - compiles
    above = _compare(builder, "<=", low, value)
    return builder.and_(above, _compare(builder, ">", high, value))


def _crosses(builder: Any, bounds: Any, step: Any) -> tuple[Any, Any]:  # pragma: no cover
    """Masks of what is told, and of what is entered."""
    key, other, low, high = bounds
    a, b, c, d = step
    up = builder.fcmp_ordered("<", a, b)
    bottom, top = builder.select(up, a, b), builder.select(up, b, a)
    beyond, before = _compare(builder, ">", other, top), _compare(builder, "<=", other, bottom)
    entered = builder.not_(builder.xor(beyond, builder.sext(up, MASK)))
    told = builder.and_(_compare(builder, ">", key, bottom), _compare(builder, "<=", key, top))
    told = builder.and_(told, builder.or_(beyond, before))
    told = builder.and_(told, _within(builder, low, c, high))
    stays = builder.or_(_within(builder, low, d, high), builder.not_(entered))
    return builder.and_(told, stays), entered


def _leaves(builder: Any, bounds: Any, step: Any) -> tuple[Any, Any]:  # pragma: no cover
    x1, x2, y1, y2 = bounds
    a, b, c, d = step
    held, holds = (
        builder.and_(_within(builder, x1, x, x2), _within(builder, y1, y, y2))
        for x, y in ((a, c), (b, d))
    )
    return builder.and_(held, builder.not_(holds)), ir.Constant(MASK, [-1] * HALF)


def _spread(builder: Any, value: Any, lanes: int) -> Any:  # pragma: no cover - compiles
    """A vector that has this value everywhere."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, value, I32(0))
    zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return builder.shuffle_vector(first, undefined, zeros)


def _call(builder: Any, name: str, kind: Any, *values: Any) -> Any:  # pragma: no cover - compiles
    shape = ir.FunctionType(kind, [value.type for value in values])
    return builder.call(cgutils.get_or_insert_function(builder.module, shape, name), values)


def _vectors(decide: Any) -> Any:
    """The intrinsic that writes what is told of a block."""

    @intrinsic
    def told(
        typing: Any,
        moves: Any,
        numbers: Any,
        signs: Any,
        at: Any,
        move: Any,
        bounds: Any,
        tags: Any,
        block: Any,
        step: Any,
        sign: Any,
        picks: Any,
    ) -> Any:  # pragma: no cover - compiles
        whole = types.int64
        kinds = [moves, numbers, signs, whole, whole, bounds, tags, whole, step, types.int32, picks]

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            def lanes_at(array: int, index: Any, item: Any, lanes: int = LANES) -> Any:
                kind, value = signature.args[array], values[array]
                data = context.make_array(kind)(context, builder, value).data
                vector = ir.VectorType(item, lanes).as_pointer()
                return builder.bitcast(builder.gep(data, [index]), vector)

            at, move, block, sign = values[3], values[4], values[7], values[9]
            ends = [_spread(builder, v, HALF) for v in cgutils.unpack_tuple(builder, values[8], 4)]
            first = builder.mul(block, I64(SIDES * LANES))
            masks, bits = [], I32(0)
            for half in range(0, LANES, HALF):
                places = [builder.add(first, I64(LANES * k + half)) for k in range(SIDES)]
                sides = [builder.load(lanes_at(5, p, F64, HALF), align=8) for p in places]
                chosen, entered = decide(builder, sides, ends)
                chosen = builder.bitcast(chosen, ir.VectorType(F64, HALF))
                some = _call(builder, "llvm.x86.avx.movmsk.pd.256", I32, chosen)
                bits = builder.or_(bits, builder.shl(some, I32(half)))
                masks.append(entered)
            bits = builder.zext(bits, I64)

            eight = ir.VectorType(I32, LANES)
            entered = builder.shuffle_vector(*masks, ir.Constant(eight, list(range(LANES))))
            same = builder.trunc(entered, eight)
            left = builder.xor(same, _spread(builder, builder.neg(sign), LANES))
            left = builder.and_(left, ir.Constant(eight, [-(2**31)] * LANES))
            tag = builder.load(lanes_at(6, builder.mul(block, I64(LANES)), I32), align=4)
            order = builder.load(lanes_at(10, builder.mul(bits, I64(LANES)), I32), align=4)
            tag = _call(builder, "llvm.x86.avx2.permd", eight, builder.or_(tag, left), order)

            number = builder.and_(tag, ir.Constant(eight, [2**31 - 1] * LANES))
            told = builder.ashr(tag, ir.Constant(eight, [31] * LANES))
            told = builder.or_(told, ir.Constant(eight, [1] * LANES))
            builder.store(_spread(builder, move, LANES), lanes_at(0, at, I64), align=8)
            wide = builder.zext(number, ir.VectorType(I64, LANES))
            builder.store(wide, lanes_at(1, at, I64), align=8)
            narrow = builder.trunc(told, ir.VectorType(I8, LANES))
            builder.store(narrow, lanes_at(2, at, I8), align=1)
            return builder.ctpop(bits)

        return whole(*kinds), generate

    return told


_cross_block, _leave_block = _vectors(_crosses), _vectors(_leaves)


@overload(cross_block, strict=False)
def _compiled_cross_block(
    columns: Any, at: Any, move: Any, lists: Any, block: Any, step: Any, sign: Any
) -> Any:  # pragma: no cover - compiles
    def call(columns: Any, at: Any, move: Any, lists: Any, block: Any, step: Any, sign: Any) -> Any:
        moves, numbers, signs = columns
        _, bounds, tags = lists
        return _cross_block(moves, numbers, signs, at, move, bounds, tags, block, step, sign, PICKS)

    return call if CAN_PICK else cross_block


@overload(leave_block, strict=False)
def _compiled_leave_block(
    columns: Any, at: Any, move: Any, lists: Any, block: Any, step: Any, sign: Any
) -> Any:  # pragma: no cover - compiles
    def call(columns: Any, at: Any, move: Any, lists: Any, block: Any, step: Any, sign: Any) -> Any:
        moves, numbers, signs = columns
        _, bounds, tags = lists
        return _leave_block(moves, numbers, signs, at, move, bounds, tags, block, step, sign, PICKS)

    return call if CAN_PICK else leave_block
