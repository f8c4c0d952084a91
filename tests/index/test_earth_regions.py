"""Regions on Earth against an oracle of three dimensions, and bit by bit against `evaluate`."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference_earth as earth
from tests.support import earth_regions as by
from tests.support.effort import examples, seeds
from watchline.errors import InvalidRange
from watchline.evaluate import contains
from watchline.index import regions
from watchline.model import Box, Circle, Corridor, Polygon


@pytest.mark.parametrize("seed", seeds([1, 2, 3]))
def test_regions_on_earth_come_and_go(seed: int) -> None:
    by.interleave(np.random.default_rng([seed, 23]), 10, 12)


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_generated_regions_on_earth(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    held = {int(i) - 7: by.region(rng) for i in range(count)}
    index = by.index_of(held)
    points = by.places(index, held, rng, 60)
    by.compare(index, held, points)
    by.compare_moves(index, held, points, points[rng.permutation(len(points))])


degrees = st.sampled_from([-180.0, -90.0, -0.5, 0.0, 1e-9, 45.0, 89.5, 90.0, 179.75])


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.tuples(degrees, degrees.filter(lambda d: abs(d) <= 90), st.sampled_from(by.RADII)),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.tuples(degrees, degrees.filter(lambda d: abs(d) <= 90)), min_size=1, max_size=20),
)
def test_circles_of_a_small_world(circles: list[Any], places: list[Any]) -> None:
    held: by.Held = {i: ("circle", *circle) for i, circle in enumerate(circles)}
    index = by.index_of(held)
    points = np.array(places)
    by.compare(index, held, points)
    by.compare_moves(index, held, points, points[::-1].copy())


@pytest.mark.parametrize("seed", seeds([5, 6]))
@pytest.mark.parametrize("metres", [0.1, 30.0, 20_000.0, 1e6])
def test_crowds_of_circles(seed: int, metres: float) -> None:
    """Enough of them for grids within grids: around poles, at the antimeridian, in a town."""
    rng = np.random.default_rng([seed, int(metres)])
    wide = metres / 111_195 * 20
    centres = []
    for lon, lat in ((180.0, 10.0), (-122.4, 37.8), (7.0, 71.0)):
        centres.append(np.array([lon, lat]) + rng.uniform(-wide, wide, (120, 2)))
    for pole in (90.0, -90.0):
        away = np.sign(pole) * rng.uniform(0, wide, 120)
        centres.append(np.stack([rng.uniform(-180, 180, 120), pole - away], axis=1))
    at = np.concatenate(centres)
    at[:, 0] = [earth.wrapped(lon) for lon in at[:, 0].tolist()]
    at[:, 1] = np.clip(at[:, 1], -90, 90)
    radius = metres * rng.uniform(0.5, 1.5, len(at))
    circles = np.column_stack([at, radius]).tolist()
    held: by.Held = {i: ("circle", *circle) for i, circle in enumerate(circles)}
    index = wl.index.build_regions(at, radius=radius, geography=True)
    points = by.places(index, held, rng, 500)
    by.compare(index, held, points, oracle=2)
    by.compare_moves(index, held, points, points[::-1].copy())


def inside(index: Any, *points: tuple[float, float]) -> list[list[int]]:
    return by.listed(index.stab(points))


def test_500_metres_around_places() -> None:
    """A degree of longitude is 88 km at San Francisco, and nothing at a pole."""
    centres = [(-122.4, 37.8), (10, 90), (180, 0)]
    index = wl.index.build_regions(centres, radius=[500, 500, 500], geography=True)
    assert inside(index, (-122.4, 37.8044), (-122.4, 37.8046)) == [[0], []]
    assert inside(index, (-122.3944, 37.8), (-122.3942, 37.8)) == [[0], []]
    assert inside(index, (0, 90), (-77, 89.9956), (123, 89.995)) == [[1], [1], []]
    assert inside(index, (-179.9956, 0), (179.9956, 0), (179.995, 0)) == [[2], [2], []]
    # Longitudes of points are as they come.
    assert inside(index, (180, 0), (540, 0), (-180, 0), (237.6, 37.8)) == [[2], [2], [2], [0]]


def test_half_the_way_round_is_everywhere() -> None:
    half = math.pi * 6_371_008.8
    index = wl.index.build_regions([(0, 0)] * 3, radius=[half, 1e9, half * 0.999], geography=True)
    points = [(0, 0), (-180, 0), (180, 0), (77, 90), (3, -90), (179.99, 0.01)]
    assert inside(index, *points) == [[0, 1, 2], [0, 1], [0, 1], [0, 1, 2], [0, 1, 2], [0, 1]]


def test_the_pole_has_every_longitude() -> None:
    index = wl.index.build_regions([(33.3, 89.9)], radius=11_200, geography=True)
    points = [(lon, 90.0) for lon in np.linspace(-180, 179, 50)]
    assert inside(index, *points) == [[0]] * 50
    near = wl.index.build_regions([(33.3, 89.9)], radius=11_100, geography=True)
    assert inside(near, *points) == [[]] * 50


def test_a_polygon_runs_across_the_antimeridian() -> None:
    """Beyond 180, or cut as RFC 7946 asks: the same."""
    cut = shapely.MultiPolygon([shapely.box(170, -5, 180, 5), shapely.box(-180, -5, -170, 5)])
    hole = shapely.Polygon(
        [(170, -5), (190, -5), (190, 5), (170, 5)], [[(178, -1), (182, -1), (182, 1), (178, 1)]]
    )
    shapes = [cut, shapely.box(170, -5, 190, 5), shapely.box(-190, -5, -170, 5), hole]
    index = wl.index.build_regions(shapes, geography=True)
    assert inside(index, (175, 0), (-175, 0), (-180, 0), (-160, 0), (169.9, 0), (-179, 4)) == [
        [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2], [], [], [0, 1, 2, 3],
    ]  # fmt: skip
    index.insert([9], [shapely.box(530, -5, 538, 5)])
    assert inside(index, (175, 0), (169.9, 0), (178, 0)) == [[0, 1, 2, 3, 9], [], [0, 1, 2]]


def test_polygons_around_poles() -> None:
    around = [(-120.0, 80.0), (0.0, 80.0), (120.0, 80.0)]
    with pytest.raises(InvalidRange, match="geometry 0: it goes around a pole: write it as RFC"):
        wl.index.build_regions([shapely.Polygon(around)], geography=True)
    beyond = shapely.Polygon([(0, -80), (120, -75), (240, -80), (360, -70)])
    with pytest.raises(InvalidRange, match="around a pole"):
        wl.index.build_regions([beyond], geography=True)
    with pytest.raises(InvalidRange, match="has an edge from longitude 170 to -170, 340 degrees"):
        wl.index.build_regions([shapely.box(-170, 10, 170, 20)], geography=True)
    antarctica = [(-180, -90), (180, -90), (180, -70), (60, -65), (-60, -65), (-180, -70)]
    wide = shapely.Polygon([(-170, 10), (0, 10), (170, 10), (170, 20), (0, 20), (-170, 20)])
    index = wl.index.build_regions([shapely.Polygon(antarctica), wide], geography=True)
    assert inside(index, (0, -90), (50, -80), (50, -60), (0, 15), (175, 15)) == [
        [0], [0], [], [1], []
    ]  # fmt: skip


def test_a_box_crosses_the_antimeridian() -> None:
    boxes = {0: ("box", 170.0, -10.0, -170.0, 10.0), 1: ("box", -20.0, 80.0, 20.0, 90.0),
             2: ("box", 170.0, 60.0, 530.0, 90.0)}  # fmt: skip
    index = by.index_of(boxes)
    assert inside(index, (170, -10), (-170, 0), (-180, 0), (169, 0), (0, 90), (-180, 90)) == [
        [0], [], [0], [], [1, 2], [2]
    ]  # fmt: skip


def test_a_corridor_across_the_antimeridian() -> None:
    """At latitude 60 a degree of longitude is half as long."""
    line = shapely.LineString([(179.9, 60), (180.1, 60)])
    index = wl.index.build_regions([line], within=[5_600], geography=True)
    points = [(-179.95, 60.05), (-179.81, 60), (-179.79, 60), (179.81, 60), (179.79, 60)]
    assert inside(index, *points) == [[0], [0], [], [0], []]
    assert inside(index, (180, 60.0503), (180, 60.0504)) == [[0], []]


def test_what_is_nowhere_on_earth_is_refused() -> None:
    swapped = "latitude 122.4, beyond 90: are longitude and latitude swapped"
    for shape, options in (
        (shapely.Point(37.8, 122.4), {"radius": 5}),
        (shapely.LineString([(0, 0), (37.8, 122.4)]), {"within": 5}),
        (shapely.box(0, 0, 37.8, 122.4), {}),
    ):
        shapes = np.array([shapely.box(0, 0, 1, 1), shape])
        lengths = {name: [np.nan, value] for name, value in options.items()}
        with pytest.raises(InvalidRange, match=f"geometry 1: it has {swapped}"):
            wl.index.build_regions(shapes, geography=True, **lengths)
    with pytest.raises(InvalidRange, match=f"geometry 0: it has {swapped}"):
        wl.index.build_regions([[37.8, 122.4]], radius=5, geography=True)
    index = wl.index.build_regions([[0, 0]], radius=5, geography=True)
    with pytest.raises(InvalidRange, match=f"a point has {swapped}"):
        index.stab([(0, 0), (0, 122.4)])
    with pytest.raises(InvalidRange, match=f"a point has {swapped}"):
        index.changes([(0, 0)], [(0, 122.4)])
    with pytest.raises(InvalidRange, match="longitudes from -200 to 200"):
        wl.index.build_regions([shapely.box(-200, 0, 200, 1)], geography=True)
    assert inside(index, (math.nan, 0), (0, math.inf)) == [[], []]


def test_evaluate_knows_what_is_nowhere() -> None:
    x, y = np.array([math.nan, 0, math.inf, 0.0]), np.array([0, math.nan, 0, 0.0])
    for region in (
        Circle(0, 0, 1e9, on_earth=True),
        Corridor.of([[(0, 0), (1, 1)]], 1e6, on_earth=True),
        Box(-20, -20, -30, 20, on_earth=True),
    ):
        assert contains(region, x, y).tolist() == [False, False, False, True]


def test_planar_and_earthly_regions_are_not_alike() -> None:
    flat = wl.index.build_regions([(0, 0)], radius=5)
    round_ = wl.index.build_regions([(0, 0)], radius=5, geography=True)
    assert inside(flat, (3, 3)) == [[0]]
    assert inside(round_, (3, 3)) == [[]]


def test_processes_can_map_regions_on_earth() -> None:
    rng = np.random.default_rng(1)
    centres = np.stack([rng.uniform(-180, 180, 500), rng.uniform(-90, 90, 500)], axis=1)
    index = wl.index.build_regions(centres, radius=3e5, geography=True)
    index.insert([900], [[500.0, 20.5]], radius=1e5)
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(index, protocol=5, buffer_callback=buffers.append)
    assert len(head) < 5_000
    mapped = pickle.loads(head, buffers=[bytearray(each.raw()) for each in buffers])
    points = np.concatenate([centres, [[140.0, 20.5]]])
    assert 900 in inside(mapped, (140, 20.5))[0]
    assert by.listed(mapped.stab(points)) == by.listed(index.stab(points))
    assert index.nbytes > centres.nbytes * 4


def test_shapes_that_are_whole_cells() -> None:
    """Cells within a large circle are known to be, so that its inside costs nothing."""
    index = wl.index.build_regions([(12.5, 47.1)] * 40, radius=1e6, geography=True)
    rng = np.random.default_rng(3)
    held: by.Held = dict.fromkeys(range(40), ("circle", 12.5, 47.1, 1e6))
    points = by.places(index, held, rng, 200)
    by.compare(index, held, points, oracle=3)
    assert index.cells_nbytes < 2e6


def test_a_ring_of_degrees_is_the_polygon_of_the_plane() -> None:
    rng = np.random.default_rng(4)
    ring = [(0.1, 0.2), (7.3, 1.1), (6.6, 9.7), (1.2, 5.5)]
    points = rng.uniform(-1, 10, (2_000, 2))
    found = wl.index.build_regions([shapely.Polygon(ring)], geography=True).stab(points)
    x, y = np.ascontiguousarray(points.T)
    assert found.rows().tolist() == np.flatnonzero(contains(Polygon.of([[ring]]), x, y)).tolist()


def test_columns_are_stored_without_vectors_and_shrink() -> None:
    shapes = [shapely.box(0, 0, 1, 1), shapely.Point(190, 10), shapely.Point(0, 90)]
    shapes += [shapely.LineString([(0, 0), (5, 5)]), shapely.Point(7, 7)]
    radius, within = [np.nan, 5e5, 1e3, np.nan, 7.0], [np.nan, np.nan, np.nan, 1.0, np.nan]
    columns = regions.read_regions(shapes, radius, within, geography=True).columns
    stored = regions.without_vectors(columns)
    assert len(stored.coordinates) == len(columns.coordinates) - 6
    assert np.diff(stored.begins).tolist() == np.diff(columns.begins).tolist()
    for a, b in zip(regions.with_vectors(stored), columns, strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    circles = columns.forms == regions.EARTH_CIRCLE
    smaller = regions.with_radii(columns, circles, np.array([4e5, 1e2, 3.0]))
    radius[1], radius[2], radius[4] = 4e5, 1e2, 3.0
    again = regions.read_regions(shapes, radius, within, geography=True).columns
    for a, b in zip(smaller, again, strict=True):
        assert np.array_equal(a, b, equal_nan=True)
