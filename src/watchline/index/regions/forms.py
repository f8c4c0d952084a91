"""The forms of regions: the fixed formulas that decide a point, each in one place.

Every kernel of this package decides a point by these functions alone, so that all paths give the
same bits (docs/decisions/0003). Each step is one rounded operation of float64, in the order
written; nothing is fused or reassociated.

Bounds: `crossing` is monotone in y, because each of its rounded steps is; the test of a circle is
monotone in |x - cx| and in |y - cy|. The test of a corridor is not monotone, and is off by less
than `SLIPS` of the lengths that occur in it.

On Earth x is a longitude and y a latitude. A polygon is the same there. A circle compares squares
of chords (watchline.kernels.earth). A corridor is measured in the plane that touches the sphere at
the point, and its segments are tried at their longitudes and a whole turn to either side.
"""

from __future__ import annotations

import numpy as np

from watchline.kernels.arrays import Doubles, Int, Mask
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.earth import DEGREE_METRES, Vector, sine_and_cosine, square_of_chord

POLYGON, CIRCLE, CORRIDOR, EARTH_CIRCLE, EARTH_CORRIDOR = 0, 1, 2, 3, 4
# The vertices of a circle: its centre and (radius, 0). On Earth, where x is a longitude, they are
# its centre, (radius, square of the chord), and the vector of the centre as (X, Y) and (Z, 0).
CIRCLE_VERTICES, EARTH_CIRCLE_VERTICES = 2, 4

# A bound of the relative error of `from_segment`, which is below 64 roundings of 2^-53.
SLIPS = 1e-13


@inner(error_model="numpy")
def crossing(y: float, xl: float, yl: float, xu: float, yu: float) -> float:
    """Where the edge from (xl, yl) up to (xu, yu) crosses this y."""
    return xl + (y - yl) / (yu - yl) * (xu - xl)


@inner(error_model="numpy")
def crosses(x: float, y: float, ax: float, ay: float, bx: float, by: float) -> bool:
    """Whether the edge between a and b changes the parity of (x, y); which end is a is all one."""
    if (y >= ay) == (y >= by):
        return False
    if ay < by:
        return x < crossing(y, ax, ay, bx, by)
    return x < crossing(y, bx, by, ax, ay)


@inner(error_model="numpy")
def in_circle(x: float, y: float, cx: float, cy: float, radius: float) -> bool:
    """Whether a circle holds a point, by the fixed formula."""
    dx, dy = x - cx, y - cy
    return dx * dx + dy * dy <= radius * radius


@inner(error_model="numpy")
def from_segment(x: float, y: float, ax: float, ay: float, bx: float, by: float) -> float:
    """The square of the distance from a segment: to its nearer end, or to the line between them.

    NaN or infinite where (x, y) is so far away that the square overflows.
    """
    px, py, ex, ey = x - ax, y - ay, bx - ax, by - ay
    length = ex * ex + ey * ey
    along = px * ex + py * ey
    if length == 0.0 or along <= 0.0:
        return px * px + py * py
    if along >= length:
        qx, qy = x - bx, y - by
        return qx * qx + qy * qy
    part = along / length
    dx, dy = px - part * ex, py - part * ey
    return dx * dx + dy * dy


@inner(error_model="numpy")
def near_segment(
    x: float, y: float, ax: float, ay: float, bx: float, by: float, reach: float
) -> bool:
    """Whether (x, y) is at most `reach` from the segment between a and b."""
    return from_segment(x, y, ax, ay, bx, by) <= reach * reach


@kernel(error_model="numpy")
def in_corridor(x: Doubles, y: Doubles, line: Doubles, reach: float) -> Mask:
    """Which points are in the corridor around a line (n, 2): each is compared with each segment."""
    inside = np.zeros(len(x), dtype=np.bool_)
    for i in range(len(x)):
        for k in range(len(line) - 1):
            ax, ay, bx, by = line[k, 0], line[k, 1], line[k + 1, 0], line[k + 1, 1]
            if near_segment(x[i], y[i], ax, ay, bx, by, reach):
                inside[i] = np.isfinite(x[i]) and np.isfinite(y[i])
                break
    return inside


@inner(error_model="numpy")
def in_earth_circle(place: Vector, coordinates: Doubles, first: Int) -> bool:
    """Whether the circle on Earth with these vertices holds the place with this vector."""
    centre = coordinates[first + 2, 0], coordinates[first + 2, 1], coordinates[first + 3, 0]
    return square_of_chord(place, centre) <= coordinates[first + 1, 1]


@inner(error_model="numpy")
def metres_across(y: float) -> float:
    """The metres of a degree of longitude at this latitude."""
    return sine_and_cosine(y)[1] * DEGREE_METRES


@inner(error_model="numpy")
def from_earth_segment(
    x: float, y: float, across: float, ax: float, ay: float, bx: float, by: float
) -> float:
    """The square of the distance from a segment on Earth, in metres; `across` is `metres_across` of
    this latitude."""
    up, over, least = (ay - y) * DEGREE_METRES, (by - y) * DEGREE_METRES, np.inf
    for turn in (-360.0, 0.0, 360.0):
        aside, beyond = ((ax + turn) - x) * across, ((bx + turn) - x) * across
        square = from_segment(0.0, 0.0, aside, up, beyond, over)
        if square < least:
            least = square
    return least


@inner(error_model="numpy")
def near_earth_segment(
    x: float, y: float, across: float, ax: float, ay: float, bx: float, by: float, reach: float
) -> bool:
    """Whether (x, y) is at most `reach` metres from the segment between a and b."""
    return from_earth_segment(x, y, across, ax, ay, bx, by) <= reach * reach


@inner(error_model="numpy")
def reached(
    ax: float, ay: float, bx: float, by: float, low: float, high: float
) -> tuple[float, float]:
    """Bounds of the x of a segment between two heights, to within the slips of its length."""
    west, east = min(ax, bx), max(ax, bx)
    if not (ay < by or by < ay):
        return west, east
    xl, yl, xu, yu = ax, ay, bx, by
    if ay > by:
        xl, yl, xu, yu = bx, by, ax, ay
    if low > yl and low < yu:
        at = crossing(low, xl, yl, xu, yu)
        west, east = (at, east) if xl < xu else (west, at)
    if high < yu and high > yl:
        at = crossing(high, xl, yl, xu, yu)
        west, east = (west, at) if xl < xu else (at, east)
    return west, east
