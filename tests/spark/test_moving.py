"""Moving ranges and nearest neighbours on Spark give the oracle's ledger (I1, I2).

In batch or stream, however cut, in any shards, while queries of every kind replace each other, and
through restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import watchline as wl
from tests.support.ledgers import (
    NOON,
    QUERIES,
    SECOND,
    Asked,
    Row,
    Told,
    declaration,
    fleet,
    moving,
    replayed,
    same,
    told,
)
from tests.support.strategies import constant_sql
from tests.support.streaming import Stream, batch, catalog_at, metrics, oracle, wanted
from watchline.errors import EngineError

pytestmark = pytest.mark.spark

TIMEOUT = 20 * SECOND


def every(kind: str) -> list[Asked]:
    return [*QUERIES, *moving(kind)]


def answers(ledger: Any) -> dict[str, set[Any]]:
    return {name: who for name, who in ledger.answers.items() if who}


# --- the oracle's ledger


@pytest.mark.parametrize(
    ("kind", "shards", "timeout"),
    [("BIGINT", 1, TIMEOUT), ("STRING", 2, None), ("BIGINT", 7, TIMEOUT)],
)
def test_batch(
    spark: SparkSession, tmp_path: Path, kind: str, shards: int, timeout: int | None
) -> None:
    catalog = catalog_at(tmp_path / "catalog", kind, timeout, every(kind))
    rows = fleet(500, kind, seed=21)
    ledger = oracle(kind, timeout, every(kind))
    right = wanted(ledger.process(rows), kind)
    for asked in moving(kind):
        assert sum(c[0] == asked.id for c in right) > 20
    # Rows come in any order, from any number of partitions.
    df = batch(spark, rows[::-1], kind).repartition(3)
    same(told(wl.changes(df, catalog, "cars", shards).toArrow()), right)


@pytest.mark.parametrize(
    ("kind", "files", "shards", "timeout"),
    [
        ("BIGINT", 1, 2, TIMEOUT),
        ("STRING", 2, 7, TIMEOUT),
        ("STRING", 3, 1, None),
        ("BIGINT", 6, 7, None),
    ],
)
def test_streaming_gives_the_same_however_cut(
    stream: Stream, kind: str, files: int, shards: int, timeout: int | None
) -> None:
    """Also the counters of every batch, however many shards have a part in it."""
    stream.kind = kind
    catalog = catalog_at(stream.folder / "catalog", kind, timeout, every(kind))
    rows = fleet(400, kind, seed=22)
    cuts = [1, 60, 61, 250, 399]
    stream.cut(rows, cuts)
    query = stream.run(wl.changes(stream.rows(files), catalog, "cars", shards))
    ledger = oracle(kind, timeout, every(kind))
    right: list[Told] = []
    counts = []
    for start, end in pairwise([0, *cuts[files - 1 :: files], len(rows)]):
        if start == end:
            continue
        rejected = ledger.counters["rejected"]
        piece = wanted(ledger.process(rows[start:end]), kind)
        right += piece
        size = sum(map(len, ledger.answers.values()))
        rejected = ledger.counters["rejected"] - rejected
        counts.append((end - start, rejected, len(piece), len(ledger.live), size))
    found = stream.told()
    same(found, right)
    assert replayed(found) == answers(ledger)
    names = ("rows", "rejected", "changes", "objects", "answers")
    assert [tuple(m[name] for name in names) for m in metrics(query)] == counts


def test_late_rows_move_nothing(stream: Stream) -> None:
    """Also those of focal objects, which shards that do not own them must know to be late."""
    catalog = catalog_at(stream.folder / "catalog", "BIGINT", TIMEOUT, every("BIGINT"))
    rows = fleet(300, seed=23)
    pieces = [rows[:100], rows[50:150], rows[250:], rows[:250:3], rows[200:250]]
    for piece in pieces:
        stream.put(piece)
    query = stream.run(wl.changes(stream.rows(1), catalog, "cars", 3))
    ledger = oracle("BIGINT", TIMEOUT, every("BIGINT"))
    same(stream.told(), [c for piece in pieces for c in wanted(ledger.process(piece))])
    counted = metrics(query)
    assert sum(m["late"] for m in counted) == ledger.counters["late"] > 50
    assert sum(m["rejected"] for m in counted) == ledger.counters["rejected"] > 5
    assert counted[-1]["answers"] == sum(map(len, ledger.answers.values()))


# --- a catalog that moves


class Job:
    """A running stream and the oracle, to which the same things happen."""

    def __init__(self, stream: Stream, kind: str, timeout: int | None, shards: int):
        stream.kind = kind
        self.stream, self.kind, self.shards = stream, kind, shards
        self.catalog = catalog_at(stream.folder / "catalog", kind, timeout, [])
        self.ledger = oracle(kind, timeout, [])
        self.right: list[Told] = []
        self._query: Any = None
        # Rows that are not told yet: a version may come before them or after.
        self._open = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """What happens meanwhile is told; in the end all of it was."""
        self._query = self.stream.start(self._changes())
        try:
            yield
            self.told()
        finally:
            self._query.stop()

    def _changes(self) -> Any:
        return wl.changes(self.stream.rows(), self.catalog, "cars", self.shards)

    def run(self) -> None:
        """Once, with all there is."""
        self._query = self.stream.run(self._changes())
        self._agree()

    def told(self) -> None:
        self._query.processAllAvailable()
        self._agree()

    def _agree(self) -> None:
        self._open = False
        found = self.stream.told()
        same(found, self.right)
        # What is told of one object in one query is told in order.
        assert replayed(found) == answers(self.ledger)
        last = metrics(self._query)[-1]
        assert last["answers"] == sum(map(len, self.ledger.answers.values()))
        assert last["objects"] == len(self.ledger.live)

    def put(self, rows: list[Row]) -> None:
        self.stream.put(rows)
        self._open = True
        self.right += wanted(self.ledger.process(rows), self.kind)

    def ask(self, *asked: Asked) -> None:
        """One version, which replaces what is known."""
        assert not self._open
        self.catalog.execute("; ".join(one.replacement for one in asked))
        known = [one.id for one in asked if one.id in self.ledger.registered]
        changes = self.ledger.version(known, [one.spec for one in asked])
        self.right += wanted(changes, self.kind)

    def drop(self, *names: str) -> None:
        assert not self._open
        self.catalog.execute("; ".join(f"DROP QUERY {name}" for name in names))
        self.right += wanted(self.ledger.version(drops=names), self.kind)


def box(name: str, x: float = 20.0, **more: Any) -> Asked:
    region = ("box", x, 20.0, x + 40.0, 70.0)
    return Asked(name, f"INSIDE ({x}, 20, {x + 40}, 70)", region=region, **more)


def around(name: str, focal: Any, radius: float, **more: Any) -> Asked:
    sql = f"INSIDE CIRCLE ('M', {constant_sql(focal, False)}, {radius})"
    return Asked(name, sql, region=("mcircle", focal, radius), **more)


def near(name: str, k: int, x: float, y: float, **more: Any) -> Asked:
    return Asked(name, f"kNN ({k}, {x}, {y})", knn=("knn", k, x, y), **more)


def near_focal(name: str, k: int, focal: Any, **more: Any) -> Asked:
    sql = f"kNN ('M', {k}, {constant_sql(focal, False)})"
    return Asked(name, sql, knn=("mknn", k, focal), **more)


@pytest.mark.parametrize(("kind", "shards"), [("STRING", 2), ("BIGINT", 7)])
def test_a_running_stream_follows_the_catalog(stream: Stream, kind: str, shards: int) -> None:
    """Queries of every kind replace each other, alone or with rows in the same batch."""
    job = Job(stream, kind, TIMEOUT, shards)
    a, b, c = (2**63 - 1, -(2**63), 0) if kind == "BIGINT" else ("it's", "🚕", "")
    rows = iter(fleet(500, kind, seed=24))

    def more(count: int = 40) -> list[Row]:
        return [next(rows) for _ in range(count)]

    job.ask(QUERIES[0], box("box"))
    with job.running():
        job.put(more())
        job.told()
        # Those that move wait for their focal objects; the others open at once.
        job.ask(*moving(kind))
        job.told()
        job.put(more(20))
        job.told()
        # From kNN to static and back, and to what moves; k grows, and the centre goes elsewhere.
        job.ask(box("near"), near("box", 3, 50.0, 50.0), near("centre", 6, 10.0, 80.0))
        job.ask(near_focal("convoy", 3, a), around("slow", b, 35.0))
        job.put(more())
        job.told()
        # With rows in the same batch; with the same focal object, and with another.
        job.ask(near_focal("near", 2, c), around("convoy", a, 30.0), near_focal("slow", 4, b))
        job.ask(around("escort", b, 20.0), near("tour", 2, 90.0, 10.0, lifetime=9 * SECOND))
        job.put(more())
        job.told()
        # There and back before any row, and what comes and goes.
        for asked in (box("centre"), near("centre", 2, 10.0, 10.0), around("centre", a, 9.0)):
            job.ask(asked)
        job.ask(near("centre", 4, 60.0, 60.0))
        job.ask(near_focal("brief", 9, c), around("inmost", c, 50.0))
        job.drop("brief", "both")
        job.put(more())
        job.told()
        # A kNN query becomes one that a row decides, and rows of that batch change its answer.
        job.ask(box("centre", 40.0), box("slow"), near("inmost", 5, 0.0, 0.0))
        job.put(more(60))
        # All but a few are gone: also focal objects, in shards that do not own them.
        late = [r | {"ts": r["ts"] + 5 * TIMEOUT} for r in more(9) if r["ts"] is not None]
        job.put(late)
        job.told()
        job.ask(*moving(kind))
        job.put([r | {"ts": r["ts"] + 6 * TIMEOUT} for r in more() if r["ts"] is not None])
        job.told()
        job.drop(*job.ledger.registered)
    assert answers(job.ledger) == {}
    assert {c[4] for c in job.right} == {"enter", "exit", "registered", "dropped", "expired"}


def test_a_hundred_versions_while_nothing_ran(
    stream: Stream, new_workers: Callable[[], None]
) -> None:
    """Workers that remember nothing follow them, the second shard behind the first."""
    job = Job(stream, "BIGINT", None, 2)
    job.ask(*moving())
    rows = fleet(150, seed=25)
    job.put(rows[:100])
    job.run()
    for i in range(100):
        name, k = f"q{i % 7}", 1 + i % 5
        life = None if i % 2 else (1 + i) * SECOND // 9
        kinds = [
            near(name, k, float(i), 50.0, lifetime=life),
            around(name, i % 3, float(i), lifetime=life),
            near_focal(name, k, i % 4, lifetime=life),
            box(name, float(i), lifetime=life),
        ]
        job.ask(kinds[i * 7 // 4 % 4])
        if i == 50:
            job.drop(name, "near")
    new_workers()
    job.put(rows[100:])
    job.run()


# --- a checkpoint


def car(object_id: Any, x: float, time: int, y: float = 0.0) -> Row:
    place = {"x": x, "y": y, "speed": 0.0, "n": 0, "kind": "car"}
    return {"id": object_id, **place, "ts": NOON + time}


def test_a_checkpoint_knows_who_waits_and_where_focal_objects_are(
    stream: Stream, new_workers: Callable[[], None]
) -> None:
    """Every batch is one of a new start, whose workers remember nothing."""
    job = Job(stream, "BIGINT", 1_000, 2)
    focal = 100

    def restarted() -> None:
        new_workers()
        job.run()

    crowd = [car(i, float(i), 50) for i in range(12)]
    job.ask(box("box", 0.0))
    job.put([car(focal, 2.0, 10), *crowd])
    restarted()
    # They wait, though the owner of the focal object knows where it is: from now on it counts.
    job.ask(around("circle", focal, 2.5), near_focal("near", 3, focal))
    restarted()
    assert answers(job.ledger) == {}
    # An older row of it starts nothing, wherever it is known or not.
    job.put([car(focal, 5.0, 40), car(3, 3.5, 51)])
    restarted()
    assert answers(job.ledger) == {}
    job.put([car(focal, 8.0, 60)])
    restarted()
    assert job.ledger.answers["circle"] == {6, 7, 8, 9, 10}
    # It is heard of: what replaces the one starts at once, what has another focal object waits.
    job.ask(near_focal("circle", 4, focal), around("near", 3, 4.0))
    # Others move, in every shard; the focal object stays where it was.
    job.put([car(i, float(12 - i), 70) for i in range(12) if i != 3])
    restarted()
    assert job.ledger.answers["circle"] == {2, 4, 5, 6}
    assert job.ledger.answers["near"] == set()
    # The focal object is gone at 1,060.
    job.put([*(car(i, float(i), 900) for i in range(12)), car(7, 7.0, 1_100)])
    restarted()
    assert job.ledger.answers["circle"] == set()
    assert {c[4] for c in job.right if c[0] == "circle"} >= {"registered", "exit", "expired"}


# --- a stream that is declared anew


def test_a_stream_that_is_declared_anew(stream: Stream) -> None:
    """What was in answers leaves them; then there is another stream with queries of every kind."""
    job = Job(stream, "BIGINT", None, 2)
    job.ask(*moving())
    rows = fleet(120, seed=26, odd=0)
    with job.running():
        job.put(rows[:60])
        job.told()
        job.drop(*job.ledger.registered)
        anew = [declaration(timeout=TIMEOUT), *(asked.text for asked in moving())]
        job.catalog.execute("; ".join(["DROP STREAM cars", *anew]))
        job.ledger = oracle("BIGINT", TIMEOUT, moving())
        job.put(rows[60:])


def test_a_stream_that_gets_points_while_it_runs(stream: Stream) -> None:
    """The job was not made to merge nearest neighbours: it says so, and a new start goes on."""
    flat = declaration().replace(" POINT (x, y)", "")
    catalog = wl.Catalog(stream.folder / "catalog")
    catalog.execute(f"{flat}; {QUERIES[0].text}")
    rows = fleet(100, seed=27, odd=0)
    stream.put(rows[:50])
    changes = wl.changes(stream.rows(), catalog, "cars", 2)
    stream.run(changes)
    opened = oracle("BIGINT", None, QUERIES[:1])
    right = wanted(opened.process(rows[:50]))
    same(stream.told(), right)
    right += wanted(opened.drop("fast"))
    catalog.execute(f"DROP QUERY fast; DROP STREAM cars; {declaration()}")
    catalog.execute("; ".join(asked.text for asked in moving()))
    stream.put(rows[50:])
    with pytest.raises(EngineError, match="'cars' has points now: start the job again"):
        stream.run(changes)
    stream.run(wl.changes(stream.rows(), catalog, "cars", 2))
    same(stream.told(), right + wanted(oracle("BIGINT", None, moving()).process(rows[50:])))
