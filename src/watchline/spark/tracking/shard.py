"""Changes in a shard: its inbox, its tracker, and the parcels that leave it.

Changes leave packed. What the k nearest of a shard did leaves beside them as timelines, for
`merge.MergeTask`: by the hash of the query, so that those of one query meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from watchline.errors import EngineError
from watchline.model import Keep, Stream
from watchline.rows import AcceptedRows, Rejects, shards_of
from watchline.spark.batch_counters import BY_REASON
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import Shard, add_rejects, shard_keys
from watchline.spark.tracking.route import NEVER
from watchline.spark.wire import ROWS, Parcel, from_ipc, packed_changes
from watchline.spark.worker import catalog_of, queries_at, queries_from
from watchline.tracking import (
    PLAIN,
    QUERIES,
    WHOLE,
    Received,
    Saved,
    Timeline,
    TimeSpan,
    TouchedState,
    Tracker,
    pack_timeline,
    split_timeline,
)

# Gauges are of now, summed over shards; the others are of the batch.
COUNTERS = ("rows", "rejected", "late", "changes", "shed", "over_limit", "too_fast", "forgotten")
GAUGES = ("objects", "answers", "bytes", "shadow", "unknown", "query_bytes")
# The same in all shards: queries of the stream that `wl.changes` does not answer.
SAME = ("unanswered",)
# Of these the shard that has least counts: the accuracy of all answers, and of the worst query.
LEAST = ("accuracy", "least")
# Kinds of parcels beside changes: the first or the second timelines of a batch, and changes that
# come after those timelines. Their target is the partition where timelines are merged.
EARLY, TIMELINE, LATER = range(ROWS + 1, ROWS + 4)
# Where a packed timeline has the declaration of its stream, the number of its shard, and how many
# timelines that shard sent to the same target before.
STREAM, PART, BEFORE = "stream", "part", "before"


class Inbox(NamedTuple):
    """What a shard got in a batch."""

    rows: list[pa.Table]
    foreign: list[pa.Table]
    span: TimeSpan | None
    rejects: Rejects


class _KindOfTimeline(NamedTuple):
    """A timeline, the kind of its parcels, and the stream whose rows it has."""

    kind: int
    stream: Stream
    timeline: Timeline


@dataclass(frozen=True)
class ChangeOperator:
    """The trackers of a stream's shards. `merged` is whether timelines are merged afterwards, and
    `remembers` whether that merge keeps what it knows from batch to batch."""

    ref: CatalogRef
    stream: str
    merged: bool
    remembers: bool
    keep: Keep

    def opened(self, routed: Iterable[tuple[Any, ...]]) -> Inbox:
        rows: list[pa.Table] = []
        foreign: list[pa.Table] = []
        rejects: Rejects = Rejects()
        oldest, newest = NEVER
        for _, first, last, rejected, *blobs in routed:
            oldest, newest = min(oldest, int(first)), max(newest, int(last))
            for blob, box in zip(blobs, (rows, foreign), strict=True):
                if blob is not None:
                    box.append(from_ipc(blob))
            add_rejects(rejects, rejected)
        return Inbox(rows, foreign, TimeSpan(oldest, newest) if oldest <= newest else None, rejects)

    def new(self, shard: Shard, version: int) -> TrackerEngine:
        queries = queries_at(self.ref, self.stream, version)
        identity = catalog_of(self.ref).identity
        tracker = Tracker.over(queries, identity, shard.shards, self.keep)
        return self._engine(tracker, shard)

    def _engine(self, tracker: Tracker, shard: Shard) -> TrackerEngine:
        if not self.remembers:
            tracker.sent.counts = None
        return TrackerEngine(tracker, shard, self.merged, self.remembers)

    def reused(self, engine: TrackerEngine, saved: int, version: int) -> TrackerEngine:
        engine.tracker.follow(queries_from(self.ref, self.stream, saved, version))
        return engine

    def resumed(
        self, shard: Shard, blobs: Sequence[bytes], saved: int, version: int
    ) -> TrackerEngine:
        queries = queries_from(self.ref, self.stream, saved, version)
        state = Saved.of(blobs[0], catalog_of(self.ref).identity, self.stream, blobs[1:])
        tracker = Tracker.resume(queries, state, shard.shards, self.keep)
        return self._engine(tracker, shard)


class TrackerEngine:
    """A tracker as the engine of a shard."""

    def __init__(self, tracker: Tracker, shard: Shard, merged: bool, remembered: bool):
        self.tracker, self._shard = tracker, shard
        self._merged, self._remembered = merged, remembered

    def counted(self) -> dict[str, Any]:
        return self.tracker.counted()

    def advance_to(self, version: int) -> None:
        self._stream_before = self.tracker.stream
        self._opened = self.tracker.advance_to(version)

    def process(self, inbox: Inbox, last: bool) -> list[Parcel]:
        tracker = self.tracker
        # The router has accepted them, at the version that the tracker has reached.
        own, foreign = (
            AcceptedRows.trusted(pa.concat_tables([tracker.no_rows(), *rows]), tracker.stream)
            for rows in (inbox.rows, inbox.foreign)
        )
        tracker.count_rejects(inbox.rejects)
        changes = tracker.process(own, inbox.span, foreign)
        opened, timelines = self._opened, self._timelines()
        del self._opened
        return [
            *_change_parcels_beside(opened, changes, timelines, self._shard),
            *self._timeline_parcels(timelines),
        ]

    def _timeline_parcels(self, timelines: list[_KindOfTimeline]) -> Iterator[Parcel]:
        """The timelines by their targets. One in which nothing happened to a target's queries goes
        only to the shard's own, where it makes the merge count answers."""
        sent, shard = self.tracker.sent, self._shard
        is_whole = sent.is_whole
        counts = sent.counts or [0] * shard.shards
        for kind, stream, timeline in timelines:
            for number, (key, part) in enumerate(_by_query(timeline, shard.shards)):
                before = WHOLE if is_whole else counts[number]
                is_counted = Received(shard.number, before, part).is_counted
                if is_counted or key == shard.key:
                    labelled = _labelled(part, stream, shard.number, before)
                    yield Parcel(key, kind, pack_timeline(labelled))
                counts[number] = max(before, 0) + is_counted
        if timelines and self._remembered:
            sent.counts = counts

    def _timelines(self) -> list[_KindOfTimeline]:
        """The timelines of the batch. Rows of a stream that was declared anew do not fit into one
        timeline with those before."""
        tracker = self.tracker
        asked = (
            (EARLY, self._stream_before, tracker.early()),
            (TIMELINE, tracker.stream, tracker.timeline()),
        )
        timelines = [
            _KindOfTimeline(kind, stream, timeline)
            for kind, stream, timeline in asked
            if timeline is not None
        ]
        if timelines and not self._merged:
            raise EngineError(f"stream {tracker.stream.name!r} has points now: start the job again")
        return timelines

    def stats(self) -> dict[str, Any]:
        found = self.tracker.summary()
        return {name: found[name] for name in (*COUNTERS, BY_REASON, *GAUGES, *SAME, *LEAST)}

    def snapshot(self) -> bytes:
        return self.tracker.snapshot()

    def touched(self) -> TouchedState | None:
        return self.tracker.touched()

    def delta(self, touched: Sequence[TouchedState]) -> bytes:
        return self.tracker.delta(touched)

    def replayed(self) -> list[TouchedState]:
        return self.tracker.replayed


