"""The oracle on Earth against places worked by hand; every expectation is written out."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests import reference
from tests.reference import QuerySpec, StreamSpec
from tests.reference_earth import (
    Earth,
    chord,
    distance,
    inside,
    is_close,
    is_close_nearest,
    ranked,
    vector,
    within,
    wrapped,
)

ROUND = 2 * math.pi * 6_371_008.8
DEGREE = ROUND / 360


def test_a_vector() -> None:
    """On the axes the ellipsoid has its two radii; at 45 degrees the values of any textbook."""
    assert [float(c) for c in vector(0, 0)] == [6378137.0, 0.0, 0.0]
    assert [float(c) for c in vector(90, 0)] == pytest.approx([0.0, 6378137.0, 0.0], abs=1e-9)
    assert [float(c) for c in vector(17, 90)] == pytest.approx([0.0, 0.0, 6356752.314245179])
    assert [float(c) for c in vector(0, 45)] == pytest.approx(
        [4517590.878848932, 0.0, 4487348.408865919]
    )


def test_longitudes_come_around() -> None:
    assert [wrapped(lon) for lon in (180, -180, 181, -181, 540, 359.5, 0)] == [
        -180, -180, -179, 179, -180, -0.5, 0,
    ]  # fmt: skip
    assert chord((180, 10), (-180, 10)) == 0
    assert chord((5, 90), (-100, 90)) == 0


def test_distances() -> None:
    # The chord of a degree at the equator, of the equator's radius, has a longer arc than a degree.
    assert distance((0, 0), (1, 0)) == pytest.approx(DEGREE * 6378137 / 6371008.8, rel=1e-6)
    # A sphere's radius less than the equator's: its antipodes are beyond the diameter.
    assert distance((0, 0), (180, 0)) == pytest.approx(ROUND / 2)
    assert distance((0, 90), (0, -90)) < ROUND / 2
    assert within((0, 0), (180, 0), ROUND / 2 * (1 + 1e-12))
    assert not within((0, 0), (180, 0), ROUND / 2 - 1)
    assert within((0, 0), (0, 0), 0.0)


@pytest.mark.parametrize(
    ("region", "place", "holds"),
    [
        (("box", 170, -10, -170, 10), (175, 0), True),
        (("box", 170, -10, -170, 10), (-175, 0), True),
        (("box", 170, -10, -170, 10), (170, -10), True),
        (("box", 170, -10, -170, 10), (-170, 0), False),
        (("box", 170, -10, -170, 10), (0, 0), False),
        (("box", -180, 80, 180, 90), (33, 90), True),
        (("box", -180, 80, 180, 90), (180, 80), True),
        (("box", 0, 0, 10, 10), (10, 5), False),
        (("box", 0, 0, 10, 10), (5, 10), False),
        (("box", 0, 0, 180, 10), (180, 5), False),
        (("circle", 179.999, 0, 500), (-179.998, 0), True),
        (("circle", 179.999, 0, 300), (-179.998, 0), False),
        (("circle", 0, 90, 1000), (123, 89.9911), True),
        (("circle", 0, 90, 1000), (123, 89.9909), False),
        (("circle", 10, 20, ROUND), (-170, -20), True),
        (("corridor", [[(0, 0), (10, 0)]], 1000), (5, 0.0089), True),
        (("corridor", [[(0, 0), (10, 0)]], 1000), (5, 0.0091), False),
        (("corridor", [[(170, 60), (190, 60)]], 1000), (-175, 60.0089), True),
        (("corridor", [[(10, 60), (10, 61)]], 1000), (10.0179, 60.5), True),
        (("corridor", [[(10, 60), (10, 61)]], 1000), (10.0185, 60.5), False),
        (("polygon", [[(170, 0), (190, 0), (190, 10), (170, 10)]]), (-175, 5), True),
        (("polygon", [[(170, 0), (190, 0), (190, 10), (170, 10)]]), (175, 5), True),
        (("polygon", [[(170, 0), (190, 0), (190, 10), (170, 10)]]), (165, 5), False),
        (("polygon", [[(0, 0), (10, 0), (10, 10)]]), (5, 91), False),
    ],
)
def test_static_regions(region: Any, place: Any, holds: bool) -> None:
    assert inside(region, *place) is holds
    assert not is_close(region, *place)


@pytest.mark.parametrize(
    ("region", "centre", "place", "holds"),
    [
        (("mbox", 1, 2 * DEGREE, DEGREE), (0, 0), (0.99, 0.49), True),
        (("mbox", 1, 2 * DEGREE, DEGREE), (0, 0), (1.01, 0), False),
        (("mbox", 1, 2 * DEGREE, DEGREE), (0, 0), (0, 0.51), False),
        (("mbox", 1, 2 * DEGREE, DEGREE), (0, 60), (1.99, 60), True),
        (("mbox", 1, 2 * DEGREE, DEGREE), (0, 60), (2.01, 60), False),
        (("mbox", 1, 2 * DEGREE, DEGREE), (179.5, 0), (-179.6, 0), True),
        (("mbox", 1, 2 * DEGREE, DEGREE), (-179.5, 0), (179.6, 0), True),
        (("mbox", 1, 10, 4 * DEGREE), (0, 89), (123, 87.1), True),
        (("mbox", 1, 10, 4 * DEGREE), (0, 89), (123, 86.9), False),
        (("mbox", 1, 1e9, DEGREE), (0, 0), (180, 0.3), True),
        (("mcircle", 1, 1000), (180, 0), (-179.992, 0), True),
        (("mcircle", 1, 1000), (180, 0), (-179.99, 0), False),
    ],
)
def test_moving_regions(region: Any, centre: Any, place: Any, holds: bool) -> None:
    assert inside(region, *place, centre) is holds
    assert not is_close(region, *place, centre)


def test_what_is_close_to_a_border() -> None:
    metres = distance((0, 0), (0.01, 0))
    assert is_close(("circle", 0, 0, metres), 0.01, 0)
    assert not is_close(("circle", 0, 0, metres * (1 + 1e-6)), 0.01, 0)
    assert is_close(("mcircle", 1, metres), 0.01, 0, (0, 0))
    assert is_close(("mbox", 1, 2 * DEGREE, 10 * DEGREE), 1, 0, (0, 0))
    assert not is_close(("mbox", 1, 2 * DEGREE, 10 * DEGREE), 1.001, 0, (0, 0))
    assert is_close(("corridor", [[(0, 0), (10, 0)]], DEGREE), 5, 1)
    assert is_close(("polygon", [[(170, 0), (190, 0), (190, 10)]]), -175, 0)
    assert not is_close(("polygon", [[(170, 0), (175, 0), (175, 10)]]), 172, 0)


def test_the_nearest() -> None:
    places = {
        "a": (0.0, 0.0),
        "b": (180.0, 5.0),
        "c": (-180.0, 5.0),
        "d": (0.0, 1.0),
        "e": (1.0, 0.0),
    }
    order = [name for name, _ in ranked(places, (179.0, 5.0))]
    assert order[:2] == ["b", "c"]
    # Objects at one place go by their ids, which no rounding changes.
    assert not is_close_nearest(1, places, (179.0, 5.0))
    # A place to the north and one to the south of the equator are as far away.
    assert is_close_nearest(1, {"n": (0.0, 1.0), "s": (0.0, -1.0)}, (0.0, 0.0))
    assert not is_close_nearest(2, {"n": (0.0, 1.0), "s": (0.0, -1.0)}, (0.0, 0.0))


def test_a_ledger_on_earth() -> None:
    """
    179.998 -- 180 -- -179.998      cab 1 drives east; 444 m apart
    """
    attributes = [("id", "BIGINT"), ("lon", "DOUBLE"), ("lat", "DOUBLE"), ("ts", "TIMESTAMP")]
    earth = Earth()
    ledger = reference.Ledger(StreamSpec("id", "ts", attributes, ("lon", "lat")), earth)
    ledger.register(QuerySpec("near", region=("circle", -179.998, 0.0, 100.0)))
    ledger.register(QuerySpec("escort", region=("mcircle", 1, 100.0)))
    ledger.register(QuerySpec("next", knn=("knn", 1, 180.0, 0.0)))

    def report(name: int, lon: float, lat: float, time: int) -> list[tuple[Any, ...]]:
        told = ledger.process([{"id": name, "lon": lon, "lat": lat, "ts": time}])
        return [(c.query_id, c.sign, c.object_id, c.row["lon"], c.distance) for c in told]

    assert report(1, 179.998, 0.0, 1) == [("next", 1, 1, 179.998, pytest.approx(222.39, abs=0.3))]
    assert report(2, 180.002, 0.0, 2) == [
        ("near", 1, 2, -179.998, 0.0),
    ]  # fmt: skip
    assert report(1, 180.0015, 0.0, 3) == [
        ("escort", 1, 2, -179.998, pytest.approx(55.6, abs=0.1)),
        ("near", 1, 1, -179.9985, pytest.approx(55.6, abs=0.1)),
    ]
    assert report(3, 0.0, 90.001, 4) == []
    assert ledger.counters == {"late": 0, "rejected": 1}
    assert earth.close == 1
