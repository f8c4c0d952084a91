"""Planning: which queries go to which index, and what remains for refinement (`plan`).

Planning is pure: it reads queries and makes arrays; no index is built here. It takes about half a
millisecond for a query that is registered as SQL, and a few operations on columns for a block.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.catalog import Block, BoxBlock, Call, Queries, all_ids, unanswered
from watchline.kernels.arrays import Doubles, Integers
from watchline.matching import limits
from watchline.matching.plan import (
    EXACT,
    NEVER,
    Part,
    Plan,
    Residue,
    circles_of,
    is_exact,
    is_static,
)
from watchline.model import (
    INF,
    MAX_BIGINT,
    MIN_BIGINT,
    Atom,
    Attribute,
    Box,
    Circle,
    Conjunction,
    Corridor,
    Emit,
    InRange,
    Inside,
    OneOf,
    Query,
    Range,
    StaticRegion,
    Stream,
    Type,
    centre_of,
)
from watchline.rows import ARROW

# Queries that a row alone does not decide, with their numbers in a plan.
Undecided = list[tuple[int, Query]]


def plan(queries: Queries, stream: Stream, emit: Emit = Emit.MATCHES) -> Plan:
    """The plan for the queries over the stream alone that emit this."""
    return plan_and_rest(queries, stream, emit)[0]


def plan_and_rest(queries: Queries, stream: Stream, emit: Emit) -> tuple[Plan, Undecided]:
    """The plan for the queries over the stream alone that emit this, and those of them that have no
    boxes in it. For changes, boxes that are all of their query stand in parts of their own."""
    draft = PlanDraft(stream, apart=emit is Emit.CHANGES)
    draft.add_all(queries, emit)
    missed = unanswered(queries, Call.of(emit, stream.name))
    return draft.finish(queries.version, all_ids(missed.values())), draft.undecided


def likely_plan(
    sample: Queries, times: int, queries: Queries, stream: Stream, emit: Emit
) -> tuple[Plan, Undecided]:
    """The plan for `queries` and others, of which a sample is known: each of the sample's boxes
    stands for `times` boxes of its size nearby. Queries without boxes stand for themselves."""
    draft = PlanDraft(stream, apart=emit is Emit.CHANGES)
    draft.add_all(sample, emit)
    draft.multiply(times)
    draft.add_all(queries, emit)
    return draft.finish(queries.version, all_ids(())), draft.undecided


def plan_all(queries: Iterable[Query], stream: Stream) -> Plan:
    """The plan for these queries, whatever they emit."""
    draft = PlanDraft(stream, apart=False)
    for query in queries:
        draft.add(query, 0)
    return draft.finish(0, all_ids([]))


def keys_of(query: Query, stream: Stream) -> list[InRange | OneOf | None]:
    """For each alternative of a query the equality that selects a sub-index, if there is one."""
    return [_key_of(alternative, stream) for alternative in query.where]


class KeyedBoxes(NamedTuple):
    """Boxes over some axes (n, axes) by the codes of their key, with their numbers in a plan."""

    codes: Integers
    lo: Doubles
    hi: Doubles
    numbers: Integers


@dataclass(eq=False)
class _Group:
    """Boxes that ask about the same axes below the same key, in pieces; without a key no codes."""

    axes: tuple[Attribute, ...]
    codes: list[Integers] = field(default_factory=list)
    lo: list[Doubles] = field(default_factory=list)
    hi: list[Doubles] = field(default_factory=list)
    numbers: list[Integers] = field(default_factory=list)

    def add(self, codes: Integers, lo: Doubles, hi: Doubles, numbers: Integers) -> None:
        self.codes.append(codes)
        self.lo.append(lo)
        self.hi.append(hi)
        self.numbers.append(numbers)

    def multiply(self, times: int) -> None:
        """Make `times` boxes of each, at random distances up to the next box along each axis, so
        that borders crowd no more than those of the boxes that they stand for."""
        lo, hi = np.concatenate(self.lo), np.concatenate(self.hi)
        plain = [axis.type in (Type.DOUBLE, Type.TIMESTAMP) for axis in self.axes]
        steps = _gaps(np.where(np.isfinite(lo), lo, hi)) * plain
        lo, hi, steps = (np.repeat(side, times, axis=0) for side in (lo, hi, steps))
        shift = np.random.default_rng(0).random(lo.shape) * steps
        moved = lo + shift < hi + shift
        self.lo, self.hi = [np.where(moved, lo + shift, lo)], [np.where(moved, hi + shift, hi)]
        self.codes = [np.repeat(np.concatenate(self.codes), times)]
        self.numbers = [np.repeat(np.concatenate(self.numbers), times)]

    def __len__(self) -> int:
        return sum(map(len, self.numbers))


def _gaps(values: Doubles) -> Doubles:
    """How far the next larger value of the same column is; 0 for the last, and where none is."""
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.diff(ordered, axis=0, append=ordered[-1:])
    gaps = np.empty_like(values)
    np.put_along_axis(gaps, order, np.where(np.isfinite(steps), steps, 0.0), axis=0)
    return gaps


# Whether its boxes are whole, and the key.
_Below = tuple[bool, "Attribute | None"]
_Sides = dict[Attribute, tuple[Range, ...]]


class PlanDraft:
    """A plan in the making."""

    def __init__(self, stream: Stream, apart: bool):
        self._stream = stream
        self.apart = apart
        self._point = tuple(stream.attribute(name) for name in stream.point or ())
        self._ids: list[pa.Array] = []
        self._queries = 0
        self._several: list[int] = []
        self._query: list[Integers] = []
        self._residue: list[Integers] = []
        self._boxes = 0
        self._residues: dict[Residue, int] = {}
        self._since: list[Integers] = []
        self._lifetime: list[Integers] = []
        self._until: list[Integers] = []
        self._accuracy: list[Doubles] = []
        # Queries that have a centre, and where.
        self._centres: list[tuple[Integers, Doubles]] = []
        self.undecided: Undecided = []
        self._use: list[Integers] = []
        self._uses: dict[frozenset[str], int] = {}
        self._codes: dict[Attribute, dict[Any, int]] = defaultdict(dict)
        self._groups: dict[_Below, dict[tuple[Attribute, ...], _Group]] = defaultdict(dict)

    def add_all(self, queries: Queries, emit: Emit) -> None:
        """Take in the queries over the stream alone that emit this."""
        call = Call.of(emit, self._stream.name)
        for entry in queries.entries.values():
            query = entry.query
            if call.answers(tuple(source.stream for source in query.sources), query.emit):
                self.add(query, entry.version)
        for block in queries.blocks:
            if call.answers((block.stream,), block.emit):
                self.add_block(block)

    def multiply(self, times: int) -> None:
        """Let each box that was taken in stand for so many."""
        for groups in self._groups.values():
            for group in groups.values():
                group.multiply(times)

    def add(self, query: Query, version: int) -> None:
        number = self._queries
        used = {a.name for a in query.attributes()}
        if query.region is not None or query.knn is not None:
            used.update(self._stream.point or ())
        ids = pa.array([query.id], pa.string())
        self._new_queries(ids, version, used, query)
        if not is_static(query):
            self.undecided.append((number, query))
            return
        centre = centre_of(query)
        if isinstance(centre, Circle):
            self._centres.append((np.array([number]), np.array([[centre.x, centre.y]])))
        if len(query.where) > 1:
            self._several.append(number)
        for alternative in query.where:
            self._add_conjunction(alternative, query, number)

    def _add_conjunction(self, alternative: Conjunction, query: Query, number: int) -> None:
        key = _key_of(alternative, self._stream)
        codes = self.coded(key.attribute, _key_values(key)) if key else [-1]
        sides, residual = self._split(alternative, key, limits.MAX_KEY_VALUES // len(codes))
        regions, residual = _regions_of(query, residual)
        for region in regions:
            for attribute, bounds in zip(self._point, _bounding_box(region), strict=True):
                [known] = sides.get(attribute, (Range(),))
                lo, hi = max(known.lo, bounds.lo), min(known.hi, bounds.hi)
                if not lo < hi:
                    return  # the condition excludes the region: this alternative is never true
                sides[attribute] = (Range(lo, hi),)
        # A box is its sides. Of several other regions one is the residue's, the rest are atoms.
        shapes = [region for region in regions if not isinstance(region, Box)]
        residual += (Inside(shape, self._point) for shape in shapes[1:])  # type: ignore[arg-type]
        left = Residue(tuple(residual), shapes[0] if shapes else None)
        axes = tuple(sorted(sides))
        below, *ranges = zip(*product(codes, *(sides[a] for a in axes)), strict=True)
        count = len(below)
        whole = self.apart and not left and len(query.where) == count == 1
        self.group(whole, key.attribute if key else None, axes).add(
            np.array(below),
            np.array([[float(r.lo) for r in side] for side in ranges]).reshape(-1, count).T,
            np.array([[float(r.hi) for r in side] for side in ranges]).reshape(-1, count).T,
            self._new_boxes(number, self._residue_number(left), count),
        )

    def take_queries(self, made: Plan, numbers: Integers) -> int:
        """Take over queries of another plan, without their boxes; the number of the first."""
        before = self._queries
        used, places = np.unique(made.use[numbers], return_inverse=True)
        uses = [self._uses.setdefault(made.uses[use], len(self._uses)) for use in used]
        self._ids.append(made.ids.take(pa.array(numbers)))
        self._since.append(made.since[numbers])
        self._lifetime.append(made.lifetime[numbers])
        self._until.append(made.until[numbers])
        self._accuracy.append(made.accuracy[numbers])
        self._use.append(np.array(uses, np.int64)[places])
        self._several += (before + np.flatnonzero(made.several[numbers])).tolist()
        if len(made.centres):
            self._centres.append((before + np.arange(len(numbers)), made.centres[numbers]))
        self._queries += len(numbers)
        return before

    def take_boxes(self, queries: Integers, made: Plan, boxes: Integers) -> Integers:
        """Take over the residues of boxes of another plan, for these queries: their numbers."""
        used, places = np.unique(made.residue[boxes], return_inverse=True)
        residues = [self._residue_number(made.residues[r]) if r >= 0 else -1 for r in used]
        numbers = self._new_boxes(queries, -1, len(boxes))
        self._residue[-1] = np.array(residues, np.int64)[places]
        return numbers

    def group(self, whole: bool, key: Attribute | None, axes: tuple[Attribute, ...]) -> _Group:
        """The boxes with these axes below this key."""
        return self._groups[whole, key].setdefault(axes, _Group(axes))

    def _split(
        self, alternative: Conjunction, key: InRange | OneOf | None, most: int
    ) -> tuple[_Sides, list[Atom]]:
        """The sides that the atoms give to boxes, `most` of them at most, and the atoms left."""
        sides: _Sides = {}
        residual: list[Atom] = []
        for atom in alternative.atoms:
            if atom is key:
                continue
            if isinstance(atom, InRange):
                exact = atom.attribute.type is Type.DOUBLE or is_exact(atom.range)
                sides[atom.attribute] = (atom.range if exact else _widened(atom.range),)
                if exact:
                    continue
            elif isinstance(atom, OneOf) and len(atom.values) <= most:
                most //= len(atom.values)
                sides[atom.attribute] = self._sides_of(atom)
                continue
            residual.append(atom)
        return sides, residual

    def _sides_of(self, atom: OneOf) -> tuple[Range, ...]:
        if atom.attribute.type is Type.BOOLEAN:
            return tuple(Range(int(v), int(v) + 1) for v in atom.values)
        return tuple(Range(c, c + 1) for c in self.coded(atom.attribute, atom.values))

    def coded(self, attribute: Attribute, values: Iterable[Any]) -> list[int]:
        """The codes of these values, new ones for those that had none."""
        known = self._codes[attribute]
        return [known.setdefault(value, len(known)) for value in values]

    def add_block(self, block: Block) -> None:
        """All queries of a bulk registration: boxes at once, others one by one."""
        if isinstance(block, BoxBlock):
            self._add_boxes(block)
            return
        for query in block.queries():
            self.add(query, block.version)

    def _add_boxes(self, block: BoxBlock) -> None:
        """All boxes of a bulk registration at once; those with huge integers one by one."""
        bounds = np.concatenate([block.first, block.last], axis=1)
        unbounded = np.concatenate([block.first == MIN_BIGINT, block.last == MAX_BIGINT], axis=1)
        huge = ((np.abs(bounds) >= EXACT - 1) & ~unbounded).any(axis=1)
        for i in np.flatnonzero(huge):
            self.add(block.query(int(i)), block.version)
        chosen = np.flatnonzero(~huge)
        if not len(chosen):
            return
        n = len(chosen)
        numbers = np.arange(self._queries, self._queries + n)
        attributes = (*block.doubles, *block.integers, *block.strings)
        ids = block.ids.take(pa.array(chosen))
        self._new_queries(ids, block.version, {a.name for a in attributes})
        first, last = block.first[chosen], block.last[chosen]
        lows = np.where(first == MIN_BIGINT, -INF, first.astype(np.float64))
        highs = np.where(last == MAX_BIGINT, INF, last.astype(np.float64) + 1)
        columns = zip(block.strings, block.keys, strict=True)
        codes = {a: self._column_codes(a, column, chosen) for a, column in columns}
        key = min(block.strings, key=lambda a: (a.name != self._stream.object, a), default=None)
        strings = np.array(list(codes.values()), dtype=np.float64).reshape(-1, n).T
        axes = tuple(sorted(a for a in attributes if a != key))
        order = [attributes.index(a) for a in axes]
        self.group(self.apart, key, axes).add(
            np.full(n, -1) if key is None else codes[key],
            np.concatenate([block.lo[chosen], lows, strings], axis=1)[:, order],
            np.concatenate([block.hi[chosen], highs, strings + 1], axis=1)[:, order],
            self._new_boxes(numbers, -1, n),
        )

    def _column_codes(self, attribute: Attribute, column: pa.Array, chosen: Integers) -> Integers:
        coded = column.take(pa.array(chosen)).dictionary_encode()
        codes = np.array(self.coded(attribute, coded.dictionary.to_pylist()), dtype=np.int64)
        places: Integers = coded.indices.to_numpy()
        return codes[places]

    def _new_queries(
        self, ids: pa.Array, version: int, used: set[str], query: Query | None = None
    ) -> None:
        """Ids that this query has, or those of plain boxes, which have no further clauses."""
        use = self._uses.setdefault(frozenset(used), len(self._uses))
        lifetime, until = (query.lifetime, query.until) if query else (None, None)
        self._ids.append(ids)
        self._since.append(np.full(len(ids), version, dtype=np.int64))
        self._lifetime.append(np.full(len(ids), lifetime or 0, dtype=np.int64))
        self._until.append(np.full(len(ids), NEVER if until is None else until, dtype=np.int64))
        self._accuracy.append(np.full(len(ids), query.accuracy if query else 0.0))
        self._use.append(np.full(len(ids), use, dtype=np.int64))
        self._queries += len(ids)

    def _new_boxes(self, query: int | Integers, residue: int, count: int) -> Integers:
        self._query.append(np.broadcast_to(np.asarray(query, dtype=np.int64), (count,)))
        self._residue.append(np.full(count, residue, dtype=np.int64))
        numbers = np.arange(self._boxes, self._boxes + count)
        self._boxes += count
        return numbers

    def _residue_number(self, residue: Residue) -> int:
        return self._residues.setdefault(residue, len(self._residues)) if residue else -1

    def finish(self, version: int, unanswered: pa.Array) -> Plan:
        several = np.zeros(self._queries, dtype=np.bool_)
        several[self._several] = True
        centres = np.full((self._queries if self._centres else 0, 2), np.nan)
        for numbers, points in self._centres:
            centres[numbers] = points
        return Plan(
            version=version,
            ids=pa.concat_arrays(self._ids) if self._ids else pa.array([], pa.string()),
            parts=tuple(self._parts()),
            dictionaries={a: pa.array(list(c), ARROW[a.type]) for a, c in self._codes.items()},
            query=_concatenated(self._query, np.int64),
            residue=_concatenated(self._residue, np.int64),
            residues=tuple(self._residues),
            circles=circles_of(self._residues),
            several=several,
            since=_concatenated(self._since, np.int64),
            lifetime=_concatenated(self._lifetime, np.int64),
            until=_concatenated(self._until, np.int64),
            accuracy=_concatenated(self._accuracy, np.float64),
            use=_concatenated(self._use, np.int64),
            uses=tuple(self._uses),
            centres=centres,
            unanswered=unanswered,
        )

    def _parts(self) -> Iterator[Part]:
        waiting = {below: list(groups.values()) for below, groups in self._groups.items()}
        for key in dict.fromkeys(key for _, key in self._groups):
            rest = waiting.get((False, key), [])
            for whole, groups in ((True, waiting.get((True, key), [])), (False, rest)):
                own, others = _divided(groups, whole, key)
                for group in own:
                    yield self._part(whole, key, [group])
                # Whole boxes that are few are not worth a pass of their own; below a key a row
                # meets only its value's, which are as soon compared with both ends of a move.
                if whole and (key is None or _longest(others) > limits.MANY_WHOLE):
                    rest += others
                elif others:
                    yield self._part(whole, key, others)

    def _part(self, whole: bool, key: Attribute | None, groups: list[_Group]) -> Part:
        """The boxes of all groups over the union of their axes."""
        axes = tuple(sorted({axis for group in groups for axis in group.axes}))
        numbers = np.concatenate([n for group in groups for n in group.numbers])
        lo, hi = (
            np.full((len(axes), len(numbers)), -INF),
            np.full((len(axes), len(numbers)), np.nan),
        )
        at = 0
        for group in groups:
            places, end = [axes.index(axis) for axis in group.axes], at + len(group)
            lo[places, at:end], hi[places, at:end] = (
                np.concatenate(side).T for side in (group.lo, group.hi)
            )
            at = end
        if key is None:
            starts = np.array([0, len(numbers)], dtype=np.int64)
            return Part(whole, None, axes, None, starts, lo, hi, numbers)
        codes = np.concatenate([c for group in groups for c in group.codes])
        order = np.argsort(codes, kind="stable")
        found, firsts = np.unique(codes[order], return_index=True)
        runs = np.full(len(self._codes[key]) + 1, len(found))
        runs[found] = np.arange(len(found))
        starts = np.append(firsts, len(numbers)).astype(np.int64)
        return Part(whole, key, axes, runs, starts, lo[:, order], hi[:, order], numbers[order])


def _key_of(alternative: Conjunction, stream: Stream) -> InRange | OneOf | None:
    """The equality that selects a sub-index: the object id's if there is one."""
    found: InRange | OneOf | None = None
    for atom in alternative.atoms:
        if isinstance(atom, OneOf) and atom.attribute.type is Type.STRING:
            if len(atom.values) > limits.MAX_KEY_VALUES:
                continue
            if found is None or atom.attribute.name == stream.object:
                found = atom
        elif (
            isinstance(atom, InRange)
            and atom.attribute.name == stream.object
            and atom.range.hi - atom.range.lo == 1
        ):
            return atom
    return found


