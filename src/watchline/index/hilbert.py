"""Rows in the order of a Hilbert curve: neighbours in the order are neighbours in space.

The curve runs through a grid whose cells hold about as many rows each in every dimension, so that
it is as fine where rows crowd as elsewhere.
"""

from __future__ import annotations

import numpy as np

from watchline.kernels.arrays import Array, Bytes, Codes, Int, Integers, Words
from watchline.kernels.compiled import inner, kernel

# Bits of a place on the curve. It is as fine as they allow: a grid of 256 cells a side at most.
BITS, FINEST = 32, 8
# The curve is of so many dimensions at most: halving each of them once makes cells enough.
MOST = 16


def curve_order(codes: Codes, dims: Integers, rows: Integers) -> Integers:
    """These rows along the curve through the cells of these dimensions; codes are (rows, d)."""
    chosen = dims[:MOST]
    if len(rows) < 2 or not len(chosen):
        return rows
    bits = min(FINEST, BITS // len(chosen))
    places = _places(codes, chosen, rows, bits)
    # One sort of the place and the row together.
    places <<= np.uint64(32)
    places |= np.arange(len(rows), dtype=np.uint64)
    places.sort()
    return rows[(places & np.uint64(0xFFFF_FFFF)).astype(np.int64)]


@kernel
def _places(codes: Codes, dims: Integers, rows: Integers, bits: int) -> Words:
    n = len(dims)
    cells = np.empty((65_536, n), np.uint8)
    for i in range(n):
        _even_cells(codes, dims[i], rows, bits, cells, i)
    places = np.empty(len(rows), np.uint64)
    point = np.empty(n, np.uint64)
    for at in range(len(rows)):
        for i in range(n):
            point[i] = cells[codes[rows[at], dims[i]], i]
        places[at] = _place(point, bits)
    return places


@inner
def _even_cells(
    codes: Codes,
    dim: int,
    rows: Integers,
    bits: int,
    cells: Bytes,
    column: int,
) -> None:
    """The cell of each code, such that cells have equally many rows."""
    counts = np.zeros(65_536, np.int32)
    top: Int = 0
    for row in rows:
        code = codes[row, dim]
        counts[code] += 1
        top = max(top, np.int64(code))
    before = 0
    for code in range(top + 1):
        # A code's rows are together; their middle decides.
        cells[code, column] = ((2 * before + counts[code]) << bits) // (2 * len(rows) + 1)
        before += counts[code]


@kernel
def _place(point: Array, bits: int) -> Int:
    """How far along the curve a cell is, after Skilling (2004); the point is overwritten.

    From the largest cubes down, a cube's own curve is turned back into the standard position by
    swapping and mirroring axes; what is left is a Gray code, whose bits taken in turn count.
    """
    n = len(point)
    one = np.uint64(1)
    for level in range(bits - 1, 0, -1):
        bit = one << np.uint64(level)
        lower = bit - one
        for i in range(n):
            if point[i] & bit:
                point[0] ^= lower
            else:
                swapped = (point[0] ^ point[i]) & lower
                point[0] ^= swapped
                point[i] ^= swapped
    for i in range(1, n):
        point[i] ^= point[i - 1]
    mirrored = np.uint64(0)
    for level in range(bits - 1, 0, -1):
        bit = one << np.uint64(level)
        if point[n - 1] & bit:
            mirrored ^= bit - one
    place = np.uint64(0)
    for level in range(bits - 1, -1, -1):
        for i in range(n):
            place = place << one | ((point[i] ^ mirrored) >> np.uint64(level) & one)
    return place
