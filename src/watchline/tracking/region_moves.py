"""Transitions of regions that decide alone: from cell to cell of their index.

A move looks at the cell of both its ends first. Where they share it and no border cuts it, nothing
changes; else only the regions there are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from watchline.kernels.arrays import read_only
from watchline.matching import RegionSearch, SearchRows
from watchline.tracking.ranges import Moves, Transitions, ends_of_moves


@dataclass(frozen=True)
class RegionTransitions:
    """A part whose regions are each all of their query."""

    search: RegionSearch

    def transitions(self, rows: SearchRows, moves: Moves) -> Transitions:
        """What each move leaves and enters, by the numbers of boxes."""
        part, index = self.search.part, self.search.index
        points = read_only(rows.points(part.point))
        found = index.changes_of_points(*ends_of_moves(points, moves.old, moves.new))
        return Transitions(found.rows, part.numbers[found.ids], found.signs)
