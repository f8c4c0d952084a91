"""The router of joins: the rows of one stream go to every shard.

Windows are small beside what queries make of them, so each shard keeps its own and has a part of
the queries.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from watchline.model import Stream
from watchline.rows import Rejects
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import rejects_text, shard_keys
from watchline.spark.wire import to_ipc
from watchline.spark.worker import declared_stream

# What is shuffled: the key of a shard, the number of a stream, and rows, or a tick's rejects.
ROUTED = pa.schema(
    [("shard", pa.int32()), ("stream", pa.int32()), ("rejects", pa.string()), ("rows", pa.binary())]
)


@dataclass(frozen=True)
class JoinRouter:
    """The router of one of the joined streams; `number` is its place among them."""

    ref: CatalogRef
    stream: str
    number: int
    shards: int
    ddl: str = "shard int, stream int, rejects string, rows binary"

    def at(self, version: int) -> JoinRouting:
        keys = shard_keys(self.shards)
        return JoinRouting(declared_stream(self.ref, self.stream, version), self.number, keys)


@dataclass(frozen=True)
class JoinRouting:
    """The router during one task. A join needs no attribute but the object's id and the time: NULL
    in any other fails its conditions."""

    stream: Stream
    number: int
    keys: list[int]
    used: frozenset[str] = frozenset()

    def packed(self, rows: pa.Table) -> pa.RecordBatch:
        return self._to_all(None, to_ipc(rows).to_pybytes())

    def ticks(self, rejects: Rejects) -> pa.RecordBatch:
        return self._to_all(rejects_text(rejects), None)

    def _to_all(self, rejects: str | None, rows: bytes | None) -> pa.RecordBatch:
        sent = [(key, self.number, rejects, rows) for key in self.keys]
        return pa.RecordBatch.from_pylist(
            [dict(zip(ROUTED.names, row, strict=True)) for row in sent], schema=ROUTED
        )
