"""Filters: what moving and nearest-neighbour queries ask of an object besides its distance.

The conditions of such queries are themselves standing queries, each kept once however many share
it. A filter is asked *before* the operator or *inside* it. Before: a row meets all filters through
the index, and what it satisfies are the bits of its line; the operator looks at a bit. Inside: the
operator compares the row's values with the filter's ranges, but only of objects that are where some
query looks. Each costs by how much it lets through: many candidates are better filtered before, few
are better looked at one by one. What is not a conjunction of ranges is always asked before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watchline.kernels.arrays import Doubles, Integers, Words
from watchline.matching import PreparedPlan, SearchRows, is_exact, match, plan_all
from watchline.model import Attribute, Box, Emit, InRange, Query, Range, Source, Stream, Type
from watchline.proximity import INSIDE, NO_FILTER, Filter, Moving
from watchline.rows import Columns

BITS = 64
# Nanoseconds: a row meets the index, a candidate is compared with one range.
BEFORE, TERM = 60.0, 2.0


class FilterColumns(NamedTuple):
    """What filters need of rows, a line for each: bits of those asked before, values for those
    asked inside."""

    bits: Words
    values: Doubles


def ranges_of(asked: Filter, stream: Stream) -> dict[Attribute, Range] | None:
    """The ranges that a filter is, if it is a conjunction of them."""
    if len(asked.where) > 1:
        return None
    ranges: dict[Attribute, Range] = {}
    for atom in asked.where[0].atoms:
        if not isinstance(atom, InRange):
            return None
        if atom.attribute.type is not Type.DOUBLE and not is_exact(atom.range):
            return None
        ranges[atom.attribute] = atom.range
    if asked.region is not None:
        if not isinstance(asked.region, Box) or asked.region.crosses:
            return None
        assert stream.point is not None
        box = asked.region
        sides = (Range(box.x1, box.x2), Range(box.y1, box.y2))
        for name, side in zip(stream.point, sides, strict=True):
            known = ranges.get(stream.attribute(name), Range())
            lo, hi = max(known.lo, side.lo), min(known.hi, side.hi)
            if not lo < hi:
                return None
            ranges[stream.attribute(name)] = Range(lo, hi)
    return ranges


def candidates_that_pay(ranges: int) -> float:
    """How many candidates a row may have for this number of ranges to be compared inside."""
    return BEFORE / (TERM * max(ranges, 1))


class Filters:
    """Filters have numbers, which are used again when nobody uses them any more."""

    def __init__(self, stream: Stream):
        self._stream = stream
        self._numbers: dict[Filter, int] = {}
        # Uses of each number.
        self._uses: dict[int, int] = {}
        self._prepared: PreparedPlan | None = None
        # What a line has: it never has less, so that lines of before remain.
        self._words = 1
        self._axes: tuple[Attribute, ...] = ()

    def acquire(self, queries: Moving, selectivity: float) -> tuple[Integers, bool, bool]:
        """The numbers of the filters of these queries, whether some are new, and whether lines of
        before lack what these need. `selectivity` is the part of all objects that a query looks
        at."""
        used = np.bincount(queries.filter[queries.filter >= 0], minlength=len(queries.filters))
        numbers = [NO_FILTER] * (len(queries.filters) + 1)
        new = lacking = False
        for i, (found, uses) in enumerate(zip(queries.filters, used.tolist(), strict=True)):
            if not uses:
                continue
            if found not in self._numbers:
                is_inside = self._is_inside(found, uses * selectivity)
                self._numbers[found] = self._free(is_inside)
                new, lacking = True, lacking or not is_inside
            numbers[i] = self._numbers[found]
            self._uses[numbers[i]] = self._uses.get(numbers[i], 0) + uses
        if new:
            lacking |= self._widen()
        return np.array(numbers, dtype=np.int64)[queries.filter], new, lacking

    def _widen(self) -> bool:
        """Lines have what all filters need from now on; whether they need more values."""
        self._prepared = None
        self._words = max(self._words, 1 + max(self._uses, default=0) // BITS)
        inside = (ranges_of(f, self._stream) for f, n in self._numbers.items() if n < 0)
        asked = {axis for ranges in inside for axis in ranges or ()}
        more = tuple(sorted(asked - set(self._axes)))
        self._axes += more
        return bool(more)

    def _is_inside(self, asked: Filter, candidates: float) -> bool:
        ranges = ranges_of(asked, self._stream)
        return ranges is not None and candidates <= candidates_that_pay(len(ranges))

    def _free(self, inside: bool) -> int:
        first = INSIDE if inside else 0
        return next(n for n in range(first, first + len(self._uses) + 1) if n not in self._uses)

    def release(self, numbers: Integers) -> None:
        """Queries do not use these filters any more; a filter without a use is dropped."""
        found, counts = np.unique(numbers[numbers != NO_FILTER], return_counts=True)
        for number, count in zip(found.tolist(), counts.tolist(), strict=True):
            self._uses[number] -= count
            if not self._uses[number]:
                del self._uses[number]
        unused = [f for f, n in self._numbers.items() if n not in self._uses]
        for gone in unused:
            del self._numbers[gone]
        if unused:
            self._prepared = None

    def terms(self) -> tuple[Doubles, Integers]:
        """The terms of the filters asked inside, and where those of each begin."""
        last = max((n for n in self._uses if n < 0), default=INSIDE - 1)
        listed: list[list[tuple[float, float, float]]] = [[] for _ in range(INSIDE, last + 1)]
        for found, number in self._numbers.items():
            if number < 0:
                ranges = ranges_of(found, self._stream) or {}
                listed[number - INSIDE] = [
                    (self._axes.index(axis), float(r.lo), float(r.hi)) for axis, r in ranges.items()
                ]
        first = np.cumsum([0, *map(len, listed)]).astype(np.int64)
        return np.array([t for terms in listed for t in terms]).reshape(-1, 3), first

    def columns_of(self, columns: Columns) -> FilterColumns:
        """A line for each row."""
        values = np.empty((len(columns), 0))
        if self._axes:
            values = SearchRows(columns, {}).points(self._axes)
        if not np.isfinite(values).all():
            # Every comparison with what is not finite is unknown.
            values = np.where(np.isfinite(values), values, np.nan)
        return FilterColumns(self._bits(columns), values)

    def _bits(self, columns: Columns) -> Words:
        bits = np.zeros((len(columns), self._words), dtype=np.uint64)
        before = {f: n for f, n in self._numbers.items() if n >= 0}
        if not before or not len(columns):
            return bits
        prepared = self._built(before)
        rows, places = match(prepared, columns, prepared.searches)
        numbers = np.array(list(before.values()), dtype=np.int64)[places]
        words = rows * self._words + numbers // BITS
        np.bitwise_or.at(
            bits.reshape(-1), words, np.uint64(1) << (numbers % BITS).astype(np.uint64)
        )
        return bits

    def _built(self, filters: dict[Filter, int]) -> PreparedPlan:
        if self._prepared is None:
            source = (Source(self._stream.name),)
            queries = (
                Query(str(n), source, where=f.where, region=f.region, emit=Emit.CHANGES)
                for f, n in filters.items()
            )
            self._prepared = PreparedPlan.of(plan_all(queries, self._stream), self._stream)
        return self._prepared


def stacked(pieces: list[FilterColumns]) -> FilterColumns:
    """The columns of all pieces, one piece after the other."""
    return FilterColumns(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
