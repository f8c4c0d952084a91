"""Joins in Spark's workers: every shard gets all rows, and has a part of the queries.

Windows are small beside what queries make of them, so each shard keeps its own and joins for the
queries that the hash of their ids deals to it. Before the shuffle rows are checked and packed as
Arrow IPC, once for each shard; each task ends with a *tick* for every shard, so that all are called
in every batch. After it a shard's joiner, the worker's own or from the state (`state.py`), follows
the catalog and processes the rows; what it finds leaves packed, with the counters beside it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from watchline.index.result import one_thread
from watchline.spark.counting import BY_REASON, COUNTS, COUNTS_TYPE, as_json, since
from watchline.spark.place import CatalogRef
from watchline.spark.routing import from_ipc, rows_among, shard_keys, to_ipc, wall_clock_of
from watchline.spark.shard import CHUNK
from watchline.spark.state import ShardState
from watchline.spark.worker import batch_pin, batch_version, catalog_of, stream_of
from watchline.tracking import Rejects, accepted
from watchline.tracking.joiner import Joiner

# All shards get the same rows, so these are the same in each of them (but for `kept`: windows are
# as long as the shard's own queries need); the others are summed. Counters are of the batch, gauges
# of now.
SAME_COUNTERS, SAME_GAUGES = ("rows", "rejected", "late"), ("kept", "waiting")
OWN_COUNTERS, OWN_GAUGES = ("pairs",), ("queries", "unanswered", "bytes")
COUNTERS, GAUGES = (*SAME_COUNTERS, *OWN_COUNTERS), (*SAME_GAUGES, *OWN_GAUGES)
# What is shuffled: the key of a shard, the number of a stream, and rows, or a tick's rejects.
ROUTED = pa.schema(
    [("shard", pa.int32()), ("stream", pa.int32()), ("rejects", pa.string()), ("rows", pa.binary())]
)
ROUTED_DDL = "shard int, stream int, rejects string, rows binary"
# What shards send: their counters stand beside the first of their binaries.
SENT = pa.schema([(COUNTS, COUNTS_TYPE), ("packed", pa.binary())])
SENT_DDL = f"{COUNTS} string, packed binary"


@dataclass(frozen=True)
class JoinRouteTask:
    """The function that `mapInArrow` runs before the shuffle, for one of the streams.

    `number` tells the shards which: its place among the names that `JoinTask` has. `now` is as
    `RouteTask` has it.
    """

    ref: CatalogRef
    stream: str
    number: int
    shards: int
    version: int | None
    now: int | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pin = batch_pin(self.ref, self.version, self.now)
        stream = stream_of(self.ref, self.stream, pin.version)
        rejects: Rejects = Rejects()
        for batch in rows_among(batches):
            with one_thread():
                # A join needs no attribute but these two: what is NULL fails its conditions.
                now = wall_clock_of(batch, pin)
                rows, bad = accepted(batch, stream, frozenset(), now)
            rejects += bad
            if rows.num_rows:
                yield self._to_all(rows=to_ipc(rows).to_pybytes())
        yield self._to_all(rejects=json.dumps(rejects) if rejects else None)

    def _to_all(self, rejects: str | None = None, rows: bytes | None = None) -> pa.RecordBatch:
        sent = [(key, self.number, rejects, rows) for key in shard_keys(self.shards)]
        return pa.RecordBatch.from_pylist(
            [dict(zip(ROUTED.names, row, strict=True)) for row in sent], schema=ROUTED
        )


class Inbox(NamedTuple):
    """What a shard got in a batch: the rows of each stream that has any."""

    rows: dict[str, pa.Table]
    rejects: Rejects


@dataclass(frozen=True)
class JoinTask:
    """The function that runs once for each shard and batch.

    `streams` are in the order of their names; `UnpackTask` puts columns in the user's order.
    `first` is the version that the columns of the result were made for, `version` that of a batch
    input and None for a stream. `times` and `folder` are as the user gave them.
    """

    ref: CatalogRef
    streams: tuple[str, ...]
    shards: int
    first: int
    version: int | None
    folder: str | None
    times: tuple[tuple[str, int], ...]

    def stream_batch(
        self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: Any
    ) -> Iterator[pd.DataFrame]:
        """For `applyInPandasWithState`."""
        # Spark pads our rows with empty ones, which pandas finds worth a warning in every batch.
        warnings.filterwarnings("ignore", "The behavior of DataFrame concat", FutureWarning)
        inbox = self._opened(row for frame in frames for row in frame.itertuples(index=False))
        version = batch_version(self.ref, self.version)
        shard = int(key[0])
        kept = ShardState(self.ref, self.shards, self.folder, shard, state)
        with one_thread():
            joiner = self._joiner(kept, shard, version)
            sent = self._done(joiner, version, inbox, last=False)
            kept.save(joiner, version)
        yield pd.DataFrame(sent)

    def whole_batch(self, key: tuple[Any, ...], routed: pa.Table) -> pa.Table:
        """For `applyInArrow`: no state before, none after, and no row waits for others."""
        listed = (tuple(row[name] for name in ROUTED.names) for row in routed.to_pylist())
        version = batch_version(self.ref, self.version)
        with one_thread():
            joiner = self._new(int(key[0].as_py()), version)
            sent = self._done(joiner, version, self._opened(listed), last=True)
        return pa.table(sent, schema=SENT)

    def _opened(self, routed: Iterable[tuple[Any, ...]]) -> Inbox:
        rows: dict[str, list[pa.Table]] = {}
        rejects: Rejects = Rejects()
        for _, number, rejected, blob in routed:
            if blob is not None:
                rows.setdefault(self.streams[int(number)], []).append(from_ipc(blob))
            if rejected is not None:
                rejects.update(json.loads(rejected))
        return Inbox({name: pa.concat_tables(tables) for name, tables in rows.items()}, rejects)

    def _done(self, joiner: Joiner, version: int, inbox: Inbox, last: bool) -> dict[str, list[Any]]:
        """Columns of `SENT`."""
        before = {name: n for name, n in joiner.stats().items() if name in (*COUNTERS, BY_REASON)}
        joiner.advance_to(version)
        joiner.count_rejects(inbox.rejects)
        packed = [blob for found in joiner.chunks(inbox.rows, last) for blob in binaries(found)]
        after = joiner.stats()
        counts = since(before, after) | {name: after[name] for name in GAUGES}
        if joiner.part:
            del counts[BY_REASON]  # a sum over the shards, which all have the same
        beside = [as_json(counts), *[None] * (len(packed) - 1)]
        return {COUNTS: beside, "packed": packed or [b""]}

    # --- the joiner of a shard

    def _joiner(self, kept: ShardState, shard: int, version: int) -> Joiner:
        joiner: Joiner | None = kept.engine()
        if kept.row is None:
            return self._new(shard, version)
        if joiner is not None and joiner.streams == self.streams:
            return joiner
        part = shard_keys(self.shards).index(shard), self.shards
        return Joiner.resume(catalog_of(self.ref), self.streams, kept.blob(), part)

    def _new(self, shard: int, version: int) -> Joiner:
        # At the version that the columns were made for: a query that came since and needs more of
        # them is not answered. A batch that is run again may be older than that.
        return Joiner.of_part(
            catalog_of(self.ref),
            self.streams,
            min(self.first, version) if self.ref.uri is not None else version,
            (shard_keys(self.shards).index(shard), self.shards),
            dict(self.times),
        )


def binaries(found: pa.Table) -> list[bytes]:
    return [to_ipc(found.slice(start, CHUNK)).to_pybytes() for start in range(0, len(found), CHUNK)]
