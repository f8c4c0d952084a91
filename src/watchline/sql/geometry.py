"""Polygons from WKT or GeoJSON, checked by GEOS.

Refused: what is empty, has too many vertices, is not finite, or crosses itself. A ring that only
touches itself is kept, though GEOS calls it invalid: real district maps have such rings, and
even-odd counting gives them one clear inside.
"""

from __future__ import annotations

import json
import math

import numpy as np
import numpy.typing as npt

from watchline.model import Polygon
from watchline.sql.syntax import Word

MAX_VERTICES = 10_000


def polygon(word: Word) -> Polygon:
    """The polygon that the quoted text describes; refused at the text's place if it is none."""
    import shapely  # a tenth of a second: only for those who use polygons

    geometry = _read(word)
    if geometry.geom_type not in ("Polygon", "MultiPolygon"):
        word.place.refuse(f"expected a POLYGON or MULTIPOLYGON, found {geometry.geom_type.upper()}")
    if geometry.is_empty:
        word.place.refuse("the polygon is empty: it needs three corners or more")
    count = shapely.get_num_coordinates(geometry)
    if count > MAX_VERTICES:
        word.place.refuse(
            f"the polygon has {count:,} vertices; the limit is {MAX_VERTICES:,}:"
            " simplify it (shapely's simplify, PostGIS' ST_Simplify) or split it"
        )
    polygons = getattr(geometry, "geoms", [geometry])
    parts = [[shapely.get_coordinates(r) for r in (p.exterior, *p.interiors)] for p in polygons]
    coordinates = np.concatenate([ring for part in parts for ring in part])
    with np.errstate(over="ignore"):
        extent = coordinates.max(axis=0) - coordinates.min(axis=0)
    if not np.isfinite(extent).all():
        word.place.refuse("the polygon's corners must be finite numbers, of a finite extent")
    _check_crossings(geometry, parts, word)
    return Polygon.of(parts)


def _read(word: Word):  # type: ignore[no-untyped-def]  # shapely ships no types
    import shapely

    text = word.text.strip()
    try:
        if text.startswith("{"):
            return shapely.from_geojson(json.dumps(_bare_geometry(json.loads(text))))
        with np.errstate(invalid="ignore"):
            return shapely.from_wkt(text)
    except (shapely.errors.ShapelyError, ValueError, RecursionError, AttributeError) as error:
        if "closed" in str(error):
            word.place.refuse("a ring of the polygon does not end where it starts", error)
        word.place.refuse(
            "expected a polygon as WKT or GeoJSON, as in 'POLYGON ((0 0, 1 0, 1 1, 0 0))'", error
        )


def _bare_geometry(value: object) -> object:
    """A GeoJSON Feature stands for its geometry."""
    if isinstance(value, dict) and value.get("type") == "Feature":
        return value.get("geometry")
    return value


def _check_crossings(geometry, parts: list[list[npt.NDArray[np.float64]]], word: Word) -> None:  # type: ignore[no-untyped-def]
    import shapely

    if geometry.is_valid:
        return
    reason = shapely.is_valid_reason(geometry)
    if reason.startswith("Ring Self-intersection") and _only_touches(parts):
        return
    where = reason.rpartition("[")[2].rstrip("]")
    problem = "crosses itself" if "elf-intersection" in reason else reason.partition("[")[0].lower()
    word.place.refuse(
        f"the polygon {problem} near ({where.replace(' ', ', ')}):"
        " mend it (shapely's make_valid, PostGIS' ST_MakeValid)"
    )


def _only_touches(parts: list[list[npt.NDArray[np.float64]]]) -> bool:
    """Whether no ring winds around anything twice or backwards, and no two rings cross.

    The signed area of a ring is the integral of its winding number, its even-odd area that of the
    winding number's parity: they agree in size when the ring merely touches itself. Once rings are
    rebuilt that way, GEOS can judge how they lie to each other.
    """
    import shapely

    rebuilt = []
    for part in parts:
        rings = [shapely.make_valid(shapely.Polygon(ring)) for ring in part]
        for ring, shape in zip(part, rings, strict=True):
            x, y = (ring - ring[0]).T
            signed = abs(float(np.dot(x[:-1], y[1:]) - np.dot(x[1:], y[:-1]))) / 2
            if not math.isclose(signed, shape.area, rel_tol=1e-9):
                return False
        shell, holes = rings[0], rings[1:]
        if any(not hole.within(shell) for hole in holes):
            return False
        rebuilt.append(shell)
        overlap = sum(h.area for h in holes) - (shapely.union_all(holes).area if holes else 0)
        if overlap > 1e-9 * shell.area:
            return False
    total = sum(shell.area for shell in rebuilt)
    return math.isclose(total, shapely.union_all(rebuilt).area, rel_tol=1e-9)
