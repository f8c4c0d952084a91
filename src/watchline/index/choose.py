"""`auto`: the kind of index, chosen by the cost model and chosen again when the boxes have changed.

There is a contest only between the scan, which few boxes need nothing better than, and the best
index for the number of dimensions. Its tuning comes with an estimate; the scan's is the number of
comparisons. The table of boxes belongs to the chooser and is lent to the chosen.
"""

from __future__ import annotations

from watchline.index.base import Index
from watchline.index.cei import ContainmentEncodedIntervals
from watchline.index.ces import ContainmentEncodedSquares
from watchline.index.constructs import GROWN, SHRUNK, ConstructIndex
from watchline.index.result import Matches
from watchline.index.scan import ScanIndex
from watchline.index.spatialjoin import SpatialJoinIndex
from watchline.index.tuning import MOVE, scan_cost
from watchline.kernels.arrays import Array, Doubles, Integers, Small

# So few boxes that no model need be asked.
FEW = 32

# The best kind for a number of dimensions; for all others it is the spatial join.
_BEST: dict[int, type[ConstructIndex]] = {
    1: ContainmentEncodedIntervals,
    2: ContainmentEncodedSquares,
}


class AutoIndex(Index):
    """An index of the kind that suits its boxes; `kind` tells which that is now."""

    def __init__(self, dims: int):
        super().__init__(dims)
        self._choose()

    def _choose(self) -> None:
        chosen: Index = ScanIndex(self.dims)
        costs = {"scan": scan_cost(self.dims, len(self._boxes))}
        if len(self._boxes) > FEW:
            best = self._lent(_BEST.get(self.dims, SpatialJoinIndex)(self.dims))
            if isinstance(best, ConstructIndex):
                estimate = best.shape.estimate
                costs[best.kind] = estimate.nanoseconds
                costs["scan"] += MOVE * (estimate.moved + estimate.compared / 2)
            else:
                costs[best.kind] = best.nanoseconds
            if costs[best.kind] < costs["scan"]:
                chosen = best
        self._chosen = chosen if chosen.kind != "scan" else self._lent(chosen)
        self._chosen_for = len(self._boxes)
        self._costs = costs
        self.kind = chosen.kind

    def _lent(self, index: Index) -> Index:
        """The index over our own boxes."""
        index._boxes = self._boxes
        index._add(self._boxes.living())
        return index

    def explain(self) -> str:
        costs = ", ".join(
            f"{kind} about {cost:,.0f} ns a row" for kind, cost in self._costs.items()
        )
        return f"{self._chosen.explain()}; chosen for {self._chosen_for:,} boxes among: {costs}"

    def estimate(self, lo: Doubles, hi: Doubles) -> float:
        return self._chosen.estimate(lo, hi)

    @property
    def _nbytes(self) -> int:
        return self._chosen._nbytes

    def _add(self, slots: Small) -> None:
        if len(self._boxes) > GROWN * self._chosen_for + FEW:
            self._choose()
        else:
            self._chosen._add(slots)

    def _discard(self, slots: Small) -> None:
        self._chosen._discard(slots)

    def _settle(self) -> None:
        if SHRUNK * len(self._boxes) < self._chosen_for - FEW or self._boxes.sparse:
            self._boxes.compact()
            self._choose()
        else:
            self._chosen._settle()

    def _stab(self, points: Doubles) -> Matches:
        return self._chosen._stab(points)

    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        return self._chosen._fill(points, offsets, found, row, at)
