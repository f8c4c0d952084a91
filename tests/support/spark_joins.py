"""What tests of `wl.joins` on Spark share: two streams, joins of every kind, folders as streams."""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import watchline as wl
from tests.support.ledgers import ARROW, NOON, SECOND
from tests.support.streaming import Sunk
from watchline.catalog import Catalog

Row = dict[str, Any]
# A joined row: its query, and the columns of all streams.
Joined = tuple[Any, ...]

ATTRIBUTES = {
    "r": [("id", "BIGINT"), ("x", "DOUBLE"), ("tag", "STRING"), ("ts", "TIMESTAMP")],
    "s": [("name", "STRING"), ("x", "DOUBLE"), ("n", "BIGINT"), ("at", "TIMESTAMP")],
}
DECLARATIONS = [
    "CREATE STREAM r (id BIGINT, x DOUBLE, tag STRING, ts TIMESTAMP) OBJECT id TIME ts",
    "CREATE STREAM s (name STRING, x DOUBLE, n BIGINT, at TIMESTAMP) OBJECT name TIME at",
]
QUERIES = [
    "CREATE QUERY equal AS SELECT * FROM r [RANGE 10 SECONDS], s [ROWS 20] WHERE r.x = s.x",
    "CREATE QUERY less AS SELECT * FROM r [ROWS 5], s [RANGE 5 SECONDS] WHERE r.x < s.x AND n >= 5",
    "CREATE QUERY either AS SELECT * FROM s [ROWS 8], r [ROWS 8]"
    " WHERE (r.x = s.x AND tag = 'a') OR (s.n > r.x AND tag IN ('b', 'ü'))",
    "CREATE QUERY twice AS SELECT * FROM r [ROWS 4] AS a, r [RANGE 3 SECONDS] AS b"
    " WHERE a.tag = b.tag AND a.x >= b.x",
    "CREATE QUERY three AS SELECT * FROM r [ROWS 4] AS a, s [ROWS 6], r [ROWS 9] AS b"
    " WHERE a.x = s.x AND b.x > s.x",
    "CREATE QUERY every AS SELECT * FROM r [ROWS 2] CROSS JOIN s [ROWS 2]",
    "CREATE QUERY lunch AS SELECT * FROM r [ROWS 9], s [ROWS 9] WHERE r.x <> s.x"
    " FOR INTERVAL 6 SECONDS",
]


def fleet(name: str, count: int, seed: int = 1, odd: float = 0.1) -> list[Row]:
    """Rows of a stream over a minute, by time; some have no id, no time or no number, and many
    have the time of another."""
    draw = random.Random(f"{name} {seed}")
    rows = []
    for i in range(count):
        moment = NOON + (60 * SECOND * i // count) // 250_000 * 250_000
        x: Any = float(draw.randint(0, 6))
        who: Any = draw.randint(0, 9)
        if draw.random() < odd:
            x = draw.choice([None, math.nan, math.inf, -0.0])
        if draw.random() < odd / 3:
            who = None
        when = None if draw.random() < odd / 3 else moment
        if name == "r":
            rows.append({"id": who, "x": x, "tag": draw.choice(["a", "b", "ü", None]), "ts": when})
        else:
            who = None if who is None else f"car {who}"
            rows.append({"name": who, "x": x, "n": draw.choice([None, *range(8)]), "at": when})
    return rows


def end(name: str) -> list[Row]:
    """A row at the end of the minute: what came before waits no longer."""
    last = NOON + 60 * SECOND
    values = {"r": (0, 0.0, None, last), "s": ("", 0.0, None, last)}[name]
    return [dict(zip((n for n, _ in ATTRIBUTES[name]), values, strict=True))]


def table(name: str, rows: list[Row]) -> pa.Table:
    schema = pa.schema([(column, ARROW[of]) for column, of in ATTRIBUTES[name]])
    times = {column for column, of in ATTRIBUTES[name] if of == "TIMESTAMP"}
    columns = []
    for field in schema:
        values = [row[field.name] for row in rows]
        made = pa.array(values, pa.int64() if field.name in times else field.type)
        columns.append(made.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def catalog_at(path: Path, queries: list[str] = QUERIES) -> Catalog:
    made = Catalog(path)
    made.execute("; ".join([*DECLARATIONS, *queries]))
    return made


def batch(spark: SparkSession, name: str, rows: list[Row]) -> DataFrame:
    return spark.createDataFrame(table(name, rows))


def joined(found: pa.Table | Iterable[pa.Table]) -> Counter[Joined]:
    """Joined rows as often as they came, by the names of their columns; NaN equals itself here."""
    tables = [found] if isinstance(found, pa.Table) else list(found)
    told: Counter[Joined] = Counter()
    for part in tables:
        columns = []
        for name in sorted(part.column_names):
            column = part[name]
            if pa.types.is_timestamp(column.type):
                column = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
            columns.append([repr(value) for value in column.to_pylist()])
        told.update(zip(*columns, strict=True))
    return told


def of_query(found: pa.Table, name: str) -> Counter[Joined]:
    return joined(found.filter(pa.array([q == name for q in found["query_id"].to_pylist()])))


def by_joiner(catalog: Any, pieces: list[dict[str, list[Row]]], last: bool = True) -> pa.Table:
    """What one joiner, without Spark, makes of these."""
    made = catalog if isinstance(catalog, Catalog) else Catalog.of(catalog)
    joiner = wl.Joiner(made, ["r", "s"])
    found = [
        joiner.process({name: table(name, rows) for name, rows in piece.items()})
        for piece in pieces
    ]
    return pa.concat_tables([*found, *([joiner.finish()] if last else [])])


class Feeds(Sunk):
    """A folder of files for each stream, into a sink that is read by its own list of files."""

    def __init__(self, spark: SparkSession, folder: Path):
        self.spark, self.folder = spark, folder
        self.counts: Counter[str] = Counter()
        for name in ATTRIBUTES:
            (folder / name).mkdir()

    def put(self, name: str, rows: list[Row]) -> None:
        put(self.folder, name, self.counts[name], rows)
        self.counts[name] += 1

    def cut(self, name: str, rows: list[Row], pieces: int) -> None:
        size = -(-len(rows) // pieces)
        for start in range(0, len(rows), size):
            self.put(name, rows[start : start + size])

    def rows(self, name: str, files: int = 1_000) -> DataFrame:
        schema = ", ".join(f"{column} {of}" for column, of in ATTRIBUTES[name])
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", files)
        return reader.parquet(str(self.folder / name))

    def both(self, files: int = 1_000) -> dict[str, DataFrame]:
        return {name: self.rows(name, files) for name in ATTRIBUTES}


def put(folder: Path, name: str, number: int, rows: list[Row]) -> None:
    """One more file of a stream; Spark takes files in the order of their times."""
    new = folder / f"new-{name}"
    pq.write_table(table(name, rows), new)
    os.utime(new, (1_000 * number + 1_000,) * 2)
    new.rename(folder / name / f"{number:03}.parquet")
