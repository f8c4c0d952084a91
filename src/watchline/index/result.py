"""The result of a search, and how a batch becomes one: room for the ids, and the cores to use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from watchline.index.table import Integers
from watchline.index.vector import SLACK


@dataclass(frozen=True, slots=True)
class Matches:
    """Row i of the points is in the boxes `ids[offsets[i]:offsets[i + 1]]`, in any order."""

    offsets: Integers
    ids: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self) -> Integers:
        """The row of each id: with `ids`, the matches as pairs."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


# Answers rows into an array, until they end or the array is full: see `Index._fill`. It is given
# the rows' arrays (the points, and what else belongs to each row), offsets, found, row, at.
Fill = Callable[..., tuple[int, int]]
Rows = tuple[npt.NDArray[Any], ...]

# Rows that are answered first, to learn how much room the rest will need.
SAMPLE = 256
# Fewer rows than this for each thread are not worth one.
ROWS_PER_THREAD = 50_000


_alone = ContextVar("alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Searches in this block use no other threads: the machine's cores have been dealt out."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def search(fill: Fill, rows: Rows, id_type: Any, per_row: float = 0.0) -> Matches:
    """All rows, by as many threads as Numba may use; each may have about so many matches."""
    return spread(partial(_search, fill, per_row), rows, id_type)


def spread(answer: Callable[[Rows, Any], Matches], rows: Rows, id_type: Any) -> Matches:
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
        return _joined(list(pool.map(part, range(threads))), cuts, pool)


def threads_for(most: int) -> int:
    """As many threads as Numba may use, for work that is worth so many at most.

    Numba is asked only if it matters: that starts its threads, and a process may yet fork.
    """
    return 1 if most < 2 or _alone.get() else min(nb.get_num_threads(), most)


@contextmanager
def team(threads: int) -> Iterator[Callable[..., list[Any]]]:
    """A `map` whose calls these threads share; all have ended when it returns."""
    if threads < 2:
        yield lambda call, *given: list(map(call, *given))
        return
    with ThreadPoolExecutor(threads) as pool:
        yield lambda call, *given: list(pool.map(call, *given))


def _search(fill: Fill, per_row: float, rows: Rows, id_type: Any) -> Matches:
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
    found.resize(at, refcheck=False)
    return Matches(offsets, found)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Arrow's arrays cannot be written to and others can: to Numba these are two types."""
    view = array.view()
    view.flags.writeable = False
    return view


def _room(fill: Fill, per_row: float, rows: Rows, id_type: Any) -> int:
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


def _joined(pieces: list[Matches], cuts: Integers, pool: ThreadPoolExecutor) -> Matches:
    ends = np.cumsum([0, *(len(piece) for piece in pieces)])
    offsets = np.zeros(cuts[-1] + 1, dtype=np.int64)
    ids = np.empty(ends[-1], dtype=pieces[0].ids.dtype)

    def place(i: int) -> None:
        np.add(pieces[i].offsets[1:], ends[i], out=offsets[cuts[i] + 1 : cuts[i + 1] + 1])
        ids[ends[i] : ends[i + 1]] = pieces[i].ids

    list(pool.map(place, range(len(pieces))))
    return Matches(offsets, ids)
