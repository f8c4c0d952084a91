"""What a call of `wl.Matcher` costs with few rows: the time of single calls, without Spark.

Tables of one size take turns, so that no call meets the row of the call before it. The pairs of all
tables of a size are compared with those of a scan.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.report import publish, require_same, say, table

DOMAIN = 1_000.0
AXES = ("price", "volume")
# Ranges that a row meets, on average.
HELD = 2.0
# Rows in a call, and how many tables of that size take turns; how often all of them do.
TABLES = {1: 200, 100: 50, 10_000: 5}
TURNS = 20


@dataclass(frozen=True)
class Ranges:
    """Queries over so many attributes, and the tables of rows that meet them."""

    axes: tuple[str, ...]
    lo: Any
    width: float

    @staticmethod
    def over(count: int, dims: int) -> Ranges:
        width = DOMAIN * (HELD / count) ** (1 / dims)
        lo = np.random.default_rng(7).uniform(0, DOMAIN - width, (dims, count))
        return Ranges(AXES[:dims], lo, width)

    def matcher(self) -> wl.Matcher:
        catalog = wl.Catalog.of(
            "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, ts TIMESTAMP)"
            " OBJECT symbol TIME ts"
        )
        names = [f"q{i}" for i in range(self.lo.shape[1])]
        bounds = {a: (lo, lo + self.width) for a, lo in zip(self.axes, self.lo, strict=True)}
        catalog.register_boxes("ticks", names, bounds, emit="matches")
        return wl.Matcher(catalog, "ticks")

    def pairs(self, rows: pa.Table) -> int:
        """How many pairs a scan finds."""
        inside = np.ones((rows.num_rows, self.lo.shape[1]), np.bool_)
        for axis, lo in zip(self.axes, self.lo, strict=True):
            values = rows[axis].to_numpy()[:, np.newaxis]
            inside &= (lo <= values) & (values < lo + self.width)
        return int(inside.sum())


def tables_of(size: int, count: int) -> list[pa.Table]:
    """Tables of so many rows each."""
    rng = np.random.default_rng(size)
    return [
        pa.table(
            {
                "symbol": [f"S{i}" for i in rng.integers(0, 2_000, size)],
                "price": rng.uniform(0, DOMAIN, size),
                "volume": rng.uniform(0, DOMAIN, size),
                "ts": pa.array(np.arange(size), pa.timestamp("us", "UTC")),
            }
        )
        for _ in range(count)
    ]


def small(quick: bool) -> Iterator[str]:
    """Calls of 1, 100 and 10,000 rows against ranges of one attribute and boxes of two."""
    queries = 500 if quick else 10_000
    yield f"## Small calls: `wl.Matcher` with {queries:,} queries, without Spark"
    lines = []
    for dims in (1, 2):
        say(f"small calls: {dims} attributes")
        ranges = Ranges.over(queries, dims)
        matcher = ranges.matcher()
        middle = {}
        for size, count in TABLES.items():
            tables = tables_of(size, 3 if quick else count)
            found = [matcher.match(rows).num_rows for rows in tables]
            require_same(found, [ranges.pairs(rows) for rows in tables])
            taken = calls(matcher, tables, 2 if quick else TURNS)
            middle[size] = statistics.median(taken)
            cells = [f"{of(taken) * 1e6:,.0f} µs" for of in (min, statistics.median)]
            lines.append(
                [f"{dims}", f"{size:,}", *cells, f"{sum(found) / (size * len(found)):.1f}"]
            )
        publish(f"100 rows / 1 row, {dims} attributes", middle[100] / middle[1])
    yield table(["attributes", "rows a call", "best", "median", "matches a row"], lines)


def calls(matcher: wl.Matcher, tables: list[pa.Table], turns: int) -> list[float]:
    """Seconds of each call."""
    taken = []
    for _ in range(turns):
        for rows in tables:
            start = time.perf_counter()
            matcher.match(rows)
            taken.append(time.perf_counter() - start)
    return taken
