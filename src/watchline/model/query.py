"""Streams, windows and queries: the statements that live in a catalog."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from watchline.errors import InvalidQuery, InvalidRange, UnknownAttribute
from watchline.model.condition import (
    SPEED,
    TRUE,
    Attribute,
    Condition,
    Inside,
    Type,
    condition_sql,
)
from watchline.model.region import (
    Knn,
    MovingBox,
    MovingCircle,
    MovingKnn,
    ObjectId,
    Region,
    region_sql,
)
from watchline.model.retention import Retention
from watchline.model.text import (
    YEAR_1,
    YEAR_9999,
    SqlWord,
    interval_sql,
    name_sql,
    number_sql,
    shortened,
    string_sql,
    timestamp_sql,
)


class Emit(SqlWord):
    """What a query reports: every matching row, or only what enters and leaves its answer."""

    MATCHES = "MATCHES"
    CHANGES = "CHANGES"


# How far rows may be ahead of the wall clock where a stream does not say: one day.
MAX_AHEAD = 86_400_000_000


@dataclass(frozen=True, slots=True, repr=False)
class Stream:
    """A declared stream. Lengths of time are in microseconds."""

    name: str
    attributes: tuple[Attribute, ...]
    object: str
    time: str
    point: tuple[str, str] | None = None
    timeout: int | None = None
    max_speed: float | None = None
    # None: every object is kept.
    retention: Retention | None = None
    # None: rows may be of any time.
    max_ahead: int | None = MAX_AHEAD
    # Whether the point is a longitude and a latitude, and lengths are metres.
    geography: bool = False

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for name in (a.name for a in self.attributes):
            if name in seen:
                raise InvalidQuery(f"stream {self.name!r} declares attribute {name!r} twice")
            seen.add(name)
        self._needs("OBJECT", self.object, Type.BIGINT, Type.STRING)
        self._needs("TIME", self.time, Type.TIMESTAMP)
        for name in self.point or ():
            self._needs("POINT", name, Type.DOUBLE)
        if self.geography and not self.point:
            raise InvalidQuery("AS GEOGRAPHY needs a POINT (longitude, latitude)", clause="POINT")
        if self.point and self.point[0] == self.point[1]:
            raise InvalidQuery(
                f"POINT needs two different attributes, not {self.point[0]!r} twice", clause="POINT"
            )
        if self.timeout is not None and self.timeout <= 0:
            raise InvalidRange("TIMEOUT must be longer than zero", clause="TIMEOUT")
        if self.max_speed is not None and not 0 < self.max_speed < math.inf:
            raise InvalidRange("MAX SPEED must be greater than zero", clause="MAX SPEED")
        if self.max_ahead is not None and self.max_ahead <= 0:
            raise InvalidRange("MAX AHEAD must be longer than zero", clause="MAX AHEAD")
        if self.retention is not None:
            self._check(self.retention)

    def _check(self, retention: Retention) -> None:
        if retention.cache is None and (self.max_speed is None or self.timeout is None):
            raise InvalidQuery(
                "RETAIN SIGNIFICANT needs MAX SPEED and TIMEOUT, which say how far an object gets"
                " before it reports again; or CACHE with a number from 0 to 1",
                clause="RETAIN",
            )
        if retention.max_bytes is not None and retention.max_bytes < self.least_bytes:
            raise InvalidRange(
                f"MAX BYTES must leave room for one object: {self.least_bytes} bytes",
                clause="MAX BYTES",
            )

    @property
    def least_bytes(self) -> int:
        """No row takes less than this."""
        return 8 * len(self.attributes)

    def _needs(self, clause: str, name: str, *types: Type) -> None:
        of = self.attribute(name).type
        if of not in types:
            allowed = " or ".join(t.value for t in types)
            raise InvalidQuery(
                f"{clause} needs a {allowed} attribute; {name!r} is {of.value}", clause=clause
            )

    def attribute(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise UnknownAttribute(f"stream {self.name!r} has no attribute {name!r}")

    @property
    def speed(self) -> Attribute | None:
        """SPEED, if conditions may ask for it: the stream has points, and no attribute of that
        name, in letters of any case, which would come first."""
        has_own = any(a.name.casefold() == "speed" for a in self.attributes)
        return None if self.point is None or has_own else SPEED

    @property
    def object_type(self) -> Type:
        return self.attribute(self.object).type

    def __repr__(self) -> str:
        columns = ", ".join(f"{name_sql(a.name)} {a.type.value}" for a in self.attributes)
        text = f"CREATE STREAM {name_sql(self.name)} ({columns})"
        text += f" OBJECT {name_sql(self.object)} TIME {name_sql(self.time)}"
        if self.point:
            text += f" POINT ({', '.join(map(name_sql, self.point))})"
            text += " AS GEOGRAPHY" if self.geography else ""
        if self.timeout is not None:
            text += f" TIMEOUT INTERVAL {interval_sql(self.timeout)}"
        if self.max_speed is not None:
            text += f" MAX SPEED {number_sql(self.max_speed)}"
            text += " METERS PER SECOND" if self.geography else ""
        if self.max_ahead is None:
            text += " MAX AHEAD UNLIMITED"
        elif self.max_ahead != MAX_AHEAD:
            text += f" MAX AHEAD INTERVAL {interval_sql(self.max_ahead)}"
        if self.retention is not None:
            text += f" {self.retention!r}"
        return text


@dataclass(frozen=True, slots=True, repr=False)
class RangeWindow:
    """Partners at most this many microseconds older."""

    length: int

    def __post_init__(self) -> None:
        if self.length <= 0:
            raise InvalidRange("a RANGE window must be longer than zero")

    def __repr__(self) -> str:
        return f"[RANGE {interval_sql(self.length)}]"


@dataclass(frozen=True, slots=True, repr=False)
class RowsWindow:
    """The stream's last n rows, counted before WHERE."""

    rows: int

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise InvalidRange("a ROWS window must hold at least one row")

    def __repr__(self) -> str:
        return f"[ROWS {self.rows}]"


