"""The arrays of a grid over boxes that stay (see stationary.py), and where a value is in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watchline.borders.runs import bucket_of
from watchline.kernels.arrays import Doubles, Int, Small
from watchline.kernels.blocks import SIDES
from watchline.kernels.compiled import leaf

# A grid is of so many dimensions.
DIMENSIONS = 2


class StripAxis(NamedTuple):
    """`cells` places of one width, of which 2^shift make a strip."""

    start: float
    inverse: float
    cells: int
    shift: int

    @property
    def strips(self) -> int:
        return self.cells >> self.shift


class EntryBlocks(NamedTuple):
    """Entries in blocks: block b has rows 4b to 4b + 3 of `bounds` and row b of `tags`.

    Lanes without an entry are NaN, with which no comparison holds.
    """

    starts: Small
    bounds: Doubles
    tags: Small


class Grid(NamedTuple):
    """Borders across x in the strips of y, borders across y in those of x, and members.

    Of borders, the four bounds are the border, the box's other one, and the box on the other axis;
    place c of strip s has the entries from starts[s * cells + c] on, and a strip begins a block. Of
    members they are the box, and `starts` counts blocks. A cell has 2^wide strips of each axis.
    """

    x: StripAxis
    y: StripAxis
    wide: int
    across_x: EntryBlocks
    across_y: EntryBlocks
    members: EntryBlocks

    @property
    def entries(self) -> int:
        lists = (self.across_x, self.across_y, self.members)
        return sum(int(np.count_nonzero(x.bounds[::SIDES] == x.bounds[::SIDES])) for x in lists)

    @property
    def nbytes(self) -> int:
        lists = (self.across_x, self.across_y, self.members)
        return sum(array.nbytes for x in lists for array in x)


@leaf(forceinline=True)
def cell_on(axis: StripAxis, value: float) -> Int:
    """The place of a value along an axis."""
    return bucket_of(axis.start, axis.inverse, axis.cells, value)


@leaf(forceinline=True)
def strip_on(axis: StripAxis, value: float) -> Int:
    """The strip of a value along an axis."""
    return cell_on(axis, value) >> axis.shift


@leaf(forceinline=True)
def cells_along(axis: StripAxis, wide: Int) -> Int:
    """Cells along an axis."""
    return (((axis.cells >> axis.shift) - 1) >> wide) + 1
