"""Moving and nearest queries by examples: borders, jumps, focal objects that come and go, ties.

The oracle follows every step; what it says is also written out.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import watchline as wl
from tests import reference
from tests.support.ledgers import (
    NOON,
    QUERIES,
    SECOND,
    Asked,
    Row,
    Told,
    Twin,
    compared,
    fleet,
    moving,
    told,
)
from watchline.tracking.queries import ChangeQueries
from watchline.tracking.tracker import Saved

# The focal object of most queries.
F = 100


def at(object_id: Any, x: float, y: float = 0.0, time: int = 0, **more: Any) -> Row:
    row = {"id": object_id, "x": x, "y": y, "speed": 0.0, "n": 0, "kind": "car", "ts": NOON + time}
    return row | more


def brief(changes: list[Told]) -> list[tuple[Any, ...]]:
    """Query, sign, object, time since noon, reason: by time, the `-` first, by query and id."""
    found = [(query, sign, who, time - NOON, why) for query, sign, who, time, why, _ in changes]
    return sorted(found, key=lambda c: (c[3], c[1], c[0], reference.order_key(c[2])))


def box(width: float, height: float, focal: Any = F, name: str = "box", **more: Any) -> Asked:
    text = f"INSIDE ('M', {focal!r}, {width!r}, {height!r})"
    return Asked(name, text, region=("mbox", focal, width, height), **more)


def circle(radius: float, focal: Any = F, name: str = "circle", **more: Any) -> Asked:
    text = f"INSIDE CIRCLE ('M', {focal!r}, {radius!r})"
    return Asked(name, text, region=("mcircle", focal, radius), **more)


def near(k: int, x: float = 0.0, y: float = 0.0, **more: Any) -> Asked:
    return Asked("near", f"kNN ({k}, {x!r}, {y!r})", knn=("knn", k, x, y), **more)


def near_focal(k: int, focal: Any = F, name: str = "near", **more: Any) -> Asked:
    return Asked(name, f"kNN ('M', {k}, {focal!r})", knn=("mknn", k, focal), **more)


def answer(twin: Twin, query_id: str) -> set[Any]:
    """What the oracle holds, which the tracker's changes lead to as well."""
    return twin.ledger.answers[query_id]


# --- fleets


@pytest.mark.parametrize("kind", ["BIGINT", "STRING"])
@pytest.mark.parametrize("timeout", [None, 20 * SECOND])
def test_a_fleet_with_queries_of_every_kind(kind: str, timeout: int | None) -> None:
    """Batches that overlap in time, so that rows are late, with a query gone and one replaced."""
    twin = Twin(kind, timeout, [*QUERIES, *moving(kind)])
    rows = fleet(400, kind)
    for start in range(0, 400, 80):
        piece = rows[start : start + 80]
        twin.process(piece[::2])
        twin.process(piece[1::2])
        if start == 80:
            twin.drop("escort")
            twin.register(Asked("centre", "kNN (5, 30, 30)", knn=("knn", 5, 30.0, 30.0)))
        if start == 160:
            twin.tracker = wl.Tracker.restore(twin.catalog, "cars", twin.tracker.snapshot())
    stats = twin.tracker.stats()
    assert stats["late"] > 20
    assert stats["changes"] > 1_000


# --- an object moves: what it was, what it is

OLD_AND_NEW = [
    (old, new) for old in ("nowhere", "out", "in") for new in ("nowhere", "out", "in")
]  # fmt: skip
PLACE = {"in": 2.0, "out": 30.0}


@pytest.mark.parametrize("asked", [box(10, 10), circle(5), near_focal(1)], ids=lambda a: a.id)
@pytest.mark.parametrize(("old", "new"), OLD_AND_NEW)
def test_an_object_that_moves(asked: Asked, old: str, new: str) -> None:
    """Nine ways: only what changes its state is told."""
    # 2 is always nearer than what is out, and out of the regions.
    twin = Twin(timeout=10, queries=[asked])
    twin.process([at(F, 0.0), at(2, 0.0, 20.0)])
    if old != "nowhere":
        twin.process([at(1, PLACE[old], time=1)])
    twin.process([at(F, 0.0, time=9), at(2, 0.0, 20.0, time=9)])
    if new != "nowhere":
        found = twin.process([at(1, PLACE[new], time=10)])
    else:
        found = twin.process([at(2, 0.0, 20.0, time=12)])
    mine = [change for change in brief(found) if change[2] == 1]
    expected = {
        ("nowhere", "in"): [(asked.id, 1, 1, 10, "enter")],
        ("out", "in"): [(asked.id, 1, 1, 10, "enter")],
        ("in", "out"): [(asked.id, -1, 1, 10, "exit")],
        ("in", "nowhere"): [(asked.id, -1, 1, 11, "expired")],
    }
    assert mine == expected.get((old, new), [])


