"""Response times (the paper's Figure 21), and how fine the grid is (its Figure 18).

Times are of the wall: of one update through the grid or the operator, and of a batch through
`wl.Tracker.process`, which takes Arrow tables and gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.plots import Panel, draw
from bench.common.report import say, table
from bench.moving.kernel import race
from bench.moving.world import (
    OBJECTS,
    Asked,
    Clock,
    Feed,
    Updates,
    Walk,
    Watched,
    percent,
    squares,
    watched,
)
from watchline.borders import build_grid, grid_crossings

CARS = "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
POINT = " POINT (x, y)"
COUNTS = (5_000, 10_000, 25_000, 50_000)
SIZES = (0.0001, 0.001, 0.01)
SHARES = (0.0, 0.5, 1.0)
MIXED = 30_000
# Rows of a batch, and how many of them are timed.
BATCHES = {1: 300, 100: 100, 1_000: 30}
# Rows that bring the objects, at a time: large queries find much.
LOADED = 5_500
SPREAD = (50, 90, 99, 100)
# The first calls, which do not count.
WARM = 3

# Cells along each side of the square.
CELLS = (10, 20, 30, 50, 100, 200, 400)
# Seconds of a run of the grid's experiment, about, and the updates of the first.
LONG, FIRST = 0.5, 500


# --- streams and queries


def rows_of(updates: Updates, first: int) -> pa.Table:
    """Rows of the stream `cars`, a microsecond apart."""
    stamps = pa.array(first + np.arange(len(updates)), pa.timestamp("us", tz="UTC"))
    x, y = updates.new.T
    return pa.table({"id": updates.who, "x": x, "y": y, "ts": stamps})


def moving_text(focal: Any, side: float, name: str = "m") -> str:
    """Statements for squares that move with these objects."""
    query = "CREATE QUERY {}{} AS SELECT * FROM cars INSIDE ('M', {}, {!r}, {!r})"
    return ";\n".join(query.format(name, i, who, side, side) for i, who in enumerate(focal))


def add_squares(catalog: wl.Catalog, count: int, size: float) -> None:
    if count:
        lo, hi = squares(count, size)
        bounds = {name: (lo[:, d], hi[:, d]) for d, name in enumerate("xy")}
        catalog.register_boxes("cars", [f"s{i}" for i in range(count)], bounds, emit="changes")


@dataclass
class Followed:
    """A tracker that knows all objects."""

    tracker: wl.Tracker
    feed: Feed
    clock: int = 0

    @staticmethod
    def of(still: int, moving: int, size: float, objects: int) -> Followed:
        catalog = wl.Catalog.of([CARS + POINT])
        add_squares(catalog, still, size)
        if moving:
            focal = np.random.default_rng(3).permutation(objects)[:moving]
            catalog.execute(moving_text(focal.tolist(), float(np.sqrt(size))))
        made = Followed(wl.Tracker(catalog, "cars"), Feed(Walk.of(objects)))
        # The first round brings all objects, the second starts nothing new.
        for _ in range(2 * objects // LOADED):
            made.tracker.process(made.rows(LOADED))
        return made

    def rows(self, count: int) -> pa.Table:
        self.clock += count
        return rows_of(self.feed.take(count), self.clock - count)

    def times(self, size: int, count: int) -> Clock:
        """So many batches of this size, and a few before them that do not count."""
        clock = Clock()
        for _ in range(count + WARM):
            rows = self.rows(size)
            clock.run(size, partial(self.tracker.process, rows))
        return clock


def spread(clock: Clock) -> str:
    """Milliseconds: by the wall the median, of ten the slowest, of a hundred, of all; and the
    median by the processor."""
    wall = " / ".join(f"{1e3 * x:.2f}" for x in np.percentile(clock.wall[WARM:], SPREAD))
    return f"{wall} ({middle(clock):.2f})"


def middle(clock: Clock) -> float:
    return 1e3 * float(np.median(clock.cpu[WARM:]))


# --- response times


def response(quick: bool, figures: Path) -> Iterator[str]:
    objects = 2_000 if quick else OBJECTS
    scale = 100 if quick else 1
    yield f"## Response times: {objects:,} objects, ms by the wall: p50 / p90 / p99 / max"
    yield "In brackets the median by the processor."
    # Everything that trackers may choose is compiled before.
    race(*squares(2_000, 0.0001), Walk.of(2_000), 1)
    yield "### One update, without Arrow: squares of 0.01 %"
    lines = [_alone(n // scale, objects, 20 if quick else 3_000) for n in COUNTS]
    yield table(["queries", "stay: the grid", "move: the operator"], lines)
    yield "### A batch through `Tracker.process`, by the number of queries: squares of 0.01 %"
    medians: dict[str, list[float]] = {}
    lines = []
    for name in ("stay", "move"):
        for n in COUNTS:
            some = n // scale
            followed = Followed.of(*((some, 0) if name == "stay" else (0, some)), 0.0001, objects)
            times = _batches(followed, quick)
            medians.setdefault(name, []).append(middle(times[1]))
            lines.append([f"{some:,} that {name}", *map(spread, times.values())])
            say(f"response: {lines[-1]}")
    header = [f"{size:,} row{'s' if size > 1 else ''}" for size in BATCHES]
    yield table(["queries", *header], lines)
    _figure(figures, [n // scale for n in COUNTS], medians)
    yield f"### A batch, by size and by the share that moves: {MIXED // scale:,} queries"
    lines = []
    for size in SIZES:
        for share in SHARES:
            moves = round(share * MIXED / scale)
            followed = Followed.of(MIXED // scale - moves, moves, size, objects)
            times = _batches(followed, quick)
            lines.append([percent(size), percent(share), *map(spread, times.values())])
            say(f"response: {lines[-1]}")
    yield table(["size", "moving", *header], lines)


def _batches(followed: Followed, quick: bool) -> dict[int, Clock]:
    return {
        size: followed.times(size, max(count // (100 if quick else 1), 3))
        for size, count in BATCHES.items()
    }


def _alone(n: int, objects: int, count: int) -> list[str]:
    say(f"response: one update, {n} queries")
    walk = Walk.of(objects)
    made = watched(walk.place.copy(), Asked(n, 0.0001), keep=False)
    feed = Feed(walk)
    made.operator.run(made.events(feed.take(objects)))
    updates = [feed.take(1) for _ in range(count)]
    grid, one = build_grid(*squares(n, 0.0001), np.arange(n)), np.zeros(1, np.int64)
    still = _each(updates, lambda u: u, lambda u: grid_crossings(grid, one, u.old, u.new))
    moves = _each(updates, made.events, made.operator.run)
    return [f"{n:,}", spread(still), spread(moves)]


def _each(
    updates: list[Updates], shaped: Callable[[Updates], Any], call: Callable[[Any], Any]
) -> Clock:
    """Each update alone."""
    clock = Clock()
    for part in map(shaped, updates):
        clock.run(1, partial(call, part))
    return clock


def _figure(figures: Path, counts: list[int], medians: dict[str, list[float]]) -> None:
    # As far as the paper's text says them: of queries that stay.
    paper: list[float | None] = [11.0, *([None] * (len(counts) - 2)), 22.0]
    draw(
        figures / "moving-21.svg",
        "Response time, squares of 0.01 %",
        "queries",
        counts,
        [Panel("one row through the tracker, median", "ms (CPU)", medians | {"paper": paper}, {})],
    )


# --- the grid


class Fine(NamedTuple):
    """With so many cells along a side: µs of an update, entries of a query, the share of queries
    that are listed in larger cells."""

    micros: float
    entries: float
    larger: float


def grid(quick: bool, figures: Path) -> Iterator[str]:
    objects, n = (1_000, 200) if quick else (OBJECTS, 50_000)
    yield f"## How fine the grid is: {n:,} squares that move, {objects:,} objects"
    cells = CELLS[::3] if quick else CELLS
    found: dict[float, list[Fine]] = {}
    chosen: list[list[str]] = []
    for size in SIZES:
        found[size] = [_fine(Asked(n, size), objects, 1 / c)[0] for c in cells]
        auto, columns = _fine(Asked(n, size), objects, None)
        least = min(found[size])
        chosen.append(
            [
                percent(size),
                f"{columns}",
                *_cells(auto),
                f"{cells[found[size].index(least)]}",
                f"{auto.micros / least.micros:.2f}×",
            ]
        )
    header = ["cells a side", *(f"{percent(s)}: {w}" for s in SIZES for w in ("µs", "entries"))]
    lines = [
        [f"{c}", *(text for size in SIZES for text in _cells(found[size][i]))]
        for i, c in enumerate(cells)
    ]
    yield table(header, lines)
    yield "What the operator chooses, and how it compares with the best of these:"
    yield table(["size", "cells a side", "µs", "entries", "best", "time of the best"], chosen)
    names = {size: f"squares of {percent(size)}" for size in SIZES}
    draw(
        figures / "moving-18.svg",
        f"{n:,} squares that move",
        "cells along each side",
        cells,
        [
            Panel(
                "time of an update",
                "µs",
                {names[s]: [f.micros for f in found[s]] for s in SIZES},
                {},
            ),
            Panel(
                "entries of a query",
                "",
                {names[s]: [f.entries for f in found[s]] for s in SIZES},
                {},
            ),
        ],
    )


def _cells(fine: Fine) -> list[str]:
    share = f" ({percent(round(fine.larger, 3))} in larger cells)" if fine.larger else ""
    return [f"{fine.micros:.1f}", f"{fine.entries:.1f}{share}"]


def _fine(asked: Asked, objects: int, side: float | None) -> tuple[Fine, int]:
    """Median of five runs, and the columns of the grid."""
    feed = Feed(Walk.of(objects))
    made = watched(feed.walk.place.copy(), asked, side, keep=False)
    first = Clock()
    _run(made, feed.take(FIRST), first)
    count = int(np.clip(LONG * first.rate, 200, objects))
    clock = Clock()
    for _ in range(5):
        _run(made, feed.take(count), clock)
    span = made.operator._span[made.numbers]
    entries = float(((span[:, 1] - span[:, 0] + 1) * (span[:, 3] - span[:, 2] + 1)).mean())
    say(f"grid: {asked}, side {side}: {clock.micros:.1f} µs, {entries:.1f}")
    return Fine(clock.micros, entries, float((span[:, 4] > 0).mean())), made.operator._frame.columns


def _run(made: Watched, updates: Updates, clock: Clock) -> None:
    events = made.events(updates)
    clock.run(len(updates), lambda: made.operator.run(events))
