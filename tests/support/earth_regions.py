"""What tests of regions on Earth share: regions where it is hard, hostile places, brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests import reference_earth as earth
from tests.support.regions import listed as listed
from watchline.evaluate import contains
from watchline.index.regions import RegionIndex
from watchline.kernels.arrays import Doubles
from watchline.matching.shapes import shape_columns
from watchline.model import Box, Circle, Corridor, Polygon, StaticRegion

# A region as tests/reference_earth.py has it.
Region = tuple[Any, ...]
Held = dict[int, Region]

LONGITUDES = [-180.0, -179.999999, -90.0, 0.0, 1e-9, 12.5, 90.0, 179.0, 179.9999999]
LATITUDES = [-90.0, -89.99999, -60.0, -1e-7, 0.0, 37.8, 60.0, 85.0, 89.9999999, 90.0]
RADII = [0.1, 3.0, 500.0, 2e4, 3e5, 2e6, 5e6, 9.9e6, 1.2e7, 1.9e7, 2.001e7, 2.1e7]


def model_of(region: Region) -> StaticRegion:
    kind, *parts = region
    if kind == "circle":
        x, y, radius = parts
        return Circle(x, y, radius, on_earth=True)
    if kind == "box":
        west, south, east, north = parts
        return Box(west, south, east, north, on_earth=True)
    if kind == "corridor":
        return Corridor.of(parts[0], parts[1], on_earth=True)
    return Polygon.of([[ring] for ring in parts[0]])


def index_of(held: Held) -> RegionIndex:
    columns = shape_columns([model_of(region) for region in held.values()])
    return RegionIndex(columns, np.array(list(held), dtype=np.int64), geography=True)


def insert(index: RegionIndex, new: Held) -> None:
    index._insert(np.array(list(new)), shape_columns([model_of(each) for each in new.values()]))


# --- regions and places


def place(rng: np.random.Generator) -> tuple[float, float]:
    """A place that is special, near one that is, or anywhere."""
    sort = rng.integers(0, 3)
    if sort == 0:
        return float(rng.choice(LONGITUDES)), float(rng.choice(LATITUDES))
    lon = float(rng.choice([rng.uniform(-180, 180), rng.choice(LONGITUDES), 0.5]))
    lat = float(rng.choice([math.degrees(math.asin(rng.uniform(-1, 1))), rng.uniform(-90, 90)]))
    if sort == 1:
        lon, lat = lon + rng.normal() * 1e-5, round(lat)
    return earth.wrapped(lon), float(np.clip(lat, -90, 90))


def region(rng: np.random.Generator) -> Region:
    sort, (lon, lat) = rng.integers(0, 8), place(rng)
    if sort < 4:
        return (
            "circle",
            lon,
            lat,
            float(rng.choice(RADII) * rng.choice([1.0, rng.random() + 0.1])),
        )
    if sort < 6:
        steps = rng.choice([1e-4, 0.1, 5.0, 60.0]) * rng.normal(0, 1, (rng.integers(2, 5), 2))
        if rng.random() < 0.3:
            steps[:, rng.integers(0, 2)] = 0
        line = np.cumsum(np.concatenate([[[lon, lat]], steps]), axis=0)
        line[:, 0] = np.clip(line[:, 0], max(-200, lon - 90), min(200, lon + 90))
        line[:, 1] = np.clip(line[:, 1], -90, 90)
        return ("corridor", [list(map(tuple, line.tolist()))], float(rng.choice(RADII[:-3])))
    if sort == 6:
        east, north = lon + rng.choice([1e-6, 0.5, 30, 200, 359]), lat + rng.choice([1e-6, 1, 40])
        south = min(lat, 89.0)
        north = float(min(max(north, south + 1e-9), 90.0))
        return ("box", lon, south, float(east), north)
    ring = [(0.0, 0.0), (8.0, 1.0), (9.0, 7.0), (2.0, 5.0)]
    return ("polygon", [[(x * 15 - 180, y * 10 - 80) for x, y in ring]])


def border(rng: np.random.Generator, of: Region) -> tuple[float, float]:
    """A place about at the border of a region, or at its middle."""
    kind, *parts = of
    if kind == "circle":
        lon, lat, metres = parts
    elif kind == "corridor":
        line, metres = parts
        (lon, lat) = line[0][rng.integers(0, len(line[0]))]
    else:
        xs, ys = ([parts[0], parts[2]], [parts[1], parts[3]]) if kind == "box" else ([-60.0], [0.0])
        return earth.wrapped(float(rng.choice(xs))), float(rng.choice(ys))
    # On the sphere, where all is right to within a third of a per cent.
    angle, turn = metres / 6_371_008.8, rng.choice([0, 90, 180, 270, 360 * rng.random()])
    angle *= rng.choice([0.0, 1.0, 1.0, 1 + 1e-9, 1 + 0.01 * rng.normal()])
    phi, way = math.radians(lat), math.radians(turn)
    sine = math.sin(phi) * math.cos(angle) + math.cos(phi) * math.sin(angle) * math.cos(way)
    east = math.atan2(
        math.sin(way) * math.sin(angle) * math.cos(phi), math.cos(angle) - math.sin(phi) * sine
    )
    there = math.degrees(math.asin(min(1.0, max(-1.0, sine))))
    return earth.wrapped(lon + math.degrees(east)), there


def places(index: RegionIndex, held: Held, rng: np.random.Generator, count: int) -> Doubles:
    """Places at borders, at lines of cells, at poles with any longitude, and anywhere."""
    points = np.array([place(rng) for _ in range(count)])
    regions = list(held.values())
    for i in np.flatnonzero(rng.random(count) < 0.5) if regions else ():
        points[i] = border(rng, regions[rng.integers(0, len(regions))])
    sheet, units = index._sheet, 2**32
    part = rng.integers(0, 65, count) * units // 64
    lines = rng.random((count, 2)) < 0.1
    points[lines[:, 0], 0] = (sheet.left + part * sheet.wide)[lines[:, 0]]
    points[lines[:, 1], 1] = (sheet.bottom + part * sheet.high)[lines[:, 1]]
    for way in (-np.inf, np.inf):
        beside = rng.random((count, 2)) < 0.1
        points[beside] = np.nextafter(points[beside], way)
    points[:, 1] = np.clip(points[:, 1], -90, 90)
    points[:, 0] = [earth.wrapped(lon) for lon in points[:, 0].tolist()]
    points[rng.random(count) < 0.02] = rng.choice([math.nan, math.inf, -math.inf])
    return points


# --- brute force


def exactly(held: Held, points: Doubles) -> list[list[int]]:
    """The regions that hold each place by the formulas of `watchline.evaluate`."""
    x, y = np.ascontiguousarray(points.T)
    masks = {i: contains(model_of(region), x, y) for i, region in held.items()}
    return [sorted(i for i, mask in masks.items() if mask[k]) for k in range(len(points))]


def compare(index: RegionIndex, held: Held, points: Doubles, *, oracle: int = 25) -> None:
    """A search is the formulas, to the last bit, and what the oracle says of some regions."""
    found, expected = listed(index.stab(points)), exactly(held, points)
    for i, (some, wanted) in enumerate(zip(found, expected, strict=True)):
        assert some == wanted, (points[i].tolist(), some, wanted, held)
    for (lon, lat), some in zip(points[:oracle].tolist(), found, strict=False):
        for i, region in held.items():
            if not earth.is_close(region, lon, lat):
                assert (i in some) == earth.inside(region, lon, lat), (region, lon, lat)
    assert len(index) == len(held)


def compare_moves(index: RegionIndex, held: Held, old: Doubles, new: Doubles) -> None:
    changes = index.changes(old, new)
    found = sorted(
        zip(changes.rows.tolist(), changes.signs.tolist(), changes.ids.tolist(), strict=True)
    )
    expected = []
    for i, (a, b) in enumerate(zip(exactly(held, old), exactly(held, new), strict=True)):
        expected += [(i, -1, each) for each in a if each not in b]
        expected += [(i, 1, each) for each in b if each not in a]
    assert found == sorted(expected)


def interleave(rng: np.random.Generator, steps: int, size: int, count: int = 40) -> None:
    """Regions come and go, and every time some answers are compared."""
    held: Held = {i: region(rng) for i in range(rng.integers(0, size))}
    index, number = index_of(held), len(held)
    for _ in range(steps):
        action = rng.integers(0, 5)
        if action <= 2 or not held:
            new = {number + i: region(rng) for i in range(1 if action else size)}
            number += len(new)
            insert(index, new)
            held |= new
        else:
            many = 1 if action == 3 else int(rng.integers(1, len(held) + 1))
            gone = rng.choice(sorted(held), many, replace=False)
            index.remove(gone)
            for i in gone:
                del held[int(i)]
        points = places(index, held, rng, count)
        compare(index, held, points, oracle=5)
        near = np.clip(points + rng.normal(0, 0.05, points.shape), -90, 90)
        compare_moves(index, held, points, np.where(rng.random(points.shape) < 0.8, near, points))
