"""How long a small micro-batch of `wl.changes` takes on Spark, and how old a change is when it is
there.

`phases` compares a batch with the same topology of functions that do nothing (topology.py); the
contestants take turns. `known` has the same batches with three numbers of objects. `delay` sends
rows at a rate, and compares the time of each change with the clock when the driver has it; where
`tile38-server` is on the PATH, it gets the same rows.

Where others use the machine the processor time of a batch, of the JVM and all its processes, says
more than the wall clock.
"""

from __future__ import annotations

import shutil
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import watchline as wl
from bench.common.files import write_batch
from bench.common.report import amount, publish, say, spread, table, timed
from bench.matches.experiments import local_spark
from bench.tracking.processor import processor_seconds
from bench.tracking.tile38 import SERVER, tile38_delays
from bench.tracking.topology import empty_changes

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    " POINT (x, y)"
)
SCHEMA = "id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP"
# Changes a row causes, about.
CHANGES = 0.2
# Spark's phases of a batch, in their order.
PHASES = (
    "latestOffset", "getBatch", "walCommit", "queryPlanning", "addBatch", "commitOffsets",
)  # fmt: skip
OURS, FLOOR = "wl.changes", "functions that do nothing"
# How often a file with rows comes while the delay is measured.
EVERY = 0.1


@dataclass(frozen=True)
class Setting:
    queries: int
    objects: int
    rows: int
    # Batches of a run that count, batches before them, and turns of the contestants.
    batches: int
    warm: int
    turns: int

    @staticmethod
    def of(quick: bool, objects: int = 100_000) -> Setting:
        if quick:
            return Setting(100, max(objects // 1_000, 10), 100, 2, 1, 1)
        return Setting(10_000, objects, 10_000, 12, 10, 3)


@dataclass
class World:
    """Boxes over the unit square, and rows of objects that are anywhere in it."""

    folder: Path
    setting: Setting
    catalog: wl.Catalog
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    @staticmethod
    def of(folder: Path, setting: Setting) -> World:
        catalog = wl.Catalog(folder / "catalog")
        catalog.execute(CARS)
        world = World(folder, setting, catalog)
        lo, hi = world.boxes()
        ids = [f"q{i}" for i in range(setting.queries)]
        bounds = {"x": (lo[0], hi[0]), "y": (lo[1], hi[1])}
        catalog.register_boxes("cars", ids, bounds, emit="changes")
        return world

    def boxes(self) -> tuple[Any, Any]:
        """The same ones each time: a row that goes anywhere leaves and enters `CHANGES` of them."""
        n = self.setting.queries
        side = (CHANGES / 2 / n) ** 0.5
        lo = np.random.default_rng(4).random((2, n)) * (1 - side)
        return lo, lo + side

    def rows(self, ids: Any, times: Any) -> pa.Table:
        x, y = self.rng.random((2, len(ids)))
        return pa.table(
            {"id": ids, "x": x, "y": y, "ts": pa.array(times, pa.timestamp("us", "UTC"))}
        )

    def some(self, count: int) -> Any:
        return self.rng.integers(0, self.setting.objects, count)

    def write_batches(self) -> None:
        """A file with a row of each object, and the batches after it."""
        s, now = self.setting, 0
        (self.folder / "in").mkdir()
        for number in range(s.warm + s.batches + 1):
            ids = self.some(s.rows) if number else self.rng.permutation(s.objects)
            rows = self.rows(ids, np.arange(now, now + len(ids)))
            write_batch(rows, self.folder / "in", number)
            now += len(ids)


# --- the phases of a batch


@dataclass
class Batches:
    """Milliseconds of the batches of one contestant, by phase; `whole` in seconds."""

    whole: list[float] = field(default_factory=list)
    phases: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in PHASES})
    # Bytes of the deltas of a batch, and its seconds of processor time: one number for each run.
    written: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    # Seconds to read a state with all objects.
    restored: list[float] = field(default_factory=list)

    def add(self, progress: dict[str, Any]) -> None:
        taken = progress["durationMs"]
        self.whole.append(taken["triggerExecution"] / 1e3)
        for name in PHASES:
            self.phases[name].append(taken.get(name, 0))

    def line(self, who: str, floor: Batches) -> list[str]:
        best = min(self.whole) / min(floor.whole)
        median = statistics.median(self.whole) / statistics.median(floor.whole)
        taken = min(self.processor)
        of_floor = f"{taken / min(floor.processor):.2f}×"
        return [who, spread(self.whole), f"{best:.2f}× / {median:.2f}×", amount(taken), of_floor]


