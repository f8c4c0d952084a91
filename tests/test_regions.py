"""Static regions over columns decide every point as the oracle does, borders included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests import reference
from tests.support.effort import examples
from watchline.evaluate import contains
from watchline.model import Box, Circle, Polygon

small = st.integers(-4, 4).map(lambda i: i / 2)
number = small | st.floats(-1e6, 1e6) | st.sampled_from([1e300, -1e300, 5e-324, -0.0])
coordinate = number | st.sampled_from([math.nan, math.inf, -math.inf])
points = st.lists(st.tuples(coordinate, coordinate), max_size=20)


def check(region: Any, tree: tuple[Any, ...], places: list[tuple[float, float]]) -> None:
    x, y = np.array(places, dtype=np.float64).reshape(-1, 2).T
    expected = [reference.inside(tree, *place) for place in places]
    assert contains(region, x, y).tolist() == expected


@settings(max_examples=examples(300), deadline=None)
@given(st.tuples(number, number, number, number), points)
def test_box(corners: tuple[float, float, float, float], places: list[tuple[float, float]]) -> None:
    x1, y1, x2, y2 = corners
    if x1 != x2 and y1 != y2:
        on_corners = [(x, y) for x in (x1, x2) for y in (y1, y2)]
        check(Box(*corners), ("box", *corners), places + on_corners)


@settings(max_examples=examples(300), deadline=None)
@given(number, number, st.floats(1e-3, 1e200), points)
def test_circle(x: float, y: float, radius: float, places: list[tuple[float, float]]) -> None:
    check(Circle(x, y, radius), ("circle", x, y, radius), [*places, (x + radius, y), (x, y)])


ring = st.lists(st.tuples(small, small), min_size=3, max_size=7)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(ring, min_size=1, max_size=3), points)
def test_polygon(rings: list[list[tuple[float, float]]], places: list[tuple[float, float]]) -> None:
    assume(all(len(each) > 3 or each[0] != each[-1] for each in rings))
    vertices = [vertex for each in rings for vertex in each]
    check(Polygon.of([rings]), ("polygon", rings), places + vertices)