# --- the focal object moves: seven regions of its old and new place


#   old box        [-5 ........... 5)
#   new box              [1 ............ 11)
#   margin of 2  -7 |               | 7      of the old
#                    -1 |                  | 13   of the new
#   objects       -6  -4   0   3   6   9   12
REGIONS = {
    1: (-6.0, None),  # near the old box, far from the new
    2: (-4.0, -1),  # in the old box, far from the new
    3: (0.0, -1),  # in the old box, near the new
    4: (3.0, None),  # in both
    5: (6.0, 1),  # near the old box, in the new
    6: (9.0, 1),  # far from the old box, in the new
    7: (12.0, None),  # far from the old box, near the new
}


@pytest.mark.parametrize("asked", [box(10, 10), circle(5)], ids=lambda a: a.id)
@pytest.mark.parametrize("forward", [True, False])
def test_seven_regions_of_a_focal_object_that_moves(asked: Asked, forward: bool) -> None:
    twin = Twin(queries=[asked])
    twin.process([at(name, x) for name, (x, _) in REGIONS.items()])
    start, end = (0.0, 6.0) if forward else (6.0, 0.0)
    twin.process([at(F, start, time=1)])
    turn = 1 if forward else -1
    assert brief(twin.process([at(F, end, time=2)])) == sorted(
        (asked.id, sign * turn, name, 2, "enter" if sign == turn else "exit")
        for name, (_, sign) in REGIONS.items()
        if sign is not None
    )


@pytest.mark.parametrize("asked", [box(10, 10), circle(5)], ids=lambda a: a.id)
@pytest.mark.parametrize("far", [100.0, -100.0, 1e9, -1e15])
def test_a_jump_across_the_map(asked: Asked, far: float) -> None:
    """Old and new box have nothing in common; then all jump at once, in one batch."""
    twin = Twin(queries=[asked])
    twin.process([at(1, 1.0), at(2, far), at(F, 0.0, time=1)])
    assert answer(twin, asked.id) == {1}
    assert brief(twin.process([at(F, far, time=2)])) == [
        (asked.id, -1, 1, 2, "exit"),
        (asked.id, 1, 2, 2, "enter"),
    ]
    found = twin.process([at(1, far, time=3), at(2, 0.0, time=4), at(F, 0.0, time=5)])
    assert brief(found) == [
        (asked.id, 1, 1, 3, "enter"),
        (asked.id, -1, 2, 4, "exit"),
        (asked.id, -1, 1, 5, "exit"),
        (asked.id, 1, 2, 5, "enter"),
    ]


@pytest.mark.parametrize("far", [1e300, -1e300])
def test_a_box_is_empty_where_numbers_are_far_apart(far: float) -> None:
    """Beside 1e300 a width of 10 is nothing; a circle holds at least what is at its centre."""
    twin = Twin(queries=[box(10, 10), circle(5)])
    twin.process([at(1, far), at(2, 0.0), at(F, 0.0, time=1)])
    assert twin.ledger.answers == {"box": {2}, "circle": {2}}
    twin.process([at(F, far, time=2)])
    assert twin.ledger.answers == {"box": set(), "circle": {1}}


def test_the_order_within_a_moment_is_that_of_ids() -> None:
    """1 moves before the focal object 5, and 9 after it, all at one moment, in one batch."""
    rows = [at(9, 1.0, time=1), at(5, 50.0, time=1), at(1, 50.0, time=1)]
    for order in (rows, rows[::-1]):
        twin = Twin(queries=[box(10, 10, focal=5)])
        twin.process([at(1, 1.0), at(5, 0.0), at(9, 50.0)])
        # 1 leaves; the box moves to where 1 and 9 are; 9 goes away from it.
        assert sorted(brief(twin.process(order))) == [
            ("box", -1, 1, 1, "exit"),
            ("box", -1, 9, 1, "exit"),
            ("box", 1, 1, 1, "enter"),
            ("box", 1, 9, 1, "enter"),
        ]


def test_a_focal_object_that_moves_many_times_in_a_batch() -> None:
    twin = Twin(queries=[box(2, 2)])
    twin.process([at(name, float(name)) for name in range(10)])
    found = twin.process([at(F, float(step), time=step + 1) for step in range(10)])
    # Of width 2: at s it holds s - 1 and s, of which s - 1 goes with the next step.
    assert brief(found) == sorted(
        [("box", 1, 0, 1, "registered")]
        + [("box", 1, s, s + 1, "enter") for s in range(1, 10)]
        + [("box", -1, s - 2, s + 1, "exit") for s in range(2, 10)],
        key=lambda c: (c[3], c[1]),
    )


# --- borders

