"""Whether registering and dropping a query cost what it opens and closes, by queries and objects.

A tracker without Spark has boxes and knows as many objects. Each query is registered and dropped
alone, in turns with each number of objects; beside it stands the same with a look at all objects,
as there is no index over them. Times are those of `Tracker.advance_to`, in CPU time: a busy machine
adds little to them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.report import amount, publish, say, table
from bench.tracking.squares import register_squares
from watchline.tracking import object_index

SIDE, SYMBOLS, BATCH = 0.001, 2_000, 100_000
TURNS, TIMES = 3, 6
# Queries by their kind; a number below a hundred makes each another one.
KINDS = {
    "box": "INSIDE (0.{n:02}, 0.3, 0.{n:02}1, 0.301)",
    "range": "WHERE price > 99.9{n:02}",
    "string and range": "WHERE symbol = 'S{n}' AND price < 40",
    "object id": "WHERE id = {n} AND price < 40",
    "circle": "INSIDE CIRCLE (0.{n:02}, 0.5, 0.002)",
    "polygon": "INSIDE POLYGON 'POLYGON ((0.{n} 0.4, 0.{n}2 0.4, 0.{n} 0.403, 0.{n} 0.4))'",
    "alternatives": "WHERE price > 99.99 OR (symbol = 'S{n}' AND price < 3)",
    "moving box": "INSIDE ('M', {n}, 0.004, 0.004)",
    "5 nearest": "KNN (5, 0.{n:02}, 0.5)",
}


@dataclass
class World:
    """A tracker with as many boxes as objects."""

    catalog: wl.Catalog
    tracker: wl.Tracker
    size: int
    number: int = 0
    # Seconds and changes of each kind, by whether the index was used.
    added: dict[tuple[str, bool], list[float]] = field(default_factory=dict)
    dropped: dict[tuple[str, bool], list[float]] = field(default_factory=dict)
    changes: dict[str, list[int]] = field(default_factory=dict)

    @staticmethod
    def of(size: int) -> World:
        rng = np.random.default_rng(5)
        catalog = wl.Catalog.of(
            "CREATE STREAM ticks (id BIGINT, x DOUBLE, y DOUBLE, price DOUBLE, symbol STRING,"
            " ts TIMESTAMP) OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 1 HOUR"
        )
        register_squares(catalog, "ticks", size, SIDE, rng)
        tracker = wl.Tracker(catalog, "ticks")
        names = np.array([f"S{i}" for i in range(SYMBOLS)])
        for first in range(0, size, BATCH):
            ids = np.arange(first, min(first + BATCH, size))
            x, y, price = rng.random((3, len(ids)))
            columns = {"id": ids, "x": x, "y": y, "price": 100 * price}
            columns["symbol"] = names[rng.integers(0, SYMBOLS, len(ids))]
            tracker.process(pa.table({**columns, "ts": pa.array(ids, pa.timestamp("us", "UTC"))}))
        return World(catalog, tracker, size)

    def come_and_go(self, kind: str, times: int, indexed: bool) -> None:
        """Register and drop queries of a kind, one by one."""
        least = object_index.LEAST_OBJECTS if indexed else 1 << 60
        with mock.patch.object(object_index, "LEAST_OBJECTS", least):
            for _ in range(times):
                self.number = (self.number + 1) % 90
                text = KINDS[kind].format(n=10 + self.number)
                self.catalog.execute(f"CREATE QUERY it AS SELECT * FROM ticks {text} EMIT CHANGES")
                self.changes.setdefault(kind, []).append(self._follow(self.added, kind, indexed))
                self.catalog.drop("it")
                self._follow(self.dropped, kind, indexed)

    def _follow(self, taken: dict[tuple[str, bool], list[float]], kind: str, indexed: bool) -> int:
        start = time.process_time()
        found = len(self.tracker.advance_to(self.catalog.version))
        taken.setdefault((kind, indexed), []).append(time.process_time() - start)
        return found


def registering(quick: bool) -> Iterator[str]:
    """One query of each kind among many, registered and dropped."""
    sizes = (5_000, 10_000) if quick else (10_000, 100_000, 1_000_000)
    yield "## Registering: one query comes and goes, by the queries and objects that there are"
    worlds = []
    for size in sizes:
        say(f"registering: {size:,} queries and objects")
        worlds.append(World.of(size))
    turns, times = (1, 2) if quick else (TURNS, TIMES)
    lines = []
    for kind in KINDS:
        for _ in range(turns):
            for world in worlds:
                world.come_and_go(kind, times, True)
                world.come_and_go(kind, 2, False)
        for world in worlds:
            # The first one makes what is missing.
            taken = [of[kind, True][1:] for of in (world.added, world.dropped)]
            cells = [amount(f(seconds)) for seconds in taken for f in (min, statistics.median)]
            cells.append(amount(min(world.added[kind, False])))
            changes = f"{statistics.mean(world.changes[kind]):,.0f}"
            lines.append([kind, f"{world.size:,}", changes, *cells])
        middle = [statistics.median(world.added[kind, True][1:]) for world in worlds]
        publish(f"adding, {kind}: most / fewest queries and objects", middle[-1] / middle[0])
    header = ["query", "queries, objects", "changes", "adding, best", "median"]
    yield table([*header, "dropping, best", "median", "adding by a look at all, best"], lines)
