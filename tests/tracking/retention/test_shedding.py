"""Which objects are kept, given up and taken back, by small examples that a reader can follow."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watchline as wl
from tests.support.effort import seeds
from watchline.errors import InvalidQuery, InvalidRange, QuerySyntaxError
from watchline.model import Keep, Retention, Shed
from watchline.rows import Columns, blob
from watchline.tracking.batch import ProcessedBatch
from watchline.tracking.retention import shedding
from watchline.tracking.retention.forgotten import VERSIONS, Forgotten
from watchline.tracking.retention.shedding import threshold_of
from watchline.tracking.retention.shrinking import SHARES, Shrinkage

COLUMNS = "id BIGINT, x DOUBLE, y DOUBLE, kind STRING, cargo STRING, ts TIMESTAMP"
STREAM = f"CREATE STREAM cars ({COLUMNS}) OBJECT id TIME ts POINT (x, y)"
SECOND = 1_000_000
DECLARED = Retention(0.5, max_objects=10, shed=Shed.QUERIES)


def tracker(clauses: str, *queries: str, **keep: Any) -> wl.Tracker:
    texts = [f"{STREAM} {clauses}"]
    texts += [
        f"CREATE QUERY {q.split()[0]} AS SELECT * FROM cars {q.split(' ', 1)[1]}" for q in queries
    ]
    return wl.Tracker(wl.Catalog.of(texts), "cars", **keep)


def at(*places: tuple[int, float, float], second: float = 0) -> pa.Table:
    """Objects at places, all at one moment."""
    ids, x, y = zip(*places, strict=True) if places else ((), (), ())
    n = len(places)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "x": pa.array(x, pa.float64()),
            "y": pa.array(y, pa.float64()),
            "kind": pa.array(["car"] * n),
            "cargo": pa.array(["something heavy"] * n),
            "ts": pa.array([int(second * SECOND)] * n, pa.timestamp("us", "UTC")),
        }
    )


def brief(changes: pa.Table) -> list[tuple[Any, ...]]:
    rows = changes.select(["query_id", "sign", "object_id", "reason"]).to_pylist()
    return [tuple(row.values()) for row in rows]


# --- significant objects


def test_only_what_some_query_looks_at_is_kept() -> None:
    t = tracker(
        "RETAIN SIGNIFICANT CACHE 0",
        "a INSIDE (0, 0, 10, 10)",
        "b WHERE kind = 'truck' EMIT CHANGES",
    )
    assert brief(t.process(at((1, 5, 5), (2, 50, 50), (3, 9, 9)))) == [
        ("a", 1, 1, "enter"),
        ("a", 1, 3, "enter"),
    ]
    assert t.stats()["objects"] == 2
    assert brief(t.process(at((1, 11, 5), second=1))) == [("a", -1, 1, "exit")]
    assert t.stats()["objects"] == 1
    assert brief(t.process(at((1, 9, 5), second=2))) == [("a", 1, 1, "enter")]


def test_a_new_query_knows_nobody_who_was_let_go() -> None:
    """They enter when they report: the paper's uncertainty of new queries."""
    cat = wl.Catalog.of(
        [
            f"{STREAM} RETAIN SIGNIFICANT CACHE 0",
            "CREATE QUERY a AS SELECT * FROM cars INSIDE (0, 0, 10, 10)",
        ]
    )
    t = wl.Tracker(cat, "cars")
    t.process(at((1, 5, 5), (2, 50, 50)))
    cat.execute("CREATE QUERY b AS SELECT * FROM cars INSIDE (4, 4, 60, 60)")
    assert brief(t.advance_to(cat.version)) == [("b", 1, 1, "registered")]
    assert brief(t.process(at((2, 51, 51), second=1))) == [("b", 1, 2, "enter")]


# Around object 9 at (0, 0), ten wide: an object at 8 is three beyond the border.
@pytest.mark.parametrize(
    ("clauses", "kept"),
    [
        ("RETAIN SIGNIFICANT CACHE 0", False),
        # Both travel a unit a second, and report within two: 4 is all of it, 2 is half.
        ("TIMEOUT INTERVAL 2 SECONDS MAX SPEED 1 RETAIN SIGNIFICANT", True),
        ("TIMEOUT INTERVAL 2 SECONDS MAX SPEED 1 RETAIN SIGNIFICANT CACHE 0.5", False),
        # Without a speed it is a part of half the box: 5 and 1.25.
        ("RETAIN SIGNIFICANT CACHE 1", True),
        ("RETAIN SIGNIFICANT CACHE 0.25", False),
    ],
)
def test_the_cache_of_a_query_that_moves(clauses: str, kept: bool) -> None:
    t = tracker(clauses, "q INSIDE ('M', 9, 10, 10)")
    # Who reports before the query has begun is not kept.
    t.process(at((9, 0, 0), (1, 8, 0)))
    assert t.stats()["objects"] == 1
    t.process(at((1, 8, 0), (2, 1, 1), second=0.5))
    assert t.stats()["objects"] == 2 + kept
    # The query comes over it before it reports again.
    entered = [("q", 1, 1, "enter")] if kept else []
    assert brief(t.process(at((9, 5, 0), second=1))) == entered


