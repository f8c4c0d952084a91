"""An evening in the city: a match ends, and all who were there drive home at once.

The crowd is found, not made: of very many vehicles that set out anywhere in the town those are
taken that set out near the stadium. They start one after the other, follow the roads to where they
live or as far as they are followed, and report like all others on their way; then they fall silent.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from examples import city, standing
from examples.standing import Ask
from watchline import roads
from watchline.kernels.arrays import Integers

# Seconds between two reports, by the city's clock.
INTERVAL, PHASES = 10.0, 5
STADIUM = (0.5, 0.47)
# How far from the stadium cars are parked, and of how many vehicles those are taken.
PARKING = 0.1
# Their ids begin here.
FANS = 1_000_000
SEED = city.SEED
FENCES, CIRCLES, POLYGONS, CONVOYS = 600, 60, 40, 10
# Those who must know who is around: where, how far they look, and what part they demand.
GUARDED = (
    ("hospital", 0.6, 0.51, 0.04, 0.95),
    ("fire_station", 0.43, 0.44, 0.04, 0.95),
    ("station", 0.5, 0.565, 0.035, 0.9),
    ("school", 0.7, 0.3, 0.05, 0.9),
)
ESCORTS = 2


class Size(NamedTuple):
    """How many vehicles drive and are kept, and the course of the evening, in ticks."""

    vehicles: int
    # So many objects may be kept in all.
    bound: int
    # Fans are those of so many vehicles that set out near the stadium.
    pool: int
    ticks: int
    whistle: int
    # How long the last fan waits after the whistle, and how long each is followed.
    leaving: int
    followed: int

    @property
    def gone(self) -> int:
        """The first tick in which no fan reports any more."""
        return self.whistle + self.leaving + self.followed

    def part(self, queries: int) -> int:
        """As many queries for each vehicle as the full size has."""
        return max(1, queries * self.vehicles // FULL.vehicles)


FULL = Size(3_000, 3_000, 200_000, ticks=54, whistle=12, leaving=14, followed=16)
SMALL = Size(300, 400, 20_000, ticks=21, whistle=5, leaving=4, followed=6)


class Evening(city.City):
    """A city in which a match ends."""

    def __init__(self, network: roads.Network, folder: Path, size: Size = FULL):
        traffic = roads.traffic(
            network, size.vehicles, size.ticks, kinds=city.KINDS, interval=INTERVAL, phases=PHASES,
            unit=True, seed=SEED,
        )  # fmt: skip
        super().__init__(traffic, folder)
        self.size, self.top_speed = size, traffic.top_speed
        fans = _fans(network, traffic.start, size)
        self.fans = len(set().union(*(rows["id"].to_pylist() for rows in fans)))
        self.ticks = [pa.concat_tables(rows) for rows in zip(self.ticks, fans, strict=True)]

    def rows(self, tick: int) -> pa.Table:
        """Each row once and in time: nobody knows when an object came last that is not kept."""
        return self.ticks[tick]


def _fans(network: roads.Network, start: int, size: Size) -> list[pa.Table]:
    """What the crowd reports in each tick of the evening."""
    rng = np.random.default_rng(SEED)
    pool = roads.traffic(
        network, size.pool, size.followed, kinds=city.KINDS, interval=INTERVAL, vanish=1.0,
        unit=True, seed=SEED + 1,
    )  # fmt: skip
    waits = np.empty(0, np.int64)
    found: list[list[pa.Table]] = [[roads.SCHEMA.empty_table()] for _ in range(size.ticks)]
    for step, rows in enumerate(pool):
        if not step:
            x, y = (rows[name].to_numpy() for name in ("x", "y"))
            away = np.hypot(x - STADIUM[0], y - STADIUM[1])
            drawn = rng.integers(0, size.leaving, size.pool)
            waits = np.where(away < PARKING, drawn, size.ticks)
        ids = rows["id"].to_numpy()
        # Who arrives vanishes, and another one appears, with a new id.
        first = size.whistle + step
        then = np.append(waits, size.ticks)[np.minimum(ids, size.pool)] + first
        for tick in range(first, min(first + size.leaving, size.ticks)):
            mine = np.flatnonzero(then == tick)
            found[tick].append(_reported(rows.take(pa.array(mine)), ids[mine], tick, start))
    return [pa.concat_tables(tables) for tables in found]


def _reported(rows: pa.Table, ids: Integers, tick: int, start: int) -> pa.Table:
    """At the time of this tick; like others they report at several moments of it."""
    micros = round(INTERVAL * 1e6)
    times = start + tick * micros + ids % PHASES * (micros // PHASES)
    stamps = pa.array(times).view(roads.SCHEMA.field("ts").type)
    rows = rows.set_column(rows.schema.get_field_index("id"), "id", pa.array(FANS + ids))
    return rows.set_column(rows.schema.get_field_index("ts"), "ts", stamps)


def all_asks(evening: Evening) -> list[Ask]:
    """Fences all over the town, convoys, and those with a least accuracy."""
    rng, part = np.random.default_rng(SEED), evening.size.part
    stay = {vehicle: evening.names[vehicle] for vehicle in evening.stayers}
    cars = [vehicle for vehicle, name in stay.items() if name.startswith("car")]
    chosen = rng.choice(cars, part(CONVOYS) + ESCORTS, replace=False).tolist()
    return [
        *standing.boxes(evening.places(part(FENCES), rng), rng),
        *standing.circles(evening.places(part(CIRCLES), rng), rng),
        *standing.polygons(evening.places(part(POLYGONS), rng), rng),
        *standing.convoys({vehicle: stay[vehicle] for vehicle in chosen[ESCORTS:]}, rng),
        *guarded(chosen[:ESCORTS]),
    ]


def guarded(escorted: list[int]) -> list[Ask]:
    """Queries that demand a part of their answer, whatever happens."""
    places = [
        Ask(name, "circle", (x, y, r), name=f"the {name.replace('_', ' ')}", accuracy=least)
        for name, x, y, r, least in GUARDED
    ]
    return places + [
        Ask(f"escort{car}", "circle", (0.05,), focal=car, name=f"escort {car}", accuracy=0.9)
        for car in escorted
    ]
