"""Searches in the tree of cells: the regions that hold a point, and those that a move changes.

A search goes from grid to grid by shifts of the point's units. On its way are whole regions of the
grids; at its end one whole region, or a list, whose cut entries are evaluated. Cost: a look for
each grid, and what is near the point.
"""

from __future__ import annotations

from typing import NamedTuple, Union

import numpy as np

from watchline.index.regions.entries import (
    ALIGN,
    BITS,
    BITS_MASK,
    CUT,
    EMPTY,
    END,
    GRID,
    GRID_PLACE,
    LIST,
    MORE,
    ONE,
    PLACE,
    TAG,
    entry_end,
    holds,
    holds_on_earth,
    needs_vector,
)
from watchline.index.regions.sheet import UNIT_BITS, Sheet, unit_of
from watchline.kernels.arrays import Array, Doubles, Int, Integers
from watchline.kernels.compiled import inner, kernel, leaf
from watchline.kernels.earth import vector_of
from watchline.kernels.simd import prefetch

# Rows whose memory is fetched ahead together, and from how many words on that is worth it;
# grids that are looked through then.
GROUP, STEPS = 16, 3
FETCHED = 2**20


# True where regions may have a form of the Earth alone, else None. Kernels are compiled for either,
# so that searches of the plane have no code for the Earth.
Earth = Union[bool, None]


class CellTree(NamedTuple):
    """What a search reads."""

    words: Array
    coordinates: Doubles
    # By slot.
    reach: Doubles
    ids: Array
    sheet: Sheet


@leaf()
def inner_place(cell: Int, x: Int, y: Int, shift: Int) -> Int:
    """The place of the cell of these units in a grid, whose cells have 2^shift units a side."""
    bits = (cell >> BITS) & BITS_MASK
    mask = (1 << bits) - 1
    row, column = (y >> shift) & mask, (x >> shift) & mask
    return (cell >> GRID_PLACE) * ALIGN + 1 + (row << bits) + column


@leaf()
def _write_wholes(words: Array, ids: Array, cell: Int, found: Array, at: Int) -> Int:
    """Write the whole regions of a cell that is no grid; the next place, -1 if there is no room."""
    if cell & TAG == ONE:
        if at >= len(found):
            return -1
        found[at] = ids[cell >> PLACE]
        return at + 1
    place = cell >> PLACE
    while cell != EMPTY:
        entry = words[place]
        if not entry & CUT:
            if at >= len(found):
                return -1
            found[at] = ids[np.int64(entry) >> 2]
            at += 1
        if entry & END:
            break
        place = entry_end(words, place)
    return at


@leaf()
def _write_list(
    earth: Earth, words: Array, coordinates: Doubles, reach: Doubles, ids: Array,
    cell: Int, point: tuple[float, float], found: Array, at: Int, wholes: bool,
) -> Int:  # fmt: skip
    """Write the regions of a list that hold (x, y), with or without those that hold the whole
    cell; the next place, -1 if there is no room."""
    x, y = point
    place, vector, known = cell >> PLACE, (0.0, 0.0, 0.0), False
    while True:
        entry = words[place]
        cut = (entry & CUT) != 0
        if earth is None:
            inside = cut and holds(words, place, coordinates, reach, x, y)
        else:
            # Made at most once for a point.
            if cut and not known and needs_vector(words, place):
                vector, known = vector_of(x, y), True
            inside = cut and holds_on_earth(words, place, coordinates, reach, x, y, vector)
        if inside or (wholes and not cut):
            if at >= len(found):
                return -1
            found[at] = ids[np.int64(entry) >> 2]
            at += 1
        if entry & END:
            return at
        place = entry_end(words, place)