#   (-5, 5)      (0, 5)     (5, 5)
#      +-----------------------+       the lower and the left side belong to the box,
#      |                       |       the upper and the right one do not
#      |           F           |
#      |                       |
#      +-----------------------+
#   (-5, -5)     (0, -5)    (5, -5)
BELOW_FIVE = math.nextafter(5.0, 0.0)
ON_THE_BOX = [
    (-5.0, 0.0, True),
    (0.0, -5.0, True),
    (-5.0, -5.0, True),
    (5.0, 0.0, False),
    (0.0, 5.0, False),
    (5.0, 5.0, False),
    (-5.0, 5.0, False),
    (5.0, -5.0, False),
    (BELOW_FIVE, BELOW_FIVE, True),
    (math.nextafter(-5.0, -6.0), 0.0, False),
    (-0.0, -0.0, True),
]


@pytest.mark.parametrize(("x", "y", "belongs"), ON_THE_BOX)
def test_on_the_border_of_a_moving_box(x: float, y: float, belongs: bool) -> None:
    """Whether the object comes to the border, or the border to the object."""
    twin = Twin(queries=[box(10, 10)])
    twin.process([at(F, 0.0)])
    assert len(twin.process([at(1, x, y, time=1)])) == belongs
    twin = Twin(queries=[box(10, 10)])
    twin.process([at(F, 70.0), at(1, x, y)])
    assert len(twin.process([at(F, 0.0, time=1)])) == belongs


@pytest.mark.parametrize(
    ("x", "y", "belongs"),
    [
        (5.0, 0.0, True),
        (-5.0, 0.0, True),
        (0.0, -5.0, True),
        (3.0, 4.0, True),
        (-4.0, 3.0, True),
        (math.nextafter(5.0, 6.0), 0.0, False),
        (3.0, math.nextafter(4.0, 5.0), False),
    ],
)
def test_on_the_border_of_a_moving_circle(x: float, y: float, belongs: bool) -> None:
    twin = Twin(queries=[circle(5)])
    twin.process([at(F, 0.0)])
    assert len(twin.process([at(1, x, y, time=1)])) == belongs
    twin = Twin(queries=[circle(5)])
    twin.process([at(F, 70.0), at(1, x, y)])
    assert len(twin.process([at(F, 0.0, time=1)])) == belongs


def test_a_side_is_what_float64_makes_of_it() -> None:
    """0.1 + 0.4 / 2 is a little more than 0.3: the side is computed, not thought."""
    assert 0.1 + 0.4 / 2 == 0.30000000000000004
    twin = Twin(queries=[box(0.4, 1)])
    assert len(twin.process([at(F, 0.1), at(1, 0.3, time=1)])) == 1
    assert len(twin.process([at(1, 0.30000000000000004, time=2)])) == 1
    assert answer(twin, "box") == set()


@pytest.mark.parametrize(
    ("asked", "members"),
    [
        # Half of the least width is nothing: an empty box. The square of a tiny radius is zero.
        (box(5e-324, 1), set()),
        (circle(5e-324), {1}),
        # A side that is beyond all numbers ends nowhere; a square beyond all holds everything.
        (box(1.7e308, 1.7e308), {1, 2}),
        (circle(1e200), {1, 2, 3}),
    ],
    ids=["thin", "tiny", "wide", "huge"],
)
def test_extreme_sizes(asked: Asked, members: set[int]) -> None:
    twin = Twin(queries=[asked])
    twin.process([at(F, 0.0), at(1, 0.0), at(2, 8e307), at(3, -1.7e308)])
    assert answer(twin, asked.id) == members


# --- the focal object


@pytest.mark.parametrize("asked", [box(10, 10), circle(5), near_focal(3)], ids=lambda a: a.id)
def test_the_focal_object_is_never_in_its_own_answer(asked: Asked) -> None:
    twin = Twin(queries=[asked])
    assert twin.process([at(F, 0.0)]) == []
    assert brief(twin.process([at(1, 0.0, time=1)])) == [(asked.id, 1, 1, 1, "enter")]
    assert twin.process([at(F, 1.0, time=2), at(F, 0.0, time=3)]) == []
    assert answer(twin, asked.id) == {1}


def test_the_focal_object_is_a_member_of_other_queries() -> None:
    """Two objects each with a box about them: each is in the other's answer, never in its own."""
    others = [box(10, 10, focal=1, name="one"), box(4, 4, focal=2, name="two"), near(5)]
    twin = Twin(queries=[*others, circle(3, focal=1, name="round")])
    twin.process([at(1, 0.0), at(2, 1.0)])
    assert twin.ledger.answers == {"one": {2}, "two": {1}, "round": {2}, "near": {1, 2}}
    # 2 is out of the small box and the circle, in the wide box.
    assert brief(twin.process([at(2, 4.0, time=1)])) == [
        ("round", -1, 2, 1, "exit"),
        ("two", -1, 1, 1, "exit"),
    ]
    assert brief(twin.process([at(1, 3.0, time=2)])) == [
        ("round", 1, 2, 2, "enter"),
        ("two", 1, 1, 2, "enter"),
    ]


