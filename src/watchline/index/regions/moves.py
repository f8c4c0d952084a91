"""Which regions does a move leave and enter: from cell to cell.

A move within one cell looks at the cut entries of its list alone, each once for both ends, and at
none if nothing cuts the cell. Grids that hold both ends are common to them; below the last of
these, what holds the old end and what holds the new one is found as by a stab, and compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from watchline.index.regions.entries import (
    BITS,
    BITS_MASK,
    CUT,
    END,
    GRID,
    MORE,
    PLACE,
    TAG,
    entry_end,
    holds,
    holds_on_earth,
    needs_vector,
)
from watchline.index.regions.sheet import UNIT_BITS, unit_of
from watchline.index.regions.stabbing import (
    FETCHED,
    GROUP,
    CellTree,
    Earth,
    fetch,
    inner_place,
    write_below,
)
from watchline.kernels.arrays import Array, Doubles, Int, Integers, Signs
from watchline.kernels.buffers import grown
from watchline.kernels.compiled import inner, kernel, leaf
from watchline.kernels.earth import vector_of

# Fewer regions than this at one end are compared one by one with those at the other.
FEW = 16


@dataclass(frozen=True, slots=True)
class RegionChanges:
    """Move `rows[i]` leaves (`signs[i]` is -1) or enters (+1) the region `ids[i]`; by rows, and
    what a move leaves comes first."""

    rows: Integers
    ids: Array
    signs: Signs

    def __len__(self) -> int:
        return len(self.ids)


def changes_of(earth: Earth, tree: CellTree, old: Doubles, new: Doubles) -> RegionChanges:
    """The changes of all moves."""
    return RegionChanges(*_changes(earth, tree, old, new))


@kernel
def _changes(
    earth: Earth, tree: CellTree, old: Doubles, new: Doubles
) -> tuple[Integers, Array, Signs]:
    words, sheet = tree.words, tree.sheet
    rows, ids = np.empty(1_024, dtype=np.int64), np.empty(1_024, dtype=tree.ids.dtype)
    signs = np.empty(1_024, dtype=np.int8)
    left, entered = np.empty(64, dtype=tree.ids.dtype), np.empty(64, dtype=tree.ids.dtype)
    cells, shifts = np.empty(GROUP, dtype=np.int64), np.empty(GROUP, dtype=np.int64)
    used, ahead, fetching = 0, 0, len(words) > FETCHED
    for i in range(len(old)):
        if fetching and i == ahead:
            ahead = min(i + GROUP, len(old))
            fetch(earth, tree, old, i, ahead, cells, shifts)
            fetch(earth, tree, new, i, ahead, cells, shifts)
        x1, y1, x2, y2 = old[i, 0], old[i, 1], new[i, 0], new[i, 1]
        known = np.isfinite(x1) and np.isfinite(y1)
        alive = np.isfinite(x2) and np.isfinite(y2)
        cell, shift = np.int64(words[0]), UNIT_BITS
        if known and alive:
            ux, uy = unit_of(sheet.left, sheet.across, x1), unit_of(sheet.bottom, sheet.up, y1)
            vx, vy = unit_of(sheet.left, sheet.across, x2), unit_of(sheet.bottom, sheet.up, y2)
            apart = (ux ^ vx) | (uy ^ vy)
            while cell & TAG == GRID:
                lower = shift - ((cell >> BITS) & BITS_MASK)
                if apart >> lower:
                    break
                shift = lower
                cell = np.int64(words[inner_place(cell, ux, uy, shift)])
            if cell & TAG != GRID and not cell & MORE:
                continue
        if known and alive and cell & TAG != GRID:
            leaving, coming = _differ_in_list(earth, tree, cell, x1, y1, x2, y2, left, entered)
            while leaving < 0:
                left, entered = grown(left, 4 * len(left), 0), grown(entered, 4 * len(entered), 0)
                leaving, coming = _differ_in_list(earth, tree, cell, x1, y1, x2, y2, left, entered)
            if leaving + coming == 0:
                continue
        else:
            leaving = write_below(earth, tree, cell, shift, x1, y1, left, 0) if known else 0
            while leaving < 0:
                left = grown(left, 4 * len(left), 0)
                leaving = write_below(earth, tree, cell, shift, x1, y1, left, 0)
            coming = write_below(earth, tree, cell, shift, x2, y2, entered, 0) if alive else 0
            while coming < 0:
                entered = grown(entered, 4 * len(entered), 0)
                coming = write_below(earth, tree, cell, shift, x2, y2, entered, 0)
            if leaving == coming and (leaving == 0 or (leaving == 1 and left[0] == entered[0])):
                continue
            leaving, coming = _differing(left, leaving, entered, coming)
        more = leaving + coming
        if used + more > len(rows):
            size = max(2 * len(rows), used + more)
            rows, ids = grown(rows, size, used), grown(ids, size, used)
            signs = grown(signs, size, used)
        for j in range(more):
            rows[used + j] = i
            ids[used + j] = left[j] if j < leaving else entered[j - leaving]
            signs[used + j] = -1 if j < leaving else 1
        used += more
    return rows[:used].copy(), ids[:used].copy(), signs[:used].copy()


@leaf()
def _differ_in_list(
    earth: Earth, tree: CellTree, cell: Int, x1: float, y1: float, x2: float, y2: float,
    left: Array, entered: Array,
) -> tuple[Int, Int]:  # fmt: skip
    """Write the regions that hold one end alone of a move within a cell; how many it leaves and
    enters, -1 if there is no room."""
    words, coordinates, reach = tree.words, tree.coordinates, tree.reach
    place, leaving, coming = cell >> PLACE, 0, 0
    here = there = (0.0, 0.0, 0.0)
    known = False
    while True:
        entry = words[place]
        if entry & CUT:
            if earth is None:
                before = holds(words, place, coordinates, reach, x1, y1)
                after = holds(words, place, coordinates, reach, x2, y2)
            else:
                if not known and needs_vector(words, place):
                    here, there, known = vector_of(x1, y1), vector_of(x2, y2), True
                before = holds_on_earth(words, place, coordinates, reach, x1, y1, here)
                after = holds_on_earth(words, place, coordinates, reach, x2, y2, there)
            if before != after:
                if leaving >= len(left) or coming >= len(entered):
                    return -1, -1
                found = tree.ids[np.int64(entry) >> 2]
                if before:
                    left[leaving] = found
                    leaving += 1
                else:
                    entered[coming] = found
                    coming += 1
        if entry & END:
            return leaving, coming
        place = entry_end(words, place)


@inner
def _differing(left: Array, leaving: Int, entered: Array, coming: Int) -> tuple[Int, Int]:
    """Drop from both lists what is in both; how many are left in each."""
    if leaving > FEW and coming > FEW:
        left[:leaving].sort()
        entered[:coming].sort()
        return _merged(left, leaving, entered, coming)
    kept = 0
    for i in range(leaving):
        j = 0
        while j < coming and entered[j] != left[i]:
            j += 1
        if j < coming:
            coming -= 1
            entered[j] = entered[coming]
        else:
            left[kept] = left[i]
            kept += 1
    return kept, coming


@inner
def _merged(left: Array, leaving: Int, entered: Array, coming: Int) -> tuple[Int, Int]:
    """The same for sorted lists."""
    i = j = a = b = 0
    while i < leaving or j < coming:
        if j == coming or (i < leaving and left[i] < entered[j]):
            left[a] = left[i]
            a, i = a + 1, i + 1
        elif i == leaving or entered[j] < left[i]:
            entered[b] = entered[j]
            b, j = b + 1, j + 1
        else:
            i, j = i + 1, j + 1
    return a, b
