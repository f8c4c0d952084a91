"""Matcher and Tracker over regions: rows a second in calls of 3,000 and of 30,000 rows.

Each object takes a small step in each call. The tracker's last answers are compared with those of
the index for the last rows, and the matcher's pairs with a stab.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.report import WrongAnswer, say, table
from bench.regions.world import Setting, settings
from watchline.kernels.arrays import Doubles

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)
CALLS = (3_000, 30_000)
SECOND = 1_000_000


def engines(quick: bool) -> Iterator[str]:
    """Rows a second of the engines, small steps."""
    lines = []
    for name, make in settings(quick):
        say(f"engines: {name}")
        made = make()
        catalogs = [catalog_of(made, emit) for emit in ("changes", "matches")]
        for size in (300,) if quick else CALLS:
            rows = calls_of(made, size, 4 if quick else 16)
            tracked, changes = tracker_rate(made, catalogs[0], rows)
            matched = matcher_rate(made, catalogs[1], rows)
            lines.append([
                made.name, f"{size:,}", f"{tracked:.2f}", f"{changes:.3f}", f"{matched:.1f}"
            ])  # fmt: skip
    yield "## Engines: M rows a second, small steps, the best call"
    yield table(["setting", "rows a call", "tracker", "changes a row", "matcher"], lines)


def catalog_of(made: Setting, emit: str) -> wl.Catalog:
    catalog = wl.Catalog.of(CARS)
    ids = [f"fence {i}" for i in range(len(made.shapes))]
    catalog.register_regions("cars", ids, made.shapes, emit=emit, radius=made.radius)
    return catalog


def calls_of(made: Setting, size: int, calls: int) -> list[tuple[pa.Table, Doubles]]:
    """Rows of so many objects, each a step on from the call before."""
    rng = np.random.default_rng(3)
    places = made.points[:size].copy()
    found = []
    for call in range(calls):
        places = places + rng.normal(0, made.step, places.shape)
        times = pa.array(np.full(len(places), call * SECOND), pa.timestamp("us"))
        columns = {"id": np.arange(len(places)), "x": places[:, 0], "y": places[:, 1], "ts": times}
        found.append((pa.table(columns), places))
    return found


def tracker_rate(made: Setting, catalog: wl.Catalog, rows: list[Any]) -> tuple[float, float]:
    """Million rows a second, and the changes of a row."""
    tracker = wl.Tracker(catalog, "cars")
    taken, changes = [], 0
    for batch, _ in rows:
        start = time.perf_counter()
        found = tracker.process(batch)
        taken.append(time.perf_counter() - start)
        changes = len(found)
    expected = len(index_of(made).stab(rows[-1][1]))
    if tracker.stats()["answers"] != expected:
        raise WrongAnswer(f"{tracker.stats()['answers']} answers instead of {expected}")
    size = len(rows[0][0])
    return size / min(taken[1:]) * 1e-6, changes / size


def matcher_rate(made: Setting, catalog: wl.Catalog, rows: list[Any]) -> float:
    """Million rows a second."""
    matcher = wl.Matcher(catalog, "cars")
    taken = []
    for batch, _ in rows:
        start = time.perf_counter()
        found = matcher.match(batch)
        taken.append(time.perf_counter() - start)
    expected = len(index_of(made).stab(rows[-1][1]))
    if len(found) != expected:
        raise WrongAnswer(f"{len(found)} matches instead of {expected}")
    return len(rows[0][0]) / min(taken) * 1e-6


def index_of(made: Setting) -> Any:
    return wl.index.build_regions(made.shapes, radius=made.radius)
