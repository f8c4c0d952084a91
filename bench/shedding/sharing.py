"""How many queries a number of bytes holds: shared, and each query with objects of its own (Figure
19); and how many objects are in regions and caches (Figure 20b).

Shared: `stats()["bytes"]` of all objects, and for each query all that a tracker has for it, with
the room in its tables: the plan, entries, lists of the grid, names. Each alone, *lean*: for each
object that the query looks at the same bytes, once more for each query, and what its plan takes;
and *leaner*: nothing but the rows. A *tracker each* is all memory of trackers with one query; and
*by all memory* is what is left for queries beside a tracker with all objects, and empty room.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.plots import even
from bench.common.report import say, table
from bench.moving.world import percent
from bench.shedding.world import (
    STARTED,
    STREAM,
    add_moving,
    add_still,
    bytes_of_still,
    corners,
    declared,
    drive,
    moments,
    plan_bytes,
    reachable,
    rows_of,
)
from watchline.kernels.arrays import Doubles, Integers

SIZES = (0.0001, 0.001, 0.0025, 0.005, 0.01)
MIB = 2**20
BUDGETS = (32 * MIB, 64 * MIB, 128 * MIB)
BUDGET = 64 * MIB
INTERVAL, CACHE = 10.0, 0.25
PARTS = 30
WANTED = {0.0001: 8, 0.01: 20}


class World(NamedTuple):
    """Objects, their last two ticks, where they were last, and how far a cache reaches."""

    stream: str
    ticks: list[pa.Table]
    place: Doubles
    margin: float

    def tracker(self, catalog: wl.Catalog, cache: float = CACHE) -> wl.Tracker:
        """One that has seen all, in batches of a moment."""
        tracker = wl.Tracker(catalog, "cars", retain="significant", cache=cache)
        for tick in self.ticks:
            for rows in moments(tick, PARTS):
                tracker.process(rows)
        return tracker

    def moving(self, focal: Any, size: float, all_held: bool = False) -> wl.Catalog:
        catalog = wl.Catalog.of([self.stream])
        add_moving(catalog, focal, size)
        if all_held:
            ends = {axis: (np.array([-1.0]), np.array([2.0])) for axis in "xy"}
            catalog.register_boxes("cars", ["everywhere"], ends, emit="changes")
        return catalog

    def around(self, centre: Doubles, half: float) -> Integers:
        """Objects in a square, by definition."""
        return np.flatnonzero((np.abs(self.place - centre) < half).all(axis=1))


@cache
def world(objects: int) -> World:
    traffic = drive(objects, STARTED + 2, INTERVAL)
    ticks = [rows_of(tick) for tick in list(traffic)[STARTED:]]
    place = np.stack([ticks[-1]["x"].to_numpy(), ticks[-1]["y"].to_numpy()], axis=1)
    margin = 2 * traffic.top_speed * INTERVAL * CACHE
    return World(declared(traffic), ticks, place, margin)


class Costs(NamedTuple):
    """Bytes: of all objects once, of one object, of its row alone; of a query that shares and of
    one alone, without objects; objects of a query; of a tracker with one query; and of a tracker
    with all objects and no query, with the room in its tables."""

    objects: int
    entry: float
    row: float
    query: float
    alone: float
    held: float
    tracker: float
    empty: float

    @property
    def really(self) -> float:
        """Queries that share, by all memory of a tracker."""
        return (BUDGET - self.empty) / self.query

    def counts(self, budget: int) -> tuple[float, float, float, float]:
        """Queries: shared, alone and lean, leaner, a tracker each."""
        return (
            max(budget - self.objects, 0) / self.query,
            budget / (self.held * self.entry + self.alone),
            budget / (self.held * self.row + self.alone),
            budget / self.tracker,
        )


def moving_costs(objects: int, size: float, sample: int) -> Costs:
    made = world(objects)
    focal = np.random.default_rng(3).permutation(objects)
    # Tables have room for a power of two: with so many, that is used. One more query holds all
    # objects, so that what more queries take is no object's.
    few, many = (
        made.tracker(made.moving(focal[:n].tolist(), size, all_held=True))
        for n in (sample // 2, sample)
    )
    stats = many.stats()
    assert stats["objects"] == few.stats()["objects"] == objects
    rows, entry = made.ticks[0].nbytes / objects, stats["bytes"] / objects
    query = (reachable(many) - reachable(few)) / (sample - sample // 2)
    half = np.sqrt(size) / 2 + made.margin
    held = [len(made.around(made.place[f], half)) for f in focal[:500]]
    trackers = [made.tracker(made.moving([f], size)) for f in focal[:5].tolist()]
    plan = plan_bytes(made.moving(focal[:sample].tolist(), size)) / sample
    return Costs(
        int(entry * objects), entry, rows, query, plan, float(np.mean(held)),
        float(np.mean([reachable(t) for t in trackers])), reachable(many) - sample * query,
    )  # fmt: skip


def still_costs(objects: int, size: float, budget: int) -> Costs:
    made = world(objects)
    rows = made.ticks[0].nbytes / objects
    entry = rows + 4
    plan = bytes_of_still(1_000, size) / 1_000
    # The grid takes more for each of many: as many as there are in the end.
    count, query = 1_000, plan
    for _ in range(4):
        count = max(int((budget - entry * objects) / query), 1_000)
        query = bytes_of_still(count, size) / count
    lo, hi = corners(count, size)
    held = [len(made.around((lo[i] + hi[i]) / 2, np.sqrt(size) / 2)) for i in range(500)]
    trackers = []
    for i in range(5):
        catalog = wl.Catalog.of([STREAM])
        add_still(catalog, 1, size, first=i, total=count)
        trackers.append(reachable(made.tracker(catalog)))
    catalog = wl.Catalog.of([STREAM])
    add_still(catalog, 1_000, size)
    return Costs(
        int(entry * objects), entry, rows, query, plan_bytes(catalog) / 1_000,
        float(np.mean(held)), float(np.mean(trackers)), (entry + 4) * objects,
    )  # fmt: skip


def sharing(quick: bool, figures: Path) -> Iterator[str]:
    objects, sample = (1_000, 64) if quick else (110_000, 4_096)
    sizes = (SIZES[0],) if quick else (SIZES[0], SIZES[1], SIZES[-1])
    yield f"## Sharing: {objects:,} objects on roads"
    drawn: dict[str, dict[str, list[float | None]]] = {}
    for name in ("move", "stay"):
        lines, ratios = [], {}
        for size in sizes:
            # Large squares find much.
            n = sample if size < 0.001 else sample // 8
            costs = (
                moving_costs(objects, size, n)
                if name == "move"
                else still_costs(objects, size, BUDGET)
            )
            ratios[size] = costs
            lines.append([percent(size), *_cells(costs), *_verdict(costs, size)])
            say(f"sharing: {name} {lines[-1]}")
        yield f"### Figure 19: squares that {name}, queries in 64 MiB"
        yield table(HEADER, lines)
        yield table(
            ["size", *(f"{b // MIB} MiB: {x}" for b in BUDGETS for x in ("lean", "leaner"))],
            [[percent(s), *_ratios(c)] for s, c in ratios.items()],
        )
        drawn[name] = {
            kind: [c.counts(BUDGET)[0] / c.counts(BUDGET)[i] for c in ratios.values()]
            for i, kind in ((1, "beside lean"), (2, "beside leaner"))
        }
    panels = [
        (f"squares that {n}", "size, %", "times as many", [100 * s for s in sizes], d)
        for n, d in drawn.items()
    ]
    even(figures / "shedding-19.svg", "Queries in 64 MiB: shared, beside each alone", panels)
    yield from _caches(1_000 if not quick else 20, objects, figures)


HEADER = [
    "size", "objects a query", "bytes: object", "row", "query, shared", "query, alone",
    "a tracker", "queries: shared", "by all memory", "each alone, lean", "leaner",
    "a tracker each", "shared / lean", "wanted", "met",
]  # fmt: skip


def _cells(costs: Costs) -> list[str]:
    shared, lean, leaner, each = costs.counts(BUDGET)
    return [
        f"{costs.held:,.0f}", f"{costs.entry:.0f}", f"{costs.row:.0f}", f"{costs.query:,.0f}",
        f"{costs.alone:,.0f}", f"{costs.tracker:,.0f}", f"{shared:,.0f}",
        f"{costs.really:,.0f}", f"{lean:,.0f}",
        f"{leaner:,.0f}", f"{each:,.0f}", f"{shared / lean:.1f}×",
    ]  # fmt: skip


def _verdict(costs: Costs, size: float) -> list[str]:
    if size not in WANTED:
        return ["", ""]
    shared, lean, *_ = costs.counts(BUDGET)
    return [f"≥ {WANTED[size]}×", "yes" if shared >= WANTED[size] * lean else "no"]


def _ratios(costs: Costs) -> list[str]:
    counts = [costs.counts(budget) for budget in BUDGETS]
    return [f"{shared / other:.1f}×" for shared, *alone, _ in counts for other in alone]


def _caches(count: int, objects: int, figures: Path) -> Iterator[str]:
    """Figure 20b."""
    made = world(objects)
    focal = np.random.default_rng(3).permutation(objects)[:count]
    lines = []
    drawn: dict[str, list[float | None]] = {"each alone": [], "shared": []}
    for size in SIZES:
        half = np.sqrt(size) / 2
        inner, outer = (
            sum(len(made.around(made.place[f], h)) for f in focal)
            for h in (half, half + made.margin)
        )
        catalog = made.moving(focal.tolist(), size)
        kept, none = (len(made.tracker(catalog, c)) for c in (CACHE, 0.0))
        drawn["each alone"].append(outer - inner)
        drawn["shared"].append(kept - none)
        lines.append(
            [percent(size), f"{inner:,}", f"{outer - inner:,}", f"{none:,}", f"{kept - none:,}"]
        )
        say(f"sharing: caches {lines[-1]}")
    yield f"### Figure 20b: objects in regions and in caches, {count:,} squares that move"
    header = ["size", "each alone: regions", "caches", "shared: regions", "caches"]
    yield table(header, lines)
    xs = [100 * s for s in SIZES]
    panels = [
        ("each alone", "size, %", "objects", xs, {"each alone": drawn["each alone"]}),
        ("shared", "size, %", "objects", xs, {"shared": drawn["shared"]}),
    ]
    even(figures / "shedding-20b.svg", "Objects in caches and in no region", panels)
