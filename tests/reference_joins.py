"""The oracle of window joins: which tuples complete with each row, by nested loops.

Every row that was ever processed is kept, and every combination of rows is tried. Nothing is
imported from the package under test. Times are integers (microseconds); conditions are the trees
of tests/reference.py over names "alias.attribute", and ("distance", op, alias, alias, length).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tests.reference import (
    COMPARISONS,
    Row,
    Tree,
    attribute_key,
    holds,
    is_finite,
    is_null,
    order_key,
    squared_distance,
)


@dataclass(frozen=True)
class JoinStream:
    name: str
    object: str
    time: str
    attributes: list[tuple[str, str]]
    point: tuple[str, str] | None = None
    geography: bool = False


@dataclass(frozen=True)
class JoinSource:
    """One position of FROM; the window is ("range", microseconds) or ("rows", count)."""

    alias: str
    stream: str
    window: tuple[str, int]


@dataclass(frozen=True)
class JoinQuery:
    id: str
    sources: list[JoinSource]
    where: Tree = ("true",)
    lifetime: int | None = None
    until: int | None = None


@dataclass(frozen=True)
class Seen:
    """A processed row: its number among all rows, and its place in its own stream."""

    number: int
    place: int
    stream: str
    time: int
    row: Row


@dataclass(frozen=True)
class Joined:
    """A tuple, its rows by position of FROM, and the row that completed it."""

    query_id: str
    rows: tuple[Row, ...]
    last: Seen


class JoinLedger:
    def __init__(self, streams: list[JoinStream]) -> None:
        self.streams = {stream.name: stream for stream in streams}
        self.newest: dict[str, int | None] = {stream.name: None for stream in streams}
        self.clock: int | None = None  # all rows up to here are processed
        self.waiting: list[tuple[str, Row]] = []
        self.seen: list[Seen] = []
        self.queries: dict[str, JoinQuery] = {}
        self.since: dict[str, int] = {}  # the number of the first row of the query's life
        self.births: dict[str, int | None] = {}  # None: lifetimes count from the next row
        self.late = 0
        self.rejected_by: Counter[str] = Counter()

    # Catalog versions

    def register(self, query: JoinQuery) -> None:
        """A query of an id that is known begins a new life; one of other streams is not ours."""
        self.drop(query.id)
        if all(source.stream in self.streams for source in query.sources):
            self.queries[query.id] = query
            self.since[query.id] = len(self.seen)
            self.births[query.id] = self.seen[-1].time if self.seen else None

    def drop(self, query_id: str) -> None:
        for of in (self.queries, self.since, self.births):
            of.pop(query_id, None)

    # Rows

    def process(self, rows: Mapping[str, Iterable[Row]]) -> list[Joined]:
        """Rows of any of the streams, in any order; those up to the clock are processed."""
        for name, given in rows.items():
            for row in given:
                self._accept(self.streams[name], row)
        times = [time for time in self.newest.values() if time is not None]
        # Nothing is processed while a stream never had a row.
        return self._release(min(times)) if len(times) == len(self.streams) else []

    def finish(self) -> list[Joined]:
        """The end of a batch input: no row waits any longer."""
        times = [time for time in self.newest.values() if time is not None]
        return self._release(max(times)) if times else []

    def _accept(self, stream: JoinStream, row: Row) -> None:
        time = row.get(stream.time)
        # A row both unusable and late counts as rejected only.
        if is_null(row.get(stream.object)):
            self.rejected_by["no object id"] += 1
        elif time is None:
            self.rejected_by["no time"] += 1
        elif self._is_beyond_a_pole(stream, row):
            self.rejected_by["latitude"] += 1
        elif self.clock is not None and time < self.clock:
            self.late += 1
        else:
            self.waiting.append((stream.name, self._wrapped(stream, row)))
            newest = self.newest[stream.name]
            self.newest[stream.name] = time if newest is None else max(newest, time)

    def _is_beyond_a_pole(self, stream: JoinStream, row: Row) -> bool:
        latitude: Any = row.get(stream.point[1]) if stream.geography and stream.point else None
        return not is_null(latitude) and abs(latitude) > 90

    def _wrapped(self, stream: JoinStream, row: Row) -> Row:
        """On Earth a longitude is one of [-180, 180), and an infinite one is none."""
        longitude: Any = row.get(stream.point[0]) if stream.geography and stream.point else None
        if is_null(longitude) or -180 <= longitude < 180:
            return dict(row)
        assert stream.point
        rest = math.remainder(longitude, 360) if is_finite(longitude) else None
        return dict(row) | {stream.point[0]: -180.0 if rest == 180 else rest}

    def _release(self, clock: int) -> list[Joined]:
        # The clock never goes back, also not after the end of an input.
        clock = self.clock = clock if self.clock is None else max(clock, self.clock)
        due = sorted((w for w in self.waiting if self._time(*w) <= clock), key=self._row_key)
        self.waiting = [w for w in self.waiting if self._time(*w) > clock]
        return [joined for name, row in due for joined in self._row(name, row)]

    def _time(self, name: str, row: Row) -> int:
        time = row[self.streams[name].time]
        assert isinstance(time, int)
        return time

    def _row_key(self, waiting: tuple[str, Row]) -> Tree:
        name, row = waiting
        stream = self.streams[name]
        attributes = [attribute_key(row.get(attribute)) for attribute, _ in stream.attributes]
        return (row[stream.time], order_key(name), order_key(row[stream.object]), attributes)

    def _row(self, name: str, row: Row) -> list[Joined]:
        place = sum(seen.stream == name for seen in self.seen)
        last = Seen(len(self.seen), place, name, self._time(name, row), row)
        self.seen.append(last)
        for query_id, birth in self.births.items():
            if birth is None:
                self.births[query_id] = last.time
        return [j for query in self.queries.values() for j in self._completed(query, last)]

    # Tuples

    def _completed(self, query: JoinQuery, last: Seen) -> list[Joined]:
        """The tuples with this row in at least one position."""
        birth = self.births[query.id]
        assert birth is not None
        if query.lifetime is not None and last.time > birth + query.lifetime:
            return []
        if query.until is not None and last.time >= query.until:
            return []
        partners = [
            [seen for seen in self.seen if self._is_partner(query, source, seen, last)]
            for source in query.sources
        ]
        return [
            Joined(query.id, tuple(seen.row for seen in combination), last)
            for combination in product(*partners)
            if last in combination and self._holds(query, combination)
        ]

    def _holds(self, query: JoinQuery, combination: tuple[Seen, ...]) -> bool:
        places: dict[str, Place] = {}
        for source, seen in zip(query.sources, combination, strict=True):
            stream = self.streams[source.stream]
            if stream.point:
                x, y = (seen.row.get(name) for name in stream.point)
                places[source.alias] = (x, y, stream.geography)
        return holds(measured(query.where, places), self._merged(query, combination))

    def _is_partner(self, query: JoinQuery, source: JoinSource, seen: Seen, last: Seen) -> bool:
        if seen.stream != source.stream or seen.number < self.since[query.id]:
            return False
        # A row is always in its own windows.
        if seen.number == last.number:
            return True
        kind, size = source.window
        if kind == "range":
            return last.time - seen.time <= size
        assert kind == "rows"
        places = [other.place for other in self.seen if other.stream == source.stream]
        return seen.place in places[-size:]

    def _merged(self, query: JoinQuery, combination: tuple[Seen, ...]) -> Row:
        return {
            f"{source.alias}.{name}": value
            for source, seen in zip(query.sources, combination, strict=True)
            for name, value in seen.row.items()
        }


# Distances

# Two coordinates, and whether these are degrees on Earth.
Place = tuple[Any, Any, bool]
Long = np.longdouble
PI = Long("3.141592653589793238462643383279502884")
EQUATOR, FLATTENING, MEAN = Long(6_378_137), 1 / Long("298.257223563"), Long("6371008.8")


class TooNear(Exception):
    """Two places on Earth are as far apart as a length, as exactly as they can be compared."""


def measured(tree: Tree, places: Mapping[str, Place]) -> Tree:
    """The condition with each distance replaced by what it says of these places."""
    if not isinstance(tree, tuple) or not tree:
        return tree
    if tree[0] == "distance":
        _, op, a, b, length = tree
        known = is_within(op, places[a], places[b], length)
        return ("cmp", "=", ("const", 1), ("const", None if known is None else int(known)))
    return tuple(measured(part, places) for part in tree)


def is_within(op: str, a: Place, b: Place, length: float) -> bool | None:
    """None where a coordinate is not known, so that NOT makes it no more true."""
    (ax, ay, on_earth), (bx, by, _) = a, b
    if not all(is_finite(value) for value in (ax, ay, bx, by)):
        return None
    if not on_earth:
        return bool(COMPARISONS[op](squared_distance(ax, ay, bx, by), length * length))
    metres = arc(ax, ay, bx, by)
    if abs(metres - length) <= 1e-9 * length + 1e-8:
        raise TooNear
    return bool(COMPARISONS[op](metres, length))


def arc(lon: float, lat: float, other_lon: float, other_lat: float) -> Any:
    """In metres, on the sphere of the mean radius, over the chord of the ellipsoid."""
    p, q = (vector(*place) for place in ((lon, lat), (other_lon, other_lat)))
    chord = np.sqrt(sum((u - v) ** 2 for u, v in zip(p, q, strict=True)))
    return 2 * MEAN * np.arcsin(min(chord / (2 * MEAN), Long(1)))


def vector(lon: float, lat: float) -> tuple[Any, Any, Any]:
    x, y = (Long(degrees) * PI / 180 for degrees in (lon, lat))
    squared = FLATTENING * (2 - FLATTENING)
    normal = EQUATOR / np.sqrt(1 - squared * np.sin(y) ** 2)
    out = normal * np.cos(y)
    return out * np.cos(x), out * np.sin(x), normal * (1 - squared) * np.sin(y)
