"""Boxes that come and go one by one, with searches in between: time of each call, and memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numba
import numpy as np

import watchline as wl
from bench.common.report import say, table
from bench.common.workloads import LARGE, Fingerprint, Workload, boxes, fingerprint, intervals
from bench.indexes.memory import mib, resident

# Changes between two searches, and points of a search.
EVERY, POINTS = 1_000, 1_000

HEADER = [
    "index",
    "inserts",
    "an insert, µs",
    "removes",
    "a remove, µs",
    f"a stab of {POINTS:,}, while inserting, ms",
    "while removing, ms",
    "MiB, and the process's, at the peak",
    "after the last was removed",
]


@dataclass
class Clock:
    changes: float = 0.0
    stabs: float = 0.0
    searches: int = 0


def dynamic(quick: bool) -> Iterator[str]:
    numba.set_num_threads(1)
    inserts, removes = (400, 100) if quick else (1_000_000, 100_000)
    yield f"## One by one: {inserts:,} inserts, then {removes:,} removes"
    rows = [
        changed("cei", intervals("", inserts, 200, LARGE, POINTS), removes),
        changed("ces", boxes("", inserts, 60, 4_096, POINTS), removes),
    ]
    yield table(HEADER, rows)
    yield (
        f"A search after each {EVERY:,} changes. The answers after the removes are those of a scan"
        " of what is left; then all else is removed at once."
    )


def changed(kind: str, w: Workload, removes: int) -> list[str]:
    warm_up(kind, w)
    start = resident()
    index = wl.index.build(kind, w.lo[:0], w.hi[:0])
    ids = np.random.default_rng(5).permutation(len(w.lo))
    say(f"{kind}: {len(ids):,} inserts")
    inserting = insert_each(index, ids, w)
    peak = f"{mib(index.nbytes)}, {mib(resident() - start)}"
    say(f"{kind}: {removes:,} removes")
    removing = remove_each(index, ids[:removes], w)
    check(index, w, ids[removes:])
    index.remove(ids[removes:])
    empty = f"{index.nbytes / 2**20:.3f}, {mib(resident() - start)}"
    return [
        f"`{kind}`",
        f"{inserting.changes:.1f} s",
        f"{inserting.changes / len(ids) * 1e6:.1f}",
        f"{removing.changes:.1f} s",
        f"{removing.changes / removes * 1e6:.1f}",
        f"{inserting.stabs / inserting.searches * 1e3:.2f}",
        f"{removing.stabs / removing.searches * 1e3:.2f}",
        peak,
        empty,
    ]


def warm_up(kind: str, w: Workload) -> None:
    few = w.few()
    index = wl.index.build(kind, few.lo[:0], few.hi[:0])
    ids = np.arange(len(few.lo))
    insert_each(index, ids, few)
    remove_each(index, ids[:100], few)
    index.stab(few.points)
    index.remove(ids[100:])


def insert_each(index: wl.index.Index, ids: np.ndarray, w: Workload) -> Clock:
    return one_by_one(
        index, w, len(ids), lambda i: index.insert(ids[i : i + 1], w.lo[i : i + 1], w.hi[i : i + 1])
    )


def remove_each(index: wl.index.Index, ids: np.ndarray, w: Workload) -> Clock:
    return one_by_one(index, w, len(ids), lambda i: index.remove(ids[i : i + 1]))


def one_by_one(
    index: wl.index.Index, w: Workload, count: int, change: Callable[[int], None]
) -> Clock:
    """So many changes, with a search after each EVERY of them."""
    clock = Clock()
    for begin in range(0, count, EVERY):
        start = time.perf_counter()
        for i in range(begin, min(begin + EVERY, count)):
            change(i)
        clock.changes += time.perf_counter() - start
        search(index, w, clock)
    return clock


def search(index: wl.index.Index, w: Workload, clock: Clock) -> None:
    start = time.perf_counter()
    index.stab(w.points)
    clock.stabs += time.perf_counter() - start
    clock.searches += 1


def check(index: wl.index.Index, w: Workload, ids: np.ndarray) -> None:
    """The boxes that are left were the last to come: their answers are the scan's."""
    left = slice(len(w.lo) - len(ids), None)
    scan = wl.index.build("scan", w.lo[left], w.hi[left], ids)
    points = w.points[:200]
    assert answer(index, points) == answer(scan, points)


def answer(index: wl.index.Index, points: np.ndarray) -> Fingerprint:
    found = index.stab(points)
    return fingerprint(found.rows(), found.ids)