def test_nearest_neighbours_have_some_more_in_the_cache() -> None:
    t = tracker("RETAIN SIGNIFICANT CACHE 0.5", "q kNN (2, 0, 0)")
    t.process(at(*((i, float(i), 0) for i in range(1, 9))))
    assert t.stats()["objects"] == 3
    assert brief(t.process(at((1, 20, 0), second=1))) == [
        ("q", -1, 1, "exit"),
        ("q", 1, 3, "enter"),
    ]


def test_rows_that_are_too_fast_are_counted() -> None:
    t = tracker("MAX SPEED 2", "a INSIDE (0, 0, 10, 10)")
    t.process(at((1, 0, 0), (2, 0, 0)))
    t.process(at((1, 2, 0), (2, 2.1, 0), second=1))
    assert t.stats()["too_fast"] == 1


# --- a bound on objects


def test_the_threshold_of_the_paper() -> None:
    """Seven objects with one query, five with two, three with three: 80 % are left by k = 2."""
    refs = np.repeat([1, 2, 3], [7, 5, 3])
    assert threshold_of(refs, 3) == 2
    assert threshold_of(refs, 7) == 2
    assert threshold_of(refs, 8) == 3
    assert threshold_of(refs, 15) == 4
    assert threshold_of(refs[:0], 3) == 1


def test_objects_that_few_queries_look_at_are_given_up() -> None:
    t = tracker(
        "RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 2",
        "a INSIDE (0, 0, 10, 10)",
        "b INSIDE (0, 0, 5, 5)",
    )
    # Nobody is told of an object that is refused as it comes.
    found = brief(t.process(at((1, 1, 1), (2, 2, 2), (3, 8, 8))))
    assert found == [(q, 1, i, "enter") for i in (1, 2) for q in "ab"]
    stats = t.stats()
    names = ("objects", "shed", "shadow", "answers", "over_limit")
    assert [stats[name] for name in names] == [2, 1, 1, 4, 0]
    assert stats["accuracy"] == 4 / 5
    assert t.accuracies() == t.stats()["accuracies"] == {"a": 2 / 3}
    assert t.stats()["least"] == 2 / 3
    # What it leaves behind is less than the row.
    assert t._retention.given_up.shadows.slim.column_names == ["id", "x", "y", "ts"]
    # A shadow that reports changes its shadow only.
    assert brief(t.process(at((3, 8, 9), second=1))) == []
    assert t.accuracies() == {"a": 2 / 3}
    # A row older than what is known of its shadow is late.
    assert brief(t.process(at((3, 9, 9), second=0))) == []
    assert t.stats()["late"] == 1
    # It reports again, and there is room.
    assert brief(t.process(at((1, 50, 50), (3, 8, 8), second=2))) == [
        ("a", -1, 1, "exit"),
        ("b", -1, 1, "exit"),
        ("a", 1, 3, "shed"),
    ]
    assert (t.stats()["accuracy"], t.stats()["shadow"]) == (1.0, 0)


def test_a_known_object_is_given_up_only_for_changes_that_were_spared() -> None:
    """
    |a          |
    |1  |b 2 3  |     2 and 3 come when 1 is known: two more, and there is room for one
    |___|_______|
    """
    t = tracker(
        "RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 2",
        "a INSIDE (0, 0, 30, 10)",
        "b INSIDE (10, 0, 30, 10)",
    )
    assert brief(t.process(at((1, 1, 1)))) == [("a", 1, 1, "enter")]
    # To give 1 up would tell what the exact run does not.
    assert brief(t.process(at((2, 12, 1), (3, 13, 1), second=1))) == [
        ("a", 1, 3, "enter"),
        ("b", 1, 3, "enter"),
    ]
    # Of 2 the exact run tells four changes more: it leaves both answers, and enters them again.
    assert brief(t.process(at((2, 50, 1), second=2))) == []
    assert t.stats()["shadow"] == 0
    assert brief(t.process(at((2, 12, 1), second=3))) == [
        ("a", 1, 2, "enter"),
        ("b", 1, 2, "enter"),
        ("a", -1, 1, "shed"),
    ]


def test_a_shadow_that_more_queries_look_at_takes_the_place_of_an_object() -> None:
    t = tracker(
        "RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 2",
        "a INSIDE (0, 0, 30, 10)",
        "b INSIDE (10, 0, 20, 10)",
        "c INSIDE (10, 0, 20, 10)",
    )
    t.process(at((1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 4, 1)))
    kept = {row["object_id"] for row in t.process(at(second=1)).to_pylist()}
    assert kept == set()
    # Two shadows leave the only answer: that spares changes.
    shadows = t._retention.given_up.shadows.slim["id"].to_pylist()
    t.process(at(*((i, 50, 1) for i in shadows[:1]), second=2))
    known, other = sorted({1, 2, 3, 4} - set(shadows)), shadows[1]
    # Three queries look at the other now, and the threshold is two.
    assert brief(t.process(at((other, 12, 1), second=3))) == [
        ("a", -1, known[0], "shed"),
        *[(q, 1, other, "shed") for q in "abc"],
    ]


