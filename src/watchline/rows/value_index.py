"""Which place of a column has a value: a hash table over an Arrow array that does not change.

The table has only places; values are compared in the array's own buffers. It takes eight to sixteen
bytes for each value, and a search costs what its values cost, however many the array has.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Bytes, Integers, Small
from watchline.kernels.compiled import kernel
from watchline.rows.hashing import EMPTY, find_numbers, mixed, same_text, text_hash
from watchline.rows.slot_columns import raw_values, text_buffers

LEAST = 8


class ValueIndex:
    """The places of distinct strings or integers, none of which is NULL."""

    def __init__(self, values: pa.Array):
        self._values = values
        size = max(LEAST, 1 << (2 * len(values) - 1).bit_length()) if len(values) else LEAST
        self._heads: Small = np.full(size, EMPTY, np.int32)
        if self._is_text:
            _place_texts(self._heads, *text_buffers(values))
        else:
            _place_numbers(self._heads, raw_values(values))

    @property
    def _is_text(self) -> bool:
        return bool(pa.types.is_string(self._values.type))

    def __len__(self) -> int:
        return len(self._values)

    def find(self, wanted: pa.Array) -> Integers:
        """The place of each of these values; -1 where there is none, and for NULL."""
        if self._is_text:
            found = _find_texts(self._heads, *text_buffers(self._values), *text_buffers(wanted))
        else:
            found = find_numbers(self._heads, raw_values(self._values), raw_values(wanted))
        if wanted.null_count:
            found[np.asarray(wanted.is_null().to_numpy(zero_copy_only=False), np.bool_)] = -1
        return found


@kernel
def _place_numbers(heads: Small, values: Integers) -> None:
    mask = np.uint64(len(heads) - 1)
    for i in range(len(values)):
        at = mixed(np.uint64(values[i])) & mask
        while heads[at] != EMPTY:
            at = (at + np.uint64(1)) & mask
        heads[at] = i


@kernel
def _place_texts(heads: Small, offsets: Small, letters: Bytes) -> None:
    mask = np.uint64(len(heads) - 1)
    for i in range(len(offsets) - 1):
        at = text_hash(letters, offsets[i], offsets[i + 1]) & mask
        while heads[at] != EMPTY:
            at = (at + np.uint64(1)) & mask
        heads[at] = i


@kernel
def _find_texts(
    heads: Small, known: Small, letters: Bytes, wanted: Small, others: Bytes
) -> Integers:
    """`known` and `wanted` are the offsets of texts in `letters` and in `others`."""
    found = np.empty(len(wanted) - 1, np.int64)
    mask = np.uint64(len(heads) - 1)
    for i in range(len(found)):
        first, length = wanted[i], wanted[i + 1] - wanted[i]
        at = text_hash(others, first, wanted[i + 1]) & mask
        while heads[at] != EMPTY:
            s = known[heads[at]]
            if known[heads[at] + 1] - s == length and same_text(letters, s, others, first, length):
                break
            at = (at + np.uint64(1)) & mask
        found[i] = heads[at]
    return found
