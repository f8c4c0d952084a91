"""`wl.changes` on local Spark, beside the floor: rows a second, and how long a registration takes.

The floor is the same job (router, shuffle, state, packing) with a kernel that copies the state and
emits as many rows: what Spark and Arrow cost without any tracking.

    python -m bench.tracking [many|few|registration|growth|latency …] [--quick] [--runs N]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import watchline as wl
from bench.common.files import write_batch
from bench.common.report import Part, plain, publish, say, spread, table
from bench.matches.experiments import local_spark
from bench.tracking.growth import growth
from bench.tracking.latency import LATENCY
from bench.tracking.memory import memory
from bench.tracking.registering import registering
from bench.tracking.work import work
from watchline.rows import change_schema
from watchline.spark.routing import Shard
from watchline.spark.shard_job import checked_shards
from watchline.spark.tracking import driver
from watchline.spark.tracking.shard import ChangeOperator, Inbox
from watchline.spark.wire import ROWS, Parcel, packed_changes, to_ipc
from watchline.spark.worker import catalog_of

DOMAIN, WIDTH = 1e6, 1e3
# Batches of a run, of which the first does not count, and runs.
BATCHES, ROUNDS = 6, 3
TICKS = (
    "CREATE STREAM ticks (id BIGINT, price DOUBLE, volume DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
)


HEADER = [
    "setting",
    "who",
    "a batch, best / median / worst",
    "rows/s",
    "of the floor, best / median",
    "changes a row",
]


@dataclass(frozen=True)
class Setting:
    name: str
    queries: int
    objects: int
    rows: int
    # The mean step of a price: changes a row are about 2 · queries · step / DOMAIN.
    step: float
    batches: int = BATCHES


def data(folder: Path, s: Setting) -> None:
    """Walks of all objects, a batch in a file."""
    rng = np.random.default_rng(7)
    prices = rng.uniform(0, DOMAIN, s.objects)
    for k in range(s.batches):
        # Each object has its turn; so a batch has rows / objects rounds.
        ids = np.concatenate([rng.permutation(s.objects) for _ in range(-(-s.rows // s.objects))])
        ids = ids[: s.rows]
        walked = np.empty(s.rows)
        for start in range(0, s.rows, s.objects):
            part = ids[start : start + s.objects]
            prices[part] = np.abs(prices[part] + rng.normal(0, s.step * 1.2533, len(part)))
            walked[start : start + len(part)] = prices[part]
        times = pa.array(np.arange(s.rows) + k * s.rows, pa.timestamp("us", tz="UTC"))
        made = pa.table({"id": ids, "price": walked, "volume": walked, "ts": times})
        write_batch(made, folder, k)


def register(catalog: wl.Catalog, s: Setting) -> None:
    lo = np.random.default_rng(8).uniform(0, DOMAIN, s.queries)
    catalog.execute(TICKS)
    ids = [f"q{i}" for i in range(s.queries)]
    catalog.register_boxes("ticks", ids, {"price": (lo, lo + WIDTH)}, emit="changes")


@dataclass(frozen=True)
class FloorOperator(ChangeOperator):
    """The operator of engines without a tracker."""

    # Bytes of a state at first; changes a row later, and in the first batch.
    size: int
    rate: float
    first: float

    def new(self, shard: Shard, version: int) -> Any:
        return FloorEngine(self._schema(), shard, b"\0" * self.size, self.first)

    def reused(self, engine: Any, saved: int, version: int) -> Any:
        return replace(engine, rate=self.rate)

    def resumed(self, shard: Shard, blobs: Sequence[bytes], saved: int, version: int) -> Any:
        return FloorEngine(self._schema(), shard, blobs[0], self.rate, len(blobs) - 1)

    def _schema(self) -> pa.Schema:
        return change_schema(catalog_of(self.ref).stream(self.stream))


@dataclass(frozen=True)
class FloorEngine:
    """Writes the rows of a batch as the delta of its state, and makes so many changes a row of the
    rows themselves."""

    schema: pa.Schema
    shard: Shard
    blob: bytes
    rate: float
    deltas: int = 0
    written: list[bytes] = field(default_factory=list)

    def counted(self) -> dict[str, Any]:
        return {}

    def advance_to(self, version: int) -> None:
        pass

    def process(self, inbox: Inbox, last: bool) -> list[Parcel]:
        rows = pa.concat_tables(inbox.rows)
        self.written[:] = [to_ipc(rows).to_pybytes()]
        count = int(rows.num_rows * self.rate)
        picked = rows.take(pa.array(np.arange(count) % rows.num_rows))
        own = [
            pa.repeat("q12345", count),
            pa.repeat(pa.scalar(1, pa.int8()), count),
            picked["id"],
            picked["ts"],
            pa.repeat("enter", count),
            pa.nulls(count, pa.float64()),
        ]
        changes = pa.Table.from_arrays([*own, *picked.columns], schema=self.schema)
        return [Parcel(self.shard.key, ROWS, blob) for blob in packed_changes(changes)]

    def stats(self) -> dict[str, Any]:
        return {}

    def snapshot(self) -> bytes:
        return bytes(bytearray(self.blob))

    def touched(self) -> list[bytes] | None:
        return list(self.written) if self.deltas or self.blob else None

    def delta(self, touched: Sequence[list[bytes]]) -> bytes:
        return b"".join(blob for parts in touched for blob in parts)

    def replayed(self) -> list[list[bytes]]:
        return [[] for _ in range(self.deltas)]


@dataclass(frozen=True)
class Job:
    """Files of a stream in the folder `in`, and the queries over it. The floor's catalog may have
    another stream of that name, with the same columns."""

    name: str
    folder: Path
    catalog: wl.Catalog
    rows: int
    stream: str = "ticks"
    shards: int | None = None
    floor: wl.Catalog | None = None


@dataclass
class Race:
    """Seconds of the batches, of `wl.changes` and of the floor, and changes a row."""

    rows: int
    times: dict[str, list[float]]
    changes: float

    def of_floor(self, measure: Callable[[list[float]], float] = statistics.median) -> float:
        return measure(self.times["wl.changes"]) / measure(self.times["floor"])

    def lines(self, name: str) -> Iterator[list[str]]:
        best, median = (f(self.times["floor"]) for f in (min, statistics.median))
        for who, t in reversed(self.times.items()):
            yield [
                name if who == "floor" else "",
                who,
                spread(t),
                f"{self.rows / min(t):,.0f}",
                f"{min(t) / best:.2f}× / {statistics.median(t) / median:.2f}×",
                f"{self.changes:.2f}",
            ]


def batches(spark: SparkSession, job: Job, floor: bool = False) -> list[Any]:
    """Each batch's progress, of a run over all files."""
    folder, catalog = job.folder, (job.floor if floor else None) or job.catalog
    schema = spark.read.parquet(str(folder / "in")).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    rows = reader.parquet(str(folder / "in"))
    found = wl.changes(rows, catalog, job.stream, shards=job.shards)
    writer = found.writeStream.format("noop").option("checkpointLocation", mkdtemp(dir=folder))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return [p for p in query.recentProgress if p["numInputRows"] > 1]


