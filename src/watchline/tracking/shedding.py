"""Load shedding: which objects a tracker gives up under a bound, and what it still knows of them.

An object that few queries look at costs as much memory as one that many do, and less accuracy. So
under a bound those go first that fewer than a *threshold* of queries look at: lazily, when their
rows come, and others only as far as the bound demands. What is given up has a *shadow*: its id,
time and place, and what queries read of it, from which the accuracy of all answers follows.

A query with a least ACCURACY locks what it cannot spare. Answers also shrink when objects leave: so
the shadow of what such a query looks at is the whole row, and it comes back when it is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.model import Stream
from watchline.tracking.rows import conformed, row_schema, times_of

Integers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Once it is too much, load is shed down to this part of the bound.
GOAL = 0.9


class Shadows(NamedTuple):
    """Objects that were given up: of most what queries read, of some the whole row."""

    slim: pa.Table
    full: pa.Table

    @staticmethod
    def none(stream: Stream) -> Shadows:
        empty = row_schema(stream).empty_table()
        return Shadows(empty.select(_read(stream, frozenset())), empty)

    def __bool__(self) -> bool:
        return self.total > 0

    @property
    def total(self) -> int:
        return int(self.slim.num_rows + self.full.num_rows)

    @property
    def nbytes(self) -> int:
        return int(self.slim.nbytes + self.full.nbytes)

    def rows(self) -> pa.Table:
        """All of them, the whole rows first; NULL where nothing is known."""
        return pa.concat_tables([self.full, conformed(self.slim, self.full.schema)])

    def met(self, batch: pa.Table, stream: Stream) -> tuple[Shadows, pa.Table, int]:
        """A batch comes: its objects cast no shadow any more. The batch without rows that are older
        than that, and how many these are."""
        if not self:
            return self, batch, 0
        known = pa.chunked_array(
            [c for t in self for c in t[stream.object].chunks], self.full[stream.object].type
        )
        seen = pc.index_in(batch[stream.object], value_set=known.combine_chunks())
        places = pc.fill_null(seen, -1).to_numpy().astype(np.int64)
        then = np.append(
            np.concatenate([times_of(t, stream) for t in self]), np.iinfo(np.int64).min
        )
        late = times_of(batch, stream) < then[places]
        batch = batch.filter(pa.array(~late))
        ids = batch[stream.object].combine_chunks()
        left = (t.filter(pc.invert(pc.is_in(t[stream.object], value_set=ids))) for t in self)
        return Shadows(*left), batch, int(np.count_nonzero(late))

    def expired(self, stream: Stream, newest: int | None) -> Shadows:
        """Without those that have timed out."""
        if not self or stream.timeout is None or newest is None:
            return self
        last = newest - stream.timeout
        return Shadows(*(t.filter(pa.array(times_of(t, stream) >= last)) for t in self))

    def joined(self, rows: pa.Table, pinned: Mask, stream: Stream, used: frozenset[str]) -> Shadows:
        """With these objects, of which some are kept as whole rows."""
        names = _read(stream, used | frozenset(self.slim.column_names))
        fresh = rows.filter(pa.array(~pinned)).select(names)
        older = conformed(self.slim, fresh.schema)
        slim = pa.concat_tables([older, fresh]).combine_chunks()
        full = pa.concat_tables([self.full, rows.filter(pa.array(pinned))]).combine_chunks()
        return Shadows(slim, full)

    def where(self, kept: Mask) -> Shadows:
        """Those of `rows` that are kept."""
        n = self.full.num_rows
        return Shadows(self.slim.filter(pa.array(kept[n:])), self.full.filter(pa.array(kept[:n])))

    def without(self, places: Integers) -> tuple[Shadows, pa.Table]:
        """Without some of the whole rows, and these."""
        kept = np.ones(self.full.num_rows, np.bool_)
        kept[places] = False
        return self._replace(full=self.full.filter(pa.array(kept))), self.full.take(
            pa.array(places)
        )


def _read(stream: Stream, used: frozenset[str]) -> list[str]:
    """What a shadow has: object, time, place, and what queries read."""
    wanted = {stream.object, stream.time, *(stream.point or ()), *used}
    return [a.name for a in stream.attributes if a.name in wanted]


def threshold_of(refs: Integers, excess: int) -> int:
    """The least k such that fewer than k queries look at each of so many objects at least."""
    if not len(refs):
        return 1
    return int(np.searchsorted(np.cumsum(np.bincount(refs)), min(excess, len(refs)))) + 1


class Guards(NamedTuple):
    """Queries with a least accuracy: how many objects are in each answer, and how many are missed;
    and pairs of an object and a query that holds it, by object."""

    least: Doubles
    held: Integers
    missed: Integers
    offsets: Integers
    queries: Integers


def chosen(order: Integers, lazy: int, most: int, least: int, guards: Guards) -> Integers:
    """Objects to give up, of these in their order: `most` of the first `lazy`, and others until
    there are `least`. No query falls below its accuracy."""
    held, missed = guards.held.copy(), guards.missed.copy()
    taken = _chosen(order, lazy, most, least, guards._replace(held=held, missed=missed))
    return order[taken]


@nb.njit(cache=True, nogil=True)
def _chosen(
    order: Integers, lazy: int, most: int, least: int, guards: Guards
) -> Any:  # pragma: no cover - compiled
    taken = np.zeros(len(order), np.bool_)
    count = 0
    for i in range(len(order)):
        if count >= (most if i < lazy else least):
            if i >= lazy or most <= least:
                break
            continue
        first, end = guards.offsets[order[i]], guards.offsets[order[i] + 1]
        spared = True
        for j in range(first, end):
            q = guards.queries[j]
            there = guards.held[q] + guards.missed[q]
            if guards.held[q] - 1 < guards.least[q] * there:
                spared = False
                break
        if spared:
            for j in range(first, end):
                guards.held[guards.queries[j]] -= 1
                guards.missed[guards.queries[j]] += 1
            taken[i] = True
            count += 1
    return taken


def needed(missing: Guards) -> Integers:
    """Objects to take back until no query is below its accuracy; `missing` has the pairs of those
    that were given up."""
    held, missed = missing.held.copy(), missing.missed.copy()
    return np.flatnonzero(_needed(missing._replace(held=held, missed=missed)))


@nb.njit(cache=True, nogil=True)
def _needed(guards: Guards) -> Any:  # pragma: no cover - compiled
    n = len(guards.offsets) - 1
    back = np.zeros(n, np.bool_)
    for i in range(n):
        first, end = guards.offsets[i], guards.offsets[i + 1]
        for j in range(first, end):
            q = guards.queries[j]
            if guards.held[q] < guards.least[q] * (guards.held[q] + guards.missed[q]):
                back[i] = True
                break
        if back[i]:
            for j in range(first, end):
                guards.held[guards.queries[j]] += 1
                guards.missed[guards.queries[j]] -= 1
    return back


def pairs_by_object(objects: Integers, queries: Integers, count: int) -> tuple[Integers, Integers]:
    """Where the queries of each object begin, and these."""
    order = np.argsort(objects, kind="stable")
    return np.searchsorted(objects[order], np.arange(count + 1)), queries[order]