def _divided(
    groups: list[_Group], whole: bool, key: Attribute | None
) -> tuple[list[_Group], list[_Group]]:
    """The groups that are worth a part of their own, the largest, and the others."""
    many = limits.MANY_WHOLE if whole else limits.MANY if key is None else limits.MANY_BELOW_KEY

    def is_own(group: _Group) -> bool:
        fit = group.axes if whole else 1 <= len(group.axes) <= limits.MAX_AXES
        # Without a key all boxes are one run, and a longest run is never longer than all.
        return bool(fit) and len(group) > many and (key is None or _longest([group]) > many)

    order = sorted(groups, key=len, reverse=True)
    own = [group for group in order if is_own(group)][: limits.MAX_OWN]
    return own, [group for group in groups if group not in own]


def _longest(groups: list[_Group]) -> int:
    """The most boxes of one key value."""
    codes = _concatenated((c for group in groups for c in group.codes), np.int64)
    return int(np.unique(codes, return_counts=True)[1].max(initial=0))


def _regions_of(query: Query, atoms: list[Atom]) -> tuple[list[StaticRegion], list[Atom]]:
    """The regions that hold the whole answer, each once, and the atoms without these regions."""
    held: list[StaticRegion] = [] if query.region is None else [query.region]  # type: ignore[list-item]
    others: list[Atom] = []
    for atom in atoms:
        if isinstance(atom, Inside) and not atom.negated:
            held.append(atom.region)
        else:
            others.append(atom)
    return list(dict.fromkeys(held)), others