def race(spark: SparkSession, job: Job, rounds: int = ROUNDS) -> Race:
    """`wl.changes` and the floor in turn, after a run that does not count."""
    say(f"{job.name}: warming up")
    batches(spark, job)
    times: dict[str, list[float]] = {"wl.changes": [], "floor": []}
    for turn in range(rounds):
        say(f"{job.name}: wl.changes, round {turn + 1}")
        done = batches(spark, job)
        counted = [p["observedMetrics"]["watchline"] for p in done]
        times["wl.changes"] += [p["durationMs"]["triggerExecution"] / 1e3 for p in done[1:]]
        first = counted[0].changes / job.rows
        rate = statistics.mean(c.changes for c in counted[1:]) / job.rows
        size = int(counted[-1].bytes / checked_shards(job.shards, spark))
        say(f"{job.name}: floor, round {turn + 1}")
        floor = partial(FloorOperator, size=size, rate=rate, first=first)
        with mock.patch.object(driver, "ChangeOperator", floor):
            done = batches(spark, job, floor=True)
        times["floor"] += [p["durationMs"]["triggerExecution"] / 1e3 for p in done[1:]]
    return Race(job.rows, times, rate)


def prepared(folder: Path, s: Setting) -> wl.Catalog:
    """Rows in the folder `in`, and a catalog with the queries."""
    (folder / "in").mkdir()
    say(f"{s.name}: data and queries")
    data(folder / "in", s)
    catalog = wl.Catalog(folder / "catalog")
    register(catalog, s)
    return catalog