def test_the_threshold_stays_while_load_is_high() -> None:
    t = tracker("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 8", "a INSIDE (0, 0, 100, 100)")
    t.process(at(*((i, i, 1) for i in range(12))))
    assert t._retention.object_shedding.threshold == 2
    t.process(at((11, 500, 1), second=1))
    assert (len(t), t._retention.object_shedding.threshold) == (7, 2)
    # Shadows that report come back meanwhile; below three quarters of the bound load is not high.
    t.process(at((0, 1, 1), second=2))
    assert (len(t), t._retention.object_shedding.threshold) == (8, 2)
    t.process(at((10, 500, 1), (9, 500, 1), second=3))
    assert (len(t), t._retention.object_shedding.threshold) == (6, 1)


def test_shadows_of_no_query_fade() -> None:
    cat = wl.Catalog.of([f"{STREAM} RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1 SHED OBJECTS"])
    for name, x in (("a", 0), ("b", 20)):
        cat.execute(f"CREATE QUERY {name} AS SELECT * FROM cars INSIDE ({x}, 0, {x + 10}, 10)")
    t = wl.Tracker(cat, "cars")
    t.process(at((3, 22, 1), (1, 1, 1), (2, 21, 1)))
    assert (t.stats()["objects"], t.stats()["shadow"]) == (1, 2)
    cat.drop("b")
    t.advance_to(cat.version)
    assert t.stats()["objects"] + t.stats()["shadow"] == 1


def test_a_query_keeps_what_it_demands() -> None:
    t = tracker(
        "RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1 SHED OBJECTS",
        "a INSIDE (0, 0, 10, 10) ACCURACY 0.5",
        "b INSIDE (20, 0, 30, 10)",
    )
    t.process(at((1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 21, 1)))
    # Of three, one can go; 4 goes too, and the bound yields.
    assert t.accuracies() == {"a": 2 / 3, "b": 0.0}
    assert (t.stats()["objects"], t.stats()["over_limit"]) == (2, 1)
    # Those that are left leave: what was given up comes back, with all of its row.
    found = t.process(at((2, 50, 50), (3, 50, 50), second=1))
    assert brief(found)[-1] == ("a", 1, 1, "shed")
    assert found["cargo"].to_pylist()[-1] == "something heavy"
    assert t.accuracies() == {"b": 0.0}


def test_a_bound_on_bytes() -> None:
    t = tracker("RETAIN SIGNIFICANT CACHE 0 MAX BYTES 4000", "a INSIDE (0, 0, 100, 100)")
    t.process(at(*((i, i % 100, i % 7) for i in range(100))))
    stats = t.stats()
    assert stats["bytes"] <= 4_000
    # Half of it is for objects.
    assert stats["objects"] > 30
    assert stats["objects"] + stats["shadow"] + stats["forgotten"] == 100
    assert stats["accuracy"] == stats["objects"] / 100


# --- smaller queries


def test_queries_shrink_and_grow_again() -> None:
    t = tracker("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 4 SHED QUERIES", "a INSIDE (0, 0, 10, 10)")
    near, far = [(i, 5.0, 5.0) for i in (1, 2, 3)], [(i, 0.1, 0.1) for i in (4, 5)]
    assert brief(t.process(at(*near, *far)))[-2:] == [("a", -1, 4, "shed"), ("a", -1, 5, "shed")]
    assert t._queries.shrinkage.step == 3
    assert t.accuracies() == {"a": 3 / 5}
    # There is room for two more steps in each batch, and then they enter by themselves.
    for second in (1, 2, 3):
        assert brief(t.process(at(second=second))) == []
    assert t._queries.shrinkage == Shrinkage()
    assert brief(t.process(at(*far[:1], second=4))) == [("a", 1, 4, "enter")]


def test_steps_take_the_cache_first() -> None:
    caches, areas = zip(*SHARES, strict=True)
    assert caches[:3] == (1.0, 0.5, 0.0)
    assert areas[:4] == (1.0, 1.0, 1.0, 0.9)
    assert list(areas) == sorted(areas, reverse=True)
    ids = pa.array(["a", "b", "c"])
    sizes = Shrinkage(len(SHARES) - 1, frozenset("c"))
    assert sizes.areas(ids, np.array([0.0, 0.9, 0.9])).tolist() == [0.1, 0.9, 1.0]
    assert sizes.caches(ids).tolist() == [0.0, 0.0, 1.0]


# --- what a run says


