"""How far the tuning that an index chooses is from the best of a sweep over unit and L."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np

import watchline as wl
from bench.common.report import say, table
from bench.common.workloads import Workload, setting
from bench.indexes.memory import mib
from bench.indexes.race import best_of, clocked
from watchline.kernels.arrays import Doubles

# Bytes that an index of the sweep may take, by a guess from a sample of its boxes.
LIMIT = 2**30
# Pieces after which a wide range is merged further up.
WIDE = 4_096


@dataclass(frozen=True)
class Trial:
    """An index that was tried; the index itself is dropped, as there are many."""

    tuning: dict[str, Any]
    bytes: int
    seconds: float


def tuning(quick: bool) -> Iterator[str]:
    numba.set_num_threads(1)
    yield "## Self-tuning against a sweep over unit and L"
    header = ["data", "index", "its own choice", "time, MiB", "fastest of the sweep", "time, MiB"]
    rows = [compared(w, quick) for w in workloads(quick)]
    yield table([*header, "own / fastest", "own / fastest not larger", "`auto`"], rows)


def workloads(quick: bool) -> Iterator[Workload]:
    n, m = (500, 2_000) if quick else (100_000, 200_000)
    for name in "C" if quick else "ABC":
        yield setting(name, quick).first(m)
    for dims in (1,) if quick else (1, 2):
        rng = np.random.default_rng(7)
        # Fewer boxes in a plane than on a line, as more of them meet a point.
        yield real(rng, n, m, dims)
        if quick:
            continue
        yield skewed(rng, n, m, dims)
        yield one_sided(rng, n // 5, m // 100, dims)
        yield identical(rng, n, m // 1_000, dims)


def shape(count: int, dims: int) -> tuple[int, ...]:
    return (count,) if dims == 1 else (count, dims)


def real(rng: np.random.Generator, n: int, m: int, dims: int) -> Workload:
    """Real-valued borders, of which a point meets about ten boxes."""
    widest = 2 * (10 / n) ** (1 / dims)
    lo = rng.random(shape(n, dims))
    hi = lo + rng.uniform(0.01, 1, shape(n, dims)) * widest
    return Workload("real-valued borders", lo, hi, rng.random(shape(m, dims)), 1)


def skewed(rng: np.random.Generator, n: int, m: int, dims: int) -> Workload:
    """Log-normal borders and points; widths go with the place."""
    lo = rng.lognormal(0, 2, shape(n, dims))
    hi = lo * (1 + rng.uniform(0.01, 1, shape(n, dims)) * 2 * (10 / n) ** (1 / dims))
    return Workload("log-normal borders", lo, hi, rng.lognormal(0, 2, shape(m, dims)), 1)


def one_sided(rng: np.random.Generator, n: int, m: int, dims: int) -> Workload:
    """Half of all ranges have no bound on one side."""
    lo = rng.uniform(0, 1_000, shape(n, dims))
    hi = lo + rng.uniform(0.01, 20, shape(n, dims))
    side = rng.integers(0, 4, shape(n, dims))
    lo, hi = np.where(side == 0, -np.inf, lo), np.where(side == 1, np.inf, hi)
    return Workload("half one-sided", lo, hi, rng.uniform(0, 1_000, shape(m, dims)), 1_000)


def identical(rng: np.random.Generator, n: int, m: int, dims: int) -> Workload:
    """All boxes are one and the same, which half of the points or a quarter are in."""
    lo, hi = np.full(shape(n, dims), 100.25), np.full(shape(n, dims), 200.75)
    return Workload("all identical", lo, hi, rng.uniform(50, 250, shape(m, dims)), 1)


def compared(w: Workload, quick: bool) -> list[str]:
    kind = "cei" if w.dims == 1 else "ces"
    own = trial(kind, w, {})
    swept = [trial(kind, w, t) for t in candidates(w, quick)]
    best = min(swept, key=lambda t: t.seconds)
    small = [t for t in swept if t.bytes <= own.bytes]
    least = min(small, key=lambda t: t.seconds, default=best)
    explained, (own_time, best_time, least_time) = again(kind, w, own, best, least)
    unit, length = best.tuning["unit"], best.tuning["L"]
    return [
        f"{w.name}, {len(w.lo):,}",
        f"`{kind}`",
        explained.split("; ")[1],
        f"{each(own_time, w)}, {mib(own.bytes)}",
        f"unit {unit:g}, L {length} ({len(swept)} tried)",
        f"{each(best_time, w)}, {mib(best.bytes)}",
        f"{own_time / best_time:.2f}",
        f"{own_time / least_time:.2f}" if small else "none is smaller",
        automatic(w),
    ]


def each(seconds: float, w: Workload) -> str:
    """Time of a point."""
    return f"{seconds / len(w.points) * 1e9:,.0f} ns"


def trial(kind: str, w: Workload, given: dict[str, Any]) -> Trial:
    say(f"tuning: {w.name}, {given or 'its own'}")
    index = wl.index.build(kind, w.lo, w.hi, **given)
    index.stab(w.points)
    return Trial(given, index.nbytes, best_of(lambda: index.stab(w.points), 3))


def again(kind: str, w: Workload, *trials: Trial) -> tuple[str, list[float]]:
    """How the first explains itself, and the times of all: in turns, the best of seven."""
    indexes = [wl.index.build(kind, w.lo, w.hi, **t.tuning) for t in trials]
    turns = [[clocked(partial(i.stab, w.points))[0] for i in indexes] for _ in range(7)]
    return indexes[0].explain(), [min(times) for times in zip(*turns, strict=True)]


def automatic(w: Workload) -> str:
    """What `auto` picks, and its time."""
    index = wl.index.build("auto", w.lo, w.hi)
    return f"`{index.kind}` {each(best_of(lambda: index.stab(w.points), 7), w)}"


def candidates(w: Workload, quick: bool) -> Iterator[dict[str, Any]]:
    borders = np.concatenate([w.lo, w.hi]).ravel()
    low, high = np.quantile(borders[np.isfinite(borders)], [0.005, 0.995])
    top = int(np.ceil(np.log2(high - low)))
    finest = 20 if w.dims == 1 else 10
    step = 9 if quick else 2 if w.dims == 1 else 1
    lengths = (1, 16) if quick else (1, 2, 4, 8, 16, 64)
    for down, length in itertools.product(range(2, finest + 1, step), lengths):
        given = {"unit": 2.0 ** (top - down), "L": length}
        if guess(w, given["unit"], length, high - low) < LIMIT:
            yield given


def guess(w: Workload, unit: float, length: int, widest: float) -> float:
    """Bytes, from the pieces that a sample of boxes has at most."""
    widths = np.minimum((w.hi - w.lo)[:: max(1, len(w.lo) // 1_000)], widest) / unit
    return 12.0 * len(w.lo) * pieces(widths, length)


def pieces(widths: Doubles, length: int) -> float:
    """Pieces within the segments at the border, and whole segments, of a box on average."""
    if widths.ndim == 1:
        return float((2 * np.log2(length + 1) + np.minimum(widths / length, WIDE)).mean())
    inside = np.minimum((widths / length).prod(axis=1), WIDE)
    return float((inside + 4 * np.minimum(widths, WIDE).sum(axis=1)).mean())
