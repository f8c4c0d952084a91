"""Planning: which queries go to which index, and what remains for refinement. Pure, no Spark.

Every conjunction of every query becomes one box in one *part*. A part holds the boxes that ask
about the same attributes: one optional *key* (equality on a string attribute or on the object id)
and the *axes* (ranges). The boxes of a key's value stand together, so a row meets only those of
its own value: ten alerts for its symbol, not the alerts of two thousand symbols.

What boxes cannot decide is the conjunction's *residue*, checked on candidates only: further sets,
IS NULL, two attributes compared, circles, polygons, integers beyond 2^53. A circle or polygon
also gives its bounding box to the axes. Residues that are alike are kept once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.catalog import BoxBlock, Queries
from watchline.model import (
    INF,
    MAX_BIGINT,
    MIN_BIGINT,
    Atom,
    Attribute,
    Box,
    Circle,
    Conjunction,
    Emit,
    InRange,
    OneOf,
    Polygon,
    Query,
    Range,
    Stream,
    Type,
)

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Below this, float64 holds every integer, and rounding a larger row value cannot cross a bound.
EXACT = 2**53
# A set of more values than this is checked on candidates rather than entered once per value.
MAX_KEY_VALUES = 64


@dataclass(frozen=True, slots=True)
class Residue:
    """What is left to check on a candidate: atoms, and a region over the stream's point."""

    atoms: tuple[Atom, ...] = ()
    region: Circle | Polygon | None = None

    def __bool__(self) -> bool:
        return bool(self.atoms) or self.region is not None


@dataclass(frozen=True)
class Part:
    """Boxes over the same attributes, those of one key value side by side.

    The boxes of `keys[k]` are `starts[k]:starts[k + 1]`; without a key there is one such run. `lo`
    and `hi` are (axes, n); box j stands for the conjunction with number `conjunctions[j]`. The
    boxes of a `whole` part are each all of their query: no residue, no alternative, no other key.
    """

    whole: bool
    key: Attribute | None
    axes: tuple[Attribute, ...]
    keys: pa.Array | None
    starts: Integers
    lo: Doubles
    hi: Doubles
    conjunctions: Integers


@dataclass(frozen=True)
class Plan:
    """The parts, and for each conjunction its query and its residue (-1 for none)."""

    version: int
    ids: pa.Array
    parts: tuple[Part, ...]
    query: Integers
    residue: Integers
    residues: tuple[Residue, ...]
    # The circle (x, y, radius) of each residue, NaN for those without.
    circles: Doubles
    # Queries of several conjunctions can meet a row more than once.
    several: npt.NDArray[np.bool_]
    # The life time of each query, 0 for ever; and which of `uses` are the attributes it reads.
    lifetime: Integers
    use: Integers
    uses: tuple[frozenset[str], ...]

    def __len__(self) -> int:
        return len(self.ids)


def plan(queries: Queries, stream: Stream, emit: Emit = Emit.MATCHES) -> Plan:
    """The plan for the queries over the stream alone that emit this.

    Moving and kNN queries are in it with the attributes they use, and without boxes. For changes,
    boxes that are all of their query stand in parts of their own.
    """
    draft = _Draft(stream, apart=emit is Emit.CHANGES)
    for entry in queries.entries.values():
        query = entry.query
        if query.emit is emit and not query.is_join and query.stream == stream.name:
            draft.add(query)
    for block in queries.blocks:
        if block.emit is emit and block.stream == stream.name:
            draft.add_block(block)
    return draft.finish(queries.version)


def narrowed(made: Plan, queries: Integers) -> Plan:
    """The same plan with the boxes of these queries alone."""
    wanted = np.zeros(len(made), dtype=np.bool_)
    wanted[queries] = True
    return replace(made, parts=tuple(_narrowed(part, wanted[made.query]) for part in made.parts))


def _narrowed(part: Part, wanted: npt.NDArray[np.bool_]) -> Part:
    kept = np.flatnonzero(wanted[part.conjunctions])
    return replace(
        part,
        starts=np.searchsorted(kept, part.starts).astype(np.int64),
        lo=part.lo[:, kept].copy(),
        hi=part.hi[:, kept].copy(),
        conjunctions=part.conjunctions[kept],
    )


def is_static(query: Query) -> bool:
    """Whether a row alone decides if it is in the query's answer."""
    return query.knn is None and not query.focals


@dataclass
class _Rows:
    """The boxes of one part while they are collected, in pieces."""

    keys: list[Any] = field(default_factory=list)
    lo: list[Doubles] = field(default_factory=list)
    hi: list[Doubles] = field(default_factory=list)
    conjunctions: list[Integers] = field(default_factory=list)


# Whether its boxes are whole, the key, and the axes.
_PartKey = tuple[bool, "Attribute | None", tuple[Attribute, ...]]


