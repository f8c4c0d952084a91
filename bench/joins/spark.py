"""One equi-join on local Spark: `wl.joins` beside Spark's own join of the same two streams.

Both read a file of each stream in a batch, keep what a window of time holds, and throw their pairs
away. Spark's join has watermarks, so that it forgets what no row can meet; as many shuffle
partitions as we have shards; and the same state store.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.files import write_batch
from bench.common.report import WrongAnswer, attempt, failure_row, number, publish, say, table
from bench.matches.experiments import local_spark

WANTED = 2.0
BATCHES, ROUNDS = 6, 2
# Spark's join loses a pair here and there at the border of the window, with a watermark's delay or
# without one. Not more than this part of them.
LOST = 1e-5
# A row of each stream every ten microseconds; the window, in microseconds.
STEP, WINDOW = 10, 1_000_000
STREAMS = [
    f"CREATE STREAM {name} (id BIGINT, x BIGINT, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    for name in "rs"
]
QUERY = (
    f"CREATE QUERY q AS SELECT * FROM r [RANGE {WINDOW} MICROSECONDS],"
    f" s [RANGE {WINDOW} MICROSECONDS] WHERE r.x = s.x"
)


def write(folder: Path, rows: int, batches: int) -> int:
    """Files of both streams; how many pairs there are, by a search for the partners of each row.
    Keys are so many that a row has about one partner on each side."""
    rng = np.random.default_rng(4)
    keys, every = WINDOW // STEP, {}
    for name in "rs":
        (folder / name).mkdir()
        every[name] = rng.integers(0, keys, batches * rows)
        for k in range(batches):
            at = np.arange(k * rows, (k + 1) * rows)
            columns = {
                "id": pa.array(at),
                "x": pa.array(every[name][at]),
                "y": pa.array(rng.random(rows)),
                "ts": pa.array(STEP * at).cast(pa.timestamp("us", "UTC")),
            }
            write_batch(pa.table(columns), folder / name, k)
    times = STEP * np.arange(batches * rows)
    apart = 2 * int(times[-1]) + 2 * WINDOW
    partners = np.sort(every["s"] * apart + times)
    arrivals = every["r"] * apart + times
    first = np.searchsorted(partners, arrivals - WINDOW, "left")
    last = np.searchsorted(partners, arrivals + WINDOW, "right")
    return int((last - first).sum())


def read(session: Any, folder: Path, name: str) -> Any:
    schema = "id long, x long, y double, ts timestamp"
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder / name))


def ours(session: Any, folder: Path) -> Any:
    frames = {name: read(session, folder, name) for name in "rs"}
    return wl.joins(frames, [*STREAMS, QUERY], state=folder / "state")


def sparks(session: Any, folder: Path) -> Any:
    from pyspark.sql import functions as fn

    r, s = (
        read(session, folder, name)
        .select(*(fn.col(c).alias(f"{name}_{c}") for c in ("id", "x", "y", "ts")))
        .withWatermark(f"{name}_ts", "0 seconds")
        for name in "rs"
    )
    near = f"INTERVAL {WINDOW} MICROSECONDS"
    condition = f"r_x = s_x AND s_ts >= r_ts - {near} AND s_ts <= r_ts + {near}"
    return r.join(s, fn.expr(condition)).observe("found", fn.count(fn.lit(1)).alias("pairs"))


def seconds_of(made: Any, folder: Path) -> tuple[list[float], int]:
    """Of each batch of rows but the first, and how many pairs there were in all."""
    checkpoint = tempfile.mkdtemp(dir=folder)
    query = (
        made.writeStream.format("noop")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    done = [p for p in query.recentProgress if p["numInputRows"]]
    pairs = sum(next(iter(p["observedMetrics"].values()))["pairs"] or 0 for p in done)
    return [p["durationMs"]["triggerExecution"] / 1e3 for p in done][1:], int(pairs)


OURS, SPARKS = "`wl.joins`", "Spark's join"


def equal(quick: bool, _: Path) -> Iterator[str]:
    """An equi-join: no slower than twice Spark's own."""
    rows = 500 if quick else 300_000
    yield f"## One equi-join on Spark: {rows:,} + {rows:,} rows a batch, windows of a second\n"
    with local_spark() as (session, folder):
        right = write(folder, rows, 2 if quick else BATCHES)
        # Ours is exact; Spark's may lose some pairs.
        wanted = {OURS: (ours, 0.0), SPARKS: (sparks, LOST * right)}
        taken: dict[str, list[float]] = {name: [] for name in wanted}
        for _turn in range(1 if quick else ROUNDS):
            for name in list(taken):
                build, lost = wanted[name]
                done = attempt(name, partial(checked, session, folder, build, right, lost))
                if done is None:
                    del taken[name]
                else:
                    taken[name] += done
                say(f"equal: {name} {done}")
    middle = {
        name: statistics.median(taken[name]) if name in taken else math.nan for name in wanted
    }
    header = ["a batch", "best", "median", "rows/s"]
    yield table(
        header,
        [
            [name, f"{min(of):.2f} s", f"{middle[name]:.2f} s", f"{2 * rows / middle[name]:,.0f}"]
            for name, of in taken.items()
        ]
        + [failure_row(name, len(header)) for name in wanted if name not in taken],
    )
    yield f"{OURS} found all {right:,} pairs, Spark's join all but {LOST:.3%} of them at most."
    ratio = publish("`wl.joins` / Spark's join, one equi-join", middle[OURS] / middle[SPARKS])
    met = "yes" if ratio <= WANTED else "no"
    line = ["`wl.joins` / Spark's join", f"≤ {WANTED:g}", number(ratio, ".2f"), met]
    yield table(["target", "wanted", "measured (median)", "met"], [line])


def checked(session: Any, folder: Path, build: Any, right: int, lost: float) -> list[float]:
    """Seconds of the batches of one run, which found the right pairs but for so many at most."""
    seconds, found = seconds_of(build(session, folder), folder)
    if abs(found - right) > lost:
        raise WrongAnswer(f"{found:,} pairs instead of {right:,}")
    return seconds
