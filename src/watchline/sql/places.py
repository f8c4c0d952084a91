"""INSIDE and kNN to the model: regions, focal objects, neighbours."""

from __future__ import annotations

from sqlglot import exp

from watchline.model import (
    MAX_BIGINT,
    Box,
    Circle,
    Knn,
    MovingBox,
    MovingCircle,
    MovingKnn,
    ObjectId,
    Region,
    Stream,
    Type,
    on_the_sheet,
)
from watchline.sql.constants import constant, double, given, whole
from watchline.sql.geometry import corridor, polygon
from watchline.sql.lengths import Surface, length
from watchline.sql.syntax import InsideSyntax, KnnSyntax, Place, built, place_of


def bind_region(syntax: InsideSyntax, stream: Stream) -> Region:
    """The region of an INSIDE over this stream."""
    _needs_point("INSIDE", stream, syntax.place)
    place, arguments, on_earth = syntax.place, syntax.arguments, stream.geography
    surface = Surface(stream.name, on_earth)
    if syntax.geometry and syntax.within:
        reach = length(syntax.within, place, surface)
        return corridor(syntax.geometry, reach, place_of(syntax.within, place), on_earth)
    if syntax.geometry:
        return polygon(syntax.geometry, on_earth)
    if _is_moving(arguments, place):
        names = ("width", "height") if syntax.shape == "BOX" else ("radius",)
        focal, sizes = _focal_and_sizes(syntax, names, stream)
        build = MovingBox if syntax.shape == "BOX" else MovingCircle
        return built(place, lambda: build(focal, *sizes))
    if syntax.shape == "BOX":
        form = "(west, south, east, north)" if on_earth else "(x1, y1, x2, y2)"
        _check_count(place, arguments, f"INSIDE {form}", 4)
        x1, y1, x2, y2 = (double(a, place) for a in arguments)
        return built(place, lambda: Box(x1, y1, x2, y2, on_earth))
    form = "(lon, lat, radius)" if on_earth else "(x, y, radius)"
    _check_count(place, arguments, f"INSIDE CIRCLE {form}", 3)
    x, y = (double(a, place) for a in arguments[:2])
    radius = length(arguments[2], place, surface)
    return built(place, lambda: Circle(x, y, radius, on_earth))


def bind_knn(syntax: KnnSyntax, stream: Stream) -> Knn | MovingKnn:
    """The neighbours that a kNN over this stream asks for."""
    place, arguments = syntax.place, syntax.arguments
    _needs_point("kNN", stream, place)
    if _is_moving(arguments, place):
        _check_count(place, arguments, "kNN ('M', k, object id)", 3)
        k = whole(arguments[1], place, "k")
        focal = _focal(arguments[2], place, stream)
        return built(place, lambda: MovingKnn(k, focal))
    form = "(k, lon, lat)" if stream.geography else "(k, x, y)"
    _check_count(place, arguments, f"kNN {form}", 3)
    k = whole(arguments[0], place, "k")
    x, y = (double(a, place) for a in arguments[1:])
    if stream.geography:
        x, y = built(place, lambda: on_the_sheet("the centre of a kNN query", x, y))
    return built(place, lambda: Knn(k, x, y))


def _needs_point(clause: str, stream: Stream, place: Place) -> None:
    if stream.point is None:
        place.refuse(f"{clause} needs a place: stream {stream.name!r} was declared without POINT")


def _is_moving(arguments: list[exp.Expr], place: Place) -> bool:
    first = constant(arguments[0], place)
    if not isinstance(first, str):
        return False
    if first.upper() != "M":
        place_of(arguments[0], place).refuse(
            f"expected 'M' (moves with an object) or a number, found {first[:40]!r}"
        )
    return True


def _focal_and_sizes(
    syntax: InsideSyntax, names: tuple[str, ...], stream: Stream
) -> tuple[ObjectId, list[float]]:
    shape = "CIRCLE " if syntax.shape == "CIRCLE" else ""
    form = f"INSIDE {shape}('M', object id, {', '.join(names)})"
    _check_count(syntax.place, syntax.arguments, form, 2 + len(names))
    focal = _focal(syntax.arguments[1], syntax.place, stream)
    surface = Surface(stream.name, stream.geography)
    return focal, [length(a, syntax.place, surface) for a in syntax.arguments[2:]]


def _focal(node: exp.Expr, place: Place, stream: Stream) -> ObjectId:
    value = given(node, place)
    name = stream.object
    if stream.object_type is Type.STRING:
        if not isinstance(value, str):
            place_of(node, place).refuse(
                f"object ids are STRING here ({name!r}): expected a string in '…'"
            )
        return value
    return whole(node, place, f"an object id ({name!r} is BIGINT)", MAX_BIGINT)


def _check_count(place: Place, arguments: list[exp.Expr], form: str, count: int) -> None:
    if len(arguments) != count:
        place.refuse(f"expected {form}: {count} values, found {len(arguments)}")
