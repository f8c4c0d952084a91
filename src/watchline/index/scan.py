"""`scan`: the compiled linear scan, every other index's rival and safety net.

Invariant: boxes stand side by side in arrays of one dimension each, in no order. Cost: every point
meets every box, twice (to count, then to list); memory is the boxes and nothing else.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from watchline.index.base import Boxes, Doubles, Index, Integers, Matches, compact_ids


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
        n = len(self._numbers)
        starts = np.zeros(len(points), dtype=np.int64)
        ends = np.full(len(points), n, dtype=np.int64)
        ids = compact_ids(self._numbers)
        offsets = count_hits(self._lo, self._hi, points, starts, ends)
        return Matches(offsets, list_hits(self._lo, self._hi, points, starts, ends, offsets, ids))


@nb.njit(cache=True, nogil=True)
def count_hits(
    lo: Doubles, hi: Doubles, points: Doubles, starts: Integers, ends: Integers
) -> Integers:  # pragma: no cover - compiled
    """Offsets of each point's hits among its own boxes [start, end)."""
    offsets = np.zeros(len(points) + 1, dtype=np.int64)
    dims = points.shape[1]
    for i in range(len(points)):
        hits = 0
        if _finite(points, i):
            for j in range(starts[i], ends[i]):
                inside = True
                for k in range(dims):
                    inside &= (lo[k, j] <= points[i, k]) & (points[i, k] < hi[k, j])
                hits += inside
        offsets[i + 1] = offsets[i] + hits
    return offsets


@nb.njit(cache=True, nogil=True)
def list_hits(
    lo: Doubles,
    hi: Doubles,
    points: Doubles,
    starts: Integers,
    ends: Integers,
    offsets: Integers,
    ids: npt.NDArray[Any],
) -> npt.NDArray[Any]:  # pragma: no cover - compiled
    """The ids of the hits that `count_hits` counted."""
    found = np.empty(offsets[-1], dtype=ids.dtype)
    dims = points.shape[1]
    for i in range(len(points)):
        at = offsets[i]
        if at == offsets[i + 1]:
            continue
        for j in range(starts[i], ends[i]):
            inside = True
            for k in range(dims):
                inside &= (lo[k, j] <= points[i, k]) & (points[i, k] < hi[k, j])
            if inside:
                found[at] = ids[j]
                at += 1
    return found


@nb.njit(cache=True, nogil=True, inline="always")
def _finite(points: Doubles, i: int) -> bool:  # pragma: no cover - compiled
    finite = True
    for k in range(points.shape[1]):
        finite &= np.isfinite(points[i, k])
    return finite
