"""Polygons of longitudes and latitudes, as RFC 7946 has them: their edges are straight in degrees.

A polygon may run beyond 180 degrees to either side; it is cut at the antimeridian, so that what is
kept lies within 180 degrees, and is the same when it is read again. One around a pole is written
with its edges along the antimeridian and along the pole itself. What is within 180 degrees already
stays as it is, to the last bit.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from watchline.kernels.arrays import Doubles
from watchline.model import FARTHEST


def problem_of(rings: list[Doubles]) -> str | None:
    """What is wrong with a polygon of these rings on Earth, as words that follow its name; None if
    nothing is. Rings end where they begin, and their coordinates are finite."""
    every = np.concatenate(rings)
    beyond = every[np.abs(every[:, 1]) > 90, 1]
    if len(beyond):
        return f"has latitude {beyond[0]:g}, beyond 90: are longitude and latitude swapped?"
    west, east = every[:, 0].min(), every[:, 0].max()
    if east - west > 360 or west < -FARTHEST or east > FARTHEST:
        return (
            f"has longitudes from {west:g} to {east:g}: a polygon is at most 360 degrees wide, and"
            f" between -{FARTHEST:g} and {FARTHEST:g}"
        )
    problems = list(filter(None, map(_problem_of_ring, rings)))
    return problems[0] if problems else None


def _problem_of_ring(ring: Doubles) -> str | None:
    """A step of the whole way round goes along a pole, or another latitude, as it is written; of
    other steps of more than half the way one cannot know which side of the Earth is meant."""
    steps, rises = np.diff(ring, axis=0).T
    long = (np.abs(steps) > 180) & ((np.abs(steps) < 360) | (rises != 0))
    if not long.any():
        return None
    ways = steps - 360 * np.sign(steps) * long
    if abs(ways.sum()) > 180:
        return (
            "goes around a pole: write it as RFC 7946 asks, from longitude -180 to 180, and on"
            " along the latitude of the pole, from (180, 90) to (-180, 90)"
        )
    i = int(np.argmax(long))
    (a, _), (b, _) = ring[i], ring[i + 1]
    return (
        f"has an edge from longitude {a:g} to {b:g}, {abs(b - a):g} degrees: add a corner between"
        f" if that is meant; else go on beyond 180, to {b - 360 * np.sign(b - a):g}, or cut the"
        " polygon at the antimeridian"
    )


def laid_out(polygon: Any) -> Any:
    """A shapely polygon in which `problem_of` finds nothing, within 180 degrees: what is beyond
    is cut off, and put where it is on Earth."""
    import shapely

    west, _, east, _ = shapely.bounds(polygon)
    if west >= -180 and east <= 180:
        return polygon
    # GEOS cuts valid polygons alone; rings that touch are fine before and after.
    whole = polygon if shapely.is_valid(polygon) else shapely.make_valid(polygon)
    earth = shapely.box(-180.0, -90.0, 180.0, 90.0)
    pieces = []
    for turn in range(math.floor((west + 180) / 360), math.ceil((east - 180) / 360) + 1):
        shift = partial(np.add, np.array([-360.0 * turn, 0.0]))
        cut = shapely.get_parts(shapely.intersection(shapely.transform(whole, shift), earth))
        pieces += list(shapely.get_parts(cut[shapely.get_dimensions(cut) == 2]))
    return pieces[0] if len(pieces) == 1 else shapely.multipolygons(pieces)
