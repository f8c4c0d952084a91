"""`watchline query load` of tables: GeoParquet, plain Parquet, and what pyogrio reads."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from tests.cli.test_cli import Shell
from tests.cli.test_load import CARS, load, queries, refused, saved


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path)
    made.ok("stream", "add", CARS)
    return made


def parquet(shell: Shell, table: pa.Table, about: Any = None, name: str = "f.parquet") -> str:
    path = str(shell.folder / name)
    if about is not None:
        table = table.replace_schema_metadata({"geo": json.dumps(about)})
    pq.write_table(table, path)
    return path


def about(encoding: str = "WKB", **more: Any) -> dict[str, Any]:
    column = {"encoding": encoding, "geometry_types": [], **more}
    return {"version": "1.1.0", "primary_column": "where", "columns": {"where": column}}


def test_geoparquet(shell: Shell) -> None:
    shapes = [shapely.box(0, 0, 1, 1), shapely.Point(2, 3)]
    table = pa.table(
        {
            "name": ["a", "b"],
            "where": pa.array([shapely.to_wkb(s) for s in shapes], pa.binary()),
            "reach": [None, 0.5],
            "since": pa.array([0, 1], pa.timestamp("s")),
            "raw": pa.array([b"x", b"y"]),
            "share": [float("nan"), 1.5],
        }
    )
    path = parquet(shell, table, about())
    shell.ok("query", "load", path, "--stream", "cars", "--id", "name", "--radius", "reach")
    found = queries(shell)
    assert 'PROPERTIES \'{"name":"a","reach":null,"share":null,' in found["a"]
    assert "INSIDE CIRCLE (2, 3, 0.5)" in found["b"]
    assert '"since":"1970-01-01T00:00:01"' in found["b"]
    assert "raw" not in found["b"]


def test_parquet_without_metadata_names_its_column(shell: Shell) -> None:
    wkb = shapely.to_wkb(shapely.box(0, 0, 1, 1))
    path = parquet(shell, pa.table({"id": [1], "shape": [wkb]}))
    load_it = ("query", "load", path, "--stream", "cars", "--id", "id")
    assert "name its column of WKB with --geometry; it has id, shape" in shell.refused(*load_it)
    assert "has no column 'shap'; did you mean" in shell.refused(*load_it, "--geometry", "shap")
    shell.ok(*load_it, "--geometry", "shape")
    assert list(queries(shell)) == ["1"]


def test_geoparquet_in_the_encodings_of_geoarrow(shell: Shell) -> None:
    shapes = np.array([shapely.box(0, 0, 1, 1), shapely.box(2, 2, 3, 3)])
    _, points, offsets = shapely.to_ragged_array(shapes)
    column: pa.Array = pa.StructArray.from_arrays([points[:, 0], points[:, 1]], ["x", "y"])
    for ends in offsets:
        column = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), column)
    table = pa.table({"where": column, "name": ["a", "b"], "box": [{"x": 1}, {"x": 2}]})
    covering = {"bbox": {"xmin": ["box", "x"]}}
    path = parquet(shell, table, about("polygon", covering=covering))
    shell.ok("query", "load", path, "--stream", "cars", "--id", "name")
    assert "3 2, 3 3, 2 3, 2 2" in queries(shell)["b"]
    assert queries(shell)["b"].endswith("""PROPERTIES '{"name":"b"}'""")


def test_bad_parquet(shell: Shell) -> None:
    wkb = shapely.to_wkb(shapely.box(0, 0, 1, 1))
    table = pa.table({"where": pa.array([wkb, b"no", None]), "name": ["a", "b", "c"]})
    path = parquet(shell, table, about())
    message = shell.refused("query", "load", path, "--stream", "cars", "--id", "name")
    assert "feature 2 (id 'b'): its geometry is no WKB" in message
    assert "feature 3 (id 'c'): it has no geometry" in message
    path = parquet(shell, table, about(edges="spherical"))
    assert "edges that are spherical" in shell.refused("query", "load", path, "--stream", "cars")
    path = parquet(shell, table, {"primary_column": 3})
    assert "metadata cannot be read" in shell.refused("query", "load", path, "--stream", "cars")
    saved(shell, "no parquet", "g.parquet")
    path = str(shell.folder / "g.parquet")
    assert "cannot be read as Parquet" in shell.refused("query", "load", path, "--stream", "cars")


def test_other_formats_need_pyogrio(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyogrio", None)
    message = refused(shell, "", name="fences.gpkg")
    assert "reading fences.gpkg needs pyogrio: pip install 'watchline[files]'" in message


def test_other_formats_come_from_pyogrio(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pyogrio gives, in its own form: the package itself is an extra."""
    wkb = pa.array([shapely.to_wkb(shapely.box(0, 0, 1, 100))])
    table = pa.table({"name": ["a"], "geom": wkb})
    fake = types.ModuleType("pyogrio")
    layers = [["roads", "Polygon"], ["zones", "Polygon"]]
    asked = []

    def read_arrow(path: str, layer: str | None) -> Any:
        asked.append(layer)
        return {"crs": "EPSG:3857", "geometry_name": "geom"}, table

    fake.list_layers = lambda path: layers  # type: ignore[attr-defined]
    fake.raw = types.SimpleNamespace(read_arrow=read_arrow)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyogrio", fake)
    assert "several layers: name one with --layer: ['roads', 'zones']" in refused(
        shell, "", "--id", "name", name="f.gpkg"
    )
    assert "no layer 'zone'; did you mean" in refused(
        shell, "", "--id", "name", "--layer", "zone", name="f.gpkg"
    )
    load(shell, "", "--id", "name", "--layer", "zones", name="f.gpkg")
    assert asked == ["zones"]
    assert list(queries(shell)) == ["a"]


@pytest.mark.parametrize("ending", ["gpkg", "shp"])
def test_files_of_gdal(shell: Shell, ending: str) -> None:
    """Where the extra is installed: the files themselves."""
    pyogrio = pytest.importorskip("pyogrio")
    shapes = [shapely.box(0, 0, 1, 1), shapely.box(2, 2, 3, 3)]
    table = pa.table({"name": ["a", "b"], "geom": [shapely.to_wkb(s) for s in shapes]})
    path = str(shell.folder / f"fences.{ending}")
    pyogrio.raw.write_arrow(
        table, path, geometry_name="geom", geometry_type="Polygon", crs="EPSG:4326"
    )
    shell.ok("query", "load", path, "--stream", "cars", "--id", "name")
    assert queries(shell)["b"].endswith("""PROPERTIES '{"name":"b"}'""")
    assert "2 2" in queries(shell)["b"]
    broken = saved(shell, "no", f"broken.{ending}")
    assert "cannot be read" in shell.refused("query", "load", broken, "--stream", "cars")


def test_degrees_by_the_metadata_of_geoparquet(shell: Shell) -> None:
    wkb = shapely.to_wkb(shapely.box(1, 100, 2, 101))
    table = pa.table({"where": pa.array([wkb]), "name": ["a"]})
    load_it = ("--stream", "cars", "--id", "name")
    for crs in ({}, {"crs": {"type": "GeographicCRS"}}):
        path = parquet(shell, table, about(**crs))
        assert "--swap" in shell.refused("query", "load", path, *load_it)
    for number, crs in enumerate(({"crs": None}, {"crs": {"type": "ProjectedCRS"}})):
        path = parquet(shell, table, about(**crs))
        shell.ok("query", "load", path, *load_it, *["--replace"] * number)
