"""`scan`: the compiled linear scan, every other index's rival and safety net.

Invariant: boxes stand side by side in arrays of one dimension each, in no order. Cost: every point
meets every box, a block of them at a time; memory is the boxes and nothing else.

`lenient`: a dimension in which a box has no bound is not looked at, so that a value that is missing
there (NaN, ±inf) does not matter. Both ways are one test: a missing value is +inf, which is in no
half-open range, and the upper bound of what is not looked at is NaN, which nothing reaches.
"""

from __future__ import annotations

import numpy as np

from watchline.index.base import Index
from watchline.kernels.arrays import Array, Bytes, Doubles, Integers, Small
from watchline.kernels.compiled import inner, kernel

# Boxes per block: its bounds and marks stay in the first-level cache.
BLOCK = 256


class ScanIndex(Index):
    """Compares every box with every point."""

    kind = "scan"

    def __init__(self, dims: int, lenient: bool = False):
        super().__init__(dims)
        self._lenient = lenient
        self._columns: tuple[Doubles, Doubles, Array] | None = None

    @property
    def _nbytes(self) -> int:
        return sum(a.nbytes for a in self._columns or ())

    def _add(self, slots: Small) -> None:
        self._columns = None

    def _discard(self, slots: Small) -> None:
        self._columns = None

    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        lo, hi, ids = self.columns()
        starts = np.zeros(len(points), dtype=np.int64)
        ends = np.full(len(points), len(ids))
        return scan_runs(lo, hi, ids, points, starts, ends, offsets, found, row, at)

    def columns(self) -> tuple[Doubles, Doubles, Array]:
        """Bounds as (d, n), and ids: the inner loop runs along one dimension of all boxes."""
        if self._columns is None:
            boxes = self._boxes
            living = boxes.living()
            lo = np.ascontiguousarray(boxes.lo[living].T)
            hi = np.ascontiguousarray(boxes.hi[living].T)
            if self._lenient:
                hi[(lo == -np.inf) & (hi == np.inf)] = np.nan
            self._columns = (
                lo,
                hi,
                boxes.ids[living].astype(boxes.id_type),
            )
        return self._columns


@kernel
def scan_runs(
    lo: Doubles,
    hi: Doubles,
    ids: Array,
    points: Doubles,
    starts: Integers,
    ends: Integers,
    offsets: Integers,
    found: Array,
    row: int,
    at: int,
) -> tuple[int, int]:
    """Each point against its own run of boxes [start, end), as `Index._fill` has it."""
    hits = np.empty(BLOCK, dtype=np.uint8)
    for i in range(row, len(points)):
        begin = at
        at = scan_run(lo, hi, ids, points[i], starts[i], ends[i], hits, found, at)
        if at < 0:
            return i, begin
        offsets[i + 1] = at
    return len(points), at


@inner
def scan_run(
    lo: Doubles,
    hi: Doubles,
    ids: Array,
    point: Doubles,
    start: int,
    end: int,
    hits: Bytes,
    found: Array,
    at: int,
) -> int:
    """A point against a run of boxes; the next place in `found`, -1 if it has no room. An upper
    bound of NaN (with a lower one of -inf) is of a dimension that is not looked at.

    Boxes are taken in blocks: one dimension after the other narrows a block's hits, in loops that
    become vector instructions, and only a block with hits is looked at box by box.
    """
    for block in range(start, end, BLOCK):
        size = min(BLOCK, end - block)
        count = _narrow(lo, hi, point, block, size, hits)
        if count:
            if at + count > len(found):
                return -1
            for j in range(size):
                if hits[j]:
                    found[at] = ids[block + j]
                    at += 1
    return at


@inner
def _narrow(lo: Doubles, hi: Doubles, point: Doubles, block: int, size: int, hits: Bytes) -> int:
    """Mark the boxes of a block that contain the point; how many there are."""
    hits[:size] = 1
    for k in range(len(point)):
        x = point[k] if np.isfinite(point[k]) else np.inf
        low, high = lo[k, block : block + size], hi[k, block : block + size]
        for j in range(size):
            hits[j] &= (low[j] <= x) & (not x >= high[j])
    count = 0
    for j in range(size):
        count += hits[j]
    return count


@inner
def finite(point: Doubles) -> bool:
    """Whether all coordinates are numbers."""
    finite = True
    for k in range(len(point)):
        finite &= np.isfinite(point[k])
    return finite
