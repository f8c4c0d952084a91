"""A road network: nodes at places, and undirected edges between them that are straight lines.

Invariant: coordinates and lengths are finite, no length is below zero, a length of zero joins only
nodes at the same place, and every class of edges has a speed limit. Parallel edges, edges from a
node to itself, nodes without edges and several components are all allowed.

Three units are kept apart. Coordinates are only drawn and reported. Lengths decide how long an edge
takes, and need not be what the coordinates say: metres beside degrees, say. Speeds are in metres a
second, and `metres` says how many of them a unit of length has.

On Earth the coordinates are longitudes and latitudes, edges are straight in these and go the short
way round, and how far their ends are apart is in metres.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.errors import InvalidNetwork, InvalidRange, SchemaMismatch
from watchline.kernels.arrays import Doubles, Mask, Small
from watchline.kernels.earth import (
    DEGREE_METRES,
    metres_between,
    sine_and_cosine,
    wrapped_all,
)

KMH = 1 / 3.6
# Speed limits of classes, in metres a second; edges without a class are streets.
LIMITS: Mapping[str, float] = {"street": 50 * KMH, "arterial": 70 * KMH, "ring": 100 * KMH}
STREET = "street"
# A network whose unit is not known is taken to be so many metres wide or high.
SIDE = 10_000.0
DEGREE = 111_195.0
# A little more than a degree of longitude has at the equator.
DEGREE_EAST = 111_700.0
# A little less than one, so that nothing that is scaled reaches the far border.
WHOLE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes and edges as arrays; src and dst are positions of nodes, in the order they came."""

    x: Doubles
    y: Doubles
    src: Small
    dst: Small
    length: Doubles
    # The class of each edge, as a position among the names, and their limits.
    codes: Small
    classes: tuple[str, ...]
    limits: Doubles
    # Metres of a unit of length.
    metres: float
    # Whether x is a longitude and y a latitude.
    geography: bool = False

    @classmethod
    def of(
        cls,
        nodes: pa.Table,
        edges: pa.Table,
        *,
        limits: Mapping[str, float] = LIMITS,
        metres: float | None = None,
        geography: bool = False,
    ) -> Network:
        """The network of these tables.

        nodes   node_id (any type), and x and y, or lon and lat
        edges   src, dst; length or length_m, else the distance of the ends; class, else all streets
        limits  the speed limit of each class, in metres a second
        metres  how many a unit of length has: by default 1 for length_m, those of a degree for the
                distances of lon and lat, else so many that the longer side has 10 km
        geography  whether lon and lat are places on Earth: distances and speeds are then in metres,
                for a stream that declares POINT (lon, lat) AS GEOGRAPHY
        """
        x, y, names = _places(nodes, geography)
        src, dst = _ends(nodes, edges)
        apart = _apart(x, y, src, dst, geography)
        length, unit = _lengths(edges, apart)
        codes, classes = _classes(edges)
        if metres is None:
            metres = _unit(unit, names[0] == "lon", geography)
            # On Earth a unit of coordinates is known: a metre.
            side = SIDE if geography else _side(x, y)
            metres = metres or _guess(side, float(apart.sum()), float(length.sum()))
        elif not 0 < metres < math.inf:
            raise InvalidRange(f"metres must be greater than zero, not {metres}")
        bounds = np.array([_limit(limits, name) for name in classes])
        return cls(x, y, src, dst, length, codes, classes, bounds, float(metres), geography)

    def unit(self) -> Network:
        """The same network in the unit square [0, 1)², its aspect kept; lengths stay."""
        if self.geography:
            raise InvalidRange("a network on Earth has no unit square: its coordinates are degrees")
        side = _side(self.x, self.y)
        scale = WHOLE / side if side > 0 else 1.0
        x, y = (self.x - self.x.min()) * scale, (self.y - self.y.min()) * scale
        return replace(self, x=x, y=y)

    def placed(self, longitude: float, latitude: float) -> Network:
        """The same network on Earth, its middle at this place, as large as its lengths say; it is
        laid out as a map is, which is right for a town and not near a pole."""
        cosine = sine_and_cosine(latitude)[1] if -90 <= latitude <= 90 else 0.0
        apart, length = float(self.apart.sum()), float(self.length.sum())
        degrees = self.metres * (length / apart if apart > 0 else 1.0) / DEGREE_METRES
        (east, west), (north, south) = ((v.max(), v.min()) for v in (self.x, self.y))
        high = (north - south) / 2 * degrees
        if self.geography or not (cosine > 0.01 and abs(latitude) + high < 90):
            raise InvalidRange(
                "a network of a plane can be placed on Earth away from the poles, not at"
                f" latitude {latitude}" + (": this one is there already" if self.geography else "")
            )
        x = longitude + (self.x - (west + east) / 2) * (degrees / cosine)
        y = latitude + (self.y - (south + north) / 2) * degrees
        return replace(self, x=wrapped_all(x), y=y, geography=True)

    @property
    def apart(self) -> Doubles:
        """The distance of the ends of each edge: in coordinate units, or in metres on Earth."""
        return _apart(self.x, self.y, self.src, self.dst, self.geography)

    @property
    def across(self) -> Doubles:
        """How far each edge goes in x, from src to dst: on Earth the short way round."""
        across = self.x[self.dst] - self.x[self.src]
        return wrapped_all(across) if self.geography else across

    @property
    def bend(self) -> float:
        """By what factor at most something that passes an edge at an even pace in coordinates is
        seen to be faster on a part of it than on the whole: 1 on a plane."""
        if not self.geography:
            return 1.0
        low, high = self.y[self.src], self.y[self.dst]
        equator = np.where(low * high <= 0, 0.0, np.minimum(np.abs(low), np.abs(high)))
        pole = np.maximum(np.abs(low), np.abs(high))
        # Degrees of longitude are longest nearest to the equator, those of latitude to a pole.
        wide = np.array([DEGREE_EAST * sine_and_cosine(lat)[1] for lat in equator.tolist()])
        tall = np.array([_degree_north(lat) for lat in pole.tolist()])
        longest = np.hypot(self.across * wide, (high - low) * tall)
        apart = self.apart
        return float(np.max(longest / apart, where=apart > 0, initial=1.0))

    def __repr__(self) -> str:
        return f"Network({len(self.x)} nodes, {len(self.src)} edges, {', '.join(self.classes)})"


