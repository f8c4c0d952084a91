"""`wl.matches` on Spark: the driver's plan, and the task that meets rows with queries.

Matches have no state, so there is no shuffle: rows meet the queries where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
from watchline.kernels.threads import one_thread
from watchline.matching import bare, match_table
from watchline.model import Emit
from watchline.spark.batch_counters import COUNTS, COUNTS_TYPE, as_json, counters_alone
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.frame_checks import check_frame, check_schema
from watchline.spark.observing import (
    COUNTS_FIELD,
    NAME,
    CounterKinds,
    Observed,
    with_counters,
    without_counts,
)
from watchline.spark.worker import batch_version, matcher_of

_COUNTERS = CounterKinds(sums=("rows",), most=("unanswered",))
# Rows per output batch: large enough for Arrow, small enough for a worker's memory.
MAX_ROWS = 1_000_000


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
    ref = CatalogRef.of(catalog)
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
    schema = st.StructType([st.StructField("query_id", st.StringType()), *of_rows, COUNTS_FIELD])
    found = Observed(_COUNTERS, {"unanswered": missed}, counters).over(
        df.mapInArrow(task, schema), fn.count_if(fn.col(COUNTS).isNull()).alias("matches")
    )
    return with_counters(without_counts(found))


@dataclass(frozen=True)
class MatchTask:
    """The function that `mapInArrow` runs: rows in, `query_id` and the chosen columns out, and at
    the end one row that has nothing but counters.

    `version` is None for a stream, whose micro-batches each have their own.
    """

    ref: CatalogRef
    stream: str
    columns: tuple[str, ...]
    version: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = matcher_of(self.ref, self.stream, batch_version(self.ref, self.version))
        seen, schema = 0, None
        for batch in batches:
            seen += batch.num_rows
            if schema is None:
                of_rows = [batch.schema.field(name) for name in self.columns]
                schema = pa.schema([("query_id", pa.string()), *of_rows])
                if self.version is not None:
                    # `wl.counters` must know whether all tasks of a batch came to their end.
                    yield counters_alone(pa.array([as_json({})], COUNTS_TYPE), schema)
            with one_thread():
                pairs = matcher.match(batch)
            plain = bare(batch)
            for start in range(0, len(pairs), MAX_ROWS):
                piece = match_table(pairs.slice(start, MAX_ROWS), plain, self.columns)
                uncounted = pa.nulls(piece.num_rows, COUNTS_TYPE)
                yield from piece.append_column(COUNTS, uncounted).to_batches()
        if schema is not None:
            counts = as_json({"rows": seen, "unanswered": matcher.unanswered})
            yield counters_alone(pa.array([counts], COUNTS_TYPE), schema)
