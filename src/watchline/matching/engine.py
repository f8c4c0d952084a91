"""Matching: batches of rows against a plan, as pairs of row and query.

Invariant: (row, query) comes out once, exactly if the row satisfies the query's WHERE and INSIDE.
The cost of a row is the boxes of its key values, plus the residues of its candidates.

A `PairMatcher` is a stack of plans, the oldest the largest. A new version adds a small plan for
what it registered and a mark on what it dropped; when the small ones have grown, all become one
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.catalog import Catalog, Commit, Queries, Unanswered
from watchline.errors import UnknownVersion
from watchline.evaluate import Columns, contains, holds
from watchline.matching.plan import NEVER, Plan, Residue, plan
from watchline.matching.search import Batch, PartSearch
from watchline.model import Circle, Conjunction, Emit, Stream

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MAX_LAYERS = 8
# Following more commits than this one by one costs more than building anew.
MAX_COMMITS = 64
# A stack is rebuilt when what came on top is this part of the whole.
REBUILD_SHARE = 0.2


@dataclass(frozen=True)
class Pairs:
    """Row `rows[i]` of the batch satisfies the query `ids[i]`."""

    rows: Integers
    ids: pa.Array

    def __len__(self) -> int:
        return len(self.rows)

    def slice(self, start: int, length: int) -> Pairs:
        return Pairs(self.rows[start : start + length], self.ids.slice(start, length))


@dataclass(frozen=True)
class Base:
    """Queries planned and indexed: what a matcher starts from. Nothing in it changes."""

    stream: Stream
    plan: Plan
    searches: tuple[PartSearch, ...]


def prepare(queries: Queries, stream: Stream, emit: Emit = Emit.MATCHES) -> Base:
    return base_of(plan(queries, stream, emit), stream)


def base_of(made: Plan, stream: Stream) -> Base:
    return Base(stream, made, tuple(PartSearch.over(part) for part in made.parts))


def match(
    base: Base, columns: Columns, searches: Iterable[PartSearch]
) -> tuple[Integers, Integers]:
    """Rows and the numbers of the queries that these parts of the base find for them."""
    made = base.plan
    batch = Batch(columns, made.dictionaries)
    hits = [search.candidates(batch) for search in searches]
    if len(hits) == 1:
        [(rows, boxes)] = hits
    else:
        rows = np.concatenate([np.empty(0, np.int64), *(r for r, _ in hits)])
        boxes = np.concatenate([np.empty(0, np.int64), *(b for _, b in hits)])
    if made.residues:
        kept = _refine(made, rows, boxes, columns, base.stream)
        rows, boxes = rows[kept], boxes[kept]
    return _once(rows, made.query[boxes], made.several)


@dataclass
class Layer:
    """A base and which of its queries still live."""

    base: Base
    alive: Mask = field(init=False)
    dead: int = 0

    def __post_init__(self) -> None:
        self.alive = np.ones(len(self), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.base.plan)

    def drop(self, ids: pa.Array) -> None:
        found = pc.is_in(self.base.plan.ids, ids).to_numpy(zero_copy_only=False)
        self.alive &= ~found
        self.dead = int(len(self.alive) - self.alive.sum())


M = TypeVar("M", bound="PairMatcher")


class PairMatcher:
    """The EMIT MATCHES queries of one stream, at one version, ready for rows."""

    def __init__(self, catalog: Catalog, stream: str, version: int | None = None):
        def base_at(version: int) -> Base:
            return self._prepare(catalog.queries(version), catalog.stream(stream, version))

        first = catalog.version if version is None else version
        self._setup(stream, first, base_at, catalog.changes)

    @classmethod
    def from_bases(
        cls: type[M],
        stream: str,
        version: int,
        base_at: Callable[[int], Base],
        changes: Callable[[int, int], list[Commit]],
    ) -> M:
        """A matcher whose bases come from elsewhere; `changes` are the commits between versions."""
        matcher = cls.__new__(cls)
        matcher._setup(stream, version, base_at, changes)
        return matcher

    def _setup(
        self,
        stream: str,
        version: int,
        base_at: Callable[[int], Base],
        changes: Callable[[int, int], list[Commit]],
    ) -> None:
        self._name, self._base_at, self._changes = stream, base_at, changes
        self._build(version)

    def _build(self, version: int) -> None:
        base = self._base_at(version)
        self.stream = base.stream
        self.version = version
        self._layers = [Layer(base)]
        self._unanswered = Unanswered(base.plan.unanswered)

    def __len__(self) -> int:
        return sum(int(layer.alive.sum()) for layer in self._layers)

    @property
    def unanswered(self) -> int:
        """How many queries of the stream are not answered here."""
        return len(self._unanswered)

    def advance(self, version: int) -> None:
        """Move to another version: forward by its commits, or anew where that is not possible."""
        if version == self.version:
            return
        try:
            commits = self._changes(self.version, version) if version > self.version else None
        except UnknownVersion:
            commits = None
        if commits is None or not self._can_follow(commits):
            self._build(version)
            return
        for commit in commits:
            self._apply(commit)
        self.version = version
        sizes = [len(layer) for layer in self._layers]
        young = sum(sizes[1:]) + sum(layer.dead for layer in self._layers)
        if len(sizes) > MAX_LAYERS or young > REBUILD_SHARE * sum(sizes) + 1_000:
            self._build(version)

    def _can_follow(self, commits: list[Commit]) -> bool:
        return len(commits) <= MAX_COMMITS and not any(
            self._name in commit.dropped_streams for commit in commits
        )

    def _apply(self, commit: Commit) -> None:
        self._taken(commit)

    def _taken(self, commit: Commit) -> Base:
        """Drop and add what the commit does; gives what it adds."""
        if commit.dropped:
            ids = pa.array(sorted(commit.dropped), pa.string())
            for layer in self._layers:
                layer.drop(ids)
        added = self._prepare(commit.added, self.stream)
        self._unanswered.step(commit.dropped, added.plan.unanswered)
        if len(added.plan):
            self._layers.append(Layer(added))
        return added

    def _prepare(self, queries: Queries, stream: Stream) -> Base:
        return prepare(queries, stream)

    def match(self, rows: pa.RecordBatch | pa.Table) -> Pairs:
        """All pairs of a row and a query it satisfies."""
        columns = Columns(rows, self.stream)
        found = [_match_layer(layer, columns) for layer in self._layers]
        if len(found) == 1:
            return Pairs(*found[0])
        return Pairs(
            np.concatenate([rows_ for rows_, _ in found]),
            pa.concat_arrays([ids for _, ids in found]),
        )


def _match_layer(layer: Layer, columns: Columns) -> tuple[Integers, pa.Array]:
    base = layer.base
    rows, queries = match(base, columns, base.searches)
    if layer.dead:
        living = layer.alive[queries]
        rows, queries = rows[living], queries[living]
    ends = base.plan.until[queries]
    if (ends < NEVER).any():
        before = _is_before(ends, rows, columns, base.stream)
        rows, queries = rows[before], queries[before]
    return rows, base.plan.ids.take(pa.array(queries))


def _is_before(ends: Integers, rows: Integers, columns: Columns, stream: Stream) -> Mask:
    """Which rows are older than the end of their query; a row without a time is before no end."""
    time = stream.attribute(stream.time)
    times = columns.values(time).astype(np.int64, copy=False)[rows]
    before: Mask = (ends == NEVER) | ((times < ends) & columns.present(time)[rows])
    return before


def _refine(made: Plan, rows: Integers, boxes: Integers, columns: Columns, stream: Stream) -> Mask:
    """Which candidates also pass their residue; candidates of one residue are checked together."""
    kept = np.ones(len(rows), dtype=np.bool_)
    residues = made.residue[boxes]
    waiting = np.flatnonzero(residues >= 0)
    if not len(waiting):
        return kept
    waiting = waiting[np.argsort(residues[waiting], kind="stable")]
    numbers = residues[waiting]
    kept[waiting] = _in_circles(made.circles[numbers], rows[waiting], columns, stream)
    bounds = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))
    for start, end in pairwise(bounds):
        residue = made.residues[numbers[start]]
        if residue.atoms or not isinstance(residue.region, Circle):
            pairs = waiting[start:end]
            kept[pairs] &= _passes(residue, columns.take(rows[pairs]), stream)
    return kept


def _in_circles(
    circles: npt.NDArray[np.float64], rows: Integers, columns: Columns, stream: Stream
) -> Mask:
    """The circles of all candidates in one pass; where there is none (NaN), nothing is asked."""
    mask = np.ones(len(rows), dtype=np.bool_)
    asked = np.flatnonzero(~np.isnan(circles[:, 2]))
    if len(asked):
        assert stream.point is not None
        cx, cy, radius = circles[asked].T
        x, y = (columns.values(stream.attribute(name))[rows[asked]] for name in stream.point)
        with np.errstate(over="ignore"):
            dx, dy = x - cx, y - cy
            mask[asked] = dx * dx + dy * dy <= radius * radius
    return mask


def _passes(residue: Residue, columns: Columns, stream: Stream) -> Mask:
    mask = holds((Conjunction(residue.atoms),), columns)
    if residue.region is not None:
        assert stream.point is not None
        x, y = (columns.values(stream.attribute(name)) for name in stream.point)
        mask &= contains(residue.region, x, y)  # type: ignore[arg-type]
    return mask


def _once(rows: Integers, queries: Integers, several: Mask) -> tuple[Integers, Integers]:
    """A disjunction reports a row once, however many of its alternatives hold."""
    twice = several[queries]
    if not twice.any():
        return rows, queries
    pairs = np.unique(np.stack([rows[twice], queries[twice]], axis=1), axis=0)
    return (
        np.concatenate([rows[~twice], pairs[:, 0]]),
        np.concatenate([queries[~twice], pairs[:, 1]]),
    )
