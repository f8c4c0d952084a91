"""Bulk registration of regions: what goes in comes out as the queries that SQL would make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely

import watchline as wl
from watchline import sql
from watchline.catalog import Catalog, RegionBlock
from watchline.catalog.region_blocks import FORMS
from watchline.errors import (
    DuplicateQuery,
    InvalidQuery,
    InvalidRange,
    QuerySyntaxError,
    UnknownStream,
)
from watchline.index.regions.forms import (
    CIRCLE,
    CORRIDOR,
    EARTH_CIRCLE,
    EARTH_CORRIDOR,
    POLYGON,
)

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, kind STRING, speed DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)
# A square with a hole, and a second part with two holes.
PARTS = shapely.MultiPolygon(
    [
        shapely.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], [[(1, 1), (2, 1), (2, 2), (1, 2)]]),
        shapely.Polygon(
            [(6, 0), (9, 0), (9, 9), (6, 9)],
            [[(7, 1), (8, 1), (8, 2)], [(7, 5), (8, 5), (8, 6)]],
        ),
    ]
)
SQUARE = shapely.box(0, 0, 1, 1)
BOWTIE = shapely.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])


@pytest.fixture
def cars(catalog: Catalog) -> Catalog:
    catalog.execute(CARS)
    return catalog


def rows(points: list[tuple[float, float]], kind: str = "bus") -> pa.Table:
    return pa.table(
        {
            "id": range(len(points)),
            "x": [float(x) for x, _ in points],
            "y": [float(y) for _, y in points],
            "kind": [kind] * len(points),
            "speed": [1.0] * len(points),
            "ts": pa.array(range(len(points)), pa.timestamp("us", tz="UTC")),
        }
    )


def inside(catalog: Catalog, points: list[tuple[float, float]]) -> list[list[str]]:
    """The ids of the queries whose answer each point is in, however it is registered."""
    changes = wl.Tracker(catalog, "cars").process(rows(points))
    held: list[list[str]] = [[] for _ in points]
    for query, place in zip(
        changes["query_id"].to_pylist(), changes["object_id"].to_pylist(), strict=True
    ):
        held[place].append(query)
    return [sorted(each) for each in held]


def test_forms_have_the_numbers_of_the_index() -> None:
    forms = [POLYGON, CIRCLE, CORRIDOR, EARTH_CIRCLE, EARTH_CORRIDOR]
    names = ["polygon", "circle", "corridor", "circle on Earth", "corridor on Earth"]
    assert [FORMS[form] for form in forms] == names


def test_a_block_is_the_queries_that_sql_would_make(cars: Catalog) -> None:
    shapes = [SQUARE, PARTS, shapely.Point(2, 3)]
    where = ["kind = 'bus' OR speed > 3", None, "speed BETWEEN 1 AND 2"]
    properties = [{"b": 1, "a": "it's"}, None, '{"kind": "park"}']
    version = cars.register_regions("cars", ["a", "b", "c"], shapes, where, "changes", properties,
                                    radius=1.5)  # fmt: skip
    assert version == cars.version == 3
    [block] = cars.queries().blocks
    assert isinstance(block, RegionBlock)
    for query in cars.queries():
        again = sql.statement(query.sql, cars.streams())
        assert isinstance(again, sql.CreateQuery)
        assert again.query == query
    assert [q.sql.partition(" FROM cars ")[2] for q in cars.queries()] == [
        "WHERE kind = 'bus' OR speed > 3 INSIDE POLYGON 'POLYGON ((1 0, 1 1, 0 1, 0 0, 1 0))'"
        """ EMIT CHANGES PROPERTIES '{"a":"it''s","b":1}'""",
        "INSIDE POLYGON 'MULTIPOLYGON (((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1)),"
        " ((6 0, 9 0, 9 9, 6 9, 6 0), (7 1, 8 1, 8 2, 7 1), (7 5, 8 5, 8 6, 7 5)))' EMIT CHANGES",
        "WHERE speed >= 1 AND speed <= 2 INSIDE CIRCLE (2, 3, 1.5) EMIT CHANGES"
        """ PROPERTIES '{"kind":"park"}'""",
    ]  # fmt: skip


def test_corridors_and_regions_in_conditions(cars: Catalog) -> None:
    lines = [
        shapely.LineString([(0, 0), (4, 0), (4, 3)]),
        shapely.MultiLineString([[(0, 1), (1, 1)], [(5, 5), (6, 6)]]),
        SQUARE,
    ]
    where = "INSIDE CIRCLE (0, 0, 5) AND NOT INSIDE (1, 1, 2, 2)"
    cars.register_regions("cars", list("abc"), lines, where, within=[0.5, 0.25, np.nan])
    for query in cars.queries():
        again = sql.statement(query.sql, cars.streams())
        assert isinstance(again, sql.CreateQuery)
        assert again.query == query
    assert "INSIDE CORRIDOR 'LINESTRING (0 0, 4 0, 4 3)' WITHIN 0.5" in cars.queries()["a"].sql
    assert "MULTILINESTRING ((0 1, 1 1), (5 5, 6 6))' WITHIN 0.25" in cars.queries()["b"].sql
    single = Catalog.of([CARS, *(query.sql for query in cars.queries())])
    points = [(x / 4, y / 4) for x in range(-4, 28) for y in range(-4, 28)]
    found = inside(cars, points)
    assert found == inside(single, points)
    held = dict(zip(points, found, strict=True))
    assert held[0.5, 0.5] == ["a", "c"]
    assert held[3.75, 2.0] == ["a"]
    assert held[0.75, 1.25] == ["b"]
    assert held[1.0, 1.0] == held[5.0, 5.0] == []


def test_a_catalog_reads_back_what_was_registered(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "catalog")
    catalog.execute(CARS)
    shapes = [PARTS, shapely.Point(0.1, -0.2), SQUARE, shapely.Point(5, 5)]
    radius = [np.nan, 0.3, np.nan, 2.0]
    where = [None, "speed > 1", "speed > 1", None]
    catalog.register_regions(
        "cars", list("abcd"), shapes, where, "matches", {"of": "city"}, radius=radius
    )
    before = [query.sql for query in catalog.queries()]
    for read in (Catalog(tmp_path / "catalog"), Catalog.of(catalog.statements())):
        assert [query.sql for query in read.queries()] == before
    [block] = Catalog(tmp_path / "catalog").queries().blocks
    assert isinstance(block, RegionBlock)
    assert len(block.conditions) == 2


def test_a_block_by_its_conditions(cars: Catalog) -> None:
    where = ["speed > 2", None, "speed > 1", None, "speed > 2.0"]
    cars.register_regions("cars", list("abcde"), [SQUARE] * 5, where)
    cars.drop("c")
    [block] = cars.queries().blocks
    assert isinstance(block, RegionBlock)
    found = {repr(condition): which.tolist() for condition, which in block.by_condition()}
    assert found == {"(speed > 2,)": [0, 3], "(TRUE,)": [1, 2]}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_block_answers_as_its_queries_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    centres = rng.random((30, 2)) * 4
    shapes = shapely.buffer(shapely.points(centres), 0.5, quad_segs=3)
    shapes[::3] = shapely.points(centres[::3])
    radius = np.where(np.arange(30) % 3 == 0, 0.4, np.nan)
    ids = [f"r{i}" for i in range(30)]
    bulk = Catalog.of([CARS])
    bulk.register_regions("cars", ids, shapes, "speed < 5", radius=radius)
    single = Catalog.of([CARS, *(query.sql for query in bulk.queries())])
    corners = shapely.get_coordinates(shapes)
    points = [tuple(p) for p in np.concatenate([rng.random((60, 2)) * 4, corners[::7]]).tolist()]
    found = inside(bulk, points)
    assert found == inside(single, points)
    assert any(found)
    made = bulk.queries()
    for point, names in zip(points, found, strict=True):
        sure = [i for i, s in zip(ids, shapes, strict=True) if s.geom_type == "Polygon"
                and shapely.contains_xy(s, *point)
                and s.exterior.distance(shapely.Point(point)) > 1e-9]  # fmt: skip
        assert set(sure) <= set(names)
        assert all(name in made for name in names)


def test_queries_of_a_block_come_and_go_like_any(cars: Catalog) -> None:
    cars.register_regions("cars", ["a", "b", "c"], [SQUARE, PARTS, SQUARE])
    tracker = wl.Tracker(cars, "cars")
    assert len(tracker.process(rows([(0.5, 0.5)]))) == 3
    cars.drop("a")
    cars.execute("CREATE OR REPLACE QUERY c AS SELECT * FROM cars INSIDE (0, 0, 9, 9)")
    with pytest.raises(DuplicateQuery, match="'b' is registered already"):
        cars.register_regions("cars", ["a", "b"], [SQUARE, SQUARE])
    cars.register_regions("cars", ["a"], [SQUARE])
    assert sorted(cars.queries().ids()) == ["a", "b", "c"]
    changes = tracker.advance_to(cars.version)
    told = list(zip(*(changes[n].to_pylist() for n in ("query_id", "sign", "reason")), strict=True))
    assert sorted(told) == [("a", -1, "dropped"), ("a", 1, "registered")]
    restored = wl.Tracker.restore(cars, "cars", tracker.snapshot())
    assert restored.stats()["answers"] == tracker.stats()["answers"] == 3
    [drop] = [c for c in cars.changes(3) if c.dropped == {"a"}]
    assert len(drop.added) == 0
    cars.compact(cars.version)
    assert sorted(cars.queries().ids()) == ["a", "b", "c"]
    assert isinstance(cars.queries().find("b"), tuple)
    assert inside(cars, [(0.5, 0.5), (1.5, 1.5), (8, 1)]) == [["a", "b", "c"], ["c"], ["b", "c"]]


def test_replace_drops_and_registers_in_one_commit(cars: Catalog) -> None:
    cars.register_regions("cars", ["a", "b"], [SQUARE, SQUARE])
    cars.execute("CREATE QUERY c AS SELECT * FROM cars INSIDE (0, 0, 9, 9)")
    before = cars.version
    cars.register_regions("cars", ["b", "c", "d"], [PARTS, SQUARE, SQUARE], replace=True)
    assert cars.version == before + 1
    [commit] = cars.changes(before)
    assert commit.dropped == {"b", "c"}
    assert sorted(commit.added.ids()) == ["b", "c", "d"]
    assert sorted(cars.queries().ids()) == ["a", "b", "c", "d"]
    assert "MULTIPOLYGON" in cars.queries()["b"].sql
    assert "POLYGON" not in cars.queries(before)["c"].sql
    cars.compact(cars.version)
    assert sorted(cars.queries().ids()) == ["a", "b", "c", "d"]


def test_a_dry_run_refuses_alike_and_leaves_nothing(cars: Catalog) -> None:
    before = cars.version
    assert cars.register_regions("cars", ["a"], [SQUARE], dry_run=True) == before
    with pytest.raises(InvalidRange, match="'a'"):
        cars.register_regions("cars", ["a"], [BOWTIE], dry_run=True)
    cars.register_regions("cars", ["a"], [SQUARE])
    with pytest.raises(DuplicateQuery):
        cars.register_regions("cars", ["a"], [SQUARE], dry_run=True)
    assert cars.version == before + 1


def native(shapes: Any) -> pa.Array:
    """The shapes in GeoArrow's own encoding, with x and y as a struct."""
    _, points, offsets = shapely.to_ragged_array(shapes)
    array: pa.Array = pa.StructArray.from_arrays([points[:, 0], points[:, 1]], ["x", "y"])
    for ends in offsets:
        array = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), array)
    return array


