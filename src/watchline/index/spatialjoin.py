"""`spatialjoin`: rows and boxes are regions of one space, and a batch of rows is joined with all.

The boxes stand in a multilevel grid file (mlgf.py). The rows of a batch are put into the order of a
Hilbert curve and cut into *data clusters* of N_dc rows. A cluster is joined as one: the pages its
values may be in are found once, and each box there is compared with all its rows at once, by bits
(clusters.py). What a box does not bound costs nothing there.

Invariant: the answer is the scan's (I4). Cost of a cluster: its tables (as many entries as there
are codes, in each dimension), then for each box of the pages it meets one mask per bound, then its
matches. One row, and a few, are compared with the boxes of their pages one by one (the immediate
mode); tables would not pay. Threads share the clusters of a batch, if the work is worth it: each
counts and writes the matches of its own clusters, whose rows are nobody else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise, repeat
from typing import Any

import numpy as np

from watchline.errors import InvalidQuery
from watchline.index.base import Index
from watchline.index.clusters import join
from watchline.index.codes import CEILING, FLOOR, Scales, cell_in
from watchline.index.constructs import GROWN, SHRUNK
from watchline.index.hilbert import curve_order
from watchline.index.hits import Hits, count_matches, scatter
from watchline.index.mlgf import HEIGHT, PAGE, PAGES, MultilevelGridFile, Tree
from watchline.index.mlgf_search import first_bits, look, pages_within, search_room
from watchline.index.result import Matches
from watchline.kernels.arrays import (
    Array,
    Codes,
    Doubles,
    Int,
    Integers,
    Mask,
    Small,
    read_only,
)
from watchline.kernels.compiled import kernel, leaf
from watchline.kernels.simd import lowest, reached
from watchline.kernels.threads import team, threads_for

# Rows for which each is searched alone.
FEW = 12
# Clusters there are: masks of one to sixteen words.
SIZES = (64, 128, 256, 512, 1_024)
# Rows that are ordered together. More lie closer to each other, and their masks take more room.
LEAST, MOST = 2_048, 65_536
# Bytes of the masks kept until the matches of each row are counted.
KEPT = 2**25
# Nanoseconds of the cost model. For a cluster: a value sorted, a cell of its tables, a page met.
# For a box and side met: asking, and a word of masks. For a row: its place, and each value's code.
SORTED, TABLED, PAGED, ASKED, MASKED = 12.0, 0.15, 60.0, 3.6, 0.6
PLACED, CODED = 300.0, 60.0
# Boxes that an estimate is made from.
MODEL = 4_096
# Nanoseconds of work from which on a further thread pays: starting one takes a tenth of that.
WORTH = 1e6
# Clusters of each size that are looked at to choose one, and searches until that is done again.
LOOKS, AGAIN = 5, 16


class SpatialJoinIndex(Index):
    """`N_dc` is the number of rows of a data cluster, chosen for each batch if not given.

    `lenient`: a dimension in which a box has no bound is not looked at, so that NaN and ±inf there
    do not matter.
    """

    kind = "spatialjoin"

    def __init__(self, dims: int, N_dc: int | None = None, lenient: bool = False):
        super().__init__(dims)
        if N_dc is not None and (isinstance(N_dc, float) or N_dc not in SIZES):
            raise InvalidQuery(f"N_dc must be one of {', '.join(map(str, SIZES))}, not {N_dc!r}")
        self._cluster_rows = None if N_dc is None else int(N_dc)
        self._lenient = bool(lenient)
        self._file = MultilevelGridFile(dims)
        # By the bits of the number of rows, and threads.
        self._choices: dict[tuple[int, int], Choice] = {}

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

    def _add(self, slots: Small) -> None:
        boxes = self._boxes
        if self._file.entered + len(slots) > GROWN * self._file.built_for + 32:
            self._build()
        else:
            self._file.add(slots, boxes)

    def _build(self) -> None:
        self._choices.clear()
        self._file.build(self._boxes)

    def _discard(self, slots: Small) -> None:
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
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
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
        if len(points) <= FEW:
            return super()._stab(points)
        return self._join_batches(read_only(points), self._boxes.id_type)

    def _join_batches(self, points: Doubles, id_type: Any) -> Matches:
        offsets = np.empty(len(points) + 1, np.int64)
        offsets[0] = 0
        found = np.empty(0, id_type)
        row, at, size = 0, 0, MOST
        while row < len(points):
            end = min(row + size, len(points))
            batch = self._batch(points[row:end])
            counts = np.zeros(end - row + 1, np.int64)
            counts[0] = at
            with team(batch.threads) as each:
                hits = each(partial(self._hits, batch, id_type), batch.parts())
                each(count_matches, hits, repeat(counts[1:]))
                np.cumsum(counts, out=offsets[row : end + 1])
                taken = int(offsets[end])
                if taken > len(found):
                    # What the rows to come will need if they are like those so far, and some more.
                    larger = np.empty(int(1.05 * taken * len(points) / end) + 64, id_type)
                    larger[:at] = found[:at]
                    found = larger
                ends, narrow = repeat(offsets[row : end + 1]), repeat(id_type is np.int32)
                each(scatter, hits, ends, repeat(found), narrow)
            kept = sum(part.nbytes for part in hits)
            size = max(LEAST, min(MOST, int((end - row) * KEPT / (kept + 1))))
            row, at = end, taken
        found.resize(at, refcheck=False)
        return Matches(offsets, found)

    def _batch(self, points: Doubles) -> CurveBatch:
        """Rows in the order of the curve; for how many threads and in which clusters."""
        file = self._file
        codes, whole = encode(file.scales, points)
        rows = np.arange(len(points)) if self._lenient else np.flatnonzero(whole)
        order = curve_order(codes, file.dims_by_use, rows)
        choice = self._choice(codes, order, 1)
        threads = threads_for(int(choice.nanoseconds * len(order) / WORTH))
        if threads > 1:
            choice = self._choice(codes, order, threads)
        return CurveBatch(points, codes, order, choice, threads)

    def _hits(self, batch: CurveBatch, id_type: Any, part: Integers) -> Hits:
        """What the clusters of a part of the order find."""
        lo, hi, choice = self._boxes.lo, self._boxes.hi, batch.choice
        return join(
            self._file,
            lo,
            hi,
            batch.points,
            batch.codes,
            part,
            choice.size,
            choice.boxes,
            id_type,
        )

    def _choice(self, codes: Codes, order: Integers, threads: int) -> Choice:
        """The size of clusters that costs least for rows like these.

        How many boxes a cluster will meet is counted for some; the choice serves a few batches.
        """
        about = len(order).bit_length(), threads
        chosen = self._choices.get(about)
        if chosen is None or chosen.uses >= AGAIN:
            chosen = self._choices[about] = self._cheapest(codes, order, threads=threads)
        chosen.uses += 1
        return chosen

    def _cheapest(
        self, codes: Codes, order: Integers, share: float = 1.0, threads: int = 1
    ) -> Choice:
        """The best choice if there are `share` times as many boxes as the index has."""
        choices: list[Choice] = []
        for size in SIZES if self._cluster_rows is None else (self._cluster_rows,):
            if size < 2 * len(order) or not choices:
                pages, boxes = look(self._file.tree, codes, order, size, LOOKS)
                cost = self._cost(size, share * pages, share * boxes)
                choices.append(Choice(size, boxes, cost / min(size, max(1, len(order)))))
        return min(choices, key=lambda choice: choice.nanoseconds * choice.idle(order, threads))

    def _cost(self, size: int, pages: float, boxes: float) -> float:
        """Nanoseconds for a cluster that meets so many pages and boxes."""
        tables = self.dims * (SORTED * size + TABLED * self._file.scales.size)
        return tables + PAGED * pages + 2 * self.dims * boxes * (ASKED + MASKED * size / 64)

    def estimate(self, lo: Doubles, hi: Doubles) -> float:
        step = 1 + len(lo) // MODEL
        model = SpatialJoinIndex(self.dims, self._cluster_rows, self._lenient)
        few, most = lo[::step], hi[::step]
        model.insert(np.arange(len(few)), few, most)
        return model._guess(len(lo) / max(1, len(few)))

    @property
    def nanoseconds(self) -> float:
        if not self._choices:
            return self._guess(1.0)
        least = min(choice.nanoseconds for choice in self._choices.values())
        return PLACED + CODED * self.dims + least

    def _guess(self, share: float) -> float:
        """The cost of a row that is made up of the boxes' own bounds."""
        counts = np.maximum(self._file.scales.counts, 1)
        picked = np.random.default_rng(0).integers(0, counts, (2 * LEAST, self.dims))
        codes = (2 * (picked + 2)).astype(np.uint16)
        order = curve_order(codes, self._file.dims_by_use, np.arange(len(codes)))
        return PLACED + CODED * self.dims + self._cheapest(codes, order, share).nanoseconds


