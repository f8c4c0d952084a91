"""What the functions of a batch of `wl.changes` take in Spark's workers, called without Spark.

Processor time, so that a busy machine changes little of it. The router, the task of each shard with
its state in files, and the merge get what Spark would give them. The wall clock beside it has the
waits for the disk, too.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bench.common.report import amount, publish, say, table
from bench.tracking.latency import Setting, World
from watchline.model import Keep
from watchline.rows import change_schema
from watchline.spark import shard_task, worker
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import WAKE, RouteTask, shard_keys
from watchline.spark.shard_task import ShardTask
from watchline.spark.tracking import merge_state
from watchline.spark.tracking.merge import MergeTask
from watchline.spark.tracking.merge_state import MergeMemory
from watchline.spark.tracking.route import ChangeRouter
from watchline.spark.tracking.shard import ChangeOperator
from watchline.spark.wire import SENT

T = TypeVar("T")
SHARDS = 2


@dataclass
class Row:
    """The state of a shard, as Spark would keep it."""

    get: Any = None

    @property
    def exists(self) -> bool:
        return self.get is not None

    def update(self, row: Any) -> None:
        self.get = row


@dataclass
class Functions:
    """The functions of a job, and the seconds that each has taken, of the processor and in all."""

    world: World
    folder: Path
    batch: int = 0
    now: int = 0
    rows: dict[int, Row] = field(default_factory=lambda: {k: Row() for k in shard_keys(SHARDS)})
    taken: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def run(self, ids: Any) -> None:
        """One batch with a row of each of these objects."""
        catalog = self.world.catalog
        ref = CatalogRef.of(catalog)
        route = RouteTask(ref, None, None, ChangeRouter(ref, "cars", SHARDS))
        operator = ChangeOperator(ref, "cars", True, True, Keep())
        rows = self.world.rows(ids, np.arange(self.now, self.now + len(ids)))
        marked = rows.append_column(WAKE, pa.nulls(len(ids), pa.int64())).combine_chunks()
        routed = pa.Table.from_batches(
            self._timed("router", lambda: list(route(iter(marked.to_batches()))))
        )
        sent = []
        for key, row in self.rows.items():
            frame = routed.filter(pc.equal(routed["shard"], key)).to_pandas()
            task = ShardTask(ref, SHARDS, None, str(self.folder), operator)
            sent += self._timed("shards", lambda t=task, f=frame, r=row, k=key: list(  # type: ignore[misc]
                t.stream_batch((k,), iter([f]), r)
            ))  # fmt: skip
        parcels = pa.Table.from_pandas(pd.concat(sent), schema=SENT, preserve_index=False)
        memory = MergeMemory.of(ref, SHARDS, str(self.folder))
        merge = MergeTask(change_schema(catalog.stream("cars")), SHARDS, memory)
        self._timed("merge", lambda: list(merge(iter(parcels.combine_chunks().to_batches()))))
        self.now += len(ids)
        self.batch += 1

    def _timed(self, name: str, call: Callable[[], T]) -> T:
        processor, wall = time.process_time(), time.perf_counter()
        found = call()
        after = time.process_time() - processor, time.perf_counter() - wall
        self.taken.setdefault(name, []).append(after)
        return found

    def least(self, name: str, which: int) -> float:
        """The median of a batch: of the processor (0), or by the wall clock (1)."""
        times = [pair[which] for pair in self.taken[name]]
        return statistics.median(times) * (SHARDS if name == "shards" else 1)


def work(quick: bool) -> Iterator[str]:
    """The functions with three numbers of objects, in turns."""
    settings = [Setting.of(quick, objects) for objects in (10_000, 100_000, 1_000_000)]
    yield f"## Work: the functions of a batch of {settings[0].rows:,} rows, without Spark"
    with TemporaryDirectory(prefix="watchline-bench-") as place, ExitStack() as patches:
        every = []
        for setting in settings:
            folder = Path(place, str(setting.objects))
            folder.mkdir()
            functions = Functions(World.of(folder, setting), folder / "state")
            every.append(functions)
        current = every[0]

        def micro_batch() -> tuple[str, int]:
            return current.folder.parent.name, current.batch

        for module in (worker, shard_task, merge_state):
            patches.enter_context(mock.patch.object(module, "micro_batch", micro_batch))
        for current in every:
            say(f"work: {current.world.setting.objects:,} objects")
            current.run(current.world.rng.permutation(current.world.setting.objects))
            current.taken.clear()
        for _ in range(settings[0].warm + settings[0].batches):
            for current in every:
                current.run(current.world.some(current.world.setting.rows))
        yield from _told(every)


def _told(every: list[Functions]) -> Iterator[str]:
    names = ("router", "shards", "merge")
    sums = [sum(functions.least(name, 0) for name in names) for functions in every]
    publish("work of a batch, dearest / cheapest number of objects", max(sums) / min(sums))
    lines = []
    for functions, whole in zip(every, sums, strict=True):
        parts = [amount(functions.least(name, 0)) for name in names]
        wall = amount(sum(functions.least(name, 1) for name in names))
        lines.append([f"{functions.world.setting.objects:,}", *parts, amount(whole), wall])
    header = ["objects", "router", f"{SHARDS} shards", "merge", "processor time in all"]
    yield table([*header, "by the wall clock"], lines)
