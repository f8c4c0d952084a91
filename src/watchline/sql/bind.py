"""Syntax to model: names are looked up, types checked, constants computed, defaults filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Union

from sqlglot import exp

from watchline.errors import InvalidQuery
from watchline.model import (
    JOINS_HAVE_NO_PLACE,
    MATCHES_ARE_NOT_SHED,
    MATCHES_HAVE_NO_BIRTH,
    MATCHES_HAVE_NO_SPEED,
    MAX_AHEAD,
    SPEED,
    TRUE,
    Attribute,
    Compare,
    Condition,
    Conjunction,
    Emit,
    Inside,
    MovingBox,
    MovingCircle,
    Query,
    RangeWindow,
    Retention,
    RowsWindow,
    Shed,
    Source,
    Stream,
    Type,
    Window,
    canonical_properties,
    name_sql,
)
from watchline.names import hint, listing
from watchline.sql.constants import double, moment, whole
from watchline.sql.lengths import Surface, speed
from watchline.sql.places import bind_knn, bind_region
from watchline.sql.showing import QueryFilter, query_filter
from watchline.sql.syntax import (
    TOO_DEEP,
    DropSyntax,
    ExplainSyntax,
    InsidePredicate,
    InsideSyntax,
    Interval,
    Place,
    QuerySyntax,
    ShowSyntax,
    SourceSyntax,
    StreamSyntax,
    Syntax,
    Word,
    built,
    place_of,
)
from watchline.sql.where import ConditionBinder

_TYPE_NAMES = {
    **{t.value: t for t in Type},
    **dict.fromkeys(("FLOAT", "REAL", "FLOAT64"), Type.DOUBLE),
    **dict.fromkeys(("INT", "INTEGER", "LONG", "INT64"), Type.BIGINT),
    **dict.fromkeys(("VARCHAR", "TEXT"), Type.STRING),
    "BOOL": Type.BOOLEAN,
}
_LONGITUDES = ("lon", "lng", "long", "longitude")
_LATITUDES = ("lat", "latitude")


@dataclass(frozen=True, slots=True)
class CreateStream:
    """`CREATE STREAM`, and its text as it was typed."""

    stream: Stream
    text: str
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateQuery:
    """`CREATE [OR REPLACE] QUERY`, and its text as it was typed."""

    query: Query
    text: str
    replace: bool = False


@dataclass(frozen=True, slots=True)
class DropQuery:
    """`DROP QUERY`."""

    id: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropStream:
    """`DROP STREAM`."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ShowQueries:
    """`SHOW QUERIES`, of all or of those that a filter lets pass."""

    where: QueryFilter | None = None


@dataclass(frozen=True, slots=True)
class ShowStreams:
    """`SHOW STREAMS`."""


@dataclass(frozen=True, slots=True)
class ExplainQuery:
    """`EXPLAIN QUERY`."""

    id: str


Statement = Union[
    CreateStream, CreateQuery, DropQuery, DropStream, ShowQueries, ShowStreams, ExplainQuery
]


def bind(syntax: Syntax, streams: Mapping[str, Stream]) -> Statement:
    """The statement over these streams; every mistake is a QuerySyntaxError at its place."""
    try:
        return _bind(syntax, streams)
    except RecursionError:
        syntax.place.refuse(TOO_DEEP)


def _bind(syntax: Syntax, streams: Mapping[str, Stream]) -> Statement:
    text = syntax.place.text[syntax.place.start : syntax.place.end]
    if isinstance(syntax, StreamSyntax):
        return CreateStream(_stream(syntax), text, syntax.if_not_exists)
    if isinstance(syntax, QuerySyntax):
        return CreateQuery(_QueryBinder(syntax, streams).query(), text, syntax.replace)
    if isinstance(syntax, DropSyntax):
        kind = DropQuery if syntax.kind == "QUERY" else DropStream
        return kind(syntax.name.text, syntax.if_exists)
    if isinstance(syntax, ShowSyntax):
        if syntax.kind == "STREAMS":
            return ShowStreams()
        return ShowQueries(query_filter(syntax.condition, syntax.place))
    assert isinstance(syntax, ExplainSyntax)
    return ExplainQuery(syntax.name.text)


# --- streams