@dataclass
class Choice:
    """A size of clusters, how many boxes one meets, what a row costs by the model, and how often
    the choice has served."""

    size: int
    boxes: float
    nanoseconds: float
    uses: int = 0

    def idle(self, order: Integers, threads: int) -> float:
        """How many times as long all threads are busy as if clusters could be dealt out evenly."""
        clusters = max(1, -(-len(order) // self.size))
        return -(-clusters // threads) * threads / clusters


@dataclass(frozen=True)
class CurveBatch:
    """Rows that are joined together: their values, codes, order, the size of clusters, and the
    threads that share the clusters."""

    points: Doubles
    codes: Codes
    order: Integers
    choice: Choice
    threads: int

    def parts(self) -> list[Integers]:
        """The order, cut between clusters into a part for each thread."""
        size = self.choice.size
        clusters = -(-len(self.order) // size)
        cuts = np.linspace(0, clusters, min(self.threads, max(1, clusters)) + 1).astype(np.int64)
        return [self.order[size * a : size * b] for a, b in pairwise(cuts.tolist())]


@kernel
def encode(scales: Scales, points: Doubles) -> tuple[Codes, Mask]:
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


@kernel
def _immediate(
    scales: Scales,
    tree: Tree,
    lo: Doubles,
    hi: Doubles,
    lenient: bool,
    points: Doubles,
    offsets: Integers,
    found: Array,
    row: int,
    at: int,
) -> tuple[int, int]:
    """Rows one by one, as `Index._fill` has it."""
    dims = points.shape[1]
    low, high = np.empty(dims, np.uint16), np.empty(dims, np.uint16)
    room = search_room(tree)
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
                page = np.int64(room.pages[k])
                at = _meet_row(tree, page, lo, hi, points[i], low, high, found, at)
        offsets[i + 1] = at
    return len(points), at


@leaf()
def _meet_row(
    tree: Tree,
    page: Int,
    lo: Doubles,
    hi: Doubles,
    point: Doubles,
    low: Codes,
    high: Codes,
    found: Array,
    at: Int,
) -> Int:
    """One row with the boxes of a page.

    Codes decide, but for values that have the code of a bound: such boxes are compared in full.
    """
    inside, near = reached(tree.codes, page, low, high)
    inside &= first_bits(tree.filled[page])
    one, out = np.uint64(1), np.uint64(at)
    while inside:
        k = np.uint64(lowest(inside))
        found[out] = tree.ids[page, k]
        inside &= inside - one
        if not near >> k & one:
            out += one
        else:
            out += np.uint64(_holds(lo, hi, np.uint64(tree.slots[page, k]), point))
    return np.int64(out)


@leaf()
def _holds(lo: Doubles, hi: Doubles, slot: int, point: Doubles) -> bool:
    """Whether a box holds a row, by its bounds alone: what it does not bound may be no number."""
    inside = True
    for d in range(len(point)):
        free = (lo[slot, d] == -np.inf) & (hi[slot, d] == np.inf)
        inside &= free | ((lo[slot, d] <= point[d]) & (point[d] < hi[slot, d]))
    return inside
