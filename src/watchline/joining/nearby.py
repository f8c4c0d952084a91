"""Rows that are near each other: their points, the cells these lie in, and how far apart they are.

A point is two coordinates of the plane, or the three of the vector of a place on Earth, which needs
no care at poles and at the antimeridian. Squares of distances decide, in the fixed forms of
docs/decisions/0003 and of `kernels.earth`; cells only say who is asked (docs/decisions/0042).

Cells are squares or cubes whose side is a little more than twice the *reach*, by which coordinates
of rows that are near differ at most. So what is near a point is in four cells, or on Earth in
eight: along each axis in that of the coordinate less the reach, and in that of the coordinate plus
the reach. Invariant: the cell of a coordinate never falls as the coordinate grows, however it is
rounded, both ends are rounded outwards, and their cells are the same or neighbours; so whatever
lies between them is in one of these. Where numbers are so large that a cell would hardly be wider
than the doubles are apart, all are in the outermost cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from watchline.joining.directions import Near
from watchline.kernels.arrays import Doubles, Integers, Mask, Small, Words
from watchline.kernels.buffers import with_room
from watchline.kernels.compiled import kernel, leaf
from watchline.kernels.earth import chord_of, square_of_chord, vector_at, vectors_of
from watchline.model import Attribute, Distance
from watchline.rows import Columns

# A side of a cell, in reaches. Beyond 2 by enough that rounding never adds a third cell.
SIDE = 2.25
# Cells from the origin, at most: there a cell is still far wider than the doubles are apart.
FARTHEST = 2.0**46
# Squares of less than this lose digits or vanish, and so does what they say about lengths.
LEAST_REACH = 1e-150
# In metres; vectors are not as exact as that.
LEAST_ON_EARTH = 1e-6


class Points(NamedTuple):
    """A row for each point, and where there is one."""

    at: Doubles
    known: Mask


class Apart(NamedTuple):
    """What distances of a direction allow: the points of triggers and of partners, and for each
    distance the square of its length and the orders to it; left and right are empty if none is."""

    left: Doubles
    right: Doubles
    squares: Doubles
    orders: Integers


def points_of(columns: Columns, point: tuple[Attribute, Attribute], on_earth: bool) -> Points:
    """The points of rows."""
    x, y = (columns.values(axis) for axis in point)
    known = columns.comparable(point[0]) & columns.comparable(point[1])
    if on_earth:
        # The sine of what is no number would be found, too.
        lon, lat = (np.where(known, axis, 0.0) for axis in (x, y))
        return Points(vectors_of(lon, lat), known)
    return Points(np.stack([x, y], axis=1).astype(np.float64, copy=False), known)


def square_of(near: Near | Distance) -> float:
    """What squares of distances are compared with."""
    length = float(chord_of(near.length)) if near.on_earth else near.length
    return length * length


def reach_of(near: Near | Distance) -> float:
    """No coordinates of rows that are near differ by more; infinite where all may be near."""
    length = float(chord_of(near.length)) if near.on_earth else near.length
    if not length * length < math.inf:
        return math.inf
    return max(length, LEAST_ON_EARTH if near.on_earth else LEAST_REACH) * (1 + 1e-9)


def apart(near: tuple[Near, ...], left: Doubles, right: Doubles) -> Apart:
    """The distances of a direction, ready to be asked."""
    squares = np.array([square_of(n) for n in near], np.float64)
    return Apart(left, right, squares, np.array([n.orders for n in near], np.int64))


def are_apart(between: Apart, rows: Integers, others: Integers) -> Mask:
    """Whether rows and others, one by one, are as far apart as all distances ask for."""
    found = np.empty(len(rows), np.bool_)
    _fill_apart(between, rows, others, found)
    return found


@kernel
def _fill_apart(between: Apart, rows: Integers, others: Integers, found: Mask) -> None:
    for k in range(len(rows)):
        found[k] = allows(between, rows[k], others[k])


class NearRows:
    """Rows by the cells of their points, for those who ask which may be near."""

    def __init__(self, points: Points, rows: Integers, near: Near):
        self._reach = reach_of(near)
        self._mask = (1 << max(int(2 * len(rows)).bit_length(), 4)) - 1
        self._rows = rows[points.known[rows]]
        self._before = np.empty(len(self._rows), np.int32)
        own = Points(points.at[self._rows], np.ones(len(self._rows), np.bool_))
        buckets = buckets_of(own, self._reach, np.zeros(len(own.at), np.uint64), self._mask)
        self._head = np.full(self._mask + 1, -1, np.int32)
        _enter_all(buckets, self._head, self._before)

    def candidates(
        self, points: Points, lo: Integers, hi: Integers, most: int
    ) -> Iterator[tuple[Integers, Integers]]:
        """Pairs of a point and a row from its lo to its hi that may be near, about so many at
        once."""
        buckets = buckets_around(
            points, self._reach, np.zeros(len(points.at), np.uint64), self._mask
        )
        first = 0
        while first < len(points.at):
            first, of, rows = _met(
                self._rows, self._head, self._before, buckets, lo, hi, first, most
            )
            yield of, rows


@kernel
def _enter_all(buckets: Small, head: Small, before: Small) -> None:
    for i in range(len(buckets)):
        before[i] = head[buckets[i]]
        head[buckets[i]] = i


@kernel
def _met(
    rows: Integers,
    head: Small,
    before: Small,
    buckets: Small,
    lo: Integers,
    hi: Integers,
    first: int,
    most: int,
) -> tuple[int, Integers, Integers]:
    of, met = np.empty(1024, np.int64), np.empty(1024, np.int64)
    n = 0
    while first < len(lo) and n < most:
        for bucket in buckets[first]:
            p = head[bucket] if bucket >= 0 else np.int32(-1)
            while p >= 0 and rows[p] >= lo[first]:
                if rows[p] < hi[first]:
                    of, met = with_room(of, n, 1), with_room(met, n, 1)
                    of[n], met[n] = first, rows[p]
                    n += 1
                p = before[p]
        first += 1
    return first, of[:n], met[:n]


@leaf()
def allows(between: Apart, i: int, j: int) -> bool:
    """Whether these points are as far apart as all distances ask for."""
    if not len(between.squares):
        return True
    if between.left.shape[1] == 3:
        square = square_of_chord(vector_at(between.left, i), vector_at(between.right, j))
    else:
        dx = between.left[i, 0] - between.right[j, 0]
        dy = between.left[i, 1] - between.right[j, 1]
        square = dx * dx + dy * dy
    for c in range(len(between.squares)):
        limit = between.squares[c]
        sign = np.int64(square > limit) - np.int64(square < limit)
        if not (between.orders[c] >> (sign + 1)) & 1:
            return False
    return True


@leaf()
def _cell(coordinate: float, side: float) -> int:
    return np.int64(min(max(np.floor(coordinate / side), -FARTHEST), FARTHEST))


@leaf()
def _with(mixed: np.uint64, cell: int) -> np.uint64:
    mixed = (mixed ^ np.uint64(cell)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


@kernel
def buckets_of(points: Points, reach: float, mixed: Words, mask: int) -> Small:
    """The bucket of each point's cell among those of a mask; `mixed` has what else is hashed."""
    n, dimensions = points.at.shape
    side, found = SIDE * reach, np.zeros(n, np.int32)
    for i in range(n):
        if points.known[i]:
            word = mixed[i]
            for d in range(dimensions):
                word = _with(word, _cell(points.at[i, d], side))
            found[i] = np.int32(word & np.uint64(mask))
    return found


@kernel
def buckets_around(points: Points, reach: float, mixed: Words, mask: int) -> Small:
    """The buckets in which there may be points that are near each of these: each once, and -1 after
    the last."""
    n, dimensions = points.at.shape
    side, most = SIDE * reach, 1 << dimensions
    found = np.full((n, most), np.int32(-1), np.int32)
    cells = np.empty((3, 2), np.int64)
    for i in range(n):
        if not points.known[i]:
            continue
        cells[2, :] = 0
        for d in range(dimensions):
            x = points.at[i, d]
            cells[d, 0] = _cell(np.nextafter(x - reach, -np.inf), side)
            cells[d, 1] = _cell(np.nextafter(x + reach, np.inf), side)
        count = 0
        for corner in range(most):
            word = mixed[i]
            for d in range(dimensions):
                word = _with(word, cells[d, (corner >> d) & 1])
            bucket = np.int32(word & np.uint64(mask))
            for k in range(count):
                if found[i, k] == bucket:
                    break
            else:
                found[i, count] = bucket
                count += 1
    return found