def test_a_focal_object_that_vanishes_and_comes_back() -> None:
    asked = [box(10, 10), circle(5), near_focal(1)]
    twin = Twin(timeout=100, queries=asked)
    twin.process([at(F, 0.0), at(1, 1.0, time=60), at(2, 2.0, time=60)])
    # It is gone at 100, and all that its queries held.
    assert brief(twin.process([at(2, 2.0, time=110)])) == [
        ("box", -1, 1, 100, "expired"),
        ("box", -1, 2, 100, "expired"),
        ("circle", -1, 1, 100, "expired"),
        ("circle", -1, 2, 100, "expired"),
        ("near", -1, 1, 100, "expired"),
    ]
    assert twin.process([at(1, 0.0, time=111)]) == []
    # It comes back with an old row, which is not timed out on arrival: 90 + 100 is after 111.
    assert brief(twin.process([at(F, 0.0, time=90)])) == [
        ("box", 1, 1, 90, "enter"),
        ("box", 1, 2, 90, "enter"),
        ("circle", 1, 1, 90, "enter"),
        ("circle", 1, 2, 90, "enter"),
        ("near", 1, 1, 90, "enter"),
    ]


def test_a_focal_object_that_vanishes_and_comes_back_within_a_batch() -> None:
    twin = Twin(timeout=100, queries=[box(10, 10)])
    twin.process([at(F, 0.0), at(1, 1.0), at(1, 1.0, time=90)])
    found = twin.process([at(1, 2.0, time=150), at(F, 0.0, time=180), at(F, 50.0, time=181)])
    assert brief(found) == [
        ("box", -1, 1, 100, "expired"),
        ("box", 1, 1, 180, "enter"),
        ("box", -1, 1, 181, "exit"),
    ]


def test_the_focal_object_and_a_member_vanish_at_one_moment() -> None:
    """By id: what goes first takes the answer with it, and nothing is told twice."""
    for focal in (1, 9):
        twin = Twin(timeout=10, queries=[box(10, 10, focal=focal)])
        twin.process([at(focal, 0.0), at(5, 1.0)])
        assert brief(twin.process([at(77, 70.0, time=11)])) == [("box", -1, 5, 10, "expired")]


# --- the start of a moving query


@pytest.mark.parametrize("asked", [box(10, 10), circle(5), near_focal(1)], ids=lambda a: a.id)
def test_a_query_whose_focal_object_does_not_exist_yet(asked: Asked) -> None:
    twin = Twin(queries=[asked])
    assert twin.process([at(1, 1.0), at(2, 40.0)]) == []
    assert brief(twin.process([at(F, 0.0, time=5)])) == [(asked.id, 1, 1, 5, "registered")]
    # From now on things enter and leave.
    assert brief(twin.process([at(2, 0.5, time=6)]))[-1] == (asked.id, 1, 2, 6, "enter")


@pytest.mark.parametrize("asked", [box(10, 10), circle(5), near_focal(1)], ids=lambda a: a.id)
@pytest.mark.parametrize(("time", "starts"), [(49, False), (50, True), (51, True)])
def test_the_row_that_starts_a_query(asked: Asked, time: int, starts: bool) -> None:
    """The focal object was there before; it starts with a row not older than the registration."""
    twin = Twin()
    twin.process([at(F, 0.0, time=10), at(1, 1.0, time=50)])
    assert twin.register(asked) == []
    found = brief(twin.process([at(F, 0.0, time=time)]))
    assert found == ([(asked.id, 1, 1, time, "registered")] if starts else [])
    assert len(twin.process([at(F, 0.0, time=60)])) == 1 - starts


def test_the_first_plus_comes_at_the_newest_time() -> None:
    """The row that starts the query may be older than the stream's newest: then that counts."""
    twin = Twin()
    twin.process([at(1, 1.0, time=50)])
    twin.register(box(10, 10))
    twin.process([at(2, 60.0, time=90)])
    assert brief(twin.process([at(F, 0.0, time=70)])) == [("box", 1, 1, 90, "registered")]
    # What an old row causes later has the row's own time.
    assert brief(twin.process([at(3, 1.0, time=65)])) == [("box", 1, 3, 65, "enter")]
    # All in one batch: the rows count by time.
    twin = Twin(queries=[box(10, 10)])
    rows = [at(2, 1.0, time=9), at(1, 1.0, time=3), at(F, 0.0, time=5)]
    assert brief(twin.process(rows)) == [
        ("box", 1, 1, 5, "registered"),
        ("box", 1, 2, 9, "enter"),
    ]


