"""Joins by DISTANCE are the oracle's: on the plane and on Earth, however cut, by every method."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import watchline as wl
from tests.reference_joins import JoinSource, TooNear, arc
from tests.support import window_joins
from tests.support.effort import examples
from tests.support.joins import (
    EARTH,
    METHODS,
    POINTS,
    Asked,
    Row,
    Rows,
    Twin,
    asked,
    declaration,
    same,
    tables,
    told,
)
from tests.support.strategies import MAX
from watchline.joining import Life, directions_of, halves, nearby
from watchline.joining import joiner as joining
from watchline.joining.directions import Near
from watchline.model import Attribute, Type

# Coordinates about some origins: near each other, on borders of cells, and beyond all measure.
FAR = [
    0.0, -0.0, 1.0, math.nextafter(1.0, 2.0), 5e-324, 1e-162, 1e-170, 2.0**53, 2.0**53 + 2, 1e154,
    1e300, -1e300, MAX, -MAX,
]  # fmt: skip
LENGTHS = [1.0, 0.5, math.sqrt(2.0), 2.0, 4.5, 1e-200, 1e-161, 1e-6, 1e154, 1e160, 1e300, 5e-324]
ORIGINS = [
    (-122.4, 37.8), (180.0, 10.0), (-180.0, -60.0), (0.0, 90.0), (17.0, -90.0), (33.0, 89.9999),
    (0.0, 0.0), (57.6, -37.8), (540.0, 89.0),
]  # fmt: skip
METRES = [0.1, 1e-7, 50.0, 200.0, 5_000.0, 300_000.0, 1e6, 1.3e7, 1.99e7, 2.1e7, 1e300]
# Degrees about an origin.
SPREADS = [1e-6, 1e-3, 0.05, 3.0, 90.0]
WINDOWS = [*(("range", n) for n in (1, 2, 5, 30, 10**15)), *(("rows", n) for n in (1, 2, 5, 100))]
OPS = ["<", "<", "<=", "<=", ">", ">="]


# --- rows


def plane(chance: random.Random) -> tuple[Any, Any]:
    kind = chance.random()
    if kind < 0.1:
        return chance.choice([None, math.nan, math.inf, 1.0]), chance.choice([None, -math.inf, 0.0])
    if kind < 0.3:
        return chance.choice(FAR), chance.choice(FAR)
    if kind < 0.6:
        return chance.randrange(-6, 6) * 0.5, chance.randrange(-6, 6) * 0.5
    return chance.uniform(-2, 2), chance.uniform(-2, 2)


def earth(chance: random.Random) -> tuple[Any, Any]:
    kind = chance.random()
    if kind < 0.1:
        return (
            chance.choice([None, math.nan, math.inf, 3.0]),
            chance.choice([None, 91.0, math.nan, -math.inf, 3.0]),
        )
    lon, lat = chance.choice(ORIGINS)
    if kind < 0.2:
        return lon, lat
    spread = chance.choice(SPREADS)
    lat = max(-90.0, min(90.0, lat + chance.uniform(-spread, spread)))
    wide = 200.0 if abs(lat) > 88 else spread
    return lon + chance.uniform(-wide, wide), lat


def rows_of(seed: int, size: int, streams: list[str], first: int, places: int) -> Rows:
    """Rows with times that go on, and some that are late; few places come again and again."""
    chance = random.Random(seed)
    known: dict[Callable[..., Any], list[Any]] = {
        draw: [draw(chance) for _ in range(places)] for draw in (plane, earth)
    }
    now, made = first, dict[str, list[Row]]()
    for _ in range(size):
        now += chance.choice([0, 0, 1, 2])
        name = chance.choice(streams)
        point = chance.choice(known[earth if name in EARTH else plane])
        made.setdefault(name, []).append(
            {
                "id": chance.randrange(4),
                "n": chance.choice([0, 1, 2, None]),
                "d": chance.choice([0.0, 0.5, None]),
                "ts": now - chance.choice([0, 0, 0, 3]),
                **dict(zip(POINTS[name], point, strict=True)),
            }
        )
    return made


# --- queries


@st.composite
def distances(draw: st.DrawFn, sources: list[JoinSource]) -> tuple[Any, ...]:
    pairs = [
        (a, b)
        for a in sources
        for b in sources
        if a is not b and (a.stream in EARTH) == (b.stream in EARTH)
    ]
    if not pairs:
        return ("cmp", "=", ("attr", f"{sources[0].alias}.n"), ("attr", f"{sources[1].alias}.n"))
    a, b = draw(st.sampled_from(pairs))
    length = draw(st.sampled_from(METRES if a.stream in EARTH else LENGTHS))
    return ("distance", draw(st.sampled_from(OPS)), a.alias, b.alias, length)


@st.composite
def others(draw: st.DrawFn, sources: list[JoinSource]) -> tuple[Any, ...]:
    one, two = draw(st.permutations(sources))[:2]
    op = draw(st.sampled_from(["=", "=", "<", ">="]))
    link = ("cmp", op, ("attr", f"{one.alias}.n"), ("attr", f"{two.alias}.n"))
    selection = ("cmp", op, ("attr", f"{one.alias}.d"), ("const", draw(st.sampled_from([0, 0.5]))))
    x = f"{one.alias}.{POINTS[one.stream][0]}"
    return draw(st.sampled_from([link, link, selection, ("isnull", ("attr", x))]))


@st.composite
def wheres(draw: st.DrawFn, sources: list[JoinSource]) -> tuple[Any, ...]:
    leaf = distances(sources) | distances(sources) | others(sources)
    several = st.lists(leaf, min_size=1, max_size=3)
    both = several.map(lambda parts: ("and", *parts))
    return draw(
        st.one_of(
            both,
            st.tuples(st.just("and"), distances(sources), distances(sources), leaf),
            st.lists(both, min_size=2, max_size=2).map(lambda parts: ("or", *parts)),
            st.tuples(st.just("not"), both),
        )
    )


@st.composite
def queries(draw: st.DrawFn, streams: list[str], name: str) -> Asked:
    count = draw(st.sampled_from([2, 2, 2, 3]))
    sources = [
        JoinSource(alias, draw(st.sampled_from(streams)), draw(st.sampled_from(WINDOWS)))
        for alias in draw(st.permutations("abc"))[:count]
    ]
    life = draw(st.sampled_from([None, None, None, 12]))
    return Asked(name, sources, draw(wheres(sources)), life)


@st.composite
def scripts(draw: st.DrawFn) -> tuple[list[str], list[Asked], list[Rows]]:
    streams = draw(st.sampled_from([["u", "v"], ["u"], ["e", "f"], ["e"], ["u", "e"]]))
    queries_ = [draw(queries(streams, name)) for name in "pqrs"[: draw(st.integers(1, 4))]]
    places, size = draw(st.sampled_from([3, 12, 60])), draw(st.sampled_from([5, 12, 25]))
    seeds = draw(st.lists(st.integers(0, 2**32), min_size=1, max_size=4))
    calls = [rows_of(s, size, streams, 20 * i, places) for i, s in enumerate(seeds)]
    return streams, queries_, calls


@pytest.fixture(params=["whole", "in slices"])
def slices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is worked off in slices: here also in very small ones."""
    if request.param == "in slices":
        monkeypatch.setattr(joining, "FIRST_SLICE", 2)
        monkeypatch.setattr(joining, "MOST_ROWS", 3)


