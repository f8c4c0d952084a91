"""Hashes of ids and texts, for the hash tables of this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from watchline.kernels.compiled import inner

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_BASIS, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


@inner
def mixed(x: Any) -> Any:
    x ^= x >> np.uint64(32)
    x *= _FACTOR
    x ^= x >> np.uint64(29)
    x *= _FACTOR
    return x ^ (x >> np.uint64(32))


@inner
def text_hash(letters: Any, first: Any, end: Any) -> Any:
    code = _BASIS
    for j in range(first, end):
        code = (code ^ np.uint64(letters[j])) * _PRIME
    return mixed(code)
