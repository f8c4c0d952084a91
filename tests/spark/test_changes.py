"""`wl.changes` on Spark gives the oracle's ledger: batch or stream, however cut, in any shards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import watchline as wl
from tests.support.ledgers import (
    NOON,
    QUERIES,
    SECOND,
    Asked,
    Row,
    Told,
    attributes,
    compared,
    declaration,
    expected,
    fleet,
    replayed,
    same,
    table,
    told,
)
from tests.support.streaming import (
    Stream,
    batch,
    catalog_at,
    metrics,
    needs_waking,
    oracle,
    wanted,
)
from watchline.catalog import Catalog
from watchline.errors import EngineError, InvalidQuery, InvalidState, SchemaMismatch, WatchlineError
from watchline.rows import blob as blobs
from watchline.spark import shard_job
from watchline.spark.shard_state import FAN, KEPT, StateFiles
from watchline.spark.store import store_at

pytestmark = pytest.mark.spark

OWN = ["query_id", "sign", "object_id", "time", "reason", "distance"]
TIMEOUT = 20 * SECOND
NEAR = Asked("near", "WHERE x < 50", compared("x", "<", 50.0))


# --- the oracle's ledger


@pytest.mark.parametrize(
    ("kind", "shards", "timeout"),
    [("BIGINT", 1, None), ("STRING", 2, TIMEOUT), ("BIGINT", 7, TIMEOUT), ("STRING", 7, None)],
)
def test_batch(
    spark: SparkSession, tmp_path: Path, kind: str, shards: int, timeout: int | None
) -> None:
    catalog = catalog_at(tmp_path / "catalog", kind, timeout, QUERIES)
    rows = fleet(600, kind)
    ledger = oracle(kind, timeout, QUERIES)
    right = wanted(ledger.process(rows), kind)
    assert len(right) > 800
    assert ledger.counters["rejected"] > 10
    tracker = wl.Tracker(catalog, "cars")
    same(told(tracker.process(table(rows, kind))), right)
    # Rows come in any order, from any number of partitions.
    df = batch(spark, rows[::-1], kind).repartition(3)
    out = wl.changes(df, catalog, "cars", shards=shards)
    assert out.columns == [*OWN, *df.columns]
    found = told(out.toArrow())
    same(found, right)
    assert sorted({c[4] for c in found}) == sorted({c[4] for c in right})


@pytest.mark.parametrize(
    ("kind", "files", "shards"), [("BIGINT", 1, 2), ("STRING", 3, 7), ("STRING", 10, 1)]
)
def test_streaming_gives_the_same_however_cut(
    stream: Stream, kind: str, files: int, shards: int
) -> None:
    stream.kind = kind
    catalog = catalog_at(stream.folder / "catalog", kind, TIMEOUT, QUERIES)
    rows = fleet(600, kind, seed=3)
    stream.cut(rows, [1, 60, 61, 410, 599])
    query = stream.run(wl.changes(stream.rows(files), catalog, "cars", shards))
    ledger = oracle(kind, TIMEOUT, QUERIES)
    right = wanted(ledger.process(rows), kind)
    found = stream.told()
    same(found, right)
    assert replayed(found) == {name: who for name, who in ledger.answers.items() if who}
    counted = metrics(query)
    assert sum(m["rows"] for m in counted) == 600
    assert sum(m["rejected"] for m in counted) == ledger.counters["rejected"]
    assert sum(m["late"] for m in counted) == 0
    assert sum(m["changes"] for m in counted) == len(right)
    assert counted[-1]["objects"] == len(ledger.live)
    assert counted[-1]["answers"] == sum(map(len, ledger.answers.values()))
    assert len(counted) == -(-6 // files)


def test_late_rows_are_counted_and_change_nothing(stream: Stream) -> None:
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", TIMEOUT, QUERIES)
    rows = fleet(300, seed=5)
    pieces = [rows[:100], rows[50:150], rows[250:], rows[:250:5], rows[200:250]]
    for piece in pieces:
        stream.put(piece)
    query = stream.run(wl.changes(stream.rows(1), catalog, "cars", 3))
    ledger = oracle("BIGINT", TIMEOUT, QUERIES)
    right = [c for piece in pieces for c in wanted(ledger.process(piece))]
    same(stream.told(), right)
    counted = metrics(query)
    assert [m["rows"] for m in counted] == [len(piece) for piece in pieces]
    assert sum(m["late"] for m in counted) == ledger.counters["late"] > 50
    assert sum(m["rejected"] for m in counted) == ledger.counters["rejected"]


def test_time_outs_come_in_shards_without_rows(stream: Stream) -> None:
    """Thirty objects in seven shards; then one reports twice, and all others are gone."""
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", TIMEOUT, [NEAR])

    def row(object_id: int, moment: int) -> Row:
        place = {"x": 1.0, "y": 1.0, "speed": 0.0, "n": 0, "kind": "car"}
        return {"id": object_id, **place, "ts": NOON + moment}

    pieces = [
        [row(i, i) for i in range(30)],
        [row(3, TIMEOUT)],
        [row(3, TIMEOUT + 11)],
        [row(3, 3 * TIMEOUT)],
    ]
    for piece in pieces:
        stream.put(piece)
    stream.run(wl.changes(stream.rows(1), catalog, "cars", 7))
    found = stream.told()
    ledger = oracle("BIGINT", TIMEOUT, [NEAR])
    same(found, [c for piece in pieces for c in wanted(ledger.process(piece))])
    expired = sorted((c[2], c[3]) for c in found if c[4] == "expired")
    once = [(i, NOON + i + TIMEOUT) for i in range(30) if i != 3]
    assert expired == sorted([*once, (3, NOON + 2 * TIMEOUT + 11)])


@pytest.mark.parametrize("year", [1, 5000])
def test_far_times(stream: Stream, year: int) -> None:
    """A microsecond counts in any year, also where float64 knows only every sixteenth."""
    base = (year - 1970) * 31_556_952 * SECOND + 3
    queries = [NEAR, Asked("brief", "WHERE x < 50", compared("x", "<", 50.0), lifetime=28)]
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", 15, queries)
    rows = [r | {"ts": base + 3 * i} for i, r in enumerate(fleet(60, odd=0, objects=5))]
    stream.cut(rows, [7, 8, 30])
    stream.run(wl.changes(stream.rows(1), catalog, "cars", 2))
    right = wanted(oracle("BIGINT", 15, queries).process(rows))
    assert {"expired", "dropped"} <= {c[4] for c in right}
    same(stream.told(), right)
    same(told(wl.changes(batch(stream.spark, rows, "BIGINT"), catalog, "cars").toArrow()), right)


# --- a catalog that moves


@needs_waking
def test_a_running_stream_follows_the_catalog(stream: Stream) -> None:
    """Registered, replaced and dropped, with rows between or not: each opens and closes at once."""
    kind = "STRING"
    stream.kind = kind
    catalog = catalog_at(stream.folder / "catalog", kind, TIMEOUT, QUERIES[:2])
    ledger = oracle(kind, TIMEOUT, QUERIES[:2])
    rows = fleet(400, kind, seed=8)
    query = stream.start(wl.changes(stream.rows(), catalog, "cars", 3))
    right: list[Told] = []
    try:
        for step, what in enumerate("rq.rdq.qr.srqqdr."):
            if what == "r":
                piece = rows[20 * step : 20 * step + 20]
                stream.put(piece)
                right += wanted(ledger.process(piece), kind)
            elif what == "q":
                asked = QUERIES[2 + step % 10]
                known = asked.id in ledger.registered
                catalog.execute(asked.replacement)
                right += wanted(ledger.version([asked.id] if known else [], [asked.spec]), kind)
            elif what == "d":
                catalog.drop("fast" if step < 8 else "trucks")
                right += wanted(ledger.drop("fast" if step < 8 else "trucks"), kind)
            elif what == "s":
                # One that is replaced by something else, and one that comes and goes.
                asked = Asked("trucks", "WHERE x > 20", compared("x", ">", 20.0))
                catalog.execute(asked.replacement)
                right += wanted(ledger.version(["trucks"], [asked.spec]), kind)
                brief = Asked("brief", "WHERE x < 90", compared("x", "<", 90.0))
                catalog.execute(brief.text)
                right += wanted(ledger.register(brief.spec), kind)
                catalog.drop("brief")
                right += wanted(ledger.drop("brief"), kind)
            query.processAllAvailable()
            if what != ".":
                same(stream.told(), right)
    finally:
        query.stop()
    reasons = {c[4] for c in right}
    assert {"registered", "dropped", "expired", "enter", "exit"} <= reasons
    assert replayed(stream.told()) == {name: who for name, who in ledger.answers.items() if who}


def test_without_a_source_of_versions_a_registration_waits_for_rows(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on PySpark 4.0 and 4.1: the same changes, with the next rows."""
    monkeypatch.setattr(shard_job, "can_wake", lambda: False)
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", None, QUERIES[:1])
    ledger = oracle("BIGINT", None, QUERIES[:1])
    rows = fleet(100)
    with pytest.warns(UserWarning, match="takes effect with the next rows"):
        query = stream.start(wl.changes(stream.rows(), catalog, "cars", 2))
    try:
        stream.put(rows[:50])
        query.processAllAvailable()
        right = wanted(ledger.process(rows[:50]))
        same(stream.told(), right)
        catalog.execute(QUERIES[1].text)
        query.processAllAvailable()
        same(stream.told(), right)
        stream.put(rows[50:])
        query.processAllAvailable()
    finally:
        query.stop()
    right += wanted(ledger.register(QUERIES[1].spec))
    same(stream.told(), right + wanted(ledger.process(rows[50:])))