def _change_parcels_beside(
    opened: pa.Table, changes: pa.Table, timelines: list[_KindOfTimeline], shard: Shard
) -> Iterator[Parcel]:
    """The changes of versions and of rows, where timelines leave beside them."""
    queries = pa.concat_tables([QUERIES.empty_table(), *(of.timeline.queries for of in timelines)])
    # Queries replaced across kinds (kNN to range or back) in this batch: their remaining changes go
    # to the same merge partition, after the timeline.
    plain = queries.filter(pc.equal(queries["k"], PLAIN))
    yield from _change_parcels(opened, ROWS, queries["id"], shard)
    yield from _change_parcels(changes, LATER, plain["id"], shard)


def _change_parcels(
    changes: pa.Table, kind: int, apart: pa.ChunkedArray, shard: Shard
) -> Iterator[Parcel]:
    """Changes, packed. Those of the queries `apart` are of this kind, and go where the timelines of
    these queries go, so that all changes of a query leave one place, and in order."""
    if len(apart) and changes.num_rows:
        is_apart = pc.is_in(changes["query_id"], value_set=apart.combine_chunks())
        chosen, changes = changes.filter(is_apart), changes.filter(pc.invert(is_apart))
        targets = shards_of(chosen["query_id"].combine_chunks(), shard.shards)
        for number, key in enumerate(shard_keys(shard.shards)):
            part = chosen.filter(pa.array(targets == number))
            for blob in packed_changes(part):
                yield Parcel(key, kind, blob)
    for blob in packed_changes(changes):
        yield Parcel(shard.key, ROWS, blob)


def _by_query(timeline: Timeline, shards: int) -> Iterator[tuple[int, Timeline]]:
    """The parts of a timeline and the keys of their targets."""
    targets = shards_of(timeline.queries["id"].combine_chunks(), shards)
    yield from zip(shard_keys(shards), split_timeline(timeline, targets, shards), strict=True)


def _labelled(timeline: Timeline, stream: Stream, part: int, before: int) -> Timeline:
    """With what its receiver needs to know beside the rows."""
    label = {STREAM: repr(stream), PART: str(part), BEFORE: str(before)}
    return timeline._replace(rows=timeline.rows.replace_schema_metadata(label))


def received(timeline: Timeline) -> tuple[str, Received]:
    """What a label says: the declaration of the stream, and whose timeline it is."""
    label = {key.decode(): text.decode() for key, text in timeline.rows.schema.metadata.items()}
    return label[STREAM], Received(int(label[PART]), int(label[BEFORE]), timeline)
