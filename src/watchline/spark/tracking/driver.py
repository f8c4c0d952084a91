"""`wl.matches` and `wl.changes`: the driver's side.

The driver checks the DataFrame against the declared stream and chooses the columns. For matches the
rows meet the queries in `worker.MatchTask`, without a shuffle. For changes they go through a
router, a shuffle by shard, and the shards' trackers: `routing.RouteTask`, `shard.ShardTask`. Where
objects have points a second shuffle by query and `merging.MergeTask` follow. Batch and streaming
DataFrames take the same way, but for who calls the tracker. Counters travel beside the rows, and
are observed at the end of the way (`observing.py`).
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as st

from watchline.catalog import (
    Call,
    Catalog,
    CatalogLike,
    agreed,
    opened_catalog,
    warn_unanswered,
)
from watchline.clock import micros_now
from watchline.errors import InvalidQuery
from watchline.model import Emit, Keep, Stream
from watchline.spark.counting import COUNTS
from watchline.spark.frames import (
    SPARK,
    absolute,
    by_shard,
    check_alone,
    check_frame,
    check_schema,
    checked_shards,
    quoted,
    reference,
    with_time,
    with_versions,
)
from watchline.spark.merging import MergeTask
from watchline.spark.observing import NAME, Kinds, Observed, with_counters
from watchline.spark.routing import NOW, ROUTED_DDL, WAKE, RouteTask
from watchline.spark.shard import COUNTERS, GAUGES, LEAST, SAME, SENT_DDL, ShardTask, UnpackTask
from watchline.spark.state import STATE_DDL
from watchline.spark.worker import MatchTask
from watchline.tracking import change_schema
from watchline.tracking.changes import OWN

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from watchline.tracking.tracker import Keeping

_COUNTS = st.StructField(COUNTS, st.StringType())
_OF_MATCHES = Kinds(sums=("rows",), most=("unanswered",))
_OF_CHANGES = Kinds((*COUNTERS, *GAUGES), SAME, LEAST, by_reason=True)


def matches(df: DataFrame, catalog: CatalogLike, stream: str, *, counters: str = NAME) -> DataFrame:
    """The matches of a batch or streaming DataFrame: `query_id`, and the row's own columns.

    `catalog` is a Catalog, its path, or a list of SQL statements. Where all queries select the same
    attributes only those columns come out. A streaming result follows the catalog: each micro-batch
    uses the newest version when it first runs, and the same one if it is ever run again.

    Counters of each micro-batch are in `query.lastProgress["observedMetrics"]["watchline"]`; where
    a streaming query has several results in it, `counters` gives each another name. Those of a
    batch result are what `wl.counters` gives.
    """
    return matches_of(df, opened_catalog(catalog), stream, counters, stacklevel=3)


def matches_of(
    df: DataFrame,
    catalog: Catalog,
    stream: str,
    counters: str = NAME,
    every: bool = False,
    stacklevel: int = 2,
) -> DataFrame:
    """As `matches`; with `every` all columns come out, whatever queries select."""
    check_frame(df)
    ref = reference(catalog)
    version = catalog.version
    declared = catalog.stream(stream, version)
    check_schema(df.schema, declared, own=("query_id", COUNTS))
    queries, call = catalog.queries(version), Call.of(Emit.MATCHES, stream)
    missed = warn_unanswered(queries, call, "wl.matches", stacklevel)
    chosen = None if every else agreed(queries, call, "wl.matches", stacklevel)
    columns = tuple(df.columns) if chosen is None else chosen
    task = MatchTask(ref, stream, columns, None if df.isStreaming else version)
    # Rows that have nothing but counters have NULL in all other columns.
    of_rows = [
        st.StructField(name, df.schema[name].dataType, metadata=df.schema[name].metadata)
        for name in columns
    ]
    schema = st.StructType([st.StructField("query_id", st.StringType()), *of_rows, _COUNTS])
    found = Observed(_OF_MATCHES, {"unanswered": missed}, counters).over(
        df.mapInArrow(task, schema), fn.count_if(fn.col(COUNTS).isNull()).alias("matches")
    )
    return with_counters(_without_counters(found))


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
    row; where all queries select the same attributes, only those. `shards` is the number of parts
    that objects are dealt to, Spark's shuffle partitions if not given; a checkpoint keeps its
    number. Large states are files in the folder `state`, which all workers must reach; it is beside
    the catalog if not given. Counters of each micro-batch are in
    `query.lastProgress["observedMetrics"]["watchline"]`; those of a batch result are what
    `wl.counters` gives. Which objects are kept is as the stream declares it, unless `retain`,
    `cache`, `max_objects`, `max_bytes` or `shed` say otherwise.

    A streaming result follows the catalog: a new version starts a batch of its own if no rows do.
    """
    opened = opened_catalog(catalog)
    kept = Keep.from_arguments(keep, "wl.changes", "shards", "state")
    return changes_of(df, opened, stream, shards, state, kept, stacklevel=3)


