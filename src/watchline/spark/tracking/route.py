"""The router of changes: rows go to the shard of their object.

A tick has the oldest and the newest time that its task accepted, so a shard knows the stream's
newest time even if it has no rows itself. Rows of focal objects, with which queries move, go to all
shards: to all but their own as *foreign* rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Integers
from watchline.model import Stream
from watchline.rows import Rejects, shards_of, times_of
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import rejects_text, shard_keys
from watchline.spark.wire import to_ipc
from watchline.spark.worker import queries_at

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


@dataclass(frozen=True)
class ChangeRouter:
    """The router of a stream whose changes are wanted."""

    ref: CatalogRef
    stream: str
    shards: int
    ddl: str = "shard int, oldest long, newest long, rejects string, rows binary, foreign binary"

    def at(self, version: int) -> ChangeRouting:
        queries = queries_at(self.ref, self.stream, version)
        keys = np.array(shard_keys(self.shards), dtype=np.int32)
        return ChangeRouting(queries.stream, queries.used(), queries.focals(), keys)


@dataclass
class ChangeRouting:
    """The router during one task. `focals` are the ids of focal objects, `keys` those of shards."""

    stream: Stream
    used: frozenset[str]
    focals: pa.Array
    keys: npt.NDArray[np.int32]
    # The oldest and newest times of the batches so far.
    spans: list[tuple[int, int]] = field(default_factory=list)

    def packed(self, rows: pa.Table) -> pa.RecordBatch:
        """Rows by shard, each shard's in one binary."""
        times, shards = times_of(rows, self.stream), len(self.keys)
        self.spans.append((int(times.min()), int(times.max())))
        ids = rows[self.stream.object].combine_chunks()
        owners = shards_of(ids, shards)
        order = np.argsort(owners.astype(np.uint16), kind="stable")
        bounds = np.searchsorted(owners[order], np.arange(shards + 1))
        sorted_rows = rows.take(pa.array(order))
        own = [_binary(sorted_rows.slice(start, end - start)) for start, end in pairwise(bounds)]
        foreign = _foreign(rows, ids, owners, shards, self.focals)
        present = [k for k in range(shards) if own[k] or foreign[k]]
        n = len(present)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(self.keys[present]),
                pa.array([NEVER[0]] * n, pa.int64()),
                pa.array([NEVER[1]] * n, pa.int64()),
                pa.nulls(n, pa.string()),
                pa.array([own[k] for k in present], pa.binary()),
                pa.array([foreign[k] for k in present], pa.binary()),
            ],
            schema=ROUTED,
        )

    def ticks(self, rejects: Rejects) -> pa.RecordBatch:
        n = len(self.keys)
        oldest = min((first for first, _ in self.spans), default=NEVER[0])
        newest = max((last for _, last in self.spans), default=NEVER[1])
        # Rejected rows belong to no object: the first shard counts them.
        counted = [rejects_text(rejects), *[None] * (n - 1)]
        return pa.RecordBatch.from_arrays(
            [
                pa.array(self.keys),
                pa.array([oldest] * n, pa.int64()),
                pa.array([newest] * n, pa.int64()),
                pa.array(counted, pa.string()),
                pa.nulls(n, pa.binary()),
                pa.nulls(n, pa.binary()),
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
