"""Candidates of a part: which of its boxes contain each row.

Without a key all boxes stand in one index. With one, a value that has many boxes has an index of
its own, and the boxes of all others are scanned, run by run: ten alerts for a symbol are ten
comparisons. Regions stand in an index of regions, and their boxes are compared with the rows that
it finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from watchline.index import (
    Index,
    RegionIndex,
    build,
    estimate,
    region_cost,
    scan_cost,
    scan_runs,
    search,
)
from watchline.kernels.arrays import Array, Doubles, Integers, Mask
from watchline.kernels.compiled import kernel
from watchline.matching import limits
from watchline.matching.plan import Part, RegionPart
from watchline.model import MAX_DOUBLE, Attribute, Type
from watchline.rows import Columns, ValueIndex

T = TypeVar("T")

# The kind of index for any number of axes, and for boxes that do not look at all of them.
ANY = "spatialjoin"


class SearchRows:
    """Rows as a plan sees them: numbers along its axes, codes of its keys."""

    def __init__(self, columns: Columns, known: Mapping[Attribute, ValueIndex]):
        self._columns = columns
        self._known = known
        self._codes: dict[Attribute, Integers] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def codes(self, attribute: Attribute) -> Integers:
        """The code of each row's value; the number of codes where it has none."""
        if attribute not in self._codes:
            known = self._known[attribute]
            found = known.find(self._columns.array(attribute))
            found[found < 0] = len(known)
            self._codes[attribute] = found
        return self._codes[attribute]

    def runs(self, part: Part) -> Integers:
        """The run of each row's key value; one past the last, which is empty, if it has none."""
        assert part.key is not None
        assert part.runs is not None
        return part.runs[self.codes(part.key)]

    def points(self, axes: tuple[Attribute, ...]) -> Doubles:
        """The rows as points; what is no number is NaN. One plain axis is not copied."""
        columns = self._columns
        if len(axes) == 1 and axes[0].type is Type.DOUBLE:
            return columns.values(axes[0]).reshape(-1, 1)  # type: ignore[return-value]
        points = np.empty((len(self), len(axes)))
        for k, axis in enumerate(axes):
            if axis.type is Type.DOUBLE:
                points[:, k] = columns.values(axis)
            elif axis.type is Type.STRING:
                points[:, k] = self.codes(axis)
                points[self.codes(axis) == len(self._known[axis]), k] = np.nan
            else:
                points[:, k] = columns.values(axis)
                if columns.array(axis).null_count:
                    points[~columns.present(axis), k] = np.nan
        return points


@dataclass(frozen=True)
class PartSearch:
    """A part, and the indexes of those of its runs that are long."""

    part: Part
    # By the number of the run.
    indexes: dict[int, Index]

    @staticmethod
    def over(part: Part) -> PartSearch:
        return PartSearch(part, {run: index_over(part, run) for run in long_runs(part)})

    def candidates(self, rows: SearchRows) -> tuple[Integers, npt.NDArray[Any]]:
        """Pairs of a row and the number of a box."""
        points = rows.points(self.part.axes)
        if self.part.key is None:
            if 0 not in self.indexes:
                starts = np.zeros(len(points), dtype=np.int64)
                return self._scanned(points, starts, np.full(len(points), self.part.starts[-1]))
            found = self.indexes[0].stab_points(points)
            return found.rows(), found.ids
        runs = rows.runs(self.part)
        starts = np.append(self.part.starts, self.part.starts[-1])
        if not self.indexes:
            return self._scanned(points, starts[runs], starts[runs + 1])
        ends = starts[1:].copy()
        long = np.array(list(self.indexes))
        ends[long] = starts[long]
        pairs = [self._scanned(points, starts[runs], ends[runs]), *self._below_key(points, runs)]
        places, numbers = zip(*pairs, strict=True)
        return np.concatenate(places), np.concatenate(numbers)

    def _scanned(
        self, points: Doubles, starts: Integers, ends: Integers
    ) -> tuple[Integers, Integers]:
        part = self.part
        fill = partial(scan_runs, part.lo, part.hi, part.numbers)
        found = search(fill, (points, starts, ends), np.int64)
        return found.rows(), found.ids

    def _below_key(
        self, points: Doubles, runs: Integers
    ) -> list[tuple[Integers, npt.NDArray[Any]]]:
        """The rows of each run that has an index."""
        pairs = []
        for index, rows in of_each_run(runs, self.indexes):
            found = index.stab(points[rows])
            pairs.append((rows[found.rows()], found.ids))
        return pairs