def test_a_snapshot_before_the_start() -> None:
    """What a query waits for is part of the state."""
    twin = Twin()
    twin.process([at(F, 0.0, time=10), at(1, 1.0, time=50)])
    twin.register(box(10, 10))
    twin.tracker = wl.Tracker.restore(twin.catalog, "cars", twin.tracker.snapshot())
    assert twin.process([at(F, 0.0, time=40)]) == []
    twin.tracker = wl.Tracker.restore(twin.catalog, "cars", twin.tracker.snapshot())
    assert brief(twin.process([at(F, 0.0, time=50)])) == [("box", 1, 1, 50, "registered")]
    twin.tracker = wl.Tracker.restore(twin.catalog, "cars", twin.tracker.snapshot())
    assert twin.process([at(F, 1.0, time=51)]) == []


def test_a_query_with_two_focal_objects_starts_with_the_second() -> None:
    both = Asked(
        "both",
        "INSIDE ('M', 8, 20, 20) kNN ('M', 1, 9)",
        region=("mbox", 8, 20.0, 20.0),
        knn=("mknn", 1, 9),
    )
    twin = Twin(timeout=100, queries=[both])
    assert twin.process([at(1, 5.0), at(2, 12.0), at(9, 11.0)]) == []
    # 2 is nearer to 9, and out of the box about 8.
    assert brief(twin.process([at(8, 0.0, time=50)])) == [("both", 1, 1, 50, "registered")]
    # Neither of the two is in the answer.
    twin.process([at(9, 9.0, time=60), at(8, 8.0, time=70)])
    assert answer(twin, "both") == {2}
    # 9 vanishes at 160; 8 stays.
    twin.process([at(8, 8.0, time=150), at(1, 7.0, time=150), at(2, 12.0, time=150)])
    assert answer(twin, "both") == {1}
    assert brief(twin.process([at(8, 8.0, time=161)])) == [("both", -1, 1, 160, "expired")]
    assert brief(twin.process([at(9, 13.0, time=162)])) == [("both", 1, 2, 162, "enter")]


# --- replacements


def test_a_moving_query_is_replaced_by_a_wider_and_a_narrower() -> None:
    twin = Twin(queries=[box(10, 10)])
    twin.process([at(F, 0.0), at(1, 1.0), at(2, 8.0), at(3, 30.0, time=7)])
    assert brief(twin.register(box(20, 20))) == [("box", 1, 2, 7, "registered")]
    assert brief(twin.register(box(2.5, 2.5))) == [("box", -1, 2, 7, "dropped")]
    assert twin.register(box(2.5, 2.5)) == []
    assert brief(twin.register(circle(9, name="box"))) == [("box", 1, 2, 7, "registered")]
    assert brief(twin.register(near_focal(1, name="box"))) == [("box", -1, 2, 7, "dropped")]
    assert brief(twin.drop("box")) == [("box", -1, 1, 7, "dropped")]
    assert twin.process([at(F, 1.0, time=8)]) == []


def test_a_moving_query_is_replaced_by_that_of_another_focal_object() -> None:
    twin = Twin(queries=[box(10, 10)])
    twin.process([at(F, 0.0), at(1, 1.0), at(2, 30.0), at(3, 31.0, time=7)])
    assert brief(twin.register(box(10, 10, focal=2))) == [("box", -1, 1, 7, "dropped")]
    # It waits for 2, whatever the old focal object does.
    assert twin.process([at(F, 30.0, time=8)]) == []
    assert brief(twin.process([at(2, 30.0, time=9)])) == [
        ("box", 1, 3, 9, "registered"),
        ("box", 1, F, 9, "registered"),
    ]
    # Back to the first: it was forgotten, and is waited for again.
    assert len(twin.register(box(10, 10))) == 2
    assert brief(twin.process([at(F, 0.0, time=9)])) == [("box", 1, 1, 9, "registered")]


def test_from_moving_to_static_to_nearest_and_back() -> None:
    still = Asked("box", "INSIDE (0, -5, 10, 5)", region=("box", 0, -5, 10, 5))
    twin = Twin(queries=[box(10, 10)])
    twin.process([at(F, 0.0), at(1, 1.0), at(2, -1.0), at(3, 8.0)])
    assert answer(twin, "box") == {1, 2}
    # A static query holds the focal object of what was there before as any other.
    assert brief(twin.register(still)) == [
        ("box", -1, 2, 0, "dropped"),
        ("box", 1, 3, 0, "registered"),
        ("box", 1, F, 0, "registered"),
    ]
    nearest = Asked("box", "kNN (2, -1, 0)", knn=("knn", 2, -1.0, 0.0))
    assert brief(twin.register(nearest)) == [
        ("box", -1, 1, 0, "dropped"),
        ("box", -1, 3, 0, "dropped"),
        ("box", 1, 2, 0, "registered"),
    ]
    # A moving query begins anew: it waits.
    assert len(twin.register(box(10, 10))) == 2
    assert len(twin.process([at(F, 0.0, time=1)])) == 2


