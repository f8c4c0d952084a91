"""One setting of the Spatial Join CQ paper: all contestants take turns, all find the same pairs.

* batch: `spatialjoin`, all rows of a batch in one search; immediate: one search for each row, whose
  result is dropped before the next.
* ibs, counting, twophase, scan: a search of the first rows of the batch. They treat rows one after
  the other, so a row costs the same however many there are.
* ibs, row by row: one search for each row, to compare with immediate.
* floor: as many ids of the same type, and the offsets, written into fresh memory.

Each run begins with no free memory at hand, as in `bench.indexes.race`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numba
import numpy as np

import watchline as wl
from bench.common.report import agreed, attempt, in_turn, say
from bench.common.workloads import Fingerprint, Workload, fingerprint
from bench.indexes.race import clocked
from bench.indexes.sweeps import Measure
from bench.spatial.selections import print_of
from watchline.kernels.arrays import Doubles

OURS = "spatialjoin"
RIVALS = ("ibs", "counting", "twophase", "scan")
KINDS = (OURS, *RIVALS)
NAMES = ("batch", "immediate", "ibs", "ibs, row by row", *RIVALS[1:], "floor")
# Which of these is the faster one depends on the setting: ratios are to that one.
STRONGEST = ("ibs", "counting")
FAILED = Measure(0, math.nan, median=math.nan)


@dataclass(frozen=True)
class Scale:
    """How large an experiment is: the rows of a batch, those that rivals get, those searched one by
    one, and the rounds.

    Rivals get at most 1,024 rows: of more, a search first tries 256 to learn how much room the
    others need, which would count as time of rows.
    """

    batch: int = 10_000
    sample: int = 1_000
    single: int = 300
    rounds: int = 7
    # Queries are divided by this.
    fewer: int = 1

    def queries(self, n: int) -> int:
        return n // self.fewer


def scale_of(quick: bool) -> Scale:
    return Scale(batch=200, sample=50, single=5, rounds=2, fewer=500) if quick else Scale()


@dataclass(frozen=True)
class Outcome:
    """Times of a row and sizes of the indexes, by contestant, and how much a row found."""

    measures: dict[str, Measure]
    matches: float

    def times(self, other: str, one: str) -> float:
        """How many times as long the other takes as the one."""
        return self.measures[other].nanoseconds / self.measures[one].nanoseconds

    def strongest(self, one: str) -> float:
        """How many times as long the strongest rival takes."""
        ratios = (self.times(rival, one) for rival in STRONGEST)
        return min((ratio for ratio in ratios if math.isfinite(ratio)), default=math.nan)


@dataclass
class Runner:
    """Who is called, for how many rows, with which index if any, what it found, and its times."""

    call: Callable[[], Any]
    rows: int
    found: Callable[[], Fingerprint]
    index: wl.index.Index | None = None
    seconds: list[float] = field(default_factory=list)

    def measure(self) -> Measure:
        each = [s / self.rows * 1e9 for s in self.seconds]
        size = self.index.nbytes if self.index is not None else 0
        return Measure(size, min(each), median=statistics.median(each))


def raced(w: Workload, scale: Scale) -> Outcome:
    numba.set_num_threads(1)
    runners, found = entered(w, scale)
    for turn in range(scale.rounds):
        say(f"{w.name}: round {turn + 1}")
        for name in in_turn(list(runners), turn):
            done = attempt(name, partial(clocked, runners[name].call, cold=True))
            if done is None:
                del runners[name]
            else:
                runners[name].seconds.append(done[0])
    measures = {name: runners[name].measure() if name in runners else FAILED for name in NAMES}
    return Outcome(measures, found / len(w.points))


def entered(w: Workload, scale: Scale) -> tuple[dict[str, Runner], int]:
    """All who race, warmed up and compared with the scan; and the pairs of the whole batch."""
    say(f"{w.name}: building")
    built = {kind: attempt(kind, partial(wl.index.build, kind, w.lo, w.hi)) for kind in KINDS}
    indexes = {kind: index for kind, index in built.items() if index is not None}
    sample, single = w.points[: scale.sample], w.points[: scale.single]
    ours = indexes[OURS]
    runners = {"batch": at_once(ours, w.points), "immediate": one_by_one(ours, single)}
    for kind in RIVALS:
        if kind in indexes:
            runners[kind] = at_once(indexes[kind], sample)
    if "ibs" in indexes:
        runners["ibs, row by row"] = one_by_one(indexes["ibs"], single)
    say(f"{w.name}: comparing answers")
    batch = ours.stab(w.points)
    expected = print_of(wl.index.build("scan", w.lo, w.hi).stab(w.points))
    found = {name: attempt(name, runner.found) for name, runner in runners.items()}
    right = agreed({"batch": found.pop("batch")}, expected)
    for name, seen in found.items():
        right += agreed({name: seen}, print_of(batch, runners[name].rows))
    runners = {name: runner for name, runner in runners.items() if name in right}
    count, id_type, rows = len(batch.ids), batch.ids.dtype, len(w.points)
    runners["floor"] = Runner(lambda: written(count, id_type, rows), rows, lambda: expected)
    return runners, count


def at_once(index: wl.index.Index, points: Doubles) -> Runner:
    def call() -> wl.index.Matches:
        return index.stab(points)

    return Runner(call, len(points), lambda: print_of(call()), index)


def one_by_one(index: wl.index.Index, points: Doubles) -> Runner:
    """What a row found is dropped before the next is searched."""
    rows = [points[i : i + 1] for i in range(len(points))]

    def call() -> None:
        for row in rows:
            index.stab(row)

    return Runner(call, len(points), lambda: singles([index.stab(row) for row in rows]), index)


def written(count: int, id_type: Any, rows: int) -> tuple[Any, Any]:
    """The least that any index must do."""
    ids, offsets = np.empty(count, id_type), np.empty(rows + 1, np.int64)
    ids.fill(1)
    offsets.fill(1)
    return ids, offsets


def singles(results: list[wl.index.Matches]) -> Fingerprint:
    """The fingerprint of rows that were searched one by one."""
    rows = np.repeat(np.arange(len(results)), [len(found) for found in results])
    return fingerprint(rows, np.concatenate([found.ids for found in results]))
