"""SPEED: values, the way they are kept in states, and what is as before where nobody asks."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import watchline as wl
from watchline import sql
from watchline.errors import InvalidQuery
from watchline.model import SPEED, Conjunction, Emit, InRange, Query, Range, Source
from watchline.rows import blob as blobs

PLANE = "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, v DOUBLE, ts TIMESTAMP)"
PLANE += " OBJECT id TIME ts POINT (x, y)"
OWN = PLANE.replace("v DOUBLE", "speed DOUBLE")
SECOND = 1_000_000


def rows(*given: tuple[Any, ...], names: str = "id x y ts v") -> pa.Table:
    """Rows of id, x, y and seconds."""
    kinds = [pa.int64(), pa.float64(), pa.float64(), pa.timestamp("us"), pa.float64()]
    columns = zip(*([*row, 0.0][:5] for row in given), strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(dict(zip(names.split(), arrays, strict=True)))


def told(changes: pa.Table) -> list[tuple[str, int, int]]:
    names = ("query_id", "sign", "object_id")
    return sorted(zip(*(changes[name].to_pylist() for name in names), strict=True))


def catalog(*wheres: str, stream: str = PLANE) -> wl.Catalog:
    made = wl.Catalog.of(stream)
    for i, where in enumerate(wheres):
        made.execute(f"CREATE QUERY q{i} AS SELECT * FROM cars WHERE {where} EMIT CHANGES")
    return made


def test_the_distance_from_the_row_before_over_the_seconds_between() -> None:
    tracker = wl.Tracker(catalog("SPEED >= 2.5", "SPEED < 2.5", "SPEED IS NULL"), "cars")
    assert told(tracker.process(rows((1, 0.0, 0.0, 0)))) == [("q2", 1, 1)]
    moved = tracker.process(rows((1, 3.0, 4.0, 2 * SECOND)))
    assert told(moved) == [("q0", 1, 1), ("q2", -1, 1)]
    moved = tracker.process(rows((1, 5.999, 8.0, 4 * SECOND)))
    assert told(moved) == [("q0", -1, 1), ("q1", 1, 1)]
    # No time between the two rows: there is no speed, also not under NOT.
    assert told(tracker.process(rows((1, 9.0, 9.0, 4 * SECOND)))) == [("q1", -1, 1), ("q2", 1, 1)]


@pytest.mark.parametrize(
    ("row", "has_speed"),
    [
        ((1, None, 0.0, SECOND), False),
        ((1, math.inf, 0.0, SECOND), False),
        ((1, math.nan, 0.0, SECOND), False),
        ((1, 1e200, 0.0, SECOND), False),
        ((1, 1e150, 0.0, SECOND), True),
        ((1, 1e150, 0.0, 1), True),
        ((1, 1.0, 0.0, 2**62), True),
    ],
)
def test_what_is_no_finite_number_is_null(row: tuple[Any, ...], has_speed: bool) -> None:
    tracker = wl.Tracker(catalog("SPEED IS NOT NULL", "NOT SPEED < 0", "SPEED IS NULL"), "cars")
    tracker._clock = None
    tracker.process(rows((1, 0.0, 0.0, 0)))
    found = told(tracker.process(rows(row)))
    assert found == ([("q0", 1, 1), ("q1", 1, 1), ("q2", -1, 1)] if has_speed else [])


def test_rows_without_a_place_are_rejected_for_regions_and_not_for_speed() -> None:
    tracker = wl.Tracker(catalog("SPEED > 1"), "cars")
    tracker.process(rows((1, None, 0.0, 0), (1, 5.0, 0.0, SECOND), (1, 9.0, 0.0, 2 * SECOND)))
    stats = tracker.stats()
    assert (stats["rejected"], stats["answers"]) == (0, 1)


def test_late_rows_are_no_rows_before() -> None:
    tracker = wl.Tracker(catalog("SPEED > 1"), "cars")
    tracker.process(rows((1, 0.0, 0.0, 10 * SECOND)))
    assert told(tracker.process(rows((1, 50.0, 0.0, 9 * SECOND)))) == []
    assert told(tracker.process(rows((1, 3.0, 0.0, 12 * SECOND)))) == [("q0", 1, 1)]


def test_two_attributes_are_compared() -> None:
    tracker = wl.Tracker(catalog("SPEED > v"), "cars")
    tracker.process(rows((1, 0.0, 0.0, 0, 0.0), (2, 0.0, 0.0, 0, 0.0)))
    moved = tracker.process(rows((1, 5.0, 0.0, SECOND, 4.0), (2, 5.0, 0.0, SECOND, 5.0)))
    assert told(moved) == [("q0", 1, 1)]


def test_a_query_that_comes_later_knows_speeds_if_they_were_kept() -> None:
    made = catalog()
    tracker = wl.Tracker(made, "cars")
    tracker.process(rows((1, 0.0, 0.0, 0), (1, 5.0, 0.0, SECOND)))
    made.execute("CREATE QUERY first AS SELECT * FROM cars WHERE SPEED > 1")
    assert told(tracker.advance_to(made.version)) == []
    assert told(tracker.process(rows((1, 9.0, 0.0, 2 * SECOND)))) == [("first", 1, 1)]
    made.execute("DROP QUERY first")
    tracker.advance_to(made.version)
    tracker.process(rows((1, 99.0, 0.0, 3 * SECOND)))
    made.execute("CREATE QUERY again AS SELECT * FROM cars WHERE SPEED > 50")
    tracker = wl.Tracker.restore(made, "cars", tracker.snapshot())
    assert told(tracker.advance_to(made.version)) == [("again", 1, 1)]


def test_a_stream_that_is_declared_anew_knows_no_speeds() -> None:
    made = catalog("SPEED > 1")
    tracker = wl.Tracker(made, "cars")
    tracker.process(rows((1, 0.0, 0.0, 0), (1, 5.0, 0.0, SECOND)))
    made.execute("DROP QUERY q0")
    made.execute("DROP STREAM cars")
    made.execute(OWN)
    made.execute("CREATE QUERY own AS SELECT * FROM cars WHERE speed > 1 EMIT CHANGES")
    tracker.advance_to(made.version)
    named = rows((1, 99.0, 0.0, 2 * SECOND, 0.5), names="id x y ts speed")
    assert told(tracker.process(named)) == []
    assert "SPEED" not in blobs.unpack(tracker.snapshot())[1][0].column_names


@pytest.mark.parametrize("stream", [PLANE, OWN])
def test_states_are_as_before_where_nobody_asks(stream: str) -> None:
    name = "v" if stream == PLANE else "speed"
    tracker = wl.Tracker(catalog(f"{name} > 1", stream=stream), "cars")
    tracker.touched()
    tracker.process(rows((1, 0.0, 0.0, 0), names=f"id x y ts {name}"))
    wanted = ["id", "x", "y", name, "ts"]
    assert blobs.unpack(tracker.snapshot())[1][0].column_names == wanted
    tracker.touched()
    tracker.process(rows((1, 0.0, 0.0, SECOND), names=f"id x y ts {name}"))
    touched = tracker.touched()
    assert touched is not None
    assert blobs.unpack(tracker.delta([touched]), blobs.DELTAS)[1][0].column_names == wanted


def test_changes_and_given_columns_have_no_speed() -> None:
    """A column of that name in the rows themselves is nobody's."""
    tracker = wl.Tracker(catalog("SPEED > 1"), "cars")
    given = rows((1, 0.0, 0.0, 0), (1, 0.0, 0.0, SECOND))
    changes = tracker.process(given.append_column("SPEED", pa.array([9.0, 9.0])))
    assert told(changes) == []
    assert "SPEED" not in changes.column_names


