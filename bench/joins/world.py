"""What the benchmarks of window joins share: rows, queries, contestants, and what they found.

Two streams r and s take turns. Their join attribute x is one of 1,000 values, their y any number of
[0, 1). A query compares the two x by an operator drawn from five, and selects a range of y on each
side, closed or open to one end (the Spatial Join CQ paper, 7.1). All windows are of as many rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bench.common.report import agreed, attempt
from watchline import sql
from watchline.joining import (
    BitsDirection,
    JoinedPairs,
    JoinFrame,
    Life,
    Stretch,
    directions_of,
    halves,
)
from watchline.joining.papers.indexed import IndexedDirection
from watchline.kernels.arrays import Integers
from watchline.model import (
    Attribute,
    InRange,
    Query,
    Range,
    RowsWindow,
    Source,
    Stream,
    Type,
    compare,
    conjunction,
)

OPERATORS = ("<", "<=", "=", ">=", ">")
VALUES = 1_000
METHODS: dict[str, Callable[[Any], Any]] = {
    "bits": BitsDirection,
    "ibs": lambda direction: IndexedDirection(direction, "ibs"),
    "sj": lambda direction: IndexedDirection(direction, "sj"),
}


def declared(name: str) -> Stream:
    text = f"CREATE STREAM {name} (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    statement = sql.statement(text)
    assert isinstance(statement, sql.CreateStream)
    return statement.stream


def queries(
    count: int, window: int | Integers, operators: tuple[str, ...] = OPERATORS, seed: int = 1
) -> list[Query]:
    """All of one window, or each of its own."""
    rng = np.random.default_rng(seed)
    sizes = np.broadcast_to(window, count).tolist()
    made = []
    for i, rows in enumerate(sizes):
        sources = tuple(Source(name, name, RowsWindow(rows)) for name in "rs")
        op = operators[int(rng.integers(len(operators)))]
        link = compare(Attribute("x", Type.DOUBLE, "r"), op, Attribute("x", Type.DOUBLE, "s"))
        assert link is not None
        where = conjunction([_selection("r", rng), _selection("s", rng), link])
        assert where is not None
        made.append(Query(f"q{i}", sources, None, (where,)))
    return made


def _selection(alias: str, rng: np.random.Generator) -> InRange:
    low, high = np.sort(rng.random(2)).tolist()
    ends = (Range(low, high), Range(low, np.inf), Range(-np.inf, high))
    return InRange(Attribute("y", Type.DOUBLE, alias), ends[int(rng.integers(3))])


def rows(count: int, rng: np.random.Generator) -> pa.Table:
    """One of the streams, a row each ten microseconds."""
    columns = {
        "id": pa.array(np.arange(count)),
        "x": pa.array(rng.integers(0, VALUES, count) / VALUES),
        "y": pa.array(rng.random(count)),
        "ts": pa.array(10 * np.arange(count)).cast(pa.timestamp("us", "UTC")),
    }
    return pa.table(columns)


def batches(window: int, fresh: int, count: int, seed: int = 2) -> list[JoinFrame]:
    """Batch after batch of the same streams: full windows, and so many rows of each that come in
    turn."""
    rng = np.random.default_rng(seed)
    tables = {name: rows(window + count * fresh, rng) for name in "rs"}
    found = []
    for at in range(0, count * fresh, fresh):
        stretches = {}
        for first, (name, table) in enumerate(tables.items()):
            part = table.slice(at, window + fresh)
            times = part["ts"].combine_chunks().cast(pa.int64()).to_numpy()
            turns = np.arange(first, 2 * fresh, 2)
            stretches[name] = Stretch(declared(name), part, times, at, window, turns)
        found.append(JoinFrame(stretches))
    return found


class Taken(NamedTuple):
    """Processor seconds of a batch, and its answers."""

    seconds: float
    answers: int

    def each(self) -> float:
        """Seconds of an answer."""
        return self.seconds / max(self.answers, 1)


class Contestant:
    """The directions of some queries, answered by one method."""

    def __init__(self, asked: list[Query], build: Callable[[Any], Any]):
        numbered = [(i, halves(query), Life()) for i, query in enumerate(asked)]
        self._directions = [build(direction) for direction in directions_of(numbered)]

    def probe(self, batch: JoinFrame) -> Taken:
        """Processor seconds, and how many answers there are."""
        answers = 0
        began = time.process_time()
        for direction in self._directions:
            for pairs in direction.pairs(batch):
                answers += len(pairs.ids)
        return Taken(time.process_time() - began, answers)

    def fingerprint(self, batch: JoinFrame) -> tuple[int, int]:
        """A number for what it finds, whatever the order, and how much that is."""
        total = answers = 0
        for direction in self._directions:
            for pairs in direction.pairs(batch):
                total += int(_mixed(pairs).sum())
                answers += len(pairs.ids)
        return total % 2**64, answers


def _mixed(pairs: JoinedPairs) -> Any:
    counts = np.diff(pairs.ends, prepend=0)
    trigger_is_r = pairs.shape.streams[0] == "r"
    sides = (pairs.trigger, pairs.partner) if trigger_is_r else (pairs.partner, pairs.trigger)
    r, s = (np.repeat(side.astype(np.uint64), counts) for side in sides)
    with np.errstate(over="ignore"):
        mixed = (pairs.ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ r
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) ^ s
        return (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)


def in_turn(contestants: dict[str, Contestant], frames: list[JoinFrame]) -> dict[str, Taken]:
    """The best batch of each contestant that gets through. The first batch is for comparing what
    all find, the others are for the clock."""
    # Nothing that was computed for another contestant is used: each has frames of its own.
    prints = {
        name: attempt(name, partial(c.fingerprint, JoinFrame(frames[0].stretches)))
        for name, c in contestants.items()
    }
    taken: dict[str, list[Taken]] = {
        name: [] for name in agreed(prints, prints[next(iter(contestants))])
    }
    for batch in frames[1:]:
        probed = {
            name: attempt(name, partial(contestants[name].probe, JoinFrame(batch.stretches)))
            for name in taken
        }
        counts = {name: done and done.answers for name, done in probed.items()}
        right = agreed(counts, counts[next(iter(taken))])
        taken = {
            name: [*of, done]
            for name, of in taken.items()
            if name in right and (done := probed[name]) is not None
        }
    return {name: min(of, key=Taken.each) for name, of in taken.items()}


def contestants(asked: list[Query], names: tuple[str, ...]) -> dict[str, Contestant]:
    return {name: Contestant(asked, METHODS[name]) for name in names}
