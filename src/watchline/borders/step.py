"""The search of steps from old to new values: one row, and many rows.

See runs.py for what is searched and why. A row is answered whole or not at all: if there may be no
room for it, the kernel ends before it, and goes on with larger arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from watchline.borders.runs import (
    AUTO,
    BEGIN,
    BLOCKS,
    BUCKETS,
    END,
    GUIDE,
    MEMBERS,
    SHIFT,
    Borders,
    Steps,
    bucket_of,
    rank,
)
from watchline.kernels.arrays import Doubles, Int, Integers, Signs
from watchline.kernels.blocks import LANES, walk_block
from watchline.kernels.buffers import filled_columns
from watchline.kernels.compiled import kernel, leaf
from watchline.kernels.simd import prefetch

# Below every finite number or the least of them, so that a segment that ends there has no -inf.
LEAST = -np.finfo(np.float64).max

# Rows whose memory is fetched ahead together.
GROUP = 32


@dataclass(frozen=True, slots=True)
class Crossings:
    """Stream `streams[i]` came into query `ids[i]` (sign 1) or left it (-1), by row `rows[i]` of
    the call; -1 if no row did. In the order of the rows, and for one row in any order."""

    rows: Integers
    streams: Integers
    ids: Integers
    signs: Signs

    def __len__(self) -> int:
        return len(self.ids)


class CrossingColumns(NamedTuple):
    """What rows have found, and where kernels write it; `LANES` more than is in use."""

    rows: Integers
    # The streams of the rows; where there are none, the rows again.
    whose: Integers
    tags: Integers
    signs: Signs


class ValueStep(NamedTuple):
    """A row of a stream, and the values between which it steps in one dimension."""

    row: Int
    stream: Int
    old: float
    new: float


# Rows, tags and signs, and the types of these columns.
RowChanges = tuple[Integers, Integers, Signs]
ROW_CHANGES = (np.int64, np.int64, np.int8)


# --- many rows


def crossings(borders: Borders, old: Doubles, new: Doubles, steps: Steps = AUTO) -> RowChanges:
    """Rows, tags and signs of the steps from old[i] to new[i], float64 (m,); +inf is nowhere."""

    def fill(room: list[Any], row: int, at: int) -> tuple[int, int]:
        return _cross_rows(borders, steps, old, new, CrossingColumns(room[0], *room), row, at)

    return filled_columns(fill, len(old), 1.0, ROW_CHANGES)


def crossings_of_boxes(
    borders: Borders, boxes: Doubles, old: Doubles, new: Doubles, steps: Steps = AUTO
) -> RowChanges:
    """The same for (m, d) values: a tag is a row of `boxes`, which begins with d lower bounds and d
    upper ones. A value that is nowhere is +inf in every dimension."""

    def fill(room: list[Any], row: int, at: int) -> tuple[int, int]:
        return _cross_box_rows(
            borders, boxes, steps, old, new, CrossingColumns(room[0], *room), row, at
        )

    return filled_columns(fill, len(old), 1.0, ROW_CHANGES)


@kernel
def entries_read(borders: Borders, old: Doubles, new: Doubles, steps: Steps = AUTO) -> int:
    """How many entries the crossings of the steps from old[i] to new[i], float64 (m, d), read."""
    total, dims = 0, old.shape[1]
    for i in range(len(old)):
        nowhere = (old[i, 0] == np.inf) | (new[i, 0] == np.inf)
        for run in range(len(borders.runs)):
            k = run % dims
            if old[i, k] == new[i, k] or (nowhere and k > 0):
                continue
            here = rank(borders, run, old[i, k])
            there = rank(borders, run, new[i, k])
            count = abs(there - here)
            if count > steps.walk:
                read = _read(borders, run, old[i, k], here) + _read(borders, run, new[i, k], there)
                if read * steps.price < count:
                    count = read
            total += count
    return total


@kernel
def _cross_rows(
    borders: Borders,
    steps: Steps,
    old: Doubles,
    new: Doubles,
    columns: CrossingColumns,
    row: int,
    at: int,
) -> tuple[int, int]:
    for group in range(row, len(old), GROUP):
        last = min(group + GROUP, len(old))
        fetch_steps(borders, 0, old[group:last], new[group:last], last - group)
        for i in range(group, last):
            if old[i] != new[i]:
                end, _, _ = cross(borders, steps, i, i, old[i], new[i], columns, at)
                if end < 0:
                    return i, at
                at = end
    return len(old), at


@kernel
def _cross_box_rows(
    borders: Borders,
    boxes: Doubles,
    steps: Steps,
    old: Doubles,
    new: Doubles,
    columns: CrossingColumns,
    row: int,
    at: int,
) -> tuple[int, int]:
    step = np.empty((2, old.shape[1]))
    for i in range(row, len(old)):
        step[0], step[1] = old[i], new[i]
        end = cross_boxes(borders, boxes, steps, i, i, step, columns, at)
        if end < 0:
            return i, at
        at = end
    return len(old), at


# --- one row


@leaf(forceinline=True)
def fetch_steps(borders: Borders, k: Int, olds: Doubles, news: Doubles, count: Int) -> None:
    """Ask for what some steps in dimension k will read in the first generation, the largest."""
    if k >= len(borders.runs):
        return
    keys, others, tags, guide = borders.keys, borders.others, borders.tags, borders.guide
    begin, first, buckets = borders.runs[k, BEGIN], borders.runs[k, GUIDE], borders.runs[k, BUCKETS]
    start, inverse = borders.axes[k, 0], borders.axes[k, 1]
    for i in range(count):
        prefetch(guide, first + bucket_of(start, inverse, buckets, olds[i]))
        prefetch(guide, first + bucket_of(start, inverse, buckets, news[i]))
    for i in range(count):
        for value in (olds[i], news[i]):
            place = begin + guide[first + bucket_of(start, inverse, buckets, value)]
            prefetch(keys, place)
            prefetch(others, place)
            prefetch(tags, place)


@leaf(forceinline=True)
def cross(
    borders: Borders,
    steps: Steps,
    row: Int,
    stream: Int,
    old: float,
    new: float,
    columns: CrossingColumns,
    at: Int,
) -> tuple[Int, float, float]:
    """The crossings of one step in one dimension, from place `at` on; the next place (-1: there may
    be no room), and the borders around the new value: no query begins or ends inside [low, high).
    """
    keys, runs = borders.keys, borders.runs
    low, high = LEAST, np.inf
    for run in range(len(runs)):
        here = rank(borders, run, old)
        there = rank(borders, run, new)
        if there > runs[run, BEGIN]:
            low = max(low, keys[there - 1])
        if there < runs[run, END]:
            high = min(high, keys[there])
        step = ValueStep(row, stream, old, new)
        if abs(there - here) <= steps.walk:
            at = _walk(borders, step, here, there, columns, at)
        else:
            at = _leap(borders, steps, run, step, here, there, columns, at)
        if at < 0:
            break
    return at, low, high


@leaf(forceinline=True)
def _walk(
    borders: Borders, step: ValueStep, here: Int, there: Int, columns: CrossingColumns, at: Int
) -> Int:
    """The entries between two ranks, a block at a time.

    Upwards an other border beyond both values is of a query that is entered, downwards of one that
    is left; one before both the other way round. Blocks in which all stay are most.
    """
    row, stream, old, new = step
    tags, signs = columns.tags, columns.signs
    i, end = min(here, there), max(here, there)
    if at + end - i + LANES > len(tags):
        return -1
    what = row, stream, np.int8(1 if old < new else -1)
    entries, span = (borders.others, borders.tags), (min(old, new), max(old, new))
    while i < end:
        count = min(end - i, LANES)
        stay = walk_block(columns, at, what, entries, i, span)
        if ~stay & ((1 << count) - 1) == 0:
            at += count
        else:
            to, of = np.uint64(at), np.uint64(at)
            for _ in range(count):
                tags[to], signs[to] = tags[of], signs[of]
                to += np.uint64(stay & 1)
                of += np.uint64(1)
                stay >>= 1
            at = np.int64(to)
        i += LANES
    return at


@leaf()
def _leap(
    borders: Borders,
    steps: Steps,
    run: Int,
    step: ValueStep,
    here: Int,
    there: Int,
    columns: CrossingColumns,
    at: Int,
) -> Int:
    """A long step: by two stabs, unless they read more than a walk."""
    row, stream, old, new = step
    read = _read(borders, run, old, here) + _read(borders, run, new, there)
    if read * steps.price >= abs(there - here):
        return _walk(borders, step, here, there, columns, at)
    if at + read + LANES > len(columns.tags):
        return -1
    begin = at
    at = _stab(borders, run, old, new, here, columns.tags, at)
    columns.signs[begin:at] = -1
    end = _stab(borders, run, new, old, there, columns.tags, at)
    columns.signs[at:end] = 1
    columns.rows[begin:end] = row
    columns.whose[begin:end] = stream
    return end


@leaf()
def _read(borders: Borders, run: Int, value: float, place: Int) -> Int:
    """The entries that a stab of the value of this rank looks at."""
    if value == np.inf:
        return 0
    begin, blocks = borders.runs[run, BEGIN], borders.runs[run, BLOCKS]
    block = np.int64(borders.latest[blocks + ((place - begin) >> SHIFT)])
    firsts = borders.firsts
    members = np.int64(firsts[blocks + block + 1]) - np.int64(firsts[blocks + block])
    return members + place - begin - (block << SHIFT)


@leaf()
def _stab(
    borders: Borders,
    run: Int,
    inside: float,
    outside: float,
    place: Int,
    tags: Integers,
    at: Int,
) -> Int:
    """The queries that contain one value, of this rank, and not the other: among the members of the
    checkpoint before it, and the lower borders from there on."""
    if inside == np.inf:
        return at
    keys, others, entry_tags, members = borders.keys, borders.others, borders.tags, borders.members
    begin, blocks = borders.runs[run, BEGIN], borders.runs[run, BLOCKS]
    block = np.int64(borders.latest[blocks + ((place - begin) >> SHIFT)])
    base = borders.runs[run, MEMBERS]
    first, end = borders.firsts[blocks + block], borders.firsts[blocks + block + 1]
    # Indices without a sign need no care for negative ones.
    to, start = np.uint64(at), np.uint64(begin)
    for m in range(np.uint64(base + first), np.uint64(base + end)):
        i = start + np.uint64(members[m])
        tags[to] = entry_tags[i]
        to += np.uint64((others[i] > inside) & ((others[i] <= outside) | (keys[i] > outside)))
    for j in range(np.uint64(begin + (block << SHIFT)), np.uint64(place)):
        tags[to] = entry_tags[j]
        to += np.uint64((others[j] > inside) & ((others[j] <= outside) | (keys[j] > outside)))
    return np.int64(to)


@leaf(forceinline=True)
def cross_boxes(
    borders: Borders,
    boxes: Doubles,
    steps: Steps,
    row: Int,
    stream: Int,
    step: Doubles,
    columns: CrossingColumns,
    at: Int,
) -> Int:
    """The crossings of one step in several dimensions, from place `at` on; -1: no room.

    `step` has the old value, then the new one.
    """
    dims = step.shape[1]
    nowhere = (step[0, 0] == np.inf) | (step[1, 0] == np.inf)
    for run in range(len(borders.runs)):
        k = run % dims
        old, new = step[0, k], step[1, k]
        # From nowhere or to nowhere it is the first dimension that is crossed first.
        if old == new or (nowhere and k > 0):
            continue
        here = rank(borders, run, old)
        there = rank(borders, run, new)
        one = ValueStep(row, stream, old, new)
        if abs(there - here) <= steps.walk:
            end = _walk(borders, one, here, there, columns, at)
        else:
            end = _leap(borders, steps, run, one, here, there, columns, at)
        if end < 0:
            return end
        at = _cross_check(boxes, k, step, columns, at, end)
    return at


@leaf(forceinline=True)
def _cross_check(
    boxes: Doubles, k: Int, step: Doubles, columns: CrossingColumns, at: Int, end: Int
) -> Int:
    """Keep the candidates of dimension k, from `at` to `end`, that really cross; the next place.

    What is entered contains the new value, what is left the old one; and in the dimensions before k
    both, or it was told there.
    """
    tags, signs = columns.tags, columns.signs
    dims, width = step.shape[1], boxes.shape[1]
    for i in range(at, end):
        prefetch(boxes, tags[i] * width)
    for i in range(at, end):
        box, inside = np.uint64(tags[i]), np.uint64(signs[i] > 0)
        outside = np.uint64(1) - inside
        crosses = True
        for j in range(np.uint64(dims)):
            low, high = boxes[box, j], boxes[box, np.uint64(dims) + j]
            crosses &= (low <= step[inside, j]) & (step[inside, j] < high)
        for j in range(np.uint64(k)):
            low, high = boxes[box, j], boxes[box, np.uint64(dims) + j]
            crosses &= (low <= step[outside, j]) & (step[outside, j] < high)
        tags[at], signs[at] = tags[i], signs[i]
        at += crosses
    return at