def _apart(x: Doubles, y: Doubles, src: Small, dst: Small, geography: bool) -> Doubles:
    if geography:
        return metres_between(x[src], y[src], x[dst], y[dst])
    return np.hypot(x[dst] - x[src], y[dst] - y[src])


def _degree_north(latitude: float) -> float:
    """No less than the metres of a degree along a meridian, up to this latitude."""
    return 111_694.0 if latitude > 60 else 110_574.3 + 1_120.0 * sine_and_cosine(latitude)[0] ** 2


def _unit(name: str | None, are_degrees: bool, geography: bool) -> float | None:
    """Metres of a unit of length, by the column of lengths, if that says."""
    if name == "length_m" or (geography and name is None):
        return 1.0
    return DEGREE if name is None and are_degrees else None


def _side(x: Doubles, y: Doubles) -> float:
    return float(max(np.ptp(x), np.ptp(y)))


def _guess(side: float, apart: float, length: float) -> float:
    """Metres of a unit of length, if the longer side has `SIDE` of them."""
    if not (side > 0 and length > 0):
        return 1.0
    metres = SIDE / side * (apart / length)
    return metres if 0 < metres < math.inf else 1.0


# --- the columns, checked


def _places(nodes: pa.Table, geography: bool) -> tuple[Doubles, Doubles, tuple[str, str]]:
    _check_table(nodes, "nodes", ["node_id"])
    pairs = [("lon", "lat")] if geography else [("x", "y"), ("lon", "lat")]
    names = next((pair for pair in pairs if {*pair} <= {*nodes.column_names}), None)
    if names is None:
        raise SchemaMismatch(
            "nodes on Earth need the columns lon and lat"
            if geography
            else "nodes need the columns x and y, or lon and lat"
        )
    x, y = (_numbers(nodes, "nodes", name) for name in names)
    for name, values in zip(names, (x, y), strict=True):
        bad = ~np.isfinite(values)
        if bad.any():
            raise InvalidNetwork(
                f"nodes: {name} must be a finite number, and {_first(nodes, bad)} has none"
            )
    if not geography:
        return x, y, names
    bad = np.abs(y) > 90
    if bad.any():
        raise InvalidNetwork(
            f"nodes: lat is from -90 to 90, and {_first(nodes, bad)} has {y[int(np.argmax(bad))]}:"
            " are lon and lat swapped?"
        )
    return wrapped_all(x), y, names


