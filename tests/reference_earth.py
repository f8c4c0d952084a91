"""The oracle on Earth: places of WGS 84 in three dimensions, by brute force and in long doubles.

Nothing is imported from the package under test, and the mathematics is another: vectors by the
reduced latitude, sines of the C library. What it decides may differ from the product where an
example comes nearer to a border than rounding goes; `is_close` and `Earth.close` say so, and tests
throw such examples away.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from tests import reference

Place = tuple[float, float]
Vertices = list[Place]
# As in tests/reference.py; a length counts metres.
Region = tuple[Any, ...]

LONG = np.longdouble
PI = LONG("3.14159265358979323846264338327950288")
EQUATOR = LONG(6_378_137)
# The polar radius in parts of the equatorial one.
OBLATE = 1 - 1 / LONG("298.257223563")
RADIUS = LONG("6371008.8")
HALF_ROUND = PI * RADIUS
DEGREE_METRES = HALF_ROUND / 180

# An example that comes nearer than this to a border is thrown away: relatively; in metres, which
# the vectors in doubles of the product are off by; and in degrees.
RELATIVE, METRES, DEGREES = 1e-9, 1e-8, 1e-12


# ---------------------------------------------------------------------------------- places


def wrapped(lon: float) -> float:
    """The longitude in [-180, 180): -180 for 180."""
    rest = math.remainder(lon, 360.0)
    return -180.0 if rest == 180.0 else rest + 0.0


def place_of(lon: float, lat: float) -> Place:
    """The one name of a place: poles have no longitude."""
    return (0.0 if abs(lat) == 90 else wrapped(lon), lat + 0.0)


@lru_cache(maxsize=100_000)
def _vector(lon: float, lat: float) -> tuple[Any, Any, Any]:
    if abs(lat) == 90:
        return LONG(0), LONG(0), OBLATE * EQUATOR * int(math.copysign(1, lat))
    phi, theta = LONG(lat) * PI / 180, LONG(lon) * PI / 180
    # The reduced latitude has the tangent of the latitude, times that ratio of radii.
    out, up = np.cos(phi), OBLATE * np.sin(phi)
    length = np.hypot(out, up)
    out, up = EQUATOR * out / length, OBLATE * EQUATOR * up / length
    return out * np.cos(theta), out * np.sin(theta), up


def vector(lon: float, lat: float) -> tuple[Any, Any, Any]:
    """The place in metres from the centre of the Earth."""
    return _vector(*place_of(lon, lat))


def chord(a: Place, b: Place) -> Any:
    """The straight way between two places, in metres."""
    dx, dy, dz = (u - v for u, v in zip(vector(*a), vector(*b), strict=True))
    return np.sqrt(dx * dx + dy * dy + dz * dz)


def distance(a: Place, b: Place) -> float:
    """The arc over the chord, on a sphere of the mean radius."""
    return float(2 * RADIUS * np.arcsin(min(LONG(1), chord(a, b) / (2 * RADIUS))))


def longest_chord(metres: float) -> Any:
    """The chord under an arc of this length."""
    if LONG(metres) >= HALF_ROUND:
        return LONG(math.inf)
    return 2 * RADIUS * np.sin(LONG(metres) / (2 * RADIUS))


def within(a: Place, b: Place, metres: float) -> bool:
    """Whether two places are at most so far apart."""
    return bool(chord(a, b) <= longest_chord(metres))


def is_close_within(a: Place, b: Place, metres: float) -> bool:
    """Whether two places are so far apart that rounding decides."""
    # Whether half the way round is reached is decided by the comparison of two doubles.
    limit = longest_chord(metres)
    if not np.isfinite(limit) and metres > float(HALF_ROUND) * (1 + 1e-15):
        return False
    limit = limit if np.isfinite(limit) else 2 * RADIUS
    return bool(abs(chord(a, b) - limit) <= RELATIVE * float(limit) + METRES)


# --------------------------------------------------------------------------------- regions


def _box(west: float, south: float, east: float, north: float, lon: float, lat: float) -> bool:
    if not (south <= lat < north or lat == north == 90):
        return False
    if Fraction(east) - Fraction(west) >= 360:
        return True
    west, east = wrapped(west), wrapped(east)
    # Eastward from the west side: how far the east side is, and the place. Nothing is rounded.
    start = Fraction(west)
    return (Fraction(lon) - start) % 360 < (Fraction(east) - start) % 360


def _moving_box(width: float, height: float, lon: float, lat: float, centre: Place) -> list[Any]:
    """By how much a place is inside each side: south, north, west, east; inside if all are above
    zero, or the first and third zero. In degrees, exact but for long doubles."""
    up = LONG(height) / 2 / DEGREE_METRES
    south, north = centre[1] - up, centre[1] + up
    insets = [lat - south if south > -90 else LONG(360), north - lat if north < 90 else LONG(360)]
    if south <= -90 or north >= 90 or abs(centre[1]) == 90:
        return [*insets, LONG(360), LONG(360)]
    aside = LONG(width) / 2 / (DEGREE_METRES * np.cos(LONG(centre[1]) * PI / 180))
    if aside >= 180:
        return [*insets, LONG(360), LONG(360)]
    # How far east, in [-180, 180).
    east = (LONG(wrapped(lon)) - LONG(wrapped(centre[0])) + 540) % 360 - 180
    return [*insets, east + aside, aside - east]


def _touches(width: float, height: float, centre: Place) -> list[Any]:
    """By how much a moving box fails to reach the poles, and all the way round, in degrees."""
    up = LONG(height) / 2 / DEGREE_METRES
    poles = [centre[1] - up + 90, 90 - centre[1] - up]
    if abs(centre[1]) == 90:
        return poles
    aside = LONG(width) / 2 / (DEGREE_METRES * np.cos(LONG(centre[1]) * PI / 180))
    return [*poles, 180 - aside]


def line_distance(lines: list[Vertices], lon: float, lat: float) -> Any:
    """From the nearest segment of lines that are straight in longitude and latitude, in the plane
    that touches the sphere at the place; lines count wherever they are, turns of 360 apart."""
    least, across = LONG(math.inf), DEGREE_METRES * np.cos(LONG(lat) * PI / 180)
    for line, turn in itertools.product(lines, (-360, 0, 360)):
        path = [
            ((LONG(x) + turn - LONG(wrapped(lon))) * across, (LONG(y) - LONG(lat)) * DEGREE_METRES)
            for x, y in line
        ]
        for (ax, ay), (bx, by) in itertools.pairwise(path):
            ex, ey = bx - ax, by - ay
            length = ex * ex + ey * ey
            part = min(max(-(ax * ex + ay * ey) / length, LONG(0)), LONG(1)) if length else LONG(0)
            least = min(least, np.hypot(ax + part * ex, ay + part * ey))
    return least


def inside(region: Region, lon: float, lat: float, centre: Place | None = None) -> bool:
    """Whether a place is in the region; `centre` is the focal object's place, if it moves.

    A box is (west, south, east, north). The edges of a polygon are straight in longitude and
    latitude, and it may run beyond 180 degrees.
    """
    lon, lat = float(lon), float(lat)
    if not (math.isfinite(lon) and math.isfinite(lat)) or abs(lat) > 90:
        return False
    lon, (kind, *parts) = wrapped(lon), region
    if kind == "polygon":
        return any(reference.in_polygon(parts[0], lon + turn, lat) for turn in (0, -360, 360))
    if kind == "corridor":
        return bool(line_distance(parts[0], lon, lat) <= parts[1])
    if kind == "box":
        west, south, east, north = map(float, parts)
        return _box(west, south, east, north, lon, lat)
    if kind == "circle":
        return within((lon, lat), (parts[0], parts[1]), parts[2])
    assert centre is not None, "a moving region needs the place of its focal object"
    if not all(map(math.isfinite, centre)):
        return False
    if kind == "mcircle":
        return within((lon, lat), centre, parts[1])
    assert kind == "mbox", kind
    width, height = map(float, parts[1:])
    south, north, west, east = _moving_box(width, height, lon, lat, centre)
    return bool(south >= 0 and north > 0 and west >= 0 and east > 0)


def is_close(region: Region, lon: float, lat: float, centre: Place | None = None) -> bool:
    """Whether a place is so near to the border of a region that rounding decides."""
    if not (math.isfinite(lon) and math.isfinite(lat)) or abs(lat) > 90:
        return False
    kind, *parts = region
    if kind == "corridor":
        off = abs(line_distance(parts[0], lon, lat) - parts[1])
        return bool(off <= RELATIVE * parts[1] + 10 * METRES)
    if kind == "circle":
        return is_close_within((lon, lat), (parts[0], parts[1]), parts[2])
    if kind == "mcircle":
        assert centre is not None
        return is_close_within((lon, lat), centre, parts[1])
    if kind == "mbox":
        assert centre is not None
        width, height = map(float, parts[1:])
        insets = _moving_box(width, height, lon, lat, centre) + _touches(width, height, centre)
        return bool(min(map(abs, insets)) <= DEGREES)
    if kind == "polygon":
        # Within the sheet the formula is that of the plane, to the last bit.
        shifted = any(not -180 <= x <= 180 for ring in parts[0] for x, _ in ring)
        return shifted and _is_close_to_edge(parts[0], lon, lat)
    assert kind == "box", kind
    # Longitudes and latitudes are compared as they are: a box has no rounding.
    return False


def _is_close_to_edge(rings: list[Vertices], lon: float, lat: float) -> bool:
    for ring, turn in itertools.product(rings, (-360, 0, 360)):
        for (ax, ay), (bx, by) in itertools.pairwise([*ring, ring[0]]):
            px, py, ex, ey = wrapped(lon) + turn - ax, lat - ay, bx - ax, by - ay
            length = ex * ex + ey * ey
            part = min(max((px * ex + py * ey) / length, 0.0), 1.0) if length else 0.0
            if math.hypot(px - part * ex, py - part * ey) <= 1e-9:
                return True
    return False


# --------------------------------------------------------------------------------- nearest


def ranked(places: dict[Any, Place], centre: Place) -> list[tuple[Any, Any]]:
    """(name, chord) of all, by chord, then object id."""
    chords = {name: chord(place, centre) for name, place in places.items()}
    names = sorted(chords, key=lambda name: (chords[name], reference.order_key(name)))
    return [(name, chords[name]) for name in names]


def is_close_nearest(k: int, places: dict[Any, Place], centre: Place) -> bool:
    """Whether rounding decides which are the k nearest. Objects at one place are no such case:
    their chords are the same, and their ids decide."""
    order = ranked(places, centre)
    if k >= len(order):
        return False
    (last, limit), spots = order[k - 1], {name: place_of(*places[name]) for name in places}
    slack = RELATIVE * float(limit) + METRES
    return any(abs(far - limit) <= slack and spots[name] != spots[last] for name, far in order)


# ---------------------------------------------------------------------------------- ledger


class Earth(reference.Plane):
    """How `reference.Ledger` measures on Earth: `Ledger(stream, Earth())`.

    `close` counts decisions that were so close that rounding may have made them: a test that finds
    any throws its example away, `assume(not earth.close)`.
    """

    def __init__(self) -> None:
        self.close = 0

    def taken(self, row: reference.Row, stream: reference.StreamSpec) -> reference.Row | None:
        assert stream.point
        x, y = stream.point
        lon, lat = row[x], row[y]
        if not reference.is_null(lat) and abs(float(lat)) > 90:
            return None
        if not reference.is_finite(lon):
            # What is not finite is no longitude.
            return {**row, x: None if lon is None else math.nan}
        return {**row, x: wrapped(float(lon))}

    def inside(self, region: Region, x: float, y: float, centre: Place | None = None) -> bool:
        if centre is None or all(map(math.isfinite, centre)):
            self.close += is_close(region, x, y, centre)
        return inside(region, x, y, centre)

    def nearest(self, k: int, places: dict[Any, Place], centre: Any) -> set[Any]:
        self.close += is_close_nearest(k, places, centre)
        return {name for name, _ in ranked(places, centre)[:k]}

    def distance(self, x: float, y: float, cx: float, cy: float) -> float | None:
        known = all(map(math.isfinite, (x, y, cx, cy)))
        return distance((x, y), (cx, cy)) if known else None

    def around(self, region: Region, margin: float, x: float, y: float, centre: Any) -> bool:
        """A region that is larger by the margin, in metres, on each side."""
        kind, focal, *sizes = region
        grown = (2 if kind == "mbox" else 1) * margin
        return self.inside((kind, focal, *(size + grown for size in sizes)), x, y, centre)
