"""Regions and points of the benchmark: made ones, and real maps where these are at hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from watchline.kernels.arrays import Doubles

# Maps that are not ours to give away: see CONTRIBUTING.md.
DATA = next(
    (up / "shared" / "data" for up in Path(__file__).parents if (up / "shared" / "data").exists()),
    Path("shared/data"),
)


@dataclass
class Setting:
    """Regions, and the points that are asked for."""

    name: str
    # Polygons; or the centres of circles, which then have radii.
    shapes: Any
    points: Doubles
    radius: Doubles | None = None
    # How far a small step goes.
    step: float = 1e-4

    @property
    def raw(self) -> int:
        """The bytes of the vertices; of a circle, its three numbers."""
        if self.radius is not None:
            return 24 * len(self.shapes)
        return 16 * int(shapely.get_num_coordinates(self.shapes).sum())


def stars(count: int, vertices: tuple[int, int], size: float, places: Doubles, seed: int) -> Any:
    """Star-shaped polygons, each with its own number of vertices."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(*vertices, count)
    starts = np.concatenate([[0], np.cumsum(corners)])
    owner = np.repeat(np.arange(count), corners)
    # Even turns, each moved by less than half a step: no ring crosses itself.
    turn = np.arange(starts[-1]) - starts[:-1][owner] + rng.uniform(-0.4, 0.4, starts[-1])
    turn *= 2 * np.pi / corners[owner]
    away = size * rng.uniform(0.6, 1.0, starts[-1])
    x = places[owner, 0] + away * np.cos(turn)
    y = places[owner, 1] + away * np.sin(turn)
    return shapely.polygons(shapely.linearrings(x, y, indices=owner))


def even(count: int, vertices: tuple[int, int], points: int) -> Setting:
    rng = np.random.default_rng(1)
    shapes = stars(count, vertices, 0.7 / np.sqrt(count), rng.random((count, 2)), 2)
    name = f"{count:,} polygons of {vertices[0]} to {vertices[1]} vertices"
    return Setting(name, shapes, rng.random((points, 2)), step=0.05 / np.sqrt(count))


def skewed(count: int, points: int) -> Setting:
    """Sizes and densities of towns: a thousandth of the plane has most of the regions."""
    rng = np.random.default_rng(3)
    town = rng.random((30, 2))
    spread = 10.0 ** rng.uniform(-4, -1, 30)
    which = rng.integers(0, 30, count)
    places = town[which] + rng.normal(0, 1, (count, 2)) * spread[which, None]
    size = spread[which] / np.sqrt(count / 30) * 2
    rings = stars(count, (12, 100), 1.0, np.zeros((count, 2)), 4)
    coordinates, owner = shapely.get_coordinates(rings, return_index=True)
    shapes = shapely.set_coordinates(rings, places[owner] + coordinates * size[owner, None])
    asked = rng.integers(0, 30, points)
    at = town[asked] + rng.normal(0, 1, (points, 2)) * spread[asked, None]
    return Setting(f"{count:,} polygons in 30 towns", shapes, at)


def overlapping(count: int, points: int) -> Setting:
    rng = np.random.default_rng(5)
    shapes = stars(count, (12, 60), 0.15, rng.random((count, 2)), 6)
    return Setting(f"{count:,} large polygons over one another", shapes, rng.random((points, 2)))


def circles(count: int, points: int) -> Setting:
    rng = np.random.default_rng(7)
    radius = rng.uniform(0.2, 1.0, count) / np.sqrt(count)
    centres = rng.random((count, 2))
    return Setting(f"{count:,} circles", centres, rng.random((points, 2)), radius)


def zones(points: int) -> Setting:
    """As many and as long borders as the taxi zones of a city have: 263 that tile the plane."""
    rng = np.random.default_rng(9)
    seeds = shapely.multipoints(rng.random((263, 2)))
    cells = shapely.get_parts(shapely.voronoi_polygons(seeds, extend_to=shapely.box(0, 0, 1, 1)))
    cells = shapely.intersection(cells, shapely.box(0, 0, 1, 1))
    length = shapely.length(cells).sum()
    return Setting(
        "263 zones that tile a city",
        shapely.segmentize(cells, length / 97_000),
        rng.random((points, 2)),
    )


def neighbourhoods(points: int) -> Setting:
    import pyarrow.parquet as pq

    features = json.loads((DATA / "sf_neighborhoods.geojson").read_text())["features"]
    shapes = np.array([shapely.from_geojson(json.dumps(each["geometry"])) for each in features])
    rows = pq.read_table(DATA / "cabs_sf.parquet", columns=["lon", "lat"]).slice(0, points)
    at = np.stack([rows[name].to_numpy() for name in ("lon", "lat")], axis=1)
    return Setting("San Francisco, real cabs", shapes, at)


def districts(points: int) -> Setting:
    import pyarrow.parquet as pq

    table = pq.read_table(DATA / "geofences_world.parquet", columns=["wkb", "valid"])
    shapes = shapely.from_wkb(table["wkb"].to_numpy())[table["valid"].to_numpy()]
    rng = np.random.default_rng(11)
    corners = shapely.get_coordinates(shapes)
    at = corners[rng.integers(0, len(corners), points)] + rng.normal(0, 0.01, (points, 2))
    return Setting(f"{len(shapes):,} districts of the world", shapes, at)


def settings(quick: bool) -> Iterator[tuple[str, Callable[[], Setting]]]:
    """Settings by name; each is made when its turn comes."""
    points, small = (2_000, 200) if quick else (1_000_000, 10_000)
    yield "zones", partial(zones, points)
    if (DATA / "sf_neighborhoods.geojson").exists():
        yield "neighbourhoods", partial(neighbourhoods, points)
    if (DATA / "geofences_world.parquet").exists() and not quick:
        yield "districts", partial(districts, points)
    yield "even", partial(even, small, (12, 500), points)
    yield "skewed", partial(skewed, small, points)
    yield "overlapping", partial(overlapping, small // 10, points // 10)
    yield "circles", partial(circles, small, points)


def crowds(quick: bool) -> Iterator[tuple[str, Callable[[], Setting]]]:
    """A hundred thousand regions."""
    points, count = (2_000, 400) if quick else (1_000_000, 100_000)
    yield "many circles", partial(circles, count, points)
    yield "many polygons", partial(even, count, (12, 500), points)
