"""Before the shuffle: what the routers of all operators share.

A router accepts or rejects the rows of a stream and packs them for the shards. Each of its tasks
ends with one *tick* for every shard. The shuffle is a barrier, so every shard is called in every
batch, and knows what all tasks of the batch have seen. How rows go to shards, and what a tick says,
is the operator's own: `tracking/route.py`, `joining/route.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa

from watchline.kernels.threads import one_thread
from watchline.model import Stream
from watchline.rows import Rejects, accepted
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.version_pin import Pin
from watchline.spark.worker import batch_pin

# Marker column, non-null in rows that only announce a new catalog version.
WAKE = "_watchline_version"
# The column with Spark's own time of a micro-batch, which its log keeps for a replay. It is the
# wall clock where queries are statements: there is no catalog to pin one in.
NOW = "_watchline_now"


class Shard(NamedTuple):
    """One of so many shards, by the key that Spark groups its rows by."""

    key: int
    shards: int

    @property
    def number(self) -> int:
        return shard_keys(self.shards).index(self.key)


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


class Routing(Protocol):
    """A router during one task, at the catalog version of its batch. All that it sends has the
    columns of its router."""

    @property
    def stream(self) -> Stream:
        """The stream as it is declared at this version."""

    @property
    def used(self) -> frozenset[str]:
        """The attributes without which a row is rejected."""

    def packed(self, rows: pa.Table) -> pa.RecordBatch:
        """Accepted rows, for the shards that need them."""

    def ticks(self, rejects: Rejects) -> pa.RecordBatch:
        """The end of the task: one row for every shard."""


class Router(Protocol):
    """How the rows of one stream go to the shards. It is sent to Spark's workers by pickle."""

    @property
    def ddl(self) -> str:
        """The columns that are shuffled; `shard` is the first of them."""

    def at(self, version: int) -> Routing: ...


@dataclass(frozen=True)
class RouteTask:
    """The function that `mapInArrow` runs before the shuffle.

    `version` and `now` are those of a batch input, the driver's wall clock; each micro-batch of a
    stream has its own. Here alone it is decided which rows come from the future.
    """

    ref: CatalogRef
    version: int | None
    now: int | None
    router: Router

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pin = batch_pin(self.ref, self.version, self.now)
        routing = self.router.at(pin.version)
        stream, used = routing.stream, routing.used
        rejects: Rejects = Rejects()
        for batch in _rows_among(batches):
            with one_thread():
                rows, bad = accepted(batch, stream, used, _wall_clock_of(batch, pin))
            rejects += bad
            if rows.num_rows:
                yield routing.packed(rows.table)
        yield routing.ticks(rejects)


def _rows_among(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Without what only says that there is a new version."""
    for batch in batches:
        if WAKE in batch.schema.names:
            batch = batch.filter(batch.column(WAKE).is_null())
        if batch.num_rows:
            yield batch


def _wall_clock_of(batch: pa.RecordBatch, pin: Pin) -> int | None:
    """The wall clock that these rows go by, in microseconds; None if there is none."""
    if pin.now is not None or NOW not in batch.schema.names:
        return pin.now
    now: int = batch.column(NOW)[0].cast(pa.timestamp("us", "UTC")).value
    return now


def rejects_text(rejects: Rejects) -> str | None:
    """Counts of rejected rows as a tick has them; None if there are none."""
    return json.dumps(rejects) if rejects else None


def add_rejects(rejects: Rejects, text: str | None) -> None:
    """Count what a tick says, too."""
    if text is not None:
        rejects.update(json.loads(text))