def changes_of(
    df: DataFrame,
    catalog: Catalog,
    stream: str,
    shards: int | None,
    state: str | PathLike[str] | None,
    keep: Keep,
    every: bool = False,
    stacklevel: int = 2,
) -> DataFrame:
    """As `changes`; with `every` all attributes come out, whatever queries select."""
    check_frame(df)
    ref = reference(catalog)
    version = catalog.version
    declared = catalog.stream(stream, version)
    check_schema(df.schema, declared, own=())
    keep.of(declared)
    schema = spark_schema(declared)
    shards = checked_shards(shards, df.sparkSession)
    check_alone(df)
    queries, call = catalog.queries(version), Call.of(Emit.CHANGES, stream)
    missed = warn_unanswered(queries, call, "wl.changes", stacklevel)
    chosen = None if every else agreed(queries, call, "wl.changes", stacklevel)
    rows = df.select(*(fn.col(quoted(a.name)) for a in declared.attributes))
    fixed = None if df.isStreaming else version
    now = None if df.isStreaming else micros_now()
    if df.isStreaming:
        rows = with_versions(rows, ref, version) if ref.uri is not None else with_time(rows)
    routed = rows.mapInArrow(RouteTask(ref, stream, shards, fixed, now), ROUTED_DDL)
    folder = None if state is None else absolute(state)
    # Only where there are points can there be nearest neighbours, and in one shard they are known.
    merged = shards > 1 and declared.point is not None
    task = ShardTask(ref, stream, shards, fixed, folder, merged, keep)
    grouped = by_shard(routed, shards)
    if df.isStreaming:
        packed = grouped.applyInPandasWithState(
            task.stream_batch, SENT_DDL, STATE_DDL, "append", "NoTimeout"
        )
    else:
        # Spark counts the arguments of a method wrongly.
        packed = grouped.applyInArrow(lambda key, rows: task.whole_batch(key, rows), SENT_DDL)
    columns = change_schema(declared)
    if chosen is not None:
        names = (*OWN, *chosen)
        columns = pa.schema([columns.field(name) for name in names])
        schema = st.StructType([schema[name] for name in names])
    counted = Observed(_OF_CHANGES, {"unanswered": missed}, tasks=shards)
    if not merged:
        unpacked = counted.over(packed).select("packed").mapInArrow(UnpackTask(columns), schema)
        return with_counters(unpacked)
    with_counts = st.StructType([*schema.fields, _COUNTS])
    found = _by_target(packed, shards).mapInArrow(MergeTask(columns), with_counts)
    return with_counters(_without_counters(counted.over(found)))


def _without_counters(found: DataFrame) -> DataFrame:
    """The rows of the result alone."""
    return found.where(fn.col(COUNTS).isNull()).drop(COUNTS)


def _by_target(packed: DataFrame, shards: int) -> DataFrame:
    """Each target in a partition of its own."""
    # The cast is there to have a projection: Spark cannot shuffle rows as its operator leaves them.
    keyed = packed.withColumn("target", fn.col("target").cast("int"))
    return keyed.repartition(shards, "target")


def spark_schema(stream: Stream) -> st.StructType:
    """The columns of a change in Spark's types."""
    change_schema(stream)
    for attribute in stream.attributes:
        if attribute.name in (WAKE, NOW, COUNTS):
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
