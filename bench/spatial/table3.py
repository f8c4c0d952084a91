"""Table 3 of the Spatial Join CQ paper: the best size of a data cluster, and the index's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numba

import watchline as wl
from bench.common.report import say, table
from bench.indexes.race import clocked
from bench.spatial.race import OURS, Scale, scale_of
from bench.spatial.selections import print_of, workload
from watchline.kernels.arrays import Doubles

SIZES = (64, 128, 256, 512, 1_024)
BATCHES = (2_000, 4_000, 6_000, 8_000, 10_000)

# By attributes, for each batch: the paper's optimal N_dc and milliseconds of a row, at 10,000
# queries.
PAPER = {
    4: ((100, 0.406), (120, 0.391), (120, 0.391), (160, 0.381), (200, 0.375)),
    8: ((200, 0.570), (240, 0.526), (360, 0.518), (400, 0.510), (400, 0.506)),
}


def table3(quick: bool, _: Path) -> Iterator[str]:
    numba.set_num_threads(1)
    scale = scale_of(quick)
    yield "## Table 3: rows in a data cluster (N_dc)"
    header = ["N_batch", *(f"{size:,}, µs" for size in SIZES), "own choice, µs", "best N_dc"]
    header += ["own / best", "widest / best", "paper: best N_dc, ms"]
    for n in (100_000,) if quick else (10_000, 100_000):
        for attributes in (4,) if quick else (4, 8):
            yield f"### {scale.queries(n):,} queries, {attributes} attributes"
            yield table(header, lines(n, attributes, scale))
    yield (
        f"Of a row, the best of {scale.rounds} rounds in turns, one thread; all find the same"
        " pairs. Widest / best: how much the choice matters among the sizes tried."
    )


def lines(n: int, attributes: int, scale: Scale) -> Iterator[list[str]]:
    w = workload(scale.queries(n), attributes, max(BATCHES) * scale.batch // 10_000)
    say(f"table 3: {w.name}: building")
    forced = {size: wl.index.build(OURS, w.lo, w.hi, N_dc=size) for size in SIZES}
    own = wl.index.build(OURS, w.lo, w.hi)
    for place, batch in enumerate(BATCHES):
        rows = batch * scale.batch // 10_000
        points = w.points[:rows]
        say(f"table 3: {w.name}: {rows:,} rows")
        *times, mine = [s / rows * 1e6 for s in timed([*forced.values(), own], points, scale)]
        best = min(times)
        size, milliseconds = PAPER[attributes][place]
        yield [
            f"{rows:,}",
            *(f"{t:.2f}" for t in times),
            f"{mine:.2f}{chosen(own)}",
            f"{SIZES[times.index(best)]:,}",
            f"{mine / best:.2f}",
            f"{max(times) / best:.2f}",
            f"{size}, {milliseconds}" if len(w.lo) == 10_000 else "",
        ]


def timed(indexes: list[wl.index.Index], points: Doubles, scale: Scale) -> list[float]:
    """Seconds of each, the best of the rounds; the first round is for comparing answers."""
    prints = {print_of(index.stab(points)) for index in indexes}
    assert len(prints) == 1, prints
    turns = [
        [clocked(partial(index.stab, points), cold=True)[0] for index in indexes]
        for _ in range(scale.rounds)
    ]
    return [min(seconds) for seconds in zip(*turns, strict=True)]


def chosen(index: wl.index.Index) -> str:
    """The size that the index chose for its last batch, if it tells."""
    told = re.search(r"N_dc\W+([\d,]+)", index.explain())
    return f" (N_dc {told[1].rstrip(',')})" if told else ""
