"""Regions on Earth beside those of the plane: the same ones, laid on a town and on the world.

A plane of the same density is laid on the globe: a unit is so many degrees of latitude, and as many
metres across. So both answer about as many regions for each point, and their times are those of the
forms alone. Some regions are checked by the formulas of `watchline.evaluate`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import shapely

import watchline as wl
from bench.common.report import WrongAnswer, attempt, in_turn, publish, say, table
from bench.regions.world import Setting, circles, even
from watchline.evaluate import contains
from watchline.kernels.arrays import Doubles
from watchline.kernels.earth import DEGREE_METRES
from watchline.model import Circle

TURNS = 7
CHECKED = 20
# The middle of a town, and how many degrees of latitude a unit of the plane is there.
LON, LAT, WIDE = -122.4, 37.8, 0.5


def laid(points: Doubles) -> Doubles:
    """A plane on a town."""
    across = WIDE / np.cos(np.radians(LAT))
    return np.asarray((points - 0.5) * [across, WIDE] + [LON, LAT])


def on_earth(flat: Setting) -> Setting:
    """The same regions and points in a town."""
    points, name = laid(flat.points), f"{flat.name} in a town"
    if flat.radius is None:
        shapes = shapely.transform(flat.shapes, laid)
        return Setting(name, shapes, points, step=flat.step * WIDE)
    radius = flat.radius * WIDE * DEGREE_METRES
    return Setting(name, laid(flat.shapes), points, radius, step=flat.step * WIDE)


def around_the_world(count: int, points: int) -> Setting:
    """Circles on all of the globe, as dense as those of the plane."""
    rng = np.random.default_rng(7)
    radius = rng.uniform(0.2, 1.0, count) / np.sqrt(count)
    places = [
        np.stack([rng.uniform(-180, 180, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n)))], axis=1)
        for n in (count, points)
    ]
    # The globe has the area of this square, in metres.
    side = DEGREE_METRES * 180 / np.pi * np.sqrt(4 * np.pi)
    return Setting(f"{count:,} circles around the world", places[0], places[1], radius * side)


def pairs(quick: bool) -> Iterator[tuple[Callable[[], Setting], Callable[[Setting], Setting]]]:
    """Settings of the plane, and how they are on Earth."""
    points, small, many = (2_000, 200, 400) if quick else (1_000_000, 10_000, 100_000)
    yield partial(circles, small, points), on_earth
    yield partial(circles, small, points), lambda _: around_the_world(small, points)
    yield partial(circles, many, points), on_earth
    yield partial(even, small, (12, 500), points), on_earth


def earth(quick: bool) -> Iterator[str]:
    """Searches and moves on Earth and in the plane, in turns."""
    lines = []
    for make, lay in pairs(quick):
        flat = make()
        there = lay(flat)
        say(f"regions on Earth: {there.name}")
        lines.append(compared(flat, there, 2 if quick else TURNS))
    yield "## On Earth, beside the plane: ns a point on one thread"
    header = ["setting", "regions a point", "stabs, plane", "on Earth", "ratio",
              "moves, plane", "on Earth", "ratio"]  # fmt: skip
    yield table(header, lines)


def compared(flat: Setting, there: Setting, turns: int) -> list[str]:
    """A line of the table; each side is asked in turn, and the best time counts."""
    indexes = {
        "plane": wl.index.build_regions(flat.shapes, radius=flat.radius),
        "earth": wl.index.build_regions(there.shapes, radius=there.radius, geography=True),
    }
    attempt(there.name, partial(check, indexes["earth"], there))
    rng = np.random.default_rng(1)
    points = {"plane": flat.points, "earth": there.points}
    steps = rng.normal(0, 1, flat.points.shape)
    moved = {
        "plane": flat.points + steps * flat.step,
        "earth": np.clip(there.points + steps * there.step, [-180, -90], [179.9, 90]),
    }
    calls: dict[str, Callable[[str], Any]] = {
        "stabs": lambda who: indexes[who].stab_points(points[who]),
        "moves": lambda who: indexes[who].changes_of_points(points[who], moved[who]),
    }
    held = len(calls["stabs"]("earth")) / len(there.points)
    line = [there.name, f"{held:.2f}"]
    for what, call in calls.items():
        best = timed(call, list(points), turns)
        each = {who: 1e9 * seconds / len(there.points) for who, seconds in best.items()}
        ratio = each["earth"] / each["plane"]
        publish(f"{there.name}: {what} on Earth / in the plane", ratio)
        line += [f"{each['plane']:.0f}", f"{each['earth']:.0f}", f"{ratio:.2f}"]
    return line


def timed(call: Callable[[str], Any], who: list[str], turns: int) -> dict[str, float]:
    """The least seconds of each."""
    best = dict.fromkeys(who, np.inf)
    for turn in range(turns):
        for each in in_turn(who, turn):
            start = time.perf_counter()
            call(each)
            best[each] = min(best[each], time.perf_counter() - start)
    return best


def check(index: Any, made: Setting) -> None:
    """Refuse circles whose points are others than those of the formula."""
    if made.radius is None:
        return
    found = index.stab_points(made.points)
    rows, x, y = found.rows(), *np.ascontiguousarray(made.points.T)
    for i in range(0, len(made.shapes), max(1, len(made.shapes) // CHECKED)):
        lon, lat = made.shapes[i].tolist()
        region = Circle(lon, lat, float(made.radius[i]), on_earth=True)
        if not np.array_equal(rows[found.ids == i], np.flatnonzero(contains(region, x, y))):
            raise WrongAnswer(f"circle {i}")
