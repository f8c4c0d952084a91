"""The index of regions against brute force, and against what is known about regions otherwise."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference
from tests.support import regions as by
from tests.support.effort import examples, seeds
from tests.support.unjitted import as_plain_python
from watchline.errors import DuplicateQuery, InvalidRange, UnknownQuery
from watchline.evaluate import contains
from watchline.index.regions.forms import in_corridor
from watchline.model import Polygon

DATA = Path(__file__).parents[3] / "shared" / "data"

SQUARE = shapely.box(0, 0, 1, 1)


@pytest.mark.parametrize("seed", seeds([1, 2, 3]))
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e60])
def test_regions_come_and_go(seed: int, scale: float) -> None:
    by.interleave(np.random.default_rng([seed, 35]), 12, 10, scale)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([1.0, 2.0**-300, 1e100]))
def test_generated_regions(seed: int, count: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    held = {int(i) - 7: by.region(rng, scale) for i in range(count)}
    index = by.index_of(held)
    points = by.hostile(index, held, rng, 60)
    by.compare(index, held, points)
    by.compare_moves(index, held, points, points[rng.permutation(len(points))])


corner = st.tuples(
    *[
        st.integers(-3, 3).map(lambda i: i / 2)
        | st.sampled_from([0.1, 5e-324, 1e-300, 1e300, -1e300, 8.9e307])
    ]
    * 2
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.lists(corner, min_size=3, max_size=7), min_size=1, max_size=4), st.randoms())
def test_any_corners(rings: list[by.Vertices], random: Any) -> None:
    rng = np.random.default_rng(random.getrandbits(32))
    cut = int(rng.integers(1, len(rings) + 1))
    held = {1: ("polygon", rings[:cut])} | ({2: ("polygon", rings[cut:])} if rings[cut:] else {})
    index = by.index_of(held)
    vertices = np.array([v for each in rings for v in each])
    crossed = np.stack([rng.choice(vertices[:, 0], 30), rng.choice(vertices[:, 1], 30)], axis=1)
    by.compare(index, held, np.concatenate([by.hostile(index, held, rng, 60), vertices, crossed]))


def test_kernels_as_plain_python() -> None:
    assert as_plain_python("regions")[-1] == "regions"


# --- forms


def test_a_border_belongs_to_the_lower_left_region() -> None:
    """
    1 +---+---+
      | 0 | 1 |
    0 +---+---+
      0   1   2
    """
    index = wl.index.build_regions([SQUARE, shapely.box(1, 0, 2, 1)])
    points = [(0, 0), (1, 0), (0, 1), (2, 0.5), (math.nextafter(1, 0), 0.5), (1, 0.5), (0.5, 1)]
    assert by.listed(index.stab(points)) == [[0], [1], [], [], [0], [1], []]


def test_nothing_is_where_there_is_no_number() -> None:
    index = wl.index.build_regions([SQUARE])
    points = [(math.nan, 0.5), (0.5, math.inf), (-math.inf, 0.5), (0.5, 0.5)]
    assert by.listed(index.stab(points)) == [[], [], [], [0]]
    nowhere = [[math.nan, math.nan]]
    assert index.changes(nowhere, [[0.5, 0.5]]).signs.tolist() == [1]
    assert index.changes([[0.5, 0.5]], nowhere).signs.tolist() == [-1]
    assert len(index.changes(nowhere, nowhere)) == 0


def test_all_forms_in_one_index() -> None:
    shapes = [
        shapely.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], [[(1, 1), (3, 1), (3, 3), (1, 3)]]),
        shapely.Point(2, 2),
        shapely.LineString([(0, 5), (4, 5)]),
        shapely.to_wkb(shapely.MultiPolygon([shapely.box(6, 0, 7, 1), shapely.box(8, 0, 9, 1)])),
        shapely.MultiLineString([[(0, 7), (1, 7)], [(3, 7), (4, 7)]]),
    ]
    index = wl.index.build_regions(shapes, [10, 20, 30, 40, 50], radius=0.5, within=0.25)
    points = [(0.5, 2), (2, 2.5), (2, 1.5), (2, 5.25), (2, 5.26), (8.5, 0.5), (7.5, 0.5), (2, 7),
              (3.5, 6.75), (4.25, 7)]  # fmt: skip
    expected = [[10], [20], [20], [30], [], [40], [], [], [50], [50]]
    assert by.listed(index.stab(points)) == expected


def test_a_box_as_a_polygon_is_the_box_bit_for_bit() -> None:
    rng = np.random.default_rng(3)
    lo = rng.normal(0, 1, (200, 2))
    hi = lo + rng.random((200, 2))
    shapes = shapely.box(*lo.T, *hi.T)
    regions, boxes = wl.index.build_regions(shapes), wl.index.build("scan", lo, hi)
    xs, ys = (np.concatenate([lo[:, d], hi[:, d]]) for d in (0, 1))
    points = np.stack([rng.choice(xs, 4_000), rng.choice(ys, 4_000)], axis=1)
    for some in (points, np.nextafter(points, -np.inf), np.nextafter(points, np.inf)):
        assert by.listed(regions.stab(some)) == by.listed(boxes.stab(some))


def test_holes_that_touch_and_parts_within_holes() -> None:
    shell = [(0, 0), (8, 0), (8, 8), (0, 8)]
    holes = [[(1, 1), (4, 4), (1, 7)], [(4, 4), (7, 1), (7, 7)]]
    island = [(1.5, 3), (2, 4), (1.5, 5)]
    rings = [shell, *holes, island]
    parts = shapely.MultiPolygon([shapely.Polygon(shell, holes), shapely.Polygon(island)])
    index = wl.index.build_regions([parts])
    held: by.Held = {0: ("polygon", rings)}
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(np.arange(-1, 9.5, 0.25), np.arange(-1, 9.5, 0.25)), axis=-1)
    points = np.concatenate([grid.reshape(-1, 2), by.hostile(index, held, rng, 400)])
    by.compare(index, held, points)
    for (x, y), found in zip(
        grid.reshape(-1, 2).tolist(), by.listed(index.stab(grid.reshape(-1, 2))), strict=True
    ):
        assert bool(found) == by.exactly_inside(rings, x, y)


def test_slivers() -> None:
    """Triangles that are one ulp wide, or a hundred million times as long as wide."""
    up = math.nextafter(1.0, 2.0)
    rings = [
        [(1.0, 0.0), (up, 0.0), (1.0, 1.0)],
        [(0.0, 0.0), (1e8, 1.0), (1e8, 2.0)],
        [(0.0, 0.0), (1.0, 1e-12), (2.0, 0.0), (1.0, -1e-12)],
        [(-1e300, -1e-300), (1e300, 1e-300), (1e300, 2e-300)],
    ]
    held: by.Held = {i: ("polygon", [ring]) for i, ring in enumerate(rings)}
    index = by.index_of(held)
    rng = np.random.default_rng(2)
    by.compare(index, held, by.hostile(index, held, rng, 3_000))


def test_a_ring_of_a_hundred_thousand_vertices() -> None:
    rng = np.random.default_rng(4)
    turn = np.linspace(0, 2 * np.pi, 100_000, endpoint=False)
    away = 1 + 0.2 * np.sin(40 * turn) + 0.01 * rng.random(100_000)
    corners = np.stack([np.cos(turn), np.sin(turn)], axis=1) * away[:, None]
    index = wl.index.build_regions([shapely.Polygon(corners)])
    points = np.concatenate([rng.uniform(-1.3, 1.3, (120, 2)), corners[::2_000], [[0, 0]]])
    points = np.concatenate([points, np.nextafter(corners[::3_000], 0)])
    whole = np.concatenate([corners, corners[:1]])
    a, b = whole[:-1], whole[1:]
    low = np.where((a[:, 1] <= b[:, 1])[:, None], a, b)
    high = np.where((a[:, 1] <= b[:, 1])[:, None], b, a)
    for (x, y), found in zip(points, by.listed(index.stab(points)), strict=True):
        meets = (low[:, 1] <= y) & (y < high[:, 1])
        (xl, yl), (xu, yu) = low[meets].T, high[meets].T
        odd = np.count_nonzero(x < xl + (y - yl) / (yu - yl) * (xu - xl)) % 2
        assert found == [0] * odd, (x, y)


def test_circles_so_small_that_squares_vanish() -> None:
    held: by.Held = {
        0: ("circle", 0.0, 0.0, 1e-170), 1: ("circle", 0.0, 0.0, 1e-300),
        2: ("circle", 1.0, 1.0, 1e200), 3: ("circle", 5e-163, 0.0, 5e-324),
    }  # fmt: skip
    index = by.index_of(held)
    near = [0.0, 1e-170, 1e-163, 1e-162, 1.5e-162, 2e-162, 1e-160, 1.0, 1e154, 1e200, 1e308]
    points = np.array([(x, y) for x in near for y in [*near, *(-v for v in near)]])
    by.compare(index, held, points)


def test_a_circle_whose_square_is_infinite_holds_everything() -> None:
    held: by.Held = {
        0: ("circle", -3.0, -3.0, 1e200), 1: ("circle", 1e308, 0.0, 1e154),
        2: ("polygon", [[(-1e300, -1e300), (1e300, -1e300), (1e300, 1e300)]]),
    }  # fmt: skip
    index = by.index_of(held)
    sides = [0.0, -3.0, 1e300, -1e300, 1.7e308, 1e200, 1e154, 1e308]
    points = np.array([(x, y) for x in sides for y in sides])
    by.compare(index, held, points)
    assert (np.diff(index.stab(points).offsets) >= 1).all()
    by.compare_moves(index, held, points, points[::-1])


# --- exactly


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rational_numbers_agree_away_from_borders(seed: int) -> None:
    """The rounded crossing is off by less than 1e-12 of the size of the edge: beyond that, and on
    any edge that is level or upright, the fixed formula is the exact one."""
    rng = np.random.default_rng(seed)
    held: by.Held = {i: ("polygon", [by.ring(rng, 1.0)]) for i in range(6)}
    index = by.index_of(held)
    points = by.hostile(index, held, rng, 60)
    points = points[np.isfinite(points).all(axis=1)]
    for (x, y), found in zip(points.tolist(), by.listed(index.stab(points)), strict=True):
        for i, (_, rings) in held.items():
            sides = [
                side
                for chain in by.chains_of(("polygon", rings))
                for side in itertools.pairwise(chain)
            ]
            slanted = [s for s in sides if s[0][0] != s[1][0] and s[0][1] != s[1][1]]
            if all(by.square_from(side, x, y) > 1e-22 for side in slanted):
                assert (i in found) == by.exactly_inside(rings, x, y), (x, y, rings)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_corridors_are_what_is_near_the_line(seed: int) -> None:
    rng = np.random.default_rng(seed)
    line, reach = by.ring(rng, 1.0), float(rng.choice([0.25, 1.0, 2.0]))
    held: by.Held = {0: ("corridor", [line], reach)}
    index = by.index_of(held)
    points = by.hostile(index, held, rng, 60)
    by.compare(index, held, points)
    found = by.listed(index.stab(points))
    mask = in_corridor(points[:, 0].copy(), points[:, 1].copy(), np.array(line), reach)
    assert [[0] * int(m) for m in mask] == found
    for (x, y), some in zip(points.tolist(), found, strict=True):
        if math.isfinite(x) and math.isfinite(y):
            square = min(by.square_from(side, x, y) for side in itertools.pairwise(line))
            if abs(square / reach**2 - 1) > 1e-9:
                assert bool(some) == (square < reach**2)


# --- witnesses


def test_shapely_agrees_away_from_borders() -> None:
    rng = np.random.default_rng(9)
    shapes = [shapely.Point(*rng.random(2)).buffer(0.05 + 0.1 * rng.random()) for _ in range(300)]
    points = rng.random((20_000, 2))
    found = wl.index.build_regions(shapes).stab(points)
    pairs = set(zip(found.rows().tolist(), found.ids.tolist(), strict=True))
    places = shapely.points(points)
    expected = shapely.STRtree(shapes).query(places, predicate="within")
    away = set(zip(*expected.tolist(), strict=True)) ^ pairs
    assert len(pairs) > 10_000
    assert all(shapes[i].boundary.distance(places[row]) < 1e-12 for row, i in away)


def model_of(shape: Any) -> Polygon:
    polygons = getattr(shape, "geoms", [shape])
    return Polygon.of(
        [[shapely.get_coordinates(r) for r in (p.exterior, *p.interiors)] for p in polygons]
    )


@pytest.mark.skipif(not (DATA / "sf_neighborhoods.geojson").exists(), reason="no real data here")
def test_real_neighbourhoods_and_cabs() -> None:
    import pyarrow.parquet as pq

    features = json.loads((DATA / "sf_neighborhoods.geojson").read_text())["features"]
    shapes = [shapely.from_geojson(json.dumps(each["geometry"])) for each in features]
    rows = pq.read_table(DATA / "cabs_sf.parquet", columns=["lon", "lat"])
    points = np.stack([rows[name].to_numpy() for name in ("lon", "lat")], axis=1)[::40]
    corners = shapely.get_coordinates(shapes)
    points = np.concatenate([points, corners, np.nextafter(corners, -np.inf)])
    index = wl.index.build_regions(shapes)
    found = index.stab(points)
    x, y = np.ascontiguousarray(points.T)
    for i, shape in enumerate(shapes):
        expected = np.flatnonzero(contains(model_of(shape), x, y))
        assert found.rows()[found.ids == i].tolist() == expected.tolist()
    moved = index.changes(points[:-1], points[1:])
    at = index.stab(points[:1]).ids.tolist()
    now = set(at)
    for sign, i in zip(moved.signs.tolist(), moved.ids.tolist(), strict=True):
        assert (i in now) == (sign < 0)
        (now.add if sign > 0 else now.discard)(i)
    assert now == set(index.stab(points[-1:]).ids.tolist())


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "geofences_world.parquet").exists(), reason="no real data here")
def test_real_districts_of_the_world() -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(DATA / "geofences_world.parquet", columns=["wkb", "valid"])
    shapes = shapely.from_wkb(table["wkb"].to_numpy())[table["valid"].to_numpy()]
    rng = np.random.default_rng(5)
    corners = shapely.get_coordinates(shapes)
    points = corners[rng.integers(0, len(corners), 30_000)]
    points[10_000:] += rng.normal(0, 0.02, (20_000, 2))
    found = wl.index.build_regions(table["wkb"].to_numpy()[table["valid"].to_numpy()]).stab(points)
    tree = shapely.STRtree(shapes)
    rows, numbers = tree.query(shapely.points(points).tolist())
    pairs = set(zip(found.rows().tolist(), found.ids.tolist(), strict=True))
    for i in rng.choice(np.unique(numbers), 400, replace=False):
        some = np.unique(rows[numbers == i])
        x, y = np.ascontiguousarray(points[some].T)
        mask = contains(model_of(shapes[i]), x, y)
        for row, inside in zip(some.tolist(), mask.tolist(), strict=True):
            assert ((row, i) in pairs) == inside


# --- the index


def test_many_whole_regions_at_a_place() -> None:
    """Heavily overlapping regions: a thousand squares around one another."""
    sizes = np.arange(1, 1_001) / 1_000
    index = wl.index.build_regions(shapely.box(-sizes, -sizes, sizes, sizes))
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (500, 2))
    inside = np.abs(points)[:, :, None] < sizes
    assert [len(found) for found in by.listed(index.stab(points))] == inside.all(axis=1).sum(
        axis=1
    ).tolist()
    moves = index.changes(points[:-1], points[1:])
    assert len(moves) == (inside.all(axis=1)[:-1] ^ inside.all(axis=1)[1:]).sum()


@pytest.mark.slow
def test_regions_at_the_same_place() -> None:
    """No grid takes their borders apart, so none is made that only costs memory."""
    same = shapely.Polygon([(0, 0), (3, 1), (2, 4)])
    way = np.random.default_rng(2).normal(0, 1e-3, (60, 2))
    line = shapely.LineString(way)
    shapes = [*[same] * 1_000, *[shapely.Point(1, 1)] * 500, *[line] * 50]
    radius = np.array([0.5 if each.geom_type == "Point" else np.nan for each in shapes])
    within = np.array([0.7 if each.geom_type == "LineString" else np.nan for each in shapes])
    index = wl.index.build_regions(shapes, radius=radius, within=within)
    assert index.cells_nbytes < 5e6
    points = [(2.3, 3), (1.2, 1), (0.1, 0.1), (0, 0), (9, 9), (0.7, 0.0), (1.5, 1.0), (1.0, 2.0)]
    ring = ("polygon", [[(0, 0), (3, 1), (2, 4)]])
    kinds = (ring, 1_000), (("circle", 1, 1, 0.5), 500), (("corridor", [way.tolist()], 0.7), 50)
    expected = [sum(n for of, n in kinds if reference.inside(of, x, y)) for x, y in points]
    assert np.diff(index.stab(points).offsets).tolist() == expected


def test_skewed_regions_are_cut_up_where_they_are() -> None:
    """All regions but one are in a corner that is a millionth as wide as their extent."""
    rng = np.random.default_rng(1)
    lo = rng.random((2_000, 2)) * 1e-6
    shapes = [*shapely.box(*lo.T, *(lo + 3e-8).T), shapely.box(0.999, 0.999, 1, 1)]
    index = wl.index.build_regions(shapes)
    points = rng.random((2_000, 2)) * 1e-6
    expected = wl.index.build("scan", [*lo, [0.999, 0.999]], [*(lo + 3e-8), [1, 1]])
    assert by.listed(index.stab(points)) == by.listed(expected.stab(points))
    assert index.nbytes < 100 * 16 * 5 * len(shapes)


def test_it_starts_empty_and_may_become_so() -> None:
    index = wl.index.build_regions([])
    assert len(index) == 0
    assert len(index.stab([(0.5, 0.5)])) == 0
    index.insert([7], [SQUARE])
    assert index.stab([(0.5, 0.5)]).ids.tolist() == [7]
    index.remove([7])
    assert len(index) == 0
    assert len(index.stab([(0.5, 0.5)])) == 0


def test_regions_far_outside_of_those_it_was_built_for() -> None:
    index = wl.index.build_regions([SQUARE])
    index.insert(
        [1, 2],
        [shapely.box(50, -60, 70, 90), shapely.LineString([(-9, -9), (-9, 9)])],
        within=[np.nan, 1],
    )
    points = [(0.5, 0.5), (60, 0.5), (60, 89), (60, 91), (-9.5, 3), (-11, 3), (-9, 9.9), (1e300, 0)]
    assert by.listed(index.stab(points)) == [[0], [1], [1], [], [2], [], [2], []]


def test_wide_ids_and_many_rows() -> None:
    index = wl.index.build_regions([SQUARE], [2**40])
    found = index.stab(np.full((200_000, 2), 0.5))
    assert (found.ids == 2**40).all()
    assert len(found) == 200_000


def test_what_is_refused_changes_nothing() -> None:
    index = wl.index.build_regions([SQUARE, SQUARE])
    with pytest.raises(DuplicateQuery, match="id 1 is in the index already"):
        index.insert([5, 1], [SQUARE, SQUARE])
    with pytest.raises(UnknownQuery, match="id 9 is not in the index"):
        index.remove([0, 9])
    with pytest.raises(InvalidRange, match="2 geometries and 1 ids"):
        index.insert([5], [SQUARE, SQUARE])
    with pytest.raises(InvalidRange, match="geometry 1: it is empty"):
        index.insert([5, 6], [SQUARE, shapely.Polygon()])
    with pytest.raises(InvalidRange, match="2 old points and 1 new"):
        index.changes([[0, 0], [1, 1]], [[0, 0]])
    assert sorted(index.stab([(0.5, 0.5)]).ids.tolist()) == [0, 1]


BOWTIE = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])


@pytest.mark.parametrize(
    ("shapes", "options", "words"),
    [
        ([SQUARE, BOWTIE], {}, r"geometry 1: the polygon crosses or overlaps itself near \(0.5"),
        ([SQUARE, shapely.Polygon()], {}, "geometry 1: it is empty"),
        ([shapely.Polygon([(0, 0), (math.nan, 1), (1, 0)])], {}, "geometry 0: .*finite"),
        ([shapely.Polygon([(-1e308, 0), (0, 1), (1.5e308, 0)])], {}, "geometry 0: .*wider"),
        ([SQUARE, shapely.Polygon([(0, 0), (0, 1), (0, 2)])], {}, "geometry 1: it has no area"),
        ([SQUARE, shapely.GeometryCollection([SQUARE])], {}, "geometry 1: .*GEOMETRYCOLLECTION"),
        ([SQUARE, shapely.MultiPoint([(0, 0)])], {}, "geometry 1: .*MULTIPOINT"),
        ([SQUARE, None], {}, "geometry 1: .*NoneType"),
        ([SQUARE, b"no"], {}, "geometry 1: .*no WKB"),
        ([shapely.Point(0, 0)], {}, "geometry 0: a point needs radius="),
        ([shapely.LineString([(0, 0), (1, 1)])], {}, "geometry 0: a line needs within="),
        ([SQUARE], {"radius": 1}, "geometry 0: radius= is for points only"),
        ([SQUARE, shapely.Point(0, 0)], {"radius": [1, 1]}, "geometry 0: radius= is for points"),
        ([shapely.Point(0, 0)], {"radius": 0}, "geometry 0: its radius must be greater than zero"),
        ([shapely.LineString([(0, 0), (1, 1)])], {"within": -1}, "geometry 0: within= must be"),
        ([shapely.LineString([(0, 0), (1e-200, 0)])], {"within": 1}, "geometry 0: the segments"),
        ([[0.0, 1.0]], {"within": 1}, "geometry 0: "),
        ([[0.0, 1.0]], {"radius": [1, 2]}, "radius must be a number, or one for each"),
        (SQUARE, {}, "expected a sequence of geometries"),
    ],
)  # fmt: skip
def test_bad_geometries_are_named_by_number(shapes: Any, options: Any, words: str) -> None:
    with pytest.raises(InvalidRange, match=words):
        wl.index.build_regions(shapes, **options)


def test_rings_that_only_touch_are_taken() -> None:
    eight = shapely.Polygon([(0, 0), (1, 1), (2, 0), (2, 2), (1, 1), (0, 2)])
    assert not eight.is_valid
    index = wl.index.build_regions([eight])
    assert by.listed(index.stab([(0.2, 1), (1.8, 1), (1, 0.5), (1, 1.5)])) == [[0], [0], [], []]


def test_processes_can_map_it() -> None:
    """Large arrays leave a pickle as buffers, which may be pages of a mapped file."""
    rng = np.random.default_rng(1)
    index = wl.index.build_regions(rng.random((500, 2)), radius=0.02)
    index.insert([900], [[0.5, 0.5]], radius=0.1)
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(index, protocol=5, buffer_callback=buffers.append)
    assert len(head) < 5_000
    mapped = pickle.loads(head, buffers=[bytearray(each.raw()) for each in buffers])
    points = rng.random((300, 2))
    assert by.listed(mapped.stab(points)) == by.listed(index.stab(points))
    mapped.remove([900])
    index.remove([900])
    assert by.listed(mapped.stab(points)) == by.listed(index.stab(points))


def test_memory_is_stated_and_given_back() -> None:
    rng = np.random.default_rng(1)
    centres = rng.random((3_000, 2))
    shapes = shapely.buffer(shapely.points(centres), 0.01)
    raw = 16 * shapely.get_num_coordinates(shapes).sum()
    index = wl.index.build_regions(shapes)
    assert index.nbytes > raw
    assert index.cells_nbytes < 1.5 * raw
    before = index.nbytes
    for _ in range(30):
        index.remove(np.arange(100))
        index.insert(np.arange(100), shapes[:100])
    assert index.nbytes < 2.5 * before
    index.remove(np.arange(2_950))
    assert index.nbytes < before / 10
    assert len(index) == 50