Window = Union[RangeWindow, RowsWindow]


@dataclass(frozen=True, slots=True, repr=False)
class Source:
    """A stream in FROM. In a join it has a window, and an alias that its attributes carry."""

    stream: str
    alias: str = ""
    window: Window | None = None

    def __repr__(self) -> str:
        text = name_sql(self.stream)
        if self.alias not in ("", self.stream):
            text += f" AS {name_sql(self.alias)}"
        return f"{text} {self.window!r}" if self.window else text


JOINS_HAVE_NO_PLACE = (
    "a join takes no INSIDE and no kNN: register a query of one stream for what is inside,"
    " or write the box as conditions such as a.x >= 1 AND a.x < 2"
)
MATCHES_HAVE_NO_BIRTH = (
    "EMIT MATCHES keeps no state, so a life of FOR INTERVAL has no beginning:"
    " end the query with UNTIL TIMESTAMP '…', or EMIT CHANGES"
)
MATCHES_ARE_NOT_SHED = (
    "ACCURACY is the least part of an answer that is kept when load is shed;"
    " matches and joins are never shed: leave it out"
)

MATCHES_HAVE_NO_SPEED = (
    "SPEED compares a row with its object's row before, and EMIT MATCHES keeps none:"
    " write EMIT CHANGES"
)