def test_a_run_may_keep_otherwise() -> None:
    cat = wl.Catalog.of([STREAM, "CREATE QUERY a AS SELECT * FROM cars INSIDE (0, 0, 10, 10)"])
    t = wl.Tracker(cat, "cars")
    t.process(at((1, 1, 1), (2, 50, 50)))
    assert t.stats()["objects"] == 2
    # What was kept before is found out to be looked at, or not, with the next rows.
    t = wl.Tracker.restore(cat, "cars", t.snapshot(), retain="significant", cache=0.0)
    assert brief(t.process(at((2, 51, 50), second=1))) == []
    assert t.stats()["objects"] == 1
    assert brief(t.process(at((1, 50, 50), second=2))) == [("a", -1, 1, "exit")]
    t = wl.Tracker.restore(cat, "cars", t.snapshot())
    t.process(at((1, 50, 50), (2, 50, 50), second=3))
    assert t.stats()["objects"] == 2


@pytest.mark.parametrize(
    ("keep", "problem"),
    [
        ({"retain": "some"}, "retain is 'all' or 'significant', not 'some'"),
        ({"shed": "all"}, "shed is 'objects' or 'queries', not 'all'"),
        ({"max_objects": 1.5}, "max_objects is a whole number, not 1.5"),
        ({"max_objects": True}, "max_objects is a whole number, not True"),
        ({"cache": "big"}, "cache is a number from 0 to 1, not 'big'"),
        ({"max_objects": 5}, "max_objects goes with retain = 'significant'"),
        ({"retain": "all", "cache": 0.5}, "cache goes with retain = 'significant'"),
        ({"retain": "significant"}, "needs MAX SPEED and TIMEOUT"),
        ({"retain": "significant", "cache": 2}, "CACHE must lie between 0 and 1"),
        ({"retain": "significant", "cache": 0, "max_objects": 0}, "must leave room for one object"),
        ({"retain": "significant", "cache": 0, "max_bytes": 7}, "room for one object: 48 bytes"),
        ({"retain": "significant", "cache": 0, "shed": "objects"}, "SHED OBJECTS needs a bound"),
        (
            {"retain": "significant", "cache": 0, "max_objects": 5, "max_bytes": 900},
            "has one bound",
        ),
    ],
)
def test_mistakes_of_a_run(keep: dict[str, Any], problem: str) -> None:
    cat = wl.Catalog.of([STREAM])
    with pytest.raises((InvalidQuery, InvalidRange), match=problem):
        wl.Tracker(cat, "cars", **keep)


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ({}, DECLARED),
        ({"retain": "all"}, None),
        ({"max_bytes": 900}, Retention(0.5, max_bytes=900, shed=Shed.QUERIES)),
        ({"cache": 1, "shed": "objects"}, Retention(1, 10, None, Shed.OBJECTS)),
    ],
)
def test_what_a_run_says_goes_before_what_is_declared(
    keep: dict[str, Any], kept: Retention | None
) -> None:
    stream = wl.Catalog.of([f"{STREAM} {DECLARED!r}"]).stream("cars")
    assert Keep(**keep).of(stream).retention == kept


def test_a_run_keeps_less_than_a_stream_that_declares_nothing() -> None:
    stream = wl.Catalog.of([STREAM]).stream("cars")
    assert Keep(retain="significant", cache=0).of(stream).retention == Retention(0)


@pytest.mark.parametrize("accuracy", ["1.1", "-0.1"])
def test_an_accuracy_is_between_none_and_all(accuracy: str) -> None:
    with pytest.raises(QuerySyntaxError, match="ACCURACY must lie between 0 and 1"):
        tracker("", f"a INSIDE (0, 0, 1, 1) ACCURACY {accuracy}")


# --- how much is told


def wanderers(chance: np.random.Generator, n: int) -> pa.Table:
    """Objects at random places of a square of 100."""
    places = chance.uniform(0, 100, (n, 2)).tolist()
    return at(*((i, x, y) for i, (x, y) in enumerate(places)))


def moved(rows: pa.Table, chance: np.random.Generator, far: float, second: int) -> pa.Table:
    """Each a little farther, at another moment."""
    n = rows.num_rows
    for name in ("x", "y"):
        there = rows[name].to_numpy() + chance.normal(0, far, n)
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(there))
    times = pa.array([second * SECOND] * n, pa.timestamp("us", "UTC"))
    return rows.set_column(rows.column_names.index("ts"), "ts", times)


def still(chance: np.random.Generator, n: int) -> list[str]:
    corners = chance.uniform(0, 100, (n, 2)).tolist()
    return [f"s{i} INSIDE ({x}, {y}, {x + 15}, {y + 15})" for i, (x, y) in enumerate(corners)]


def with_focal(chance: np.random.Generator, n: int) -> list[str]:
    return [f"m{i} INSIDE ('M', {i}, 20, 20)" for i in range(n)]


def nearest(chance: np.random.Generator, n: int) -> list[str]:
    places = chance.uniform(0, 100, (n, 2)).tolist()
    return [f"n{i} kNN (5, {x}, {y})" for i, (x, y) in enumerate(places)]


