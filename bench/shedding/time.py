"""How many queries are accurate enough under a bound, beside those that fit without shedding
(Figure 25a); queries that arrive while memory stays as it is (Figure 25b); and how long a batch
takes that sheds load. Times are of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import watchline as wl
from bench.common.plots import even
from bench.common.report import say, table
from bench.moving.world import percent
from bench.shedding.world import (
    STREAM,
    add_still,
    bytes_of_still,
    mean_accuracy,
    moments,
    reports,
)

WAYS = ("objects", "queries")
LEAST = 0.9
SIZES = {0.0001: 32_000, 0.001: 8_000, 0.01: 800}
SHARES = {"half of the objects": 0.5, "four fifths": 0.8, "nine tenths": 0.9}
TICKS = 2
ARRIVING = 0.0001


# --- queries that are supported (Figure 25a)


def supported(quick: bool, figures: Path) -> Iterator[str]:
    objects, scale = (200, 100) if quick else (10_000, 1)
    yield f"## Queries that are supported with a mean accuracy of {percent(LEAST)}"
    yield (
        f"{objects:,} objects, squares that stay. *Objects*: there may be so many, as in the paper."
        " *Bytes*: what those queries and their objects take that fit without shedding; queries and"
        " shadows count. Numbers are found by halving, to a tenth, and not beyond 32,000, 8,000 and"
        " 800 queries."
    )
    header = ["bound", "size", "without shedding"]
    header += [f"shed {way}: {what}" for way in WAYS for what in ("queries", "times as many")]
    lines: list[list[str]] = []
    drawn: dict[str, list[float | None]] = {}
    for name in SHARES:
        for size, cap in SIZES.items():
            lines += _supported(objects, name, size, cap // scale, drawn)
    yield table(header, lines)
    xs = [100 * size for size in SIZES]
    title = (
        f"Queries with a mean accuracy of {percent(LEAST)}, beside those that fit without shedding"
    )
    panels = []
    for name in SHARES:
        of = {k.removeprefix(f"{name}; "): v for k, v in drawn.items() if k.startswith(name)}
        panels.append((f"bound: {name}", "size, %", "times as many", xs, of))
    even(figures / "shedding-25a.svg", title, panels)


def _supported(
    objects: int, name: str, size: float, cap: int, drawn: dict[str, list[float | None]]
) -> list[list[str]]:
    bound = int(SHARES[name] * objects)
    fits = _most(lambda n: len(_after(objects, n, size)) <= bound, 1, cap)
    whole = _after(objects, fits, size).stats()
    budget = whole["bytes"] + bytes_of_still(fits, size)
    lines = []
    for kind in ("objects", "bytes") if SHARES[name] == 0.8 else ("objects",):
        cells = [
            f"{name}" if kind == "objects" else f"{budget / 2**20:.2f} MiB",
            percent(size),
            f"{fits:,}",
        ]
        for way in WAYS:

            def enough(n: int, kind: str = kind, way: str = way) -> bool:
                left = budget - bytes_of_still(n, size) if kind == "bytes" else bound
                if left <= 0:
                    return False
                tracker = _after(objects, n, size, **{f"max_{kind}": left, "shed": way})
                over = tracker.stats()["bytes"] > left if kind == "bytes" else len(tracker) > bound
                return not over and mean_accuracy(tracker, n) >= LEAST

            n = _most(enough, fits, cap)
            more = "≥ " if n == cap else ""
            cells += [f"{more}{n:,}", f"{more}{n / fits:.1f}×"]
            drawn.setdefault(f"{name}; {kind}, shed {way}", []).append(n / fits)
        lines.append(cells)
        say(f"supported: {cells}")
    return lines


def _after(objects: int, count: int, size: float, **bound: Any) -> wl.Tracker:
    catalog = wl.Catalog.of([STREAM])
    add_still(catalog, count, size)
    tracker = wl.Tracker(catalog, "cars", retain="significant", cache=0.25, **bound)
    for rows in reports(objects, TICKS):
        tracker.process(rows)
    return tracker


def _most(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The largest number that holds, to a tenth; `low` does."""
    at = low
    while at < high and holds(min(2 * at, high)):
        at = min(2 * at, high)
    if at == high:
        return high
    low, high = at, min(2 * at, high)
    while high - low > max(low // 10, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


# --- queries arrive (Figure 25b)


class Moment(NamedTuple):
    """After a batch: queries, objects, accuracies; and the seconds of it."""

    queries: int
    kept: int
    answers: float
    mean: float
    seconds: float


def arrivals(quick: bool, figures: Path) -> Iterator[str]:
    """Queries come one after the other, while memory is for those of the first half."""
    objects, steps, each = (300, 4, 5) if quick else (50_000, 40, 60)
    full = steps // 2 * each
    bound = len(_after(objects, full, ARRIVING))
    yield f"## Figure 25b: queries arrive, squares of 0.01 % that stay, {objects:,} objects"
    yield (
        f"{each} queries come before each batch, which is a tenth of a tick. The bound is {bound:,}"
        f" objects: what {full:,} queries keep."
    )
    found = {way: _arrive(objects, steps, each, bound, way) for way in (*WAYS, "nothing")}
    say("arrivals")
    header = ["queries", "kept without a bound"]
    header += [f"shed {way}: {x}" for way in WAYS for x in ("kept", "all answers", "mean", "batch")]
    lines = []
    for i, plain in enumerate(found["nothing"]):
        cells = [f"{plain.queries:,}", f"{plain.kept:,}"]
        for way in WAYS:
            m = found[way][i]
            cells += [f"{m.kept:,}", f"{100 * m.answers:.1f} %", f"{100 * m.mean:.1f} %"]
            cells.append(f"{1e3 * m.seconds:.0f} ms")
        if i % 2 or i > steps // 2 - 3:
            lines.append(cells)
    yield table(header, lines)
    numbers = [m.queries for m in found["nothing"]]
    panels = [
        (
            "mean accuracy of queries", "queries", "%", numbers,
            {f"shed {way}": [100 * m.mean for m in found[way]] for way in WAYS},
        ),
        (
            "objects kept", "queries", "objects", numbers,
            {f"shed {way}": [float(m.kept) for m in found[way]] for way in (*WAYS, "nothing")},
        ),
        (
            "the batch", "queries", "ms", numbers,
            {f"shed {way}": [1e3 * m.seconds for m in found[way]] for way in (*WAYS, "nothing")},
        ),
    ]  # fmt: skip
    even(figures / "shedding-25b.svg", "Queries arrive", panels)


def _arrive(objects: int, steps: int, each: int, bound: int, way: str) -> list[Moment]:
    catalog = wl.Catalog.of([STREAM])
    more: Any = {} if way == "nothing" else {"max_objects": bound, "shed": way}
    tracker = wl.Tracker(catalog, "cars", retain="significant", cache=0.25, **more)
    batches = [b for tick in reports(objects, -(-steps // 10)) for b in moments(tick, 10)]
    found = []
    for i, rows in enumerate(batches[:steps]):
        add_still(catalog, each, ARRIVING, first=i * each, total=steps * each)
        began = time.process_time()
        tracker.advance_to(catalog.version)
        tracker.process(rows)
        seconds = time.process_time() - began
        stats, n = tracker.stats(), (i + 1) * each
        mean = mean_accuracy(tracker, n)
        found.append(Moment(n, stats["objects"], stats["accuracy"], mean, seconds))
    return found


# --- pauses


def pauses(quick: bool, figures: Path) -> Iterator[str]:
    """The batch that sheds first, the others, and the same batches without a bound."""
    del figures
    objects, repeats = (500, 1) if quick else (50_000, 3)
    yield f"## Pauses: {objects:,} objects, batches of a tenth of a tick, {objects // 10:,} rows"
    yield (
        "In the first tick all fits; then the bound is 80 % of what is kept. A batch's time is the"
        f" best of {repeats} runs, contestants in turn; a batch comes every 3 s."
    )
    header = ["queries", "size"]
    header += [
        f"{w}: {x}"
        for w in ("no bound", *WAYS)
        for x in ("median batch", "the first to shed", "longest")
    ]
    lines = []
    for count, size in ((1_000, 0.001), (10_000, 0.0001), (10_000, 0.001)):
        n = count // 100 if quick else count
        best: dict[str, Any] = {}
        for _ in range(repeats):
            for way in ("no bound", *WAYS):
                times = _paused(objects, n, size, way)
                best[way] = np.minimum(best.get(way, np.inf), times)
        cells = [f"{n:,}", percent(size)]
        for times in best.values():
            cells += [f"{1e3 * x:.1f} ms" for x in (np.median(times), times[0], times.max())]
        lines.append(cells)
        say(f"pauses: {cells}")
    yield table(header, lines)


def _paused(objects: int, count: int, size: float, way: str) -> Any:
    """Seconds of each batch of the second tick, the first of which sheds."""
    catalog = wl.Catalog.of([STREAM])
    add_still(catalog, count, size)
    first, second = reports(objects, 2)
    tracker = wl.Tracker(catalog, "cars", retain="significant", cache=0.25)
    for rows in moments(first, 10):
        tracker.process(rows)
    more: Any = {} if way == "no bound" else {"max_objects": int(0.8 * len(tracker)), "shed": way}
    keep: Any = {"retain": "significant", "cache": 0.25, **more}
    tracker = wl.Tracker.restore(catalog, "cars", tracker.snapshot(), **keep)
    times = []
    for rows in moments(second, 10):
        began = time.process_time()
        tracker.process(rows)
        times.append(time.process_time() - began)
    return np.array(times)