class _Draft:
    """A plan in the making."""

    def __init__(self, stream: Stream, apart: bool):
        self._stream = stream
        self._apart = apart
        self._point = tuple(stream.attribute(name) for name in stream.point or ())
        self._ids: list[pa.Array] = []
        self._queries = 0
        self._query: list[Integers] = []
        self._residue: list[Integers] = []
        self._conjunctions = 0
        self._residues: dict[Residue, int] = {}
        self._lifetime: list[Integers] = []
        self._use: list[Integers] = []
        self._uses: dict[frozenset[str], int] = {}
        self._rows: dict[_PartKey, _Rows] = defaultdict(_Rows)

    def add(self, query: Query) -> None:
        number = self._queries
        used = {a.name for a in query.attributes()}
        if query.region is not None or query.knn is not None:
            used.update(self._stream.point or ())
        self._new_queries(pa.array([query.id], pa.string()), query.lifetime or 0, used)
        for alternative in query.where if is_static(query) else ():
            self._add_conjunction(alternative, query, number)

    def _add_conjunction(self, alternative: Conjunction, query: Query, number: int) -> None:
        key = self._key_of(alternative)
        ranges, residual = self._split(alternative, key)
        region = query.region
        if region is not None:
            for attribute, bounds in zip(self._point, _bounding_box(region), strict=True):
                known = ranges.get(attribute, Range())
                lo, hi = max(known.lo, bounds.lo), min(known.hi, bounds.hi)
                if not lo < hi:
                    return  # the condition excludes the region: this alternative is never true
                ranges[attribute] = Range(lo, hi)
        left = Residue(tuple(residual), region if isinstance(region, (Circle, Polygon)) else None)
        conjunction = self._new_conjunctions(number, self._residue_number(left), 1)
        axes = tuple(sorted(ranges))
        values: tuple[Any, ...] = _key_values(key) if key else (None,)
        whole = self._apart and not left and len(query.where) == len(values) == 1
        rows = self._rows[whole, key.attribute if key else None, axes]
        rows.keys += values
        rows.lo.append(np.tile([float(ranges[a].lo) for a in axes], (len(values), 1)))
        rows.hi.append(np.tile([float(ranges[a].hi) for a in axes], (len(values), 1)))
        rows.conjunctions.append(np.repeat(conjunction, len(values)))

    def _key_of(self, alternative: Conjunction) -> InRange | OneOf | None:
        """The equality that selects a sub-index: the object id's if there is one."""
        found: InRange | OneOf | None = None
        for atom in alternative.atoms:
            if isinstance(atom, OneOf) and atom.attribute.type is Type.STRING:
                if len(atom.values) > MAX_KEY_VALUES:
                    continue
                if found is None or atom.attribute.name == self._stream.object:
                    found = atom
            elif (
                isinstance(atom, InRange)
                and atom.attribute.name == self._stream.object
                and atom.range.hi - atom.range.lo == 1
            ):
                return atom
        return found

    def _split(
        self, alternative: Conjunction, key: InRange | OneOf | None
    ) -> tuple[dict[Attribute, Range], list[Atom]]:
        """The ranges that become axes, and the atoms that are left."""
        ranges: dict[Attribute, Range] = {}
        residual: list[Atom] = []
        for atom in alternative.atoms:
            if atom is key:
                continue
            if isinstance(atom, InRange):
                exact = atom.attribute.type is Type.DOUBLE or _is_exact(atom.range)
                ranges[atom.attribute] = atom.range if exact else _widened(atom.range)
                if exact:
                    continue
            residual.append(atom)
        return ranges, residual

    def add_block(self, block: BoxBlock) -> None:
        """All boxes of a bulk registration at once; those with huge integers one by one."""
        bounds = np.concatenate([block.first, block.last], axis=1)
        unbounded = np.concatenate([block.first == MIN_BIGINT, block.last == MAX_BIGINT], axis=1)
        huge = ((np.abs(bounds) >= EXACT - 1) & ~unbounded).any(axis=1)
        if len(block.strings) > 1:
            huge[:] = True
        for i in np.flatnonzero(huge):
            self.add(block.query(int(i)))
        chosen = np.flatnonzero(~huge)
        if not len(chosen):
            return
        n = len(chosen)
        numbers = np.arange(self._queries, self._queries + n)
        attributes = (*block.doubles, *block.integers)
        used = {a.name for a in (*attributes, *block.strings)}
        self._new_queries(block.ids.take(pa.array(chosen)), 0, used)
        first, last = block.first[chosen], block.last[chosen]
        lows = np.where(first == MIN_BIGINT, -INF, first.astype(np.float64))
        highs = np.where(last == MAX_BIGINT, INF, last.astype(np.float64) + 1)
        order = sorted(range(len(attributes)), key=lambda k: attributes[k])
        axes = tuple(attributes[k] for k in order)
        key = block.strings[0] if block.strings else None
        rows = self._rows[self._apart, key, axes]
        rows.keys += block.keys[0].take(pa.array(chosen)).to_pylist() if key else [None] * n
        rows.lo.append(np.concatenate([block.lo[chosen], lows], axis=1)[:, order])
        rows.hi.append(np.concatenate([block.hi[chosen], highs], axis=1)[:, order])
        rows.conjunctions.append(self._new_conjunctions(numbers, -1, n))

    def _new_queries(self, ids: pa.Array, lifetime: int, used: set[str]) -> None:
        use = self._uses.setdefault(frozenset(used), len(self._uses))
        self._ids.append(ids)
        self._lifetime.append(np.full(len(ids), lifetime, dtype=np.int64))
        self._use.append(np.full(len(ids), use, dtype=np.int64))
        self._queries += len(ids)

    def _new_conjunctions(self, query: int | Integers, residue: int, count: int) -> Integers:
        self._query.append(np.broadcast_to(np.asarray(query, dtype=np.int64), (count,)))
        self._residue.append(np.full(count, residue, dtype=np.int64))
        numbers = np.arange(self._conjunctions, self._conjunctions + count)
        self._conjunctions += count
        return numbers

    def _residue_number(self, residue: Residue) -> int:
        return self._residues.setdefault(residue, len(self._residues)) if residue else -1

    def finish(self, version: int) -> Plan:
        query = _joined(self._query, np.int64)
        return Plan(
            version=version,
            ids=pa.concat_arrays(self._ids) if self._ids else pa.array([], pa.string()),
            parts=tuple(_part(*of, rows) for of, rows in self._rows.items()),
            query=query,
            residue=_joined(self._residue, np.int64),
            residues=tuple(self._residues),
            circles=_circles(self._residues),
            several=np.bincount(query, minlength=self._queries) > 1,
            lifetime=_joined(self._lifetime, np.int64),
            use=_joined(self._use, np.int64),
            uses=tuple(self._uses),
        )