@pytest.mark.parametrize("queries", [[still], [still, with_focal], [still, nearest], [nearest]])
def test_where_nothing_moves_nothing_is_told(queries: list[Any]) -> None:
    """The truth changes once, with the first rows; and so does what is told under a bound."""
    chance = np.random.default_rng(5)
    rows = wanderers(chance, 5_000)
    texts = [text for kind in queries for text in kind(chance, 60)]
    bound = 2_500 if still in queries else 100
    t = tracker(f"RETAIN SIGNIFICANT CACHE 0.5 MAX OBJECTS {bound}", *texts)
    assert t.process(rows).num_rows > 0
    if queries == [still]:
        assert t.stats()["shed"] > 500
    # Queries that move begin with their focal objects: the rows after that are all seen.
    t.process(moved(rows, chance, 0.0, 1))
    for second in (2, 3, 4):
        assert brief(t.process(moved(rows, chance, 0.0, second))) == []
    assert len(t) <= bound


@pytest.mark.parametrize("queries", [[still], [with_focal], [still, with_focal]])
@pytest.mark.parametrize("bound", seeds([50, 400, 1_000]))
def test_no_more_is_told_than_the_exact_run_tells(queries: list[Any], bound: int) -> None:
    """At the end of every batch, while load rises, stays and falls; then all answers are whole."""
    chance = np.random.default_rng(bound)
    texts = [text for kind in queries for text in kind(chance, 40)]
    timeout = "TIMEOUT INTERVAL 2 SECONDS RETAIN SIGNIFICANT CACHE 1"
    shed = tracker(f"{timeout} MAX OBJECTS {bound}", *texts)
    exact = tracker(timeout, *texts, retain="all")
    rows, counts = wanderers(chance, 2_000), [300, 2_000, 2_000, 2_000, 2_000, 2_000, 300, 45, 45]
    given_up = 0
    for second, n in enumerate([*counts, *[45] * 6]):
        rows = moved(rows, chance, 3.0, second)
        there = rows.slice(0, n)
        for each in (shed, exact):
            each.process(there)
        assert shed.stats()["changes"] <= exact.stats()["changes"], f"second {second}"
        assert len(shed) <= bound
        given_up += shed.stats()["shadow"] > 0
    assert given_up >= 4
    assert shed.stats()["accuracy"] == 1.0
    assert shed.stats()["answers"] == exact.stats()["answers"]


def test_nearest_neighbours_may_tell_more_than_the_exact_run() -> None:
    """
    1 is nearest to 0 and does not move; 2 and 3 change places behind it. Whoever cannot keep 1 has
    2 or 3 in the answer, and tells of them in each batch. No rule for shedding avoids that.
    """
    queries = ["n kNN (1, 0, 0)", "a INSIDE (2, -9, 9, 9)", "b INSIDE (2, -9, 9, 9)"]
    shed = tracker("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 2", *queries)
    exact = tracker("RETAIN SIGNIFICANT CACHE 0", *queries)
    for second in range(8):
        near, far = (2, 3) if second % 2 else (3, 2)
        rows = at((1, 1, 0), (near, 3, 0), (far, 4, 0), second=second)
        for t in (shed, exact):
            t.process(rows)
    assert exact.stats()["changes"] == 5
    assert shed.stats()["changes"] > 8
    # What it tells alternates, and what it misses is stated.
    assert shed.accuracies() == {"n": 0.0}


def test_a_restored_tracker_sheds_on() -> None:
    """Its threshold, its shadows, what was spared and what was forgotten are in the state."""
    chance = np.random.default_rng(3)
    cat = wl.Catalog.of(
        [
            f"{STREAM} RETAIN SIGNIFICANT CACHE 1 MAX OBJECTS 30",
            *(
                f"CREATE QUERY {q.split()[0]} AS SELECT * FROM cars {q.split(' ', 1)[1]}"
                for q in [*still(chance, 30), *with_focal(chance, 5)]
            ),
        ]
    )
    one, other = wl.Tracker(cat, "cars"), wl.Tracker(cat, "cars")
    rows = wanderers(chance, 1_000)
    for second in range(6):
        rows = moved(rows, chance, 4.0, second)
        other = wl.Tracker.restore(cat, "cars", other.snapshot())
        # What one move of a query changes is told in any order.
        assert sorted(brief(other.process(rows))) == sorted(brief(one.process(rows)))
        stats = one.stats()
        assert other.stats() == {**stats, "query_bytes": other.stats()["query_bytes"]}
    assert one.stats()["forgotten"] > 0
    assert one.stats()["shed"] > 100


def test_a_state_without_counts_is_read() -> None:
    """That of a release which did not count answers of shadows, nor spared and forgotten ones."""
    texts = [
        f"{STREAM} RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 2",
        "CREATE QUERY a AS SELECT * FROM cars INSIDE (0, 0, 10, 10)",
    ]
    cat = wl.Catalog.of(texts)
    t = wl.Tracker(cat, "cars")
    t.process(at(*((i, i, 1) for i in range(5))))
    head, tables = blob.unpack(t.snapshot())
    for name in ("spared", "forgotten", "patience"):
        del head[name]
    older = wl.Tracker.restore(cat, "cars", blob.pack(head, tables[:-1]))
    assert older.stats()["shadow"] == 3
    for each in (t, older):
        kept = each._objects.rows["id"].to_pylist()
        found = each.process(at(*((i, 50, 1) for i in kept), (0, 1, 1), second=1))
        assert brief(found)[-1] == ("a", 1, 0, "shed")


