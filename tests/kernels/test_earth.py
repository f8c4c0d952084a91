"""Degrees, vectors and chords: against the oracle on Earth, and against geodesics."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from geographiclib.geodesic import Geodesic
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests import reference_earth
from tests.reference_earth import Place
from tests.support.earth import (
    around,
    beside,
    columns,
    latitudes,
    measured,
    places,
    radii,
    steps,
    turned,
)
from tests.support.effort import examples
from tests.support.unjitted import as_plain_python
from watchline.kernels import earth
from watchline.kernels.earth import HALF_ROUND, RADIUS

finite = st.floats(allow_nan=False, allow_infinity=False)
# Doubles of six thousand kilometres are a nanometre apart.
NANOMETRES = 2.5e-9


# --- angles


@settings(max_examples=examples(2000), deadline=None)
@given(st.floats(-180, 180) | turned.filter(lambda x: abs(x) <= 180))
@example(45.0)
@example(-135.0)
@example(1e-300)
def test_sines_are_good_to_the_last_bits(degrees: float) -> None:
    exact = np.longdouble(degrees) * reference_earth.PI / 180
    sine, cosine = earth.sine_and_cosine(degrees)
    assert abs(sine - np.sin(exact)) <= 2.5e-16
    assert abs(cosine - np.cos(exact)) <= 2.5e-16
    assert sine * sine + cosine * cosine == pytest.approx(1.0, abs=1e-15)


def test_quarters_of_a_turn_are_exact() -> None:
    for degrees, wanted in {
        0.0: (0, 1), 90.0: (1, 0), -90.0: (-1, 0), 180.0: (0, -1), -180.0: (0, -1),
    }.items():  # fmt: skip
        assert earth.sine_and_cosine(degrees) == wanted


@settings(max_examples=examples(2000), deadline=None)
@given(finite | turned)
@example(180.0)
@example(-180.0)
@example(math.nextafter(180.0, 0))
@example(math.nextafter(-180.0, -math.inf))
@example(540.0)
def test_longitudes_come_around_by_the_exact_remainder(lon: float) -> None:
    rest = math.remainder(lon, 360.0)
    wanted = -180.0 if rest == 180.0 else rest
    assert earth.wrapped(lon) == wanted
    assert earth.wrapped_all(np.array([lon])).tolist() == [wanted]
    assert earth.all_wrapped(np.array([0.0, lon])) == (-180 <= lon < 180)


def test_what_is_no_longitude() -> None:
    assert math.isnan(earth.wrapped(math.nan))
    odd = np.array([math.nan, math.inf, -math.inf])
    assert np.isnan(earth.wrapped_all(odd)).all()
    assert earth.all_wrapped(np.array([math.nan, 3.0]))
    assert not earth.all_wrapped(np.array([math.inf]))


# --- vectors and distances

pairs = st.one_of(
    st.tuples(places, places),
    st.builds(lambda a, east, north: (a, beside(a, east, north)), places, steps, steps),
)


@settings(max_examples=examples(1000), deadline=None)
@given(places)
def test_vectors(place: Place) -> None:
    found, wanted = earth.vector_of(*place), reference_earth.vector(*place)
    assert all(abs(a - b) <= NANOMETRES for a, b in zip(found, wanted, strict=True))
    lon, lat = columns([place, place])
    assert earth.vectors_of(lon, lat).tolist() == [list(found)] * 2


@settings(max_examples=examples(1000), deadline=None)
@given(pairs)
def test_distances(two: tuple[Place, Place]) -> None:
    a, b = two
    chord = reference_earth.chord(a, b)
    found = math.sqrt(earth.square_of_chord(earth.vector_of(*a), earth.vector_of(*b)))
    assert abs(found - chord) <= 2 * NANOMETRES
    told = [*earth.metres_between(*columns([a]), *columns([b]))]
    wanted = reference_earth.distance(a, b)
    # An arc of nearly half the way round is steep over its chord.
    assert told == [pytest.approx(wanted, rel=1e-12 if wanted < 2e7 else 1e-8, abs=2 * NANOMETRES)]
    # The same bits in the other direction.
    assert told == [*earth.metres_between(*columns([b]), *columns([a]))]


@settings(max_examples=examples(2000), deadline=None)
@given(st.floats(1e-9, HALF_ROUND))
def test_lengths_go_to_chords_and_back(metres: float) -> None:
    chord = earth.chord_of(metres)
    if metres >= HALF_ROUND:
        assert chord == math.inf
        return
    wanted = reference_earth.longest_chord(metres)
    assert abs(chord - wanted) <= 4e-16 * float(wanted)
    assert earth.chords_of(np.array([metres])).tolist() == [chord]
    # Near half the way round one chord stands for many lengths.
    steepness = 1 / max(math.cos(metres / (2 * RADIUS)), 1e-8)
    assert earth.metres_of(chord * chord) == pytest.approx(metres, rel=1e-15 * steepness)


def test_lengths_that_reach_everywhere_or_nowhere() -> None:
    assert earth.chord_of(0.0) == 0.0
    assert earth.metres_of(0.0) == 0.0
    for metres in (HALF_ROUND, 3e7, math.inf):
        assert earth.chord_of(metres) == math.inf
    # The greatest chord is that of two places on the equator, above the mean diameter.
    assert earth.metres_of((2 * 6_378_137.0) ** 2) == pytest.approx(HALF_ROUND, rel=1e-15)
    assert math.isfinite(earth.chord_of(math.nextafter(HALF_ROUND, 0)))


@settings(max_examples=examples(500), deadline=None)
@given(places, radii, st.data())
def test_a_circle_holds_what_the_oracle_says(centre: Place, metres: float, data: Any) -> None:
    some = [p for p in data.draw(around(centre, metres)) if abs(p[1]) <= 90]
    chord, middle = earth.chord_of(metres), earth.vector_of(*centre)
    for place in some:
        if not reference_earth.is_close_within(centre, place, metres):
            square = earth.square_of_chord(middle, earth.vector_of(*place))
            assert (square <= chord * chord) == reference_earth.within(centre, place, metres)


# How far distances are from those along geodesics at most, by how long they are: the Earth is bent
# more sharply along some ways than along others, and an arc over a chord knows the mean alone.
ERRORS = [(1e3, 1.2e-8), (1e4, 1.2e-5), (1e5, 1.2e-2), (1e6, 12.0)]


@pytest.mark.parametrize(("metres", "error"), ERRORS)
def test_distances_along_geodesics(metres: float, error: float) -> None:
    draw = random.Random(7)
    worst = 0.0
    for _ in range(examples(2000)):
        lat, lon = math.degrees(math.asin(draw.uniform(-1, 1))), draw.uniform(-180, 180)
        end = Geodesic.WGS84.Direct(lat, lon, draw.uniform(0, 360), metres)
        a, b = (earth.vector_of(earth.wrapped(x), y) for x, y in
                ((lon, lat), (end["lon2"], end["lat2"])))  # fmt: skip
        worst = max(worst, abs(earth.metres_of(earth.square_of_chord(a, b)) - metres))
    assert worst <= error + 4 * NANOMETRES


# --- bounds


def in_bounds(bounds: earth.Bounds, lon: float, lat: float) -> bool:
    west, south, east, north = bounds
    within = earth.between_longitudes(lon, west, east) or lon == east
    return within and south <= lat <= north


@settings(max_examples=examples(1000), deadline=None)
@given(places, radii, st.data())
def test_bounds_hold_all_that_is_near(centre: Place, metres: float, data: Any) -> None:
    lon, lat = earth.wrapped(centre[0]), centre[1]
    bounds = earth.bounds_around(lon, lat, metres)
    chord, middle = earth.chord_of(metres), earth.vector_of(lon, lat)
    for place in data.draw(around(centre, metres)):
        square = earth.square_of_chord(middle, earth.vector_of(*place))
        if square <= chord * chord:
            assert in_bounds(bounds, earth.wrapped(place[0]), place[1])


@settings(max_examples=examples(1000), deadline=None)
@given(places, st.floats(-1, 6.5).map(lambda power: 10.0**power))
def test_bounds_are_not_much_wider_than_they_must_be(centre: Place, metres: float) -> None:
    lon, lat = earth.wrapped(centre[0]), centre[1]
    west, south, east, north = earth.bounds_around(lon, lat, metres)
    reach = metres / earth.DEGREE_METRES * 1.01 + 1e-11
    assert south == -math.inf or south >= lat - reach
    assert north == math.inf or north <= lat + reach
    if abs(lat) + reach < 89:
        sine = math.sin(math.radians(reach)) / math.cos(math.radians(lat))
        if sine < 0.99:
            aside = (math.degrees(math.asin(sine)) + 1e-10) * 1.001
            assert (east - west) % 360 <= 2 * aside


def test_bounds_of_places_where_the_earth_is_odd() -> None:
    inf = math.inf
    assert earth.bounds_around(0.0, 90.0, 1000.0) == (
        -inf,
        pytest.approx(89.99, abs=2e-3),
        inf,
        inf,
    )
    west, _, east, _ = earth.bounds_around(179.999, 0.0, 1000.0)
    assert (west, east) == (pytest.approx(179.99, abs=1e-3), pytest.approx(-179.992, abs=1e-3))
    assert earth.bounds_around(5.0, 5.0, HALF_ROUND) == (-inf, -inf, inf, inf)


@settings(max_examples=examples(1000), deadline=None)
@given(places, radii, radii, st.data())
@example((0.0, 0.0), 2 * HALF_ROUND, 1.0, None)
def test_a_moving_box_holds_what_the_oracle_says(
    centre: Place, width: float, height: float, data: Any
) -> None:
    region = ("mbox", 1, width, height)
    west, south, east, north = earth.box_around(earth.wrapped(centre[0]), centre[1], width, height)
    some = [(180.0, 0.0)] if data is None else data.draw(around(centre, min(width, height)))
    for lon, lat in some:
        if not reference_earth.is_close(region, lon, lat, centre):
            found = (
                earth.between_longitudes(earth.wrapped(lon), west, east) and south <= lat < north
            )
            assert found == reference_earth.inside(region, lon, lat, centre)


@settings(max_examples=examples(500), deadline=None)
@given(turned, turned, turned, latitudes)
def test_sides_of_longitude(lon: float, west: float, east: float, lat: float) -> None:
    lon, west, east = map(earth.wrapped, (lon, west, east))
    assume(west != east and abs(lat) < 90)
    wanted = reference_earth.inside(("box", west, -90.0, east, 90.0), lon, lat)
    assert earth.between_longitudes(lon, west, east) == wanted


def test_as_plain_python() -> None:
    """The same bits, whether the kernels are compiled or not."""
    assert as_plain_python("earth") == measured().splitlines()