def _ends(nodes: pa.Table, edges: pa.Table) -> tuple[Small, Small]:
    """Both ends of each edge as positions of nodes."""
    _check_table(edges, "edges", ["src", "dst"])
    ids = _comparable(nodes, "node_id")
    if ids.null_count:
        raise InvalidNetwork("nodes: node_id must not be null")
    if len(pc.unique(ids)) < len(ids):
        counts = pc.value_counts(ids)
        twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        raise InvalidNetwork(f"nodes: node_id must be unique, and {twice[0]} is there twice")
    if not len(edges):
        raise InvalidNetwork("a network needs at least one edge")
    return _positions(edges, "src", ids), _positions(edges, "dst", ids)


def _positions(edges: pa.Table, name: str, ids: pa.Array) -> Small:
    ends = _comparable(edges, name)
    if ends.type != ids.type:
        raise SchemaMismatch(f"edges: {name} is {ends.type}, but node_id is {ids.type}")
    found = pc.index_in(ends, value_set=ids, skip_nulls=True)
    if found.null_count:
        unknown = ends.filter(found.is_null())[0]
        raise InvalidNetwork(f"edges: {name} must be the id of a node, and {unknown} is none")
    return found.to_numpy(zero_copy_only=False).astype(np.int32)


def _lengths(edges: pa.Table, apart: Doubles) -> tuple[Doubles, str | None]:
    """The length of each edge, and the column they are from."""
    name = next((name for name in ("length", "length_m") if name in edges.column_names), None)
    length = apart if name is None else _numbers(edges, "edges", name)
    label = name or "the distance of the ends"
    bad = ~(np.isfinite(length) & (length >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidNetwork(
            f"edges: {label} must be a finite number and not below zero; in row {row} it is"
            f" {length[row]}"
        )
    # Such an edge would be passed in no time, faster than any top speed.
    bad = (length == 0) & (apart > 0)
    if bad.any():
        raise InvalidNetwork(
            f"edges: {label} is zero in row {int(np.argmax(bad))}, but its ends are apart"
        )
    return length, name


def _classes(edges: pa.Table) -> tuple[Small, tuple[str, ...]]:
    if "class" not in edges.column_names:
        return np.zeros(len(edges), dtype=np.int32), (STREET,)
    column = _whole(edges, "class")
    if column.null_count:
        raise InvalidNetwork("edges: class must not be null")
    try:
        coded = column.cast(pa.string()).dictionary_encode()
    except pa.ArrowException:
        raise SchemaMismatch(f"edges: class must be text, not {column.type}") from None
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return codes, tuple(coded.dictionary.to_pylist())


def _limit(limits: Mapping[str, float], name: str) -> float:
    if name not in limits:
        raise InvalidNetwork(
            f"edges of class {name!r} have no speed limit: give limits={{{name!r}: ..., }}"
        )
    if not 0 < limits[name] < math.inf:
        raise InvalidRange(f"the limit of {name!r} must be greater than zero, not {limits[name]}")
    return float(limits[name])


def _check_table(table: Any, what: str, names: list[str]) -> None:
    if not isinstance(table, pa.Table):
        raise SchemaMismatch(f"{what} come as a pyarrow Table, not as {type(table).__name__}")
    for name in names:
        if name not in table.column_names:
            raise SchemaMismatch(f"{what} need the column {name}")


def _whole(table: pa.Table, name: str) -> pa.Array:
    """The column in one piece."""
    column = table[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _comparable(table: pa.Table, name: str) -> pa.Array:
    """Whole numbers of any width are of one type."""
    column = _whole(table, name)
    narrow = pa.types.is_integer(column.type) and column.type != pa.uint64()
    return column.cast(pa.int64()) if narrow else column


def _numbers(table: pa.Table, what: str, name: str) -> Doubles:
    """A null is NaN, which is refused with it."""
    column = _whole(table, name)
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if not (numeric or pa.types.is_decimal(column.type)):
        raise SchemaMismatch(f"{what}: {name} must be a number, not {column.type}")
    doubles = column.cast(pa.float64(), safe=False)
    return np.array(doubles.to_numpy(zero_copy_only=False), dtype=np.float64)


def _first(nodes: pa.Table, bad: Mask) -> str:
    return f"node {nodes['node_id'][int(np.argmax(bad))]}"
