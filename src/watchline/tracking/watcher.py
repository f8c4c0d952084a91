"""The EMIT CHANGES queries of a stream at one version, and the way from each version to the next.

A `Watcher` knows queries and no objects, so that all shards of a worker share one. It is a stack of
plans as in `matching`, and keeps the last steps it took: what went, what came. A tracker that is
some versions behind opens and closes answers by these.

Boxes that are all of their query, and many, are decided by flips alone. What can change without a
border being crossed (residues, several alternatives), and boxes that are too few for borders, are
matched at the old and at the new row, and the difference is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.catalog import Commit, Queries
from watchline.errors import UnknownVersion
from watchline.evaluate import Columns
from watchline.matching import (
    Base,
    Layer,
    PairMatcher,
    Plan,
    base_of,
    living,
    match,
    narrowed,
    plan,
)
from watchline.matching.plan import NEVER
from watchline.matching.search import Batch, PartSearch
from watchline.model import Emit, Stream
from watchline.moving.queries import Moving, object_type
from watchline.tracking.flips import (
    Flips,
    Integers,
    Moves,
    PartFlips,
    Signs,
    differences,
    joined,
)
from watchline.tracking.footprint import array_bytes

# Steps kept for trackers that are behind.
STEPS = 64


@dataclass(frozen=True)
class WatchBase(Base):
    """A base with the flips of those parts that decide alone."""

    flips: tuple[PartFlips | None, ...]

    @cached_property
    def residue_bytes(self) -> int:
        """What the residues take: there may be one for each query, so they are counted once."""
        return array_bytes(self.plan.residues)

    @property
    def nbytes(self) -> int:
        """What the plan and its indexes take now; some indexes are built when first needed."""
        return self.residue_bytes + array_bytes(self, without=(self.plan.residues,))


def prepare_changes(queries: Queries, stream: Stream) -> WatchBase:
    return watch_base(plan(queries, stream, Emit.CHANGES), stream)


def watch_base(made: Plan, stream: Stream) -> WatchBase:
    flips = tuple(PartFlips.over(part) if part.whole else None for part in made.parts)
    # What flips decide alone is never searched: it needs no index.
    searches = (
        PartSearch(part, {}) if part.whole else PartSearch.over(part) for part in made.parts
    )
    return WatchBase(stream, made, tuple(searches), flips)


def members(base: Base, columns: Columns) -> tuple[Integers, Integers]:
    """Rows and the numbers of the queries they satisfy."""
    if not isinstance(base, WatchBase):
        return match(base, columns, base.searches)
    rows = np.arange(len(columns))
    # A row that comes from nowhere enters all that holds it.
    found = _base_flips(base, columns, Moves(np.full(len(rows), -1), rows))
    return found.moves, found.numbers


@dataclass(frozen=True)
class Step:
    """What one version did to the queries: those gone, by the plans they were in, and those new."""

    version: int
    dropped: frozenset[str]
    gone: tuple[Base, ...]
    came: WatchBase
    # The stream itself was dropped, or declared anew as that of `came`.
    reset: bool


class End(NamedTuple):
    """The last moment whose rows count for a query, and the time that its closing is told with.

    FOR INTERVAL counts rows of the moment it ends at: both are the same. UNTIL does not.
    """

    last: int
    told: int

    @property
    def is_before_rows(self) -> bool:
        """Whether the query ends before the rows of the time that is told, not after them."""
        return self.last < self.told


class Term(NamedTuple):
    """When a query ends by itself: after a life time (0 for none), at a moment (NEVER for none)."""

    lifetime: int
    until: int

    def end(self, birth: int) -> End:
        lived = min(birth + self.lifetime, NEVER) if self.lifetime else NEVER
        before = self.until - 1 if self.until < NEVER else NEVER
        return End(min(lived, before), min(lived, self.until))


class QueryFlips(NamedTuple):
    """Move `moves[i]` enters or leaves the query `ids[i]`, which may end by itself (`mortal`)."""

    moves: Integers
    ids: pa.Array
    signs: Signs
    mortal: npt.NDArray[np.bool_]

    def chosen(self, kept: npt.NDArray[np.bool_]) -> QueryFlips:
        places = pa.array(np.flatnonzero(kept))
        return QueryFlips(
            self.moves[kept], self.ids.take(places), self.signs[kept], self.mortal[kept]
        )


class Watcher(PairMatcher):
    """The EMIT CHANGES queries of one stream, ready for moves."""

    _used: frozenset[str] | None
    _guards: dict[str, float] | None
    _focals: pa.Array | None
    _nbytes: int | None

    def _setup(
        self,
        stream: str,
        version: int,
        base_at: Callable[[int], Base],
        changes: Callable[[int, int], list[Commit]],
    ) -> None:
        self._steps: dict[int, Step] = {}
        super()._setup(stream, version, base_at, changes)

    @property
    def oldest(self) -> int:
        """The oldest version that `steps` can start from."""
        return min(self._steps, default=self.version + 1) - 1

    def steps(self, after: int, upto: int) -> list[Step]:
        if after < self.oldest:
            raise UnknownVersion(
                f"what the versions after {after} did is not known any more: the catalog was"
                " compacted; begin with a new tracker"
            )
        return [self._steps[version] for version in range(after + 1, upto + 1)]

    def check(self, version: int) -> None:
        """Refuse a version that there is not."""
        self._changes(version, version)

    def terms(self, version: int) -> dict[str, Term]:
        """The queries that end by themselves, and their terms, as they were at a version that steps
        lead from."""
        found: dict[str, Term] = {}
        for layer in self._layers:
            found |= terms_of(layer.base.plan, layer.alive)
        for step in reversed(self.steps(version, self.version)):
            for query_id in terms_of(step.came.plan):
                found.pop(query_id, None)
            gone = (terms_of(base.plan).items() for base in step.gone)
            found |= {name: term for terms in gone for name, term in terms if name in step.dropped}
        return found

    def used(self) -> frozenset[str]:
        """The attributes that some query reads."""
        if self._used is None:
            kinds = [
                layer.base.plan.uses[use]
                for layer in self._layers
                for use in np.unique(layer.base.plan.use[layer.alive])
            ]
            self._used = frozenset().union(*kinds)
        return self._used

    def moving(self, version: int) -> list[Moving]:
        """The queries that move or rank, as they were at a version that steps lead from."""
        found = [living(layer.base.plan, layer.alive) for layer in self._layers]
        for step in reversed(self.steps(version, self.version)):
            came = step.came.plan.moving.ids
            found = [m.take(np.flatnonzero(~_among(m.ids, came))) for m in found]
            found += [base.plan.moving for base in step.gone]
        return [m for m in found if len(m)]

    def guards(self) -> dict[str, float]:
        """The queries with a least accuracy, and which."""
        if self._guards is None:
            self._guards = {}
            for layer in self._layers:
                made = layer.base.plan
                numbers = np.flatnonzero((made.accuracy > 0) & layer.alive)
                ids = made.ids.take(pa.array(numbers)).to_pylist()
                self._guards.update(zip(ids, made.accuracy[numbers].tolist(), strict=True))
        return self._guards

    def registered_after(self, version: int) -> tuple[pa.Array, Integers]:
        """The queries that were registered after a version, and the versions of their own."""
        ids, versions = [pa.array([], pa.string())], [np.empty(0, np.int64)]
        for layer in self._layers:
            made = layer.base.plan
            numbers = np.flatnonzero((made.since > version) & layer.alive)
            ids.append(made.ids.take(pa.array(numbers)))
            versions.append(made.since[numbers])
        return pa.concat_arrays(ids), np.concatenate(versions)

    def holding(self, columns: Columns, ids: list[str]) -> tuple[Integers, pa.Array]:
        """Rows, and which of these queries hold them, as far as a row alone decides."""
        found = [(np.empty(0, np.int64), pa.array([], pa.string()))]
        for base in self.among(ids):
            rows, queries = members(base, columns)
            found.append((rows, base.plan.ids.take(pa.array(queries))))
        return np.concatenate([r for r, _ in found]), pa.concat_arrays([i for _, i in found])

    def through(self, change: Callable[[Base], Base]) -> Watcher:
        """The same queries as they are now, with other plans."""
        twin = copy(self)
        twin._layers = [replace(layer, base=change(layer.base)) for layer in self._layers]
        for layer, mine in zip(self._layers, twin._layers, strict=True):
            mine.alive, mine.dead = layer.alive, layer.dead
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
            self._nbytes = sum(_bytes_of(layer) for layer in self._layers)
        return self._nbytes

    def among(self, ids: list[str]) -> tuple[Base, ...]:
        """The living queries of these ids, as plans of their own."""
        wanted = pa.array(ids, pa.string())
        found = []
        for layer in self._layers:
            numbers = np.flatnonzero(_among(layer.base.plan.ids, wanted) & layer.alive)
            if len(numbers):
                found.append(base_of(narrowed(layer.base.plan, numbers), self.stream))
        return tuple(found)

    def flips(self, columns: Columns, moves: Moves) -> QueryFlips:
        """What these moves enter and leave."""
        found = [_layer_flips(layer, columns, moves) for layer in self._layers]
        plans = [layer.base.plan for layer in self._layers]
        return QueryFlips(
            np.concatenate([f.moves for f in found]),
            pa.concat_arrays(
                [p.ids.take(pa.array(f.numbers)) for p, f in zip(plans, found, strict=True)]
            ),
            np.concatenate([f.signs for f in found]),
            np.concatenate([p.mortal[f.numbers] for p, f in zip(plans, found, strict=True)]),
        )

    # --- following the catalog

    def _prepare(self, queries: Queries, stream: Stream) -> Base:
        return prepare_changes(queries, stream)

    def _build(self, version: int) -> None:
        if getattr(self, "version", version) != version:
            # Not a step from where we are: those taken so far do not lead there.
            self._steps.clear()
        super()._build(version)
        self._forget_facts()

    def _can_follow(self, commits: list[Commit]) -> bool:
        return True

    def _apply(self, commit: Commit) -> None:
        gone = self.among(sorted(commit.dropped)) if commit.dropped else ()
        self.version = commit.version
        declared = any(stream.name == self._name for stream in commit.streams)
        if declared:
            self._build(commit.version)
            came = self._layers[0].base
        else:
            # Where there is no stream any more there are no queries; its declaration stays known.
            came = self._taken(commit)
        assert isinstance(came, WatchBase)
        reset = declared or self._name in commit.dropped_streams
        self._steps[commit.version] = Step(commit.version, commit.dropped, gone, came, reset)
        self._steps.pop(commit.version - STEPS, None)
        self._forget_facts()

    def _forget_facts(self) -> None:
        """What was found out about the queries, until they change."""
        self._used = self._focals = self._guards = self._nbytes = None


def terms_of(made: Plan, alive: npt.NDArray[np.bool_] | bool = True) -> dict[str, Term]:
    """The terms of queries that have one."""
    numbers = np.flatnonzero(made.mortal & alive)
    ids = made.ids.take(pa.array(numbers)).to_pylist()
    terms = map(Term, made.lifetime[numbers].tolist(), made.until[numbers].tolist())
    return dict(zip(ids, terms, strict=True))


def _among(ids: pa.Array, others: pa.Array) -> npt.NDArray[np.bool_]:
    return pc.is_in(ids, value_set=others).to_numpy(zero_copy_only=False)


def _bytes_of(layer: Layer) -> int:
    assert isinstance(layer.base, WatchBase)
    return layer.base.nbytes + int(layer.alive.nbytes)


def _layer_flips(layer: Layer, columns: Columns, moves: Moves) -> Flips:
    assert isinstance(layer.base, WatchBase)
    found = _base_flips(layer.base, columns, moves)
    if not layer.dead:
        return found
    alive = layer.alive[found.numbers]
    return Flips(found.moves[alive], found.numbers[alive], found.signs[alive])


def _base_flips(base: WatchBase, columns: Columns, moves: Moves) -> Flips:
    """Moves and the numbers of queries."""
    batch = Batch(columns, base.plan.dictionaries)
    found = [f.flips(batch, moves) for f in base.flips if f is not None]
    found = [f._replace(numbers=base.plan.query[f.numbers]) for f in found]
    rest = [s for s, f in zip(base.searches, base.flips, strict=True) if f is None]
    if rest:
        found.append(_difference(base, rest, columns, moves))
    return joined(found)


def _difference(base: Base, searches: list[PartSearch], columns: Columns, moves: Moves) -> Flips:
    """What the new row matches and the old one does not, and the other way round."""
    # Rows that are in some move, and their places among these; -1 finds the last, for none.
    places = np.full(len(columns) + 1, -1)
    for side in moves:
        places[side] = 0
    places[-1] = -1
    used = np.flatnonzero(places == 0)
    places[used] = np.arange(len(used))
    rows, queries = match(base, columns.take(used), searches)
    order = np.argsort(rows, kind="stable")
    offsets = np.searchsorted(rows[order], np.arange(len(used) + 1))
    ends = Moves(*(places[side] for side in moves))
    return differences(offsets, queries[order], ends, len(base.plan))
