"""What may follow `wl.changes` in a pipeline: `+` and `-` pass alike, and lead to the answers.

What Spark 4.3 allows after it in a streaming query, with any number of shards:

- what looks at one row (select, where, a join with a static table) in append mode;
- an aggregation in update and complete mode, so that sums of signs are continuous counts. In append
  mode Spark asks for a watermark, and tells only of windows that are over;
- without an aggregation no other mode than append;
- anything at all in `foreachBatch`, where a micro-batch is a static DataFrame.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

import watchline as wl
from tests.support.ledgers import QUERIES, SECOND, Asked, Told, fleet, moving, replayed, same, told
from tests.support.streaming import Stream, batch, catalog_at, oracle, wanted
from watchline.catalog import Catalog

pytestmark = pytest.mark.spark

TIMEOUT = 20 * SECOND
EVERY = [*QUERIES, *moving()]
CUTS = [80, 81, 200]
ROWS = fleet(300, seed=31)
# What users have among their favourites: many of one, one of many, and one that is unknown.
FAVOURITES = [("Ann", "near"), ("Ann", "box"), ("Bob", "near"), ("Cy", "convoy"), ("Di", "none")]


@pytest.fixture
def catalog(stream: Stream) -> Catalog:
    """Queries of every kind, and a stream of four files."""
    stream.cut(ROWS, CUTS)
    return catalog_at(stream.folder / "catalog", "BIGINT", TIMEOUT, EVERY)


def steps(queries: list[Asked] = EVERY) -> list[tuple[list[Told], dict[str, set[Any]]]]:
    """The changes of each file, and the answers after it."""
    ledger, made = oracle("BIGINT", TIMEOUT, queries), []
    for start, end in zip([0, *CUTS], [*CUTS, len(ROWS)], strict=True):
        changes = wanted(ledger.process(ROWS[start:end]))
        made.append((changes, {name: set(who) for name, who in ledger.answers.items() if who}))
    return made


def each_batch(stream: Stream, df: DataFrame, mode: str, then: Any) -> None:
    """Do this with every micro-batch and its number."""
    writer = df.writeStream.outputMode(mode).foreachBatch(then)
    writer = writer.option("checkpointLocation", str(stream.folder / mode))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination(180)
    assert not query.isActive


def test_a_join_with_a_table_of_favourites(stream: Stream, catalog: Catalog) -> None:
    """Each user gets what enters and leaves their favourites; batch and stream."""
    favourites = stream.spark.createDataFrame(FAVOURITES, "who string, query_id string")

    def joined(df: DataFrame) -> DataFrame:
        changes = wl.changes(df, catalog, "cars", 2).select("query_id", "sign", "object_id")
        return changes.join(fn.broadcast(favourites), "query_id")

    right = Counter(
        (who, query, sign, name)
        for changes, _ in steps()
        for query, sign, name, *_ in changes
        for who, favourite in FAVOURITES
        if favourite == query
    )
    assert {sign for _, _, sign, _ in right} == {1, -1}
    assert {who for who, *_ in right} == {"Ann", "Bob", "Cy"}
    stream.run(joined(stream.rows(1)))
    static = joined(batch(stream.spark, ROWS, "BIGINT")).toArrow()
    for table in (stream.table(), static):
        rows = table.select(["who", "query_id", "sign", "object_id"]).to_pylist()
        assert Counter(tuple(row.values()) for row in rows) == right


def test_a_continuous_count_of_each_query(stream: Stream, catalog: Catalog) -> None:
    """In update mode Spark tells the new counts of those queries that changed."""
    counts = wl.changes(stream.rows(1), catalog, "cars", 2).groupBy("query_id")
    counts = counts.agg(fn.sum("sign").alias("size"))
    sizes: dict[str, int] = {}
    seen = []

    def update(changed: DataFrame, _: int) -> None:
        sizes.update({row["query_id"]: row["size"] for row in changed.collect()})
        seen.append({name: size for name, size in sizes.items() if size})

    each_batch(stream, counts, "update", update)
    assert seen == [{name: len(who) for name, who in answers.items()} for _, answers in steps()]


def test_who_is_in_some_answer_of_all(stream: Stream, catalog: Catalog) -> None:
    """In complete mode: the sums of the signs of each object, as far as there is something left."""
    changes = wl.changes(stream.rows(1), catalog, "cars", 2)
    distinct = changes.groupBy("object_id").agg(fn.sum("sign").alias("answers"))
    seen = []

    def note(rows: DataFrame, _: int) -> None:
        seen.append({row["object_id"]: row["answers"] for row in rows.collect()})

    each_batch(stream, distinct.where("answers > 0"), "complete", note)
    assert seen == [Counter(o for who in answers.values() for o in who) for _, answers in steps()]
    # The same of a batch, for each query: what is left of its signs is its answer.
    static = wl.changes(batch(stream.spark, ROWS, "BIGINT"), catalog, "cars", 7)
    members = static.groupBy("query_id", "object_id").agg(fn.sum("sign").alias("n")).collect()
    assert {row["n"] for row in members} == {0, 1}
    left: dict[str, set[Any]] = {}
    for row in members:
        if row["n"]:
            left.setdefault(row["query_id"], set()).add(row["object_id"])
    assert left == steps()[-1][1]


def test_the_output_is_split_by_query(stream: Stream, catalog: Catalog, tmp_path: Path) -> None:
    """A folder for each batch, which a batch that is run again overwrites, and in it one for each
    query: its own ledger is in its own files."""
    out = tmp_path / "split"

    def write(changes: DataFrame, number: int) -> None:
        parted = changes.write.mode("overwrite").partitionBy("query_id")
        parted.parquet(str(out / f"batch={number}"))

    each_batch(stream, wl.changes(stream.rows(1), catalog, "cars", 2), "append", write)
    right = [c for changes, _ in steps() for c in changes]
    for name in ("near", "centre", "convoy", "box"):
        files = sorted(out.glob(f"batch=*/query_id={name}/*.parquet"))
        tables = [ds.dataset(file, format="parquet").to_table() for file in files]
        found = [c for table in tables for c in told(_named(table, name))]
        same(found, [c for c in right if c[0] == name])
        assert replayed(found) == {k: v for k, v in steps()[-1][1].items() if k == name}


def _named(table: Any, query_id: str) -> Any:
    """With the column that stands in the name of the folder."""

    return table.add_column(0, "query_id", pa.array([query_id] * table.num_rows, pa.string()))


def test_modes_that_spark_refuses(stream: Stream, catalog: Catalog) -> None:
    changes = wl.changes(stream.rows(1), catalog, "cars", 2)
    counts = changes.groupBy("query_id").agg(fn.sum("sign"))
    for df, mode in ((changes, "update"), (changes, "complete"), (counts, "append")):
        with pytest.raises(AnalysisException, match="not supported"):
            each_batch(stream, df, mode, lambda rows, number: None)
