"""`wl.joins`: the driver's side.

Every stream's DataFrame is checked against its declaration and goes through a router of its own;
what the routers send is one stream of packed rows, which a shuffle brings to every shard's joiner:
`ShardJob` has the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as st

from watchline.catalog import Catalog, CatalogLike, agreed, opened_catalog, warn_unanswered
from watchline.errors import EngineError, InvalidQuery, SchemaMismatch
from watchline.joining import Joiner, columns_of
from watchline.model import Stream, Type
from watchline.rows import ARROW, TIME
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.frame_checks import SPARK, check_frame, check_schema, quoted
from watchline.spark.joining.route import JoinRouter
from watchline.spark.joining.shard import (
    OWN_COUNTERS,
    OWN_GAUGES,
    SAME_COUNTERS,
    SAME_GAUGES,
    JoinOperator,
)
from watchline.spark.observing import CounterKinds, Observed
from watchline.spark.routing import NOW, WAKE
from watchline.spark.shard_job import (
    ShardJob,
    check_alone,
    checked_shards,
    state_folder,
    unpacked_rows,
)

_OF_ARROW = {ARROW[kind]: spark for kind, spark in SPARK.items()} | {TIME: SPARK[Type.TIMESTAMP]}
_COUNTERS = CounterKinds(
    (*OWN_COUNTERS, *OWN_GAUGES), (*SAME_COUNTERS, *SAME_GAUGES), by_reason=True
)


def joins(
    streams: Mapping[str, DataFrame],
    catalog: CatalogLike,
    shards: int | None = None,
    state: str | PathLike[str] | None = None,
    times: Mapping[str, int] | None = None,
) -> DataFrame:
    """What the window joins over these streams find: each combination of rows once for each query.

    `streams` has a batch or streaming DataFrame for the name of each declared stream; queries that
    read others are not answered here. Out come `query_id` and, for each stream in the order given,
    its declared attributes as `<stream>_<attribute>`; NULL where a query does not read the stream.
    If a query has a stream in FROM several times, there are columns `<stream>2_<attribute>` and so
    on, too: `times={"r": 2}` makes them for queries that are registered later. Where all queries
    select the same columns, only those come out.

    Rows count when all streams have come as far as they are. `shards` is the number of parts that
    queries are dealt to, Spark's shuffle partitions if not given; a checkpoint keeps its number.
    Large states are files in the folder `state`, which all workers must reach; it is beside the
    catalog if not given. Counters of each micro-batch are in
    `query.lastProgress["observedMetrics"]["watchline"]`; those of a batch result are what
    `wl.counters` gives.

    A streaming result follows the catalog: a new version starts a batch of its own if no rows do.
    """
    return joins_of(streams, opened_catalog(catalog), shards, state, times, stacklevel=3)


def joins_of(
    streams: Mapping[str, DataFrame],
    catalog: Catalog,
    shards: int | None,
    state: str | PathLike[str] | None,
    times: Mapping[str, int] | None,
    every: bool = False,
    stacklevel: int = 2,
) -> DataFrame:
    """As `joins`; with `every` all attributes come out, whatever queries select."""
    frames = _checked_frames(streams)
    ref, version = CatalogRef.of(catalog), catalog.version
    rows = {name: _rows(df, catalog, name, version) for name, df in frames.items()}
    wanted = _checked_times(times)
    joiner = Joiner.of_part(catalog, list(frames), version, times=wanted)
    shards = checked_shards(shards, next(iter(frames.values())).sparkSession)
    queries = catalog.queries(version)
    missed = warn_unanswered(queries, joiner.call, "wl.joins", stacklevel)
    chosen = None
    if not every:
        chosen = agreed(queries, joiner.call, "wl.joins", stacklevel, columns_of)
    schema = joiner.schema
    if chosen is not None:
        schema = pa.schema([schema.field(name) for name in ("query_id", *chosen)])
    # Always in the same order, however the user gives them: a checkpoint knows its sources by it.
    ordered = tuple(sorted(frames, key=str.encode))
    job = ShardJob(ref, version, shards, state_folder(state))
    routers = [JoinRouter(ref, name, number, shards) for number, name in enumerate(ordered)]
    operator = JoinOperator(ref, ordered, version, tuple(wanted.items()))
    sent = job.sent([rows[name] for name in ordered], routers, operator, stacklevel)
    observed = Observed(_COUNTERS, {"unanswered": missed}, tasks=shards)
    return unpacked_rows(sent, observed, schema, _spark_schema(schema))


def _spark_schema(schema: pa.Schema) -> st.StructType:
    return st.StructType([st.StructField(field.name, _OF_ARROW[field.type]) for field in schema])


# --- what users give


def _checked_frames(streams: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    if not isinstance(streams, Mapping) or not streams:
        raise InvalidQuery(
            'wl.joins takes a DataFrame for each stream by its name: {"r": df1, "s": df2},'
            f" not {'an empty dict' if isinstance(streams, Mapping) else type(streams).__name__}"
        )
    for name, df in streams.items():
        try:
            check_frame(df)
        except SchemaMismatch as error:
            raise SchemaMismatch(f"stream {name!r}: {error}") from None
        check_alone(df)
    live = [name for name, df in streams.items() if df.isStreaming]
    still = [name for name, df in streams.items() if not df.isStreaming]
    if live and still:
        raise EngineError(
            f"stream {live[0]!r} of the join is a streaming DataFrame, and {still[0]!r} is a batch:"
            " read all of them by readStream, or all by read"
        )
    return dict(streams)


def _rows(df: DataFrame, catalog: Catalog, name: str, version: int) -> DataFrame:
    declared: Stream = catalog.stream(name, version)
    check_schema(df.schema, declared, own=(WAKE, NOW))
    return df.select(*(fn.col(quoted(a.name)) for a in declared.attributes))


def _checked_times(times: Mapping[str, int] | None) -> dict[str, int]:
    if times is not None and not isinstance(times, Mapping):
        raise InvalidQuery(f'times is as in {{"r": 2}}, not {times!r}')
    return dict(times or {})