def _stream(syntax: StreamSyntax) -> Stream:
    attributes = tuple(Attribute(name.text, _type(kind)) for name, kind in syntax.columns)
    names = [a.name for a in attributes]
    for clause, word in (("OBJECT", syntax.object), ("TIME", syntax.time)):
        if word is None:
            end = Place(syntax.place.text, syntax.place.end, syntax.place.end)
            end.refuse(f"a stream needs {clause} and the name of one of its attributes")
    assert syntax.object is not None
    assert syntax.time is not None
    for word in (syntax.object, syntax.time, *(syntax.point or ())):
        _known(word, names, f"stream {syntax.name.text!r} has no attribute {word.text!r}")
    if syntax.geography and syntax.point:
        _check_axes(*syntax.point)
    limit = syntax.max_speed
    surface = Surface(syntax.name.text, syntax.geography)
    clauses = {
        "OBJECT": syntax.object.place,
        "TIME": syntax.time.place,
        "POINT": syntax.point[1].place if syntax.point else None,
        "MAX SPEED": place_of(limit, syntax.place) if limit else None,
        "RETAIN": syntax.retain.place if syntax.retain else None,
        "SHED": syntax.shed.place if syntax.shed else None,
        "CACHE": place_of(syntax.cache, syntax.place) if syntax.cache else None,
        "MAX OBJECTS": place_of(syntax.max_objects, syntax.place) if syntax.max_objects else None,
        "MAX BYTES": place_of(syntax.max_bytes, syntax.place) if syntax.max_bytes else None,
    }
    return built(
        syntax.place,
        lambda: Stream(
            name=syntax.name.text,
            attributes=attributes,
            object=syntax.object.text,  # type: ignore[union-attr]
            time=syntax.time.text,  # type: ignore[union-attr]
            point=tuple(w.text for w in syntax.point) if syntax.point else None,  # type: ignore[arg-type]
            timeout=syntax.timeout.micros if syntax.timeout else None,
            max_speed=None if limit is None else speed(limit, syntax.place, surface),
            retention=_retention(syntax),
            max_ahead=_ahead(syntax.max_ahead),
            geography=syntax.geography,
        ),
        clauses,
    )


def _check_axes(first: Word, second: Word) -> None:
    """Refuse a latitude before a longitude, where the names tell."""
    if first.text.lower() in _LATITUDES and second.text.lower() in _LONGITUDES:
        Place(first.place.text, first.place.start, second.place.end).refuse(
            "the point of a place on Earth is its longitude, then its latitude: write POINT"
            f" ({name_sql(second.text)}, {name_sql(first.text)})"
        )


def _ahead(given: Interval | Word | None) -> int | None:
    if given is None:
        return MAX_AHEAD
    return given.micros if isinstance(given, Interval) else None


def _retention(syntax: StreamSyntax) -> Retention | None:
    if syntax.retain is None or syntax.retain.text == "ALL":
        for clause, given in (
            ("CACHE", syntax.cache),
            ("MAX OBJECTS", syntax.max_objects),
            ("MAX BYTES", syntax.max_bytes),
            ("SHED", syntax.shed),
        ):
            if given is not None:
                raise InvalidQuery(f"{clause} goes with RETAIN SIGNIFICANT", clause=clause)
        return None

    def bound(node: exp.Expr | None, clause: str) -> int | None:
        return None if node is None else whole(node, syntax.place, clause, 2**62)

    return Retention(
        cache=None if syntax.cache is None else double(syntax.cache, syntax.place),
        max_objects=bound(syntax.max_objects, "MAX OBJECTS"),
        max_bytes=bound(syntax.max_bytes, "MAX BYTES"),
        shed=Shed(syntax.shed.text) if syntax.shed else None,
    )


def _type(word: Word) -> Type:
    name, bracket, _ = word.text.upper().partition("(")
    name = name.strip()
    if bracket and name in _TYPE_NAMES:
        known = _TYPE_NAMES[name].value
        word.place.refuse(f"a type takes no length or precision: write {known}")
    if name not in _TYPE_NAMES:
        word.place.refuse(
            f"unknown type {word.text!r}: expected {listing(t.value for t in Type)}"
            + hint(name, _TYPE_NAMES)
        )
    return _TYPE_NAMES[name]


def _known(word: Word, names: Iterable[str], problem: str) -> None:
    names = list(names)
    if word.text not in names:
        word.place.refuse(problem + hint(word.text, names))


# --- queries


