"""Queries that move or rank, as columns: what the operator registers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Bytes, Doubles, Integers
from watchline.kernels.earth import chord_of
from watchline.model import (
    TRUE,
    Condition,
    Knn,
    MovingBox,
    MovingCircle,
    MovingKnn,
    Query,
    StaticRegion,
    Stream,
    Type,
    centre_of,
)
from watchline.proximity.tables import (
    BOX,
    CIRCLE,
    NEAREST_CENTRE,
    NO_CENTRE,
    NO_SHAPE,
    OF_NEAREST,
    OF_REGION,
    REGION_CENTRE,
)

_ARROW = {Type.BIGINT: pa.int64(), Type.STRING: pa.string()}


class Filter(NamedTuple):
    """What admits an object to an answer, wherever the focal objects are."""

    where: Condition
    region: StaticRegion | None


class Moving(NamedTuple):
    """One line for each query; its number in the plan; focal ids by role, null for none; -1 for no
    filter. `centre` is that of kNN where it does not move; `centred` says what the distances of
    changes count from (see tables.NO_CENTRE)."""

    number: Integers
    ids: pa.Array
    form: Bytes
    size: Doubles
    k: Integers
    centre: Doubles
    centred: Bytes
    focals: tuple[pa.Array, pa.Array]
    filter: Integers
    filters: tuple[Filter, ...]
    # The least accuracy where load is shed.
    accuracy: Doubles

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, lines: Integers) -> Moving:
        chosen = pa.array(lines)
        return Moving(
            self.number[lines],
            self.ids.take(chosen),
            self.form[lines],
            self.size[lines],
            self.k[lines],
            self.centre[lines],
            self.centred[lines],
            (self.focals[0].take(chosen), self.focals[1].take(chosen)),
            self.filter[lines],
            self.filters,
            self.accuracy[lines],
        )

    def numbered(self, numbers: Integers) -> Moving:
        """The same lines with these numbers in a plan."""
        return Moving(numbers, *self[1:])


def all_moving(pieces: Sequence[Moving], stream: Stream) -> Moving:
    """The lines of all pieces; filters that are alike are one."""
    filters: dict[Filter, int] = {}
    pieces = [piece for piece in pieces if len(piece)]
    if not pieces:
        return moving([], stream)
    chosen = []
    for piece in pieces:
        used, places = np.unique(piece.filter, return_inverse=True)
        known = [filters.setdefault(piece.filters[f], len(filters)) if f >= 0 else -1 for f in used]
        chosen.append(np.array(known, np.int64)[places])
    return Moving(
        np.concatenate([piece.number for piece in pieces]),
        pa.concat_arrays([piece.ids for piece in pieces]),
        np.concatenate([piece.form for piece in pieces]),
        np.concatenate([piece.size for piece in pieces]),
        np.concatenate([piece.k for piece in pieces]),
        np.concatenate([piece.centre for piece in pieces]),
        np.concatenate([piece.centred for piece in pieces]),
        (
            pa.concat_arrays([piece.focals[0] for piece in pieces]),
            pa.concat_arrays([piece.focals[1] for piece in pieces]),
        ),
        np.concatenate(chosen),
        tuple(filters),
        np.concatenate([piece.accuracy for piece in pieces]),
    )


def object_type(stream: Stream) -> pa.DataType:
    """Arrow's type of the stream's object ids."""
    return _ARROW[stream.object_type]


def moving(numbered: Iterable[tuple[int, Query]], stream: Stream) -> Moving:
    """The columns of queries that move with an object or rank by distance."""
    pairs = list(numbered)
    listed = [query for _, query in pairs]
    filters: dict[Filter, int] = {}
    n = len(listed)
    form, centred = np.zeros(n, np.uint8), np.full(n, NO_CENTRE, np.uint8)
    size, centre = np.zeros((n, 2)), np.full((n, 2), np.nan)
    k, filter_ = np.zeros(n, np.int64), np.full(n, -1)
    focals: list[list[int | str | None]] = [[None] * n, [None] * n]
    for i, query in enumerate(listed):
        region, nearest = query.region, query.knn
        if isinstance(region, MovingBox):
            form[i], size[i] = BOX, (region.width / 2, region.height / 2)
            focals[OF_REGION][i] = region.focal
        elif isinstance(region, MovingCircle):
            reach = chord_of(region.radius) if stream.geography else region.radius
            form[i], size[i] = CIRCLE, (region.radius, reach * reach)
            focals[OF_REGION][i] = region.focal
        if nearest is not None:
            k[i] = min(nearest.k, np.iinfo(np.int32).max)
        if isinstance(nearest, Knn):
            centre[i] = nearest.x, nearest.y
        elif isinstance(nearest, MovingKnn):
            focals[OF_NEAREST][i] = nearest.focal
        measured = centre_of(query)
        if measured is not None:
            centred[i] = REGION_CENTRE if measured is region else NEAREST_CENTRE
        fixed = region if form[i] == NO_SHAPE else None
        admits = Filter(query.where, fixed)  # type: ignore[arg-type]
        if admits != Filter((TRUE,), None):
            filter_[i] = filters.setdefault(admits, len(filters))
    of = object_type(stream)
    return Moving(
        np.array([number for number, _ in pairs], dtype=np.int64),
        pa.array([q.id for q in listed], pa.string()),
        form,
        size,
        k,
        centre,
        centred,
        (pa.array(focals[0], of), pa.array(focals[1], of)),
        filter_,
        tuple(filters),
        np.array([q.accuracy for q in listed], dtype=np.float64),
    )
