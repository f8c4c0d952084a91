"""Bounded memory: the experiments of the SOLE paper's sections 7.1, 7.2 and 7.7 on a road network.

    python -m bench.shedding [cache|load|arrivals|overhead …] [--quick] [--figures DIR]

Without a part, all of them. Tables go to standard output, figures to the folder of `--figures`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import watchline as wl
from bench.plots import curves
from bench.report import Part, run, say, table
from bench.shedding_cache import cache
from bench.shedding_load import load
from bench.shedding_overhead import overhead
from bench.shedding_world import STREAM, drive, rows_of

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
