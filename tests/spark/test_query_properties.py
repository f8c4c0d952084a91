"""`properties = true` in [sink]: rows have the properties of their query, as it was last."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from pyspark.sql import SparkSession

from tests.support.programs import InProcess, finish
from watchline.catalog import Catalog
from watchline.spark.sink import committed_files

pytestmark = pytest.mark.spark

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)
JOB = """
catalog = "catalog"
stream = "cars"
emit = "{emit}"
checkpoint = "checkpoint"
trigger = "available now"
[source]
format = "parquet"
path = "in"
[sink]
format = "parquet"
path = "out"
properties = {properties}
"""


def put(folder: Path, name: str, rows: list[tuple[int, float, float, int]]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    ids, x, y, seconds = zip(*rows, strict=True)
    times = [datetime.fromtimestamp(s, timezone.utc) for s in seconds]
    table = pa.table(
        {"id": ids, "x": x, "y": y, "ts": pa.array(times, pa.timestamp("us", tz="UTC"))}
    )
    pq.write_table(table, folder / "in" / f"{name}.parquet")


def told(folder: Path, *columns: str) -> list[Any]:
    files = committed_files(str(folder / "out"))
    table = pa.concat_tables([pq.read_table(file) for file in files])
    return sorted(zip(*(table[name].to_pylist() for name in columns), strict=True), key=repr)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    catalog = Catalog(tmp_path / "catalog")
    catalog.execute(CARS)
    square = shapely.box(0, 0, 1, 1)
    catalog.register_regions("cars", ["a", "b"], [square] * 2, properties=[{"n": 1}, None])
    (tmp_path / "job.toml").write_text(JOB.format(emit="changes", properties="true"))
    put(tmp_path, "0", [(1, 0.5, 0.5, 1)])
    return tmp_path


def run(folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    done = InProcess(spark, monkeypatch).finish(folder, verb)
    assert done.code == 0, done.stderr


def test_changes_have_the_properties_that_their_query_had(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder, spark, monkeypatch, "run")
    names = ("query_id", "sign", "reason", "properties")
    first = [("a", 1, "enter", '{"n":1}'), ("b", 1, "enter", None)]
    assert told(folder, *names) == first
    catalog = Catalog(folder / "catalog")
    catalog.drop("a")
    catalog.execute(
        "CREATE QUERY c AS SELECT * FROM cars INSIDE (0, 0, 1, 1) PROPERTIES '{\"n\": 2}'"
    )
    put(folder, "1", [(1, 5.0, 5.0, 2)])
    run(folder, spark, monkeypatch, "run")
    later = [
        ("a", -1, "dropped", '{"n":1}'),
        ("b", -1, "exit", None),
        ("c", -1, "exit", '{"n":2}'),
        ("c", 1, "registered", '{"n":2}'),
    ]
    assert told(folder, *names) == sorted(first + later, key=repr)


def test_a_checkpoint_keeps_its_column(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder, spark, monkeypatch, "run")
    (folder / "job.toml").write_text(JOB.format(emit="changes", properties="false"))
    done = InProcess(spark, monkeypatch).finish(folder, "run")
    assert done.code == 2
    assert "began with properties of queries: set properties = true in [sink]" in done.stderr


def test_replay_of_matches(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = Catalog(folder / "catalog")
    point = [shapely.Point(0, 0)]
    catalog.register_regions("cars", ["m"], point, None, "matches", {"n": 5}, radius=9)
    (folder / "job.toml").write_text(JOB.format(emit="matches", properties="true"))
    run(folder, spark, monkeypatch, "replay")
    table = pq.read_table(folder / "out")
    assert table.column_names == ["query_id", "id", "x", "y", "ts", "properties"]
    assert table.select(["query_id", "properties"]).to_pylist() == [
        {"query_id": "m", "properties": '{"n":5}'}
    ]


def test_an_attribute_of_that_name_is_in_the_way(tmp_path: Path, spark: SparkSession) -> None:
    from watchline.errors import InvalidQuery
    from watchline.spark.query_properties import with_properties

    catalog = Catalog.of("CREATE STREAM s (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts")
    frame = spark.createDataFrame([("a", "x")], "query_id string, properties string")
    with pytest.raises(InvalidQuery, match="leave properties = true out"):
        with_properties(frame, catalog)


def test_the_option_is_true_or_false(folder: Path) -> None:
    (folder / "job.toml").write_text(JOB.format(emit="changes", properties='"yes"'))
    done = finish(folder, "run")
    assert done.code == 2
    assert "[sink] 'properties' must be true or false, not 'yes'" in done.stderr
