"""Hashes of ids and texts, for the hash tables of this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from watchline.kernels.arrays import Integers, Small
from watchline.kernels.compiled import inner, kernel

# In a table: no place.
EMPTY = -1
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_BASIS, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


@inner
def mixed(x: Any) -> Any:
    """The hash of an integer, as np.uint64."""
    x ^= x >> np.uint64(32)
    x *= _FACTOR
    x ^= x >> np.uint64(29)
    x *= _FACTOR
    return x ^ (x >> np.uint64(32))


@inner
def text_hash(letters: Any, first: Any, end: Any) -> Any:
    """The hash of the bytes from `first` to `end`."""
    code = _BASIS
    for j in range(first, end):
        code = (code ^ np.uint64(letters[j])) * _PRIME
    return mixed(code)


@inner
def same_text(letters: Any, first: Any, others: Any, start: Any, length: Any) -> Any:
    """Whether so many bytes are alike, from `first` on in the one and from `start` in the other."""
    j = 0
    while j < length and letters[first + j] == others[start + j]:
        j += 1
    return j == length


@kernel
def find_numbers(heads: Small, known: Integers, wanted: Integers) -> Integers:
    """The place in `known` of each wanted number, by a table of places; `EMPTY` where there is
    none."""
    found = np.empty(len(wanted), np.int64)
    mask = np.uint64(len(heads) - 1)
    for i in range(len(wanted)):
        at = mixed(np.uint64(wanted[i])) & mask
        while heads[at] != EMPTY and known[heads[at]] != wanted[i]:
            at = (at + np.uint64(1)) & mask
        found[i] = heads[at]
    return found
