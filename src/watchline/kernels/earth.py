"""Places on Earth: degrees of WGS 84 in, vectors in metres out, and distances between them.

A place is the point of the ellipsoid at height 0; two places are as far apart as the arc over the
chord between their vectors, on a sphere of the mean radius: docs/decisions/0040. Kernels compare
squares of chords, so that they need no angle. What is computed here uses only + - * / and the
square root, on degrees that are reduced without an error: the same bits on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from watchline.kernels.arrays import Doubles
from watchline.kernels.compiled import kernel, leaf, outer_leaf

# The mean radius, in metres: that of the sphere on which lengths are arcs.
RADIUS = 6_371_008.8
# Lengths of half the way round and more reach everywhere.
HALF_ROUND = math.pi * RADIUS
# A degree of latitude on that sphere.
DEGREE_METRES = HALF_ROUND / 180

_EQUATOR = 6_378_137.0
_FLATTENING = 1 / 298.257223563
_SQUARED = _FLATTENING * (2 - _FLATTENING)
# The least radius of curvature of the ellipsoid, along a meridian at the equator.
_SHARPEST = _EQUATOR * (1 - _SQUARED)
_RADIANS = math.pi / 180
# Half of pi in two parts, since the first is not exact.
_QUARTER, _QUARTER_REST = math.pi / 2, 6.123233995736766e-17
# A place and a computed bound are off by less than this, in radians: half a micrometre.
_SLACK = 1e-13

_SINE = tuple((-1) ** i / math.factorial(2 * i + 1) for i in range(9))
_COSINE = tuple((-1) ** i / math.factorial(2 * i) for i in range(10))
_S1, _S2, _S3, _S4, _S5, _S6, _S7, _S8 = _SINE[1:]
_C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9 = _COSINE[1:]

Vector = tuple[float, float, float]
# West, south, east, north, in degrees: west > east crosses the antimeridian, and infinity is no
# bound on that side.
Bounds = tuple[float, float, float, float]


@leaf
def _sine(x: float) -> float:
    """Of radians within an eighth of a turn."""
    z = x * x
    tail = _S5 + z * (_S6 + z * (_S7 + z * _S8))
    return x + x * (z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * tail)))))


@leaf
def _cosine(x: float) -> float:
    """Of radians within an eighth of a turn."""
    z = x * x
    tail = _C5 + z * (_C6 + z * (_C7 + z * (_C8 + z * _C9)))
    return 1.0 + z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * tail))))


@outer_leaf
def sine_and_cosine(degrees: float) -> tuple[float, float]:
    """Of an angle from -180 to 180 degrees. Those of quarters of a turn are exact."""
    quarters = 0.0
    if degrees > 45.0:
        quarters = 1.0 if degrees <= 135.0 else 2.0
    elif degrees < -45.0:
        quarters = -1.0 if degrees >= -135.0 else -2.0
    # Exact: the two are within a factor of two of each other.
    x = (degrees - 90.0 * quarters) * _RADIANS
    s, c = _sine(x), _cosine(x)
    if quarters == 0.0:
        return s, c
    if quarters == 1.0:
        return c, -s
    if quarters == -1.0:
        return -c, s
    return -s, -c


@outer_leaf
def vector_of(longitude: float, latitude: float) -> Vector:
    """The place in metres from the centre of the Earth."""
    sin_lat, cos_lat = sine_and_cosine(latitude)
    sin_lon, cos_lon = sine_and_cosine(longitude)
    normal = _EQUATOR / math.sqrt(1.0 - _SQUARED * (sin_lat * sin_lat))
    out = normal * cos_lat
    return out * cos_lon, out * sin_lon, normal * (1.0 - _SQUARED) * sin_lat


@outer_leaf
def square_of_chord(a: Vector, b: Vector) -> float:
    """The square of the straight way between two places, in this order of additions everywhere."""
    dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return dx * dx + dy * dy + dz * dz


@outer_leaf
def wrapped(longitude: float) -> float:
    """The longitude in [-180, 180): its remainder by 360, which is exact. NaN stays NaN."""
    if -180.0 <= longitude < 180.0:
        return longitude
    rest = np.fmod(longitude, 360.0)
    if rest >= 180.0:
        return rest - 360.0
    return rest + 360.0 if rest < -180.0 else rest


@outer_leaf
def chord_of(metres: float) -> float:
    """The chord under an arc of this length; half the way round and more have none that is long
    enough, so theirs is infinite."""
    if metres >= HALF_ROUND:
        return math.inf
    x = metres / (2.0 * RADIUS)
    if x <= _QUARTER / 2:
        return 2.0 * RADIUS * _sine(x)
    return 2.0 * RADIUS * _cosine((_QUARTER - x) + _QUARTER_REST)


@leaf
def _arc(sine: float) -> float:
    """The angle, in radians, whose sine this is, from 0 to 1; more counts as 1."""
    if sine >= 1.0:
        return _QUARTER
    is_steep = sine > 0.7
    x = math.sqrt((1.0 - sine) * (1.0 + sine)) if is_steep else sine
    z = x * x
    angle = x * (1.0 + z * (1 / 6 + z * (3 / 40 + z * (15 / 336 + z * (105 / 3456)))))
    for _ in range(3):
        angle += (x - _sine(angle)) / _cosine(angle)
    return (_QUARTER - angle) + _QUARTER_REST if is_steep else angle


@outer_leaf
def metres_of(square: float) -> float:
    """The length of the arc over a chord, by the square of the chord."""
    return 2.0 * RADIUS * _arc(math.sqrt(square) / (2.0 * RADIUS))


@outer_leaf
def bounds_around(longitude: float, latitude: float, metres: float) -> Bounds:
    """Bounds of the places that are at most so far from this one; some are a little wider."""
    return bounds_of_chord(longitude, latitude, chord_of(metres))


@outer_leaf
def bounds_of_chord(longitude: float, latitude: float, chord: float) -> Bounds:
    """Bounds of the places whose chord to this one is at most so long; some are a little wider.

    The normals of two places enclose at most the angle of an arc over their chord that is bent as
    sharply as the ellipsoid is anywhere; on the sphere of normals, degrees are what they are here.
    """
    half = chord / (2.0 * _SHARPEST)
    # Arcs of a third of the way round and more are not worth a bound.
    if not half < 0.8:
        return -math.inf, -math.inf, math.inf, math.inf
    angle = 2.0 * _arc(half) * (1.0 + 1e-9) + _SLACK
    reach = angle / _RADIANS
    south, north = latitude - reach, latitude + reach
    if south <= -90.0 or north >= 90.0:
        low = -math.inf if south <= -90.0 else south
        return -math.inf, low, math.inf, math.inf if north >= 90.0 else north
    # Here the angle is less than a quarter of a turn.
    sine = sine_and_cosine(reach)[0] / sine_and_cosine(latitude)[1]
    if sine >= 1.0 - 1e-9:
        return -math.inf, south, math.inf, north
    aside = (_arc(sine) * (1.0 + 1e-9) + _SLACK) / _RADIANS
    return wrapped(longitude - aside), south, wrapped(longitude + aside), north


@outer_leaf
def box_around(longitude: float, latitude: float, width: float, height: float) -> Bounds:
    """The box of this width and height, in metres, around a place; its south and west belong to it.

    One that reaches a pole, or all the way round, holds all longitudes.
    """
    up = (0.5 * height) / DEGREE_METRES
    south, north = latitude - up, latitude + up
    touches = south <= -90.0 or north >= 90.0
    south = -math.inf if south <= -90.0 else south
    north = math.inf if north >= 90.0 else north
    cosine = sine_and_cosine(latitude)[1]
    if touches or cosine <= 0.0:
        return -math.inf, south, math.inf, north
    aside = (0.5 * width) / (DEGREE_METRES * cosine)
    west, east = longitude - aside, longitude + aside
    if east - west >= 360.0:
        return -math.inf, south, math.inf, north
    return wrapped(west), south, wrapped(east), north


@outer_leaf
def between_longitudes(longitude: float, west: float, east: float) -> bool:
    """Whether a longitude is in [west, east), which crosses the antimeridian if west > east."""
    if west <= east:
        return west <= longitude and longitude < east
    return longitude >= west or longitude < east


@kernel
def vectors_of(longitudes: Doubles, latitudes: Doubles) -> Doubles:
    """The vectors of places, a row each."""
    vectors = np.empty((len(longitudes), 3), np.float64)
    for i in range(len(longitudes)):
        vectors[i, 0], vectors[i, 1], vectors[i, 2] = vector_of(longitudes[i], latitudes[i])
    return vectors


@kernel
def cosines_of(latitudes: Doubles) -> Doubles:
    """The cosine of each latitude."""
    found = np.empty(len(latitudes), np.float64)
    for i in range(len(latitudes)):
        found[i] = sine_and_cosine(latitudes[i])[1]
    return found


@leaf
def put_vector(vectors: Doubles, i: int, longitude: float, latitude: float) -> None:
    """Write the vector of a place into a row."""
    vectors[i, 0], vectors[i, 1], vectors[i, 2] = vector_of(longitude, latitude)


@leaf
def vector_at(vectors: Doubles, i: int) -> Vector:
    """The vector that a row holds."""
    return vectors[i, 0], vectors[i, 1], vectors[i, 2]


@kernel
def all_wrapped(longitudes: Doubles) -> bool:
    """Whether no longitude needs to be brought into [-180, 180)."""
    fine = True
    for longitude in longitudes:
        # NaN is not compared with anything that holds.
        fine &= not ((longitude < -180.0) | (longitude >= 180.0))
    return fine


@kernel
def wrapped_all(longitudes: Doubles) -> Doubles:
    """Longitudes in [-180, 180); what is not finite is NaN."""
    found = np.empty(len(longitudes), np.float64)
    for i in range(len(longitudes)):
        found[i] = wrapped(longitudes[i]) if math.isfinite(longitudes[i]) else math.nan
    return found


@kernel
def metres_between(
    longitudes: Doubles, latitudes: Doubles, others_lon: Doubles, others_lat: Doubles
) -> Doubles:
    """The distance of each place from another."""
    found = np.empty(len(longitudes), np.float64)
    for i in range(len(longitudes)):
        a = vector_of(longitudes[i], latitudes[i])
        found[i] = metres_of(square_of_chord(a, vector_of(others_lon[i], others_lat[i])))
    return found


@kernel
def arcs_over(squares: Doubles) -> Doubles:
    """The lengths of the arcs over chords, by the squares of the chords."""
    found = np.empty(len(squares), np.float64)
    for i in range(len(squares)):
        found[i] = metres_of(squares[i])
    return found


@kernel
def chords_of(metres: Doubles) -> Doubles:
    """The chord under each arc."""
    found = np.empty(len(metres), np.float64)
    for i in range(len(metres)):
        found[i] = chord_of(metres[i])
    return found
