"""After the shuffle: a shard's rows of one batch go through its tracker.

The tracker of a shard is kept in the worker and counts only if its token is the one in Spark's
state row; any other worker restores it from the state. Changes leave as Arrow IPC, a few binaries
with the batch's counters beside them, and are unpacked by `UnpackTask`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from watchline.errors import InvalidState
from watchline.index.result import one_thread
from watchline.spark.routing import NEVER, ROUTED, from_ipc, to_ipc
from watchline.spark.state import INLINE, TIDY, StateFiles, StateRow, new_token, row_of
from watchline.spark.worker import (
    CatalogRef,
    batch_version,
    catalog_of,
    keep,
    micro_batch,
    watcher_from,
    watcher_of,
)
from watchline.tracking import Rejects, Tracker
from watchline.tracking.batch import Span
from watchline.tracking.tracker import Saved

# Gauges are of now, summed over shards; the others are of the batch.
COUNTERS = ("rows", "rejected", "late", "changes", "shed")
GAUGES = ("objects", "answers", "bytes")
_LONGS = (*COUNTERS, *GAUGES, "unanswered")
PACKED = pa.schema(
    [*((name, pa.int64()) for name in _LONGS), ("accuracy", pa.float64()), ("packed", pa.binary())]
)
PACKED_DDL = ", ".join([*(f"{name} long" for name in _LONGS), "accuracy double", "packed binary"])
# Changes in one binary.
CHUNK = 250_000


class Inbox(NamedTuple):
    """What a shard got in a batch."""

    rows: list[pa.Table]
    span: Span | None
    rejects: Rejects


# Of shards that a worker has served.
KEPT_TRACKERS = 64
_trackers: dict[tuple[str, int], tuple[str, Tracker]] = {}


@dataclass(frozen=True)
class ShardTask:
    """The function that runs once for each shard and batch.

    `folder` has the files of large states; without one it is beside the catalog.
    """

    ref: CatalogRef
    stream: str
    shards: int
    version: int | None
    folder: str | None

    def stream_batch(
        self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: Any
    ) -> Iterator[pd.DataFrame]:
        """For `applyInPandasWithState`."""
        # Spark pads our rows with empty ones, which pandas finds worth a warning in every batch.
        warnings.filterwarnings("ignore", "The behavior of DataFrame concat", FutureWarning)
        inbox = _opened(row for frame in frames for row in frame.itertuples(index=False))
        query_id, _ = micro_batch()
        version = batch_version(self.ref, self.version)
        shard = int(key[0])
        old = row_of(state.get if state.exists else None)
        files = self._files(query_id)
        with one_thread():
            tracker = self._tracker(old, query_id, shard, version, files)
            before = tracker.stats()
            tables = self._changes(tracker, version, inbox)
            row = self._saved(tracker, old, shard, files)
        state.update(tuple(row))
        keep(_trackers, (query_id, shard), (row.token, tracker), KEPT_TRACKERS)
        yield pd.DataFrame(_packed(tables, tracker, before))

    def whole_batch(self, key: tuple[Any, ...], routed: pa.Table) -> pa.Table:
        """For `applyInArrow`: no state before, none after."""
        listed = (tuple(row[name] for name in ROUTED.names) for row in routed.to_pylist())
        version = batch_version(self.ref, self.version)
        with one_thread():
            tracker = Tracker.over(watcher_of(self.ref, self.stream, version), "")
            before = tracker.stats()
            tables = self._changes(tracker, version, _opened(listed))
        return pa.table(_packed(tables, tracker, before), schema=PACKED)

    def _changes(self, tracker: Tracker, version: int, inbox: Inbox) -> list[pa.Table]:
        opened = tracker.advance_to(version)
        rows = inbox.rows or [tracker.no_rows()]
        tracker.count_rejects(inbox.rejects)
        return [opened, tracker.process(pa.concat_tables(rows), inbox.span)]

    # --- state

    def _files(self, query_id: str) -> StateFiles | None:
        if self.folder is not None:
            return StateFiles(f"{self.folder}/{query_id}")
        if self.ref.uri is None:
            return None
        return StateFiles(f"{self.ref.uri}/_runs/{query_id}/state")

    def _tracker(
        self,
        row: StateRow | None,
        query_id: str,
        shard: int,
        version: int,
        files: StateFiles | None,
    ) -> Tracker:
        # Taken out: a task that fails half way leaves no half-way tracker behind.
        token, tracker = _trackers.pop((query_id, shard), ("", None))
        identity = catalog_of(self.ref).identity
        if row is None:
            return Tracker.over(watcher_of(self.ref, self.stream, version), identity)
        row.check(self.shards, identity)
        watcher = watcher_from(self.ref, self.stream, row.version, version)
        if tracker is not None and token == row.token:
            tracker.follow(watcher)
            return tracker
        if row.file is not None:
            if files is None:
                raise InvalidState("the checkpoint has its state in files, and no folder is named")
            blob = files.load(row.file)
        else:
            assert row.blob is not None
            blob = row.blob
        return Tracker.resume(watcher, Saved.of(blob, identity, self.stream))

    def _saved(
        self, tracker: Tracker, old: StateRow | None, shard: int, files: StateFiles | None
    ) -> StateRow:
        sequence = 0 if old is None else old.sequence + 1
        blob, token = tracker.snapshot(), new_token()
        row = StateRow(sequence, tracker.version, self.shards, tracker.identity, token, None, blob)
        if files is not None and len(blob) > INLINE:
            row = row._replace(file=files.save(shard, sequence, token, blob), blob=None)
        if files is not None and sequence % TIDY == TIDY - 1:
            files.tidy(shard, sequence)
        return row


def _opened(routed: Iterable[tuple[Any, ...]]) -> Inbox:
    rows: list[pa.Table] = []
    rejects: Rejects = Rejects()
    oldest, newest = NEVER
    for _, first, last, rejected, blob in routed:
        oldest, newest = min(oldest, int(first)), max(newest, int(last))
        if blob is not None:
            rows.append(from_ipc(blob))
        if rejected is not None:
            rejects.update(json.loads(rejected))
    return Inbox(rows, Span(oldest, newest) if oldest <= newest else None, rejects)


def _packed(
    tables: list[pa.Table], tracker: Tracker, before: dict[str, Any]
) -> dict[str, list[Any]]:
    """The changes in binaries; the counters stand beside the first."""
    after = tracker.stats()
    blobs = [
        to_ipc(table.slice(start, CHUNK)).to_pybytes()
        for table in tables
        for start in range(0, table.num_rows, CHUNK)
    ] or [b""]
    rest = len(blobs) - 1
    counted = {name: after[name] - before[name] for name in COUNTERS}
    counted |= {name: after[name] for name in GAUGES}
    columns: dict[str, list[Any]] = {k: [int(v), *[0] * rest] for k, v in counted.items()}
    columns["unanswered"] = [after["unanswered"]] * len(blobs)
    columns["accuracy"] = [after["accuracy"]] * len(blobs)
    columns["packed"] = blobs
    return columns


@dataclass(frozen=True)
class UnpackTask:
    """The function that `mapInArrow` runs last: binaries in, changes of this schema out."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column("packed"):
                if len(blob.as_buffer()):
                    yield from conformed(from_ipc(blob.as_buffer()), self.schema).to_batches()


def conformed(changes: pa.Table, schema: pa.Schema) -> pa.Table:
    """Changes of a stream that was declared anew, in the columns that the job began with."""
    if changes.schema.equals(schema):
        return changes
    columns = [
        changes[field.name]
        if field.name in changes.schema.names
        and changes.schema.field(field.name).type == field.type
        else pa.nulls(changes.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
