"""`wl.matches` and `wl.changes`: the driver's side.

The driver checks the DataFrame against the declared stream and chooses the columns. For matches the
rows meet the queries in `worker.MatchTask`, without a shuffle. For changes they go through a
router, a shuffle by shard, and the shards' trackers: `routing.RouteTask`, `shard.ShardTask`. Where
objects have points a second shuffle by query and `merging.MergeTask` follow. Batch and streaming
DataFrames take the same way, but for who calls the tracker.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as st

from watchline.catalog import Queries
from watchline.errors import InvalidQuery
from watchline.model import Emit, Keep, Stream
from watchline.spark.frames import (
    SPARK,
    CatalogLike,
    absolute,
    check_alone,
    check_frame,
    check_schema,
    checked_shards,
    opened_catalog,
    quoted,
    reference,
    with_versions,
)
from watchline.spark.merging import MergeTask
from watchline.spark.routing import ROUTED_DDL, WAKE, RouteTask
from watchline.spark.shard import COUNTERS, COUNTS, GAUGES, LEAST, SENT_DDL, ShardTask, UnpackTask
from watchline.spark.state import STATE_DDL
from watchline.spark.worker import MatchTask
from watchline.tracking import change_schema

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from watchline.tracking.tracker import Keeping

_COUNTS = st.StructField(COUNTS, st.ArrayType(st.DoubleType()))


def matches(df: DataFrame, catalog: CatalogLike, stream: str) -> DataFrame:
    """The matches of a batch or streaming DataFrame: `query_id`, and the row's own columns.

    `catalog` is a Catalog, its path, or a list of SQL statements. Where all queries select the same
    attributes only those columns come out. A streaming result follows the catalog: each micro-batch
    uses the newest version when it first runs, and the same one if it is ever run again.
    """
    check_frame(df)
    opened = opened_catalog(catalog)
    ref = reference(opened)
    version = opened.version
    declared = opened.stream(stream, version)
    check_schema(df.schema, declared)
    columns = selected(opened.queries(version), declared, df.columns)
    task = MatchTask(ref, stream, columns, None if df.isStreaming else version)
    schema = st.StructType(
        [st.StructField("query_id", st.StringType()), *(df.schema[name] for name in columns)]
    )
    return df.mapInArrow(task, schema)


def changes(
    df: DataFrame,
    catalog: CatalogLike,
    stream: str,
    shards: int | None = None,
    state: str | PathLike[str] | None = None,
    **keep: Unpack[Keeping],
) -> DataFrame:
    """What enters (`sign` 1) and leaves (-1) the answers of the EMIT CHANGES queries.

    `query_id, sign, object_id, time, reason` and the declared attributes of the object's latest
    row. `shards` is the number of parts that objects are dealt to, Spark's shuffle partitions if
    not given; a checkpoint keeps its number. Large states are files in the folder `state`, which
    all workers must reach; it is beside the catalog if not given. Counters of each micro-batch are
    in `query.lastProgress["observedMetrics"]["watchline"]`. Which objects are kept is as the stream
    declares it, unless `retain`, `cache`, `max_objects`, `max_bytes` or `shed` say otherwise.

    A streaming result follows the catalog: a new version starts a batch of its own if no rows do.
    """
    check_frame(df)
    opened = opened_catalog(catalog)
    ref = reference(opened)
    version = opened.version
    declared = opened.stream(stream, version)
    check_schema(df.schema, declared, own=())
    kept = Keep.from_arguments(keep, "wl.changes")
    kept.of(declared)
    schema = spark_schema(declared)
    spark = df.sparkSession
    shards = checked_shards(shards, spark)
    check_alone(df)
    rows = df.select(*(fn.col(quoted(a.name)) for a in declared.attributes))
    fixed = None if df.isStreaming else version
    if df.isStreaming and ref.uri is not None:
        rows = with_versions(rows, ref, version)
    routed = rows.mapInArrow(RouteTask(ref, stream, shards, fixed), ROUTED_DDL)
    folder = None if state is None else absolute(state)
    # Only where there are points can there be nearest neighbours, and in one shard they are known.
    merged = shards > 1 and declared.point is not None
    task = ShardTask(ref, stream, shards, fixed, folder, merged, kept)
    grouped = routed.groupBy("shard")
    if df.isStreaming:
        packed = grouped.applyInPandasWithState(
            task.stream_batch, SENT_DDL, STATE_DDL, "append", "NoTimeout"
        )
    else:
        # Spark counts the arguments of a method wrongly.
        packed = grouped.applyInArrow(lambda key, rows: task.whole_batch(key, rows), SENT_DDL)
    counted = df.isStreaming  # A batch may have several such operators, with counters of one name.
    columns = change_schema(declared)
    if not merged:
        return (_observed(packed) if counted else packed).mapInArrow(UnpackTask(columns), schema)
    told = st.StructType([*schema.fields, *([_COUNTS] if counted else [])])
    found = _by_target(packed, shards).mapInArrow(MergeTask(columns, counted), told)
    return _observed(found).where(fn.col(COUNTS).isNull()).drop(COUNTS) if counted else found


def _by_target(packed: DataFrame, shards: int) -> DataFrame:
    """Each target in a partition of its own."""
    # The cast is there to have a projection: Spark cannot shuffle rows as its operator leaves them.
    keyed = packed.withColumn("target", fn.col("target").cast("int"))
    return keyed.repartition(shards, "target")


def _observed(counted: DataFrame) -> DataFrame:
    names = (*COUNTERS, *GAUGES)
    sums = [fn.sum(fn.get(COUNTS, fn.lit(i)).cast("long")).alias(n) for i, n in enumerate(names)]
    least = [fn.min(fn.get(COUNTS, fn.lit(len(names) + i))).alias(n) for i, n in enumerate(LEAST)]
    return counted.observe("watchline", *sums, *least)


def spark_schema(stream: Stream) -> st.StructType:
    """The columns of a change in Spark's types."""
    change_schema(stream)
    for attribute in stream.attributes:
        if attribute.name in (WAKE, COUNTS):
            raise InvalidQuery(
                f"attribute {attribute.name!r} of stream {stream.name!r} is in the way of our own"
                " column: declare it by another name"
            )
    of = {a.name: SPARK[a.type] for a in stream.attributes}
    own = {
        "query_id": st.StringType(),
        "sign": st.ByteType(),
        "object_id": of[stream.object],
        "time": st.TimestampType(),
        "reason": st.StringType(),
    }
    return st.StructType([st.StructField(name, kind) for name, kind in {**own, **of}.items()])


def selected(queries: Queries, stream: Stream, columns: list[str]) -> tuple[str, ...]:
    """The columns that come out: those all queries select, or else the whole row."""
    lists = {
        None if e.query.select is None else tuple(a.name for a in e.query.select)
        for e in queries.on(stream.name).entries.values()
        if e.query.emit is Emit.MATCHES and not e.query.is_join
    }
    boxes = any(b.stream == stream.name and b.emit is Emit.MATCHES for b in queries.blocks)
    agreed = lists.pop() if len(lists) == 1 and not boxes else None
    return tuple(columns) if agreed is None else tuple(dict.fromkeys(agreed))
