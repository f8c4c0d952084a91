"""GeoJSON files: a FeatureCollection, one Feature, or a Feature on each line (GeoJSONSeq).

The JSON is read at once. Coordinates of all features of a type are flattened level by level and
become geometries in one call: no step of Python for a vertex.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from watchline.cli.features import ASSUMED, DECLARED, PLANE, UNKNOWN, Features
from watchline.errors import InvalidQuery
from watchline.kernels.arrays import Doubles, Integers

# By the type: its number in shapely, and how many lists stand around a position.
_TYPES = {
    "Point": (0, 0),
    "LineString": (1, 1),
    "Polygon": (3, 2),
    "MultiLineString": (5, 2),
    "MultiPolygon": (6, 3),
}
# Before each text of a sequence (RFC 8142).
_SEPARATOR = "\x1e"
# How names of coordinate systems in longitude and latitude end.
_DEGREES = ("CRS84", "CRS84H", "EPSG:4326", "EPSG::4326", "EPSG:4979", "EPSG::4979")


def read_geojson(file: str, text: str) -> Features:
    """The features of a GeoJSON text."""
    with _without_collector():
        return _read(file, text)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Positions are millions of lists, none of which is garbage: looking at them again and again
    takes three times as long as reading them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read(file: str, text: str) -> Features:
    found, surface = _features(file, text)
    problems: dict[int, str] = {}
    # Before anything else: what is no feature has no id to be named by.
    for place, feature in enumerate(found):
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            problems[place] = f"expected a Feature, found {_kind(feature)}"
        elif not isinstance(feature.get("properties") or {}, dict):
            problems[place] = f"its properties are {_kind(feature['properties'])}, no object"
    blank: dict[str, Any] = {}
    sound = [blank if i in problems else feature for i, feature in enumerate(found)]
    features = Features(
        file=file,
        shapes=np.full(len(found), None, dtype=object),
        properties=[feature.get("properties") or {} for feature in sound],
        own_ids=[feature.get("id") for feature in sound],
        surface=surface,
        problems=problems,
    )
    features.check()
    _take_shapes(features, [feature.get("geometry") for feature in sound])
    return features


# --- documents


def _features(file: str, text: str) -> tuple[list[Any], str]:
    """The features of the text, unchecked, and what it says about its coordinates."""
    text = text.lstrip("\ufeff")
    if not text.strip(" \t\r\n" + _SEPARATOR):
        raise InvalidQuery(f"{file} is empty")
    if _SEPARATOR in text:
        return _sequence(file, text.split(_SEPARATOR)), ASSUMED
    try:
        document = _loads(text)
    except json.JSONDecodeError as error:
        # A text that goes on after its first value is a sequence of lines.
        if error.msg == "Extra data":
            return _sequence(file, text.split("\n")), ASSUMED
        raise InvalidQuery(f"{file} is no JSON: {error}") from None
    if isinstance(document, dict) and document.get("type") == "Feature":
        return [document], _surface(document)
    if not isinstance(document, dict) or document.get("type") != "FeatureCollection":
        raise InvalidQuery(
            f"{file}: expected a FeatureCollection, or a Feature on each line, found"
            f" {_kind(document)}"
        )
    features = document.get("features")
    if not isinstance(features, list):
        raise InvalidQuery(f"{file}: the FeatureCollection has no list of features")
    return features, _surface(document)


def _loads(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise InvalidQuery("the JSON nests too deeply") from None


def _no_constant(word: str) -> NoReturn:
    raise InvalidQuery(f"the file has {word}, which JSON does not know: leave the value out")


def _sequence(file: str, texts: list[str]) -> list[Any]:
    """The values of a sequence. A blank text is none; numbers of features count the others."""
    texts = [text for text in texts if text.strip()]
    try:
        # One call is several times as fast as one for each line.
        return list(_loads(f"[{','.join(texts)}]"))
    except json.JSONDecodeError:
        pass
    read: list[Any] = []
    try:
        read.extend(map(_loads, texts))
    except json.JSONDecodeError as error:
        raise InvalidQuery(f"{file}: feature {len(read) + 1:,} is no JSON: {error}") from None
    raise InvalidQuery(f"{file} is no sequence of GeoJSON: write one Feature a line")


def _surface(document: dict[str, Any]) -> str:
    """What `crs`, which older GeoJSON has, says. GeoJSON without it is in degrees."""
    if "crs" not in document:
        return ASSUMED
    crs = document["crs"]
    if crs is None:
        return UNKNOWN
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    return DECLARED if isinstance(name, str) and name.upper().endswith(_DEGREES) else PLANE


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"a {value['type']}" if isinstance(value.get("type"), str) else "an object"
    names = {list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


# --- geometries


def _take_shapes(features: Features, geometries: list[Any]) -> None:
    by_type: dict[str, list[int]] = {}
    for place, geometry in enumerate(geometries):
        kind = geometry.get("type") if isinstance(geometry, dict) else None
        if isinstance(kind, str) and kind in _TYPES:
            by_type.setdefault(kind, []).append(place)
        elif place not in features.problems:
            features.problems[place] = (
                "it has no geometry"
                if geometry is None
                else f"expected {', '.join(_TYPES)}, found {_kind(geometry)}"
            )
    for kind, listed in by_type.items():
        places = np.array(listed)
        coordinates = [geometries[place].get("coordinates") for place in listed]
        if not _taken(features, kind, places, coordinates):
            # One of them is wrong: which, is found one by one.
            for place, one in zip(listed, coordinates, strict=True):
                if not _taken(features, kind, np.array([place]), [one]):
                    features.problems[place] = f"its coordinates are not those of a {kind}"


def _taken(features: Features, kind: str, places: Integers, coordinates: list[Any]) -> bool:
    try:
        _take_all(features, kind, places, coordinates)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _take_all(features: Features, kind: str, places: Integers, coordinates: list[Any]) -> None:
    """The shapes of geometries of one type; a ValueError or TypeError if one of them has none."""
    import shapely

    number, depth = _TYPES[kind]
    offsets = []
    level: list[Any] = coordinates
    for _ in range(depth):
        offsets.append(_starts(level))
        level = list(chain.from_iterable(level))
    points = _points(level)
    if number in (3, 6):
        rings = offsets[-1]
        owners = np.arange(len(rings) - 1)
        for above in offsets[-2::-1]:
            owners = np.searchsorted(above, owners, side="right") - 1
        bad = _short_rings(features, places, rings, owners)
        if bad.any():
            # Shapely makes no ring of less than four positions.
            keep = ~bad
            if keep.any():
                _take_all(features, kind, places[keep],
                          [c for c, k in zip(coordinates, keep, strict=True) if k])  # fmt: skip
            return
        is_open = (points[rings[:-1]] != points[rings[1:] - 1]).any(axis=1)
        features.open_rings.update(places[owners[is_open]].tolist())
    made = shapely.from_ragged_array(shapely.GeometryType(number), points, tuple(offsets[::-1]))
    features.shapes[places] = made


def _short_rings(
    features: Features, places: Integers, rings: Integers, owners: Integers
) -> npt.NDArray[np.bool_]:
    """Which polygons have a ring of less than four positions; they get a problem."""
    bad = np.zeros(len(places), dtype=np.bool_)
    bad[owners[np.diff(rings) < 4]] = True
    for place in places[bad].tolist():
        features.problems[place] = "one of its rings has fewer than four positions"
    return bad


def _starts(lists: list[Any]) -> Integers:
    """Where each list begins among the members of all, and where the last one ends."""
    if not {list}.issuperset(map(type, lists)):
        raise TypeError
    starts = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)), out=starts[1:])
    return starts


def _points(positions: list[Any]) -> Doubles:
    """Positions of two numbers or more as (n, 2)."""
    starts = _starts(positions)
    if (np.diff(starts) < 2).any():
        raise ValueError
    if not {int, float}.issuperset(map(type, chain.from_iterable(positions))):
        raise TypeError
    flat = np.fromiter(chain.from_iterable(positions), np.float64, int(starts[-1]))
    return np.stack([flat[starts[:-1]], flat[starts[:-1] + 1]], axis=1)
