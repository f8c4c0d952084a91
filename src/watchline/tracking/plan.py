"""The plan of EMIT CHANGES queries: a plan of boxes for those that a row alone decides, and columns
of those that move with an object or rank by distance.

Boxes that are all of their query, and many, decide transitions alone, and so do regions that are
all of their query. What can change without a border being crossed (residues, several alternatives),
and boxes that are too few for borders, are matched at the old and at the new row, and the
difference is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from watchline.catalog import Queries
from watchline.kernels.arrays import Integers, Mask
from watchline.matching import (
    Part,
    PartSearch,
    Plan,
    PreparedPlan,
    RegionPart,
    RegionSearch,
    Search,
    SearchRows,
    joined,
    match,
    plan_and_rest,
    search_over,
)
from watchline.model import SPEED, Emit, Stream
from watchline.proximity import Moving, all_moving, moving
from watchline.rows import Columns
from watchline.tracking.ranges import (
    Moves,
    PartTransitions,
    Transitions,
    all_transitions,
    differences,
)
from watchline.tracking.region_moves import RegionTransitions
from watchline.tracking.retention.footprint import array_bytes


@dataclass(frozen=True)
class ChangePlan:
    """Queries that emit changes, ready for moves. Nothing in it changes.

    Every query has a number in the plan. Those that move or rank are lines of `moving`, and have no
    boxes. `transitions` has an entry for each part, None where the part is matched at both rows of
    a move; it is empty where no moves are expected, and rows are only matched.
    """

    prepared: PreparedPlan
    moving: Moving
    transitions: tuple[PartTransitions | RegionTransitions | None, ...]

    @staticmethod
    def of(made: Plan, others: Moving, stream: Stream) -> ChangePlan:
        """Build the structures that decide the moves of a plan."""
        searches = tuple(map(_search_of, made.parts))
        transitions = tuple(_transitions_of(search) for search in searches)
        return ChangePlan(PreparedPlan(stream, made, searches), others, transitions)

    @property
    def stream(self) -> Stream:
        """The stream as it is declared for these queries."""
        return self.prepared.stream

    @property
    def plan(self) -> Plan:
        """The boxes, ids and clauses of the queries."""
        return self.prepared.plan

    @property
    def asks_speed(self) -> bool:
        """Whether a query reads SPEED, and not an attribute of that name."""
        return self.stream.speed is not None and any(
            SPEED.name in names for names in self.plan.uses
        )

    @cached_property
    def residue_bytes(self) -> int:
        """The bytes of residues: there may be one for each query, so they are counted once."""
        return array_bytes(self.plan.residues)

    @property
    def nbytes(self) -> int:
        """The bytes of the plan and its indexes now; some indexes are built when first needed."""
        return self.residue_bytes + array_bytes(self, without=(self.plan.residues,))

    def with_plan(self, made: Plan) -> ChangePlan:
        """The same queries with other boxes, ready for what this plan is ready for."""
        if self.transitions:
            return ChangePlan.of(made, self.moving, self.stream)
        return ChangePlan(PreparedPlan.of(made, self.stream), self.moving, ())

    def narrowed(self, numbers: Integers) -> ChangePlan:
        """These queries alone, for rows that are only matched. The result refers to nothing of this
        plan, and its cost follows these queries."""
        made = joined([(self.plan, numbers)], self.stream, Emit.MATCHES)
        moved = all_moving([self.moving_of(numbers)], self.stream)
        return ChangePlan(PreparedPlan.of(made, self.stream), moved, ())

    def moving_of(self, numbers: Integers) -> Moving:
        """Those of these queries that move or rank, numbered by their places in `numbers`."""
        moving = self.moving
        if not len(moving):
            return moving
        # Lines are in the order of queries.
        lines = np.searchsorted(moving.number, numbers)
        found = np.flatnonzero(moving.number[np.minimum(lines, len(moving) - 1)] == numbers)
        return moving.take(lines[found]).numbered(found)

    def living(self, alive: Mask) -> Moving:
        """The queries that move or rank and are alive."""
        return self.moving.take(np.flatnonzero(alive[self.moving.number]))

    def centres_of(self, ids: Iterable[str]) -> dict[str, tuple[float, float]]:
        """The centres of these queries, of those that a row alone decides and that have one."""
        if not len(self.plan.centres):
            return {}
        names = pa.array(sorted(ids), pa.string())
        numbers = self.plan.numbers.find(names)
        found = np.flatnonzero(numbers >= 0)
        points = self.plan.centres[numbers[found]]
        known = zip(names.take(pa.array(found)).to_pylist(), points.tolist(), strict=True)
        return {name: (x, y) for name, (x, y) in known if x == x}

    def members(self, columns: Columns) -> tuple[Integers, Integers]:
        """Rows and the numbers of the queries that they satisfy."""
        if not self.transitions:
            return match(self.prepared, columns, self.prepared.searches)
        rows = np.arange(len(columns))
        # A row that comes from nowhere enters all that holds it.
        entered = self.transitions_of(columns, Moves(np.full(len(rows), -1), rows))
        return entered.moves, entered.numbers

    def transitions_of(self, columns: Columns, moves: Moves) -> Transitions:
        """Moves, and the numbers of the queries that they enter and leave."""
        rows, query = SearchRows(columns, self.plan.known), self.plan.query
        pieces = []
        for part in self.transitions:
            if part is not None:
                places, numbers, signs = part.transitions(rows, moves)
                pieces.append(Transitions(places, query[numbers], signs))
        if self._matched:
            pieces.append(self._difference(self._matched, columns, moves))
        return all_transitions(pieces)

    @cached_property
    def _matched(self) -> list[Search]:
        """The parts that are matched at both rows of a move."""
        return [
            search
            for search, part in zip(self.prepared.searches, self.transitions, strict=True)
            if part is None
        ]

    def _difference(self, searches: list[Search], columns: Columns, moves: Moves) -> Transitions:
        """What the new row matches and the old one does not, and the other way round."""
        # Rows that are in some move, and their places among these; -1 finds the last, for none.
        places = np.full(len(columns) + 1, -1)
        for side in moves:
            places[side] = 0
        places[-1] = -1
        used = np.flatnonzero(places == 0)
        places[used] = np.arange(len(used))
        rows, queries = match(self.prepared, columns.take(used), searches)
        order = np.argsort(rows, kind="stable")
        offsets = np.searchsorted(rows[order], np.arange(len(used) + 1))
        ends = Moves(*(places[side] for side in moves))
        return differences(offsets, queries[order], ends, len(self.plan))


def _search_of(part: Part) -> Search:
    # Boxes that decide transitions alone are never searched: they need no index.
    if part.whole and not isinstance(part, RegionPart):
        return PartSearch(part, {})
    return search_over(part)


def _transitions_of(search: Search) -> PartTransitions | RegionTransitions | None:
    if not search.part.whole:
        return None
    if isinstance(search, RegionSearch):
        return RegionTransitions(search)
    return PartTransitions.over(search.part)


def prepare_changes(queries: Queries, stream: Stream) -> ChangePlan:
    """The EMIT CHANGES queries of a stream, planned and indexed."""
    made, undecided = plan_and_rest(queries, stream, Emit.CHANGES)
    return ChangePlan.of(made, moving(undecided, stream), stream)


def join_changes(pieces: Sequence[tuple[ChangePlan, Integers]], stream: Stream) -> ChangePlan:
    """One plan of these queries of other plans, ready for moves."""
    made = joined([(of.plan, numbers) for of, numbers in pieces], stream, Emit.CHANGES)
    starts = np.cumsum([0, *(len(numbers) for _, numbers in pieces)])
    parts = [of.moving_of(numbers) for of, numbers in pieces]
    moved = [m.numbered(m.number + start) for m, start in zip(parts, starts[:-1], strict=True)]
    return ChangePlan.of(made, all_moving(moved, stream), stream)
