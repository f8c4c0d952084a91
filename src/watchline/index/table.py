"""Rows of numbers by slot, and the slot of each id: the boxes of an index, the streams of another.

Invariant: slot s belongs to one living row, or is free (its numbers are NaN, so that no comparison
with them holds); the first number of a living row is never NaN. Numbers and id stand side by side:
what has a name is a view. The hash maps each living id to its slot by linear probing and is never
more than two thirds full. Cost: amortised constant per row; 8 bytes for each number and for the id,
and four bytes for each place of the hash.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from watchline.kernels.arrays import Doubles, Int, Integers, Small
from watchline.kernels.compiled import inner, kernel

_EMPTY = np.int32(-1)
_SMALLEST = 8
_NARROW = 2**31


class SlotTable:
    """Rows under slots that stay the same for as long as the row lives.

    A row has `left` numbers, `right` numbers, and the bits of the id.
    """

    def __init__(self, left: int, right: int):
        self._left, self._width = left, left + right
        self._clear()

    def _clear(self) -> None:
        self._view(np.empty((0, self._width + 1)))
        self._free = np.empty(0, dtype=np.int32)
        self._free_count = 0
        self._hash = np.full(_SMALLEST, _EMPTY, dtype=np.int32)
        self._count = 0
        # Whether every id the table ever held fits into 32 bits.
        self.narrow = True

    def _view(self, rows: Doubles) -> None:
        self.rows = rows
        self.left, self.right = rows[:, : self._left], rows[:, self._left : self._width]
        self.ids: Integers = rows.view(np.int64)[:, self._width]

    def __getstate__(self) -> dict[str, Any]:
        views = ("left", "right", "ids")
        return {name: value for name, value in self.__dict__.items() if name not in views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._view(self.rows)

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self._free.nbytes + self._hash.nbytes

    @property
    def id_type(self) -> type[np.signedinteger]:
        """The narrowest type that holds the ids: half the memory to write for every match."""
        return np.int32 if self.narrow else np.int64

    @property
    def hash(self) -> Small:
        """The slot at each place, -1 at an empty one: for kernels that look ids up themselves."""
        return self._hash

    def find(self, ids: Integers) -> Small:
        """The slot of each id, -1 where there is none."""
        return _find(self._hash, self.ids, ids)

    def add(self, ids: Integers, left: Doubles, right: Doubles) -> Small | None:
        """Take in rows; their slots. None, and nothing taken in, if an id is there already."""
        if not self._has_room(len(ids)):
            if (self.find(ids) >= 0).any():
                return None
            self._reserve(len(ids))
        slots, narrow = _take_in(
            self._hash, self.rows, self.ids, self._free, self._free_count, left, right, ids
        )
        if len(slots) < len(ids):
            return None
        self._free_count -= len(ids)
        self._count += len(ids)
        self.narrow &= narrow
        return slots

    def free(self, slots: Small) -> None:
        """Forget the rows of these slots."""
        _leave(self._hash, self.ids, slots)
        self.rows[slots] = np.nan
        self._free[self._free_count : self._free_count + len(slots)] = slots
        self._free_count += len(slots)
        self._count -= len(slots)
        if not self._count:
            self._clear()

    @property
    def sparse(self) -> bool:
        """Whether most slots are free, so that `compact` is worth a rebuild."""
        return 8 * self._count < len(self.rows) - 1_024

    def compact(self) -> None:
        """Give back the free slots. Every row has another slot then."""
        kept = self.rows[self.living()]
        self._count = len(kept)
        self._resize(len(kept) + len(kept) // 4, kept)
        self._rehash(len(kept))

    def living(self) -> Small:
        """The slots in use, in order."""
        return np.flatnonzero(~np.isnan(self.rows[:, 0])).astype(np.int32)

    def _has_room(self, count: int) -> bool:
        return count <= self._free_count and 3 * (self._count + count) <= 2 * len(self._hash)

    def _reserve(self, count: int) -> None:
        if count > self._free_count:
            size = max(len(self.ids) + len(self.ids) // 4, self._count + count, _SMALLEST)
            self._resize(size, self.rows)
        if 3 * (self._count + count) > 2 * len(self._hash):
            self._rehash(self._count + count)

    def _resize(self, size: int, kept: Doubles) -> None:
        rows = np.full((size, self._width + 1), np.nan)
        rows[: len(kept)] = kept
        self._view(rows)
        # Low slots are taken first, so that the living ones stay together.
        empty = np.flatnonzero(np.isnan(rows[:, 0]))[::-1].astype(np.int32)
        self._free = np.empty(size, dtype=np.int32)
        self._free[: len(empty)] = empty
        self._free_count = len(empty)

    def _rehash(self, count: int) -> None:
        places = _SMALLEST
        while 2 * places < 3 * count + 1:
            places *= 2
        self._hash = np.full(places, _EMPTY, dtype=np.int32)
        _enter(self._hash, self.ids, self.living())


class BoxArrays(NamedTuple):
    """A table of boxes as kernels take it: by slot the lower and the upper bounds, and the id."""

    rows: Doubles
    ids: Integers


class BoxTable(SlotTable):
    """Boxes: the left numbers are the lower bounds, the right ones the upper."""

    def __init__(self, dims: int):
        super().__init__(dims, dims)

    @property
    def arrays(self) -> BoxArrays:
        return BoxArrays(self.rows, self.ids)

    @property
    def lo(self) -> Doubles:
        return self.left

    @property
    def hi(self) -> Doubles:
        return self.right


@inner
def hash_place(table: Small, key: Int) -> Int:
    """Where the search for an id begins: its bits mixed, the high ones kept."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed & np.uint64(len(table) - 1))


