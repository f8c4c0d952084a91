"""Hypothesis strategies for places and regions on Earth, hostile where the Earth is odd.

Regions are the trees of tests/reference_earth.py. `strategies.region_sql` writes them as SQL, since
a number without a unit counts metres on a stream on Earth; `model_of` makes the product's.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests import reference_earth
from tests.reference_earth import Place
from watchline.kernels import earth
from watchline.model import Box, Circle, Corridor, MovingBox, MovingCircle, Polygon

METRES_IN_DEGREES = 1 / 111_195.0
# Where many examples are: San Francisco, a place on the antimeridian, both poles, and more.
CENTRES = [
    (-122.42, 37.77), (179.9999, -16.5), (-180.0, 65.0), (12.0, 89.9999), (-77.0, -90.0),
    (0.0, 0.0), (180.0, 0.0), (0.0, 90.0), (90.0, 45.0),
]  # fmt: skip
BEYOND_EAST = math.nextafter(180.0, math.inf)
longitudes = st.floats(-180, 180) | st.sampled_from(
    [-180.0, 180.0, math.nextafter(180.0, 0), math.nextafter(-180.0, 0), 0.0, -0.0, 90.0, -90.0]
)
# Longitudes as rows may give them: more than once around.
turned = longitudes | st.floats(-1000, 1000) | st.sampled_from([540.0, -540.0, 360.0, BEYOND_EAST])
latitudes = st.floats(-90, 90) | st.sampled_from(
    [90.0, -90.0, math.nextafter(90.0, 0), math.nextafter(-90.0, 0), 0.0, 45.0, 89.9999999]
)


def clamped(lat: float) -> float:
    return min(90.0, max(-90.0, lat))


def antipode(place: Place) -> Place:
    return place[0] + (180.0 if place[0] <= 0 else -180.0), -place[1]


def beside(place: Place, east: float, north: float) -> Place:
    """So many metres away, about."""
    wide = math.cos(math.radians(place[1]))
    lon = place[0] + (east * METRES_IN_DEGREES / wide if wide > 1e-9 else east)
    return reference_earth.wrapped(lon), clamped(place[1] + north * METRES_IN_DEGREES)


# From 10 cm to beyond half the way round.
radii = st.one_of(
    st.sampled_from([0.1, 1.0, 500.0, 1e5, 1e7, 20_015_000.0, 20_015_115.0, 3e7, 1e300]),
    st.floats(-1, 7.4).map(lambda power: 10.0**power),
)
# In metres, about a place.
steps = st.one_of(
    st.sampled_from([0.0, 0.05, -0.1, 1.0]),
    st.floats(-1, 6).map(lambda power: 10.0**power),
    st.floats(-1, 6).map(lambda power: -(10.0**power)),
)
clustered = st.builds(beside, st.sampled_from(CENTRES), steps, steps)
places: st.SearchStrategy[Place] = st.one_of(
    clustered,
    st.tuples(longitudes, latitudes),
    st.sampled_from(CENTRES),
    (clustered | st.sampled_from(CENTRES)).map(antipode),
)


@st.composite
def around(draw: st.DrawFn, place: Place, metres: float, most: int = 8) -> list[Place]:
    """Places about a circle's border, in its middle and elsewhere."""
    reach = min(metres, 3e7)
    turns = draw(st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), max_size=most))
    near = [beside(place, reach * u, reach * v) for u, v in turns]
    return [*near, place, antipode(place), *draw(st.lists(places, max_size=most))]


# --- regions


@st.composite
def boxes(draw: st.DrawFn) -> reference_earth.Region:
    """West may be east of east; the poles and whole turns come up."""
    low, high = sorted(draw(st.tuples(latitudes, latitudes).filter(lambda two: two[0] != two[1])))
    west, east = draw(st.tuples(longitudes, longitudes).filter(_are_apart))
    return ("box", west, low, east, high)


def _are_apart(two: tuple[float, float]) -> bool:
    west, east = map(reference_earth.wrapped, two)
    return west != east or two[1] - two[0] >= 360