def test_a_hundred_versions_while_nothing_ran(
    stream: Stream, new_workers: Callable[[], None]
) -> None:
    """A stream that starts again is told of all that came and went meanwhile."""
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", None, QUERIES[:1])
    ledger = oracle("BIGINT", None, QUERIES[:1])
    rows = fleet(100)
    stream.put(rows[:50])
    stream.run(wl.changes(stream.rows(), catalog, "cars", 2))
    right = wanted(ledger.process(rows[:50]))
    for i in range(100):
        asked = Asked(f"q{i % 7}", f"WHERE x < {i}", compared("x", "<", float(i)))
        known = asked.id in ledger.registered
        catalog.execute(asked.replacement)
        right += wanted(ledger.version([asked.id] if known else [], [asked.spec]))
    new_workers()
    stream.put(rows[50:])
    stream.run(wl.changes(stream.rows(), catalog, "cars", 2))
    right += wanted(ledger.process(rows[50:]))
    same(stream.told(), right)


def test_speeds_between_rows(stream: Stream, new_workers: Callable[[], None]) -> None:
    """SPEED in shards, cut into batches, and with queries that come while nothing ran."""
    names = [name for name, _ in attributes() if name != "speed"]
    fast, near = compared("SPEED", ">", 1.0), ("mknn", 3, 2**63 - 1)
    first = [
        Asked(
            "fast", "WHERE SPEED > 1 INSIDE (10, 10, 90, 90)", fast, ("box", 10.0, 10.0, 90.0, 90.0)
        ),
        Asked("near", f"WHERE SPEED > 1 kNN ('M', 3, {2**63 - 1})", fast, knn=near),
        Asked("still", "WHERE SPEED IS NULL", ("isnull", ("attr", "SPEED"))),
    ]
    later = [
        Asked("late", "WHERE NOT SPEED > 1", ("not", fast)),
        Asked("convoy", f"WHERE SPEED > 1 INSIDE CIRCLE ('M', {2**63 - 1}, 40)", fast,
              ("mcircle", 2**63 - 1, 40.0)),
    ]  # fmt: skip
    catalog = Catalog(stream.folder / "catalog")
    catalog.execute(declaration(timeout=TIMEOUT).replace(" speed DOUBLE,", ""))
    for asked in first:
        catalog.execute(asked.text)
    ledger, rows = oracle("BIGINT", TIMEOUT, first), fleet(600, seed=7)
    ledger.stream.attributes.remove(("speed", "DOUBLE"))
    ledger.numeric.remove("speed")
    stream.cut(rows[:400], [30, 31, 200])
    stream.run(wl.changes(stream.rows(1).drop("speed"), catalog, "cars", 3))
    changes = ledger.process(rows[:400])
    for asked in later:
        catalog.execute(asked.text)
        changes += ledger.register(asked.spec)
    new_workers()
    stream.cut(rows[400:], [1, 77])
    stream.run(wl.changes(stream.rows(1).drop("speed"), catalog, "cars", 3))
    changes += ledger.process(rows[400:])
    found = stream.told()
    same(found, expected(changes, names))
    for asked in (*first, *later):
        assert {c[1] for c in found if c[0] == asked.id} == {-1, 1}


