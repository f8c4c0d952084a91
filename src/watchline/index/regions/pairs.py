"""Pairs of a point and a region, decided by the fixed formula with every edge of the region.

For callers that know which few regions a point may be in: candidates that something else than the
index of regions has found. Cost: the edges of the region, for each pair.
"""

from __future__ import annotations

import numpy as np

from watchline.index.regions.forms import (
    CIRCLE,
    CORRIDOR,
    EARTH_CIRCLE,
    POLYGON,
    crosses,
    in_circle,
    in_earth_circle,
    metres_across,
    near_earth_segment,
    near_segment,
)
from watchline.index.regions.geometries import RegionColumns
from watchline.kernels.arrays import Int
from watchline.kernels.compiled import inner
from watchline.kernels.earth import vector_of


@inner
def region_holds(regions: RegionColumns, number: Int, x: float, y: float) -> bool:
    """Whether a region holds a point; NaN and infinities are in none."""
    if not (np.isfinite(x) and np.isfinite(y)):
        return False
    form, reach = regions.forms[number], regions.reach[number]
    coordinates, inside = regions.coordinates, False
    if form == EARTH_CIRCLE:
        first = regions.chains[regions.begins[number], 0]
        return in_earth_circle(vector_of(x, y), coordinates, first)
    across = 0.0 if form in (POLYGON, CIRCLE, CORRIDOR) else metres_across(y)
    for c in range(regions.begins[number], regions.begins[number + 1]):
        first = regions.chains[c, 0]
        ax, ay = coordinates[first, 0], coordinates[first, 1]
        if form == CIRCLE:
            return in_circle(x, y, ax, ay, coordinates[first + 1, 0])
        for k in range(first + 1, first + regions.chains[c, 1] + 1):
            bx, by = coordinates[k, 0], coordinates[k, 1]
            if form == POLYGON:
                inside ^= crosses(x, y, ax, ay, bx, by)
            elif form == CORRIDOR:
                if near_segment(x, y, ax, ay, bx, by, reach):
                    return True
            elif near_earth_segment(x, y, across, ax, ay, bx, by, reach):
                return True
            ax, ay = bx, by
    return inside
