"""Marks of a window: what each of its cells knows of the region that is being marked.

Forms mark cells by the functions here (marking.py, earth_marking.py), and the entries of the cells
are made of the marks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watchline.index.regions.entries import COUNT
from watchline.kernels.arrays import Bytes, Int, Integers, Small
from watchline.kernels.buffers import with_room
from watchline.kernels.compiled import inner

# No column of a row.
NO_COLUMN = 2**30


class Marks(NamedTuple):
    """Room for the marks of a window: by cell in rows, then by row."""

    # Whether all cells of the row up to this one change their parity; or whether the cell is whole.
    parity: Bytes
    # The first and the last chain of each cell.
    first: Small
    last: Small
    # The columns of each row that have marks.
    west: Small
    east: Small
    # Whether the parity of all cells changes from this row on.
    rows: Bytes


def clean_marks(bits: int) -> Marks:
    """Marks of a grid of 2^bits cells a side, of which none is marked."""
    side = 1 << bits
    cells = side * side
    return Marks(
        np.zeros(cells, dtype=np.uint8),
        np.full(cells, -1, dtype=np.int32),
        np.full(cells, -1, dtype=np.int32),
        np.full(side, NO_COLUMN, dtype=np.int32),
        np.full(side, -1, dtype=np.int32),
        np.zeros(side + 1, dtype=np.uint8),
    )


@inner
def touch(marks: Marks, row: Int, column: Int) -> None:
    """A row has a mark in this column."""
    marks.west[row] = min(marks.west[row], column)
    marks.east[row] = max(marks.east[row], column)


@inner
def own(
    marks: Marks, chains: Integers, bits: Int, row: Int, column: Int, k: Int, flags: Int
) -> Integers:
    """Give the edge k to a cell: to its last chain if that ends here, or as a new one."""
    cell = (row << bits) + column
    touch(marks, row, column)
    last = marks.last[cell]
    if last >= 0 and chains[last, 0] + (chains[last, 1] >> COUNT) == k:
        chains[last, 1] = (chains[last, 1] + (1 << COUNT)) | flags
        return chains
    used = chains[0, 0]
    chains = with_room(chains, used, 1)
    chains[used, 0], chains[used, 1], chains[used, 2] = k, (1 << COUNT) | flags, -1
    chains[0, 0] = used + 1
    if last >= 0:
        chains[last, 2] = used
    else:
        marks.first[cell] = used
    marks.last[cell] = used
    return chains


@inner
def whole(marks: Marks, cell: Int, row: Int, column: Int) -> None:
    """The region holds all of a cell; for circles and corridors."""
    marks.parity[cell] = 1
    touch(marks, row, column)
