"""Rows are accepted once: what was accepted is processed as it is, by a tracker and by a joiner."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pyarrow as pa
import pytest

import watchline as wl
from watchline.errors import SchemaMismatch, UnknownAttribute
from watchline.rows import AcceptedRows, accepted
from watchline.sql import CreateStream, statement

TICKS = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, ts TIMESTAMP)"
    " OBJECT symbol TIME ts"
)
CHEAP = "CREATE QUERY cheap AS SELECT * FROM ticks WHERE price < 40 EMIT CHANGES"
PAIR = (
    "CREATE QUERY pair AS SELECT * FROM ticks AS a [RANGE 5 SECONDS], ticks AS b [RANGE 5 SECONDS]"
    " WHERE a.symbol = b.symbol"
)


def declared(text: str = TICKS):  # type: ignore[no-untyped-def]
    made = statement(text)
    assert isinstance(made, CreateStream)
    return made.stream


def rows(*listed: tuple[str | None, float | None]) -> pa.Table:
    times = [datetime(2026, 1, 1, 0, 0, i, tzinfo=timezone.utc) for i in range(len(listed))]
    return pa.table(
        {
            "symbol": pa.array([symbol for symbol, _ in listed], pa.string()),
            "price": pa.array([price for _, price in listed], pa.float64()),
            "volume": pa.nulls(len(listed), pa.float64()),
            "ts": times,
            "beside": range(len(listed)),
        }
    )


ROWS = rows(("IBM", 39.0), (None, 1.0), ("SAP", None), ("IBM", 41.0))


def test_what_is_accepted_has_the_declared_columns_of_good_rows() -> None:
    good, rejects = accepted(ROWS, declared(), frozenset({"price"}))
    assert good.table.column_names == ["symbol", "price", "volume", "ts"]
    assert good.table["price"].to_pylist() == [39.0, 41.0]
    assert good.num_rows == 2
    assert rejects == {"no object id": 1, "no finite price": 1}


def test_accepted_rows_are_not_checked_again() -> None:
    stream = declared()
    good, _ = accepted(ROWS, stream, frozenset({"price"}))
    again, rejects = accepted(good, stream, frozenset({"price", "volume"}), now=0)
    assert again is good
    assert not rejects


def test_a_tracker_does_the_same_with_rows_that_are_accepted() -> None:
    checks, trusts = (wl.Tracker([TICKS, CHEAP], "ticks") for _ in range(2))
    good, rejects = accepted(ROWS, declared(), frozenset({"price"}))
    trusts.count_rejects(rejects)
    assert trusts.process(good).equals(checks.process(ROWS))
    assert trusts.stats() == checks.stats()
    assert trusts.snapshot() == checks.snapshot()


def test_a_joiner_does_the_same_with_rows_that_are_accepted() -> None:
    checks, trusts = (wl.Joiner([TICKS, PAIR], ["ticks"]) for _ in range(2))
    good, rejects = accepted(ROWS, declared(), frozenset())
    trusts.count_rejects(rejects)
    assert trusts.process({"ticks": good}).equals(checks.process({"ticks": ROWS}))
    assert trusts.stats() == checks.stats()


def test_rows_in_pieces_are_trusted_as_they_are() -> None:
    good, _ = accepted(ROWS, declared(), frozenset({"price"}))
    pieces = pa.concat_tables([good.table.slice(0, 1), good.table.slice(1)])
    assert AcceptedRows.trusted(pieces, declared()).table.equals(good.table)


def test_rows_of_another_declaration_are_refused() -> None:
    stream = declared()
    good, _ = accepted(ROWS, stream, frozenset())
    others = [declared(TICKS.replace("volume DOUBLE", "volume BIGINT")), replace(stream, name="t")]
    for other in others:
        with pytest.raises(SchemaMismatch, match="were accepted for stream 'ticks'"):
            accepted(good, other, frozenset())
    with pytest.raises(UnknownAttribute):
        AcceptedRows.trusted(good.table.drop_columns(["ts"]), stream)