# --- what is forgotten


def test_there_are_only_so_many_shadows() -> None:
    """Ten for each object, and nine tenths of that where there were more: of 16 objects one is
    kept, nine cast shadows, and six are forgotten."""
    t = tracker(
        "RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1",
        "a INSIDE (0, 0, 16, 10)",
        "b INSIDE (0, 0, 11, 10)",
    )
    t.process(at(*((i, i, 1) for i in range(16))))
    stats = t.stats()
    names = ("objects", "shadow", "forgotten", "unknown", "over_limit")
    assert [stats[name] for name in names] == [1, 9, 6, 6, 0]
    # Of eleven that two queries look at, one is kept, nine are shadows and one is forgotten.
    assert t.accuracies() == {"a": 1 / 16, "b": 1 / 11}
    assert stats["accuracy"] == 2 / 27
    # A forgotten object leaves: nobody knows that it was one, so no more than this can be said.
    t.process(at((15, 50, 50), second=1))
    assert t.accuracies() == {"a": 1 / 16, "b": 1 / 11}


def test_forgotten_objects_have_reported_or_expired_when_a_timeout_has_passed() -> None:
    t = tracker(
        "TIMEOUT INTERVAL 5 SECONDS RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1",
        "a INSIDE (0, 0, 16, 10)",
    )
    t.process(at(*((i, i, 1) for i in range(16))))
    assert t.stats()["unknown"] == 6
    [kept] = t._objects.rows["id"].to_pylist()
    for second in (4, 8, 12, 16):
        t.process(at((kept, 1, 1), second=second))
    assert (t.stats()["unknown"], t.stats()["accuracy"], t.stats()["forgotten"]) == (0, 1.0, 6)


def test_new_and_moving_queries_may_miss_all_that_are_forgotten() -> None:
    cat = wl.Catalog.of(
        [
            f"{STREAM} RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1",
            "CREATE QUERY a AS SELECT * FROM cars INSIDE (0, 0, 10, 10)",
        ]
    )
    t = wl.Tracker(cat, "cars")
    t.process(at(*((i, i, 1) for i in range(16))))
    cat.execute("CREATE QUERY c AS SELECT * FROM cars INSIDE (0, 0, 1, 10)")
    t.advance_to(cat.version)
    # One of the shadows or the object is in it, and six may be.
    held = sum(row == 0 for row in t._objects.rows["id"].to_pylist())
    missed = sum(row == 0 for row in t._retention.given_up.shadows.rows()["id"].to_pylist())
    assert t.accuracies()["c"] == held / (held + missed + 6)


def crowded() -> tuple[wl.Catalog, wl.Tracker]:
    """Of 16 objects in `a` six are forgotten; none of these, which are the first, is in `b`."""
    cat = wl.Catalog.of(
        [
            f"{STREAM} RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1",
            "CREATE QUERY a AS SELECT * FROM cars INSIDE (0, 0, 16, 10)",
            "CREATE QUERY b AS SELECT * FROM cars INSIDE (10, 0, 16, 10)",
        ]
    )
    t = wl.Tracker(cat, "cars")
    t.process(at(*((i, i, 1) for i in range(16))))
    assert t.stats()["unknown"] == 6
    return cat, t


def test_a_query_may_miss_what_was_forgotten_before_it_and_what_it_held_since() -> None:
    cat, t = crowded()
    assert t.accuracies() == {"a": 1 / 16, "b": 1 / 6}
    cat.execute("CREATE QUERY c AS SELECT * FROM cars INSIDE (30, 0, 40, 10)")
    t.advance_to(cat.version)
    assert t.accuracies() == {"a": 1 / 16, "b": 1 / 6, "c": 0.0}
    t.process(at(*((i, i, 1) for i in range(30, 38)), second=1))
    # There were 9 shadows: with 8 more that is too many, and nine are left.
    assert t.stats()["unknown"] == 14
    found = t._retention.accuracy.missing()
    missing = dict(zip(found.queries.to_pylist(), found.objects, strict=True))
    # All eight objects in `c` are shadows or forgotten, and six were forgotten before it came.
    assert missing["c"] == 6 + 8
    # None of the eight was in `a` or `b`.
    assert (missing["a"], missing["b"]) == (15, 5)


