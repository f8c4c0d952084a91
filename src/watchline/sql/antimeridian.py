"""Polygons of longitudes and latitudes, as RFC 7946 has them: their edges are straight in degrees.

A polygon may be cut at the antimeridian, or run beyond 180 degrees to either side. One around a
pole is written with its edges along the antimeridian and along the pole itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from watchline.kernels.arrays import Doubles

# Degrees that a vertex may move when it goes a turn and comes back.
EQUAL = 1e-9


def problem_of(rings: list[Doubles]) -> str | None:
    """What is wrong with the longitudes of a polygon of these rings, which end where they begin;
    None if nothing is."""
    for ring in rings:
        west, east = ring[:, 0].min(), ring[:, 0].max()
        if east - west > 360 or west < -540 or east > 540:
            return (
                f"it has longitudes from {west:g} to {east:g}: a polygon is at most 360 degrees"
                " wide, and between -540 and 540"
            )
        if _goes_around(ring):
            return (
                "the polygon goes around a pole: write it as RFC 7946 asks, from longitude -180 to"
                " 180 and on along the latitude of the pole"
            )
    return None


def _goes_around(ring: Doubles) -> bool:
    """Whether the ring goes all the way round if each of its edges takes the shorter way; those
    along a pole are as they are written."""
    steps = np.diff(ring[:, 0])
    if (np.abs(steps) <= 180).all():
        return False
    at_pole = (np.abs(ring[1:, 1]) == 90) & (ring[1:, 1] == ring[:-1, 1])
    shorter = (np.abs(steps) > 180) & ~at_pole
    steps[shorter] -= 360 * np.sign(steps[shorter])
    return bool(abs(steps.sum()) > 180)


def laid_out(polygon: Any) -> Any:
    """A shapely polygon with parts for what is beyond longitude 180, a whole turn back.

    Vertices stay as they are, so no part is cut; and one that is laid out already stays the same.
    """
    import shapely

    west, _, east, _ = shapely.bounds(polygon)
    if west >= -180 and east <= 180:
        return polygon
    every = shapely.get_parts(polygon)
    parts = _met(every).tolist()
    for turn, beyond in ((-360, shapely.bounds(every)[:, 2] > 180),
                         (360, shapely.bounds(every)[:, 0] < -180)):  # fmt: skip
        turned = shapely.transform(every[beyond], partial(np.add, np.array([turn, 0.0])))
        for copy in _met(turned):
            if not shapely.equals_exact(every, copy, EQUAL).any():
                parts.append(copy)
    return shapely.multipolygons(parts)


def _met(parts: Any) -> Any:
    """The polygons that have any longitudes of points."""
    import shapely

    bounds = shapely.bounds(parts)
    return parts[(bounds[:, 0] < 180) & (bounds[:, 2] > -180)]
