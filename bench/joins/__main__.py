"""Window joins: the experiment of the Spatial Join CQ paper's section 7.4, windows of many sizes,
one query beside Spark's own join, and joins by inequality and by distance.

    python -m bench.joins [figure18|pieces|sizes|equal|theta|distance …] [--quick] [--figures DIR]

Without a part, all of them. Tables go to standard output, figures to the folder of `--figures`.
Times of the engine are of the processor, those of Spark by the clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.plots import Panel, draw
from bench.common.report import Part, publish, run, say, table, timed
from bench.joins.distance import distance
from bench.joins.spark import equal
from bench.joins.world import METHODS, Contestant, batches, contestants, in_turn, queries, rows
from watchline.joining import JoinFrame
from watchline.joining.papers.indexed import IndexedDirection

# The paper's gains over IBS-JS.
WANTED = {100: 2.6, 1_000: 3.9, 10_000: 6.9}
COUNTS = (1_000, 2_500, 5_000, 10_000)
# Batches: one to compare, and four for the clock.
BATCHES = 5


def _batches(window: int, quick: bool, count: int = BATCHES) -> list[JoinFrame]:
    """Fewer rows come at once where each finds millions."""
    return batches(window, 10 if quick else max(200_000 // window, 20), count)


def _fresh(frames: list[JoinFrame]) -> int:
    """Rows of both streams in a batch."""
    return sum(len(s) - s.fresh for s in frames[0].stretches.values())


def figure18(quick: bool, figures: Path) -> Iterator[str]:
    """N_query and the size of the window."""
    counts = (20, 50) if quick else COUNTS
    windows = (100,) if quick else tuple(WANTED)
    yield "## Figure 18: many queries, by the number of queries and the size of the windows\n"
    header = ["window", "queries", "answers a row", "`bits`", "`ibs`", "gain", "`sj`", "gain"]
    lines, claims, panels = [], [], []
    for window in windows:
        drawn: dict[str, list[float | None]] = {name: [] for name in METHODS}
        gains = []
        for count in counts:
            frames = _batches(window, quick)
            fresh = _fresh(frames)
            # All pairs of the window are points for `sj`: it has to be spared the largest.
            names = tuple(METHODS) if window * count <= 10_000_000 else ("bits", "ibs")
            taken = in_turn(contestants(queries(count, window), names), frames)
            each = {name: 1e3 * of.seconds / fresh for name, of in taken.items()}
            cells = [f"{window:,}", f"{count:,}", f"{taken['bits'].answers / fresh:,.0f}"]
            for name in METHODS:
                drawn[name].append(each.get(name))
                cells.append(f"{each[name]:.3f} ms" if name in each else "–")
                if name != "bits":
                    cells.append(f"{each[name] / each['bits']:.1f}×" if name in each else "–")
            what = f"windows of {window:,}, {count:,} queries"
            for rival in [name for name in each if name != "bits"]:
                publish(f"`{rival}` / `bits`, {what}", each[rival] / each["bits"])
            gains.append(each.get("ibs", np.nan) / each["bits"])
            lines.append(cells)
            say(f"figure18: {cells}")
        if not quick:
            met = "yes" if gains[-1] >= WANTED[window] else "no"
            wanted, most = f"≥ {WANTED[window]:g}×", f"{gains[-1]:.1f}×"
            claims.append(
                [f"{window:,}", wanted, most, f"{min(gains):.1f} to {max(gains):.1f}×", met]
            )
        panels.append(Panel(f"windows of {window:,} rows", "ms a row", drawn, {}))
    yield table(header, lines)
    yield (
        "\nEach row comes, probes and is inserted; processor time, the best of"
        f" {BATCHES - 1} batches. All contestants found the same (query, row, row).\n"
    )
    if claims:
        yield table(["window", "wanted", f"with {counts[-1]:,} queries", "with any", "met"], claims)
    title = "Figure 18: window joins of two streams"
    draw(figures / "joins-18.svg", title, "queries", counts, panels)


def pieces(quick: bool, _: Path) -> Iterator[str]:
    """How finely the region of a comparison is cut for the paper's method."""
    window, count = (100, 20) if quick else (1_000, 1_000)
    yield f"## Pieces of the comparison's region: `sj`, {count:,} queries, windows of {window:,}\n"
    asked = queries(count, window)
    made = {
        f"{n}": Contestant(asked, partial(IndexedDirection, method="sj", pieces=n))
        for n in (1, 2, 4, 8, 16)
    }
    taken = in_turn(made, _batches(window, quick))
    lines = [[name, f"{of.seconds / taken['4'].seconds:.2f}"] for name, of in taken.items()]
    yield table(["pieces", "time / 4 pieces"], lines)


def sizes(quick: bool, _: Path) -> Iterator[str]:
    """Windows of one size, of a few, and of as many as there are queries."""
    window, count = (100, 50) if quick else (1_000, 10_000)
    yield f"## Windows of different sizes in one index: {count:,} queries, up to {window:,} rows\n"
    frames, rng = _batches(window, quick), np.random.default_rng(5)
    lines = []
    for different in (1, 4) if quick else (1, 4, 32, 1_000):
        drawn = window - rng.integers(0, different, count) * (window // max(different, 2))
        asked = queries(count, np.maximum(drawn, 1) if different > 1 else window)
        taken = in_turn(contestants(asked, ("bits", "ibs")), frames)
        seconds, answers = taken["bits"]
        each = [f"{1e6 * seconds / _fresh(frames):,.1f} µs", f"{1e9 * seconds / answers:.2f} ns"]
        lines.append([f"{len(np.unique(drawn)):,}", f"{answers:,}", *each])
        say(f"sizes: {lines[-1]}")
    yield table(["sizes", "answers", "`bits`, a row", "an answer"], lines)


def theta(quick: bool, _: Path) -> Iterator[str]:
    """One query by inequality, rows in and rows out."""
    n = 3_000 if quick else 1_000_000
    yield f"## One query by inequality: {n:,} + {n:,} rows, windows of 1,000 rows\n"
    rng = np.random.default_rng(3)
    tables = {name: rows(n, rng) for name in "rs"}
    lines = []
    for narrow in (0.01, 0.05):
        catalog = wl.Catalog.of(
            [
                *(
                    f"CREATE STREAM {name} (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
                    " OBJECT id TIME ts"
                    for name in "rs"
                ),
                "CREATE QUERY q AS SELECT * FROM r [ROWS 1000], s [ROWS 1000]"
                f" WHERE r.x < s.x AND r.y < {narrow} AND s.y < {narrow}",
            ]
        )
        found = 0

        def all_of_it(catalog: wl.Catalog = catalog) -> None:
            nonlocal found
            joiner = wl.Joiner(catalog, ["r", "s"])
            parts = [
                joiner.process({name: of.slice(at, 100_000) for name, of in tables.items()})
                for at in range(0, n, 100_000)
            ]
            found = pa.concat_tables([*parts, joiner.finish()]).num_rows

        seconds = min(timed(all_of_it, 3))
        lines.append([f"y < {narrow}", f"{found:,}", f"{seconds:.2f} s", f"{2 * n / seconds:,.0f}"])
    yield table(["both select", "pairs", "`wl.Joiner`", "rows/s"], lines)


PARTS: dict[str, Part] = {
    "figure18": figure18,
    "pieces": pieces,
    "sizes": sizes,
    "equal": equal,
    "theta": theta,
    "distance": distance,
}


if __name__ == "__main__":
    run("bench.joins", PARTS)
