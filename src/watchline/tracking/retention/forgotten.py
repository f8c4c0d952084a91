"""Shadows that a tracker had no room for: how many objects answers may miss without its knowing.

A bound on shadows means that some are forgotten (`bounded`). An object moves only when it reports,
and then it is known again. So a query that stays misses at most those forgotten objects that it
held when they were forgotten. A query that moves may come to any of them, and a query that is
registered later may hold any object that was forgotten before. These counts are never too low:
nobody knows which forgotten objects have reported since. The accuracy that follows is the least
that is possible.

A query that was registered after objects were forgotten is known by its version. So a state has
numbers of versions and the queries that held forgotten objects, and nothing of queries that are
registered later, however many they are.

With a TIMEOUT an object that was forgotten has reported or expired when that much time has passed.
So counts have two generations: the older one is dropped when the newer one is as old as a TIMEOUT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from watchline.kernels.arrays import Integers

# Versions that a generation tells apart. Beyond that the oldest two count as the older one: then
# queries that were registered between them are said to miss more than they may, never less.
VERSIONS = 64


@dataclass
class Generation:
    """Objects that were forgotten: how many at each version of the catalog, the oldest version
    first; and how many of them each query held that was registered by then."""

    objects: dict[int, int] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)

    def add(self, version: int, objects: int, answers: Counter[str]) -> None:
        self.objects[version] = self.objects.get(version, 0) + objects
        self.answers += answers
        if len(self.objects) > VERSIONS:
            oldest, second, *_ = self.objects
            self.objects[oldest] += self.objects.pop(second)


class Forgotten:
    """What is still known of forgotten shadows: their number, and the queries that held them."""

    def __init__(self) -> None:
        self._older, self._newer = Generation(), Generation()
        # The stream's time when the newer generation began.
        self._since: int | None = None

    @property
    def objects(self) -> int:
        """How many forgotten objects answers may still miss."""
        return sum(self._older.objects.values()) + sum(self._newer.objects.values())

    @property
    def answers(self) -> Counter[str]:
        """How many of these each query held when they were forgotten; queries that held none, or
        were registered later, are not in it."""
        return self._older.answers + self._newer.answers

    @property
    def oldest(self) -> int:
        """The oldest version at which objects were forgotten that answers may still miss."""
        return min([*self._older.objects, *self._newer.objects])

    def before(self, versions: Integers) -> Integers:
        """How many of these objects were forgotten before each of these versions: a query that was
        registered with one may miss them all."""
        objects = Counter(self._older.objects)
        objects.update(self._newer.objects)
        known = np.array(sorted(objects), np.int64)
        totals = np.cumsum([0, *(objects[version] for version in known.tolist())])
        found: Integers = totals[np.searchsorted(known, versions)]
        return found

    def add(self, objects: int, answers: Counter[str], now: int, version: int) -> None:
        """Objects are forgotten at this time of the stream and this version of the catalog, while
        they are in these answers."""
        if self._since is None:
            self._since = now
        self._newer.add(version, objects, answers)

    def age(self, now: int | None, timeout: int | None) -> None:
        """Drop the objects that have reported or expired by this time of the stream."""
        if self._since is None or now is None or timeout is None or now - self._since <= timeout:
            return
        self._older, self._newer = self._newer, Generation()
        self._since = now if self._older.objects else None

    def drop(self, queries: Set[str]) -> None:
        """Queries are dropped, or replaced: then each counts as registered later."""
        for generation in (self._older, self._newer):
            for name in generation.answers.keys() & queries:
                del generation.answers[name]

    def state(self) -> list[Any]:
        """As JSON has it, for `of`."""
        sides = (
            [list(side.objects.items()), dict(side.answers)] for side in (self._older, self._newer)
        )
        return [self._since, *sides]

    @staticmethod
    def of(state: list[Any]) -> Forgotten:
        made = Forgotten()
        made._since, older, newer = state
        made._older, made._newer = (
            Generation(dict(objects), Counter(answers)) for objects, answers in (older, newer)
        )
        return made
