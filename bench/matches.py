"""`wl.matches` on local Spark, beside the floor and beside Spark's own broadcast range join.

The floor is the same job with a kernel that only emits as many rows: what Spark and Arrow cost
without any matching. All matching contestants must give the same pairs: their number and a
checksum over (query, row) are compared.

    python -m bench.matches
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import watchline as wl
from bench.report import machine, say, spread, table, timed

DOMAIN = 1_000.0
SYMBOLS = 2_000
TICKS = "CREATE STREAM ticks (symbol STRING, price DOUBLE, ts TIMESTAMP) OBJECT symbol TIME ts"


R, W = 2**20, 200


def rows(path: Path, count: int, domain: float) -> None:
    rng = np.random.default_rng(3)
    names = np.array([f"S{i}" for i in range(SYMBOLS)])
    data = {
        "symbol": names[rng.integers(0, SYMBOLS, count)],
        "price": rng.uniform(0, domain, count),
        "ts": pa.array(np.arange(count), pa.timestamp("us", tz="UTC")),
    }
    pq.write_table(pa.table(data), path, row_group_size=100_000)


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


def drain(df: DataFrame) -> Callable[[], None]:
    return lambda: df.write.format("noop").mode("overwrite").save()


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


def setting(
    spark: SparkSession,
    folder: Path,
    name: str,
    queries: tuple[list[str], dict[str, Any]],
    count: int,
    domain: float = DOMAIN,
    join: bool = False,
) -> list[list[str]]:
    name = f"{name}, {count:,} rows"
    say(name)
    path = folder / f"rows-{count}-{domain:.0f}.parquet"
    if not path.exists():
        rows(path, count, domain)
    df = spark.read.parquet(str(path))
    catalog = wl.Catalog(folder / f"catalog-{name}")
    catalog.execute(TICKS)
    ids, bounds = queries
    catalog.register_boxes("ticks", ids, bounds, emit="matches")
    ours = wl.matches(df, catalog, "ticks")
    expected = fingerprint(ours)
    contestants = {"floor": floor(df, expected[0] / count, ours), "wl.matches": ours}
    if join:
        contestants["broadcast range join"] = broadcast_join(spark, df, ids, bounds)
        assert fingerprint(contestants["broadcast range join"]) == expected
    times: dict[str, list[float]] = {}
    for who, result in contestants.items():
        drain(result)()
        times[who] = timed(drain(result), 5 if who != "broadcast range join" else 3)
    base = min(times["floor"])
    return [
        [
            name if i == 0 else "",
            who,
            spread(t),
            f"{count / min(t):,.0f}",
            f"{min(t) / base:.2f}×",
            f"{expected[0] / count:.1f}",
        ]
        for i, (who, t) in enumerate(times.items())
    ]


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="watchline-bench-"))
    spark = wl.session(app_name="watchline bench")
    try:
        lines = [
            *setting(spark, folder, "1,000 bands", bands(1_000, False), 200_000, join=True),
            *setting(spark, folder, "10,000 bands", bands(10_000, False), 200_000, join=True),
            *setting(spark, folder, "20,000 bands by symbol", bands(20_000, True), 1_000_000),
            *setting(
                spark, folder, "A: 100,000 ranges", paper_ranges(100_000), 1_000_000, float(R)
            ),
        ]
    finally:
        spark.stop()
        shutil.rmtree(folder)
    print(f"\n{machine()}. Times are best / median / worst of five (three for the join).\n")
    header = ["setting", "who", "time", "rows/s", "of the floor", "matches a row"]
    print(table(header, lines))


if __name__ == "__main__":
    main()
