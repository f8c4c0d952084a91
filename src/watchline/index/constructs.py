"""What the indexes of virtual constructs share: cells, lists, tuning, growth.

A box is decomposed into constructs that it covers whole, and its id stands in the list of each; a
construct that it covers in part has it among its cuts, to be compared. A search reads the lists of
the constructs around its point: the whole entries without a comparison, the cuts with one each.

Invariant: the constructs of a box, whole and cut, hold each point of the box exactly once. Wide
boxes (with no bound on a side, or over very many constructs) are merged further up, in a tree over
the segments of L cells: the paper's "L = r", for these alone.

A subclass says how fine the cells are, how many lists there are, how a box is decomposed, and how a
search goes. Searches give their kernels plain tuples in place of named ones: Numba takes them apart
in a third of the time, and a search for one row costs little else.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from watchline.errors import InvalidQuery
from watchline.index.base import Index
from watchline.index.postings import Pieces, PostingLists
from watchline.index.tuning import (
    Shape,
    check_cells,
    checked_domain,
    checked_length,
    checked_unit,
)
from watchline.kernels.arrays import Doubles, Integers, Small
from watchline.kernels.compiled import kernel

# Boxes decomposed at a time when an index is built: bounds the memory for their entries.
CHUNK = 32_768
# An insertion of at least this share of what is there builds anew rather than append.
BULK_SHARE = 0.5
# Tuned again when there are so many times more boxes than when it was tuned, or so many fewer.
GROWN, SHRUNK = 4, 8
# A construct with more cuts than this, and than its share, means that the cells do not fit.
LONG = 256


class ConstructIndex(Index):
    """An index of virtual constructs."""

    dimensions: int
    # The largest L that tuning tries is 2 to this power.
    most_k: int

    def __init__(self, dims: int, *, L: object = None, unit: object = None, domain: object = None):
        if dims != self.dimensions:
            plural = "s" if self.dimensions > 1 else ""
            raise InvalidQuery(
                f"index {self.kind!r} has {self.dimensions} dimension{plural}, not {dims}"
            )
        super().__init__(dims)
        self._given_k = checked_length(L)
        self._given_unit = checked_unit(unit)
        self._given_domain = checked_domain(domain)
        check_cells(self._given_unit, self._given_domain, dims)
        self._build()

    def explain(self) -> str:
        return f"{super().explain()}; {self.shape}; {self.shape.estimate}"

    def estimate(self, lo: Doubles, hi: Doubles) -> float:
        return self._tune(lo, hi).estimate.nanoseconds

    # --- what a kind of construct decides

    @abstractmethod
    def _tune(self, lo: Doubles, hi: Doubles) -> Shape:
        """Cells and L for these boxes."""

    @abstractmethod
    def _count(self) -> int:
        """How many lists there are."""

    @abstractmethod
    def _more(self) -> int:
        """PostingLists of the tree over the segments, which are there only if a wide box is."""

    @abstractmethod
    def _decompose(self, rows: Doubles, slots: Small, sign: int) -> Pieces:
        """The pieces of boxes that come (sign 1), go (-1) or are looked at once more (0)."""

    # --- structure

    def _build(self) -> None:
        """Cells and lists of all boxes of the table, tuned to them."""
        slots = self._boxes.living()
        self.shape = self._tune(self._boxes.lo[slots], self._boxes.hi[slots])
        self._tuned_for, self._inserted = len(slots), 0
        # Whole entries and cuts of each level of constructs: an empty one need not be searched.
        self._levels = no_levels()
        chunks = [slots[i : i + CHUNK] for i in range(0, len(slots), CHUNK)]
        wholes, cuts = (np.zeros(self._count(), dtype=np.int64) for _ in range(2))
        for chunk in chunks:
            pieces = self._decompose(self._boxes.rows, chunk, 1)
            if any(len(a) and a.max() >= len(wholes) for a in (pieces.lists, pieces.cut_lists)):
                more = np.zeros(self._more(), dtype=np.int64)
                wholes, cuts = np.concatenate([wholes, more]), np.concatenate([cuts, more])
            np.add.at(wholes, pieces.lists, 1)
            np.add.at(cuts, pieces.cut_lists, 1)
        self._lists = PostingLists(0, self._boxes.id_type, self.dims)
        self._lists.allot(wholes, cuts)
        for chunk in chunks:
            pieces = self._decompose(self._boxes.rows, chunk, 0)
            self._lists.put(pieces, self._boxes, wholes, cuts)

    # --- the protocol

    @property
    def _nbytes(self) -> int:
        return self._lists.nbytes + self._levels.nbytes + sum(a.nbytes for a in self.shape.axes)

    def _add(self, slots: Small) -> None:
        before = len(self._boxes) - len(slots)
        widened = self._lists.id_type != self._boxes.id_type
        if widened or len(slots) > BULK_SHARE * before + 64 or self._has_grown():
            self._build()
            return
        self._inserted += len(slots)
        self._enter(slots)
        if self._is_crowded(slots):
            self._build()

    def _enter(self, slots: Small) -> None:
        """Boxes into the lists. A kind with a kernel for that does it in one call."""
        self._append(self._decompose(self._boxes.rows, slots, 1), 0)

    def _entered(self, slots: Small, wholes: int, cuts: int, done: int) -> None:
        """A kernel put in `done` of these entries; the rest waits for room."""
        if done < wholes + cuts:
            self._append(self._decompose(self._boxes.rows, slots, 0), done)
        else:
            self._lists.count_in(wholes, cuts)

    def _append(self, pieces: Pieces, done: int) -> None:
        self._lists.append(pieces, self._boxes, lambda: self._count() + self._more(), done)

    def _discard(self, slots: Small) -> None:
        self._lists.remove(self._decompose(self._boxes.rows, slots, -1), self._boxes)

    def _settle(self) -> None:
        if SHRUNK * len(self._boxes) < self._tuned_for - 1_024 or self._boxes.sparse:
            self._boxes.compact()
            self._build()

    def _ks(self) -> list[int]:
        """The logarithms of L to choose among."""
        return list(range(self.most_k + 1)) if self._given_k is None else [self._given_k]

    def _free_to_tune(self) -> bool:
        return None in (self._given_k, self._given_unit, self._given_domain)

    def _has_grown(self) -> bool:
        return self._free_to_tune() and len(self._boxes) > GROWN * self._tuned_for + 256

    def _is_crowded(self, slots: Small) -> bool:
        """Whether new cuts fell where there are far more than a fair share of them.

        Asked when a quarter as many boxes have come as there were, so that tuning anew costs each
        of them little: borders that wander off are followed even if their number stays the same.
        Of boxes that come one by one, every sixteenth is asked about.
        """
        if 4 * self._inserted < self._tuned_for or not self._free_to_tune():
            return False
        if self._inserted % 16 >= len(slots):
            return False
        share = self._lists.cut_entries // max(1, len(self._lists) // 2)
        cuts = self._decompose(self._boxes.rows, slots, 0).cut_lists
        return self._lists.longest(cuts) > LONG + 16 * share


def no_levels() -> Integers:
    """Two empty counters for each of 64 levels."""
    return np.zeros((2, 64), dtype=np.int64)


@kernel
def levels_in_use(levels: Integers, least: int) -> Integers:
    """The levels that have entries, and those below `least`."""
    found, n = np.empty(levels.shape[1], np.int64), 0
    for level in range(levels.shape[1]):
        found[n] = level
        n += level < least or levels[0, level] != 0 or levels[1, level] != 0
    return found[:n].copy()
