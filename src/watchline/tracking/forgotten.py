"""Shadows that a tracker had no room for: how many objects answers may miss without its knowing.

A bound on shadows means that some are forgotten (`bounded`). An object moves only when it reports,
and then it is known again. So a query that stays misses at most those forgotten objects that it
held when they were forgotten. A query that moves may come to any of them, and so may one that is
registered later. These counts are never too low: nobody knows which forgotten objects have reported
since. The accuracy that follows is the least that is possible.

With a TIMEOUT an object that was forgotten has reported or expired when that much time has passed.
So counts have two generations: the older one is dropped when the newer one is as old as a TIMEOUT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass
class Generation:
    """So many objects were forgotten, and so many of them were in the answer of each query."""

    objects: int = 0
    answers: Counter[str] = field(default_factory=Counter)


class Forgotten:
    """What is still known of forgotten shadows: their number, and the queries that held them."""

    def __init__(self) -> None:
        self._older, self._newer = Generation(), Generation()
        # The stream's time when the newer generation began.
        self._since: int | None = None

    @property
    def objects(self) -> int:
        """How many forgotten objects answers may still miss."""
        return self._older.objects + self._newer.objects

    @property
    def answers(self) -> Counter[str]:
        """How many of these each query that stays may miss."""
        return self._older.answers + self._newer.answers

    def add(self, objects: int, answers: Counter[str], now: int) -> None:
        """Objects are forgotten at this time of the stream, while they are in these answers."""
        if self._since is None:
            self._since = now
        self._newer.objects += objects
        self._newer.answers += answers

    def age(self, now: int | None, timeout: int | None) -> None:
        """Drop the objects that have reported or expired by this time of the stream."""
        if self._since is None or now is None or timeout is None or now - self._since <= timeout:
            return
        self._older, self._newer = self._newer, Generation()
        self._since = now if self._older.objects else None

    def replace(self, dropped: Iterable[str], ids: pa.Array) -> None:
        """Queries are dropped and those of these ids come: they may hold any forgotten object."""
        if not self.objects:
            return
        came = ids.to_pylist()
        for generation in (self._older, self._newer):
            for name in dropped:
                generation.answers.pop(name, None)
            generation.answers.update(dict.fromkeys(came, generation.objects))

    def state(self) -> list[Any]:
        """As JSON has it, for `of`."""
        sides = ([side.objects, dict(side.answers)] for side in (self._older, self._newer))
        return [self._since, *sides]

    @staticmethod
    def of(state: list[Any]) -> Forgotten:
        made = Forgotten()
        made._since, older, newer = state
        made._older, made._newer = (
            Generation(objects, Counter(answers)) for objects, answers in (older, newer)
        )
        return made
