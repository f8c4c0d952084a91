"""What `wl.matches`, `wl.changes` and `wl.joins` do alike on the driver.

Catalogs and DataFrames that users give are checked; new versions of a catalog start batches.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath

from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as st
from pyspark.version import __version__

from watchline.catalog import Catalog
from watchline.config import MAX_SHARDS
from watchline.errors import EngineError, InvalidQuery, SchemaMismatch, WatchlineWarning
from watchline.evaluate import check_columns
from watchline.model import Attribute, Stream, Type
from watchline.spark.place import CatalogRef
from watchline.spark.routing import NOW, WAKE
from watchline.spark.supported import can_wake

_INTEGERS = (st.ByteType, st.ShortType, st.IntegerType)
_FITS: dict[Type, tuple[type[st.DataType], ...]] = {
    Type.DOUBLE: (st.DoubleType, st.FloatType, *_INTEGERS),
    Type.BIGINT: (st.LongType, *_INTEGERS),
    Type.STRING: (st.StringType,),
    Type.BOOLEAN: (st.BooleanType,),
    Type.TIMESTAMP: (st.TimestampType, st.TimestampNTZType),
}
SPARK: dict[Type, st.DataType] = {
    Type.DOUBLE: st.DoubleType(),
    Type.BIGINT: st.LongType(),
    Type.STRING: st.StringType(),
    Type.BOOLEAN: st.BooleanType(),
    Type.TIMESTAMP: st.TimestampType(),
}
PARTITIONS = "spark.sql.shuffle.partitions"
_WAITS = (
    f"PySpark {__version__} cannot start a batch when the catalog changes: a query that is"
    " registered or dropped takes effect with the next rows. PySpark 4.2 or newer does not wait"
)


def check_frame(df: object) -> None:
    if not isinstance(df, DataFrame):
        raise SchemaMismatch(f"rows come as a Spark DataFrame, not as {type(df).__name__}")


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
def partitions(spark: SparkSession, shards: int) -> Iterator[None]:
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


def with_versions(rows: DataFrame, ref: CatalogRef, version: int) -> DataFrame:
    """The rows, and one more for each new version of the catalog: it starts a batch.

    On a PySpark that cannot do this a new version waits for the next rows.
    """
    marked = rows.withColumn(WAKE, fn.lit(None).cast("long"))
    if not can_wake():
        warnings.warn(_WAITS, WatchlineWarning, stacklevel=4)
        return marked
    from watchline.spark.versions import VersionSource

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


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def absolute(folder: str | PathLike[str]) -> str:
    if not isinstance(folder, (str, PathLike)):
        raise InvalidQuery(f"state is a folder, not {folder!r}")
    return fspath(folder) if "://" in fspath(folder) else os.path.abspath(folder)


def reference(catalog: Catalog) -> CatalogRef:
    """How workers find the catalog."""
    if catalog.uri is None:
        return CatalogRef(statements=catalog.statements())
    # Workers may have another working folder.
    uri = catalog.uri if catalog.folder is None else absolute(catalog.folder)
    options = tuple(sorted((catalog.storage_options or {}).items()))
    return CatalogRef(uri, catalog.id, options)


def check_schema(
    schema: st.StructType, stream: Stream, own: tuple[str, ...] = ("query_id",)
) -> None:
    """Refuse a DataFrame that is not the declared stream, naming all that is wrong."""
    types = {f.name: f.dataType for f in schema.fields}

    def misfit(attribute: Attribute) -> str | None:
        found = types[attribute.name]
        return None if isinstance(found, _FITS[attribute.type]) else found.simpleString()

    check_columns("the DataFrame does", schema.names, misfit, stream, own)
