"""`spatialjoin`: rows and boxes are regions of one space, and a batch of rows is joined with all.

The boxes stand in a multilevel grid file (mlgf.py). The rows of a batch are put into the order of a
Hilbert curve and cut into *data clusters* of N_dc rows. A cluster is joined as one: the pages its
values may be in are found once, and each box there is compared with all its rows at once.

That comparison is by bits. In each dimension the values of a cluster are sorted, and for every
place in that order there is a mask of the rows before it and one of those from it on; a bound falls
on a place, found in a table by its code, and the rows within a box are the conjunction of the masks
of its bounds. Only bounds that come between the rows of the cluster are asked for theirs: what a
box does not bound, or bounds so widely that all rows are within, costs nothing. Boxes are taken a
block at a time, one side after the other, so that the side's tables stay in the nearest cache.

Invariant: the answer is the scan's (I4). Cost of a cluster: its tables (as many entries as there
are codes, in each dimension), then for each box of the pages it meets one mask per bound, then its
matches. One row, and a few, are compared with the boxes of their pages one by one (the immediate
mode); tables would not pay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from watchline.errors import InvalidQuery
from watchline.index.base import Index
from watchline.index.constructs import GROWN, SHRUNK
from watchline.index.hilbert import curve_order
from watchline.index.mlgf import (
    CEILING,
    FLOOR,
    HEIGHT,
    PAGE,
    PAGES,
    Codes,
    MultilevelGridFile,
    Room,
    Scales,
    Tree,
    boxes_within,
    cell_in,
    longer,
    look,
    pages_within,
    room_for,
)
from watchline.index.result import Matches, spread
from watchline.index.table import Doubles, Int, Integers, Slots
from watchline.index.vector import (
    ONES,
    Lanes,
    Words,
    and_words,
    leaf,
    lowest,
    pick,
    prefetch_row,
    set_words,
    transpose_bits,
)

# Rows for which each is searched alone.
FEW = 12
# Clusters there are: masks of one to sixteen words.
SIZES = (64, 128, 256, 512, 1_024)
# Rows that are ordered together. More lie closer to each other, and their masks take more room.
LEAST, FIRST, MOST = 2_048, 16_384, 65_536
# Bytes of the masks kept until the matches of each row are counted.
KEPT = 2**25
# The part of the bits of hits from which on they are written eight at a time.
DENSE = 0.05
# Hits that are turned around together.
TILE = 1_024
# Boxes that are compared together.
BLOCK = 512
# Nanoseconds of the cost model, by `bench.spatial table3`. For a cluster: a value sorted, a cell of
# its tables, a page met. For a box and side met there: asking, and a word of masks. For a row: its
# place on the curve, and each of its matches.
SORTED, TABLED, PAGED, ASKED, MASKED, PLACED, FOUND = 12.0, 0.15, 60.0, 4.5, 0.9, 300.0, 2.0
# Boxes that an estimate is made from.
MODEL = 4_096
# Clusters of each size that are looked at to choose one, and searches until that is done again.
LOOKS, AGAIN = 3, 16


class SpatialJoinIndex(Index):
    """`N_dc` is the number of rows of a data cluster, chosen for each batch if not given.

    `lenient`: a dimension in which a box has no bound is not looked at, so that NaN and ±inf there
    do not matter.
    """

    kind = "spatialjoin"

    def __init__(self, dims: int, N_dc: object = None, lenient: bool = False):
        super().__init__(dims)
        if N_dc is not None and not (isinstance(N_dc, (int, np.integer)) and N_dc in SIZES):
            raise InvalidQuery(f"N_dc must be one of {', '.join(map(str, SIZES))}, not {N_dc!r}")
        self._cluster_rows = int(N_dc) if isinstance(N_dc, (int, np.integer)) else None
        self._lenient = bool(lenient)
        self._file = MultilevelGridFile(dims)
        # Matches of a row as far as seen: room for the next.
        self._room = 1_024
        # By the bits of the number of rows.
        self._choices: dict[int, Choice] = {}

    @property
    def _nbytes(self) -> int:
        return self._file.nbytes

    def explain(self) -> str:
        state = self._file.tree.state
        sizes = sorted({choice.size for choice in self._choices.values()})
        clusters = f"N_dc {', '.join(map(str, sizes))}; " if sizes else ""
        return (
            f"{super().explain()}; {state[PAGES]:,} pages, {state[HEIGHT]} levels of directory;"
            f" {clusters}about {self.nanoseconds:,.0f} ns a row in a batch"
        )

    def _add(self, slots: Slots) -> None:
        boxes = self._boxes
        if self._file.entered + len(slots) > GROWN * self._file.built_for + 256:
            self._build()
        else:
            self._file.add(slots, boxes)

    def _build(self) -> None:
        self._choices.clear()
        self._file.build(self._boxes)

    def _discard(self, slots: Slots) -> None:
        self._file.discard(slots)

    def _settle(self) -> None:
        boxes = self._boxes
        if not len(boxes):
            self._choices.clear()
            self._file.clear()
        elif boxes.sparse or SHRUNK * len(boxes) < self._file.built_for:
            boxes.compact()
            self._build()

    # --- one by one

    def _fill(
        self, points: Doubles, offsets: Integers, found: npt.NDArray[Any], row: int, at: int
    ) -> tuple[int, int]:
        boxes, file = self._boxes, self._file
        return _immediate(
            file.scales,
            file.tree,
            boxes.lo,
            boxes.hi,
            self._lenient,
            points,
            offsets,
            found,
            row,
            at,
        )

    # --- in batches

    def _stab(self, points: Doubles) -> Matches:
        return spread(self._joined, (points,), self._boxes.id_type)

    def _joined(self, rows: tuple[npt.NDArray[Any], ...], id_type: Any) -> Matches:
        [points] = rows
        if len(points) <= FEW:
            return self._one_by_one(points, id_type)
        offsets = np.empty(len(points) + 1, np.int64)
        offsets[0] = 0
        found = np.empty(0, id_type)
        row, at, size = 0, 0, FIRST
        while row < len(points):
            end = min(row + size, len(points))
            hits = self._join(points[row:end])
            counts = np.zeros(end - row + 1, np.int64)
            counts[0] = at
            _count(hits, counts[1:])
            np.cumsum(counts, out=offsets[row : end + 1])
            taken = int(offsets[end])
            if taken > len(found):
                # What the rows to come will need if they are like those so far, and some more.
                larger = np.empty(int(1.05 * taken * len(points) / end) + 64, id_type)
                larger[:at] = found[:at]
                found = larger
            if id_type is np.int32 and taken - at > DENSE * hits.masks.size * 64:
                _scatter_dense(hits, offsets[row : end + 1], found)
            else:
                _scatter(hits, offsets[row:end], found)
            size = max(LEAST, min(MOST, int(size * KEPT / (hits.masks.nbytes + 1))))
            row, at = end, taken
        found.resize(at, refcheck=False)
        return Matches(offsets, found)

    def _one_by_one(self, points: Doubles, id_type: Any) -> Matches:
        offsets = np.empty(len(points) + 1, np.int64)
        offsets[0] = 0
        found = np.empty(len(points) * self._room, id_type)
        row, at = self._fill(points, offsets, found, 0, 0)
        while row < len(points):
            self._room *= 2
            larger = np.empty(len(points) * self._room, id_type)
            larger[:at] = found[:at]
            found = larger
            row, at = self._fill(points, offsets, found, row, at)
        found.resize(at, refcheck=False)
        return Matches(offsets, found)

    def _join(self, points: Doubles) -> Hits:
        file = self._file
        codes, whole = encode(file.scales, points)
        rows = np.arange(len(points)) if self._lenient else np.flatnonzero(whole)
        order = curve_order(codes, self._dims_by_use(), rows)
        size = self._cluster_rows or self._best_size(codes, order)
        return join(file, self._boxes.lo, self._boxes.hi, points, codes, order, size)

    def _dims_by_use(self) -> Integers:
        """The dimensions that boxes bound, those that most bound first."""
        return np.flatnonzero(self._file.scales.counts)

    def _best_size(self, codes: Codes, order: Integers) -> int:
        """The size of clusters that costs least for rows like these.

        How many boxes a cluster will meet is counted for some; the choice serves a few batches.
        """
        about = len(order).bit_length()
        if about not in self._choices or self._choices[about].uses >= AGAIN:
            self._choices[about] = Choice(*self._cheapest(codes, order))
        self._choices[about].uses += 1
        return self._choices[about].size

    def _cheapest(self, codes: Codes, order: Integers, share: float = 1.0) -> tuple[int, float]:
        """The size that costs least, and its cost of a row, if there are `share` times as many
        boxes as the index has."""
        costs = {}
        for size in SIZES:
            if size < 2 * len(order) or size == SIZES[0]:
                pages, boxes = look(self._file.tree, codes, order, size, LOOKS)
                cost = self._cost(size, share * pages, share * boxes)
                costs[size] = cost / min(size, max(1, len(order)))
        best = min(costs, key=lambda size: costs[size])
        return best, costs[best]

    def _cost(self, size: int, pages: float, boxes: float) -> float:
        """Nanoseconds for a cluster that meets so many pages and boxes."""
        tables = self.dims * (SORTED * size + TABLED * self._file.scales.size)
        return tables + PAGED * pages + 2 * self.dims * boxes * (ASKED + MASKED * size / 64)

    def estimate(self, lo: Doubles, hi: Doubles) -> float:
        step = 1 + len(lo) // MODEL
        model = SpatialJoinIndex(self.dims, lenient=self._lenient)
        few, most = lo[::step], hi[::step]
        model.insert(np.arange(len(few)), few, most)
        return model._guess(len(lo) / max(1, len(few)))

    @property
    def nanoseconds(self) -> float:
        if not self._choices:
            return self._guess(1.0)
        return PLACED + min(choice.nanoseconds for choice in self._choices.values())

    def _guess(self, share: float) -> float:
        """The cost of a row that is made up of the boxes' own bounds."""
        counts = np.maximum(self._file.scales.counts, 1)
        picked = np.random.default_rng(0).integers(0, counts, (2 * LEAST, self.dims))
        codes = (2 * (picked + 2)).astype(np.uint16)
        order = curve_order(codes, self._dims_by_use(), np.arange(len(codes)))
        return PLACED + self._cheapest(codes, order, share)[1]