def test_a_list_of_statements(stream: Stream) -> None:
    texts = [declaration("BIGINT", TIMEOUT), *(asked.text for asked in QUERIES)]
    rows = fleet(300)
    right = wanted(oracle("BIGINT", TIMEOUT, QUERIES).process(rows))
    same(told(wl.changes(batch(stream.spark, rows, "BIGINT"), texts, "cars").toArrow()), right)
    stream.cut(rows, [100, 180])
    stream.run(wl.changes(stream.rows(1), texts, "cars", 2))
    same(stream.told(), right)
    # From the checkpoint, too; other statements are another catalog.
    stream.put(fleet(320)[300:])
    with pytest.raises(InvalidState, match="another catalog"):
        stream.run(wl.changes(stream.rows(1), texts[:-1], "cars", 2))
    stream.run(wl.changes(stream.rows(1), texts, "cars", 2))
    same(stream.told(), wanted(oracle("BIGINT", TIMEOUT, QUERIES).process(fleet(320))))


# --- large states


def crowd(count: int, start: int, x: float = 1.0) -> pa.Table:
    """So many objects, one row each."""
    place = {"x": x, "y": 1.0, "speed": 0.0, "n": 0, "kind": "a car of some kind"}
    return table([{"id": i, **place, "ts": NOON + start + i} for i in range(count)])


