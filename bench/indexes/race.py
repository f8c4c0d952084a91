"""The race against the peers, and of one thread against all.

All contestants take turns, so that all see the same noise. Each run begins with no free memory at
hand, so that all pay for touching what they write. The clock stops before a result is dropped, and
the garbage collector is off while it runs (a rival that makes Python lists gains by that). All must
find the same pairs. Where a library has several ways, its ratio is that of the fastest in the run.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numba

import watchline as wl
from bench.common.report import agreed, amount, attempt, failure_row, number, publish, say, table
from bench.common.workloads import Fingerprint, Workload, fingerprint, setting
from bench.indexes import memory
from bench.indexes.memory import mib
from bench.indexes.peers import OURS, Contestant, contestants, copy, own

HEADER = ["who", "best / median", "M points/s", "× ours", "× copy", "index, MiB", "build"]


class Target(NamedTuple):
    """How many times as long a rival must take as ours (the first), and should; for the copy how
    many times as long ours may take at most."""

    rival: str
    must: float
    aim: float


TARGETS = {
    "A": [Target("NCLS", 5, 10), Target("superintervals", 4, 7), Target("cold copy", 4, 2)],
    "B": [Target("NCLS", 6, 10), Target("superintervals", 4, 7), Target("cold copy", 4, 2)],
    "C": [
        Target("shapely", 10, 15),
        Target("geoindex-rs", 10, 15),
        Target("rtree", 10, 15),
        Target("cold copy", 6, 3),
    ],
}


@dataclass
class Entry:
    """A contestant with its index, ready to run, and its times."""

    who: Contestant
    index: Any
    call: Callable[[], Any]
    built: float
    points: int
    seconds: list[float]

    def answer(self) -> Fingerprint:
        return fingerprint(*self.who.pairs(self.index, self.call()))


def clocked(call: Callable[[], Any], cold: bool = False) -> tuple[float, Any]:
    """Seconds of one call, and its result; cold: all free memory was given back before."""
    gc.collect()
    if cold:
        memory.give_back()
    gc.disable()
    try:
        start = time.perf_counter()
        result = call()
        return time.perf_counter() - start, result
    finally:
        gc.enable()


def best_of(call: Callable[[], Any], rounds: int) -> float:
    return min(clocked(call)[0] for _ in range(rounds))


def peers(quick: bool) -> Iterator[str]:
    numba.set_num_threads(1)
    yield "## Peers, one thread"
    for name in "ABC":
        w = setting(name, quick)
        done = race(w)
        yield heading(w, done.found)
        lost = [failure_row(who, len(HEADER)) for who in done.lost]
        yield table(HEADER, [*lines(w, done.entries, quick), *lost])
        yield table(["target", "must", "aim", "measured"], targets(w, done.entries))
    yield (
        "× ours: of the time of the first row. Index: `nbytes` for ours; for the others what a"
        " fresh process grew by (shapely's with the boxes as geometries). Points are turned into"
        " what a rival takes before the clock starts. (×): on the first 100,000 points, times as"
        " many more as there are."
    )


def heading(w: Workload, found: Fingerprint) -> str:
    what = "intervals" if w.dims == 1 else "boxes"
    return (
        f"### {w.name}: {len(w.lo):,} {what}, {len(w.points):,} points,"
        f" {found.count / len(w.points):.1f} matches a point; all found the same"
        f" {found.count:,} pairs"
    )


@dataclass(frozen=True)
class Race:
    """Who got through, ours first and the copy of its answer last; who did not; and the pairs that
    all found."""

    entries: list[Entry]
    lost: list[str]
    found: Fingerprint


def race(w: Workload) -> Race:
    everyone = contestants(w)
    return raced(w, [*everyone, copy(everyone[0])])


def raced(w: Workload, everyone: list[Contestant]) -> Race:
    """All of them in turns; the first, ours, must get through."""
    entries = {who.name: attempt(who.name, partial(entered, w, who)) for who in everyone}
    first = entries[everyone[0].name]
    if first is None:
        raise RuntimeError(f"{everyone[0].name} failed, and is what all others are compared with")
    ready = {name: entry for name, entry in entries.items() if entry is not None}
    for points in {entry.points for entry in ready.values()}:
        expected = answer(first, w, points)
        alike = {
            n: attempt(n, entry.answer) for n, entry in ready.items() if entry.points == points
        }
        right = agreed(alike, expected)
        ready = {n: e for n, e in ready.items() if n not in alike or n in right}
    take_turns(w, ready)
    lost = [who.name for who in everyone if who.name not in ready]
    return Race(list(ready.values()), lost, answer(first, w, len(w.points)))


def answer(first: Entry, w: Workload, points: int) -> Fingerprint:
    """What the first finds for so many points."""
    found = first.who.prepare(first.index, w.points[:points])()
    return fingerprint(*first.who.pairs(first.index, found))


def take_turns(w: Workload, entries: dict[str, Entry]) -> None:
    """Each as often as it has rounds; seconds are those of all points. Who throws is out."""
    for turn in range(max(entry.who.rounds for entry in entries.values())):
        say(f"{w.name}: round {turn + 1}")
        for name, entry in list(entries.items()):
            if turn < entry.who.rounds:
                done = attempt(name, partial(clocked, entry.call, cold=True))
                if done is None:
                    del entries[name]
                else:
                    entry.seconds.append(done[0] * len(w.points) / entry.points)


def entered(w: Workload, who: Contestant) -> Entry:
    say(f"{w.name}: {who.name}")
    few = w.few()
    who.prepare(who.build(few), few.points)()
    built, index = clocked(lambda: who.build(w))
    points = w.points[: who.most]
    return Entry(who, index, who.prepare(index, points), built, len(points), [])


def lines(w: Workload, entries: list[Entry], quick: bool) -> Iterator[list[str]]:
    first, total = min(entries[0].seconds), len(w.points)
    last = next((min(e.seconds) for e in entries if is_copy(e)), float("nan"))
    for entry in entries:
        best = min(entry.seconds)
        yield [
            entry.who.name + (" (×)" if entry.points < total else ""),
            f"{amount(best)} / {amount(statistics.median(entry.seconds))}",
            f"{total / best / 1e6:,.2f}",
            f"{best / first:.2f}",
            number(best / last, ".2f"),
            "" if is_copy(entry) else size_of(w, entry, quick),
            "" if is_copy(entry) else amount(entry.built),
        ]


def is_copy(entry: Entry) -> bool:
    return entry.who.name.startswith("cold copy")


def targets(w: Workload, entries: list[Entry]) -> Iterator[list[str]]:
    ours = entries[0]
    for rival, must, aim in TARGETS[w.name]:
        rivals = [entry for entry in entries if entry.who.name.startswith(rival)]
        if not rivals:
            yield [rival, f"{must:g}", f"{aim:g}", "**failed**"]
            continue
        best = min(rivals, key=lambda entry: min(entry.seconds))
        ratio = min(best.seconds) / min(ours.seconds)
        if rival == "cold copy":
            ratio = publish(f"{w.name}: {ours.who.name} / cold copy", 1 / ratio)
            yield ["ours / cold copy", f"≤ {must:g}", f"≤ {aim:g}", f"{ratio:.2f}"]
        else:
            publish(f"{w.name}: {rival} / {ours.who.name}", ratio)
            yield [f"{best.who.name} / ours", f"≥ {must:g}", f"≥ {aim:g}", f"{ratio:.2f}"]


def size_of(w: Workload, entry: Entry, quick: bool) -> str:
    """MiB. A rival's takes a process of its own, of which the part `memory` has some if quick."""
    if entry.who.kind:
        return mib(entry.index.nbytes)
    return "–" if quick else mib(memory.measured(w.name, entry.who.name, quick).process)


