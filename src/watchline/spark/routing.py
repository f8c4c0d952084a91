"""Before the shuffle: rows are checked, and packed by the shard of their object.

Rows travel as Arrow IPC, one binary per shard and Arrow batch, so that nothing between here and the
tracker handles them one by one. Each task ends with one *tick* for each shard: the oldest and the
newest time it accepted. The shuffle is a barrier, so every shard is called in every batch, and
knows the stream's newest time. Rows of focal objects, with which queries move, go to all shards: to
all but their own as *foreign* rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.index.result import one_thread
from watchline.model import Stream
from watchline.spark.pin import Pin
from watchline.spark.place import CatalogRef
from watchline.spark.worker import batch_pin, watcher_of
from watchline.tracking import Rejects, accepted
from watchline.tracking.rows import times_of
from watchline.tracking.shards import shards_of

Integers = npt.NDArray[np.int64]

# What is shuffled: the key of a shard, a tick's times and rejects, or rows. Times are never null
# (those of nothing are the last moment and the first): pandas would make them inexact floats.
NEVER = (2**63 - 1, -(2**63))
ROUTED = pa.schema(
    [
        ("shard", pa.int32()),
        ("oldest", pa.int64()),
        ("newest", pa.int64()),
        ("rejects", pa.string()),
        ("rows", pa.binary()),
        ("foreign", pa.binary()),
    ]
)
ROUTED_DDL = "shard int, oldest long, newest long, rejects string, rows binary, foreign binary"
# Marker column, non-null in rows that only announce a new catalog version.
WAKE = "_watchline_version"
# The column with Spark's own time of a micro-batch, which its log keeps for a replay. It is the
# wall clock where queries are statements: there is no catalog to pin one in.
NOW = "_watchline_now"


def shard_keys(shards: int) -> list[int]:
    """A key for each shard, such that Spark deals them to different ones of as many partitions."""
    keys: dict[int, int] = {}
    candidate = 0
    while len(keys) < shards:
        keys.setdefault(_murmur3(candidate) % shards, candidate)
        candidate += 1
    return [keys[i] for i in range(shards)]


def _murmur3(value: int) -> int:
    """Spark's hash of an int, as its partitioner takes it."""

    def rotated(x: int, by: int) -> int:
        return ((x << by) | (x >> (32 - by))) & 0xFFFFFFFF

    k = rotated((value * 0xCC9E2D51) & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
    h = (rotated(42 ^ k, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= 4
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h


@dataclass(frozen=True)
class RouteTask:
    """The function that `mapInArrow` runs before the shuffle.

    `now` is the driver's wall clock for a batch input; each micro-batch of a stream has its own.
    Here alone it is decided which rows come from the future.
    """

    ref: CatalogRef
    stream: str
    shards: int
    version: int | None
    now: int | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pin = batch_pin(self.ref, self.version, self.now)
        watcher = watcher_of(self.ref, self.stream, pin.version)
        stream, used, focals = watcher.stream, watcher.used(), watcher.focals()
        keys = np.array(shard_keys(self.shards), dtype=np.int32)
        rejects: Rejects = Rejects()
        spans = []
        for batch in rows_among(batches):
            with one_thread():
                rows, bad = accepted(batch, stream, used, wall_clock_of(batch, pin))
            rejects += bad
            if rows.num_rows:
                times = times_of(rows, stream)
                spans.append((int(times.min()), int(times.max())))
                yield _packed(rows, stream, keys, focals)
        yield _ticks(keys, spans, rejects)


def rows_among(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Without what only says that there is a new version."""
    for batch in batches:
        if WAKE in batch.schema.names:
            batch = batch.filter(batch.column(WAKE).is_null())
        if batch.num_rows:
            yield batch


def wall_clock_of(batch: pa.RecordBatch, pin: Pin) -> int | None:
    """The wall clock that these rows go by, in microseconds; None if there is none."""
    if pin.now is not None or NOW not in batch.schema.names:
        return pin.now
    now: int = batch.column(NOW)[0].cast(pa.timestamp("us", "UTC")).value
    return now


def _packed(
    rows: pa.Table, stream: Stream, keys: npt.NDArray[np.int32], focals: pa.Array
) -> pa.RecordBatch:
    """Rows by shard, each shard's in one binary."""
    ids = rows[stream.object].combine_chunks()
    shards = shards_of(ids, len(keys))
    order = np.argsort(shards.astype(np.uint16), kind="stable")
    bounds = np.searchsorted(shards[order], np.arange(len(keys) + 1))
    sorted_rows = rows.take(pa.array(order))
    own = [_binary(sorted_rows.slice(start, end - start)) for start, end in pairwise(bounds)]
    foreign = _foreign(rows, ids, shards, len(keys), focals)
    present = [k for k in range(len(keys)) if own[k] or foreign[k]]
    n = len(present)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(keys[present]),
            pa.array([NEVER[0]] * n, pa.int64()),
            pa.array([NEVER[1]] * n, pa.int64()),
            pa.nulls(n, pa.string()),
            pa.array([own[k] for k in present], pa.binary()),
            pa.array([foreign[k] for k in present], pa.binary()),
        ],
        schema=ROUTED,
    )


def _foreign(
    rows: pa.Table, ids: pa.Array, shards: Integers, count: int, focals: pa.Array
) -> list[bytes | None]:
    """For each shard the rows of focal objects that other shards own."""
    if count == 1 or not len(focals):
        return [None] * count
    focal = np.flatnonzero(pc.is_in(ids, focals).to_numpy(zero_copy_only=False))
    owners = shards[focal]
    return [_binary(rows.take(pa.array(focal[owners != k]))) for k in range(count)]


def _binary(rows: pa.Table) -> bytes | None:
    return to_ipc(rows).to_pybytes() if rows.num_rows else None


def _ticks(
    keys: npt.NDArray[np.int32], spans: list[tuple[int, int]], rejects: Rejects
) -> pa.RecordBatch:
    n = len(keys)
    oldest = min((a for a, _ in spans), default=NEVER[0])
    newest = max((b for _, b in spans), default=NEVER[1])
    # Rejected rows belong to no object: the first shard counts them.
    counted = [json.dumps(rejects) if rejects else None, *[None] * (n - 1)]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(keys),
            pa.array([oldest] * n, pa.int64()),
            pa.array([newest] * n, pa.int64()),
            pa.array(counted, pa.string()),
            pa.nulls(n, pa.binary()),
            pa.nulls(n, pa.binary()),
        ],
        schema=ROUTED,
    )


def to_ipc(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def from_ipc(blob: bytes) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(blob)) as reader:
        return reader.read_all()
