"""`sci`, `lci` and `vcs`: constructs of many sizes anchored at every cell.

At each cell begin intervals of 1, 2, 3 … L cells (`sci`), of 1, 2, 4 … L cells (`lci`), or squares
of side 1, 2, 4 … L (`vcs`, the VS-NC index). A range takes the largest that fits, from the left;
so it needs few. The price is paid by the search: a point is inside of L(L + 1)/2, 2L - 1, or (4L²
- 1)/3 constructs, which lie at the same distances from its own cell wherever that is.

Cost: (r + L - 1) · L or · (1 + log L) heads in one dimension, (R + L - 1)² · (1 + log L) in two.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from watchline.index.cei import SegmentTree, leaves_of, tree_pieces
from watchline.index.cells import Axis, cells_of, span_of
from watchline.index.ces import touched
from watchline.index.constructs import ConstructIndex, no_levels
from watchline.index.postings import Pieces, Store, first_cut, read_head
from watchline.index.table import BoxArrays
from watchline.index.tuning import SampleCosts, Shape, best_shape
from watchline.kernels.arrays import Array, Doubles, Integers, Small
from watchline.kernels.buffers import with_room
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.simd import SLACK, bit_length, fetch_list, move, prefetch

# Lists whose memory is fetched ahead together.
AHEAD = 512
# Ranges of more segments than this go on in the tree over them, and more squares into one list.
WIDE, WIDE_SQUARES = 256, 4_096


class _Anchored(ConstructIndex):
    """Constructs that begin at a cell: `_sizes` of them at each."""

    most_k = 4

    def _tune(self, lo: Doubles, hi: Doubles) -> Shape:
        return best_shape(lo, hi, self._given_unit, self._given_domain, self._ks(), self._costs)

    @abstractmethod
    def _sizes(self, k: int) -> int:
        """Constructs at each anchor."""

    @abstractmethod
    def _around(self, k: int, row: int) -> Integers:
        """The lists around a cell, relative to the first of its own; `row`: anchors to a row."""

    def _costs(self, axes: tuple[Axis, ...], k: int, rows: Doubles) -> SampleCosts:
        levels = no_levels()
        self._taken(axes, k, rows, np.arange(len(rows), dtype=np.int32), levels, 1)
        lists = len(self._around(k, 1)) + int(np.count_nonzero(levels[0, k + 1 :]))
        return SampleCosts(_anchors(axes, k) * self._sizes(k), lists, levels)

    @abstractmethod
    def _taken(
        self,
        axes: tuple[Axis, ...],
        k: int,
        rows: Doubles,
        slots: Small,
        levels: Integers,
        sign: int,
    ) -> Pieces: ...

    def _decompose(self, rows: Doubles, slots: Small, sign: int) -> Pieces:
        return self._taken(self.shape.axes, self.shape.k, rows, slots, self._levels, sign)

    def _count(self) -> int:
        return _anchors(self.shape.axes, self.shape.k) * self._sizes(self.shape.k)

    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        axes, k = self.shape.axes, self.shape.k
        pad = (1 << k) - 1
        width = axes[0].cells + pad
        cells = [cells_of(axis, np.nan_to_num(points[:, d])) for d, axis in enumerate(axes)]
        anchors = cells[0] + pad if self.dims == 1 else (cells[1] + pad) * width + cells[0] + pad
        segments, leaves = (cells[0] >> k, leaves_of(self.shape.segments[0]))
        if self.dims == 2:
            segments, leaves = np.zeros_like(segments), 0
        levels = np.flatnonzero(self._levels[:, k + 1 :].any(axis=0)) + 1
        tree = SegmentTree(k, self._count(), leaves)
        ways = ListWays(anchors * self._sizes(k), self._around(k, width), segments, levels, tree)
        store, boxes = self._lists.store, self._boxes.arrays
        return _search(ways, store, boxes, points, offsets, found, row, at)


class _AnchoredIntervals(_Anchored):
    dimensions = 1

    def _more(self) -> int:
        return 2 * leaves_of(self.shape.segments[0])

    def _taken(
        self,
        axes: tuple[Axis, ...],
        k: int,
        rows: Doubles,
        slots: Small,
        levels: Integers,
        sign: int,
    ) -> Pieces:
        sizes = self._sizes(k)
        tree = SegmentTree(k, _anchors(axes, k) * sizes, leaves_of(-(-axes[0].cells >> k)))
        powers = self.kind == "lci"
        return Pieces(*_intervals(axes[0], tree, powers, sizes, rows, slots, levels, sign))


class SimpleConstructIntervals(_AnchoredIntervals):
    """SCI: from each cell on, one construct of every length up to L (paper 003, section 3)."""

    kind = "sci"

    def _sizes(self, k: int) -> int:
        return 1 << k

    def _around(self, k: int, row: int) -> Integers:
        length = 1 << k
        steps = [(back, size) for size in range(length) for back in range(size + 1)]
        return np.array([size - back * length for back, size in steps], dtype=np.int64)


class LogarithmicConstructIntervals(_AnchoredIntervals):
    """LCI: from each cell on, one construct of each power of two up to L."""

    kind = "lci"

    def _sizes(self, k: int) -> int:
        return k + 1

    def _around(self, k: int, row: int) -> Integers:
        steps = [(back, size) for size in range(k + 1) for back in range(1 << size)]
        return np.array([size - back * (k + 1) for back, size in steps], dtype=np.int64)


class VirtualConstructSquares(_Anchored):
    """VCS: from each cell on, one square for each power of two up to L (paper 001)."""

    kind = "vcs"
    dimensions = 2

    def _sizes(self, k: int) -> int:
        return k + 1

    def _more(self) -> int:
        return 1

    def _around(self, k: int, row: int) -> Integers:
        return np.array(
            [
                size - (down * row + back) * (k + 1)
                for size in range(k + 1)
                for down in range(1 << size)
                for back in range(1 << size)
            ],
            dtype=np.int64,
        )

    def _taken(
        self,
        axes: tuple[Axis, ...],
        k: int,
        rows: Doubles,
        slots: Small,
        levels: Integers,
        sign: int,
    ) -> Pieces:
        wide = _anchors(axes, k) * self._sizes(k)
        return Pieces(*_squares(*axes, k, wide, rows, slots, levels, sign))


def _anchors(axes: tuple[Axis, ...], k: int) -> int:
    """Cells, and L - 1 before the first in each direction, at which nothing begins."""
    return int(np.prod([axis.cells + (1 << k) - 1 for axis in axes]))


@kernel
def _intervals(
    axis: Axis,
    tree: SegmentTree,
    powers: bool,
    sizes: int,
    rows: Doubles,
    slots: Small,
    levels: Integers,
    sign: int,
) -> tuple[Integers, Small, Integers, Small]:
    """Lists and cuts of each range: always the longest interval that fits, from the left."""
    k = tree.k
    pad, length = (1 << k) - 1, 1 << k
    room = 0
    for i in range(len(slots)):
        span = span_of(axis, rows[slots[i], 0], rows[slots[i], 1])
        room += 2 * k + 2 + min((span.end - span.first) >> k, WIDE + 64)
    lists, owners = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
    cuts, cut_owners = np.empty(2 * len(slots), np.int64), np.empty(2 * len(slots), np.int32)
    n, c = 0, 0
    for i in range(len(slots)):
        span = span_of(axis, rows[slots[i], 0], rows[slots[i], 1])
        for cell in (span.low, span.high):
            if cell >= 0:
                cuts[c], cut_owners[c] = (cell + pad) * sizes, slots[i]
                c += 1
                levels[1, 0] += sign
        begin, first, end = n, span.first, span.end
        if (end - first) >> k > WIDE:
            # The tree takes the whole segments, and what is left at both ends goes as ever.
            left, right = (first + pad) >> k, end >> k
            base, step = pad * sizes + sizes - 1, length * sizes
            n = tree_pieces(left, right, tree, base, step, lists, n, levels, sign)
            n = _greedy(first, left << k, k, powers, sizes, lists, n, levels, sign)
            first = right << k
        n = _greedy(first, end, k, powers, sizes, lists, n, levels, sign)
        owners[begin:n] = slots[i]
    return lists[:n], owners[:n], cuts[:c], cut_owners[:c]


@inner
def _greedy(
    first: int,
    end: int,
    k: int,
    powers: bool,
    sizes: int,
    lists: Integers,
    n: int,
    levels: Integers,
    sign: int,
) -> int:
    pad = (1 << k) - 1
    while first < end:
        size = min(end - first, 1 << k)
        log = bit_length(size) - 1
        if powers:
            size = 1 << log
        lists[n] = (first + pad) * sizes + (log if powers else size - 1)
        n += 1
        levels[0, log] += sign
        first += size
    return n


@kernel
def _squares(
    axis_x: Axis,
    axis_y: Axis,
    k: int,
    wide: int,
    rows: Doubles,
    slots: Small,
    levels: Integers,
    sign: int,
) -> tuple[Integers, Small, Integers, Small]:
    """Lists and cuts of each box: rows of the largest squares that fit, from the lower left."""
    pad = (1 << k) - 1
    width = axis_x.cells + pad
    lists, owners = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int32)
    cuts, cut_owners = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int32)
    n, c = 0, 0
    for i in range(len(slots)):
        x = span_of(axis_x, rows[slots[i], 0], rows[slots[i], 2])
        y = span_of(axis_y, rows[slots[i], 1], rows[slots[i], 3])
        ax, bx = touched(x)
        ay, by = touched(y)
        ring = (bx - ax) * (by - ay) - (x.end - x.first) * (y.end - y.first)
        squares = ((x.end - x.first) >> k) * ((y.end - y.first) >> k)
        if ring > WIDE_SQUARES or squares > WIDE_SQUARES:
            cuts, cut_owners = with_room(cuts, c, 1), with_room(cut_owners, c, 1)
            cuts[c], cut_owners[c] = wide, slots[i]
            c += 1
            levels[1, k + 1] += sign
            continue
        area = (bx - ax) * (by - ay)
        cuts, cut_owners = with_room(cuts, c, area), with_room(cut_owners, c, area)
        for v in range(ay, by):
            for u in range(ax, bx):
                if not (x.first <= u < x.end and y.first <= v < y.end):
                    cuts[c] = ((v + pad) * width + u + pad) * (k + 1)
                    cut_owners[c] = slots[i]
                    c += 1
                    levels[1, 0] += sign
        covered = (x.end - x.first) * (y.end - y.first)
        lists, owners = with_room(lists, n, covered), with_room(owners, n, covered)
        begin = n
        n = _tiles(x.first, x.end, y.first, y.end, k, width, lists, n, levels, sign)
        owners[begin:n] = slots[i]
    return lists[:n], owners[:n], cuts[:c], cut_owners[:c]


@inner
def _tiles(
    a: int,
    b: int,
    c: int,
    d: int,
    k: int,
    width: int,
    lists: Integers,
    n: int,
    levels: Integers,
    sign: int,
) -> int:
    """Squares of one size for as much as they fill, then the strips above and to the right."""
    pad = (1 << k) - 1
    while a < b and c < d:
        log = bit_length(min(b - a, d - c, 1 << k)) - 1
        across, up = (b - a) >> log, (d - c) >> log
        for v in range(up):
            for u in range(across):
                x, y = a + (u << log), c + (v << log)
                lists[n] = ((y + pad) * width + x + pad) * (k + 1) + log
                n += 1
        levels[0, log] += sign * across * up
        right, above = a + (across << log), c + (up << log)
        # To the right of the squares only as high as they go; what is above them comes next.
        n = _strip(right, b, c, above, k, width, lists, n, levels, sign)
        c = above
    return n


@inner
def _strip(
    a: int,
    b: int,
    c: int,
    d: int,
    k: int,
    width: int,
    lists: Integers,
    n: int,
    levels: Integers,
    sign: int,
) -> int:
    """A strip narrower than the squares beside it, in columns of ever smaller squares."""
    pad = (1 << k) - 1
    while a < b and c < d:
        log = bit_length(min(b - a, d - c, 1 << k)) - 1
        for v in range((d - c) >> log):
            lists[n] = ((c + (v << log) + pad) * width + a + pad) * (k + 1) + log
            n += 1
            levels[0, log] += sign
        a += 1 << log
    return n


class ListWays(NamedTuple):
    """Which lists a search of each row reads: those around its cell, at distances `around` from the
    first list of the cell, and those of its segment on these levels of the tree."""

    bases: Integers
    around: Integers
    segments: Integers
    levels: Integers
    tree: SegmentTree


@kernel
def _search(
    ways: ListWays,
    store: Store,
    boxes: BoxArrays,
    points: Doubles,
    offsets: Integers,
    found: Array,
    row: int,
    at: int,
) -> tuple[int, int]:
    """Some rows at a time: all lists around their cells, those with entries, then the ids."""
    bases, around, segments, levels, tree = ways
    heads, words, doubles, size = store.heads, store.words, store.doubles, store.cut
    bounds, ids = boxes
    id_at = 2 * (len(words) // len(doubles))
    nothing = len(heads) - 1
    depth = len(around) + len(levels)
    rows = max(1, AHEAD // depth)
    lists = np.empty((rows, depth), dtype=np.int64)
    starts = np.empty((rows, depth), dtype=np.uint64)
    wholes, cuts = np.empty((rows, depth), dtype=np.uint64), np.empty((rows, depth), np.uint64)
    used, need = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.uint64)
    to, room = np.uint64(at), np.uint64(len(found))
    for group in range(row, len(points), rows):
        count = min(rows, len(points) - group)
        for i in range(count):
            finite = True
            for d in range(points.shape[1]):
                finite &= np.isfinite(points[group + i, d])
            for j in range(len(around)):
                lists[i, j] = bases[group + i] + around[j] if finite else nothing
                prefetch(heads, lists[i, j] * heads.ndim)
            for j in range(len(levels)):
                node = tree.first + ((segments[group + i] + tree.leaves) >> levels[j])
                lists[i, len(around) + j] = node if finite else nothing
                prefetch(heads, lists[i, len(around) + j] * heads.ndim)
        for i in range(count):
            used[i], need[i] = 0, SLACK
            for j in range(depth):
                start, whole, cut = read_head(heads, lists[i, j])
                if whole + cut:
                    u = used[i]
                    starts[i, u], wholes[i, u], cuts[i, u] = start, whole, cut
                    used[i] += 1
                    need[i] += whole + cut
                    fetch_list(words, start, whole + cut)
        for i in range(count):
            if to + need[i] > room:
                return group + i, int(to)
            for j in range(used[i]):
                start, whole, cut = starts[i, j], wholes[i, j], cuts[i, j]
                move(found, to, words, start, whole)
                to += whole
                if cut:
                    place = first_cut(start, whole, cut, size)
                    for _ in range(cut):
                        # Each writes its id at the next place, which only a hit moves on.
                        x = points[group + i, 0]
                        if points.shape[1] == 1:
                            found[to] = words[place + id_at]
                            d = place * len(doubles) // len(words)
                            hit = (doubles[d] <= x) & (x < doubles[d + 1])
                        else:
                            y, slot = points[group + i, 1], words[place]
                            found[to] = ids[slot]
                            hit = (bounds[slot, 0] <= x) & (x < bounds[slot, 2])
                            hit &= (bounds[slot, 1] <= y) & (y < bounds[slot, 3])
                        to += np.uint64(hit)
                        place += size
            offsets[group + i + 1] = to
    return len(points), int(to)
