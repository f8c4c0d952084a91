"""Updates a second on one core: squares that stay, squares that move, and nearest neighbours.

Squares that stay are decided three ways. All ways get the same rounds in turn and must find the
same. What moves or ranks is checked against brute force, for some queries, after all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np

import watchline as wl
from bench.common.report import agreed, attempt, in_turn, publish, say, table
from bench.common.workloads import Fingerprint, fingerprint
from bench.moving.world import (
    OBJECTS,
    TIMES,
    Asked,
    Clock,
    Drive,
    Updates,
    Walk,
    percent,
    spent,
    squares,
    verdict,
    watched,
)
from watchline.borders import build_borders, build_grid, crossings_of_boxes, grid_crossings
from watchline.kernels.arrays import Doubles
from watchline.tracking.ranges import Moves, differences

# A way of deciding moves: the places of the moves, numbers and signs.
Way = Callable[[Updates], tuple[Any, Any, Any]]

SIZES = {0.001: 1e6, 0.0001: 2.5e6}
RANGES, NEAREST = 200e3, 200e3
QUERIES, NEAREST_QUERIES, K = 50_000, 10_000, 10
ROUNDS, ROAD_ROUNDS = 9, 5


def ways(lo: Doubles, hi: Doubles) -> dict[str, Way]:
    """The grid, what lies between in sorted borders, and the difference of two stabs."""
    numbers = np.arange(len(lo))
    grid = build_grid(lo, hi, numbers)
    borders, boxes = build_borders(lo, hi, numbers), np.concatenate([lo, hi], axis=1)
    index = wl.index.build("ces", lo, hi, numbers)

    def by_grid(u: Updates) -> tuple[Any, Any, Any]:
        return grid_crossings(grid, np.arange(len(u)), u.old, u.new)

    def by_crossings(u: Updates) -> tuple[Any, Any, Any]:
        return crossings_of_boxes(borders, boxes, u.old, u.new)

    def by_stabs(u: Updates) -> tuple[Any, Any, Any]:
        found = index.stab(np.concatenate([u.old, u.new]))
        ends = Moves(np.arange(len(u)), np.arange(len(u), 2 * len(u)))
        return differences(found.offsets, found.ids, ends, len(lo))

    return {"grid": by_grid, "crossings": by_crossings, "two stabs of `ces`": by_stabs}


def prints(found: tuple[Any, Any, Any]) -> Fingerprint:
    moves, numbers, signs = found
    return fingerprint(2 * moves + (signs > 0), numbers)


def by_hand(lo: Doubles, hi: Doubles, u: Updates) -> Fingerprint:
    """All moves against all squares."""
    was, now = (np.all((lo <= at[:, None]) & (at[:, None] < hi), axis=2) for at in (u.old, u.new))
    moves, numbers = np.nonzero(was != now)
    return prints((moves, numbers, np.where(now[moves, numbers], 1, -1)))


def race(lo: Doubles, hi: Doubles, walk: Walk, rounds: int) -> dict[str, Clock]:
    """The clocks of the ways that get through: what they find is what brute force finds for a few
    moves, and what the first of them finds for all."""
    racers = ways(lo, hi)
    some = walk.round().part(0, 200)
    tried = {name: attempt(name, partial(_printed, way, some)) for name, way in racers.items()}
    clocks = {name: Clock() for name in agreed(tried, by_hand(lo, hi, some))}
    for turn in range(rounds):
        updates = walk.round()
        seen = {
            name: attempt(name, partial(_clocked, clocks[name], racers[name], updates))
            for name in in_turn(list(clocks), turn)
        }
        right = agreed(seen, seen[next(iter(clocks))])
        clocks = {name: clock for name, clock in clocks.items() if name in right}
    return clocks


def _printed(way: Way, updates: Updates) -> Fingerprint:
    return prints(way(updates))


def _clocked(clock: Clock, way: Way, updates: Updates) -> Fingerprint:
    found = clock.run(len(updates), lambda: way(updates))
    clock.found += len(found[0])
    return prints(found)


def still(quick: bool, _: Path) -> Iterator[str]:
    numba.set_num_threads(1)
    objects, n, rounds = _sizes(quick)
    yield f"## Squares that stay: {n:,} of them, {objects:,} objects, one core"
    lines = []
    for size, wanted in SIZES.items():
        say(f"still: {size}")
        clocks = race(*squares(n, size), Walk.of(objects), rounds)
        for rival in [name for name in clocks if name != "grid"]:
            what = f"{rival} / grid, squares of {percent(size)}"
            publish(what, clocks["grid"].rate / clocks[rival].rate)
        for name, clock in clocks.items():
            target = verdict(clock.rate, wanted) if name == "grid" else ["", ""]
            lines.append([percent(size), name, *clock.cells(), *target])
    yield table(["size", "way", *TIMES, "target", "met"], lines)


def _sizes(quick: bool) -> tuple[int, int, int]:
    """Objects, queries, rounds."""
    return (1_000, 300, 2) if quick else (OBJECTS, QUERIES, ROUNDS)


def moving(quick: bool, _: Path) -> Iterator[str]:
    objects, n, rounds = _sizes(quick)
    yield f"## What moves or ranks: {objects:,} objects, one core"
    lines = [
        _line(name, Walk.of(objects), asked, rounds, wanted=wanted)
        for name, (asked, wanted) in _plans(quick, n)
    ]
    yield table(["queries", *TIMES, "target", "met"], lines)


def traffic(quick: bool, _: Path) -> Iterator[str]:
    objects, n = _sizes(quick)[:2]
    rounds = 2 if quick else ROAD_ROUNDS
    drive = Drive.of(objects, rounds + 1)
    yield f"## The same on roads: {drive.name}, a report a second"
    lines = []
    for name, (asked, _wanted) in _plans(quick, n):
        lines.append(_line(name, Drive.of(objects, rounds + 1), asked, rounds))
        if asked.k and not asked.moves:
            # Not in the fields and woods between.
            start = Drive.of(objects, rounds + 1)
            centre = start.place[np.random.default_rng(4).permutation(objects)[: asked.queries]]
            name = f"{name} on roads"
            lines.append(_line(name, start, asked, rounds, centre + 1e-6))
    yield table(["queries", *TIMES], lines)


def _plans(quick: bool, n: int) -> list[tuple[str, tuple[Asked, float]]]:
    """Queries and their targets, by name."""
    few = 200 if quick else NEAREST_QUERIES
    return [
        (f"{n:,} squares of 0.01 % that move", (Asked(n, 0.0001), RANGES)),
        (f"{few:,} × {K} nearest of places", (Asked(few, k=K, moves=False), NEAREST)),
        (f"{few:,} × {K} nearest of objects", (Asked(few, k=K), NEAREST)),
    ]


def _line(
    name: str,
    walk: Walk | Drive,
    asked: Asked,
    rounds: int,
    centre: Doubles | None = None,
    wanted: float | None = None,
) -> list[str]:
    clock = spent(watched(walk.place, asked, centre=centre), walk, rounds)
    line = [name, *clock.cells(), *([] if wanted is None else verdict(clock.rate, wanted))]
    say(" | ".join(line))
    return line
