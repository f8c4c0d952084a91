"""Who is in which answers and who looks at whom, with the distances that changes show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Doubles, Integers, Mask, Signs
from watchline.rows import mask_of
from watchline.tracking.distances import Distances, chosen_distances, joined_distances


class Memberships(NamedTuple):
    """Object `rows[i]` is in the answer of the query `ids[i]`, at this distance."""

    rows: Integers
    ids: pa.Array
    distances: Distances


class Lookers(NamedTuple):
    """The query `ids[i]` looks at row `rows[i]`, which is in its answer or not (`inside`), and at
    this distance from its centre."""

    rows: Integers
    ids: pa.Array
    inside: Mask
    distances: Doubles


class ProximityChanges(NamedTuple):
    """What a batch did: event, query id, sign, the object's row, whether the query started, and the
    object's distance."""

    event: Integers
    ids: pa.Array
    sign: Signs
    row: Integers
    fresh: Mask
    distances: Doubles


def all_memberships(sides: Sequence[Memberships]) -> Memberships:
    """Those of all sides."""
    return Memberships(
        np.concatenate([np.empty(0, np.int64), *(side.rows for side in sides)]),
        pa.concat_arrays([pa.array([], pa.string()), *(side.ids for side in sides)]),
        joined_distances((side.distances, len(side.rows)) for side in sides),
    )


def without_queries(sides: Sequence[Memberships], ids: pa.Array) -> list[Memberships]:
    """Those that are not in answers of these queries."""
    if not len(ids):
        return list(sides)
    kept = [np.flatnonzero(~mask_of(pc.is_in(p.ids, value_set=ids))) for p in sides]
    pairs = zip(sides, kept, strict=True)
    return [
        Memberships(side.rows[k], side.ids.take(pa.array(k)), chosen_distances(side.distances, k))
        for side, k in pairs
    ]
