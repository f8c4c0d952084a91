"""The sheet: values of x and y as whole units, and back to bounds of the values in a unit.

A window is a square of 2^shift units a side; it is cut into 2^bits by 2^bits cells. The map from
values to units never decreases, so exactness rests on it alone, as in `watchline.index.cells`:
whatever is true for every value between two bounds is true for the values of the units between.
Values outside the extent belong to the first or the last unit, whose outer bounds are infinite.

`low_of` and `high_of` are outside the true bounds of a unit by at least the error of the map: that
is at most 2^-51 of the unit's number, so below 2^-19 units, and `SLACK` is 2^-10. The last addition
rounds monotonically, so a value of the unit is never beyond the rounded bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from watchline.kernels.compiled import inner, leaf

# A side of the sheet is 2^UNIT_BITS units.
UNIT_BITS = 32
UNITS = 2**UNIT_BITS
SLACK = 2.0**-10
# Narrower sheets would have reciprocals that are no numbers.
NARROWEST, FARTHEST = 1e-280, 8e307


class Sheet(NamedTuple):
    """For each axis where it begins, the units for a value, and the width of a unit."""

    left: float
    bottom: float
    across: float
    up: float
    wide: float
    high: float


class Window(NamedTuple):
    """A square of the sheet from unit (x, y) on, and the cells that it is cut into.

    `shift` is that of a cell: it has 2^shift units a side.
    """

    x: int
    y: int
    shift: int
    bits: int


def sheet_over(x1: float, y1: float, x2: float, y2: float) -> Sheet:
    """A sheet over this extent. Any other would be as exact; the extent is tuning."""
    left, wide = _axis(x1, x2)
    bottom, high = _axis(y1, y2)
    return Sheet(left, bottom, 1.0 / wide, 1.0 / high, wide, high)


def _axis(low: float, high: float) -> tuple[float, float]:
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    low, high = max(low, -FARTHEST), min(high, FARTHEST)
    return low, max(high - low, NARROWEST) / UNITS * (1 + 1e-9)


@leaf()
def unit_of(start: float, scale: float, value: float) -> int:
    """The unit along an axis that holds a value; the first and the last hold all beyond them."""
    scaled = (value - start) * scale
    if not scaled > 0.0:
        return 0
    if scaled >= UNITS:
        return UNITS - 1
    return np.int64(scaled)


@inner
def low_of(start: float, width: float, unit: int) -> float:
    """No value of this unit or of a later one is below."""
    return -np.inf if unit <= 0 else start + (unit - SLACK) * width


@inner
def high_of(start: float, width: float, unit: int) -> float:
    """No value of a unit before this one is above."""
    return np.inf if unit >= UNITS else start + (unit + SLACK) * width


@inner
def column_of(sheet: Sheet, window: Window, x: float) -> int:
    """The column of x among those of the window; -1 on its left, and their number on its right."""
    column = (unit_of(sheet.left, sheet.across, x) - window.x) >> window.shift
    return max(-1, min(column, 1 << window.bits))


@inner
def row_of(sheet: Sheet, window: Window, y: float) -> int:
    """The row of a window that holds y; -1 below it, and the number of rows above it."""
    row = (unit_of(sheet.bottom, sheet.up, y) - window.y) >> window.shift
    return max(-1, min(row, 1 << window.bits))


@inner
def column_bounds(sheet: Sheet, window: Window, column: int) -> tuple[float, float]:
    """Bounds of the values of x in a column."""
    begin = window.x + (column << window.shift)
    return (
        low_of(sheet.left, sheet.wide, begin),
        high_of(sheet.left, sheet.wide, begin + (1 << window.shift)),
    )


@inner
def row_bounds(sheet: Sheet, window: Window, row: int) -> tuple[float, float]:
    """Bounds of the values of y in a row."""
    begin = window.y + (row << window.shift)
    return (
        low_of(sheet.bottom, sheet.high, begin),
        high_of(sheet.bottom, sheet.high, begin + (1 << window.shift)),
    )
