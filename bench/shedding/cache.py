"""The cache around squares that move: how accurate they are, and what is kept for it (Figures 12
to 14), beside the formulas of section 4.5.

Few squares, far from each other, so that hardly an object is kept for two: the paper has one. They
are followed by trackers with caches of several sizes, and by one that keeps all objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import watchline as wl
from bench.common.plots import even
from bench.common.report import say, table
from bench.shedding.world import HOUR, MILE, add_moving, declared, drive, moments, rows_of
from watchline.kernels.arrays import Doubles, Integers

CACHES = (0.0, 0.25, 0.5, 1.0)
SPEEDS = (1.0, 15.0, 30.0, 45.0, 60.0)
INTERVALS = (10.0, 30.0, 60.0, 90.0)
SIDES = (1.0, 2.0, 3.0, 4.0, 6.0)
# Of the example in section 4.5, but for the side, which is that of Figure 12.
SIDE, INTERVAL, SPEED = 2.0, 30.0, 30.0
# Ticks until all is known: focal objects report in the first, and then everybody once.
WARM = 2


class Setting(NamedTuple):
    """Miles, seconds, and miles an hour."""

    side: float = SIDE
    interval: float = INTERVAL
    speed: float = SPEED

    @property
    def travel(self) -> float:
        """How far one may go between two reports, in miles."""
        return self.speed * self.interval / HOUR

    def overhead(self, cache: float, sides: float) -> float:
        """Equation 2, of a side that is longer by so many times the travel and the cache."""
        return ((self.side + sides * cache * self.travel) / self.side) ** 2 - 1

    def accuracy(self, cache: float) -> float:
        """Equation 4."""
        return ((self.side + 2 * cache * self.travel) / (self.side + 2 * self.travel)) ** 2


class Found(NamedTuple):
    """For each batch: the accuracy of each query (batches, queries), and how many are kept."""

    accuracies: Doubles
    kept: Doubles

    def after(self, first: int) -> Found:
        return Found(self.accuracies[first:], self.kept[first:])

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.accuracies))

    @property
    def worst(self) -> float:
        return float(np.nanmin(self.accuracies))


def followed(
    setting: Setting, objects: int, ticks: int, queries: int, parts: int
) -> dict[float, Found]:
    """Of each cache what is found in each batch, `parts` a tick, from the commit of the queries."""
    traffic = drive(objects, ticks + 1, setting.interval, setting.speed)
    catalog = wl.Catalog.of([declared(traffic)])
    exact = wl.Tracker(catalog, "cars")
    others = {c: wl.Tracker(catalog, "cars", retain="significant", cache=c) for c in CACHES}
    rows = iter(traffic)
    # One tick before there is a query: who keeps all objects knows them then.
    before = rows_of(next(rows))
    for tracker in (exact, *others.values()):
        tracker.process(before)
    add_moving(catalog, _apart(before, queries).tolist(), (setting.side * MILE) ** 2)
    truth = np.zeros(queries)
    answers = {c: np.zeros(queries) for c in CACHES}
    truth += _counts(exact.advance_to(catalog.version), queries)
    for tracker in others.values():
        tracker.advance_to(catalog.version)
    found: dict[float, tuple[list[Doubles], list[int]]] = {c: ([], []) for c in CACHES}
    for tick in rows:
        for batch in moments(tick, parts):
            truth += _counts(exact.process(batch), queries)
            for c, tracker in others.items():
                answers[c] += _counts(tracker.process(batch), queries)
                # What is kept is true; so what is missed is all there is to count.
                with np.errstate(invalid="ignore"):
                    found[c][0].append(answers[c] / truth)
                found[c][1].append(tracker.stats()["objects"])
    assert exact.stats()["too_fast"] == 0
    made = {c: Found(np.array(a), np.array(k, np.float64)) for c, (a, k) in found.items()}
    exactly = made[1.0].after(WARM * parts)
    # The conservative cache.
    assert exactly.worst == 1.0, (setting, exactly.worst)
    return made


def _counts(changes: pa.Table, queries: int) -> Doubles:
    """How much larger the answer of each query is."""
    numbers = pc.cast(pc.utf8_slice_codeunits(changes["query_id"], 1), pa.int64()).to_numpy()
    return np.bincount(numbers, changes["sign"].to_numpy(), queries).astype(np.float64, copy=False)


def _apart(rows: pa.Table, count: int) -> Integers:
    """Objects that are far from each other: each is the farthest from those before."""
    place = np.stack([rows["x"].to_numpy(), rows["y"].to_numpy()], axis=1)
    near = np.abs(place - 0.5).max(axis=1) < 0.4
    far = np.where(near, np.inf, -1.0)
    chosen = [int(np.argmin(((place - 0.5) ** 2).sum(axis=1)))]
    while len(chosen) < count:
        far = np.minimum(far, ((place - place[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(far)))
    ids: Integers = rows["id"].to_numpy()
    return ids[chosen]


# --- the figures


def cache(quick: bool, figures: Path) -> Iterator[str]:
    objects, ticks, queries = (500, 4, 3) if quick else (20_000, 8, 12)
    yield "## The cache"
    yield (
        f"{queries} squares around objects that are far from each other, {objects:,} objects on"
        f" roads, reports at thirty moments of the interval. Miles are of a map that is 28 wide."
    )
    yield from _time_line(objects, ticks, queries, 5 if quick else 30, figures)
    # The usual setting is always among them.
    speeds, intervals, sides = (
        (SPEEDS[2:3], INTERVALS[1:2], SIDES[:2]) if quick else (SPEEDS, INTERVALS, SIDES)
    )
    settings = [Setting(interval=t, speed=v) for t in intervals for v in speeds]
    settings += [Setting(side=x, speed=v) for x in sides for v in speeds]
    found: dict[Setting, dict[float, Found]] = {}
    for setting in dict.fromkeys(settings):
        made = followed(setting, objects, ticks, queries, 3)
        found[setting] = {c: f.after(3 * WARM) for c, f in made.items()}
        say(f"cache: {setting}")
    yield from _velocities(found, figures)
    yield from _sizes(found, figures)


def _time_line(objects: int, ticks: int, queries: int, parts: int, figures: Path) -> Iterator[str]:
    """Figure 12."""
    setting = Setting()
    found = followed(setting, objects, ticks, queries, parts)
    seconds = (np.arange(ticks * parts) + 1) * setting.interval / parts
    header = [
        "CACHE", "accuracy", "worst query", "by equation 4", "kept",
        "overhead", "by equation 2", "with our margin",
    ]  # fmt: skip
    lines = []
    none = found[0.0].after(WARM * parts)
    for c in CACHES:
        steady = found[c].after(WARM * parts)
        more = steady.kept.mean() / none.kept.mean() - 1
        lines.append(
            [
                f"{c:g}", _percent(steady.mean, 2), _percent(steady.worst, 1),
                _percent(setting.accuracy(c)), f"{steady.kept.mean():,.0f}", _percent(more),
                _percent(setting.overhead(c, 2)), _percent(setting.overhead(c, 4)),
            ]
        )  # fmt: skip
    yield "### Figure 12: squares of 2 miles, reports every 30 s, at most 30 miles an hour"
    yield table(header, lines)
    yield (
        f"Accuracy is of {queries} queries at each of {(ticks - WARM) * parts} moments, after the"
        " first two intervals."
    )
    names = {c: f"CACHE {c:g}" for c in CACHES}
    steady_from = WARM * parts
    panels = [
        (
            "the mean of all queries, from the start",
            "seconds", "accuracy, %", seconds.tolist(),
            {names[c]: _line(_means(found[c])) for c in CACHES},
        ),
        (
            "the worst query of each moment, then",
            "seconds", "accuracy, %", seconds[steady_from:].tolist(),
            {names[c]: _line(np.nanmin(found[c].accuracies[steady_from:], axis=1)) for c in CACHES},
        ),
        (
            "kept, beside CACHE 0",
            "seconds", "overhead, %", seconds[steady_from:].tolist(),
            {names[c]: _line(found[c].after(steady_from).kept / none.kept - 1) for c in CACHES},
        ),
    ]  # fmt: skip
    even(figures / "shedding-12.svg", "The cache: accuracy and overhead over time", panels)


def _velocities(found: Mapping[Setting, Mapping[float, Found]], figures: Path) -> Iterator[str]:
    """Figure 13."""
    yield "### Figure 13: by speed, by cache and by the interval; squares of 2 miles"
    header = ["interval", "speed"]
    header += [f"{c:g}: {what}" for c in CACHES for what in ("accuracy", "overhead (formula)")]
    lines = [
        [f"{t:g} s", f"{v:g} mph", *_cells(found, Setting(interval=t, speed=v))]
        for t in _axis(found, "interval")
        for v in _axis(found, "speed")
    ]
    yield table(header, lines)
    yield (
        "Accuracies are means of queries and moments. In brackets what equation 2 gives with our"
        " margin, which is twice as wide as the paper's."
    )
    by_cache = {f"CACHE {c:g}": _overheads(found, c) for c in CACHES[1:]}
    by_cache |= {f"CACHE {c:g}, formula": _formulas(found, c) for c in CACHES[1:]}
    by_interval = {f"{t:g} s": _overheads(found, 0.5, interval=t) for t in _axis(found, "interval")}
    accuracies = {
        f"CACHE {c:g}": [100 * found[Setting(speed=v)][c].mean for v in _axis(found, "speed")]
        for c in CACHES
    }
    axis = "miles an hour"
    even(
        figures / "shedding-13.svg",
        "The cache: squares of 2 miles",
        [
            ("overhead, every 30 s", axis, "%", _axis(found, "speed"), by_cache),
            ("overhead of CACHE 0.5, by interval", axis, "%", _axis(found, "speed"), by_interval),
            ("accuracy, every 30 s", axis, "%", _axis(found, "speed"), accuracies),
        ],
    )


def _sizes(found: Mapping[Setting, Mapping[float, Found]], figures: Path) -> Iterator[str]:
    """Figure 14."""
    yield "### Figure 14: by speed and by size; CACHE 0.5, every 30 s"
    header = ["side", "of the space"]
    header += [
        f"{v:g} mph: {what}"
        for v in _axis(found, "speed")
        for what in ("accuracy", "overhead (formula)")
    ]
    lines = []
    for x in _axis(found, "side"):
        cells = [f"{x:g} miles", _percent((x * MILE) ** 2, 2)]
        for v in _axis(found, "speed"):
            cells += _pair(found, Setting(side=x, speed=v), 0.5)
        lines.append(cells)
    yield table(header, lines)
    overheads = {f"{v:g} mph": _by_side(found, v) for v in _axis(found, "speed")}
    accuracies = {
        f"{v:g} mph": [
            100 * found[Setting(side=x, speed=v)][0.5].mean for x in _axis(found, "side")
        ]
        for v in _axis(found, "speed")
    }
    even(
        figures / "shedding-14.svg",
        "The cache: CACHE 0.5, reports every 30 s",
        [
            ("overhead", "miles a side", "%", _axis(found, "side"), overheads),
            ("accuracy", "miles a side", "%", _axis(found, "side"), accuracies),
        ],
    )


def _axis(found: Mapping[Setting, Any], name: str) -> list[float]:
    """The values of one of a setting's numbers that were measured."""
    return sorted({getattr(setting, name) for setting in found})


