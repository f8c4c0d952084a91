"""Whether the cost of a call follows its rows: a tracker without Spark, by the objects it knows and
by its queries.

The same calls are timed with each number of objects or queries, in turns, so that a busy machine
slows all of them alike. The more queries there are, the smaller are their boxes, so that a row is
in as many. The bytes are those of a delta of the state, beside a whole snapshot.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.report import publish, say, table
from bench.tracking.squares import register_squares

SIDE = 0.001
# Rows in a call, and how many calls are timed.
CALLS = {1: 300, 1_000: 40, 100_000: 5}
QUICK_CALLS = {1: 5, 10: 2}
TURNS = 5
SIZES = ("rows a call", "best", "median", "bytes a row")


@dataclass
class World:
    """A tracker that knows so many objects, and its clock."""

    tracker: wl.Tracker
    objects: int
    kind: str
    rng: np.random.Generator
    now: int = 0
    taken: dict[int, list[float]] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(objects: int, queries: int, kind: str, side: float = SIDE) -> World:
        rng = np.random.default_rng(5)
        catalog = wl.Catalog.of()
        catalog.execute(
            f"CREATE STREAM cars (id {kind}, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
            " POINT (x, y) TIMEOUT INTERVAL 1 HOUR"
        )
        register_squares(catalog, "cars", queries, side, rng)
        world = World(wl.Tracker(catalog, "cars"), objects, kind, rng)
        world.tracker.process(world.rows(np.arange(objects)))
        world.tracker.touched()
        return world

    def rows(self, ids: Any) -> pa.Table:
        """A row of each of these objects, somewhere."""
        n = len(ids)
        self.now += n
        texts = ids if self.kind == "BIGINT" else np.char.add("object-", ids.astype(str))
        times = pa.array(np.arange(self.now - n, self.now), pa.timestamp("us", "UTC"))
        x, y = self.rng.random((2, n))
        return pa.table({"id": pa.array(texts), "x": x, "y": y, "ts": times})

    def calls(self, size: int, count: int) -> None:
        """Time calls of so many rows, and note the bytes of the state that the last one changed."""
        for _ in range(count):
            rows = self.rows(self.rng.integers(0, self.objects, size))
            start = time.perf_counter()
            self.tracker.process(rows)
            self.taken.setdefault(size, []).append(time.perf_counter() - start)
            touched = self.tracker.touched()
        assert touched is not None
        self.written[size] = len(self.tracker.delta([touched]))


def growth(quick: bool) -> Iterator[str]:
    """Calls of 1, 1,000 and 100,000 rows: by the objects that are known, with ids of both types,
    and by the queries."""
    usual = 1_000 if quick else 100_000
    known = (100, 200, 400) if quick else (10_000, 100_000, 1_000_000)
    yield f"## Growth: a tracker with {usual:,} boxes, by the objects that are known"
    lines = []
    for kind in ("BIGINT", "STRING"):
        worlds = []
        for objects in known:
            say(f"growth: {objects:,} objects, ids {kind}")
            worlds.append(World.of(objects, usual, kind))
        taken_in_turns(worlds, quick)
        for world in worlds:
            whole = len(world.tracker.snapshot())
            lines += [
                [kind, f"{world.objects:,}", *cells, f"{whole:,}"] for cells in by_size(world)
            ]
        compare(worlds, f"{kind}: most / fewest objects")
    yield table(["ids", "objects", *SIZES, "whole state"], lines)

    objects, many = known[-2], ((100, 400) if quick else (1_000, 10_000, 100_000, 1_000_000))
    yield f"## Growth: a tracker that knows {objects:,} objects, by the queries"
    worlds = []
    for queries in many:
        say(f"growth: {queries:,} queries")
        worlds.append(World.of(objects, queries, "BIGINT", SIDE * (usual / queries) ** 0.5))
    taken_in_turns(worlds, quick)
    lines = [
        [f"{queries:,}", *cells]
        for queries, world in zip(many, worlds, strict=True)
        for cells in by_size(world)
    ]
    compare(worlds, "most / fewest queries")
    yield table(["queries", *SIZES], lines)


def taken_in_turns(worlds: list[World], quick: bool) -> None:
    for size, count in (QUICK_CALLS if quick else CALLS).items():
        for _ in range(1 if quick else TURNS):
            for world in worlds:
                world.calls(size, count)


def by_size(world: World) -> Iterator[list[str]]:
    """A line for each number of rows, as `SIZES` names its cells."""
    for size, taken in world.taken.items():
        times = [f"{f(taken) * 1e3:.2f} ms" for f in (min, statistics.median)]
        yield [f"{size:,}", *times, f"{world.written[size] / size:,.0f}"]


def compare(worlds: list[World], what: str) -> None:
    for size in worlds[0].taken:
        middle = [statistics.median(world.taken[size]) for world in worlds]
        publish(f"{size:,} rows a call, {what}", middle[-1] / middle[0])
