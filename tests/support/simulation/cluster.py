"""Simulated workers, and the product's tasks as they run on them.

A worker is the memory of its process: the queries and engines that it keeps between tasks. What
the product asks of its surroundings while a task runs is answered here: Spark's ids of the batch,
the stores, the wall clock, and unique names.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

from pyspark import TaskContext

from tests.support.ledgers import NOON, SECOND
from tests.support.simulation.catalog import SimulatedCatalog
from tests.support.simulation.disk import Disk
from tests.support.simulation.faults import Effect, Struck, TaskFailed
from tests.support.simulation.history import History
from tests.support.simulation.scheduler import Scheduler
from watchline.spark import shard_state, store, version_pin, worker
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import Shard
from watchline.spark.shard_task import Engine, ShardOperator

T = TypeVar("T")

SCHEME = "simulated"
QUERY_ID = "query"
WORKERS = 2


class Cluster:
    """The workers of one history, and all that outlives them but Spark's logs."""

    def __init__(self, history: History, catalog: SimulatedCatalog, scheduler: Scheduler):
        self.ref = CatalogRef(catalog.uri, catalog.id)
        self.scheduler, self.disk = scheduler, Disk(scheduler)
        self._catalog, self._history = catalog, history
        self._started = 0
        self._workers: list[tuple[int, worker.WorkerMemory]] = []
        # How late it is, in microseconds.
        self.clock = NOON
        self.boot()

    def boot(self) -> None:
        """New workers, which remember nothing."""
        self._workers = [self._new_worker() for _ in range(WORKERS)]

    def _new_worker(self) -> tuple[int, worker.WorkerMemory]:
        self._started += 1
        catalogs: Any = {self.ref: self._catalog}
        return self._started, worker.WorkerMemory(catalogs=catalogs)

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        """What the product finds around it while the history runs."""
        draw = self.scheduler.draw
        # Unique, and drawn by nobody: a product that needs more names changes no other draws.
        names = iter(range(2**60))
        before = worker.remembered()
        with ExitStack() as patches:
            for place, name, new in (
                (uuid, "uuid4", lambda: uuid.UUID(int=next(names))),
                (version_pin, "micros_now", lambda: self.clock + draw.randrange(SECOND)),
                (worker, "shared", lambda name, key, build: build()),
                (shard_state, "INLINE", self._history.inline),
                (shard_state, "TIDY", self._history.tidy),
                (shard_state, "FAN", self._history.fan),
                # Objects are so few that deltas would always be larger than their base.
                (shard_state, "MOST", 100.0),
            ):
                patches.enter_context(patch.object(place, name, new))
            patches.enter_context(patch.dict(store.SCHEMES, {SCHEME: self.disk.store}))
            try:
                yield
            finally:
                worker.remember(before)
                TaskContext._setTaskContext(None)

    def task(self, name: str, batch: int, work: Callable[[], T]) -> T:
        """Run a task of a batch on some worker, again and again until it succeeds."""
        while True:
            place = self.scheduler.draw.randrange(len(self._workers))
            number, memory = self._workers[place]
            self.scheduler.note(f"  {name} on worker {number}")
            worker.remember(memory)
            TaskContext._setTaskContext(SimulatedContext(batch))
            try:
                return work()
            except TaskFailed:
                continue
            except Struck as struck:
                if struck.effect is not Effect.CRASH:
                    raise
                self._workers[place] = self._new_worker()


class SimulatedContext:
    """What a task asks of Spark."""

    def __init__(self, batch: int):
        self._properties = {
            "sql.streaming.queryId": QUERY_ID,
            "streaming.sql.batchId": str(batch),
        }

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802
        return self._properties.get(key)


class GroupState:
    """Spark's state of one shard during one attempt of its task."""

    def __init__(self, row: tuple[Any, ...] | None, scheduler: Scheduler):
        self.row, self._scheduler = row, scheduler

    @property
    def exists(self) -> bool:
        return self.row is not None

    @property
    def get(self) -> tuple[Any, ...]:
        assert self.row is not None
        return self.row

    def update(self, row: tuple[Any, ...]) -> None:
        self._scheduler.reach("row")
        self.row = row


class Frame:
    """The rows that Spark hands to a shard's task, as far as the task asks a DataFrame for them."""

    def __init__(self, rows: list[tuple[Any, ...]]):
        self._rows = rows

    def itertuples(self, index: bool, name: str | None) -> Iterator[tuple[Any, ...]]:
        assert not index
        assert name is None
        return iter(self._rows)


class SteppedOperator:
    """An operator whose engines come to moments before and after they process rows."""

    def __init__(self, inner: ShardOperator[Any], scheduler: Scheduler):
        self._inner, self._scheduler = inner, scheduler

    def opened(self, routed: Iterable[tuple[Any, ...]]) -> Any:
        return self._inner.opened(routed)

    def new(self, shard: Shard, version: int) -> Engine[Any]:
        return self._noted("new", shard, self._inner.new(shard, version))

    def reused(self, engine: Any, saved: int, version: int) -> Engine[Any] | None:
        self._scheduler.note("    engine is the worker's own")
        reused = self._inner.reused(engine.inner, saved, version)
        return None if reused is None else self._stepped(reused)

    def resumed(
        self, shard: Shard, blobs: Sequence[bytes], saved: int, version: int
    ) -> Engine[Any]:
        self._scheduler.note(f"    state has {len(blobs)} parts")
        return self._noted("resumed", shard, self._inner.resumed(shard, blobs, saved, version))

    def _noted(self, how: str, shard: Shard, engine: Engine[Any]) -> Engine[Any]:
        self._scheduler.note(f"    engine is {how}")
        return self._stepped(engine)

    def _stepped(self, engine: Engine[Any]) -> Engine[Any]:
        stepped: Any = SteppedEngine(engine, self._scheduler)
        return stepped  # type: ignore[no-any-return]


class SteppedEngine:
    """An engine that comes to moments; all else is that of the engine within."""

    def __init__(self, inner: Engine[Any], scheduler: Scheduler):
        self.inner, self._scheduler = inner, scheduler

    def process(self, inbox: Any, last: bool) -> Any:
        self._scheduler.reach("process")
        parcels = self.inner.process(inbox, last)
        self._scheduler.reach("processed")
        return parcels

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