def _cells(found: Mapping[Setting, Mapping[float, Found]], setting: Setting) -> list[str]:
    return [cell for c in CACHES for cell in _pair(found, setting, c)]


def _pair(found: Mapping[Setting, Mapping[float, Found]], setting: Setting, c: float) -> list[str]:
    formula = _percent(setting.overhead(c, 4))
    return [
        _percent(found[setting][c].mean, 2),
        f"{_percent(_more(found, setting, c))} ({formula})",
    ]


def _more(found: Mapping[Setting, Mapping[float, Found]], setting: Setting, c: float) -> float:
    return float(found[setting][c].kept.mean() / found[setting][0.0].kept.mean() - 1)


def _overheads(
    found: Mapping[Setting, Mapping[float, Found]], c: float, interval: float = INTERVAL
) -> list[float | None]:
    return [
        100 * _more(found, Setting(interval=interval, speed=v), c) for v in _axis(found, "speed")
    ]


def _by_side(found: Mapping[Setting, Mapping[float, Found]], v: float) -> list[float | None]:
    return [100 * _more(found, Setting(side=x, speed=v), 0.5) for x in _axis(found, "side")]


def _formulas(found: Mapping[Setting, Mapping[float, Found]], c: float) -> list[float | None]:
    return [100 * Setting(speed=v).overhead(c, 4) for v in _axis(found, "speed")]


def _means(found: Found) -> Doubles:
    """Of all queries that have an answer."""
    means: Doubles = np.nansum(found.accuracies, axis=1) / np.isfinite(found.accuracies).sum(axis=1)
    return means


def _line(values: Doubles) -> list[float | None]:
    return [100 * v for v in values.tolist()]


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"
