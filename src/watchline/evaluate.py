"""Conditions and static regions over columns: Arrow in, a NumPy mask out, no Python per row.

Invariant: `holds(condition, columns)[i]` is True exactly where SQL's WHERE would keep row i. NULL
and NaN have no value; an infinite number has one, but every comparison with it is unknown, and so
is whether it is inside a region. Integers are compared as integers, also with floats.

Cost: one pass per atom.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Doubles, Integers, Mask, read_only
from watchline.kernels.earth import DEGREE_METRES, chord_of, cosines_of, vector_of, vectors_of
from watchline.model import (
    INF,
    Atom,
    Box,
    Circle,
    Compare,
    Condition,
    Corridor,
    InRange,
    Inside,
    IsNull,
    NoneOf,
    NotNull,
    OneOf,
    Query,
    StaticRegion,
    Stream,
    Type,
)
from watchline.rows import ARROW, Columns, mask_of

# A way to each of some points, along both axes.
_Way = tuple[Any, Any]

# --- conditions


def satisfies(query: Query, columns: Columns, stream: Stream) -> Mask:
    """WHERE and a static INSIDE of a query over one stream."""
    mask = holds(query.where, columns)
    if query.region is None:
        return mask
    assert stream.point is not None
    x, y = (columns.values(stream.attribute(name)) for name in stream.point)
    return mask & contains(query.region, x, y)  # type: ignore[arg-type]


def holds(condition: Condition, columns: Columns) -> Mask:
    """Where some conjunction has all its atoms true."""
    masks = (
        reduce(
            np.logical_and, (_atom(a, columns) for a in c.atoms), np.ones(len(columns), np.bool_)
        )
        for c in condition
    )
    return reduce(np.logical_or, masks, np.zeros(len(columns), np.bool_))


def _atom(atom: Atom, columns: Columns) -> Mask:
    if isinstance(atom, Compare):
        return _compare(atom, columns)
    if isinstance(atom, Inside):
        return _inside(atom, columns)
    attribute = atom.attribute
    if isinstance(atom, InRange):
        values, result = columns.values(attribute), columns.comparable(attribute)
        if atom.range.lo != -INF:
            result = result & (values >= atom.range.lo)  # type: ignore[operator]
        return result & (values < atom.range.hi) if atom.range.hi != INF else result  # type: ignore[operator]
    if isinstance(atom, IsNull):
        return ~columns.present(attribute)
    if isinstance(atom, NotNull):
        return columns.present(attribute)
    among = mask_of(
        pc.is_in(columns.array(attribute), pa.array(atom.values, ARROW[attribute.type]))
    )
    if isinstance(atom, OneOf):
        return among
    assert isinstance(atom, NoneOf)
    return columns.present(attribute) & ~among


def _inside(atom: Inside, columns: Columns) -> Mask:
    x, y = (columns.values(axis) for axis in atom.point)
    inside = contains(atom.region, x, y)  # type: ignore[arg-type]
    if not atom.negated:
        return inside
    known = [columns.comparable(axis) for axis in atom.point]
    return known[0] & known[1] & ~inside


def _compare(atom: Compare, columns: Columns) -> Mask:
    known = columns.comparable(atom.left) & columns.comparable(atom.right)
    if atom.left.type is Type.STRING:
        equal = pc.equal(columns.array(atom.left), columns.array(atom.right))
        signs = np.where(mask_of(pc.fill_null(equal, False)), 0, 1)
    else:
        signs = _signs(columns.values(atom.left), columns.values(atom.right))
    # Orders are less 1, equal 2, greater 4: the bit number is the sign plus one.
    return known & ((atom.orders >> (signs + 1)) & 1).astype(np.bool_)


def _signs(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> Integers:
    """-1, 0 or 1 as a is less than, equal to or greater than b; garbage where either is unknown."""
    a_float, b_float = a.dtype == np.float64, b.dtype == np.float64
    if a_float and not b_float:
        return -_signs_mixed(b, a)  # type: ignore[arg-type]
    if b_float and not a_float:
        return _signs_mixed(a, b)  # type: ignore[arg-type]
    return (a > b).astype(np.int64) - (a < b)  # type: ignore[operator, no-any-return]


def _signs_mixed(integers: Integers, doubles: Doubles) -> Integers:
    """Exactly, where float64(integer) would round: compare with the floor, then its fraction."""
    limit = 2.0**63
    inside = (doubles >= -limit) & (doubles < limit)
    floor = np.floor(np.where(inside, doubles, 0.0))
    whole = floor.astype(np.int64)
    signs = (integers > whole).astype(np.int64) - (integers < whole)
    signs = np.where((signs == 0) & (doubles > floor), -1, signs)
    return np.where(inside, signs, np.where(doubles > 0, -1, 1))


# --- regions


def contains(region: StaticRegion, x: Doubles, y: Doubles) -> Mask:
    """Which points are inside a static region; NaN and infinities are in none."""
    finite = np.isfinite(x) & np.isfinite(y)
    if isinstance(region, Box) and region.on_earth:
        return contains(region.flat, x, y)
    if isinstance(region, Box):
        return finite & (region.x1 <= x) & (x < region.x2) & (region.y1 <= y) & (y < region.y2)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if isinstance(region, Circle) and region.on_earth:
            return finite & _on_earth(region, x, y)
        if isinstance(region, Circle):
            dx, dy = x - region.x, y - region.y
            return finite & (dx * dx + dy * dy <= region.radius * region.radius)
        if isinstance(region, Corridor):
            near = _near_on_earth if region.on_earth else _near
            return finite & near(region, x, y)
        inside = np.zeros(len(x), dtype=np.bool_)
        for ring in region.rings():
            for (ax, ay), (bx, by) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
                if ay == by:
                    continue
                xl, yl, xu, yu = (ax, ay, bx, by) if ay < by else (bx, by, ax, ay)
                inside ^= (yl <= y) & (y < yu) & (x < xl + (y - yl) / (yu - yl) * (xu - xl))
        return finite & inside


def _on_earth(circle: Circle, x: Doubles, y: Doubles) -> Mask:
    """Which places are inside: the squares of chords, step by step as in `kernels.earth`."""
    vectors = vectors_of(read_only(x), read_only(y))
    dx, dy, dz = (vectors - np.array(vector_of(circle.x, circle.y))).T
    chord = chord_of(circle.radius)
    return np.asarray(dx * dx + dy * dy + dz * dz <= chord * chord)


def _near_on_earth(corridor: Corridor, x: Doubles, y: Doubles) -> Mask:
    """Which places are near some segment, each in the plane that touches the sphere there."""
    inside = np.zeros(len(x), dtype=np.bool_)
    across = cosines_of(read_only(y)) * DEGREE_METRES
    for path in corridor.paths():
        for (ax, ay), (bx, by) in pairwise(path):
            up, over = (ay - y) * DEGREE_METRES, (by - y) * DEGREE_METRES
            for turn in (-360.0, 0.0, 360.0):
                aside, beyond = ((ax + turn) - x) * across, ((bx + turn) - x) * across
                inside |= _near_segment(
                    (0.0 - aside, 0.0 - up),
                    (0.0 - beyond, 0.0 - over),
                    (beyond - aside, over - up),
                    corridor.reach,
                )
    return inside


def _near(corridor: Corridor, x: Doubles, y: Doubles) -> Mask:
    """Which points are near some segment: the formula of `index.regions.forms`, step by step."""
    inside = np.zeros(len(x), dtype=np.bool_)
    for path in corridor.paths():
        for (ax, ay), (bx, by) in pairwise(path):
            edge = np.float64(bx - ax), np.float64(by - ay)
            inside |= _near_segment((x - ax, y - ay), (x - bx, y - by), edge, corridor.reach)
    return inside


def _near_segment(start: _Way, end: _Way, edge: _Way, reach: float) -> Mask:
    """Which points are near a segment, by their ways from its start and from its end."""
    (px, py), (qx, qy), (ex, ey) = start, end, edge
    length, along = ex * ex + ey * ey, px * ex + py * ey
    part = along / length
    dx, dy = px - part * ex, py - part * ey
    square = np.where(along >= length, qx * qx + qy * qy, dx * dx + dy * dy)
    before = (along <= 0.0) | (length == 0.0)
    square = np.where(before, px * px + py * py, square)
    return np.asarray(square <= reach * reach)
