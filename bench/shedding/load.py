"""Load against accuracy: what is left of answers when only a part of the objects may be kept
(Figures 22 to 24).

Squares that stay, around places on roads. The load is what is kept, of what is significant.
Accuracy is told in two ways: of all answers together, and of queries, whose mean the paper draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import watchline as wl
from bench.common.plots import DIAGONAL, even
from bench.common.report import say, table
from bench.moving.world import percent
from bench.shedding.world import STREAM, add_still, mean_accuracy, reports

LOADS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
WAYS = ("objects", "queries")
TICKS = 2
# Figures 22a and 22b: queries, and their sizes.
SIZES = {1_000: (0.0001, 0.001, 0.01), 25_000: (0.0001, 0.001)}
# Figures 23 and 24.
COUNTS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
WANTED = (0.7, 0.9)


class Point(NamedTuple):
    """Of what is significant the part that is kept; the accuracy of all answers, and the mean of
    queries."""

    kept: float
    answers: float
    queries: float


def after(objects: int, count: int, size: float, bound: int | None, way: str) -> wl.Tracker:
    """A tracker that has seen all reports under a bound."""
    catalog = wl.Catalog.of([STREAM])
    add_still(catalog, count, size)
    more: Any = {} if bound is None else {"max_objects": max(bound, 1), "shed": way}
    tracker = wl.Tracker(catalog, "cars", retain="significant", cache=0.25, **more)
    for rows in reports(objects, TICKS):
        tracker.process(rows)
    return tracker


def curve(objects: int, count: int, size: float, way: str) -> list[Point]:
    """One point for each load, from the highest."""
    # On some roads the few objects of a quick run meet no square.
    most = max(len(after(objects, count, size, None, way)), 1)
    points: list[Point] = []
    kept, bound = most, most
    for load in LOADS:
        last, bound = bound, int(load * most)
        # Queries that are as small as they get, or that fit already, would do the same again.
        if way == "queries" and points and (kept > last or kept <= bound):
            points.append(points[-1])
            continue
        tracker = after(objects, count, size, bound, way)
        stats, kept = tracker.stats(), len(tracker)
        mean = mean_accuracy(tracker, count)
        points.append(Point(kept / most, stats["accuracy"], mean))
        if way == "objects":
            assert kept <= max(bound, 1), (count, size, load, kept)
            # Never worse than to give up objects at random, but for the luck of a single one.
            assert points[-1].answers >= (kept - 1) / most, (count, size, points[-1])
    say(f"load: {count:,} of {percent(size)}, shed {way}")
    return points


def needed(points: Sequence[Point], accuracy: float) -> float:
    """The load at which queries are so accurate on average, between the nearest that were tried."""
    ends = sorted({(p.queries, p.kept) for p in points} | {(1.0, 1.0)})
    if accuracy < ends[0][0]:
        return ends[0][1]
    queries, kept = zip(*ends, strict=True)
    return float(np.interp(accuracy, queries, kept))


def load(quick: bool, figures: Path) -> Iterator[str]:
    objects, scale = (500, 500) if quick else (50_000, 1)
    yield "## Load and accuracy: squares that stay"
    yield (
        f"{objects:,} objects on roads, after {TICKS} reports of each, a tick in a batch. In each"
        " cell: what is kept, the accuracy of all answers, the mean of queries."
    )
    curves = {
        (count // scale, size, way): curve(objects, count // scale, size, way)
        for count, sizes in _settings().items()
        for size in sizes
        for way in WAYS
    }
    yield "### Figure 22"
    for name, (count, sizes) in zip("ab", SIZES.items(), strict=True):
        n = count // scale
        columns = [(size, way) for size in sizes for way in WAYS]
        header = ["bound", *(f"{percent(size)}, shed {way}" for size, way in columns)]
        yield f"{n:,} queries:\n\n" + table(header, _lines([curves[n, s, w] for s, w in columns]))
        panels = [_panel(curves, n, size) for size in sizes]
        title = f"Load and accuracy: {n:,} squares that stay"
        even(figures / f"shedding-22{name}.svg", title, panels)
    above = [
        p.queries - p.kept for (_, _, way), of in curves.items() if way == "objects" for p in of
    ]
    yield (
        f"Objects are shed: of all answers, every one of the {len(above)} points is above the"
        f" diagonal (asserted); of the mean of queries {sum(x >= 0 for x in above)} are, and the"
        f" lowest is {100 * min(above):+.1f} points from it."
    )
    yield from _by_count(curves, [n // scale for n in COUNTS], figures)


def _settings() -> dict[int, tuple[float, ...]]:
    return SIZES | {count: SIZES.get(count, SIZES[25_000]) for count in COUNTS}


def _lines(columns: Sequence[list[Point]]) -> list[list[str]]:
    return [
        [percent(load), *(" / ".join(f"{100 * x:.0f}" for x in points[i]) for points in columns)]
        for i, load in enumerate(LOADS)
    ]


def _panel(curves: Any, n: int, size: float) -> Any:
    """Over the loads of both ways. There is no less than the smallest queries keep."""
    points = {way: sorted({(p.kept, p.queries) for p in curves[n, size, way]}) for way in WAYS}
    loads = sorted({1.0} | {x for of in points.values() for x, _ in of})
    found: dict[str, list[float | None]] = {}
    for way, of in points.items():
        xs, ys = zip(*of, (1.0, 1.0), strict=True)
        drawn = np.interp(loads, xs, ys).tolist()
        found[f"shed {way}"] = [
            100 * y if x >= xs[0] else None for x, y in zip(loads, drawn, strict=True)
        ]
    found[DIAGONAL] = [100 * x for x in loads]
    name = f"{n:,} squares of {percent(size)}"
    return name, "load kept, %", "mean accuracy, %", [100 * x for x in loads], found


def _by_count(curves: Any, counts: list[int], figures: Path) -> Iterator[str]:
    """Figures 23 and 24."""
    sizes = SIZES[25_000]
    yield "### Figure 23: the load that is needed for a mean accuracy, %"
    columns = [(wanted, size, way) for wanted in WANTED for size in sizes for way in WAYS]
    header = ["queries", *(f"{percent(a)}: {percent(s)}, shed {w}" for a, s, w in columns)]
    lines = [
        [f"{n:,}", *(f"{100 * needed(curves[n, s, w], a):.0f}" for a, s, w in columns)]
        for n in counts
    ]
    yield table(header, lines)
    panels = []
    for wanted in WANTED:
        drawn: dict[str, list[float | None]] = {
            f"{percent(size)}, shed {way}": [
                100 * needed(curves[n, size, way], wanted) for n in counts
            ]
            for size in sizes
            for way in WAYS
        }
        drawn[DIAGONAL] = [100 * wanted] * len(counts)
        panels.append((f"for {percent(wanted)}", "queries", "load kept, %", counts, drawn))
    even(figures / "shedding-23.svg", "The load that is needed for a mean accuracy", panels)
    yield "### Figure 24: mean accuracy by load and queries, objects are shed, %"
    columns24 = [(size, load) for size in sizes for load in LOADS]
    header = ["queries", *(f"{percent(s)}, bound {percent(load)}" for s, load in columns24)]
    lines = [
        [f"{n:,}", *(f"{100 * p.queries:.0f}" for s in sizes for p in curves[n, s, "objects"])]
        for n in counts
    ]
    yield table(header, lines)
    panels = []
    for size in sizes:
        of = {n: curves[n, size, "objects"] for n in counts}
        drawn = {
            f"bound {percent(x)}": [100 * of[n][i].queries for n in counts]
            for i, x in enumerate(LOADS)
            if i % 2 == 0
        }
        panels.append((f"squares of {percent(size)}", "queries", "mean accuracy, %", counts, drawn))
    even(figures / "shedding-24.svg", "Object shedding, by the number of queries", panels)