def test_a_query_that_is_replaced_may_miss_all_that_were_forgotten() -> None:
    cat, t = crowded()
    shadows = t._retention.given_up.shadows.rows()["id"].to_pylist()
    cat.execute("CREATE OR REPLACE QUERY a AS SELECT * FROM cars INSIDE (0, 0, 12, 10)")
    t.advance_to(cat.version)
    held = sum(i < 12 for i in t._objects.rows["id"].to_pylist())
    missed = sum(i < 12 for i in shadows) + 6
    assert t.accuracies()["a"] == held / (held + missed)
    assert t.accuracies()["b"] == 1 / 6
    for each in (t, wl.Tracker.restore(cat, "cars", t.snapshot())):
        assert each.accuracies() == t.accuracies()
    cat.drop("a")
    t.advance_to(cat.version)
    assert "a" not in t.accuracies()


def test_a_state_does_not_name_queries_that_came_after_what_was_forgotten() -> None:
    cat, t = crowded()
    before = len(t.snapshot())
    n = 5_000
    low = np.arange(n) + 100.0
    ids = [f"box{i}" for i in range(n)]
    cat.register_boxes("cars", ids, {"x": (low, low + 1), "y": (low, low + 1)})
    t.advance_to(cat.version)
    assert len(t.snapshot()) < before + 100
    for each in (t, wl.Tracker.restore(cat, "cars", t.snapshot())):
        stats = each.stats()
        assert stats["accuracies"] == {"a": 1 / 16, "b": 1 / 6, **dict.fromkeys(ids, 0.0)}
        assert stats["accuracy"] == 2 / (2 + 15 + 5 + 6 * n)
        assert stats["least"] == 0.0
        del stats["accuracies"]
        assert each.summary() == stats


def test_versions_that_are_counted_together_only_raise_what_queries_may_miss() -> None:
    gone, exact = Forgotten(), {}
    for version in range(1, 3 * VERSIONS):
        gone.add(version, Counter({"a": 1}), 0, version)
        exact[version] = version
    gone = Forgotten.of(json.loads(json.dumps(gone.state())))
    asked = np.arange(3 * VERSIONS + 1)
    true = np.array([sum(n for v, n in exact.items() if v < version) for version in asked.tolist()])
    found = gone.before(asked)
    assert (found >= true).all()
    # Whoever was there before the first misses none by that, and the latest versions are exact.
    assert found[1] == 0
    assert (found[-VERSIONS:] == true[-VERSIONS:]).all()
    assert (gone.objects, gone.answers, gone.oldest) == (true[-1], {"a": 3 * VERSIONS - 1}, 1)


@pytest.mark.parametrize("seed", seeds(range(6)))
def test_what_is_stated_is_never_more_than_the_truth(seed: int) -> None:
    """Queries come, go and are replaced while objects are forgotten, beside a tracker that has no
    bound. Some trackers go through their states."""
    chance = np.random.default_rng(seed)
    timeout = "TIMEOUT INTERVAL 3 SECONDS" if seed % 2 else ""
    cat = wl.Catalog.of([f"{STREAM} {timeout} RETAIN SIGNIFICANT CACHE 0"])
    shed, exact = wl.Tracker(cat, "cars", max_objects=3), wl.Tracker(cat, "cars")
    answers: list[dict[str, set[int]]] = [{}, {}]

    def follow(changes: pa.Table, of: dict[str, set[int]]) -> None:
        for name, sign, who, _ in brief(changes):
            (set.add if sign > 0 else set.discard)(of.setdefault(name, set()), who)

    known = 0
    for second in range(25):
        name = f"q{chance.integers(6)}"
        if chance.random() < 0.2 and name in cat.queries():
            cat.drop(name)
        else:
            x, y = chance.uniform(0, 70, 2)
            cat.execute(
                f"CREATE OR REPLACE QUERY {name} AS SELECT * FROM cars"
                f" INSIDE ({x}, {y}, {x + 30}, {y + 30})"
            )
        who = chance.choice(200, 60, replace=False).tolist()
        rows = at(*((i, *chance.uniform(0, 100, 2).tolist()) for i in who), second=second)
        shed = wl.Tracker.restore(cat, "cars", shed.snapshot(), max_objects=3)
        for t, of in zip((shed, exact), answers, strict=True):
            follow(t.advance_to(cat.version), of)
            follow(t.process(rows), of)
        stated, (mine, true) = shed.accuracies(), answers
        for query, there in true.items():
            share = len(mine.get(query, set()) & there) / len(there) if there else 1.0
            assert stated.get(query, 1.0) <= share, (seed, second, query)
        whole = sum(map(len, true.values()))
        assert shed.stats()["accuracy"] <= (sum(map(len, mine.values())) / whole if whole else 1)
        known += bool(stated) and max(stated.values()) > 0
    assert shed.stats()["forgotten"] > 0
    # It is a bound that says something.
    assert known > 0


def test_shadows_are_matched_once_for_each_tenth_of_their_bound_that_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    t = tracker("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 10", "a INSIDE (0, 0, 1000, 10)")
    t.process(at(*((i, i, 1) for i in range(150))))
    assert (len(t), t.stats()["shadow"]) == (10, 90)
    retention = t._retention
    looked, look = [], retention.look_again
    monkeypatch.setattr(retention, "look_again", lambda: (looked.append(0), look()))
    for second in range(1, 45):
        t.process(at((150 + second, 150 + second, 1), second=second))
        assert t.stats()["shadow"] <= 100
        assert t.accuracies() == {"a": 10 / (150 + second)}
    # With the 11th, the 22nd, the 33rd and the 44th.
    assert len(looked) == 4


