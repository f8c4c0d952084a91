"""Selection queries that come and go, one by one and many at once; shapes that leave an index
little to divide; and memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np

import watchline as wl
from bench.common.report import amount, number, say, table
from bench.common.workloads import Fingerprint, Workload
from bench.indexes import changes
from bench.indexes.memory import mib
from bench.indexes.race import clocked
from bench.spatial.race import KINDS, OURS, RIVALS, Outcome, Scale, raced
from bench.spatial.selections import ABOVE, BELOW, print_of, selections, uniform, workload
from watchline.kernels.arrays import Doubles

CHANGING = tuple(kind for kind in KINDS if kind != "twophase")


def dynamic(quick: bool, _: Path) -> Iterator[str]:
    numba.set_num_threads(1)
    yield from singly(quick)
    yield from in_bulk(quick)
    scale = Scale(100, 30, 3, 1, 500) if quick else Scale(batch=2_000, rounds=5)
    outcomes = {w.name: raced(w, scale) for w in shapes(scale)}
    yield from odd_shapes(outcomes, scale)
    yield from sizes(quick, outcomes)


# --- one by one, and many at once


def singly(quick: bool) -> Iterator[str]:
    inserts, removes = (100, 50) if quick else (20_000, 5_000)
    for attributes in (4, 8):
        yield f"## One by one, {attributes} attributes: {inserts:,} inserts, {removes:,} removes"
        w = workload(inserts, attributes, changes.POINTS)
        yield table(changes.HEADER, (changes.changed(kind, w, removes) for kind in CHANGING))
    yield (
        f"A search after each {changes.EVERY:,} changes. The answers after the removes are those"
        " of a scan of what is left; then all else is removed at once."
    )


def in_bulk(quick: bool) -> Iterator[str]:
    n, more, rows = (300, 30, 30) if quick else (100_000, 10_000, 1_000)
    header = ["index", "build", f"insert {more:,}", "search", "again", f"remove {more:,}"]
    for attributes in (4, 8):
        yield f"## Many at once, {attributes} attributes: {n:,} queries, {more:,} come and go"
        w = workload(n + more, attributes, rows)
        found = [bulk(kind, w, n) for kind in CHANGING]
        assert len({prints for _, prints in found}) == 1, found
        yield table([*header, "search", "again"], (line for line, _ in found))
    yield f"A search is of {rows:,} rows. All answers are the same."


def bulk(kind: str, w: Workload, n: int) -> tuple[list[str], tuple[Fingerprint, ...]]:
    """The times of one index, and its answers with all queries and after the first have gone."""
    say(f"in bulk: {kind}, {w.name}")
    few = w.few()
    wl.index.build(kind, few.lo, few.hi).stab(few.points)
    built, index = clocked(lambda: wl.index.build(kind, w.lo[:n], w.hi[:n]))
    index.stab(w.points)
    late = np.arange(n, len(w.lo))
    inserted = clocked(lambda: index.insert(late, w.lo[n:], w.hi[n:]))[0]
    first, all_of_them = clocked(lambda: index.stab(w.points))
    second = clocked(lambda: index.stab(w.points))[0]
    removed = clocked(lambda: index.remove(late - n))[0]
    third, fewer = clocked(lambda: index.stab(w.points))
    fourth = clocked(lambda: index.stab(w.points))[0]
    times = (built, inserted, first, second, removed, third, fourth)
    line = [f"`{kind}`", *(amount(seconds) for seconds in times)]
    return line, (print_of(all_of_them), print_of(fewer))


# --- shapes


def odd_shapes(outcomes: dict[str, Outcome], scale: Scale) -> Iterator[str]:
    yield f"## Shapes: {scale.batch:,} rows a batch"
    rows = []
    for name, outcome in outcomes.items():
        times = (number(m.nanoseconds / 1e3, ",.2f") for m in outcome.measures.values())
        gains = (number(outcome.times(rival, "batch")) for rival in RIVALS)
        of_floor = number(outcome.times("batch", "floor"), ".2f")
        rows.append([name, f"{outcome.matches:,.1f}", *times, *gains, of_floor])
    who = [f"{name}, µs" for name in next(iter(outcomes.values())).measures]
    gain = [f"{rival} / batch" for rival in RIVALS]
    yield table(["queries", "matches a row", *who, *gain, "batch / floor"], rows)
    yield f"Of a row, the best of {scale.rounds} rounds."


def shapes(scale: Scale) -> Iterator[Workload]:
    n = scale.queries(100_000)
    one_sided = selections(n, 4, conditions=(BELOW, ABOVE))
    yield Workload(f"{n:,} one-sided, 4 attributes", *one_sided, uniform(scale.batch, 4), 1)
    yield huge(n // 10, uniform(scale.batch, 4))
    for attributes in (12, 20):
        yield workload(n, attributes, scale.batch, mentioned=2)


def huge(n: int, points: Doubles) -> Workload:
    """Boxes that begin in the first twentieth and end in the last: a row meets four of five."""
    rng = np.random.default_rng(8)
    lo = rng.uniform(0, 0.05, (n, points.shape[1]))
    hi = rng.uniform(0.95, 1, (n, points.shape[1]))
    return Workload(f"{n:,} huge ones, {points.shape[1]} attributes", lo, hi, points, 1)


# --- memory


def sizes(quick: bool, outcomes: dict[str, Outcome]) -> Iterator[str]:
    yield "## Memory: `nbytes`, MiB"
    rows = []
    for n in (300,) if quick else (10_000, 100_000):
        for attributes in (4, 8):
            w = workload(n, attributes, 10)
            say(f"memory: {w.name}")
            rows.append(size_line(w.name, n, [searched(kind, w) for kind in KINDS]))
    for name, outcome in outcomes.items():
        measures = [outcome.measures["batch"], *(outcome.measures[rival] for rival in RIVALS)]
        count = int(name.split()[0].replace(",", ""))
        rows.append(size_line(name, count, [m.bytes for m in measures]))
    header = ["queries", *(f"`{kind}`" for kind in KINDS), f"`{OURS}`, bytes a query"]
    yield table(header, rows)


def searched(kind: str, w: Workload) -> int:
    """Bytes after a search: some indexes finish building in the first."""
    index = wl.index.build(kind, w.lo, w.hi)
    index.stab(w.points)
    return index.nbytes


def size_line(name: str, n: int, found: list[int]) -> list[str]:
    return [name, *(mib(size) for size in found), f"{found[0] / n:,.0f}"]
