"""Where: regions of the plane, regions bound to a focal object, and k nearest neighbours.

All geometry is float64 in the fixed forms of docs/decisions/0003, so that every path through the
product decides a point on a border the same way. `repr` is the clause of the statement; that of a
polygon with very many vertices is shortened, and `region_sql` gives all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Union

import numpy as np
import numpy.typing as npt

from watchline.errors import InvalidRange
from watchline.kernels.arrays import Doubles
from watchline.model.text import number_sql, scalar_sql, shortened

ObjectId = Union[int, str]


def _finite(what: str, *values: float) -> None:
    for value in values:
        if not math.isfinite(value):
            raise InvalidRange(f"{what} must be a finite number, not {value}")


def _positive(what: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise InvalidRange(f"{what} must be greater than zero and finite, not {value}")


def _numbers(*values: float) -> str:
    return ", ".join(map(number_sql, values))


@dataclass(frozen=True, slots=True, repr=False)
class Box:
    """`x1 <= x < x2` and `y1 <= y < y2`; any two opposite corners may be given."""

    x1: float
    y1: float
    x2: float
    y2: float

    def __post_init__(self) -> None:
        _finite("a corner of a box", self.x1, self.y1, self.x2, self.y2)
        for low, high in (("x1", "x2"), ("y1", "y2")):
            ends = sorted((getattr(self, low) + 0.0, getattr(self, high) + 0.0))
            if ends[0] == ends[1]:
                raise InvalidRange(
                    f"a box needs two opposite corners: {low} and {high} are both {ends[0]}"
                )
            object.__setattr__(self, low, ends[0])
            object.__setattr__(self, high, ends[1])

    def __repr__(self) -> str:
        return f"INSIDE ({_numbers(self.x1, self.y1, self.x2, self.y2)})"


@dataclass(frozen=True, slots=True, repr=False)
class Circle:
    """`dx*dx + dy*dy <= r*r`."""

    x: float
    y: float
    radius: float

    def __post_init__(self) -> None:
        _finite("the centre of a circle", self.x, self.y)
        _positive("the radius of a circle", self.radius)
        object.__setattr__(self, "x", self.x + 0.0)
        object.__setattr__(self, "y", self.y + 0.0)

    def __repr__(self) -> str:
        return f"INSIDE CIRCLE ({_numbers(self.x, self.y, self.radius)})"


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
            for ring in part:
                yield np.frombuffer(ring, dtype=np.float64).reshape(-1, 2)

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


def _ring_bytes(ring: npt.ArrayLike) -> bytes:
    # Adding zero turns -0.0 into 0.0.
    points = np.asarray(ring, dtype=np.float64).reshape(-1, 2) + 0.0
    if len(points) > 1 and (points[0] == points[-1]).all():
        points = points[:-1]
    return points.tobytes()


def _ring_sql(ring: bytes) -> str:
    points = np.frombuffer(ring, dtype=np.float64).reshape(-1, 2).tolist()
    return ", ".join(f"{number_sql(x)} {number_sql(y)}" for x, y in [*points, points[0]])


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
    return region.sql if isinstance(region, Polygon) else repr(region)


Region = Union[Box, Circle, Polygon, MovingBox, MovingCircle]
