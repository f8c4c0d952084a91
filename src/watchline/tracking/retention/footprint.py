"""How many bytes the arrays of a structure take, however it is made of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

_COLUMNS = (pa.Array, pa.ChunkedArray, pa.Table, pa.RecordBatch)
# Values without arrays; what is large of them, as texts of queries, is not counted.
_PLAIN = (str, bytes, int, float, bool, type(None))


def array_bytes(*things: Any, without: Iterable[Any] = ()) -> int:
    """The bytes of all NumPy and Arrow arrays that these things hold, each array counted once.

    Objects in `without` are not visited. Cost: one visit for each object.
    """
    seen = set(map(id, without))
    total = 0
    # What was visited stays referred to, so that no other object takes its identity.
    visited, waiting = [], list(things)
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, _PLAIN) or id(thing) in seen:
            continue
        seen.add(id(thing))
        visited.append(thing)
        if isinstance(thing, np.ndarray):
            # A view has no memory of its own; an array over a mapped file has.
            total += 0 if isinstance(thing.base, np.ndarray) else thing.nbytes
            waiting.append(thing.base)
        elif isinstance(thing, _COLUMNS):
            total += thing.nbytes
        else:
            waiting.extend(_parts(thing))
    return int(total)


def _parts(thing: Any) -> Iterable[Any]:
    """What an object of ours, or a collection, consists of."""
    if isinstance(thing, Mapping):
        return thing.values()
    if isinstance(thing, (tuple, list, set, frozenset)):
        return thing
    if not type(thing).__module__.startswith("watchline."):
        return ()
    slots = (name for of in type(thing).__mro__ for name in getattr(of, "__slots__", ()))
    return [*getattr(thing, "__dict__", {}).values(), *(getattr(thing, n, None) for n in slots)]
