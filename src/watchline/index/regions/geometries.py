"""Geometries in, flat columns out: polygons, circles and corridors, checked one by one.

What is no region is told with its number and a remedy. Polygons may be of several parts and have
holes; rings may touch, and may not cross. Vertices are kept as they are: the fixed formulas depend
on each bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from watchline.errors import InvalidRange
from watchline.index.regions.entries import MOST_EDGES
from watchline.index.regions.forms import (
    CIRCLE,
    CIRCLE_VERTICES,
    CORRIDOR,
    EARTH_CIRCLE,
    EARTH_CIRCLE_VERTICES,
    EARTH_CORRIDOR,
    POLYGON,
)
from watchline.index.regions.geoarrow import shapes_of_arrow
from watchline.kernels.arrays import Doubles, Integers, Mask, read_only
from watchline.kernels.earth import chords_of, vectors_of, wrapped_all
from watchline.model import FARTHEST, LONGEST, SHORTEST, Polygon

# The numbers that shapely has for the types of geometries.
_TYPES = {POLYGON: (3, 6), CIRCLE: (0,), CORRIDOR: (1, 5)}


class RegionColumns(NamedTuple):
    """Regions as columns: region i has the chains begins[i] … begins[i + 1]."""

    forms: Integers
    begins: Integers
    # For each chain its first vertex and its edges. A circle has one, with its centre as the first
    # vertex and (radius, 0) as the second; for one on Earth see `forms`.
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


def earth_circles(centres: Doubles, radius: Doubles) -> Doubles:
    """The vertices (4 n, 2) of circles on Earth."""
    vertices = np.zeros((len(centres), EARTH_CIRCLE_VERTICES, 2))
    lon, lat = map(read_only, np.ascontiguousarray(centres.T))
    chords, vectors = chords_of(read_only(np.ascontiguousarray(radius))), vectors_of(lon, lat)
    vertices[:, 0], vertices[:, 1, 0] = centres, radius
    vertices[:, 1, 1] = chords * chords
    vertices[:, 2], vertices[:, 3, 0] = vectors[:, :2], vectors[:, 2]
    return vertices.reshape(-1, 2)


def with_radii(regions: RegionColumns, which: Mask, radius: Doubles) -> RegionColumns:
    """The same regions; those chosen, which are circles, have these radii instead of theirs."""
    forms, begins, chains, coordinates, reach = regions
    coordinates, firsts = coordinates.copy(), chains[begins[:-1], 0][which]
    coordinates[firsts + 1, 0] = radius
    on_earth = forms[which] == EARTH_CIRCLE
    made = earth_circles(coordinates[firsts[on_earth]], radius[on_earth])
    coordinates[runs(firsts[on_earth], np.full(on_earth.sum(), EARTH_CIRCLE_VERTICES))] = made
    # Its length is that of the regions, so a copy by `_replace` is refused.
    return RegionColumns(forms, begins, chains, coordinates, reach)


def without_vectors(regions: RegionColumns) -> RegionColumns:
    """Regions as they are stored: a circle on Earth has the vertices of one of the plane, its
    centre and (radius, 0)."""
    forms, begins, chains, coordinates, reach = regions
    there = forms == EARTH_CIRCLE
    if not there.any():
        return regions
    sizes = chains[:, 1] + 1
    sizes[begins[:-1][there]] = CIRCLE_VERTICES
    starts = _starts(sizes)[:-1]
    coordinates = coordinates[runs(chains[:, 0], sizes)]
    coordinates[starts[begins[:-1][there]] + 1, 1] = 0.0
    return RegionColumns(forms, begins, np.stack([starts, sizes - 1], axis=1), coordinates, reach)


def with_vectors(regions: RegionColumns) -> RegionColumns:
    """Regions as kernels take them, from how they are stored."""
    forms, begins, chains, coordinates, reach = regions
    there = forms == EARTH_CIRCLE
    if not there.any():
        return regions
    alone, old = begins[:-1][there], chains[:, 1] + 1
    firsts = chains[alone, 0]
    circles = earth_circles(coordinates[firsts], coordinates[firsts + 1, 0])
    sizes = old.copy()
    sizes[alone] = EARTH_CIRCLE_VERTICES
    starts = _starts(sizes)
    made = np.empty((starts[-1], 2))
    made[runs(starts[:-1], old)] = coordinates[runs(chains[:, 0], old)]
    made[runs(starts[alone], sizes[alone])] = circles
    return RegionColumns(forms, begins, np.stack([starts[:-1], sizes - 1], axis=1), made, reach)


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


class RegionsRead(NamedTuple):
    """What was read: the columns of all regions, where there are no problems.

    The problems stand by the number of their geometry, and in this order. Region i has the parts
    `parts[i]` … `parts[i + 1]`, and part k has `rings[k]` chains: a polygon's shell and its holes.
    """

    size: int
    problems: Mapping[int, str]
    columns: RegionColumns
    parts: Integers
    rings: Integers

    def __len__(self) -> int:
        return self.size


class _Problems:
    """What is wrong with which geometry; of several problems of one the first counts."""

    def __init__(self, count: int):
        self.bad = np.zeros(count, dtype=np.bool_)
        self.told: dict[int, str] = {}

    def add(self, bad: Any, why: str, numbers: Integers | None = None) -> None:
        """These geometries are bad, if they are not so already."""
        places = np.flatnonzero(bad)
        for number in (places if numbers is None else numbers[places]).tolist():
            self.one(number, why)

    def latitudes(self, coordinates: Doubles, of: Integers) -> None:
        """Geometries are bad that have one of these coordinates beyond a pole."""
        for k in np.flatnonzero(np.abs(coordinates[:, 1]) > 90):
            if not self.bad[of[k]]:
                latitude = coordinates[k, 1]
                self.one(
                    of[k],
                    f"it has latitude {latitude:g}, beyond 90: are longitude and latitude swapped?",
                )

    def one(self, number: Any, why: str) -> None:
        self.bad[number] = True
        self.told.setdefault(int(number), why)


def region_columns(
    geometries: Any, radius: Any = None, within: Any = None, *, geography: bool = False
) -> RegionColumns:
    """Columns of shapely geometries, WKB, a GeoArrow column, or an array (n, 2) of centres.

    `radius` is for points, `within` for lines: a number, or one for each geometry, NaN where the
    geometry is of another kind; metres with `geography`, where x is a longitude and y a latitude.
    The first that is no region is refused: an `InvalidRange`.
    """
    read = read_regions(geometries, radius, within, geography=geography)
    for number, problem in read.problems.items():
        raise InvalidRange(f"geometry {number}: {problem}")
    return read.columns


def read_regions(
    geometries: Any, radius: Any = None, within: Any = None, *, geography: bool = False
) -> RegionsRead:
    """Regions as for `region_columns`, and all problems instead of a refusal of the first."""
    array = _as_array(geometries)
    count = len(array)
    problems = _Problems(count)
    given = _lengths(radius, "radius", count), _lengths(within, "within", count)
    if array.dtype == object:
        shapes = _shapes(array, problems)
        kinds = _kinds(shapes, problems)
    else:
        shapes, kinds = array, np.full(count, CIRCLE)
    for name, kind, word, lengths, values in (
        ("radius", CIRCLE, "point", given[0], radius),
        ("within", CORRIDOR, "line", given[1], within),
    ):
        problems.add((kinds == kind) & np.isnan(lengths), f"a {word} needs {name}=")
        unused = (kinds >= 0) & (kinds != kind) & ~np.isnan(lengths)
        if np.ndim(values) or not (kinds == kind).any():
            problems.add(unused, f"{name}= is for {word}s only")
    if geography:
        shapes = _on_earth(shapes, kinds, problems)
    columns = _columns_of(shapes, kinds, given, problems)
    if problems.told:
        order = dict(sorted(problems.told.items()))
        nothing = np.zeros(0, np.int64)
        return RegionsRead(count, order, _no_columns(), nothing, nothing)
    parts, rings = _rings(shapes, kinds)
    return RegionsRead(count, {}, _as_earthly(columns) if geography else columns, parts, rings)


def _on_earth(shapes: npt.NDArray[Any], kinds: Integers, problems: _Problems) -> npt.NDArray[Any]:
    """Shapes whose longitudes are those of points; problems where they are nowhere on Earth."""
    if shapes.dtype != object:
        problems.latitudes(shapes, np.arange(len(shapes)))
        return np.stack([wrapped_all(np.ascontiguousarray(shapes[:, 0])), shapes[:, 1]], axis=1)
    import shapely

    from watchline.sql import laid_out, problem_of

    shapes = shapes.copy()
    coordinates, of = shapely.get_coordinates(shapes, return_index=True)
    problems.latitudes(coordinates, of)
    low, _, high, _ = shapely.bounds(shapes).T
    far = f"the longitudes of a line must be between -{FARTHEST:g} and {FARTHEST:g}"
    problems.add((kinds == CORRIDOR) & ((low < -FARTHEST) | (high > FARTHEST)), far)
    # Nothing is wrong with what is narrower than half the way round.
    wide = ~((high - low <= 180) & (low >= -180) & (high <= 180)) & np.isfinite(low + high)
    for i in np.flatnonzero((kinds == POLYGON) & wide & ~problems.bad):
        every = shapely.get_rings(shapely.get_parts(shapes[i]))
        rings = [shapely.get_coordinates(ring) for ring in every]
        crossing = None if shapely.is_valid(shapes[i]) else _crossing(shapes[i])
        if problem := problem_of(rings):
            problems.one(i, f"it {problem}")
        elif crossing:
            problems.one(i, crossing)
        else:
            shapes[i] = laid_out(shapes[i])
    return shapes


def _as_earthly(columns: RegionColumns) -> RegionColumns:
    """Circles and corridors of degrees and metres, which were read as those of the plane."""
    forms, begins, chains, coordinates, reach = columns
    forms = np.where(forms == CORRIDOR, EARTH_CORRIDOR, forms)
    centres = chains[begins[:-1][forms == CIRCLE], 0]
    coordinates[centres, 0] = wrapped_all(np.ascontiguousarray(coordinates[centres, 0]))
    forms = np.where(forms == CIRCLE, EARTH_CIRCLE, forms)
    return with_vectors(RegionColumns(forms, begins, chains, coordinates, reach))


def _no_columns() -> RegionColumns:
    nothing = np.zeros(0, np.int64)
    return RegionColumns(
        nothing, np.zeros(1, np.int64), np.zeros((0, 2), np.int64), np.empty((0, 2)), np.empty(0)
    )


def _columns_of(
    shapes: npt.NDArray[Any], kinds: Integers, given: tuple[Doubles, Doubles], problems: _Problems
) -> RegionColumns:
    """The columns of all regions that have no problem so far; more problems may come up."""
    radius, within = given
    which = [np.flatnonzero((kinds == k) & ~problems.bad) for k in (POLYGON, CIRCLE, CORRIDOR)]
    polygons, circles, corridors = which
    parts = []
    if len(polygons):
        parts.append(_polygons(shapes[polygons], polygons, problems))
    centres = _centres(shapes[circles])
    parts.append(_circles(centres, radius[circles], circles, problems))
    if len(corridors):
        parts.append(_corridors(shapes[corridors], within[corridors], corridors, problems))
    return joined_columns(parts).taken(np.argsort(np.concatenate(which)))


def _rings(shapes: npt.NDArray[Any], kinds: Integers) -> tuple[Integers, Integers]:
    """Where the parts of each region begin and end, and how many chains each part has."""
    if shapes.dtype != object:
        return np.arange(len(shapes) + 1), np.ones(len(shapes), np.int64)
    import shapely

    parts, of = shapely.get_parts(shapes, return_index=True)
    rings = np.where(kinds[of] == POLYGON, shapely.get_num_interior_rings(parts) + 1, 1)
    there = ~shapely.is_empty(parts)
    counts = np.bincount(of[there], minlength=len(shapes))
    return _starts(counts), rings[there].astype(np.int64)


def _as_array(geometries: Any) -> npt.NDArray[Any]:
    """Numbers as (n, 2), anything else as objects on one axis."""
    if hasattr(geometries, "to_pylist"):
        geometries = shapes_of_arrow(geometries)
    elif isinstance(geometries, (bytes, str)) or not hasattr(geometries, "__len__"):
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


def _shapes(array: npt.NDArray[Any], problems: _Problems) -> npt.NDArray[Any]:
    import shapely  # a tenth of a second: only for those who use regions

    binary = np.array([isinstance(each, (bytes, bytearray, memoryview)) for each in array], bool)
    shapes = array.copy()
    if binary.any():
        shapes[binary] = shapely.from_wkb(
            [bytes(each) for each in array[binary]], on_invalid="ignore"
        )
    for i in np.flatnonzero(~shapely.is_geometry(shapes)):
        if binary[i]:
            problems.one(i, "these bytes are no WKB")
        elif array[i] is None:
            problems.one(
                i, "it has no geometry: expected a shapely geometry or WKB, found NoneType"
            )
        else:
            found = type(array[i]).__name__
            problems.one(i, f"expected a shapely geometry or WKB, found {found}")
        shapes[i] = None
    return shapes


def _kinds(shapes: npt.NDArray[Any], problems: _Problems) -> Integers:
    import shapely

    types = shapely.get_type_id(shapes)
    kinds = np.full(len(shapes), -1)
    for kind, numbers in _TYPES.items():
        kinds[np.isin(types, numbers)] = kind
    for i in np.flatnonzero((kinds < 0) & (types >= 0)):
        found = shapes[i].geom_type.upper()
        problems.one(i, f"expected a polygon, a point or a line, not a {found}")
    problems.add(shapely.is_empty(shapes), "it is empty")
    return kinds


# --- by form


def _circles(
    centres: Doubles, radius: Doubles, numbers: Integers, problems: _Problems
) -> RegionColumns:
    problems.add(~np.isfinite(centres).all(axis=1), "its centre is not finite", numbers)
    good = np.isfinite(radius) & (radius > 0)
    problems.add(~good, "its radius must be greater than zero and finite", numbers)
    count = len(centres)
    coordinates = np.zeros((2 * count, 2))
    coordinates[::2], coordinates[1::2, 0] = centres + 0.0, radius
    chains = np.stack([np.arange(0, 2 * count, 2), np.ones(count, dtype=np.int64)], axis=1)
    nowhere = np.full(count, np.nan)
    return RegionColumns(np.full(count, CIRCLE), np.arange(count + 1), chains, coordinates, nowhere)


def _centres(shapes: npt.NDArray[Any]) -> Doubles:
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


def _finite_extent(columns: RegionColumns, numbers: Integers, problems: _Problems) -> Doubles:
    """How wide and how high each region is; a problem where that is not finite."""
    low, high = _extremes(columns)
    finite = np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1)
    problems.add(~finite, "its coordinates must be finite numbers", numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        extent = high - low
    wide = ~np.isfinite(extent).all(axis=1)
    problems.add(wide, "it is wider or higher than a DOUBLE can say", numbers)
    return np.asarray(extent)


def _polygons(shapes: npt.NDArray[Any], numbers: Integers, problems: _Problems) -> RegionColumns:
    import shapely

    columns = _ragged(shapes, POLYGON, np.full(len(shapes), np.nan))
    flat = ~_finite_extent(columns, numbers, problems).all(axis=1)
    problems.add(flat, "it has no area: all its corners lie on one line", numbers)
    shortest = np.minimum.reduceat(columns.chains[:, 1], columns.begins[:-1])
    problems.add(shortest < 3, "one of its rings has fewer than three corners", numbers)
    longest = np.maximum.reduceat(columns.chains[:, 1], columns.begins[:-1])
    many = f"a ring has at most {MOST_EDGES:,} corners: simplify it or split it"
    problems.add(longest >= MOST_EDGES, many, numbers)
    rest = np.flatnonzero(~problems.bad[numbers])
    for i in rest[~shapely.is_valid(shapes[rest])]:
        if problem := _crossing(shapes[i]):
            problems.one(numbers[i], problem)
    return columns


def _crossing(shape: Any) -> str | None:
    """What is wrong with a polygon that GEOS calls invalid; None if it has one clear inside."""
    import shapely

    from watchline.sql import crossing_of

    polygons = shapely.get_parts(shape)
    polygons = polygons[~shapely.is_empty(polygons)]
    model = Polygon.of(
        [[shapely.get_coordinates(r) for r in (p.exterior, *p.interiors)] for p in polygons]
    )
    return crossing_of(model, shapely.is_valid_reason(shape))


def _corridors(
    shapes: npt.NDArray[Any], reach: Doubles, numbers: Integers, problems: _Problems
) -> RegionColumns:
    columns = _ragged(shapes, CORRIDOR, reach + 0.0)
    _finite_extent(columns, numbers, problems)
    longest = np.maximum.reduceat(columns.chains[:, 1], columns.begins[:-1])
    many = f"a line has at most {MOST_EDGES:,} points: simplify it or split it"
    problems.add(longest >= MOST_EDGES, many, numbers)
    within = f"between {SHORTEST:g} and {LONGEST:g}"
    good = (reach >= SHORTEST) & (reach <= LONGEST)
    problems.add(~good, f"within= must be {within}", numbers)
    # The step from one line to the next is no segment.
    with np.errstate(over="ignore", invalid="ignore"):
        sides = np.abs(np.diff(columns.coordinates, axis=0)).max(axis=1, initial=0)
    sides[columns.chains[1:, 0] - 1] = 0
    bad = np.flatnonzero((sides > 0) & ((sides < SHORTEST) | (sides > LONGEST)))
    chains = np.searchsorted(columns.chains[:, 0], bad, side="right") - 1
    owners = np.unique(np.searchsorted(columns.begins, chains, side="right") - 1)
    for number in numbers[owners].tolist():
        problems.one(number, f"the segments of a corridor must be {within} long, or of no length")
    return columns
