"""Regions on Earth as the model has them: what is taken, what is refused, and which points."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import reference_earth
from tests.reference_earth import Place, Region
from tests.support.earth import boxes, columns, model_of, places
from tests.support.effort import examples
from watchline.errors import InvalidRange
from watchline.evaluate import contains
from watchline.model import Box, Circle, Corridor, Polygon

LAST = math.nextafter(180.0, 0)


@settings(max_examples=examples(500), deadline=None)
@given(boxes(), st.lists(places, max_size=12))
@example(("box", -180.0, -5.0, LAST, 5.0), [(LAST, 0.0)])
@example(("box", 170.0, -5.0, -180.0, 90.0), [(0.0, 90.0), (175.0, 90.0), (180.0, 1.0)])
def test_a_box_is_a_box_or_two_of_the_plane(region: Region, some: list[Place]) -> None:
    _, west, south, east, north = region
    corners = [(lon, lat) for lon in (west, east) for lat in (south, north)]
    lon, lat = columns(
        [(reference_earth.wrapped(x), y) for x, y in (*some, *corners, (0.0, 90.0), (0.0, -90.0))]
    )
    box = model_of(region)
    wanted = [reference_earth.inside(region, *place) for place in zip(lon, lat, strict=True)]
    assert contains(box.flat, lon, lat).tolist() == wanted
    assert isinstance(box.flat, Polygon) == box.crosses


def test_corners_of_a_box() -> None:
    box = Box(170, -10, 190, 10, on_earth=True)
    assert (box.x1, box.x2, box.crosses) == (170, -170, True)
    assert box == Box(170, -10, -170, 10, on_earth=True)
    # The east side does not belong to the box: 180 is not -180 there.
    assert Box(170, -10, 180, 10, on_earth=True).x2 == 180
    assert not Box(170, -10, 180, 10, on_earth=True).crosses
    assert Box(-180, -90, 180, 90, on_earth=True).x2 == 180
    assert Box(0, -90, 360, 90, on_earth=True) == Box(-180, -90, 180, 90, on_earth=True)
    assert repr(Box(0, 80, 10, 90, on_earth=True)) == "INSIDE (0, 80, 10, 90)"


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda: Box(0, 5, 1, 5, on_earth=True), "south 5 is not below north 5"),
        (lambda: Box(0, 6, 1, 5, on_earth=True), "south 6 is not below north 5"),
        (lambda: Box(3, 0, 3, 5, on_earth=True), "west and east are both 3"),
        (lambda: Box(180, 0, -180, 5, on_earth=True), "west and east are both -180"),
        (lambda: Box(-122, 37, -121, 95, on_earth=True), "longitude and latitude swapped"),
        (lambda: Box(37, -122, 38, -121, on_earth=True), "longitude and latitude swapped"),
        (lambda: Circle(37.7, -122.4, 500, on_earth=True), "longitude and latitude swapped"),
        (lambda: Circle(0, 0, 0, on_earth=True), "greater than zero"),
        (lambda: Circle(math.inf, 0, 1, on_earth=True), "finite"),
        (lambda: Corridor.of([[(0, 0), (5, 91)]], 10, on_earth=True), "swapped"),
        (lambda: Corridor.of([[(0, 0), (5, 9)]], 0, on_earth=True), "the distance of a corridor"),
    ],
)
def test_what_is_no_region_on_earth(made: Any, problem: str) -> None:
    with pytest.raises(InvalidRange, match=problem):
        made()


def test_centres_come_around() -> None:
    assert Circle(180, 5, 10, on_earth=True) == Circle(-540, 5, 10, on_earth=True)
    assert Circle(180, 5, 10, on_earth=True).x == -180
    # On a plane 180 stays.
    assert Circle(180, 5, 10).x == 180


def test_lengths_are_metres() -> None:
    assert repr(Circle(1, 2, 500, on_earth=True)) == "INSIDE CIRCLE (1, 2, 500 METERS)"
    text = repr(Corridor.of([[(0, 0), (1, 1)]], 25, on_earth=True))
    assert text == "INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 25 METERS"
