"""Matching: batches of rows against a plan, as pairs of row and query.

Invariant: (row, query) comes out once, exactly if the row satisfies the query's WHERE and INSIDE.
The cost of a row is the boxes of its key values, plus the residues of its candidates.

A `PairMatcher` follows the catalog by a layered plan (`layers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np
import pyarrow as pa

from watchline.catalog import Catalog, Commit, Queries
from watchline.kernels.arrays import Integers, Mask
from watchline.matching.joined import joined
from watchline.matching.layers import Layer, LayeredPlan, PlanSource
from watchline.matching.plan import NEVER, Part, Plan, RegionPart, point_of
from watchline.matching.planner import plan
from watchline.matching.search import PartSearch, RegionSearch, SearchRows
from watchline.model import Emit, Stream
from watchline.rows import Columns, taken

# Following more commits than this one by one costs more than building anew.
MAX_COMMITS = 64


@dataclass(frozen=True)
class MatchPairs:
    """Row `rows[i]` of the batch satisfies the query `ids[i]`."""

    rows: Integers
    ids: pa.Array

    def __len__(self) -> int:
        return len(self.rows)

    def slice(self, start: int, length: int) -> MatchPairs:
        """So many pairs from a place on."""
        return MatchPairs(self.rows[start : start + length], self.ids.slice(start, length))


Search = Union[PartSearch, RegionSearch]


def search_over(part: Part) -> Search:
    """The search of a part, with its indexes."""
    return RegionSearch.over(part) if isinstance(part, RegionPart) else PartSearch.over(part)


@dataclass(frozen=True)
class PreparedPlan:
    """A plan and the indexes over its parts. Nothing in it changes."""

    stream: Stream
    plan: Plan
    searches: tuple[Search, ...]

    @staticmethod
    def of(made: Plan, stream: Stream) -> PreparedPlan:
        """Build the indexes of a plan."""
        return PreparedPlan(stream, made, tuple(map(search_over, made.parts)))


def prepare(queries: Queries, stream: Stream) -> PreparedPlan:
    """The EMIT MATCHES queries of a stream, planned and indexed."""
    return PreparedPlan.of(plan(queries, stream), stream)


def join(pieces: Sequence[tuple[PreparedPlan, Integers]], stream: Stream) -> PreparedPlan:
    """One plan of these queries of prepared plans."""
    plans = [(prepared.plan, numbers) for prepared, numbers in pieces]
    return PreparedPlan.of(joined(plans, stream, Emit.MATCHES), stream)


def match(
    prepared: PreparedPlan, columns: Columns, searches: Iterable[Search]
) -> tuple[Integers, Integers]:
    """Rows and the numbers of the queries that they satisfy, by these parts of the plan."""
    made = prepared.plan
    coded = SearchRows(columns, made.known)
    hits = [search.candidates(coded) for search in searches]
    if len(hits) == 1:
        [(rows, boxes)] = hits
    else:
        rows = np.concatenate([np.empty(0, np.int64), *(r for r, _ in hits)])
        boxes = np.concatenate([np.empty(0, np.int64), *(b for _, b in hits)])
    if len(made.residues):
        point = point_of(prepared.stream)
        kept = made.residues.hold(made.residue[boxes], rows, columns, point)
        rows, boxes = rows[kept], boxes[kept]
    queries = made.query[boxes]
    return _once(rows, queries, made.several) if made.has_several else (rows, queries)


class PairMatcher:
    """The EMIT MATCHES queries of one stream, at one version, ready for rows."""

    def __init__(self, catalog: Catalog, stream: str, version: int | None = None):
        source = PlanSource.of(catalog, stream, prepare, join)
        self._plan = LayeredPlan(source, catalog.version if version is None else version)

    @classmethod
    def from_plans(
        cls,
        stream: str,
        version: int,
        plan_at: Callable[[int], PreparedPlan],
        commits: Callable[[int, int], list[Commit]],
    ) -> PairMatcher:
        """A matcher whose first plan of a version comes from elsewhere, as do the commits between
        versions."""
        matcher = cls.__new__(cls)
        matcher._plan = LayeredPlan(PlanSource(stream, prepare, join, plan_at, commits), version)
        return matcher

    def __len__(self) -> int:
        return len(self._plan)

    @property
    def version(self) -> int:
        """The version whose queries these are."""
        return self._plan.version

    @property
    def stream(self) -> Stream:
        """The stream as it is declared at this version."""
        return self._plan.stream

    @property
    def unanswered(self) -> int:
        """How many queries of the stream are not answered here."""
        return self._plan.unanswered

    def advance(self, version: int) -> None:
        """Move to another version: forward by its commits, or anew where that is not possible or
        costs more."""
        if version == self.version:
            return
        commits = self._plan.commits_to(version)
        if commits is None or not self._can_follow(commits):
            self._plan.build(version)
            return
        for commit in commits:
            self._plan.take(commit)
        if self._plan.is_overgrown:
            self._plan.build(version)

    def _can_follow(self, commits: list[Commit]) -> bool:
        return len(commits) <= MAX_COMMITS and not any(
            self.stream.name in commit.dropped_streams for commit in commits
        )

    def match(self, rows: pa.RecordBatch | pa.Table) -> MatchPairs:
        """All pairs of a row and a query it satisfies."""
        columns = Columns(rows, self.stream)
        pairs = [_match_layer(layer, columns) for layer in self._plan]
        if len(pairs) == 1:
            return MatchPairs(*pairs[0])
        return MatchPairs(
            np.concatenate([numbers for numbers, _ in pairs]),
            pa.concat_arrays([ids for _, ids in pairs]),
        )


def _match_layer(layer: Layer[PreparedPlan], columns: Columns) -> tuple[Integers, pa.Array]:
    prepared = layer.prepared
    rows, queries = match(prepared, columns, prepared.searches)
    if layer.dead:
        living = layer.alive[queries]
        rows, queries = rows[living], queries[living]
    if prepared.plan.has_ends:
        ends = prepared.plan.until[queries]
        before = _is_before(ends, rows, columns, prepared.stream)
        rows, queries = rows[before], queries[before]
    return rows, taken(prepared.plan.ids, queries)


def _is_before(ends: Integers, rows: Integers, columns: Columns, stream: Stream) -> Mask:
    """Which rows are older than the end of their query; a row without a time is before no end."""
    time = stream.attribute(stream.time)
    times = columns.values(time).astype(np.int64, copy=False)[rows]
    before: Mask = (ends == NEVER) | ((times < ends) & columns.present(time)[rows])
    return before


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
