"""Data clusters: rows that lie together, compared with boxes by the bits of masks.

In each dimension the values of a cluster are sorted, and for every place in that order there is a
mask of the rows before it and one of those from it on. A bound falls on a place, found in a table
by its code, and the rows within a box are the conjunction of the masks of its bounds. Only bounds
that come between the rows of the cluster are asked for theirs: what a box does not bound, or bounds
so widely that all rows are within, costs nothing.

Pages are taken a block at a time, one side after the other, so that the side's tables and the
block's masks stay in the nearest cache. Which boxes of a page are asked is one comparison of all,
and the bits of a word. What is left of a mask is kept word by word: for each 64 rows, the ids of
the boxes that hold some of them, and which.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from watchline.index.codes import CEILING, FLOOR
from watchline.index.hits import HitLists, Hits, empty_hits
from watchline.index.mlgf import PAGE, MultilevelGridFile, Tree
from watchline.index.mlgf_search import (
    SearchRoom,
    boxes_within,
    first_bits,
    pages_within,
    search_room,
)
from watchline.kernels.arrays import Codes, Doubles, Int, Integers, Small, Words
from watchline.kernels.buffers import longer
from watchline.kernels.compiled import inner, kernel, leaf
from watchline.kernels.simd import Lanes, and_words, between, lowest, prefetch, set_words

# Pages whose boxes are compared together.
BLOCK = 8


def join(
    file: MultilevelGridFile,
    lo: Doubles,
    hi: Doubles,
    points: Doubles,
    codes: Codes,
    order: Integers,
    size: int,
    boxes: float,
    id_type: Any,
) -> Hits:
    """Clusters of `size` rows in this order with all boxes; each will meet about so many."""
    clusters, words = -(-len(order) // size), size // 64
    # Memory that is never written costs nothing.
    room = int(1.2 * boxes * words * clusters) + 4_096
    rows, hits = CodedRows(points, codes, order), empty_hits(clusters * words, room, id_type)
    tables = _tables(file, size, len(lo))
    lanes = (0,) * words
    done, at = 0, 0
    while done < clusters:
        done, at, wanted = _join(file.tree, lo, hi, tables, rows, done, at, hits, lanes)
        if wanted:
            room = max(at + wanted, 3 * room // 2)
            hits = hits._replace(ids=longer(hits.ids, room), masks=longer(hits.masks, room))
    return Hits(order, *hits, at)


class CodedRows(NamedTuple):
    """Rows by their values and codes, and the order in which clusters take them."""

    points: Doubles
    codes: Codes
    order: Integers


class Tables(NamedTuple):
    """What is known of a cluster, in arrays that all clusters of a batch share."""

    # By dimension: the values in order, those that are numbers.
    values: Doubles
    # By dimension: the least and the greatest code.
    low: Codes
    high: Codes
    # By dimension: the codes of the bounds that set some rows apart. If rows have no number there,
    # all do: a bound, however wide, does not hold them.
    first: Codes
    last: Codes
    # The dimensions, those in which the cluster is widest first: there most boxes drop out.
    dims: Integers
    # By dimension and cell: how many values are in cells before it.
    ranks: Codes
    # By side and place: the rows at places before it (for an upper bound) or from it on.
    masks: Words
    # Room to sort and to search, and the rows of a dimension's values.
    places: Integers
    keys: npt.NDArray[np.uint32]
    other: npt.NDArray[np.uint32]
    room: SearchRoom
    # By page met: the boxes that may still hold rows, as bits.
    left: Words
    # By box of a block: its mask.
    narrowed: Words
    # The mask of all rows.
    every: Words
    # Boxes of a block with a bound in a cell of which the cluster has values.
    close: Words
    # By word: the hits of the cluster.
    masks_hit: Words
    ids_hit: Integers


def _tables(file: MultilevelGridFile, size: int, most: int) -> Tables:
    dims, words = file.dims, size // 64
    return Tables(
        values=np.empty((dims, size)),
        low=np.empty(dims, np.uint16),
        high=np.empty(dims, np.uint16),
        first=np.empty(dims, np.uint16),
        last=np.empty(dims, np.uint16),
        dims=np.arange(dims),
        ranks=np.empty((dims, file.scales.size + 1), np.uint16),
        masks=np.empty((2 * dims, size + 1, words), np.uint64),
        places=np.empty(size, np.int64),
        keys=np.empty(size, np.uint32),
        other=np.empty(size, np.uint32),
        room=search_room(file.tree),
        left=np.empty(len(file.tree.filled), np.uint64),
        narrowed=np.empty((BLOCK * PAGE, words), np.uint64),
        every=np.empty((1, words), np.uint64),
        close=np.empty(BLOCK * PAGE, np.uint64),
        masks_hit=np.empty((words, most), np.uint64),
        ids_hit=np.empty((words, most), np.int64),
    )


@kernel
def _join(
    tree: Tree,
    lo: Doubles,
    hi: Doubles,
    tables: Tables,
    rows: CodedRows,
    done: int,
    at: int,
    hits: HitLists,
    lanes: Lanes,
) -> tuple[int, int, int]:
    """The clusters from `done` on, until there may be no room for the hits of one.

    Gives how many are done, where the next hits go, and the room the next one wants (0: all are
    done). The length of `lanes`, the words of a mask, is known when this is compiled.
    """
    words = len(lanes)
    size = 64 * words
    points, codes, order = rows
    starts, counts, ids, masks = hits
    while done * size < len(order):
        _tabulate(tables, points, codes, order[done * size : (done + 1) * size], lanes)
        pages = _boxes_met(tree, tables)
        counted = counts[done * words : (done + 1) * words]
        counted[:] = 0
        for begin in range(0, pages, BLOCK):
            _meet(tree, lo, hi, tables, begin, min(begin + BLOCK, pages), counted, lanes)
        total = counted.sum()
        if at + total > len(ids):
            return done, at, total
        for w in range(words):
            starts[done * words + w] = at
            for i in range(counted[w]):
                masks[at + i], ids[at + i] = tables.masks_hit[w, i], tables.ids_hit[w, i]
            at += counted[w]
        done += 1
    return done, at, 0


@leaf()
def _boxes_met(tree: Tree, tables: Tables) -> int:
    """Note which boxes may hold rows of the cluster; of how many pages they are."""
    pages = pages_within(tree, tables.low, tables.high, tables.room)
    for i in range(pages):
        page = np.int64(tables.room.pages[i])
        tables.left[i] = boxes_within(tree, page, tables.low, tables.high)
    return pages


@inner
def _tabulate(tables: Tables, points: Doubles, codes: Codes, rows: Integers, lanes: Lanes) -> None:
    """Sort a cluster's values, and make its tables."""
    for d in range(points.shape[1]):
        keys = tables.keys[: len(rows)]
        for i in range(len(rows)):
            keys[i] = np.uint32(codes[rows[i], d]) << np.uint32(16) | np.uint32(i)
        _sort(tables.keys, tables.other, len(rows))
        values, places = tables.values[d], tables.places
        n = 0
        for i in range(len(rows)):
            code, place = np.int64(keys[i] >> np.uint32(16)), np.int64(keys[i] & np.uint32(0xFFFF))
            if code == CEILING:
                break
            values[i], places[i] = points[rows[place], d], place
            n = i + 1
        _sort_within(keys, values, places, n)
        tables.low[d] = keys[0] >> np.uint32(16) if n else CEILING
        tables.high[d] = keys[n - 1] >> np.uint32(16) if n else FLOOR
        tables.first[d] = tables.low[d] if n == len(rows) else FLOOR + 1
        tables.last[d] = tables.high[d] if n == len(rows) else CEILING - 1
        _rank(tables.ranks[d], keys, n)
        _mask(tables.masks[2 * d], tables.masks[2 * d + 1], places, n, lanes)
    _widest_first(tables)
    for w in range(len(lanes)):
        tables.every[0, w] = first_bits(min(64, max(0, len(rows) - 64 * w)))


