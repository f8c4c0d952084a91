"""The result of a search, and how a batch becomes one: room for the ids, and the cores to use."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from watchline.kernels.arrays import Array, Integers, read_only
from watchline.kernels.buffers import Fill
from watchline.kernels.compiled import kernel
from watchline.kernels.simd import SLACK
from watchline.kernels.threads import threads_for


@dataclass(frozen=True, slots=True)
class Matches:
    """Row i of the points is in the boxes `ids[offsets[i]:offsets[i + 1]]`, in any order."""

    offsets: Integers
    ids: Array

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self) -> Integers:
        """The row of each id: with `ids`, the matches as pairs."""
        if len(self.offsets) == 2:
            return np.zeros(len(self.ids), np.int64)
        return _rows_of(self.offsets)


@kernel
def _rows_of(offsets: Integers) -> Integers:
    rows = np.empty(offsets[-1] - offsets[0], np.int64)
    for i in range(len(offsets) - 1):
        rows[offsets[i] - offsets[0] : offsets[i + 1] - offsets[0]] = i
    return rows


# The points, and what else belongs to each row. `fill` is given these, offsets, found, row, at: see
# `Index._fill`.
RowArrays = tuple[Array, ...]

# RowArrays that are answered first, to learn how much room the rest will need.
SAMPLE = 256
# So few ids are copied in less time than it takes to give back the room that they did not need.
FEW = 64
# Fewer rows than this for each thread are not worth one.
ROWS_PER_THREAD = 50_000


def search(fill: Fill, rows: RowArrays, id_type: Any, per_row: float = 0.0) -> Matches:
    """All rows, by as many threads as Numba may use; each may have about so many matches."""
    if len(rows[0]) < 2 * ROWS_PER_THREAD:
        return _search(fill, per_row, tuple([read_only(a) for a in rows]), id_type)
    return spread(partial(_search, fill, per_row), rows, id_type)


def spread(answer: Callable[[RowArrays, Any], Matches], rows: RowArrays, id_type: Any) -> Matches:
    """All rows, each thread answering its part of them."""
    rows = tuple(read_only(a) for a in rows)
    count = len(rows[0])
    threads = threads_for(count // ROWS_PER_THREAD)
    if threads < 2:
        return answer(rows, id_type)
    cuts = np.linspace(0, count, threads + 1).astype(np.int64)

    def part(i: int) -> Matches:
        return answer(tuple(a[cuts[i] : cuts[i + 1]] for a in rows), id_type)

    with ThreadPoolExecutor(threads) as pool:
        return _concatenated(list(pool.map(part, range(threads))), cuts, pool)


def _search(fill: Fill, per_row: float, rows: RowArrays, id_type: Any) -> Matches:
    count = len(rows[0])
    offsets = np.empty(count + 1, dtype=np.int64)
    offsets[0] = 0
    found = np.empty(_room(fill, per_row, rows, id_type), dtype=id_type)
    row, at = fill(*rows, offsets, found, 0, 0)
    while row < count:
        # Never by less than a half: a row that needs more than there is will find it in the end.
        larger = np.empty(len(found) + max(len(found) // 2, _left(row, at, count)), id_type)
        larger[:at] = found[:at]
        found = larger
        row, at = fill(*rows, offsets, found, row, at)
    if at < FEW:
        return Matches(offsets, found[:at].copy())
    found.resize(at, refcheck=False)
    return Matches(offsets, found)


def _room(fill: Fill, per_row: float, rows: RowArrays, id_type: Any) -> int:
    """An array that will do, by what some rows far apart need, and a tenth more.

    Memory that is never written costs nothing, so a guess may be generous.
    """
    count = len(rows[0])
    if count <= 4 * SAMPLE:
        return int(max(64, 1.25 * per_row) * count) + 1_024
    sample = tuple(read_only(np.ascontiguousarray(a[:: count // SAMPLE])) for a in rows)
    taken = len(_search(fill, per_row, sample, id_type)) / len(sample[0])
    return int(count * (1.1 * taken + 1)) + 1_024 + SLACK


def _left(row: int, at: int, rows: int) -> int:
    """What the rows not yet answered will need if they are like those that were."""
    return int((rows - row) * (at + 1) / (row + 1)) + SLACK


def _concatenated(pieces: list[Matches], cuts: Integers, pool: ThreadPoolExecutor) -> Matches:
    ends = np.cumsum([0, *(len(piece) for piece in pieces)])
    offsets = np.zeros(cuts[-1] + 1, dtype=np.int64)
    ids = np.empty(ends[-1], dtype=pieces[0].ids.dtype)

    def place(i: int) -> None:
        np.add(pieces[i].offsets[1:], ends[i], out=offsets[cuts[i] + 1 : cuts[i + 1] + 1])
        ids[ends[i] : ends[i + 1]] = pieces[i].ids

    list(pool.map(place, range(len(pieces))))
    return Matches(offsets, ids)
