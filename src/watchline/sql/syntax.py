"""What a statement says, before anything is looked up: words, expressions and their places.

The parser makes these; the binder turns them into the model. `Place` is a half-open span of
characters in the text, so that an error found at any stage can point at its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, TypeVar, Union

from sqlglot import exp

from watchline.errors import InvalidQuery, InvalidRange, QuerySyntaxError, UnknownAttribute

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


T = TypeVar("T")
_NOWHERE: Mapping[str, Place | None] = {}


def built(
    place: Place, build: Callable[[], T], clauses: Mapping[str, Place | None] = _NOWHERE
) -> T:
    """Run a constructor of the model; what it refuses is refused at the clause, or at the place."""
    try:
        return build()
    except (InvalidQuery, InvalidRange, UnknownAttribute) as error:
        (clauses.get(error.clause) or place).refuse(str(error), error)


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
    geography: bool = False
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
    """`INSIDE [CIRCLE] (…)`, `INSIDE POLYGON '…'` or `INSIDE CORRIDOR '…' WITHIN d`.

    `shape` is BOX, CIRCLE, POLYGON or CORRIDOR.
    """

    shape: str
    place: Place
    arguments: list[exp.Expr] = field(default_factory=list)
    geometry: Word | None = None
    within: exp.Expr | None = None


class InsidePredicate(exp.Expression):
    """INSIDE as a condition among sqlglot's expressions; `this` is an `InsideSyntax`."""

    arg_types: ClassVar[dict[str, Any]] = {"this": True}


class Measure(exp.Expression):
    """A number with a unit, `500 METERS`, among sqlglot's expressions; `this` is the number."""

    arg_types: ClassVar[dict[str, Any]] = {"this": True, "unit": True}

    @property
    def unit(self) -> str:
        """In the plural, as in METERS or MILES PER HOUR."""
        return str(self.args["unit"])


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
    properties: Word | None = None


@dataclass(slots=True)
class DropSyntax:
    """`kind` is QUERY or STREAM."""

    kind: str
    name: Word
    place: Place
    if_exists: bool = False


@dataclass(slots=True)
class ShowSyntax:
    """`kind` is QUERIES or STREAMS; queries may be chosen by a condition."""

    kind: str
    place: Place
    condition: exp.Expr | None = None


@dataclass(slots=True)
class ExplainSyntax:
    """An `EXPLAIN QUERY` statement."""

    name: Word
    place: Place


Syntax = Union[StreamSyntax, QuerySyntax, DropSyntax, ShowSyntax, ExplainSyntax]
