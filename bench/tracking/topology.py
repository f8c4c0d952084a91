"""The topology of `wl.changes` with functions that do nothing: what Spark itself takes for a batch.

The same source, stages, shuffles, state rows and sink; each function passes on a few bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from watchline.spark.routing import shard_keys

_ROUTED = "shard int, packed binary"
_STATE = "sequence long, blob binary"
_SENT = "target long, packed binary"


@dataclass(frozen=True)
class EmptyRoute:
    """Reads the rows and sends a few bytes to every shard."""

    shards: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        keys = pa.array(shard_keys(self.shards), pa.int32())
        packed = pa.array([b"rows"] * self.shards, pa.binary())
        yield pa.RecordBatch.from_arrays([keys, packed], ["shard", "packed"])


def empty_shard(key: tuple[Any, ...], frames: Iterator[Any], state: Any) -> Iterator[Any]:
    """Writes a row of state, and sends a few bytes."""
    for _ in frames:
        pass
    sequence = state.get[0] + 1 if state.exists else 0
    state.update((sequence, b"state"))
    yield pd.DataFrame({"target": [int(key[0])], "packed": [b"changes"]})


def empty_merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(["packed"])


def empty_changes(rows: DataFrame, shards: int, merged: bool) -> DataFrame:
    """`wl.changes` without its kernels; `merged` is whether the stream has points."""
    routed = rows.mapInArrow(EmptyRoute(shards), _ROUTED)
    sent = routed.groupBy("shard").applyInPandasWithState(
        empty_shard, _SENT, _STATE, "append", "NoTimeout"
    )
    if merged:
        target = fn.col("target").cast("int")
        sent = sent.withColumn("target", target).repartition(shards, "target")
    return sent.mapInArrow(empty_merge, "packed binary")
