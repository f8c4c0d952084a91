"""A layered plan: the queries of a stream at one version, which follows the catalog.

A layered plan is a stack of prepared plans, the oldest the largest. A commit adds a small plan of
the queries that it registers, and marks those that it drops. So it costs the queries of the commit.
Small plans are joined, so that each is several times as large as the next and there are few; when
they have grown, its owner builds one plan again. Both are paid by the queries that came since.

Its owner says when to follow commits and when to build anew: matches and changes do so differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

# The two newest layers are joined if they have so few queries, or the older one less than so many
# times the queries of the newer one.
FEW, TIMES = 16, 4
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
    # One plan of queries of others, by their numbers.
    join: Callable[[Sequence[tuple[P, Integers]], Stream], P]
    plan_at: Callable[[int], P]
    commits: Callable[[int, int], list[Commit]]

    @staticmethod
    def of(
        catalog: Catalog,
        stream: str,
        prepare: Callable[[Queries, Stream], P],
        join: Callable[[Sequence[tuple[P, Integers]], Stream], P],
    ) -> PlanSource[P]:
        def plan_at(version: int) -> P:
            return prepare(catalog.queries(version), catalog.stream(stream, version))

        return PlanSource(stream, prepare, join, plan_at, catalog.changes)


@dataclass
class Layer(Generic[P]):
    """A prepared plan and which of its queries still live."""

    prepared: P
    alive: Mask = field(init=False)
    # How many living queries have each of the plan's `uses`.
    in_use: Integers = field(init=False)
    dead: int = 0

    def __post_init__(self) -> None:
        made = self.prepared.plan
        self.alive = np.ones(len(self), dtype=np.bool_)
        self.in_use = np.bincount(made.use, minlength=len(made.uses))

    def __len__(self) -> int:
        return len(self.prepared.plan)

    @property
    def living(self) -> int:
        """How many queries live."""
        return len(self) - self.dead

    def find(self, ids: pa.Array) -> Integers:
        """The numbers of the living queries of these ids, in order."""
        numbers = self.prepared.plan.numbers.find(ids)
        numbers = numbers[numbers >= 0]
        return np.unique(numbers[self.alive[numbers]])

    def drop(self, ids: pa.Array) -> None:
        """Mark these queries as dead."""
        numbers = self.find(ids)
        if not len(numbers):
            return
        made = self.prepared.plan
        self.alive[numbers] = False
        self.in_use -= np.bincount(made.use[numbers], minlength=len(made.uses))
        self.dead += len(numbers)

    def with_plan(self, prepared: P) -> Layer[P]:
        """The same queries, alive or dead as here, in another plan of the same numbers."""
        layer = Layer(prepared)
        layer.alive, layer.in_use, layer.dead = self.alive, self.in_use, self.dead
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
        return sum(layer.living for layer in self._layers)

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
        return young > REBUILD_SHARE * sum(sizes) + 1_000

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
            self._join_young()
        self.version = commit.version
        return added

    def _join_young(self) -> None:
        """Join the newest layers that are of much the same size. The first stays as it is: several
        processes may share it."""
        while len(self._layers) > 2:
            older, newer = (layer.living for layer in self._layers[-2:])
            if older + newer > FEW and older >= TIMES * newer:
                return
            pair = [(of.prepared, np.flatnonzero(of.alive)) for of in self._layers[-2:]]
            self._layers[-2:] = [Layer(self._source.join(pair, self.stream))]

    def among(self, ids: pa.Array) -> Iterator[tuple[P, Integers]]:
        """The plans that have living queries of these ids, and the numbers of these there."""
        for layer in self._layers:
            numbers = layer.find(ids)
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
