"""Joins in a shard: its inbox, and its joiner. Every shard gets all rows, and joins them for the
queries that the hash of their ids deals to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from watchline.joining import Joiner
from watchline.rows import AcceptedRows, Rejects
from watchline.spark.batch_counters import BY_REASON
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import Shard, add_rejects
from watchline.spark.wire import ROWS, Parcel, from_ipc, packed_rows
from watchline.spark.worker import catalog_of

# All shards get the same rows, so these are the same in each of them (but for `kept`: windows are
# as long as the shard's own queries need); the others are summed. Counters are of the batch, gauges
# of now.
SAME_COUNTERS, SAME_GAUGES = ("rows", "rejected", "late"), ("kept", "waiting")
OWN_COUNTERS, OWN_GAUGES = ("pairs",), ("queries", "unanswered", "bytes")


class Inbox(NamedTuple):
    """What a shard got in a batch: the rows of each stream that has any."""

    rows: dict[str, pa.Table]
    rejects: Rejects


@dataclass(frozen=True)
class JoinOperator:
    """The joiners of the shards.

    `streams` are in the order of their names; `UnpackTask` puts columns in the user's order.
    `first` is the version that the columns of the result were made for. `times` is as the user gave
    it.
    """

    ref: CatalogRef
    streams: tuple[str, ...]
    first: int
    times: tuple[tuple[str, int], ...]

    def opened(self, routed: Iterable[tuple[Any, ...]]) -> Inbox:
        rows: dict[str, list[pa.Table]] = {}
        rejects: Rejects = Rejects()
        for _, number, rejected, blob in routed:
            if blob is not None:
                rows.setdefault(self.streams[int(number)], []).append(from_ipc(blob))
            add_rejects(rejects, rejected)
        return Inbox({name: pa.concat_tables(tables) for name, tables in rows.items()}, rejects)

    def new(self, shard: Shard, version: int) -> JoinerEngine:
        # At the version that the columns were made for: a query that came since and needs more of
        # them is not answered. A batch that is run again may be older than that.
        at = min(self.first, version) if self.ref.uri is not None else version
        part = shard.number, shard.shards
        joiner = Joiner.of_part(catalog_of(self.ref), self.streams, at, part, dict(self.times))
        return JoinerEngine(joiner, shard)

    def reused(self, engine: JoinerEngine, saved: int, version: int) -> JoinerEngine | None:
        return engine if engine.joiner.streams == self.streams else None

    def resumed(
        self, shard: Shard, blobs: Sequence[bytes], saved: int, version: int
    ) -> JoinerEngine:
        part = shard.number, shard.shards
        # A joiner never tells of deltas.
        [blob] = blobs
        joiner = Joiner.resume(catalog_of(self.ref), self.streams, blob, part)
        return JoinerEngine(joiner, shard)


class JoinerEngine:
    """A joiner as the engine of a shard."""

    def __init__(self, joiner: Joiner, shard: Shard):
        self.joiner, self._shard = joiner, shard
        # Rejects by reason are summed over the shards, which all have the same: one counts them.
        reasons = () if joiner.part else (BY_REASON,)
        self._counters = (*SAME_COUNTERS, *OWN_COUNTERS, *reasons)

    def counted(self) -> dict[str, Any]:
        found = self.joiner.stats()
        return {name: found[name] for name in self._counters}

    def advance_to(self, version: int) -> None:
        self.joiner.advance_to(version)

    def process(self, inbox: Inbox, last: bool) -> list[Parcel]:
        self.joiner.count_rejects(inbox.rejects)
        # The router has accepted them, at the version that the joiner has reached.
        declared = self.joiner.declared
        rows = {name: AcceptedRows.trusted(of, declared[name]) for name, of in inbox.rows.items()}
        # A piece is packed before the next is made: all tuples of a batch may need much memory.
        return [
            Parcel(self._shard.key, ROWS, blob)
            for tuples in self.joiner.chunks(rows, last)
            for blob in packed_rows(tuples)
        ]

    def stats(self) -> dict[str, Any]:
        found = self.joiner.stats()
        return {name: found[name] for name in (*self._counters, *SAME_GAUGES, *OWN_GAUGES)}

    def snapshot(self) -> bytes:
        return self.joiner.snapshot()

    def touched(self) -> None:
        """A window changes as a whole: each state is a snapshot."""

    def delta(self, touched: Sequence[Any]) -> bytes:
        raise AssertionError("a joiner has no deltas")

    def replayed(self) -> list[Any]:
        return []