def run(world: World, spark: SparkSession, empty: bool, kept: Batches, shards: int = 2) -> None:
    """All batches of the world through `wl.changes`, or through the empty topology."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = reader.parquet(str(world.folder / "in"))
    checkpoint = mkdtemp(dir=world.folder)
    if empty:
        made = empty_changes(rows, shards, merged=True)
    else:
        made = wl.changes(rows, world.catalog, "cars", shards, f"{checkpoint}/ours")
    writer = made.writeStream.format("noop").option("checkpointLocation", checkpoint)
    query, warm = writer.trigger(availableNow=True).start(), world.setting.warm
    while query.isActive and (query.lastProgress or {"batchId": -1})["batchId"] < warm:
        time.sleep(0.05)
    first, before = query.lastProgress["batchId"], processor_seconds(spark)
    query.awaitTermination()
    taken = processor_seconds(spark) - before
    done = [p for p in query.recentProgress if p["numInputRows"] > 1]
    for progress in done[warm + 1 :]:
        kept.add(progress)
    kept.processor.append(taken / max(done[-1]["batchId"] - first, 1))
    sizes = [p.stat().st_size for p in Path(checkpoint).glob("ours/*/*.delta")]
    kept.written += [sum(sizes) / max(len(sizes), 1) * shards]
    shutil.rmtree(checkpoint)


def phases(quick: bool) -> Iterator[str]:
    """A batch of `wl.changes` beside the empty topology."""
    setting = Setting.of(quick)
    yield (
        f"## Latency: a batch of {setting.rows:,} rows, {setting.queries:,} queries,"
        f" {setting.objects:,} objects"
    )
    found = {name: Batches() for name in (OURS, FLOOR)}
    with local_spark() as (spark, folder):
        world = World.of(folder, setting)
        world.write_batches()
        for turn in range(setting.turns):
            for who, kept in found.items():
                say(f"latency: {who}, turn {turn + 1}")
                run(world, spark, who == FLOOR, kept)
    floor = found[FLOOR]
    publish("a batch / functions that do nothing (best)", min(found[OURS].whole) / min(floor.whole))
    least = min(found[OURS].processor) / min(floor.processor)
    publish("a batch / functions that do nothing (processor time)", least)
    header = ["who", "a batch, best / median / worst", "of the last, best / median"]
    header += ["processor time a batch, least", "of the last"]
    yield table(header, (kept.line(who, floor) for who, kept in found.items()))
    yield table(
        ["phase, best / median ms", *found],
        (
            [name, *(f"{min(of)} / {statistics.median(of):.0f}" for of in per_phase)]
            for name in PHASES
            for per_phase in [[kept.phases[name] for kept in found.values()]]
        ),
    )


# --- the same batch, by the objects that are known


def known(quick: bool) -> Iterator[str]:
    """Batches of one size with three numbers of objects, in turns."""
    sizes = (10_000, 100_000, 1_000_000)
    settings = [Setting.of(quick, objects) for objects in sizes]
    yield f"## Latency by objects: a batch of {settings[0].rows:,} rows"
    found = [Batches() for _ in settings]
    with local_spark() as (spark, folder):
        worlds = []
        for setting in settings:
            (folder / str(setting.objects)).mkdir()
            worlds.append(World.of(folder / str(setting.objects), setting))
            worlds[-1].write_batches()
        for turn in range(settings[0].turns):
            for world, kept in zip(worlds, found, strict=True):
                say(f"latency: {world.setting.objects:,} objects, turn {turn + 1}")
                run(world, spark, False, kept)
                kept.restored += restores(world)
    best = [min(kept.whole) for kept in found]
    publish("a batch, dearest / cheapest number of objects (best)", max(best) / min(best))
    least = [min(kept.processor) for kept in found]
    publish("the same, processor time", max(least) / min(least))
    lines = []
    for setting, kept in zip(settings, found, strict=True):
        # A row is an id, two coordinates and a time, of eight bytes each.
        written = statistics.mean(kept.written)
        ratio = f"{written / (32 * setting.rows):.2f}×" if written else "in Spark's row"
        taken = amount(min(kept.processor))
        shown = f"{setting.objects:,}", spread(kept.whole), taken, f"{written:,.0f}", ratio
        lines.append([*shown, amount(min(kept.restored))])
    header = ["objects", "a batch, best / median / worst", "processor time a batch, least"]
    header += ["bytes of deltas a batch", "of the rows", "all objects restored, best"]
    yield table(header, lines)


def restores(world: World) -> list[float]:
    """Seconds to restore a tracker that knows all objects from its state, by one process."""
    tracker, objects = wl.Tracker(world.catalog, "cars"), world.setting.objects
    tracker.process(world.rows(np.arange(objects), np.arange(objects)))
    state = tracker.snapshot()
    return timed(lambda: wl.Tracker.restore(world.catalog, "cars", state), 2)


# --- from a row to its change


def feed(world: World, per_second: int, seconds: float, ended: threading.Event) -> None:
    """Files of rows, each with the clock of the moment in which it came, at a steady rate."""
    count, start = int(per_second * EVERY), time.time()
    for number in range(1, int(seconds / EVERY) + 1):
        until = start + number * EVERY
        time.sleep(max(until - time.time(), 0))
        times = ((until - EVERY + np.arange(count) / per_second) * 1e6).astype(np.int64)
        rows, new = world.rows(world.some(count), times), world.folder / "new.parquet"
        pq.write_table(rows, new)
        new.rename(world.folder / "live" / f"{number:06}.parquet")
    ended.set()


def delays(world: World, spark: SparkSession, per_second: int, seconds: float) -> list[float]:
    """Seconds from each row to each of its changes on the driver."""
    live = world.folder / "live"
    live.mkdir()
    first = world.rows(np.arange(world.setting.objects), np.arange(world.setting.objects))
    pq.write_table(first, live / "000000.parquet")
    rows = spark.readStream.schema(SCHEMA).parquet(str(live))
    found: list[float] = []
    known_from = [float("inf")]

    def sink(df: DataFrame, _: int) -> None:
        times = [row.time.timestamp() for row in df.select("time").collect()]
        now = time.time()
        found.extend(now - at for at in times if at >= known_from[0])

    made = wl.changes(rows, world.catalog, "cars", 2, str(world.folder / "live-state"))
    writer = made.writeStream.foreachBatch(sink)
    query = writer.option("checkpointLocation", str(world.folder / "live-c")).start()
    query.processAllAvailable()
    # A quarter of the time does not count.
    known_from[0] = time.time() + seconds / 4
    ended = threading.Event()
    threading.Thread(target=feed, args=(world, per_second, seconds, ended), daemon=True).start()
    ended.wait()
    query.processAllAvailable()
    query.stop()
    return found


def delay(quick: bool) -> Iterator[str]:
    """How old changes are when they are there, at a rate of rows."""
    setting = Setting.of(quick)
    per_second, seconds = (200, 4.0) if quick else (10_000, 60.0)
    yield f"## From row to change: {per_second:,} rows/s, {setting.queries:,} queries"
    with local_spark() as (spark, folder):
        say("latency: wl.changes")
        world = World.of(folder, setting)
        lines = [delay_line("wl.changes on Spark", delays(world, spark, per_second, seconds))]
    lo, hi = world.boxes()
    say("latency: Tile38")
    if (of := tile38_delays(lo, hi, setting.objects, per_second, seconds)) is None:
        lines.append([f"Tile38: `{SERVER}` is not on the PATH, skipped", *[""] * 4])
    else:
        lines.append(delay_line("Tile38", of))
    yield table(["who", "changes", "p50", "p99", "worst"], lines)


def delay_line(who: str, found: list[float]) -> list[str]:
    if not found:
        return [who, "0", "–", "–", "–"]
    p50, p99, most = np.quantile(found, [0.5, 0.99, 1.0])
    return [who, f"{len(found):,}", *map(amount, (float(p50), float(p99), float(most)))]


LATENCY: dict[str, Callable[[bool], Iterator[str]]] = {
    "latency": phases,
    "known": known,
    "delay": delay,
}
