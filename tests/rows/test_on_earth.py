"""Rows on Earth: longitudes come around, and latitudes beyond a pole are rejected."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import reference
from tests.reference_earth import Earth
from tests.support.earth import latitudes, turned
from tests.support.effort import examples
from watchline.model import Attribute, Stream, Type
from watchline.rows import accepted
from watchline.rows.columns import Columns

MOMENT = datetime(2026, 1, 1, tzinfo=timezone.utc)
ATTRIBUTES = (
    Attribute("id", Type.BIGINT),
    Attribute("lon", Type.DOUBLE),
    Attribute("lat", Type.DOUBLE),
    Attribute("ts", Type.TIMESTAMP),
)
EARTH = Stream("cabs", ATTRIBUTES, "id", "ts", point=("lon", "lat"), geography=True)
PLANE = replace(EARTH, geography=False)
PLACE = frozenset({"lon", "lat"})


def rows(*places: tuple[Any, Any]) -> pa.Table:
    columns = list(zip(*places, strict=True))
    return pa.table(
        {
            "id": pa.array(range(len(places)), pa.int64()),
            "lon": pa.array(columns[0], pa.float64(), from_pandas=False),
            "lat": pa.array(columns[1], pa.float64(), from_pandas=False),
            "ts": pa.array([MOMENT] * len(places), pa.timestamp("us", "UTC")),
        }
    )


def kept(*places: tuple[Any, Any], used: frozenset[str] = PLACE) -> tuple[list[Any], Any]:
    good, rejects = accepted(rows(*places), EARTH, used)
    table = good.table
    return list(zip(table["lon"].to_pylist(), table["lat"].to_pylist(), strict=True)), rejects


def test_longitudes_come_around() -> None:
    found, rejects = kept((180, 0), (-180, 0), (181, 1), (540, 2), (-541, 3), (12.5, 4))
    assert found == [(-180, 0), (-180, 0), (-179, 1), (-180, 2), (179, 3), (12.5, 4)]
    assert not rejects


def test_the_poles_are_places_and_what_is_beyond_is_rejected() -> None:
    beyond = math.nextafter(90.0, 91.0)
    found, rejects = kept(
        (0, 90), (0, -90), (0, beyond), (0, -beyond), (37.7, -122.4), (0, math.inf)
    )
    assert found == [(0, 90), (0, -90)]
    assert rejects == {"latitude": 4}


def test_a_latitude_is_judged_whether_queries_use_it_or_not() -> None:
    found, rejects = kept((37.7, -122.4), (None, 1), (1, math.nan), used=frozenset())
    assert len(found) == 2
    assert found[0] == (None, 1)
    assert rejects == {"latitude": 1}


def test_no_place_is_no_latitude() -> None:
    found, rejects = kept((None, 1), (1, None), (math.nan, 2), (2, math.nan), (math.inf, 3), (5, 5))
    assert found == [(5, 5)]
    assert rejects == {"no finite lon": 3, "no finite lat": 2}


def test_rows_of_the_plane_stay_as_they_are() -> None:
    table = rows((540, 1), (0, 500))
    good, rejects = accepted(table, PLANE, PLACE)
    assert good.table.equals(table)
    assert not rejects


def test_rows_of_another_form_are_the_same() -> None:
    """Columns of other types and in pieces, and one batch."""
    table = rows((540.0, 1.0), (3.0, 95.0), (-200.0, 2.0))
    wanted, rejects = accepted(table, EARTH, PLACE)
    narrow = table.set_column(1, "lon", table["lon"].cast(pa.float32()))
    for given_ in (
        narrow,
        table.to_batches()[0],
        pa.concat_tables([table.slice(0, 1), table.slice(1)]),
        table.append_column("beside", pa.array([1, 2, 3])),
    ):
        found, why = accepted(given_, EARTH, PLACE)
        assert found.table.equals(wanted.table)
        assert why == rejects == {"latitude": 1}


def test_what_is_accepted_is_accepted_again() -> None:
    good, _ = accepted(rows((540, 1), (3, 4)), EARTH, PLACE)
    assert accepted(good, EARTH, PLACE) == (good, {})
    assert accepted(good.table, EARTH, PLACE)[0].table.equals(good.table)


def test_matches_see_no_latitude_beyond_a_pole() -> None:
    columns = Columns(rows((540, 1), (0, 90.5), (-180, -90)), EARTH)
    assert columns.array(EARTH.attribute("lon")).to_pylist() == [-180, 0, -180]
    assert columns.array(EARTH.attribute("lat")).to_pylist() == [1, None, -90]
    some = columns.take(np.array([1, 2]))
    assert some.array(EARTH.attribute("lat")).to_pylist() == [None, -90]


odd = st.sampled_from([None, math.nan, math.inf, -math.inf, 90.0000001, -123.0])


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(turned | odd, latitudes | odd), min_size=1, max_size=12))
def test_rows_are_taken_as_the_oracle_takes_them(places: list[tuple[Any, Any]]) -> None:
    spec = reference.StreamSpec("id", "ts", [("id", "BIGINT"), ("lon", "DOUBLE")], ("lon", "lat"))
    taken = [Earth().taken({"lon": lon, "lat": lat}, spec) for lon, lat in places]
    wanted = [
        (row["lon"], row["lat"])
        for row in taken
        if row and all(map(reference.is_finite, row.values()))
    ]
    assert kept(*places)[0] == wanted


def test_a_stream_on_earth_needs_a_point() -> None:
    with pytest.raises(Exception, match="AS GEOGRAPHY needs a POINT"):
        replace(EARTH, point=None)
