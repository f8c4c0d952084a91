"""Alternatives of a query: their keys, the boxes that their sides make, and their regions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from watchline.index import CIRCLE, EARTH_CIRCLE, RegionColumns
from watchline.kernels.arrays import Doubles, Integers, Mask
from watchline.matching import limits
from watchline.matching.shapes import flat
from watchline.model import (
    INF,
    Atom,
    Circle,
    Condition,
    Conjunction,
    InRange,
    Inside,
    OneOf,
    Range,
    StaticRegion,
    Stream,
    Type,
)


class Asked(NamedTuple):
    """An alternative of a query beside the region that drives: its atoms, of which those of regions
    are negated, the other regions that rows must be inside of, and whether there is no other
    alternative."""

    atoms: list[Atom]
    regions: list[StaticRegion]
    alone: bool


def key_of(alternative: Conjunction, stream: Stream) -> InRange | OneOf | None:
    """The equality that selects a sub-index: the object id's if there is one."""
    found: InRange | OneOf | None = None
    for atom in alternative.atoms:
        if isinstance(atom, OneOf) and atom.attribute.type is Type.STRING:
            if len(atom.values) > limits.MAX_KEY_VALUES:
                continue
            if found is None or atom.attribute.name == stream.object:
                found = atom
        elif (
            isinstance(atom, InRange)
            and atom.attribute.name == stream.object
            and atom.range.hi - atom.range.lo == 1
        ):
            return atom
    return found


def boxes_of(
    codes: Iterable[int], sides: list[tuple[Range, ...]]
) -> tuple[Integers, Doubles, Doubles]:
    """All boxes of these sides below these codes: their codes, and their bounds (n, axes)."""
    below, *ranges = zip(*product(codes, *sides), strict=True)
    bounds = np.array([(float(r.lo), float(r.hi)) for side in ranges for r in side])
    lo, hi = bounds.reshape(len(ranges), len(below), 2).T
    return np.array(below), lo, hi


def regions_held(alternative: Conjunction) -> tuple[list[StaticRegion], list[Atom]]:
    """The regions that rows must be inside of, boxes on Earth as what they are in degrees, and the
    atoms without these."""
    held, others = list[StaticRegion](), list[Atom]()
    for atom in alternative.atoms:
        if isinstance(atom, Inside) and not atom.negated:
            held.append(flat(atom.region))
        else:
            others.append(atom)
    return held, others


def centred(regions: RegionColumns, where: Condition) -> Mask:
    """Which of these regions are circles and the only region of a query that has this condition
    besides: the circle is its centre then, see `model.centre_of`."""
    circles = (regions.forms == CIRCLE) | (regions.forms == EARTH_CIRCLE)
    first = regions.chains[regions.begins[:-1], 0]
    for alternative in where:
        for atom in alternative.atoms:
            if not isinstance(atom, Inside):
                continue
            other = atom.region
            if atom.negated or not isinstance(other, Circle):
                return np.zeros(len(circles), np.bool_)
            circles &= regions.forms == (EARTH_CIRCLE if other.on_earth else CIRCLE)
            same = regions.coordinates[first] == [other.x, other.y]
            circles &= same.all(axis=1) & (regions.coordinates[first + 1, 0] == other.radius)
    return np.asarray(circles)


def key_values(key: InRange | OneOf) -> tuple[Any, ...]:
    """The values that a key may have."""
    return key.values if isinstance(key, OneOf) else (int(key.range.lo),)


def widened(values: Range) -> Range:
    """Float bounds that no integer of the range can fall out of by rounding."""
    return Range(
        float(np.nextafter(float(values.lo), -INF)), float(np.nextafter(float(values.hi), INF))
    )