@leaf()
def _widest_first(tables: Tables) -> None:
    dims = tables.dims
    for i in range(1, len(dims)):
        d, at = dims[i], i
        width = np.int64(tables.high[d]) - np.int64(tables.low[d])
        while at > 0:
            other = dims[at - 1]
            if np.int64(tables.high[other]) - np.int64(tables.low[other]) >= width:
                break
            dims[at] = other
            at -= 1
        dims[at] = d


@inner
def _sort(keys: npt.NDArray[np.uint32], other: npt.NDArray[np.uint32], n: int) -> None:
    """Sort keys by their upper half, a byte at a time."""
    ends = np.zeros((2, 256), np.uint32)
    for i in range(n):
        ends[0, keys[i] >> np.uint32(16) & np.uint32(255)] += np.uint32(1)
        ends[1, keys[i] >> np.uint32(24)] += np.uint32(1)
    for half in range(2):
        before = np.uint32(0)
        for byte in range(256):
            count = ends[half, byte]
            ends[half, byte] = before
            before += count
    for i in range(n):
        byte = keys[i] >> np.uint32(16) & np.uint32(255)
        other[ends[0, byte]] = keys[i]
        ends[0, byte] += np.uint32(1)
    for i in range(n):
        byte = other[i] >> np.uint32(24)
        keys[ends[1, byte]] = other[i]
        ends[1, byte] += np.uint32(1)


@inner
def _sort_within(keys: npt.NDArray[np.uint32], values: Doubles, places: Integers, n: int) -> None:
    """Put values of the same code into order."""
    i = 0
    while i < n:
        code, j = keys[i] >> np.uint32(16), i + 1
        while j < n and keys[j] >> np.uint32(16) == code:
            j += 1
        if j - i > 32:
            order = np.argsort(values[i:j])
            values[i:j], places[i:j] = values[i:j][order], places[i:j][order]
        else:
            for k in range(i + 1, j):
                value, place, at = values[k], places[k], k
                while at > i and values[at - 1] > value:
                    values[at], places[at] = values[at - 1], places[at - 1]
                    at -= 1
                values[at], places[at] = value, place
        i = j