@dataclass(frozen=True)
class RegionSearch:
    """A part of regions, and the index over them: its ids are the places of regions in the part."""

    part: RegionPart
    index: RegionIndex

    @staticmethod
    def over(part: RegionPart) -> RegionSearch:
        return RegionSearch(part, RegionIndex(part.regions, np.arange(len(part.numbers))))

    def candidates(self, rows: SearchRows) -> tuple[Integers, npt.NDArray[Any]]:
        """Pairs of a row and the number of a box: the row is in its region, and in the box."""
        found = self.index.stab_points(rows.points(self.part.point))
        places, regions = found.rows(), found.ids
        if self.part.axes and len(places):
            points = rows.points(self.part.axes)
            kept = _in_boxes(self.part.lo, self.part.hi, points, places, regions)
            places, regions = places[kept], regions[kept]
        return places, self.part.numbers[regions]


@kernel
def _in_boxes(lo: Doubles, hi: Doubles, points: Doubles, rows: Integers, boxes: Array) -> Mask:
    """Which rows are in their boxes; where `hi` is NaN a box does not look."""
    kept = np.ones(len(rows), np.bool_)
    for i in range(len(rows)):
        b = boxes[i]
        for d in range(len(lo)):
            value = points[rows[i], d]
            if not (np.isnan(hi[d, b]) or (np.isfinite(value) and lo[d, b] <= value < hi[d, b])):
                kept[i] = False
    return kept


def of_each_run(runs: Integers, things: Mapping[int, T]) -> Iterator[tuple[T, Integers]]:
    """For each run that has a thing, that and the places in `runs` where it stands, if any."""
    order = np.argsort(runs, kind="stable")
    ordered = runs[order]
    for run, thing in things.items():
        first, end = np.searchsorted(ordered, [run, run + 1])
        if first < end:
            yield thing, order[first:end]


def long_runs(part: Part) -> list[int]:
    """The runs that are worth an index."""
    if part.key is not None:
        many = limits.MANY_BELOW_KEY
    elif len(part.axes) > limits.MAX_AXES or np.isnan(part.hi).any():
        many = limits.MANY_JOINED
    else:
        many = limits.MANY
    return np.flatnonzero(np.diff(part.starts) > many).tolist() if part.axes else []


def access_path(part: Part, run: int) -> tuple[str, float]:
    """By what the boxes of a run are found, and nanoseconds a row by the model."""
    if isinstance(part, RegionPart):
        return "cells of regions", region_cost(part.regions)
    if run in long_runs(part):
        return index_cost(part, run)
    return "scan", scan_cost(len(part.axes), float(part.starts[run + 1] - part.starts[run]))


def index_over(part: Part, run: int) -> Index:
    """The index over the boxes of one key of a part."""
    lo, hi, kind, tuning = _indexed(part, run)
    return build(kind, lo, hi, part.numbers[part.starts[run] : part.starts[run + 1]], **tuning)


def index_cost(part: Part, run: int) -> tuple[str, float]:
    """The kind of index for a run, and nanoseconds a row by its model, without building it."""
    lo, hi, kind, tuning = _indexed(part, run)
    return kind, estimate(kind, lo, hi, **tuning)


def _indexed(part: Part, run: int) -> tuple[Doubles, Doubles, str, dict[str, Any]]:
    """The boxes of a run as indexes have them, (n, axes), and the kind that suits them."""
    chosen = slice(part.starts[run], part.starts[run + 1])
    lo, hi = part.lo[:, chosen].T, part.hi[:, chosen].T
    asked = ~np.isnan(hi)
    if asked.all():
        return lo, hi, {1: "cei", 2: "ces"}.get(len(part.axes), ANY), {}
    # A lenient index does not look where there is no bound. To be asked for any number is one.
    lo = np.where(asked & (lo == -np.inf) & (hi == np.inf), -MAX_DOUBLE, lo)
    return lo, np.where(asked, hi, np.inf), ANY, {"lenient": True}
