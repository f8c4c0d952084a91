"""The distances of changes: of the object that a change shows, from the centre of its query.

Distances are None where no query has a centre, and then nothing is computed. Else they are a
column, NaN where a query has no centre or the place of the object is not known. The formula is
that by which nearest neighbours are ordered, and its square root
(docs/decisions/0003-geometry-in-fixed-forms.md); on Earth the arc over the chord, in metres.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Union

import numpy as np

from watchline.kernels.arrays import Doubles, Integers, Mask, read_only
from watchline.kernels.earth import metres_between
from watchline.matching import Plan
from watchline.model import Stream
from watchline.rows import Columns

Distances = Union[Doubles, None]


def points_of(columns: Columns, stream: Stream, rows: Integers | None = None) -> Doubles:
    """Where the objects of these rows are, of all if none are named; NaN where it is not known."""
    assert stream.point is not None
    chosen = slice(None) if rows is None else rows
    values = (columns.values(stream.attribute(name)) for name in stream.point)
    points = np.stack([np.asarray(axis, np.float64)[chosen] for axis in values], axis=1)
    points[~np.isfinite(points).all(axis=1)] = np.nan
    return points


def distances_of(
    columns: Columns, stream: Stream, rows: Integers, plan: Plan, queries: Integers
) -> Distances:
    """Of the object of row `rows[i]` from the centre of the query `queries[i]` of a plan."""
    if not len(plan.centres):
        return None
    points, centres = points_of(columns, stream, rows), plan.centres[queries]
    return metres_apart(points, centres) if stream.geography else distances_between(points, centres)


def distances_between(points: Doubles, centres: Doubles) -> Doubles:
    """Of each point from each centre; infinite where the square overflows."""
    with np.errstate(over="ignore"):
        dx, dy = (points - centres).T
        found: Doubles = np.sqrt(dx * dx + dy * dy)
    return found


def metres_apart(points: Doubles, centres: Doubles) -> Doubles:
    """The same on Earth, of longitudes and latitudes."""
    axes = (*points.T, *centres.T)
    return metres_between(*(read_only(np.ascontiguousarray(axis)) for axis in axes))


def chosen_distances(distances: Distances, chosen: Integers | Mask) -> Distances:
    """Some of them."""
    return None if distances is None else distances[chosen]


def joined_distances(pieces: Iterable[tuple[Distances, int]]) -> Distances:
    """All distances of pieces, of which each has so many changes."""
    listed = list(pieces)
    if all(distances is None for distances, _ in listed):
        return None
    columns = [np.full(n, np.nan) if mine is None else mine for mine, n in listed]
    return np.concatenate(columns)
