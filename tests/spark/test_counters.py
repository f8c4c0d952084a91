"""Nothing is dropped in silence on Spark: counters of batch and streaming results, warnings of
queries that are not answered, SELECT lists, and how many tasks a batch has."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import watchline as wl
from tests.support import spark_joins as joining
from tests.support.ledgers import NOON, SECOND, Row, attributes, declaration
from tests.support.spark_joins import Feeds
from tests.support.streaming import Stream, batch, metrics
from watchline.catalog import Catalog
from watchline.config import Job, SinkConfig, SourceConfig
from watchline.errors import EngineError, InvalidState, SchemaMismatch
from watchline.spark.job import failure, replay, start
from watchline.spark.sink import committed_files

pytestmark = pytest.mark.spark

NEAR = "CREATE QUERY near AS SELECT * FROM cars WHERE x < 50 EMIT CHANGES"
SLOW = "CREATE QUERY slow AS SELECT * FROM cars WHERE speed < 50 EMIT CHANGES"
PLAIN = "CREATE QUERY plain AS SELECT * FROM cars WHERE x < 50"
NEAREST = "CREATE QUERY nearest AS SELECT * FROM cars kNN (2, 0, 0)"
PARTITIONS = "spark.sql.shuffle.partitions"
# Why the rows of `cars` below are rejected where queries read x and speed.
REASONS = {"no object id": 2, "no time": 1, "no finite x": 3, "no finite speed": 1}


def row(number: int, **values: Any) -> Row:
    place = {"x": 10.0 * number, "y": 1.0, "speed": 5.0, "n": 0, "kind": "car"}
    return {"id": number, **place, "ts": NOON + number * SECOND} | values


def cars() -> list[Row]:
    """Ten good rows, and seven that are rejected."""
    bad = [{"id": None}, {"id": None, "x": None}, {"ts": None}, {"speed": float("inf")}]
    bad += [{"x": value} for value in (None, float("nan"), float("-inf"))]
    return [*map(row, range(10)), *(row(20 + i, **values) for i, values in enumerate(bad))]


def statements(*queries: str) -> list[str]:
    return [declaration(), *queries]


@contextmanager
def setting(spark: SparkSession, key: str, value: Any) -> Iterator[None]:
    before = spark.conf.get(key)
    spark.conf.set(key, value)
    try:
        yield
    finally:
        spark.conf.set(key, before)


# --- batch results


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.filterwarnings("ignore::watchline.UnansweredWarning")
def test_a_batch_of_changes_tells_all_that_a_tracker_does(spark: SparkSession, shards: int) -> None:
    texts = statements(NEAR, SLOW, NEAREST, PLAIN)
    df = batch(spark, cars(), "BIGINT").repartition(4)
    out = wl.changes(df, texts, "cars", shards)
    assert out.count() == 17
    found = wl.counters(out)
    assert found["rejected_by"] == REASONS
    assert found["rejected"] == sum(REASONS.values())
    # Five are near, ten are slow, and the first two stay the nearest.
    assert {name: found[name] for name in ("rows", "changes", "late", "unanswered")} == {
        "rows": 17,
        "changes": 17,
        "late": 0,
        "unanswered": 1,
    }
    assert (found["objects"], found["answers"], found["accuracy"]) == (10, 17, 1.0)


def test_a_batch_of_matches(spark: SparkSession) -> None:
    texts = statements(NEAR, PLAIN, NEAREST)
    df = batch(spark, cars(), "BIGINT").repartition(3)
    with pytest.warns(wl.UnansweredWarning, match="2 queries are not answered by wl.matches"):
        out = wl.matches(df, texts, "cars")
    assert out.columns == ["query_id", *df.columns]
    assert out.count() == 5
    assert wl.counters(out) == {"rows": 17, "matches": 5, "unanswered": 2}


def test_counters_of_a_part_of_a_result_are_refused(spark: SparkSession) -> None:
    """An action that reads some partitions, or a part of one, has not counted all rows."""
    df = batch(spark, [row(n) for n in range(1, 400)], "BIGINT").repartition(3)
    everywhere = [text.replace("x < 50", "x > 0") for text in (NEAR, PLAIN)]
    for out in (
        wl.changes(df, statements(everywhere[0]), "cars", 3),
        wl.matches(df, statements(everywhere[1]), "cars"),
    ):
        assert len(out.take(1)) == 1
        with pytest.raises(EngineError, match="the first action read a part of the result"):
            wl.counters(out)


def test_no_rows_at_all(spark: SparkSession) -> None:
    df = batch(spark, [], "BIGINT")
    for partitions in (df, df.coalesce(1), spark.createDataFrame([], df.schema).where("false")):
        with pytest.warns(wl.UnansweredWarning):
            out = wl.changes(partitions, statements(NEAR, PLAIN), "cars", 2)
        assert out.collect() == []
        found = wl.counters(out)
        assert (found["rows"], found["rejected_by"], found["unanswered"]) == (0, {}, 1)
        assert (found["rejected"], found["accuracy"]) == (0, 1.0)
        with pytest.warns(wl.UnansweredWarning):
            out = wl.matches(partitions, statements(NEAR, PLAIN), "cars")
        assert out.collect() == []
        assert wl.counters(out) == {"rows": 0, "matches": 0, "unanswered": 1}


def test_a_batch_of_joins(spark: SparkSession) -> None:
    pair = "CREATE QUERY pair AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x"
    alone = "CREATE QUERY alone AS SELECT * FROM r WHERE x < 5"
    rows = {name: joining.fleet(name, 120, 3, odd=0.3) for name in ("r", "s")}
    frames = {name: joining.batch(spark, name, of_it) for name, of_it in rows.items()}
    with pytest.warns(wl.UnansweredWarning, match="not answered by wl.joins: 'alone'"):
        out = wl.joins(frames, [*joining.DECLARATIONS, pair, alone], 3)
    pairs = out.count()
    found = wl.counters(out)
    bad = Counter[str]()
    for name, who, when in (("r", "id", "ts"), ("s", "name", "at")):
        for of_it in rows[name]:
            if of_it[who] is None or of_it[when] is None:
                bad["no object id" if of_it[who] is None else "no time"] += 1
    assert min(bad.values()) > 3
    assert found["rejected_by"] == bad
    assert (found["rows"], found["rejected"], found["late"]) == (240, bad.total(), 0)
    assert (found["pairs"], found["unanswered"], found["waiting"]) == (pairs, 1, 0)


@pytest.mark.parametrize("shards", [1, 2])
def test_two_results_in_one_plan(spark: SparkSession, shards: int) -> None:
    df = batch(spark, cars(), "BIGINT")
    near = wl.changes(df, statements(NEAR), "cars", shards)
    slow = wl.changes(df, statements(SLOW), "cars", shards)
    both = near.union(slow)
    # Rows without x are good enough for the second.
    assert both.count() == 18
    assert wl.counters(near)["rejected_by"] == {
        k: v for k, v in REASONS.items() if k != "no finite speed"
    }
    assert wl.counters(slow)["rejected"] == 4
    assert (wl.counters(near)["changes"], wl.counters(slow)["changes"]) == (5, 13)
    with pytest.raises(EngineError, match="made from 2 results"):
        wl.counters(both)


def test_one_result_of_another(spark: SparkSession) -> None:
    """The counters of a result are its own, and so are those of what is made from it."""
    told = "CREATE STREAM told (name STRING, sign BIGINT, time TIMESTAMP) OBJECT name TIME time"
    first = wl.changes(batch(spark, cars(), "BIGINT"), statements(NEAR, SLOW), "cars", 2)
    renamed = first.select("query_id", fn.col("sign").cast("long"), "time")
    asked = "CREATE QUERY q AS SELECT * FROM told WHERE name = 'near'"
    rows = renamed.withColumnRenamed("query_id", "name")
    out = wl.matches(rows, [told, asked], "told")
    assert out.where("sign > 0").count() == 5
    assert wl.counters(out) == {"rows": 15, "matches": 5, "unanswered": 0}
    assert wl.counters(renamed)["changes"] == wl.counters(first)["changes"] == 15


def test_before_an_action_there_is_an_error_and_no_wait(
    spark: SparkSession, stream: Stream
) -> None:
    out = wl.changes(batch(spark, cars(), "BIGINT"), statements(NEAR), "cars", 2)
    start = time.monotonic()
    with pytest.raises(EngineError, match="run an action on the DataFrame first"):
        wl.counters(out)
    assert time.monotonic() - start < 5
    with pytest.raises(EngineError, match="has no counters"):
        wl.counters(spark.range(3))
    with pytest.raises(SchemaMismatch, match="a DataFrame that Watchline made, not list"):
        wl.counters([])  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="observedMetrics"):
        wl.counters(wl.matches(stream.rows(), statements(PLAIN), "cars"))


def test_a_result_that_is_kept_in_memory(spark: SparkSession) -> None:
    out = wl.changes(batch(spark, cars(), "BIGINT"), statements(NEAR), "cars", 2).cache()
    assert out.count() == out.count() == 5
    assert wl.counters(out)["rows"] == 17
    out.unpersist()


# --- streams


@pytest.mark.parametrize("shards", [1, 3])
def test_reasons_and_late_rows_of_a_stream_of_changes(stream: Stream, shards: int) -> None:
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute("; ".join(statements(NEAR, SLOW)))
    rows = cars()
    late = [row(3, ts=NOON), row(4, ts=NOON)]
    pieces = [rows[:12], [*rows[12:], *late], [row(0, ts=NOON + 60 * SECOND, x=None)]]
    for piece in pieces:
        stream.put(piece)
    query = stream.run(wl.changes(stream.rows(1), catalog, "cars", shards))
    counted = metrics(query)
    assert [m["rejected_by"] for m in counted] == [
        {"no object id": 2},
        {"no time": 1, "no finite x": 3, "no finite speed": 1},
        {"no finite x": 1},
    ]
    assert [m["rejected"] for m in counted] == [2, 5, 1]
    assert [m["late"] for m in counted] == [0, 2, 0]
    assert [m["unanswered"] for m in counted] == [0, 0, 0]


def test_a_query_that_comes_later_and_is_not_answered(stream: Stream) -> None:
    """It counts from its version on, in batches of rows and in those that only a version starts."""
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute("; ".join(statements(NEAR)))
    stream.put([row(1)])
    query = stream.start(wl.changes(stream.rows(), catalog, "cars", 2))
    try:
        query.processAllAvailable()
        catalog.execute(PLAIN)
        query.processAllAvailable()
        catalog.register_boxes("cars", ["a", "b"], {"x": (0.0, 1.0)}, emit="matches")
        query.processAllAvailable()
        stream.put([row(2)])
        query.processAllAvailable()
        catalog.execute("DROP QUERY plain; DROP QUERY a")
        query.processAllAvailable()
    finally:
        query.stop()
    seen = [m["unanswered"] for m in metrics(query)]
    # A batch that rows start may come before or after one that a version starts.
    assert [n for i, n in enumerate(seen) if not i or n != seen[i - 1]] == [0, 1, 3, 1]


def test_a_stream_of_matches_counts(stream: Stream) -> None:
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute("; ".join(statements(PLAIN, NEAR)))
    stream.put(cars())
    stream.put([row(1)])
    with pytest.warns(wl.UnansweredWarning, match="'near'"):
        out = wl.matches(stream.rows(1), catalog, "cars")
    query = stream.run(out)
    rows = [{"rows": 17, "matches": 5, "unanswered": 1}, {"rows": 1, "matches": 1, "unanswered": 1}]
    assert metrics(query) == rows


def test_several_results_in_one_stream(stream: Stream) -> None:
    """One after the other has a name with a number; side by side the user gives names."""
    stream.put(cars())
    texts = statements(PLAIN)
    first = wl.matches(stream.rows(), texts, "cars")
    after = wl.matches(first.drop("query_id"), texts, "cars")
    beside = wl.matches(stream.rows(), texts, "cars", counters="other")
    query = stream.run(after.union(beside))
    [progress] = query.recentProgress
    counted = {name: found.asDict() for name, found in progress["observedMetrics"].items()}
    five = {"rows": 5, "matches": 5, "unanswered": 0}
    all_rows = {"rows": 17, "matches": 5, "unanswered": 0}
    assert counted == {"watchline": all_rows, "watchline 2": five, "other": all_rows}


def test_reasons_of_a_stream_of_joins(spark: SparkSession, tmp_path: Path) -> None:
    feeds = Feeds(spark, tmp_path)
    catalog = joining.catalog_at(tmp_path / "catalog", joining.QUERIES[:1])
    nobody = {"id": None, "x": 1.0, "tag": "a", "ts": NOON}
    feeds.put("r", [nobody, nobody | {"id": 1}, nobody | {"id": 2, "ts": None}])
    feeds.put("s", [{"name": None, "x": 1.0, "n": 1, "at": NOON}, *joining.end("s")])
    query = feeds.run(wl.joins(feeds.both(), catalog, 3))
    [counted] = metrics(query)
    assert counted["rejected_by"] == {"no object id": 2, "no time": 1}
    assert (counted["rejected"], counted["rows"], counted["unanswered"]) == (3, 5, 0)


# --- SELECT lists


@pytest.mark.filterwarnings("ignore::watchline.UnansweredWarning")
def test_changes_have_the_attributes_that_all_queries_select(spark: SparkSession) -> None:
    own = ["query_id", "sign", "object_id", "time", "reason", "distance"]
    near, slow = (text.replace("*", "speed, id") for text in (NEAR, SLOW))
    df = batch(spark, cars(), "BIGINT")
    for shards in (1, 2):
        out = wl.changes(df, statements(near, slow, PLAIN.replace("*", "y")), "cars", shards)
        assert out.columns == [*own, "speed", "id"]
        rows = out.where("query_id = 'near'").orderBy("object_id").collect()
        assert [(r["object_id"], r["speed"], r["id"]) for r in rows] == [
            (i, 5.0, i) for i in range(5)
        ]
    differ = (
        "SELECT lists differ, so all attributes come out of wl.changes: 'near' selects speed, id"
    )
    with pytest.warns(wl.SelectWarning, match=differ + ", 'slow' selects \\*"):
        out = wl.changes(df, statements(near, SLOW), "cars", 2)
    assert out.columns == [*own, *df.columns]


def test_matches_say_where_select_lists_differ(spark: SparkSession) -> None:
    df = batch(spark, cars(), "BIGINT")
    other = PLAIN.replace("plain", "other").replace("*", "x")
    with pytest.warns(
        wl.SelectWarning, match="come out of wl.matches: 'plain' selects \\*, 'other'"
    ):
        assert wl.matches(df, statements(PLAIN, other), "cars").columns == ["query_id", *df.columns]


def test_joins_have_the_columns_that_all_queries_select(spark: SparkSession) -> None:
    frames = {name: joining.batch(spark, name, joining.end(name)) for name in ("r", "s")}
    texts = [
        *joining.DECLARATIONS,
        "CREATE QUERY a AS SELECT b.id, s.n FROM r [ROWS 2] AS a, s [ROWS 2], r [ROWS 2] AS b"
        " WHERE a.x = s.x AND b.x = s.x",
        "CREATE QUERY b AS SELECT q.id, n FROM r [ROWS 1] AS p, r [ROWS 2] AS q, s [ROWS 2]"
        " WHERE p.x = s.x AND q.x = s.x",
    ]
    out = wl.joins(frames, texts, 2)
    assert out.columns == ["query_id", "r2_id", "s_n"]
    assert sorted(map(tuple, out.collect())) == [("a", 0, None), ("b", 0, None)]
    with pytest.warns(wl.SelectWarning, match="come out of wl.joins"):
        out = wl.joins(frames, [*texts, joining.QUERIES[0]], 2)
    assert len(out.columns) == 13


# --- tasks


def tasks(spark: SparkSession, group: str) -> list[int]:
    """How many tasks each stage of a group of jobs had."""
    tracker = spark.sparkContext.statusTracker()
    stages = [
        stage
        for job in tracker.getJobIdsForGroup(group)
        for stage in tracker.getJobInfo(job).stageIds
    ]
    found = (tracker.getStageInfo(stage) for stage in sorted(set(stages)))
    return [info.numTasks for info in found if info is not None]


def both(spark: SparkSession) -> dict[str, Callable[[], DataFrame]]:
    """Changes with a merge and without, and joins, each of three shards."""
    df = batch(spark, cars(), "BIGINT").coalesce(1)
    frames = {
        name: joining.batch(spark, name, joining.end(name)).coalesce(1) for name in ("r", "s")
    }
    flat = declaration().replace(" POINT (x, y)", "")
    return {
        "merged": lambda: wl.changes(df, statements(NEAR), "cars", 3),
        "changes": lambda: wl.changes(df, [flat, NEAR], "cars", 3),
        "joins": lambda: wl.joins(frames, [*joining.DECLARATIONS, *joining.QUERIES[:1]], 3),
    }


@pytest.mark.parametrize("kind", ["merged", "changes", "joins"])
def test_a_batch_has_as_many_tasks_as_shards(spark: SparkSession, kind: str) -> None:
    """Whatever the session says, and whether or not Spark adapts the plan."""
    for adaptive in ("true", "false"):
        group = f"{kind} {adaptive} {time.monotonic()}"
        with (
            setting(spark, PARTITIONS, 200),
            setting(spark, "spark.sql.adaptive.enabled", adaptive),
        ):
            out = both(spark)[kind]()
            spark.sparkContext.setJobGroup(group, group)
            out.collect()
            spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        counts = tasks(spark, group)
        assert max(counts) == 3, counts


@pytest.mark.parametrize("shards", [1, 3])
def test_a_stream_has_as_many_tasks_as_shards(stream: Stream, shards: int) -> None:
    """Spark gives a stateful operator the session's number: too large a one is refused."""
    stream.put(cars())
    with setting(stream.spark, PARTITIONS, 200):
        with pytest.raises(EngineError) as refused:
            wl.changes(stream.rows(), statements(NEAR), "cars", shards)
        assert f'spark.conf.set("{PARTITIONS}", {shards})' in str(refused.value)
        assert f"200 tasks for {shards} shards" in str(refused.value)
        nothing = [fn.lit(None).cast(of).alias(name) for name, of in joining.ATTRIBUTES["r"]]
        with pytest.raises(EngineError, match="200 tasks"):
            wl.joins({"r": stream.rows().select(*nothing)}, joining.DECLARATIONS, shards)
        stream.spark.conf.set(PARTITIONS, shards)
        query = stream.run(wl.changes(stream.rows(), statements(NEAR), "cars", shards))
    counts = tasks(stream.spark, str(query.runId))
    assert shards in counts
    assert max(counts) <= max(shards, 2), counts
    assert [m["changes"] for m in metrics(query)] == [5]


