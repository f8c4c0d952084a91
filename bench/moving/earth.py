"""Queries that move or rank on Earth, beside those of the same density in a plane.

Both walk the same way: the places of the unit square, and the same places as longitudes and
latitudes of a town. Rounds are taken in turn, and the answers of both are checked by brute force.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.common.report import in_turn, publish, say, table
from bench.moving.kernel import NEAREST_QUERIES, QUERIES, ROUNDS, K
from bench.moving.world import OBJECTS, TIMES, Asked, Clock, Walk, watched
from watchline.proximity.tables import AnswerChanges

TARGET = 1.5
PLANE, EARTH = "in a plane", "on Earth"
SIZE = 0.0001


def earth(quick: bool, _: Path) -> Iterator[str]:
    """A table, and for each kind of query how many times longer an update takes on Earth."""
    objects, n, few = (1_000, 300, 200) if quick else (OBJECTS, QUERIES, NEAREST_QUERIES)
    rounds = 2 if quick else ROUNDS
    yield f"## On Earth and in a plane: {objects:,} objects, one core"
    lines = []
    for name, asked in (
        (f"{n:,} circles of 0.01 % that move", Asked(n, SIZE, round=True)),
        (f"{n:,} squares of 0.01 % that move", Asked(n, SIZE)),
        (f"{few:,} × {K} nearest of places", Asked(few, k=K, moves=False)),
        (f"{few:,} × {K} nearest of objects", Asked(few, k=K)),
    ):
        say(f"earth: {name}")
        plane, sphere = race(asked, objects, rounds)
        ratio = publish(f"on Earth / in a plane, {name}", sphere.micros / plane.micros)
        met = "yes" if ratio <= TARGET else "no"
        lines.append([name, PLANE, *plane.cells(), "", "", ""])
        lines.append([name, EARTH, *sphere.cells(), f"{ratio:.2f}×", f"≤ {TARGET:g}×", met])
    yield table(["queries", "where", *TIMES, "longer", "target", "met"], lines)


def race(asked: Asked, objects: int, rounds: int) -> tuple[Clock, Clock]:
    """The clocks in a plane and on Earth, over the same rounds."""
    walk = Walk.of(objects)
    made = {name: watched(walk.place, asked, earth=name == EARTH) for name in (PLANE, EARTH)}
    told: dict[str, list[AnswerChanges]] = {name: [] for name in made}
    clocks = {name: Clock() for name in made}
    for turn in range(rounds + 1):
        updates = walk.round()
        if turn == 1:
            # The first round warmed up.
            clocks = {name: Clock() for name in made}
        for name in in_turn(list(made), turn):
            events = made[name].events(updates)
            found = clocks[name].run(len(updates), partial(made[name].operator.run, events))
            clocks[name].found += len(found.event)
            told[name].append(found)
    for name, watching in made.items():
        watching.check(told[name], walk.place)
    return clocks[PLANE], clocks[EARTH]
