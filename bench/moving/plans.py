"""WHERE before INSIDE or after it, and a join with a table before or after (Figures 15 to 17).

One query over all objects, through `wl.Tracker`; the rows of a round are one table. Trucks, and the
objects of the table, are the same ones all the time. So all plans must tell the same changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import watchline as wl
from bench.common.report import amount, in_turn, say, table
from bench.moving.world import OBJECTS, STEP, Clock, Walk, percent

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, kind STRING, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)
INSIDES = (0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
TRUCKS, FAVOURITES = 0.05, 0.01
# The steps of all other parts, and reports that are so rare that many borders lie between.
STEPS = (STEP, 30 * STEP)
ROUNDS = 5

Plan = Callable[[pa.Table], pa.Table]


@dataclass
class Way:
    """A plan: what goes from its first operator to its last, and how long it takes."""

    plan: Plan
    clock: Clock = field(default_factory=Clock)
    between: int = 0

    @property
    def tuples(self) -> str:
        """For each round."""
        return f"{self.between / len(self.clock.cpu):,.0f}"

    @property
    def time(self) -> str:
        return amount(float(np.median(self.clock.cpu)))


class Setting:
    """One query: a square around the middle, or around the object that is nearest to it."""

    def __init__(self, objects: int, inside: float, moves: bool, step: float):
        self.walk = Walk.of(objects, step)
        rng = np.random.default_rng(5)
        truck = rng.random(objects) < TRUCKS
        self.kinds = pa.array(np.where(truck, "truck", "car"))
        some = np.flatnonzero(rng.random(objects) < FAVOURITES)
        self.favourites = pa.table({"id": some, "name": [f"f{i}" for i in some]})
        self.focal = int(((self.walk.place - 0.5) ** 2).sum(axis=1).argmin())
        side = float(np.sqrt(inside))
        low, high = 0.5 - side / 2, 0.5 + side / 2
        self.region = f"({low!r}, {low!r}, {high!r}, {high!r})"
        if moves:
            self.region = f"('M', {self.focal}, {side!r}, {side!r})"
        self.moves, self.time = moves, 0

    def rows(self) -> pa.Table:
        u = self.walk.round()
        stamps = pa.array(self.time + np.arange(len(u)), pa.timestamp("us", tz="UTC"))
        self.time += len(u)
        x, y = u.new.T
        kinds = self.kinds.take(pa.array(u.who))
        return pa.table({"id": u.who, "x": x, "y": y, "kind": kinds, "ts": stamps})

    def tracker(self, where: str = "") -> wl.Tracker:
        query = f"CREATE QUERY q AS SELECT * FROM cars {where} INSIDE {self.region} EMIT CHANGES"
        return wl.Tracker(wl.Catalog.of([CARS, query]), "cars")

    def passes(self, chosen: pa.Array, ids: pa.Array) -> pa.Array:
        """Those that are chosen; the focal object must always pass."""
        return pc.or_(chosen, pc.equal(ids, self.focal)) if self.moves else chosen


def selection(s: Setting) -> dict[str, Way]:
    """WHERE first, INSIDE first, and both in one statement."""
    ways: dict[str, Way] = {}
    first, second, both = s.tracker(), s.tracker(), s.tracker("WHERE kind = 'truck'")

    def where_first(rows: pa.Table) -> pa.Table:
        kept = rows.filter(s.passes(pc.equal(rows["kind"], "truck"), rows["id"]))
        ways["WHERE first"].between += kept.num_rows
        changes = first.process(kept)
        return changes.filter(pc.equal(changes["kind"], "truck")) if s.moves else changes

    def inside_first(rows: pa.Table) -> pa.Table:
        changes = second.process(rows)
        ways["INSIDE first"].between += changes.num_rows
        return changes.filter(pc.equal(changes["kind"], "truck"))

    plans = {"WHERE first": where_first, "INSIDE first": inside_first, "one query": both.process}
    ways.update((name, Way(plan)) for name, plan in plans.items())
    return ways


def join(s: Setting) -> dict[str, Way]:
    """The table joined with all rows, or with the changes."""
    ways: dict[str, Way] = {}
    first, second = s.tracker(), s.tracker()

    def join_first(rows: pa.Table) -> pa.Table:
        ways["join first"].between += rows.num_rows
        others = rows.filter(pc.equal(rows["id"], s.focal)) if s.moves else rows.slice(0, 0)
        joined = rows.join(s.favourites, "id", join_type="inner").select(rows.column_names)
        # The focal object is in no answer, whether it is one of them or not.
        return first.process(pa.concat_tables([joined, others]).sort_by("ts"))

    def inside_first(rows: pa.Table) -> pa.Table:
        changes = second.process(rows)
        ways["INSIDE first"].between += changes.num_rows
        return changes.join(s.favourites, "object_id", "id", join_type="inner")

    plans = {"join first": join_first, "INSIDE first": inside_first}
    ways.update((name, Way(plan)) for name, plan in plans.items())
    return ways


def raced(s: Setting, ways: dict[str, Way], rounds: int) -> int:
    """All plans over the same rounds, of which the first does not count; changes of a round."""
    names, found = list(ways), 0
    for turn in range(rounds + 1):
        rows, seen = s.rows(), set()
        if turn == 1:
            found = 0
            for way in ways.values():
                way.clock, way.between = Clock(), 0
        for name in in_turn(names, turn):
            way = ways[name]
            changes = way.clock.run(rows.num_rows, partial(way.plan, rows))
            seen.add(_print(changes))
        assert len(seen) == 1, seen
        found += changes.num_rows
    return found // rounds


def _print(changes: pa.Table) -> tuple[int, int]:
    times, signs, ids = (
        changes[name].to_numpy().astype(np.int64) for name in ("time", "sign", "object_id")
    )
    return len(ids), int(((times * 2 + (signs > 0)) * (2 * ids + 1)).sum())


def plans(quick: bool, _: Path) -> Iterator[str]:
    objects, rounds = (1_000, 1) if quick else (OBJECTS, ROUNDS)
    yield f"## WHERE or a join, and INSIDE: {objects:,} rows a round, one query"
    for title, make in (("WHERE, which 5 % pass", selection), ("A join with 1 %", join)):
        for step in STEPS:
            yield f"### {title}: steps of {step:g}"
            lines = []
            for moves in (False, True):
                for inside in INSIDES[::5] if quick else INSIDES:
                    s = Setting(objects, inside, moves, step)
                    ways = make(s)
                    say(f"plans: {title}, {step:g}, {inside}, {'moves' if moves else 'stays'}")
                    told = raced(s, ways, rounds)
                    lines.append(["moves" if moves else "stays", percent(inside), f"{told:,}"])
                    lines[-1] += [w.tuples for w in ways.values() if w.between]
                    lines[-1] += [w.time for w in ways.values()]
            names = [f"tuples, {name}" for name, w in ways.items() if w.between]
            header = ["INSIDE", "its share", "changes told", *names, *(f"CPU, {n}" for n in ways)]
            yield table(header, lines)
