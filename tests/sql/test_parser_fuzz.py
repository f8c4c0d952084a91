"""No text makes the parser raise anything but our own errors: 100,000 statements of token soup.

No word that is too much is passed over: a good statement with junk in it is refused.
"""

from __future__ import annotations

import random

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples, seeds
from tests.support.sql_fixtures import pairs, streams
from watchline import sql
from watchline.errors import WatchlineError
from watchline.sql.dialect import Watchline

STREAMS = {s.name: s for s in streams()}
GOOD = [
    p.statement for f in ("streams", "conditions", "regions", "joins", "others") for p in pairs(f)
]

WORDS = (
    "CREATE OR REPLACE QUERY STREAM AS SELECT FROM WHERE AND OR NOT IN BETWEEN IS NULL TRUE FALSE"
    " INSIDE CIRCLE POLYGON kNN EMIT CHANGES MATCHES ACCURACY FOR INTERVAL SECONDS HOURS DROP SHOW"
    " CORRIDOR WITHIN 'LINESTRING(0,1)' cabs lon lat m GEOGRAPHY METERS KM MILE PER HOUR SECOND"
    " QUERIES STREAMS EXPLAIN IF EXISTS OBJECT TIME POINT TIMEOUT MAX SPEED RANGE ROWS JOIN CROSS"
    " ON ticks cars r s price volume symbol n halted ts x y z id kind tag q 'M' 'IBM' '' 0 1 17 -1"
    " 1e6 0.5 .5 1e309 1e999999 99999999999999999999 ( ) [ ] { } , . ; = <> != < <= > >= <=> + - *"
    " / % ^ | || & ~ ! ? : :: := @ # $ $1 $$ \\ ` \" ' -- /* */ -> ->> => <- ** // .. ... DOUBLE"
    " BIGINT STRING TIMESTAMP DATE CASE WHEN THEN ELSE END CAST LIKE ILIKE ANY ALL SOME OVER"
    " PARTITION BY ORDER GROUP HAVING LIMIT UNION VALUES WITH RECURSIVE ARRAY MAP STRUCT LATERAL"
    " UNNEST PIVOT QUALIFY WINDOW FILTER DISTINCT EXTRACT SUBSTRING TRIM INTERVAL CURRENT_DATE"
    " COLLATE ESCAPE RLIKE DIV XOR ISNULL NOTNULL OVERLAPS SIMILAR TO AT ZONE x'ff' b'01' 0xff n'a'"
    " é 🚕 \u0000 \u00a0 \u2028 ﬁ \ufeff DEFAULT SET BEGIN COMMIT COPY USE PRAGMA GRANT MERGE"
    " INSERT DELETE UPDATE ALTER TABLE VIEW INDEX TRUNCATE DESCRIBE CACHE KILL LOAD REFRESH ANALYZE"
).split(" ")


def soup(draw: random.Random) -> str:
    """A statement's beginning and then anything, or a good statement with a few words changed."""
    if draw.random() < 0.5:
        start = draw.choice(
            [
                "",
                "CREATE QUERY q AS SELECT * FROM ticks WHERE",
                "CREATE STREAM t (",
                "CREATE QUERY q AS SELECT * FROM cars INSIDE",
                "CREATE QUERY q AS SELECT * FROM cars WHERE NOT INSIDE",
                "CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (0, 0, 5",
                "CREATE QUERY q AS SELECT",
                "CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE",
            ]
        )
        words = draw.choices(WORDS, k=draw.randint(1, 12))
        return f"{start} {draw.choice([' ', ' ', ' ', '']).join(words)}"
    words = draw.choice(GOOD).split(" ")
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(words))
        words[at : at + draw.randint(0, 2)] = draw.choices(WORDS, k=draw.randint(0, 2))
        words = words or [""]
    return " ".join(words)


def survive(text: str) -> bool:
    """Whether the text is accepted; anything but our own errors is a defect."""
    try:
        for syntax in sql.parse(text):
            sql.bind(syntax, STREAMS)
    except WatchlineError:
        return False
    except BaseException as error:
        raise AssertionError(f"{type(error).__name__} for {text!r}") from error
    return True


@pytest.mark.parametrize("seed", seeds(range(10)))
def test_token_soup(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    draw = random.Random(seed)
    accepted = sum(survive(soup(draw)) for _ in range(10_000))
    # Were none accepted, or all, the soup would taste of nothing.
    assert 100 < accepted < 9_900
    assert caplog.records == []


JUNK = (
    "FOO",
    '"foo"',
    "EMITS",
    "CHANGES2",
    "FOO BAR",
    "$foo",
    "5",
    "'foo'",
    "(5)",
    ", ,",
    "AS",
    "é",
)


@pytest.mark.parametrize("junk", JUNK)
def test_no_word_after_a_statement_is_passed_over(junk: str) -> None:
    assert not [text for text in GOOD if survive(f"{text.rstrip().rstrip(';')}\n{junk}")]


@pytest.mark.parametrize("junk", ["FOO", '"foo"', "NULLS FIRST", "'foo'", ", ,"])
def test_no_word_within_a_statement_is_passed_over(junk: str) -> None:
    draw = random.Random(junk)
    for text in GOOD:
        ends = [token.end + 1 for token in sqlglot.tokenize(text, read=Watchline)]
        for at in draw.sample(ends, min(len(ends), 8)):
            spoilt = f"{text[:at]} {junk} {text[at:]}"
            assert not survive(spoilt), spoilt


@settings(max_examples=examples(2_000), deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    survive(text)


@settings(max_examples=examples(2_000), deadline=None)
@given(st.text(max_size=40))
def test_any_condition(text: str) -> None:
    survive(f"CREATE QUERY q AS SELECT * FROM ticks WHERE {text}")


@settings(max_examples=examples(1_000), deadline=None)
@given(st.text(max_size=40))
def test_any_polygon(text: str) -> None:
    quoted = text.replace("'", "''")
    for stream in ("cars", "cabs"):
        survive(f"CREATE QUERY q AS SELECT * FROM {stream} INSIDE POLYGON '{quoted}'")
    survive(f"CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR '{quoted}' WITHIN 1")