def test_dropping_a_query_that_still_waits_tells_nothing() -> None:
    twin = Twin(queries=[box(10, 10), near_focal(2)])
    twin.process([at(1, 1.0)])
    assert twin.drop("box") == []
    assert twin.drop("near") == []
    assert twin.process([at(F, 0.0, time=1)]) == []


# --- nearest neighbours


def test_k_grows_and_shrinks() -> None:
    twin = Twin()
    twin.process([at(name, float(name)) for name in range(1, 6)])
    assert brief(twin.register(near(2))) == [
        ("near", 1, 1, 0, "registered"),
        ("near", 1, 2, 0, "registered"),
    ]
    assert brief(twin.register(near(4))) == [
        ("near", 1, 3, 0, "registered"),
        ("near", 1, 4, 0, "registered"),
    ]
    assert brief(twin.register(near(1))) == [
        ("near", -1, 2, 0, "dropped"),
        ("near", -1, 3, 0, "dropped"),
        ("near", -1, 4, 0, "dropped"),
    ]
    # What was let go is found again when the nearest leaves.
    assert brief(twin.process([at(1, 90.0, time=1)])) == [
        ("near", -1, 1, 1, "exit"),
        ("near", 1, 2, 1, "enter"),
    ]
    assert brief(twin.register(near(1, 5.0))) == [
        ("near", -1, 2, 1, "dropped"),
        ("near", 1, 5, 1, "registered"),
    ]


def test_a_nearer_object_displaces_the_farthest() -> None:
    twin = Twin(queries=[near(2)])
    twin.process([at(1, 1.0), at(2, 2.0), at(3, 3.0)])
    assert brief(twin.process([at(4, 1.5, time=1)])) == [
        ("near", -1, 2, 1, "exit"),
        ("near", 1, 4, 1, "enter"),
    ]
    # The one that was displaced is told with its own latest row, at the time of the other's.
    [gone] = [c for c in twin.process([at(3, 0.0, time=2)]) if c[1] < 0]
    assert (gone[2], gone[3] - NOON, gone[5][:3]) == (4, 2, (1.5, 4, 1.5))
    # Within the answer they may change places.
    assert twin.process([at(1, 0.1, time=3), at(3, 0.5, time=4)]) == []


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        # By value, not by their letters nor as floats.
        ("BIGINT", [-(2**63), -10, -9, 9, 10, 2**53, 2**53 + 1, 2**63 - 1]),
        # By bytes: neither by UTF-16 nor by anybody's alphabet.
        ("STRING", ["", "10", "9", "Z", "a", "é", "\ue000", "\U00010000"]),
    ],
)
def test_ties_go_by_id(kind: str, ids: list[Any]) -> None:
    places = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    rows = [at(name, *places[i % 4]) for i, name in enumerate(ids)]
    for k in range(1, len(ids)):
        twin = Twin(kind, queries=[near(k)])
        twin.process(rows[::-1])
        assert answer(twin, "near") == set(ids[:k])
        # The first goes, and the next of the same distance comes.
        found = brief(twin.process([at(ids[0], 5.0, time=1)]))
        assert found == [("near", -1, ids[0], 1, "exit"), ("near", 1, ids[k], 1, "enter")]
        # It comes back and pushes it out.
        assert len(twin.process([at(ids[0], 1.0, time=2)])) == 2
        assert answer(twin, "near") == set(ids[:k])


def test_distances_that_overflow_tie() -> None:
    """The square of 1e200 is infinite: what is that far away goes by id."""
    twin = Twin(queries=[near(2)])
    twin.process([at(5, 1e200), at(4, 1e300), at(3, -1.7e308, 1.7e308), at(9, 1e150)])
    assert answer(twin, "near") == {9, 3}
    # The square of 1e-200 is zero: it is as near as can be.
    twin.process([at(8, 0.0, time=1), at(7, 1e-200, time=1), at(6, 5e-324, time=1)])
    assert answer(twin, "near") == {6, 7}


def test_k_beyond_the_population() -> None:
    twin = Twin(timeout=100, queries=[near(2**31 - 1), near_focal(10, name="mine")])
    twin.process([at(F, 0.0), at(1, 1.0), at(2, 1e300)])
    assert twin.ledger.answers == {"near": {F, 1, 2}, "mine": {1, 2}}
    found = twin.process([at(3, 3.0, time=101)])
    assert [c for c in brief(found) if c[0] == "near"] == [
        ("near", -1, 1, 100, "expired"),
        ("near", -1, 2, 100, "expired"),
        ("near", -1, F, 100, "expired"),
        ("near", 1, 3, 101, "enter"),
    ]


