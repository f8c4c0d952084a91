"""Units are exact, and a polygon over the antimeridian is where it was drawn."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from watchline import sql
from watchline.evaluate import contains
from watchline.model import Circle, Corridor, Polygon, Query, Stream

CABS = (
    "CREATE STREAM cabs (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY"
)


def stream(clauses: str = "") -> Stream:
    made = sql.statement(f"{CABS} {clauses}")
    assert isinstance(made, sql.CreateStream)
    return made.stream


def query(clauses: str) -> Query:
    made = sql.statement(f"CREATE QUERY q AS SELECT * FROM cabs {clauses}", [stream()])
    assert isinstance(made, sql.CreateQuery)
    return made.query


def polygon(shape: shapely.Geometry) -> Polygon:
    region = query(f"INSIDE POLYGON '{shapely.to_wkt(shape, rounding_precision=-1)}'").region
    assert isinstance(region, Polygon)
    return region


@pytest.mark.parametrize(
    ("words", "metres"),
    [
        *[(word, "1") for word in ("METER", "METERS", "METRE", "METRES", "M", "m", "Meters", "")],
        *[(word, "1000") for word in ("KILOMETER", "KILOMETERS", "KILOMETRE", "kilometres", "KM")],
        *[(word, "1609.344") for word in ("MILE", "MILES", "MI")],
        *[(word, "0.3048") for word in ("FOOT", "FEET", "FT")],
    ],
)
def test_lengths_are_rounded_once(words: str, metres: str) -> None:
    for number in ("0.1", "3", "2.5", "1e-3", "123456.789"):
        expected = float(Fraction(number) * Fraction(metres))
        region = query(f"INSIDE CIRCLE (1, 2, {number} {words})").region
        assert region == Circle(1, 2, expected, on_earth=True)
        corridor = query(f"WHERE INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN {number} {words}")
        [atom] = corridor.where[0].atoms
        line = Corridor.of([[(0, 0), (1, 1)]], expected, on_earth=True)
        assert atom.region == line  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("words", "metres"),
    [
        *[(w, Fraction(1)) for w in ("", "METERS PER SECOND", "metre per second", "M PER SECOND")],
        *[(w, Fraction(1000, 3600)) for w in ("KILOMETERS PER HOUR", "KM PER HOUR")],
        *[(w, Fraction("1609.344") / 3600) for w in ("MILES PER HOUR", "MI PER HOUR")],
        *[(w, Fraction("0.3048")) for w in ("FEET PER SECOND", "FOOT PER SECOND")],
    ],
)
def test_speeds_are_metres_per_second(words: str, metres: Fraction) -> None:
    for number in ("40", "0.7", "123.456"):
        assert stream(f"MAX SPEED {number} {words}").max_speed == float(Fraction(number) * metres)


def test_what_is_within_180_degrees_stays_bit_for_bit() -> None:
    ring = [(-180.0, 0.1), (179.99999999999997, 0.2), (180.0, 77.7), (0.0, 80.0)]
    half = [(-180.0, 0.1), (0.0, 0.15), *ring[1:]]
    assert polygon(shapely.Polygon(half)) == Polygon.of([[half]])


def test_rings_that_touch_are_cut() -> None:
    """GEOS calls them invalid; their inside is clear."""
    touching = shapely.Polygon(
        [(170, 0), (190, 0), (190, 8), (184, 4), (186, 2), (182, 2), (184, 4), (170, 8)]
    )
    assert not touching.is_valid
    region = polygon(touching)
    found = contains(region, np.array([175.0, -171.0, -176.0, -179.0]), np.array([1, 1, 2.5, 4.5]))
    assert found.tolist() == [True, True, False, True]


corner = st.tuples(st.floats(0.1, 1), st.floats(0.05, 1))


@settings(max_examples=examples(200), deadline=None)
@given(st.floats(-360, 360), st.floats(1e-3, 179), st.lists(corner, min_size=3, max_size=12))
def test_a_polygon_is_where_it_was_drawn(
    middle: float, size: float, corners: list[tuple[float, float]]
) -> None:
    """A star around any longitude, whatever is cut of it, has the points that it has unrolled."""
    turn = math.tau / sum(step for _, step in corners)
    angles = np.cumsum([step * turn for _, step in corners])
    far = np.array([far for far, _ in corners])
    ring = np.stack([middle + size * far * np.cos(angles), 80 * far * np.sin(angles)], axis=1)
    shape = shapely.Polygon(ring)
    steps = np.abs(np.diff(np.concatenate([ring, ring[:1]])[:, 0]))
    if not shape.is_valid or (steps > 180).any():
        return
    region = polygon(shape)
    assert all(-180 <= x <= 180 for each in region.rings() for x in each[:, 0].tolist())
    again = polygon(shapely.from_wkt(region.sql.removeprefix("INSIDE POLYGON ").strip("'")))
    assert again == region
    rng = np.random.default_rng(len(corners))
    x = np.concatenate([rng.uniform(-180, 180, 200), np.full(20, -180.0)])
    y = rng.uniform(-90, 90, 220)
    drawn = np.zeros(220, dtype=np.bool_)
    clear = np.ones(220, dtype=np.bool_)
    for turned in (-720, -360, 0, 360, 720):
        points = shapely.points(x + turned, y)
        drawn |= shapely.contains(shape, points)
        clear &= shapely.distance(shape.exterior, points) > 1e-9
    assert (contains(region, x, y) == drawn)[clear].all()