def test_a_checkpoint_keeps_its_number_of_partitions(stream: Stream) -> None:
    """One that was made with more partitions than shards goes on as it was."""
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute("; ".join(statements(NEAR)))
    stream.put([row(1)])
    with setting(stream.spark, PARTITIONS, 2):
        result = wl.changes(stream.rows(), catalog, "cars", 2)
    with setting(stream.spark, PARTITIONS, 5):
        stream.run(result)
    stream.put([row(1, x=90.0, ts=NOON + 60 * SECOND)])
    with setting(stream.spark, PARTITIONS, 2):
        query = stream.run(wl.changes(stream.rows(), catalog, "cars", 2))
    assert 5 in tasks(stream.spark, str(query.runId))
    assert sorted(c[1] for c in stream.told()) == [-1, 1]


def job_of(stream: Stream, catalog: Catalog, emit: str) -> Job:
    source = SourceConfig("parquet", str(stream.folder / "in"))
    return Job(
        catalog=str(catalog.uri),
        sink=SinkConfig("parquet", str(stream.folder / "out")),
        sources={"cars": source},
        checkpoint=str(stream.folder / "checkpoint"),
        trigger="available now",
        emit=emit,
        shards=0 if emit == "matches" else 2,
    )


@pytest.mark.parametrize("emit", ["matches", "changes"])
@pytest.mark.filterwarnings("ignore::watchline.WatchlineWarning")
def test_the_columns_of_a_job_belong_to_its_checkpoint(stream: Stream, emit: str) -> None:
    """As they were when it began, whatever is selected by queries that come later; and in a session
    of any number of partitions."""
    catalog = Catalog(stream.folder / "catalog")
    near = NEAR.replace("*", "id, x").replace("CHANGES", emit)
    catalog.execute("; ".join(statements(near)))
    for number, more in enumerate((SLOW.replace("CHANGES", emit), "DROP QUERY slow")):
        stream.put([row(number)])
        with setting(stream.spark, PARTITIONS, 200):
            query = start(stream.spark, job_of(stream, catalog, emit))
            assert stream.spark.conf.get(PARTITIONS) == "200"
        query.awaitTermination(180)
        catalog.execute(more)
        assert failure(query) is None
        assert max(tasks(stream.spark, str(query.runId))) <= 2
    own = [] if emit == "matches" else ["sign", "object_id", "time", "reason", "distance"]
    found = stream.table()
    assert found.column_names == ["query_id", *own, "id", "x"]
    assert sorted(zip(found["query_id"].to_pylist(), found["id"].to_pylist(), strict=True)) == [
        ("near", 0),
        ("near", 1),
        *([("slow", 0)] if emit == "changes" else []),
        ("slow", 1),
    ]


