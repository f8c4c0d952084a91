"""After the shuffle: a shard's rows of one batch go through its tracker.

The tracker of a shard is the worker's own or comes from the state (`state.py`). Changes leave as
Arrow IPC, a few binaries with the batch's counters beside them, and are unpacked by `UnpackTask`.
What the k nearest of a shard did leaves beside them as timelines, for `merging.MergeTask`: by the
hash of the query, so that those of one query meet.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from watchline.errors import EngineError
from watchline.index.result import one_thread
from watchline.model import Keep, Stream
from watchline.moving.merge import PLAIN, QUERIES, Timeline, pack, split
from watchline.spark.counting import BY_REASON, COUNTS, COUNTS_TYPE, as_json, since
from watchline.spark.place import CatalogRef
from watchline.spark.routing import NEVER, ROUTED, from_ipc, shard_keys, to_ipc
from watchline.spark.state import ShardState
from watchline.spark.worker import batch_version, catalog_of, watcher_from, watcher_of
from watchline.tracking import Rejects, Tracker
from watchline.tracking.batch import Span
from watchline.tracking.changes import OWN
from watchline.tracking.rows import conformed
from watchline.tracking.shards import shards_of
from watchline.tracking.tracker import Saved

# Gauges are of now, summed over shards; the others are of the batch.
COUNTERS = ("rows", "rejected", "late", "changes", "shed", "over_limit", "too_fast", "forgotten")
GAUGES = ("objects", "answers", "bytes", "shadow", "unknown", "query_bytes")
# The same in all shards: queries of the stream that `wl.changes` does not answer.
SAME = ("unanswered",)
# Of these the shard that has least counts: the accuracy of all answers, and of the worst query.
LEAST = ("accuracy", "least")
# What shards send. `kind` says what is packed: changes, the first or the second timelines of a
# batch, or changes that come after what these tell; `target` is the key of the partition where
# timelines are merged. A shard's counters stand beside the first of its binaries.
SENT = pa.schema(
    [("target", pa.int64()), ("kind", pa.int32()), (COUNTS, COUNTS_TYPE), ("packed", pa.binary())]
)
SENT_DDL = f"target long, kind int, {COUNTS} string, packed binary"
CHANGES, EARLY, TIMELINE, LATER = range(4)
# Where a packed timeline has the declaration of its stream.
STREAM = "stream"
# Which columns of a binary are another one's too.
_SAME = b"same"
# Changes in one binary.
CHUNK = 250_000


class Inbox(NamedTuple):
    """What a shard got in a batch."""

    rows: list[pa.Table]
    foreign: list[pa.Table]
    span: Span | None
    rejects: Rejects


class Outbox(NamedTuple):
    """What it sends: changes of versions and of rows, and timelines by their kind."""

    opened: pa.Table
    changes: pa.Table
    timelines: list[tuple[int, Timeline]]


@dataclass(frozen=True)
class ShardTask:
    """The function that runs once for each shard and batch.

    `folder` has the files of large states; without one it is beside the catalog. `merged` is
    whether timelines are merged afterwards.
    """

    ref: CatalogRef
    stream: str
    shards: int
    version: int | None
    folder: str | None
    merged: bool
    keep: Keep

    def stream_batch(
        self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: Any
    ) -> Iterator[pd.DataFrame]:
        """For `applyInPandasWithState`."""
        # Spark pads our rows with empty ones, which pandas finds worth a warning in every batch.
        warnings.filterwarnings("ignore", "The behavior of DataFrame concat", FutureWarning)
        inbox = _opened(row for frame in frames for row in frame.itertuples(index=False))
        version = batch_version(self.ref, self.version)
        shard = int(key[0])
        kept = ShardState(self.ref, self.shards, self.folder, shard, state)
        with one_thread():
            tracker = self._tracker(kept, version)
            before = tracker.counted()
            outbox = self._done(tracker, version, inbox)
            kept.save(tracker, tracker.version)
        yield pd.DataFrame(_packed(outbox, tracker, before, shard, self.shards))

    def whole_batch(self, key: tuple[Any, ...], routed: pa.Table) -> pa.Table:
        """For `applyInArrow`: no state before, none after."""
        listed = (tuple(row[name] for name in ROUTED.names) for row in routed.to_pylist())
        version = batch_version(self.ref, self.version)
        with one_thread():
            watcher = watcher_of(self.ref, self.stream, version)
            tracker = Tracker.over(watcher, "", self.shards, self.keep)
            before = tracker.counted()
            outbox = self._done(tracker, version, _opened(listed))
        shard = int(key[0].as_py())
        return pa.table(_packed(outbox, tracker, before, shard, self.shards), schema=SENT)

    def _done(self, tracker: Tracker, version: int, inbox: Inbox) -> Outbox:
        stream = tracker.stream
        opened = tracker.advance_to(version)
        own, foreign = (
            pa.concat_tables([tracker.no_rows(), *rows]) for rows in (inbox.rows, inbox.foreign)
        )
        tracker.count_rejects(inbox.rejects)
        changes = tracker.process(own, inbox.span, foreign)
        # Rows of a stream that was declared anew do not fit into one timeline with those before.
        told = [(EARLY, stream, tracker.early()), (TIMELINE, tracker.stream, tracker.timeline())]
        timelines = [
            (kind, labelled(timeline, of)) for kind, of, timeline in told if timeline is not None
        ]
        if timelines and not self.merged:
            raise EngineError(f"stream {self.stream!r} has points now: start the job again")
        return Outbox(opened, changes, timelines)

    def _tracker(self, kept: ShardState, version: int) -> Tracker:
        identity = catalog_of(self.ref).identity
        tracker: Tracker | None = kept.engine()
        if kept.row is None:
            watcher = watcher_of(self.ref, self.stream, version)
            return Tracker.over(watcher, identity, self.shards, self.keep)
        watcher = watcher_from(self.ref, self.stream, kept.row.version, version)
        if tracker is not None:
            tracker.follow(watcher)
            return tracker
        saved = Saved.of(kept.blob(), identity, self.stream)
        return Tracker.resume(watcher, saved, self.shards, self.keep)


def _opened(routed: Iterable[tuple[Any, ...]]) -> Inbox:
    rows: list[pa.Table] = []
    foreign: list[pa.Table] = []
    rejects: Rejects = Rejects()
    oldest, newest = NEVER
    for _, first, last, rejected, *blobs in routed:
        oldest, newest = min(oldest, int(first)), max(newest, int(last))
        for blob, box in zip(blobs, (rows, foreign), strict=True):
            if blob is not None:
                box.append(from_ipc(blob))
        if rejected is not None:
            rejects.update(json.loads(rejected))
    return Inbox(rows, foreign, Span(oldest, newest) if oldest <= newest else None, rejects)


def _packed(
    outbox: Outbox, tracker: Tracker, before: dict[str, Any], shard: int, shards: int
) -> dict[str, list[Any]]:
    """All in binaries, and the counters."""
    after = tracker.summary()
    counted = since(before, {name: after[name] for name in (*COUNTERS, BY_REASON)})
    counted |= {name: after[name] for name in (*GAUGES, *SAME, *LEAST)}
    told = pa.concat_tables([QUERIES.empty_table(), *(t.queries for _, t in outbox.timelines)])
    # Queries replaced across kinds (kNN to range or back) in this batch: their remaining changes go
    # to the same merge partition, after the timeline.
    plain = told.filter(pc.equal(told["k"], PLAIN))
    sent = _sent(outbox.opened, CHANGES, told["id"], shard, shards)
    sent += _sent(outbox.changes, LATER, plain["id"], shard, shards)
    for kind, timeline in outbox.timelines:
        sent += [(target, kind, blob) for target, blob in _by_query(timeline, shards)]
    return sent_columns(counted, sent or [(shard, CHANGES, b"")])


def _sent(
    changes: pa.Table, kind: int, told: pa.ChunkedArray, shard: int, shards: int
) -> list[tuple[int, int, bytes]]:
    """Changes, packed. What they say of these queries goes to where timelines tell the rest of it,
    as this kind: so that all is told in one place, and in order."""
    sent = []
    if len(told) and changes.num_rows:
        apart = pc.is_in(changes["query_id"], value_set=told.combine_chunks())
        chosen, changes = changes.filter(apart), changes.filter(pc.invert(apart))
        targets = shards_of(chosen["query_id"].combine_chunks(), shards)
        for number, key in enumerate(shard_keys(shards)):
            part = chosen.filter(pa.array(targets == number))
            sent += [(key, kind, blob) for blob in binaries(part)]
    return sent + [(shard, CHANGES, blob) for blob in binaries(changes)]


def _by_query(timeline: Timeline, shards: int) -> Iterator[tuple[int, bytes]]:
    """A timeline in parts, and the keys of their targets; what has no records tells nothing."""
    targets = shards_of(timeline.queries["id"].combine_chunks(), shards)
    parts = split(timeline, targets, shards)
    for key, part in zip(shard_keys(shards), parts, strict=True):
        if part.records.num_rows:
            yield key, pack(part)


def binaries(changes: pa.Table) -> list[bytes]:
    """Changes as Arrow IPC. What another column says too is not sent: the object's id is always
    an attribute, and most changes are told at the time of their row."""
    same = {name: _twin(changes, name) for name in ("object_id", "time")}
    same = {name: twin for name, twin in same.items() if twin is not None}
    why = changes.schema.get_field_index("reason")
    slim = changes.set_column(why, "reason", changes["reason"].dictionary_encode())
    slim = slim.drop_columns(list(same)).replace_schema_metadata({_SAME: json.dumps(same)})
    return [
        to_ipc(slim.slice(start, CHUNK)).to_pybytes() for start in range(0, len(changes), CHUNK)
    ]


def _twin(changes: pa.Table, name: str) -> str | None:
    """The attribute that is the same as this column."""
    column = changes[name]
    others = (field.name for field in changes.schema if field.name not in OWN)
    return next((other for other in others if column.equals(changes[other])), None)


def sent_columns(
    counted: dict[str, Any], sent: list[tuple[int, int, bytes]]
) -> dict[str, list[Any]]:
    """Columns of `SENT`: the counts beside the first of (target, kind, binary)."""
    targets, kinds, packed = map(list, zip(*sent, strict=True))
    counts = [as_json(counted), *[None] * (len(sent) - 1)]
    return dict(zip(SENT.names, (targets, kinds, counts, packed), strict=True))


def labelled(timeline: Timeline, stream: Stream) -> Timeline:
    """With the declaration of the stream beside its rows, for whoever merges it."""
    text = {STREAM: repr(stream)}
    return timeline._replace(rows=timeline.rows.replace_schema_metadata(text))


@dataclass(frozen=True)
class UnpackTask:
    """The function that `mapInArrow` runs last: binaries in, rows of this schema out."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch.column("packed"):
                yield from unpacked(packed.as_buffer(), self.schema).to_batches()


def unpacked(blob: pa.Buffer, schema: pa.Schema) -> pa.Table:
    """The rows of a binary, in the columns that the job began with."""
    if not len(blob):
        return schema.empty_table()
    slim = from_ipc(blob)
    columns = dict(zip(slim.column_names, slim.columns, strict=True))
    same = json.loads((slim.schema.metadata or {}).get(_SAME, b"{}"))
    columns |= {name: columns[twin] for name, twin in same.items()}
    for name, column in columns.items():
        if pa.types.is_dictionary(column.type):
            columns[name] = column.cast(column.type.value_type)
    return conformed(pa.table(columns), schema)