def waits(spark: SparkSession, folder: Path, s: Setting, times: int) -> list[float]:
    """From the commit of a query to its first `registered` change in the sink."""
    catalog = prepared(folder, s)
    schema = spark.read.parquet(str(folder / "in")).schema
    rows = spark.readStream.schema(schema).parquet(str(folder / "in"))
    arrived: dict[str, float] = {}

    def sink(df: Any, _: int) -> None:
        for row in df.where("reason = 'registered'").select("query_id").distinct().collect():
            arrived.setdefault(row.query_id, time.perf_counter())

    writer = wl.changes(rows, catalog, "ticks").writeStream.foreachBatch(sink)
    query = writer.option("checkpointLocation", str(folder / "c")).start()
    query.processAllAvailable()
    taken = []
    for i in range(times):
        say(f"registration {i + 1}")
        start = time.perf_counter()
        catalog.execute(f"CREATE QUERY new{i} AS SELECT * FROM ticks WHERE price > 1 EMIT CHANGES")
        committed = time.perf_counter()
        while f"new{i}" not in arrived and time.perf_counter() - start < 60:
            time.sleep(0.01)
        taken.append(arrived[f"new{i}"] - committed)
    query.stop()
    return taken


def tracked(queries: int, objects: int, step: float) -> Part:
    """A part: so many queries and objects, beside the floor."""

    def part(quick: bool) -> Iterator[str]:
        scale, rows = (100, 2_000) if quick else (1, 1_000_000)
        n, m = queries // scale, objects // scale
        name = f"{n:,} queries, {m:,} objects"
        s = Setting(name, n, m, rows, step, 2 if quick else BATCHES)
        yield f"## On Spark: {rows:,} rows a batch"
        with local_spark() as (spark, folder):
            job = Job(name, folder, prepared(folder, s), rows)
            done = race(spark, job, 1 if quick else ROUNDS)
        publish(f"`wl.changes` / floor (best), {name}", done.of_floor(min))
        publish(f"`wl.changes` / floor (median), {name}", done.of_floor())
        yield table(HEADER, done.lines(name))

    return plain(part)


def registration(quick: bool) -> Iterator[str]:
    n, objects, times = (200, 100, 1) if quick else (100_000, 10_000, 10)
    s = Setting("registration", n, objects, objects, 1.0, 2 if quick else BATCHES)
    yield "## From the commit of a query to its first `registered` change in the sink"
    with local_spark() as (spark, folder):
        taken = waits(spark, folder, s, times)
    yield table(
        ["queries", "objects", "best / median / worst"], [[f"{n:,}", f"{objects:,}", spread(taken)]]
    )


PARTS: dict[str, Part] = {
    "many": tracked(100_000, 100_000, 1.0),
    "few": tracked(1_000, 10_000, 100.0),
    "registration": plain(registration),
    "growth": plain(growth),
    "registering": plain(registering),
    "memory": plain(memory),
    **{name: plain(part) for name, part in LATENCY.items()},
    "work": plain(work),
}
