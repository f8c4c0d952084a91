"""The experiments of the CEI and CES papers: their figures, and their claims beside our measures.

Cells of 1, the papers' L and their domain throughout. Storage is `nbytes`, with the borders of the
queries, which the papers leave out; the dashed lines are the papers' formula. A search is one of a
batch of random points, found ids included; the best of seven batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np

import watchline as wl
from bench.common import plots
from bench.common.plots import Panel
from bench.common.report import say, table, timed
from bench.common.workloads import LARGE, SMALL, Workload, boxes, constructs, intervals, storage
from bench.indexes.claims import claims
from bench.indexes.race import best_of
from bench.indexes.sweeps import Measure, Sweep
from watchline.index.papers.formulas import mean_pieces

LIMIT = 3 * 2**30
# Bytes that a range takes in an interval skip list, to judge the limit.
SKIP_LIST = 400


@dataclass(frozen=True)
class Scale:
    """How large the experiments are."""

    points: int
    rounds: int
    most: int
    samples: int
    # Of the values of a figure's axis every so many are measured.
    step: int = 1

    def n(self, count: int) -> int:
        return min(count, self.most)


def papers(quick: bool, figures: Path) -> Iterator[str]:
    numba.set_num_threads(1)
    scale = Scale(500, 1, 500, 5, step=3) if quick else Scale(50_000, 7, 10**9, 2_000)
    yield "## The papers' figures"
    yield from figure_14(scale, figures)
    sweeps = {}
    for make in (lengths, widths, counts, sides, areas, crowds):
        for sweep in make(scale):
            sweeps[sweep.name] = sweep
            draw(sweep, figures)
            yield f"### {sweep.title}\n\n![{sweep.title}]({figures.name}/{sweep.name}.svg)"
            yield numbers(sweep)
    yield from figure_12(scale, figures, sweeps["ces-10"])
    yield "## The papers' claims"
    yield table(["figure", "claim", "measured here"], claims(sweeps))


def measure(kind: str, w: Workload, L: int, scale: Scale) -> Measure | None:
    """One index at the paper's tuning; nothing, and a word about it, if it needs too much."""
    direct = kind == "islist"
    single = kind in ("ui", "ugc")
    formula = None if direct else storage(kind, w, 1 if single else L)
    if (formula or SKIP_LIST * len(w.lo)) > LIMIT:
        say(f"{kind} left out: it would need more than {LIMIT / 2**30:.0f} GiB")
        return None
    say(f"{w.name}: {kind}, L {L}, {len(w.lo):,} queries")
    tuning: dict[str, Any] = {} if direct else {"unit": 1, "domain": w.domain}
    if not direct and not single:
        tuning["L"] = L
    index = wl.index.build(kind, w.lo, w.hi, **tuning)
    index.stab(w.points)
    seconds = best_of(lambda: index.stab(w.points), scale.rounds)
    return Measure(index.nbytes, seconds / len(w.points) * 1e9, formula)


def swept(
    name: str,
    title: str,
    axis: str,
    xs: Sequence[int],
    kinds: Sequence[str],
    case: Callable[[int], tuple[Workload, int]],
    scale: Scale,
) -> Sweep:
    """All kinds at all x; `case` gives an x's workload and L."""
    series: dict[str, list[Measure | None]] = {kind: [] for kind in kinds}
    for x in xs:
        w, L = case(x)
        for kind in kinds:
            once = axis == "L" and kind in ("ui", "ugc") and series[kind]
            series[kind].append(series[kind][0] if once else measure(kind, w, L, scale))
    return Sweep(name, title, axis, list(xs), series)


def same(w: Workload, L: int) -> tuple[Workload, int]:
    return w, L


# --- the CEI paper


def lengths(scale: Scale) -> Iterator[Sweep]:
    """Figures 15 and 16."""
    for number, r in ((15, LARGE), (16, SMALL)):
        n = scale.n(100_000)
        w = intervals(f"CEI {number}", n, 200, r, scale.points)
        title = f"CEI, Fig. {number}: L; r = {r:,}, W = 200, n = {n:,}"
        xs = [2**k for k in range(1, 8)][:: scale.step]
        yield swept(f"cei-{number}", title, "L", xs, ("ui", "lci", "cei"), partial(same, w), scale)


