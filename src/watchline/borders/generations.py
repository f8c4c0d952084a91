"""Generations of runs: how queries come and go without a rebuild.

New queries are a generation of their own. While the second newest is not several times as large as
the newest, the two become one: a merge of sorted arrays, in which entries of queries that have gone
are left out. So there are logarithmically many, and an entry is copied logarithmically often.
Generations stand in the arrays like a stack, the newest last.

A query goes by marking its entries, found by (key, tag); when half of all are marked, what is left
is built anew.
"""

from __future__ import annotations

import numpy as np

from watchline.borders.runs import (
    BEGIN,
    BLOCKS,
    END,
    GUIDE,
    MEMBERS,
    Borders,
    build_borders,
    finished,
    rank,
    room,
)
from watchline.kernels.arrays import Array, Doubles, Integers
from watchline.kernels.blocks import LANES
from watchline.kernels.buffers import longer
from watchline.kernels.compiled import inner, kernel

# How many times as large as the next one a generation must be; small ones are merged always.
RATIO, SMALL = 4, 1_024


class Generations:
    """The borders of boxes under tags. A box is given again to discard it: nothing is kept here but
    the borders."""

    def __init__(self, dims: int):
        self.dims = dims
        self._clear()

    def _clear(self) -> None:
        nothing = np.empty((0, self.dims))
        # Arrays have room at the end; `_used` is what is taken of each.
        self.borders = build_borders(nothing, nothing, np.empty(0, dtype=np.int64))._replace(
            runs=np.empty((0, 6), dtype=np.int64), axes=np.empty((0, 2))
        )
        self._used = [0] * _POOLS
        self._dead = 0

    @property
    def nbytes(self) -> int:
        return self.borders.nbytes

    @property
    def entries(self) -> list[int]:
        """The entries of each generation, the oldest first."""
        sizes = self.borders.runs[:, END] - self.borders.runs[:, BEGIN]
        return [int(size) for size in sizes.reshape(-1, self.dims).sum(axis=1)]

    @property
    def worn(self) -> bool:
        """Whether half of the entries are of boxes that have gone."""
        return 2 * self._dead > sum(self.entries)

    def replace(self, borders: Borders) -> None:
        """These borders, one generation, instead of all."""
        self._clear()
        if borders.entries:
            self._adopt(borders)

    def push(self, borders: Borders) -> None:
        """One more generation, and the merges that it causes."""
        while True:
            sizes = self.entries
            small = sizes and sizes[-1] + borders.entries <= SMALL
            if not sizes or not (small or sizes[-1] < RATIO * borders.entries):
                break
            borders = self._merged_with_last(borders)
            self._pop()
        self._append(borders)

    def discard(self, lo: Doubles, hi: Doubles, tags: Integers) -> None:
        """Mark the entries of these boxes."""
        self._dead += _mark(self.borders, lo, hi, tags)

    def _merged_with_last(self, newer: Borders) -> Borders:
        size = self.entries[-1] + newer.entries
        entries = room(size)
        ends = _merge(self.borders, newer, *entries)
        end = int(ends[-1])
        self._dead -= size - end
        keys, others, tags = entries
        used = slice(end + LANES)
        return finished(keys[used], others[used], tags[used], ends)

    def _pop(self) -> None:
        first = len(self.borders.runs) - self.dims
        last = self.borders.runs[first]
        places = last[[BEGIN, BEGIN, BEGIN, GUIDE, BLOCKS, BLOCKS, MEMBERS]]
        self._used = [int(place) for place in places]
        runs, axes = self.borders.runs[:first], self.borders.axes[:first]
        self.borders = self.borders._replace(runs=runs.copy(), axes=axes.copy())

    def _append(self, borders: Borders) -> None:
        if not len(self.borders.runs):
            self._adopt(borders)
            return
        entries, guide, blocks, members = (self._used[i] for i in (0, 3, 4, 6))
        shift = np.array([entries, entries, guide, 0, blocks, members])
        arrays: list[Array] = []
        for i, (pool, new) in enumerate(zip(self.borders[:_POOLS], borders[:_POOLS], strict=True)):
            arrays.append(_appended(pool, self._used[i], new))
            self._used[i] += len(new) - _SLACK[i]
        arrays.append(np.concatenate([self.borders.runs, borders.runs + shift]))
        arrays.append(np.concatenate([self.borders.axes, borders.axes]))
        self.borders = Borders(*arrays)

    def _adopt(self, borders: Borders) -> None:
        self.borders = borders
        self._used = [len(pool) - _SLACK[i] for i, pool in enumerate(borders[:_POOLS])]


# The arrays of entries, the guide and the checkpoints, and what each has after its end.
_POOLS = 7
_SLACK = [LANES, LANES, LANES, 0, 0, 0, 0]


def _appended(pool: Array, used: int, new: Array) -> Array:
    end = used + len(new)
    if end > len(pool):
        pool = longer(pool, end + end // 8)
    pool[used:end] = new
    return pool


@kernel
def _merge(
    borders: Borders, newer: Borders, keys: Doubles, others: Doubles, tags: Integers
) -> Integers:
    """The last generation and a newer one, by (key, tag), without what is dead; the ends of the
    dimensions."""
    dims = len(newer.runs)
    ends = np.zeros(dims + 1, dtype=np.int64)
    at = 0
    for k in range(dims):
        run = len(borders.runs) - dims + k
        i, j = borders.runs[run, BEGIN], newer.runs[k, BEGIN]
        while True:
            more, more_newer = i < borders.runs[run, END], j < newer.runs[k, END]
            if not more and not more_newer:
                break
            older_first = more
            if more and more_newer:
                older_first = (borders.keys[i] < newer.keys[j]) | (
                    (borders.keys[i] == newer.keys[j]) & (borders.tags[i] < newer.tags[j])
                )
            if older_first:
                keys[at], others[at], tags[at] = borders.keys[i], borders.others[i], borders.tags[i]
                i += 1
            else:
                keys[at], others[at], tags[at] = newer.keys[j], newer.others[j], newer.tags[j]
                j += 1
            at += not np.isnan(others[at])
        ends[k + 1] = at
    return ends


@kernel
def _mark(borders: Borders, lo: Doubles, hi: Doubles, tags: Integers) -> int:
    """Make the entries of these boxes dead, in whatever generation they are; how many were."""
    dims, count = lo.shape[1], 0
    for run in range(len(borders.runs)):
        k = run % dims
        for i in range(len(tags)):
            for key in (lo[i, k], hi[i, k]):
                at = _find(borders, run, key, tags[i])
                if at >= 0:
                    count += not np.isnan(borders.others[at])
                    borders.others[at] = np.nan
    return count


@inner
def _find(borders: Borders, run: int, key: float, tag: int) -> int:
    """The place of an entry, -1 if it is not in this run."""
    keys, tags, end = borders.keys, borders.tags, rank(borders, run, key)
    low, high = borders.runs[run, BEGIN], end
    while low < high:
        middle = (low + high) >> 1
        if (keys[middle] < key) | ((keys[middle] == key) & (tags[middle] < tag)):
            low = middle + 1
        else:
            high = middle
    return low if low < end and keys[low] == key and tags[low] == tag else -1
