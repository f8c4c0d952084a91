"""Static regions over columns decide every point as the oracle does, borders included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests import reference
from tests.support.effort import examples
from watchline.errors import InvalidRange
from watchline.evaluate import contains
from watchline.index.regions.forms import in_corridor
from watchline.model import LONGEST, SHORTEST, Box, Circle, Corridor, Polygon

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


# Some segments have no length; a corridor's are neither tiny nor huge.
bend = small | st.floats(-1e6, 1e6).filter(lambda v: v == 0 or abs(v) > 1e-3)
line = st.lists(st.tuples(bend, bend), min_size=2, max_size=5)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(line, min_size=1, max_size=3),
    st.sampled_from([SHORTEST, 0.5, 1.0, LONGEST]) | st.floats(1e-6, 1e6),
    points,
    st.lists(st.tuples(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5)), max_size=5),
)
def test_corridor(
    lines: list[list[tuple[float, float]]],
    reach: float,
    places: list[tuple[float, float]],
    turns: list[tuple[float, float]],
) -> None:
    """Also about the borders around each vertex; and as the index decides, to the last bit."""
    try:
        corridor = Corridor.of(lines, reach)
    except InvalidRange:
        assume(False)
    vertices = [vertex for each in lines for vertex in each]
    around = [(x + reach * u, y + reach * v) for x, y in vertices for u, v in [*turns, (0, 1)]]
    places = [*places, *vertices, *around]
    check(corridor, ("corridor", lines, reach), places)
    x, y = np.array(places).T
    wanted = [in_corridor(x.copy(), y.copy(), path, reach) for path in corridor.paths()]
    assert (contains(corridor, x, y) == np.logical_or.reduce(wanted)).all()


@pytest.mark.parametrize(
    ("lines", "reach", "problem"),
    [
        ([], 1.0, "needs a line"),
        ([[(0, 0)]], 1.0, "two points or more"),
        ([[(0, 0), (math.inf, 1)]], 1.0, "finite"),
        ([[(0, 0), (1, 1)]], 0.0, "the distance of a corridor must be between"),
        ([[(0, 0), (1, 1)]], math.nan, "the distance of a corridor must be between"),
        ([[(0, 0), (1, 1)]], math.nextafter(SHORTEST, 0), "the distance of a corridor"),
        ([[(0, 0), (1, 1)]], math.nextafter(LONGEST, math.inf), "the distance of a corridor"),
        ([[(0, 0), (1, 1), (1, 1 + 2 * LONGEST)]], 1.0, "the segments of a corridor"),
        ([[(0, 0), (0, SHORTEST / 2)]], 1.0, "the segments of a corridor"),
        ([[(0, 0), (1, 1)], [(-1e308, 0), (1e308, 0)]], 1.0, "the segments of a corridor"),
    ],
)
def test_what_is_no_corridor(lines: Any, reach: float, problem: str) -> None:
    with pytest.raises(InvalidRange, match=problem):
        Corridor.of(lines, reach)


def test_a_corridor_has_one_zero_and_keeps_its_line_as_it_is() -> None:
    assert Corridor.of([[(0.0, -0.0), (1, 1)]], 1) == Corridor.of([[(-0.0, 0), (1.0, 1)]], 1.0)
    closed = Corridor.of([[(0, 0), (1, 0), (1, 1), (0, 0)]], 0.25)
    assert closed.vertices == 4
    assert contains(closed, np.array([0.5, 0.3]), np.array([0.5, 0.2])).tolist() == [True, True]
    assert contains(closed, np.array([0.8]), np.array([0.4])).tolist() == [True]
