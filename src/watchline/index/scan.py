"""`scan`: the compiled linear scan, every other index's rival and safety net.

Invariant: boxes stand side by side in arrays of one dimension each, in no order. Cost: every point
meets every box, a block of them at a time; memory is the boxes and nothing else.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from watchline.index.base import Boxes, Doubles, Index, Integers, Matches, compact_ids

# Boxes per block: its bounds and marks stay in the first-level cache.
BLOCK = 256


class ScanIndex(Index):
    kind = "scan"

    def __init__(self, dims: int):
        super().__init__(dims)
        # (d, n): the inner loop runs along one dimension of all boxes.
        self._lo = np.empty((dims, 0))
        self._hi = np.empty((dims, 0))
        self._numbers = np.empty(0, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        return int(self._lo.nbytes + self._hi.nbytes + self._numbers.nbytes)

    def _add(self, boxes: Boxes) -> None:
        self._lo = np.concatenate([self._lo, boxes.lo.T], axis=1)
        self._hi = np.concatenate([self._hi, boxes.hi.T], axis=1)
        self._numbers = np.concatenate([self._numbers, boxes.ids])

    def _discard(self, ids: Integers) -> None:
        kept = ~np.isin(self._numbers, ids)
        self._lo, self._hi = self._lo[:, kept].copy(), self._hi[:, kept].copy()
        self._numbers = self._numbers[kept]

    def _search(self, points: Doubles) -> Matches:
        starts = np.zeros(len(points), dtype=np.int64)
        ends = np.full(len(points), len(self._numbers), dtype=np.int64)
        ids = compact_ids(self._numbers)
        return Matches(*scan_runs(self._lo, self._hi, points, starts, ends, ids))


@nb.njit(cache=True, nogil=True)
def scan_runs(
    lo: Doubles,
    hi: Doubles,
    points: Doubles,
    starts: Integers,
    ends: Integers,
    ids: npt.NDArray[Any],
) -> tuple[Integers, npt.NDArray[Any]]:  # pragma: no cover - compiled
    """Each point against its own run of boxes [start, end): offsets, and the ids of the hits.

    Boxes are taken in blocks: one dimension after the other narrows a block's hits, in loops that
    become vector instructions, and only a block with hits is looked at box by box.
    """
    offsets = np.zeros(len(points) + 1, dtype=np.int64)
    found = np.empty(max(len(points), 1_024), dtype=ids.dtype)
    hits = np.empty(BLOCK, dtype=np.uint8)
    at = 0
    for i in range(len(points)):
        if _finite(points[i]):
            for block in range(starts[i], ends[i], BLOCK):
                size = min(BLOCK, ends[i] - block)
                count = _narrow(lo, hi, points[i], block, size, hits)
                if count:
                    if at + count > len(found):
                        found = _grown(found, at + count)
                    for j in range(size):
                        if hits[j]:
                            found[at] = ids[block + j]
                            at += 1
        offsets[i + 1] = at
    return offsets, found[:at].copy()


@nb.njit(cache=True, nogil=True)
def _narrow(
    lo: Doubles, hi: Doubles, point: Doubles, block: int, size: int, hits: npt.NDArray[np.uint8]
) -> int:  # pragma: no cover - compiled
    """Mark the boxes of a block that contain the point; how many there are."""
    hits[:size] = 1
    for k in range(len(point)):
        x = point[k]
        low, high = lo[k, block : block + size], hi[k, block : block + size]
        for j in range(size):
            hits[j] &= (low[j] <= x) & (x < high[j])
    count = 0
    for j in range(size):
        count += hits[j]
    return count


@nb.njit(cache=True, nogil=True)
def _finite(point: Doubles) -> bool:  # pragma: no cover - compiled
    finite = True
    for k in range(len(point)):
        finite &= np.isfinite(point[k])
    return finite


@nb.njit(cache=True, nogil=True)
def _grown(found: npt.NDArray[Any], needed: int) -> npt.NDArray[Any]:  # pragma: no cover - compiled
    larger = np.empty(max(2 * len(found), needed), dtype=found.dtype)
    larger[: len(found)] = found
    return larger