def test_shadows_are_not_touched_where_none_reports_and_none_expires(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    t = tracker(
        "TIMEOUT INTERVAL 5 SECONDS RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1",
        "a INSIDE (0, 0, 16, 10)",
    )
    t.process(at(*((i, i, 1) for i in range(6))))
    [kept] = t._objects.rows["id"].to_pylist()
    linked: list[int] = []

    class Counted(shedding.LinkedRows):
        def __init__(self, *arguments: Any) -> None:
            linked.append(0)
            super().__init__(*arguments)

    monkeypatch.setattr(shedding, "LinkedRows", Counted)
    for second in (1, 3, 5):
        t.process(at((kept, 1, 1), second=second))
        assert (t.stats()["shadow"], t.accuracies(), linked) == (5, {"a": 1 / 6}, [])
    t.process(at((kept, 1, 1), second=5.000001))
    assert (t.stats()["shadow"], t.accuracies(), linked) == (0, {}, [0])


def test_newcomers_are_looked_for_only_where_objects_are_shed() -> None:
    for clauses, came in (
        ("", []),
        ("RETAIN SIGNIFICANT CACHE 0", []),
        ("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 5 SHED QUERIES", []),
        ("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 5", [2]),
    ):
        t = tracker(clauses, "a INSIDE (0, 0, 16, 10)")
        t.process(at((1, 1, 1)))
        parts = t._objects, t._queries, t._proximity.operator()
        rows = Columns(at((1, 2, 1), (2, 2, 1), second=1), t.stream)
        done = ProcessedBatch(*parts, rows, t.no_rows(), None)
        done.commit()
        assert t._objects.rows["id"].to_pylist() == [1, 2]
        assert done.came.to_pylist() == came


def test_what_is_demanded_is_never_forgotten() -> None:
    t = tracker("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1", "a INSIDE (0, 0, 16, 10) ACCURACY 0.05")
    t.process(at(*((i, i, 1) for i in range(16))))
    stats = t.stats()
    assert (stats["shadow"], stats["forgotten"], stats["over_limit"]) == (15, 0, 1)
    assert t.accuracies() == {"a": 1 / 16}


def test_bytes_of_queries_stand_beside_the_bound() -> None:
    few = tracker("RETAIN SIGNIFICANT CACHE 0", "a INSIDE (0, 0, 10, 10)")
    chance = np.random.default_rng(1)
    many = tracker("RETAIN SIGNIFICANT CACHE 0", *still(chance, 200), *with_focal(chance, 50))
    for t in (few, many):
        t.process(at((1, 5, 5)))
    assert 0 < few.stats()["query_bytes"] < many.stats()["query_bytes"]
    assert few.stats()["bytes"] < 200


# --- smaller queries that save nothing


def test_queries_do_not_shrink_for_nothing() -> None:
    """Whatever one query lets go, another still looks at: 400 of 400 objects stay."""
    texts = [f"q{i} INSIDE (0, {10 * i - 90}, 100, {10 * i + 10})" for i in range(19)]
    t = tracker("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 100 SHED QUERIES", *texts)
    chance = np.random.default_rng(9)
    places = np.stack([chance.uniform(45, 55, 400), chance.uniform(0, 100, 400)], axis=1)
    exact = tracker("RETAIN SIGNIFICANT CACHE 0", *texts)
    for second in range(6):
        rows = at(*((i, x, y) for i, (x, y) in enumerate(places.tolist())), second=second)
        assert brief(t.process(rows)) == brief(exact.process(rows))
        stats = t.stats()
        assert (stats["objects"], stats["accuracy"], stats["over_limit"]) == (400, 1.0, second + 1)
    assert t._queries.shrinkage == Shrinkage()


def test_a_step_is_not_looked_for_in_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    t = tracker("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1 SHED QUERIES", "a INSIDE (0, 0, 10, 10)")
    tried = []
    sheds = t._retention.query_shedding
    monkeypatch.setattr(sheds, "_left_by", lambda step: tried.append(step) or len(t))
    for second in range(20):
        t.process(at((1, 5, 5), (2, 5, 5), second=second))
    # In batches 0, 2, 5, 10 and 19.
    assert len(tried) == 5


def test_only_steps_that_let_objects_go_are_taken() -> None:
    """The first objects go with a tenth of the area, and no more do with the rest of it."""
    t = tracker("RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 2 SHED QUERIES", "a INSIDE (0, 0, 10, 10)")
    t.process(at(*((i, 5, 5) for i in range(3)), (3, 0.1, 0.1)))
    assert (len(t), t._queries.shrinkage.step) == (3, 3)
    assert t.stats()["over_limit"] == 1
    assert t.accuracies() == {"a": 3 / 4}