@kernel
def stab(
    earth: Earth,
    tree: CellTree,
    points: Doubles,
    offsets: Integers,
    found: Array,
    row: int,
    at: int,
) -> tuple[int, int]:
    """As `watchline.index.base.Index._fill`."""
    words, coordinates, reach, ids, sheet = tree
    left, bottom, across, up = sheet.left, sheet.bottom, sheet.across, sheet.up
    ahead = row
    cells, shifts = np.empty(GROUP, dtype=np.int64), np.empty(GROUP, dtype=np.int64)
    fetching = len(words) > FETCHED
    for i in range(row, len(points)):
        if fetching and i == ahead:
            ahead = min(i + GROUP, len(points))
            fetch(earth, tree, points, i, ahead, cells, shifts)
        x, y = points[i, 0], points[i, 1]
        offsets[i + 1] = at
        if not (np.isfinite(x) and np.isfinite(y)):
            continue
        ux, uy = unit_of(left, across, x), unit_of(bottom, up, y)
        cell, shift, to = np.int64(words[0]), UNIT_BITS, at
        while cell & TAG == GRID:
            shift -= (cell >> BITS) & BITS_MASK
            if cell & MORE:
                own = np.int64(words[(cell >> GRID_PLACE) * ALIGN])
                to = _write_wholes(words, ids, own, found, to)
                if to < 0:
                    return i, at
            cell = np.int64(words[inner_place(cell, ux, uy, shift)])
        if cell == EMPTY:
            offsets[i + 1] = at = to
            continue
        if cell & MORE:
            point = x, y
            to = _write_list(earth, words, coordinates, reach, ids, cell, point, found, to, True)
        else:
            to = _write_wholes(words, ids, cell, found, to)
        if to < 0:
            return i, at
        offsets[i + 1] = at = to
    return len(points), at


@inner
def fetch(
    earth: Earth,
    tree: CellTree,
    points: Doubles,
    begin: Int,
    end: Int,
    cells: Integers,
    shifts: Integers,
) -> None:
    """Ask for what the search of some rows will read, all rows one step at a time."""
    words, sheet, count = tree.words, tree.sheet, end - begin
    root = np.int64(words[0])
    if root & TAG != GRID:
        return
    for j in range(count):
        shifts[j], cells[j] = UNIT_BITS, 0
    # Places of cells first; then lists, which no grid follows.
    for _ in range(STEPS):
        for j in range(count):
            cell = np.int64(words[cells[j]])
            if cell & TAG == GRID:
                ux = unit_of(sheet.left, sheet.across, points[begin + j, 0])
                uy = unit_of(sheet.bottom, sheet.up, points[begin + j, 1])
                shifts[j] -= (cell >> BITS) & BITS_MASK
                cells[j] = inner_place(cell, ux, uy, shifts[j])
                prefetch(words, cells[j])
    for j in range(count):
        cell = np.int64(words[cells[j]])
        cells[j] = 0
        if cell & TAG == LIST:
            cells[j] = cell >> PLACE
            prefetch(words, cells[j])
    for j in range(count):
        if cells[j] and words[cells[j]] & CUT:
            first = 2 * np.int64(words[cells[j] + 1])
            prefetch(tree.coordinates, first)
            if earth is not None and needs_vector(words, cells[j]):
                prefetch(tree.coordinates, first + 6)


@leaf()
def write_below(
    earth: Earth, tree: CellTree, cell: Int, shift: Int, x: float, y: float, found: Array, at: Int
) -> Int:
    """Write the regions that hold (x, y), by a cell that has this point; the next place, -1 if
    there is no room.

    Regions that hold all of this first cell are left out. Nothing holds all of the plane, so from
    the first cell of the tree on these are all regions.
    """
    words, sheet, below = tree.words, tree.sheet, False
    ux, uy = unit_of(sheet.left, sheet.across, x), unit_of(sheet.bottom, sheet.up, y)
    while cell & TAG == GRID:
        if below and cell & MORE:
            own = np.int64(words[(cell >> GRID_PLACE) * ALIGN])
            at = _write_wholes(words, tree.ids, own, found, at)
            if at < 0:
                return at
        below = True
        shift -= (cell >> BITS) & BITS_MASK
        cell = np.int64(words[inner_place(cell, ux, uy, shift)])
    if cell & MORE:
        coordinates, reach, ids = tree.coordinates, tree.reach, tree.ids
        point = x, y
        return _write_list(earth, words, coordinates, reach, ids, cell, point, found, at, below)
    if below:
        return _write_wholes(words, tree.ids, cell, found, at)
    return at