def widths(scale: Scale) -> Iterator[Sweep]:
    """Figure 17."""
    n = scale.n(50_000)

    def case(W: int) -> tuple[Workload, int]:
        return intervals("CEI 17", n, W, SMALL, scale.points), 16

    title = f"CEI, Fig. 17: W; r = {SMALL:,}, L = 16, n = {n:,}"
    xs = [10, 20, 40, 80, 160, 320][:: scale.step]
    yield swept("cei-17", title, "W", xs, ("ui", "lci", "cei", "islist"), case, scale)


def counts(scale: Scale) -> Iterator[Sweep]:
    """Figures 18 and 19."""
    xs = [n for n in (5_000 * 2**i for i in range(8)) if n <= scale.most] or [scale.most]
    for number, r in ((18, LARGE), (19, SMALL)):

        def case(n: int, number: int = number, r: int = r) -> tuple[Workload, int]:
            return intervals(f"CEI {number}", n, 200, r, scale.points), 16

        title = f"CEI, Fig. {number}: n; r = {r:,}, W = 200, L = 16"
        kinds = ("ui", "lci", "cei", "islist")
        yield swept(f"cei-{number}", title, "n", xs, kinds, case, scale)


def figure_14(scale: Scale, figures: Path) -> Iterator[str]:
    """Constructs in all, by definition, beside the closed-form bounds of Table 2."""
    n, W = scale.n(100_000), 200
    w = intervals("CEI 14", n, W, LARGE, 0)
    xs = [2**k for k in range(1, 8)]
    totals: dict[str, list[float | None]] = {
        kind: [float(constructs(kind, w, L)) for L in xs] for kind in ("ui", "lci", "cei")
    }
    bounds = {
        kind: [[n * mean_pieces(kind, W, L)[side] for L in xs] for side in (0, 1)]
        for kind in ("cei", "lci")
    }
    one = [
        Panel(f"{kind} and its bounds", "constructs", {kind: totals[kind]}, {kind: bounds[kind]})
        for kind in ("cei", "lci")
    ]
    panels = [*one, Panel("all three", "constructs", totals, {})]
    title = f"CEI, Fig. 14: constructs of all queries; W = {W}, n = {n:,}"
    plots.draw(figures / "cei-14.svg", title, "L", xs, panels)
    yield f"### {title}\n\n![{title}]({figures.name}/cei-14.svg)"
    header = [f"{kind}: {what}" for kind in ("cei", "lci") for what in ("sample", "all", "bounds")]
    rows = [[str(L), *decomposed("cei", w, W, L), *decomposed("lci", w, W, L)] for L in xs]
    yield table(["L", *header], rows)
    yield "Means a query: of the sample, of all places and lengths, and Table 2's bounds."


def decomposed(kind: str, w: Workload, W: int, L: int) -> list[str]:
    place, length = (a.ravel().astype(float) for a in np.mgrid[0:L, 1 : W + 1])
    everywhere = Workload("all", place, place + length, place, LARGE)
    mean = constructs(kind, everywhere, L) / len(place)
    bounds = mean_pieces(kind, W, L)
    assert bounds.lower - 1e-9 <= mean <= bounds.upper + 1e-9
    sample = constructs(kind, w, L) / len(w.lo)
    return [f"{sample:.2f}", f"{mean:.2f}", f"{bounds.lower:.2f} … {bounds.upper:.2f}"]


# --- the CES paper

SQUARES = ("ugc", "cells", "vcs", "ces")


def sides(scale: Scale) -> Iterator[Sweep]:
    """Figures 10 and 11."""
    for number, R in ((10, 256), (11, 512)):
        n = scale.n(16_000)
        w = boxes(f"CES {number}", n, 50, R, scale.points)
        title = f"CES, Fig. {number}: L; R = {R}, W = 50, n = {n:,}"
        xs = [2**k for k in range(1, 6)][:: scale.step]
        yield swept(f"ces-{number}", title, "L", xs, SQUARES, partial(same, w), scale)


