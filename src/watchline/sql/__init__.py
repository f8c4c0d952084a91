"""Text to model: `parse` and `bind`, and `statements` for both.

dialect.py    sqlglot dialect: tokens, expressions, limits, errors
grammar.py    our statements and clauses
syntax.py     what they say, with places in the text
bind.py       names, types, defaults: syntax to model
where.py      WHERE to disjunctive normal form
places.py     INSIDE and kNN
constants.py  exact constant arithmetic
geometry.py   polygons and lines from WKT and GeoJSON
"""

from __future__ import annotations

from collections.abc import Iterable

from watchline.errors import QuerySyntaxError
from watchline.model import Stream
from watchline.names import hint
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
)
from watchline.sql.dialect import parse
from watchline.sql.geometry import crossing_of
from watchline.sql.syntax import DropSyntax, QuerySyntax, StreamSyntax

__all__ = [
    "CreateQuery",
    "CreateStream",
    "DropQuery",
    "DropStream",
    "DropSyntax",
    "ExplainQuery",
    "QuerySyntax",
    "ShowQueries",
    "ShowStreams",
    "Statement",
    "StreamSyntax",
    "bind",
    "crossing_of",
    "hint",
    "parse",
    "statement",
]


def statement(text: str, streams: Iterable[Stream] = ()) -> Statement:
    """The one statement of the text, over these streams."""
    syntaxes = parse(text)
    if len(syntaxes) != 1:
        raise QuerySyntaxError(f"expected one statement, found {len(syntaxes)}")
    return bind(syntaxes[0], {s.name: s for s in streams})