@st.composite
def circles(draw: st.DrawFn) -> reference_earth.Region:
    return ("circle", *draw(places), draw(radii))


@st.composite
def polygons(draw: st.DrawFn) -> reference_earth.Region:
    """Rings within the sheet; `reference.in_polygon` takes any, crossing ones too."""
    lon, lat = draw(places)
    size = draw(st.sampled_from([0.001, 0.1, 5.0, 60.0]))
    lon = min(max(lon, -180.0 + size), 180.0 - size)
    lat = min(max(lat, -90.0 + size), 90.0 - size)
    corner = st.tuples(st.floats(-1, 1), st.floats(-1, 1))
    corners = draw(st.lists(corner, min_size=3, max_size=6, unique=True))
    return ("polygon", [[(lon + size * u, lat + size * v) for u, v in corners]])


@st.composite
def corridors(draw: st.DrawFn) -> reference_earth.Region:
    """Lines that may run beyond 180 degrees."""
    lon, lat = draw(places)
    size = draw(st.sampled_from([0.001, 0.1, 5.0, 60.0]))
    corner = st.tuples(st.floats(-1, 1), st.floats(-1, 1))
    lines = draw(st.lists(st.lists(corner, min_size=2, max_size=4), min_size=1, max_size=2))
    reach = draw(st.floats(-1, 6).map(lambda power: 10.0**power))
    return (
        "corridor",
        [[(lon + size * u, clamped(lat + size * v)) for u, v in line] for line in lines],
        reach,
    )


static_regions = st.one_of(boxes(), circles(), polygons(), corridors())


def moving_regions(focal: Any) -> st.SearchStrategy[reference_earth.Region]:
    return st.one_of(
        st.tuples(st.just("mbox"), st.just(focal), radii, radii),
        st.tuples(st.just("mcircle"), st.just(focal), radii),
    )


def model_of(region: reference_earth.Region) -> Any:
    """The region as the product has it."""
    kind, *parts = region
    if kind == "box":
        west, south, east, north = parts
        return Box(west, south, east, north, on_earth=True)
    if kind == "circle":
        lon, lat, radius = parts
        return Circle(lon, lat, radius, on_earth=True)
    if kind == "corridor":
        lines, reach = parts
        return Corridor.of(lines, reach, on_earth=True)
    if kind == "polygon":
        return Polygon.of([parts[0]])
    return MovingBox(*parts) if kind == "mbox" else MovingCircle(*parts)


def columns(some: list[Place]) -> tuple[Any, Any]:
    """Longitudes and latitudes of places, as two arrays."""
    lon, lat = np.array(some, dtype=np.float64).reshape(-1, 2).T
    return np.ascontiguousarray(lon), np.ascontiguousarray(lat)


def measured() -> str:
    """What all kernels of degrees make of some places, each bit of it: a line for each kernel."""
    rng = np.random.default_rng(23)
    lon, lat = rng.uniform(-180, 180, 300), np.degrees(np.arcsin(rng.uniform(-1, 1, 300)))
    lon[:6], lat[:6] = [-180, 0, 90, -90, 45, 135], [90, -90, 0, 45, -45, 89.9999]
    metres = 10 ** rng.uniform(-1, 7.4, 300)
    vectors = earth.vectors_of(lon, lat)
    found = {
        "wrapped": earth.wrapped_all(lon * 5),
        "vectors": vectors.ravel(),
        "metres": earth.metres_between(lon, lat, lon[::-1].copy(), lat[::-1].copy()),
        "chords": earth.chords_of(metres),
        "bounds": [
            side
            for x, y, r in zip(lon, lat, metres, strict=True)
            for side in (*earth.bounds_around(x, y, r), *earth.box_around(x, y, r, 0.5 * r))
        ],
    }
    return "\n".join(
        f"{name} {hashlib.sha256(np.array(values, dtype=np.float64).tobytes()).hexdigest()}"
        for name, values in found.items()
    )
