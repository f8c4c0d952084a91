"""Regions of queries as columns, as the index of regions has them.

Cost: one copy of all vertices, and a few steps for each region and ring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Union

import numpy as np

from watchline.index import (
    CIRCLE,
    CORRIDOR,
    EARTH_CIRCLE,
    EARTH_CORRIDOR,
    POLYGON,
    RegionColumns,
    earth_circles,
    joined_columns,
)
from watchline.model import Box, Circle, Corridor, StaticRegion

# A box is the polygon of its corners: the crossing of an upright edge is exact.
Shape = StaticRegion
Regions = Union[RegionColumns, Sequence[Shape]]
# The bytes of a vertex.
_VERTEX = 16


def is_shape(region: Shape) -> bool:
    """Whether columns hold the region: all but boxes that are wider or higher than a DOUBLE."""
    region = flat(region)
    if not isinstance(region, Box):
        return True
    return math.isfinite(region.x2 - region.x1) and math.isfinite(region.y2 - region.y1)


def shape_columns(shapes: Sequence[Shape]) -> RegionColumns:
    """Regions as columns, in this order."""
    pieces: list[bytes] = []
    sizes: list[int] = []
    counts = np.empty(len(shapes), dtype=np.int64)
    forms = np.empty(len(shapes), dtype=np.int64)
    reach = np.full(len(shapes), np.nan)
    for i, shape in enumerate(shapes):
        forms[i], chains = _chains_of(shape)
        counts[i] = len(chains)
        for chain in chains:
            sizes.append(sum(map(len, chain)) // _VERTEX)
            pieces += chain
        if isinstance(shape, Corridor):
            reach[i] = shape.reach
    lengths = np.array(sizes, dtype=np.int64)
    chains_at = np.stack([np.cumsum(lengths) - lengths, lengths - 1], axis=1)
    coordinates = np.frombuffer(bytearray().join(pieces), dtype=np.float64).reshape(-1, 2)
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return RegionColumns(forms, begins, chains_at, coordinates, reach)


def _chains_of(shape: Shape) -> tuple[int, list[list[bytes]]]:
    """The form of a region, and its chains of vertices, each in pieces."""
    shape = flat(shape)
    if isinstance(shape, Circle) and shape.on_earth:
        centre, radius = np.array([[shape.x, shape.y]]), np.array([shape.radius])
        return EARTH_CIRCLE, [[earth_circles(centre, radius).tobytes()]]
    if isinstance(shape, Circle):
        return CIRCLE, [[np.array([shape.x, shape.y, shape.radius, 0.0]).tobytes()]]
    if isinstance(shape, Corridor):
        form = EARTH_CORRIDOR if shape.on_earth else CORRIDOR
        return form, [[line] for line in shape.lines]
    if isinstance(shape, Box):
        x1, y1, x2, y2 = shape.x1, shape.y1, shape.x2, shape.y2
        rings = [np.array([x1, y1, x2, y1, x2, y2, x1, y2]).tobytes()]
    else:
        rings = [ring for part in shape.parts for ring in part]
    # The first vertex of a ring is its last one, too.
    return POLYGON, [[ring, ring[:_VERTEX]] for ring in rings]


def flat(region: StaticRegion) -> StaticRegion:
    """The region; a box on Earth as what it is in degrees."""
    return region.flat if isinstance(region, Box) else region


def is_region(columns: RegionColumns, region: Shape) -> bool:
    """Whether these columns are those of the region."""
    if not is_shape(region):
        return False
    other = shape_columns([region])
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(columns, other, strict=True))


def columns_of(regions: Regions) -> RegionColumns:
    """Regions as columns, if they are none yet."""
    return regions if isinstance(regions, RegionColumns) else shape_columns(regions)


class ShapeDraft:
    """Regions on their way into columns: queries give them one by one, and blocks as columns."""

    def __init__(self) -> None:
        self._done: list[RegionColumns] = []
        self._waiting: list[Shape] = []

    def add(self, regions: Regions) -> None:
        """More regions, after those that there are."""
        if isinstance(regions, RegionColumns):
            self._settle()
            self._done.append(regions)
        else:
            self._waiting += regions

    def finish(self) -> RegionColumns:
        """All regions in the order in which they came."""
        self._settle()
        if not self._done:
            return shape_columns(())
        return self._done[0] if len(self._done) == 1 else joined_columns(self._done)

    def _settle(self) -> None:
        if self._waiting:
            self._done.append(shape_columns(self._waiting))
            self._waiting = []
