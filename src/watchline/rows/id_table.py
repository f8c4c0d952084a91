"""Which slot has the object of an id: a hash table over the column of ids.

Ids are compared by value; the hash only says where to look. A call costs what its ids cost. Slots
stand in an open table with linear probing, and a slot that is removed lets those behind it move up,
so no search ever passes a slot that is gone.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Bytes, Int, Integers, Small, Words
from watchline.kernels.buffers import longer_with
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.simd import prefetch
from watchline.rows.hashing import EMPTY, find_numbers, mixed, same_text, text_hash
from watchline.rows.slot_columns import NumberColumn, StringColumn, raw_values, text_buffers

# The least length of the table, a power of two.
LEAST = 64
# How many ids are looked up together, in tables that are longer than the processor holds.
GROUP, NEAR = 16, 1 << 16


class IdTable:
    """The slots of objects by their ids. `column` has the ids by slot and belongs to the caller,
    who writes an id there before it adds the slot."""

    def __init__(self, column: NumberColumn | StringColumn):
        self._column = column
        self._heads: Small = np.full(LEAST, EMPTY, np.int32)
        # The hash of the id in each slot.
        self._hashes: Words = np.zeros(0, np.uint64)
        self._count = 0

    def grow(self, room: int) -> None:
        """Room for so many slots."""
        self._hashes = longer_with(self._hashes, room, 0)

    def find(self, ids: pa.Array) -> Integers:
        """The slot of each id, -1 where there is none. No id is NULL."""
        column = self._column
        if isinstance(column, NumberColumn):
            return find_numbers(self._heads, column.values, raw_values(ids))
        texts = text_buffers(ids)
        own = (column.heap, column.start, column.size)
        return _find_texts(self._heads, self._hashes, own, *texts)

    def add(self, slots: Integers, ids: pa.Array) -> None:
        """The slots of ids that the table does not have, each once."""
        self._count += len(slots)
        if 2 * self._count > len(self._heads):
            size = 1 << (4 * self._count).bit_length()
            heads = np.full(size, EMPTY, np.int32)
            old = self._heads[self._heads != EMPTY].astype(np.int64)
            _insert(heads, self._hashes, old)
            self._heads = heads
        if isinstance(self._column, NumberColumn):
            _hash_numbers(raw_values(ids), slots, self._hashes)
        else:
            _hash_texts(*text_buffers(ids), slots, self._hashes)
        _insert(self._heads, self._hashes, slots)

    def remove(self, slots: Integers) -> None:
        """Slots whose objects are gone."""
        self._count -= len(slots)
        _remove(self._heads, self._hashes, slots)

    @property
    def nbytes(self) -> int:
        return int(self._heads.nbytes + self._hashes.nbytes)


@kernel
def _hash_numbers(ids: Integers, slots: Integers, hashes: Words) -> None:
    for i in range(len(ids)):
        hashes[slots[i]] = mixed(np.uint64(ids[i]))


@kernel
def _hash_texts(offsets: Small, letters: Bytes, slots: Integers, hashes: Words) -> None:
    for i in range(len(slots)):
        hashes[slots[i]] = text_hash(letters, offsets[i], offsets[i + 1])


@kernel
def _find_texts(
    heads: Small, hashes: Words, own: tuple[Bytes, Integers, Small], offsets: Small, letters: Bytes
) -> Integers:
    """Slots by ids, which are looked up in groups: what a group needs is fetched step by step, so
    that waiting for memory is shared. A table that the processor holds anyway gains nothing."""
    found = np.empty(len(offsets) - 1, np.int64)
    codes = np.empty(GROUP, np.uint64)
    is_far = len(heads) > NEAR
    for first in range(0, len(found), GROUP):
        end = min(first + GROUP, len(found))
        for i in range(first, end):
            codes[i - first] = text_hash(letters, offsets[i], offsets[i + 1])
        if is_far:
            _fetch_texts(heads, hashes, own, codes[: end - first])
        for i in range(first, end):
            found[i] = _slot_of_text(heads, hashes, own, codes[i - first], offsets, letters, i)
    return found


@inner
def _fetch_texts(
    heads: Small, hashes: Words, own: tuple[Bytes, Integers, Small], codes: Words
) -> None:
    """Let the processor fetch what the searches for these hashes look at first."""
    heap, start, size = own
    mask = np.uint64(len(heads) - 1)
    for code in codes:
        prefetch(heads, code & mask)
    for code in codes:
        s = heads[code & mask]
        if s != EMPTY:
            prefetch(hashes, s)
            prefetch(size, s)
            prefetch(start, s)
    for code in codes:
        s = heads[code & mask]
        if s != EMPTY and hashes[s] == code:
            prefetch(heap, start[s])


@inner
def _slot_of_text(
    heads: Small,
    hashes: Words,
    own: tuple[Bytes, Integers, Small],
    code: Int,
    offsets: Small,
    letters: Bytes,
    i: Int,
) -> int:
    heap, start, size = own
    mask = np.uint64(len(heads) - 1)
    first, length = offsets[i], offsets[i + 1] - offsets[i]
    at = code & mask
    while heads[at] != EMPTY:
        s = heads[at]
        if (
            hashes[s] == code
            and size[s] == length
            and same_text(heap, start[s], letters, first, length)
        ):
            break
        at = (at + np.uint64(1)) & mask
    return heads[at]


@kernel
def _insert(heads: Small, hashes: Words, slots: Integers) -> None:
    mask = np.uint64(len(heads) - 1)
    for s in slots:
        at = hashes[s] & mask
        while heads[at] != EMPTY:
            at = (at + np.uint64(1)) & mask
        heads[at] = s


@kernel
def _remove(heads: Small, hashes: Words, slots: Integers) -> None:
    mask, one = np.uint64(len(heads) - 1), np.uint64(1)
    for s in slots:
        hole = hashes[s] & mask
        while heads[hole] != s:
            hole = (hole + one) & mask
        # Those behind move up, unless they stand at or behind their first place already.
        at = (hole + one) & mask
        while heads[at] != EMPTY:
            wanted = hashes[heads[at]] & mask
            if ((at - wanted) & mask) >= ((at - hole) & mask):
                heads[hole] = heads[at]
                hole = at
            at = (at + one) & mask
        heads[hole] = EMPTY
