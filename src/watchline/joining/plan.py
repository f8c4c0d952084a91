"""The plan of joins, and the tuples that a batch completes by it.

Queries of two streams are directions, shared as far as they can be; those of three streams or more
are answered one by one. What comes out has a row for each *slot*: a stream, and which time it
stands in FROM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from watchline.joining.chain import chained
from watchline.joining.directions import (
    Direction,
    DirectionShape,
    Half,
    Life,
    Member,
    directions_of,
    halves,
)
from watchline.joining.probe import JoinedPairs
from watchline.joining.windows import JoinFrame
from watchline.kernels.arrays import Integers, Mask, Small
from watchline.model import Query, RangeWindow
from watchline.rows import stable_order


class Prober(Protocol):
    """A direction that can be asked, by whatever method."""

    def pairs(self, frame: JoinFrame) -> Iterator[JoinedPairs]: ...


Build = Callable[[Direction], Prober]


class Slot(NamedTuple):
    """A stream, and which time it stands in FROM: the place of a row in the result."""

    stream: str
    time: int

    def column(self, attribute: str) -> str:
        return f"{self.stream}{self.time if self.time > 1 else ''}_{attribute}"


class SlotTuples(NamedTuple):
    """Tuples: their queries, the turns of the rows that completed them, and for each slot the row
    in its stretch, or -1."""

    query: Small
    turn: Integers
    rows: list[Integers]


class JoinQuery(NamedTuple):
    """A query of a joiner: its number, which stays while it lives, and the halves of its
    conjunctions if it joins two streams."""

    number: int
    query: Query
    halves: list[Half]

    @staticmethod
    def of(number: int, query: Query) -> JoinQuery:
        return JoinQuery(number, query, halves(query) if len(query.sources) == 2 else [])


class JoinPlan:
    """Queries as directions, and those of three streams or more as they are. Directions that are as
    they were `before` are not made again."""

    def __init__(
        self,
        asked: list[JoinQuery],
        lives: list[Life],
        build: Build,
        before: JoinPlan | None = None,
    ):
        named = {a.number: a.query.id for a in asked}
        self.ids = pa.array([named.get(i, "") for i in range(max(named, default=-1) + 1)])
        self.young = {birth for life in lives for birth in life.births}
        both = list(zip(asked, lives, strict=True))
        self._more = [(a, life) for a, life in both if len(a.query.sources) > 2]
        made = directions_of((a.number, a.halves, life) for a, life in both)
        known = {} if before is None else before._directions
        self._directions: dict[DirectionShape, tuple[list[Member], Prober]] = {}
        for direction in made:
            shape, members = direction
            old = known.get(shape)
            if old is None or old[0] != members:
                old = (members, build(direction))
            self._directions[shape] = old
        self._disjunct = np.zeros(len(self.ids), np.bool_)
        self._disjunct[[a.number for a in asked if len(a.query.where) > 1]] = True
        self.windows = _windows([a.query for a in asked])

    def tuples(self, frame: JoinFrame, slots: list[Slot]) -> SlotTuples:
        """All tuples that the fresh rows complete, in the order of these rows."""
        probers = [prober for _, prober in self._directions.values()]
        parts = [self._paired(p, frame, slots) for d in probers for p in d.pairs(frame)]
        parts = [_once(_concatenated(parts, slots), self._disjunct)]
        for asked, life in self._more:
            into = [slots.index(slot) for slot in slots_of(asked.query)]
            for rows, turns in chained(asked.query, life, frame):
                columns = [np.full(len(rows), -1) for _ in slots]
                for position, slot in enumerate(into):
                    columns[slot] = rows[:, position]
                number = np.full(len(rows), asked.number, np.int32)
                parts.append(SlotTuples(number, turns, columns))
        every = _concatenated([part for part in parts if len(part.query)], slots)
        if len(every.turn) and (every.turn[1:] < every.turn[:-1]).any():
            order = stable_order(every.turn)
            every = SlotTuples(
                every.query[order], every.turn[order], [r[order] for r in every.rows]
            )
        return every

    def _paired(self, pairs: JoinedPairs, frame: JoinFrame, slots: list[Slot]) -> SlotTuples:
        shape = pairs.shape
        counts = np.diff(pairs.ends, prepend=0)
        stretch = frame.stretches[shape.streams[0]]
        columns = [np.full(len(pairs.ids), -1)] * len(slots)
        rows = (pairs.trigger, pairs.partner)
        for position, stream, row in zip(shape.positions, shape.streams, rows, strict=True):
            time = position + 1 if shape.is_self else 1
            columns[slots.index(Slot(stream, time))] = np.repeat(row.astype(np.int64), counts)
        turns = np.repeat(stretch.turns[pairs.trigger - stretch.fresh], counts)
        # The arrays of pairs are written again for the next ones.
        return SlotTuples(pairs.ids.copy(), turns, columns)


def slots_of(query: Query) -> list[Slot]:
    """The slot of each position in FROM."""
    seen: Counter[str] = Counter()
    found = []
    for source in query.sources:
        seen[source.stream] += 1
        found.append(Slot(source.stream, seen[source.stream]))
    return found


def columns_of(query: Query) -> tuple[str, ...]:
    """The columns of the result that a join with a SELECT list selects, each once."""
    assert query.select is not None
    slots = dict(zip((source.alias for source in query.sources), slots_of(query), strict=True))
    names = (slots[attribute.alias].column(attribute.name) for attribute in query.select)
    return tuple(dict.fromkeys(names))


def _windows(queries: list[Query]) -> dict[str, tuple[int, int]]:
    """For each stream the longest time and the most rows that a window holds."""
    found: dict[str, tuple[int, int]] = {}
    for query in queries:
        for source in query.sources:
            length, rows = found.get(source.stream, (-1, 0))
            if isinstance(source.window, RangeWindow):
                length = max(length, source.window.length)
            elif source.window is not None:
                rows = max(rows, source.window.rows)
            found[source.stream] = (length, rows)
    return found


def _concatenated(parts: list[SlotTuples], slots: list[Slot]) -> SlotTuples:
    if not parts:
        none = np.empty(0, np.int64)
        return SlotTuples(np.empty(0, np.int32), none, [none] * len(slots))
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(c) for c in zip(*(part.rows for part in parts), strict=True)]
    return SlotTuples(
        np.concatenate([part.query for part in parts]),
        np.concatenate([part.turn for part in parts]),
        columns,
    )


def _once(tuples: SlotTuples, disjunct: Mask) -> SlotTuples:
    """Tuples of disjunctions once, however many of their conjunctions hold."""
    if not len(tuples.query) or not disjunct[tuples.query].any():
        return tuples
    some = np.flatnonzero(disjunct[tuples.query])
    keys = np.stack([tuples.query[some].astype(np.int64), *(r[some] for r in tuples.rows)], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    keep = ~disjunct[tuples.query]
    keep[some[first]] = True
    return SlotTuples(tuples.query[keep], tuples.turn[keep], [r[keep] for r in tuples.rows])
