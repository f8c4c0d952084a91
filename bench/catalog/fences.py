"""Regions from a file: how long it takes until they answer, and what one more costs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from click.testing import CliRunner

import watchline as wl
from bench.common.report import amount, say, spread, timed
from watchline.cli import cli
from watchline.kernels.arrays import Doubles

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)
CORNERS = 20
MORE = "CREATE QUERY more{} AS SELECT * FROM cars INSIDE POLYGON '{}'"


def outlines(count: int) -> Doubles:
    """Closed rings (count, CORNERS + 1, 2) around places in a square of 1,000 a side."""
    rng = np.random.default_rng(7)
    angles = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    radius = rng.uniform(0.5, 1.5, (count, CORNERS))
    around = np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=-1)
    rings = rng.uniform(0, 1_000, (count, 1, 2)) + around
    return np.concatenate([rings, rings[:, :1]], axis=1)


def write_geojson(path: Path, rings: Doubles) -> None:
    """A FeatureCollection with the properties `name` and `kind`."""
    features = [
        {
            "type": "Feature",
            "properties": {"name": f"fence{i}", "kind": "zone"},
            "geometry": {"type": "Polygon", "coordinates": [ring]},
        }
        for i, ring in enumerate(rings.tolist())
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def fences(folder: Path, quick: bool) -> list[tuple[str, str, str]]:
    """The rows of the table: load, read, build, one more, EXPLAIN."""
    n = 1_000 if quick else 100_000
    rings = outlines(n + 40)
    file, path = folder / "fences.geojson", str(folder / "fences0")
    write_geojson(file, rings[:n])
    say(f"{n:,} polygons of {CORNERS} corners")
    made = iter(range(3))

    def load() -> None:
        into = str(folder / f"fences{next(made)}")
        wl.Catalog(into).execute(CARS)
        words = ["--catalog", into, "query", "load", str(file), "--stream", "cars", "--id", "name"]
        done = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output

    loading = timed(load, 3)
    reading = timed(lambda: wl.Catalog(path).queries(), 3)
    catalog = wl.Catalog(path)
    assert len(catalog.queries()) == n
    building = timed(lambda: wl.Tracker(catalog, "cars"), 2)
    tracker = wl.Tracker(catalog, "cars")
    tracker.process(_rows(rings[:1_000].mean(axis=1)))
    numbers = iter(range(40))

    def one_more() -> None:
        number = next(numbers)
        corners = ", ".join(f"{x!r} {y!r}" for x, y in rings[n + number].tolist())
        catalog.execute(MORE.format(number, f"POLYGON (({corners}))"))
        tracker.advance_to(catalog.version)

    more = timed(one_more, 5 if quick else 30)
    explaining = timed(lambda: catalog.explain("fence17"))
    size = file.stat().st_size / 2**20
    return [
        (f"load {n:,} regions from GeoJSON", spread(loading), f"{size:.0f} MB of text"),
        (f"open and read {n:,} regions", spread(reading), ""),
        (f"a tracker over {n:,} regions", spread(building), "kernels are compiled"),
        (f"one more beside {n:,}, as SQL, until the tracker has it", spread(more), ""),
        (f"EXPLAIN of one of {n:,}", amount(explaining[0]), "the first"),
    ]


def _rows(points: Doubles) -> pa.Table:
    n = len(points)
    times = pa.array(np.arange(n), pa.timestamp("us", tz="UTC"))
    return pa.table({"id": np.arange(n), "x": points[:, 0], "y": points[:, 1], "ts": times})