def test_the_nearest_stops_to_satisfy_the_condition() -> None:
    where = compared("kind", "=", "taxi")
    asked = Asked("near", "WHERE kind = 'taxi' kNN (1, 0, 0)", where, knn=("knn", 1, 0.0, 0.0))
    twin = Twin(queries=[asked])
    twin.process([at(1, 1.0, kind="taxi"), at(2, 2.0, kind="taxi"), at(3, 0.5, kind="bus")])
    assert answer(twin, "near") == {1}
    assert brief(twin.process([at(1, 1.0, kind="bus", time=1)])) == [
        ("near", -1, 1, 1, "exit"),
        ("near", 1, 2, 1, "enter"),
    ]
    assert brief(twin.process([at(3, 0.5, kind="taxi", time=2)])) == [
        ("near", -1, 2, 2, "exit"),
        ("near", 1, 3, 2, "enter"),
    ]
    assert brief(twin.process([at(3, 0.5, kind=None, time=3)])) == [
        ("near", -1, 3, 3, "exit"),
        ("near", 1, 2, 3, "enter"),
    ]


def test_conditions_of_queries_that_are_no_more() -> None:
    """A tracker that begins with some queries dropped, and others registered since."""
    asked = [
        Asked(name, f"WHERE n = {n} kNN (1, 0, 0)", compared("n", "=", n), knn=("knn", 1, 0.0, 0.0))
        for n, name in enumerate(["gone", "old", "new"])
    ]
    twin = Twin()
    watcher = ChangeQueries(twin.catalog, "cars")
    twin.catalog.execute("; ".join(one.text for one in asked[:2]))
    twin.catalog.execute("DROP QUERY gone")
    twin.catalog.execute(asked[2].text)
    watcher.advance(twin.catalog.version)
    twin.tracker = wl.Tracker.over(watcher, twin.catalog.identity)
    twin.ledger.version(adds=[one.spec for one in asked[1:]])
    rows = [at(n, float(n + 1), n=n) for n in range(3)]
    assert brief(twin.process(rows)) == [("new", 1, 2, 0, "enter"), ("old", 1, 1, 0, "enter")]


def test_the_nearest_within_a_region() -> None:
    """INSIDE comes first: the k nearest of what is inside."""
    asked = Asked(
        "near",
        "INSIDE ('M', 100, 10, 10) kNN (2, 4, 0)",
        region=("mbox", F, 10.0, 10.0),
        knn=("knn", 2, 4.0, 0.0),
    )
    twin = Twin(queries=[asked])
    # 5.0 is nearest to 4, and out of the box -5 <= x < 5.
    twin.process([at(1, 5.0), at(2, 3.0), at(3, 0.0), at(4, -4.0), at(F, 0.0)])
    assert answer(twin, "near") == {2, 3}
    # The box moves on to 1 <= x < 11.
    assert brief(twin.process([at(F, 6.0, time=1)])) == [
        ("near", -1, 3, 1, "exit"),
        ("near", 1, 1, 1, "enter"),
    ]


def test_a_neighbour_times_out_and_the_next_enters_at_that_time() -> None:
    twin = Twin(timeout=100, queries=[near(1), near_focal(2, name="mine")])
    twin.process([at(1, 1.0), at(2, 2.0, time=50), at(3, 3.0, time=60), at(F, 9.0, time=70)])
    found = brief(twin.process([at(F, 9.0, time=140)]))
    assert found == [("near", -1, 1, 100, "expired"), ("near", 1, 2, 100, "enter")]
    found = brief(twin.process([at(F, 9.0, time=155)]))
    assert found == [
        ("mine", -1, 2, 150, "expired"),
        ("near", -1, 2, 150, "expired"),
        ("near", 1, 3, 150, "enter"),
    ]
    # The last but the focal object goes: it is its own neighbour in no query of its own.
    found = brief(twin.process([at(F, 9.0, time=161)]))
    assert found == [
        ("mine", -1, 3, 160, "expired"),
        ("near", -1, 3, 160, "expired"),
        ("near", 1, F, 160, "enter"),
    ]


def test_several_neighbours_time_out_in_one_batch() -> None:
    """Each expiry is an event of its own: who takes a place may lose it at the next."""
    twin = Twin(timeout=100, queries=[near(1)])
    twin.process([at(name, float(name), time=name) for name in (1, 2, 3)])
    assert brief(twin.process([at(9, 9.0, time=200)])) == [
        ("near", -1, 1, 101, "expired"),
        ("near", 1, 2, 101, "enter"),
        ("near", -1, 2, 102, "expired"),
        ("near", 1, 3, 102, "enter"),
        ("near", -1, 3, 103, "expired"),
        ("near", 1, 9, 200, "enter"),
    ]