def test_the_model_refuses_matches() -> None:
    where = (Conjunction((InRange(SPEED, Range(1.0)),)),)
    with pytest.raises(InvalidQuery, match="write EMIT CHANGES"):
        Query("q", (Source("cars"),), where=where, emit=Emit.MATCHES)


def test_regions_in_bulk_may_ask_for_speed() -> None:
    shapely = pytest.importorskip("shapely")
    made, one = catalog(), [shapely.box(0, 0, 9, 9)]
    with pytest.raises(InvalidQuery, match="write EMIT CHANGES"):
        made.register_regions("cars", ["a"], one, where="SPEED > 1", emit="matches")
    made.register_regions("cars", ["a", "b"], [shapely.box(0, 0, 9, 9)] * 2, where="SPEED > 4")
    tracker = wl.Tracker(made, "cars")
    moved = tracker.process(rows((1, 0.0, 1.0, 0), (1, 5.0, 1.0, SECOND)))
    assert told(moved) == [("a", 1, 1), ("b", 1, 1)]


@pytest.mark.parametrize("shed", ["objects", "queries"])
def test_answers_close_where_a_job_lets_objects_go(shed: str) -> None:
    """Such a call keeps a part of the objects, and its events still alternate."""
    made = catalog("SPEED > 1", "SPEED < 3 AND x < 5", "x < 7")
    keep: Any = {"retain": "significant", "cache": 0.5, "max_objects": 3, "shed": shed}
    tracker = wl.Tracker(made, "cars", **keep)
    members: set[tuple[str, int]] = set()
    signs = []
    for step in range(20):
        if step % 7 == 6:
            tracker = wl.Tracker.restore(made, "cars", tracker.snapshot(), **keep)
        places = [float((step * i * 3) % 11) for i in range(1, 9)]
        given = rows(*((i + 1, x, 1.0, step * SECOND) for i, x in enumerate(places)))
        changes = tracker.process(given)
        columns = (changes[name].to_pylist() for name in ("query_id", "object_id", "sign"))
        for query, who, sign in zip(*columns, strict=True):
            assert ((query, who) in members) is (sign < 0)
            (members.discard if sign < 0 else members.add)((query, who))
            signs.append((query, sign))
    assert tracker.stats()["answers"] == len(members)
    assert {("q0", 1), ("q0", -1), ("q1", 1), ("q1", -1)} <= set(signs)


