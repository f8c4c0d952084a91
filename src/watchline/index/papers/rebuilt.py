"""What indexes share whose arrays do not change: boxes that came late, and building anew.

Invariant: a living box has a place in the arrays, or is late, in a scan of its own. A box that goes
leaves its place with a need that no row can meet. Cost: building anew when more than a share of the
boxes is late, or has gone, makes changes cost a constant number of times their part of a build.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from watchline.index.base import Index
from watchline.index.papers.merging import HIT, PASS, tally
from watchline.index.scan import ScanIndex
from watchline.kernels.arrays import Array, Doubles, Small

# Built anew when more than one in so many boxes is late, or has gone.
LATE, GONE = 8, 2


class RebuiltIndex(Index):
    """An index over places, and a scan of what came since these were given."""

    def __init__(self, dims: int):
        super().__init__(dims)
        self._build()

    # --- what a kind decides

    @abstractmethod
    def _lay_out(self, lo: Doubles, hi: Doubles) -> float:
        """Arrays for the boxes at places 0, 1, 2 …; how many hits a row will have to count."""

    @abstractmethod
    def _needs(self, lo: Doubles, hi: Doubles) -> Array:
        """What each box needs before a row has been looked at."""

    @property
    @abstractmethod
    def _most(self) -> int:
        """The highest that a counter can come to for a living box."""

    # --- structure

    def _build(self) -> None:
        boxes, slots = self._boxes, self._boxes.living()
        self._late = ScanIndex(self.dims)
        self._placed, self._gone = len(slots), 0
        # By slot; -1 if the box is late, or there is none.
        self._places = np.full(len(boxes.rows), -1, dtype=np.int32)
        self._places[slots] = np.arange(len(slots))
        lo, hi = boxes.lo[slots], boxes.hi[slots]
        self._tally = tally(self._needs(lo, hi), boxes.ids[slots], boxes.id_type, self._most)
        self._hits = self._lay_out(lo, hi)

    def explain(self) -> str:
        cost = HIT * self._hits + PASS * len(self._tally.needs)
        return (
            f"{super().explain()}, {len(self._late):,} of them late; about {cost:,.0f} ns a row"
            f" ({self._hits:,.0f} hits counted)"
        )

    # --- the protocol

    @property
    def _nbytes(self) -> int:
        return self._late.nbytes + self._places.nbytes + self._tally.nbytes

    def _add(self, slots: Small) -> None:
        boxes = self._boxes
        if LATE * (len(self._late) + len(slots)) > self._placed:
            self._build()
        elif len(slots):
            self._late.insert(boxes.ids[slots], boxes.lo[slots], boxes.hi[slots])

    def _discard(self, slots: Small) -> None:
        placed = slots < len(self._places)
        placed[placed] = self._places[slots[placed]] >= 0
        self._tally.needs[self._places[slots[placed]]] += 1
        self._places[slots[placed]] = -1
        self._gone += int(np.count_nonzero(placed))
        self._late.remove(self._boxes.ids[slots[~placed]])

    def _settle(self) -> None:
        if self._boxes.sparse:
            self._boxes.compact()
            self._build()
        elif GONE * self._gone > self._placed:
            self._build()
