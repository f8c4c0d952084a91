"""`watchline query load`: regions of a file as queries, all of them or none, in one commit."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any

import click

from watchline.catalog import Catalog
from watchline.cli.features import (
    Features,
    check_surface,
    conditions_of,
    lengths_of,
    repair,
    swap,
    take_ids,
)
from watchline.cli.geojson import read_geojson
from watchline.cli.shared import Command, catalog_option, catalog_path, json_option
from watchline.errors import InvalidQuery
from watchline.model import Stream

# The types of shapely that a radius and a distance are for.
_POINTS, _LINES = (0,), (1, 5)
_GEOJSON = (".geojson", ".json", ".geojsonl", ".geojsons", ".geojsonseq", ".ndjson", ".jsonl")
_PARQUET = (".parquet", ".geoparquet", ".pq")


@dataclass(frozen=True)
class Loading:
    """The options of `watchline query load`."""

    file: str
    stream: str
    id: str | None
    where: str | None
    radius: str | None
    within: str | None
    emit: str
    geometry: str | None
    layer: str | None
    replace: bool
    dry_run: bool
    repair: bool
    planar: bool
    swap: bool


@click.command(
    "load",
    cls=Command,
    examples="""
watchline --catalog demo query load fences.geojson --stream cars --id name
watchline --catalog demo query load schools.parquet --stream cars --id id --radius 0.002
    --where "kind = '{kind}' AND speed > {limit}"
watchline --catalog demo query load fences.geojson --stream cars --id name --repair --dry-run
""",
)
@click.argument("file", metavar="FILE")
@click.option("--stream", required=True, metavar="NAME", help="The stream that the queries read.")
@click.option("--id", metavar="PROPERTY", help="The property with the ids; else the features' own.")
@click.option(
    "--where",
    metavar="CONDITION",
    help="A condition in SQL. {name} in it is the property of the feature, as a constant.",
)
@click.option(
    "--radius", metavar="LENGTH", help="Of points: a number, or a property; metres on Earth."
)
@click.option("--within", metavar="LENGTH", help="How far from lines: as for --radius.")
@click.option(
    "--emit", type=click.Choice(["changes", "matches"]), default="changes", show_default=True
)
@click.option("--geometry", metavar="COLUMN", help="The geometries of a Parquet file.")
@click.option("--layer", metavar="NAME", help="The layer of a file that has several.")
@click.option("--replace", is_flag=True, help="Replace queries whose ids are known.")
@click.option("--dry-run", is_flag=True, help="Check everything, and register nothing.")
@click.option("--repair", is_flag=True, help="Mend invalid polygons, and say which.")
@click.option("--planar", is_flag=True, help="The coordinates are of a plane, not degrees.")
@click.option("--swap", is_flag=True, help="The file has latitude before longitude.")
@json_option
@catalog_option
def query_load(as_json: bool, catalog: str | None, **options: Any) -> None:
    """Register the polygons, points or lines of a file as queries: all of them or none.

    Reads GeoJSON (a FeatureCollection, or a Feature on each line; - for standard input),
    GeoParquet, and with pyogrio Shapefile, GeoPackage and more. Properties are kept with the
    queries.
    """
    loading = Loading(**options)
    opened = Catalog(catalog_path(catalog), create=False)
    stream = opened.stream(loading.stream)  # before a large file is read
    features = _read(loading)
    if not len(features):
        raise InvalidQuery(f"{loading.file} has no features")
    if loading.swap:
        swap(features)
    take_ids(features, loading.id)
    record = _register(opened, loading, features, stream)
    click.echo(json.dumps(record, ensure_ascii=False) if as_json else _outcome(record, features))


def _read(loading: Loading) -> Features:
    file = loading.file
    ending = os.path.splitext(file)[1].lower()
    if loading.geometry is not None and ending not in _PARQUET:
        raise click.UsageError("--geometry is for Parquet files")
    if loading.layer is not None and (file == "-" or ending in (*_GEOJSON, *_PARQUET)):
        raise click.UsageError("--layer is for files that have layers, such as a GeoPackage")
    if file != "-" and not os.path.exists(file):
        raise InvalidQuery(f"there is no file {file}")
    if file == "-" or ending in _GEOJSON:
        return read_geojson("standard input" if file == "-" else file, _text(file))
    # What reads columns loads the index: only for those who need it.
    from watchline.cli.geotables import read_geoparquet, read_with_gdal

    if ending in _PARQUET:
        return read_geoparquet(file, loading.geometry)
    return read_with_gdal(file, loading.layer)


def _text(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.buffer.read().decode()
        with open(file, "rb") as opened:
            return opened.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidQuery(f"{file} is not UTF-8 text: {error.reason}") from None
    except OSError as error:
        raise InvalidQuery(f"{file} cannot be read: {error}") from None


def _register(
    opened: Catalog, loading: Loading, features: Features, stream: Stream
) -> dict[str, Any]:
    from watchline.index import read_regions

    on_earth = stream.geography
    check_surface(features, loading.planar, stream)
    radius = lengths_of(features, "--radius", loading.radius, _POINTS)
    within = lengths_of(features, "--within", loading.within, _LINES)
    conditions = conditions_of(features, loading.where)
    mended = repair(features, _problems_of) if loading.repair else []
    for place in features.open_rings:
        features.problems.setdefault(place, "one of its rings does not end where it starts")
    read = read_regions(features.shapes, radius, within, geography=on_earth)
    problems = {i: _with_remedy(problem, loading) for i, problem in read.problems.items()}
    if found := problems | features.problems:
        features.refuse(found)
    known = _known(opened, features) if loading.replace else 0
    version = opened.register_regions(
        loading.stream,
        features.ids,
        read,
        conditions,
        loading.emit,
        features.properties,
        replace=loading.replace,
        dry_run=loading.dry_run,
    )
    return {
        "version": version,
        "stream": loading.stream,
        "regions": len(features),
        "replaced": known,
        "repaired": [{"feature": i + 1, "id": features.ids[i]} for i in mended],
        "dry_run": loading.dry_run,
    }


def _problems_of(shapes: Any) -> dict[int, str]:
    from watchline.index import read_regions

    return dict(read_regions(shapes).problems)


def _with_remedy(problem: str, loading: Loading) -> str:
    """A problem of the index in the words of the command line."""
    options = {"radius=": "--radius", "within=": "--within"}
    for word, option in options.items():
        problem = problem.replace(word, option)
    sentence, mend, how = problem.partition(": mend it (")
    if mend and loading.repair:
        return f"{sentence}, and cannot be repaired: leave it out, or draw it anew"
    return f"{sentence}: load it with --repair, or mend it ({how}" if mend else problem


def _known(opened: Catalog, features: Features) -> int:
    """How many of the ids are registered."""
    return len(set(features.ids).intersection(opened.queries().ids()))


def _outcome(record: dict[str, Any], features: Features) -> str:
    count = record["regions"]
    regions = "1 region" if count == 1 else f"{count:,} regions"
    done = "would register" if record["dry_run"] else "registered"
    lines = [f"{done} {regions} of {features.file} (version {record['version']})"]
    if record["replaced"]:
        lines.append(f"  {record['replaced']:,} of them replace queries of the same id")
    repaired = [entry["feature"] - 1 for entry in record["repaired"]]
    if repaired:
        lines.append(f"  {len(repaired):,} were repaired: {features.names(repaired)}")
    return "\n".join(lines)
