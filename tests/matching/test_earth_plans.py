"""Queries with regions on Earth, through plans: matches, changes, distances and the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference_earth as earth
from tests.support import earth_regions as by
from tests.support.effort import examples
from watchline import sql
from watchline.errors import InvalidRange, QuerySyntaxError
from watchline.matching import limits

CARS = (
    "CREATE STREAM cars (id BIGINT, lon DOUBLE, lat DOUBLE, kind STRING, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY"
)


def rows(points: Any, ids: Any = None, kind: str = "bus", time: int = 0) -> pa.Table:
    points = np.asarray(points, np.float64).reshape(-1, 2)
    n = len(points)
    return pa.table(
        {
            "id": pa.array(np.arange(n) if ids is None else ids, pa.int64()),
            "lon": points[:, 0],
            "lat": points[:, 1],
            "kind": [kind] * n,
            "ts": pa.array([time] * n, pa.timestamp("us", tz="UTC")),
        }
    )


def written(region: by.Region) -> str:
    return repr(by.model_of(region))


def matched(catalog: wl.Catalog, points: Any, kind: str = "bus") -> list[list[str]]:
    found = wl.Matcher(catalog, "cars").match(rows(points, kind=kind))
    held: list[list[str]] = [[] for _ in range(len(points))]
    for query, place in zip(found["query_id"].to_pylist(), found["id"].to_pylist(), strict=True):
        held[place].append(query)
    return [sorted(each) for each in held]


WHERE = [
    "INSIDE {}", "WHERE kind = 'bus' INSIDE {}", "WHERE kind = 'bus' AND INSIDE {}",
    "WHERE kind = 'car' OR INSIDE {}", "WHERE NOT INSIDE {}", "WHERE lat > 10 AND NOT INSIDE {}",
    "WHERE INSIDE {} AND INSIDE CIRCLE (0, 0, 9000 KILOMETERS)",
    "WHERE INSIDE (-150, -90, 150, 90) INSIDE {}",
]  # fmt: skip


def expected(where: int, region: by.Region, lon: float, lat: float) -> bool:
    inside = earth.inside(region, lon, lat)
    return [
        inside, inside, inside, inside, not inside, lat > 10 and not inside,
        inside and earth.inside(("circle", 0, 0, 9e6), lon, lat),
        inside and -150 <= lon < 150,
    ][where]  # fmt: skip


@pytest.fixture(params=[False, True], ids=["few", "many"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        for name in (
            *("MANY", "MANY_JOINED", "MANY_BELOW_KEY", "MANY_WHOLE"),
            "MANY_REGIONS_BELOW_KEY",
        ):
            monkeypatch.setattr(limits, name, 0)


@pytest.mark.usefixtures("many")
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_matches_and_changes_equal_the_oracle(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    held = {i: by.region(rng) for i in range(count)}
    which = {i: int(rng.integers(0, len(WHERE))) for i in held}
    clauses = [
        WHERE[which[i]].format(written(each).removeprefix("INSIDE ")) for i, each in held.items()
    ]
    try:
        stay, change = (
            wl.Catalog.of([CARS, *(f"CREATE QUERY q{i} AS SELECT * FROM cars {clause} EMIT {emit}"
                                   for i, clause in enumerate(clauses))])
            for emit in ("MATCHES", "CHANGES")
        )  # fmt: skip
    except QuerySyntaxError as error:
        assert "never" in str(error)
        return
    index = by.index_of(held)
    points = by.places(index, held, rng, 20)
    points = points[np.isfinite(points).all(axis=1)]
    matches, tracker = matched(stay, points), wl.Tracker(change, "cars")
    now: set[str] = set()
    for time, (at, found) in enumerate(zip(points.tolist(), matches, strict=True)):
        told = tracker.process(rows([at], [7], time=time))
        for query, sign in zip(told["query_id"].to_pylist(), told["sign"].to_pylist(), strict=True):
            assert (query in now) == (sign < 0)
            (now.add if sign > 0 else now.discard)(query)
        for i, region in held.items():
            others = [("circle", 0, 0, 9e6)] if which[i] == 6 else []
            if any(earth.is_close(each, *at) for each in (region, *others)):
                continue
            wanted = expected(which[i], region, *at)
            assert (f"q{i}" in found) == wanted, (at, clauses[i])
            assert (f"q{i}" in now) == wanted, (at, clauses[i])


def test_the_distance_of_a_change_is_in_metres() -> None:
    catalog = wl.Catalog.of(
        [
            CARS,
            "CREATE QUERY near AS SELECT * FROM cars INSIDE CIRCLE (180, 0, 500 METERS)"
            " EMIT CHANGES",
            "CREATE QUERY also AS SELECT * FROM cars WHERE kind = 'bus' AND"
            " INSIDE CIRCLE (180, 0, 500) EMIT CHANGES",
            "CREATE QUERY box AS SELECT * FROM cars INSIDE (179, -1, -179, 1) EMIT CHANGES",
        ]
    )
    tracker = wl.Tracker(catalog, "cars")
    places = [(-179.999, 0.001), (-179.9, 0.0), (0, 0)]
    told = []
    for time, at in enumerate(places):
        changes = tracker.process(rows([at], [1], time=time))
        names = ("query_id", "sign", "distance")
        told.append(sorted(zip(*(changes[name].to_pylist() for name in names), strict=True)))
    far = [earth.distance(at, (180, 0)) for at in places]
    assert told[0] == [
        ("also", 1, pytest.approx(far[0], rel=1e-12)), ("box", 1, None),
        ("near", 1, pytest.approx(far[0], rel=1e-12)),
    ]  # fmt: skip
    assert 156 < far[0] < 158
    assert told[1] == [(name, -1, pytest.approx(far[1], rel=1e-12)) for name in ("also", "near")]
    assert told[2] == [("box", -1, None)]
    assert far[1] == pytest.approx(11_119.5 * 6_378_137 / 6_371_008.8, rel=1e-4)


def test_blocks_of_regions_on_earth(tmp_path: Path) -> None:
    catalog = wl.Catalog(tmp_path / "catalog")
    catalog.execute(CARS)
    shapes = [
        shapely.Point(190, 10), shapely.LineString([(179, 0), (181, 0)]),
        shapely.box(170, -5, 190, 5), shapely.Point(0, 90),
    ]  # fmt: skip
    lengths = {"radius": [5e4, np.nan, np.nan, 10.0], "within": [np.nan, 3e3, np.nan, np.nan]}
    catalog.register_regions("cars", ["a", "b", "c", "d"], shapes, emit="matches", **lengths)
    again = wl.Catalog(tmp_path / "catalog")
    points = [(-170, 10.4), (-179.5, 0.02), (-179.5, 0.03), (171, 2), (4, 90), (-170, 10.46)]
    for each in (catalog, again):
        assert matched(each, points) == [["a"], ["b", "c"], ["c"], ["c"], ["d"], []]
        for query in each.queries():
            read = sql.statement(query.sql, each.streams())
            assert isinstance(read, sql.CreateQuery)
            assert read.query == query
    texts = {query.id: query.sql for query in again.queries()}
    assert "INSIDE CIRCLE (-170, 10, 50000 METERS)" in texts["a"]
    assert "WITHIN 3000 METERS" in texts["b"]
    # Vectors are not stored: they follow from degrees.
    [block] = catalog.queries().blocks
    assert len(block.regions.coordinates) > sum(len(block.region(i).sql) > 0 for i in (1, 2))
    with pytest.raises(InvalidRange, match=r"query 'x' \(geometry 0\): it has latitude 122"):
        catalog.register_regions("cars", ["x"], [shapely.Point(37, 122)], radius=5)
    statements = [query.sql for query in again.queries()]
    assert matched(wl.Catalog.of([CARS, *statements]), points) == matched(again, points)


def test_polygons_in_sql_across_the_antimeridian() -> None:
    polygon = "POLYGON ((170 -5, 190 -5, 190 5, 170 5, 170 -5))"
    text = f"CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON '{polygon}' EMIT MATCHES"
    catalog = wl.Catalog.of([CARS, text])
    points = [(175, 0), (-175, 0), (-169, 0), (169, 0)]
    assert matched(catalog, points) == [["q"], ["q"], [], []]
    [query] = catalog.queries()
    assert matched(wl.Catalog.of([CARS, query.sql]), points) == [["q"], ["q"], [], []]
    for bad, words in (
        ("POLYGON ((0 0, 1 0, 1 91, 0 0))", "latitude 91, beyond 90: are longitude and latitude"),
        ("POLYGON ((-120 80, 0 80, 120 80, -120 80))", "the polygon goes around a pole"),
        ("POLYGON ((-190 0, 190 0, 190 8, -190 0))", "at most 360 degrees"),
    ):
        with pytest.raises(QuerySyntaxError, match=words):
            wl.Catalog.of([CARS, text.replace(polygon, bad)])
