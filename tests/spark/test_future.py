"""MAX AHEAD on Spark: the router rejects rows from the future, by the clock of the batch."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import watchline as wl
from tests.support.streaming import Stream, metrics
from watchline.catalog import Catalog
from watchline.spark import version_pin as pin

pytestmark = pytest.mark.spark

SECOND = 1_000_000
DAY = 86_400 * SECOND
YEAR_9999 = 253_370_764_800 * SECOND
COLUMNS = "id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP"
CABS = f"CREATE STREAM cabs ({COLUMNS}) OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 1 HOUR"
DEPOT = "CREATE QUERY depot AS SELECT * FROM cabs INSIDE (0, 0, 1, 1)"


def rows(*found: tuple[int, int]) -> pa.Table:
    n = len(found)
    return pa.table(
        {
            "id": pa.array([i for i, _ in found], pa.int64()),
            "x": pa.array([0.5] * n),
            "y": pa.array([0.5] * n),
            "ts": pa.array([t for _, t in found], pa.timestamp("us", "UTC")),
        }
    )


def told(changes: pa.Table) -> list[tuple[Any, ...]]:
    names = ("object_id", "sign", "reason")
    return sorted(zip(*(changes[name].to_pylist() for name in names), strict=True))


def frame(stream: Stream) -> DataFrame:
    reader = stream.spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(stream.folder / "in"))


@pytest.mark.parametrize("stored", [True, False], ids=["catalog", "statements"])
def test_a_stream_goes_on(stream: Stream, stored: bool) -> None:
    now = time.time_ns() // 1_000
    catalog: Any = [CABS, DEPOT]
    if stored:
        catalog = Catalog(stream.folder / "catalog")
        catalog.execute(f"{CABS}; {DEPOT}")
    stream.put(rows((1, now), (2, now)))
    stream.put(rows((3, YEAR_9999), (4, now + 2 * DAY)))
    stream.put(rows((5, now + 1), (6, now + DAY // 2)))
    query = stream.run(wl.changes(frame(stream), catalog, "cabs", 2, state=stream.folder / "state"))
    found = told(stream.table())
    # The row half a day ahead is accepted, and with it all but itself have timed out.
    assert [c for c in found if c[1] == 1] == [(i, 1, "enter") for i in (1, 2, 5, 6)]
    assert [c for c in found if c[1] == -1] == [(i, -1, "expired") for i in (1, 2, 5)]
    counted = metrics(query)
    assert [m["rejected"] for m in counted] == [0, 2, 0]
    assert sum(m["late"] for m in counted) == 0


def test_a_replayed_batch_decides_by_its_pin(stream: Stream) -> None:
    """A pin says that the first batch ran in the year 9999: its rows were of their time then."""
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute(f"{CABS}; {DEPOT}")
    stream.put(rows((1, YEAR_9999)))
    # The id of a streaming query is in its checkpoint before any batch.
    checkpoint = stream.folder / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "metadata").write_text('{"id":"11111111-2222-3333-4444-555555555555"}')
    run = Path(catalog.folder or "") / pin.FOLDER / "11111111-2222-3333-4444-555555555555"
    run.mkdir(parents=True)
    (run / "0").write_text(f"{catalog.version} {YEAR_9999}", encoding="ascii")
    stream.run(wl.changes(frame(stream), catalog, "cabs", 2))
    assert told(stream.table()) == [(1, 1, "enter")]


def test_a_batch_takes_the_driver_s_clock(spark: SparkSession) -> None:
    now = time.time_ns() // 1_000
    df = spark.createDataFrame(rows((1, now), (2, YEAR_9999), (3, now + 1)))
    out = wl.changes(df, [CABS, DEPOT], "cabs", 2)
    assert told(out.toArrow()) == [(1, 1, "enter"), (3, 1, "enter")]
    unlimited = wl.changes(df, [f"{CABS} MAX AHEAD UNLIMITED", DEPOT], "cabs", 2)
    assert (2, 1, "enter") in told(unlimited.toArrow())


def test_joins(spark: SparkSession) -> None:
    now = time.time_ns() // 1_000
    streams = [f"CREATE STREAM {s} ({COLUMNS}) OBJECT id TIME ts" for s in ("r", "s")]
    pair = "CREATE QUERY pair AS SELECT * FROM r [ROWS 1], s [ROWS 1] WHERE r.x = s.x"
    frames = {
        "r": spark.createDataFrame(rows((1, now), (2, YEAR_9999))),
        "s": spark.createDataFrame(rows((3, now + 1), (4, YEAR_9999))),
    }
    found = wl.joins(frames, [*streams, pair], 2).toArrow()
    assert list(zip(found["r_id"].to_pylist(), found["s_id"].to_pylist(), strict=True)) == [(1, 3)]