@pytest.mark.usefixtures("slices")
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts())
def test_tuples_equal_the_oracle(script: Any) -> None:
    streams, given_, calls = script
    twin = Twin(streams, given_)
    try:
        for rows in calls:
            twin.process(rows)
            twin.through_bytes()
        twin.finish()
    except TooNear:
        reject()


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts(), st.sampled_from(METHODS), st.integers(1, 3), st.integers(1, 7))
def test_cuts_and_parts_change_nothing(script: Any, method: str, parts: int, size: int) -> None:
    """All at once; or piece by piece, in parts, through bytes. Windows of time only, since pieces
    cut moments; and rows in order, so that none is late."""
    streams, given_, calls = script
    for query in given_:
        query.sources[:] = [
            JoinSource(s.alias, s.stream, ("range", s.window[1])) for s in query.sources
        ]
    rows = {
        name: sorted((r for call in calls for r in call.get(name, ())), key=lambda r: r["ts"])
        for name in streams
    }
    twin = Twin(streams, given_, methods=[method])
    try:
        wanted = twin.process(rows) + twin.finish()
    except TooNear:
        reject()
    found = []
    for k in range(parts):
        joiner = wl.Joiner(twin.catalog, streams, part=k, parts=parts)
        for at in range(0, max(map(len, rows.values())), size):
            piece = {name: of[at : at + size] for name, of in rows.items()}
            found += told(joiner.process(tables(piece)))
            blob = joiner.snapshot()
            joiner = wl.Joiner.restore(twin.catalog, streams, blob, part=k, parts=parts)
        found += told(joiner.finish())
    same(found, wanted)


