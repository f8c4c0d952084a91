"""`wl.joins` on Spark gives what a joiner does: batch or stream, however cut, in any shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import watchline as wl
from tests.reference_joins import JoinLedger, JoinQuery, JoinSource, JoinStream
from tests.support.ledgers import NOON, SECOND
from tests.support.spark_joins import (
    ATTRIBUTES,
    DECLARATIONS,
    QUERIES,
    Feeds,
    batch,
    by_joiner,
    catalog_at,
    end,
    fleet,
    joined,
    of_query,
    table,
)
from tests.support.streaming import metrics, needs_waking
from watchline.catalog import Catalog
from watchline.errors import (
    EngineError,
    InvalidQuery,
    InvalidState,
    SchemaMismatch,
    UnknownStream,
)

pytestmark = pytest.mark.spark

PAIR = "CREATE QUERY pair AS SELECT * FROM r [ROWS 9], s [ROWS 9] WHERE r.x = s.x"


@pytest.fixture
def feeds(spark: SparkSession, tmp_path: Path) -> Feeds:
    return Feeds(spark, tmp_path)


def r(x: float, second: float, who: int = 1) -> dict[str, Any]:
    return {"id": who, "x": x, "tag": "a", "ts": NOON + int(second * SECOND)}


def s(x: float, second: float, who: str = "a") -> dict[str, Any]:
    return {"name": who, "x": x, "n": 7, "at": NOON + int(second * SECOND)}


# --- what a joiner gives


def test_batch(spark: SparkSession, tmp_path: Path) -> None:
    """In one, two and three shards; rows come in any order, from any number of partitions."""
    catalog = catalog_at(tmp_path / "catalog")
    rows = {"r": fleet("r", 240), "s": fleet("s", 160)}
    found = by_joiner(catalog, [rows])
    right = joined(found)
    assert max(right.values()) <= 2  # two rows may be alike
    for query in QUERIES:
        assert of_query(found, query.split()[2]).total() > 20
    frames = {name: batch(spark, name, rows[name][::-1]).repartition(3) for name in rows}
    for shards in (1, 2, 3):
        out = wl.joins(frames, catalog, shards)
        assert joined(out.toArrow()) == right
    twice = ["r", "r2", "s"]
    columns = [f"{name}_{column}" for name in twice for column in frames[name[0]].columns]
    assert out.columns == ["query_id", *columns]
    assert [f.dataType.simpleString() for f in out.schema.fields[1:5]] == [
        "bigint", "double", "string", "timestamp",
    ]  # fmt: skip


def test_the_oracle_finds_the_same(spark: SparkSession) -> None:
    """By nested loops, from conditions that were written by hand."""
    rows = {"r": fleet("r", 60, 9), "s": fleet("s", 50, 9)}
    ledger = JoinLedger(
        [
            JoinStream("r", "id", "ts", ATTRIBUTES["r"]),
            JoinStream("s", "name", "at", ATTRIBUTES["s"]),
        ]
    )
    equal = ("cmp", "=", ("attr", "r.x"), ("attr", "s.x"))
    tags = ("cmp", "=", ("attr", "a.tag"), ("attr", "b.tag"))
    order = ("cmp", ">=", ("attr", "a.x"), ("attr", "b.x"))
    windows = [("range", 10 * SECOND), ("rows", 20), ("rows", 4), ("range", 3 * SECOND)]
    names = [("r", "r"), ("s", "s"), ("a", "r"), ("b", "r")]
    sources = [JoinSource(*name, window) for name, window in zip(names, windows, strict=True)]
    ledger.register(JoinQuery("equal", sources[:2], equal))
    ledger.register(JoinQuery("twice", sources[2:], ("and", tags, order)))
    right: Counter[Any] = Counter()
    for told in [*ledger.process(rows), *ledger.finish()]:
        slots = ("r", "s") if told.query_id == "equal" else ("r", "r2")
        right[(told.query_id, *_flat(dict(zip(slots, told.rows, strict=True))))] += 1
    assert {name for name, *_ in right} == {"equal", "twice"}
    frames = {name: batch(spark, name, of_it) for name, of_it in rows.items()}
    out = wl.joins(frames, [*DECLARATIONS, QUERIES[0], QUERIES[3]], 2)
    micros = [fn.unix_micros(c).alias(c) for c in ("r_ts", "r2_ts", "s_at")]
    found = out.select(*(c for c in out.columns if c not in ("r_ts", "r2_ts", "s_at")), *micros)
    columns = [f"{slot}_{name}" for slot in ("r", "r2", "s") for name, _ in ATTRIBUTES[slot[0]]]
    assert (
        Counter((row["query_id"], *(row[c] for c in columns)) for row in found.collect()) == right
    )


def _flat(slots: dict[str, Any]) -> list[Any]:
    """The values of each slot, as they stand in a joined row."""
    return [
        slots[slot][name] if slot in slots else None
        for slot in ("r", "r2", "s")
        for name, _ in ATTRIBUTES[slot[0]]
    ]


def test_distances(spark: SparkSession) -> None:
    """On Earth, across the antimeridian; longitudes come out in [-180, 180)."""
    streams = [
        f"CREATE STREAM {name} (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
        " POINT (lon, lat) AS GEOGRAPHY"
        for name in ("cabs", "riders")
    ]
    meet = (
        "CREATE QUERY meet AS SELECT * FROM cabs [RANGE 10 SECONDS], riders [RANGE 10 SECONDS]"
        " WHERE DISTANCE(cabs, riders) < 200 METERS"
    )
    times = [NOON, NOON + SECOND, NOON + 2 * SECOND]

    def rows(longitudes: list[float | None], latitudes: list[float]) -> pa.Table:
        ts = pa.array(times[: len(longitudes)]).cast(pa.timestamp("us", "UTC"))
        columns = {"id": range(len(longitudes)), "lon": longitudes, "lat": latitudes}
        return pa.table({**{k: pa.array(v) for k, v in columns.items()}, "ts": ts})

    given = {
        "cabs": rows([179.9995, 0.0, None], [0.0, 89.9995, 0.0]),
        "riders": rows([180.0, 180.0, 3.0], [0.0, 89.9995, 91.0]),
    }
    frames = {name: spark.createDataFrame(of) for name, of in given.items()}
    found = wl.joins(frames, [*streams, meet], 2).toArrow().to_pylist()
    places = [(row["cabs_id"], row["riders_id"], row["riders_lon"]) for row in found]
    assert sorted(places) == [(0, 0, -180.0), (1, 1, -180.0)]


@pytest.mark.parametrize(("pieces", "files", "shards"), [((5, 5), 1, 2), ((7, 2), 2, 3)])
def test_streaming_gives_the_same_however_cut(
    feeds: Feeds, pieces: tuple[int, int], files: int, shards: int
) -> None:
    """At equal rates, and where one stream is far ahead of the other."""
    catalog = catalog_at(feeds.folder / "catalog")
    rows = {"r": fleet("r", 240, 2) + end("r"), "s": fleet("s", 160, 2) + end("s")}
    for (name, of_it), count in zip(rows.items(), pieces, strict=True):
        feeds.cut(name, of_it, count)
    query = feeds.run(wl.joins(feeds.both(files), catalog, shards))
    whole = wl.Joiner(catalog, ["r", "s"])
    right = joined(whole.process({name: table(name, of_it) for name, of_it in rows.items()}))
    assert joined(feeds.table()) == right
    frames = {name: batch(feeds.spark, name, of_it) for name, of_it in rows.items()}
    assert joined(wl.joins(frames, catalog, 2).toArrow()) == right
    counted, stats = metrics(query), whole.stats()
    assert len(counted) == max(-(-count // files) for count in pieces)
    for name in ("rows", "rejected", "pairs", "late", "unanswered"):
        assert sum(m[name] for m in counted) == stats[name], name
    assert stats["rejected"] > 5
    assert counted[-1]["waiting"] == stats["waiting"] == 0
    # lunch is over.
    assert counted[-1]["queries"] == stats["queries"] == len(QUERIES) - 1
    assert 0 < counted[-1]["kept"] <= stats["kept"]
    assert counted[-1]["bytes"] > 0


def test_a_stream_that_stops_lets_the_other_wait(feeds: Feeds) -> None:
    """And late rows are counted once, however many shards there are."""
    catalog = catalog_at(feeds.folder / "catalog", [PAIR])
    pieces: list[dict[str, Any]] = [
        {"r": [r(1, 1), r(2, 2)], "s": [s(1, 1.5)]},
        {"r": [r(3, 3), r(1, 4)]},
        {"r": [r(4, 5)]},
        {"s": [s(4, 4.5), s(3, 4.6)]},
        {"r": [r(4, 4)], "s": [s(3, 4.4), s(2, 4.7)]},
    ]
    joiner = wl.Joiner(catalog, ["r", "s"])
    right, waiting, late = [], [], []
    query = feeds.start(wl.joins(feeds.both(), catalog, 3))
    try:
        for piece in pieces:
            for name, rows in piece.items():
                feeds.put(name, rows)
            query.processAllAvailable()
            right.append(joiner.process({n: table(n, rows) for n, rows in piece.items()}))
            waiting.append(joiner.stats()["waiting"])
            late.append(joiner.stats()["late"])
            # The files of a piece may come in two batches: no row is late by that.
            assert joined(feeds.table()) == joined(right)
            assert metrics(query)[-1]["waiting"] == waiting[-1]
    finally:
        query.stop()
    assert waiting == [1, 3, 4, 1, 1]
    assert [found.num_rows for found in right] == [1, 0, 0, 2, 1]
    assert late[-1] == 2
    assert sum(m["late"] for m in metrics(query)) == 2
    assert sum(m["rows"] for m in metrics(query)) == 11


# --- a catalog that moves


@needs_waking
def test_a_running_stream_follows_the_catalog(feeds: Feeds) -> None:
    """Registered, replaced and dropped: a query joins what is processed while it lives."""
    catalog = catalog_at(feeds.folder / "catalog", QUERIES[:2])
    joiner = wl.Joiner(catalog, ["r", "s"], times={"r": 2})
    rows = {"r": fleet("r", 200, 5), "s": fleet("s", 200, 5)}
    query = feeds.start(wl.joins(feeds.both(), catalog, 2, times={"r": 2}))
    right = []
    replaced = QUERIES[1].replace("CREATE", "CREATE OR REPLACE").replace("n >= 5", "n >= 1")
    steps: list[Any] = [0, QUERIES[2], 1, QUERIES[3], 2, replaced, 3, "DROP QUERY equal", 4]
    steps += [QUERIES[4] + "; " + QUERIES[6], 5, "DROP QUERY either", 6, 7]
    try:
        for step in steps:
            if isinstance(step, str):
                catalog.execute(step)
                joiner.advance_to(catalog.version)
                query.processAllAvailable()
                # A registration starts a batch of its own.
                assert metrics(query)[-1]["queries"] == joiner.stats()["queries"]
                continue
            piece = {name: of_it[25 * step : 25 * step + 25] for name, of_it in rows.items()}
            for name, of_it in piece.items():
                feeds.put(name, of_it)
                query.processAllAvailable()
                right.append(joiner.process({name: table(name, of_it)}))
    finally:
        query.stop()
    whole = pa.concat_tables(right)
    assert joined(feeds.table()) == joined(whole)
    names = {"equal", "less", "either", "twice", "three", "lunch"}
    assert set(whole["query_id"].to_pylist()) == names


def test_a_stream_more_often_than_there_are_columns(feeds: Feeds) -> None:
    """It is not answered, and said to be so; what was reserved is used."""
    catalog = catalog_at(feeds.folder / "catalog", [PAIR])
    feeds.put("r", [r(1, 1), r(1, 2)])
    feeds.put("s", [s(0, 1), s(0, 2)])
    query = feeds.start(wl.joins(feeds.both(), catalog, 2, times={"s": 2}))
    try:
        query.processAllAvailable()
        for name, stream in (("many", "r"), ("fine", "s")):
            sources = f"{stream} [ROWS 2] AS a, {stream} [ROWS 2] AS b"
            catalog.execute(f"CREATE QUERY {name} AS SELECT * FROM {sources} WHERE a.x = b.x")
        feeds.put("r", [r(1, 3)])
        feeds.put("s", [s(0, 3)])
        query.processAllAvailable()
        assert metrics(query)[-1]["unanswered"] == 1
    finally:
        query.stop()
    assert feeds.table()["query_id"].to_pylist() == ["fine"]
    assert {"s2_x", "s_x", "r_x"} < set(feeds.table().column_names)
    assert "r2_x" not in feeds.table().column_names


def test_a_list_of_statements(feeds: Feeds) -> None:
    texts = [*DECLARATIONS, *QUERIES]
    rows = {"r": fleet("r", 80, 3) + end("r"), "s": fleet("s", 80, 3) + end("s")}
    for name, of_it in rows.items():
        feeds.cut(name, of_it, 2)
    feeds.run(wl.joins(feeds.both(1), texts, 2))
    right = joined(by_joiner(texts, [rows], last=False))
    assert joined(feeds.table()) == right
    # Other statements are another catalog.
    feeds.put("r", end("r"))
    with pytest.raises(InvalidState, match="another catalog"):
        feeds.run(wl.joins(feeds.both(1), texts[:-1], 2))


# --- restarts


def test_workers_that_know_nothing(feeds: Feeds, new_workers: Callable[[], None]) -> None:
    """All is in the checkpoint: windows, rows that wait, how long queries have lived; also if the
    streams are named in another order."""
    catalog = catalog_at(feeds.folder / "catalog", QUERIES[:-1])
    rows = {"r": fleet("r", 120, 7), "s": fleet("s", 90, 7)}
    joiner = wl.Joiner(catalog, ["r", "s"])
    right = []
    for i in range(3):
        if i == 1:
            catalog.execute(QUERIES[-1])
        new_workers()
        for name, of_it in rows.items():
            size = len(of_it) // 3
            feeds.put(name, of_it[size * i : size * (i + 1)])
        piece = {n: table(n, v[len(v) // 3 * i : len(v) // 3 * (i + 1)]) for n, v in rows.items()}
        joiner.advance_to(catalog.version)
        right.append(joiner.process(piece))
        both = feeds.both()
        feeds.run(wl.joins(dict(reversed(both.items())) if i == 1 else both, catalog, 2))
    assert joined(feeds.table()) == joined(right)
    assert "lunch" in pa.concat_tables(right)["query_id"].to_pylist()


def test_a_large_state_is_a_file(feeds: Feeds, new_workers: Callable[[], None]) -> None:
    """And another number of shards, other streams or another catalog are refused."""
    window = PAIR.replace("r [ROWS 9]", "r [ROWS 50000]")
    catalog = catalog_at(feeds.folder / "catalog", [window])
    catalog.execute(DECLARATIONS[1].replace("STREAM s", "STREAM t"))
    state = feeds.folder / "some" / "where"
    feeds.put("r", [r(i, i / 1_000, i) for i in range(40_000)])
    feeds.put("s", [s(-1, 40)])
    query = feeds.run(wl.joins(feeds.both(), catalog, 1, state))
    [file] = (state / query.id).glob("*.state")
    assert file.stat().st_size > 1 << 20
    feeds.put("s", [s(7, 50), s(39_999, 50)])
    feeds.put("r", [r(-2, 50)])
    other = catalog_at(feeds.folder / "other", [window])
    moved = {"r": feeds.rows("r"), "t": feeds.rows("s")}
    refused: list[tuple[str, Any]] = [
        ("made with 1 shards, not 2: use shards = 1", (feeds.both(), catalog, 2, state)),
        ("belongs to another catalog", (feeds.both(), other, 1, state)),
        ("belongs to other streams", (moved, catalog, 1, state)),
        ("is missing from .*: put it back", (feeds.both(), catalog, 1)),
    ]
    for i, (message, arguments) in enumerate(refused):
        if i > 2:  # The others are refused by what Spark's own state or the worker's joiner says.
            new_workers()
        with pytest.raises(InvalidState, match=message):
            feeds.run(wl.joins(*arguments))
    new_workers()
    feeds.run(wl.joins(feeds.both(), catalog, 1, state))
    found = feeds.table()
    assert sorted(found["r_x"].to_pylist()) == sorted(found["s_x"].to_pylist()) == [7.0, 39_999.0]


# --- what comes out is a DataFrame


def test_the_result_composes(feeds: Feeds) -> None:
    """Filtered and joined with a table; both streams from one source."""
    spark = feeds.spark
    catalog = catalog_at(feeds.folder / "catalog", [PAIR])
    feeds.put("r", [r(i % 5, i, i) for i in range(20)])
    source = feeds.rows("r")
    both = {
        "r": source.where("id % 2 = 0"),
        "s": source.where("id % 2 = 1").selectExpr(
            "CAST(id AS STRING) AS name", "x", "id AS n", "ts AS at"
        ),
    }
    owners = spark.createDataFrame([("pair", "Ann")], "query_id string, who string")
    out = wl.joins(both, catalog, 2).join(fn.broadcast(owners), "query_id").where("r_id > 4")
    feeds.run(out.select("who", "r_id", "s_n").repartition(2))
    found = feeds.table().to_pylist()
    right = {(i, j) for i in range(6, 20, 2) for j in range(1, 18, 2) if (i - j) % 5 == 0}
    assert {(row["r_id"], row["s_n"]) for row in found} <= right
    assert len(found) > 8
    assert {row["who"] for row in found} == {"Ann"}


def test_one_operator_in_a_streaming_query(feeds: Feeds) -> None:
    catalog = catalog_at(feeds.folder / "catalog", [PAIR])
    once = wl.joins(feeds.both(), catalog, 1)
    again = once.selectExpr("r_id AS id", "r_x AS x", "r_tag AS tag", "r_ts AS ts")
    match = r"a streaming query can have one wl\.changes or wl\.joins"
    with pytest.raises(EngineError, match=match):
        wl.changes(again, catalog, "r")
    with pytest.raises(EngineError, match=match):
        wl.joins({"s": feeds.rows("s"), "r": again}, catalog)
    with pytest.raises(EngineError, match=match):
        wl.joins({"r": wl.changes(feeds.rows("r"), catalog, "r"), "s": feeds.rows("s")}, catalog)
    # A batch may have two.
    frames = {"r": batch(feeds.spark, "r", [r(1, 1)]), "s": batch(feeds.spark, "s", [s(1, 1)])}
    found = wl.joins(frames, catalog, 1)
    again = found.selectExpr("r_id AS id", "r_x AS x", "r_tag AS tag", "r_ts AS ts")
    assert wl.joins({**frames, "r": again}, catalog, 1).count() == 1


def test_what_is_refused(spark: SparkSession, feeds: Feeds) -> None:
    catalog = catalog_at(feeds.folder / "catalog", [PAIR])
    df = batch(spark, "r", [r(1, 1)])
    frames = {"r": df, "s": batch(spark, "s", [s(1, 1)])}
    wrong: list[tuple[Any, type[Exception], str]] = [
        ({}, InvalidQuery, "takes a DataFrame for each stream by its name: .*, not an empty dict"),
        (df, InvalidQuery, "not DataFrame"),
        ([df], InvalidQuery, "not list"),
        ({"r": df, "ss": df}, UnknownStream, "there is no stream 'ss'; did you mean 's'"),
        ({"r": df, 5: df}, InvalidQuery, "a stream's name is a string, not 5"),
        ({"r": df, "s": [1]}, SchemaMismatch, "stream 's': rows come as a Spark DataFrame, not as"),
        ({"r": df, "s": df}, SchemaMismatch, "does not fit stream 's': column 'name'"),
        ({"r": df, "s": feeds.rows("s")}, EngineError, "'s' of the join is a streaming DataFrame"),
    ]
    for streams, error, message in wrong:
        with pytest.raises(error, match=message):
            wl.joins(streams, catalog)
    for shards in (0, True, "2", 4_097):
        with pytest.raises(InvalidQuery, match="shards must be a whole number from 1 to 4096"):
            wl.joins(frames, catalog, shards)  # type: ignore[arg-type]
    with pytest.raises(InvalidQuery, match="times is as in"):
        wl.joins(frames, catalog, times=2)  # type: ignore[arg-type]
    with pytest.raises(UnknownStream, match="'t'"):
        wl.joins(frames, catalog, times={"t": 2})
    with pytest.raises(InvalidQuery, match="at least once"):
        wl.joins(frames, catalog, times={"r": 0})
    with pytest.raises(InvalidQuery, match="state is a folder"):
        wl.joins(frames, catalog, state=5)  # type: ignore[arg-type]
    clash = Catalog.of([
        "CREATE STREAM a (id BIGINT, b_c DOUBLE, ts TIMESTAMP) OBJECT id TIME ts",
        "CREATE STREAM a_b (id BIGINT, c DOUBLE, ts TIMESTAMP) OBJECT id TIME ts",
    ])  # fmt: skip
    named = {"a": df.selectExpr("id", "x AS b_c", "ts"), "a_b": df.selectExpr("id", "x AS c", "ts")}
    with pytest.raises(InvalidQuery, match="two columns of the result are called 'a_b_c'"):
        wl.joins(named, clash)