def test_geometries_as_wkb_and_geoarrow(cars: Catalog) -> None:
    polygons = np.array([SQUARE, shapely.box(2, 2, 3, 3), shapely.box(8, 8, 9, 9)])
    interleaved = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0, 3.0, 4.0]), 2)
    given: dict[str, tuple[Any, dict[str, Any]]] = {
        "wkb": (shapely.to_wkb(polygons).tolist(), {}),
        "arrow": (pa.array(shapely.to_wkb(polygons).tolist(), pa.large_binary()), {}),
        "native": (native(polygons), {}),
        "sliced": (native(np.concatenate([polygons[1:], polygons]))[2:], {}),
        "chunked": (pa.chunked_array([native(polygons[:1]), native(polygons[1:])]), {}),
        "multi": (native(np.array([PARTS, PARTS, shapely.MultiPolygon([SQUARE])])), {}),
        "points": (native(shapely.points([[1, 2], [3, 4], [5, 6]])), {"radius": [1, 2, 3]}),
        "interleaved": (interleaved, {"radius": 1}),
        "numbers": ([[1, 2], [3, 4]], {"radius": 1}),
    }
    for name, (geometries, lengths) in given.items():
        ids = [f"{name}{i}" for i in range(len(geometries))]
        cars.register_regions("cars", ids, geometries, **lengths)
    found = cars.queries()
    for i, polygon in enumerate(polygons):
        x1, y1, *_ = polygon.bounds
        for name in ("wkb", "arrow", "native", "sliced", "chunked"):
            assert found[f"{name}{i}"].sql.endswith(
                f"'POLYGON (({x1 + 1:g} {y1:g}, {x1 + 1:g} {y1 + 1:g}, {x1:g} {y1 + 1:g},"
                f" {x1:g} {y1:g}, {x1 + 1:g} {y1:g}))' EMIT CHANGES"
            )
    assert found["multi0"].region == found["multi1"].region
    assert "(3, 4, 2)" in found["points1"].sql
    assert "(3, 4, 1)" in found["interleaved1"].sql
    assert found["numbers1"].region == found["interleaved1"].region


