"""The plan of joins, and the tuples it finds in a batch.

Queries of two streams are directions, shared as far as they can be; those of three streams or more
are answered one by one. What comes out has a row for each *slot*: a stream, and which time it
stands in FROM.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.model import Query, RangeWindow
from watchline.tracking.rows import stable_order
from watchline.windowjoin import (
    BitsDirection,
    Frame,
    IndexedDirection,
    Life,
    Pairs,
    chained,
    directions,
)

Integers = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]


class Slot(NamedTuple):
    """A stream, and which time it stands in FROM: the place of a row in the result."""

    stream: str
    time: int

    def column(self, attribute: str) -> str:
        return f"{self.stream}{self.time if self.time > 1 else ''}_{attribute}"


class Found(NamedTuple):
    """Tuples: their queries, the turns of the rows that completed them, and for each slot the row
    in its stretch, or -1."""

    query: Small
    turn: Integers
    rows: list[Integers]


class Plan:
    """Queries as directions, and those of three streams or more as they are."""

    def __init__(self, queries: list[Query], lives: dict[str, Life], method: str):
        self._queries, self._lives = queries, [lives[q.id] for q in queries]
        self.ids = pa.array([q.id for q in queries], pa.string())
        self.young = {birth for life in self._lives for birth in life.births}
        numbered = list(enumerate(zip(queries, self._lives, strict=True)))
        two = [(i, q, life) for i, (q, life) in numbered if len(q.sources) == 2]
        self._more = [i for i, (q, _) in numbered if len(q.sources) > 2]
        build = BitsDirection if method == "bits" else lambda d: IndexedDirection(d, method)
        self._directions = [build(direction) for direction in directions(two)]
        self._disjunct = np.array([len(q.where) > 1 for q in queries], np.bool_)
        self.windows = _windows(queries)

    def found(self, frame: Frame, slots: list[Slot]) -> Found:
        """All tuples that the fresh rows complete, in the order of these rows."""
        parts = [self._paired(p, frame, slots) for d in self._directions for p in d.pairs(frame)]
        pairs = _once(_concatenated(parts, slots), self._disjunct)
        parts = [pairs]
        for i in self._more:
            query = self._queries[i]
            into = _places(query, slots)
            for rows, turns in chained(query, self._lives[i], frame):
                columns = [np.full(len(rows), -1) for _ in slots]
                for position, slot in enumerate(into):
                    columns[slot] = rows[:, position]
                parts.append(Found(np.full(len(rows), i, np.int32), turns, columns))
        every = _concatenated([part for part in parts if len(part.query)], slots)
        if len(every.turn) and (every.turn[1:] < every.turn[:-1]).any():
            order = stable_order(every.turn)
            every = Found(every.query[order], every.turn[order], [r[order] for r in every.rows])
        return every

    def _paired(self, pairs: Pairs, frame: Frame, slots: list[Slot]) -> Found:
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
        return Found(pairs.ids.copy(), turns, columns)


def _places(query: Query, slots: list[Slot]) -> list[int]:
    """The slot of each position."""
    seen: Counter[str] = Counter()
    found = []
    for source in query.sources:
        seen[source.stream] += 1
        found.append(slots.index(Slot(source.stream, seen[source.stream])))
    return found


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


def _concatenated(parts: list[Found], slots: list[Slot]) -> Found:
    if not parts:
        none = np.empty(0, np.int64)
        return Found(np.empty(0, np.int32), none, [none] * len(slots))
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(c) for c in zip(*(part.rows for part in parts), strict=True)]
    return Found(
        np.concatenate([part.query for part in parts]),
        np.concatenate([part.turn for part in parts]),
        columns,
    )


def _once(found: Found, disjunct: npt.NDArray[np.bool_]) -> Found:
    """Tuples of disjunctions once, however many of their conjunctions hold."""
    if not len(found.query) or not disjunct[found.query].any():
        return found
    some = np.flatnonzero(disjunct[found.query])
    keys = np.stack([found.query[some].astype(np.int64), *(r[some] for r in found.rows)], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    keep = ~disjunct[found.query]
    keep[some[first]] = True
    return Found(found.query[keep], found.turn[keep], [r[keep] for r in found.rows])
