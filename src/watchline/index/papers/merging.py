"""Attributes searched one by one, their hits merged by counting.

A box is known by a place. Invariant: between rows, `left[p]` is what the box at place p needs: one
hit for each attribute that it bounds. Every hit of a row takes one off, and the boxes with nothing
left contain the point. A place without a living box needs one hit more than it can get.

Cost: well below a nanosecond a hit. Then either a pass over all counters, 64 at a time, that
collects the zeros and puts back what was needed; or, if there were few hits, the same for the
places that were hit. Arrays by place end with places of no box, so that a pass has no remainder.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from watchline.kernels.arrays import Array, Doubles, Integers, Mask, Small
from watchline.kernels.compiled import kernel, leaf, outer_leaf
from watchline.kernels.simd import LANES, lowest, zeros

Counters = npt.NDArray[np.unsignedinteger[Any]]

# A pass over so many counters takes as long as to look at one hit again.
SPARSE = 20
# Nanoseconds for a hit, and for a counter that a pass meets.
HIT, PASS = 0.7, 0.06


class Tally(NamedTuple):
    """By place, what a box needs and its id; and the places of boxes that need nothing."""

    needs: Counters
    ids: Array
    free: Small

    @property
    def nbytes(self) -> int:
        return self.needs.nbytes + self.ids.nbytes + self.free.nbytes


def tally(needs: Array, ids: Integers, id_type: Any, most: int) -> Tally:
    """The tally of these boxes; none can need more than `most`, which the counters must hold."""
    padded = -(-len(needs) // LANES) * LANES
    counts = np.ones(padded, dtype=np.min_scalar_type(most + 1))
    counts[: len(needs)] = needs
    wide = np.zeros(padded, dtype=id_type)
    wide[: len(ids)] = ids
    return Tally(counts, wide, np.flatnonzero(counts == 0).astype(np.int32))


def bounded(lo: Doubles, hi: Doubles) -> Mask:
    """Where a box has a bound: a range without one needs no hit."""
    return np.isfinite(lo) | np.isfinite(hi)


@outer_leaf()
def count_hits(left: Counters, places: Array, start: int, end: int, step: int) -> None:
    """Add `step` to the counters of the boxes in one list."""
    for j in range(np.uint64(start), np.uint64(end)):
        place = np.uint32(places[j])
        left[place] = np.int64(left[place]) + step


@outer_leaf()
def collect(left: Counters, needs: Counters, ids: Array, found: Array, at: int) -> int:
    """The ids of all boxes with nothing left; the next place in `found`, -1 if it has no room.

    What was needed is put back in any case.
    """
    for block in range(0, len(left), LANES):
        hits = zeros(left, block)
        if hits and at + LANES > len(found):
            at = -1
            break
        while hits:
            found[at] = ids[block + lowest(hits)]
            at += 1
            hits &= hits - np.uint64(1)
    for j in range(len(left)):
        left[j] = needs[j]
    return at


@kernel
def merge_hits(
    boxes: Tally,
    left: Counters,
    places: Array,
    runs: Integers,
    count_of_runs: int,
    found: Array,
    at: int,
) -> int:
    """The ids of the boxes that have what they need, by the runs of places that a row hit.

    Gives the next place in `found`, -1 if it may not have room. A run has no place twice.
    """
    needs, ids, free = boxes
    hits = 0
    for i in range(count_of_runs):
        hits += runs[i, 1] - runs[i, 0]
    sparse = SPARSE * hits < len(left)
    if sparse and at + hits + len(free) >= len(found):
        return -1
    for i in range(count_of_runs):
        count_hits(left, places, runs[i, 0], runs[i, 1], -1)
    if not sparse:
        return collect(left, needs, ids, found, at)
    for i in range(count_of_runs):
        at = _collect_run(left, needs, ids, places, runs[i, 0], runs[i, 1], found, at)
    for place in free:
        found[at] = ids[place]
        # It may have gone.
        at += left[place] == 0
    return at


@leaf()
def _collect_run(
    left: Counters,
    needs: Counters,
    ids: Array,
    places: Array,
    start: int,
    end: int,
    found: Array,
    at: int,
) -> int:
    """`collect` for one run. A box that two runs hit has its need back when the second comes."""
    for j in range(np.uint64(start), np.uint64(end)):
        place = np.uint32(places[j])
        found[at] = ids[place]
        at += left[place] == 0
        left[place] = needs[place]
    return at
