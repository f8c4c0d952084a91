"""Bounded memory: the experiments of the SOLE paper's sections 7.1, 7.2 and 7.7 on a road network.

    python -m bench.shedding [cache|load|arrivals|overhead …] [--quick] [--figures DIR]

Without a part, all of them. Tables go to standard output, figures to the folder of `--figures`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.moving_world import network, percent
from bench.plots import curves
from bench.report import Part, run, say, table
from bench.shedding_overhead import overhead
from watchline import roads
from watchline.roads import Traffic

CACHES = (0.0, 0.25, 0.5, 1.0)
STREAM = (
    "CREATE STREAM cars (id BIGINT, kind STRING, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)


def drive(objects: int, ticks: int, interval: float, seed: int = 1) -> Traffic:
    """Objects that report every so many seconds, at thirty moments of that time."""
    found, _ = network()
    return roads.traffic(
        found, objects, ticks, interval=interval, phases=30, vanish=0.0, unit=True, seed=seed
    )


def declared(traffic: Traffic, interval: float) -> str:
    micros = round(1e6 * interval)
    return f"{STREAM} TIMEOUT INTERVAL {micros} MICROSECONDS MAX SPEED {traffic.top_speed!r}"


def rows_of(tick: pa.Table) -> pa.Table:
    return tick.select(["id", "kind", "x", "y", "ts"])


# --- the cache (Figures 12 to 14)


def cache(quick: bool, figures: Path) -> Iterator[str]:
    """How accurate queries that move are, and what is kept for it."""
    objects, ticks, queries = (3_000, 8, 20) if quick else (20_000, 25, 40)
    yield "## The cache: squares that move, without a bound\n"
    header = [
        "side",
        "interval",
        "CACHE",
        "accuracy, mean",
        "worst tick",
        "kept",
        "overhead",
        "by the formula",
    ]
    lines = []
    drawn: dict[str, list[float]] = {}
    settings = [(0.07, 10.0), (0.07, 30.0), (0.07, 60.0), (0.07, 90.0)]
    settings += [(0.035, 30.0), (0.14, 30.0), (0.21, 30.0)]
    for side, interval in settings:
        traffic = drive(objects, ticks, interval)
        found = _cached(traffic, interval, side, queries)
        for part in CACHES:
            accuracies, kept = found[part]
            margin = 2 * traffic.top_speed * interval * part
            formula = ((side + 2 * margin) ** 2 - side**2) / side**2
            more = kept / found[0.0][1] - 1
            lines.append(
                [
                    f"{side:g}", f"{interval:g} s", f"{part:g}",
                    f"{100 * np.mean(accuracies):.2f} %",
                    f"{100 * min(accuracies):.2f} %", f"{kept:,.0f}", f"{100 * more:.0f} %",
                    f"{100 * formula:.0f} %",
                ]
            )  # fmt: skip
            if part == 1.0:
                # Conservative: what is kept is enough for exact answers.
                assert min(accuracies) == 1.0, (side, interval, min(accuracies))
        if side == 0.07:
            for part in CACHES:
                mean = 100 * float(np.mean(found[part][0]))
                drawn.setdefault(f"CACHE {part:g}", []).append(mean)
        say(f"cache: side {side:g}, every {interval:g} s")
    yield table(header, lines)
    yield (
        f"\n{queries} squares around objects, {objects:,} objects, {ticks} reports of each at"
        " thirty moments of the interval; means without the first two. Overhead is of objects kept,"
        " beside CACHE 0.\n"
    )
    times = [t for s, t in settings if s == 0.07]
    title = "The cache: accuracy of squares that move"
    curves(figures / "shedding-12.svg", title, "seconds between reports", "%", times, drawn)


def _cached(traffic: Traffic, interval: float, side: float, queries: int) -> dict[float, Any]:
    """Of each CACHE: the accuracy of each tick, and how many objects are kept on average."""
    texts = [declared(traffic, interval)]
    texts += [
        f"CREATE QUERY q{i} AS SELECT * FROM cars INSIDE ('M', {7 * i}, {side}, {side})"
        for i in range(queries)
    ]
    catalog = wl.Catalog.of(texts)
    exact = wl.Tracker(catalog, "cars")
    others = {
        part: wl.Tracker(catalog, "cars", retain="significant", cache=part) for part in CACHES
    }
    accuracies: dict[float, list[float]] = {part: [] for part in CACHES}
    kept: dict[float, list[int]] = {part: [] for part in CACHES}
    for number, tick in enumerate(traffic):
        # Moment by moment, as rows come in life.
        rows = rows_of(tick)
        exact.process(rows)
        for part, tracker in others.items():
            tracker.process(rows)
            if number >= 2:
                accuracies[part].append(tracker.stats()["answers"] / exact.stats()["answers"])
                kept[part].append(tracker.stats()["objects"])
        assert exact.stats()["too_fast"] == 0
    return {part: (accuracies[part], float(np.mean(kept[part]))) for part in CACHES}


# --- load against accuracy (Figures 22 to 24)

LOADS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def load(quick: bool, figures: Path) -> Iterator[str]:
    """What is left of answers when only a part of the objects may be kept."""
    objects, ticks = (5_000, 4) if quick else (100_000, 4)
    counts = (200, 1_000) if quick else (1_000, 25_000)
    yield "## Load and accuracy: squares that stay\n"
    header = [
        "queries",
        "size",
        "bound",
        *(f"{what}: {of}" for what in ("objects", "queries") for of in ("kept", "accuracy")),
    ]
    lines = []
    for count in counts:
        for size in (0.0001, 0.001):
            drawn: dict[str, list[float]] = {"the diagonal": [100 * part for part in LOADS]}
            most = _shed(objects, ticks, count, size, None, "")[0]
            for part in LOADS:
                cells = []
                for what in ("objects", "queries"):
                    kept, accuracy = _shed(objects, ticks, count, size, int(part * most), what)
                    cells += [f"{100 * kept / most:.0f} %", f"{100 * accuracy:.1f} %"]
                    drawn.setdefault(f"shed {what}", []).append(100 * accuracy)
                lines.append([f"{count:,}", percent(size), percent(part), *cells])
                say(f"load: {lines[-1]}")
            title = f"Load and accuracy: {count:,} squares of {percent(size)}"
            path = figures / f"shedding-22-{count}-{size:g}.svg"
            curves(path, title, "bound, %", "accuracy, %", [100 * x for x in LOADS], drawn)
    yield table(header, lines)
    yield (
        f"\n{objects:,} objects, after {ticks} reports of each. The bound is of what is"
        " significant.\n"
    )


def _shed(
    objects: int, ticks: int, count: int, size: float, bound: int | None, what: str
) -> tuple[int, float]:
    """How many objects are kept in the end, and how accurate answers are then."""
    traffic = drive(objects, ticks, 30.0)
    catalog = wl.Catalog.of([STREAM])
    side = float(np.sqrt(size))
    lo = np.random.default_rng(2).uniform(0, 1 - side, (count, 2))
    bounds = {"x": (lo[:, 0], lo[:, 0] + side), "y": (lo[:, 1], lo[:, 1] + side)}
    catalog.register_boxes("cars", [f"q{i}" for i in range(count)], bounds, emit="changes")
    more: Any = {} if bound is None else {"max_objects": max(bound, 1), "shed": what}
    tracker = wl.Tracker(catalog, "cars", retain="significant", cache=0.25, **more)
    for tick in traffic:
        tracker.process(rows_of(tick))
    stats = tracker.stats()
    return stats["objects"], stats["accuracy"]


# --- queries arrive (Figure 25b)


def arrivals(quick: bool, figures: Path) -> Iterator[str]:
    """Queries come one after the other, while memory is for those of the first."""
    objects, steps, each = (3_000, 10, 20) if quick else (50_000, 40, 60)
    yield "## Queries arrive: squares of 0.1 % that stay\n"
    header = [
        "queries",
        *(
            f"{what}: {of}"
            for what in ("objects", "queries")
            for of in ("kept", "accuracy", "step")
        ),
    ]
    found: dict[str, list[tuple[int, float, float]]] = {}
    for what in ("objects", "queries"):
        found[what] = list(_arrive(objects, steps, each, what))
        say(f"arrivals: shed {what}")
    lines = []
    for i in range(steps):
        cells = [f"{(i + 1) * each:,}"]
        for what in found:
            kept, accuracy, seconds = found[what][i]
            cells += [f"{kept:,}", f"{100 * accuracy:.1f} %", f"{1e3 * seconds:.0f} ms"]
        lines.append(cells)
    yield table(header, lines)
    drawn = {f"shed {what}": [100 * a for _, a, _ in times] for what, times in found.items()}
    numbers = [(i + 1) * each for i in range(steps)]
    title = "Queries arrive: accuracy of all answers"
    curves(figures / "shedding-25b.svg", title, "queries", "%", numbers, drawn)


def _arrive(objects: int, steps: int, each: int, what: str) -> Iterator[tuple[int, float, float]]:
    traffic = drive(objects, steps, 30.0)
    catalog = wl.Catalog.of([STREAM])
    # Half of the queries fill it.
    bound = objects // 4
    tracker = wl.Tracker(
        catalog, "cars", retain="significant", cache=0.25, max_objects=bound, shed=what
    )
    rng, side = np.random.default_rng(2), float(np.sqrt(0.001))
    for number, tick in enumerate(traffic):
        lo = rng.uniform(0, 1 - side, (each, 2))
        bounds = {"x": (lo[:, 0], lo[:, 0] + side), "y": (lo[:, 1], lo[:, 1] + side)}
        catalog.register_boxes(
            "cars", [f"q{number}-{i}" for i in range(each)], bounds, emit="changes"
        )
        began = time.perf_counter()
        tracker.advance_to(catalog.version)
        tracker.process(rows_of(tick))
        seconds = time.perf_counter() - began
        stats = tracker.stats()
        yield stats["objects"], stats["accuracy"], seconds


PARTS: dict[str, Part] = {
    "cache": cache,
    "load": load,
    "arrivals": arrivals,
    "overhead": overhead,
}


if __name__ == "__main__":
    run("bench.shedding", PARTS)
