"""`cei`: containment-encoded intervals; and `ui`, the same with L = 1, unit intervals.

The cells are taken in segments of L = 2^k. A segment has 2L - 1 intervals: itself, its halves,
their halves, down to single cells, numbered as a perfect binary tree (1 is the segment, the
children of l are 2l and 2l + 1). So from the cell of a point all intervals around it follow by
shifts, and a range is merged upwards, from its leftmost cell, as long as the parent fits.

Invariant: a range has at most 2k intervals in its first and last segments and one for each segment
between. Cost: a search reads k + 1 lists; storage is 2·cells heads and log L + w/L ids a range.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from watchline.index.cells import Axis, cell_at, span_of
from watchline.index.constructs import ConstructIndex, levels_in_use, no_levels
from watchline.index.postings import Pieces, Store, append_to, first_cut, read_head
from watchline.index.tuning import SampleCosts, Shape, best_shape
from watchline.kernels.arrays import Array, Doubles, Integers, Small
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.simd import SLACK, fetch_list, move, prefetch

# Rows whose memory is fetched ahead together.
GROUP = 32
# A range counts as wide if it has more segments than this, and more cells than that.
WIDE, WIDE_CELLS = 64, 4_096


class ContainmentEncodedIntervals(ConstructIndex):
    """The CEI index (paper 003, section 3): intervals over aligned segments of L, L/2 … 1 cells."""

    kind = "cei"
    dimensions = 1
    most_k = 8

    def _tune(self, lo: Doubles, hi: Doubles) -> Shape:
        return best_shape(lo, hi, self._given_unit, self._given_domain, self._ks(), _costs)

    def _count(self) -> int:
        """Table 1: 2r - r/L."""
        return ((2 << self.shape.k) - 1) * self.shape.segments[0]

    def _more(self) -> int:
        return 2 * leaves_of(self.shape.segments[0])

    # The cells that a tree was made for, and the tree: each search asks for it.
    _tree_of: tuple[Shape, SegmentTree] | None = None

    def _tree(self) -> SegmentTree:
        known = self._tree_of
        if known is None or known[0] is not self.shape:
            leaves = leaves_of(self.shape.segments[0])
            known = self.shape, SegmentTree(self.shape.k, self._count(), leaves)
            self._tree_of = known
        return known[1]

    def _decompose(self, rows: Doubles, slots: Small, sign: int) -> Pieces:
        return _pieces_of(self.shape.axes[0], self.shape.k, rows, slots, self._levels, sign)

    def _enter(self, slots: Small) -> None:
        boxes, store = self._boxes, self._lists.store
        axis, tree = self.shape.axes[0], self._tree()
        count = _enter(axis, tree, boxes.rows, boxes.ids, slots, self._levels, store)
        self._entered(slots, *count)

    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        axis, tree = tuple(self.shape.axes[0]), tuple(self._tree())
        store = tuple(self._lists.store)
        return _search(axis, tree, self._levels, store, points, offsets, found, row, at)


class UnitIntervals(ContainmentEncodedIntervals):
    """UI: the same with segments of one cell only (L = 1)."""

    kind = "ui"

    def __init__(self, dims: int, *, unit: object = None, domain: object = None):
        super().__init__(dims, L=1, unit=unit, domain=domain)


class SegmentTree(NamedTuple):
    """Segments of 2^k cells, and the tree over them: its lists begin at `first`, and it has so many
    leaves."""

    k: int
    first: int
    leaves: int


def leaves_of(segments: int) -> int:
    """The leaves of the tree over the segments: as many, to the next power of two."""
    return 1 << (segments - 1).bit_length()


def _pieces_of(
    axis: Axis, k: int, rows: Doubles, slots: Small, levels: Integers, sign: int
) -> Pieces:
    segments = -(-axis.cells >> k)
    tree = SegmentTree(k, ((2 << k) - 1) * segments, leaves_of(segments))
    return Pieces(*_decompose(axis, tree, rows, slots, levels, sign))


def _costs(axes: tuple[Axis, ...], k: int, rows: Doubles) -> SampleCosts:
    """What a sample of ranges costs on these cells with L = 2^k."""
    levels = no_levels()
    _pieces_of(axes[0], k, rows, np.arange(len(rows), dtype=np.int32), levels, 1)
    lists = 1 + int(np.count_nonzero(levels[0, 1:]))
    return SampleCosts(2 * axes[0].cells, lists, levels)


@kernel
def _decompose(
    axis: Axis, tree: SegmentTree, rows: Doubles, slots: Small, levels: Integers, sign: int
) -> tuple[Integers, Small, Integers, Small]:
    """Lists and cuts of each range; `levels` counts the entries of each level of the trees."""
    k = tree.k
    room = 0
    for i in range(len(slots)):
        span = span_of(axis, rows[slots[i], 0], rows[slots[i], 1])
        room += 2 * k + 2 + min((span.end - span.first) >> k, max(WIDE, WIDE_CELLS >> k) + 64)
    lists, owners = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
    cuts, cut_owners = np.empty(2 * len(slots), np.int64), np.empty(2 * len(slots), np.int32)
    n, c = 0, 0
    for i in range(len(slots)):
        span = span_of(axis, rows[slots[i], 0], rows[slots[i], 1])
        for cell in (span.low, span.high):
            if cell >= 0:
                cuts[c], cut_owners[c] = _list_of(cell, 0, tree), slots[i]
                c += 1
                levels[1, 0] += sign
        begin = n
        if span.first < span.end:
            n = _pieces(span.first, span.end, tree, lists, n, levels, sign)
        owners[begin:n] = slots[i]
    return lists[:n], owners[:n], cuts[:c], cut_owners[:c]


@kernel
def _enter(
    axis: Axis,
    tree: SegmentTree,
    rows: Doubles,
    ids: Integers,
    slots: Small,
    levels: Integers,
    store: Store,
) -> tuple[int, int, int]:
    """Ranges into the lists; their whole entries, their cuts, and how many found room."""
    pieces = _decompose(axis, tree, rows, slots, levels, 1)
    done, _ = append_to(store, *pieces, rows, ids, 0)
    return len(pieces[0]), len(pieces[2]), done


@inner
def _pieces(
    first: int, end: int, tree: SegmentTree, lists: Integers, n: int, levels: Integers, sign: int
) -> int:
    """The intervals of cells [first, end), by guiding posts; a wide range takes the tree too."""
    k = tree.k
    left = min(((first + (1 << k) - 1) >> k) << k, end)
    right = max((end >> k) << k, left)
    n = best_partition(first, left, k, lists, n, levels, sign)
    if (right - left) >> k > max(WIDE, WIDE_CELLS >> k):
        step = (2 << k) - 1
        n = tree_pieces(left >> k, right >> k, tree, 0, step, lists, n, levels, sign)
    else:
        for segment in range(left >> k, right >> k):
            lists[n] = segment * ((2 << k) - 1)
            n += 1
            levels[0, k] += sign
    return best_partition(right, end, k, lists, n, levels, sign)


@inner
def best_partition(
    first: int, end: int, k: int, lists: Integers, n: int, levels: Integers, sign: int
) -> int:
    """The fewest intervals of cells [first, end) within one segment, from the left."""
    length = 1 << k
    while first < end:
        segment = first >> k
        local = (first & (length - 1)) + length
        level = 0
        while (local & 1) == 0 and first + (2 << level) <= end:
            local >>= 1
            level += 1
        lists[n] = segment * (2 * length - 1) + local - 1
        n += 1
        levels[0, level] += sign
        first += 1 << level
    return n


@inner
def tree_pieces(
    first: int,
    end: int,
    tree: SegmentTree,
    base: int,
    step: int,
    lists: Integers,
    n: int,
    levels: Integers,
    sign: int,
) -> int:
    """The nodes of segments [first, end) in the tree over all of them.

    A leaf is the segment's own list: base + segment · step.
    """
    while first < end:
        node, level = first + tree.leaves, 0
        while (node & 1) == 0 and first + (2 << level) <= end:
            node >>= 1
            level += 1
        lists[n] = base + first * step if level == 0 else tree.first + node
        n += 1
        levels[0, tree.k + level] += sign
        first += 1 << level
    return n


@kernel
def _search(
    axis: tuple[Any, ...],
    tree_fields: tuple[Any, ...],
    entries: Integers,
    store: tuple[Any, ...],
    points: Doubles,
    offsets: Integers,
    found: Array,
    row: int,
    at: int,
) -> tuple[int, int]:
    """A group of rows at a time: their cells, their lists, then the ids; from row `row` on.

    Each step fetches ahead what the next one reads, for all rows of the group. `entries` counts
    those of each level: the lowest, which alone has cuts, is always read, and above it those that
    have any.
    """
    levels, tree = levels_in_use(entries, 1), SegmentTree(*tree_fields)
    start, inverse, origin, cell_count, edges, guide = axis
    heads, words, doubles, cut, _ = store
    nothing, depth = len(heads) - 1, len(levels)
    # A double is two words, or one if ids are wide.
    half = np.uint64(len(words) // len(doubles) - 1)
    id_at, step = np.uint64(2) << half, np.uint64(cut)
    lists = np.empty((depth, GROUP), dtype=np.int64)
    starts = np.empty((depth, GROUP), dtype=np.uint64)
    lengths = np.empty((depth, GROUP), dtype=np.uint64)
    cuts = np.empty(GROUP, dtype=np.uint64)
    to, room = np.uint64(at), np.uint64(len(found) - SLACK)
    for group in range(row, len(points), GROUP):
        count = min(GROUP, len(points) - group)
        for i in range(count):
            value = points[group + i, 0]
            cell = cell_at(start, inverse, origin, cell_count, edges, guide, value)
            for j in range(depth):
                place = _list_of(cell, levels[j], tree)
                lists[j, i] = place if np.isfinite(value) else nothing
                prefetch(heads, lists[j, i] * heads.ndim)
        for i in range(count):
            for j in range(depth - 1, -1, -1):
                begin, length, partly = read_head(heads, lists[j, i])
                fetch_list(words, begin, length + partly * step)
                starts[j, i], lengths[j, i], cuts[i] = begin, length, partly
        for i in range(count):
            before = to
            for j in range(depth):
                length = lengths[j, i]
                if to + length + cuts[i] > room:
                    return group + i, int(before)
                move(found, to, words, starts[j, i], length)
                to += length
            if cuts[i]:
                value = points[group + i, 0]
                place = np.uint64(first_cut(starts[0, i], lengths[0, i], cuts[i], cut))
                for _ in range(cuts[i]):
                    found[to] = words[place + id_at]
                    low, high = doubles[place >> half], doubles[(place >> half) + np.uint64(1)]
                    # The id is there already; a hit makes it stay.
                    to += np.uint64((low <= value) & (value < high))
                    place += step
            offsets[group + i + 1] = to
    return len(points), int(to)


@inner
def _list_of(cell: int, level: int, tree: SegmentTree) -> int:
    """The list around a cell on a level: up to k within its segment, above in the tree."""
    k = tree.k
    segment = cell >> k
    if level <= k:
        local = (cell - (segment << k) + (1 << k)) >> level
        return segment * ((2 << k) - 1) + local - 1
    return tree.first + ((segment + tree.leaves) >> (level - k))
