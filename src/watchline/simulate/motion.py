"""Traffic: objects that travel on a network and report where they are.

An object appears at a node, takes the shortest way by time to a destination, is reported there
standing, and then sets out for another one or vanishes; for each that vanishes another appears, so
that there are always equally many. Between two reports it moves at the speed of its kind or at the
limit of the edge, whichever is less, times a pace of its own.

On Earth places are longitudes and latitudes, and all speeds are in metres a second.

Invariant: a reported place is on an edge, and two reports of an object are never further apart than
`top_speed` times the time between. Objects stand by id, because a new one has the highest id and
stands last, so that rows are in the order (ts, id) without sorting.

A tick is one pass over the objects: report, then move on until the next report. Cost: linear in the
objects and in the edges they pass, and the trees of the destinations (trees.py), each once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.errors import InvalidNetwork, InvalidRange
from watchline.kernels.arrays import Doubles, Integers, Small
from watchline.kernels.compiled import inner, kernel, leaf
from watchline.kernels.earth import DEGREE_METRES, wrapped_all
from watchline.simulate.network import KMH, Network
from watchline.simulate.trees import (
    FEWEST,
    NOWHERE,
    Arcs,
    Number,
    Trees,
    arcs_of,
    grow,
    planted,
    profiles_of,
    way,
)

KindCodes = npt.NDArray[np.int8]

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("speed", pa.float64()),
        ("kind", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
# Of traffic on Earth.
EARTH_SCHEMA = SCHEMA.set(1, pa.field("lon", pa.float64())).set(2, pa.field("lat", pa.float64()))
START = datetime(2025, 1, 1, tzinfo=timezone.utc)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICRO = timedelta(microseconds=1)
SECOND = 1_000_000
# The slowest pace of an object.
SLOWEST = 0.75


class Kind(NamedTuple):
    """Objects of one kind: their speed where no limit is lower, in metres a second, and how many
    there are in proportion to the others."""

    name: str
    speed: float
    share: float


KINDS = (
    Kind("pedestrian", 5 * KMH, 0.2),
    Kind("bus", 45 * KMH, 0.1),
    Kind("truck", 80 * KMH, 0.15),
    Kind("car", 130 * KMH, 0.45),
    Kind("taxi", 100 * KMH, 0.1),
)


class Rules(NamedTuple):
    """What holds for all objects; speeds are in units of length a second, (kinds, classes)."""

    speeds: Doubles
    profiles: Small
    # The shares of the kinds, added up.
    shares: Doubles
    # Nodes where objects appear.
    starts: Small
    vanish: float
    seconds: float


class Fleet(NamedTuple):
    """The objects. One that travels has passed `done` of its arc, which leaves its node; one that
    has arrived stands at its node and has no arc."""

    ids: Integers
    kinds: KindCodes
    paces: Doubles
    trees: Small
    nodes: Small
    arcs: Small
    done: Doubles


class Reports(NamedTuple):
    """What objects report at one tick: their ids, places, speeds and kinds, one entry each."""

    ids: Integers
    x: Doubles
    y: Doubles
    speeds: Doubles
    kinds: KindCodes


def traffic(  # noqa: PLR0913 - the public options, each a keyword
    network: Network,
    objects: int,
    ticks: int,
    *,
    kinds: Sequence[Kind] = KINDS,
    interval: float = 1.0,
    phases: int = 1,
    vanish: float = 0.5,
    destinations: int = 500,
    unit: bool = False,
    start: datetime = START,
    seed: int = 0,
) -> Traffic:
    """Traffic on the network: `ticks` tables of `objects` rows each, the same for the same seed.

    kinds         names, speeds and shares of the kinds of objects
    interval      seconds between two reports of an object, which is a tick; whole microseconds
    phases        objects report at so many moments, evenly within the interval; 1: all at once
    vanish        how probable it is that an object that has arrived vanishes
    destinations  about so many nodes, drawn by the seed, are where trips end; more take more memory
                  and time (trees.py)
    unit          scale the coordinates to the unit square [0, 1)², keeping their aspect
    start         the time of the first report, with a time zone
    """
    micros = _checked(objects, ticks, interval, phases, vanish, destinations)
    if start.tzinfo is None:
        raise InvalidRange("start must have a time zone")
    _check_kinds(kinds)
    network = network.unit() if unit else network
    arcs = arcs_of(network)
    starts = np.flatnonzero(arcs.sizes[arcs.components] >= FEWEST).astype(np.int32)
    if not len(starts):
        raise InvalidNetwork("no edge joins two nodes, so there is nowhere to go")
    shares = np.array([kind.share for kind in kinds]) / sum(kind.share for kind in kinds)
    metres = np.array([kind.speed for kind in kinds])
    speeds = np.minimum(metres[:, None], network.limits) / network.metres
    slowness, profiles = profiles_of(speeds)
    by_profile = np.zeros(len(slowness))
    np.add.at(by_profile, profiles, shares)
    rng = np.random.default_rng([seed, 0])
    return Traffic(
        network=network,
        objects=objects,
        ticks=ticks,
        phases=phases,
        interval=micros,
        start=(start - _EPOCH) // _MICRO,
        seed=seed,
        top_speed=_top_speed(network, arcs, speeds, micros / SECOND),
        _names=pa.array([kind.name for kind in kinds], pa.string()),
        _arcs=arcs,
        _rules=Rules(speeds, profiles, np.cumsum(shares), starts, vanish, micros / SECOND),
        _trees=planted(arcs, slowness, by_profile, destinations, rng),
    )


@dataclass(frozen=True, eq=False)
class Traffic:
    """Reports of traffic, tick by tick; each iteration begins anew and gives the same rows.

    `interval` and `start` are in microseconds. `top_speed` is in coordinate units a second, or in
    metres a second on Earth, as is the column `speed`, and allows for the rounding of coordinates.
    """

    network: Network
    objects: int
    ticks: int
    phases: int
    interval: int
    start: int
    seed: int
    top_speed: float
    _names: pa.Array
    _arcs: Arcs
    _rules: Rules
    _trees: Trees

    def __iter__(self) -> Iterator[pa.Table]:
        """One table for each tick, with one row for each object, by (ts, id)."""
        rng = np.random.default_rng([self.seed, 1])
        ends = np.arange(self.phases + 1) * self.objects // self.phases
        moments = np.arange(self.phases) * self.interval // self.phases
        offsets = np.repeat(moments, np.diff(ends))
        fleet = _fleet(self.objects)
        coming = _begin(fleet, self._arcs, self._trees, self._rules, rng)
        for tick in range(self.ticks):
            rows = _rows(self.objects)
            coming = _tick(fleet, ends, self._arcs, self._trees, self._rules, rng, coming, rows)
            yield self._table(rows, offsets + (self.start + tick * self.interval))

    def table(self) -> pa.Table:
        """All ticks at once."""
        return pa.concat_tables([self.schema.empty_table(), *self]).combine_chunks()

    @property
    def schema(self) -> pa.Schema:
        """The columns of its rows."""
        return EARTH_SCHEMA if self.network.geography else SCHEMA

    def _table(self, rows: Reports, times: Integers) -> pa.Table:
        kinds = self._names.take(pa.array(rows.kinds))
        stamps = pa.array(times).view(SCHEMA.field("ts").type)
        x = wrapped_all(rows.x) if self.network.geography else rows.x
        numbers = [pa.array(column) for column in (rows.ids, x, rows.y, rows.speeds)]
        return pa.Table.from_arrays([*numbers, kinds, stamps], schema=self.schema)


def _checked(
    objects: int, ticks: int, interval: float, phases: int, vanish: float, destinations: int
) -> int:
    """The interval in microseconds."""
    if objects < 1 or ticks < 0 or destinations < 1:
        raise InvalidRange("traffic needs an object, a destination, and no ticks below zero")
    if not 0 <= vanish <= 1:
        raise InvalidRange(f"vanish is a probability, between 0 and 1, not {vanish}")
    micros = round(interval * SECOND) if math.isfinite(interval) else 0
    if micros < 1:
        raise InvalidRange(f"interval must be at least a microsecond, not {interval} s")
    if not 1 <= phases <= micros:
        raise InvalidRange(f"phases must be from 1 to the microseconds of a tick, not {phases}")
    return micros


def _check_kinds(kinds: Sequence[Kind]) -> None:
    if not 1 <= len({kind.name for kind in kinds}) == len(kinds) <= 127:
        raise InvalidRange("traffic needs from 1 to 127 kinds, each of another name")
    for kind in kinds:
        if not (0 < kind.speed < math.inf and 0 < kind.share < math.inf):
            raise InvalidRange(f"the speed and share of {kind.name!r} must be greater than zero")


def _top_speed(network: Network, arcs: Arcs, speeds: Doubles, seconds: float) -> float:
    """The fastest kind on the edge where it covers most; coordinates are rounded a little."""
    fastest = float((speeds.max(axis=0)[arcs.codes] * arcs.scales).max()) * network.bend
    largest = float(max(np.abs(arcs.x).max(), np.abs(arcs.y).max()))
    rounded = 8 * np.finfo(np.float64).eps * largest
    if network.geography:
        # The vectors of places are good to some nanometres.
        rounded = rounded * DEGREE_METRES + 1e-8
    return float(fastest * (1 + 1e-9) + rounded / seconds)


def _fleet(size: int) -> Fleet:
    return Fleet(
        ids=np.empty(size, dtype=np.int64),
        kinds=np.empty(size, dtype=np.int8),
        paces=np.empty(size),
        trees=np.empty(size, dtype=np.int32),
        nodes=np.empty(size, dtype=np.int32),
        arcs=np.empty(size, dtype=np.int32),
        done=np.empty(size),
    )


def _rows(size: int) -> Reports:
    x, y, speeds = np.empty((3, size))
    return Reports(np.empty(size, dtype=np.int64), x, y, speeds, np.empty(size, dtype=np.int8))


@kernel
def _begin(fleet: Fleet, arcs: Arcs, trees: Trees, rules: Rules, rng: np.random.Generator) -> int:
    for slot in range(len(fleet.ids)):
        _appear(fleet, slot, slot, arcs, trees, rules, rng)
    return len(fleet.ids)


@kernel
def _tick(
    fleet: Fleet,
    ends: Integers,
    arcs: Arcs,
    trees: Trees,
    rules: Rules,
    rng: np.random.Generator,
    coming: int,
    rows: Reports,
) -> int:
    """Report all objects and move them to their next report; the next id that is free.

    Those that report together stand from ends[p] to ends[p + 1]. Whoever stays moves up into the
    places of those that vanish, and the new ones stand last.
    """
    for p in range(len(ends) - 1):
        kept = ends[p]
        for slot in range(ends[p], ends[p + 1]):
            _report(fleet, slot, arcs, rules, rows)
            arrived = fleet.arcs[slot] == NOWHERE
            if arrived and rng.random() < rules.vanish:
                continue
            if kept < slot:
                _move_up(fleet, slot, kept)
            if arrived:
                _set_out(fleet, kept, arcs, trees, rules, rng)
            _travel(fleet, kept, arcs, trees, rules)
            kept += 1
        for slot in range(kept, ends[p + 1]):
            _appear(fleet, slot, coming, arcs, trees, rules, rng)
            coming += 1
    return coming


@leaf()
def _report(fleet: Fleet, slot: Number, arcs: Arcs, rules: Rules, rows: Reports) -> None:
    arc, node, kind = fleet.arcs[slot], fleet.nodes[slot], fleet.kinds[slot]
    x, y = arcs.x[node], arcs.y[node]
    speed: Number = 0.0
    if arc != NOWHERE:
        head, length = arcs.heads[arc], arcs.lengths[arc]
        if length > 0.0:
            part = fleet.done[slot] / length
            x += arcs.across[arc] * part
            y += (arcs.y[head] - y) * part
        speed = rules.speeds[kind, arcs.codes[arc]] * fleet.paces[slot] * arcs.scales[arc]
    rows.ids[slot], rows.kinds[slot] = fleet.ids[slot], kind
    rows.x[slot], rows.y[slot], rows.speeds[slot] = x, y, speed


@leaf()
def _move_up(fleet: Fleet, slot: Number, to: Number) -> None:
    fleet.ids[to], fleet.kinds[to], fleet.paces[to] = (
        fleet.ids[slot],
        fleet.kinds[slot],
        fleet.paces[slot],
    )
    fleet.trees[to], fleet.nodes[to] = fleet.trees[slot], fleet.nodes[slot]
    fleet.arcs[to], fleet.done[to] = fleet.arcs[slot], fleet.done[slot]


@inner
def _appear(
    fleet: Fleet,
    slot: Number,
    name: Number,
    arcs: Arcs,
    trees: Trees,
    rules: Rules,
    rng: np.random.Generator,
) -> None:
    fleet.ids[slot] = name
    drawn, kind = rng.random(), 0
    # The last share is 1 but for rounding.
    while kind < len(rules.shares) - 1 and drawn >= rules.shares[kind]:
        kind += 1
    fleet.kinds[slot] = kind
    fleet.paces[slot] = SLOWEST + (1.0 - SLOWEST) * rng.random()
    fleet.nodes[slot] = rules.starts[int(rng.random() * len(rules.starts))]
    _set_out(fleet, slot, arcs, trees, rules, rng)


@inner
def _set_out(
    fleet: Fleet, slot: Number, arcs: Arcs, trees: Trees, rules: Rules, rng: np.random.Generator
) -> None:
    """A destination that is not where the object is; those of a group are distinct."""
    node = fleet.nodes[slot]
    group = arcs.components[node] * len(trees.slowness) + rules.profiles[fleet.kinds[slot]]
    first, count = trees.firsts[group], trees.firsts[group + 1] - trees.firsts[group]
    chosen = int(rng.random() * count)
    if trees.goals[first + chosen] == node:
        chosen = (chosen + 1) % count
    tree = first + chosen
    if not trees.grown[tree]:
        grow(arcs, trees, tree)
    fleet.trees[slot] = tree
    fleet.arcs[slot] = way(arcs, trees, tree, node)
    fleet.done[slot] = 0.0


@leaf()
def _travel(fleet: Fleet, slot: Number, arcs: Arcs, trees: Trees, rules: Rules) -> None:
    """Follow the tree until the time is up or the goal is reached."""
    arc, tree, kind, pace = (
        fleet.arcs[slot],
        fleet.trees[slot],
        fleet.kinds[slot],
        fleet.paces[slot],
    )
    done: Number = fleet.done[slot]
    left: Number = rules.seconds
    while arc != NOWHERE:
        speed = rules.speeds[kind, arcs.codes[arc]] * pace
        needed = (arcs.lengths[arc] - done) / speed
        if needed > left:
            done = min(done + left * speed, arcs.lengths[arc])
            break
        left -= needed
        node = arcs.heads[arc]
        fleet.nodes[slot] = node
        arc, done = way(arcs, trees, tree, node), 0.0
    fleet.arcs[slot], fleet.done[slot] = arc, done