def areas(scale: Scale) -> Iterator[Sweep]:
    """Figure 13."""
    n = scale.n(16_000)

    def case(R: int) -> tuple[Workload, int]:
        return boxes("CES 13", n, 50, R, scale.points), 16

    title = f"CES, Fig. 13: R; W = 50, L = 16, n = {n:,}"
    xs = [2**k for k in range(7, 12)][:: scale.step]
    yield swept("ces-13", title, "R", xs, SQUARES[1:], case, scale)


def crowds(scale: Scale) -> Iterator[Sweep]:
    """Figure 14."""
    xs = [n for n in (1_000 * 2**i for i in range(7)) if n <= scale.most] or [scale.most]

    def case(n: int) -> tuple[Workload, int]:
        return boxes("CES 14", n, 60, 1_024, scale.points), 8

    title = "CES, Fig. 14: n; R = 1,024, W = 60, L = 8"
    yield swept("ces-14", title, "n", xs, SQUARES[1:], case, scale)


def figure_12(scale: Scale, figures: Path, random: Sweep) -> Iterator[str]:
    """Time against the number of queries found: each point many times over."""
    n, L, repeat = scale.n(16_000), 16, scale.n(2_000)
    w = boxes("CES 12", n, 50, 256, scale.samples)
    times, rows, sizes = {}, [], np.zeros(0)
    levels = {kind: random.at(kind, L).nanoseconds for kind in SQUARES[1:]}
    for kind in SQUARES[1:]:
        say(f"CES 12: {kind}")
        index = wl.index.build(kind, w.lo, w.hi, unit=1, L=L, domain=w.domain)
        sizes = np.diff(index.stab(w.points).offsets).astype(float)
        times[kind] = np.array([repeated(index, p, repeat) for p in w.points])
        slope, base = np.polyfit(sizes, times[kind], 1)
        alike = np.corrcoef(sizes, times[kind])[0, 1]
        numbers = (np.median(times[kind]), levels[kind], slope, base)
        rows.append([f"`{kind}`", *(f"{x:,.2f}" for x in numbers), f"{alike:.2f}"])
    title = f"CES, Fig. 12: queries found; R = 256, W = 50, L = {L}, n = {n:,}"
    plots.scatter(figures / "ces-12.svg", title, sizes, times, levels)
    yield f"### {title}\n\n![{title}]({figures.name}/ces-12.svg)"
    header = [
        "index",
        "median, ns",
        "random searches, ns",
        "ns an id",
        "at none, ns",
        "correlation",
    ]
    yield table(header, rows)


def repeated(index: wl.index.Index, point: np.ndarray, repeat: int) -> float:
    batch = np.repeat(point[None, :], repeat, axis=0)
    return min(timed(lambda: index.stab(batch), 3)) / repeat * 1e9


# --- what comes out of it


def draw(sweep: Sweep, figures: Path) -> None:
    def series(value: Callable[[Measure], float | None]) -> dict[str, list[float | None]]:
        return {k: [None if m is None else value(m) for m in ms] for k, ms in sweep.series.items()}

    formulas = series(lambda m: m.formula and m.formula / 2**20)
    storage_panel = Panel(
        "storage; dashed: the paper's formula",
        "MiB",
        series(lambda m: m.bytes / 2**20),
        {kind: [line] for kind, line in formulas.items()},
    )
    time_panel = Panel("search", "ns a search", series(lambda m: m.nanoseconds), {})
    path = figures / f"{sweep.name}.svg"
    plots.draw(path, sweep.title, sweep.axis, sweep.xs, [storage_panel, time_panel])


def numbers(sweep: Sweep) -> str:
    header = [sweep.axis, *(f"`{k}`: MiB, ns" for k in sweep.series)]
    rows = [
        [f"{x:,}", *(entry(measures[i]) for measures in sweep.series.values())]
        for i, x in enumerate(sweep.xs)
    ]
    return table(header, rows)


def entry(m: Measure | None) -> str:
    return "left out" if m is None else f"{m.bytes / 2**20:,.1f}, {m.nanoseconds:,.0f}"
