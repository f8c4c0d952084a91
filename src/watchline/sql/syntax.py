"""What a statement says, before anything is looked up: words, expressions and their places.

The parser makes these; the binder turns them into the model. `Place` is a half-open span of
characters in the text, so that an error found at any stage can point at its cause.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn, Union

from sqlglot import exp

from watchline.errors import QuerySyntaxError

TOO_DEEP = "the statement nests too deeply: flatten its parentheses, NOTs or sums"


@dataclass(frozen=True, slots=True)
class Place:
    """A span of the text that errors point at."""

    text: str
    start: int
    end: int

    def refuse(self, problem: str, cause: Exception | None = None) -> NoReturn:
        raise QuerySyntaxError(problem, self.text, self.start, self.end) from cause


def place_of(node: exp.Expr, fallback: Place) -> Place:
    """The span of an expression: from its first to its last part whose place is known."""
    spans = [
        (n.meta["start"], n.meta["end"] + 1) for n in node.walk() if n.meta.get("start") is not None
    ]
    if not spans:
        return fallback
    return Place(fallback.text, min(s for s, _ in spans), max(e for _, e in spans))


@dataclass(frozen=True, slots=True)
class Word:
    """A name, number or string with its place."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Interval:
    """`INTERVAL 90 SECONDS`, in microseconds."""

    micros: int
    place: Place


@dataclass(slots=True)
class StreamSyntax:
    """A `CREATE STREAM` statement, its names not yet looked up."""

    name: Word
    place: Place
    if_not_exists: bool = False
    columns: list[tuple[Word, Word]] = field(default_factory=list)
    object: Word | None = None
    time: Word | None = None
    point: tuple[Word, Word] | None = None
    timeout: Interval | None = None
    max_speed: exp.Expr | None = None
    # A length of time, or the word UNLIMITED.
    max_ahead: Interval | Word | None = None
    retain: Word | None = None
    cache: exp.Expr | None = None
    max_objects: exp.Expr | None = None
    max_bytes: exp.Expr | None = None
    shed: Word | None = None


@dataclass(slots=True)
class SourceSyntax:
    """`stream [RANGE …] AS alias`; a ROWS window has its number as an expression."""

    stream: Word
    alias: Word
    range: Interval | None = None
    rows: exp.Expr | None = None
    place: Place | None = None


@dataclass(slots=True)
class InsideSyntax:
    """`INSIDE [CIRCLE] (…)` or `INSIDE POLYGON '…'`; `shape` is BOX, CIRCLE or POLYGON."""

    shape: str
    place: Place
    arguments: list[exp.Expr] = field(default_factory=list)
    polygon: Word | None = None


@dataclass(slots=True)
class KnnSyntax:
    """A `kNN (…)` clause."""

    place: Place
    arguments: list[exp.Expr]


@dataclass(slots=True)
class QuerySyntax:
    """A `CREATE QUERY` statement, its names not yet looked up."""

    name: Word
    place: Place
    replace: bool = False
    select: list[exp.Expr] | None = None
    sources: list[SourceSyntax] = field(default_factory=list)
    cross: bool = False
    conditions: list[exp.Expr] = field(default_factory=list)
    inside: InsideSyntax | None = None
    knn: KnnSyntax | None = None
    emit: Word | None = None
    accuracy: exp.Expr | None = None
    lifetime: Interval | None = None
    until: Word | None = None


@dataclass(slots=True)
class DropSyntax:
    """`kind` is QUERY or STREAM."""

    kind: str
    name: Word
    place: Place
    if_exists: bool = False


@dataclass(slots=True)
class ShowSyntax:
    """`kind` is QUERIES or STREAMS."""

    kind: str
    place: Place


@dataclass(slots=True)
class ExplainSyntax:
    """An `EXPLAIN QUERY` statement."""

    name: Word
    place: Place


Syntax = Union[StreamSyntax, QuerySyntax, DropSyntax, ShowSyntax, ExplainSyntax]
