"""`twophase`: an index of containment-encoded intervals for each dimension, and merging.

The use for several attributes in section 2.1 of the CEI paper: each attribute is searched by itself
and the results are merged, here by counting. Invariant: the index of a dimension holds the ranges
that have a bound there, under the slots of their boxes; a slot needs as many hits as it has bounded
ranges, and a free one a hit that never comes. Changes go to the indexes of the dimensions.

Cost: a hit is written once by a dimension's search and read once by the merge, for a few rows at a
time, so that what lies between stays in the cache; memory is that of the dimensions' indexes.
"""

from __future__ import annotations

import numpy as np

from watchline.index.base import Index
from watchline.index.cei import ContainmentEncodedIntervals
from watchline.index.papers.merging import HIT, PASS, Tally, bounded, merge_hits, tally
from watchline.index.scan import finite
from watchline.kernels.arrays import Array, Doubles, Integers, Small
from watchline.kernels.compiled import kernel
from watchline.kernels.simd import SLACK

# Hits that are kept of all dimensions between search and merge (unless one row has more), and rows.
KEPT, ROWS = 2**21, 4_096


class TwoPhaseIndex(Index):
    """A `cei` for each dimension, and the merge of what they find (paper 003, section 2.1)."""

    kind = "twophase"

    def __init__(self, dims: int):
        super().__init__(dims)
        self._build()

    def _build(self) -> None:
        self._dimensions = [ContainmentEncodedIntervals(1) for _ in range(self.dims)]
        self._tally = tally(np.empty(0), np.empty(0, dtype=np.int64), np.int32, self.dims)
        self._add(self._boxes.living())

    def explain(self) -> str:
        estimates = [index.shape.estimate for index in self._dimensions]
        hits = sum(e.moved + e.compared for e in estimates)
        cost = sum(e.nanoseconds for e in estimates) + HIT * hits + PASS * len(self._tally.needs)
        return f"{super().explain()}; about {cost:,.0f} ns a row ({hits:,.0f} hits merged)"

    # --- the protocol

    @property
    def _nbytes(self) -> int:
        return self._tally.nbytes + sum(index.nbytes for index in self._dimensions)

    def _add(self, slots: Small) -> None:
        boxes = self._boxes
        bounds = bounded(boxes.lo[slots], boxes.hi[slots])
        needs = bounds.sum(axis=1)
        self._make_room()
        self._tally.needs[slots] = needs
        self._tally.ids[slots] = boxes.ids[slots]
        if not needs.all():
            free = np.concatenate([self._tally.free, slots[needs == 0]])
            self._tally = self._tally._replace(free=free)
        for k, index in enumerate(self._dimensions):
            own = slots[bounds[:, k]]
            index.insert(own.astype(np.int64), boxes.lo[own, k], boxes.hi[own, k])

    def _make_room(self) -> None:
        """A tally that has all slots of the table, and ids of the right width."""
        slots, old = len(self._boxes.rows), self._tally
        if slots > len(old.needs) or old.ids.dtype != self._boxes.id_type:
            needs = np.ones(max(slots, len(old.needs)), dtype=old.needs.dtype)
            needs[: len(old.needs)] = old.needs
            self._tally = tally(needs, old.ids, self._boxes.id_type, self.dims)

    def _discard(self, slots: Small) -> None:
        bounds = bounded(self._boxes.lo[slots], self._boxes.hi[slots])
        for k, index in enumerate(self._dimensions):
            index.remove(slots[bounds[:, k]].astype(np.int64))
        self._tally.needs[slots] = 1
        if not bounds.any(axis=1).all():
            free = self._tally.free
            self._tally = self._tally._replace(free=free[self._tally.needs[free] == 0])

    def _settle(self) -> None:
        if self._boxes.sparse or not len(self):
            self._boxes.compact()
            self._build()

    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        # The same memory for all rows: the system takes its time to give some.
        hits = np.empty((self.dims, KEPT // self.dims + SLACK), dtype=np.int32)
        ends = np.zeros((self.dims, ROWS + 1), dtype=np.int64)
        while row < len(points):
            searched = self._search(points[row : row + ROWS], ends, hits)
            if not searched:
                hits = np.empty((self.dims, 2 * hits.shape[1]), dtype=np.int32)
                continue
            end, rows = row + searched, points[row : row + searched]
            row, at = _merge(self._tally, ends, hits, rows, offsets, found, row, at)
            if row < end:
                break
        return row, at

    def _search(self, rows: Doubles, ends: Integers, hits: Small) -> int:
        """Each dimension's hits of the first rows, as many as there is room for; how many."""
        searched = len(rows)
        for k, index in enumerate(self._dimensions):
            values = np.ascontiguousarray(rows[:searched, k : k + 1])
            values.flags.writeable = False
            searched, _ = index._fill(values, ends[k], hits[k], 0, 0)
        return searched


@kernel
def _merge(
    boxes: Tally,
    ends: Integers,
    hits: Small,
    rows: Doubles,
    offsets: Integers,
    found: Array,
    row: int,
    at: int,
) -> tuple[int, int]:
    """Rows whose hits in dimension k are hits[k, ends[k, i] : ends[k, i + 1]]; from `row` on."""
    dims, room = hits.shape
    places = hits.reshape(-1)
    left = boxes.needs.copy()
    runs = np.empty((dims, 2), dtype=np.int64)
    for i in range(len(rows)):
        begin = at
        if finite(rows[i]):
            for k in range(dims):
                runs[k, 0], runs[k, 1] = k * room + ends[k, i], k * room + ends[k, i + 1]
            at = merge_hits(boxes, left, places, runs, dims, found, at)
            if at < 0:
                return row + i, begin
        offsets[row + i + 1] = at
    return row + len(rows), at
