"""GeoParquet files, and with pyogrio all formats of GDAL: Shapefile, GeoPackage and more.

Both give an Arrow table with a column of geometries, and say in which coordinate system they are.
All other columns are properties.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from watchline.cli.features import DECLARED, PLANE, UNKNOWN, Features
from watchline.errors import InvalidQuery, InvalidRange
from watchline.index import shapes_of_arrow
from watchline.names import hint


def read_geoparquet(file: str, geometry: str | None = None) -> Features:
    """The features of a GeoParquet file, or of any Parquet file whose geometry column is named."""
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise InvalidQuery(f"{file} cannot be read as Parquet: {error}") from None
    about = _about(file, table.schema.metadata or {})
    column = geometry or about.get("primary_column")
    if column is None:
        raise InvalidQuery(
            f"{file} is Parquet without the metadata of GeoParquet: name its column of WKB with"
            f" --geometry; it has {', '.join(table.column_names)}"
        )
    if column not in table.column_names:
        raise InvalidQuery(f"{file} has no column {column!r}" + hint(column, table.column_names))
    described = about.get("columns", {}).get(column)
    surface = UNKNOWN if described is None else _surface(file, described)
    columns = about.get("columns", {})
    return _features(file, table, column, surface, [*columns, *_coverings(columns)])


def _about(file: str, metadata: dict[bytes, bytes]) -> dict[str, Any]:
    text = metadata.get(b"geo")
    if text is None:
        return {}
    try:
        about = json.loads(text)
        columns = about["columns"]
        if not isinstance(columns, dict) or not isinstance(about["primary_column"], str):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise InvalidQuery(f"{file}: its GeoParquet metadata cannot be read") from None
    return dict(about)


def _surface(file: str, column: dict[str, Any]) -> str:
    """Without `crs` GeoParquet is in degrees; null means that nobody knows."""
    if column.get("edges", "planar") != "planar":
        raise InvalidQuery(
            f"{file} has edges that are {column['edges']}: edges are straight in the coordinates"
            " here, so cut long ones into short ones and write the file with planar edges"
        )
    if "crs" not in column:
        return DECLARED
    crs = column["crs"]
    if not isinstance(crs, dict):
        return UNKNOWN
    kind = crs.get("type", "")
    if kind == "BoundCRS" and isinstance(crs.get("source_crs"), dict):
        kind = crs["source_crs"].get("type", "")
    return DECLARED if str(kind).startswith("Geographic") else PLANE


def _coverings(columns: dict[str, Any]) -> list[str]:
    """Columns that only have bounding boxes of geometries."""
    found = []
    for column in columns.values():
        bbox = column.get("covering", {}).get("bbox", {})
        found += [path[0] for path in bbox.values() if isinstance(path, list) and path]
    return found


def read_with_gdal(file: str, layer: str | None = None) -> Features:
    """The features of a file that pyogrio reads; of several layers, one must be named."""
    try:
        import pyogrio
    except ImportError:
        raise InvalidQuery(
            f"reading {file} needs pyogrio: pip install 'watchline[files]'; GeoJSON (.geojson,"
            " .json, .geojsonl, .geojsons, .ndjson) and GeoParquet (.parquet) are read without it"
        ) from None
    try:
        layers = [str(name) for name, _ in pyogrio.list_layers(file)]
        if layer is None and len(layers) > 1:
            raise InvalidQuery(f"{file} has several layers: name one with --layer: {layers}")
        if layer is not None and layer not in layers:
            raise InvalidQuery(f"{file} has no layer {layer!r}" + hint(layer, layers))
        about, table = pyogrio.raw.read_arrow(file, layer=layer)
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(error, InvalidQuery):
            raise
        raise InvalidQuery(f"{file} cannot be read: {error}") from None
    column = about.get("geometry_name") or "wkb_geometry"
    crs = str(about.get("crs") or "")
    surface = DECLARED if crs.upper() in ("EPSG:4326", "EPSG:4979", "OGC:CRS84") else PLANE
    surface = surface if crs else UNKNOWN
    return _features(file, table, column, surface, [column])


def _features(
    file: str, table: Any, column: str, surface: str, geometries: Sequence[str]
) -> Features:
    try:
        shapes = shapes_of_arrow(table[column])
    except InvalidRange as error:
        raise InvalidQuery(f"{file}, column {column!r}: {error}") from None
    problems = _from_wkb(shapes)
    left = [name for name in table.column_names if name not in {column, *geometries}]
    records = _records(table.select(left))
    return Features(file, shapes, records, [None] * len(shapes), surface, problems)


def _from_wkb(shapes: Any) -> dict[int, str]:
    """Make shapes of WKB, in place; gives the problems."""
    import shapely

    binary = np.array([isinstance(shape, bytes) for shape in shapes], dtype=np.bool_)
    problems = {
        int(i): "it has no geometry" if shapes[i] is None else "its geometry is no WKB"
        for i in np.flatnonzero(~binary & ~shapely.is_geometry(shapes))
    }
    made = shapely.from_wkb(shapes[binary], on_invalid="ignore")
    for place in np.flatnonzero(binary)[~shapely.is_geometry(made)].tolist():
        problems[place] = "its geometry is no WKB"
    shapes[binary] = made
    for place in problems:
        shapes[place] = None
    return problems


def _records(table: Any) -> list[dict[str, Any]]:
    """The other columns as properties: numbers, strings and truth values as they are, times as ISO
    text. NaN is no value, and bytes are no property."""
    kept = [field.name for field in table.schema if not _is_binary(field.type)]
    plain = all(_is_plain(table.schema.field(name).type) for name in kept)
    listed: list[dict[str, Any]] = table.select(kept).to_pylist()
    if plain:
        return listed
    return [{name: _json_value(value) for name, value in record.items()} for record in listed]


def _is_binary(kind: Any) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _is_plain(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    )


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, list):
        return [_json_value(each) for each in value]
    if isinstance(value, dict):
        return {name: _json_value(each) for name, each in value.items()}
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)
