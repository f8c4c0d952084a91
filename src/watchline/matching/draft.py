"""A plan in the making: queries, blocks of them and parts of other plans become boxes, regions and
residues.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from watchline.catalog import Block, BoxBlock, Call, Queries, RegionBlock
from watchline.index import RegionColumns
from watchline.kernels.arrays import Doubles, Integers
from watchline.matching import limits
from watchline.matching.alternatives import (
    Asked,
    boxes_of,
    centred,
    key_of,
    key_values,
    regions_held,
    widened,
)
from watchline.matching.groups import (
    Axes,
    BoxGroup,
    RegionGroup,
    concatenated,
    divided,
    longest,
    part_of,
    region_part_of,
)
from watchline.matching.plan import (
    EXACT,
    NEVER,
    Part,
    Plan,
    bounding_boxes,
    is_exact,
    is_static,
    point_of,
)
from watchline.matching.residues import Left, ResidueDraft
from watchline.matching.shapes import Regions, Shape, columns_of, flat, is_shape, shape_columns
from watchline.model import (
    INF,
    MAX_BIGINT,
    MIN_BIGINT,
    TRUE,
    Atom,
    Attribute,
    Box,
    Circle,
    Condition,
    Conjunction,
    Emit,
    InRange,
    Inside,
    OneOf,
    Query,
    Range,
    Stream,
    Type,
    centre_of,
)
from watchline.rows import ARROW

# Queries that a row alone does not decide, with their numbers in a plan.
Undecided = list[tuple[int, Query]]


class KeyedBoxes(NamedTuple):
    """Boxes over some axes (n, axes) by the codes of their key, with their numbers in a plan."""

    codes: Integers
    lo: Doubles
    hi: Doubles
    numbers: Integers


# Whether its boxes are whole, and the key.
_Below = tuple[bool, "Attribute | None"]
_Sides = dict[Attribute, tuple[Range, ...]]


class PlanDraft:
    """A plan in the making."""

    def __init__(self, stream: Stream, apart: bool):
        self._stream = stream
        self.apart = apart
        self._point = point_of(stream) or ()
        self._ids: list[pa.Array] = []
        self._queries = 0
        self._several: list[int] = []
        self._query: list[Integers] = []
        self._residue: list[Integers] = []
        self._boxes = 0
        self._residues = ResidueDraft()
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
        # How many regions stand below each value of a key.
        self._regions_below: dict[Attribute, Counter[Any]] = defaultdict(Counter)
        self._groups: dict[_Below, dict[tuple[Attribute, ...], BoxGroup]] = defaultdict(dict)
        self._regions: dict[bool, dict[Axes, RegionGroup]] = {True: {}, False: {}}

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
        for group in self._every_group():
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

    def add_region_block(
        self, ids: pa.Array, version: int, regions: RegionColumns, where: Condition = (TRUE,)
    ) -> None:
        """Queries that were registered together: a region for each, and a condition for all."""
        used = {attribute.name for alternative in where for attribute in alternative.attributes()}
        numbers = np.arange(self._queries, self._queries + len(ids))
        self._new_queries(ids, version, used | {axis.name for axis in self._point})
        circles = centred(regions, where)
        if circles.any():
            centres = regions.coordinates[regions.chains[regions.begins[:-1], 0]]
            self._centres.append((numbers[circles], centres[circles]))
        if len(where) > 1:
            self._several += numbers.tolist()
        for alternative in where:
            held, atoms = regions_held(alternative)
            self._add_regions(Asked(atoms, held, len(where) == 1), numbers, regions)

    def _add_conjunction(self, alternative: Conjunction, query: Query, number: int) -> None:
        held, atoms = regions_held(alternative)
        if query.region is not None:
            held = list(dict.fromkeys([flat(query.region), *held]))  # type: ignore[arg-type]
        # The first region that is no box drives.
        shapes = [region for region in held if not isinstance(region, Box)]
        asked = Asked(atoms, [r for r in held if r not in shapes[:1]], len(query.where) == 1)
        if shapes:
            self._add_regions(asked, np.array([number]), shapes[:1])
            return
        key = key_of(alternative, self._stream)
        codes = self._codes_of(key)
        sides, left = self._split(asked, key, limits.MAX_KEY_VALUES // len(codes))
        if sides is None:
            return
        residue = self._residues.add(left)
        axes = tuple(sorted(sides))
        below, lows, highs = boxes_of(codes, [sides[a] for a in axes])
        whole = self.apart and residue < 0 and asked.alone and len(below) == 1
        self.group(whole, key.attribute if key else None, axes).add(
            below, lows, highs, self._new_boxes(number, residue, len(below))
        )

    def _add_regions(self, asked: Asked, queries: Integers, regions: Regions) -> None:
        """An alternative of some queries, each with a region of its own that drives."""
        key = key_of(Conjunction(tuple(asked.atoms)), self._stream)
        if key is not None and not self._are_many_below(key, len(queries)):
            self._add_below_key(asked, key, queries, regions)
            return
        sides, left = self._split(asked, None, 1)
        if sides is None:
            return
        if asked.regions or any(axis in sides for axis in self._point):
            regions = columns_of(regions)
            _, _, met = self._around(asked, sides, regions)
            queries, regions = queries[met], regions.taken(met)
            if not len(met):
                return
        residue = self._residues.add(left)
        axes, n = tuple(sorted(sides)), len(queries)
        whole = self.apart and asked.alone and residue < 0 and not axes
        _, low, high = boxes_of([-1], [sides[axis] for axis in axes])
        low, high = (np.repeat(side, n, axis=0) for side in (low, high))
        numbers = self._new_boxes(queries, residue, n)
        group = self.region_group(whole, axes)
        group.add(np.full(n, -1), low, high, numbers)
        group.shapes.add(regions)

    def _are_many_below(self, key: InRange | OneOf, more: int) -> bool:
        """Whether a value of the key would have many regions, if it had so many more. If not, it is
        counted as having them."""
        below = self._regions_below[key.attribute]
        values = key_values(key)
        if max(below[value] for value in values) + more > limits.MANY_REGIONS_BELOW_KEY:
            return True
        for value in values:
            below[value] += more
        return False

    def _add_below_key(
        self, asked: Asked, key: InRange | OneOf, queries: Integers, regions: Regions
    ) -> None:
        """The same below a key: boxes around the regions, which are left to check."""
        codes = self._codes_of(key)
        sides, left = self._split(asked, key, limits.MAX_KEY_VALUES // len(codes))
        if sides is None:
            return
        columns = columns_of(regions)
        low, high, met = self._around(asked, sides, columns)
        low, high = low[:, met].T, high[:, met].T
        residues = self._residues.add_each(left, columns.taken(met))
        others = tuple(sorted(axis for axis in sides if axis not in self._point))
        below, lows, highs = boxes_of(codes, [sides[axis] for axis in others])
        every = (*self._point, *others)
        axes = tuple(sorted(every))
        order = [every.index(axis) for axis in axes]
        count, n = len(below), len(met)
        self.group(False, key.attribute, axes).add(
            np.repeat(below, n),
            np.hstack([np.tile(low, (count, 1)), np.repeat(lows, n, axis=0)])[:, order],
            np.hstack([np.tile(high, (count, 1)), np.repeat(highs, n, axis=0)])[:, order],
            self._new_boxes(np.tile(queries[met], count), np.tile(residues, count), count * n),
        )

    def _around(
        self, asked: Asked, sides: _Sides, regions: RegionColumns
    ) -> tuple[Doubles, Doubles, Integers]:
        """Bounds (2, n) of what each region has in common with the sides and with the other regions
        that are asked for, and the regions that have anything. For others an alternative is never
        true."""
        low, high = bounding_boxes(regions)
        for k, attribute in enumerate(self._point):
            [known] = sides.get(attribute, (Range(),))
            low[k], high[k] = np.maximum(low[k], known.lo), np.minimum(high[k], known.hi)
        others = [region for region in asked.regions if is_shape(region)]
        if others:
            lows, highs = bounding_boxes(shape_columns(others))
            low = np.maximum(low, lows.max(axis=1, keepdims=True))
            high = np.minimum(high, highs.min(axis=1, keepdims=True))
        return low, high, np.flatnonzero((low < high).all(axis=0))

    def _codes_of(self, key: InRange | OneOf | None) -> list[int]:
        """The codes of a key's values; without a key one that is none."""
        return self.coded(key.attribute, key_values(key)) if key else [-1]

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
        residues = np.full(len(used), -1)
        some = np.flatnonzero(used >= 0)
        residues[some] = self._residues.take(made.residues, used[some])
        return self._new_boxes(queries, residues[places.reshape(-1)], len(boxes))

    def group(self, whole: bool, key: Attribute | None, axes: tuple[Attribute, ...]) -> BoxGroup:
        """The boxes with these axes below this key."""
        return self._groups[whole, key].setdefault(axes, BoxGroup(axes))

    def region_group(self, whole: bool, axes: Axes) -> RegionGroup:
        """The regions with boxes of these axes."""
        return self._regions[whole].setdefault(axes, RegionGroup(axes))

    def _split(
        self, asked: Asked, key: InRange | OneOf | None, most: int
    ) -> tuple[_Sides | None, Left]:
        """The sides that an alternative gives to boxes, `most` boxes of them at most, and what is
        left to check. No sides where they contradict each other: it is never true."""
        sides: _Sides = {}
        left, shapes, negated = list[Atom](), list[Shape](), list[bool]()
        for atom in asked.atoms:
            if atom is key:
                continue
            if isinstance(atom, InRange):
                exact = atom.attribute.type is Type.DOUBLE or is_exact(atom.range)
                sides[atom.attribute] = (atom.range if exact else widened(atom.range),)
                if exact:
                    continue
            elif isinstance(atom, OneOf) and len(atom.values) <= most:
                most //= len(atom.values)
                sides[atom.attribute] = self._sides_of(atom)
                continue
            elif isinstance(atom, Inside) and is_shape(atom.region):
                shapes.append(atom.region)
                negated.append(True)
                continue
            left.append(atom)
        for region in asked.regions:
            if not isinstance(region, Box):
                shapes.append(region)
                negated.append(False)
                continue
            bounds = Range(region.x1, region.x2), Range(region.y1, region.y2)
            for attribute, side in zip(self._point, bounds, strict=True):
                [known] = sides.get(attribute, (Range(),))
                lo, hi = max(known.lo, side.lo), min(known.hi, side.hi)
                if not lo < hi:
                    return None, Left()
                sides[attribute] = (Range(lo, hi),)
        return sides, Left(tuple(left), tuple(shapes), tuple(negated))

    def _sides_of(self, atom: OneOf) -> tuple[Range, ...]:
        if atom.attribute.type is Type.BOOLEAN:
            return tuple(Range(int(v), int(v) + 1) for v in atom.values)
        return tuple(Range(c, c + 1) for c in self.coded(atom.attribute, atom.values))

    def coded(self, attribute: Attribute, values: Iterable[Any]) -> list[int]:
        """The codes of these values, new ones for those that had none."""
        known = self._codes[attribute]
        return [known.setdefault(value, len(known)) for value in values]

    def add_block(self, block: Block) -> None:
        """All queries of a bulk registration: boxes and regions as columns."""
        if isinstance(block, BoxBlock):
            self._add_boxes(block)
        else:
            assert isinstance(block, RegionBlock)
            self._add_region_queries(block)

    def _add_region_queries(self, block: RegionBlock) -> None:
        """All regions of a bulk registration, those of each condition at once."""
        if len(block.conditions) == 1:
            [where] = block.conditions
            self.add_region_block(block.ids, block.version, block.regions, where)
            return
        for where, which in block.by_condition():
            ids, regions = block.ids.take(pa.array(which)), block.regions.taken(which)
            self.add_region_block(ids, block.version, regions, where)

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

    def _new_boxes(self, query: int | Integers, residue: int | Integers, count: int) -> Integers:
        for column, values in ((self._query, query), (self._residue, residue)):
            column.append(np.broadcast_to(np.asarray(values, dtype=np.int64), (count,)))
        numbers = np.arange(self._boxes, self._boxes + count)
        self._boxes += count
        return numbers

    def finish(self, version: int, unanswered: pa.Array) -> Plan:
        several = np.zeros(self._queries, dtype=np.bool_)
        several[self._several] = True
        centres = np.full((self._queries if self._centres else 0, 2), np.nan)
        for numbers, points in self._centres:
            centres[numbers] = points
        query, residue = self._in_order_of_queries()
        return Plan(
            version=version,
            ids=pa.concat_arrays(self._ids) if self._ids else pa.array([], pa.string()),
            parts=tuple(self._parts()),
            dictionaries={a: pa.array(list(c), ARROW[a.type]) for a, c in self._codes.items()},
            query=query,
            residue=residue,
            residues=self._residues.finish(),
            several=several,
            since=concatenated(self._since, np.int64),
            lifetime=concatenated(self._lifetime, np.int64),
            until=concatenated(self._until, np.int64),
            accuracy=concatenated(self._accuracy, np.float64),
            use=concatenated(self._use, np.int64),
            uses=tuple(self._uses),
            centres=centres,
            unanswered=unanswered,
        )

    def _every_group(self) -> Iterator[BoxGroup]:
        for groups in self._groups.values():
            yield from groups.values()
        for regions in self._regions.values():
            yield from regions.values()

    def _in_order_of_queries(self) -> tuple[Integers, Integers]:
        """The query and the residue of each box by its number; boxes are numbered anew where those
        of one query do not follow each other."""
        query = concatenated(self._query, np.int64)
        residue = concatenated(self._residue, np.int64)
        if (query[1:] >= query[:-1]).all():
            return query, residue
        order = np.argsort(query, kind="stable")
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        for group in self._every_group():
            group.numbers = [number[mine] for mine in group.numbers]
        return query[order], residue[order]

    def _parts(self) -> Iterator[Part]:
        waiting = {below: list(groups.values()) for below, groups in self._groups.items()}
        for key in dict.fromkeys(key for _, key in self._groups):
            rest = waiting.get((False, key), [])
            for whole, groups in ((True, waiting.get((True, key), [])), (False, rest)):
                own, others = divided(groups, whole, key)
                for group in own:
                    yield self._part(whole, key, [group])
                # Whole boxes that are few are not worth a pass of their own; below a key a row
                # meets only its value's, which are as soon compared with both ends of a move.
                if whole and (key is None or longest(others) > limits.MANY_WHOLE):
                    rest += others
                elif others:
                    yield self._part(whole, key, others)
        for whole, regions in self._regions.items():
            if regions:
                assert self._point
                yield region_part_of(whole, self._point, list(regions.values()))

    def _part(self, whole: bool, key: Attribute | None, groups: list[BoxGroup]) -> Part:
        return part_of(whole, key, 0 if key is None else len(self._codes[key]), groups)
