"""What it costs to know who looks at each object, as long as nothing is shed.

Two contestants get the same rows in turn: one keeps every object, the other only significant ones,
with a bound that is never reached. So that both must tell the same, one more query holds all
objects, and nothing is let go; what that saves or costs in addition is seen without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.report import in_turn, say, table
from bench.moving.kernel import prints
from bench.moving.response import CARS, POINT, add_squares, moving_text, rows_of
from bench.moving.world import OBJECTS, Asked, Clock, Feed, Updates, Walk, Watched, watched

WANTED = 1.2
NEVER = 10**9
# Updates in a call.
AT_ONCE = 20_000


class Asks(NamedTuple):
    """Queries by their kinds: squares that stay, squares that move, nearest neighbours of places
    and of objects."""

    still: int = 0
    moving: int = 0
    places: int = 0
    nearest: int = 0


SIZE, K = 0.0001, 10
SETTINGS = {
    "squares that stay": Asks(still=50_000),
    "squares that move": Asks(moving=20_000),
    "nearest of places": Asks(places=5_000),
    "nearest of objects": Asks(nearest=5_000),
}


def overhead(quick: bool, figures: Path) -> Iterator[str]:
    """Through the tracker, and the operator alone."""
    del figures
    objects, rounds, scale = (1_000, 2, 100) if quick else (OBJECTS, 9, 1)
    yield "## What the bookkeeping costs where nothing is shed"
    yield (
        f"{objects:,} objects, {rounds} calls of {AT_ONCE:,} updates of each contestant in turn;"
        " times are of the processor, the best of all, and in brackets the median ratio of two"
        " calls with the same rows."
    )
    header = ["through", "queries", "exact", "significant", "ratio", f"≤ {WANTED:g}"]
    lines = []
    for name, asks in SETTINGS.items():
        few = Asks(*(n // scale for n in asks))
        clocks = _trackers(few, objects, rounds)
        what = f"{sum(few):,} {name}"
        lines.append(["tracker", what, *_cells(clocks, "significant"), ""])
        lines.append(["tracker, some are let go", what, *_cells(clocks, "lets go"), ""])
        say(f"overhead: {lines[-2]} {lines[-1]}")
    kernels = {
        "squares that move": Asked(20_000 // scale, SIZE),
        "nearest of places": Asked(5_000 // scale, k=K, moves=False),
        "nearest of objects": Asked(5_000 // scale, k=K),
    }
    for name, asked in kernels.items():
        clocks = _operators(asked, objects, rounds)
        lines.append(["operator", f"{asked.queries:,} {name}", *_cells(clocks, "significant"), ""])
        say(f"overhead: {lines[-1]}")
    for line in lines:
        ratio = float(line[4].split()[0])
        line[5] = "yes" if ratio <= WANTED else "no"
    yield table(header, lines)
    yield (
        f"Squares have {100 * SIZE:g} % of the space, neighbours are {K}. `some are let go`:"
        " without the query that holds all objects, CACHE 0; it tells almost the same.\n"
    )


def _cells(clocks: Mapping[str, Clock], who: str) -> list[str]:
    exact, other = clocks["exact"], clocks[who]
    middle = float(np.median(np.array(other.cpu) / np.array(exact.cpu)))
    ratio = min(other.cpu) / min(exact.cpu)
    times = [f"{1e3 * min(clock.cpu):.1f} ms" for clock in (exact, other)]
    return [*times, f"{ratio:.2f} ({middle:.2f})"]


# --- through the tracker


def catalog_of(asks: Asks, objects: int, all_held: bool) -> wl.Catalog:
    catalog = wl.Catalog.of([CARS + POINT])
    add_squares(catalog, asks.still, SIZE)
    focal = np.random.default_rng(3).permutation(objects).tolist()
    if asks.moving:
        catalog.execute(moving_text(focal[: asks.moving], float(np.sqrt(SIZE))))
    query = "CREATE QUERY {} AS SELECT * FROM cars kNN ({})"
    spots = np.random.default_rng(4).random((asks.places, 2)).tolist()
    texts = [query.format(f"p{i}", f"{K}, {x!r}, {y!r}") for i, (x, y) in enumerate(spots)]
    texts += [query.format(f"n{o}", f"'M', {K}, {o}") for o in focal[: asks.nearest]]
    if texts:
        catalog.execute(";\n".join(texts))
    if all_held:
        ends = {name: (np.array([-1.0]), np.array([2.0])) for name in "xy"}
        catalog.register_boxes("cars", ["everywhere"], ends, emit="changes")
    return catalog


def _trackers(asks: Asks, objects: int, rounds: int) -> dict[str, Clock]:
    held, bare = (catalog_of(asks, objects, all_held) for all_held in (True, False))
    keep: dict[str, Any] = {"retain": "significant", "cache": 0.0, "max_objects": NEVER}
    trackers = {
        "exact": wl.Tracker(held, "cars"),
        "significant": wl.Tracker(held, "cars", **keep),
        "lets go": wl.Tracker(bare, "cars", **keep),
    }
    feed, clocks = Feed(Walk.of(objects)), {name: Clock() for name in trackers}
    # All objects come, and twice more so that all has been used.
    warm = -(-objects // AT_ONCE) + 2
    for number in range(warm + rounds):
        rows = rows_of(feed.take(AT_ONCE), number * AT_ONCE)
        told: dict[str, pa.Table] = {}
        for name in in_turn(list(trackers), number):
            clock = clocks[name] if number >= warm else Clock()
            told[name] = clock.run(AT_ONCE, partial(trackers[name].process, rows))
        assert told["significant"].equals(told["exact"]), asks
    return clocks


# --- the operator alone


def _operators(asked: Asked, objects: int, rounds: int) -> dict[str, Clock]:
    walk = Walk.of(objects)
    made = {
        name: watched(walk.place.copy(), asked, keep=False, significant=name != "exact")
        for name in ("exact", "significant")
    }
    feed, clocks = Feed(walk), {name: Clock() for name in made}
    for number in range(rounds + 1):
        updates = feed.take(AT_ONCE)
        told = {
            name: _run(made[name], updates, clocks[name]) for name in in_turn(list(made), number)
        }
        assert told["significant"] == told["exact"], asked
        if number == 0:
            clocks = {name: Clock() for name in made}
    return clocks


def _run(made: Watched, updates: Updates, clock: Clock) -> Any:
    events = made.events(updates)
    told = clock.run(len(updates), lambda: made.operator.run(events))
    return prints((told.event, told.query * len(made.slots) + told.row, told.what))
