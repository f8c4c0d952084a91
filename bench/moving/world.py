"""What the moving benchmarks share: objects that move, queries over them, clocks, and answers by
brute force.

Objects are in the unit square. In a round each reports once, in an order drawn anew; the sizes of
queries are shares of the square. On Earth the square is a town of twenty kilometres.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.common.report import say
from watchline import roads
from watchline.kernels.arrays import Doubles, Integers
from watchline.kernels.earth import chord_of
from watchline.proximity.events import Events
from watchline.proximity.operator import Operator
from watchline.proximity.query_columns import Moving
from watchline.proximity.tables import (
    BOX,
    CIRCLE,
    FIRST,
    NEAREST_CENTRE,
    NO_CENTRE,
    NO_SHAPE,
    ROW,
    AnswerChanges,
)

OBJECTS, STEP = 110_000, 0.001
# Networks that are not ours to give away; without them there is a town.
DATA = next(
    (up / "shared" / "data" for up in Path(__file__).parents if (up / "shared" / "data").exists()),
    Path("shared/data"),
)
# Queries that are opened at once: large ones find much.
OPENED = 1_000


# --- movement


class Updates(NamedTuple):
    """Object who[i] goes from old[i] to new[i], float64 (n, 2)."""

    who: Integers
    old: Doubles
    new: Doubles

    def __len__(self) -> int:
        return len(self.who)

    def part(self, first: int, end: int) -> Updates:
        return Updates(self.who[first:end], self.old[first:end], self.new[first:end])


@dataclass
class Walk:
    """Objects anywhere in the square, whose steps are Gaussian; walls reflect them."""

    place: Doubles
    rng: np.random.Generator
    step: float = STEP

    @staticmethod
    def of(objects: int = OBJECTS, step: float = STEP, seed: int = 1) -> Walk:
        rng = np.random.default_rng(seed)
        return Walk(rng.random((objects, 2)), rng, step)

    def round(self) -> Updates:
        who = self.rng.permutation(len(self.place))
        old = self.place[who]
        new = reflected(old + self.rng.normal(0, self.step, old.shape))
        self.place[who] = new
        return Updates(who, old, new)


@dataclass
class Feed:
    """The rounds of a walk one after the other, as many updates at a time as are wanted."""

    walk: Walk
    rest: Updates | None = None

    def take(self, count: int) -> Updates:
        rest = self.rest or self.walk.round()
        while len(rest) < count:
            more = zip(rest, self.walk.round(), strict=True)
            rest = Updates(*(np.concatenate(pair) for pair in more))
        self.rest = rest.part(count, len(rest))
        return rest.part(0, count)


def reflected(places: Doubles) -> Doubles:
    folded = np.abs(places) % 2.0
    return np.minimum(folded, np.nextafter(2.0 - folded, 0.0))


@dataclass
class Drive:
    """Objects on roads: each tick of the traffic is a round."""

    place: Doubles
    ticks: Iterator[pa.Table]
    rng: np.random.Generator
    name: str

    @staticmethod
    def of(objects: int, ticks: int, seed: int = 1) -> Drive:
        found, name = network()
        # Nobody vanishes, so that the objects of all ticks are the same.
        traffic = roads.traffic(found, objects, ticks + 1, vanish=0.0, unit=True, seed=seed)
        rows = iter(traffic)
        return Drive(_places(next(rows)), rows, np.random.default_rng(seed), name)

    def round(self) -> Updates:
        who = self.rng.permutation(len(self.place))
        old, self.place = self.place, _places(next(self.ticks))
        return Updates(who, old[who], self.place[who])


def network() -> tuple[roads.Network, str]:
    files = [DATA / f"road_oldenburg_{part}.parquet" for part in ("nodes", "edges")]
    if all(file.exists() for file in files):
        return roads.Network.of(*(pq.read_table(file) for file in files)), "Oldenburg"
    return roads.town(blocks=60, seed=7), "a town of 60 by 60 blocks"


def _places(rows: pa.Table) -> Doubles:
    return np.stack([rows["x"].to_numpy(), rows["y"].to_numpy()], axis=1)


# --- queries


class Asked(NamedTuple):
    """So many queries: squares or circles of this size, or the k nearest; around objects, or
    places."""

    queries: int
    size: float = 0.0
    k: int = 0
    moves: bool = True
    round: bool = False

    @property
    def side(self) -> float:
        return float(np.sqrt(self.size))

    @property
    def radius(self) -> float:
        return float(np.sqrt(self.size / np.pi))


# The town on Earth: its south-western corner, and about how long its sides are, in metres.
CORNER, TOWN = (-122.5, 37.7), 20_000.0
# The mean radius of the Earth, and what the bench takes a degree for when it lays the town out.
RADIUS, DEGREE = 6_371_008.8, 111_195.0


def on_earth(places: Doubles) -> Doubles:
    """Places of the square as longitudes and latitudes of the town."""
    lat = CORNER[1] + places[:, 1] * (TOWN / DEGREE)
    wide = TOWN / (DEGREE * np.cos(np.radians(CORNER[1])))
    return np.stack([CORNER[0] + places[:, 0] * wide, lat], axis=1)


def vectors(places: Doubles) -> Doubles:
    """Longitudes and latitudes as vectors of the ellipsoid, by the functions of NumPy."""
    lon, lat = np.radians(places).T
    squared = 1 / 298.257223563 * (2 - 1 / 298.257223563)
    normal = 6_378_137.0 / np.sqrt(1 - squared * np.sin(lat) ** 2)
    out = normal * np.cos(lat)
    columns = [out * np.cos(lon), out * np.sin(lon), normal * (1 - squared) * np.sin(lat)]
    return np.stack(columns, axis=1)


def squares(count: int, size: float, seed: int = 2) -> tuple[Doubles, Doubles]:
    """Lower and upper corners (n, 2) of squares within the unit square."""
    side = np.sqrt(size)
    lo = np.random.default_rng(seed).uniform(0, 1 - side, (count, 2))
    return lo, lo + side


@dataclass
class Watched:
    """An operator with objects and queries: `focal` are the objects these move with."""

    operator: Operator
    slots: Any
    asked: Asked
    focal: Integers
    centre: Doubles
    numbers: Integers
    significant: bool = False
    earth: bool = False
    # What the queries hold at first: pairs of a query and an object, as one number each.
    opened: list[Integers] = field(default_factory=list)
    entered: int = 0

    def events(self, updates: Updates) -> Events:
        """A row's number is its object's, so that what is told names the object."""
        n = len(updates)
        return Events(
            np.full(n, ROW, np.int8),
            np.arange(n),
            self.slots[updates.who].astype(np.int64),
            on_earth(updates.new) if self.earth else updates.new,
            updates.who.astype(np.int64),
            np.zeros((n, 1), np.uint64),
            np.zeros((n, 0)),
            np.zeros(n if self.significant else 0, np.int64),
        )

    def pairs(self, told: AnswerChanges) -> Integers:
        return told.query * len(self.slots) + told.row

    def check(self, told: list[AnswerChanges], place: Doubles, sample: int = 200) -> None:
        """What was told until now comes to the answers that brute force finds for some queries."""
        keys = np.concatenate([*self.opened, *(self.pairs(t) for t in told)])
        ones = [np.ones(len(k), np.int64) for k in self.opened]
        signs = np.concatenate([*ones, *(t.what for t in told)])
        sample = min(sample, len(self.numbers))
        chosen = np.random.default_rng(9).choice(len(self.numbers), sample, replace=False)
        order = np.argsort(self.numbers)
        owner = order[np.searchsorted(self.numbers[order], keys // len(self.slots))]
        for query in chosen.tolist():
            mine = owner == query
            objects, places = np.unique(keys[mine] % len(self.slots), return_inverse=True)
            held = np.bincount(places, weights=signs[mine], minlength=len(objects))
            assert np.isin(held, (0, 1)).all(), query
            answer = np.flatnonzero(self.holds(query, place))
            assert np.array_equal(objects[held == 1], answer), (query, self.asked)

    def holds(self, query: int, place: Doubles) -> Any:
        """Which objects are in the answer of one query, by definition."""
        centre = place[self.focal[query]] if self.asked.moves else self.centre[query]
        if self.earth:
            place, centre = (on_earth(p) for p in (place, centre[np.newaxis]))
            if not (self.asked.round or self.asked.k):
                half = self.asked.side * TOWN / 2 / (RADIUS * np.pi / 180)
                wide = half / np.cos(np.radians(centre[0, 1]))
                held = (np.abs(place - centre) <= (wide, half)).all(axis=1)
                held[self.focal[query]] = False
                return held
            place, centre = vectors(place), vectors(centre)
        if self.asked.round:
            radius = self.asked.radius
            limit = 2 * RADIUS * np.sin(radius * TOWN / (2 * RADIUS))
            far = ((place - centre) ** 2).sum(axis=1)
            held = far <= (limit if self.earth else radius) ** 2
            held[self.focal[query]] = False
            return held
        if self.asked.k:
            far = ((place - centre) ** 2).sum(axis=1)
            if self.asked.moves:
                far[self.focal[query]] = np.inf
            held = np.zeros(len(place), np.bool_)
            held[np.argpartition(far, self.asked.k)[: self.asked.k]] = True
            return held
        half = self.asked.side / 2
        held = ((centre - half <= place) & (place < centre + half)).all(axis=1)
        held[self.focal[query]] = False
        return held


def watched(
    place: Doubles,
    asked: Asked,
    side: float | None = None,
    keep: bool = True,
    centre: Doubles | None = None,
    seed: int = 3,
    significant: bool = False,
    earth: bool = False,
) -> Watched:
    """An operator over objects at these places, whose queries have their answers; `keep` these.
    Queries that stay are anywhere, or at these centres. `significant`: it counts who looks at an
    object, and would let go of those that nobody looks at; but something else holds them all."""
    rng = np.random.default_rng(seed)
    n, objects = asked.queries, len(place)
    operator = Operator(pa.int64(), side=side, significant=significant, earth=earth)
    slots = operator.enrol(pa.array(np.arange(objects)), np.ones(objects, np.bool_))
    bits, values = np.zeros((objects, 1), np.uint64), np.zeros((objects, 0))
    placed = on_earth(place) if earth else place
    operator.seat(slots, placed, np.arange(objects), bits, values, int(significant))
    focal = rng.permutation(objects)[:n]
    centre = rng.random((n, 2)) if centre is None else centre
    none, nobody = pa.nulls(n, pa.int64()), np.full(n, -1, np.int32)
    names, ids = pa.array([f"q{i}" for i in range(n)]), none
    places = nobody
    if asked.moves:
        ids = pa.array(focal)
        places = operator.focal_slots(ids, slots[focal].astype(np.int32))
    queries = Moving(
        np.arange(n),
        names,
        np.full(n, NO_SHAPE if asked.k else CIRCLE if asked.round else BOX, np.uint8),
        np.tile(_size(asked, earth), (n, 1)),
        np.full(n, asked.k),
        on_earth(centre) if earth else centre,
        np.full(n, NEAREST_CENTRE if asked.k else NO_CENTRE, np.uint8),
        (none, ids) if asked.k else (ids, none),
        np.full(n, -1),
        (),
        np.zeros(n),
    )
    roles = (nobody, places) if asked.k else (places, nobody)
    waits, since = np.zeros(n, np.uint8), np.full(n, FIRST)
    numbers = operator.register(queries, roles, np.full(n, -1), waits, since)
    made = Watched(operator, slots, asked, focal, centre, numbers, significant, earth)
    for first in range(0, n, OPENED):
        told = operator.open(numbers[first : first + OPENED])
        made.entered += len(told.event)
        if keep:
            made.opened.append(made.pairs(told))
    return made


def _size(asked: Asked, earth: bool) -> tuple[float, float]:
    """As the operator takes it."""
    scale = TOWN if earth else 1.0
    if not asked.round:
        return scale * asked.side / 2, scale * asked.side / 2
    radius = scale * asked.radius
    reach = chord_of(radius) if earth else radius
    return radius, reach * reach


# --- time


@dataclass
class Clock:
    """Seconds of a contestant's runs, by processor and by wall, for so many updates each."""

    updates: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    found: int = 0

    def run(self, updates: int, call: Callable[[], Any]) -> Any:
        cpu, wall = time.process_time(), time.perf_counter()
        result = call()
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - wall)
        self.updates.append(updates)
        return result

    @property
    def rates(self) -> list[float]:
        """Updates a second of processor time."""
        return [n / seconds for n, seconds in zip(self.updates, self.cpu, strict=True)]

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def micros(self) -> float:
        """Microseconds of the processor for an update."""
        return 1e6 / self.rate

    @property
    def wall_rate(self) -> float:
        pairs = zip(self.updates, self.wall, strict=True)
        return statistics.median(n / seconds for n, seconds in pairs)

    @property
    def changes(self) -> float:
        """For each update."""
        return self.found / max(sum(self.updates), 1)

    def cells(self) -> list[str]:
        """Changes an update; updates a second: median, worst to best; and by the wall."""
        return [
            f"{self.changes:.2f}",
            rate(self.rate),
            f"{rate(min(self.rates))} to {rate(max(self.rates))}",
            rate(self.wall_rate),
        ]


TIMES = ["changes an update", "updates/s (CPU)", "worst to best", "by the wall"]


def rate(value: float) -> str:
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:,.1f} k"


def percent(share: float) -> str:
    return f"{100 * share:g} %"


def verdict(measured: float, wanted: float) -> list[str]:
    return [f"≥ {rate(wanted)}", "yes" if measured >= wanted else "no"]


def spent(made: Watched, walk: Walk | Drive, rounds: int) -> Clock:
    """Rounds through the operator, one to warm up before them; the answers are checked."""
    say(f"{made.asked}")
    told = [made.operator.run(made.events(walk.round()))]
    clock = Clock()
    for _ in range(rounds):
        updates = walk.round()
        events = made.events(updates)
        told.append(clock.run(len(updates), partial(made.operator.run, events)))
        clock.found += len(told[-1].event)
    made.check(told, walk.place)
    return clock
