"""A streaming query in micro-batches: what Spark does around the product's tasks.

Spark's logs and its state store survive every fault. A batch that was planned and not committed is
run again with the same rows, and its shards start from the rows of the batch before it.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from tests.support.ledgers import SECOND, Told, table, told
from tests.support.simulation.catalog import SimulatedCatalog
from tests.support.simulation.cluster import (
    QUERY_ID,
    SCHEME,
    Cluster,
    Frame,
    GroupState,
    SteppedOperator,
)
from tests.support.simulation.faults import Effect, Struck, strike
from tests.support.simulation.history import History
from tests.support.simulation.queries import stream_of
from tests.support.simulation.scheduler import Scheduler
from watchline.errors import InvalidState
from watchline.model import Keep
from watchline.rows import change_schema
from watchline.spark.batch_counters import COUNTS
from watchline.spark.routing import WAKE, RouteTask, shard_keys
from watchline.spark.shard_task import ShardTask
from watchline.spark.tracking.merge import MergeTask
from watchline.spark.tracking.merge_state import MergeMemory
from watchline.spark.tracking.route import ChangeRouter
from watchline.spark.tracking.shard import ChangeOperator
from watchline.spark.version_pin import FOLDER, Pin
from watchline.spark.wire import SENT, UnpackTask

StateRow = tuple[Any, ...]
# Rows that shards send: columns of `wire.SENT`.
Sent = list[tuple[Any, ...]]


class Planned(NamedTuple):
    """The rows of a batch, in the log of offsets."""

    start: int
    end: int


class Written(NamedTuple):
    """What one attempt wrote to the sink."""

    batch: int
    changes: list[Told]
    counts: Counter[str]


@dataclass
class Logs:
    """What survives: offsets, commits, the rows of the state store before each batch, the sink."""

    offsets: list[Planned] = field(default_factory=list)
    states: list[dict[int, StateRow]] = field(default_factory=lambda: [{}])
    writes: list[Written] = field(default_factory=list)
    sink: dict[int, Written] = field(default_factory=dict)

    @property
    def committed(self) -> int:
        return len(self.states) - 1


class Beside(NamedTuple):
    """A shard's task that runs beside the one that Spark counts: a second attempt, or a first one
    that was given up."""

    batch: int
    key: int
    frames: list[Frame]
    row: StateRow | None


class LateMerge(NamedTuple):
    """A task of the merge whose first attempt was given up, and still runs."""

    batch: int
    key: int
    parcels: pa.RecordBatch


class Job:
    """One history, from its first batch to its last."""

    def __init__(self, history: History):
        self.history = history
        stream = stream_of(history.kind, history.timeout, history.ahead)
        uri = f"{SCHEME}://catalog"
        self.catalog = SimulatedCatalog(uri, f"catalog {history.seed}", stream)
        self.scheduler = Scheduler(history, self.catalog)
        self.cluster = Cluster(history, self.catalog, self.scheduler)
        self.logs = Logs()
        ref, shards = self.cluster.ref, history.shards
        self._is_merged = shards > 1
        self._route = RouteTask(ref, None, None, ChangeRouter(ref, stream.name, shards))
        self._stream, self._columns = stream, change_schema(stream)
        self._unpack = UnpackTask(self._columns)
        rows = table(history.rows, history.kind)
        self._rows = rows.append_column(WAKE, pa.nulls(len(rows), pa.int64()))
        self._zombies: list[Beside | LateMerge] = []

    # --- batches

    def run(self) -> None:
        """All batches, through all faults."""
        with self.cluster.surroundings():
            while self.logs.committed < len(self.history.cuts):
                self._survived()

    def _survived(self) -> None:
        """One batch, or what is left of it after a fault."""
        try:
            self._batch()
        except Struck as struck:
            self._recover(struck.effect)

    def _recover(self, effect: Effect) -> None:
        """Start again from the logs."""
        self.cluster.clock += self.scheduler.draw.randrange(20) * SECOND
        if effect is Effect.KILL:
            self._zombies = []
            self.cluster.disk.lose_power()
            self.cluster.boot()

    def _batch(self) -> None:
        number, reach = self.logs.committed, self.scheduler.reach
        self._start(number)
        self.scheduler.attempt(number)
        if len(self.logs.offsets) == number:
            reach("plan")
            self._plan(number)
        planned = self.logs.offsets[number]
        self.scheduler.note(f"batch {number}: rows {planned.start} to {planned.end}")
        reach("planned")
        inboxes = self._routed(number, planned)
        sent, rows = self._processed(number, inboxes)
        changes, counts = self._results(number, sent)
        reach("sink")
        self._write(Written(number, changes, counts))
        reach("written")
        self.logs.states.append({**self.logs.states[number], **rows})
        self._haunt()
        reach("committed")

    def _start(self, number: int) -> None:
        """The tasks of a batch; where the merge has another memory than before, in new workers."""
        remembers = self.history.remembers[number]
        if number and remembers != self.history.remembers[number - 1]:
            self.scheduler.note(f"the merge has {'a' if remembers else 'no'} memory")
            self._zombies = []
            self.cluster.boot()
        ref, shards = self.cluster.ref, self.history.shards
        memory = MergeMemory(ref, shards, None) if remembers else None
        operator = ChangeOperator(ref, self._stream.name, self._is_merged, remembers, Keep())
        self._shard = ShardTask(ref, shards, None, None, SteppedOperator(operator, self.scheduler))
        self._merge = MergeTask(self._columns, shards, memory)

    def _plan(self, number: int) -> None:
        start = self.history.cuts[number - 1] if number else 0
        end = self.history.cuts[number]
        self.logs.offsets.append(Planned(start, end))
        times = [row["ts"] for row in self.history.rows[start:end] if row["ts"] is not None]
        # The clock is about that of the rows, of which some are ahead.
        self.cluster.clock = max([self.cluster.clock, *sorted(times)[: len(times) // 2]])

    def _write(self, written: Written) -> None:
        """To the sink, by the number of the batch."""
        self.logs.writes.append(written)
        if not (self.history.keeps_first and written.batch in self.logs.sink):
            self.logs.sink[written.batch] = written

    # --- tasks

    def _routed(self, number: int, planned: Planned) -> dict[int, list[Frame]]:
        """The inbox of each shard, after the shuffle."""
        draw = self.scheduler.draw
        bounds = [planned.start, planned.end]
        bounds += [draw.randint(*planned) for _ in range(draw.choice((0, 0, 1, 2)))]
        bounds.sort()
        parts = []
        for i, (start, end) in enumerate(pairwise(bounds)):
            batches = self._rows.slice(start, end - start).to_batches()
            if not i:
                batches.append(self._wake())

            def work(batches: list[pa.RecordBatch] = batches) -> list[pa.RecordBatch]:
                self.scheduler.reach("route")
                routed = list(self._route(iter(batches)))
                self.scheduler.reach("routed")
                return routed

            parts.append(self.cluster.task(f"router {i}", number, work))
        draw.shuffle(parts)
        inboxes: dict[int, list[Frame]] = {}
        for part in parts:
            for batch in part:
                columns = [column.to_pylist() for column in batch.columns]
                for row in zip(*columns, strict=True):
                    inboxes.setdefault(row[0], []).append(Frame([row]))
        return inboxes

    def _wake(self) -> pa.RecordBatch:
        """A row that only announces a version."""
        schema = self._rows.schema
        row = {name: [1 if name == WAKE else None] for name in schema.names}
        return pa.RecordBatch.from_pydict(row, schema=schema)

    def _processed(
        self, number: int, inboxes: dict[int, list[Frame]]
    ) -> tuple[dict[int, Sent], dict[int, StateRow]]:
        """What the shards send, and their new rows of the state store."""
        keys = sorted(inboxes)
        self.scheduler.draw.shuffle(keys)
        sent, rows = {}, {}
        for key in keys:
            row = self.logs.states[number].get(key)
            sent[key], rows[key] = self._shard_task(number, key, inboxes[key], row)
        return sent, rows

    def _shard_task(
        self, number: int, key: int, frames: list[Frame], row: StateRow | None
    ) -> tuple[Sent, StateRow]:
        """One shard's task with all its attempts: the result that counts."""

        def attempt() -> tuple[Sent, StateRow, bool]:
            self.scheduler.reach("open")
            result = self._attempt(key, frames, row)
            effect = self.scheduler.due("saved")
            if effect is Effect.ZOMBIE:
                self._zombies.append(Beside(number, key, frames, row))
            elif effect not in (None, Effect.TWIN):
                strike(effect)
            return (*result, effect is Effect.TWIN)

        sent, after, has_twin = self.cluster.task(f"shard {key}", number, attempt)
        if has_twin:
            # Spark takes the result of one of them, and the state of any.
            twin = self._quietly(Beside(number, key, frames, row), "twin")
            draw = self.scheduler.draw
            sent, after = draw.choice((sent, twin[0])), draw.choice((after, twin[1]))
            self.scheduler.note(
                f"    twin counts: result {sent is twin[0]}, state {after is twin[1]}"
            )
        return sent, after

    def _attempt(
        self, key: int, frames: list[Frame], row: StateRow | None
    ) -> tuple[Sent, StateRow]:
        state = GroupState(row, self.scheduler)
        pieces: Any = iter(frames)
        sent = [
            parcel
            for frame in self._shard.stream_batch((key,), pieces, state)
            for parcel in frame.itertuples(index=False, name=None)
        ]
        return sent, state.get

    def _quietly(self, beside: Beside, what: str) -> tuple[Sent, StateRow]:
        """An attempt beside the batch's own, which no fault strikes."""
        batch, key, frames, row = beside
        name = f"{what} of shard {key} in batch {batch}"
        self.scheduler.is_quiet = True
        try:
            return self.cluster.task(name, batch, lambda: self._attempt(key, frames, row))
        finally:
            self.scheduler.is_quiet = False

    def _haunt(self) -> None:
        """Attempts that were given up end. Nobody looks at what they send, but Spark's state store
        may take their row in place of the one that it has for the same batch."""
        draw = self.scheduler.draw
        ending = [zombie for zombie in self._zombies if draw.random() < 0.5]
        self._zombies = [zombie for zombie in self._zombies if zombie not in ending]
        for zombie in ending:
            # Its state may have been tidied away.
            with suppress(InvalidState):
                if isinstance(zombie, LateMerge):
                    self._merged_quietly(zombie, "zombie")
                    continue
                _, row = self._quietly(zombie, "zombie")
                if draw.random() < 0.5:
                    self.scheduler.note("    the zombie's row counts")
                    self.logs.states[zombie.batch + 1][zombie.key] = row

    # --- results

    def _results(self, number: int, sent: dict[int, Sent]) -> tuple[list[Told], Counter[str]]:
        """The changes of all partitions, and the sums of their counters."""
        sources = list(sent)
        self.scheduler.draw.shuffle(sources)
        parcels = [parcel for key in sources for parcel in sent[key]]
        changes: list[Told] = []
        texts = [] if self._is_merged else [p[2] for p in parcels if p[2] is not None]
        for key in shard_keys(self.history.shards):
            mine = [parcel for parcel in parcels if parcel[0] == key]
            if not mine:
                continue
            columns = list(zip(*mine, strict=True))
            batch = pa.RecordBatch.from_arrays(
                [pa.array(column, kind) for column, kind in zip(columns, SENT.types, strict=True)],
                schema=SENT,
            )

            for result in self._result_task(number, key, batch):
                rows = pa.Table.from_batches([result])
                if self._is_merged:
                    counts = rows[COUNTS]
                    texts += counts.drop_null().to_pylist()
                    rows = rows.filter(counts.is_null()).drop_columns([COUNTS])
                if rows.num_rows:
                    changes += told(rows)
        return changes, _summed(texts)

    def _result_task(self, number: int, key: int, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """The last task of a partition with all its attempts: the result that counts."""

        def work() -> tuple[list[pa.RecordBatch], bool]:
            self.scheduler.reach("merge")
            step = self._merge if self._is_merged else self._unpack
            results = list(step(iter([batch])))
            effect = self.scheduler.due("merged") if self._is_merged else None
            if effect is Effect.ZOMBIE:
                self._zombies.append(LateMerge(number, key, batch))
            elif effect not in (None, Effect.TWIN):
                strike(effect)
            return results, effect is Effect.TWIN

        results, has_twin = self.cluster.task(f"result {key}", number, work)
        if has_twin:
            twin = self._merged_quietly(LateMerge(number, key, batch), "twin")
            results = self.scheduler.draw.choice((results, twin))
            self.scheduler.note(f"    twin counts: {results is twin}")
        return results

    def _merged_quietly(self, late: LateMerge, what: str) -> list[pa.RecordBatch]:
        """An attempt beside the batch's own, which no fault strikes."""
        name = f"{what} of result {late.key} in batch {late.batch}"
        self.scheduler.is_quiet = True
        try:
            work = lambda: list(self._merge(iter([late.parcels])))  # noqa: E731
            return self.cluster.task(name, late.batch, work)
        finally:
            self.scheduler.is_quiet = False

    def pin(self, batch: int) -> Pin:
        """What a batch went by."""
        place = f"{SCHEME}://catalog/{FOLDER}/{QUERY_ID}"
        return Pin.read(self.cluster.disk.places[place][str(batch)].decode())


def _summed(texts: list[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        numbers = json.loads(text)
        counts.update({k: n for k, n in numbers.items() if isinstance(n, int)})
    return counts