def test_the_focal_object_of_a_nearest_query_moves() -> None:
    twin = Twin(queries=[near_focal(2)])
    twin.process([at(name, float(10 * name)) for name in range(5)])
    assert brief(twin.process([at(F, 1.0, time=1)])) == [
        ("near", 1, 0, 1, "registered"),
        ("near", 1, 1, 1, "registered"),
    ]
    assert brief(twin.process([at(F, 39.0, time=2)])) == [
        ("near", -1, 0, 2, "exit"),
        ("near", -1, 1, 2, "exit"),
        ("near", 1, 3, 2, "enter"),
        ("near", 1, 4, 2, "enter"),
    ]
    # Halfway between 1 and 3, at 2: 2 is there, and of 1 and 3 the smaller id.
    twin.process([at(F, 20.0, time=3)])
    assert answer(twin, "near") == {1, 2}


# --- the end of a life


@pytest.mark.parametrize(
    "asked",
    [box(10, 10, lifetime=20), circle(5, lifetime=20), near_focal(1, lifetime=20)],
    ids=lambda a: a.id,
)
def test_the_life_of_a_moving_query_counts_from_its_registration(asked: Asked) -> None:
    """Not from its start: it lives from 10 to 30, though its focal object reports at 25."""
    twin = Twin()
    twin.process([at(1, 1.0, time=10)])
    twin.register(asked)
    assert brief(twin.process([at(F, 0.0, time=25)])) == [(asked.id, 1, 1, 25, "registered")]
    # At its very end it still lives.
    assert brief(twin.process([at(1, 60.0, time=30)]))[:1] == (
        [] if asked.id == "near" else [(asked.id, -1, 1, 30, "exit")]
    )
    twin.process([at(1, 1.0, time=30, n=1)])
    assert brief(twin.process([at(F, 50.0, time=31)])) == [(asked.id, -1, 1, 30, "dropped")]
    assert twin.process([at(1, 50.0, time=32)]) == []
    assert twin.drop(asked.id) == []


def test_a_query_that_ends_before_it_started() -> None:
    twin = Twin()
    twin.process([at(1, 1.0, time=10)])
    twin.register(box(10, 10, lifetime=20))
    assert twin.process([at(F, 0.0, time=31)]) == []
    # Registered anew it waits, and starts.
    assert twin.register(box(10, 10, lifetime=20)) == []
    assert brief(twin.process([at(F, 0.0, time=31)])) == [("box", 1, 1, 31, "registered")]


def test_the_life_of_a_nearest_query() -> None:
    twin = Twin(timeout=100, queries=[near(1, lifetime=130)])
    twin.process([at(1, 1.0), at(2, 2.0, time=50)])
    # 1 goes at 100, the query at 130, 2 at 150.
    assert brief(twin.process([at(3, 0.5, time=160)])) == [
        ("near", -1, 1, 100, "expired"),
        ("near", 1, 2, 100, "enter"),
        ("near", -1, 2, 130, "dropped"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "told_of"),
    [
        # Its life is over: there is nothing to close.
        (near(2, lifetime=20), near(1), [("near", 1, 1, 40, "registered")]),
        # It never ends: what replaces it changes one answer.
        (near(2), near(1, lifetime=20), [("near", -1, 2, 40, "dropped")]),
    ],
    ids=["over", "endless"],
)
def test_lives_are_those_of_the_state(old: Asked, new: Asked, told_of: list[Any]) -> None:
    """Also where the queries that a state meets are ahead of it, as on Spark."""
    twin = Twin(queries=[old])
    twin.process([at(1, 1.0), at(2, 2.0), at(3, 3.0, time=40)])
    saved = Saved.of(twin.tracker.snapshot(), twin.catalog.identity, "cars")
    ahead = ChangeQueries(twin.catalog, "cars", twin.catalog.version)
    twin.catalog.execute(new.replacement)
    ahead.advance(twin.catalog.version)
    again = wl.Tracker.resume(ahead, saved)
    assert brief(told(again.advance_to(twin.catalog.version))) == told_of
    twin.tracker = again
    twin.ledger.version([old.id], [new.spec])
    twin.process([at(4, 0.5, time=41), at(2, 0.1, time=70)])


# --- rows that do not count


def test_late_and_rejected_rows_of_a_focal_object_move_nothing() -> None:
    twin = Twin(timeout=100, queries=[box(10, 10), near_focal(1)])
    twin.process([at(F, 0.0, time=50), at(1, 1.0, time=50)])
    assert twin.process([at(F, 70.0, time=49)]) == []
    assert twin.process([at(F, math.nan, time=60), at(F, None, time=60), at(F, 1e999)]) == []
    stats = twin.tracker.stats()
    assert (stats["late"], stats["rejected"]) == (1, 3)
    # A row at the same moment counts; its attributes decide which of two is the last.
    found = twin.process([at(F, 70.0, time=50), at(F, 60.0, time=50)])
    assert [c[:3] for c in brief(found)] == [("box", -1, 1)]