class _QueryBinder:
    """One CREATE QUERY statement over the known streams."""

    def __init__(self, syntax: QuerySyntax, streams: Mapping[str, Stream]):
        self.syntax = syntax
        self.place = syntax.place
        self.is_join = len(syntax.sources) > 1
        self.sources: dict[str, Stream] = {}
        for source in syntax.sources:
            known = f"there is no stream {source.stream.text!r}"
            _known(source.stream, streams, known)
            if source.alias.text in self.sources:
                source.alias.place.refuse(
                    f"{source.alias.text!r} stands in FROM twice: give one an alias with AS"
                )
            self.sources[source.alias.text] = streams[source.stream.text]
        self.stream = next(iter(self.sources.values()))
        # Where SPEED stands in the condition.
        self.speeds: list[Place] = []

    def query(self) -> Query:
        syntax = self.syntax
        select = None if syntax.select is None else tuple(map(self._selected, syntax.select))
        where = self.condition()
        if self.is_join and (located := syntax.inside or syntax.knn):
            located.place.refuse(JOINS_HAVE_NO_PLACE)
        region = bind_region(syntax.inside, self.stream) if syntax.inside else None
        knn = bind_knn(syntax.knn, self.stream) if syntax.knn else None
        if self.is_join and not syntax.cross:
            self._check_linked(where)
        # A predicate counts as it is written, also where it turns out to decide nothing.
        asks_place = any(node.find(InsidePredicate) for node in syntax.conditions)
        has_changes = region or knn or asks_place or self.speeds
        default = Emit.CHANGES if has_changes else Emit.MATCHES
        emit = Emit(syntax.emit.text) if syntax.emit else default
        accuracy, until = syntax.accuracy, syntax.until
        self._check_effects(emit)
        clauses = {
            "ACCURACY": place_of(accuracy, self.place) if accuracy else None,
            "EMIT": syntax.emit.place if syntax.emit else None,
        }
        return built(
            self.place,
            lambda: Query(
                id=syntax.name.text,
                sources=tuple(map(self._source, syntax.sources)),
                select=select,
                where=where,
                region=region,
                knn=knn,
                emit=emit,
                accuracy=0.0 if accuracy is None else double(accuracy, self.place),
                lifetime=syntax.lifetime.micros if syntax.lifetime else None,
                until=None if until is None else moment(until.text, until.place).micros,
                cross=syntax.cross,
                properties=_properties(syntax.properties),
            ),
            clauses,
        )

    def _check_effects(self, emit: Emit) -> None:
        """Refuse clauses that would change nothing."""
        syntax = self.syntax
        if emit is not Emit.MATCHES:
            return
        if self.speeds:
            self.speeds[0].refuse(MATCHES_HAVE_NO_SPEED)
        if syntax.lifetime and not self.is_join:
            syntax.lifetime.place.refuse(MATCHES_HAVE_NO_BIRTH)
        if syntax.accuracy:
            place_of(syntax.accuracy, self.place).refuse(MATCHES_ARE_NOT_SHED)

    def _source(self, syntax: SourceSyntax) -> Source:
        place = syntax.place or self.place
        window: Window | None = None
        if syntax.range:
            window = RangeWindow(syntax.range.micros)
        elif syntax.rows:
            rows = whole(syntax.rows, place, "the number of ROWS")
            window = built(place, lambda: RowsWindow(rows))
        if self.is_join and window is None:
            place.refuse(
                f"a joined stream needs a window: {syntax.stream.text} [RANGE 60 SECONDS]"
                f" or {syntax.stream.text} [ROWS 1000]"
            )
        if window and not self.is_join:
            place.refuse("a window belongs to a join of two streams or more")
        alias = syntax.alias.text if self.is_join else ""
        return Source(syntax.stream.text, alias, window)

    # --- attributes and conditions

    def _selected(self, node: exp.Expr) -> Attribute:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            place_of(node, self.place).refuse("SELECT takes * or names of attributes")
        if self._is_speed(node):
            place_of(node, self.place).refuse(
                "SPEED stands in conditions only: SELECT takes * or names of attributes"
            )
        return self.attribute(node)

    def _asked(self, node: exp.Column) -> Attribute:
        """What a column of a condition names: an attribute, or SPEED."""
        if not self._is_speed(node):
            return self.attribute(node)
        place = place_of(node, self.place)
        if self.stream.retention is not None:
            place.refuse(
                "SPEED needs the row before of every object, and RETAIN SIGNIFICANT lets objects go"
                f" that no query looks at: declare stream {self.stream.name!r} without RETAIN"
            )
        self.speeds.append(place)
        return SPEED

    def _is_speed(self, node: exp.Column) -> bool:
        """Whether a column is SPEED and no attribute."""
        if self.is_join or self.stream.speed is None or node.this.quoted:
            return False
        is_mine = len(node.parts) == 1 or (len(node.parts) == 2 and node.table in self.sources)
        return is_mine and node.name.upper() == SPEED.name

    def attribute(self, node: exp.Column) -> Attribute:
        """The attribute a column names; in a join it carries its source's alias."""
        place = place_of(node, self.place)
        if len(node.parts) > 2:
            place.refuse("a name has at most one dot: alias.attribute")
        qualifier = node.table
        if not qualifier and node.args.get("table") is not None:
            place.refuse("an alias must not be empty")
        if qualifier:
            _known(Word(qualifier, place), self.sources, f"there is no {qualifier!r} in FROM")
        owners = [qualifier] if qualifier else list(self.sources)
        found = [(a, s) for a in owners for s in [self.sources[a]] if _has(s, node.name)]
        if not found:
            names = [x.name for a in owners for x in self.sources[a].attributes]
            streams = listing(dict.fromkeys(repr(self.sources[a].name) for a in owners))
            place.refuse(
                f"stream {streams} has no attribute {node.name!r}"
                + hint(node.name, names)
                + self._about_speed(node.name)
            )
        if len(found) > 1:
            place.refuse(
                f"{node.name!r} is an attribute of {listing(repr(a) for a, _ in found)}:"
                f" write {found[0][0]}.{node.name}"
            )
        alias, stream = found[0]
        attribute = stream.attribute(node.name)
        return Attribute(attribute.name, attribute.type, alias) if self.is_join else attribute

    def _about_speed(self, name: str) -> str:
        """Why a name that is no attribute is not SPEED either."""
        if name.upper() != SPEED.name:
            return ""
        if self.is_join:
            return "; SPEED, how fast an object has come from its row before, is not for joins"
        if self.stream.point is None:
            return "; SPEED, how fast an object has come from its row before, needs a POINT"
        if self.stream.speed is not None:
            return "; SPEED, how fast an object has come from its row before, has no quotes"
        return " (SPEED between two rows is not for streams with an attribute of that name)"

    def condition(self) -> Condition:
        """The WHERE alone."""
        if not self.syntax.conditions:
            return (TRUE,)
        surface = Surface(self.stream.name, self.stream.geography)
        binder = ConditionBinder(self._asked, self._inside, self.place, surface)
        return binder.bind(self.syntax.conditions)

    def _inside(self, syntax: InsideSyntax, negated: bool) -> Inside:
        """The atom of a region that stands in the condition."""
        if self.is_join:
            syntax.place.refuse(JOINS_HAVE_NO_PLACE)
        region = bind_region(syntax, self.stream)
        if isinstance(region, (MovingBox, MovingCircle)):
            syntax.place.refuse(
                "a region that moves is no condition: write it once, as a clause after the"
                " condition, without AND, OR or NOT"
            )
        assert self.stream.point
        x, y = map(self.stream.attribute, self.stream.point)
        return Inside(region, (x, y), negated)

    def _check_linked(self, where: Condition) -> None:
        """In every alternative, comparisons must lead from each source to each other one."""
        for alternative in where:
            missing = set(self.sources) - _reached(alternative, next(iter(self.sources)))
            if missing:
                first = next(iter(self.sources))
                sources = [s.place for s in self.syntax.sources if s.place]
                Place(self.place.text, sources[0].start, sources[-1].end).refuse(
                    f"no condition links {listing(map(repr, sorted(missing)))} with {first!r}"
                    f" in: {alternative!r}; write CROSS JOIN if every pair is meant"
                )


def condition_over(stream: Stream, node: exp.Expr, place: Place) -> Condition:
    """A WHERE condition over this stream, without a statement around it."""
    name = Word(stream.name, place)
    syntax = QuerySyntax(name, place, sources=[SourceSyntax(name, name)], conditions=[node])
    try:
        return _QueryBinder(syntax, {stream.name: stream}).condition()
    except RecursionError:
        place.refuse(TOO_DEEP)


def _properties(word: Word | None) -> str | None:
    return None if word is None else built(word.place, lambda: canonical_properties(word.text))


def _has(stream: Stream, name: str) -> bool:
    return any(a.name == name for a in stream.attributes)


def _reached(alternative: Conjunction, start: str) -> set[str]:
    """The aliases that comparisons connect with `start`."""
    links = [{a.left.alias, a.right.alias} for a in alternative.atoms if isinstance(a, Compare)]
    reached = {start}
    while new := {x for link in links if link & reached for x in link} - reached:
        reached |= new
    return reached
