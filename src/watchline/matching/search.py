"""Candidates of a part: which of its boxes contain each row.

Without a key all boxes stand in one index. With one, a value that has many boxes has an index of
its own, and the boxes of all others are scanned, run by run: ten alerts for a symbol are ten
comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from watchline.evaluate import Columns
from watchline.index import Index, build
from watchline.index.result import search
from watchline.index.scan import scan_runs
from watchline.matching.plan import Part
from watchline.model import Attribute, Type

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# A run of more boxes than this is worth an index: below a key, or where every row meets it.
MANY, MANY_BELOW_KEY = 64, 1_024
# Indexes there are for one and for two axes.
MAX_AXES = 2


@dataclass(frozen=True)
class PartSearch:
    """A part, and the indexes of those of its runs that are long."""

    part: Part
    # By the number of the run.
    indexes: dict[int, Index]

    @staticmethod
    def over(part: Part) -> PartSearch:
        if not 1 <= len(part.axes) <= MAX_AXES:
            return PartSearch(part, {})
        many = MANY if part.key is None else MANY_BELOW_KEY
        long = np.flatnonzero(np.diff(part.starts) > many)
        return PartSearch(part, {int(run): _index(part, int(run)) for run in long})

    def candidates(self, columns: Columns) -> tuple[Integers, npt.NDArray[np.int64]]:
        """Pairs of a row and a conjunction."""
        points = points_of(self.part.axes, columns)
        if self.part.key is None:
            if 0 not in self.indexes:
                starts = np.zeros(len(points), dtype=np.int64)
                return self._scanned(points, starts, np.full(len(points), self.part.starts[-1]))
            found = self.indexes[0].stab(points)
            return found.rows(), found.ids
        runs = runs_of(self.part, columns)
        starts = np.append(self.part.starts, self.part.starts[-1])
        if not self.indexes:
            return self._scanned(points, starts[runs], starts[runs + 1])
        ends = starts[1:].copy()
        long = np.array(list(self.indexes))
        ends[long] = starts[long]
        pairs = [self._scanned(points, starts[runs], ends[runs]), *self._below_key(points, runs)]
        rows, conjunctions = zip(*pairs, strict=True)
        return np.concatenate(rows), np.concatenate(conjunctions)

    def _scanned(
        self, points: Doubles, starts: Integers, ends: Integers
    ) -> tuple[Integers, Integers]:
        part = self.part
        fill = partial(scan_runs, part.lo, part.hi, part.conjunctions)
        found = search(fill, (points, starts, ends), np.int64)
        return found.rows(), found.ids

    def _below_key(
        self, points: Doubles, runs: Integers
    ) -> list[tuple[Integers, npt.NDArray[np.int64]]]:
        """The rows of each run that has an index."""
        order = np.argsort(runs, kind="stable")
        ordered = runs[order]
        pairs = []
        for run, index in self.indexes.items():
            first, end = np.searchsorted(ordered, [run, run + 1])
            if first < end:
                rows = order[first:end]
                found = index.stab(points[rows])
                pairs.append((rows[found.rows()], found.ids))
        return pairs


def _index(part: Part, run: int) -> Index:
    chosen = slice(part.starts[run], part.starts[run + 1])
    kind = "cei" if len(part.axes) == 1 else "ces"
    return build(kind, part.lo[:, chosen].T, part.hi[:, chosen].T, part.conjunctions[chosen])


def points_of(axes: tuple[Attribute, ...], columns: Columns) -> Doubles:
    """The rows as points over the axes; what is no number is NaN. One plain axis is not copied."""
    if len(axes) == 1 and axes[0].type is Type.DOUBLE:
        return columns.values(axes[0]).reshape(-1, 1)  # type: ignore[return-value]
    points = np.empty((len(columns), len(axes)))
    for k, axis in enumerate(axes):
        points[:, k] = columns.values(axis)
        if axis.type is not Type.DOUBLE and columns.array(axis).null_count:
            points[~columns.present(axis), k] = np.nan
    return points


def runs_of(part: Part, columns: Columns) -> Integers:
    """The run of each row's key value; one past the last, which is empty, for an unknown value."""
    assert part.key is not None
    codes = pc.index_in(columns.array(part.key), value_set=part.keys)
    return pc.fill_null(codes, len(part.starts) - 1).to_numpy().astype(np.int64)  # type: ignore[no-any-return]
