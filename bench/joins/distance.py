"""Joins over space: DISTANCE by cells, beside all pairs of the windows by NumPy.

Two streams take turns; each row is at a place of its own, uniform in a square of such a size that
about one row of the other stream's window is within 200 metres. NumPy compares each row with the
whole window of the other stream, by the same formula, so that both find the same pairs: asserted
for the rows that NumPy has the time for. Processor time of both, on one core.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.report import publish, require_same, say, table
from watchline.kernels.arrays import Doubles, Integers
from watchline.kernels.earth import DEGREE_METRES, chord_of, vectors_of

SECONDS = 10
METRES = 200.0
# About San Francisco.
LONGITUDE, LATITUDE = -122.4, 37.8
# Triggers and partners that NumPy compares at once: one of these shapes is the fastest.
TILES = ((32, 1_024), (64, 1_024), (128, 512), (64, 4_096), (256, 2_048))


class Setting(NamedTuple):
    """Rows of each stream, how many of them come in a second, and what the places are."""

    rows: int
    rate: int
    on_earth: bool

    @property
    def window(self) -> int:
        return SECONDS * self.rate

    def times(self, second: bool) -> Integers:
        """In microseconds; the rows of the second stream come between those of the first."""
        step = 1_000_000 // self.rate
        return np.arange(self.rows) * step + (step // 2 if second else 0)

    def places(self, seed: int) -> tuple[Doubles, Doubles]:
        rng = np.random.default_rng(seed)
        side = METRES * math.sqrt(math.pi * self.window)
        x, y = side * rng.random((2, self.rows))
        if not self.on_earth:
            return x, y
        across = DEGREE_METRES * math.cos(math.radians(LATITUDE))
        return LONGITUDE + x / across, LATITUDE + y / DEGREE_METRES

    def table(self, second: bool) -> pa.Table:
        x, y = self.places(1 + second)
        times = pa.array(self.times(second)).cast(pa.timestamp("us", "UTC"))
        return pa.table({"id": np.arange(self.rows), "x": x, "y": y, "ts": times})

    def catalog(self) -> wl.Catalog:
        kind = " AS GEOGRAPHY" if self.on_earth else ""
        streams = (
            f"CREATE STREAM {name} (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
            f" POINT (x, y){kind}"
            for name in "rs"
        )
        window = f"[RANGE {SECONDS} SECONDS]"
        query = (
            f"CREATE QUERY q AS SELECT * FROM r {window}, s {window}"
            f" WHERE DISTANCE(r, s) < {METRES}"
        )
        return wl.Catalog.of([*streams, query])


def distance(quick: bool, _: Path) -> Iterator[str]:
    """One query by DISTANCE, rows in and rows out, and all pairs by NumPy."""
    rows = 4_000 if quick else 1_000_000
    yield f"## One query by DISTANCE: {rows:,} + {rows:,} rows, windows of {SECONDS} seconds\n"
    header = ["places", "rows/s of a stream", "in a window", "pairs", "`wl.Joiner`", "rows/s"]
    header += ["all pairs by NumPy, rows/s", "gain"]
    lines = []
    for rate, on_earth in product((100,) if quick else (1_000, 10_000), (False, True)):
        setting = Setting(rows, rate, on_earth)
        tried = setting.window + min(rows - setting.window, 200 if quick else 20_000)
        found, seconds = _joined(setting, rows, 1 if quick else 3)
        theirs, each = _all_pairs(setting, tried)
        require_same(_completed(_joined(setting, tried, 1)[0], setting), theirs)
        speed = 2 * rows / seconds
        where = "on Earth" if on_earth else "on a plane"
        gain = publish(f"NumPy / `DISTANCE`, {where}, {rate:,} rows/s", speed * each)
        lines.append(
            [
                where,
                f"{rate:,}",
                f"{setting.window:,}",
                f"{found.num_rows:,}",
                f"{seconds:.2f} s",
                f"{speed:,.0f}",
                f"{1 / each:,.0f}",
                f"{gain:,.0f}×",
            ]
        )
        say(f"distance: {lines[-1]}")
    yield table(header, lines)


def _joined(setting: Setting, rows: int, repeat: int) -> tuple[pa.Table, float]:
    """The pairs of so many rows of each stream, and the seconds of the best run."""
    catalog = setting.catalog()
    tables = {"r": setting.table(False), "s": setting.table(True)}
    seconds, found = [], pa.table({})
    for _ in range(repeat + 1):
        joiner = wl.Joiner(catalog, ["r", "s"])
        began = time.process_time()
        parts = [
            joiner.process({name: of.slice(at, min(100_000, rows - at)) for name, of in
                            tables.items()})
            for at in range(0, rows, 100_000)
        ]  # fmt: skip
        found = pa.concat_tables([*parts, joiner.finish()])
        seconds.append(time.process_time() - began)
    # The first run loads kernels.
    return found, min(seconds[1:])


def _completed(found: pa.Table, setting: Setting) -> list[tuple[int, int]]:
    """The pairs whose later row has a full window before it."""
    r, s = (found[f"{name}_id"].to_numpy() for name in "rs")
    late = np.maximum(r, s) >= setting.window
    return sorted(zip(r[late].tolist(), s[late].tolist(), strict=True))


class Points(NamedTuple):
    """Coordinates by axis, and times."""

    axes: list[Doubles]
    times: Integers

    @staticmethod
    def of(setting: Setting, second: bool) -> Points:
        x, y = setting.places(1 + second)
        axes = list(np.ascontiguousarray(vectors_of(x, y).T)) if setting.on_earth else [x, y]
        return Points(axes, setting.times(second))


def _all_pairs(setting: Setting, rows: int) -> tuple[list[tuple[int, int]], float]:
    """The pairs that rows with a full window complete, and seconds of each of these rows, with the
    best of the tiles."""
    r, s = (Points.of(setting, second) for second in (False, True))
    length = float(chord_of(METRES)) if setting.on_earth else METRES

    def both(last: int, tile: tuple[int, int]) -> list[tuple[int, int]]:
        of_r = _pairs(r, s, range(setting.window, last), length * length, tile)
        of_s = _pairs(s, r, range(setting.window, last), length * length, tile)
        return [*of_r, *((a, b) for b, a in of_s)]

    some = min(rows, setting.window + 1_000)
    best = min(TILES, key=lambda tile: _processor(lambda: both(some, tile)))
    found: list[tuple[int, int]] = []
    seconds = _processor(lambda: found.extend(both(rows, best)))
    return sorted(found), seconds / (2 * (rows - setting.window))


def _processor(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _pairs(
    triggers: Points, partners: Points, rows: range, square: float, tile: tuple[int, int]
) -> list[tuple[int, int]]:
    """Rows and the earlier partners in their windows that are near them, tile by tile."""
    found: list[tuple[int, int]] = []
    space = [np.empty(tile) for _ in "12"]
    near = np.empty(tile, np.bool_)
    for first in range(rows.start, rows.stop, tile[0]):
        some = slice(first, min(first + tile[0], rows.stop))
        times = triggers.times[some]
        lo = int(np.searchsorted(partners.times, times[0] - 1_000_000 * SECONDS))
        hi = int(np.searchsorted(partners.times, times[-1]))
        for start in range(lo, hi, tile[1]):
            others = slice(start, min(start + tile[1], hi))
            part = np.s_[: some.stop - some.start, : others.stop - others.start]
            total, delta = (of[part] for of in space)
            for axis, (a, b) in enumerate(zip(triggers.axes, partners.axes, strict=True)):
                into = delta if axis else total
                np.subtract(a[some, None], b[None, others], out=into)
                np.multiply(into, into, out=into)
                if axis:
                    np.add(total, delta, out=total)
            np.less(total, square, out=near[part])
            i, j = np.nonzero(near[part])
            if len(i):
                age = times[i] - partners.times[others][j]
                kept = (age >= 0) & (age <= 1_000_000 * SECONDS)
                pairs = ((first + i[kept]).tolist(), (start + j[kept]).tolist())
                found += zip(*pairs, strict=True)
    return found
