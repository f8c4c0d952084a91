"""`wl.changes`: the driver's side.

The driver checks the DataFrame against the declared stream and chooses the columns; `ShardJob` has
the plan from the router to the shards' trackers. Where objects have points a second shuffle, by
query, and `MergeTask` follow.
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
from watchline.errors import InvalidQuery
from watchline.model import Emit, Keep, Stream
from watchline.rows import OWN, change_schema, shown_names
from watchline.spark.batch_counters import COUNTS
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.frame_checks import SPARK, check_frame, check_schema, quoted
from watchline.spark.observing import (
    COUNTS_FIELD,
    CounterKinds,
    Observed,
    with_counters,
    without_counts,
)
from watchline.spark.routing import NOW, WAKE
from watchline.spark.shard_job import (
    ShardJob,
    check_alone,
    checked_shards,
    state_folder,
    unpacked_rows,
)
from watchline.spark.tracking.merge import MergeTask
from watchline.spark.tracking.merge_state import MergeMemory
from watchline.spark.tracking.route import ChangeRouter
from watchline.spark.tracking.shard import COUNTERS, GAUGES, LEAST, SAME, ChangeOperator

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from watchline.tracking import Keeping

_COUNTERS = CounterKinds((*COUNTERS, *GAUGES), SAME, LEAST, by_reason=True)


def changes(
    df: DataFrame,
    catalog: CatalogLike,
    stream: str,
    shards: int | None = None,
    state: str | PathLike[str] | None = None,
    **keep: Unpack[Keeping],
) -> DataFrame:
    """What enters (`sign` 1) and leaves (-1) the answers of the EMIT CHANGES queries.

    `query_id, sign, object_id, time, reason, distance` and the declared attributes of the object's
    latest row; where all queries select the same attributes, only those. `distance` is that of the
    object from kNN's centre, else from the centre of the only circle, else NULL. An attribute with
    the name of one of these columns comes out as `<stream>_<name>`. `shards` is the number of parts
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
    ref, version = CatalogRef.of(catalog), catalog.version
    declared = catalog.stream(stream, version)
    check_schema(df.schema, declared, own=())
    keep.of(declared)
    schema, columns = spark_schema(declared), change_schema(declared)
    shards = checked_shards(shards, df.sparkSession)
    check_alone(df)
    queries, call = catalog.queries(version), Call.of(Emit.CHANGES, stream)
    missed = warn_unanswered(queries, call, "wl.changes", stacklevel)
    chosen = None if every else agreed(queries, call, "wl.changes", stacklevel)
    if chosen is not None:
        shown = shown_names(declared)
        names = (*OWN, *(shown[name] for name in chosen))
        columns = pa.schema([columns.field(name) for name in names])
        schema = st.StructType([schema[name] for name in names])
    rows = df.select(*(fn.col(quoted(a.name)) for a in declared.attributes))
    # Only where there are points can there be nearest neighbours, and in one shard they are known.
    merged = shards > 1 and declared.point is not None
    folder = state_folder(state)
    memory = MergeMemory.of(ref, shards, folder) if merged and df.isStreaming else None
    job = ShardJob(ref, version, shards, folder)
    router = ChangeRouter(ref, stream, shards)
    operator = ChangeOperator(ref, stream, merged, memory is not None, keep)
    sent = job.sent([rows], [router], operator, stacklevel)
    observed = Observed(_COUNTERS, {"unanswered": missed}, tasks=shards)
    if not merged:
        return unpacked_rows(sent, observed, columns, schema)
    with_counts = st.StructType([*schema.fields, COUNTS_FIELD])
    changed = _by_target(sent, shards).mapInArrow(MergeTask(columns, shards, memory), with_counts)
    return with_counters(without_counts(observed.over(changed)))


def _by_target(sent: DataFrame, shards: int) -> DataFrame:
    """Parcels by their target, each in a partition of its own."""
    # The cast is there to have a projection: Spark cannot shuffle rows as its operator leaves them.
    keyed = sent.withColumn("target", fn.col("target").cast("int"))
    return keyed.repartition(shards, "target")


def spark_schema(stream: Stream) -> st.StructType:
    """The columns of a change in Spark's types."""
    shown = shown_names(stream)
    for attribute in stream.attributes:
        if attribute.name in (WAKE, NOW, COUNTS):
            raise InvalidQuery(
                f"attribute {attribute.name!r} of stream {stream.name!r} is in the way of our own"
                " column: declare it by another name"
            )
    of = {shown[a.name]: SPARK[a.type] for a in stream.attributes}
    own = {
        "query_id": st.StringType(),
        "sign": st.ByteType(),
        "object_id": of[shown[stream.object]],
        "time": st.TimestampType(),
        "reason": st.StringType(),
        "distance": st.DoubleType(),
    }
    return st.StructType([st.StructField(name, kind) for name, kind in {**own, **of}.items()])
