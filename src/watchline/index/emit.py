"""The last step of a search: from lists to ids.

Whole entries are moved; cuts are compared, and each writes its id at the next place, which only a
hit moves on: no branch to predict. Kernels that run for every row take arrays, not tuples of them:
to take an array out of a tuple is to count a reference to it.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from watchline.index.lists import Words, first_cut
from watchline.index.table import Doubles, Int, Integers
from watchline.index.vector import prefetch


@nb.njit(cache=True, nogil=True)
def emit_ranges(
    words: Words,
    doubles: Doubles,
    cut: int,
    start: Int,
    wholes: Int,
    cuts: Int,
    value: float,
    found: npt.NDArray[Any],
    to: Int,
) -> Int:  # pragma: no cover - compiled
    """The cuts of a 1-D list, which carry their ranges; the next place in `found`."""
    # A double is two words, or one if ids are wide.
    half = np.uint64(len(words) // len(doubles) - 1)
    id_at, size = np.uint64(2) << half, np.uint64(cut)
    place = np.uint64(first_cut(start, wholes, cuts, cut))
    for _ in range(cuts):
        found[to] = words[place + id_at]
        low, high = doubles[place >> half], doubles[(place >> half) + np.uint64(1)]
        to += np.uint64((low <= value) & (value < high))
        place += size
    return to


@nb.njit(cache=True, nogil=True)
def emit_boxes(
    words: Words,
    start: Int,
    wholes: Int,
    cuts: Int,
    x: float,
    y: float,
    boxes: Doubles,
    ids: Integers,
    found: npt.NDArray[Any],
    to: Int,
) -> Int:  # pragma: no cover - compiled
    """The cuts of a 2-D list, which are slots of the table of boxes."""
    first = first_cut(start, wholes, cuts, 1)
    last = first + np.int64(cuts)
    for w in range(first, last):
        prefetch(boxes, 5 * words[w])
        prefetch(boxes, 5 * words[w] + 4)
    for w in range(first, last):
        slot = words[w]
        found[to] = ids[slot]
        hit = (boxes[slot, 0] <= x) & (x < boxes[slot, 2])
        hit &= (boxes[slot, 1] <= y) & (y < boxes[slot, 3])
        to += np.uint64(hit)
    return to
