"""Any name can be used, and whatever the model prints reads back as the same name."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tests.support.effort import examples
from watchline import sql
from watchline.model import Query, Stream, name_sql
from watchline.model.text import timestamp_sql

KEYWORDS = {
    word
    for word in (
        *sqlglot.Tokenizer.KEYWORDS,
        *sqlglot.Parser.FUNCTIONS,
        *sqlglot.Parser.NO_PAREN_FUNCTION_PARSERS,
        *sqlglot.Parser.FUNCTION_PARSERS,
        *(kind.name for kind in exp.DType),
        *(kind.name for kind in sqlglot.TokenType),
    )
    if word.replace("_", "").isalpha()
}


def check(name: str) -> None:
    quoted = name_sql(name)
    declared = sql.statement(
        f"CREATE STREAM {quoted} ({quoted} DOUBLE, id_ BIGINT, ts_ TIMESTAMP) OBJECT id_ TIME ts_"
    )
    assert isinstance(declared, sql.CreateStream)
    stream = declared.stream
    assert isinstance(stream, Stream)
    assert stream.name == stream.attributes[0].name == name
    again = sql.statement(repr(stream))
    assert isinstance(again, sql.CreateStream)
    assert again.stream == stream
    text = (
        f"CREATE QUERY {quoted} AS SELECT {quoted} FROM {quoted} WHERE {quoted} < 3 OR {quoted} = 5"
    )
    created = sql.statement(text, [stream])
    assert isinstance(created, sql.CreateQuery)
    query = created.query
    assert isinstance(query, Query)
    assert query.id == name
    second = sql.statement(query.sql, [stream])
    assert isinstance(second, sql.CreateQuery)
    assert second.query == query


@pytest.mark.slow
def test_every_word_of_sql_as_a_name() -> None:
    assert len(KEYWORDS) > 500
    for word in sorted(KEYWORDS | {word.lower() for word in KEYWORDS}):
        check(word)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8))
def test_any_text_as_a_name(name: str) -> None:
    if name not in ("id_", "ts_"):
        check(name)


def test_times_outside_the_calendar_have_no_literal() -> None:
    assert timestamp_sql(2**62) is None
    assert timestamp_sql(0) == "TIMESTAMP '1970-01-01 00:00:00'"
    assert timestamp_sql(-1) == "TIMESTAMP '1969-12-31 23:59:59.999999'"
