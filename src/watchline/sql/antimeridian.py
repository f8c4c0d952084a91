"""Polygons of longitudes and latitudes, as RFC 7946 has them: their edges are straight in degrees.

A polygon may be cut at the antimeridian, or run beyond 180 degrees to either side. One around a
pole is written with its edges along the antimeridian and along the pole itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from watchline.kernels.arrays import Doubles


def problem_of(rings: list[Doubles]) -> str | None:
    """What is wrong with the longitudes of a polygon of these rings, which end where they begin;
    None if nothing is."""
    every = np.concatenate(rings)
    west, east = every[:, 0].min(), every[:, 0].max()
    if east - west > 360 or west < -540 or east > 540:
        return (
            f"its longitudes go from {west:g} to {east:g}: a polygon is at most 360 degrees wide,"
            " and between -540 and 540"
        )
    if any(_goes_around(ring) for ring in rings):
        return (
            "it goes around a pole: write it as RFC 7946 asks, from longitude -180 to 180 and on"
            " along the latitude of the pole"
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
    """A shapely polygon with what is beyond longitude 180 a whole turn back, too."""
    import shapely

    west, _, east, _ = shapely.bounds(polygon)
    if west >= -180 and east <= 180:
        return polygon
    parts = shapely.get_parts(polygon)
    turns = [np.array([turn, 0.0]) for turn in (-360, 0, 360)]
    laid = np.concatenate([shapely.transform(parts, partial(np.add, turn)) for turn in turns])
    bounds = shapely.bounds(laid)
    return shapely.multipolygons(laid[(bounds[:, 0] < 180) & (bounds[:, 2] > -180)])
