"""A layered plan: the queries of a stream at one version, which follows the catalog.

A layered plan is a stack of prepared plans, the oldest the largest. A commit adds a small plan of
the queries that it registers, and marks those that it drops. So it costs the queries of the commit
and a look at the ids of all; when the small plans have grown, its owner builds one plan again.

Its owner says when to follow commits and when to build anew: matches and changes do so differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.catalog import Catalog, Commit, Queries, Unanswered
from watchline.errors import UnknownVersion
from watchline.kernels.arrays import Integers, Mask
from watchline.matching.plan import Plan
from watchline.model import Stream

MAX_LAYERS = 8
# A plan is overgrown when the queries that came on top or are dead are this part of the whole.
REBUILD_SHARE = 0.2


class Prepared(Protocol):
    """A plan that is ready for rows, whatever it has beside the plan."""

    @property
    def stream(self) -> Stream: ...

    @property
    def plan(self) -> Plan: ...


P = TypeVar("P", bound=Prepared)


@dataclass(frozen=True)
class PlanSource(Generic[P]):
    """Where a layered plan comes from: how queries are prepared, the plan of all queries at a
    version, and the commits between two versions."""

    stream: str
    prepare: Callable[[Queries, Stream], P]
    plan_at: Callable[[int], P]
    commits: Callable[[int, int], list[Commit]]

    @staticmethod
    def of(catalog: Catalog, stream: str, prepare: Callable[[Queries, Stream], P]) -> PlanSource[P]:
        def plan_at(version: int) -> P:
            return prepare(catalog.queries(version), catalog.stream(stream, version))

        return PlanSource(stream, prepare, plan_at, catalog.changes)


@dataclass
class Layer(Generic[P]):
    """A prepared plan and which of its queries still live."""

    prepared: P
    alive: Mask = field(init=False)
    dead: int = 0

    def __post_init__(self) -> None:
        self.alive = np.ones(len(self), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.prepared.plan)

    def drop(self, ids: pa.Array) -> None:
        """Mark these queries as dead."""
        self.alive &= ~is_among(self.prepared.plan.ids, ids)
        self.dead = int(len(self.alive) - self.alive.sum())

    def with_plan(self, prepared: P) -> Layer[P]:
        """The same queries, alive or dead as here, in another plan of the same numbers."""
        layer = Layer(prepared)
        layer.alive, layer.dead = self.alive, self.dead
        return layer


class LayeredPlan(Generic[P]):
    """The queries of one stream at one version, as a stack of prepared plans."""

    def __init__(self, source: PlanSource[P], version: int):
        self._source = source
        self.build(version)

    def build(self, version: int) -> None:
        """Make one plan of all queries at a version."""
        whole = self._source.plan_at(version)
        self.stream = whole.stream
        self.version = version
        self._layers = [Layer(whole)]
        self._unanswered = Unanswered(whole.plan.unanswered)

    def __len__(self) -> int:
        """How many queries live."""
        return sum(int(layer.alive.sum()) for layer in self._layers)

    def __iter__(self) -> Iterator[Layer[P]]:
        return iter(self._layers)

    @property
    def layers(self) -> int:
        """How many plans the stack has."""
        return len(self._layers)

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self._source.stream

    @property
    def unanswered(self) -> int:
        """How many queries of the stream are not answered here."""
        return len(self._unanswered)

    @property
    def is_overgrown(self) -> bool:
        """Whether one plan of all queries would serve rows better than this stack."""
        sizes = [len(layer) for layer in self._layers]
        young = sum(sizes[1:]) + sum(layer.dead for layer in self._layers)
        return len(sizes) > MAX_LAYERS or young > REBUILD_SHARE * sum(sizes) + 1_000

    def check(self, version: int) -> None:
        """Refuse a version that there is not."""
        self._source.commits(version, version)

    def commits_to(self, version: int) -> list[Commit] | None:
        """The commits that lead to a version; None for an older version, and where the log does not
        reach back to this one."""
        if version < self.version:
            return None
        try:
            return self._source.commits(self.version, version)
        except UnknownVersion:
            return None

    def take(self, commit: Commit) -> P:
        """Drop and add queries as the next commit does; gives the plan of those that it adds."""
        if commit.dropped:
            ids = pa.array(sorted(commit.dropped), pa.string())
            for layer in self._layers:
                layer.drop(ids)
        added = self._source.prepare(commit.added, self.stream)
        self._unanswered.step(commit.dropped, added.plan.unanswered)
        if len(added.plan):
            self._layers.append(Layer(added))
        self.version = commit.version
        return added

    def among(self, ids: pa.Array) -> Iterator[tuple[P, Integers]]:
        """The plans that have living queries of these ids, and the numbers of these there."""
        for layer in self._layers:
            numbers = np.flatnonzero(is_among(layer.prepared.plan.ids, ids) & layer.alive)
            if len(numbers):
                yield layer.prepared, numbers

    def mapped(self, change: Callable[[P], P]) -> LayeredPlan[P]:
        """The same queries at the same version, each plan changed by a function."""
        twin = copy(self)
        twin._layers = [layer.with_plan(change(layer.prepared)) for layer in self._layers]
        return twin


def is_among(ids: pa.Array, others: pa.Array) -> Mask:
    """Which ids are some of the others."""
    return np.asarray(pc.is_in(ids, value_set=others).to_numpy(zero_copy_only=False), np.bool_)
