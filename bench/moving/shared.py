"""All queries in one operator, beside each query alone (the paper's Figures 19 and 20a).

Alone, a query has nothing but its own: its region, and if it moves a buffer of the objects in and
around it. Every update is compared with every query, in compiled loops over columns, eight or so at
a time. A query that moves looks only at its own buffer, which reaches half a side farther than its
region, and looks at all objects only when it has left what the buffer covers. The latest places of
the objects are common to all: buffers have numbers of objects alone.

Both get the same updates and must tell the same changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numba as nb
import numpy as np

import watchline as wl
from bench.common.plots import Panel, draw
from bench.common.report import publish, say, table
from bench.common.workloads import Fingerprint, fingerprint
from bench.moving.kernel import prints
from bench.moving.world import (
    OBJECTS,
    Asked,
    Clock,
    Feed,
    Updates,
    Walk,
    Watched,
    percent,
    rate,
    squares,
    watched,
)
from watchline.borders import build_grid, grid_crossings
from watchline.kernels.arrays import Doubles, Integers
from watchline.kernels.compiled import leaf
from watchline.proximity.tables import AnswerChanges

COUNTS = (1_000, 5_000, 10_000, 25_000, 50_000)
SIZE = 0.0001
ROUNDS, UPDATES = 7, 3_000
# Queries whose comparisons are made together.
TOGETHER = 64
# Changes of an update there is room for.
MOST = 64

# Figure 20a.
STORED, BUFFERED = 1_000, 100_000
SIZES = (0.0001, 0.001, 0.0025, 0.005, 0.01)


class Out(NamedTuple):
    """Updates, queries, signs and objects of changes."""

    event: Integers
    query: Integers
    sign: Integers
    object: Integers

    @staticmethod
    def room(updates: int) -> Out:
        return Out(*(np.empty(updates * MOST, np.int64) for _ in range(4)))

    def first(self, count: int) -> Out:
        return Out(*(column[:count] for column in self))


class Boxes(NamedTuple):
    """Columns of bounds."""

    x1: Doubles
    y1: Doubles
    x2: Doubles
    y2: Doubles


@leaf
def _inside(boxes: Boxes, q: int, x: float, y: float) -> bool:
    return (boxes.x1[q] <= x) & (x < boxes.x2[q]) & (boxes.y1[q] <= y) & (y < boxes.y2[q])


@nb.njit
def _some(boxes: Boxes, first: int, end: int) -> Boxes:
    """Views of a few: only over whole arrays does the compiler compare several at once."""
    return Boxes(boxes.x1[first:end], boxes.y1[first:end], boxes.x2[first:end], boxes.y2[first:end])


@leaf
def _any_flips(boxes: Boxes, a: Any, b: Any) -> bool:
    """Whether a query holds one of two places and not the other."""
    hit = 0
    for q in range(len(boxes.x1)):
        was, now = _inside(boxes, q, a[0], a[1]), _inside(boxes, q, b[0], b[1])
        hit |= np.int64(was != now)
    return hit != 0


@leaf
def _any_meets(boxes: Boxes, a: Any, b: Any) -> bool:
    """Whether the box of a move meets a query: others hold neither of its ends."""
    x1, x2 = min(a[0], b[0]), max(a[0], b[0])
    y1, y2 = min(a[1], b[1]), max(a[1], b[1])
    hit = 0
    for q in range(len(boxes.x1)):
        across = (boxes.x1[q] <= x2) & (x1 < boxes.x2[q])
        hit |= np.int64(across & (boxes.y1[q] <= y2) & (y1 < boxes.y2[q]))
    return hit != 0


@nb.njit
def _still(boxes: Boxes, updates: Updates, out: Out) -> int:
    at, n = 0, len(boxes.x1)
    for e in range(len(updates.who)):
        a = (updates.old[e, 0], updates.old[e, 1])
        b = (updates.new[e, 0], updates.new[e, 1])
        for first in range(0, n, TOGETHER):
            end = min(first + TOGETHER, n)
            if not _any_flips(_some(boxes, first, end), a, b):
                continue
            for q in range(first, end):
                was, now = _inside(boxes, q, a[0], a[1]), _inside(boxes, q, b[0], b[1])
                if was != now:
                    at = _tell(out, at, e, q, now, updates.who[e])
    return at


@leaf
def _tell(out: Out, at: int, e: int, q: int, now: bool, s: int) -> int:
    out.event[at], out.query[at], out.object[at] = e, q, s
    out.sign[at] = 1 if now else -1
    return at + 1


class Alone(NamedTuple):
    """Queries that move, each with its buffer; `mine[s]` is the query that moves with s, or -1."""

    place: Doubles
    region: Boxes
    covered: Boxes
    half: float
    held: Any
    counts: Integers
    focal: Integers
    mine: Integers


def alone(made: Watched, place: Doubles) -> Alone:
    n, objects, size = made.asked.queries, len(place), made.asked.size
    around = 4 * size * objects
    room = int(around + 12 * np.sqrt(around) + 32)
    mine = np.full(objects, -1)
    mine[made.focal] = np.arange(n)
    queries = Alone(
        place.copy(),
        Boxes(*np.empty((4, n))),
        Boxes(*np.empty((4, n))),
        made.asked.side / 2,
        np.empty((n, room), np.int32),
        np.zeros(n, np.int64),
        made.focal,
        mine,
    )
    # Long after the start, a buffer's middle is as far from its query as a walk that begins anew at
    # each border of what is covered.
    _look_all(queries, np.random.default_rng(4).triangular(-1, 0, 1, (n, 2)) * queries.half)
    return queries


@leaf
def _set(boxes: Boxes, q: int, x: float, y: float, half: float) -> None:
    boxes.x1[q], boxes.y1[q] = x - half, y - half
    boxes.x2[q], boxes.y2[q] = x + half, y + half


@nb.njit
def _look_all(queries: Alone, off: Doubles) -> None:
    for q in range(len(queries.focal)):
        x, y = queries.place[queries.focal[q]]
        _set(queries.region, q, x, y, queries.half)
        _look(queries, q, x + off[q, 0], y + off[q, 1])


@leaf
def _look(queries: Alone, q: int, x: float, y: float) -> None:
    """The buffer of a query, around this place, from all objects."""
    s = queries.focal[q]
    _set(queries.covered, q, x, y, 2 * queries.half)
    n = 0
    for o in range(len(queries.place)):
        if _inside(queries.covered, q, queries.place[o, 0], queries.place[o, 1]) and o != s:
            queries.held[q, n] = o
            n += 1
    queries.counts[q] = n


@nb.njit
def _moving(queries: Alone, updates: Updates, out: Out) -> int:
    at, n = 0, len(queries.focal)
    for e in range(len(updates.who)):
        s = updates.who[e]
        a = (updates.old[e, 0], updates.old[e, 1])
        b = (updates.new[e, 0], updates.new[e, 1])
        queries.place[s, 0], queries.place[s, 1] = b
        if queries.mine[s] >= 0:
            at = _goes(queries, out, at, e, queries.mine[s], b)
        for first in range(0, n, TOGETHER):
            end = min(first + TOGETHER, n)
            if not _any_meets(_some(queries.covered, first, end), a, b):
                continue
            for q in range(first, end):
                if queries.focal[q] != s:
                    at = _passes(queries, out, at, e, q, s, a, b)
    return at


@leaf
def _goes(queries: Alone, out: Out, at: int, e: int, q: int, b: Any) -> int:
    """The region of a query moves: who was in it, and who is."""
    region, covered, place = queries.region, queries.covered, queries.place
    x1, y1, x2, y2 = region.x1[q], region.y1[q], region.x2[q], region.y2[q]
    _set(region, q, b[0], b[1], queries.half)
    for i in range(queries.counts[q]):
        o = queries.held[q, i]
        x, y = place[o, 0], place[o, 1]
        if (x1 <= x) & (x < x2) & (y1 <= y) & (y < y2) and not _inside(region, q, x, y):
            at = _tell(out, at, e, q, False, o)
    within = (covered.x1[q] <= region.x1[q]) & (region.x2[q] <= covered.x2[q])
    if not (within & (covered.y1[q] <= region.y1[q]) & (region.y2[q] <= covered.y2[q])):
        _look(queries, q, b[0], b[1])
    for i in range(queries.counts[q]):
        o = queries.held[q, i]
        x, y = place[o, 0], place[o, 1]
        if _inside(region, q, x, y) and not ((x1 <= x) & (x < x2) & (y1 <= y) & (y < y2)):
            at = _tell(out, at, e, q, True, o)
    return at


@leaf
def _passes(queries: Alone, out: Out, at: int, e: int, q: int, s: int, a: Any, b: Any) -> int:
    """An object against one query and its buffer."""
    was, now = _inside(queries.covered, q, a[0], a[1]), _inside(queries.covered, q, b[0], b[1])
    if not (was or now):
        return at
    n = queries.counts[q]
    if now and not was:
        queries.held[q, n] = s
        queries.counts[q] = n + 1
    elif was and not now:
        for i in range(n):
            if queries.held[q, i] == s:
                queries.held[q, i] = queries.held[q, n - 1]
                break
        queries.counts[q] = n - 1
    before, after = _inside(queries.region, q, a[0], a[1]), _inside(queries.region, q, b[0], b[1])
    return _tell(out, at, e, q, after, s) if before != after else at


# --- the race


@dataclass
class Pair:
    """Updates of both, and how many objects the buffers have."""

    shared: Clock
    alone: Clock

    @property
    def faster(self) -> float:
        return self.shared.rate / self.alone.rate

    def publish(self, what: str) -> None:
        publish(f"each alone / shared, {what}", self.faster)

    def cells(self) -> list[str]:
        return [rate(self.shared.rate), rate(self.alone.rate), f"{self.faster:.1f}×"]


def still_pair(n: int, objects: int, rounds: int) -> Pair:
    say(f"shared: {n} that stay")
    lo, hi = squares(n, SIZE)
    grid = build_grid(lo, hi, np.arange(n))
    boxes = Boxes(*(np.ascontiguousarray(c) for c in (lo[:, 0], lo[:, 1], hi[:, 0], hi[:, 1])))
    pair = Pair(Clock(), Clock())
    for i, u in enumerate(_pieces(objects, rounds + 1)):
        if i == 1:
            pair = Pair(Clock(), Clock())
        ids, out = np.arange(len(u)), Out.room(len(u))
        found = pair.shared.run(len(u), partial(grid_crossings, grid, ids, u.old, u.new))
        count = pair.alone.run(len(u), partial(_still, boxes, u, out))
        told = out.first(count)
        assert prints(found) == prints((told.event, told.query, told.sign))
    return pair


def moving_pair(n: int, objects: int, rounds: int) -> Pair:
    say(f"shared: {n} that move")
    walk = Walk.of(objects)
    made = watched(walk.place.copy(), Asked(n, SIZE), keep=False)
    queries = alone(made, walk.place)
    names = np.empty(int(made.numbers.max()) + 1, np.int64)
    names[made.numbers] = np.arange(n)
    pair = Pair(Clock(), Clock())
    for i, u in enumerate(_pieces(objects, rounds + 1)):
        if i == 1:
            pair = Pair(Clock(), Clock())
        events, out = made.events(u), Out.room(len(u))
        told = pair.shared.run(len(u), partial(made.operator.run, events))
        count = pair.alone.run(len(u), partial(_moving, queries, u, out))
        assert _print(out.first(count), objects) == _print(_named(told, names), objects)
    return pair


def _pieces(objects: int, count: int) -> list[Updates]:
    """Of the walk that begins where the objects are."""
    feed = Feed(Walk.of(objects))
    return [feed.take(UPDATES) for _ in range(count)]


def _named(told: AnswerChanges, names: Integers) -> Out:
    return Out(told.event, names[told.query], told.what.astype(np.int64), told.row)


def _print(out: Out, objects: int) -> Fingerprint:
    return fingerprint(2 * out.event + (out.sign > 0), out.query * objects + out.object)


def shared(quick: bool, figures: Path) -> Iterator[str]:
    objects, rounds = (2_000, 1) if quick else (OBJECTS, ROUNDS)
    counts = [n // 100 for n in COUNTS[::2]] if quick else list(COUNTS)
    yield f"## Shared, and each query alone: squares of 0.01 %, {objects:,} objects, one core"
    still = [still_pair(n, objects, rounds) for n in counts]
    moves = [moving_pair(n, objects, rounds) for n in counts]
    for name, pairs in (("stay", still), ("move", moves)):
        for n, pair in zip(counts, pairs, strict=True):
            pair.publish(f"{n:,} squares that {name}")
    header = [f"{w}: {h}" for w in ("stay", "move") for h in ("shared", "each alone", "faster")]
    lines = [[f"{n:,}", *still[i].cells(), *moves[i].cells()] for i, n in enumerate(counts)]
    yield table(["queries", *header], lines)
    panels = [
        Panel(
            f"squares that {name}",
            "updates/s",
            {"shared": [p.shared.rate for p in pairs], "each alone": [p.alone.rate for p in pairs]},
            {},
        )
        for name, pairs in (("stay", still), ("move", moves))
    ]
    draw(
        figures / "moving-19.svg",
        "Shared and each alone, squares of 0.01 %",
        "queries",
        counts,
        panels,
    )
    yield from _buffers(quick)


def _buffers(quick: bool) -> Iterator[str]:
    n, objects = (50, 1_000) if quick else (STORED, BUFFERED)
    yield f"### Objects in buffers: {n:,} queries, {objects:,} objects"
    lines = []
    for size in SIZES:
        walk = Walk.of(objects)
        index = wl.index.build("ces", *squares(n, size), np.arange(n))
        found = np.diff(index.stab(walk.place).offsets)
        made = watched(walk.place, Asked(n, size))
        held = np.unique(np.concatenate(made.opened) % objects)
        lines.append(
            [
                percent(size),
                *_held(int(found.sum()), int(np.count_nonzero(found))),
                *_held(made.entered, len(held)),
            ]
        )
    header = ["each alone", "in some region", "ratio"]
    yield table(["size", *(f"{w}: {h}" for w in ("stay", "move") for h in header)], lines)


def _held(total: int, once: int) -> list[str]:
    return [f"{total:,}", f"{once:,}", f"{total / max(once, 1):.1f}×"]
