"""Searches, changes and building of the index of regions, and its rivals of shapely.

All contestants answer the same points on one thread. The pairs that they find are compared; those
that differ must be within 1e-9 of a border, because GEOS decides a border by another rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import shapely

import watchline as wl
from bench.common.report import (
    WrongAnswer,
    amount,
    attempt,
    in_turn,
    plain,
    publish,
    say,
    spread,
    table,
)
from bench.regions.engines import engines
from bench.regions.world import Setting, crowds, even, settings
from watchline.kernels.arrays import Doubles

TURNS = 5
# Points that are timed: the rivals take long.
RIVAL_POINTS = 200_000
AWAY = 1e-9
Pairs = tuple[Any, Any]


@dataclass
class Contest:
    """A setting, and what its contestants need before they are timed."""

    setting: Setting
    taken: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        made = self.setting
        start = time.perf_counter()
        self.index = wl.index.build_regions(made.shapes, radius=made.radius)
        self.building = time.perf_counter() - start
        if made.radius is None:
            shapely.prepare(made.shapes)
            self.tree = shapely.STRtree(made.shapes)
        else:
            reach, centres = made.radius[:, None], made.shapes
            self.tree = shapely.STRtree(shapely.box(*(centres - reach).T, *(centres + reach).T))

    def ours(self, points: Doubles, _: Any) -> Pairs:
        matches = self.index.stab(points)
        return matches.rows(), matches.ids

    def within(self, _: Doubles, places: Any) -> Pairs:
        rows, numbers = self.tree.query(places, predicate="within")
        return rows, numbers

    def prepared(self, points: Doubles, places: Any) -> Pairs:
        """The tree of boxes, and prepared geometries asked in one call for all candidates."""
        rows, numbers = self.tree.query(places)
        # Candidates of one polygon together: its prepared edges stay in the cache.
        order = np.argsort(numbers, kind="stable")
        rows, numbers = rows[order], numbers[order]
        x, y = np.ascontiguousarray(points[rows].T)
        held = shapely.contains_xy(self.setting.shapes[numbers], x, y)
        return rows[held], numbers[held]

    def exact(self, points: Doubles, places: Any) -> Pairs:
        """For circles: the tree of their boxes, then the formula in NumPy."""
        rows, numbers = self.tree.query(places)
        dx, dy = (points[rows] - self.setting.shapes[numbers]).T
        held = dx * dx + dy * dy <= self.setting.radius[numbers] ** 2  # type: ignore[index]
        return rows[held], numbers[held]

    def rivals(self) -> dict[str, Callable[[Doubles, Any], Pairs]]:
        if self.setting.radius is not None:
            return {"STRtree + formula": self.exact}
        return {"STRtree + prepared": self.prepared, "`within`": self.within}


def timed_in_turns(contest: Contest, points: Doubles, turns: int) -> dict[str, Any]:
    """The best rate of each contestant; their answers are compared first."""
    some = points[:: max(1, len(points) // RIVAL_POINTS)]
    places = {"ours": None, **dict.fromkeys(contest.rivals(), shapely.points(some))}
    calls = {"ours": contest.ours, **contest.rivals()}
    answers = {who: call(some, places[who]) for who, call in calls.items()}
    for who in contest.rivals():
        check = partial(same, contest, some, answers["ours"], answers[who])
        attempt(f"{contest.setting.name}: {who}", check)
    seconds: dict[str, list[float]] = {who: [] for who in calls}
    for turn in range(turns):
        for who in in_turn(list(calls), turn):
            start = time.perf_counter()
            calls[who](some, places[who])
            seconds[who].append((time.perf_counter() - start) / len(some))
    return seconds


def same(contest: Contest, points: Doubles, ours: Pairs, theirs: Pairs) -> None:
    """Refuse pairs that only one side has and that are not on a border."""
    size = np.int64(len(contest.index) + 1)
    keys = [np.asarray(rows, dtype=np.int64) * size + numbers for rows, numbers in (ours, theirs)]
    for key in np.setxor1d(keys[0], keys[1]).tolist():
        row, number = divmod(key, int(size))
        if contest.setting.radius is not None:
            raise WrongAnswer(f"point {row} and circle {number}")
        border = contest.setting.shapes[number].boundary
        if border.distance(shapely.Point(points[row])) > AWAY:
            raise WrongAnswer(f"point {row} and region {number}")


def stabs(quick: bool) -> Iterator[str]:
    """Points a second, beside the rivals, and the memory."""
    yield "## Stabs: M points a second on one thread"
    yield stabbed(settings(quick), quick)


def many(quick: bool) -> Iterator[str]:
    """The same with a hundred thousand regions."""
    yield "## Stabs among many regions"
    yield stabbed(crowds(quick), quick)


def stabbed(among: Iterator[tuple[str, Callable[[], Setting]]], quick: bool) -> str:
    lines = []
    for name, make in among:
        say(f"regions: {name}")
        contest = Contest(make())
        seconds = timed_in_turns(contest, contest.setting.points, 2 if quick else TURNS)
        best = {who: min(each) for who, each in seconds.items()}
        index, raw = contest.index, contest.setting.raw
        for who in best:
            ratio = best[who] / best["ours"]
            if who != "ours":
                publish(f"{contest.setting.name}: {who} / ours", ratio)
            first = who == "ours"
            lines.append([
                contest.setting.name if first else "", who, f"{1e-6 / best[who]:.2f}",
                "1" if first else f"{ratio:.1f}×",
                megabytes(index.cells_nbytes, index.nbytes, raw) if first else "",
                f"{amount(contest.building)}" if first else "",
            ])  # fmt: skip
    header = ["setting", "who", "M points/s", "slower", "cells / index / raw, MB", "read and built"]
    return table(header, lines)


def megabytes(*sizes: int) -> str:
    return " / ".join(f"{size / 1e6:.1f}" for size in sizes)


def changes(quick: bool) -> Iterator[str]:
    """Moves a second: small steps from cell to cell, beside two stabs and their difference."""
    lines = []
    for name, make in settings(quick):
        say(f"moves: {name}")
        made = make()
        rate, ratio, each = moves_of(made, 2 if quick else TURNS)
        publish(f"{made.name}: two stabs / changes", ratio)
        lines.append([made.name, f"{rate:.2f}", f"{ratio:.1f}×", f"{each:.4f}"])
    yield "## Changes: M moves a second on one thread, small steps"
    yield table(["setting", "M moves/s", "two stabs", "changes a move"], lines)


def moves_of(made: Setting, turns: int) -> tuple[float, float, float]:
    """Million moves a second, how much longer two stabs take, and the changes of a move."""
    index = wl.index.build_regions(made.shapes, radius=made.radius)
    rng = np.random.default_rng(1)
    old, new = made.points, made.points + rng.normal(0, made.step, made.points.shape)
    found, expected = len(index.changes(old, new)), difference(index, old, new)
    if found != expected:
        raise WrongAnswer(f"{found} changes instead of {expected}")
    ours = min_of(lambda: index.changes(old, new), turns)
    stabbed = min_of(lambda: difference(index, old, new), 2)
    return len(new) / ours * 1e-6, stabbed / ours, found / len(new)


def difference(index: Any, old: Doubles, new: Doubles) -> int:
    """How many pairs are in one of two stabs alone."""
    size = np.int64(len(index) + 1)
    keys = [m.rows() * size + m.ids for m in (index.stab(old), index.stab(new))]
    return len(np.setxor1d(keys[0], keys[1], assume_unique=True))


def min_of(call: Callable[[], Any], turns: int) -> float:
    taken = []
    for _ in range(turns):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def updates(quick: bool) -> Iterator[str]:
    """Building, and regions that come and go one by one."""
    count = 300 if quick else 100_000
    made = even(count, (20, 21), 1)
    wkb = shapely.to_wkb(made.shapes)
    say("updates: building")
    built = [min_of(partial(wl.index.build_regions, some), 1) for some in (made.shapes, wkb)]
    index = wl.index.build_regions(made.shapes)
    more = even(1_000, (20, 21), 1).shapes
    one, gone, whole = [], [], np.concatenate([made.shapes, more])
    for number in range(20 if quick else 1_000):
        start = time.perf_counter()
        index.insert([count + number], whole[count + number : count + number + 1])
        one.append(time.perf_counter() - start)
        start = time.perf_counter()
        index.remove([number])
        gone.append(time.perf_counter() - start)
    yield f"## Updates: {count:,} polygons of 20 vertices"
    rows = [
        ["built from shapely", amount(built[0])],
        ["built from WKB", amount(built[1])],
        ["one inserted, with its checks (best / median / worst)", spread(one)],
        ["one removed", spread(gone)],
    ]
    yield table(["what", "time"], rows)


PARTS = {
    "stabs": plain(stabs), "many": plain(many), "changes": plain(changes),
    "updates": plain(updates), "engines": plain(engines),
}  # fmt: skip
