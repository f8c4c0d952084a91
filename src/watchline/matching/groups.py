"""Groups of boxes and regions that ask about the same axes, and the parts that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from watchline.index import POLYGON, RegionColumns
from watchline.kernels.arrays import Doubles, Integers
from watchline.matching import limits
from watchline.matching.plan import Part, RegionPart, bounding_boxes
from watchline.matching.shapes import ShapeDraft
from watchline.model import INF, Attribute, Type

Axes = tuple[Attribute, ...]


@dataclass(eq=False)
class BoxGroup:
    """Boxes that ask about the same axes below the same key, in pieces; without a key no codes."""

    axes: Axes
    codes: list[Integers] = field(default_factory=list)
    lo: list[Doubles] = field(default_factory=list)
    hi: list[Doubles] = field(default_factory=list)
    numbers: list[Integers] = field(default_factory=list)

    def add(self, codes: Integers, lo: Doubles, hi: Doubles, numbers: Integers) -> None:
        """More boxes: bounds are (n, axes)."""
        self.codes.append(codes)
        self.lo.append(lo)
        self.hi.append(hi)
        self.numbers.append(numbers)

    def multiply(self, times: int) -> None:
        """Make `times` boxes of each, at random distances up to the next box along each axis, so
        that borders crowd no more than those of the boxes that they stand for."""
        lo, hi = np.concatenate(self.lo), np.concatenate(self.hi)
        plain = [axis.type in (Type.DOUBLE, Type.TIMESTAMP) for axis in self.axes]
        steps = _gaps(np.where(np.isfinite(lo), lo, hi)) * plain
        lo, hi, steps = (np.repeat(side, times, axis=0) for side in (lo, hi, steps))
        shift = np.random.default_rng(0).random(lo.shape) * steps
        moved = lo + shift < hi + shift
        self.lo, self.hi = [np.where(moved, lo + shift, lo)], [np.where(moved, hi + shift, hi)]
        self.codes = [np.repeat(np.concatenate(self.codes), times)]
        self.numbers = [np.repeat(np.concatenate(self.numbers), times)]

    def __len__(self) -> int:
        return sum(map(len, self.numbers))


@dataclass(eq=False)
class RegionGroup(BoxGroup):
    """Boxes without a key that each have a region."""

    shapes: ShapeDraft = field(default_factory=ShapeDraft)

    def multiply(self, times: int) -> None:
        """Let each region be `times` boxes around it: the vertices of so many would take long."""
        boxes = _as_polygons(*bounding_boxes(self.shapes.finish()))
        self.shapes = ShapeDraft()
        self.shapes.add(boxes.taken(np.repeat(np.arange(len(boxes)), times)))
        for pieces in (self.codes, self.lo, self.hi, self.numbers):
            pieces[:] = [np.repeat(np.concatenate(pieces), times, axis=0)]


def _as_polygons(low: Doubles, high: Doubles) -> RegionColumns:
    """Boxes (2, n) as regions."""
    n = low.shape[1]
    corners = [(low, low), (high, low), (high, high), (low, high), (low, low)]
    rings = np.stack([np.stack([x[0], y[1]], axis=1) for x, y in corners], axis=1)
    rings = np.clip(rings, -1e300, 1e300)
    chains = np.stack([np.arange(n) * len(corners), np.full(n, len(corners) - 1)], axis=1)
    forms, nowhere = np.full(n, POLYGON), np.full(n, np.nan)
    return RegionColumns(forms, np.arange(n + 1), chains, rings.reshape(-1, 2), nowhere)


def _gaps(values: Doubles) -> Doubles:
    """How far the next larger value of the same column is; 0 for the last, and where none is."""
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.diff(ordered, axis=0, append=ordered[-1:])
    gaps = np.empty_like(values)
    np.put_along_axis(gaps, order, np.where(np.isfinite(steps), steps, 0.0), axis=0)
    return gaps


def divided(
    groups: list[BoxGroup], whole: bool, key: Attribute | None
) -> tuple[list[BoxGroup], list[BoxGroup]]:
    """The groups that are worth a part of their own, the largest, and the others."""
    many = limits.MANY_WHOLE if whole else limits.MANY if key is None else limits.MANY_BELOW_KEY

    def is_own(group: BoxGroup) -> bool:
        fit = group.axes if whole else 1 <= len(group.axes) <= limits.MAX_AXES
        # Without a key all boxes are one run, and a longest run is never longer than all.
        return bool(fit) and len(group) > many and (key is None or longest([group]) > many)

    order = sorted(groups, key=len, reverse=True)
    own = [group for group in order if is_own(group)][: limits.MAX_OWN]
    return own, [group for group in groups if group not in own]


def longest(groups: list[BoxGroup]) -> int:
    """The most boxes of one key value."""
    codes = concatenated((c for group in groups for c in group.codes), np.int64)
    return int(np.unique(codes, return_counts=True)[1].max(initial=0))


def part_of(whole: bool, key: Attribute | None, values: int, groups: list[BoxGroup]) -> Part:
    """The boxes of all groups over the union of their axes; the key has so many values."""
    axes, lo, hi, numbers = _united(groups)
    if key is None:
        starts = np.array([0, len(numbers)], dtype=np.int64)
        return Part(whole, None, axes, None, starts, lo, hi, numbers)
    codes = np.concatenate([c for group in groups for c in group.codes])
    order = np.argsort(codes, kind="stable")
    found, firsts = np.unique(codes[order], return_index=True)
    runs = np.full(values + 1, len(found))
    runs[found] = np.arange(len(found))
    starts = np.append(firsts, len(numbers)).astype(np.int64)
    return Part(whole, key, axes, runs, starts, lo[:, order], hi[:, order], numbers[order])


def region_part_of(
    whole: bool, point: tuple[Attribute, Attribute], groups: list[RegionGroup]
) -> RegionPart:
    """The regions of all groups, and their boxes over the union of their axes."""
    axes, lo, hi, numbers = _united(groups)
    starts = np.array([0, len(numbers)], dtype=np.int64)
    shapes = ShapeDraft()
    for group in groups:
        shapes.add(group.shapes.finish())
    return RegionPart(whole, None, axes, None, starts, lo, hi, numbers, point, shapes.finish())


def _united(groups: Sequence[BoxGroup]) -> tuple[Axes, Doubles, Doubles, Integers]:
    """Axes, bounds (axes, n) and numbers of all boxes."""
    axes = tuple(sorted({axis for group in groups for axis in group.axes}))
    numbers = np.concatenate([n for group in groups for n in group.numbers])
    lo, hi = (
        np.full((len(axes), len(numbers)), -INF),
        np.full((len(axes), len(numbers)), np.nan),
    )
    at = 0
    for group in groups:
        places, end = [axes.index(axis) for axis in group.axes], at + len(group)
        lo[places, at:end], hi[places, at:end] = (
            np.concatenate(side).T for side in (group.lo, group.hi)
        )
        at = end
    return axes, lo, hi, numbers


def concatenated(pieces: Iterable[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    """All pieces in one array; an empty one of this type if there are none."""
    pieces = list(pieces)
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=kind)