CROWD = 30_000


def started(stream: Stream, state: str | None) -> tuple[Catalog, Path]:
    """A stream whose only shard has a state of more than a megabyte, and the state's folder."""
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", None, [NEAR])
    stream.put(crowd(CROWD, 0))
    query = stream.run(wl.changes(stream.rows(1), catalog, "cars", 1, state))
    if state is not None:
        return catalog, Path(state) / query.id
    return catalog, stream.folder / "catalog" / "_runs" / query.id / "state"


@pytest.mark.parametrize("own", [True, False])
def test_a_large_state_is_a_file(
    stream: Stream, new_workers: Callable[[], None], own: bool
) -> None:
    state = str(stream.folder / "some" / "where") if own else None
    catalog, folder = started(stream, state)
    [file] = folder.glob("*.state")
    assert file.stat().st_size > 1 << 20
    assert file.name.startswith("0-0-")
    new_workers()
    # 1,000 of them leave, and one that nobody knew comes.
    stream.put(crowd(1_000, SECOND, 60.0))
    stream.put(crowd(CROWD + 1, SECOND).slice(CROWD))
    stream.run(wl.changes(stream.rows(1), catalog, "cars", 1, state))
    found = stream.told()
    assert len(found) == CROWD + 1_000 + 1
    right = {*range(1_000, CROWD + 1)}
    assert replayed(found) == {"near": right}
    assert sequences(folder, "state") == [0]
    assert sequences(folder, "delta") == [1, 2]
    # A batch writes what it changed: the last one had a single row.
    [last] = folder.glob("0-2-*.delta")
    assert last.stat().st_size < 1 << 13