@dataclass
class Choice:
    """A size of clusters, what a row costs by the model, and how often it has served."""

    size: int
    nanoseconds: float
    uses: int = 0


class Hits(NamedTuple):
    """What a join found: for each hit the box's id and which of the cluster's rows it holds."""

    order: Integers
    # Rows of a cluster, and where the hits of each cluster begin.
    size: int
    starts: Integers
    ids: Integers
    masks: Words


@nb.njit(cache=True, nogil=True)
def encode(
    scales: Scales, points: Doubles
) -> tuple[Codes, npt.NDArray[np.bool_]]:  # pragma: no cover - compiled
    """The codes of all values, `CEILING` where there is no number; which rows have all numbers."""
    n, dims = points.shape
    codes = np.empty((n, dims), np.uint16)
    whole = np.ones(n, np.bool_)
    for i in range(n):
        for d in range(dims):
            value = points[i, d]
            if np.isfinite(value):
                codes[i, d] = 2 * cell_in(scales, d, value)
            else:
                codes[i, d] = CEILING
                whole[i] = False
    return codes, whole


def join(
    file: MultilevelGridFile,
    lo: Doubles,
    hi: Doubles,
    points: Doubles,
    codes: Codes,
    order: Integers,
    size: int,
) -> Hits:
    """Clusters of `size` rows in this order with all boxes."""
    clusters = -(-len(order) // size)
    starts = np.zeros(clusters + 1, np.int64)
    ids = np.empty(4_096, np.int64)
    masks = np.empty((4_096, size // 64), np.uint64)
    tables = _tables(file, size)
    lanes = (0,) * (size // 64)
    done = 0
    while done < clusters:
        done = _join(
            file.tree, lo, hi, tables, points, codes, order, done, starts, ids, masks, lanes
        )
        if done < clusters:
            # As many hits for each cluster as so far, and never less than half as many again.
            room = max(int(starts[done]) * clusters // (done + 1), 3 * len(ids) // 2)
            ids, masks = longer(ids, room), longer(masks, room)
    return Hits(order, size, starts, ids[: starts[-1]], masks[: starts[-1]])


class Tables(NamedTuple):
    """What is known of a cluster, in arrays that all clusters of a batch share."""

    # By dimension: the values in order and their rows; how many of them are numbers.
    values: Doubles
    rows: Integers
    counts: Integers
    # By dimension: the least and the greatest code.
    low: Codes
    high: Codes
    # By dimension: the codes of the bounds that set some rows apart. If rows have no number there,
    # all do: a bound, however wide, does not hold them.
    first: Codes
    last: Codes
    # By dimension and cell: how many values are in cells before it.
    ranks: npt.NDArray[np.uint16]
    # By side and place: the rows at places before it (for an upper bound) or from it on.
    masks: Words
    # Room to sort and to search.
    keys: npt.NDArray[np.uint32]
    other: npt.NDArray[np.uint32]
    room: Room
    # Boxes of a block: page and place in it, those asked for a mask, and their codes.
    boxes: npt.NDArray[np.uint64]
    asked: npt.NDArray[np.uint32]
    codes: npt.NDArray[np.uint32]
    # The mask of all rows.
    every: Words
    # Boxes of a block with a bound in a cell of which the cluster has values: box and place.
    close: npt.NDArray[np.uint64]


def _tables(file: MultilevelGridFile, size: int) -> Tables:
    dims, words = file.dims, size // 64
    return Tables(
        values=np.empty((dims, size)),
        rows=np.empty((dims, size), np.int64),
        counts=np.empty(dims, np.int64),
        low=np.empty(dims, np.uint16),
        high=np.empty(dims, np.uint16),
        first=np.empty(dims, np.uint16),
        last=np.empty(dims, np.uint16),
        ranks=np.empty((dims, file.scales.size + 1), np.uint16),
        masks=np.empty((2 * dims, size + 1, words), np.uint64),
        keys=np.empty(size, np.uint32),
        other=np.empty(size, np.uint32),
        room=room_for(file.tree),
        boxes=np.empty(BLOCK, np.uint64),
        asked=np.empty(BLOCK, np.uint32),
        codes=np.empty(BLOCK, np.uint32),
        every=np.empty((1, words), np.uint64),
        close=np.empty(BLOCK, np.uint64),
    )


@nb.njit(cache=True, nogil=True)
def _join(
    tree: Tree,
    lo: Doubles,
    hi: Doubles,
    tables: Tables,
    points: Doubles,
    codes: Codes,
    order: Integers,
    done: int,
    starts: Integers,
    ids: Integers,
    masks: Words,
    lanes: Lanes,
) -> int:  # pragma: no cover - compiled
    """The clusters from `done` on, until there may be no room for a page's hits; how many are done.

    The length of `lanes`, the words of a mask, is known when this is compiled.
    """
    size = 64 * len(lanes)
    clusters = len(starts) - 1
    room, boxes = tables.room, tables.boxes
    while done < clusters:
        rows = order[done * size : (done + 1) * size]
        _tabulate(tables, points, codes, rows, lanes)
        at, n = starts[done], 0
        pages = pages_within(tree, tables.low, tables.high, room)
        for i in range(pages):
            page = room.pages[i]
            kept = boxes_within(tree, page, tables.low, tables.high, room.marks, room.kept)
            for k in range(kept):
                boxes[n + k] = page * PAGE + room.kept[k]
            n += kept
            if n > BLOCK - PAGE or i == pages - 1:
                if at + n > len(ids):
                    return done
                at = _meet(tree, lo, hi, tables, n, ids, masks, at, lanes)
                n = 0
        done += 1
        starts[done] = at
    return done


@nb.njit(cache=True, nogil=True)
def _tabulate(
    tables: Tables, points: Doubles, codes: Codes, rows: Integers, lanes: Lanes
) -> None:  # pragma: no cover - compiled
    """Sort a cluster's values, and make its tables."""
    for d in range(points.shape[1]):
        keys = tables.keys[: len(rows)]
        for i in range(len(rows)):
            keys[i] = np.uint32(codes[rows[i], d]) << np.uint32(16) | np.uint32(i)
        _sort(tables.keys, tables.other, len(rows))
        values, places = tables.values[d], tables.rows[d]
        n = 0
        for i in range(len(rows)):
            code, place = np.int64(keys[i] >> np.uint32(16)), np.int64(keys[i] & np.uint32(0xFFFF))
            if code == CEILING:
                break
            values[i], places[i] = points[rows[place], d], place
            n = i + 1
        tables.counts[d] = n
        _sort_within(keys, values, places, n)
        tables.low[d] = keys[0] >> np.uint32(16) if n else CEILING
        tables.high[d] = keys[n - 1] >> np.uint32(16) if n else FLOOR
        tables.first[d] = tables.low[d] if n == len(rows) else FLOOR + 1
        tables.last[d] = tables.high[d] if n == len(rows) else CEILING - 1
        _rank(tables.ranks[d], keys, n)
        _mask(tables.masks[2 * d], tables.masks[2 * d + 1], places, n, lanes)
    last = len(rows)
    for w in range(len(lanes)):
        here = min(64, max(0, last - 64 * w))
        full = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
        tables.every[0, w] = full >> np.uint64(64 - here) if here else np.uint64(0)


@nb.njit(cache=True, nogil=True)
def _sort(
    keys: npt.NDArray[np.uint32], other: npt.NDArray[np.uint32], n: int
) -> None:  # pragma: no cover - compiled
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


@nb.njit(cache=True, nogil=True)
def _sort_within(
    keys: npt.NDArray[np.uint32], values: Doubles, places: Integers, n: int
) -> None:  # pragma: no cover - compiled
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
def _rank(
    ranks: npt.NDArray[np.uint16], keys: npt.NDArray[np.uint32], n: int
) -> None:  # pragma: no cover - compiled
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
def _mask(
    after: Words, before: Words, places: Integers, n: int, lanes: Lanes
) -> None:  # pragma: no cover - compiled
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
    n: int,
    ids: Integers,
    masks: Words,
    at: int,
    lanes: Lanes,
) -> int:  # pragma: no cover - compiled
    """A cluster with the n boxes of a block; hits are written from `at` on."""
    for e in range(at, at + n):
        set_words(masks, e, tables.every, 0, lanes)
    for d in range(len(tables.counts)):
        _ask(tree, lo, tables, n, masks, at, 2 * d, lanes)
        _ask(tree, hi, tables, n, masks, at, 2 * d + 1, lanes)
        if d % 2:
            n = _left(tables, n, masks, at, lanes)
    n = _left(tables, n, masks, at, lanes)
    for e in range(n):
        box = tables.boxes[e]
        ids[at + e] = tree.ids[box >> _PAGE_BITS, box & _IN_PAGE]
    return at + n


_PAGE_BITS, _IN_PAGE = np.uint64(6), np.uint64(PAGE - 1)


@leaf(inline="always")
def _ask(
    tree: Tree,
    bounds: Doubles,
    tables: Tables,
    n: int,
    masks: Words,
    at: int,
    side: int,
    lanes: Lanes,
) -> None:  # pragma: no cover - compiled
    """Narrow the masks of a block's boxes by their bounds of one side.

    First as if all values of a bound's own cell were within it. Where there are such values, the
    bound itself is fetched and compared with them afterwards.
    """
    d, boxes, asked, codes, close = (
        side >> 1,
        tables.boxes,
        tables.asked,
        tables.codes,
        tables.close,
    )
    first, last = np.uint32(tables.first[d]), np.uint32(tables.last[d])
    one, upper, begin = np.uint64(1), np.uint64(side & 1), np.uint64(at)
    e: Int
    code: Int
    m = np.uint64(0)
    for e in range(np.uint64(n)):
        code = np.uint32(tree.codes[boxes[e] >> _PAGE_BITS, side, boxes[e] & _IN_PAGE])
        asked[m], codes[m] = e, code
        m += np.uint64((first <= code) & (code <= last))
    ranks, table = tables.ranks[d], tables.masks[side]
    unsure = np.uint64(0)
    for i in range(m):
        e, code = np.uint64(asked[i]), np.uint64(codes[i])
        cell = (code + one + upper) >> one
        place, other = ranks[cell], ranks[cell + one - upper - upper]
        close[unsure] = e
        unsure += np.uint64((place != other) & (code & one == 0))
        and_words(masks, begin + e, table, place, lanes)
    for i in range(unsure):
        box = boxes[close[i]]
        prefetch_row(bounds, np.uint64(tree.slots[box >> _PAGE_BITS, box & _IN_PAGE]))
    for i in range(unsure):
        e = close[i]
        box = boxes[e]
        cell = np.uint64(tree.codes[box >> _PAGE_BITS, side, box & _IN_PAGE]) >> one
        bound = bounds[np.uint64(tree.slots[box >> _PAGE_BITS, box & _IN_PAGE]), d]
        place = ranks[cell]
        while place < ranks[cell + one] and tables.values[d, place] < bound:
            place += one
        and_words(masks, begin + e, table, place, lanes)


@leaf(inline="always")
def _left(
    tables: Tables, n: int, masks: Words, at: int, lanes: Lanes
) -> Int:  # pragma: no cover - compiled
    """Keep the boxes of a block that have rows; how many they are."""
    kept, begin = np.uint64(0), np.uint64(at)
    for e in range(np.uint64(n)):
        some = set_words(masks, begin + kept, masks, begin + e, lanes)
        tables.boxes[kept] = tables.boxes[e]
        kept += np.uint64(some)
    return np.int64(kept)


# --- hits to matches


@nb.njit(cache=True, nogil=True)
def _count(hits: Hits, counts: Integers) -> None:  # pragma: no cover - compiled
    """The matches of each row, by adding up masks as binary numbers that stand upright.

    Four words hold the low digits of 64 rows' counts; what sixteen masks carry beyond them is one
    mask again (no count can overflow twice), and is added to the high digits.
    """
    words = hits.masks.shape[1]
    high = np.empty(32, np.uint64)
    for cluster in range(len(hits.starts) - 1):
        for w in range(words):
            a, b, c, d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
            high[:] = 0
            digits = 0
            start, end = hits.starts[cluster], hits.starts[cluster + 1]
            while start < end:
                over = np.uint64(0)
                for i in range(start, min(start + 16, end)):
                    x = hits.masks[i, w]
                    a, x = a ^ x, a & x
                    b, x = b ^ x, b & x
                    c, x = c ^ x, c & x
                    d, x = d ^ x, d & x
                    over |= x
                digit = 0
                while over:
                    high[digit], over = high[digit] ^ over, high[digit] & over
                    digit += 1
                digits = max(digits, digit)
                start += 16
            begin = cluster * hits.size + 64 * w
            for i in range(min(64, len(hits.order) - begin)):
                bit = np.uint64(i)
                total = np.int64(a >> bit & 1) + 2 * np.int64(b >> bit & 1)
                total += 4 * np.int64(c >> bit & 1) + 8 * np.int64(d >> bit & 1)
                for digit in range(digits):
                    total += np.int64(high[digit] >> bit & 1) << (digit + 4)
                counts[hits.order[begin + i]] = total


@nb.njit(cache=True, nogil=True)
def _scatter(
    hits: Hits, offsets: Integers, found: npt.NDArray[Any]
) -> None:  # pragma: no cover - compiled
    """Write each hit's id to all its rows, whose matches begin at these offsets."""
    words = hits.masks.shape[1]
    ends = np.empty(hits.size, np.uint64)
    for cluster in range(len(hits.starts) - 1):
        rows = hits.order[cluster * hits.size : (cluster + 1) * hits.size]
        for i in range(len(rows)):
            ends[i] = offsets[rows[i]]
        for i in range(hits.starts[cluster], hits.starts[cluster + 1]):
            label = hits.ids[i]
            for w in range(words):
                bits = hits.masks[i, w]
                while bits:
                    row = np.uint64(64 * w) + np.uint64(lowest(bits))
                    at = ends[row]
                    found[at] = label
                    ends[row] = at + np.uint64(1)
                    bits &= bits - np.uint64(1)


@nb.njit(cache=True, nogil=True)
def _scatter_dense(
    hits: Hits, offsets: Integers, found: npt.NDArray[np.int32]
) -> None:  # pragma: no cover - compiled
    """As `_scatter`, if hits have many rows and ids are narrow.

    A tile of hits is turned around, so that each row has a byte for every eight hits; the ids that
    its bits pick are written at once, as long as eight have room.
    """
    words = hits.masks.shape[1]
    ends = np.empty(hits.size, np.uint64)
    bytes_ = np.zeros((TILE // 8) * 64, np.uint8)
    labels = np.empty(TILE, np.int32)
    rest = np.zeros((8, words), np.uint64)
    for cluster in range(len(hits.starts) - 1):
        rows = hits.order[cluster * hits.size : (cluster + 1) * hits.size]
        for i in range(len(rows)):
            ends[i] = offsets[rows[i]]
        last = hits.starts[cluster + 1]
        for start in range(hits.starts[cluster], last, TILE):
            n = min(TILE, last - start)
            groups = (n + 7) // 8
            for i in range(n):
                labels[i] = hits.ids[start + i]
            if n % 8:
                rest[:] = 0
                rest[: n % 8] = hits.masks[last - n % 8 : last]
            for w in range(words):
                for g in range(n // 8):
                    transpose_bits(bytes_, g * 64, hits.masks, start + g * 8, w)
                if n % 8:
                    transpose_bits(bytes_, (groups - 1) * 64, rest, 0, w)
                for i in range(min(64, len(rows) - 64 * w)):
                    row = 64 * w + i
                    limit = np.uint64(offsets[rows[row] + 1])
                    ends[row] = _write(found, ends[row], limit, labels, bytes_, i, groups)


@leaf()
def _write(
    found: npt.NDArray[np.int32],
    at: Int,
    limit: Int,
    labels: npt.NDArray[np.int32],
    bytes_: npt.NDArray[np.uint8],
    row: Int,
    groups: int,
) -> Int:  # pragma: no cover - compiled
    """The ids of one row of a tile, none of them at or after `limit`; where they end."""
    g, one, eight = np.uint64(0), np.uint64(1), np.uint64(8)
    at, row, end = np.uint64(at), np.uint64(row), np.uint64(groups)
    while g < end and at + eight <= limit:
        bits = np.uint64(bytes_[g * np.uint64(64) + row])
        pick(found, at, labels, g * eight, bits)
        at += ONES[bits]
        g += one
    while g < end:
        bits = np.uint64(bytes_[g * np.uint64(64) + row])
        while bits:
            found[at] = labels[g * eight + np.uint64(lowest(bits))]
            at += one
            bits &= bits - one
        g += one
    return at


# --- one row at a time


@nb.njit(cache=True, nogil=True)
def _immediate(
    scales: Scales,
    tree: Tree,
    lo: Doubles,
    hi: Doubles,
    lenient: bool,
    points: Doubles,
    offsets: Integers,
    found: npt.NDArray[Any],
    row: int,
    at: int,
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Rows one by one, as `Index._fill` has it."""
    dims = points.shape[1]
    low, high = np.empty(dims, np.uint16), np.empty(dims, np.uint16)
    near = np.empty(PAGE, np.uint8)
    room = room_for(tree)
    for i in range(row, len(points)):
        begin, whole = at, True
        for d in range(dims):
            if np.isfinite(points[i, d]):
                low[d] = high[d] = 2 * cell_in(scales, d, points[i, d])
            else:
                low[d], high[d] = CEILING, FLOOR
                whole = False
        if whole or lenient:
            for k in range(pages_within(tree, low, high, room)):
                if at + PAGE > len(found):
                    return i, begin
                at = _meet_row(
                    tree, room.pages[k], lo, hi, points[i], low, high, room, near, found, at
                )
        offsets[i + 1] = at
    return len(points), at


@leaf()
def _meet_row(
    tree: Tree,
    page: int,
    lo: Doubles,
    hi: Doubles,
    point: Doubles,
    low: Codes,
    high: Codes,
    room: Room,
    near: npt.NDArray[np.uint8],
    found: npt.NDArray[Any],
    at: int,
) -> Int:  # pragma: no cover - compiled
    """One row with the boxes of a page.

    Codes decide, but for values that have the code of a bound: such boxes are compared in full.
    """
    k: Int
    kept = room.kept
    count = boxes_within(tree, page, low, high, room.marks, kept)
    for k in range(PAGE):
        near[k] = 0
    for d in range(len(low)):
        lower, upper, least, most = (
            tree.codes[page, 2 * d],
            tree.codes[page, 2 * d + 1],
            low[d],
            high[d],
        )
        for k in range(PAGE):
            near[k] |= (lower[k] == most) | (upper[k] == least)
    out = np.uint64(at)
    for j in range(count):
        k = np.uint64(kept[j])
        found[out] = tree.ids[page, k]
        inside = True
        if near[k]:
            inside = _holds(lo, hi, np.uint64(tree.slots[page, k]), point)
        out += np.uint64(inside)
    return np.int64(out)


@leaf()
def _holds(lo: Doubles, hi: Doubles, slot: int, point: Doubles) -> bool:  # pragma: no cover
    """Whether a box holds a row, by its bounds alone: what it does not bound may be no number."""
    inside = True
    for d in range(len(point)):
        free = (lo[slot, d] == -np.inf) & (hi[slot, d] == np.inf)
        inside &= free | ((lo[slot, d] <= point[d]) & (point[d] < hi[slot, d]))
    return inside
