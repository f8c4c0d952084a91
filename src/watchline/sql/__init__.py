"""Text to model: `parse` and `bind`, and `statements` for both.

dialect.py    sqlglot dialect: tokens, expressions, limits, errors
grammar.py    our statements and clauses
syntax.py     what they say, with places in the text
bind.py       names, types, defaults: syntax to model
where.py      WHERE to disjunctive normal form
places.py     INSIDE and kNN
constants.py  exact constant arithmetic
lengths.py    lengths and speeds with units
geometry.py   polygons and lines from WKT and GeoJSON
antimeridian.py  polygons on Earth, cut to within 180 degrees
showing.py    the conditions of SHOW
"""

from __future__ import annotations

from collections.abc import Iterable

from watchline.errors import QuerySyntaxError
from watchline.model import Condition, Stream
from watchline.names import hint
from watchline.sql.antimeridian import laid_out, problem_of
from watchline.sql.bind import (
    CreateQuery,
    CreateStream,
    DropQuery,
    DropStream,
    ExplainQuery,
    ShowQueries,
    ShowStreams,
    Statement,
    bind,
    condition_over,
)
from watchline.sql.dialect import parse, parse_condition
from watchline.sql.geometry import crossing_of
from watchline.sql.showing import QueryFilter, query_filter
from watchline.sql.syntax import DropSyntax, Place, QuerySyntax, StreamSyntax

__all__ = [
    "CreateQuery",
    "CreateStream",
    "DropQuery",
    "DropStream",
    "DropSyntax",
    "ExplainQuery",
    "QueryFilter",
    "QuerySyntax",
    "ShowQueries",
    "ShowStreams",
    "Statement",
    "StreamSyntax",
    "bind",
    "condition",
    "crossing_of",
    "filter_of",
    "hint",
    "laid_out",
    "parse",
    "problem_of",
    "statement",
]


def statement(text: str, streams: Iterable[Stream] = ()) -> Statement:
    """The one statement of the text, over these streams."""
    syntaxes = parse(text)
    if len(syntaxes) != 1:
        raise QuerySyntaxError(f"expected one statement, found {len(syntaxes)}")
    return bind(syntaxes[0], {s.name: s for s in streams})


def condition(text: str, stream: Stream) -> Condition:
    """The condition that the text is, over this stream: what may stand after WHERE."""
    return condition_over(stream, parse_condition(text), Place(text, 0, len(text)))


def filter_of(text: str) -> QueryFilter:
    """The condition over queries that the text is: what may stand after SHOW QUERIES WHERE."""
    made = query_filter(parse_condition(text), Place(text, 0, len(text)))
    assert made is not None
    return made
