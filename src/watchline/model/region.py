"""Where: static regions, regions bound to a focal object, and k nearest neighbours.

All geometry is float64 in the fixed forms of docs/decisions/0003, so that every path through the
product decides a point on a border the same way. `repr` is the clause of the statement; that of a
polygon or corridor with very many vertices is shortened, and `region_sql` gives all of it.

A region is of the plane, or `on_earth`: then x is a longitude, y a latitude, and a length counts
metres. A polygon is the same on both, and what is bound to an object is what its stream is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Union

import numpy as np
import numpy.typing as npt

from watchline.errors import InvalidRange
from watchline.kernels.arrays import Doubles
from watchline.model.text import number_sql, scalar_sql, shortened

ObjectId = Union[int, str]

_NORTH_POLE_TOO = math.nextafter(90.0, math.inf)

# The least and the greatest length of a corridor's reach and segments: their squares are exact to
# the last bits, neither zero nor infinite.
SHORTEST, LONGEST = 1e-140, 1e140
# The farthest longitude of a line or polygon on Earth: one turn back, it is on the sheet.
FARTHEST = 540.0


def _finite(what: str, *values: float) -> None:
    for value in values:
        if not math.isfinite(value):
            raise InvalidRange(f"{what} must be a finite number, not {value}")


def _positive(what: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise InvalidRange(f"{what} must be greater than zero and finite, not {value}")


def on_the_sheet(what: str, longitude: float, latitude: float) -> tuple[float, float]:
    """A place with its longitude in [-180, 180); refused if its latitude is beyond a pole."""
    _finite(what, longitude, latitude)
    _latitude(what, latitude)
    return _wrapped(longitude), latitude + 0.0


def _latitude(what: str, *values: float) -> None:
    for value in values:
        if not -90 <= value <= 90:
            raise InvalidRange(
                f"{what} has latitude {number_sql(value)}, beyond 90:"
                " are longitude and latitude swapped?"
            )


def _wrapped(longitude: float) -> float:
    rest = math.remainder(longitude, 360.0)
    return -180.0 if rest == 180.0 else rest + 0.0


def _metres(value: float, on_earth: bool) -> str:
    return f"{number_sql(value)} METERS" if on_earth else number_sql(value)


def _numbers(*values: float) -> str:
    return ", ".join(map(number_sql, values))


@dataclass(frozen=True, slots=True, repr=False)
class Box:
    """`x1 <= x < x2` and `y1 <= y < y2`; any two opposite corners may be given.

    On Earth these are west, south, east and north, in this order. A box with west > east crosses
    the antimeridian, and one with north = 90 includes the pole.
    """

    x1: float
    y1: float
    x2: float
    y2: float
    on_earth: bool = False

    def __post_init__(self) -> None:
        _finite("a corner of a box", self.x1, self.y1, self.x2, self.y2)
        if self.on_earth:
            self._lay_on_the_sheet()
            return
        for low, high in (("x1", "x2"), ("y1", "y2")):
            ends = sorted((getattr(self, low) + 0.0, getattr(self, high) + 0.0))
            if ends[0] == ends[1]:
                raise InvalidRange(
                    f"a box needs two opposite corners: {low} and {high} are both {ends[0]}"
                )
            object.__setattr__(self, low, ends[0])
            object.__setattr__(self, high, ends[1])

    def _lay_on_the_sheet(self) -> None:
        west, east = self.x1, self.x2
        south, north = self.y1, min(self.y2, 90.0) if self.y2 == _NORTH_POLE_TOO else self.y2
        _latitude("a corner of a box", south, north)
        if south >= north:
            raise InvalidRange(
                "a box on Earth is (west, south, east, north):"
                f" south {number_sql(south)} is not below north {number_sql(north)}"
            )
        if Fraction(east) - Fraction(west) >= 360:
            west, east = -180.0, 180.0
        else:
            west, east = _wrapped(west), _wrapped(east)
            if west == east:
                raise InvalidRange(
                    "a box on Earth is (west, south, east, north):"
                    f" west and east are both {number_sql(west)}"
                )
            # The east side does not belong to the box, so that of the whole sheet is 180.
            east = 180.0 if east == -180.0 else east
        # Latitudes end at 90, so that no other comparison need know of the pole.
        north = _NORTH_POLE_TOO if north == 90 else north + 0.0
        for name, value in zip(
            ("x1", "y1", "x2", "y2"), (west, south + 0.0, east, north), strict=True
        ):
            object.__setattr__(self, name, value)

    @property
    def crosses(self) -> bool:
        """Whether the antimeridian goes through it."""
        return self.x1 > self.x2

    @property
    def flat(self) -> Box | Polygon:
        """The same points as a box of the plane, or as two in one polygon where it crosses."""
        if not self.on_earth:
            return self
        if not self.crosses:
            return Box(self.x1, self.y1, self.x2, self.y2)
        sides = ((self.x1, 180.0), (-180.0, self.x2))
        low, high = self.y1, self.y2
        return Polygon.of(
            [[[(west, low), (east, low), (east, high), (west, high)]] for west, east in sides]
        )

    def __repr__(self) -> str:
        north = 90.0 if self.on_earth and self.y2 == _NORTH_POLE_TOO else self.y2
        return f"INSIDE ({_numbers(self.x1, self.y1, self.x2, north)})"


@dataclass(frozen=True, slots=True, repr=False)
class Circle:
    """`dx*dx + dy*dy <= r*r`; on Earth the places whose chord is not longer than that under an arc
    of the radius."""

    x: float
    y: float
    radius: float
    on_earth: bool = False

    def __post_init__(self) -> None:
        _finite("the centre of a circle", self.x, self.y)
        _positive("the radius of a circle", self.radius)
        x, y = self.x + 0.0, self.y + 0.0
        if self.on_earth:
            x, y = on_the_sheet("the centre of a circle", x, y)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def __repr__(self) -> str:
        radius = _metres(self.radius, self.on_earth)
        return f"INSIDE CIRCLE ({_numbers(self.x, self.y)}, {radius})"


@dataclass(frozen=True, slots=True, repr=False)
class Polygon:
    """Even-odd over all rings of a polygon or multipolygon.

    `parts` has one entry per polygon: its shell, then its holes. A ring is the bytes of its float64
    (x, y) pairs without the repeated last vertex: immutable, hashable, 16 bytes a vertex, and a
    NumPy array without a copy.
    """

    parts: tuple[tuple[bytes, ...], ...]

    def __post_init__(self) -> None:
        if not self.parts or not all(self.parts):
            raise InvalidRange("a polygon needs at least one ring")
        for ring in self.rings():
            if len(ring) < 3:
                raise InvalidRange("a ring of a polygon needs three corners or more")
            if not np.isfinite(ring).all():
                raise InvalidRange("the corners of a polygon must be finite numbers")

    @classmethod
    def of(cls, parts: Iterable[Iterable[npt.ArrayLike]]) -> Polygon:
        """From nested coordinates; a ring's repeated last vertex is dropped."""
        return cls(tuple(tuple(_ring_bytes(ring) for ring in part) for part in parts))

    def rings(self) -> Iterator[Doubles]:
        for part in self.parts:
            yield from map(_points, part)

    @property
    def vertices(self) -> int:
        return sum(len(ring) // 16 for part in self.parts for ring in part)

    def __repr__(self) -> str:
        return shortened(self.sql)

    @property
    def sql(self) -> str:
        """The clause with every vertex."""
        polygons = [", ".join(f"({_ring_sql(ring)})" for ring in part) for part in self.parts]
        if len(polygons) == 1:
            return f"INSIDE POLYGON 'POLYGON ({polygons[0]})'"
        return f"INSIDE POLYGON 'MULTIPOLYGON ({', '.join(f'({p})' for p in polygons)})'"


@dataclass(frozen=True, slots=True, repr=False)
class Corridor:
    """What is at most `reach` from a line, or from one of several lines.

    A line is the bytes of its float64 (x, y) pairs, like a ring of a polygon. On Earth its segments
    are straight in longitude and latitude, and the reach is measured in the plane that touches the
    sphere at the point.
    """

    lines: tuple[bytes, ...]
    reach: float
    on_earth: bool = False

    def __post_init__(self) -> None:
        lengths = f"between {SHORTEST:g} and {LONGEST:g}"
        if not SHORTEST <= self.reach <= LONGEST:
            raise InvalidRange(
                f"the distance of a corridor must be {lengths}, not {self.reach}", clause="WITHIN"
            )
        if not self.lines:
            raise InvalidRange("a corridor needs a line")
        for path in self.paths():
            if len(path) < 2:
                raise InvalidRange("the line of a corridor needs two points or more")
            if not np.isfinite(path).all():
                raise InvalidRange("the points of a corridor's line must be finite numbers")
            with np.errstate(over="ignore"):
                sides = np.abs(np.diff(path, axis=0)).max(axis=1)
            if ((sides > 0) & ((sides < SHORTEST) | (sides > LONGEST))).any():
                raise InvalidRange(
                    f"the segments of a corridor must be {lengths} long, or of no length"
                )
            if self.on_earth:
                _latitude("the line of a corridor", *path[:, 1].tolist())
                if np.abs(path[:, 0]).max() > FARTHEST:
                    raise InvalidRange(
                        "the longitudes of a corridor's line must be between"
                        f" -{FARTHEST:g} and {FARTHEST:g}"
                    )

    @classmethod
    def of(cls, lines: Iterable[npt.ArrayLike], reach: float, on_earth: bool = False) -> Corridor:
        """From the coordinates of each line."""
        return cls(tuple(_array(line).tobytes() for line in lines), float(reach), on_earth)

    def paths(self) -> Iterator[Doubles]:
        return map(_points, self.lines)

    @property
    def vertices(self) -> int:
        return sum(len(line) // 16 for line in self.lines)

    def __repr__(self) -> str:
        return shortened(self.sql)

    @property
    def sql(self) -> str:
        """The clause with every vertex."""
        lines = [f"({_points_sql(path.tolist())})" for path in self.paths()]
        text = f"LINESTRING {lines[0]}"
        if len(lines) > 1:
            text = f"MULTILINESTRING ({', '.join(lines)})"
        return f"INSIDE CORRIDOR '{text}' WITHIN {_metres(self.reach, self.on_earth)}"


def _points(line: bytes) -> Doubles:
    return np.frombuffer(line, dtype=np.float64).reshape(-1, 2)


def _array(points: npt.ArrayLike) -> Doubles:
    # Adding zero turns -0.0 into 0.0.
    return np.asarray(points, dtype=np.float64).reshape(-1, 2) + 0.0


def _ring_bytes(ring: npt.ArrayLike) -> bytes:
    points = _array(ring)
    if len(points) > 1 and (points[0] == points[-1]).all():
        points = points[:-1]
    return points.tobytes()


def _ring_sql(ring: bytes) -> str:
    points = _points(ring).tolist()
    return _points_sql([*points, points[0]])


def _points_sql(points: list[list[float]]) -> str:
    return ", ".join(f"{number_sql(x)} {number_sql(y)}" for x, y in points)


@dataclass(frozen=True, slots=True, repr=False)
class MovingBox:
    """The box of this whole width and height centred on the focal object."""

    focal: ObjectId
    width: float
    height: float

    def __post_init__(self) -> None:
        _positive("the width of a moving box", self.width)
        _positive("the height of a moving box", self.height)

    def __repr__(self) -> str:
        return f"INSIDE ('M', {scalar_sql(self.focal)}, {_numbers(self.width, self.height)})"


@dataclass(frozen=True, slots=True, repr=False)
class MovingCircle:
    """The circle of this radius around the focal object."""

    focal: ObjectId
    radius: float

    def __post_init__(self) -> None:
        _positive("the radius of a moving circle", self.radius)

    def __repr__(self) -> str:
        return f"INSIDE CIRCLE ('M', {scalar_sql(self.focal)}, {number_sql(self.radius)})"


@dataclass(frozen=True, slots=True, repr=False)
class Knn:
    """The k nearest objects to a fixed point, ties by object id."""

    k: int
    x: float
    y: float

    def __post_init__(self) -> None:
        _at_least_one(self.k)
        _finite("the centre of a kNN query", self.x, self.y)
        object.__setattr__(self, "x", self.x + 0.0)
        object.__setattr__(self, "y", self.y + 0.0)

    def __repr__(self) -> str:
        return f"kNN ({self.k}, {_numbers(self.x, self.y)})"


@dataclass(frozen=True, slots=True, repr=False)
class MovingKnn:
    """The k nearest objects to the focal object, which is not one of them."""

    k: int
    focal: ObjectId

    def __post_init__(self) -> None:
        _at_least_one(self.k)

    def __repr__(self) -> str:
        return f"kNN ('M', {self.k}, {scalar_sql(self.focal)})"


def _at_least_one(k: int) -> None:
    if k < 1:
        raise InvalidRange(f"kNN needs k >= 1, not {k}")


def region_sql(region: Region) -> str:
    """The whole clause, however long."""
    return region.sql if isinstance(region, (Polygon, Corridor)) else repr(region)


StaticRegion = Union[Box, Circle, Polygon, Corridor]
Region = Union[StaticRegion, MovingBox, MovingCircle]
