"""Queries that a call cannot answer: a warning names them, and a counter follows the catalog."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import watchline as wl
from watchline.catalog import Call, Catalog, unanswered
from watchline.model import Emit

CARS = "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
CARS += " POINT (x, y)"
BUSES = CARS.replace("cars", "buses")
STOPS = CARS.replace("cars", "stops")
PLAIN = "CREATE QUERY plain AS SELECT * FROM cars WHERE x < 1"
NEAR = "CREATE QUERY near AS SELECT * FROM cars WHERE x < 1 EMIT CHANGES"
BOX = "CREATE QUERY box AS SELECT * FROM cars INSIDE (0, 0, 1, 1)"
NEAREST = "CREATE QUERY nearest AS SELECT * FROM cars kNN (2, 0, 0)"
BUS = "CREATE QUERY bus AS SELECT * FROM buses WHERE x < 1"
MEET = "CREATE QUERY meet AS SELECT * FROM cars [ROWS 2], buses [ROWS 2] WHERE cars.x = buses.x"
STOP = "CREATE QUERY stop AS SELECT * FROM cars [ROWS 2], stops [ROWS 2] WHERE cars.x = stops.x"
FAR = "CREATE QUERY far AS SELECT * FROM buses [ROWS 2], stops [ROWS 2] WHERE buses.x = stops.x"
PASS = "CREATE QUERY pass AS SELECT * FROM cars [ROWS 2] AS a, cars [ROWS 2] AS b WHERE a.x = b.x"
EVERY = [PLAIN, NEAR, BOX, NEAREST, BUS, MEET, STOP, FAR, PASS]

Make = Callable[[Catalog], Any]
CALLS: dict[str, tuple[Make, set[str]]] = {
    "Tracker": (lambda c: wl.Tracker(c, "cars"), {"plain", "meet", "stop", "pass"}),
    # The buses alone belong to another call; every join belongs to a joiner.
    "Joiner": (
        lambda c: wl.Joiner(c, ["cars", "buses"]),
        {"plain", "near", "box", "nearest", "bus", "stop", "far"},
    ),
}


def catalog_of(*queries: str) -> Catalog:
    return Catalog.of([CARS, BUSES, STOPS, *queries])


def warned(make: Make, catalog: Catalog) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(catalog)
    return caught


@pytest.mark.parametrize("name", CALLS)
def test_one_warning_names_all_that_is_not_answered(name: str) -> None:
    make, missed = CALLS[name]
    [warning] = warned(make, catalog_of(*EVERY))
    assert warning.category is wl.UnansweredWarning
    assert issubclass(wl.UnansweredWarning, wl.WatchlineWarning)
    # It points at the line of the call.
    assert warning.filename == __file__
    message = str(warning.message)
    assert message.startswith(f"{len(missed)} queries are not answered by wl.{name}: ")
    for query in EVERY:
        query_id = query.split()[2]
        assert (f"'{query_id}'" in message) == (query_id in missed)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_said_where_all_is_answered(name: str) -> None:
    make, missed = CALLS[name]
    answered = [q for q in EVERY if q.split()[2] not in missed]
    assert warned(make, catalog_of(*answered)) == []
    assert warned(make, catalog_of()) == []


@pytest.mark.parametrize(
    ("make", "query", "why"),
    [
        (
            CALLS["Tracker"][0],
            PLAIN,
            'EMIT MATCHES: use wl.matches or wl.Matcher, or emit = "matches" in a job, or register'
            " them with EMIT CHANGES",
        ),
        (CALLS["Tracker"][0], MEET, 'joins: use wl.joins or wl.Joiner, or emit = "joins" in a job'),
        (
            CALLS["Joiner"][0],
            NEAR,
            'EMIT CHANGES: use wl.changes or wl.Tracker, or emit = "changes" in a job',
        ),
        (CALLS["Joiner"][0], STOP, "no stream 'stops' is given: add it to the call"),
    ],
)
def test_the_reason_and_the_remedy(make: Make, query: str, why: str) -> None:
    [warning] = warned(make, catalog_of(query))
    name = query.split()[2]
    assert str(warning.message).startswith("1 query is not answered by wl.")
    assert str(warning.message).endswith(f": '{name}' ({why})")


def test_many_queries_are_counted_and_the_first_are_named() -> None:
    catalog = catalog_of(PLAIN)
    ids = [f"box {i}" for i in range(2_000)]
    catalog.register_boxes("cars", ids, {"x": (0.0, 1.0)}, emit="matches")
    [warning] = warned(CALLS["Tracker"][0], catalog)
    message = str(warning.message)
    assert message.startswith("2,001 queries are not answered by wl.Tracker: 'plain', 'box 0', ")
    assert "'box 3' and 1,996 more (EMIT MATCHES" in message


@pytest.mark.filterwarnings("ignore::watchline.UnansweredWarning")
def test_the_counter_follows_the_catalog() -> None:
    """Registered, replaced, dropped, in bulk; every engine counts as one that starts anew does."""
    catalog = catalog_of(NEAR)
    tracker, joiner = wl.Tracker(catalog, "cars"), wl.Joiner(catalog, ["cars", "buses"])
    matcher = wl.Matcher(catalog, "cars")
    seen = []

    def follow() -> None:
        version = catalog.version
        tracker.advance_to(version)
        joiner.advance_to(version)
        matcher.advance_to(version)
        again = (
            wl.Tracker(catalog, "cars"),
            wl.Joiner(catalog, ["cars", "buses"]),
            wl.Matcher(catalog, "cars"),
        )
        counts = tuple(engine.stats()["unanswered"] for engine in (tracker, joiner, matcher))
        assert counts == tuple(engine.stats()["unanswered"] for engine in again)
        seen.append(counts)

    follow()
    bulk = {"ids": ["p", "q", "r"], "bounds": {"x": (0.0, 1.0)}, "emit": "changes"}
    for step in (
        PLAIN,
        lambda: catalog.register_boxes("cars", **bulk),
        NEAR.replace("QUERY near", "OR REPLACE QUERY near").replace("CHANGES", "MATCHES"),
        "DROP QUERY q; DROP QUERY plain",
        MEET,
        "DROP QUERY meet; DROP QUERY near",
    ):
        catalog.execute(step) if isinstance(step, str) else step()
        follow()
    #                Tracker, Joiner, Matcher
    assert seen == [(0, 1, 1), (1, 2, 1), (1, 5, 4), (2, 5, 3), (1, 3, 2), (2, 3, 3), (0, 2, 2)]


@pytest.mark.filterwarnings("ignore::watchline.UnansweredWarning")
def test_parts_and_snapshots_of_a_joiner_count_each_query_once() -> None:
    catalog = catalog_of(*EVERY)
    catalog.register_boxes("buses", [f"b{i}" for i in range(50)], {"x": (0.0, 1.0)})
    parts = [wl.Joiner(catalog, ["cars", "buses"], part=k, parts=3) for k in range(3)]
    assert sum(part.stats()["unanswered"] for part in parts) == 57
    for k, part in enumerate(parts):
        blob = part.snapshot()
        again = wl.Joiner.restore(catalog, ["cars", "buses"], blob, part=k, parts=3)
        assert again.stats()["unanswered"] == part.stats()["unanswered"] > 0


def test_restored_engines_warn_as_new_ones_do() -> None:
    catalog = catalog_of(NEAR, PLAIN)
    with pytest.warns(wl.UnansweredWarning):
        tracker, joiner = wl.Tracker(catalog, "cars"), wl.Joiner(catalog, ["cars", "buses"])
    with pytest.warns(wl.UnansweredWarning, match="'plain'"):
        wl.Tracker.restore(catalog, "cars", tracker.snapshot())
    with pytest.warns(wl.UnansweredWarning, match="'plain'"):
        wl.Joiner.restore(catalog, ["cars", "buses"], joiner.snapshot())


def test_a_join_that_came_too_late_for_its_columns() -> None:
    call = Call(None, {"cars": 1, "buses": 1})
    [(why, ids)] = unanswered(catalog_of(PASS, MEET).queries(), call).items()
    assert (ids.to_pylist(), "start again with times = {'cars': 2}" in why) == (["pass"], True)


def test_calls_and_what_they_answer() -> None:
    matches, changes = (Call.of(emit, "cars") for emit in (Emit.MATCHES, Emit.CHANGES))
    for call, emit in ((matches, Emit.MATCHES), (changes, Emit.CHANGES)):
        assert call.answers(("cars",), emit)
        assert not call.answers(("buses",), emit)
        assert not call.answers(("cars", "cars"), emit)
        assert call.problem(("buses",), emit) is call.problem(("buses", "stops"), emit) is None
        assert call.problem(("cars", "cars"), emit)
