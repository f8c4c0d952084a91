"""When queries begin and end by themselves, and which of those that move wait for focal objects.

A tracker keeps lives itself, because they follow the time of its stream; the queries are shared
with other trackers.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.matching import NEVER, Plan
from watchline.proximity import FIRST, Moving

# A query that waits for all its focal objects, since ever.
ALL_FOCALS = (3, FIRST)


class End(NamedTuple):
    """The last moment whose rows count for a query, and the time of its closing changes.

    FOR INTERVAL counts rows of the moment it ends at: both are the same. UNTIL does not.
    """

    last: int
    time: int

    @property
    def is_before_rows(self) -> bool:
        """Whether the query ends before the rows of that time, not after them."""
        return self.last < self.time


class Term(NamedTuple):
    """When a query ends by itself: after a life time (0 for none), at a moment (NEVER for none)."""

    lifetime: int
    until: int

    def end(self, birth: int) -> End:
        """The end of a query that was registered at this time of the stream."""
        lived = min(birth + self.lifetime, NEVER) if self.lifetime else NEVER
        before = self.until - 1 if self.until < NEVER else NEVER
        return End(min(lived, before), min(lived, self.until))


def terms_of(made: Plan, alive: npt.NDArray[np.bool_] | bool = True) -> dict[str, Term]:
    """The terms of queries that have one."""
    numbers = np.flatnonzero(made.mortal & alive)
    ids = made.ids.take(pa.array(numbers)).to_pylist()
    terms = map(Term, made.lifetime[numbers].tolist(), made.until[numbers].tolist())
    return dict(zip(ids, terms, strict=True))


class Lives:
    """The lives of a tracker's queries.

    `terms` has the queries that end by themselves, and `births` those of them that are alive, with
    the newest time of the stream when each was registered, None before the first row. `waiting` has
    the queries that wait: for which focal objects, and since when a report counts.

    The ends of lives stand in a heap, so that a batch pays for the lives that end in it alone.
    """

    def __init__(self, terms: dict[str, Term], moving: Iterable[Moving] = ()):
        self.waiting: dict[str, tuple[int, int]] = {}
        # The queries whose lives changed since `touched` was last called; None as long as nobody
        # asks.
        self._touched: set[str] | None = None
        self.resume(terms, dict.fromkeys(terms))
        self.await_focals(moving)

    def resume(self, terms: dict[str, Term], births: dict[str, int | None]) -> None:
        """These are all queries that end by themselves, and those of them that are alive."""
        self.terms, self.births = terms, births
        # By the last moment of a life; an entry counts only if its number is the query's.
        self._ends: list[tuple[int, int, str]] = []
        self._numbers: dict[str, int] = {}
        self._entered = 0
        self._expect(births)

    def _expect(self, names: Iterable[str]) -> None:
        """Note when the lives of these queries end, if that is known."""
        for name in names:
            birth = self.births[name]
            if birth is not None:
                self._entered += 1
                self._numbers[name] = self._entered
                end = self.terms[name].end(birth)
                heapq.heappush(self._ends, (end.last, self._entered, name))

    def ending(self, newest: int) -> dict[str, End]:
        """The queries whose last moment is before this time, and their ends."""
        found = {}
        for _, number, name in self._entries_before(newest):
            birth = self.births.get(name)
            if self._numbers.get(name) == number and birth is not None:
                found[name] = self.terms[name].end(birth)
        return found

    def _entries_before(self, newest: int) -> Iterator[tuple[int, int, str]]:
        """The entries of the heap that are before this time; no other entry is looked at but those
        below them."""
        waiting = [0]
        while waiting:
            at = waiting.pop()
            if at < len(self._ends) and self._ends[at][0] < newest:
                yield self._ends[at]
                waiting += [2 * at + 1, 2 * at + 2]

    def _note(self, names: Iterable[str]) -> None:
        """The lives of these queries have changed."""
        if self._touched is not None:
            self._touched.update(names)

    def end(self, names: Collection[str], newest: int) -> None:
        """The lives of these queries are over; they were all that end before this time."""
        for name in names:
            del self.births[name]
            del self._numbers[name]
        self._note(names)
        while self._ends and self._ends[0][0] < newest:
            heapq.heappop(self._ends)

    def first_row(self, time: int) -> None:
        """Lives that had no beginning yet begin with the stream's first row."""
        self._note(self.births)
        self.resume(self.terms, dict.fromkeys(self.births, time))

    def await_focals(self, moving: Iterable[Moving]) -> None:
        """Only these queries wait, and each for all its focal objects."""
        names = (name for queries in moving for name in queries.ids.to_pylist())
        nobody: dict[str, tuple[int, int] | None] = dict.fromkeys(self.waiting)
        self.wait(nobody | dict.fromkeys(names, ALL_FOCALS))

    def wait(self, changed: Mapping[str, tuple[int, int] | None]) -> None:
        """These queries wait so from now on; those with None do not wait."""
        for name, focals in changed.items():
            if self.waiting.get(name) == focals:
                continue
            self._note([name])
            if focals is None:
                del self.waiting[name]
            else:
                self.waiting[name] = focals

    def begin(self, made: Plan, newest: int | None) -> None:
        """The lives of these queries begin, but for those whose end has passed already."""
        terms = terms_of(made)
        self.terms |= terms
        now = FIRST if newest is None else newest
        born = [name for name, term in terms.items() if term.until > now]
        self.births |= dict.fromkeys(born, newest)
        self._note(born)
        self._expect(born)

    def drop(self, ids: Iterable[str]) -> None:
        """Queries are dropped."""
        for query_id in ids:
            if query_id in self.births:
                self._note([query_id])
            self.births.pop(query_id, None)
            self.terms.pop(query_id, None)
            self._numbers.pop(query_id, None)

    # --- state

    def state(self) -> dict[str, Any]:
        """All lives, as the head of a state has them."""
        return {"births": self.births, "waiting": self.waiting}

    def touched(self) -> frozenset[str]:
        """The queries whose lives changed since this was last called. The first call begins to take
        notes."""
        touched, self._touched = frozenset(self._touched or ()), set()
        return touched

    def changed(self, names: Iterable[str]) -> dict[str, Any]:
        """The lives of these queries, as the head of a delta has them, for `after_delta`."""
        names = sorted(names)
        births, waiting = self.births, self.waiting
        return {
            "born": {name: births[name] for name in names if name in births},
            "over": [name for name in names if name not in births],
            "waits": {name: waiting[name] for name in names if name in waiting},
            "started": [name for name in names if name not in waiting],
        }

    def is_alive(self, name: str) -> bool:
        """Whether the life of a query is not over."""
        return name not in self.terms or name in self.births

    @property
    def are_all_alive(self) -> bool:
        """Whether no life is over."""
        return all(name in self.births for name in self.terms)

    def ended(self) -> list[str]:
        """The queries whose life is over."""
        return [name for name in self.terms if name not in self.births]

    def alive(self, queries: Moving) -> Moving:
        """Those of these queries whose life is not over."""
        alive = [self.is_alive(name) for name in queries.ids.to_pylist()]
        return queries.take(np.flatnonzero(np.array(alive, dtype=np.bool_)))


def after_delta(before: Mapping[str, Any], delta: Mapping[str, Any]) -> dict[str, Any]:
    """All lives, as `Lives.state` gives them, after a delta whose head this is. A delta of an older
    release has all lives itself."""
    if "births" in delta:
        return {name: delta[name] for name in ("births", "waiting")}
    lives = delta["lives"]
    births, waiting = (
        {name: value for name, value in before[key].items() if name not in gone}
        for key, gone in (("births", set(lives["over"])), ("waiting", set(lives["started"])))
    )
    return {"births": births | lives["born"], "waiting": waiting | lives["waits"]}