@pytest.mark.parametrize(
    ("shapes", "more", "error", "words"),
    [
        ([SQUARE, BOWTIE], {}, InvalidRange, r"query 'b' \(geometry 1\): .*crosses"),
        ([SQUARE, shapely.Polygon()], {}, InvalidRange, "'b' .*empty"),
        ([shapely.Point(0, 0), SQUARE], {}, InvalidRange, "'a' .*a point needs radius="),
        ([shapely.LineString([(0, 0), (1, 1)]), SQUARE], {}, InvalidRange, "needs within="),
        ([SQUARE, None], {}, InvalidRange, "'b' .*no geometry"),
        ([SQUARE, b"x"], {}, InvalidRange, "'b' .*no WKB"),
        ([SQUARE, shapely.MultiPoint([(0, 0)])], {}, InvalidRange, "'b' .*MULTIPOINT"),
        ([SQUARE], {}, InvalidQuery, "1 geometries and 2 ids"),
        (pa.array([[1.0, 2.0]] * 2), {}, InvalidRange, "expected"),
        ([SQUARE] * 2, {"where": "speed >"}, QuerySyntaxError, "expected a value"),
        ([SQUARE] * 2, {"where": "speed > 3 EMIT CHANGES"}, QuerySyntaxError, "EMIT"),
        ([SQUARE] * 2, {"where": "speed > 3; DROP QUERY a"}, QuerySyntaxError, "';'"),
        ([SQUARE] * 2, {"where": "sped > 3"}, QuerySyntaxError, "did you mean 'speed'"),
        ([SQUARE] * 2, {"where": ["speed > 3", "nix = 1"]}, InvalidQuery, r"'b' .*no attribute"),
        ([SQUARE] * 2, {"where": ["speed > 3"]}, InvalidQuery, "1 conditions; there are 2 ids"),
        ([SQUARE] * 2, {"where": 3}, InvalidQuery, "where must be a condition"),
        ([SQUARE] * 2, {"emit": "pairs"}, InvalidQuery, "emit must be"),
        ([SQUARE] * 2, {"properties": [{}, "["]}, InvalidQuery, r"'b' \(number 1\): .*no JSON"),
        ([SQUARE] * 2, {"properties": [{}]}, InvalidQuery, "one for each of the 2 ids"),
        ([SQUARE] * 2, {"properties": 3}, InvalidQuery, "properties must be"),
        ([SQUARE] * 2, {"properties": {"a": float("nan")}}, InvalidQuery, "cannot be written"),
        ([SQUARE] * 2, {"properties": {"a": "x" * 70_000}}, InvalidQuery, "the limit is 65,536"),
        ([SQUARE] * 2, {"radius": 3}, InvalidRange, "radius= is for points only"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(
    cars: Catalog, shapes: Any, more: dict[str, Any], error: type[Exception], words: str
) -> None:
    before = cars.version
    with pytest.raises(error, match=words):
        cars.register_regions("cars", ["a", "b"], shapes, **more)
    assert cars.version == before


def test_one_geometry_is_no_sequence(cars: Catalog) -> None:
    for one in (SQUARE, PARTS, shapely.to_wkb(SQUARE)):
        with pytest.raises(InvalidRange, match="a sequence of geometries, not one"):
            cars.register_regions("cars", ["a"], one)


class Series:
    """Like those of geopandas: a sequence with the attribute of one geometry."""

    geom_type = "Polygon"

    def __init__(self, shapes: Any):
        self.shapes = shapes

    def __len__(self) -> int:
        return len(self.shapes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.shapes, dtype=object)

    def __iter__(self) -> Any:
        return iter(self.shapes)


def test_a_series_of_geometries(cars: Catalog) -> None:
    cars.register_regions("cars", ["a", "b"], Series([SQUARE, PARTS]))
    assert sorted(cars.queries().ids()) == ["a", "b"]


def test_bad_ids_and_streams(cars: Catalog) -> None:
    with pytest.raises(DuplicateQuery, match="'a' stands in the ids more than once"):
        cars.register_regions("cars", ["a", "a"], [SQUARE, SQUARE])
    with pytest.raises(InvalidQuery, match="register_regions got no ids"):
        cars.register_regions("cars", [], [])
    with pytest.raises(InvalidQuery, match="must be strings"):
        cars.register_regions("cars", [1], [SQUARE])
    with pytest.raises(InvalidQuery, match="declared without POINT"):
        cars.register_regions("ticks", ["a"], [SQUARE])
    with pytest.raises(UnknownStream, match="did you mean 'cars'"):
        cars.register_regions("car", ["a"], [SQUARE])


def test_explain_of_a_region(cars: Catalog) -> None:
    cars.register_regions("cars", ["a", "b"], [SQUARE, PARTS], "speed > 3", properties={"k": 1})
    text = cars.explain("b")
    assert "one region of a bulk registration" in text
    assert '  properties  {"k":1}' in text
    assert "at version 3" in text


# --- properties and SHOW


def test_show_chooses_by_properties(cars: Catalog) -> None:
    properties = [{"kind": "school", "level": 3}, {"kind": "park", "owner": {"city": "Ulm"}}, None]
    cars.register_regions("cars", ["a", "b", "c"], [SQUARE] * 3, properties=properties)
    cars.execute(
        "CREATE QUERY d AS SELECT * FROM cars WHERE speed > 1"
        """ PROPERTIES '{"kind": "school", "level": 7.5, "open": true}'"""
    )
    cars.register_boxes("ticks", ["e"], {"price": (1, 2)})
    for where, ids in {
        "properties.kind = 'school'": "ad",
        "properties.kind <> 'school'": "b",
        "NOT properties.kind = 'school'": "b",
        "properties.kind IS NULL": "ce",
        "properties.kind IS NOT NULL AND properties.level IS NULL": "b",
        "properties.level > 3": "d",
        "properties.level >= 3 AND properties.level < 7.6": "ad",
        "properties.level BETWEEN 3 AND 7": "a",
        "properties.level = 'x'": "",
        "properties.owner.city = 'Ulm'": "b",
        "properties.owner = 'Ulm'": "",
        "properties.open": "d",
        "NOT properties.open": "",
        "properties.open IS TRUE": "d",
        "properties.kind LIKE 's%l'": "ad",
        "properties.kind NOT LIKE '_ark'": "ad",
        "properties.kind IN ('park', 'school') AND id > 'a'": "bd",
        "stream = 'ticks' OR id = 'a'": "ae",
        "emit = 'matches'": "d",
        "emit <> 'MATCHES' AND stream = 'cars'": "abc",
        "'d' <= id": "de",
    }.items():
        chosen = cars.execute(f"SHOW QUERIES WHERE {where}")
        assert "".join(sorted(chosen.ids())) == ids, where
        assert len(chosen) == len(ids)
    listed = {q.id: q.properties for q in cars.execute("SHOW QUERIES")}
    assert json.loads(listed["b"] or "") == {"kind": "park", "owner": {"city": "Ulm"}}
    assert listed["c"] is None


def test_a_join_is_shown_by_each_of_its_streams(cars: Catalog) -> None:
    cars.execute(
        "CREATE QUERY j AS SELECT * FROM cars [ROWS 2] AS a, ticks [ROWS 2] AS b"
        " WHERE a.speed = b.price"
    )
    for where in ("stream = 'cars'", "stream = 'ticks'", "NOT stream = 'x'", "stream <> 'x'"):
        assert list(cars.execute(f"SHOW QUERIES WHERE {where}").ids()) == ["j"]
    assert not len(cars.execute("SHOW QUERIES WHERE stream <> 'cars'"))


def test_a_hundred_thousand_regions() -> None:
    count = 100_000
    sides = np.arange(count) // 320, np.arange(count) % 320
    shapes = shapely.box(*sides, sides[0] + 0.5, sides[1] + 0.5)
    catalog = Catalog.of([CARS])
    catalog.register_regions("cars", [f"f{i}" for i in range(count)], shapes)
    assert len(catalog.queries()) == count
    assert catalog.version == 2
    last = catalog.queries()["f99999"]
    assert last.sql.endswith("'POLYGON ((312.5 159, 312.5 159.5, 312 159.5, 312 159, 312.5 159))'"
                             " EMIT CHANGES")  # fmt: skip
    catalog.drop_many([f"f{i}" for i in range(0, count, 2)])
    assert len(catalog.queries()) == count // 2
    assert catalog.queries()["f99999"] == last


def test_a_command_of_a_later_release_is_refused() -> None:
    """A release that passed over what it does not know would lose queries in silence."""
    from watchline.catalog.commands import command_rows
    from watchline.catalog.state import State
    from watchline.errors import CatalogError

    state = State()
    with pytest.raises(CatalogError, match="commands 'volumes', which this Watchline does not"):
        state.apply(command_rows(1, [{"op": "volumes"}]), 1)


# --- on Earth

CABS = (
    "CREATE STREAM cabs (id BIGINT, lon DOUBLE, lat DOUBLE, kind STRING, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY"
)


def cabs_inside(catalog: Catalog, places: list[tuple[float, float]]) -> list[list[str]]:
    table = pa.table(
        {
            "id": range(len(places)),
            "lon": [float(lon) for lon, _ in places],
            "lat": [float(lat) for _, lat in places],
            "kind": ["bus"] * len(places),
            "ts": pa.array(range(len(places)), pa.timestamp("us", tz="UTC")),
        }
    )
    changes = wl.Tracker(catalog, "cabs").process(table)
    held: list[list[str]] = [[] for _ in places]
    for query, place in zip(
        changes["query_id"].to_pylist(), changes["object_id"].to_pylist(), strict=True
    ):
        held[place].append(query)
    return [sorted(each) for each in held]


def test_regions_on_earth_are_the_queries_that_sql_would_make(catalog: Catalog) -> None:
    catalog.execute(CABS)
    shapes = [
        shapely.Point(181, 60),
        shapely.LineString([(179.9, 10), (180.1, 10)]),
        shapely.box(170, -5, 190, 5),
        shapely.box(-10, -5, 10, 5),
        shapely.Point(0, 90),
    ]
    radius = [1e5, np.nan, np.nan, np.nan, 1e5]
    where = "NOT INSIDE CIRCLE (0, 0, 1 KM)"
    within = [np.nan, 5e3, np.nan, np.nan, np.nan]
    catalog.register_regions("cabs", list("abcde"), shapes, where, within=within, radius=radius)
    body = " FROM cabs WHERE NOT INSIDE CIRCLE (0, 0, 1000 METERS) "
    assert [q.sql.partition(body)[2].removesuffix(" EMIT CHANGES") for q in catalog.queries()] == [
        "INSIDE CIRCLE (-179, 60, 100000 METERS)",
        "INSIDE CORRIDOR 'LINESTRING (179.9 10, 180.1 10)' WITHIN 5000 METERS",
        "INSIDE POLYGON 'MULTIPOLYGON (((170 -5, 170 5, 180 5, 180 -5, 170 -5)),"
        " ((-170 5, -170 -5, -180 -5, -180 5, -170 5)))'",
        "INSIDE POLYGON 'POLYGON ((10 -5, 10 5, -10 5, -10 -5, 10 -5))'",
        "INSIDE CIRCLE (0, 90, 100000 METERS)",
    ]
    for query in catalog.queries():
        again = sql.statement(query.sql, catalog.streams())
        assert isinstance(again, sql.CreateQuery)
        assert again.query == query
    if catalog.uri is not None:
        assert list(Catalog(catalog.uri).queries()) == list(catalog.queries())
    places = [(179.5, 60), (-178, 60), (-180, 10), (-179.84, 10), (175, 0), (-175, 0), (0, 0)]
    places += [(-189, 0), (0.1, 0.1), (77, 89.5), (540, 10)]
    expected = [["a"], ["a"], ["b"], [], ["c"], ["c"], [], ["c"], ["d"], ["e"], ["b"]]
    assert cabs_inside(catalog, places) == expected
    single = Catalog.of([CABS, *(query.sql for query in catalog.queries())])
    assert cabs_inside(single, places) == expected


@pytest.mark.parametrize(
    ("shape", "lengths", "words"),
    [
        (shapely.Point(37, -122), {"radius": 5}, "it has latitude -122, beyond 90: are longitude"),
        (shapely.box(37, -122, 38, -121), {}, "it has latitude -122, beyond 90: are longitude"),
        (shapely.LineString([(0, 0), (0, 91)]), {"within": 5}, "it has latitude 91, beyond 90"),
        (shapely.LineString([(720, 0), (721, 1)]), {"within": 5}, "between -540 and 540"),
        (shapely.Polygon([(-120, 80), (0, 80), (120, 80)]), {}, "it goes around a pole: write it"),
        (shapely.box(-178, 1, 177, 2), {}, "it has an edge from longitude 177 to -178, 355"),
        (BOWTIE, {}, "the polygon crosses or overlaps itself"),
        (shapely.Polygon([(179, 0), (182, 2), (182, 0), (179, 2)]), {}, "crosses or overlaps"),
    ],
)
def test_what_is_nowhere_on_earth(
    catalog: Catalog, shape: Any, lengths: dict[str, Any], words: str
) -> None:
    catalog.execute(CABS)
    given: dict[str, Any] = {name: [np.nan, value] for name, value in lengths.items()}
    with pytest.raises(InvalidRange, match=r"query 'b' \(geometry 1\): ") as caught:
        catalog.register_regions("cabs", ["a", "b"], [SQUARE, shape], **given)
    assert words in str(caught.value)
    assert len(catalog.queries()) == 0


def test_explain_says_that_lengths_are_metres(catalog: Catalog) -> None:
    catalog.execute(CABS)
    catalog.execute("CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (1, 2, 0.5 KM)")
    text = catalog.execute("EXPLAIN QUERY q")
    assert "  on Earth    'lon' and 'lat' are degrees, lengths are metres\n" in text
    assert "  where       INSIDE CIRCLE (1, 2, 500 METERS)\n" in text
    catalog.execute("CREATE QUERY moving AS SELECT * FROM cabs INSIDE ('M', 3, 1 KM, 1 MILE)")
    assert "  on Earth    " in catalog.explain("moving")
    catalog.execute("CREATE QUERY plain AS SELECT * FROM cabs WHERE kind = 'bus'")
    assert "on Earth" not in catalog.explain("plain")
