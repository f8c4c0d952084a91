"""What circles and corridors on Earth are to the cells of a window of longitudes and latitudes.

Bounds are a little wider than the regions, and a cell is whole only if there is room to spare: the
formulas of `forms` decide every point of the others.

The chord from the centre of a circle to a place grows with the difference of their longitudes.
Along a meridian that is not too far away it falls and then grows (`_Band`), so its bounds over a
cell are those of few places. Elsewhere it changes by no more than `STEEPEST` metres for each degree
of latitude.

The distance from a segment grows with the metres of a degree of longitude, and these are bounded
over the rows of a cell.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from watchline.index.regions.forms import (
    EARTH_CIRCLE,
    EARTH_CORRIDOR,
    SLIPS,
    from_segment,
    metres_across,
    reached,
)
from watchline.index.regions.marks import Marks, own, whole
from watchline.index.regions.sheet import (
    Sheet,
    Window,
    column_bounds,
    column_of,
    row_bounds,
    row_of,
)
from watchline.kernels.arrays import Doubles, Int, Integers
from watchline.kernels.compiled import inner
from watchline.kernels.earth import (
    DEGREE_METRES,
    Bounds,
    bounds_around,
    sine_and_cosine,
    vector_of,
    wrapped,
)

# What computed lengths are off by at most: of themselves, and in metres. Degrees are off by less.
SLIP, SLACK, DEGREES_SLACK = 1e-9, 1e-7, 1e-12
# At least the metres of a degree of latitude, anywhere on the ellipsoid.
STEEPEST = 111_700.0
# From this part of the distance of the centre from the axis on, a chord along a meridian falls and
# then grows: that the meridian is no circle moves its nearest place by less.
FALLS_AND_GROWS = 50_000.0


class _Band(NamedTuple):
    """The latitudes of a row, as a circle sees them from its centre.

    For the southern and the northern end: the sine and the cosine, the distance from the axis of
    the Earth, the height above the equator beyond that of the centre, and the square of the chord
    to the place at the longitude of the centre.
    """

    south: tuple[float, float, float, float, float]
    north: tuple[float, float, float, float, float]
    # How far the centre is from the axis, and by how much chords may differ within the band.
    out: float
    spread: float


@inner(error_model="numpy")
def _end_of_band(
    latitude: float, out: float, up: float
) -> tuple[float, float, float, float, float]:
    sine, cosine = sine_and_cosine(latitude)
    aside, _, height = vector_of(0.0, latitude)
    above = height - up
    return sine, cosine, aside, above, (aside - out) * (aside - out) + above * above


@inner(error_model="numpy")
def _half_sine(turn: float) -> float:
    """The square of the sine of half an angle."""
    sine = sine_and_cosine(0.5 * turn)[0]
    return sine * sine


@inner(error_model="numpy")
def _nearest(band: _Band, turn: float) -> float:
    """No place of the band at this difference of longitudes has a shorter chord."""
    part = _half_sine(turn)
    along = band.out * (1.0 - 2.0 * part)
    sine, cosine, low_aside, above, square = band.south
    low = square + 4.0 * low_aside * band.out * part
    falls = above * cosine < (low_aside - along) * sine
    sine, cosine, high_aside, above, square = band.north
    high = square + 4.0 * high_aside * band.out * part
    grows = above * cosine > (high_aside - along) * sine
    if along < FALLS_AND_GROWS:
        return max(0.0, (math.sqrt(low) + math.sqrt(high) - band.spread) / 2)
    if not falls:
        return math.sqrt(low)
    if not grows:
        return math.sqrt(high)
    # In between: at least the chord between the two meridians on the narrower parallel.
    return math.sqrt(4.0 * min(low_aside, high_aside) * band.out * part)


@inner(error_model="numpy")
def _farthest(band: _Band, turn: float) -> float:
    """No place of the band at this difference of longitudes has a longer chord."""
    part = _half_sine(turn)
    low = math.sqrt(band.south[4] + 4.0 * band.south[2] * band.out * part)
    high = math.sqrt(band.north[4] + 4.0 * band.north[2] * band.out * part)
    if band.out * (1.0 - 2.0 * part) < FALLS_AND_GROWS:
        return (low + high + band.spread) / 2
    return max(low, high)


@inner
def _turn_between(a: float, b: float) -> float:
    """The difference of two longitudes, from 0 to 180."""
    turn = abs(a - b)
    return 360.0 - turn if turn > 180.0 else turn


@inner
def _turns(west: float, east: float, centre: float) -> tuple[float, float]:
    """The least and the greatest difference of the longitudes of a cell from that of a centre."""
    a, b = _turn_between(west, centre), _turn_between(east, centre)
    near = 0.0 if west <= centre <= east else min(a, b)
    opposite = centre - 180.0 if centre > 0.0 else centre + 180.0
    return near, (180.0 if west <= opposite <= east else max(a, b))


@inner
def _on_the_globe(low: float, high: float, end: float) -> tuple[float, float]:
    """The part of the bounds of a row or column that has places."""
    return max(low, -end), min(high, end)


@inner
def _stretch(part: Int, sheet: Sheet, window: Window, west: float, east: float) -> tuple[Int, Int]:
    """The columns from west to east in two parts, each from its first one to before its last: these
    are two where the antimeridian is between them."""
    side = 1 << window.bits
    first, last = column_of(sheet, window, west), column_of(sheet, window, east)
    if west <= east:
        return (max(first, 0), min(last + 1, side)) if part == 0 else (0, 0)
    return (0, min(last + 1, side)) if part == 0 else (max(first, last + 1, 0), side)


@inner(error_model="numpy")
def mark_earth_circle(
    marks: Marks, chains: Integers, coordinates: Doubles, first: Int, sheet: Sheet, window: Window
) -> Integers:
    """Mark the cells of a circle on Earth."""
    side = 1 << window.bits
    lon, lat = coordinates[first, 0], coordinates[first, 1]
    chord = math.sqrt(coordinates[first + 1, 1])
    most, least = chord * (1 + SLIP) + SLACK, chord * (1 - SLIP) - SLACK
    x, y, up = coordinates[first + 2, 0], coordinates[first + 2, 1], coordinates[first + 3, 0]
    out = math.sqrt(x * x + y * y)
    west, south, east, north = bounds_around(lon, lat, coordinates[first + 1, 0])
    bottom, top = row_of(sheet, window, south), row_of(sheet, window, north)
    for row in range(max(bottom, 0), min(top, side - 1) + 1):
        low, high = row_bounds(sheet, window, row)
        low, high = _on_the_globe(low, high, 90.0)
        if low > high:
            continue
        spread = (high - low) * STEEPEST + SLACK
        band = _Band(_end_of_band(low, out, up), _end_of_band(high, out, up), out, spread)
        for part in range(2):
            begin, end = _stretch(part, sheet, window, west, east)
            for column in range(begin, end):
                left, right = column_bounds(sheet, window, column)
                left, right = _on_the_globe(left, right, 180.0)
                near, far = _turns(left, right, lon)
                if _nearest(band, near) > most:
                    continue
                if _farthest(band, far) < least:
                    whole(marks, (row << window.bits) + column, row, column)
                else:
                    chains = own(marks, chains, window.bits, row, column, first, EARTH_CIRCLE)
    return chains


# --- corridors


@inner(error_model="numpy")
def _aside(reach: float, south: float, north: float) -> float:
    """How many degrees of longitude so many metres are at most between two latitudes."""
    across = min(metres_across(max(south, -90.0)), metres_across(min(north, 90.0)))
    if not reach < 180.0 * across:
        return np.inf
    return reach / across * (1 + SLIP) + DEGREES_SLACK


@inner(error_model="numpy")
def _widened(west: float, east: float, aside: float) -> tuple[float, float]:
    """Longitudes and so many degrees to both sides of them: west > east crosses the antimeridian,
    and infinite ones are all."""
    west, east = west - aside, east + aside
    if not east - west < 360.0:
        return -np.inf, np.inf
    return wrapped(west), wrapped(east)


@inner(error_model="numpy")
def segment_bounds(ax: float, ay: float, bx: float, by: float, reach: float) -> Bounds:
    """Bounds of what is at most `reach` metres from a segment on Earth; west > east crosses the
    antimeridian, and infinity is no bound."""
    wide = reach * (1 + SLIP) / DEGREE_METRES + DEGREES_SLACK
    south, north = min(ay, by) - wide, max(ay, by) + wide
    west, east = _widened(min(ax, bx), max(ax, bx), _aside(reach, south, north))
    return west, south, east, north


@inner(error_model="numpy")
def mark_earth_segment(
    marks: Marks,
    chains: Integers,
    coordinates: Doubles,
    k: Int,
    reach: float,
    sheet: Sheet,
    window: Window,
) -> Integers:
    """Mark the cells of the part of a corridor on Earth that is near one of its segments."""
    side = 1 << window.bits
    ax, ay = coordinates[k, 0], coordinates[k, 1]
    bx, by = coordinates[k + 1, 0], coordinates[k + 1, 1]
    wide = reach * (1 + SLIP) / DEGREE_METRES + DEGREES_SLACK
    south, north = min(ay, by) - wide, max(ay, by) + wide
    bottom, top = row_of(sheet, window, south), row_of(sheet, window, north)
    for row in range(max(bottom, 0), min(top, side - 1) + 1):
        low, high = row_bounds(sheet, window, row)
        low, high = _on_the_globe(low, high, 90.0)
        if low > high:
            continue
        west, east = reached(ax, ay, bx, by, low - wide, high + wide)
        aside = _aside(reach, max(low, south), min(high, north)) + 2 * SLIPS * abs(bx - ax)
        west, east = _widened(west, east, aside)
        for part in range(2):
            begin, end = _stretch(part, sheet, window, west, east)
            for column in range(begin, end):
                left, right = column_bounds(sheet, window, column)
                left, right = _on_the_globe(left, right, 180.0)
                cell = left, low, right, high
                is_near, is_whole = _beside(cell, ax, ay, bx, by, reach)
                if is_whole:
                    whole(marks, (row << window.bits) + column, row, column)
                elif is_near:
                    chains = own(marks, chains, window.bits, row, column, k, EARTH_CORRIDOR)
    return chains


@inner(error_model="numpy")
def _beside(
    cell: Bounds, ax: float, ay: float, bx: float, by: float, reach: float
) -> tuple[bool, bool]:
    """Whether some place of a cell may be as near as `reach` to a segment, and whether surely all
    are."""
    _, south, _, north = cell
    low, high = metres_across(south), metres_across(north)
    most = DEGREE_METRES if south <= 0.0 <= north else max(low, high)
    near, _ = _within(cell, ax, ay, bx, by, (min(low, high) * (1 - SLIP), reach))
    _, every = _within(cell, ax, ay, bx, by, (most * (1 + SLIP), reach))
    return near, every


@inner(error_model="numpy")
def _within(
    cell: Bounds, ax: float, ay: float, bx: float, by: float, sizes: tuple[float, float]
) -> tuple[bool, bool]:
    """The same where a degree of longitude has so many metres in all of the cell."""
    west, south, east, north = cell
    across, reach = sizes
    x, y = (west + east) / 2, (south + north) / 2
    dx, dy = (east - west) / 2 * across, (north - south) / 2 * DEGREE_METRES
    radius = math.sqrt(dx * dx + dy * dy)
    up, over = (ay - y) * DEGREE_METRES, (by - y) * DEGREE_METRES
    near = every = False
    for turn in (-360.0, 0.0, 360.0):
        aside, beyond = (ax + turn - x) * across, (bx + turn - x) * across
        distance = math.sqrt(from_segment(0.0, 0.0, aside, up, beyond, over))
        slip = SLIP * (distance + radius + reach + abs(bx - ax) * across) + SLACK
        near |= distance - radius <= reach + slip
        every |= distance + radius < reach - slip
    return near, every
