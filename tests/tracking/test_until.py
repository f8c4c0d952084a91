"""UNTIL ends a query of any kind at a moment of stream time: rows of then and later do nothing."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import watchline as wl
from tests.support.ledgers import Asked, Twin, compared
from tests.support.strategies import life_sql
from watchline.catalog import codec
from watchline.matching import PairMatcher
from watchline.model import Query
from watchline.tracking import ChangeQueries, Saved

LEFT = compared("x", "<", 50.0)


def car(object_id: int, x: float, moment: int) -> dict[str, Any]:
    return {"id": object_id, "x": x, "y": 1.0, "speed": 0.0, "n": 0, "kind": "car", "ts": moment}


def brief(found: list[Any]) -> list[tuple[Any, ...]]:
    return sorted((c[2], c[1], c[3], c[4]) for c in found)


KINDS = [
    Asked("q", "WHERE x < 50", LEFT, until=10),
    Asked("q", "INSIDE (0, 0, 50, 50)", region=("box", 0.0, 0.0, 50.0, 50.0), until=10),
    Asked("q", "INSIDE CIRCLE (0, 0, 50)", region=("circle", 0.0, 0.0, 50.0), until=10),
    Asked("q", "INSIDE ('M', 9, 99, 99)", region=("mbox", 9, 99.0, 99.0), until=10),
    Asked("q", "kNN (3, 0, 0)", knn=("knn", 3, 0.0, 0.0), until=10),
    Asked("q", "kNN ('M', 2, 9)", knn=("mknn", 2, 9), until=10),
]


@pytest.mark.parametrize("asked", KINDS, ids=lambda asked: asked.sql)
def test_rows_of_the_end_do_nothing(asked: Asked) -> None:
    """The last row that counts is of the moment before.

    time   5  9  10
           |  |  ] the end; what is inside is closed with time 10
    """
    twin = Twin(queries=[asked])
    twin.process([car(9, 1.0, 5), car(1, 2.0, 5)])
    assert (2, 1) in [c[:2] for c in brief(twin.process([car(2, 3.0, 9)]))]
    closed = brief(twin.process([car(3, 0.5, 10), car(1, 60.0, 10)]))
    assert {c[1:] for c in closed} == {(-1, 10, "dropped")}
    assert {1, 2} <= {c[0] for c in closed}
    assert twin.process([car(4, 0.5, 11)]) == []


@pytest.mark.parametrize(
    ("lifetime", "until", "end"), [(3, 10, 8), (5, 10, 10), (4, 10, 9), (99, 10, 10), (3, 99, 8)]
)
def test_the_earlier_end_wins(lifetime: int, until: int, end: int) -> None:
    twin = Twin(queries=[Asked("q", "WHERE x < 50", LEFT, lifetime=lifetime, until=until)])
    twin.process([car(1, 1.0, 5)])
    assert brief(twin.process([car(2, 60.0, 50)])) == [(1, -1, end, "dropped")]


def test_a_query_whose_end_has_passed_answers_nothing() -> None:
    twin = Twin()
    twin.process([car(1, 1.0, 10)])
    assert twin.register(Asked("q", "WHERE x < 50", LEFT, until=10)) == []
    assert twin.process([car(2, 1.0, 9), car(3, 1.0, 12)]) == []
    # One that replaces it lives again.
    assert brief(twin.register(Asked("q", "WHERE x < 50", LEFT, until=13))) == [
        (1, 1, 12, "registered"),
        (2, 1, 12, "registered"),
        (3, 1, 12, "registered"),
    ]
    # And one with an end in the past ends it.
    assert brief(twin.register(Asked("q", "WHERE x < 50", LEFT, until=12))) == [
        (1, -1, 12, "dropped"),
        (2, -1, 12, "dropped"),
        (3, -1, 12, "dropped"),
    ]


def test_the_first_row_may_come_after_the_end() -> None:
    twin = Twin(queries=[Asked("q", "WHERE x < 50", LEFT, until=10)])
    assert twin.process([car(1, 1.0, 10)]) == []


def test_a_time_out_at_the_end_comes_too_late() -> None:
    twin = Twin(timeout=5, queries=[Asked("q", "WHERE x < 50", LEFT, until=10)])
    twin.process([car(1, 1.0, 5), car(2, 1.0, 4)])
    assert brief(twin.process([car(3, 60.0, 30)])) == [
        (1, -1, 10, "dropped"),
        (2, -1, 9, "expired"),
    ]


def test_through_a_snapshot() -> None:
    twin = Twin(queries=[Asked("q", "WHERE x < 50", LEFT, until=10)])
    twin.process([car(1, 1.0, 5)])
    twin.tracker = wl.Tracker.restore(twin.catalog, "cars", twin.tracker.snapshot())
    assert brief(twin.process([car(2, 1.0, 10)])) == [(1, -1, 10, "dropped")]
    twin.tracker = wl.Tracker.restore(twin.catalog, "cars", twin.tracker.snapshot())
    assert twin.process([car(1, 60.0, 11), car(2, 1.0, 12)]) == []
    assert twin.drop("q") == []


# --- matches

TICKS = "CREATE STREAM ticks (symbol STRING, price DOUBLE, ts TIMESTAMP) OBJECT symbol TIME ts"


def test_matches_end_at_the_time_of_rows() -> None:
    catalog = wl.Catalog.of(
        [
            TICKS,
            "CREATE QUERY ever AS SELECT * FROM ticks WHERE price < 3",
            "CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 OR price < 2"
            + life_sql(None, 10),
        ]
    )
    times = pa.array([9, 10, None, 0, -1], pa.timestamp("us", "UTC"))
    rows = pa.table({"symbol": ["a"] * 5, "price": [1.0] * 5, "ts": times})
    pairs = PairMatcher(catalog, "ticks").match(rows)
    found = sorted(zip(pairs.ids.to_pylist(), pairs.rows.tolist(), strict=True))
    assert found == [*(("ever", i) for i in range(5)), ("q", 0), ("q", 3), ("q", 4)]


# --- what is stored


def test_clauses_that_older_catalogs_ignored_are_left_out() -> None:
    query = wl.Catalog.of(
        [TICKS, "CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 EMIT MATCHES"]
    ).queries()["q"]
    old = json.loads(codec.dumps(query)) | {"lifetime": 5, "accuracy": 0.5}
    assert codec.loads(json.dumps(old)) == query
    old["emit"] = {"$": "Emit", "value": "CHANGES"}
    read = codec.loads(json.dumps(old))
    assert isinstance(read, Query)
    assert (read.lifetime, read.accuracy) == (5, 0.5)


def test_it_is_explained_and_listed() -> None:
    until = "UNTIL TIMESTAMP '2026-03-01 18:00:00+02:00'"
    catalog = wl.Catalog.of([TICKS, f"CREATE QUERY q AS SELECT * FROM ticks {until}"])
    assert "until       '2026-03-01 16:00:00' UTC of stream time" in catalog.explain("q")
    [query] = catalog.execute("SHOW QUERIES")
    assert "UNTIL TIMESTAMP '2026-03-01 16:00:00'" in repr(query)


def test_a_state_knows_which_of_two_queries_of_one_id_was_alive() -> None:
    """A query with a life is replaced by one without, and that one by a third: a state of between
    has the second one, even where the queries are ahead of it."""
    twin = Twin(queries=[Asked("q", "WHERE x < 50", LEFT, lifetime=3)])
    twin.process([car(1, 1.0, 5)])
    twin.register(Asked("q", "WHERE x < 50", LEFT))
    blob, between = twin.tracker.snapshot(), twin.catalog.version
    ahead = ChangeQueries(twin.catalog, "cars", between)
    twin.catalog.execute("CREATE OR REPLACE QUERY q AS SELECT * FROM cars WHERE x < 9 EMIT CHANGES")
    ahead.advance(twin.catalog.version)
    again = wl.Tracker.resume(ahead, Saved.of(blob, twin.catalog.identity, "cars"))
    assert again.version == between
    assert again._queries.lives.terms == {}
