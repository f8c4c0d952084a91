"""`ces`: containment-encoded squares; `ugc`, the same with L = 1; `cells`, with cells L units wide.

The cells are taken in partitions of L × L, L = 2^k. A partition has k + 1 layers of squares:
itself, its quarters, theirs, down to single cells, numbered as a perfect quaternary tree in Morton
order. So from the cell of a point all squares around it follow by shifts of two bits. A box is
peeled like an onion: from the cells' layer up, a strip is split off at each side that does not lie
on the next layer's lines, until what is left is squares of side L.

Beyond the paper: borders need not lie on lines. The squares that a border cuts are taken on the
layer on which the box has a rim of a bounded number of squares, so that a box costs about the same
whatever its size, and what must be compared stays in proportion to what matches (unless the model
finds that all its cells cost less). Very large boxes go on in a pyramid over the partitions.

Cost: a search reads one list for each layer in use; a box has O(its sides / unit) entries at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from watchline.errors import InvalidRange
from watchline.index.cells import Axis, Span, cell_at, span_of
from watchline.index.constructs import ConstructIndex, levels_in_use, no_levels
from watchline.index.postings import Pieces, Store, append_to, first_cut, read_head
from watchline.index.table import BoxArrays
from watchline.index.tuning import SampleCosts, Shape, best_shape, objective
from watchline.kernels.arrays import Array, Doubles, Integers, Small
from watchline.kernels.buffers import with_room
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.simd import SLACK, fetch_list, move, prefetch

# Rows whose memory is fetched ahead together.
GROUP = 16
# Squares around a box, by which its layer is chosen: few, or all but as many as the cells make.
FEW, ALL = 48, 4_096
# A box counts as wide if it has more squares of side L than this, and more cells than that.
WIDE, WIDE_CELLS = 256, 16_384
LAYERS = 32


class ContainmentEncodedSquares(ConstructIndex):
    """The CES index (paper 001): boxes over aligned squares of L × L … 1 × 1 cells."""

    kind = "ces"
    dimensions = 2
    most_k = 5

    def _tune(self, lo: Doubles, hi: Doubles) -> Shape:
        return self._best(lo, hi, self._given_unit, self._ks())

    def _best(self, lo: Doubles, hi: Doubles, unit: float | None, ks: Iterable[int]) -> Shape:
        """With few squares around a box or with all, unless cells of a given unit decide that."""
        shapes = {
            rim: best_shape(lo, hi, unit, self._given_domain, ks, partial(self._costs, rim))
            for rim in ((FEW, ALL) if unit is None else (ALL,))
        }
        rim = min(shapes, key=lambda rim: objective(shapes[rim], len(lo)))
        best = shapes[rim]
        self._pyramid = _pyramid(best.axes, best.k, rim)
        return best

    def _costs(self, rim: int, axes: tuple[Axis, ...], k: int, rows: Doubles) -> SampleCosts:
        levels, pyramid = no_levels(), _pyramid(axes, k, rim)
        slots = np.arange(len(rows), dtype=np.int32)
        _decompose(axes, pyramid, rows, slots, levels, 1)
        lists = int(np.count_nonzero(levels.sum(axis=0)))
        return SampleCosts(int(pyramid.layout[k + 1, 0]), max(lists, 1), levels)

    def _count(self) -> int:
        """Property 1: 4/3 R² - R² / (3 · 4^k)."""
        return int(self._pyramid.layout[self.shape.k + 1, 0])

    def _more(self) -> int:
        return int(self._pyramid.layout[-1, 0]) - self._count()

    def _decompose(self, rows: Doubles, slots: Small, sign: int) -> Pieces:
        axes, pyramid = self.shape.axes, self._pyramid
        return Pieces(*_decompose(axes, pyramid, rows, slots, self._levels, sign))

    def _enter(self, slots: Small) -> None:
        boxes, store = self._boxes.arrays, self._lists.store
        count = _enter(self.shape.axes, self._pyramid, boxes, slots, self._levels, store)
        self._entered(slots, *count)

    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        (x, y), boxes = self.shape.axes, (self._boxes.rows, self._boxes.ids)
        axes, pyramid, store = (tuple(x), tuple(y)), tuple(self._pyramid), tuple(self._lists.store)
        levels = self._levels
        return _search(axes, pyramid, levels, store, boxes, points, offsets, found, row, at)


class UnitGridCells(ContainmentEncodedSquares):
    """UGC: the same with squares of one cell only (L = 1)."""

    kind = "ugc"

    def __init__(self, dims: int, *, unit: object = None, domain: object = None):
        super().__init__(dims, L=1, unit=unit, domain=domain)


class FixedCells(ContainmentEncodedSquares):
    """FS-NC(2): one layer, of cells L units wide; a cell that a border cuts is compared."""

    kind = "cells"

    def __init__(self, dims: int, *, L: object = None, unit: object = None, domain: object = None):
        if (L is None) != (unit is None):
            raise InvalidRange(
                "index 'cells' takes L and unit together: its cells are L units wide"
            )
        super().__init__(dims, L=L, unit=unit, domain=domain)

    def _tune(self, lo: Doubles, hi: Doubles) -> Shape:
        wide = None if self._given_unit is None else self._given_unit * (1 << (self._given_k or 0))
        return self._best(lo, hi, wide, [0])


class Pyramid(NamedTuple):
    """Where the lists of squares are: partitions of 2^k × 2^k cells, `across` of them in a row, and
    the layout of the layers (see `_layout`). A box has at most `rim` squares around it."""

    k: int
    across: int
    rim: int
    layout: Integers


def _pyramid(axes: tuple[Axis, ...], k: int, rim: int) -> Pyramid:
    return Pyramid(k, -(-axes[0].cells >> k), rim, _layout(axes, k))


def _layout(axes: tuple[Axis, ...], k: int) -> Integers:
    """For each layer its first list and its squares in a row; one more row has the count of lists.

    Row j ≤ k is the place of layer j within a partition's block of lists. Above, each layer is the
    one below it halved, and stands on its own.
    """
    block = (4 ** (k + 1) - 1) // 3
    nx, ny = (-(-axis.cells >> k) for axis in axes)
    rows = [((4 ** (k - j) - 1) // 3, block) for j in range(k + 1)]
    total = block * nx * ny
    while nx > 1 or ny > 1:
        nx, ny = -(-nx // 2), -(-ny // 2)
        rows.append((total, nx))
        total += nx * ny
    rows.append((total, 0))
    return np.array(rows, dtype=np.int64)


@inner
def _spread(bits: int) -> int:
    """Zeros between the bits of a number below 2^16."""
    bits = (bits | (bits << 8)) & 0x00FF00FF
    bits = (bits | (bits << 4)) & 0x0F0F0F0F
    bits = (bits | (bits << 2)) & 0x33333333
    return (bits | (bits << 1)) & 0x55555555


@kernel
def morton(x: int, y: int) -> int:
    """The local z-order of a square: y's bits before x's."""
    return _spread(x) | (_spread(y) << 1)


@inner
def _list_of(pyramid: Pyramid, level: int, x: int, y: int) -> int:
    """The list of a square, x and y counted in squares of its layer."""
    k, layout = pyramid.k, pyramid.layout
    if level <= k:
        up = k - level
        mask = (1 << up) - 1
        partition = (x >> up) + (y >> up) * pyramid.across
        return partition * layout[level, 1] + layout[level, 0] + morton(x & mask, y & mask)
    return layout[level, 0] + y * layout[level, 1] + x


@kernel
def _decompose(
    axes: tuple[Axis, Axis],
    pyramid: Pyramid,
    rows: Doubles,
    slots: Small,
    levels: Integers,
    sign: int,
) -> tuple[Integers, Small, Integers, Small]:
    """Lists and cuts of each box; `levels` counts the entries and the cuts of each layer."""
    axis_x, axis_y = axes
    top = len(pyramid.layout) - 2
    lists, owners = (
        np.empty(16 * len(slots) + 64, np.int64),
        np.empty(16 * len(slots) + 64, np.int32),
    )
    cuts, cut_owners = lists.copy(), owners.copy()
    # Of no fixed value: each literal that is passed on would be compiled for itself.
    n, c = np.int64(0), np.int64(0)
    for i in range(len(slots)):
        x1, y1, x2, y2 = rows[slots[i], 0], rows[slots[i], 1], rows[slots[i], 2], rows[slots[i], 3]
        span_x, span_y = span_of(axis_x, x1, x2), span_of(axis_y, y1, y2)
        outer_x, outer_y = touched(span_x), touched(span_y)
        level = _layer(outer_x, outer_y, pyramid.rim, top)
        inner_x = _inner(span_x, level, axis_x.cells)
        inner_y = _inner(span_y, level, axis_y.cells)
        if inner_x[0] >= inner_x[1] or inner_y[0] >= inner_y[1]:
            inner_x = inner_y = (0, 0)
        ax, bx = outer_x[0] >> level, ((outer_x[1] - 1) >> level) + 1
        ay, by = outer_y[0] >> level, ((outer_y[1] - 1) >> level) + 1
        area = (bx - ax) * (by - ay) - (inner_x[1] - inner_x[0]) * (inner_y[1] - inner_y[0])
        cuts, cut_owners = with_room(cuts, c, area), with_room(cut_owners, c, area)
        begin = c
        for y in range(ay, by):
            x = ax
            while x < bx:
                if inner_y[0] <= y < inner_y[1] and x == inner_x[0]:
                    x = inner_x[1]
                if x < bx:
                    cuts[c] = _list_of(pyramid, level, x, y)
                    c += 1
                    x += 1
        cut_owners[begin:c] = slots[i]
        levels[1, level] += sign * (c - begin)
        begin = n
        squares = (inner_x[1] - inner_x[0]) * (inner_y[1] - inner_y[0])
        lists, owners = with_room(lists, n, squares), with_room(owners, n, squares)
        n = _peel(inner_x, inner_y, level, pyramid, lists, n, levels, sign)
        owners[begin:n] = slots[i]
    return lists[:n], owners[:n], cuts[:c], cut_owners[:c]


@kernel
def _enter(
    axes: tuple[Axis, Axis],
    pyramid: Pyramid,
    boxes: BoxArrays,
    slots: Small,
    levels: Integers,
    store: Store,
) -> tuple[int, int, int]:
    """Boxes into the lists; their whole entries, their cuts, and how many found room."""
    pieces = _decompose(axes, pyramid, boxes.rows, slots, levels, np.int64(1))
    done, _ = append_to(store, *pieces, boxes.rows, boxes.ids, 0)
    return len(pieces[0]), len(pieces[2]), done


@inner
def touched(span: Span) -> tuple[int, int]:
    """All cells of a range, covered or cut: [first, end)."""
    first, end = span.first, span.end
    if span.low >= 0:
        first = span.low
        end = max(end, span.low + 1)
    if span.high >= 0:
        end = span.high + 1
    return first, end


@inner
def _layer(x: tuple[int, int], y: tuple[int, int], rim: int, top: int) -> int:
    """The lowest layer on which the box has no more squares around it than `rim`."""
    level = 0
    while level < top and ((x[1] - x[0]) >> level) + ((y[1] - y[0]) >> level) > rim // 2:
        level += 1
    return level


@inner
def _inner(span: Span, level: int, cells: int) -> tuple[int, int]:
    """The covered squares of a layer in one direction; past the last cell there is nothing."""
    first = (span.first + (1 << level) - 1) >> level
    end = span.end >> level
    if span.end == cells:
        end = (cells + (1 << level) - 1) >> level
    return first, max(first, end)


@inner
def _peel(
    x: tuple[int, int],
    y: tuple[int, int],
    level: int,
    pyramid: Pyramid,
    lists: Integers,
    n: int,
    levels: Integers,
    sign: int,
) -> int:
    """Strips from the outside, each of squares as large as it is wide, then what is left."""
    a, b = x
    c, d = y
    k = last = pyramid.k
    if level > k or ((b - a) << level >> k) * ((d - c) << level >> k) > max(
        WIDE, WIDE_CELLS >> 2 * k
    ):
        last = len(pyramid.layout) - 2
    while level < last and a < b and c < d:
        if a & 1:
            n = _put((a, a + 1), (c, d), level, pyramid, lists, n, levels, sign)
            a += 1
        if b & 1 and a < b:
            b -= 1
            n = _put((b, b + 1), (c, d), level, pyramid, lists, n, levels, sign)
        if c & 1 and a < b:
            n = _put((a, b), (c, c + 1), level, pyramid, lists, n, levels, sign)
            c += 1
        if d & 1 and a < b and c < d:
            d -= 1
            n = _put((a, b), (d, d + 1), level, pyramid, lists, n, levels, sign)
        a, b, c, d = a >> 1, b >> 1, c >> 1, d >> 1
        level += 1
    if a < b and c < d:
        n = _put((a, b), (c, d), level, pyramid, lists, n, levels, sign)
    return n


@inner
def _put(
    columns: tuple[int, int],
    rows: tuple[int, int],
    level: int,
    pyramid: Pyramid,
    lists: Integers,
    n: int,
    levels: Integers,
    sign: int,
) -> int:
    """All squares of a layer in these columns and rows, [first, end) each."""
    for y in range(rows[0], rows[1]):
        for x in range(columns[0], columns[1]):
            lists[n] = _list_of(pyramid, level, x, y)
            n += 1
    levels[0, level] += sign * (columns[1] - columns[0]) * (rows[1] - rows[0])
    return n


@kernel
def _search(
    axes: tuple[tuple[Any, ...], tuple[Any, ...]],
    pyramid_fields: tuple[Any, ...],
    entries: Integers,
    store: tuple[Any, ...],
    boxes: tuple[Doubles, Integers],
    points: Doubles,
    offsets: Integers,
    found: Array,
    row: int,
    at: int,
) -> tuple[int, int]:
    """A group of rows at a time: their squares, the squares' lists, then ids; from row `row` on.

    Each step fetches ahead what the next one reads, for all rows of the group. `entries` counts
    those of each level, and levels without any are not read.
    """
    levels, pyramid = levels_in_use(entries, 0), Pyramid(*pyramid_fields)
    start_x, inverse_x, origin_x, cells_x, edges_x, guide_x = axes[0]
    start_y, inverse_y, origin_y, cells_y, edges_y, guide_y = axes[1]
    heads, words, _, _, _ = store
    bounds, ids = boxes
    nothing, depth = len(heads) - 1, len(levels)
    lists = np.empty((depth, GROUP), dtype=np.int64)
    starts, lengths, cuts = (
        np.empty((depth, GROUP), dtype=np.uint64),
        np.empty((depth, GROUP), dtype=np.uint64),
        np.empty((depth, GROUP), dtype=np.uint64),
    )
    need = np.empty(GROUP, dtype=np.uint64)
    to, room = np.uint64(at), np.uint64(len(found))
    for group in range(row, len(points), GROUP):
        count = min(GROUP, len(points) - group)
        for i in range(count):
            px, py = points[group + i, 0], points[group + i, 1]
            x = cell_at(start_x, inverse_x, origin_x, cells_x, edges_x, guide_x, px)
            y = cell_at(start_y, inverse_y, origin_y, cells_y, edges_y, guide_y, py)
            finite = np.isfinite(px) & np.isfinite(py)
            for j in range(depth):
                level = levels[j]
                place = _list_of(pyramid, level, x >> level, y >> level)
                lists[j, i] = place if finite else nothing
                prefetch(heads, lists[j, i] * heads.ndim)
            need[i] = SLACK
        for j in range(depth):
            for i in range(count):
                start, length, cut = read_head(heads, lists[j, i])
                starts[j, i], lengths[j, i], cuts[j, i] = start, length, cut
                need[i] += length + cut
                fetch_list(words, start, length + cut)
        for i in range(count):
            if to + need[i] > room:
                return group + i, int(to)
            px, py = points[group + i, 0], points[group + i, 1]
            for j in range(depth):
                move(found, to, words, starts[j, i], lengths[j, i])
                to += lengths[j, i]
                if cuts[j, i]:
                    first = first_cut(starts[j, i], lengths[j, i], cuts[j, i], 1)
                    last = first + np.int64(cuts[j, i])
                    for w in range(first, last):
                        prefetch(bounds, 5 * words[w])
                    for w in range(first, last):
                        slot = words[w]
                        # The id is there already; a hit makes it stay.
                        found[to] = ids[slot]
                        hit = (bounds[slot, 0] <= px) & (px < bounds[slot, 2])
                        hit &= (bounds[slot, 1] <= py) & (py < bounds[slot, 3])
                        to += np.uint64(hit)
            offsets[group + i + 1] = to
    return len(points), int(to)
