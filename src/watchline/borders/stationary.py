"""A grid over boxes that stay where they are: of a move, what it enters and leaves (SOLE, 2-D).

SOLE's cells, read along their borders. A move that stays near is decided by the borders it passes,
and a grid says which may be there. The plane is cut into strips along each axis; a strip has the
borders across it, sorted, and a fine *guide* to places in it. A move goes along x at its old y,
then along y at its new x:

        strip of ay  | a ──┼──┼── m |       a  old point       ┼  a border that is passed
                     |            ┼ |       m  (bx, ay)
        strip of by  |            b |       b  new point

Invariant. A change of a box is reported on the leg that causes it, unless the other leg changes it
back, by exact comparison of its own bounds: on the first leg, if it holds a or m and not both, and
b as m; on the second the same with a and b exchanged. A box that only one of two points holds has
exactly one border across between them, and is in the strip of the leg; so no change is missed or
reported twice.
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

from typing import Any, NamedTuple

import numpy as np

from watchline.borders.step import ROW_CHANGES, RowChanges
from watchline.borders.strips import (
    EntryBlocks,
    Grid,
    StripAxis,
    cell_on,
    cells_along,
    strip_on,
)
from watchline.kernels.arrays import Doubles, Int, Integers, Signs, Small
from watchline.kernels.blocks import LANES, SIDES, cross_block, leave_block
from watchline.kernels.buffers import filled_columns
from watchline.kernels.compiled import kernel, leaf
from watchline.kernels.simd import prefetch

# Moves whose memory is fetched ahead together.
GROUP = 16
_FIRST_MOVES: Small = np.arange(GROUP, dtype=np.int32)
# Blocks of a way that are read without asking whether members would be fewer.
SHORT = 16
# Moves of a cell for which it is worth it to go cell by cell.
CROWDED = 8


class MoveColumns(NamedTuple):
    """Where what moves enter and leave is written; a block more than is in use."""

    moves: Integers
    numbers: Integers
    signs: Signs


def grid_crossings(
    grid: Grid, moves: Integers, old: Doubles, new: Doubles, rate: float = 1.0
) -> RowChanges:
    """Moves, numbers and signs of what moves[i] from old[i] to new[i], float64 (m, 2), enters and
    leaves. A point with a NaN or +inf is nowhere. `rate` is the guess of what a move finds."""
    if len(old) > GROUP:
        order = _by_cell(grid.x, grid.y, old, len(old) // CROWDED)
    else:
        order = _FIRST_MOVES[: len(old)]

    def fill(room: list[Any], first: int, at: int) -> tuple[int, int]:
        return _cross_moves(grid, order, moves, old, new, MoveColumns(*room), first, at)

    return filled_columns(fill, len(old), rate, ROW_CHANGES)


@kernel
def blocks_read(grid: Grid, old: Doubles, new: Doubles) -> int:
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
def _by_cell(x: StripAxis, y: StripAxis, points: Doubles, most: int) -> Small:
    """An order of the points in which those of one cell, of at most so many, stand together: what
    they read is in the cache."""
    wide = 0
    while cells_along(x, wide) * cells_along(y, wide) > max(most, 1):
        wide += 1
    width = cells_along(x, wide)
    cells = np.empty(len(points), np.int32)
    places = np.zeros(width * cells_along(y, wide) + 1, np.int64)
    for i in range(len(points)):
        row, column = strip_on(y, points[i, 1]) >> wide, strip_on(x, points[i, 0]) >> wide
        cells[i] = row * width + column
        places[cells[i] + 1] += 1
    places = np.cumsum(places)
    order = np.empty(len(points), np.int32)
    for i in range(len(points)):
        order[places[cells[i]]] = i
        places[cells[i]] += 1
    return order


@kernel
def _cross_moves(
    grid: Grid,
    order: Small,
    moves: Integers,
    old: Doubles,
    new: Doubles,
    columns: MoveColumns,
    first: int,
    at: int,
) -> tuple[int, int]:
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
def _fetch_points(order: Small, group: Int, old: Doubles, new: Doubles) -> None:
    for j in range(group, min(group + GROUP, len(order))):
        prefetch(old, np.int64(order[j]))
        prefetch(new, np.int64(order[j]))


@leaf(forceinline=True)
def _fetch_spans(
    grid: Grid, order: Small, group: Int, count: Int, old: Doubles, new: Doubles, spans: Integers
) -> None:
    """The blocks that both legs of some moves read, first and end; and ask for their memory."""
    x, y, across_x, across_y = grid.x, grid.y, grid.across_x, grid.across_y
    for j in range(count):
        i = np.int64(order[group + j])
        ax, bx = cell_on(x, old[i, 0]), cell_on(x, new[i, 0])
        ay, by = cell_on(y, old[i, 1]), cell_on(y, new[i, 1])
        row, column = (ay >> y.shift) * x.cells, (bx >> x.shift) * y.cells
        spans[j, 0], spans[j, 1] = row + min(ax, bx), row + max(ax, bx) + 1
        spans[j, 2], spans[j, 3] = column + min(ay, by), column + max(ay, by) + 1
        prefetch(across_x.starts, spans[j, 0])
        prefetch(across_y.starts, spans[j, 2])
    for j in range(count):
        _to_blocks(across_x, spans, j, 0)
        _to_blocks(across_y, spans, j, 2)


@leaf(forceinline=True)
def _to_blocks(lists: EntryBlocks, spans: Integers, j: Int, k: Int) -> None:
    first = np.int64(lists.starts[np.uint64(spans[j, k])]) // LANES
    end = (np.int64(lists.starts[np.uint64(spans[j, k + 1])]) + LANES - 1) // LANES
    spans[j, k], spans[j, k + 1] = first, end
    prefetch(lists.tags, first)
    for row in range(SIDES):
        prefetch(lists.bounds, SIDES * first + row)


@leaf(forceinline=True)
def _walked(grid: Grid, spans: Integers, j: Int, step: tuple[float, float, float, float]) -> Int:
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
    columns: MoveColumns,
    at: Int,
) -> Int:
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
    grid: Grid, move: Int, step: tuple[float, float, float, float], columns: MoveColumns, at: Int
) -> Int:
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
def _cell_members(grid: Grid, x: float, y: float) -> tuple[Int, Int]:
    """The blocks of the cell of a point; none if it is nowhere."""
    if not ((x < np.inf) & (y < np.inf)):
        return 0, 0
    wide, starts = grid.wide, grid.members.starts
    row, column = strip_on(grid.y, y) >> wide, strip_on(grid.x, x) >> wide
    cell = row * cells_along(grid.x, wide) + column
    return np.int64(starts[cell]), np.int64(starts[cell + 1])
