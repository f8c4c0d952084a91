"""`watchline query load`: what files give, and what is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import Shell
from watchline.catalog import Catalog, RegionBlock

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, kind STRING, speed DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
BOWTIE = {"type": "Polygon", "coordinates": [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]]}
POINT = {"type": "Point", "coordinates": [3, 4, 100]}
LINE = {"type": "LineString", "coordinates": [[0, 0], [5, 5]]}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path)
    made.ok("stream", "add", CARS)
    return made


def feature(geometry: Any, number: Any = None, **properties: Any) -> dict[str, Any]:
    made = {"type": "Feature", "geometry": geometry, "properties": properties}
    return made if number is None else {**made, "id": number}


def collection(*features: Any, **more: Any) -> str:
    return json.dumps({"type": "FeatureCollection", "features": list(features), **more})


def saved(shell: Shell, text: str, name: str = "fences.geojson") -> str:
    path = shell.folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def load(shell: Shell, text: str, *words: str, name: str = "fences.geojson") -> str:
    return shell.ok("query", "load", saved(shell, text, name), "--stream", "cars", *words)


def refused(shell: Shell, text: str, *words: str, name: str = "fences.geojson") -> str:
    """The message; nothing is registered."""
    before = Catalog(shell.catalog).version
    path = saved(shell, text, name)
    message = shell.refused("query", "load", path, "--stream", "cars", *words)
    assert Catalog(shell.catalog).version == before
    return message.replace(path, name)


def queries(shell: Shell) -> dict[str, str]:
    return {q.id: q.sql.partition(" FROM ")[2] for q in Catalog(shell.catalog).queries()}


# --- what is read


def test_a_collection_is_one_commit_and_one_block(shell: Shell) -> None:
    text = collection(feature(SQUARE, name="a", level=3), feature(SQUARE, name="b"))
    path = str(shell.folder / "fences.geojson")
    assert load(shell, text, "--id", "name") == f"registered 2 regions of {path} (version 2)\n"
    catalog = Catalog(shell.catalog)
    [block] = catalog.queries().blocks
    assert isinstance(block, RegionBlock)
    assert queries(shell) == {
        "a": "cars INSIDE POLYGON 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))' EMIT CHANGES"
        """ PROPERTIES '{"level":3,"name":"a"}'""",
        "b": "cars INSIDE POLYGON 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))' EMIT CHANGES"
        """ PROPERTIES '{"name":"b"}'""",
    }


def test_all_types_of_geometries(shell: Shell) -> None:
    square = SQUARE["coordinates"]
    hole = [[0.25, 0.25], [0.5, 0.25], [0.5, 0.5], [0.25, 0.25]]
    parts = [[*square, hole], [[[x + 5, y] for x, y in square[0]]]]  # type: ignore[union-attr]
    features = [
        feature(SQUARE, 1),
        feature({"type": "MultiPolygon", "coordinates": parts}, "m"),
        feature(POINT, "p"),
        feature({"type": "MultiPolygon", "coordinates": [square]}, "one"),
    ]
    load(shell, collection(*features), "--radius", "2.5", "--emit", "matches")
    found = queries(shell)
    assert list(found) == ["1", "m", "p", "one"]
    assert found["p"] == "cars INSIDE CIRCLE (3, 4, 2.5) EMIT MATCHES"
    assert found["one"] == found["1"]
    assert found["m"] == (
        "cars INSIDE POLYGON 'MULTIPOLYGON (((0 0, 1 0, 1 1, 0 1, 0 0), (0.25 0.25, 0.5 0.25,"
        " 0.5 0.5, 0.25 0.25)), ((5 0, 6 0, 6 1, 5 1, 5 0)))' EMIT MATCHES"
    )


@pytest.mark.parametrize(
    ("ending", "joined"),
    [("geojsonl", "\n"), ("json", "\r\n"), ("geojsons", "\n\x1e"), ("ndjson", "\n\n")],
)
def test_sequences(shell: Shell, ending: str, joined: str) -> None:
    lines = [json.dumps(feature(SQUARE, name=name)) for name in "abc"]
    text = ("\x1e" if "\x1e" in joined else "") + joined.join(lines) + "\n"
    load(shell, text, "--id", "name", name=f"fences.{ending}")
    assert list(queries(shell)) == ["a", "b", "c"]


def test_a_sequence_of_one_and_a_pretty_sequence(shell: Shell) -> None:
    load(shell, json.dumps(feature(SQUARE, name="a")) + "\n", "--id", "name")
    pretty = "".join(f"\x1e{json.dumps(feature(SQUARE, name=n), indent=1)}\n" for n in "bc")
    load(shell, "\ufeff" + pretty, "--id", "name")
    assert list(queries(shell)) == ["a", "b", "c"]


def test_standard_input(shell: Shell) -> None:
    text = collection(feature(SQUARE, 7))
    done = shell.ok("query", "load", "-", "--stream", "cars", stdin=text)
    assert done == "registered 1 region of standard input (version 2)\n"


def test_coordinates_are_the_doubles_of_the_text(shell: Shell) -> None:
    corner = "0.1000000000000000055511151231257827"
    text = collection(feature(SQUARE, "a")).replace("[1, 1]", f"[{corner}, 1e-300]")
    load(shell, text)
    assert "1 0, 0.1 1e-300, 0 1" in queries(shell)["a"]


# --- conditions and lengths


def test_where_is_a_template_over_properties(shell: Shell) -> None:
    features = [
        feature(SQUARE, name="a", kind="it's", limit=30, day=True),
        feature(SQUARE, name="b", kind="x' OR 'a' = 'a", limit=2.5, day=False),
    ]
    where = "kind = '{kind}' AND speed > {limit} AND (kind <> {name} OR 'a-{limit}' = kind)"
    load(shell, collection(*features), "--id", "name", "--where", where)
    found = queries(shell)
    assert "kind = 'it''s' AND speed > 30" in found["a"]
    assert "kind = 'x'' OR ''a'' = ''a' AND speed > 2.5" in found["b"]
    assert len(Catalog(shell.catalog).queries().blocks) == 1


def test_where_without_slots_is_shared(shell: Shell) -> None:
    load(shell, collection(*(feature(SQUARE, i) for i in range(3))), "--where", "speed > 3")
    [block] = Catalog(shell.catalog).queries().blocks
    assert isinstance(block, RegionBlock)
    assert len(block.conditions) == 1


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("kind = '{kin}'", ["feature 1 (id 'a'): it has no property 'kin'", "2 of its features"]),
        ("speed > {limit}", ["feature 2 (id 'b'): it has no property 'limit'", "1 of its"]),
        ("speed > {many}", ["feature 1 (id 'a'): its property 'many'", "no string, number"]),
        ("speed > {}", ["--where has a brace without the name of a property"]),
        ("speed > {limit", ["--where has a brace without the name of a property"]),
        ("speed > 3 EMIT MATCHES", ["found 'EMIT'"]),
        ("sped > 3", ["no attribute 'sped'; did you mean 'speed'?"]),
        ("speed > {name}", ["query 'a' (number 0), condition \"speed > 'a'\""]),
    ],
)
def test_conditions_that_are_refused(shell: Shell, where: str, words: list[str]) -> None:
    first, second = feature(SQUARE, name="a", limit=3, many=[1]), feature(SQUARE, name="b")
    message = refused(shell, collection(first, second), "--id", "name", "--where", where)
    for each in words:
        assert each in message


def test_a_radius_by_feature(shell: Shell) -> None:
    features = [feature(POINT, "a", r=2), feature(SQUARE, "b"), feature(POINT, "c", r=0.5)]
    load(shell, collection(*features), "--radius", "r")
    assert "CIRCLE (3, 4, 2)" in queries(shell)["a"]
    assert "CIRCLE (3, 4, 0.5)" in queries(shell)["c"]
    message = refused(shell, collection(*features, feature(POINT, "d"), feature(POINT, "e", r="x"),
                                        feature(POINT, "f", r=-1)), "--radius", "r")  # fmt: skip
    assert "feature 4 (id 'd'): its property 'r', for --radius, is missing" in message
    assert "feature 5 (id 'e'): its property 'r', for --radius, is 'x', no number" in message
    assert "feature 6 (id 'f'): its radius must be greater than zero and finite" in message
    message = refused(shell, collection(*features), "--radius", "rr")
    assert "no feature of fences.geojson has the property 'rr' of --radius" in message
    message = refused(shell, collection(feature(SQUARE, "z")), "--radius", "3")
    assert "--radius is for points, and fences.geojson has none: leave it out" in message


def test_points_and_lines_need_a_distance(shell: Shell) -> None:
    message = refused(shell, collection(feature(POINT, "a"), feature(SQUARE, "b"),
                                        feature(LINE, "c")))  # fmt: skip
    assert "2 of its features are refused, of 3" in message
    assert "feature 1 (id 'a'): a point needs --radius" in message
    assert "feature 3 (id 'c'): a line needs --within" in message
    several = {"type": "MultiLineString", "coordinates": [[[0, 0], [1, 1]], [[2, 2], [3, 3]]]}
    load(shell, collection(feature(LINE, "a", d=2), feature(several, "b", d=1)), "--within", "d")
    assert queries(shell)["a"].startswith("cars INSIDE CORRIDOR 'LINESTRING (0 0, 5 5)' WITHIN 2")
    assert "((0 0, 1 1), (2 2, 3 3))' WITHIN 1" in queries(shell)["b"]


# --- what is refused


@pytest.mark.parametrize(
    ("geometry", "words"),
    [
        (None, "it has no geometry"),
        (BOWTIE, "the polygon crosses or overlaps itself near (1, 1): load it with --repair"),
        ({"type": "Polygon", "coordinates": []}, "it is empty"),
        ({"type": "Polygon", "coordinates": [[]]}, "fewer than four"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 0]]]}, "fewer than four"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [2, 2]]]}, "not end where"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [2, 0], [0, 0]]]}, "no area"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1], [2, 0], [0, 0]]]}, "not those of a Po"),
        ({"type": "Polygon", "coordinates": [[[0, 0], ["1", 1], [2, 0], [0, 0]]]}, "not those of"),
        ({"type": "Polygon", "coordinates": [[0, 0], [1, 1], [2, 0], [0, 0]]}, "not those of a"),
        ({"type": "Polygon"}, "not those of a Polygon"),
        ({"type": "Polygon", "coordinates": {"a": 1}}, "not those of a Polygon"),
        ({"type": "Point", "coordinates": []}, "not those of a Point"),
        ({"type": "Point", "coordinates": [True, 1]}, "not those of a Point"),
        ({"type": "MultiPoint", "coordinates": [[1, 2]]}, "found a MultiPoint"),
        ({"type": "GeometryCollection", "geometries": []}, "found a GeometryCollection"),
        ({"type": "Circle"}, "found a Circle"),
        ({"type": 3}, "found an object"),
        ([1, 2], "found a list"),
        ("x", "found a string"),
    ],
)
def test_one_bad_feature_names_its_number_and_id(shell: Shell, geometry: Any, words: str) -> None:
    text = collection(feature(SQUARE, "a"), feature(geometry, "b"), feature(SQUARE, "c"))
    message = refused(shell, text)
    assert "fences.geojson is not loaded: 1 of its features is refused, of 3" in message
    assert "  feature 2 (id 'b'): " in message
    assert words in message


def test_numbers_beyond_a_double_are_not_finite(shell: Shell) -> None:
    text = collection(feature(SQUARE, "a"), feature(SQUARE, "b")).replace("[1, 1]", "[1, 1e999]", 1)
    assert "feature 1 (id 'a'): its coordinates must be finite" in refused(shell, text)
    assert "must be finite" in refused(shell, text, "--repair")


def test_many_bad_features_are_counted(shell: Shell) -> None:
    features = [feature(BOWTIE if i % 2 else SQUARE, i) for i in range(50)]
    message = refused(shell, collection(*features))
    assert "25 of its features are refused, of 50" in message
    assert message.count("  feature ") == 10
    assert "  … and 15 more" in message


def test_ids(shell: Shell) -> None:
    bare = collection(feature(SQUARE, name="a", zone=1), feature(SQUARE, name="b"))
    message = refused(shell, bare)
    assert "fences.geojson has no ids: name the property that has them with --id" in message
    assert "the properties are name, zone" in message
    assert "no feature of fences.geojson has the property 'nam'" in refused(
        shell, bare, "--id", "nam"
    )
    assert "feature 2: it has no property 'zone'" in refused(shell, bare, "--id", "zone")
    twice = collection(feature(SQUARE, "x"), feature(SQUARE, "y"), feature(SQUARE, "x"))
    assert "feature 3 (id 'x'): feature 1 has the same id" in refused(shell, twice)
    mixed = collection(feature(SQUARE, 1), feature(SQUARE, "1"))
    assert "feature 2 (id '1'): feature 1 has the same id" in refused(shell, mixed)
    odd = collection(*(feature(SQUARE, number) for number in (1.5, True, None, "")))
    message = refused(shell, odd)
    assert "feature 1: an id is a string or a whole number, not 1.5" in message
    assert "feature 2: an id is a string or a whole number, not True" in message
    assert "feature 3: it has no id" in message
    assert "feature 4: it has no id" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "fences.geojson is empty"),
        (" \n", "fences.geojson is empty"),
        ("{", "fences.geojson is no JSON"),
        ("no", "fences.geojson is no JSON"),
        ('{"type": "Topology"}', "expected a FeatureCollection, or a Feature on each line, found"),
        ("[1]", "found a list"),
        ("3", "found a number"),
        ('{"type": "FeatureCollection"}', "has no list of features"),
        (collection(), "fences.geojson has no features"),
        (collection(3), "feature 1: expected a Feature, found a number"),
        (collection(SQUARE), "feature 1: expected a Feature, found a Polygon"),
        (collection(feature(SQUARE, 1), {**feature(SQUARE, 2), "properties": [1]}), "no object"),
        (json.dumps(feature(SQUARE, 1)) + "\n{\n", "feature 2 is no JSON"),
        ('{"type": "FeatureCollection", "features": [NaN]}', "has NaN, which JSON does not know"),
        ("[" * 100_000, "nests too deeply"),
    ],
)
def test_files_that_are_no_features(shell: Shell, text: str, words: str) -> None:
    assert words in refused(shell, text)


def test_wrong_uses(shell: Shell) -> None:
    text = collection(feature(SQUARE, "a"))
    load_it = ("query", "load", saved(shell, text), "--stream")
    assert "there is no stream 'car'; did you mean 'cars'?" in shell.refused(*load_it, "car")
    assert "there is no file" in shell.refused("query", "load", "no.json", "--stream", "cars")
    assert "--geometry is for Parquet" in shell.refused(*load_it, "cars", "--geometry", "x")
    assert "--layer is for files" in shell.refused(*load_it, "cars", "--layer", "x")
    assert "is not UTF-8" in shell.refused("query", "load", str(latin(shell)), "--stream", "cars")
    shell.ok("stream", "add", "CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts")
    assert "was declared without POINT" in shell.refused(*load_it, "t")


def latin(shell: Shell) -> Path:
    path = shell.folder / "latin.json"
    path.write_bytes(b'{"type": "Feature\xe9"}')
    return path


# --- longitude and latitude


def ring(x: float, y: float) -> dict[str, Any]:
    return {
        "type": "Polygon",
        "coordinates": [[[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1], [x, y]]],
    }


def test_latitude_before_longitude_is_refused_where_it_can_be_told(shell: Shell) -> None:
    swapped = collection(feature(ring(48, 9), "a"), feature(ring(1, 103), "b"))
    message = refused(shell, swapped)
    assert "feature 2 (id 'b') of fences.geojson has the latitude 104" in message
    assert "load it with --swap, or with --planar" in message
    load(shell, swapped, "--swap")
    assert "POLYGON ((103 1, 103 2, 104 2, 104 1, 103 1))" in queries(shell)["b"]
    load(shell, swapped, "--planar", "--replace")
    assert "POLYGON ((1 103, 2 103" in queries(shell)["b"]


def test_a_plane_is_taken_as_it_is(shell: Shell) -> None:
    """No order of degrees fits these, so they are none; and `crs` may say so."""
    load(shell, collection(feature(ring(5000, 7000), "a")))
    projected = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}
    load(shell, collection(feature(ring(1, 103), "b"), crs=projected))
    load(shell, collection(feature(ring(1, 103), "c"), crs=None))
    assert len(queries(shell)) == 3


def test_degrees_that_are_none_are_refused_where_the_file_says_degrees(shell: Shell) -> None:
    degrees = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    message = refused(shell, collection(feature(ring(500, 100), "b"), crs=degrees))
    assert "has the latitude 101, and the file says that it is in degrees" in message


# --- on Earth

CABS = (
    "CREATE STREAM cabs (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY"
)


@pytest.fixture
def earth(tmp_path: Path) -> Shell:
    """A shell whose stream `cars` is on Earth."""
    made = Shell(tmp_path)
    made.ok("stream", "add", CABS.replace("cabs", "cars"))
    return made


def test_a_file_over_the_antimeridian(earth: Shell) -> None:
    far = {"type": "Point", "coordinates": [190, 10]}
    line = {"type": "LineString", "coordinates": [[179, 0], [181, 0]]}
    text = collection(feature(ring(179.5, -17), "fiji"), feature(far, "a"), feature(line, "b"))
    load(earth, text, "--radius", "500", "--within", "20")
    assert queries(earth) == {
        "fiji": "cars INSIDE POLYGON 'MULTIPOLYGON (((179.5 -17, 179.5 -16, 180 -16, 180 -17,"
        " 179.5 -17)), ((-179.5 -16, -179.5 -17, -180 -17, -180 -16, -179.5 -16)))' EMIT CHANGES",
        "a": "cars INSIDE CIRCLE (-170, 10, 500 METERS) EMIT CHANGES",
        "b": "cars INSIDE CORRIDOR 'LINESTRING (179 0, 181 0)' WITHIN 20 METERS EMIT CHANGES",
    }


def test_swapped_coordinates_are_refused_on_earth(earth: Shell) -> None:
    swapped = collection(feature(ring(37, -123), "a"), feature(ring(-17, 182), "b"), crs=None)
    message = refused(earth, swapped)
    assert "feature 1 (id 'a') of fences.geojson has the latitude -123" in message
    assert message.rstrip().endswith("longitude comes first; load it with --swap")
    load(earth, swapped, "--swap")
    assert "POLYGON ((-178 -16, -177 -16, -177 -17, -178 -17, -178 -16))" in queries(earth)["b"]


def test_what_is_not_in_degrees_is_refused_on_earth(earth: Shell) -> None:
    fine = feature(ring(1, 2), "a")
    projected = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}
    message = refused(earth, collection(fine, crs=projected))
    assert "says that its coordinates are no longitudes and latitudes" in message
    assert "convert the file first" in message
    message = refused(earth, collection(fine), "--planar")
    assert "--planar is for coordinates of a plane, and the point of stream 'cars' is on" in message
    beyond = collection(fine, feature(ring(5000, 7000), "b"), feature(ring(-178, 2), "c"))
    message = refused(earth, beyond)
    assert "  feature 2 (id 'b'): it has latitude 7000, beyond 90" in message
    around = {"type": "Polygon", "coordinates": [[[-120, 80], [0, 80], [120, 80], [-120, 80]]]}
    message = refused(earth, collection(fine, feature(around, "b")))
    assert "  feature 2 (id 'b'): it goes around a pole: write it as RFC 7946 asks" in message


def test_streams_on_earth_are_listed_as_such(earth: Shell) -> None:
    assert "lon, lat AS GEOGRAPHY" in earth.ok("stream", "list")
    [record] = json.loads(earth.ok("stream", "list", "--json"))
    assert record["geography"] is True
    assert record["sql"] == CABS.replace("cabs", "cars")


# --- repair, replace, dry run


def test_repair_mends_and_tells(shell: Shell) -> None:
    unclosed = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1]]]}
    touching = [[0, 0], [4, 0], [4, 4], [2, 2], [3, 1], [1, 1], [2, 2], [0, 4], [0, 0]]
    features = [
        feature(SQUARE, "a"),
        feature(BOWTIE, "b"),
        feature(unclosed, "c"),
        feature({"type": "Polygon", "coordinates": [touching]}, "d"),
    ]
    text = collection(*features)
    assert "feature 3 (id 'c')" in refused(shell, text)
    done = load(shell, text, "--repair")
    assert done.splitlines()[1] == "  2 were repaired: feature 2 (id 'b'), feature 3 (id 'c')"
    found = queries(shell)
    assert found["c"] == found["a"]
    assert "MULTIPOLYGON" in found["b"]
    assert "0 0, 4 0, 4 4, 2 2, 3 1, 1 1, 2 2, 0 4, 0 0" in found["d"]
    record = json.loads(load(shell, text, "--repair", "--replace", "--json"))
    assert record == {
        "version": 3,
        "stream": "cars",
        "regions": 4,
        "replaced": 4,
        "repaired": [{"feature": 2, "id": "b"}, {"feature": 3, "id": "c"}],
        "dry_run": False,
    }


def test_what_cannot_be_repaired_is_refused(shell: Shell) -> None:
    line = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [2, 0], [0, 0]]]}
    message = refused(shell, collection(feature(BOWTIE, "a"), feature(line, "b")), "--repair")
    assert "1 of its features is refused, of 2" in message
    assert "feature 2 (id 'b'): it has no area" in message
    slanted = {"type": "Polygon", "coordinates": [[[0, 0], [1, 2], [1, 2], [0, 0]]]}
    message = refused(shell, collection(feature(slanted, "c")))
    assert "a ring of the polygon has no area near (0, 0): load it with --repair" in message
    message = refused(shell, collection(feature(slanted, "c")), "--repair")
    assert "has no area near (0, 0), and cannot be repaired: leave it out" in message


def test_known_ids_are_refused_or_replaced(shell: Shell) -> None:
    load(shell, collection(feature(SQUARE, "a"), feature(SQUARE, "b")))
    text = collection(feature(ring(2, 2), "b"), feature(SQUARE, "c"))
    assert "query 'b' is registered already" in refused(shell, text)
    done = load(shell, text, "--replace")
    assert "  1 of them replace" in done
    assert sorted(queries(shell)) == ["a", "b", "c"]
    assert "2 2, 3 2" in queries(shell)["b"]


def test_a_dry_run_checks_everything_and_leaves_nothing(shell: Shell) -> None:
    good, bad = collection(feature(SQUARE, "a")), collection(feature(BOWTIE, "a"))
    before = Catalog(shell.catalog).version
    assert load(shell, good, "--dry-run").startswith("would register 1 region of ")
    assert "crosses" in refused(shell, bad, "--dry-run")
    assert "no attribute 'sped'" in refused(shell, good, "--dry-run", "--where", "sped > 1")
    assert Catalog(shell.catalog).version == before
    load(shell, good)
    assert "is registered already" in refused(shell, good, "--dry-run")
    assert "would register" in load(shell, good, "--dry-run", "--replace")


# --- listing


def test_properties_are_listed_and_chosen_by(shell: Shell) -> None:
    load(shell, collection(feature(SQUARE, "a", kind="school"), feature(SQUARE, "b", kind="park")))
    shell.ok("query", "add", "c", "SELECT * FROM cars WHERE speed > 3")
    listed = shell.ok("query", "list").splitlines()
    assert listed[0] == "id\tstream\temits\tquery\tproperties"
    assert listed[1].startswith("c\tcars\tMATCHES\t")
    assert listed[2].endswith('\t{"kind":"school"}')
    chosen = json.loads(shell.ok("query", "list", "--json", "--where", "properties.kind = 'park'"))
    assert [(q["id"], q["properties"]) for q in chosen] == [("b", {"kind": "park"})]
    none = shell.ok("query", "list", "--where", "id = 'c'").splitlines()
    assert none[0] == "id\tstream\temits\tquery"
    message = shell.refused("query", "list", "--where", "kind = 'park'")
    assert "a query has id, stream, emit or properties, and no 'kind'" in message


def test_a_hundred_thousand_features(shell: Shell) -> None:
    count = 100_000
    lines = (
        f'{{"type":"Feature","id":"f{i}","properties":{{"n":{i}}},"geometry":{{"type":"Polygon",'
        f'"coordinates":[[[{i % 300},{i // 300}],[{i % 300}.5,{i // 300}],[{i % 300},{i // 300}.5],'
        f"[{i % 300},{i // 300}]]]}}}}"
        for i in range(count)
    )
    load(shell, "\n".join(lines), name="many.geojsonl")
    found = Catalog(shell.catalog).queries()
    assert len(found) == count
    assert found["f99999"].properties == '{"n":99999}'
    [bad] = [json.dumps(feature(BOWTIE, "last"))]
    text = "\n".join([*(json.dumps(feature(SQUARE, f"g{i}")) for i in range(2_000)), bad])
    assert "feature 2,001 (id 'last')" in refused(shell, text)
