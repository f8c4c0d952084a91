"""Where regions are: bounds for the sheet, for costs, and for those who look for boxes."""

from __future__ import annotations

import numpy as np

from watchline.index.regions.earth_marking import segment_bounds
from watchline.index.regions.forms import CIRCLE, CORRIDOR, EARTH_CIRCLE, EARTH_CORRIDOR
from watchline.kernels.arrays import Doubles, Integers
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.earth import Bounds, bounds_around


@kernel
def extent_of(
    forms: Integers, begins: Integers, chains: Integers, coordinates: Doubles, reach: Doubles
) -> Doubles:
    """About where each region is: x1, y1, x2, y2. Circles and corridors on Earth are nowhere else;
    one that crosses the antimeridian has all longitudes."""
    extents = np.empty((len(forms), 4))
    for i in range(len(forms)):
        x1, y1, x2, y2 = np.inf, np.inf, -np.inf, -np.inf
        more, form = 0.0, forms[i]
        for c in range(begins[i], begins[i + 1]):
            first = chains[c, 0]
            if form == EARTH_CIRCLE:
                lon, lat = coordinates[first, 0], coordinates[first, 1]
                bounds = bounds_around(lon, lat, coordinates[first + 1, 0])
                x1, y1, x2, y2 = _joined((x1, y1, x2, y2), bounds)
                continue
            if form == EARTH_CORRIDOR:
                for k in range(first, first + chains[c, 1]):
                    ax, ay = coordinates[k, 0], coordinates[k, 1]
                    bx, by = coordinates[k + 1, 0], coordinates[k + 1, 1]
                    bounds = segment_bounds(ax, ay, bx, by, reach[i])
                    x1, y1, x2, y2 = _joined((x1, y1, x2, y2), bounds)
                continue
            last = first + (0 if form == CIRCLE else chains[c, 1])
            for k in range(first, last + 1):
                x1, x2 = min(x1, coordinates[k, 0]), max(x2, coordinates[k, 0])
                y1, y2 = min(y1, coordinates[k, 1]), max(y2, coordinates[k, 1])
            if form == CIRCLE:
                more = coordinates[first + 1, 0]
        if form == CORRIDOR:
            more = reach[i]
        extents[i] = np.array([x1 - more, y1 - more, x2 + more, y2 + more])
    return extents


@inner
def _joined(a: Bounds, b: Bounds) -> Bounds:
    """Bounds on the globe around both; `b` may cross the antimeridian."""
    west, south, east, north = b
    if west > east or west < -180.0 or east > 180.0:
        west, east = -180.0, 180.0
    return (
        min(a[0], west),
        min(a[1], max(south, -90.0)),
        max(a[2], east),
        max(a[3], min(north, 90.0)),
    )