@dataclass(frozen=True, slots=True, repr=False)
class Query:
    """A standing query. `select` is None for `*`; `lifetime` is in microseconds of stream time.

    `until` is a moment of stream time, in microseconds since 1970: rows of that time and later do
    nothing. Where both are given, the query ends with whichever comes first.

    `cross` says that a join without a condition between its streams is meant. `properties` is
    canonical JSON text (`canonical_properties`); it decides nothing.
    """

    id: str
    sources: tuple[Source, ...]
    select: tuple[Attribute, ...] | None = None
    where: Condition = (TRUE,)
    region: Region | None = None
    knn: Knn | MovingKnn | None = None
    emit: Emit = Emit.MATCHES
    accuracy: float = 0.0
    lifetime: int | None = None
    cross: bool = False
    until: int | None = None
    properties: str | None = None

    def __post_init__(self) -> None:
        if not self.id:
            raise InvalidQuery("a query id must not be empty")
        if not self.where:
            raise InvalidQuery(f"query {self.id!r} can never be true: its conditions contradict")
        if not 0 <= self.accuracy <= 1:
            raise InvalidRange(
                f"ACCURACY must lie between 0 and 1, not {self.accuracy}", clause="ACCURACY"
            )
        if self.lifetime is not None and self.lifetime <= 0:
            raise InvalidRange("FOR INTERVAL must be longer than zero")
        if self.until is not None and not YEAR_1 <= self.until <= YEAR_9999:
            raise InvalidRange("UNTIL needs a time of the years 1 to 9999")
        if self.emit is Emit.MATCHES and self.lifetime is not None and not self.is_join:
            raise InvalidQuery(MATCHES_HAVE_NO_BIRTH)
        if self.emit is Emit.MATCHES and self.accuracy:
            raise InvalidQuery(MATCHES_ARE_NOT_SHED, clause="ACCURACY")
        if self.emit is Emit.MATCHES and self.asks_speed:
            raise InvalidQuery(MATCHES_HAVE_NO_SPEED, clause="EMIT")
        if self.is_join and (self.region or self.knn or self.has_predicates):
            raise InvalidQuery(JOINS_HAVE_NO_PLACE, clause="INSIDE")
        if self.is_join and self.emit is Emit.CHANGES:
            raise InvalidQuery(
                "a join reports each pair once: it cannot EMIT CHANGES", clause="EMIT"
            )
        if self.emit is Emit.MATCHES and (self.knn or self.focals):
            raise InvalidQuery(
                "a kNN or moving query has changes only: it cannot EMIT MATCHES", clause="EMIT"
            )

    @property
    def is_join(self) -> bool:
        return len(self.sources) > 1

    @property
    def stream(self) -> str:
        """The stream of a query that is not a join."""
        return self.sources[0].stream

    @property
    def has_predicates(self) -> bool:
        """Whether INSIDE stands in the condition."""
        return any(isinstance(atom, Inside) for c in self.where for atom in c.atoms)

    @property
    def asks_speed(self) -> bool:
        """Whether SPEED stands in the condition."""
        return any(attribute.derived for c in self.where for attribute in c.attributes())

    @property
    def focals(self) -> frozenset[ObjectId]:
        """The objects this query moves with."""
        moving = (self.region, self.knn)
        return frozenset(
            m.focal for m in moving if isinstance(m, (MovingBox, MovingCircle, MovingKnn))
        )

    def attributes(self) -> Iterator[Attribute]:
        """The attributes the condition reads, each once, in order of appearance."""
        return iter(dict.fromkeys(a for c in self.where for a in c.attributes()))

    def __repr__(self) -> str:
        return shortened(self.sql)

    @property
    def sql(self) -> str:
        """The whole statement, however long: it reads back as an equal query."""
        columns = "*" if self.select is None else ", ".join(map(repr, self.select))
        text = f"CREATE QUERY {name_sql(self.id)} AS SELECT {columns} FROM {self.body}"
        text += "" if self.is_join else f" EMIT {self.emit.value}"
        return f"{text} PROPERTIES {string_sql(self.properties)}" if self.properties else text

    @property
    def body(self) -> str:
        """The statement after FROM, up to what it emits."""
        text = (" CROSS JOIN " if self.cross else ", ").join(map(repr, self.sources))
        if self.where != (TRUE,):
            text += f" WHERE {condition_sql(self.where)}"
        text += f" {region_sql(self.region)}" if self.region else ""
        text += f" {self.knn!r}" if self.knn else ""
        if self.lifetime is not None:
            text += f" FOR INTERVAL {interval_sql(self.lifetime)}"
        if self.until is not None:
            text += f" UNTIL {timestamp_sql(self.until)}"
        if self.accuracy:
            text += f" ACCURACY {number_sql(self.accuracy)}"
        return text