def _key_values(key: InRange | OneOf) -> tuple[Any, ...]:
    return key.values if isinstance(key, OneOf) else (int(key.range.lo),)


def _widened(values: Range) -> Range:
    """Float bounds that no integer of the range can fall out of by rounding."""
    return Range(
        float(np.nextafter(float(values.lo), -INF)), float(np.nextafter(float(values.hi), INF))
    )


def _bounding_box(region: StaticRegion) -> tuple[Range, Range]:
    """Float ranges that contain every point of a static region, rounding included."""
    if isinstance(region, Box):
        return Range(region.x1, region.x2), Range(region.y1, region.y2)
    if isinstance(region, Circle):
        if region.radius * region.radius == INF:
            return Range(), Range()  # dx*dx <= inf holds everywhere
        return tuple(_around(c, region.radius) for c in (region.x, region.y))  # type: ignore[return-value]
    if isinstance(region, Corridor):
        corners, around = np.concatenate(list(region.paths())), region.reach
    else:
        corners, around = np.concatenate(list(region.rings())), 0.0
    low, high = corners.min(axis=0) - around, corners.max(axis=0) + around
    return tuple(  # type: ignore[return-value]
        _padded(float(a), float(b)) for a, b in zip(low, high, strict=True)
    )


def _around(centre: float, radius: float) -> Range:
    return _padded(centre - radius, centre + radius)


def _padded(low: float, high: float) -> Range:
    """A little more than [low, high]: the region's own test rounds, and squares underflow."""
    margin = 1e-12 * max(abs(low), abs(high), high - low) + 1e-160
    return Range(float(np.nextafter(low - margin, -INF)), float(np.nextafter(high + margin, INF)))


def _concatenated(pieces: Iterable[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    pieces = list(pieces)
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=kind)