@kernel
def _find(table: Small, ids: Integers, wanted: Integers) -> Small:
    slots = np.empty(len(wanted), dtype=np.int32)
    for i in range(len(wanted)):
        at = hash_place(table, wanted[i])
        while table[at] >= 0 and ids[table[at]] != wanted[i]:
            at = (at + 1) & (len(table) - 1)
        slots[i] = table[at]
    return slots


@kernel
def _take_in(
    table: Small,
    rows: Doubles,
    ids: Integers,
    free: Small,
    free_count: int,
    left: Doubles,
    right: Doubles,
    new: Integers,
) -> tuple[Small, bool]:
    """Rows into free slots, from the end of their list; the slots, and if all ids are narrow.

    No slots, and nothing changed, if an id is there already.
    """
    begin = left.shape[1]
    slots = _find(table, ids, new)
    for i in range(len(new)):
        if slots[i] >= 0:
            return slots[:0], True
    narrow = True
    for i in range(len(new)):
        slot = free[free_count - 1 - i]
        # Zero has one sign.
        for d in range(begin):
            rows[slot, d] = left[i, d] + 0.0
        for d in range(right.shape[1]):
            rows[slot, begin + d] = right[i, d] + 0.0
        ids[slot] = new[i]
        slots[i] = slot
        narrow &= -_NARROW <= new[i] < _NARROW
    _enter(table, ids, slots)
    return slots, narrow


@kernel
def _enter(table: Small, ids: Integers, slots: Small) -> None:
    for i in range(len(slots)):
        at = hash_place(table, ids[slots[i]])
        while table[at] >= 0:
            at = (at + 1) & (len(table) - 1)
        table[at] = slots[i]


@kernel
def _leave(table: Small, ids: Integers, slots: Small) -> None:
    """Empty the ids' places and move up what had been pushed past them."""
    mask = len(table) - 1
    for i in range(len(slots)):
        hole = hash_place(table, ids[slots[i]])
        while table[hole] != slots[i]:
            hole = (hole + 1) & mask
        at = (hole + 1) & mask
        while table[at] >= 0:
            home = hash_place(table, ids[table[at]])
            if ((at - home) & mask) >= ((at - hole) & mask):
                table[hole] = table[at]
                hole = at
            at = (at + 1) & mask
        table[hole] = _EMPTY