# --- by example


def ids(streams: str, condition: str, points: list[tuple[Any, Any]]) -> list[tuple[int, int]]:
    """Which points meet which, by their numbers, each before another."""
    a, b = streams
    names = [declaration(name) for name in sorted({a, b})]
    sources = f"{a} AS a [RANGE 99 SECONDS], {b} AS b [RANGE 99 SECONDS]"
    catalog = wl.Catalog.of([*names, asked(sources, f"a.id < b.id AND {condition}")])
    rows = {
        name: [
            {"id": i, "n": 0, "d": 0.0, "ts": i, **dict(zip(POINTS[name], point, strict=True))}
            for i, point in enumerate(points)
        ]
        for name in {a, b}
    }
    joiner = wl.Joiner(catalog, sorted({a, b}), times={a: 2} if a == b else None)
    found = joiner.process(tables(rows)), joiner.finish()
    first, second = (f"{a}_id", f"{a}2_id") if a == b else (f"{a}_id", f"{b}_id")
    pairs = [(row[first], row[second]) for table in found for row in table.to_pylist()]
    return sorted(pairs)


def test_less_and_at_most() -> None:
    points = [(0.0, 0.0), (3.0, 4.0), (6.0, 8.0), (None, 0.0), (math.nan, 0.0), (0.0, math.inf)]
    assert ids("uu", "DISTANCE(a, b) < 5", points) == []
    assert ids("uu", "DISTANCE(a, b) <= 5", points) == [(0, 1), (1, 2)]
    assert ids("uu", "DISTANCE(b, a) > 5", points) == [(0, 2)]
    assert ids("uu", "5 <= DISTANCE(b, a)", points) == [(0, 1), (0, 2), (1, 2)]
    assert ids("uu", "NOT DISTANCE(b, a) <= 5", points) == [(0, 2)]
    assert ids("uu", "DISTANCE(a, b) BETWEEN 6 AND 10", points) == [(0, 2)]
    assert ids("uu", "(DISTANCE(a, b) < 5 OR a.id = 0)", points) == [(0, i) for i in range(1, 6)]


def test_the_point_decides_and_not_the_order_of_attributes() -> None:
    """The POINT of v is (y, x)."""
    points = [(1.0, 7.0), (1.0, 7.5), (7.0, 1.0)]
    assert ids("uv", "DISTANCE(a, b) < 1", points) == [(0, 1)]


def test_units() -> None:
    # A degree of latitude at the equator is 110,574 metres long.
    points = [(0.0, 0.0), (0.0, 1.0), (0.0, 3.0)]
    assert ids("ee", "DISTANCE(a, b) < 111 KILOMETERS", points) == [(0, 1)]
    assert ids("ee", "DISTANCE(a, b) < 110", points) == []
    assert ids("ee", "DISTANCE(a, b) BETWEEN 68 MILES AND 222000", points) == [(0, 1), (1, 2)]


def test_across_the_antimeridian_and_the_poles() -> None:
    points = [(179.9999, 5.0), (-179.9999, 5.0), (180.0, 5.0), (-170.0, 5.0)]
    assert ids("ef", "DISTANCE(a, b) < 50", points) == [(0, 1), (0, 2), (1, 2)]
    poles = [(0.0, 89.9999), (180.0, 89.9999), (77.0, 90.0), (-5.0, -90.0), (5.0, -90.0)]
    assert ids("ef", "DISTANCE(a, b) < 50", poles) == [(0, 1), (0, 2), (1, 2), (3, 4)]
    # Beyond 90 there is no place.
    assert ids("ef", "DISTANCE(a, b) < 50", [(0.0, 90.5), (0.0, 90.5)]) == []


