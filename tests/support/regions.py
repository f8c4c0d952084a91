"""What tests of the index of regions share: regions of all forms, hostile points, brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests import reference
from tests.reference_regions import exactly_inside as exactly_inside
from tests.reference_regions import square_from as square_from
from watchline.index import Matches
from watchline.index.regions import RegionIndex
from watchline.index.regions.forms import CIRCLE, CORRIDOR, POLYGON
from watchline.index.regions.geometries import RegionColumns

# A region as tests/reference.py has it: ("polygon", rings), ("circle", x, y, r), ("corridor",
# lines, reach). Rings have their first vertex once.
Region = tuple[Any, ...]
Held = dict[int, Region]
Vertices = list[tuple[float, float]]
FORMS = {"polygon": POLYGON, "circle": CIRCLE, "corridor": CORRIDOR}


def chains_of(region: Region) -> list[Vertices]:
    kind, *parts = region
    if kind == "circle":
        x, y, radius = parts
        return [[(x, y), (radius, 0.0)]]
    return [[*ring, ring[0]] for ring in parts[0]] if kind == "polygon" else parts[0]


def columns_of(regions: list[Region]) -> RegionColumns:
    """Columns of regions that nobody checks: rings may cross as they like."""
    begins, chains, coordinates = [0], list[tuple[int, int]](), list[tuple[float, float]]()
    for region in regions:
        for chain in chains_of(region):
            chains.append((len(coordinates), len(chain) - 1))
            coordinates += chain
        begins.append(len(chains))
    return RegionColumns(
        np.array([FORMS[region[0]] for region in regions], dtype=np.int64),
        np.array(begins, dtype=np.int64),
        np.array(chains, dtype=np.int64).reshape(-1, 2),
        np.array(coordinates, dtype=np.float64).reshape(-1, 2) + 0.0,
        np.array([r[2] if r[0] == "corridor" else math.nan for r in regions]),
    )


def index_of(held: Held) -> RegionIndex:
    return RegionIndex(columns_of(list(held.values())), np.array(list(held), dtype=np.int64))


def listed(found: Matches) -> list[list[int]]:
    o = found.offsets
    return [sorted(found.ids[o[i] : o[i + 1]].tolist()) for i in range(len(o) - 1)]


def brute(held: Held, points: Any) -> list[list[int]]:
    """The regions that hold each point by the fixed formulas, one by one."""
    return [
        sorted(i for i, region in held.items() if reference.inside(region, x, y))
        for x, y in points.tolist()
    ]


def compare(index: RegionIndex, held: Held, points: Any) -> None:
    found, expected = listed(index.stab(points)), brute(held, points)
    for i, (some, wanted) in enumerate(zip(found, expected, strict=True)):
        assert some == wanted, (points[i].tolist(), some, wanted, held)
    assert len(index) == len(held)


def compare_moves(index: RegionIndex, held: Held, old: Any, new: Any) -> None:
    changes = index.changes(old, new)
    assert (np.diff(changes.rows) >= 0).all()
    found = sorted(
        zip(changes.rows.tolist(), changes.signs.tolist(), changes.ids.tolist(), strict=True)
    )
    expected = []
    for i, (a, b) in enumerate(zip(brute(held, old), brute(held, new), strict=True)):
        expected += [(i, -1, each) for each in a if each not in b]
        expected += [(i, 1, each) for each in b if each not in a]
    assert found == sorted(expected)


# --- points


def lines_of(index: RegionIndex) -> tuple[list[float], list[float]]:
    """Some values of x and of y where cells of the index begin."""
    sheet, units = index._sheet, 2**32
    parts = [units * i // 64 for i in range(65)] + [units * i // 1024 for i in range(0, 1024, 37)]
    return (
        [sheet.left + part * sheet.wide for part in parts],
        [sheet.bottom + part * sheet.high for part in parts],
    )


def hostile(index: RegionIndex, held: Held, rng: np.random.Generator, count: int) -> Any:
    """Points at vertices, on borders and lines of cells, a bit beside them, and anywhere."""
    vertices = [v for r in held.values() for chain in chains_of(r) for v in chain] or [(0.0, 0.0)]
    corners = np.array(vertices)
    xs, ys = lines_of(index)
    low, high = corners.min(axis=0), corners.max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        points = low + rng.random((count, 2)) * (high - low)
    for axis, lines in enumerate((xs, ys)):
        sort = rng.integers(0, 4, count)
        points[:, axis] = np.where(
            sort == 0, rng.choice(corners[:, axis], count),
            np.where(sort == 1, rng.choice(lines, count), points[:, axis]),
        )  # fmt: skip
    at = rng.random(count) < 0.2
    points[at] = corners[rng.integers(0, len(corners), at.sum())]
    with np.errstate(over="ignore", under="ignore"):
        for way in (-np.inf, np.inf):
            beside = rng.random((count, 2)) < 0.15
            points[beside] = np.nextafter(points[beside], way)
    points[rng.random(count) < 0.03] = rng.choice([math.nan, math.inf, -math.inf])
    return points


# --- regions


def ring(rng: np.random.Generator, scale: float) -> Vertices:
    """Few or many vertices, on a coarse grid (so that edges are level or upright) or anywhere."""
    sort, count = rng.integers(0, 5), int(rng.integers(3, 12))
    centre = rng.integers(-8, 8, 2) / 2
    if sort <= 1:
        points = centre + rng.integers(-6, 7, (count, 2)) / 2
    elif sort == 2:
        points = centre + rng.normal(0, 2, (count, 2))
    elif sort == 3:
        turn = np.sort(rng.random(4 * count)) * 2 * np.pi
        points = centre + np.stack([np.cos(turn), np.sin(turn)], axis=1) * rng.uniform(0.1, 5)
    else:
        points = centre + np.cumsum(rng.choice([-1e-9, 0, 1e-9, 1], (count, 2)), axis=0)
    return [tuple(point) for point in ((points + 0.0) * scale).tolist()]


def region(rng: np.random.Generator, scale: float = 1.0) -> Region:
    sort = rng.integers(0, 6)
    if sort == 0:
        x, y = (rng.integers(-12, 12, 2) / 2 * scale + 0.0).tolist()
        return ("circle", x, y, float(rng.choice([0.5, 2.5, 5.0, rng.random() * 3 + 1e-3])) * scale)
    if sort == 1:
        lines = [ring(rng, scale) for _ in range(rng.integers(1, 3))]
        return ("corridor", lines, float(rng.choice([0.1, 0.5, 1.0, 3.0])) * scale)
    return ("polygon", [ring(rng, scale) for _ in range(rng.integers(1, 4))])


def interleave(
    rng: np.random.Generator, steps: int, size: int, scale: float = 1.0, count: int = 40
) -> None:
    """Regions come and go, alone and in bulk, and every time some answers are compared."""
    held: Held = {i: region(rng, scale) for i in range(rng.integers(0, size))}
    index, number = index_of(held), len(held)
    for _ in range(steps):
        action = rng.integers(0, 5)
        if action <= 2 or not held:
            new = {number + i: region(rng, scale) for i in range(1 if action else size)}
            number += len(new)
            index._insert(np.array(list(new)), columns_of(list(new.values())))
            held |= new
        else:
            many = 1 if action == 3 else int(rng.integers(1, len(held) + 1))
            gone = rng.choice(sorted(held), many, replace=False)
            index.remove(gone)
            for i in gone:
                del held[int(i)]
        points = hostile(index, held, rng, count)
        compare(index, held, points)
        near = points + rng.normal(0, 0.05 * scale, points.shape)
        compare_moves(index, held, points, np.where(rng.random(points.shape) < 0.8, near, points))
