"""Joins of any number of streams: rows of one position come, the others are joined one by one.

A tuple is found when its last row comes. Where a stream stands in several positions, that row may
be in more than one of them: then it counts as the trigger of the first. Partial tuples are columns
of rows; a position is joined by cells where a DISTANCE has a bound, else by equality where there is
one, and else by trying all rows of its window, a bounded number at a time. Right for every join,
and for three streams or more the way they are answered; pairs have `probe`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from watchline.evaluate import holds
from watchline.joining.directions import Life, bare, facing, parted
from watchline.joining.nearby import NearRows, Points, apart, are_apart, reach_of
from watchline.joining.windows import JoinFrame, Keys, allowed, partner_interval
from watchline.kernels.arrays import Integers, Mask
from watchline.model import INF, Atom, Compare, Conjunction, Distance, Query

# Rows that are tried at once.
TRIED = 1 << 20


class Tuples(NamedTuple):
    """rows[i, j] is the row of position j; `turns` are those of the rows that came last."""

    rows: Integers
    turns: Integers


def chained(query: Query, life: Life, frame: JoinFrame) -> Iterator[Tuples]:
    """The tuples of a query that the fresh rows complete, each once."""
    seen: Tuples | None = None
    for conjunction in query.where:
        for trigger in range(len(query.sources)):
            for found in _Chain(query, life, frame, conjunction, trigger).tuples():
                if len(query.where) == 1:
                    yield found
                else:
                    both = (seen, found) if seen is not None else (found,)
                    seen = Tuples(*(np.concatenate(c) for c in zip(*both, strict=True)))
    if seen is not None:
        # Several conjunctions may hold of one tuple.
        rows, first = np.unique(seen.rows, axis=0, return_index=True)
        yield Tuples(rows, seen.turns[first])


class _Chain:
    """One conjunction, and the position whose rows come last."""

    def __init__(
        self, query: Query, life: Life, frame: JoinFrame, conjunction: Conjunction, trigger: int
    ):
        self._frame, self._life, self._trigger = frame, life, trigger
        self._sources = query.sources
        sides, links, distances = parted(query.sources, conjunction)
        self._stretches = [frame.stretches[s.stream] for s in query.sources]
        self._fit = [self._selected(i, side) for i, side in enumerate(sides)]
        places = {source.alias: i for i, source in enumerate(query.sources)}
        self._links = [(places[c.left.alias], places[c.right.alias], c) for c in links]
        self._distances = [(places[d.aliases[0]], places[d.aliases[1]], d) for d in distances]
        self._order = self._join_order()

    def _selected(self, position: int, side: tuple[Atom, ...]) -> Mask:
        columns = self._frame.columns(self._sources[position].stream)
        return holds((Conjunction(side),), columns)

    def _join_order(self) -> list[int]:
        """The other positions: those that an equality or a distance leads to first, then any
        comparison."""
        known, order = {self._trigger}, []
        left = [i for i in range(len(self._sources)) if i != self._trigger]
        while left:
            best = max(left, key=lambda i: (self._worth(i, known), -i))
            left.remove(best)
            order.append(best)
            known.add(best)
        return order

    def _worth(self, position: int, known: set[int]) -> int:
        near = known | {position}
        orders = [c.orders for a, b, c in self._links if position in (a, b) and {a, b} <= near]
        ways = [d.is_near for a, b, d in self._distances if position in (a, b) and {a, b} <= near]
        return 2 if 2 in orders or any(ways) else int(bool(orders or ways))

    def tuples(self) -> Iterator[Tuples]:
        stretch = self._stretches[self._trigger]
        rows = stretch.fresh + np.flatnonzero(self._fit[self._trigger][stretch.fresh :])
        if self._life.death is not None:
            rows = rows[stretch.times[rows] <= self._life.death]
        partial = np.full((len(rows), len(self._sources)), -1)
        partial[:, self._trigger] = rows
        for found in self._extended(partial, 0):
            turns = stretch.turns[found[:, self._trigger] - stretch.fresh]
            yield Tuples(found, turns)

    def _extended(self, partial: Integers, depth: int) -> Iterator[Integers]:
        if not len(partial):
            return
        if depth == len(self._order):
            yield partial
            return
        position = self._order[depth]
        for some in self._met(partial, position):
            keep = np.ones(len(some), np.bool_)
            bound = {self._trigger, *self._order[: depth + 1]}
            for a, b, link in self._links:
                if position in (a, b) and {a, b} <= bound:
                    keep &= self._compared(some, a, b, link)
            for a, b, distance in self._distances:
                if position in (a, b) and {a, b} <= bound:
                    keep &= self._measured(some, a, b, distance)
            yield from self._extended(some[keep], depth + 1)

    def _met(self, partial: Integers, position: int) -> Iterator[Integers]:
        """Each partial tuple with each row that it may have at this position."""
        source, stretch = self._sources[position], self._stretches[position]
        assert source.window is not None
        lo, hi = partner_interval(
            self._stretches[self._trigger],
            partial[:, self._trigger],
            stretch,
            source.window,
            position > self._trigger,
            self._life.birth(source.stream),
        )
        for a, b, distance in self._distances:
            other = b if a == position else a
            is_bound = position in (a, b) and partial[0, other] >= 0
            if is_bound and distance.is_near and reach_of(distance) < INF:
                yield from self._met_near(partial, position, other, distance, lo, hi)
                return
        rows, lo, hi = self._candidates(partial, position, lo, hi)
        counts = np.maximum(hi - lo, 0)
        ends = np.cumsum(counts)
        first = 0
        while first < len(partial):
            done = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, done + TRIED, side="right")), first + 1)
            n = counts[first:last]
            some = np.repeat(partial[first:last], n, axis=0)
            starts = np.repeat(lo[first:last] - (ends[first:last] - n - done), n)
            some[:, position] = rows[starts + np.arange(len(some))]
            yield some
            first = last

    def _met_near(
        self,
        partial: Integers,
        position: int,
        other: int,
        distance: Distance,
        lo: Integers,
        hi: Integers,
    ) -> Iterator[Integers]:
        """As `_met`, by the cells of this position's points around those of another."""
        theirs, mine = self._points(other, position, distance)
        near = facing(distance, self._sources[other].alias)
        rows = NearRows(mine, np.flatnonzero(self._fit[position]), near)
        asked = Points(theirs.at[partial[:, other]], theirs.known[partial[:, other]])
        for of, met in rows.candidates(asked, lo, hi, TRIED):
            some = partial[of]
            some[:, position] = met
            yield some

    def _points(self, a: int, b: int, distance: Distance) -> tuple[Points, Points]:
        """Those of two positions."""
        near = facing(distance, self._sources[a].alias)
        streams = self._sources[a].stream, self._sources[b].stream
        return (
            self._frame.points(streams[0], near.left, near.on_earth),
            self._frame.points(streams[1], near.right, near.on_earth),
        )

    def _measured(self, some: Integers, a: int, b: int, distance: Distance) -> Mask:
        left, right = self._points(a, b, distance)
        near = facing(distance, self._sources[a].alias)
        known = left.known[some[:, a]] & right.known[some[:, b]]
        return known & are_apart(apart((near,), left.at, right.at), some[:, a], some[:, b])

    def _candidates(
        self, partial: Integers, position: int, lo: Integers, hi: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Rows, and the part of them for each partial tuple: by an equality if there is one."""
        rows = np.flatnonzero(self._fit[position])
        for a, b, link in self._links:
            other = b if a == position else a
            if position not in (a, b) or link.orders != 2 or partial[0, other] < 0:
                continue
            keys = self._keys(a, b, link)
            mine, theirs = keys if a == position else (keys[1], keys[0])
            rows = rows[mine.known[rows]]
            wanted = partial[:, other]
            both = np.concatenate([mine.keys[rows], theirs.keys[wanted]])
            _, codes = np.unique(both, return_inverse=True)
            size = len(self._stretches[position]) + 1
            places = codes[: len(rows)] * size + rows
            order = np.argsort(places)
            places, start = places[order], codes[len(rows) :] * size
            lo, hi = (np.searchsorted(places, start + end) for end in (lo, hi))
            return rows[order], lo, hi
        return rows, np.searchsorted(rows, lo), np.searchsorted(rows, hi)

    def _keys(self, a: int, b: int, link: Compare) -> tuple[Keys, Keys]:
        streams = self._sources[a].stream, self._sources[b].stream
        return self._frame.linked(streams[0], bare(link.left), streams[1], bare(link.right))

    def _compared(self, some: Integers, a: int, b: int, link: Compare) -> Mask:
        left, right = self._keys(a, b, link)
        return allowed(left, some[:, a], right, some[:, b], link.orders)