@leaf()
def _rank(ranks: Codes, keys: npt.NDArray[np.uint32], n: int) -> None:
    """How many values are in cells before each."""
    filled: Int = 0
    for i in range(n):
        cell = np.int64(keys[i] >> np.uint32(17))
        if cell >= filled:
            for k in range(filled, cell + 1):
                ranks[k] = i
            filled = cell + 1
    for k in range(filled, len(ranks)):
        ranks[k] = n


@leaf()
def _mask(after: Words, before: Words, places: Integers, n: int, lanes: Lanes) -> None:
    """The rows at places before each place, and those from it on."""
    for w in range(len(lanes)):
        before[0, w] = 0
    for i in range(n):
        for w in range(len(lanes)):
            before[i + 1, w] = before[i, w]
        before[i + 1, places[i] >> 6] |= np.uint64(1) << np.uint64(places[i] & 63)
    for i in range(n + 1):
        for w in range(len(lanes)):
            after[i, w] = before[n, w] & ~before[i, w]


@leaf()
def _meet(
    tree: Tree,
    lo: Doubles,
    hi: Doubles,
    tables: Tables,
    begin: int,
    end: int,
    counted: Integers,
    lanes: Lanes,
) -> None:
    """The cluster with the pages begin:end of those it met; hits are appended to the list of each
    word."""
    pages, left = tables.room.pages[begin:end], tables.left[begin:end]
    one = np.uint64(1)
    for i in range(len(pages)):
        bits = left[i]
        while bits:
            set_words(tables.narrowed, i * PAGE + lowest(bits), tables.every, 0, lanes)
            bits &= bits - one
    for i in range(len(tables.dims)):
        d = tables.dims[i]
        _ask(tree, lo, tables, pages, left, 2 * d, lanes)
        _ask(tree, hi, tables, pages, left, 2 * d + 1, lanes)
        if i % 2 or i == len(tables.dims) - 1:
            _drop(tables, left, lanes)
    for i in range(len(pages)):
        bits = left[i]
        while bits:
            k = lowest(bits)
            bits &= bits - one
            label = tree.ids[pages[i], k]
            for w in range(len(lanes)):
                word, at = tables.narrowed[i * PAGE + k, w], counted[w]
                tables.masks_hit[w, at], tables.ids_hit[w, at] = word, label
                counted[w] = at + (word != 0)


@leaf(inline="always")
def _ask(
    tree: Tree,
    bounds: Doubles,
    tables: Tables,
    pages: Small,
    left: Words,
    side: int,
    lanes: Lanes,
) -> None:
    """Narrow the masks of a block's boxes by their bounds of one side.

    First as if all values of a bound's own cell were within it. Where there are such values, the
    bound itself is fetched and compared with them afterwards.
    """
    d, close = side >> 1, tables.close
    one, upper = np.uint64(1), np.uint64(side & 1)
    ranks, table = tables.ranks[d], tables.masks[side]
    unsure = np.uint64(0)
    for i in range(len(pages)):
        page = np.uint64(pages[i])
        bits = left[i] & between(tree.codes, page, side, tables.first[d], tables.last[d])
        while bits:
            k = np.uint64(lowest(bits))
            bits &= bits - one
            code = np.uint64(tree.codes[page, side, k])
            cell = (code + one + upper) >> one
            place, other = ranks[cell], ranks[cell + one - upper - upper]
            e = np.uint64(i * PAGE) + k
            close[unsure] = e
            unsure += np.uint64((place != other) & (code & one == 0))
            and_words(tables.narrowed, e, table, place, lanes)
    for i in range(unsure):
        e = close[i]
        prefetch(bounds, np.uint64(tree.slots[pages[e >> _PAGE_BITS], e & _IN_PAGE]))
    for i in range(unsure):
        e = close[i]
        page = np.uint64(pages[e >> _PAGE_BITS])
        bound = bounds[np.uint64(tree.slots[page, e & _IN_PAGE]), d]
        cell = np.uint64(tree.codes[page, side, e & _IN_PAGE]) >> one
        place = ranks[cell]
        while place < ranks[cell + one] and tables.values[d, place] < bound:
            place += one
        and_words(tables.narrowed, e, table, place, lanes)


_PAGE_BITS, _IN_PAGE = np.uint64(6), np.uint64(PAGE - 1)


@leaf(inline="always")
def _drop(tables: Tables, left: Words, lanes: Lanes) -> None:
    """Forget the boxes of a block that have no rows."""
    one = np.uint64(1)
    for i in range(len(left)):
        bits, kept = left[i], np.uint64(0)
        while bits:
            k = np.uint64(lowest(bits))
            bits &= bits - one
            e = np.uint64(i * PAGE) + k
            kept |= np.uint64(set_words(tables.narrowed, e, tables.narrowed, e, lanes)) << k
        left[i] = kept
