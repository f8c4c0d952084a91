"""The oracle against scenarios worked by hand; every expectation is written out."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.reference import (
    Change,
    Ledger,
    QuerySpec,
    StreamSpec,
    holds,
    inside,
    replay,
    truth,
)

T, F, U = ("true",), ("false",), ("cmp", "=", ("const", None), ("const", 1))
NAN, INF = math.nan, math.inf


def attr(name: str) -> tuple[str, str]:
    return ("attr", name)


def const(value: Any) -> tuple[str, Any]:
    return ("const", value)


def price(op: str, value: Any) -> tuple[Any, ...]:
    return ("cmp", op, attr("price"), const(value))


# ------------------------------------------------------------------------------ conditions


@pytest.mark.parametrize(
    ("a", "b", "conjunction", "disjunction"),
    [
        (T, T, True, True),
        (T, F, False, True),
        (T, U, None, True),
        (F, T, False, True),
        (F, F, False, False),
        (F, U, False, None),
        (U, T, None, True),
        (U, F, False, None),
        (U, U, None, None),
    ],
)
def test_kleene_and_or(a: Any, b: Any, conjunction: bool | None, disjunction: bool | None) -> None:
    assert truth(("and", a, b), {}) is conjunction
    assert truth(("or", a, b), {}) is disjunction


def test_kleene_not() -> None:
    assert truth(("not", T), {}) is False
    assert truth(("not", F), {}) is True
    assert truth(("not", U), {}) is None


def test_and_or_take_any_number_of_parts() -> None:
    assert truth(("and", T, U, F), {}) is False
    assert truth(("or", F, U, T), {}) is True
    assert truth(("and", T, T, U), {}) is None
    assert truth(("or", F, F, U), {}) is None


@pytest.mark.parametrize(
    ("op", "below", "equal", "above"),
    [
        ("=", False, True, False),
        ("<>", True, False, True),
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
    ],
)
def test_comparisons(op: str, below: bool, equal: bool, above: bool) -> None:
    assert truth(price(op, 40), {"price": 39.5}) is below
    assert truth(price(op, 40), {"price": 40.0}) is equal
    assert truth(price(op, 40), {"price": 40.5}) is above


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("value", [None, NAN, INF, -INF])
def test_comparison_with_null_nan_or_infinity_is_unknown(op: str, value: Any) -> None:
    assert truth(price(op, 40), {"price": value}) is None
    assert truth(("not", price(op, 40)), {"price": value}) is None
    assert truth(price(op, value), {"price": 40.0}) is None
    assert not holds(("not", price(op, 40)), {"price": value})


def test_is_null() -> None:
    assert truth(("isnull", attr("price")), {"price": None}) is True
    assert truth(("isnull", attr("price")), {"price": NAN}) is True
    assert truth(("isnull", attr("price")), {"price": INF}) is False
    assert truth(("isnull", attr("price")), {"price": 0.0}) is False
    assert truth(("not", ("isnull", attr("price"))), {"price": NAN}) is False


def test_minus_zero_equals_zero() -> None:
    assert truth(price("=", 0.0), {"price": -0.0}) is True
    assert truth(price("<", 0.0), {"price": -0.0}) is False
    assert truth(price(">=", 0), {"price": -0.0}) is True


def test_integers_compare_exactly_beyond_two_to_the_53() -> None:
    assert truth(price("=", 2**53), {"price": 2**53 + 1}) is False
    assert truth(price(">", 2.0**53), {"price": 2**53 + 1}) is True
    assert truth(price("=", 2.0**53), {"price": 2**53}) is True


def test_strings_compare_by_utf8_bytes() -> None:
    kind = ("cmp", "<", attr("kind"), const("a"))
    assert truth(kind, {"kind": "Z"}) is True
    assert truth(kind, {"kind": "é"}) is False
    # U+FFFD is EF BF BD, U+1F600 is F0 9F 98 80 (UTF-16 would order them the other way).
    assert truth(("cmp", "<", const("\ufffd"), const("\U0001f600")), {}) is True


def test_between_is_closed_on_both_sides() -> None:
    condition = ("between", attr("price"), const(1), const(3))
    values = [0.9, 1, 2, 3, 3.1, NAN]
    assert [truth(condition, {"price": value}) for value in values] == [
        False,
        True,
        True,
        True,
        False,
        None,
    ]
    # One side false decides, though the other is unknown.
    assert truth(("between", attr("price"), const(None), const(3)), {"price": 4}) is False
    assert truth(("between", attr("price"), const(None), const(3)), {"price": 2}) is None


def test_in_is_an_or_of_equalities() -> None:
    condition = ("in", attr("kind"), [const("taxi"), const(None)])
    assert truth(condition, {"kind": "taxi"}) is True
    assert truth(condition, {"kind": "truck"}) is None
    assert truth(("in", attr("kind"), [const("taxi")]), {"kind": "truck"}) is False
    assert truth(("in", attr("kind"), [const("taxi")]), {"kind": None}) is None


def test_two_attributes_compare() -> None:
    condition = ("cmp", "<", attr("bid"), attr("ask"))
    assert truth(condition, {"bid": 1.0, "ask": 2.0}) is True
    assert truth(condition, {"bid": 2.0, "ask": 2.0}) is False
    assert truth(condition, {"bid": 1.0, "ask": NAN}) is None


# --------------------------------------------------------------------------------- regions


#   y=3  o-------o      o: out     Left and lower borders belong to the box,
#        |       |      x: in      right and upper ones do not.
#        x   x   o
#        |       |
#   y=1  x---x---o
#       x=1     x=5
@pytest.mark.parametrize("corners", [(1, 1, 5, 3), (5, 3, 1, 1), (1, 3, 5, 1), (5, 1, 1, 3)])
def test_box_is_half_open_for_any_two_opposite_corners(corners: tuple[int, ...]) -> None:
    box = ("box", *corners)
    assert [inside(box, x, 1) for x in (1, 3, 5)] == [True, True, False]
    assert [inside(box, x, 2) for x in (1, 3, 5)] == [True, True, False]
    assert [inside(box, x, 3) for x in (1, 3, 5)] == [False, False, False]
    assert not inside(box, math.nextafter(1, 0), 2)
    assert inside(box, math.nextafter(5, 0), 2)


def test_no_region_holds_what_is_not_finite() -> None:
    everywhere = ("box", -INF, -INF, INF, INF)
    assert inside(everywhere, 1e308, -1e308)
    assert not inside(everywhere, NAN, 0.0)
    assert not inside(everywhere, -INF, 0.0)
    assert not inside(("circle", 0, 0, 1e200), INF, 0.0)
    assert not inside(("polygon", [[(0, 0), (1, 0), (1, 1)]]), -INF, 0.5)


def test_circle_is_closed() -> None:
    circle = ("circle", 1.0, 1.0, 5.0)
    assert inside(circle, 4.0, 5.0)  # 9 + 16 = 25
    assert inside(circle, 6.0, 1.0)
    assert not inside(circle, math.nextafter(6.0, 7.0), 1.0)
    assert inside(("circle", 2.0, 2.0, 0.0), 2.0, 2.0)


#   y=4  o-----------o
#        |           |      a square with a square hole
#   y=3  x   x---x   o      the hole's lower and left borders are outside,
#        |   |   |   |      its upper and right ones are inside
#   y=1  x   o---x   o
#        |           |
#   y=0  x-----x-----o
#       x=0  1   3  x=4
HOLED = ("polygon", [[(0, 0), (4, 0), (4, 4), (0, 4)], [(1, 1), (3, 1), (3, 3), (1, 3), (1, 1)]])


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (0, [True, True, True, True, False]),
        (1, [True, False, False, True, False]),
        (2, [True, False, False, True, False]),
        (3, [True, True, True, True, False]),
        (4, [False, False, False, False, False]),
    ],
)
def test_polygon_with_a_hole(y: int, expected: list[bool]) -> None:
    assert [inside(HOLED, x, y) for x in (0, 1, 2, 3, 4)] == expected


def test_polygon_ring_may_repeat_its_first_corner_and_run_either_way() -> None:
    # (0,0)-(4,0)-(0,4): at y = 1 the slanted side is at x = 3.
    ring = [(0, 0), (4, 0), (0, 4)]
    for corners in (ring, ring + ring[:1], ring[::-1]):
        triangle = ("polygon", [corners])
        assert [inside(triangle, x, 1) for x in (-1, 0, 2.5, 3, 3.5)] == [
            False,
            True,
            True,
            False,
            False,
        ]


def test_multipolygon_is_all_its_rings() -> None:
    two = ("polygon", [[(0, 0), (1, 0), (1, 1), (0, 1)], [(2, 0), (3, 0), (3, 1), (2, 1)]])
    assert [inside(two, x, 0.5) for x in (0.5, 1.5, 2.5, 3.5)] == [True, False, True, False]


def test_moving_box_has_the_whole_width_and_height() -> None:
    box = ("mbox", 17, 4, 2)  # about (10, 10): 8 <= x < 12, 9 <= y < 11
    assert [inside(box, x, 10, (10, 10)) for x in (7.9, 8, 11.9, 12)] == [False, True, True, False]
    assert [inside(box, 10, y, (10, 10)) for y in (8.9, 9, 10.9, 11)] == [False, True, True, False]


def test_moving_circle() -> None:
    circle = ("mcircle", 17, 5)
    assert inside(circle, 13, 14, (10, 10))
    assert not inside(circle, 13, 14.1, (10, 10))


# ---------------------------------------------------------------------------------- ledger

CARS = StreamSpec(
    object="id",
    time="ts",
    attributes=[
        ("id", "BIGINT"),
        ("x", "DOUBLE"),
        ("y", "DOUBLE"),
        ("speed", "DOUBLE"),
        ("kind", "STRING"),
        ("ts", "TIMESTAMP"),
    ],
    point=("x", "y"),
    timeout=100,
)
UNTIMED = StreamSpec("id", "ts", CARS.attributes, ("x", "y"))

BLOCK = QuerySpec("block", region=("box", 0, 0, 10, 10))
ESCORT = QuerySpec("escort", region=("mbox", 1, 10, 10))


def car(ts: Any, id_: Any, x: Any = 0.0, y: Any = 0.0, speed: Any = 0.0, kind: Any = "car") -> dict:
    return {"id": id_, "x": x, "y": y, "speed": speed, "kind": kind, "ts": ts}


def brief(changes: list[Change]) -> list[tuple[Any, ...]]:
    return [(c.query_id, c.sign, c.object_id, c.time, c.reason) for c in changes]


def test_enter_and_exit_carry_the_latest_row() -> None:
    ledger = Ledger(CARS)
    assert ledger.register(BLOCK) == []
    assert ledger.process([car(1, 7, 5, 5)]) == [
        Change("block", +1, 7, 1, "enter", car(1, 7, 5, 5))
    ]
    assert ledger.process([car(2, 7, 6, 6)]) == []
    assert ledger.answers == {"block": {7}}
    assert ledger.process([car(3, 7, 10, 6)]) == [
        Change("block", -1, 7, 3, "exit", car(3, 7, 10, 6))
    ]
    assert ledger.answers == {"block": set()}


def test_where_alone_and_with_a_region() -> None:
    ledger = Ledger(CARS)
    truck = ("cmp", "=", attr("kind"), const("truck"))
    ledger.version(
        adds=[
            QuerySpec("trucks", where=truck),
            QuerySpec("downtown", where=truck, region=("box", 0, 0, 10, 10)),
        ]
    )
    assert brief(ledger.process([car(1, 7, 5, 5, kind="truck"), car(1, 8, 5, 5)])) == [
        ("downtown", +1, 7, 1, "enter"),
        ("trucks", +1, 7, 1, "enter"),
    ]
    assert brief(ledger.process([car(2, 7, 50, 5, kind="truck")])) == [
        ("downtown", -1, 7, 2, "exit")
    ]
    # A null string is not rejected: it fails the condition.
    assert brief(ledger.process([car(3, 7, 50, 5, kind=None)])) == [("trucks", -1, 7, 3, "exit")]


def test_a_row_closes_before_it_opens() -> None:
    ledger = Ledger(CARS)
    ledger.version(
        adds=[
            QuerySpec("a", region=("box", 10, 0, 20, 10)),
            QuerySpec("b", region=("box", 0, 0, 10, 10)),
        ]
    )
    ledger.process([car(1, 7, 5, 5)])
    assert brief(ledger.process([car(2, 7, 15, 5)])) == [
        ("b", -1, 7, 2, "exit"),
        ("a", +1, 7, 2, "enter"),
    ]


def test_rows_are_processed_by_time_then_id_then_attributes() -> None:
    ledger = Ledger(CARS)
    ledger.register(BLOCK)
    rows = [car(2, 1, 50, 5), car(1, 2, 5, 5), car(1, 10, 5, 5), car(1, 1, 5, 5)]
    assert brief(ledger.process(rows)) == [
        ("block", +1, 1, 1, "enter"),
        ("block", +1, 2, 1, "enter"),
        ("block", +1, 10, 1, "enter"),
        ("block", -1, 1, 2, "exit"),
    ]


def test_rows_of_one_object_and_time_are_both_processed_in_attribute_order() -> None:
    ledger = Ledger(CARS)
    ledger.register(BLOCK)
    assert brief(ledger.process([car(1, 7, 50, 5), car(1, 7, 5, 5)])) == [
        ("block", +1, 7, 1, "enter"),
        ("block", -1, 7, 1, "exit"),
    ]
    # Only the unused speed differs; NULL and NaN go first, so 1.0 is the last row.
    nan_first = [car(2, 7, 5, 5, speed=1.0), car(2, 7, 5, 5, speed=NAN)]
    assert brief(ledger.process(nan_first)) == [("block", +1, 7, 2, "enter")]
    assert ledger.latest[7]["speed"] == 1.0
    assert ledger.counters == {"late": 0, "rejected": 0}


def test_string_ids_order_by_utf8_bytes() -> None:
    ledger = Ledger(CARS)
    ledger.register(BLOCK)
    rows = [car(1, name, 5, 5) for name in ("é", "b", "B", "10", "9")]
    assert [change.object_id for change in ledger.process(rows)] == ["10", "9", "B", "b", "é"]


def test_late_rows_are_counted_and_change_nothing() -> None:
    ledger = Ledger(UNTIMED)
    ledger.register(BLOCK)
    ledger.process([car(10, 7, 5, 5)])
    assert ledger.process([car(9, 7, 50, 5)]) == []
    assert ledger.counters == {"late": 1, "rejected": 0}
    assert ledger.answers == {"block": {7}}
    # Old, but not older than this object's last row: not late.
    assert brief(ledger.process([car(3, 8, 5, 5)])) == [("block", +1, 8, 3, "enter")]
    assert ledger.newest == 10


def test_a_row_already_timed_out_on_arrival_is_late() -> None:
    ledger = Ledger(CARS)
    ledger.register(BLOCK)
    ledger.process([car(200, 7, 5, 5)])
    assert ledger.process([car(99, 8, 5, 5)]) == []
    assert ledger.counters == {"late": 1, "rejected": 0}
    assert brief(ledger.process([car(100, 8, 5, 5)])) == [("block", +1, 8, 100, "enter")]


@pytest.mark.parametrize("bad", [None, NAN, INF, -INF])
def test_rejected_rows_are_counted_and_change_nothing(bad: Any) -> None:
    ledger = Ledger(CARS)
    ledger.register(BLOCK)
    ledger.process([car(10, 7, 5, 5)])
    # At 500 object 7 would have expired: a rejected row does not advance the stream.
    assert ledger.process([car(500, 7, bad, 5), car(500, 8, 5, bad)]) == []
    assert ledger.counters == {"late": 0, "rejected": 2}
    assert ledger.answers == {"block": {7}}
    assert ledger.newest == 10


def test_null_id_or_time_is_rejected() -> None:
    ledger = Ledger(CARS)
    assert ledger.process([car(1, None), car(None, 7)]) == []
    assert ledger.counters == {"late": 0, "rejected": 2}


def test_only_attributes_that_a_live_query_uses_are_checked() -> None:
    ledger = Ledger(CARS)
    fast = QuerySpec("fast", where=("not", ("cmp", "<=", attr("speed"), const(50))))
    ledger.process([car(1, 7, speed=NAN)])
    assert ledger.counters["rejected"] == 0
    # The object known by then has no speed: unknown, so not in the answer.
    assert ledger.register(fast) == []
    ledger.process([car(2, 7, speed=NAN)])
    assert ledger.counters["rejected"] == 1
    assert brief(ledger.process([car(3, 7, x=None, speed=60)])) == [("fast", +1, 7, 3, "enter")]
    assert brief(ledger.drop("fast")) == [("fast", -1, 7, 3, "dropped")]
    ledger.process([car(4, 7, speed=NAN)])
    assert ledger.counters["rejected"] == 1


def test_a_knn_query_uses_the_point() -> None:
    ledger = Ledger(CARS)
    ledger.register(QuerySpec("near", knn=("knn", 1, 0, 0)))
    assert ledger.process([car(1, 7, NAN, 5), car(1, 8, 5, None)]) == []
    assert ledger.counters == {"late": 0, "rejected": 2}


def test_a_row_both_unusable_and_late_is_rejected() -> None:
    ledger = Ledger(CARS)
    ledger.register(BLOCK)
    ledger.process([car(10, 7, 5, 5)])
    ledger.process([car(9, 7, NAN, 5)])
    assert ledger.counters == {"late": 0, "rejected": 1}


def test_objects_without_a_place_are_in_no_region_and_near_nothing() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 7, None, 5), car(1, 8, 5, INF)])
    everywhere = QuerySpec("everywhere", region=("box", -INF, -INF, INF, INF))
    assert ledger.version(adds=[everywhere, QuerySpec("near", knn=("knn", 5, 0, 0))]) == []


def test_register_drop_and_replace() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 7, 5, 5), car(2, 8, 15, 5), car(3, 9, 25, 5)])
    assert brief(ledger.register(QuerySpec("q", region=("box", 0, 0, 20, 10)))) == [
        ("q", +1, 7, 3, "registered"),
        ("q", +1, 8, 3, "registered"),
    ]
    assert brief(ledger.replace(QuerySpec("q", region=("box", 10, 0, 30, 10)))) == [
        ("q", -1, 7, 3, "dropped"),
        ("q", +1, 9, 3, "registered"),
    ]
    assert brief(ledger.drop("q")) == [
        ("q", -1, 8, 3, "dropped"),
        ("q", -1, 9, 3, "dropped"),
    ]
    assert ledger.answers == {}
    assert ledger.drop("q") == []


def test_one_version_drops_adds_and_replaces() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 7, 5, 5), car(2, 8, 15, 5)])
    ledger.version(adds=[BLOCK, QuerySpec("old", region=("box", 0, 0, 20, 10))])
    changes = ledger.version(
        drops=["old", "block"],
        adds=[QuerySpec("block", region=("box", 10, 0, 20, 10)), QuerySpec("all")],
    )
    assert brief(changes) == [
        ("block", -1, 7, 2, "dropped"),
        ("old", -1, 7, 2, "dropped"),
        ("old", -1, 8, 2, "dropped"),
        ("all", +1, 7, 2, "registered"),
        ("all", +1, 8, 2, "registered"),
        ("block", +1, 8, 2, "registered"),
    ]


def test_a_live_id_cannot_be_registered_again() -> None:
    ledger = Ledger(CARS)
    ledger.register(BLOCK)
    with pytest.raises(ValueError, match="block"):
        ledger.register(BLOCK)


def test_objects_expire_by_expiry_time_then_id_before_the_row() -> None:
    ledger = Ledger(CARS)
    ledger.register(BLOCK)
    ledger.process([car(10, 9, 5, 5), car(20, 3, 5, 5), car(20, 2, 5, 5), car(30, 4, 5, 5)])
    # Exactly TIMEOUT behind is not yet gone: 20 + 100 = 120.
    assert brief(ledger.process([car(120, 1, 5, 5)])) == [
        ("block", -1, 9, 110, "expired"),
        ("block", +1, 1, 120, "enter"),
    ]
    changes = ledger.process([car(130, 1, 50, 5)])
    assert brief(changes) == [
        ("block", -1, 2, 120, "expired"),
        ("block", -1, 3, 120, "expired"),
        ("block", -1, 1, 130, "exit"),
    ]
    assert changes[0].row == car(20, 2, 5, 5)
    assert ledger.answers == {"block": {4}}


def test_an_object_returns_after_its_own_time_out() -> None:
    ledger = Ledger(CARS)
    ledger.register(BLOCK)
    ledger.process([car(10, 7, 5, 5)])
    changes = ledger.process([car(500, 7, 6, 6)])
    assert changes == [
        Change("block", -1, 7, 110, "expired", car(10, 7, 5, 5)),
        Change("block", +1, 7, 500, "enter", car(500, 7, 6, 6)),
    ]


def test_expired_objects_are_not_there_for_a_new_query() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(10, 7, 5, 5), car(200, 8, 5, 5)])
    assert brief(ledger.register(BLOCK)) == [("block", +1, 8, 200, "registered")]


# ------------------------------------------------------------------------------------- kNN


#   objects on a line, the query at 0:      5    4    q    2,3   1
#                                          -2   -1    0     1    2
def test_knn_breaks_ties_by_id() -> None:
    ledger = Ledger(CARS)
    places = [(1, 2), (2, 1), (3, 1), (4, -1), (5, -2)]
    ledger.process([car(1, name, x) for name, x in places])
    assert brief(ledger.register(QuerySpec("near", knn=("knn", 2, 0, 0)))) == [
        ("near", +1, 2, 1, "registered"),
        ("near", +1, 3, 1, "registered"),
    ]
    # 3 leaves, 4 (tied with 2, behind it) takes its place: caused by 3's row, at its time.
    changes = ledger.process([car(2, 3, 9)])
    assert changes == [
        Change("near", -1, 3, 2, "exit", car(2, 3, 9), 9.0),
        Change("near", +1, 4, 2, "enter", car(1, 4, -1), 1.0),
    ]


def test_knn_string_ids_tie_by_utf8_bytes() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, name, 1) for name in ("é", "z", "Z", "10", "9")])
    ledger.register(QuerySpec("near", knn=("knn", 3, 0, 0)))
    assert ledger.answers == {"near": {"10", "9", "Z"}}


def test_knn_with_fewer_objects_than_k() -> None:
    ledger = Ledger(CARS)
    ledger.register(QuerySpec("near", knn=("knn", 3, 0, 0)))
    assert brief(ledger.process([car(1, 1, 5), car(2, 2, 1e300)])) == [
        ("near", +1, 1, 1, "enter"),
        ("near", +1, 2, 2, "enter"),
    ]
    ledger.process([car(3, 3, 6)])
    assert brief(ledger.process([car(4, 4, 7)])) == [
        ("near", -1, 2, 4, "exit"),
        ("near", +1, 4, 4, "enter"),
    ]


def test_knn_counts_only_what_where_and_inside_admit() -> None:
    ledger = Ledger(CARS)
    taxi = ("cmp", "=", attr("kind"), const("taxi"))
    right = ("box", 0, -100, 100, 100)
    ledger.process(
        [
            car(1, 1, -1, kind="taxi"),
            car(1, 2, 1),
            car(1, 3, 2, kind="taxi"),
            car(1, 4, 3, kind="taxi"),
            car(1, 5, 4, kind="taxi"),
        ]
    )
    ledger.register(QuerySpec("taxis", where=taxi, region=right, knn=("knn", 2, 0, 0)))
    assert ledger.answers == {"taxis": {3, 4}}


def test_expiry_of_a_neighbour_lets_the_next_one_enter_at_the_expiry_time() -> None:
    ledger = Ledger(CARS)
    ledger.register(QuerySpec("near", knn=("knn", 1, 0, 0)))
    ledger.process([car(10, 1, 1), car(50, 2, 2)])
    assert brief(ledger.process([car(140, 3, 9)])) == [
        ("near", -1, 1, 110, "expired"),
        ("near", +1, 2, 110, "enter"),
    ]


# -------------------------------------------------------------------------------- distance


def far(changes: list[Change]) -> list[tuple[Any, ...]]:
    return [(c.sign, c.object_id, c.reason, c.distance) for c in changes]


def test_distance_counts_from_the_centre_of_a_circle() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 2, 3, 4)])
    depot = QuerySpec("depot", region=("circle", 0, 0, 5))
    assert far(ledger.register(depot)) == [(+1, 2, "registered", 5.0)]
    assert far(ledger.process([car(2, 3, 0, -2)])) == [(+1, 3, "enter", 2.0)]
    # What leaves is where it is now, or where it was last.
    assert far(ledger.process([car(3, 3, 6, 8)])) == [(-1, 3, "exit", 10.0)]
    assert far(ledger.process([car(102, 3, 6, 8)])) == [(-1, 2, "expired", 5.0)]


def test_what_a_replaced_query_loses_was_at_a_distance_from_the_old_centre() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 1, 3, 4), car(1, 2, 103, 4)])
    ledger.register(QuerySpec("depot", region=("circle", 0, 0, 5)))
    moved = QuerySpec("depot", region=("circle", 100, 0, 5))
    assert far(ledger.replace(moved)) == [(-1, 1, "dropped", 5.0), (+1, 2, "registered", 5.0)]
    boxed = QuerySpec("depot", region=("box", 0, 0, 5, 5))
    assert far(ledger.replace(boxed)) == [(-1, 2, "dropped", 5.0), (+1, 1, "registered", None)]


def test_distance_to_a_focal_object_that_moved_or_is_gone() -> None:
    ledger = Ledger(CARS)
    ledger.register(QuerySpec("escort", region=("mcircle", 1, 5)))
    ledger.process([car(1, 1, 0, 0)])
    assert far(ledger.process([car(2, 2, 3, 4)])) == [(+1, 2, "enter", 5.0)]
    assert far(ledger.process([car(3, 1, 0, -1), car(3, 3, 0, 0)])) == [
        (-1, 2, "exit", math.sqrt(34)),
        (+1, 3, "enter", 1.0),
    ]
    # The focal object times out: it was last at (0, -1).
    assert far(ledger.process([car(50, 3, 0, 1)])) == []
    assert far(ledger.process([car(104, 4, 50)])) == [(-1, 3, "expired", 2.0)]


def test_the_centre_of_knn_counts_before_that_of_a_circle() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 1, 3, 4)])
    both = QuerySpec("both", region=("circle", 3, 3, 5), knn=("knn", 1, 0, 0))
    assert far(ledger.register(both)) == [(+1, 1, "registered", 5.0)]
    ledger.process([car(1, 2, 3, 5)])
    moving = QuerySpec("moving", region=("circle", 3, 3, 5), knn=("mknn", 1, 2))
    ledger.register(moving)
    assert far(ledger.process([car(2, 2, 3, 6)])) == [(+1, 1, "registered", 2.0)]


def test_no_distance_without_a_centre() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 1, 3, 4)])
    square = [(0, 0), (9, 0), (9, 9), (0, 9)]
    for number, region in enumerate([None, ("box", 0, 0, 5, 5), ("polygon", [square])]):
        query = QuerySpec(f"q{number}", region=region)
        assert far(ledger.register(query)) == [(+1, 1, "registered", None)]


def test_a_circle_in_the_condition_is_a_centre_if_it_is_the_only_region() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 1, 3, 4)])
    places = attr("x"), attr("y")
    circle, box = ("inside", ("circle", 0, 0, 5), *places), ("inside", ("box", 0, 0, 9, 9), *places)
    outside = ("not", ("inside", ("circle", 9, 9, 1), *places))
    for number, (where, region, distance) in enumerate(
        [
            (circle, None, 5.0),
            (("and", circle, price("=", None)), None, None),
            (("or", circle, ("and", circle, T)), ("circle", 0, 0, 5), 5.0),
            (("not", ("not", circle)), None, 5.0),
            (outside, None, None),
            (("or", circle, box), None, None),
            (circle, ("box", 0, 0, 9, 9), None),
            (("and", circle, outside), None, None),
        ]
    ):
        found = far(ledger.register(QuerySpec(f"q{number}", where=where, region=region)))
        assert found == ([] if number == 1 else [(+1, 1, "registered", distance)])


def test_a_distance_whose_square_overflows_is_infinite() -> None:
    ledger = Ledger(CARS)
    ledger.register(QuerySpec("near", knn=("knn", 3, 0, 0)))
    assert far(ledger.process([car(1, 1, 1e200), car(1, 2, 1e-200)])) == [
        (+1, 1, "enter", INF),
        (+1, 2, "enter", 0.0),
    ]


# -------------------------------------------------------------------------- moving queries


def test_a_moving_query_starts_when_its_focal_object_next_reports() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 1, 0, 0), car(1, 2, 1, 1), car(1, 3, 20, 0)])
    assert ledger.register(ESCORT) == []
    assert ledger.process([car(2, 2, 2, 2)]) == []
    # Late and rejected rows are no report.
    assert ledger.process([car(0, 1, 0, 0), car(2, 1, NAN, 0)]) == []
    assert brief(ledger.process([car(3, 1, 0, 0)])) == [("escort", +1, 2, 3, "registered")]
    assert brief(ledger.process([car(4, 3, 4, 4)])) == [("escort", +1, 3, 4, "enter")]
    # The focal object moves: 2 at (2, 2) falls out of 3 <= x < 13, 3 at (4, 4) stays.
    changes = ledger.process([car(5, 1, 8, 0)])
    assert changes == [Change("escort", -1, 2, 5, "exit", car(2, 2, 2, 2))]
    assert ledger.answers == {"escort": {3}}


def test_a_start_on_an_old_row_is_registered_at_the_newest_time() -> None:
    ledger = Ledger(CARS)
    ledger.register(ESCORT)
    ledger.process([car(50, 2, 1, 1)])
    assert brief(ledger.process([car(20, 1, 0, 0)])) == [("escort", +1, 2, 50, "registered")]


#   newest when `escort` was registered: 50
#                     row of 1 at   49      50      51
#                     escort        waits   starts  starts
@pytest.mark.parametrize(("time", "starts"), [(49, False), (50, True), (51, True)])
def test_no_row_older_than_the_newest_at_registration_starts_a_query(
    time: int, starts: bool
) -> None:
    ledger = Ledger(CARS)
    ledger.process([car(10, 1, 0, 0), car(50, 2, 1, 1)])
    ledger.register(ESCORT)
    changes = ledger.process([car(time, 1, 0, 0)])
    assert ledger.counters == {"late": 0, "rejected": 0}
    assert brief(changes) == ([("escort", +1, 2, max(time, 50), "registered")] if starts else [])
    # What did not start it is the object's latest row all the same.
    ledger.register(QuerySpec("all"))
    assert ledger.answers["all"] == {1, 2}


def test_the_newest_at_registration_counts_not_the_newest_now() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(50, 2, 1, 1)])
    ledger.register(ESCORT)
    ledger.process([car(90, 3, 30, 30)])
    assert ledger.process([car(40, 1, 0, 0)]) == []
    assert brief(ledger.process([car(60, 1, 0, 0)])) == [("escort", +1, 2, 90, "registered")]
    # Once it has started, older rows count, also that of a focal object which returns.
    assert brief(ledger.process([car(30, 4, 1, 1)])) == [("escort", +1, 4, 30, "enter")]
    assert brief(ledger.process([car(200, 2, 1, 1)])) == [
        ("escort", -1, 4, 130, "expired"),
        ("escort", -1, 2, 150, "expired"),
    ]
    assert brief(ledger.process([car(150, 1, 0, 0)])) == [("escort", +1, 2, 150, "enter")]


def test_a_replacement_that_still_waits_counts_from_its_own_registration() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(10, 1, 0, 0), car(50, 2, 1, 1)])
    ledger.register(ESCORT)
    ledger.process([car(80, 3, 30, 30)])
    ledger.replace(QuerySpec("escort", region=("mbox", 1, 20, 20)))
    assert ledger.process([car(60, 1, 0, 0)]) == []
    assert brief(ledger.process([car(80, 1, 0, 0)])) == [("escort", +1, 2, 80, "registered")]


def test_each_of_two_focal_objects_is_waited_for_from_the_registration() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(10, 1, 0), car(10, 2, 4), car(50, 3, 1), car(50, 4, 2)])
    ledger.register(QuerySpec("both", region=("mbox", 1, 10, 10), knn=("mknn", 1, 2)))
    assert ledger.process([car(40, 1, 0)]) == []
    assert ledger.process([car(50, 2, 4)]) == []
    assert brief(ledger.process([car(51, 1, 0)])) == [("both", +1, 4, 51, "registered")]
    # 1 stays, 3 is new: only 3 is waited for.
    ledger.process([car(60, 2, 4)])
    replaced = ledger.replace(QuerySpec("both", region=("mbox", 1, 10, 10), knn=("mknn", 1, 3)))
    assert brief(replaced) == [("both", -1, 4, 60, "dropped")]
    assert ledger.process([car(59, 3, 1)]) == []
    assert brief(ledger.process([car(60, 3, 1)])) == [("both", +1, 4, 60, "registered")]


def test_where_filters_members_not_the_focal_object() -> None:
    ledger = Ledger(CARS)
    truck = ("cmp", "=", attr("kind"), const("truck"))
    ledger.register(QuerySpec("trucks", where=truck, region=("mcircle", 1, 5)))
    rows = [car(1, 1, kind="taxi"), car(2, 2, 3, 4, kind="truck"), car(2, 3, 1, 1, kind="taxi")]
    assert brief(ledger.process(rows)) == [("trucks", +1, 2, 2, "enter")]


def test_a_focal_object_vanishes_and_reappears() -> None:
    ledger = Ledger(CARS)
    ledger.version(adds=[ESCORT, BLOCK])
    assert brief(ledger.process([car(1, 1, 1, 1), car(90, 2, 2, 2), car(90, 3, 3, 3)])) == [
        ("block", +1, 1, 1, "enter"),
        ("block", +1, 2, 90, "enter"),
        ("escort", +1, 2, 90, "enter"),
        ("block", +1, 3, 90, "enter"),
        ("escort", +1, 3, 90, "enter"),
    ]
    assert brief(ledger.process([car(110, 2, 2, 2)])) == [
        ("block", -1, 1, 101, "expired"),
        ("escort", -1, 2, 101, "expired"),
        ("escort", -1, 3, 101, "expired"),
    ]
    assert brief(ledger.process([car(120, 1, 1, 1)])) == [
        ("block", +1, 1, 120, "enter"),
        ("escort", +1, 2, 120, "enter"),
        ("escort", +1, 3, 120, "enter"),
    ]


def test_moving_knn_leaves_its_focal_object_out() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 2, 1), car(1, 3, 2), car(1, 4, 10)])
    ledger.register(QuerySpec("near1", knn=("mknn", 2, 1)))
    assert brief(ledger.process([car(2, 1, 0)])) == [
        ("near1", +1, 2, 2, "registered"),
        ("near1", +1, 3, 2, "registered"),
    ]
    # From 7 the distances are 6, 5 and 3.
    assert brief(ledger.process([car(3, 1, 7)])) == [
        ("near1", -1, 2, 3, "exit"),
        ("near1", +1, 4, 3, "enter"),
    ]


def test_replacing_a_started_moving_query_keeps_it_started() -> None:
    ledger = Ledger(CARS)
    ledger.register(ESCORT)
    ledger.process([car(1, 1, 0, 0), car(2, 2, 1, 1), car(3, 3, 8, 8)])
    assert brief(ledger.replace(QuerySpec("escort", region=("mbox", 1, 20, 20)))) == [
        ("escort", +1, 3, 3, "registered")
    ]
    assert brief(ledger.replace(QuerySpec("escort", knn=("mknn", 1, 1)))) == [
        ("escort", -1, 3, 3, "dropped")
    ]


def test_replacing_with_another_focal_object_waits_for_it() -> None:
    ledger = Ledger(CARS)
    ledger.register(ESCORT)
    ledger.process([car(1, 1, 0, 0), car(2, 2, 1, 1)])
    assert brief(ledger.replace(QuerySpec("escort", region=("mbox", 2, 10, 10)))) == [
        ("escort", -1, 2, 2, "dropped")
    ]
    assert ledger.process([car(3, 1, 0, 0)]) == []
    assert brief(ledger.process([car(4, 2, 1, 1)])) == [("escort", +1, 1, 4, "registered")]


def test_replacing_a_query_that_never_started_still_waits() -> None:
    ledger = Ledger(CARS)
    ledger.process([car(1, 1, 0, 0), car(1, 2, 1, 1)])
    ledger.register(ESCORT)
    assert ledger.replace(QuerySpec("escort", region=("mbox", 1, 20, 20))) == []
    assert brief(ledger.process([car(2, 1, 0, 0)])) == [("escort", +1, 2, 2, "registered")]


def test_a_query_with_two_focal_objects_needs_both() -> None:
    ledger = Ledger(CARS)
    ledger.register(QuerySpec("both", region=("mbox", 1, 10, 10), knn=("mknn", 1, 2)))
    # In the box about 1 (at 0): 3 and 4; the nearest to 2 (at 4): 4.
    assert ledger.process([car(1, 3, 1), car(1, 4, 2), car(2, 1, 0)]) == []
    assert brief(ledger.process([car(3, 2, 4)])) == [("both", +1, 4, 3, "registered")]


# ------------------------------------------------------------------------------- lifetimes


def test_a_lifetime_counts_from_the_newest_time_at_registration() -> None:
    ledger = Ledger(UNTIMED)
    ledger.process([car(10, 7, 5, 5)])
    lunch = QuerySpec("lunch", region=("box", 0, 0, 10, 10), lifetime=20)
    assert brief(ledger.register(lunch)) == [("lunch", +1, 7, 10, "registered")]
    assert brief(ledger.process([car(30, 8, 5, 5)])) == [("lunch", +1, 8, 30, "enter")]
    assert brief(ledger.process([car(31, 9, 5, 5)])) == [
        ("lunch", -1, 7, 30, "dropped"),
        ("lunch", -1, 8, 30, "dropped"),
    ]
    assert ledger.answers == {}
    # What is over can be dropped, or registered anew.
    assert ledger.drop("lunch") == []
    assert len(ledger.register(lunch)) == 3


def test_a_lifetime_counts_from_the_first_row_if_none_was_seen() -> None:
    ledger = Ledger(UNTIMED)
    ledger.register(QuerySpec("lunch", region=("box", 0, 0, 10, 10), lifetime=20))
    changes = ledger.process([car(1000, 7, 5, 5), car(1020, 8, 5, 5), car(1021, 9, 5, 5)])
    assert brief(changes) == [
        ("lunch", +1, 7, 1000, "enter"),
        ("lunch", +1, 8, 1020, "enter"),
        ("lunch", -1, 7, 1020, "dropped"),
        ("lunch", -1, 8, 1020, "dropped"),
    ]


def test_lifetimes_and_time_outs_interleave_objects_first() -> None:
    ledger = Ledger(CARS)
    everything = ("box", 0, 0, 10, 10)
    ledger.process([car(0, 1, 5, 5)])
    ledger.version(
        adds=[
            QuerySpec("a", region=everything, lifetime=100),
            QuerySpec("b", region=everything, lifetime=105),
            QuerySpec("c", region=everything),
        ]
    )
    ledger.process([car(10, 2, 5, 5)])
    assert brief(ledger.process([car(200, 3, 50, 50)])) == [
        ("a", -1, 1, 100, "expired"),
        ("b", -1, 1, 100, "expired"),
        ("c", -1, 1, 100, "expired"),
        ("a", -1, 2, 100, "dropped"),
        ("b", -1, 2, 105, "dropped"),
        ("c", -1, 2, 110, "expired"),
    ]


def test_a_replacement_starts_its_lifetime_anew() -> None:
    ledger = Ledger(UNTIMED)
    ledger.process([car(0, 7, 5, 5)])
    lunch = QuerySpec("lunch", region=("box", 0, 0, 10, 10), lifetime=20)
    ledger.register(lunch)
    ledger.process([car(15, 7, 5, 5)])
    assert ledger.replace(lunch) == []
    assert ledger.process([car(35, 7, 5, 5)]) == []
    assert brief(ledger.process([car(36, 7, 5, 5)])) == [("lunch", -1, 7, 35, "dropped")]


def test_a_query_that_is_over_rejects_rows_until_it_is_dropped() -> None:
    ledger = Ledger(UNTIMED)
    ledger.process([car(0, 7, 5, 5)])
    ledger.register(QuerySpec("lunch", region=("box", 0, 0, 10, 10), lifetime=20))
    assert brief(ledger.process([car(21, 7, 5, 5)])) == [("lunch", -1, 7, 20, "dropped")]
    assert ledger.process([car(22, 7, NAN, 5)]) == []
    assert ledger.counters == {"late": 0, "rejected": 1}
    assert ledger.drop("lunch") == []
    assert ledger.process([car(23, 7, NAN, 5)]) == []
    assert ledger.counters == {"late": 0, "rejected": 1}


# ---------------------------------------------------------------------------------- replay


def change(sign: int, object_id: int) -> Change:
    return Change("q", sign, object_id, 0, "enter" if sign > 0 else "exit", {})


def test_replay_gives_the_final_sets() -> None:
    assert replay([change(+1, 1), change(+1, 2), change(-1, 1)]) == {"q": {2}}
    assert replay([change(+1, 1), change(-1, 1)]) == {"q": set()}
    assert replay([]) == {}


@pytest.mark.parametrize("false", [[(+1, 1), (+1, 1)], [(-1, 1)], [(+1, 1), (-1, 2)]])
def test_replay_refuses_what_is_no_change(false: list[tuple[int, int]]) -> None:
    with pytest.raises(AssertionError, match="member"):
        replay([change(sign, object_id) for sign, object_id in false])


def test_the_cut_into_batches_does_not_matter() -> None:
    rows = [car(t, t % 5, (t * 7) % 13, (t * 3) % 11) for t in range(0, 600, 7)]
    queries = [BLOCK, ESCORT, QuerySpec("near", knn=("knn", 2, 5, 5), lifetime=300)]
    whole, single = Ledger(CARS), Ledger(CARS)
    whole.version(adds=queries)
    single.version(adds=queries)
    at_once = whole.process(rows[::-1])
    one_by_one = [change for row in rows for change in single.process([row])]
    assert at_once == one_by_one
    answers = replay(at_once)
    assert answers.pop("near") == set()
    assert answers == whole.answers
