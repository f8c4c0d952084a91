"""The driver's plan of an operator over shards: what `wl.changes` and `wl.joins` share.

    rows of each stream            and rows that announce new versions of the catalog
      -> RouteTask                 accepts rows, packs them by shard, ends with ticks (routing.py)
      -> shuffle by shard          each shard in a partition of its own
      -> ShardTask                 a shard's rows go through its engine (shard_task.py)
      -> counters are observed     (observing.py)
      -> UnpackTask                rows of the result (wire.py)

Batch and streaming DataFrames take the same way, but for who calls the engine and for the state. A
caller gives the routers and the `ShardOperator`. Where parcels need a further step, as the merge of
changes does, the caller adds it after the shards.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from os import PathLike, fspath
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as st
from pyspark.version import __version__

from watchline.clock import micros_now
from watchline.config import MAX_SHARDS
from watchline.errors import EngineError, InvalidQuery, WatchlineWarning
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.observing import Observed, with_counters
from watchline.spark.routing import NOW, WAKE, Router, RouteTask
from watchline.spark.shard_state import STATE_DDL
from watchline.spark.shard_task import ShardOperator, ShardTask
from watchline.spark.supported import can_wake
from watchline.spark.wire import SENT_DDL, UnpackTask

PARTITIONS = "spark.sql.shuffle.partitions"
_WAITS = (
    f"PySpark {__version__} cannot start a batch when the catalog changes: a query that is"
    " registered or dropped takes effect with the next rows. PySpark 4.2 or newer does not wait"
)


@dataclass(frozen=True)
class ShardJob:
    """One call of an operator. `version` is the catalog's newest, which is that of a batch; a
    stream starts there. `folder` has the files of large states."""

    ref: CatalogRef
    version: int
    shards: int
    folder: str | None

    def sent(
        self,
        rows: Sequence[DataFrame],
        routers: Sequence[Router],
        operator: ShardOperator[Any],
        stacklevel: int,
    ) -> DataFrame:
        """What the shards send, in the columns of `wire.SENT`, for the rows of each stream and the
        routers of these. A checkpoint knows its sources by their order."""
        streaming = rows[0].isStreaming
        fixed, now = (None, None) if streaming else (self.version, micros_now())
        if streaming:
            rows = self._with_batch_marks(rows, stacklevel + 1)
        routed = [
            of.mapInArrow(RouteTask(self.ref, fixed, now, router), router.ddl)
            for of, router in zip(rows, routers, strict=True)
        ]
        task = ShardTask(self.ref, self.shards, fixed, self.folder, operator)
        grouped = by_shard(reduce(DataFrame.union, routed), self.shards)
        if streaming:
            return grouped.applyInPandasWithState(
                task.stream_batch, SENT_DDL, STATE_DDL, "append", "NoTimeout"
            )
        # Spark counts the arguments of a method wrongly.
        return grouped.applyInArrow(lambda key, rows: task.whole_batch(key, rows), SENT_DDL)

    def _with_batch_marks(self, rows: Sequence[DataFrame], stacklevel: int) -> list[DataFrame]:
        """Streaming rows, with what their routers need to know of a batch: new versions start one,
        and without a catalog to pin a clock in Spark's own time is taken."""
        if self.ref.uri is None:
            return [with_time(of) for of in rows]
        return [with_versions(rows[0], self.ref, self.version, stacklevel + 1), *rows[1:]]


def unpacked_rows(
    sent: DataFrame, observed: Observed, columns: pa.Schema, schema: st.StructType
) -> DataFrame:
    """The rows of the result from what the shards send; the counters are observed on the way.
    `columns` and `schema` are the same columns in Arrow's and in Spark's types."""
    counted = observed.over(sent).select("packed")
    return with_counters(counted.mapInArrow(UnpackTask(columns), schema))


# --- shards and partitions


def checked_shards(shards: int | None, spark: SparkSession) -> int:
    """The number of shards: the user's own, or as many as Spark's shuffle partitions."""
    if shards is None:
        return int(spark.conf.get(PARTITIONS) or 1)
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MAX_SHARDS:
        raise InvalidQuery(f"shards must be a whole number from 1 to {MAX_SHARDS}, not {shards!r}")
    return shards


def by_shard(routed: DataFrame, shards: int) -> GroupedData:
    """The groups of the shuffle: each shard in a partition of its own.

    In a batch this holds whatever the session says. The operator of a stream has a state, so Spark
    gives it as many partitions as the session has when the query starts, and keeps the number in
    the checkpoint: a session that would add empty tasks to every batch is refused.
    """
    if not routed.isStreaming:
        return routed.repartition(shards, "shard").groupBy("shard")
    spark = routed.sparkSession
    partitions, context = checked_shards(None, spark), spark.sparkContext
    # On one machine as many tasks as cores run beside each other: an empty one delays nobody.
    beside = context.defaultParallelism if context.master.startswith("local") else 0
    if partitions > max(shards, beside):
        raise EngineError(
            f"each batch would run {partitions} tasks for {shards} shards, because the session has"
            f' {PARTITIONS} = {partitions}: say spark.conf.set("{PARTITIONS}", {shards}) before'
            " you start the query; wl.session(shards=…) and watchline run do that"
        )
    return routed.groupBy("shard")


@contextmanager
def partitions_for(spark: SparkSession, shards: int) -> Iterator[None]:
    """A session with as many shuffle partitions as shards. A query that is started meanwhile keeps
    the number; the session has its own again afterwards."""
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, shards)
    try:
        yield
    finally:
        spark.conf.set(PARTITIONS, before)


def check_alone(df: DataFrame) -> None:
    """Spark allows one such operator in a streaming query, and would say so at its start only."""
    if df.isStreaming and "FlatMapGroupsInPandasWithState" in df._jdf.queryExecution().toString():
        raise EngineError(
            "a streaming query can have one wl.changes or wl.joins: write the first one's result to"
            " a table or topic, and start a second query from there"
        )


def state_folder(folder: str | PathLike[str] | None) -> str | None:
    """The user's folder for large states, as workers find it: they may have another working
    folder."""
    if folder is None:
        return None
    if not isinstance(folder, (str, PathLike)):
        raise InvalidQuery(f"state is a folder, not {folder!r}")
    return fspath(folder) if "://" in fspath(folder) else os.path.abspath(folder)


# --- what a router needs to know of a micro-batch


def with_versions(rows: DataFrame, ref: CatalogRef, version: int, stacklevel: int) -> DataFrame:
    """The rows, and one more for each new version of the catalog: it starts a batch.

    On a PySpark that cannot do this a new version waits for the next rows.
    """
    marked = rows.withColumn(WAKE, fn.lit(None).cast("long"))
    if not can_wake():
        warnings.warn(_WAITS, WatchlineWarning, stacklevel=stacklevel + 1)
        return marked
    from watchline.spark.version_source import VersionSource

    spark = rows.sparkSession
    spark.dataSource.register(VersionSource)
    reader = spark.readStream.format(VersionSource.name())
    # Spark shows no option of this name: there may be credentials in it.
    options = {"secret": json.dumps(ref.as_json()), "version": str(version)}
    versions = reader.options(**options).load()
    nothing = [fn.lit(None).cast(f.dataType).alias(f.name) for f in rows.schema.fields]
    # The data come first: Spark asks the first source of a union for its limits.
    return marked.union(versions.select(*nothing, fn.col("version").alias(WAKE)))


def with_time(rows: DataFrame) -> DataFrame:
    """The rows with Spark's time of their micro-batch: the same when the batch is run again."""
    return rows.withColumn(NOW, fn.current_timestamp())
