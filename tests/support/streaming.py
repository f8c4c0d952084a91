"""What tests of `wl.changes` on Spark share: files as a stream, and the oracle beside it."""

from __future__ import annotations

import os
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests import reference
from tests.support.ledgers import (
    Asked,
    Row,
    Told,
    attributes,
    declaration,
    expected,
    spec,
    table,
    told,
)
from watchline.catalog import Catalog
from watchline.spark.job import translated
from watchline.spark.sink import committed_files
from watchline.spark.supported import can_wake

needs_waking = pytest.mark.skipif(
    not can_wake(), reason="this PySpark starts no batch for a new version of the catalog"
)


def schema(kind: str) -> str:
    return ", ".join(f"{name} {of}" for name, of in attributes(kind))


def oracle(kind: str, timeout: int | None, queries: list[Asked]) -> reference.Ledger:
    ledger = reference.Ledger(spec(kind, timeout))
    ledger.version(adds=[asked.spec for asked in queries])
    return ledger


def wanted(changes: list[reference.Change], kind: str = "BIGINT") -> list[Told]:
    return expected(changes, [name for name, _ in attributes(kind)])


def catalog_at(path: Path, kind: str, timeout: int | None, queries: list[Asked]) -> Catalog:
    made = Catalog(path)
    made.execute("; ".join([declaration(kind, timeout), *(asked.text for asked in queries)]))
    return made


def batch(spark: SparkSession, rows: list[Row], kind: str) -> DataFrame:
    return spark.createDataFrame(table(rows, kind))


class Sunk:
    """A folder whose `out` has what a streaming query wrote, with its checkpoint beside it."""

    folder: Path

    def start(self, df: DataFrame, now: bool = False) -> Any:
        writer = df.writeStream.format("parquet").option("path", str(self.folder / "out"))
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        return (writer.trigger(availableNow=True) if now else writer).start()

    def run(self, df: DataFrame) -> Any:
        """All that is there; what goes wrong is raised as our own error."""
        query = self.start(df, now=True)
        try:
            query.awaitTermination(180)
        except Exception as error:
            raise translated(error) from error
        assert not query.isActive
        return query

    def table(self) -> pa.Table:
        return sunk(self.folder)


def sunk(folder: Path) -> pa.Table:
    """What the sink holds, by Spark's own list of committed files, in order."""
    files = committed_files(str(folder / "out"))
    # Spark writes times of 96 bits, which otherwise are read as nanoseconds: until 2262.
    read = partial(pq.read_table, coerce_int96_timestamp_unit="us")
    # Runs may have had the streams of a join in another order.
    return pa.concat_tables([read(file) for file in files], promote_options="default")


class Stream(Sunk):
    """A folder of files as a stream, into a sink that is read by its own list of files."""

    def __init__(self, spark: SparkSession, folder: Path, kind: str = "BIGINT"):
        self.spark, self.folder, self.kind = spark, folder, kind
        self.count = 0
        (folder / "in").mkdir()

    def put(self, rows: list[Row] | pa.Table) -> None:
        """One more file; Spark takes files in the order of their times."""
        made = rows if isinstance(rows, pa.Table) else table(rows, self.kind)
        path = self.folder / "in" / f"{self.count:03}.parquet"
        pq.write_table(made, self.folder / "new")
        os.utime(self.folder / "new", (1_000 * self.count + 1_000,) * 2)
        (self.folder / "new").rename(path)
        self.count += 1

    def cut(self, rows: list[Row], cuts: list[int]) -> None:
        for start, end in pairwise([0, *cuts, len(rows)]):
            self.put(rows[start:end])

    def rows(self, files: int = 1_000) -> DataFrame:
        reader = self.spark.readStream.schema(schema(self.kind))
        return reader.option("maxFilesPerTrigger", files).parquet(str(self.folder / "in"))

    def told(self) -> list[Told]:
        return told(self.table()) if committed_files(str(self.folder / "out")) else []


def metrics(query: Any) -> list[dict[str, Any]]:
    """The counters of each batch."""
    found = [p["observedMetrics"].get("watchline") for p in query.recentProgress]
    return [row.asDict() for row in found if row is not None]