# --- on Earth


def metres(a: tuple[float, float], b: tuple[float, float]) -> float:
    """The arc over the chord between two places of WGS 84."""

    def vector(lon: float, lat: float) -> tuple[float, float, float]:
        flattening = 1 / 298.257223563
        squared = flattening * (2 - flattening)
        up, across = math.radians(lat), math.radians(lon)
        normal = 6_378_137.0 / math.sqrt(1 - squared * math.sin(up) ** 2)
        out = normal * math.cos(up)
        return out * math.cos(across), out * math.sin(across), normal * (1 - squared) * math.sin(up)

    radius = 6_371_008.8
    return 2 * radius * math.asin(min(1.0, math.dist(vector(*a), vector(*b)) / (2 * radius)))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ((-122.4, 37.8), (-122.41, 37.79)),
        ((179.9999, 10.0), (-179.9999, 10.0)),
        ((0.0, 89.9999), (180.0, 89.9999)),
        ((10.0, 0.0), (-170.0, 0.0)),
        ((5.0, 5.0), (5.000001, 5.0)),
    ],
)
def test_on_earth_metres_per_second(before: tuple[float, float], now: tuple[float, float]) -> None:
    speed = metres(before, now) / 8
    made = wl.Catalog.of(PLANE.replace("(x, y)", "(x, y) AS GEOGRAPHY"))
    for name, of in (("below", 1 - 1e-7), ("above", 1 + 1e-7)):
        made.execute(f"CREATE QUERY {name} AS SELECT * FROM cars WHERE SPEED > {speed * of!r}")
    made.execute(
        f"CREATE QUERY hourly AS SELECT * FROM cars"
        f" WHERE SPEED > {speed * 3.6 * (1 - 1e-7)!r} KILOMETERS PER HOUR"
    )
    tracker = wl.Tracker(made, "cars")
    found = tracker.process(rows((1, *before, 0), (1, *now, 8 * SECOND)))
    assert told(found) == [("below", 1, 1), ("hourly", 1, 1)]


def test_explain_says_what_speed_is() -> None:
    made = catalog("SPEED > 3")
    text = str(made.explain("q0"))
    assert "(SPEED DOUBLE, x DOUBLE, y DOUBLE)" in text
    assert "SPEED       units per second since the object's row before; else NULL" in text
    assert "SPEED" in text.partition("planned as")[2]


def test_conditions_print_what_they_read() -> None:
    [stream] = catalog().streams()
    [made] = sql.condition("NOT speed > 3", stream)
    assert repr(made) == "SPEED <= 3"
    assert sql.condition(repr(made), stream) == (made,)
