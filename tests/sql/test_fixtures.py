"""Every statement of tests/sql/*.sql has exactly the model, or the message, written under it."""

from __future__ import annotations

import os

import pytest

from tests.support.sql_fixtures import Pair, outcome, pairs, streams, update
from watchline import sql
from watchline.catalog import codec

GOOD = ("streams", "conditions", "regions", "joins", "others")
STREAMS = streams()

if os.environ.get("WATCHLINE_UPDATE_FIXTURES"):
    for file in (*GOOD, "bad"):
        update(file, STREAMS)

good = [pair for file in GOOD for pair in pairs(file)]
bad = pairs("bad")


def test_there_are_enough() -> None:
    assert len(good) >= 80
    assert len(bad) >= 40


@pytest.mark.parametrize("pair", [*good, *bad], ids=lambda p: p.name)
def test_outcome(pair: Pair) -> None:
    assert outcome(pair.statement, STREAMS) == pair.expected


@pytest.mark.parametrize("pair", good, ids=lambda p: p.name)
def test_good_statements_are_accepted(pair: Pair) -> None:
    assert "Error" not in pair.expected.split(":")[0]


@pytest.mark.parametrize("pair", bad, ids=lambda p: p.name)
def test_bad_statements_are_refused(pair: Pair) -> None:
    assert pair.expected.startswith("QuerySyntaxError: ")


@pytest.mark.parametrize("pair", good, ids=lambda p: p.name)
def test_repr_and_json_lead_back_to_the_model(pair: Pair) -> None:
    found = sql.statement(pair.statement, STREAMS)
    if isinstance(found, sql.CreateQuery):
        again = sql.statement(found.query.sql, STREAMS)
        assert isinstance(again, sql.CreateQuery)
        assert again.query == found.query
        assert hash(again.query) == hash(found.query)
        assert codec.loads(codec.dumps(found.query)) == found.query
    if isinstance(found, sql.CreateStream):
        again = sql.statement(repr(found.stream))
        assert isinstance(again, sql.CreateStream)
        assert again.stream == found.stream
        assert codec.loads(codec.dumps(found.stream)) == found.stream
