"""`ibs`: interval binary search trees (Hanson et al. 1990), one for each dimension, and merging.

The nodes of a tree are the distinct finite bounds of its dimension. A node has three lists: the
ranges marked `<` contain every value of its subtree below its key, those marked `>` every one
above, those marked `=` the key itself. A search goes from the root to the leaf, or to the key that
it equals, and takes at each node the list of the side it goes to. Invariant: a range marks a
stretch if and only if it contains it and none around it that could be marked; so a search meets a
range once if it contains the value, and else never. A range without a bound marks nothing.

The tree is perfect (padded by keys at infinity) and kept by breadth: the children of node i are 2i
and 2i + 1. Lists stand in one pool, each in the order of places. Hits are merged by counting.

Cost: a search walks log n nodes a dimension and counts each hit; a range has O(log n) marks, of
four bytes. A node has 20 bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from watchline.index import scan
from watchline.index.papers.merging import Tally, bounded, merge_hits
from watchline.index.papers.rebuilt import RebuiltIndex
from watchline.index.scan import finite, scan_run
from watchline.kernels.arrays import Array, Doubles, Integers, Small
from watchline.kernels.compiled import kernel, outer_leaf
from watchline.kernels.simd import prefetch

# The lists of a node.
BELOW, EQUAL, ABOVE = 0, 1, 2
LISTS = 3
# Marks of one range on one level of the tree: two nodes, and not more than these lists of both.
PER_LEVEL = 6


class IntervalTrees(NamedTuple):
    """All trees in one: a tree's node 0, which is none, is at its root's place in `roots`."""

    keys: Doubles
    # Where each list begins; the next begins where it ends.
    heads: npt.NDArray[np.uint32]
    marks: Small
    # (d + 1,): a tree ends where the next begins.
    roots: Integers


class IntervalSearchTrees(RebuiltIndex):
    """One interval binary search tree for each dimension, merged by counting (paper 002, section
    5)."""

    kind = "ibs"

    def _lay_out(self, lo: Doubles, hi: Doubles) -> float:
        keys = [_keys(lo[:, k], hi[:, k]) for k in range(self.dims)]
        roots = np.cumsum([0, *(1 << _height(len(k)) for k in keys)])
        counts = np.zeros(LISTS * roots[-1] + 1, dtype=np.int64)
        ranges = [_ranks(keys[k], lo[:, k], hi[:, k]) for k in range(self.dims)]
        for k in range(self.dims):
            _count_marks(*ranges[k], _height(len(keys[k])), LISTS * roots[k] + 1, counts)
        heads = np.cumsum(counts)
        if heads[-1] >= 2**32:
            raise MemoryError("index 'ibs' holds at most 2^32 marks")
        marks, ends = np.empty(heads[-1], dtype=np.int32), heads[:-1].copy()
        for k in range(self.dims):
            _put_marks(*ranges[k], _height(len(keys[k])), LISTS * roots[k], ends, marks)
        by_breadth = np.concatenate([_by_breadth(k) for k in keys])
        self._trees = IntervalTrees(by_breadth, heads.astype(np.uint32), marks, roots)
        # For values as the keys are.
        return float(
            sum(
                (np.minimum(b, len(k)) - np.maximum(a, 0)).sum() / max(len(k), 1)
                for k, (_, a, b) in zip(keys, ranges, strict=True)
            )
        )

    def _needs(self, lo: Doubles, hi: Doubles) -> Array:
        return bounded(lo, hi).sum(axis=1)

    @property
    def _most(self) -> int:
        return self.dims

    @property
    def _nbytes(self) -> int:
        return super()._nbytes + sum(a.nbytes for a in self._trees)

    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        late = self._late.columns()
        return _search(self._trees, self._tally, *late, points, offsets, found, row, at)


def _height(keys: int) -> int:
    return keys.bit_length()


def _keys(lo: Doubles, hi: Doubles) -> Doubles:
    """The distinct finite bounds, in order."""
    bounds = np.concatenate([lo, hi])
    return np.unique(bounds[np.isfinite(bounds)])


def _by_breadth(keys: Doubles) -> Doubles:
    """Level after level of the perfect tree, from place 1 on."""
    height = _height(len(keys))
    padded = np.full(1 << height, np.inf)
    padded[: len(keys)] = keys
    nodes = np.full(1 << height, np.inf)
    for level in range(height):
        step = 1 << (height - level)
        nodes[1 << level : 2 << level] = padded[step // 2 - 1 : -1 : step]
    return nodes


def _ranks(keys: Doubles, lo: Doubles, hi: Doubles) -> tuple[Small, Integers, Integers]:
    """The places of the ranges with a bound, and the ranks of their bounds among the keys.

    No lower bound ranks before all keys, no upper one after all, those at infinity included.
    """
    places = np.flatnonzero(bounded(lo, hi)).astype(np.int32)
    a, b = np.searchsorted(keys, lo[places]), np.searchsorted(keys, hi[places])
    a[np.isneginf(lo[places])] = -1
    b[np.isposinf(hi[places])] = (1 << _height(len(keys))) - 1
    return places, a, b


@kernel
def marks_of(a: int, b: int, height: int, stack: Integers, lists: Integers) -> int:
    """The lists that a range marks, by the ranks of its bounds; how many there are.

    It contains the keys of ranks [a, b) and, of the gaps before, between and after the keys, those
    of ranks [a + 1, b]. Gap g is before key g.
    """
    n, top = 0, 1
    stack[0], stack[1], stack[2] = 1, 0, (1 << height) - 1
    while top:
        top -= 1
        node, first, size = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        key, end, half = first + size // 2, first + size, size // 2
        if a < first and key <= b:
            lists[n] = LISTS * node + BELOW
            n += 1
        elif a < key and first <= b:
            stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = 2 * node, first, half
            top += 1
        if a <= key < b:
            lists[n] = LISTS * node + EQUAL
            n += 1
        if a <= key and end <= b:
            lists[n] = LISTS * node + ABOVE
            n += 1
        elif a < end and key < b:
            stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = 2 * node + 1, key + 1, half
            top += 1
    return n


@kernel
def _count_marks(
    places: Small, a: Integers, b: Integers, height: int, base: int, counts: Integers
) -> None:
    stack = np.empty(3 * (2 * height + 2), dtype=np.int64)
    lists = np.empty(PER_LEVEL * (height + 1), dtype=np.int64)
    for i in range(len(places)):
        for j in range(marks_of(a[i], b[i], height, stack, lists)):
            counts[base + lists[j]] += 1


@kernel
def _put_marks(
    places: Small, a: Integers, b: Integers, height: int, base: int, ends: Integers, marks: Small
) -> None:
    stack = np.empty(3 * (2 * height + 2), dtype=np.int64)
    lists = np.empty(PER_LEVEL * (height + 1), dtype=np.int64)
    for i in range(len(places)):
        for j in range(marks_of(a[i], b[i], height, stack, lists)):
            marks[ends[base + lists[j]]] = places[i]
            ends[base + lists[j]] += 1


@kernel
def _search(
    trees: IntervalTrees,
    boxes: Tally,
    lo: Doubles,
    hi: Doubles,
    ids: Array,
    points: Doubles,
    offsets: Integers,
    found: Array,
    row: int,
    at: int,
) -> tuple[int, int]:
    keys, heads, marks, roots = trees
    left = boxes.needs.copy()
    runs = np.empty((64 * (len(roots) - 1), 2), dtype=np.int64)
    hits = np.empty(scan.BLOCK, dtype=np.uint8)
    for i in range(row, len(points)):
        begin = at
        if finite(points[i]):
            count = 0
            for k in range(len(roots) - 1):
                count = walk(keys, heads, marks, roots[k], roots[k + 1], points[i, k], runs, count)
            at = merge_hits(boxes, left, marks, runs, count, found, at)
            if at >= 0:
                at = scan_run(lo, hi, ids, points[i], 0, len(ids), hits, found, at)
            if at < 0:
                return i, begin
        offsets[i + 1] = at
    return len(points), at


@outer_leaf()
def walk(
    keys: Doubles,
    heads: npt.NDArray[np.uint32],
    marks: Small,
    root: int,
    end: int,
    value: float,
    runs: Integers,
    count: int,
) -> int:
    """The marks on the way of a value down one tree, as runs behind the first `count`."""
    node = 1
    while root + node < end:
        key = keys[root + node]
        side = int(value >= key) + int(value > key)
        place = LISTS * (root + node) + side
        start, stop = np.int64(heads[place]), np.int64(heads[place + 1])
        runs[count, 0], runs[count, 1] = start, stop
        if start < stop:
            prefetch(marks, start)
            count += 1
        if side == EQUAL:
            break
        node = 2 * node + int(side == ABOVE)
    return count