@pytest.mark.filterwarnings("ignore::watchline.UnansweredWarning")
def test_a_replay_gives_all_counters(stream: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    """Into files, and to the console, which shows a part of the result and counts all of it."""
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute("; ".join(statements(NEAR, SLOW, PLAIN)))
    stream.put(cars())
    job = replace(job_of(stream, catalog, "changes"), checkpoint="")
    for sink in (job.sink, SinkConfig("console")):
        found = replay(stream.spark, replace(job, sink=sink))
        assert (found["rows"], found["changes"], found["unanswered"]) == (17, 15, 1)
        assert (found["rejected_by"], found["late"]) == (REASONS, 0)
    assert "query_id" in capsys.readouterr().out


def test_a_checkpoint_without_its_columns(stream: Stream) -> None:
    """One of an older Watchline has all columns; one whose stream lost a column is refused."""
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute("; ".join(statements(NEAR)))
    job = job_of(stream, catalog, "changes")
    stream.put([row(1)])
    start(stream.spark, job).awaitTermination(180)
    mark = stream.folder / "checkpoint" / "watchline-columns"
    mark.unlink()
    catalog.execute(NEAR.replace("QUERY", "OR REPLACE QUERY").replace("*", "id"))
    stream.put([row(2)])
    start(stream.spark, job).awaitTermination(180)
    assert json.loads(mark.read_text())[5:] == [name for name, _ in attributes()]
    mark.write_text(json.dumps(["query_id", "gone"]))
    with pytest.raises(InvalidState, match="has a column 'gone', which the stream has no more"):
        start(stream.spark, job)


def test_columns_belong_to_the_checkpoint(stream: Stream) -> None:
    """A start that never ran keeps nothing; later SELECT lists are told of, and change nothing."""
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute("; ".join(statements(NEAR.replace("*", "x"))))
    job = job_of(stream, catalog, "changes")
    mark = stream.folder / "checkpoint" / "watchline-columns"
    mark.parent.mkdir()
    mark.write_text(json.dumps(["query_id", "gone"]))
    stream.put([row(1)])
    start(stream.spark, job).awaitTermination(180)
    assert json.loads(mark.read_text())["columns"][6:] == ["x"]
    catalog.execute(NEAR.replace("QUERY", "OR REPLACE QUERY").replace("*", "y"))
    stream.put([row(2)])
    with pytest.warns(
        wl.SelectWarning, match=r"began with \(.*, x\), and the result has .*, y now"
    ):
        start(stream.spark, job).awaitTermination(180)
    assert json.loads(mark.read_text())["columns"][6:] == ["x"]


MEASURED = """
CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, distance DOUBLE, ts TIMESTAMP)
    OBJECT id TIME ts POINT (x, y) MAX AHEAD UNLIMITED;
CREATE QUERY depot AS SELECT distance FROM cars INSIDE CIRCLE (0, 0, 10)
"""
BEFORE = ["query_id", "sign", "object_id", "time", "reason", "distance"]


@pytest.mark.parametrize("marked", [True, False])
def test_a_checkpoint_from_before_changes_had_a_distance(stream: Stream, marked: bool) -> None:
    """It goes on without one, and attributes keep the names that they had; a new one has both."""
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute(MEASURED)
    job = job_of(stream, catalog, "changes")
    mark = stream.folder / "checkpoint" / "watchline-columns"
    wanted = [
        {"distance": 5.0, "cars_distance": 7.0},
        {"distance": 8.0} if marked else {"id": 2, "distance": 8.0, "x": 0.0},
    ]
    for number, values in enumerate(wanted):
        if number:
            if marked:
                mark.write_text(json.dumps(BEFORE))
            else:
                mark.unlink()
        rows = {"id": [number + 1], "x": [3.0 - 3 * number], "y": [4.0], "distance": [7.0 + number]}
        stream.put(pa.table({**rows, "ts": pa.array([number], pa.timestamp("us", "UTC"))}))
        with nullcontext() if not number else pytest.warns(wl.SelectWarning, match="has .*cars_"):
            start(stream.spark, job).awaitTermination(180)
        files = [pq.read_table(file) for file in committed_files(str(stream.folder / "out"))]
        [found] = [row for file in files for row in file.to_pylist() if row["object_id"] > number]
        assert found["query_id"] == "depot"
        assert {name: found[name] for name in values} == values
        assert ("cars_distance" in found) == (number == 0)


def test_behind_a_url_all_columns_come_out(stream: Stream) -> None:
    """No mark can be kept there, and a restart must not choose other columns."""
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute("; ".join(statements(NEAR.replace("*", "x"))))
    stream.put([row(1)])
    job = job_of(stream, catalog, "changes")
    start(stream.spark, replace(job, checkpoint=f"file://{job.checkpoint}")).awaitTermination(180)
    written = stream.spark.read.parquet(job.sink.path).columns
    assert written[6:] == [name for name, _ in attributes()]


def test_a_session_of_so_many_shards(spark: SparkSession) -> None:
    with setting(spark, PARTITIONS, spark.conf.get(PARTITIONS)):
        assert wl.session(shards=7).conf.get(PARTITIONS) == "7"
