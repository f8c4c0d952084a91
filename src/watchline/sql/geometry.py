"""Polygons and lines from WKT or GeoJSON, checked by GEOS.

Refused: what is empty, has too many vertices, is not finite, or crosses itself. Rings that only
touch, themselves or each other, are kept though GEOS calls some of them invalid: real district maps
have such rings, and even-odd counting gives them one clear inside.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from watchline.kernels.arrays import Doubles, Integers
from watchline.model import Corridor, Polygon
from watchline.sql.antimeridian import laid_out, problem_of
from watchline.sql.syntax import Place, Word, built

MAX_VERTICES = 1_000_000
# Neighbouring edges meet, so some pairs of edges per vertex are normal; a scribble has thousands.
MAX_PAIRS_PER_VERTEX = 40


class _Kind(NamedTuple):
    """What a quoted text must describe, in words for errors."""

    noun: str
    types: tuple[str, str]
    example: str
    least: str


_POLYGON = _Kind(
    "polygon",
    ("POLYGON", "MULTIPOLYGON"),
    "POLYGON ((0 0, 1 0, 1 1, 0 0))",
    "three corners or more",
)
_LINE = _Kind(
    "line",
    ("LINESTRING", "MULTILINESTRING"),
    "LINESTRING (0 0, 1 1)",
    "two points or more",
)
# The clause that takes geometries of these types.
_CLAUSES = {
    **dict.fromkeys(_POLYGON.types, "INSIDE POLYGON '…'"),
    **dict.fromkeys(_LINE.types, "INSIDE CORRIDOR '…' WITHIN distance"),
    "POINT": "INSIDE CIRCLE (x, y, radius)",
}


def polygon(word: Word, on_earth: bool = False) -> Polygon:
    """The polygon that the quoted text describes; refused at the text's place if it is none.

    On Earth, one that runs beyond 180 degrees is cut at the antimeridian.
    """
    import shapely  # a tenth of a second: only for those who use polygons

    geometry = _geometry(word, _POLYGON)
    region = built(word.place, lambda: Polygon.of(_parts(geometry)))
    if on_earth and (problem := problem_of([ring for part in _parts(geometry) for ring in part])):
        word.place.refuse(f"the polygon {problem}")
    _check_extent(np.concatenate(list(region.rings())), word, _POLYGON)
    crossing = None if geometry.is_valid else crossing_of(region, shapely.is_valid_reason(geometry))
    if crossing:
        word.place.refuse(crossing)
    laid = laid_out(geometry) if on_earth else geometry
    return region if laid is geometry else Polygon.of(_parts(laid))


def _parts(geometry: Any) -> list[list[Doubles]]:
    """The rings of each part of a polygon; they end where they begin."""
    import shapely

    polygons = getattr(geometry, "geoms", [geometry])
    return [[shapely.get_coordinates(r) for r in (p.exterior, *p.interiors)] for p in polygons]


def corridor(word: Word, reach: float, within: Place, on_earth: bool = False) -> Corridor:
    """What is at most `reach` from the line that the quoted text describes.

    A mistake is refused at the text's place, a wrong distance at its own, `within`.
    """
    import shapely

    geometry = _geometry(word, _LINE)
    lines = [shapely.get_coordinates(line) for line in getattr(geometry, "geoms", [geometry])]
    region = built(word.place, lambda: Corridor.of(lines, reach, on_earth), {"WITHIN": within})
    _check_extent(np.concatenate(list(region.paths())), word, _LINE)
    return region


def _geometry(word: Word, kind: _Kind) -> Any:
    """The geometry in the text, of this kind, with some vertices and not too many."""
    import shapely

    geometry = _read(word, kind)
    found = geometry.geom_type.upper()
    if found not in kind.types:
        remedy = f": register one query for each {kind.noun}" if "COLLECTION" in found else ""
        if found in _CLAUSES:
            remedy = f": write {_CLAUSES[found]}"
        word.place.refuse(f"expected a {' or '.join(kind.types)}, found {found}{remedy}")
    if geometry.is_empty:
        word.place.refuse(f"the {kind.noun} is empty: it needs {kind.least}")
    count = shapely.get_num_coordinates(geometry)
    if count > MAX_VERTICES:
        word.place.refuse(
            f"the {kind.noun} has {count:,} vertices; the limit is {MAX_VERTICES:,}:"
            " simplify it (shapely's simplify, PostGIS' ST_Simplify) or split it"
        )
    return geometry


def _read(word: Word, kind: _Kind) -> Any:
    import shapely

    text = word.text.strip()
    try:
        if text.startswith("{"):
            return shapely.from_geojson(json.dumps(_bare_geometry(json.loads(text))))
        with np.errstate(invalid="ignore"):
            return shapely.from_wkt(text)
    except (
        *(shapely.errors.ShapelyError, ValueError, RecursionError),
        *(AttributeError, NotImplementedError),
    ) as error:
        if "closed" in str(error):
            word.place.refuse("a ring of the polygon does not end where it starts", error)
        word.place.refuse(
            f"expected a {kind.noun} as WKT or GeoJSON, as in '{kind.example}'", error
        )


def _bare_geometry(value: object) -> object:
    """A GeoJSON Feature stands for its geometry."""
    if isinstance(value, dict) and value.get("type") == "Feature":
        return value.get("geometry")
    return value


def _check_extent(coordinates: Doubles, word: Word, kind: _Kind) -> None:
    with np.errstate(over="ignore"):
        extent = coordinates.max(axis=0) - coordinates.min(axis=0)
    if not np.isfinite(extent).all():
        word.place.refuse(f"the {kind.noun} is wider or higher than a DOUBLE can say")
    if kind is _POLYGON and not extent.all():
        word.place.refuse("the polygon has no area: all its corners lie on one line")


def crossing_of(region: Polygon, reason: str) -> str | None:
    """What is wrong with a polygon that GEOS calls invalid for this reason; None if nothing is."""
    if _one_clear_inside(region):
        return None
    problem, _, where = reason.partition("[")
    sentence = {
        "Hole lies outside shell": "a hole of the polygon lies outside its shell",
        "Nested shells": "parts of the polygon overlap",
        "Nested holes": "holes of the polygon overlap",
        "Too few points in geometry component": "a ring of the polygon has no area",
    }.get(problem, "the polygon crosses or overlaps itself")
    near = f" near ({', '.join(where.rstrip(']').split())})" if where else ""
    return f"{sentence}{near}: mend it (shapely's make_valid, PostGIS' ST_MakeValid)"


def _one_clear_inside(region: Polygon) -> bool:
    """Whether every face that the rings cut out of the plane is clearly inside or outside.

    Turn shells to the left and holes to the right. Where lines cross, the winding numbers of the
    faces around the crossing span three values; where they only touch, two. So nothing crosses,
    overlaps or lies outside its shell exactly if all faces have the total winding number 0 or 1,
    and no single ring winds around a face more than once.
    """
    import shapely

    rings = list(region.rings())
    if _is_tangled(rings):
        return False
    lines = shapely.union_all([shapely.LinearRing(ring) for ring in rings])
    faces = shapely.get_parts(shapely.polygonize([lines]))
    if not len(faces):
        return False
    x, y = shapely.get_coordinates(shapely.point_on_surface(faces)).T
    is_shell = [i == 0 for part in region.parts for i in range(len(part))]
    total = np.zeros(len(faces), dtype=np.int64)
    for ring, shell in zip(rings, is_shell, strict=True):
        winding = _winding(ring, x, y)
        turn = 1 if winding.sum() > 0 else -1
        if not np.isin(winding * turn, (0, 1)).all():
            return False
        total += winding * turn if shell else -winding * turn
    return bool(np.isin(total, (0, 1)).all() and (total == 1).any())


def _is_tangled(rings: list[Doubles]) -> bool:
    """Whether so many edges come close to each other that cutting them up would take for ever."""
    import shapely

    edges = np.concatenate([np.stack([ring, np.roll(ring, -1, axis=0)], axis=1) for ring in rings])
    segments = shapely.linestrings(edges)
    tree = shapely.STRtree(segments)
    pairs = 0
    for start in range(0, len(segments), 256):
        pairs += tree.query(segments[start : start + 256]).shape[1]
        if pairs > MAX_PAIRS_PER_VERTEX * len(segments) + 1_000:
            return True
    return False


def _winding(ring: Doubles, x: Doubles, y: Doubles) -> Integers:
    """How often the ring goes around each point, to the left."""
    steep = np.flatnonzero(ring[:, 1] != np.roll(ring[:, 1], -1))
    winding = np.zeros(len(x), dtype=np.int64)
    # Edges by points, a piece at a time.
    for start in range(0, len(steep), piece := max(1, 2**20 // max(1, len(x)))):
        edges = steep[start : start + piece]
        a, b = ring[edges], ring[(edges + 1) % len(ring)]
        up = a[:, 1] < b[:, 1]
        xl, yl = np.where(up[:, None], a, b).T[:, :, None]
        xu, yu = np.where(up[:, None], b, a).T[:, :, None]
        crossed = (yl <= y) & (y < yu) & (x < xl + (y - yl) / (yu - yl) * (xu - xl))
        winding += np.where(up[:, None], crossed, -crossed.astype(np.int64)).sum(axis=0)
    return winding