def test_all_the_way_round() -> None:
    points = [(0.0, 0.0), (180.0, 0.0), (90.0, 0.0)]
    assert ids("ee", "DISTANCE(a, b) < 30000 KM", points) == [(0, 1), (0, 2), (1, 2)]
    assert ids("ee", "DISTANCE(a, b) < 12000 KM", points) == [(0, 2), (1, 2)]


def test_the_arc_of_the_oracle() -> None:
    """A degree along the equator and along a meridian, as GeographicLib has them."""
    assert float(arc(0, 0, 1, 0)) == pytest.approx(111_319.491, rel=1e-5)
    assert float(arc(0, 0, 0, 1)) == pytest.approx(110_574.389, rel=1e-5)


# --- plans


def test_queries_of_one_distance_share_their_directions() -> None:
    catalog = wl.Catalog.of([*window_joins.STREAMS, *window_joins.near(90)])
    asked_ = [entry.query for entry in catalog.queries().entries.values()]
    halved = [(i, halves(query), Life()) for i, query in enumerate(asked_[:-1])]
    directions = directions_of(halved)
    # Three lengths, and each stream's rows come or wait.
    assert sorted(len(members) for _, members in directions) == [30] * 6
    both = {shape.near[0].length for shape, _ in directions}
    assert both == {0.5, 1.0, 1.5}


@pytest.mark.parametrize(
    ("condition", "way"),
    [
        ("DISTANCE(r, s) < 2", "by cells of 4.5 around the point"),
        ("DISTANCE(r, s) <= 2 AND r.id = s.id", "by cells of 4.5 around the point, equal in s.id"),
        ("DISTANCE(r, s) > 2 AND r.id = s.id", "by the hash of s.id"),
        ("DISTANCE(r, s) > 2", "every row of the window"),
    ],
)
def test_explain(condition: str, way: str) -> None:
    query = f"CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE {condition}"
    text = wl.Catalog.of([*window_joins.STREAMS, query]).explain("q")
    assert f"a row of r meets s [ROWS 5]: {way}\n" in text


# --- cells


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9, 2.0**46, 1e300])
@pytest.mark.parametrize("on_earth", [False, True])
def test_what_is_near_is_in_a_cell_that_is_asked(scale: float, on_earth: bool) -> None:
    rng = np.random.default_rng(3)
    dimensions = 3 if on_earth else 2
    axes = (Attribute("x", Type.DOUBLE), Attribute("y", Type.DOUBLE))
    near = Near(axes, axes, 1, 1.0, on_earth)
    reach, n = nearby.reach_of(near), 4_000
    at = rng.uniform(-scale, scale, (n, dimensions))
    # The other is as far away as may be, in any direction along the axes.
    with np.errstate(over="ignore"):
        moved = at + rng.choice([-1.0, 0.0, 1.0], at.shape) * rng.uniform(0, 1, at.shape)
    every, mixed = np.ones(n, np.bool_), np.zeros(n, np.uint64)
    mask = (1 << 20) - 1
    around = nearby.buckets_around(nearby.Points(at, every), reach, mixed, mask)
    own = nearby.buckets_of(nearby.Points(moved, every), reach, mixed, mask)
    assert (around == own[:, None]).any(axis=1).all()
    for row in around.tolist():
        known = [bucket for bucket in row if bucket >= 0]
        assert len(known) == len(set(known))
        assert row[len(known) :] == [-1] * (len(row) - len(known))


def test_a_trigger_meets_few_rows() -> None:
    """The rows that are tried follow those that are near, not those in the window."""
    rng = np.random.default_rng(5)
    n = 20_000
    axes = (Attribute("x", Type.DOUBLE), Attribute("y", Type.DOUBLE))
    near = Near(axes, axes, 1, math.sqrt(1 / (math.pi * n)), False)
    points = nearby.Points(rng.random((n, 2)), np.ones(n, np.bool_))
    rows = nearby.NearRows(points, np.arange(n), near)
    found = rows.candidates(points, np.zeros(n, np.int64), np.full(n, n), 1 << 30)
    assert sum(len(of) for of, _ in found) < 12 * n