def sequences(folder: Path, kind: str) -> list[int]:
    """The sequences of the files of a state."""
    return sorted(int(file.name.split("-")[1]) for file in folder.glob(f"*.{kind}"))


def test_old_state_files_are_deleted(stream: Stream, new_workers: Callable[[], None]) -> None:
    """Deltas that became one go when three more batches have passed."""
    catalog, folder = started(stream, None)
    (folder / f"0-2-{'f' * 32}.state").write_bytes(b"of a task that failed")
    last = FAN + KEPT + 1
    for i in range(last):
        stream.put(crowd(1, SECOND * (i + 1), 60.0 if i % 2 else 1.0))
    stream.run(wl.changes(stream.rows(1), catalog, "cars", 1))
    assert sequences(folder, "state") == [0]
    assert sequences(folder, "delta") == list(range(FAN, last + 1))
    new_workers()
    stream.put(crowd(1, 100 * SECOND))
    stream.run(wl.changes(stream.rows(1), catalog, "cars", 1))
    assert replayed(stream.told()) == {"near": set(range(CROWD))}


def test_a_state_that_is_missing_or_wrong(
    stream: Stream, tmp_path: Path, new_workers: Callable[[], None]
) -> None:
    """Each is refused with a reason, nothing is written, and the right state goes on."""
    catalog, folder = started(stream, None)
    [file] = folder.glob("*.state")
    good = file.read_bytes()
    stream.put(crowd(10, SECOND, 60.0))
    before = stream.told()

    def refused(message: str, shards: int = 1, of: Catalog = catalog) -> None:
        new_workers()
        with pytest.raises(InvalidState, match=message):
            stream.run(wl.changes(stream.rows(1), of, "cars", shards))
        assert stream.told() == before

    file.unlink()
    refused(rf"the state file {file.name} of the checkpoint is missing from .*: put it back")
    for damaged in (good[:-1], good[:5_000] + b"\xff" + good[5_001:]):
        file.write_bytes(damaged)
        refused("the state is damaged")
    file.write_bytes(b"")
    refused("this is no state of a tracker")
    older = len(blobs.MAGIC)
    file.write_bytes(good[:older] + b"\x00\x00" + good[older + 2 :])
    refused("the state has format 0, this program reads formats 2 and 3")
    file.write_bytes(good)
    refused("made with 1 shards, not 2: use shards = 1", shards=2)
    other = catalog_at(tmp_path / "other", "BIGINT", None, [NEAR])
    refused("belongs to another catalog", of=other)
    new_workers()
    stream.run(wl.changes(stream.rows(1), catalog, "cars", 1))
    assert replayed(stream.told()) == {"near": set(range(10, CROWD))}


def test_another_stream_of_the_same_catalog(
    stream: Stream, new_workers: Callable[[], None]
) -> None:
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", None, [NEAR])
    catalog.execute(declaration(name="vans"))
    stream.put(fleet(10))
    stream.run(wl.changes(stream.rows(1), catalog, "cars", 1))
    stream.put(fleet(10, seed=1))
    new_workers()
    with pytest.raises(InvalidState, match="the state belongs to stream 'cars', not to 'vans'"):
        stream.run(wl.changes(stream.rows(1), catalog, "vans", 1))


def test_files_of_a_state(tmp_path: Path) -> None:
    """Only what no batch can go back to is deleted, and only of the shard that asks."""
    files = StateFiles(store_at(str(tmp_path / "state")))
    names = [files.save(shard, n, f"{n:032x}", b"x" * n) for shard in (1, 11) for n in range(6)]
    assert [files.load(name) for name in names[:6]] == [b"x" * n for n in range(6)]
    files.tidy(1, 5)
    left = sorted(path.name.rsplit("-", 1)[0] for path in (tmp_path / "state").iterdir())
    assert left == sorted([*(f"1-{n}" for n in (3, 4, 5)), *(f"11-{n}" for n in range(6))])
    with pytest.raises(InvalidState, match="missing"):
        files.load(names[0])
    StateFiles(store_at(f"file://{tmp_path}/state")).tidy(11, 5)
    assert len(list((tmp_path / "state").iterdir())) == 6