def parallel(quick: bool) -> Iterator[str]:
    """One thread and all of them."""
    every = numba.config.NUMBA_NUM_THREADS
    yield "## Threads"
    rows = []
    for name in "ABC":
        w = setting(name, quick)
        who = own("cei" if w.dims == 1 else "ces")
        say(f"threads: {w.name}")
        index = who.build(w)
        seconds = by_threads(index, w, OURS)
        speeds = [f"{amount(s)} ({len(w.points) / s / 1e6:,.1f} M/s)" for s in seconds]
        gain = publish(f"{w.name}: 1 thread / {every} threads, {who.name}", seconds[0] / seconds[1])
        rows.append([f"{w.name}, {who.name}", *speeds, f"{gain:.2f}×"])
    yield table(["setting", "1 thread", f"{every} threads", "faster"], rows)


def by_threads(index: wl.index.Index, w: Workload, rounds: int) -> tuple[float, float]:
    """Seconds with one thread and with all of them, the best of rounds in turns."""
    every = numba.config.NUMBA_NUM_THREADS
    turns = [[_stab_with(n, index, w) for n in (1, every)] for _ in range(rounds)]
    numba.set_num_threads(1)
    one, all_of_them = (min(seconds) for seconds in zip(*turns, strict=True))
    return one, all_of_them


def _stab_with(threads: int, index: wl.index.Index, w: Workload) -> float:
    numba.set_num_threads(threads)
    return clocked(lambda: index.stab(w.points), cold=True)[0]
