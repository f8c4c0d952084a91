"""`wl.matches` on Spark gives what the engine gives in process, batch or stream, however cut."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import watchline as wl
from tests.matching.test_properties import Spec, expected
from tests.support.effort import examples
from tests.support.strategies import (
    DECLARATION,
    condition_sql,
    conditions,
    region_sql,
    regions,
    rows,
)
from tests.test_conditions import table
from watchline.catalog import Catalog
from watchline.errors import QuerySyntaxError
from watchline.matching import PairMatcher

pytestmark = pytest.mark.spark

TICKS = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, n BIGINT, ts TIMESTAMP)"
    " OBJECT symbol TIME ts"
)
QUERIES = [
    "CREATE QUERY cheap AS SELECT * FROM ticks WHERE symbol = 'S1' AND price < 40",
    "CREATE QUERY odd AS SELECT * FROM ticks WHERE price > 90 OR volume IS NULL OR price < 10",
    "CREATE QUERY pair AS SELECT * FROM ticks WHERE price > volume AND symbol IN ('S2', 'S3')",
    "CREATE QUERY big AS SELECT * FROM ticks WHERE n >= 9007199254740993",
    "CREATE QUERY quiet AS SELECT * FROM ticks WHERE price < 40 EMIT CHANGES",
]
SCHEMA = "symbol string, price double, volume double, n bigint, ts timestamp"


def ticks(count: int, seed: int = 0) -> pa.Table:
    draw = random.Random(seed)
    odd = [None, float("nan"), float("inf"), 40.0, -0.0]

    def number() -> float | None:
        return draw.choice(odd) if draw.random() < 0.1 else draw.uniform(0, 100)

    return pa.table(
        {
            "symbol": pa.array([draw.choice(["S1", "S2", "S3", "", None]) for _ in range(count)]),
            "price": pa.array([number() for _ in range(count)], pa.float64()),
            "volume": pa.array([number() for _ in range(count)], pa.float64()),
            "n": pa.array([2**53 + draw.randint(-2, 2) for _ in range(count)], pa.int64()),
            "ts": pa.array(range(count), pa.timestamp("us", tz="UTC")),
        }
    )


def pairs_in_process(catalog: Catalog, rows: pa.Table, version: int | None = None) -> list[Any]:
    found = PairMatcher(catalog, "ticks", version).match(rows)
    times = rows["ts"].cast(pa.int64()).to_pylist()
    return sorted((times[i], q) for i, q in zip(found.rows, found.ids.to_pylist(), strict=True))


def pairs_on_spark(df: DataFrame) -> list[Any]:
    table = df.select("ts", "query_id").toArrow()
    times = table["ts"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    return sorted(zip(times, table["query_id"].to_pylist(), strict=True))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    made = Catalog(tmp_path / "catalog")
    made.execute("; ".join([TICKS, *QUERIES]))
    made.register_boxes("ticks", ["box"], {"price": (20, 60), "symbol": "S2"}, emit="matches")
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """600 rows in six files of different sizes."""
    rows = ticks(600)
    (tmp_path / "in").mkdir()
    cuts = [0, 1, 50, 51, 300, 599, 600]
    for i, (start, end) in enumerate(pairwise(cuts)):
        pq.write_table(rows.slice(start, end - start), tmp_path / "in" / f"{i}.parquet")
    return tmp_path / "in"


@pytest.mark.parametrize("partitions", [1, 3])
def test_batch(spark: SparkSession, catalog: Catalog, folder: Path, partitions: int) -> None:
    df = spark.read.schema(SCHEMA).parquet(str(folder)).repartition(partitions)
    expected = pairs_in_process(catalog, ticks(600))
    assert len(expected) > 300
    assert pairs_on_spark(wl.matches(df, catalog, "ticks")) == expected
    assert pairs_on_spark(wl.matches(df, catalog.uri or "", "ticks")) == expected


def test_the_whole_row_comes_out(spark: SparkSession, catalog: Catalog) -> None:
    df = spark.createDataFrame(ticks(50).append_column("extra", pa.array(range(50))))
    out = wl.matches(df, catalog, "ticks")
    assert out.columns == ["query_id", *df.columns]
    rows = {row["ts"]: row for row in df.collect()}
    for row in out.collect():
        assert repr(row[1:]) == repr(tuple(rows[row["ts"]]))


@pytest.mark.parametrize("columns", ["*", "price, ts"])
def test_columns_keep_their_metadata(spark: SparkSession, columns: str) -> None:
    df = spark.createDataFrame(ticks(50)).withMetadata("price", {"unit": "EUR"})
    query = f"CREATE QUERY cheap AS SELECT {columns} FROM ticks WHERE price < 40"
    out = wl.matches(df, [TICKS, query], "ticks")
    assert {field.name: field.metadata for field in out.schema if field.metadata} == {
        "price": {"unit": "EUR"}
    }
    assert out.count() > 0


@pytest.mark.parametrize("columns", ["*", "price, ts"])
def test_a_matcher_gives_the_same_table(spark: SparkSession, columns: str) -> None:
    texts = [TICKS, *(query.replace("*", columns) for query in QUERIES)]
    rows = ticks(300)
    on_spark = wl.matches(spark.createDataFrame(rows), texts, "ticks").toArrow()
    in_process = wl.Matcher(texts, "ticks").match(rows)
    assert in_process.schema.names == on_spark.schema.names
    assert in_process.num_rows == on_spark.num_rows > 100
    assert sorted(map(repr, in_process.to_pylist())) == sorted(
        map(repr, on_spark.cast(in_process.schema).to_pylist())
    )


def test_a_list_of_statements(spark: SparkSession) -> None:
    df = spark.createDataFrame(ticks(80))
    texts = [TICKS, "CREATE QUERY a AS SELECT price, ts FROM ticks WHERE price < 40"]
    out = wl.matches(df, texts, "ticks")
    assert out.columns == ["query_id", "price", "ts"]
    assert pairs_on_spark(out) == pairs_in_process(Catalog.of(texts), ticks(80))
    assert pairs_on_spark(wl.matches(df, Catalog.of(texts), "ticks")) == pairs_on_spark(out)


def stream(spark: SparkSession, folder: Path, files: int) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files)
    return reader.parquet(str(folder))


def run(df: DataFrame, out: Path, checkpoint: Path) -> Any:
    writer = df.writeStream.format("parquet").option("path", str(out))
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination(120)
    return query


@pytest.mark.parametrize("files", [1, 4])
def test_streaming_gives_the_same_however_cut(
    spark: SparkSession, catalog: Catalog, folder: Path, tmp_path: Path, files: int
) -> None:
    run(wl.matches(stream(spark, folder, files), catalog, "ticks"), tmp_path / "o", tmp_path / "c")
    found = pairs_on_spark(spark.read.parquet(str(tmp_path / "o")))
    assert found == pairs_in_process(catalog, ticks(600))


def test_a_running_stream_follows_the_catalog(
    spark: SparkSession, catalog: Catalog, folder: Path, tmp_path: Path
) -> None:
    """Half of the rows meet one version, the other half the next; no restart between."""
    late = folder / "5.parquet"
    rows = pq.read_table(late)
    late.unlink()
    writer = wl.matches(stream(spark, folder, 10), catalog, "ticks").writeStream
    query = (
        writer.format("parquet")
        .option("path", str(tmp_path / "o"))
        .option("checkpointLocation", str(tmp_path / "c"))
        .start()
    )
    try:
        query.processAllAvailable()
        other = Catalog(catalog.uri or "")
        other.execute("DROP QUERY odd; CREATE QUERY all AS SELECT * FROM ticks WHERE n > 0")
        pq.write_table(rows, late)
        query.processAllAvailable()
    finally:
        query.stop()
    first = pairs_in_process(catalog, ticks(600).slice(0, 599), version=2)
    second = pairs_in_process(catalog, rows, version=3)
    found = pairs_on_spark(spark.read.parquet(str(tmp_path / "o")))
    assert found == sorted(first + second)
    assert "all" in [name for _, name in second]


def test_a_replayed_batch_uses_the_version_it_had(
    spark: SparkSession, catalog: Catalog, folder: Path, tmp_path: Path
) -> None:
    """The last batch is run again after its commit is lost and the catalog has moved on."""
    df = wl.matches(stream(spark, folder, 10), catalog, "ticks")
    run(df, tmp_path / "o", tmp_path / "c")
    expected = pairs_in_process(catalog, ticks(600))
    (tmp_path / "c" / "commits" / "0").unlink()
    for leftover in (tmp_path / "c" / "commits").glob(".0*"):
        leftover.unlink()
    catalog.execute("DROP QUERY cheap; CREATE QUERY all AS SELECT * FROM ticks WHERE n > 0")
    run(wl.matches(stream(spark, folder, 10), catalog, "ticks"), tmp_path / "o2", tmp_path / "c")
    assert (
        pairs_on_spark(
            spark.read.schema("query_id string, " + SCHEMA).parquet(str(tmp_path / "o2"))
        )
        == expected
    )


def test_a_dataframe_that_does_not_fit(spark: SparkSession, catalog: Catalog) -> None:
    df = spark.createDataFrame(ticks(3))
    with pytest.raises(wl.SchemaMismatch, match=r"column 'price' \(DOUBLE\) is missing"):
        wl.matches(df.drop("price"), catalog, "ticks")
    with pytest.raises(wl.SchemaMismatch, match="column 'n' is string, not BIGINT: cast it"):
        wl.matches(df.withColumn("n", df["n"].cast("string")), catalog, "ticks")
    with pytest.raises(wl.SchemaMismatch, match="'query_id' is in the way"):
        wl.matches(df.withColumnRenamed("n", "query_id"), catalog, "ticks")
    with pytest.raises(wl.UnknownStream, match="did you mean 'ticks'"):
        wl.matches(df, catalog, "tick")
    with pytest.raises(wl.CatalogError, match="there is no catalog"):
        wl.matches(df, "/nowhere/at/all", "ticks")


def test_the_result_composes(spark: SparkSession, catalog: Catalog) -> None:
    df = spark.createDataFrame(ticks(200))
    counts = wl.matches(df, catalog, "ticks").groupBy("query_id").count().collect()
    expected: dict[str, int] = {}
    for _, name in pairs_in_process(catalog, ticks(200)):
        expected[name] = expected.get(name, 0) + 1
    assert {row["query_id"]: row["count"] for row in counts} == expected


def test_no_rows_and_no_queries(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> None:
    df = spark.createDataFrame(ticks(30))
    assert wl.matches(df.limit(0), catalog, "ticks").count() == 0
    empty = Catalog(tmp_path / "empty")
    empty.execute(TICKS)
    assert wl.matches(df, empty, "ticks").count() == 0


# --- the oracle itself, on adversarial conditions and values


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(conditions(), regions), min_size=3, max_size=8),
    st.lists(rows(), min_size=5, max_size=25),
    st.integers(1, 3),
)
def test_pairs_equal_the_oracle(
    spark: SparkSession, specs: list[Spec], data: list[dict[str, Any]], partitions: int
) -> None:
    statements, accepted = [DECLARATION], {}
    for i, spec in enumerate(specs):
        text = (
            f"CREATE QUERY q{i} AS SELECT * FROM rows WHERE {condition_sql(spec[0])}"
            f" {region_sql(spec[1])} EMIT MATCHES"
        )
        try:
            Catalog.of([DECLARATION, text])
        except QuerySyntaxError:
            continue
        statements.append(text)
        accepted[f"q{i}"] = spec
    arrow = table(data).append_column("id", pa.array(range(len(data)), pa.int64()))
    arrow = arrow.append_column("ts", pa.array([0] * len(data), pa.timestamp("us", tz="UTC")))
    df = spark.createDataFrame(arrow).repartition(partitions)
    out = wl.matches(df, statements, "rows").select("id", "query_id").collect()
    assert sorted((row["id"], row["query_id"]) for row in out) == expected(accepted, data)