# --- what comes out is a DataFrame


def test_the_result_composes(stream: Stream) -> None:
    """Filtered, joined with a table, without duplicates, in other partitions; batch and stream."""
    spark = stream.spark
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", TIMEOUT, QUERIES)
    rows = fleet(300, odd=0)
    stream.cut(rows, [100, 200])
    owners = spark.createDataFrame([("fast", "Ann"), ("box", "Bob"), ("lunch", "Cy")], "q string, who string")  # noqa: E501  # fmt: skip

    def composed(df: DataFrame) -> DataFrame:
        found = wl.changes(df, catalog, "cars", 3).where("sign > 0 AND reason = 'enter'")
        named = found.join(fn.broadcast(owners), found["query_id"] == owners["q"])
        picked = named.select("who", "object_id", fn.col("time").cast("long").alias("second"))
        return picked.dropDuplicates(["who", "object_id"]).select("who", "object_id").repartition(2)

    right = wanted(oracle("BIGINT", TIMEOUT, QUERIES).process(rows))
    who = {"fast": "Ann", "box": "Bob", "lunch": "Cy"}
    pairs = sorted({(who[c[0]], c[2]) for c in right if c[1] > 0 and c[0] in who})
    assert len(pairs) > 40
    out = composed(batch(spark, rows, "BIGINT")).collect()
    assert sorted((r["who"], r["object_id"]) for r in out) == pairs
    query = stream.run(composed(stream.rows(1)))
    streamed = stream.table().to_pylist()
    assert sorted((r["who"], r["object_id"]) for r in streamed) == pairs
    counted = metrics(query)
    # Counted before the filter.
    assert sum(m["changes"] for m in counted) == len(right)
    assert sum(m["rows"] for m in counted) == 300


def test_counters_of_a_batch(spark: SparkSession) -> None:
    from pyspark.sql import Observation

    rows = fleet(300)
    texts = [declaration("BIGINT", TIMEOUT), *(asked.text for asked in QUERIES)]
    ledger = oracle("BIGINT", TIMEOUT, QUERIES)
    changes = len(ledger.process(rows))
    seen = Observation("count")
    out = wl.changes(batch(spark, rows, "BIGINT"), texts, "cars", 5)
    out.observe(seen, fn.count(fn.lit(1)).alias("n")).collect()
    assert seen.get["n"] == changes


def test_one_operator_in_a_streaming_query(stream: Stream) -> None:
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", None, [NEAR])
    once = wl.changes(stream.rows(), catalog, "cars")
    for df in (once, once.where("sign > 0"), once.select(*[n for n, _ in attributes()])):
        with pytest.raises(EngineError, match=r"a streaming query can have one wl\.changes"):
            wl.changes(df, catalog, "cars")
    # A batch may have two: who entered is watched again.
    rows = fleet(100, odd=0)
    first = wl.changes(batch(stream.spark, rows, "BIGINT"), catalog, "cars").where("sign > 0")
    again = told(wl.changes(first, catalog, "cars").toArrow())
    assert {c[2] for c in again} == {r["id"] for r in rows if r["x"] < 50}


