"""How far the objects of changes are from the centres of queries, by examples.

The oracle follows every step; what it says is also written out. Its distances are compared wherever
the changes of a tracker, of shards or of Spark are compared with it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watchline as wl
from tests.support.ledgers import NOON, Asked, Row, Told, Twin, compared, within
from watchline.tracking import distances

# The focal object of queries that move.
F = 100


def at(object_id: int, x: float, y: float = 0.0, time: int = 0, **more: Any) -> Row:
    row = {"id": object_id, "x": x, "y": y, "speed": 0.0, "n": 0, "kind": "car", "ts": NOON + time}
    return row | more


def far(changes: list[Told]) -> list[tuple[Any, ...]]:
    """Query, sign, object, reason and distance: by query, the `-` first, and object."""
    found = [(query, sign, who, why, row[0]) for query, sign, who, _, why, row in changes]
    return sorted(found, key=lambda c: c[:3])


def depot(x: float = 0.0, y: float = 0.0, radius: float = 5.0, **more: Any) -> Asked:
    text = f"{more.pop('sql', '')} INSIDE CIRCLE ({x!r}, {y!r}, {radius!r})"
    return Asked("q", text, region=("circle", x, y, radius), **more)


ESCORT = Asked("q", f"INSIDE CIRCLE ('M', {F}, 5)", region=("mcircle", F, 5.0))
CONVOY = Asked("q", f"INSIDE ('M', {F}, 10, 10)", region=("mbox", F, 10.0, 10.0))
NEAR = Asked("q", "kNN (1, 0, 0)", knn=("knn", 1, 0.0, 0.0))
NEAR_FOCAL = Asked("q", f"kNN ('M', 1, {F})", knn=("mknn", 1, F))
BLOCK = Asked("q", "INSIDE (-9, -9, 9, 9)", region=("box", -9.0, -9.0, 9.0, 9.0))
FAST = Asked("q", "WHERE speed >= 0", compared("speed", ">=", 0.0))


def test_a_circle() -> None:
    twin = Twin(queries=[depot(1.0, 1.0)])
    assert far(twin.process([at(1, 4.0, 5.0)])) == [("q", 1, 1, "enter", 5.0)]
    assert far(twin.process([at(1, 7.0, 9.0, time=1)])) == [("q", -1, 1, "exit", 10.0)]
    assert far(twin.process([at(1, 1.0, 1.0, time=2)])) == [("q", 1, 1, "enter", 0.0)]
    assert far(twin.drop("q")) == [("q", -1, 1, "dropped", 0.0)]


def test_what_leaves_by_a_condition_may_be_within_the_circle() -> None:
    slow = depot(sql="WHERE speed < 50", where=compared("speed", "<", 50.0))
    twin = Twin(queries=[slow])
    twin.process([at(1, 3.0)])
    assert far(twin.process([at(1, 2.0, time=1, speed=60.0)])) == [("q", -1, 1, "exit", 2.0)]


def test_several_alternatives_have_one_centre() -> None:
    either = ("or", compared("speed", "<", 10.0), compared("n", "=", 7))
    twin = Twin(queries=[depot(sql="WHERE speed < 10 OR n = 7", where=either)])
    assert far(twin.process([at(1, 3.0, n=7), at(2, 4.0, speed=20.0)])) == [
        ("q", 1, 1, "enter", 3.0)
    ]
    assert far(twin.process([at(1, 2.0, time=1, speed=20.0)])) == [("q", -1, 1, "exit", 2.0)]


CIRCLE, OTHER, BOX = (
    ("circle", 0.0, 0.0, 5.0),
    ("circle", 9.0, 9.0, 5.0),
    ("box", 0.0, 0.0, 9.0, 9.0),
)
INSIDE = "INSIDE CIRCLE (0, 0, 5)"


@pytest.mark.parametrize(
    ("sql", "where", "region", "distance"),
    [
        (f"WHERE {INSIDE}", within(CIRCLE), None, 3.0),
        (f"WHERE NOT (NOT {INSIDE})", within(CIRCLE), None, 3.0),
        (
            f"WHERE {INSIDE} AND speed < 9 OR {INSIDE} AND n = 1",
            (
                "or",
                ("and", within(CIRCLE), compared("speed", "<", 9.0)),
                ("and", within(CIRCLE), compared("n", "=", 1)),
            ),
            None,
            3.0,
        ),
        (f"WHERE {INSIDE} OR n = 0", ("or", within(CIRCLE), compared("n", "=", 0)), None, 3.0),
        (f"WHERE speed < 9 AND {INSIDE} {INSIDE}",
         ("and", compared("speed", "<", 9.0), within(CIRCLE)), CIRCLE, 3.0),
        ("WHERE NOT INSIDE CIRCLE (9, 9, 5)", ("not", within(OTHER)), None, None),
        (f"WHERE {INSIDE} AND NOT INSIDE CIRCLE (9, 9, 5)",
         ("and", within(CIRCLE), ("not", within(OTHER))), None, None),
        (f"WHERE {INSIDE} OR INSIDE CIRCLE (9, 9, 5)",
         ("or", within(CIRCLE), within(OTHER)), None, None),
        (f"WHERE {INSIDE} INSIDE (0, 0, 9, 9)", within(CIRCLE), BOX, None),
    ],
)  # fmt: skip
def test_circles_in_conditions(sql: str, where: Any, region: Any, distance: float | None) -> None:
    """The only region, and not negated: in whichever alternatives it stands."""
    twin = Twin(queries=[Asked("q", sql, where, region)])
    assert far(twin.process([at(1, 3.0)])) == [("q", 1, 1, "enter", distance)]
    twin.process([at(1, 3.0, 7.0, time=1, n=1, speed=70.0)])
    twin.process([at(1, 3.0, 3.0, time=2)])
    twin.drop("q")


def test_a_circle_in_the_condition_of_a_query_that_moves() -> None:
    """Two regions, so there is no centre; kNN has one all the same."""
    mixed = Asked("q", f"WHERE {INSIDE} INSIDE CIRCLE ('M', {F}, 5)", within(CIRCLE), ESCORT.region)
    near = Asked("near", f"WHERE {INSIDE} kNN ('M', 1, {F})", within(CIRCLE), knn=NEAR_FOCAL.knn)
    twin = Twin(queries=[mixed, near])
    twin.process([at(F, 1.0)])
    assert far(twin.process([at(1, 3.0)])) == [
        ("near", 1, 1, "enter", 2.0),
        ("q", 1, 1, "enter", None),
    ]


@pytest.mark.parametrize("asked", [BLOCK, CONVOY, FAST])
def test_without_a_centre_there_is_no_distance(asked: Asked) -> None:
    twin = Twin(queries=[asked])
    twin.process([at(F, 0.0)])
    assert ("q", 1, 1, "enter", None) in far(twin.process([at(1, 1.0)]))
    assert far(twin.drop("q"))[-1][-1] is None


def test_boxes_compute_no_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("there is no centre")

    for name in ("points_of", "distances_between"):
        monkeypatch.setattr(distances, name, refuse)
    twin = Twin(timeout=10, queries=[BLOCK])
    twin.process([at(1, 1.0), at(2, 1.0)])
    twin.process([at(1, 50.0, time=5), at(3, 3.0, time=11)])
    twin.register(FAST)


def test_a_circle_beside_boxes_of_other_versions() -> None:
    """In one plan, and in layers of which some have no centres."""
    box, circle = (
        Asked("box", BLOCK.sql, region=BLOCK.region),
        Asked("circle", "INSIDE CIRCLE (0, 0, 5)", region=("circle", 0.0, 0.0, 5.0)),
    )
    twin = Twin(queries=[box, FAST, circle])
    assert far(twin.process([at(1, 3.0)])) == [
        ("box", 1, 1, "enter", None),
        ("circle", 1, 1, "enter", 3.0),
        ("q", 1, 1, "enter", None),
    ]
    twin.tracker = wl.Tracker.restore(twin.catalog, "cars", twin.tracker.snapshot())
    twin.catalog.execute("CREATE QUERY late AS SELECT * FROM cars INSIDE CIRCLE (1, 0, 9)")
    late = Asked("late", "", region=("circle", 1.0, 0.0, 9.0))
    assert far(twin._follow(twin.ledger.register(late.spec))) == [("late", 1, 1, "registered", 2.0)]
    assert far(twin.process([at(1, 21.0, time=1)])) == [
        ("box", -1, 1, "exit", None),
        ("circle", -1, 1, "exit", 21.0),
        ("late", -1, 1, "exit", 20.0),
    ]


def test_a_focal_object_that_moves_and_falls_silent() -> None:
    twin = Twin(timeout=10, queries=[ESCORT])
    twin.process([at(F, 0.0)])
    assert far(twin.process([at(1, 3.0, 4.0)])) == [("q", 1, 1, "enter", 5.0)]
    # 2 comes before the focal object moves. What then leaves has the distance that excludes it.
    assert far(twin.process([at(F, -3.0, time=1), at(2, 0.0, time=1)])) == [
        ("q", -1, 1, "exit", math.sqrt(52)),
        ("q", 1, 2, "enter", 0.0),
    ]
    twin.process([at(2, 1.0, time=8)])
    # It times out at 11, and was last at -3.
    assert far(twin.process([at(3, 90.0, time=12)])) == [("q", -1, 2, "expired", 4.0)]


def test_neighbours_of_a_place_and_of_an_object() -> None:
    twin = Twin(timeout=10, queries=[NEAR])
    twin.process([at(1, 1.0), at(2, 2.0)])
    assert far(twin.process([at(1, 3.0, time=1)])) == [
        ("q", -1, 1, "exit", 3.0),
        ("q", 1, 2, "enter", 2.0),
    ]
    assert far(twin.process([at(1, 4.0, time=11)])) == [
        ("q", -1, 2, "expired", 2.0),
        ("q", 1, 1, "enter", 3.0),
    ]
    twin.register(NEAR_FOCAL)
    assert far(twin.process([at(F, 7.0, time=12)])) == [("q", 1, 1, "registered", 3.0)]
    assert far(twin.process([at(3, 6.0, time=13)])) == [
        ("q", -1, 1, "exit", 3.0),
        ("q", 1, 3, "enter", 1.0),
    ]
    assert far(twin.drop("q")) == [("q", -1, 3, "dropped", 1.0)]


def test_the_centre_of_neighbours_goes_before_that_of_a_circle() -> None:
    both = [
        Asked("a", "INSIDE CIRCLE (9, 0, 20) kNN (1, 0, 0)", region=("circle", 9.0, 0.0, 20.0),
              knn=("knn", 1, 0.0, 0.0)),
        Asked("b", f"INSIDE CIRCLE ('M', {F}, 20) kNN (1, 0, 0)", region=("mcircle", F, 20.0),
              knn=("knn", 1, 0.0, 0.0)),
        Asked("c", f"INSIDE CIRCLE (9, 0, 20) kNN ('M', 1, {F})", region=("circle", 9.0, 0.0, 20.0),
              knn=("mknn", 1, F)),
    ]  # fmt: skip
    twin = Twin(queries=both)
    assert far(twin.process([at(F, 9.0)])) == [("a", 1, F, "enter", 9.0)]
    assert far(twin.process([at(1, 4.0)])) == [
        ("a", -1, F, "exit", 9.0),
        ("a", 1, 1, "enter", 4.0),
        ("b", 1, 1, "enter", 4.0),
        ("c", 1, 1, "enter", 5.0),
    ]
    assert far(twin.process([at(1, 70.0, time=1)])) == [
        ("a", -1, 1, "exit", 70.0),
        ("a", 1, F, "enter", 9.0),
        ("b", -1, 1, "exit", 70.0),
        ("c", -1, 1, "exit", 61.0),
    ]


@pytest.mark.parametrize("new", [depot(3.0), ESCORT, NEAR, NEAR_FOCAL, BLOCK, CONVOY, FAST])
@pytest.mark.parametrize("old", [depot(20.0), ESCORT, NEAR, NEAR_FOCAL, BLOCK, CONVOY, FAST])
def test_what_a_replaced_query_loses_was_at_a_distance_from_its_centre(
    old: Asked, new: Asked
) -> None:
    """The oracle compares; the old query's centre is not the new one's."""
    twin = Twin(queries=[old])
    rows = [at(F, 1.0), at(1, 2.0), at(2, 18.0), at(3, -8.0)]
    twin.process(rows)
    twin.process([at(F, 1.5, time=1)])
    twin.register(new)
    twin.process([at(F, 17.0, time=2), at(1, 3.0, time=2)])
    twin.drop("q")


@pytest.mark.parametrize(
    ("life", "why"), [({"lifetime": 5}, "FOR"), ({"until": NOON + 5}, "UNTIL")], ids=str
)
def test_a_life_that_ends(life: dict[str, int], why: str) -> None:
    """Beside a query without a centre that ends with it."""
    block = Asked("block", BLOCK.sql, region=BLOCK.region, **life)
    twin = Twin(queries=[depot(**life), block])
    twin.process([at(1, 3.0), at(2, 9.0)])
    twin.process([at(1, 4.0, time=3)])
    assert far(twin.process([at(1, 1.0, time=9)])) == [
        ("block", -1, 1, "dropped", None),
        ("q", -1, 1, "dropped", 4.0),
    ]


HUGE, TINY = 1e200, 1e-200


@pytest.mark.parametrize("asked", [depot(radius=1e300), NEAR])
def test_squares_that_overflow_or_underflow(asked: Asked) -> None:
    """As nearest neighbours see them: infinitely far, and not away at all."""
    twin = Twin(queries=[asked])
    assert far(twin.process([at(1, HUGE)])) == [("q", 1, 1, "enter", math.inf)]
    twin.process([at(1, -1.7e308, 1.7e308, time=1)])
    assert twin.drop("q")[0][5][0] == math.inf
    twin = Twin(queries=[asked])
    assert far(twin.process([at(1, TINY, -TINY)])) == [("q", 1, 1, "enter", 0.0)]


def test_the_column_is_a_double_after_the_reason() -> None:
    twin = Twin(queries=[depot()])
    for changes in (
        twin.tracker.process(pa.table(twin.tracker.no_rows())),
        twin.tracker.advance_to(twin.catalog.version),
    ):
        assert changes.schema.field("distance").type == pa.float64()
        assert changes.column_names[4:6] == ["reason", "distance"]


@pytest.mark.parametrize(
    "clauses",
    [
        "RETAIN SIGNIFICANT CACHE 0.5",
        "RETAIN SIGNIFICANT CACHE 0.5 MAX OBJECTS 12 SHED OBJECTS",
        "RETAIN SIGNIFICANT CACHE 0.5 MAX OBJECTS 12 SHED QUERIES",
    ],
)
def test_what_is_shed_has_its_distance(clauses: str) -> None:
    """Objects that are given up and taken back, and queries that shrink and grow."""
    chance = np.random.default_rng(7)
    catalog = wl.Catalog.of(
        [
            "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
            f" OBJECT id TIME ts POINT (x, y) {clauses}",
            "CREATE QUERY circle AS SELECT * FROM cars INSIDE CIRCLE (50, 50, 40)",
            "CREATE QUERY near AS SELECT * FROM cars kNN (8, 20, 20)",
            "CREATE QUERY escort AS SELECT * FROM cars INSIDE CIRCLE ('M', 0, 30)",
            "CREATE QUERY box AS SELECT * FROM cars INSIDE (0, 0, 60, 60)",
        ]
    )
    tracker = wl.Tracker(catalog, "cars")
    reasons: set[str] = set()
    for second in range(40):
        # A crowd that comes and goes, and the focal object, which stays where it is.
        n = 50 if second % 8 < 4 else 8
        ids = np.concatenate([[0], chance.choice(np.arange(1, 60), n, replace=False)])
        x, y = np.where(ids == 0, 70.0, chance.random((2, n + 1)) * 100)
        times = pa.array(np.full(n + 1, second * 1_000_000), pa.timestamp("us", "UTC"))
        changes = tracker.process(pa.table({"id": ids, "x": x, "y": y, "ts": times}))
        for row in changes.to_pylist():
            centre = {"circle": (50, 50), "near": (20, 20), "escort": (70, 70)}.get(row["query_id"])
            right = None
            if centre is not None:
                dx, dy = row["x"] - centre[0], row["y"] - centre[1]
                right = math.sqrt(dx * dx + dy * dy)
            assert row["distance"] == right
            reasons.add(row["reason"])
    assert ("shed" in reasons) == ("SHED" in clauses)
