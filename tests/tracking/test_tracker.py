"""The tracker at its edges: bytes, refused calls, ties, huge times, keys that change, many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watchline as wl
from tests.support.ledgers import (
    NOON,
    QUERIES,
    SECOND,
    Asked,
    Row,
    Told,
    Twin,
    attr,
    compared,
    declaration,
    fleet,
    replayed,
    table,
    told,
)
from watchline.catalog import Catalog
from watchline.errors import InvalidState, UnknownVersion
from watchline.rows import blob as blobs
from watchline.tracking import queries
from watchline.tracking.tracker import Saved

MAX = 2**63 - 1


def car(object_id: Any, x: float, moment: int, **more: Any) -> Row:
    row = {"id": object_id, "x": x, "y": 0.0, "speed": 0.0, "n": 0, "kind": "car", "ts": moment}
    return row | more


def signs(changes: list[Told]) -> list[tuple[str, int]]:
    return [(query_id, sign) for query_id, sign, *_ in changes]


LEFT = Asked("left", "WHERE x < 50", compared("x", "<", 50.0))


# --- against the oracle


@pytest.mark.parametrize("kind", ["BIGINT", "STRING"])
@pytest.mark.parametrize("timeout", [None, 20 * SECOND])
def test_all_kinds_of_queries(kind: str, timeout: int | None) -> None:
    """Batches that overlap in time, so that rows are late, with a query gone and one replaced."""
    twin = Twin(kind, timeout, QUERIES)
    rows = fleet(400, kind)
    for start in range(0, 400, 80):
        piece = rows[start : start + 80]
        twin.process(piece[::2])
        twin.process(piece[1::2])
        if start == 80:
            twin.drop("zone")
            twin.register(Asked("box", "INSIDE (0, 0, 30, 30)", region=("box", 0, 0, 30, 30)))
        if start == 160:
            twin.tracker = wl.Tracker.restore(twin.catalog, "cars", twin.tracker.snapshot())
    stats = twin.tracker.stats()
    assert stats["late"] > 20
    assert stats["rejected"] > 10
    assert stats["changes"] > 500


def test_ties_go_by_attributes() -> None:
    """Rows of one object at one moment: in any order they give the same, the largest row last."""
    rows = [car(1, x, NOON, kind=kind) for x in (70.0, 30.0, 50.0) for kind in ("a", None, "b")]
    for order in (rows, rows[::-1], rows[4:] + rows[:4]):
        twin = Twin(queries=[LEFT])
        found = twin.process(order)
        assert signs(found) == [("left", 1), ("left", -1)]
        assert twin.process([car(1, 70.0, NOON, kind="b")]) == []


def test_identical_rows_change_nothing() -> None:
    twin = Twin(queries=[LEFT])
    assert signs(twin.process([car(1, 10.0, NOON)] * 1_000)) == [("left", 1)]
    assert twin.process([car(1, 10.0, NOON)] * 3) == []
    assert twin.tracker.stats()["rows"] == 1_003


def test_one_key_gives_way_to_another() -> None:
    trucks = Asked("trucks", "WHERE kind = 'truck'", compared("kind", "=", "truck"))
    cars = Asked("cars", "WHERE kind = 'car'", compared("kind", "=", "car"))
    near = Asked(
        "near",
        "WHERE kind = 'truck' AND x < 50",
        ("and", compared("kind", "=", "truck"), compared("x", "<", 50.0)),
    )
    twin = Twin(queries=[trucks, cars, near])
    steps = [
        ("truck", 10.0),
        ("car", 10.0),
        ("truck", 60.0),
        ("truck", 10.0),
        (None, 1.0),
        ("", 1.0),
    ]
    found = [signs(twin.process([car(1, x, NOON + i, kind=k)])) for i, (k, x) in enumerate(steps)]
    assert [sorted(changes) for changes in found] == [
        [("near", 1), ("trucks", 1)],
        [("cars", 1), ("near", -1), ("trucks", -1)],
        [("cars", -1), ("trucks", 1)],
        [("near", 1)],
        [("near", -1), ("trucks", -1)],
        [],
    ]
    # The same in one batch.
    twin = Twin(queries=[trucks, cars, near])
    rows = [car(1, x, NOON + i, kind=k) for i, (k, x) in enumerate(steps)]
    assert sorted(signs(twin.process(rows))) == sorted(c for changes in found for c in changes)


def test_several_keys_of_one_query_are_one_answer() -> None:
    """An object that moves among the values of an IN stays in the answer."""
    kinds = ("truck", "bus", "🚕")
    where = ("in", attr("kind"), [("const", k) for k in kinds])
    twin = Twin(queries=[Asked("heavy", "WHERE kind IN ('truck', 'bus', '🚕')", where)])
    rows = [car(1, 0.0, NOON + i, kind=k) for i, k in enumerate([*kinds, "car", "bus", "truck"])]
    assert signs(twin.process(rows)) == [("heavy", 1), ("heavy", -1), ("heavy", 1)]
    twin = Twin(queries=[Asked("heavy", "WHERE kind IN ('truck', 'bus', '🚕')", where)])
    assert [signs(twin.process([row])) for row in rows] == [
        [("heavy", 1)], [], [], [("heavy", -1)], [("heavy", 1)], []
    ]  # fmt: skip


def test_the_object_id_as_a_key() -> None:
    where = ("and", compared("id", "=", 7), compared("x", "<", 50.0))
    twin = Twin(queries=[Asked("mine", "WHERE id = 7 AND x < 50", where)])
    rows = [car(i, float(10 * i + step), NOON + step) for step in range(3) for i in range(1, 9)]
    assert twin.process(rows) == []
    assert signs(twin.process([car(7, 1.0, NOON + 9), car(8, 1.0, NOON + 9)])) == [("mine", 1)]


def test_a_replacement_that_changes_nothing() -> None:
    twin = Twin(queries=[LEFT])
    twin.process([car(i, 10.0 * i, NOON + i) for i in range(10)])
    assert twin.register(LEFT) == []
    # Another text, the same answer.
    assert twin.register(Asked("left", "WHERE x <= 49", compared("x", "<=", 49.0))) == []
    moved = twin.register(Asked("left", "WHERE x < 40", compared("x", "<", 40.0)))
    assert [(*c[:3], c[4]) for c in moved] == [("left", -1, 4, "dropped")]
    where = ("and", compared("x", ">=", 30.0), compared("x", "<", 60.0))
    moved = twin.register(Asked("left", "WHERE x >= 30 AND x < 60", where))
    assert sorted((*c[1:3], c[4]) for c in moved) == [
        (-1, 0, "dropped"), (-1, 1, "dropped"), (-1, 2, "dropped"),
        (1, 4, "registered"), (1, 5, "registered"),
    ]  # fmt: skip


def test_a_query_whose_life_is_over() -> None:
    """It is closed once, at its end; dropping or replacing it later closes nothing."""
    brief = Asked("brief", "WHERE x < 50", compared("x", "<", 50.0), lifetime=10)
    twin = Twin()
    twin.process([car(1, 1.0, NOON)])
    assert signs(twin.register(brief)) == [("brief", 1)]
    # At the very end it still counts.
    assert signs(twin.process([car(2, 1.0, NOON + 10)])) == [("brief", 1)]
    ended = twin.process([car(3, 1.0, NOON + 11)])
    assert sorted(c[:5] for c in ended) == [
        ("brief", -1, 1, NOON + 10, "dropped"),
        ("brief", -1, 2, NOON + 10, "dropped"),
    ]
    assert twin.process([car(1, 70.0, NOON + 12), car(1, 1.0, NOON + 13)]) == []
    assert twin.drop("brief") == []
    # Registered anew it lives again, from now.
    assert len(twin.register(brief)) == 3
    assert twin.process([car(1, 1.0, NOON + 23)]) == []
    assert len(twin.process([car(1, 1.0, NOON + 24)])) == 3
    # What replaces an ended query opens; nothing is there to close.
    assert {c[1] for c in twin.register(LEFT)} == {1}
    assert {c[1] for c in twin.register(Asked("brief", "WHERE x < 50", LEFT.where))} == {1}


# --- times


@pytest.mark.parametrize("start", [0, -5, -62_135_596_800_000_000, 253_402_300_799_000_000])
def test_times_near_and_far(start: int) -> None:
    """Around 1970, in the year 1 and in the year 9999."""
    brief = Asked("brief", "WHERE x < 50", compared("x", "<", 50.0), lifetime=7)
    twin = Twin(timeout=5, queries=[LEFT, brief])
    twin.process([car(1, 1.0, start)])
    # Older than the newest, but no object's last row: not late, and the newest stays.
    twin.process([car(2, 1.0, start - 3)])
    assert twin.tracker.newest == start
    twin.process([car(3, 1.0, start - 6)])
    assert twin.tracker.stats()["late"] == 1
    twin.process([car(2, 2.0, start + 4)])
    assert len(twin.process([car(2, 60.0, start + 9)])) == 4


@pytest.mark.parametrize("start", [-(2**63), -(2**63) + 4, MAX - 20 * SECOND, MAX - 9])
def test_times_at_the_ends_of_the_range(start: int) -> None:
    """No sum of a time and an interval turns around."""
    brief = Asked("brief", "WHERE x < 50", compared("x", "<", 50.0), lifetime=15 * SECOND)
    twin = Twin(timeout=10 * SECOND, queries=[LEFT, brief])
    assert len(twin.process([car(1, 1.0, start)])) == 2
    assert twin.process([car(1, 2.0, start + 3)]) == []
    assert len(twin.process([car(2, 2.0, start + 9)])) == 2
    assert twin.tracker.stats()["objects"] == 2


def test_units_and_zones_of_time() -> None:
    """Seconds, milli-, micro- and nanoseconds, with a zone or without, are the same moments."""
    for kind in (pa.timestamp("s"), pa.timestamp("ms", "Asia/Tokyo"), pa.timestamp("ns", "UTC")):
        twin = Twin(queries=[LEFT])
        rows = table([car(1, 1.0, NOON)])
        cast = rows["ts"].cast(pa.timestamp("us", kind.tz)).cast(kind)
        found = told(twin.tracker.process(rows.set_column(6, "ts", cast)))
        assert [c[:4] for c in found] == [("left", 1, 1, NOON)]


# --- refused calls


def rows_of(**columns: Any) -> pa.Table:
    rows = table([car(1, 60.0, NOON + 1), car(2, 60.0, NOON + 1)])
    for name, column in columns.items():
        place = rows.column_names.index(name)
        rows = rows.remove_column(place)
        if column is not None:
            rows = rows.add_column(place, name, column)
    return rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (rows_of(x=None), "no column 'x'"),
        (rows_of(x=pa.array(["a", "b"])), "column 'x' is string"),
        (rows_of(id=pa.array([1.0, 2.0])), "column 'id' is double"),
        (rows_of(ts=pa.array([1, 2])), "column 'ts' is int64"),
        (rows_of(ts=pa.array([MAX, MAX], pa.timestamp("s"))), "column 'ts'"),
        (rows_of().append_column("x", pa.array([1.0, 2.0])), "2 columns 'x'"),
    ],
)
def test_refused_rows_leave_everything_as_it_was(rows: pa.Table, message: str) -> None:
    twin = Twin(queries=QUERIES)
    twin.process(fleet(100))
    before, stats = twin.tracker.snapshot(), twin.tracker.stats()
    with pytest.raises(wl.WatchlineError, match=message):
        twin.tracker.process(rows)
    assert twin.tracker.snapshot() == before
    assert twin.tracker.stats() == stats
    twin.process(fleet(50, seed=1))


@pytest.mark.parametrize("version", [99, 1, 0, -1, "3", None, 3.5])
def test_refused_versions_leave_everything_as_it_was(version: Any) -> None:
    twin = Twin(queries=[LEFT])
    twin.process([car(1, 1.0, NOON)])
    before = twin.tracker.snapshot()
    with pytest.raises(UnknownVersion):
        twin.tracker.advance_to(version)
    assert twin.tracker.snapshot() == before
    twin.register(QUERIES[0])
    assert twin.tracker.advance_to(twin.catalog.version).num_rows == 0


OWN = ["query_id", "sign", "object_id", "time", "reason", "distance"]


@pytest.mark.parametrize("name", [*OWN, "Distance", "TIME"])
def test_an_attribute_with_the_name_of_a_result_column(name: str) -> None:
    """It comes out with the name of the stream before it; Spark has no case in names."""
    catalog = Catalog.of(
        f"CREATE STREAM s (id BIGINT, {name} BIGINT, ts TIMESTAMP) OBJECT id TIME ts;"
        f"CREATE QUERY q AS SELECT * FROM s WHERE {name} < 9 EMIT CHANGES"
    )
    rows = pa.table({"id": [1], name: [7], "ts": pa.array([NOON], pa.timestamp("us", "UTC"))})
    tracker = wl.Tracker(catalog, "s")
    assert tracker.advance_to(tracker.version).column_names == [*OWN, "id", f"s_{name}", "ts"]
    [change] = tracker.process(rows).to_pylist()
    assert (change["query_id"], change["sign"], change["object_id"]) == ("q", 1, 1)
    assert (change["reason"], change["distance"], change[f"s_{name}"]) == ("enter", None, 7)


def test_an_object_and_a_time_with_the_names_of_result_columns() -> None:
    catalog = Catalog.of(
        "CREATE STREAM s (object_id STRING, v DOUBLE, time TIMESTAMP) OBJECT object_id TIME time;"
        "CREATE QUERY q AS SELECT * FROM s WHERE v < 9 EMIT CHANGES"
    )
    rows = {"object_id": ["a", "b"], "v": [1.0, 10.0]}
    times = pa.array([NOON, NOON + 1], pa.timestamp("us", "UTC"))
    [change] = wl.Tracker(catalog, "s").process(pa.table({**rows, "time": times})).to_pylist()
    assert change["object_id"] == change["s_object_id"] == "a"
    assert change["time"] == change["s_time"] == times[0].as_py()


def test_two_attributes_for_one_column_of_the_result() -> None:
    catalog = Catalog.of(
        "CREATE STREAM s (id BIGINT, reason STRING, S_Reason STRING, ts TIMESTAMP)"
        " OBJECT id TIME ts"
    )
    with pytest.raises(wl.InvalidQuery, match=r"'reason' of stream 's'.* come out as 's_reason'"):
        wl.Tracker(catalog, "s")


# --- versions


@pytest.mark.slow
@pytest.mark.parametrize("count", [queries.STEPS - 1, queries.STEPS, queries.STEPS + 1, 200])
def test_many_versions_at_once(count: int) -> None:
    """A tracker may be any number of versions behind; what came and went between opens nothing."""
    catalog = Catalog.of(declaration())
    tracker = wl.Tracker(catalog, "cars")
    found = told(tracker.process(table([car(1, 1.0, NOON)])))
    catalog.execute(LEFT.text)
    for i in range(count - 1):
        name = f"q{i % 10}"
        catalog.execute(Asked(name, "WHERE x < 50", LEFT.where).replacement)
    found += told(tracker.advance_to(catalog.version))
    assert tracker.version == count + 1
    names = {"left", *(f"q{i % 10}" for i in range(count - 1))}
    assert replayed(found) == {name: {1} for name in names}
    catalog.drop("left")
    assert [c[:3] for c in told(tracker.advance_to(catalog.version))] == [("left", -1, 1)]


def test_many_versions_for_several_trackers() -> None:
    """Two shards that share their queries follow one after the other."""
    catalog = Catalog.of(declaration())
    shared = queries.ChangeQueries(catalog, "cars")
    trackers = [wl.Tracker.over(shared, catalog.identity) for _ in range(2)]
    for i, tracker in enumerate(trackers):
        tracker.process(table([car(i, 1.0, NOON)]))
    for i in range(queries.STEPS):
        catalog.execute(Asked(f"q{i}", "WHERE x < 50", LEFT.where).text)
    shared.advance(catalog.version)
    shared.advance(catalog.version)
    for i, tracker in enumerate(trackers):
        opened = told(tracker.advance_to(catalog.version))
        assert {c[1:3] for c in opened} == {(1, i)}
        assert len(opened) == queries.STEPS


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("steps", [1, 2])
def test_a_stream_that_is_declared_anew(at_once: bool, steps: int) -> None:
    """Its objects are forgotten, its answers closed; what comes is the new stream."""
    twin = Twin(queries=[LEFT])
    catalog, tracker = twin.catalog, twin.tracker
    twin.process([car(1, 1.0, NOON)])
    anew = declaration().replace("speed DOUBLE", "speed DOUBLE, colour STRING")
    texts = ["DROP QUERY left; DROP STREAM cars", f"{anew}; {LEFT.text}"]
    found = []
    for text in texts if steps == 2 else ["; ".join(texts)]:
        catalog.execute(text)
        if not at_once:
            found += told(tracker.advance_to(catalog.version))
    found += told(tracker.advance_to(catalog.version))
    assert [(*c[:3], c[4]) for c in found] == [("left", -1, 1, "dropped")]
    assert len(tracker) == 0
    assert [a.name for a in tracker.stream.attributes][4] == "colour"
    rows = table([car(2, 1.0, NOON)]).add_column(4, "colour", pa.array(["red"]))
    [change] = tracker.process(rows).to_pylist()
    assert (change["object_id"], change["colour"]) == (2, "red")
    again = wl.Tracker.restore(catalog, "cars", tracker.snapshot())
    assert len(again) == 1


def test_a_stream_that_was_declared_anew_after_the_snapshot() -> None:
    """Also where the queries that a state meets are ahead of it, as on Spark."""
    twin = Twin(queries=[LEFT])
    twin.process([car(1, 1.0, NOON)])
    blob, version = twin.tracker.snapshot(), twin.catalog.version
    anew = declaration().replace("speed DOUBLE", "speed DOUBLE, colour STRING")
    twin.catalog.execute(f"DROP QUERY left; DROP STREAM cars; {anew}; {LEFT.text}")
    ahead = queries.ChangeQueries(twin.catalog, "cars", version)
    ahead.advance(twin.catalog.version)
    for again in (
        wl.Tracker.restore(twin.catalog, "cars", blob),
        wl.Tracker.resume(ahead, Saved.of(blob, twin.catalog.identity, "cars")),
    ):
        assert [c[:3] for c in told(again.advance_to(twin.catalog.version))] == [("left", -1, 1)]
        assert len(again) == 0
        rows = table([car(2, 1.0, NOON)]).add_column(4, "colour", pa.array(["red"]))
        assert again.process(rows)["colour"].to_pylist() == ["red"]


# --- bytes


def test_a_snapshot_is_the_whole_state() -> None:
    """Counters, times and lives included; the snapshot of the restored tracker is the same."""
    twin = Twin("STRING", 20 * SECOND, QUERIES)
    twin.process(fleet(200, "STRING"))
    blob = twin.tracker.snapshot()
    again = wl.Tracker.restore(twin.catalog, "cars", blob)
    assert again.snapshot() == blob
    # What objects and queries take depends on how they came here, and on what was built since.
    bytes_of = {"bytes": 0, "query_bytes": 0}
    assert {**again.stats(), **bytes_of} == {**twin.tracker.stats(), **bytes_of}
    twin.tracker = again
    twin.process(fleet(400, "STRING")[200:])


def test_a_tracker_without_rows_has_a_snapshot() -> None:
    twin = Twin(queries=[QUERIES[-1]])
    twin.tracker = wl.Tracker.restore(twin.catalog, "cars", twin.tracker.snapshot())
    assert twin.tracker.newest is None
    twin.process(fleet(200))


def test_damage_is_noticed_wherever_it_is() -> None:
    twin = Twin("STRING", 5, [LEFT])
    twin.process([car("ä", 1.0, NOON), car("b", 2.0, NOON + 1)])
    blob = twin.tracker.snapshot()
    for place in range(len(blob)):
        for bits in (0x01, 0x80, 0xFF):
            damaged = bytearray(blob)
            damaged[place] ^= bits
            with pytest.raises(InvalidState):
                wl.Tracker.restore(twin.catalog, "cars", bytes(damaged))
    for end in range(len(blob)):
        with pytest.raises(InvalidState):
            wl.Tracker.restore(twin.catalog, "cars", blob[:end])
    with pytest.raises(InvalidState, match="damaged"):
        wl.Tracker.restore(twin.catalog, "cars", blob + b"\0")


@pytest.mark.parametrize("blob", ["text", None, 5, b"", b"watchline-state\n", b"\0" * 5_000])
def test_what_is_no_state(blob: Any) -> None:
    with pytest.raises(InvalidState, match="this is no state of a tracker"):
        wl.Tracker.restore(Catalog.of(declaration()), "cars", blob)


def test_a_state_may_come_as_any_bytes() -> None:
    twin = Twin(queries=[LEFT])
    twin.process([car(1, 1.0, NOON)])
    blob = twin.tracker.snapshot()
    for given in (bytearray(blob), memoryview(blob), pa.py_buffer(blob)):
        again = wl.Tracker.restore(twin.catalog, "cars", given)  # type: ignore[arg-type]
        assert len(again) == 1


def test_a_state_of_another_format(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = Twin(queries=[LEFT])
    blob = twin.tracker.snapshot()
    monkeypatch.setattr(blobs, "READ", (4, 5))
    with pytest.raises(InvalidState, match="the state has format 3, this program reads formats 4"):
        wl.Tracker.restore(twin.catalog, "cars", blob)


def test_a_state_of_the_format_before(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = Twin(queries=[LEFT])
    monkeypatch.setattr(blobs, "FORMAT", 2)
    blob = twin.tracker.snapshot()
    assert len(wl.Tracker.restore(twin.catalog, "cars", blob)) == len(twin.tracker)


def test_a_state_of_something_else(tmp_path: Any) -> None:
    catalog = Catalog(tmp_path / "one")
    catalog.execute(f"{declaration()}; {declaration(name='vans')}")
    blob = wl.Tracker(catalog, "cars").snapshot()
    other = Catalog(tmp_path / "two")
    other.execute(declaration())
    with pytest.raises(InvalidState, match="another catalog"):
        wl.Tracker.restore(other, "cars", blob)
    with pytest.raises(InvalidState, match="belongs to stream 'cars', not to 'vans'"):
        wl.Tracker.restore(catalog, "vans", blob)
    assert len(wl.Tracker.restore(Catalog(tmp_path / "one"), "cars", blob)) == 0


# --- many


def test_one_object_a_million_times() -> None:
    n = 1_000_000
    catalog = Catalog.of([declaration(timeout=2 * SECOND), LEFT.text])
    tracker = wl.Tracker(catalog, "cars")
    x = np.where(np.arange(n) % 4 < 2, 10.0, 60.0)
    tracker.process(many(np.array([5]), x[:1], np.array([NOON - 1])))
    changes = tracker.process(many(np.full(n, 5), x, NOON + np.arange(n)))
    assert changes.num_rows == n // 2 - 1
    assert changes["sign"].to_pylist()[:4] == [-1, 1, -1, 1]
    assert len(tracker) == 1


@pytest.mark.slow
def test_a_million_objects_once() -> None:
    n = 1_000_000
    catalog = Catalog.of([declaration(timeout=2 * SECOND), LEFT.text])
    tracker = wl.Tracker(catalog, "cars")
    x = np.arange(n) % 100 + 0.0
    changes = tracker.process(many(np.arange(n)[::-1].copy(), x, NOON + np.arange(n)))
    assert changes.num_rows == n // 2
    assert len(tracker) == n
    again = wl.Tracker.restore(catalog, "cars", tracker.snapshot())
    # Nobody reports any more: all time out in one batch.
    gone = again.process(many(np.array([-1]), np.array([60.0]), np.array([NOON + 10 * SECOND])))
    assert gone.num_rows == n // 2
    assert set(gone["reason"].unique().to_pylist()) == {"expired"}
    assert len(again) == 1


def many(ids: Any, x: Any, times: Any) -> pa.Table:
    n = len(ids)
    zeros = np.zeros(n)
    return pa.table(
        {
            "id": ids,
            "x": x,
            "y": zeros,
            "speed": zeros,
            "n": np.zeros(n, np.int64),
            "kind": pa.array(["car"] * n),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )
