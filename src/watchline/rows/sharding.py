"""The shard of an object: a fixed hash of its id, on every machine and for ever.

A shard's state goes by it. Two objects of one hash share a shard and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.kernels.arrays import Integers
from watchline.kernels.compiled import inner, kernel

_SEED = np.uint64(0x9E3779B97F4A7C15)


def shards_of(ids: pa.Array, shards: int) -> Integers:
    """The shard of each object id; there is no null among them."""
    if pa.types.is_integer(ids.type):
        return _integer_shards(ids.to_numpy(), shards)
    _, offsets, data = ids.buffers()
    starts = np.frombuffer(offsets, dtype=np.int32)[ids.offset : ids.offset + len(ids) + 1]
    letters = np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, np.uint8)
    return _string_shards(starts, letters, shards)


@inner
def _mixed(x: Any) -> Any:
    x ^= x >> np.uint64(32)
    x *= _SEED
    return x ^ (x >> np.uint64(29))


@kernel
def _integer_shards(ids: Integers, shards: int) -> Integers:
    found = np.empty(len(ids), dtype=np.int64)
    for i in range(len(ids)):
        found[i] = _mixed(np.uint64(ids[i])) % np.uint64(shards)
    return found


@kernel
def _string_shards(
    starts: npt.NDArray[np.int32], letters: npt.NDArray[np.uint8], shards: int
) -> Integers:
    found = np.empty(len(starts) - 1, dtype=np.int64)
    for i in range(len(found)):
        code = np.uint64(14695981039346656037)
        for j in range(starts[i], starts[i + 1]):
            code = (code ^ np.uint64(letters[j])) * np.uint64(1099511628211)
        found[i] = _mixed(code) % np.uint64(shards)
    return found