def _part(whole: bool, key: Attribute | None, axes: tuple[Attribute, ...], rows: _Rows) -> Part:
    lo, hi = np.concatenate(rows.lo), np.concatenate(rows.hi)
    conjunctions = np.concatenate(rows.conjunctions)
    if key is None:
        starts = np.array([0, len(lo)], dtype=np.int64)
        return Part(whole, None, axes, None, starts, lo.T.copy(), hi.T.copy(), conjunctions)
    kind = pa.string() if key.type is Type.STRING else pa.int64()
    coded = pa.array(rows.keys, kind).dictionary_encode()
    codes = coded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(coded.dictionary) + 1))
    return Part(
        whole,
        key,
        axes,
        coded.dictionary,
        starts.astype(np.int64),
        lo[order].T.copy(),
        hi[order].T.copy(),
        conjunctions[order],
    )


def _key_values(key: InRange | OneOf) -> tuple[Any, ...]:
    return key.values if isinstance(key, OneOf) else (int(key.range.lo),)


def _is_exact(values: Range) -> bool:
    return all(abs(b) < EXACT or abs(b) == INF for b in (values.lo, values.hi))


def _widened(values: Range) -> Range:
    """Float bounds that no integer of the range can fall out of by rounding."""
    return Range(
        float(np.nextafter(float(values.lo), -INF)), float(np.nextafter(float(values.hi), INF))
    )


def _bounding_box(region: Any) -> tuple[Range, Range]:
    """Float ranges that contain every point of a static region, rounding included."""
    if isinstance(region, Box):
        return Range(region.x1, region.x2), Range(region.y1, region.y2)
    if isinstance(region, Circle):
        if region.radius * region.radius == INF:
            return Range(), Range()  # dx*dx <= inf holds everywhere
        return tuple(_around(c, region.radius) for c in (region.x, region.y))  # type: ignore[return-value]
    corners = np.concatenate(list(region.rings()))
    low, high = corners.min(axis=0), corners.max(axis=0)
    return tuple(  # type: ignore[return-value]
        _padded(float(a), float(b)) for a, b in zip(low, high, strict=True)
    )


def _around(centre: float, radius: float) -> Range:
    return _padded(centre - radius, centre + radius)


def _padded(low: float, high: float) -> Range:
    """A little more than [low, high]: the region's own test rounds, and squares underflow."""
    margin = 1e-12 * max(abs(low), abs(high), high - low) + 1e-160
    return Range(float(np.nextafter(low - margin, -INF)), float(np.nextafter(high + margin, INF)))


def _circles(residues: Iterable[Residue]) -> Doubles:
    none = (np.nan, np.nan, np.nan)
    rows = [
        (r.region.x, r.region.y, r.region.radius) if isinstance(r.region, Circle) else none
        for r in residues
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _joined(pieces: Iterable[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    pieces = list(pieces)
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=kind)
