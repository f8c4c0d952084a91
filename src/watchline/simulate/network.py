"""A road network: nodes at places, and undirected edges between them that are straight lines.

Invariant: coordinates and lengths are finite, no length is below zero, a length of zero joins only
nodes at the same place, and every class of edges has a speed limit. Parallel edges, edges from a
node to itself, nodes without edges and several components are all allowed.

Three units are kept apart. Coordinates are only drawn and reported. Lengths decide how long an edge
takes, and need not be what the coordinates say: metres beside degrees, say. Speeds are in metres a
second, and `metres` says how many of them a unit of length has.
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

KMH = 1 / 3.6
# Speed limits of classes, in metres a second; edges without a class are streets.
LIMITS: Mapping[str, float] = {"street": 50 * KMH, "arterial": 70 * KMH, "ring": 100 * KMH}
STREET = "street"
# A network whose unit is not known is taken to be so many metres wide or high.
SIDE = 10_000.0
DEGREE = 111_195.0
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

    @classmethod
    def of(
        cls,
        nodes: pa.Table,
        edges: pa.Table,
        *,
        limits: Mapping[str, float] = LIMITS,
        metres: float | None = None,
    ) -> Network:
        """The network of these tables.

        nodes   node_id (any type), and x and y, or lon and lat
        edges   src, dst; length or length_m, else the distance of the ends; class, else all streets
        limits  the speed limit of each class, in metres a second
        metres  how many a unit of length has: by default 1 for length_m, those of a degree for the
                distances of lon and lat, else so many that the longer side has 10 km
        """
        x, y, names = _places(nodes)
        src, dst = _ends(nodes, edges)
        apart = np.hypot(x[dst] - x[src], y[dst] - y[src])
        length, unit = _lengths(edges, apart)
        codes, classes = _classes(edges)
        if metres is None:
            known = {"length_m": 1.0, None: DEGREE if names[0] == "lon" else None}.get(unit)
            metres = known or _guess(_side(x, y), float(apart.sum()), float(length.sum()))
        elif not 0 < metres < math.inf:
            raise InvalidRange(f"metres must be greater than zero, not {metres}")
        bounds = np.array([_limit(limits, name) for name in classes])
        return cls(x, y, src, dst, length, codes, classes, bounds, float(metres))

    def unit(self) -> Network:
        """The same network in the unit square [0, 1)², its aspect kept; lengths stay."""
        side = _side(self.x, self.y)
        scale = WHOLE / side if side > 0 else 1.0
        x, y = (self.x - self.x.min()) * scale, (self.y - self.y.min()) * scale
        return replace(self, x=x, y=y)

    @property
    def apart(self) -> Doubles:
        """The distance of the ends of each edge, in coordinate units."""
        return np.hypot(self.x[self.dst] - self.x[self.src], self.y[self.dst] - self.y[self.src])

    def __repr__(self) -> str:
        return f"Network({len(self.x)} nodes, {len(self.src)} edges, {', '.join(self.classes)})"


def _side(x: Doubles, y: Doubles) -> float:
    return float(max(np.ptp(x), np.ptp(y)))


def _guess(side: float, apart: float, length: float) -> float:
    """Metres of a unit of length, if the longer side has `SIDE` of them."""
    if not (side > 0 and length > 0):
        return 1.0
    metres = SIDE / side * (apart / length)
    return metres if 0 < metres < math.inf else 1.0


# --- the columns, checked


def _places(nodes: pa.Table) -> tuple[Doubles, Doubles, tuple[str, str]]:
    _check_table(nodes, "nodes", ["node_id"])
    names = next(
        (pair for pair in (("x", "y"), ("lon", "lat")) if {*pair} <= {*nodes.column_names}), None
    )
    if names is None:
        raise SchemaMismatch("nodes need the columns x and y, or lon and lat")
    x, y = (_numbers(nodes, "nodes", name) for name in names)
    for name, values in zip(names, (x, y), strict=True):
        bad = ~np.isfinite(values)
        if bad.any():
            raise InvalidNetwork(
                f"nodes: {name} must be a finite number, and {_first(nodes, bad)} has none"
            )
    return x, y, names


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
