"""Cases in which an index has nothing to divide: none, one, all alike, always the same point."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np

import watchline as wl
from bench.common.report import amount, say, table
from bench.common.workloads import setting
from bench.indexes.memory import mib
from bench.indexes.race import best_of, clocked
from watchline.kernels.arrays import Doubles


def hotspots(quick: bool) -> Iterator[str]:
    numba.set_num_threads(1)
    yield "## Hot spots"
    header = ["case", "index", "points", "matches a point", "build", "stab", "a point", "MiB"]
    yield table(header, [line(*case) for case in cases(quick)])


def cases(quick: bool) -> Iterator[tuple[str, str, Doubles, Doubles, Doubles]]:
    """Name, kind, lo, hi, points."""
    rng = np.random.default_rng(9)
    for kind, name in (("cei", "A"), ("ces", "C")):
        w = setting(name, quick)
        m = len(w.points)
        alike, tail = len(w.lo), w.lo.shape[1:]
        yield "empty", kind, w.lo[:0], w.hi[:0], w.points
        yield "one query", kind, w.lo[:1], w.hi[:1], w.points
        same = np.full((alike, *tail), 100.0)
        yield (
            f"{alike:,} alike",
            kind,
            same,
            same + 100,
            rng.uniform(100, 200, (200, *tail)),
        )
        yield f"{alike:,} alike, no point within", kind, same, same + 100, w.points + 200
        yield (
            f"one point {m:,} times",
            kind,
            w.lo,
            w.hi,
            np.repeat((w.lo + w.hi)[:1] / 2, m, axis=0),
        )


def line(case: str, kind: str, lo: Doubles, hi: Doubles, points: Doubles) -> list[str]:
    say(f"hot spots: {kind}, {case}")
    wl.index.build(kind, lo[:5], hi[:5]).stab(points[:5])
    built, index = clocked(lambda: wl.index.build(kind, lo, hi))
    found = len(index.stab(points).ids)
    seconds = best_of(lambda: index.stab(points), 5)
    return [
        case,
        f"`{kind}`",
        f"{len(points):,}",
        f"{found / len(points):,.1f}",
        amount(built),
        amount(seconds),
        f"{seconds / len(points) * 1e9:,.0f} ns",
        mib(index.nbytes),
    ]
