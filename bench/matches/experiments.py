"""`wl.matches` on local Spark, beside the floor and beside Spark's own broadcast range join.

The floor is the same job with a kernel that only emits as many rows: what Spark and Arrow cost
without any matching. All matching contestants must give the same pairs: their number and a
checksum over (query, row) are compared.

    python -m bench.matches [bands|symbols|ranges|small …] [--quick] [--runs N]
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import watchline as wl
from bench.common.report import (
    Part,
    attempt,
    failure_row,
    in_turn,
    plain,
    publish,
    require_same,
    say,
    spread,
    table,
    timed,
)
from bench.matches.small import small

DOMAIN = 1_000.0
SYMBOLS = 2_000
R, W = 2**20, 200
JOIN = "broadcast range join"
# How often each contestant runs; the join takes long.
ROUNDS, JOIN_ROUNDS = 5, 3


@dataclass(frozen=True)
class Feed:
    """A stream, how to create it, and the columns of so many rows; one of them is ts, the number
    of the row."""

    name: str
    create: str
    columns: Callable[[int], dict[str, Any]]

    def write(self, path: Path, count: int) -> None:
        ts = pa.array(np.arange(count), pa.timestamp("us", tz="UTC"))
        table = pa.table({**self.columns(count), "ts": ts})
        pq.write_table(table, path, row_group_size=100_000)


def ticks(domain: float = DOMAIN) -> Feed:
    """Prices of some symbols, anywhere in the domain."""

    def columns(count: int) -> dict[str, Any]:
        rng = np.random.default_rng(3)
        names = np.array([f"S{i}" for i in range(SYMBOLS)])
        symbols = names[rng.integers(0, SYMBOLS, count)]
        return {"symbol": symbols, "price": rng.uniform(0, domain, count)}

    create = "CREATE STREAM ticks (symbol STRING, price DOUBLE, ts TIMESTAMP) OBJECT symbol TIME ts"
    return Feed("ticks", create, columns)


def bands(n: int, keyed: bool) -> tuple[list[str], dict[str, Any]]:
    """n price bands, of which a row meets about two (keyed: two of its symbol's ten)."""
    rng = np.random.default_rng(4)
    per_row = n / SYMBOLS if keyed else n
    lo = rng.uniform(-DOMAIN / per_row, DOMAIN, n)
    bounds: dict[str, Any] = {"price": (lo, lo + 2 * DOMAIN / per_row)}
    if keyed:
        bounds["symbol"] = [f"S{i % SYMBOLS}" for i in range(n)]
    return [f"q{i}" for i in range(n)], bounds


def paper_ranges(n: int) -> tuple[list[str], dict[str, Any]]:
    """The intervals of the indexes' setting A: whole numbers, up to W wide, in [0, R)."""
    rng = np.random.default_rng(5)
    lo = rng.integers(1, R - 1, n).astype(np.float64)
    return [f"q{i}" for i in range(n)], {"price": (lo, lo + rng.integers(1, W + 1, n))}


def fingerprint(df: DataFrame) -> tuple[int, int]:
    """The number of pairs and a checksum that does not depend on their order."""
    mixed = fn.pmod(fn.xxhash64("query_id", "ts"), fn.lit(2**31)).alias("h")
    count, total = df.select(mixed).agg(fn.count("h"), fn.sum("h")).collect()[0]
    return int(count), int(total)


def floor(df: DataFrame, share: float, like: DataFrame) -> DataFrame:
    """The same job, a kernel that emits `share` output rows per input row and does nothing else."""

    def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            picked = pa.array(np.arange(int(batch.num_rows * share)) % batch.num_rows)
            ids = batch.column(0).take(picked)
            columns = [batch.column(i).take(picked) for i in range(batch.num_columns)]
            names = ["query_id", *batch.schema.names]
            yield pa.RecordBatch.from_arrays([ids, *columns], names)

    return df.mapInArrow(kernel, like.schema)


def broadcast_join(spark: SparkSession, df: DataFrame, ids: list[str], bounds: Any) -> DataFrame:
    lo, hi = bounds["price"]
    queries = spark.createDataFrame(pa.table({"query_id": ids, "lo": lo, "hi": hi}))
    within = (df["price"] >= queries["lo"]) & (df["price"] < queries["hi"])
    joined = df.join(fn.broadcast(queries), within)
    return joined.select("query_id", *df.columns)


@dataclass(frozen=True)
class Result:
    """Seconds of each contestant's runs, over so many rows."""

    name: str
    times: dict[str, list[float]]
    rows: int
    pairs: int
    failed: tuple[str, ...] = ()

    def of_floor(self, who: str) -> float:
        return min(self.times[who]) / min(self.times["floor"])

    def lines(self) -> list[list[str]]:
        lost = [["", *failure_row(who, len(HEADER) - 1)] for who in self.failed]
        return [
            [
                self.name if i == 0 else "",
                who,
                spread(seconds),
                f"{self.rows / min(seconds):,.0f}",
                f"{self.of_floor(who):.2f}×",
                f"{self.pairs / self.rows:.1f}",
            ]
            for i, (who, seconds) in enumerate(self.times.items())
        ] + lost


def setting(
    spark: SparkSession,
    folder: Path,
    name: str,
    queries: tuple[list[str], dict[str, Any]],
    count: int,
    feed: Feed | None = None,
    join: bool = False,
) -> Result:
    feed = feed or ticks()
    name = f"{name}, {count:,} rows"
    say(name)
    # Hadoop refuses a colon in a path: files are not called after the setting.
    place = Path(tempfile.mkdtemp(dir=folder))
    feed.write(place / "rows.parquet", count)
    df = spark.read.parquet(str(place / "rows.parquet"))
    catalog = wl.Catalog(place / "catalog")
    catalog.execute(feed.create)
    ids, bounds = queries
    catalog.register_boxes(feed.name, ids, bounds, emit="matches")
    ours = wl.matches(df, catalog, feed.name)
    expected = fingerprint(ours)
    contestants = {"floor": floor(df, expected[0] / count, ours), "wl.matches": ours}
    if join:
        joined = attempt(JOIN, lambda: agreeing(broadcast_join(spark, df, ids, bounds), expected))
        contestants |= {} if joined is None else {JOIN: joined}
    times = raced(contestants)
    missing = (JOIN,) if join and JOIN not in times else ()
    return Result(name, times, count, expected[0], missing)


def agreeing(result: DataFrame, expected: tuple[int, int]) -> DataFrame:
    require_same(fingerprint(result), expected)
    return result


def raced(contestants: dict[str, DataFrame]) -> dict[str, list[float]]:
    """Seconds of each contestant that gets through, after a run that does not count."""
    started = [who for who, df in contestants.items() if attempt(who, timing(df)) is not None]
    times: dict[str, list[float]] = {who: [] for who in started}
    for turn in range(ROUNDS):
        for who in in_turn(list(times), turn):
            if turn < JOIN_ROUNDS or who != JOIN:
                seconds = attempt(who, timing(contestants[who]))
                if seconds is None:
                    del times[who]
                else:
                    times[who] += seconds
    return times


def timing(df: DataFrame) -> Callable[[], list[float]]:
    return lambda: timed(lambda: df.write.format("noop").mode("overwrite").save())


@contextmanager
def local_spark() -> Iterator[tuple[SparkSession, Path]]:
    """A session, and a folder that goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="watchline-bench-"))
    spark = wl.session(app_name="watchline bench")
    try:
        yield spark, folder
    finally:
        spark.stop()
        shutil.rmtree(folder)


HEADER = ["setting", "who", "time", "rows/s", "of the floor", "matches a row"]


def told(result: Result) -> Iterator[str]:
    """The table of a setting, whose ratios count."""
    if JOIN in result.times:
        ratio = min(result.times[JOIN]) / min(result.times["wl.matches"])
        publish(f"{JOIN} / `wl.matches`, {result.name}", ratio)
    publish(f"`wl.matches` / floor, {result.name}", result.of_floor("wl.matches"))
    yield table(HEADER, result.lines())
    yield f"Times are best / median / worst of {ROUNDS} ({JOIN_ROUNDS} for the join)."


def by_bands(quick: bool) -> Iterator[str]:
    rows = 5_000 if quick else 200_000
    with local_spark() as place:
        for n in (100, 1_000) if quick else (1_000, 10_000):
            yield from told(setting(*place, f"{n:,} bands", bands(n, False), rows, join=True))


def by_symbols(quick: bool) -> Iterator[str]:
    n, rows = (4_000, 5_000) if quick else (20_000, 1_000_000)
    with local_spark() as place:
        yield from told(setting(*place, f"{n:,} bands by symbol", bands(n, True), rows))


def by_ranges(quick: bool) -> Iterator[str]:
    n, rows = (1_000, 5_000) if quick else (100_000, 1_000_000)
    with local_spark() as place:
        name = f"A: {n:,} ranges"
        yield from told(setting(*place, name, paper_ranges(n), rows, ticks(float(R))))


PARTS: dict[str, Part] = {
    "bands": plain(by_bands),
    "symbols": plain(by_symbols),
    "ranges": plain(by_ranges),
    "small": plain(small),
}
