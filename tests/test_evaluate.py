"""Columns from Arrow: types that fit and types that do not, nulls, and no needless copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.sql_fixtures import streams
from watchline import sql
from watchline.errors import InvalidQuery, UnknownAttribute
from watchline.evaluate import holds, satisfies
from watchline.rows.columns import Columns

STREAMS = {s.name: s for s in streams()}
TICKS = STREAMS["ticks"]


def where(condition: str, columns: dict[str, Any]) -> list[bool]:
    text = f"CREATE QUERY q AS SELECT * FROM ticks WHERE {condition}"
    statement = sql.statement(text, STREAMS.values())
    assert isinstance(statement, sql.CreateQuery)
    return holds(statement.query.where, Columns(pa.table(columns), TICKS)).tolist()


def test_no_copy_of_plain_columns() -> None:
    values = np.arange(5, dtype=np.float64)
    columns = Columns(pa.table({"price": values}), TICKS)
    assert np.shares_memory(columns.values(TICKS.attribute("price")), values)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.int32(), pa.int8(), pa.uint16()])
def test_numbers_that_fit_a_double(kind: pa.DataType) -> None:
    assert where("price < 3", {"price": pa.array([2, 3, None], kind)}) == [True, False, False]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.uint32()])
def test_numbers_that_fit_a_bigint(kind: pa.DataType) -> None:
    assert where("n >= 3", {"n": pa.array([2, 3, None], kind)}) == [False, True, False]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", "b", None]),
        pa.array(["a", "b", None], pa.large_string()),
        pa.array(["a", "b", None]).dictionary_encode(),
    ],
)
def test_strings(array: pa.Array) -> None:
    assert where("symbol = 'a'", {"symbol": array}) == [True, False, False]
    assert where("symbol <> 'a'", {"symbol": array}) == [False, True, False]
    assert where("symbol IS NULL", {"symbol": array}) == [False, False, True]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times(unit: str, zone: str | None) -> None:
    array = pa.array([0, -1, None], pa.timestamp(unit, zone))
    assert where("ts < '1970-01-01'", {"ts": array}) == [False, True, False]
    assert where("ts >= '1970-01-01'", {"ts": array}) == [True, False, False]


def test_a_column_of_nulls_only() -> None:
    for name, condition in (
        ("price", "price < 3"),
        ("symbol", "symbol = 'a'"),
        ("ts", "ts > '2020-01-01'"),
    ):
        assert where(condition, {name: pa.nulls(2)}) == [False, False]
        assert where(f"{name} IS NULL", {name: pa.nulls(2)}) == [True, True]


def test_no_rows() -> None:
    assert (
        where(
            "price < 3 OR symbol = 'a'",
            {"price": pa.array([], pa.float64()), "symbol": pa.array([], pa.string())},
        )
        == []
    )


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("price < 3", {"price": ["a"]}),
        ("price < 3", {"price": pa.array([1], pa.int64())}),
        ("n < 3", {"n": [1.5]}),
        ("n < 3", {"n": pa.array([1], pa.uint64())}),
        ("symbol = 'a'", {"symbol": [1]}),
        ("halted", {"halted": [1]}),
        ("ts > '2020-01-01'", {"ts": [1]}),
    ],
)
def test_types_that_do_not_fit(condition: str, columns: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery, match=r"but stream 'ticks' declares it as .*: cast it first"):
        where(condition, columns)


def test_columns_that_are_missing_or_double() -> None:
    with pytest.raises(UnknownAttribute, match="the rows have no column 'price'"):
        where("price < 3", {"volume": [1.0]})
    twice = pa.table([pa.array([1.0]), pa.array([1.0])], names=["price", "price"])
    with pytest.raises(UnknownAttribute, match="the rows have 2 columns 'price'"):
        Columns(twice, TICKS).array(TICKS.attribute("price"))


def test_where_and_inside_together() -> None:
    cars = STREAMS["cars"]
    text = "CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' INSIDE (0, 0, 1, 1)"
    statement = sql.statement(text, STREAMS.values())
    assert isinstance(statement, sql.CreateQuery)
    rows = {
        "x": [0.0, 0.5, 1.0, 0.5, None],
        "y": [0.0, 0.5, 0.5, 0.5, 0.5],
        "kind": ["taxi"] * 3 + ["bus", "taxi"],
    }
    mask = satisfies(statement.query, Columns(pa.table(rows), cars), cars)
    assert mask.tolist() == [True, True, False, False, False]
