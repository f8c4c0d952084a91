"""Buffers that grow: what is written into arrays whose length is not known beforehand.

A kernel answers rows into columns until these may be full, and goes on with larger ones
(`filled_columns`). An array that must hold more becomes a longer one with the same beginning
(`longer`, and in kernels `grown` and `with_room`). Lengths grow by a factor, so that the cost of
copying is constant for each element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from watchline.kernels.arrays import Array, Int
from watchline.kernels.compiled import inner

# Answers rows from a row on into arrays from a place on, until the rows end or the arrays may be
# full; gives the next row and the next place. The last two arguments are that row and that place.
Fill = Callable[..., tuple[int, int]]

# Elements for each row that columns have room for at first.
MOST = 64
# The least length of an array that `with_room` makes.
LEAST = 1_024


def filled_columns(fill: Fill, count: int, rate: float, types: tuple[Any, ...]) -> tuple[Any, ...]:
    """Columns of these types with the answers of all rows; `rate` is the guess of how many elements
    a row needs. `fill` is given the columns as a list, a row and a place."""
    columns = [np.empty(int(count * min(rate, MOST) * 1.2) + 1_024, t) for t in types]
    row, at = fill(columns, 0, 0)
    while row < count:
        # Never by less than a half: a row that needs more than there is will find it in the end.
        # Never by much more than there is: one row may need what no other does.
        size = len(columns[0])
        left = int((count - row) * (at + 1) / (row + 1) * 1.1)
        size += min(max(size // 2, left), 4 * size)
        larger = [np.empty(size, t) for t in types]
        for column, kept in zip(larger, columns, strict=True):
            column[:at] = kept[:at]
        columns = larger
        row, at = fill(columns, row, at)
    for column in columns:
        column.resize(at, refcheck=False)
    return tuple(columns)


def longer(array: Array, size: int) -> Array:
    """A copy with room for so many; the elements after those there were are not set."""
    copy = np.empty((max(size, len(array)), *array.shape[1:]), array.dtype)
    copy[: len(array)] = array
    return copy


def longer_with(array: Array, size: int, value: Any) -> Array:
    """A copy of this length; the elements after those there were have this value."""
    copy = np.zeros((size, *array.shape[1:]), array.dtype)
    if value:
        copy[len(array) :] = value
    copy[: len(array)] = array
    return copy


@inner
def grown(array: Any, size: Int, used: Int) -> Any:
    """A copy of this length, of which only the first `used` elements are set."""
    larger = np.empty((size, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


@inner
def with_room(array: Any, used: Int, more: Int) -> Any:
    """The array itself, or one of twice the length if there is no room for so many more."""
    if used + more <= len(array):
        return array
    return grown(array, max(2 * len(array), used + more, LEAST), used)
