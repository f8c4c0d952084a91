"""The EMIT CHANGES queries of a stream at one version, and the way from each version to the next.

`ChangeQueries` knows queries and no objects, so that all shards of a worker share one. It has a
layered plan, as matches have, and keeps the last steps it took: the queries that each version
dropped and registered. A tracker that is some versions behind opens and closes answers by these.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.catalog import Catalog, Commit
from watchline.errors import UnknownVersion
from watchline.kernels.arrays import Integers, Signs
from watchline.matching import Layer, LayeredPlan, PlanSource, is_among
from watchline.model import SPEED, Stream
from watchline.proximity import Moving, object_type
from watchline.rows import Columns, taken
from watchline.tracking.distances import (
    Distances,
    chosen_distances,
    distances_of,
    joined_distances,
)
from watchline.tracking.lives import Term, terms_of
from watchline.tracking.plan import ChangePlan, join_changes, prepare_changes
from watchline.tracking.ranges import Moves, Transitions

# Steps kept for trackers that are behind.
STEPS = 64


@dataclass(frozen=True)
class Step:
    """What one version did to the queries: those gone, by the plans they were in, and those new."""

    version: int
    dropped: frozenset[str]
    gone: tuple[ChangePlan, ...]
    # Of the queries gone, those that would have ended by themselves.
    terms: dict[str, Term]
    came: ChangePlan
    # The stream itself was dropped, or declared anew as that of `came`.
    reset: bool


class QueryTransitions(NamedTuple):
    """Move `moves[i]` enters or leaves the query `ids[i]`, which may end by itself (`mortal`). The
    distance is that of the object as the change shows it."""

    moves: Integers
    ids: pa.Array
    signs: Signs
    mortal: npt.NDArray[np.bool_]
    distances: Distances

    def chosen(self, kept: npt.NDArray[np.bool_]) -> QueryTransitions:
        """Those that are kept."""
        places = pa.array(np.flatnonzero(kept))
        return QueryTransitions(
            self.moves[kept],
            self.ids.take(places),
            self.signs[kept],
            self.mortal[kept],
            chosen_distances(self.distances, kept),
        )


_NO_TRANSITIONS = QueryTransitions(
    np.empty(0, np.int64),
    pa.array([], pa.string()),
    np.empty(0, np.int8),
    np.empty(0, np.bool_),
    None,
)


class ChangeQueries:
    """The EMIT CHANGES queries of one stream, ready for moves."""

    def __init__(self, catalog: Catalog, stream: str, version: int | None = None):
        source = PlanSource.of(catalog, stream, prepare_changes, join_changes)
        self._open(source, catalog.version if version is None else version)

    @classmethod
    def from_plans(
        cls,
        stream: str,
        version: int,
        plan_at: Callable[[int], ChangePlan],
        commits: Callable[[int, int], list[Commit]],
    ) -> ChangeQueries:
        """Queries whose first plan of a version comes from elsewhere, as do the commits between
        versions."""
        queries = cls.__new__(cls)
        source = PlanSource(stream, prepare_changes, join_changes, plan_at, commits)
        queries._open(source, version)
        return queries

    def _open(self, source: PlanSource[ChangePlan], version: int) -> None:
        self._plan = LayeredPlan(source, version)
        self._steps: dict[int, Step] = {}
        self._forget_facts()

    def _forget_facts(self) -> None:
        """Facts about the queries are found out when first asked for, until the queries change."""
        self._used: frozenset[str] | None = None
        self._guards: dict[str, float] | None = None
        self._focals: pa.Array | None = None
        self._nbytes: int | None = None

    @property
    def version(self) -> int:
        """The version whose queries these are."""
        return self._plan.version

    @property
    def stream(self) -> Stream:
        """The stream as it is declared at this version, or was when it was dropped."""
        return self._plan.stream

    @property
    def unanswered(self) -> int:
        """How many queries of the stream are not answered here."""
        return self._plan.unanswered

    # --- following the catalog

    def advance(self, version: int) -> None:
        """Move to another version: forward by its commits, or anew where that is not possible."""
        if version == self.version:
            return
        commits = self._plan.commits_to(version)
        if commits is None:
            # The steps taken so far do not lead there.
            self._steps.clear()
            self._plan.build(version)
        else:
            for commit in commits:
                self._follow(commit)
            if self._plan.is_overgrown:
                self._plan.build(version)
        self._forget_facts()

    def _follow(self, commit: Commit) -> None:
        dropped = sorted(commit.dropped)
        gone = self.among(dropped) if dropped else ()
        terms = self._terms_among(dropped) if dropped else {}
        declared = any(stream.name == self._plan.name for stream in commit.streams)
        if declared:
            self._plan.build(commit.version)
            [came] = (layer.prepared for layer in self._plan)
        else:
            # Where there is no stream any more there are no queries; its declaration stays known.
            came = self._plan.take(commit)
        reset = declared or self._plan.name in commit.dropped_streams
        self._steps[commit.version] = Step(commit.version, commit.dropped, gone, terms, came, reset)
        self._steps.pop(commit.version - STEPS, None)
        self._forget_facts()

    @property
    def oldest(self) -> int:
        """The oldest version that `steps` can start from."""
        return min(self._steps, default=self.version + 1) - 1

    def steps(self, after: int, upto: int) -> list[Step]:
        """What each of the versions after < v <= upto did."""
        if after < self.oldest:
            raise UnknownVersion(
                f"what the versions after {after} did is not known any more: the catalog was"
                " compacted; begin with a new tracker"
            )
        return [self._steps[version] for version in range(after + 1, upto + 1)]

    def check(self, version: int) -> None:
        """Refuse a version that there is not."""
        self._plan.check(version)

    def terms(self, version: int) -> dict[str, Term]:
        """The queries that end by themselves, and their terms, as they were at a version that steps
        lead from."""
        terms: dict[str, Term] = {}
        for layer in self._plan:
            terms |= terms_of(layer.prepared.plan, layer.alive)
        for step in reversed(self.steps(version, self.version)):
            for query_id in terms_of(step.came.plan):
                terms.pop(query_id, None)
            terms |= step.terms
        return terms

    def _terms_among(self, ids: list[str]) -> dict[str, Term]:
        """The terms of the living queries of these ids. A plan also has queries that are dead."""
        terms: dict[str, Term] = {}
        for plan, numbers in self._plan.among(pa.array(ids, pa.string())):
            living = np.zeros(len(plan.plan), np.bool_)
            living[numbers] = True
            terms |= terms_of(plan.plan, living)
        return terms

    def used(self) -> frozenset[str]:
        """The attributes that some query reads."""
        if self._used is None:
            kinds = [
                layer.prepared.plan.uses[use]
                for layer in self._plan
                for use in np.flatnonzero(layer.in_use)
            ]
            self._used = frozenset().union(*kinds)
        return self._used

    def ask_speed(self) -> bool:
        """Whether some query reads SPEED, and not an attribute of that name."""
        return self.stream.speed is not None and SPEED.name in self.used()

    def moving(self, version: int) -> list[Moving]:
        """The queries that move or rank, as they were at a version that steps lead from."""
        moving = [layer.prepared.living(layer.alive) for layer in self._plan]
        for step in reversed(self.steps(version, self.version)):
            came = step.came.moving.ids
            moving = [m.take(np.flatnonzero(~is_among(m.ids, came))) for m in moving]
            moving += [part.moving for part in step.gone]
        return [m for m in moving if len(m)]

    def have_moving(self, version: int) -> bool:
        """Whether there are queries that move or rank, at a version that steps lead from."""
        own = (layer.alive[layer.prepared.moving.number] for layer in self._plan)
        gone = (part.moving for step in self.steps(version, self.version) for part in step.gone)
        return any(map(np.any, own)) or any(map(len, gone))

    def guards(self) -> dict[str, float]:
        """The queries with a least accuracy, and which."""
        if self._guards is None:
            self._guards = {}
            for layer in self._plan:
                made = layer.prepared.plan
                numbers = made.guarded[layer.alive[made.guarded]]
                ids = made.ids.take(pa.array(numbers)).to_pylist()
                self._guards.update(zip(ids, made.accuracy[numbers].tolist(), strict=True))
        return self._guards

    def registered_after(self, version: int) -> tuple[pa.Array, Integers]:
        """The queries that were registered after a version, and the versions of their own."""
        ids, versions = [pa.array([], pa.string())], [np.empty(0, np.int64)]
        for layer in self._plan:
            made = layer.prepared.plan
            numbers = np.flatnonzero((made.since > version) & layer.alive)
            ids.append(made.ids.take(pa.array(numbers)))
            versions.append(made.since[numbers])
        return pa.concat_arrays(ids), np.concatenate(versions)

    def holding(self, columns: Columns, ids: list[str]) -> tuple[Integers, pa.Array]:
        """Rows, and which of these queries hold them, as far as a row alone decides."""
        rows, names = [np.empty(0, np.int64)], [pa.array([], pa.string())]
        for part in self.among(ids):
            places, queries = part.members(columns)
            rows.append(places)
            names.append(part.plan.ids.take(pa.array(queries)))
        return np.concatenate(rows), pa.concat_arrays(names)

    def mapped(self, change: Callable[[ChangePlan], ChangePlan]) -> ChangeQueries:
        """The same queries at the same version, each plan changed by a function."""
        twin = copy(self)
        twin._plan = self._plan.mapped(change)
        return twin

    def focals(self) -> pa.Array:
        """The objects that some query moves with."""
        if self._focals is None:
            every = [ids for m in self.moving(self.version) for ids in m.focals]
            empty = pa.array([], object_type(self.stream))
            self._focals = pa.concat_arrays([empty, *every]).unique().drop_null()
        return self._focals

    @property
    def nbytes(self) -> int:
        """What the plans and indexes of the queries take, as they were when this was first asked
        after the queries changed."""
        if self._nbytes is None:
            self._nbytes = sum(
                layer.prepared.nbytes + int(layer.alive.nbytes) for layer in self._plan
            )
        return self._nbytes

    def among(self, ids: list[str]) -> tuple[ChangePlan, ...]:
        """The living queries of these ids, as plans of their own."""
        wanted = pa.array(ids, pa.string())
        return tuple(plan.narrowed(numbers) for plan, numbers in self._plan.among(wanted))

    def transitions(self, columns: Columns, moves: Moves) -> QueryTransitions:
        """The queries that these moves enter and leave."""
        pieces = [
            _named(layer.prepared, _layer_transitions(layer, columns, moves), columns, moves)
            for layer in self._plan
        ]
        if len(pieces) == 1:
            return pieces[0]
        return QueryTransitions(
            np.concatenate([piece.moves for piece in pieces]),
            pa.concat_arrays([piece.ids for piece in pieces]),
            np.concatenate([piece.signs for piece in pieces]),
            np.concatenate([piece.mortal for piece in pieces]),
            joined_distances((piece.distances, len(piece.moves)) for piece in pieces),
        )


def _named(
    prepared: ChangePlan, piece: Transitions, columns: Columns, moves: Moves
) -> QueryTransitions:
    """Transitions of the queries of a plan, by their ids."""
    made = prepared.plan
    places, numbers, signs = piece
    if not len(places):
        return _NO_TRANSITIONS
    distances = None
    if len(made.centres):
        # A move to nowhere shows the row that it comes from.
        new = moves.new[places]
        shown = np.where(new >= 0, new, moves.old[places])
        distances = distances_of(columns, prepared.stream, shown, made, numbers)
    return QueryTransitions(
        places, taken(made.ids, numbers), signs, made.mortal[numbers], distances
    )


def _layer_transitions(layer: Layer[ChangePlan], columns: Columns, moves: Moves) -> Transitions:
    every = layer.prepared.transitions_of(columns, moves)
    if not layer.dead:
        return every
    alive = layer.alive[every.numbers]
    return Transitions(every.moves[alive], every.numbers[alive], every.signs[alive])
