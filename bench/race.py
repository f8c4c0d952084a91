"""The race against the peers, and of one thread against all.

All contestants take turns, so that all see the same noise. Each run begins with no free memory at
hand, so that all pay for touching what they write. The clock stops before a result is dropped, and
the garbage collector is off while it runs (a rival that makes Python lists gains by that). All must
find the same pairs.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba

import watchline as wl
from bench import memory
from bench.memory import mib
from bench.peers import OURS, Contestant, contestants, copy, own
from bench.report import amount, say, table
from bench.workloads import Fingerprint, Workload, fingerprint, setting

HEADER = ["who", "best / median", "M points/s", "× ours", "× copy", "index, MiB", "build"]


class Target(NamedTuple):
    """How many times as long a rival must take as ours (the first), and should; for the copy how
    many times as long ours may take at most."""

    rival: str
    must: float
    aim: float


TARGETS = {
    "A": [Target("NCLS, int64", 5, 10), Target("superintervals", 4, 7), Target("cold copy", 4, 2)],
    "B": [Target("NCLS, int64", 6, 10), Target("superintervals", 4, 7), Target("cold copy", 4, 2)],
    "C": [
        Target("shapely", 10, 15),
        Target("geoindex-rs, join", 10, 15),
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
        found, entries = race(w)
        yield heading(w, found)
        yield table(HEADER, lines(w, entries, quick))
        if not quick:
            yield table(["target", "must", "aim", "measured"], targets(w, entries))
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


def race(w: Workload) -> tuple[Fingerprint, list[Entry]]:
    everyone = contestants(w)
    entries = [entered(w, who) for who in [*everyone, copy(everyone[0])]]
    found = agreed(w, entries)
    take_turns(w, entries)
    return found, entries


def take_turns(w: Workload, entries: list[Entry]) -> None:
    """Each as often as it has rounds; seconds are those of all points."""
    for turn in range(max(entry.who.rounds for entry in entries)):
        say(f"{w.name}: round {turn + 1}")
        for entry in entries:
            if turn < entry.who.rounds:
                seconds = clocked(entry.call, cold=True)[0]
                entry.seconds.append(seconds * len(w.points) / entry.points)


def entered(w: Workload, who: Contestant) -> Entry:
    say(f"{w.name}: {who.name}")
    few = w.few()
    who.prepare(who.build(few), few.points)()
    built, index = clocked(lambda: who.build(w))
    points = w.points[: who.most]
    return Entry(who, index, who.prepare(index, points), built, len(points), [])


def agreed(w: Workload, entries: list[Entry]) -> Fingerprint:
    """The pairs that all found; those of fewer points are compared with the first's."""
    expected: dict[int, Fingerprint] = {}
    for entry in entries:
        if entry.points not in expected:
            first = entries[0].index.stab(w.points[: entry.points])
            expected[entry.points] = fingerprint(first.rows(), first.ids)
        found = fingerprint(*entry.who.pairs(entry.index, entry.call()))
        assert found == expected[entry.points], (entry.who.name, found, expected[entry.points])
    return expected[len(w.points)]


def lines(w: Workload, entries: list[Entry], quick: bool) -> Iterator[list[str]]:
    first, last = min(entries[0].seconds), min(entries[-1].seconds)
    total = len(w.points)
    for entry in entries:
        best = min(entry.seconds)
        is_copy = entry is entries[-1]
        yield [
            entry.who.name + (" (×)" if entry.points < total else ""),
            f"{amount(best)} / {amount(statistics.median(entry.seconds))}",
            f"{total / best / 1e6:,.2f}",
            f"{best / first:.2f}",
            f"{best / last:.2f}",
            "" if is_copy else mib(size_of(w, entry, quick)),
            "" if is_copy else amount(entry.built),
        ]


def targets(w: Workload, entries: list[Entry]) -> Iterator[list[str]]:
    ours = min(entries[0].seconds)
    for rival, must, aim in TARGETS[w.name]:
        entry = next(e for e in entries if e.who.name.startswith(rival))
        ratio = min(entry.seconds) / ours
        if rival == "cold copy":
            yield [f"ours / {rival}", f"≤ {must:g}", f"≤ {aim:g}", f"{1 / ratio:.2f}"]
        else:
            yield [f"{entry.who.name} / ours", f"≥ {must:g}", f"≥ {aim:g}", f"{ratio:.2f}"]


def size_of(w: Workload, entry: Entry, quick: bool) -> int:
    if entry.who.kind:
        return int(entry.index.nbytes)
    return memory.measured(w.name, entry.who.name, quick).process


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
        turns = [[stab_with(threads, index, w) for threads in (1, every)] for _ in range(OURS)]
        seconds = [min(turn[i] for turn in turns) for i in (0, 1)]
        speeds = [f"{amount(s)} ({len(w.points) / s / 1e6:,.1f} M/s)" for s in seconds]
        rows.append([f"{w.name}, {who.name}", *speeds, f"{seconds[0] / seconds[1]:.2f}×"])
    numba.set_num_threads(1)
    yield table(["setting", "1 thread", f"{every} threads", "faster"], rows)


def stab_with(threads: int, index: wl.index.Index, w: Workload) -> float:
    numba.set_num_threads(threads)
    return clocked(lambda: index.stab(w.points))[0]