def test_what_is_refused(spark: SparkSession, stream: Stream) -> None:
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", None, [NEAR])
    df = batch(spark, fleet(5), "BIGINT")
    for rows in (df, stream.rows()):
        with pytest.raises(SchemaMismatch, match=r"column 'x' \(DOUBLE\) is missing"):
            wl.changes(rows.drop("x"), catalog, "cars")
        with pytest.raises(SchemaMismatch, match="column 'id' is double, not BIGINT: cast it"):
            wl.changes(rows.withColumn("id", fn.col("id").cast("double")), catalog, "cars")
        for shards in (0, -1, True, "2", 1.0, 4_097):
            with pytest.raises(InvalidQuery, match="shards must be a whole number from 1 to 4096"):
                wl.changes(rows, catalog, "cars", shards)  # type: ignore[arg-type]
    with pytest.raises(wl.UnknownStream, match="did you mean 'cars'"):
        wl.changes(df, catalog, "car")
    with pytest.raises(wl.CatalogError, match="there is no catalog"):
        wl.changes(df, "/nowhere/at/all", "cars")


def with_attribute(stream: Stream, name: str) -> tuple[list[str], DataFrame, DataFrame]:
    """A stream `s` with an attribute of this name, and rows of it as a stream and as a batch."""
    texts = [f"CREATE STREAM s (id BIGINT, {name} BIGINT, ts TIMESTAMP) OBJECT id TIME ts"]
    columns = ["id", fn.lit(7).cast("long").alias(name), "ts"]
    static = batch(stream.spark, fleet(3, odd=0), "BIGINT")
    return texts, stream.rows().select(columns), static.select(columns)


@pytest.mark.parametrize("name", ["_watchline_version", "_watchline_counts"])
def test_names_that_are_taken(stream: Stream, name: str) -> None:
    """Refused before anything runs, in batch and in stream."""
    texts, *both = with_attribute(stream, name)
    for rows in both:
        with pytest.raises(WatchlineError, match=f"attribute '{name}' of stream 's' is in the way"):
            wl.changes(rows, texts, "s")


def test_names_of_our_own_columns(stream: Stream) -> None:
    """Such attributes come out as `<stream>_<name>`, whatever the case of their letters, also where
    they are selected."""
    for name in (*OWN, "Distance"):
        texts, df, static = with_attribute(stream, name)
        for rows in (df, static):
            assert wl.changes(rows, texts, "s").columns == [*OWN, "id", f"s_{name}", "ts"]
    asked = "CREATE QUERY q AS SELECT Distance, id FROM s WHERE Distance = 7 EMIT CHANGES"
    out = wl.changes(static, [*texts, asked], "s")
    assert out.columns == [*OWN, "s_Distance", "id"]
    out.write.parquet(str(stream.folder / "written"))
    found = stream.spark.read.parquet(str(stream.folder / "written")).collect()
    assert [(r["distance"], r["s_Distance"]) for r in found] == [(None, 7)] * len(found) != []


def test_columns_besides_the_declared_ones(stream: Stream) -> None:
    """They are left out, whatever they are called; integers widen; any case of letters is exact."""
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", None, [NEAR])
    rows = fleet(50, odd=0, objects=4)[4:]
    rows = [r | {"id": abs(r["id"]) % 1_000} for r in rows]
    df = batch(stream.spark, rows, "BIGINT").withColumn("sign", fn.lit("x"))
    df = df.withColumn("id", fn.col("id").cast("int")).withColumn("weird `name`", fn.lit(1))
    out = wl.changes(df, catalog, "cars")
    assert out.columns == [*OWN, *(name for name, _ in attributes())]
    assert dict(out.dtypes)["object_id"] == "bigint"
    same(told(out.toArrow()), wanted(oracle("BIGINT", None, [NEAR]).process(rows)))


def test_nothing_in_nothing_out(spark: SparkSession, stream: Stream) -> None:
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", None, [NEAR])
    df = batch(spark, fleet(20), "BIGINT")
    assert wl.changes(df.limit(0), catalog, "cars").count() == 0
    assert wl.changes(df.where("x < -1"), catalog, "cars").count() == 0
    assert wl.changes(df, [declaration()], "cars").count() == 0
    stream.put([])
    query = stream.run(wl.changes(stream.rows(), catalog, "cars"))
    assert stream.told() == []
    assert all(m["objects"] == 0 for m in metrics(query))
