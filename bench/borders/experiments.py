"""Border monitoring: the experiments of the BMQ-Index paper (section 5), against its rival.

    python -m bench.borders [sweeps|kernel|dims|memory …] [--quick] [--runs N] [--figures FOLDER]

Streams wander over the domain [0, 10^6] by Gaussian steps whose mean length is FL of it, reflected
at its ends, and report in turn. All contestants get the same calls of a few reports of each stream,
one after the other, so that all see the same noise; they must find the same crossings. A time is
that of the best of several rounds, each of many calls; a ratio is the median over the calls.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.common.plots import Line, Panel, draw
from bench.common.report import (
    Part,
    agreed,
    attempt,
    in_turn,
    number,
    plain,
    publish,
    say,
    table,
    timed,
)
from bench.common.workloads import Fingerprint, fingerprint
from bench.indexes.memory import mib, resident
from watchline.borders import AUTO, WALK, BorderIndex
from watchline.borders.papers.diff import DiffRmq
from watchline.kernels.arrays import Doubles

DOMAIN = 1e6
STREAMS, TUPLES = 2_000, 1_000
# Reports of each stream in a call, fewer if it finds much; rounds, of which the best counts.
CALL, SMALL_CALL, ROUNDS = 10, 2, 5
# Beyond this FL a walk alone takes seconds for a call: a tenth of the reports.
FAR = 0.005

MAKERS: dict[str, Callable[[], Any]] = {
    "border": lambda: BorderIndex(1, steps=AUTO),
    "walk": lambda: BorderIndex(1, steps=WALK),
    "cei": lambda: DiffRmq("cei"),
    "islist": lambda: DiffRmq("islist"),
}
NAMES = {
    "border": "BorderIndex",
    "walk": "walk only",
    "cei": "DiffRMQ, `cei`",
    "islist": "DiffRMQ, `islist`",
}


@dataclass(frozen=True)
class Setting:
    """N queries of width W, steps of mean length FL; both as parts of the domain."""

    N: int = 100_000
    W: float = 0.001
    FL: float = 0.0001
    tuples: int = TUPLES
    streams: int = STREAMS

    def scaled(self, quick: bool) -> Setting:
        """The same with few queries, streams and reports, if it is to be quick."""
        if not quick:
            return self
        return replace(self, N=max(self.N // 50, 20), tuples=50, streams=50)

    @property
    def call(self) -> int:
        return CALL if self.FL * self.N < 30 else SMALL_CALL

    def queries(self, dims: int = 1) -> tuple[Doubles, Doubles]:
        rng = np.random.default_rng(1)
        lo = rng.uniform(0, DOMAIN * (1 - self.W), (self.N, dims))
        return lo, lo + self.W * DOMAIN

    def walks(self, dims: int = 1) -> Doubles:
        """(tuples + 1, streams, dims): where each stream is, from its first report on."""
        rng = np.random.default_rng(2)
        steps = rng.normal(size=(self.tuples, self.streams, dims))
        steps *= self.FL * DOMAIN / np.sqrt((steps**2).sum(axis=2)).mean()
        values = np.empty((self.tuples + 1, self.streams, dims))
        values[0] = rng.uniform(0, DOMAIN, (self.streams, dims))
        for t in range(self.tuples):
            values[t + 1] = _reflected(values[t] + steps[t])
        return values


def _reflected(values: Doubles) -> Doubles:
    folded = np.abs(values) % (2 * DOMAIN)
    return np.minimum(folded, 2 * DOMAIN - folded)


@dataclass
class Run:
    """A contestant, and its seconds a row in each call."""

    index: Any
    calls: list[float] = field(default_factory=list)

    def advance(self, streams: Any, values: Doubles) -> Fingerprint:
        """One more call, by the clock; what it found."""
        start = time.perf_counter()
        found = self.index.advance(streams, values)
        self.calls.append((time.perf_counter() - start) / len(streams))
        return fingerprint(2 * found.rows + (found.signs > 0), found.ids)

    @property
    def rounds(self) -> list[float]:
        return [float(part.mean()) for part in np.array_split(self.calls, ROUNDS)]

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def median(self) -> float:
        return float(np.median(self.rounds))

    def times(self, other: Run) -> float:
        """How many times as long the other takes, for the same call."""
        return float(np.median(np.array(other.calls) / self.calls))


# Of a contestant that failed.
NEVER = Run(None, [np.nan])


def race(setting: Setting, makers: dict[str, Callable[[], Any]], dims: int = 1) -> dict[str, Run]:
    """All contestants over all reports; those that get through find what the first finds."""
    values = setting.walks(dims)
    entered = {
        name: attempt(name, partial(ready, setting, make, values[0]))
        for name, make in makers.items()
    }
    runs = {name: run for name, run in entered.items() if run is not None}
    streams = np.tile(np.arange(setting.streams), setting.call)
    for turn, t in enumerate(range(1, len(values), setting.call)):
        reports = values[t : t + setting.call].reshape(-1, dims)
        found = {
            name: attempt(name, partial(runs[name].advance, streams, reports))
            for name in in_turn(list(runs), turn)
        }
        right = agreed(found, found[next(iter(runs))])
        runs = {name: run for name, run in runs.items() if name in right}
    return runs


def ready(setting: Setting, make: Callable[[], Any], values: Doubles) -> Run:
    """A contestant that has all queries, and where each stream is."""
    index, streams = make(), np.arange(setting.streams)
    index.insert(np.arange(setting.N), *setting.queries(values.shape[1]))
    for _ in range(2):
        index.advance(streams, values)
    return Run(index)


@dataclass(frozen=True)
class Work:
    """What a report reads and finds, counted from the sorted borders and not by any index."""

    found: float
    walked: float
    answers: float
    expected: float

    @property
    def efficiency(self) -> str:
        """Search efficiency: of a walk, by the formula, and of the rival."""
        parts = self.found / self.walked, self.expected, self.found / self.answers
        return " / ".join(f"{100 * part:.1f} %" for part in parts)


def work(setting: Setting) -> Work:
    lo, hi = (np.sort(side[:, 0]) for side in setting.queries())
    values = setting.walks()[:, :, 0]
    below = np.searchsorted(lo, values, "right"), np.searchsorted(hi, values, "right")
    old, new = values[:-1], values[1:]
    step, width = np.abs(new - old), setting.W * DOMAIN
    walked = sum(np.abs(np.diff(rank, axis=0)).sum() for rank in below)
    # All are of one width: those that are jumped over begin after the one end and end before the
    # other.
    first, last = np.minimum(old, new), np.maximum(old, new)
    over = np.searchsorted(lo, last - width, "right") - np.searchsorted(lo, first, "right")
    answer = below[0] - below[1]
    return Work(
        found=(walked - 2 * np.maximum(over, 0).sum()) / step.size,
        walked=walked / step.size,
        answers=(answer[:-1] + answer[1:]).sum() / step.size,
        expected=float(np.minimum(step, width).sum() / step.sum()),
    )


# --- parts


def sweeps(quick: bool, figures: Path) -> Iterator[str]:
    yield "## Time, search efficiency and storage (the paper's Figures 6 to 9)"
    counts = (10_000, 25_000, 50_000, 75_000, 100_000)
    widths = (0.0001, 0.00025, 0.0005, 0.00075, 0.001)
    levels = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.1)
    plans = [
        ("N", "queries", [Setting(N=n) for n in counts]),
        ("W", "width of a query, %", [Setting(W=w) for w in widths]),
        (
            "FL",
            "mean step, %",
            [Setting(FL=f, tuples=TUPLES // (10 if f > FAR else 1)) for f in levels],
        ),
    ]
    for name, axis, full in plans:
        settings = [s.scaled(quick) for s in full[:: 3 if quick else 1]]
        xs, results = [getattr(s, name) for s in settings], []
        for setting in settings:
            say(f"sweeps: {name}, {setting}")
            results.append((race(setting, MAKERS), work(setting)))
        percent = name != "N"
        labels = [f"{100 * x:g} %" if percent else f"{x:,}" for x in xs]
        yield f"### By {name} ({_fixed(name, quick)})"
        yield table(
            [name, "crossings", *(f"{n}, ns" for n in NAMES.values()), "faster", "SE", "MiB"],
            [
                [label, *_line(f"{name} = {label}", *result)]
                for label, result in zip(labels, results, strict=True)
            ],
        )
        places = [100 * x if percent else x for x in xs]
        _figure(
            figures / f"border-{name}.svg",
            f"By {name}, {_fixed(name, quick)}",
            axis,
            places,
            results,
        )
    yield (
        "Crossings: for each report. ns: for each report, best of"
        f" {ROUNDS} rounds / median. Faster: the better DiffRMQ's time over BorderIndex's, median"
        " over calls. SE:"
        " search efficiency, of a walk / by E[min(step, W)] / E[step] / of DiffRMQ, counted from"
        " the borders. MiB: `nbytes` of BorderIndex, DiffRMQ on `cei`, on `islist`."
    )


def _fixed(name: str, quick: bool) -> str:
    usual = Setting().scaled(quick)
    fixed = {"N": f"N = {usual.N:,}", "W": "W = 0.1 %", "FL": "FL = 0.01 %"}
    return ", ".join(text for key, text in fixed.items() if key != name)


def _line(where: str, runs: dict[str, Run], done: Work) -> list[str]:
    every = [runs.get(name, NEVER) for name in MAKERS]
    rivals = [runs[name] for name in ("cei", "islist") if name in runs]
    ratio = min((runs["border"].times(rival) for rival in rivals), default=np.nan)
    publish(f"the better DiffRMQ / BorderIndex, {where}", ratio)
    sizes = [mib(runs[name].index.nbytes) for name in ("border", "cei", "islist") if name in runs]
    return [
        f"{done.found:.1f}",
        *(
            f"{number(run.best * 1e9, ',.0f')} / {number(run.median * 1e9, ',.0f')}"
            for run in every
        ),
        f"{number(ratio)}×",
        done.efficiency,
        " / ".join(sizes),
    ]


def _figure(path: Path, title: str, axis: str, xs: list[float], results: list[Any]) -> None:
    times: dict[str, Line] = {
        name: [runs[name].best * 1e9 if name in runs else None for runs, _ in results]
        for name in MAKERS
    }
    sizes: dict[str, Line] = {
        name: [runs[name].index.nbytes / 2**20 if name in runs else None for runs, _ in results]
        for name in MAKERS
        if name != "walk"
    }
    draw(
        path,
        title,
        axis,
        xs,
        [Panel("time of a report", "ns", times, {}), Panel("storage", "MiB", sizes, {})],
    )


def kernel(quick: bool) -> Iterator[str]:
    yield f"## Small steps: {_fixed('FL', quick)}"
    rows = []
    for level in (0.00001, 0.000001):
        setting = Setting(FL=level).scaled(quick)
        say(f"kernel: {setting}")
        own = race(setting, {"border": MAKERS["border"]})["border"]
        times = min(own.calls), own.best, own.median
        rows.append(
            [
                f"{100 * level:g} %",
                f"{work(setting).found:.2f}",
                " / ".join(f"{seconds * 1e9:.1f}" for seconds in times),
                " / ".join(f"{1e-6 / seconds:.1f}" for seconds in times),
            ]
        )
    yield table(["FL", "crossings", "ns", "M rows/s: best call / best round / median round"], rows)


def dims(quick: bool) -> Iterator[str]:
    setting = Setting(W=0.1, tuples=200).scaled(quick)
    yield (
        f"## Several dimensions: N = {setting.N:,}, W = 10 % of each, steps of the same Euclidean"
        " length"
    )
    rows = []
    first = 0.0
    for d in (1, 2, 3, 4):
        say(f"dims: {d}")
        makers: dict[str, Callable[[], Any]] = {
            "border": partial(BorderIndex, d),
            "walk": partial(BorderIndex, d, steps=WALK),
        }
        own = race(setting, makers, d)["border"]
        first = first or own.best
        rows.append(
            [
                f"{d}",
                f"{own.best * 1e9:,.0f} / {own.median * 1e9:,.0f}",
                f"{own.best / first:.2f}",
                f"{(d - 1) * d**0.5:.2f}" if d > 1 else "",
                mib(own.index.nbytes),
            ]
        )
    yield table(["d", "ns a report, best / median", "of d = 1", "(d − 1)·√d", "MiB"], rows)


def memory(quick: bool) -> Iterator[str]:
    count = 10_000 if quick else 1_000_000
    yield f"## Memory and registration: {count:,} queries, {count:,} streams"
    task = [sys.executable, "-c", f"from bench.borders.experiments import grown; grown({count})"]
    say("memory")
    done = json.loads(subprocess.run(task, capture_output=True, text=True, check=True).stdout)
    yield table(
        ["`nbytes`, MiB", "process, MiB", "bytes a query", "bytes a stream", "insert", "advance"],
        [
            [
                mib(done["told"]),
                mib(done["process"]),
                f"{done['queries'] / count:.0f}",
                f"{(done['told'] - done['queries']) / count:.0f}",
                f"{done['insert']:.2f} s",
                f"{done['advance']:.2f} s",
            ]
        ],
    )
    each = 50 if quick else 10_000
    rows = []
    for n in (100, 1_000) if quick else (1_000, 10_000, 100_000, 1_000_000):
        say(f"registrations at {n:,}")
        rows.append([f"{n:,}", *_registrations(n, each)])
    yield f"{each:,} registrations one by one, {STREAMS:,} streams:"
    yield table(["N before", "an insert, µs", "generations", "a remove, µs", "a report, ns"], rows)


def _registrations(n: int, each: int) -> list[str]:
    setting = Setting(N=n + each, tuples=4 * CALL)
    lo, hi = setting.queries()
    values = setting.walks()
    index = BorderIndex(1)
    index.insert(np.arange(n), lo[:n], hi[:n])
    index.advance(np.arange(STREAMS), values[0])
    start = time.perf_counter()
    for i in range(n, n + each):
        index.insert([i], lo[i], hi[i])
    inserted = time.perf_counter()
    generations = len(index._lists.entries)
    streams = np.tile(np.arange(STREAMS), CALL)
    calls = [values[t : t + CALL].reshape(-1) for t in range(1, len(values), CALL)]
    report = min(timed(partial(index.advance, streams, call))[0] for call in calls) / len(streams)
    begin = time.perf_counter()
    for i in range(n, n + each):
        index.remove([i])
    removed = time.perf_counter() - begin
    return [
        f"{(inserted - start) / each * 1e6:.0f}",
        f"{generations}",
        f"{removed / each * 1e6:.0f}",
        f"{report * 1e9:.0f}",
    ]


def grown(count: int) -> None:
    """In a process of its own: what so many queries and streams take."""
    rng = np.random.default_rng(3)
    lo, values = rng.uniform(0, DOMAIN, count), rng.uniform(0, DOMAIN, count)
    ids = np.arange(count)
    small = BorderIndex(1)
    small.insert(ids[:100], lo[:100], lo[:100] + 10)
    small.advance(ids[:100], values[:100])
    before = resident()
    index = BorderIndex(1)
    start = time.perf_counter()
    index.insert(ids, lo, lo + 10)
    inserted = time.perf_counter()
    queries = index.nbytes
    index.advance(ids, values)
    advanced = time.perf_counter()
    print(
        json.dumps(
            {
                "told": index.nbytes,
                "queries": queries,
                "process": resident() - before,
                "insert": inserted - start,
                "advance": advanced - inserted,
            }
        )
    )


PARTS: dict[str, Part] = {
    "sweeps": sweeps,
    "kernel": plain(kernel),
    "dims": plain(dims),
    "memory": plain(memory),
}
