"""Hostile or huge input ends with one clear message, soon, and changes nothing."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import watchline as wl
from tests.support.sql_fixtures import streams
from watchline import sql
from watchline.catalog import Catalog
from watchline.errors import InvalidQuery, InvalidRange, QuerySyntaxError
from watchline.model import Circle, Knn, MovingBox, MovingCircle, MovingKnn, Polygon, Query
from watchline.sql import geometry

STREAMS = streams()
DATA = Path(__file__).parents[3] / "shared" / "data"


def where(condition: str) -> Query:
    statement = sql.statement(f"CREATE QUERY q AS SELECT * FROM ticks WHERE {condition}", STREAMS)
    assert isinstance(statement, sql.CreateQuery)
    return statement.query


def inside(polygon: str) -> Polygon:
    text = f"CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON '{polygon}'"
    statement = sql.statement(text, STREAMS)
    assert isinstance(statement, sql.CreateQuery)
    assert isinstance(statement.query.region, Polygon)
    return statement.query.region


def refused(text: str) -> str:
    with pytest.raises(QuerySyntaxError) as caught:
        where(text)
    return caught.value.problem


def test_ten_megabytes() -> None:
    assert "characters, more than the 4,194,304 that are read" in refused("x" * 10_000_000)


@pytest.mark.slow
def test_a_hundred_thousand_alternatives() -> None:
    problem = refused(" OR ".join(f"price = {i}" for i in range(100_000)))
    assert problem.startswith("the statement has more than 50,000 words: split it")


def test_a_thousand_alternatives_are_the_limit() -> None:
    thousand = " OR ".join(f"price = {i}" for i in range(1_000))
    assert len(where(thousand).where) == 1_000
    assert "more than 1,000 alternatives" in refused(thousand + " OR price = 1000")


def test_a_product_of_alternatives() -> None:
    factors = [f"(price < {i} OR volume < {i} OR n < {i})" for i in range(40)]
    assert "more than 1,000 alternatives" in refused(" AND ".join(factors))
    assert len(where(" AND ".join(factors[:2])).where) == 9


def test_many_excluded_values_are_as_many_gaps() -> None:
    values = ", ".join(map(str, range(0, 1_800, 2)))
    assert len(where(f"price NOT IN ({values})").where) == 901
    assert (
        len(where(f"symbol NOT IN ({', '.join(repr(str(i)) for i in range(20_000))})").where) == 1
    )


@pytest.mark.parametrize("opening", ["(", "NOT (", "-(", "NOT ", "- "])
def test_deep_nesting(opening: str) -> None:
    depth = 10_000
    closing = ")" * (depth * opening.count("("))
    for text in (f"price < {opening * depth}1{closing}", f"{opening * depth}price < 1{closing}"):
        assert "nests too deeply" in refused(text)


def test_a_long_sum() -> None:
    assert where("price < " + " + ".join(["1"] * 100)).where == where("price < 100").where
    assert refused("price < " + " + ".join(["1"] * 20_000))


@pytest.mark.parametrize("number", ["9" * 5_000, "1e-999999999", "1" + "0" * 400, "1e400 * 1e400"])
def test_numbers_beyond_all_bounds(number: str) -> None:
    assert "number" in refused(f"price < {number}") or "digits" in refused(f"price < {number}")


def test_growing_constants() -> None:
    assert "digits" in refused("price < " + " * ".join(["1e300"] * 100))


def test_text_that_is_not_unicode() -> None:
    assert "not valid Unicode" in refused("symbol = '\ud800'")


def test_the_caret_stands_under_the_place_in_a_long_line() -> None:
    text = "CREATE QUERY q AS SELECT * FROM ticks WHERE " + "price < 1 AND " * 50 + "prise < 3"
    with pytest.raises(QuerySyntaxError) as caught:
        sql.statement(text, STREAMS)
    line, caret = str(caught.value).splitlines()[-2:]
    assert line[caret.index("^") :].startswith("prise")
    assert len(line) < 130
    assert (caught.value.line, caught.value.column) == (1, text.index("prise") + 1)


# --- polygons

# Touches itself at (2, 2).
TOUCHING = "0 0, 4 0, 4 4, 2 2, 3 1, 1 1, 2 2, 0 4, 0 0"


def circle(vertices: int) -> str:
    angles = [2 * math.pi * i / vertices for i in range(vertices)]
    points = [f"{math.cos(a)!r} {math.sin(a)!r}" for a in angles]
    return f"POLYGON (({', '.join([*points, points[0]])}))"


def refused_polygon(polygon: str) -> str:
    with pytest.raises(QuerySyntaxError) as caught:
        inside(polygon)
    return caught.value.problem


def test_polygon_with_too_many_vertices() -> None:
    assert inside(circle(50_000)).vertices == 50_000
    many = "POLYGON ((" + "0 0," * 1_000_001 + "0 0))"
    assert "1,000,002 vertices; the limit is 1,000,000" in refused_polygon(many)


def test_a_big_region_in_many_alternatives() -> None:
    """Each alternative is kept with all its regions; a region that all share can be the clause."""
    big, some = f"INSIDE POLYGON '{circle(9_999)}'", " OR ".join(f"speed = {i}" for i in range(101))
    start = "CREATE QUERY q AS SELECT * FROM cars WHERE"
    with pytest.raises(QuerySyntaxError) as caught:
        sql.statement(f"{start} ({some}) AND NOT {big}", STREAMS)
    assert "have 1,009,899 vertices once its ORs are multiplied out" in caught.value.problem
    assert "as the clause INSIDE" in caught.value.problem
    for text in (f"{start} ({some}) {big}", f"{start} speed IN (1, 2) AND NOT {big}"):
        assert isinstance(sql.statement(text, STREAMS), sql.CreateQuery)


def test_a_corridor_with_too_many_vertices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "MAX_VERTICES", 1_000)
    points = ", ".join(f"{i} {i % 2}" for i in range(1_001))
    text = f"CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING ({points})' WITHIN 1"
    with pytest.raises(QuerySyntaxError, match="the line has 1,001 vertices; the limit is 1,000"):
        sql.statement(text, STREAMS)


@pytest.mark.parametrize(
    ("polygon", "problem"),
    [
        ("POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))", "crosses or overlaps itself"),
        (
            "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (3 3, 5 3, 5 5, 3 5, 3 3))",
            "crosses or overlaps itself",
        ),
        ("POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (5 5, 6 5, 6 6, 5 5))", "lies outside its shell"),
        (
            "MULTIPOLYGON (((0 0, 4 0, 4 4, 0 0)), ((0 0, 4 0, 4 4, 0 0)))",
            "crosses or overlaps itself",
        ),
        (
            "MULTIPOLYGON (((0 0, 9 0, 9 9, 0 9, 0 0)), ((2 2, 3 2, 3 3, 2 2)))",
            "parts of the polygon overlap",
        ),
        ("POLYGON ((0 0, 1 1, 2 2, 0 0))", ""),
        ("POLYGON ((0 0, 1 0, 2 0, 0 0))", "no area"),
        ("POLYGON ((0 0, 0 0, 0 0, 0 0))", "no area"),
        ("MULTIPOLYGON (EMPTY, ((0 0, 1 0, 1 1, 0 0)))", "three corners"),
        ("POLYGON ((0 0, 1 0, 1 1, 0 0), EMPTY)", "three corners"),
        ("CURVEPOLYGON ((0 0, 1 0, 1 1, 0 0))", "expected a polygon as WKT"),
        (f"MULTIPOLYGON ((({TOUCHING})), ((-5 0, 0.00001 2, -5 1, -5 0)))", "crosses or"),
        (f"POLYGON (({TOUCHING}), (1 .1, 2 .1, 2 .5, 1 .1), (1.9 .2, 3 .2, 3 .5, 1.9 .2))", ""),
        ("POLYGON EMPTY", "empty"),
        ("MULTIPOLYGON EMPTY", "empty"),
        ("POINT (1 1)", "found POINT"),
        ("POLYGON ((0 0, 1e308 0, 1e308 1, -1e308 1, 0 0))", "wider"),
        ("POLYGON ((0 0, inf 0, 1 1, 0 0))", ""),
        ("POLYGON ((0 0, nan 0, 1 1, 0 0))", ""),
        ('{"type": "FeatureCollection", "features": []}', ""),
        ('{"type": "Feature", "geometry": null}', ""),
        ("[" * 10_000, ""),
        ('{"a":' * 10_000, ""),
    ],
)
def test_polygons_that_are_none(polygon: str, problem: str) -> None:
    assert problem in refused_polygon(polygon)


def test_a_crossing_is_found_behind_a_touch() -> None:
    """The first ring touches itself, the crossing comes later: both must be seen.

        touch at (2, 2)            bow tie
        4 .       .              \\     /
          | \\   / |                \\ /
        2 |   x   |                / \\
          |  / \\  |              /     \\
        0 +-------+
    """
    touching = f"({TOUCHING})"
    bow = "(10 0, 12 2, 12 0, 10 2, 10 0)"
    assert inside(f"POLYGON ({touching})").vertices == 8
    assert "crosses or overlaps itself" in refused_polygon(f"MULTIPOLYGON (({touching}), ({bow}))")


@pytest.mark.parametrize(
    "polygon",
    [
        # An island in a lake, beside a part that touches itself.
        "MULTIPOLYGON (((20 0, 30 0, 30 9, 20 9, 20 0), (22 2, 28 2, 28 8, 22 8, 22 2)),"
        f" ((24 4, 26 4, 26 6, 24 6, 24 4)), (({TOUCHING})))",
        # Two parts that share an edge.
        "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 1, 0 0)), ((1 0, 2 0, 2 1, 1 1, 1 0)))",
        # Turned the other way round, with a repeated vertex and a third coordinate.
        "POLYGON Z ((0 0 5, 0 1 5, 0 1 5, 1 1 5, 1 0 5, 0 0 5))",
    ],
)
def test_polygons_that_only_touch_are_accepted(polygon: str) -> None:
    assert inside(polygon).vertices > 3


def test_a_scribble_is_refused_soon() -> None:
    draw = random.Random(1)
    points = [f"{draw.random()} {draw.random()}" for _ in range(9_000)]
    assert "crosses" in refused_polygon(f"POLYGON (({', '.join([*points, points[0]])}))")


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition",
    [
        " AND ".join(f"symbol <> 'a{i}'" for i in range(12_000)),
        " AND ".join(f"price <> {i}" for i in range(900)),
        "price < 0." + "1" * 100_000,
        " AND ".join(["price < volume"] * 12_000),
    ],
    ids=["exclusions", "gaps", "digits", "repeated"],
)
def test_long_conditions_are_decided_soon(condition: str) -> None:
    try:
        assert len(where(condition).where) <= 1_000
    except QuerySyntaxError as error:
        assert "digits" in error.problem or "alternatives" in error.problem


@pytest.mark.skipif(not DATA.exists(), reason="needs the shared data")
def test_real_neighbourhoods_are_accepted() -> None:
    features = json.loads((DATA / "sf_neighborhoods.geojson").read_text())["features"]
    for feature in features:
        region = inside(json.dumps(feature["geometry"]))
        assert region.vertices > 3
        statement = sql.statement(f"CREATE QUERY q AS SELECT * FROM cars {region.sql}", STREAMS)
        assert isinstance(statement, sql.CreateQuery)
        assert statement.query.region == region
    assert len(features) == 37


# --- moving and nearest queries


@pytest.mark.parametrize("size", [0.0, -0.0, -1.0, math.nan, math.inf, -math.inf])
def test_sizes_that_are_none(size: float) -> None:
    for build in (
        lambda: MovingBox(17, size, 1.0),
        lambda: MovingBox(17, 1.0, size),
        lambda: MovingCircle(17, size),
        lambda: Circle(0.0, 0.0, size),
    ):
        with pytest.raises(InvalidRange, match="must be greater than zero and finite"):
            build()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_places_that_are_none(value: float) -> None:
    for build in (lambda: Knn(2, value, 0.0), lambda: Knn(2, 0.0, value)):
        with pytest.raises(InvalidRange, match="the centre of a kNN query must be a finite number"):
            build()


@pytest.mark.parametrize("k", [0, -1, -(2**31)])
def test_counts_that_are_none(k: int) -> None:
    for build in (lambda: Knn(k, 0.0, 0.0), lambda: MovingKnn(k, 17)):
        with pytest.raises(InvalidRange, match="kNN needs k >= 1"):
            build()


def test_a_refused_moving_query_leaves_that_of_its_name() -> None:
    catalog = Catalog.of(repr(s) for s in STREAMS)
    catalog.execute("CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1, 1)")
    version, query = catalog.version, catalog.queries()["q"]
    bad = ("INSIDE ('M', 17, 0, 1)", "kNN (0, 1, 1)", "kNN ('M', 2, 'x')", "INSIDE ELLIPSE (1)")
    for clause in bad:
        with pytest.raises(QuerySyntaxError):
            catalog.execute(f"CREATE OR REPLACE QUERY q AS SELECT * FROM cars {clause}")
    assert catalog.version == version
    assert catalog.queries()["q"] == query


def test_a_refused_statement_changes_nothing() -> None:
    catalog = Catalog.of(repr(s) for s in STREAMS)
    version = catalog.version
    good = "CREATE QUERY a AS SELECT * FROM ticks WHERE price < 3"
    for bad in (
        "CREATE QUERY b AS SELECT * FROM nothing",
        "CREATE QUERY",
        "SHOW",
        "DROP QUERY zzz",
    ):
        with pytest.raises((QuerySyntaxError, LookupError)):
            catalog.execute(f"{good}; {bad}")
        assert catalog.version == version
        assert len(catalog.queries()) == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("max_object", r"wl.Tracker has no argument 'max_object'; did you mean 'max_objects'\?"),
        ("clok", r"wl.Tracker has no argument 'clok'; did you mean 'clock'\?"),
        ("zzz", "has no argument 'zzz'; it takes retain, cache, max_objects, max_bytes, shed"),
    ],
)
def test_an_unknown_argument_of_a_tracker(name: str, message: str) -> None:
    catalog = Catalog.of(["CREATE STREAM s (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts"])
    arguments: dict[str, Any] = {name: 5}
    with pytest.raises(InvalidQuery, match=message):
        wl.Tracker(catalog, "s", **arguments)
