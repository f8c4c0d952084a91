"""Pairs of rows as points, queries as boxes: the paper's SJ-Join, and its rival IBS-JS.

    sj    (sections 5 and 6) every row in the window is paired with the trigger, and the pairs, as
          points, are joined with an index of all conditions: selections of both sides, the window
          as an axis of ages, and the comparison between the streams as a region of the plane of
          both attributes, cut into `pieces` along the trigger's. Boxes around pieces hold too
          much, so the comparison is looked at again
    ibs   (7.1) the comparison is joined first, once for all queries that have it; every pair that
          satisfies it then searches the selections in trees, one for each attribute

Both find what `probe` finds and are here to be measured beside it. What no float64 holds exactly
(integers, strings, atoms that are no range) is decided by the bits of `sides`, as is everything
about rows without a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from watchline.index import Matches, build
from watchline.joining.directions import Direction, DirectionShape, Member
from watchline.joining.probe import BitsDirection, JoinedPairs
from watchline.joining.sides import Side
from watchline.joining.windows import LONGEST, JoinFrame, Stretch, allowed, newest_rank
from watchline.kernels.arrays import Doubles, Integers, Mask, Small
from watchline.model import INF, Attribute, InRange, Type

KINDS = {"sj": "spatialjoin", "ibs": "ibs"}
# As in the paper; more make no difference that can be measured.
PIECES = 4
# Points that are searched at once find about so many boxes.
FOUND = 1 << 22


class IndexedDirection:
    """A direction whose pairs are searched in an index; see the top of the file."""

    def __init__(self, direction: Direction, method: str = "sj", pieces: int = PIECES):
        self.shape, self._members = direction.shape, direction.members
        self._kind, self._is_sj = KINDS[method], method == "sj"
        self._pieces = pieces if self._is_sj and _cut_link(self.shape) is not None else 1
        joined = self.shape
        if self._is_sj:
            joined = replace(joined, links=())
        widest = max(self._members, key=lambda m: m.size)
        pseudo = Member(0, widest.window, (), ())
        self._join = BitsDirection(Direction(joined, [pseudo]))
        self._sides = [
            Side(stream, [getattr(m, side) for m in self._members])
            for stream, side in zip(self.shape.streams, ("trigger", "partner"), strict=True)
        ]
        of_sides = zip(*((m.trigger, m.partner) for m in self._members), strict=True)
        self._axes = [(i, a) for i, atoms in enumerate(of_sides) for a in _axes(atoms)]
        self._sizes = np.minimum([m.size for m in self._members], LONGEST)
        self._aged = len(np.unique(self._sizes)) > 1
        self._exact = np.array([_is_exact(m) for m in self._members])
        self._queries = np.array([m.query for m in self._members], np.int32)
        # Where boxes alone decide, they are called by their queries.
        self._is_plain = (
            not self._is_sj
            and not self._aged
            and bool(self._exact.all())
            and len(np.unique(self._queries)) == len(self._queries)
        )
        self._member = np.zeros(int(self._queries.max()) + 1, np.int64)
        self._member[self._queries] = np.arange(len(self._queries))
        self._index: Any = None
        self._each = 1024

    def pairs(self, frame: JoinFrame) -> Iterator[JoinedPairs]:
        trigger, partner = (frame.stretches[name] for name in self.shape.streams)
        if self._index is None and len(trigger) > trigger.fresh:
            self._index = self._built(frame)
        bits = self._sides[0].bits(frame), self._sides[1].bits(frame)
        for found in self._join.pairs(frame):
            first, at = 0, len(found.trigger)
            while first < at:
                part = slice(first, min(first + self._each, at))
                first = part.stop
                rows = found.trigger[part].astype(np.int64), found.partner[part].astype(np.int64)
                queries = self._queries_of(frame, (trigger, partner), rows, bits)
                yield JoinedPairs(self.shape, found.trigger[part], found.partner[part], *queries)

    def _queries_of(
        self, frame: JoinFrame, stretches: tuple[Stretch, Stretch], rows: Any, bits: Any
    ) -> tuple[Integers, Small]:
        """For each pair the end of its queries, and the queries."""
        n = len(rows[0])
        ages = _ages(self.shape, stretches, rows)
        points, whole = self._points(frame, rows, ages)
        if self._index is None:
            whole[:] = False
        if self._is_plain and whole.all():
            matches = self._stabbed(points)
            return matches.offsets[1:], matches.ids
        linked = _linked(frame, self.shape, rows) if self._is_sj else np.ones(n, np.bool_)
        pair, member = self._searched(points, np.flatnonzero(linked & whole))
        keep = np.ones(len(pair), np.bool_)
        if self._aged:
            keep &= ages[pair] <= self._sizes[member]
        if not self._exact.all():
            doubtful = np.flatnonzero(keep & ~self._exact[member])
            of, which = pair[doubtful], member[doubtful]
            keep[doubtful] = _has(bits[0], rows[0][of], which) & _has(bits[1], rows[1][of], which)
        pair, member = pair[keep], member[keep]
        rest = np.flatnonzero(linked & ~whole)
        if len(rest):
            more, of = self._compared(rest, rows, bits, ages)
            pair, member = np.concatenate([pair, more]), np.concatenate([member, of])
            order = np.argsort(pair, kind="stable")
            pair, member = pair[order], member[order]
        ends = np.cumsum(np.bincount(pair, minlength=n))
        return ends, self._queries[member]

    def _searched(self, points: Doubles, chosen: Integers) -> tuple[Integers, Integers]:
        if not len(chosen):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        matches = self._stabbed(points if len(chosen) == len(points) else points[chosen])
        pair = np.repeat(chosen, np.diff(matches.offsets))
        return pair, self._member[matches.ids] if self._is_plain else matches.ids // self._pieces

    def _stabbed(self, points: Doubles) -> Matches:
        matches = self._index.stab(points)
        # So that the next search finds as much as is good.
        average = max(len(matches.ids) / len(points), 1.0)
        self._each = int(np.clip(FOUND / average, 64, 1 << 16))
        return matches

    def _compared(
        self, pairs: Integers, rows: Any, bits: Any, ages: Integers
    ) -> tuple[Integers, Integers]:
        """By bits: pairs without some value, or whose members select nothing."""
        both = bits[0][rows[0][pairs]] & bits[1][rows[1][pairs]]
        spread = np.unpackbits(both.view(np.uint8), axis=1, bitorder="little")
        at, member = np.nonzero(spread[:, : len(self._members)])
        keep = ages[pairs[at]] <= self._sizes[member]
        return pairs[at[keep]], member[keep]

    # --- boxes and points

    def _built(self, frame: JoinFrame) -> Any:
        lo, hi = (np.empty((len(self._members), len(self._axes))) for _ in "12")
        for i, (side, attribute) in enumerate(self._axes):
            lo[:, i], hi[:, i] = self._bounds(side, attribute)
        if self._is_sj:
            borders = self._cut(frame)
            self._pieces = len(borders) - 1
            lo, hi = (np.repeat(ends, self._pieces, axis=0) for ends in (lo, hi))
            lo, hi = self._with_pieces(borders, lo, hi)
            if self._aged:
                top = np.nextafter(np.repeat(self._sizes, self._pieces).astype(np.float64), INF)
                lo = np.column_stack([lo, np.full(len(lo), -INF)])
                hi = np.column_stack([hi, top])
        if not lo.shape[1]:
            return None
        return build(self._kind, lo, hi, self._queries if self._is_plain else None)

    def _bounds(self, side: int, attribute: Attribute) -> tuple[Doubles, Doubles]:
        lo, hi = np.full(len(self._members), -INF), np.full(len(self._members), INF)
        for i, member in enumerate(self._members):
            for atom in (member.trigger, member.partner)[side]:
                if isinstance(atom, InRange) and atom.attribute == attribute:
                    lo[i], hi[i] = _outward(atom)
        return lo, hi

    def _cut(self, frame: JoinFrame) -> Doubles:
        """The borders of pieces, such that triggers are spread evenly over them."""
        link = _cut_link(self.shape)
        if link is None:
            return np.array([-INF, INF])
        values, known = _values(frame, self.shape.streams[0], link.left)
        parts = np.arange(1, self._pieces) / self._pieces
        cuts = np.quantile(values[known], parts) if known.any() else np.empty(0)
        return np.unique(np.concatenate([[-INF], cuts, [INF]]))

    def _with_pieces(self, borders: Doubles, lo: Doubles, hi: Doubles) -> tuple[Doubles, Doubles]:
        """Two more axes: the plane of the first comparison that can be cut."""
        link = _cut_link(self.shape)
        if link is None:
            return lo, hi
        a, b = borders[:-1], borders[1:]
        # The trigger's attribute is from a to b; the partner's is greater, equal or less.
        low = a if not link.orders & 4 else np.full(len(a), -INF)
        high = b if not link.orders & 1 else np.full(len(b), INF)
        first, second, *ends = (np.tile(c, len(self._members)) for c in (a, low, b, high))
        return np.column_stack([lo, first, second]), np.column_stack([hi, *ends])

    def _points(self, frame: JoinFrame, rows: Any, ages: Integers) -> tuple[Doubles, Mask]:
        """The pairs as points, and which of them have a value on every axis."""
        axes = list(self._axes)
        link = _cut_link(self.shape) if self._is_sj else None
        if link is not None:
            axes += [(0, link.left), (1, link.right)]
        points = np.empty((len(rows[0]), len(axes) + (self._is_sj and self._aged)))
        whole = np.ones(len(points), np.bool_)
        for i, (side, attribute) in enumerate(axes):
            values, known = _values(frame, self.shape.streams[side], attribute)
            points[:, i] = values[rows[side]]
            whole &= known[rows[side]]
        if self._is_sj and self._aged:
            points[:, -1] = ages
        return points, whole


def _cut_link(shape: DirectionShape) -> Any:
    """The comparison whose region is cut: one of doubles, and not `<>`."""
    fit = (
        link
        for link in shape.links
        if link.orders not in (5, 7) and link.left.type is link.right.type is Type.DOUBLE
    )
    return next(fit, None)


def _axes(members: Iterable[tuple[Any, ...]]) -> list[Attribute]:
    found = {a.attribute: None for atoms in members for a in atoms if isinstance(a, InRange)}
    return list(found)


def _is_exact(member: Member) -> bool:
    atoms = (*member.trigger, *member.partner)
    return all(isinstance(a, InRange) and a.attribute.type is Type.DOUBLE for a in atoms)


def _outward(atom: InRange) -> tuple[float, float]:
    """The range in float64; one of integers is made a little larger."""
    lo, hi = float(atom.range.lo), float(atom.range.hi)
    if atom.attribute.type is Type.DOUBLE:
        return lo, hi
    return float(np.nextafter(lo, -INF)), float(np.nextafter(hi, INF))


def _values(frame: JoinFrame, stream: str, attribute: Attribute) -> tuple[Doubles, Mask]:
    columns = frame.columns(stream)
    return columns.values(attribute).astype(np.float64), columns.comparable(attribute)


def _ages(shape: DirectionShape, stretches: tuple[Stretch, Stretch], rows: Any) -> Integers:
    trigger, partner = stretches
    if shape.is_range:
        return trigger.times[rows[0]] - partner.times[rows[1]]
    return newest_rank(trigger, rows[0], partner) - rows[1]


def _linked(frame: JoinFrame, shape: DirectionShape, rows: Any) -> Mask:
    found = np.ones(len(rows[0]), np.bool_)
    for left, right, orders in shape.links:
        a, b = frame.linked(shape.streams[0], left, shape.streams[1], right)
        found &= allowed(a, rows[0], b, rows[1], orders)
    return found


def _has(bits: Any, rows: Integers, members: Integers) -> Mask:
    words = bits[rows, members // 64]
    return ((words >> (members % 64).astype(np.uint64)) & np.uint64(1)).astype(np.bool_)
