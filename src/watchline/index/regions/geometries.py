"""Geometries in, flat columns out: polygons, circles and corridors, checked one by one.

What is refused is refused with its number and a remedy. Polygons may be of several parts and have
holes; rings may touch, and may not cross. Vertices are kept as they are: the fixed formulas depend
on each bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from watchline.errors import InvalidRange
from watchline.index.regions.entries import MOST_EDGES
from watchline.index.regions.forms import CIRCLE, CORRIDOR, POLYGON
from watchline.kernels.arrays import Doubles, Integers
from watchline.model import LONGEST, SHORTEST, Polygon

# The numbers that shapely has for the types of geometries.
_TYPES = {POLYGON: (3, 6), CIRCLE: (0,), CORRIDOR: (1, 5)}


class RegionColumns(NamedTuple):
    """Regions as columns: region i has the chains begins[i] … begins[i + 1]."""

    forms: Integers
    begins: Integers
    # For each chain its first vertex and its edges. A circle has one, with its centre as the first
    # vertex and (radius, 0) as the second.
    chains: Integers
    coordinates: Doubles
    # How far a corridor goes from its line; NaN for others.
    reach: Doubles

    def __len__(self) -> int:
        return len(self.forms)

    def taken(self, which: Integers) -> RegionColumns:
        """Some of the regions, in this order."""
        counts = np.diff(self.begins)[which]
        rows = runs(self.begins[which], counts)
        sizes = self.chains[rows, 1] + 1
        chains = np.stack([_starts(sizes)[:-1], sizes - 1], axis=1)
        coordinates = self.coordinates[runs(self.chains[rows, 0], sizes)]
        return RegionColumns(
            self.forms[which], _starts(counts), chains, coordinates, self.reach[which]
        )


def joined_columns(parts: list[RegionColumns]) -> RegionColumns:
    """The regions of all parts, one after the other."""
    chains, begins, vertices, count = [], [np.zeros(1, dtype=np.int64)], 0, 0
    for part in parts:
        chains.append(part.chains + np.array([vertices, 0]))
        begins.append(part.begins[1:] + count)
        vertices += len(part.coordinates)
        count += len(part.chains)
    return RegionColumns(
        np.concatenate([part.forms for part in parts]),
        np.concatenate(begins),
        np.concatenate(chains),
        np.concatenate([part.coordinates for part in parts]),
        np.concatenate([part.reach for part in parts]),
    )


def _starts(counts: Integers) -> Integers:
    """Where each of some runs of these lengths begins, and where the last one ends."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def runs(starts: Integers, counts: Integers) -> Integers:
    """starts[0] … starts[0] + counts[0], and so on for all."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + counts, counts)


# --- what users give


def region_columns(geometries: Any, radius: Any = None, within: Any = None) -> RegionColumns:
    """Columns of shapely geometries, WKB, or an array (n, 2) of centres.

    `radius` is for points, `within` for lines: a number, or one for each geometry, NaN where the
    geometry is of another kind.
    """
    array = _as_array(geometries)
    given = _lengths(radius, "radius", len(array)), _lengths(within, "within", len(array))
    if array.dtype == object:
        shapes = _shapes(array)
        kinds = _kinds(shapes)
    else:
        shapes, kinds = array, np.full(len(array), CIRCLE)
    for name, kind, word, lengths, values in (
        ("radius", CIRCLE, "point", given[0], radius),
        ("within", CORRIDOR, "line", given[1], within),
    ):
        _refuse_first((kinds == kind) & np.isnan(lengths), f"a {word} needs {name}=")
        unused = (kinds != kind) & ~np.isnan(lengths)
        if np.ndim(values) or not (kinds == kind).any():
            _refuse_first(unused, f"{name}= is for {word}s only")
    return _columns_of(shapes, kinds, *given)


def _columns_of(
    shapes: npt.NDArray[Any], kinds: Integers, radius: Doubles, within: Doubles
) -> RegionColumns:
    which = [np.flatnonzero(kinds == kind) for kind in (POLYGON, CIRCLE, CORRIDOR)]
    parts = [_polygons(shapes[which[0]], which[0])] if len(which[0]) else []
    parts.append(_circles(_centres(shapes[which[1]], which[1]), radius[which[1]], which[1]))
    if len(which[2]):
        parts.append(_corridors(shapes[which[2]], within[which[2]], which[2]))
    return joined_columns(parts).taken(np.argsort(np.concatenate(which)))


def _as_array(geometries: Any) -> npt.NDArray[Any]:
    """Numbers as (n, 2), anything else as objects on one axis."""
    if hasattr(geometries, "to_pylist"):
        geometries = geometries.to_pylist()
    elif isinstance(geometries, (bytes, str)) or hasattr(geometries, "geom_type"):
        raise InvalidRange("expected a sequence of geometries, not one geometry")
    array = np.asarray(geometries)
    if array.dtype.kind in "fiu" and array.ndim == 2 and array.shape[1] == 2:
        return array.astype(np.float64)
    if array.size == 0:
        return np.empty(0, dtype=object)
    if array.dtype.kind in "fiu" or array.ndim != 1:
        raise InvalidRange(f"expected geometries, or points (n, 2), not an array {array.shape}")
    made = np.empty(len(geometries), dtype=object)
    made[:] = list(geometries)
    return made


def _lengths(values: Any, name: str, count: int) -> Doubles:
    """One length for each geometry; NaN where there is none."""
    if values is None:
        return np.full(count, np.nan)
    try:
        array = np.asarray(values, dtype=np.float64)
        return np.broadcast_to(array, (count,)).copy()
    except (TypeError, ValueError) as error:
        raise InvalidRange(f"{name} must be a number, or one for each geometry: {error}") from None


def _shapes(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    import shapely  # a tenth of a second: only for those who use regions

    binary = np.array([isinstance(each, (bytes, bytearray, memoryview)) for each in array])
    shapes = array.copy()
    if binary.any():
        shapes[binary] = shapely.from_wkb(
            [bytes(each) for each in array[binary]], on_invalid="ignore"
        )
    for i in np.flatnonzero(~shapely.is_geometry(shapes)):
        if binary[i]:
            _refuse(i, "these bytes are no WKB")
        _refuse(i, f"expected a shapely geometry or WKB, found {type(array[i]).__name__}")
    return shapes


def _kinds(shapes: npt.NDArray[Any]) -> Integers:
    import shapely

    types = shapely.get_type_id(shapes)
    kinds = np.full(len(shapes), -1)
    for kind, numbers in _TYPES.items():
        kinds[np.isin(types, numbers)] = kind
    for i in np.flatnonzero(kinds < 0):
        _refuse(i, f"expected a polygon, a point or a line, not a {shapes[i].geom_type.upper()}")
    _refuse_first(shapely.is_empty(shapes), "it is empty")
    return kinds


# --- by form


def _circles(centres: Doubles, radius: Doubles, numbers: Integers) -> RegionColumns:
    _refuse_first(~np.isfinite(centres).all(axis=1), "its centre is not finite", numbers)
    good = np.isfinite(radius) & (radius > 0)
    _refuse_first(~good, "its radius must be greater than zero and finite", numbers)
    count = len(centres)
    coordinates = np.zeros((2 * count, 2))
    coordinates[::2], coordinates[1::2, 0] = centres + 0.0, radius
    chains = np.stack([np.arange(0, 2 * count, 2), np.ones(count, dtype=np.int64)], axis=1)
    nowhere = np.full(count, np.nan)
    return RegionColumns(np.full(count, CIRCLE), np.arange(count + 1), chains, coordinates, nowhere)


def _centres(shapes: npt.NDArray[Any], numbers: Integers) -> Doubles:
    if shapes.dtype != object:
        return shapes
    if not len(shapes):
        return np.empty((0, 2))
    import shapely

    return np.asarray(shapely.get_coordinates(shapes), dtype=np.float64)


def _ragged(shapes: npt.NDArray[Any], form: int, reach: Doubles) -> RegionColumns:
    """Rings or lines as chains; their ends are in the coordinates twice if they are closed."""
    import shapely

    _, coordinates, offsets = shapely.to_ragged_array(shapes, include_z=False)
    bounds = np.asarray(offsets[0], dtype=np.int64)
    begins = np.arange(len(shapes) + 1)
    for level in offsets[:0:-1]:
        begins = np.asarray(level, dtype=np.int64)[begins]
    chains = np.stack([bounds[:-1], np.diff(bounds) - 1], axis=1)
    forms = np.full(len(shapes), form)
    return RegionColumns(forms, begins, chains, np.ascontiguousarray(coordinates) + 0.0, reach)


def _extremes(columns: RegionColumns) -> tuple[Doubles, Doubles]:
    """The least and the greatest coordinates of each region."""
    firsts = columns.chains[columns.begins[:-1], 0]
    return (
        np.minimum.reduceat(columns.coordinates, firsts),
        np.maximum.reduceat(columns.coordinates, firsts),
    )


def _refuse_not_finite(columns: RegionColumns, numbers: Integers) -> Doubles:
    """Refuse what is not finite or too wide; how wide and how high each region is."""
    low, high = _extremes(columns)
    finite = np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1)
    _refuse_first(~finite, "its coordinates must be finite numbers", numbers)
    with np.errstate(over="ignore"):
        extent = high - low
    wide = ~np.isfinite(extent).all(axis=1)
    _refuse_first(wide, "it is wider or higher than a DOUBLE can say", numbers)
    return np.asarray(extent)


def _polygons(shapes: npt.NDArray[Any], numbers: Integers) -> RegionColumns:
    import shapely

    columns = _ragged(shapes, POLYGON, np.full(len(shapes), np.nan))
    flat = ~_refuse_not_finite(columns, numbers).all(axis=1)
    _refuse_first(flat, "it has no area: all its corners lie on one line", numbers)
    if (columns.chains[:, 1] >= MOST_EDGES).any():
        raise InvalidRange(f"a ring has at most {MOST_EDGES:,} corners")
    for i in np.flatnonzero(~shapely.is_valid(shapes)):
        from watchline.sql import crossing_of

        problem = crossing_of(_model(shapes[i]), shapely.is_valid_reason(shapes[i]))
        if problem:
            _refuse(numbers[i], problem)
    return columns


def _model(shape: Any) -> Polygon:
    import shapely

    polygons = getattr(shape, "geoms", [shape])
    return Polygon.of(
        [[shapely.get_coordinates(r) for r in (p.exterior, *p.interiors)] for p in polygons]
    )


def _corridors(shapes: npt.NDArray[Any], reach: Doubles, numbers: Integers) -> RegionColumns:
    columns = _ragged(shapes, CORRIDOR, reach + 0.0)
    _refuse_not_finite(columns, numbers)
    within = f"between {SHORTEST:g} and {LONGEST:g}"
    good = (reach >= SHORTEST) & (reach <= LONGEST)
    _refuse_first(~good, f"within= must be {within}", numbers)
    # The step from one line to the next is no segment.
    sides = np.abs(np.diff(columns.coordinates, axis=0)).max(axis=1, initial=0)
    sides[columns.chains[1:, 0] - 1] = 0
    bad = (sides > 0) & ((sides < SHORTEST) | (sides > LONGEST))
    for k in np.flatnonzero(bad)[:1]:
        chain = np.searchsorted(columns.chains[:, 0], k, side="right") - 1
        owner = np.searchsorted(columns.begins, chain, side="right") - 1
        _refuse(
            numbers[owner], f"the segments of a corridor must be {within} long, or of no length"
        )
    return columns


def _refuse_first(bad: Any, why: str, numbers: Integers | None = None) -> None:
    for i in np.flatnonzero(bad)[:1]:
        _refuse(i if numbers is None else numbers[i], why)


def _refuse(number: Any, why: str) -> NoReturn:
    raise InvalidRange(f"geometry {number}: {why}")
