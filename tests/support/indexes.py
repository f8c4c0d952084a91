"""What tests of the indexes share: brute force, adversarial numbers, every kind and tuning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import watchline as wl
from watchline.index import Index, Matches

TINY = 5e-324
NUMBERS = [
    0.0,
    -0.0,
    TINY,
    -TINY,
    2.5e-308,
    1.0,
    1.5,
    2.0,
    3.0,
    7.0,
    8.0,
    -1.0,
    1e16,
    1e308,
    -1e308,
]
NUMBERS += [math.nextafter(x, d) for x in (1.0, 2.0, 8.0, 1e308) for d in (-math.inf, math.inf)]

Held = dict[int, tuple[tuple[float, ...], tuple[float, ...]]]

# Every kind with its own tuning, and with cells and L that do not suit the numbers at all.
CASES: list[tuple[str, int, dict[str, Any]]] = [
    ("scan", 1, {}),
    ("scan", 2, {}),
    ("scan", 3, {}),
    ("auto", 1, {}),
    ("auto", 2, {}),
    ("auto", 3, {}),
    ("islist", 1, {}),
    ("ui", 1, {}),
    ("ui", 1, {"unit": 1, "domain": (0, 9)}),
    *[
        (kind, 1, tuning)
        for kind in ("sci", "lci", "cei")
        for tuning in ({}, {"L": 1}, {"L": 8}, {"L": 4, "unit": 1, "domain": (0, 9)})
    ],
    ("cei", 1, {"L": 2, "unit": 1e-299, "domain": (0, 1e-295)}),
    ("cei", 1, {"L": 16, "unit": 1e290}),
    *[("spatialjoin", dims, {}) for dims in (1, 2, 3, 4, 6, 8, 10, 12)],
    *[("spatialjoin", dims, {"N_dc": 64}) for dims in (1, 3, 5)],
    ("spatialjoin", 2, {"N_dc": 1_024}),
    ("ugc", 2, {}),
    ("ugc", 2, {"unit": 1, "domain": (0, 9)}),
    ("cells", 2, {}),
    ("cells", 2, {"L": 4, "unit": 0.5, "domain": (0, 9)}),
    *[
        (kind, 2, tuning)
        for kind in ("vcs", "ces")
        for tuning in ({}, {"L": 1}, {"L": 8}, {"L": 4, "unit": 1, "domain": (-3, 9)})
    ],
    *[(kind, dims, {}) for kind in ("ibs", "counting", "twophase") for dims in (1, 2, 3, 5, 12)],
]


def name(case: tuple[str, int, dict[str, Any]]) -> str:
    kind, dims, tuning = case
    return "-".join([kind, str(dims), *(f"{k}={v}" for k, v in tuning.items())])


def empty(kind: str, dims: int, tuning: dict[str, Any]) -> Index:
    return wl.index.build(kind, np.empty((0, dims)), np.empty((0, dims)), **tuning)


def brute(held: Held, points: np.ndarray[Any, Any], lenient: bool = False) -> list[list[int]]:
    """The boxes that contain each point, by comparing all; `lenient`: where a box has no bound, a
    point need not have a number."""
    ids = np.array(list(held), dtype=np.int64)
    dims = points.shape[1]
    lo = np.array([lo for lo, _ in held.values()], dtype=np.float64).reshape(-1, dims)
    hi = np.array([hi for _, hi in held.values()], dtype=np.float64).reshape(-1, dims)
    free = (lo == -math.inf) & (hi == math.inf) & lenient
    answers = []
    for point in points:
        within = (lo <= point) & (point < hi) & np.isfinite(point)
        answers.append(sorted(ids[(within | free).all(axis=1)].tolist()))
    return answers


def listed(found: Matches) -> list[list[int]]:
    o = found.offsets
    return [sorted(found.ids[o[i] : o[i + 1]].tolist()) for i in range(len(o) - 1)]


def number(rng: np.random.Generator) -> float:
    """A number of one of many sorts: on a grid, beside it, of any size."""
    sort = rng.integers(0, 6)
    if sort == 0:
        return float(rng.choice(NUMBERS))
    if sort == 1:
        return float(rng.integers(-4, 12))
    if sort == 2:
        return float(rng.uniform(-2, 11))
    if sort == 3:
        return float(np.nextafter(float(rng.integers(0, 9)), rng.choice([-np.inf, np.inf])))
    if sort == 4:
        return float(rng.normal() * 10.0 ** rng.integers(-310, 300))
    return float(rng.normal(5, 0.01))


def box(rng: np.random.Generator, dims: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    lo, hi = [], []
    for _ in range(dims):
        a, b = sorted((number(rng), number(rng)))
        a = -math.inf if rng.random() < 0.1 else a
        b = math.inf if rng.random() < 0.1 else b
        lo.append(a if a < b else -math.inf)
        hi.append(b if a < b else math.inf)
    return tuple(lo), tuple(hi)


def points_near(held: Held, dims: int, rng: np.random.Generator, count: int) -> Any:
    """Points of all sorts, some on the borders of boxes, some of them no numbers."""
    borders = [b for pair in held.values() for side in pair for b in side if math.isfinite(b)]
    points = np.empty((count, dims))
    for i in range(count):
        for d in range(dims):
            value = float(rng.choice(borders)) if borders and rng.random() < 0.5 else number(rng)
            if rng.random() < 0.2:
                value = math.nextafter(value, -math.inf)
            points[i, d] = value
        if rng.random() < 0.05:
            points[i, rng.integers(0, dims)] = rng.choice([np.nan, np.inf, -np.inf])
    return points


def interleave(
    index: Index,
    dims: int,
    rng: np.random.Generator,
    steps: int,
    size: int,
    held: Held,
    lenient: bool = False,
) -> None:
    """Boxes come and go, alone and in bulk, and every time some answers are compared."""
    number_of = max(held, default=-1) + 1
    for _ in range(steps):
        action = rng.integers(0, 5)
        if action <= 1 or not held:
            count = 1 if action == 0 else int(rng.integers(1, size))
            new = [box(rng, dims) for _ in range(count)]
            if rng.random() < 0.2:
                new = [new[0]] * count
            ids = list(range(number_of, number_of + count))
            number_of += count
            index.insert(ids, [lo for lo, _ in new], [hi for _, hi in new])
            held |= dict(zip(ids, new, strict=True))
        elif action <= 3:
            count = 1 if action == 2 else int(rng.integers(1, len(held) + 1))
            gone = rng.choice(sorted(held), count, replace=False)
            index.remove(gone)
            for i in gone:
                del held[int(i)]
        # Up to twelve rows are searched one by one by some kinds.
        points = points_near(held, dims, rng, int(rng.choice([12, 20])))
        assert listed(index.stab(points)) == brute(held, points, lenient)
        assert len(index) == len(held)
