"""The oracle: what every query's answer is, and which changes lead there, by brute force.

After every event each answer is computed again from the latest rows and compared with the one
before. Nothing is imported from the package under test. Times are integers (microseconds).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]  # attribute name -> float, int, str, bool or None
Tree = tuple[Any, ...]  # a condition, an operand, a region or a kNN clause

# ---------------------------------------------------------------------------------- values


def is_null(value: Any) -> bool:
    # NaN counts as NULL.
    return value is None or value != value


def is_finite(value: Any) -> bool:
    """Neither NULL nor infinite; a string or a boolean is always finite."""
    return not is_null(value) and not (isinstance(value, float) and math.isinf(value))


def order_key(value: Any) -> Any:
    # Strings order by their UTF-8 bytes.
    return value.encode("utf-8") if isinstance(value, str) else value


def attribute_key(value: Any) -> Tree:
    # NULL (and so NaN) first, then by value.
    return (0,) if is_null(value) else (1, order_key(value))


# ------------------------------------------------------------------------------ conditions

COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(op: str, a: Any, b: Any) -> bool | None:
    # A comparison with NULL, NaN or an infinity is unknown.
    if not (is_finite(a) and is_finite(b)):
        return None
    return bool(COMPARISONS[op](order_key(a), order_key(b)))


def value_of(operand: Tree, row: Row) -> Any:
    kind, content = operand
    return row.get(content) if kind == "attr" else content


def kleene_not(value: bool | None) -> bool | None:
    return None if value is None else not value


def kleene_and(values: list[bool | None]) -> bool | None:
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def kleene_or(values: list[bool | None]) -> bool | None:
    return kleene_not(kleene_and([kleene_not(value) for value in values]))


def truth(condition: Tree, row: Row, geometry: Plane | None = None) -> bool | None:
    """True, False, or None for unknown."""
    kind, *parts = condition
    if kind in ("true", "false"):
        return bool(kind == "true")
    if kind == "cmp":
        op, a, b = parts
        return compare(op, value_of(a, row), value_of(b, row))
    if kind == "between":
        a, lo, hi = parts
        return truth(("and", ("cmp", "<=", lo, a), ("cmp", "<=", a, hi)), row)
    if kind == "in":
        a, choices = parts
        return truth(("or", *[("cmp", "=", a, choice) for choice in choices]), row)
    if kind == "isnull":
        return is_null(value_of(parts[0], row))
    if kind == "inside":
        # What has no place, or none that is finite, is neither inside nor outside.
        region, *place = parts
        x, y = (value_of(part, row) for part in place)
        place_known = is_finite(x) and is_finite(y)
        return (geometry or PLANE).inside(region, x, y) if place_known else None
    values = [truth(part, row, geometry) for part in parts]
    if kind == "and":
        return kleene_and(values)
    if kind == "or":
        return kleene_or(values)
    if kind == "not":
        return kleene_not(values[0])
    raise ValueError(f"unknown condition {kind!r}")


def holds(condition: Tree, row: Row, geometry: Plane | None = None) -> bool:
    return truth(condition, row, geometry) is True


def attributes_in(tree: Any) -> set[str]:
    """The names of all attributes a condition mentions."""
    if not isinstance(tree, (tuple, list)):
        return set()
    if tree and tree[0] == "attr":
        return {tree[1]}
    return set().union(*(attributes_in(part) for part in tree))


def regions_in(tree: Any, is_positive: bool = True) -> list[tuple[Tree, bool]]:
    """The regions that a condition mentions, and whether an even number of NOTs is before each."""
    if not isinstance(tree, (tuple, list)) or not tree:
        return []
    if tree[0] == "inside":
        return [(tree[1], is_positive)]
    kept = is_positive if tree[0] != "not" else not is_positive
    return [found for part in tree for found in regions_in(part, kept)]


# --------------------------------------------------------------------------------- regions


def squared_distance(x: float, y: float, cx: float, cy: float) -> float:
    dx, dy = x - cx, y - cy
    return dx * dx + dy * dy


def in_polygon(rings: list[list[tuple[float, float]]], x: float, y: float) -> bool:
    # Even-odd over the edges of all rings, shells and holes alike.
    odd = False
    for ring in rings:
        corners = [(float(cx), float(cy)) for cx, cy in ring]
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            (xl, yl), (xu, yu) = (a, b) if a[1] <= b[1] else (b, a)
            if yl <= y < yu and x < xl + (y - yl) / (yu - yl) * (xu - xl):
                odd = not odd
    return odd


def near_line(lines: list[list[tuple[float, float]]], reach: float, x: float, y: float) -> bool:
    """At most `reach` from a segment: from its nearer end, or from the line between its ends."""
    for line in lines:
        for (ax, ay), (bx, by) in itertools.pairwise(line):
            px, py, ex, ey = x - ax, y - ay, bx - ax, by - ay
            length, along = ex * ex + ey * ey, px * ex + py * ey
            if length == 0 or along <= 0:
                square = px * px + py * py
            elif along >= length:
                square = squared_distance(x, y, bx, by)
            else:
                part = along / length
                dx, dy = px - part * ex, py - part * ey
                square = dx * dx + dy * dy
            if square <= reach * reach:
                return True
    return False


def inside(region: Tree, x: float, y: float, centre: tuple[float, float] | None = None) -> bool:
    """Whether (x, y) is in the region; `centre` is the focal object's place, if it moves."""
    x, y = float(x), float(y)
    kind, *parts = region
    # NaN and infinities are in no region.
    if not (math.isfinite(x) and math.isfinite(y)):
        return False
    if kind == "polygon":
        return in_polygon(parts[0], x, y)
    if kind == "corridor":
        return near_line(parts[0], parts[1], x, y)
    if kind in ("mbox", "mcircle"):
        assert centre is not None, "a moving region needs the place of its focal object"
        cx, cy = map(float, centre)
        sizes = [float(part) for part in parts[1:]]
        if kind == "mcircle":
            return inside(("circle", cx, cy, *sizes), x, y)
        w, h = sizes
        return cx - w / 2 <= x < cx + w / 2 and cy - h / 2 <= y < cy + h / 2
    if kind == "circle":
        cx, cy, r = map(float, parts)
        return squared_distance(x, y, cx, cy) <= r * r
    if kind == "box":
        x1, y1, x2, y2 = map(float, parts)
        return min(x1, x2) <= x < max(x1, x2) and min(y1, y2) <= y < max(y1, y2)
    raise ValueError(f"unknown region {kind!r}")


class Plane:
    """How a ledger measures: coordinates of a plane. `tests/reference_earth.py` has the Earth."""

    def taken(self, row: Row, stream: StreamSpec) -> Row | None:
        """The row as it is accepted, or None."""
        return row

    def inside(
        self, region: Tree, x: float, y: float, centre: tuple[float, float] | None = None
    ) -> bool:
        return inside(region, x, y, centre)

    def nearest(self, k: int, places: dict[Any, tuple[float, float]], centre: Any) -> set[Any]:
        """By squared distance, then object id; fewer than k: all of them."""
        squares = {name: squared_distance(*place, *centre) for name, place in places.items()}
        return set(sorted(squares, key=lambda name: (squares[name], order_key(name)))[:k])

    def distance(self, x: float, y: float, cx: float, cy: float) -> float | None:
        square = squared_distance(x, y, cx, cy)
        return None if math.isnan(square) else math.sqrt(square)

    def around(self, region: Tree, margin: float, x: float, y: float, centre: Any) -> bool:
        """Whether a place is within a margin of a region that moves."""
        cx, cy = centre
        sizes = [float(size) for size in region[2:]]
        if region[0] == "mcircle":
            reach = sizes[0] + margin
            return squared_distance(x, y, cx, cy) <= reach * reach
        (w, h), m = (size / 2 for size in sizes), margin
        return cx - w - m <= x < cx + w + m and cy - h - m <= y < cy + h + m


PLANE = Plane()


# ---------------------------------------------------------------------------------- ledger


@dataclass
class StreamSpec:
    object: str
    time: str
    attributes: list[tuple[str, str]]
    point: tuple[str, str] | None = None
    timeout: int | None = None


@dataclass
class QuerySpec:
    id: str
    where: Tree = ("true",)
    region: Tree | None = None
    knn: Tree | None = None
    lifetime: int | None = None
    until: int | None = None

    def focals(self) -> set[Any]:
        """The objects the query moves with: none, one, or one each for INSIDE and kNN."""
        found = set()
        if self.region and self.region[0] in ("mbox", "mcircle"):
            found.add(self.region[1])
        if self.knn and self.knn[0] == "mknn":
            found.add(self.knn[2])
        return found


@dataclass
class Change:
    query_id: str
    sign: int
    object_id: Any
    time: int
    reason: str
    row: Row
    distance: float | None = None  # of the object, from the centre of the query


class Ledger:
    def __init__(self, stream: StreamSpec, geometry: Plane = PLANE) -> None:
        self.stream, self.geometry = stream, geometry
        self.numeric = {name for name, type_ in stream.attributes if type_ in ("DOUBLE", "BIGINT")}
        self.newest: Any = None  # the newest time of an accepted row
        self.latest: dict[Any, Row] = {}  # every object's last row, also of those that are gone
        self.live: set[Any] = set()
        self.registered: dict[str, QuerySpec] = {}  # by the catalog, also if their life is over
        self.queries: dict[str, QuerySpec] = {}
        self.births: dict[str, int | None] = {}  # None: lifetimes count from the first row
        self.waiting: dict[str, set[Any]] = {}  # focal objects that have not reported yet
        self.since: dict[str, int | None] = {}  # no older row starts the query; None: any row does
        self.answers: dict[str, set[Any]] = {}
        self.asked: dict[str, QuerySpec] = {}  # the queries whose answers these are
        self.counters = {"late": 0, "rejected": 0}
        # Whether some query has asked for SPEED by now: that of older rows is not known.
        self.keeps_speed = False

    # Catalog versions

    def register(self, query: QuerySpec) -> list[Change]:
        return self.version(adds=[query])

    def drop(self, query_id: str) -> list[Change]:
        return self.version(drops=[query_id])

    def replace(self, query: QuerySpec) -> list[Change]:
        return self.version(drops=[query.id], adds=[query])

    def version(self, drops: Iterable[str] = (), adds: Iterable[QuerySpec] = ()) -> list[Change]:
        """One catalog version; an id both dropped and added changes by the difference only."""
        reported = {}
        for query_id in drops:
            self.registered.pop(query_id, None)
            # A query that is unknown, or whose lifetime is over, has nothing left to close.
            if query_id in self.queries:
                reported[query_id] = self.queries[query_id].focals() - self.waiting[query_id]
                self._forget(query_id)
        for query in adds:
            if query.id in self.registered:
                raise ValueError(f"query {query.id!r} is already registered")
            self.registered[query.id] = query
            self.keeps_speed |= "SPEED" in attributes_in(query.where)
            if query.until is not None and self.newest is not None and query.until <= self.newest:
                continue  # its end has passed: it has no life
            self.queries[query.id] = query
            # A replacement's lifetime starts anew.
            self.births[query.id] = self.newest
            # A replacement with the same focal object stays started; all others wait for it, from
            # now on: a shard that met the focal object only now must agree with its owner.
            self.waiting[query.id] = query.focals() - reported.get(query.id, set())
            self.since[query.id] = self.newest
        return self._settle(self.newest, "dropped", "registered")

    def _forget(self, query_id: str) -> None:
        del self.queries[query_id], self.births[query_id]
        del self.waiting[query_id], self.since[query_id]

    # Rows

    def process(self, rows: Iterable[Row]) -> list[Change]:
        """One batch of rows, in any order."""
        stream, keyed = self.stream, []
        for given in rows:
            row = self.geometry.taken(given, stream)
            # No id or no time: rejected.
            if row is None or is_null(row.get(stream.object)) or is_null(row.get(stream.time)):
                self.counters["rejected"] += 1
            else:
                keyed.append(row)
        return [change for row in sorted(keyed, key=self._row_key) for change in self._row(row)]

    def _row_key(self, row: Row) -> Tree:
        # Rows go by time, object id, then the attributes in declared order.
        attributes = [attribute_key(row.get(name)) for name, _ in self.stream.attributes]
        return (row[self.stream.time], order_key(row[self.stream.object]), attributes)

    def _row(self, row: Row) -> list[Change]:
        time, object_id = row[self.stream.time], row[self.stream.object]
        # A row both unusable and late counts as rejected only.
        if not all(is_finite(row.get(name)) for name in self._used() & self.numeric):
            self.counters["rejected"] += 1
            return []
        if self._is_late(time, object_id):
            self.counters["late"] += 1
            return []
        changes = self._close_due(time)
        if self.newest is None:
            self.births = dict.fromkeys(self.births, time)
        self.newest = time if self.newest is None else max(self.newest, time)
        speed = {"SPEED": self._speed(object_id, row)} if self.keeps_speed else {}
        self.latest[object_id] = {**row, **speed}
        self.live.add(object_id)
        return changes + self._settle(time, "exit", "enter", self._start(object_id, time))

    def _speed(self, object_id: Any, row: Row) -> float | None:
        """How far the object has gone since its row before, over the time between, in seconds."""
        if object_id not in self.live or not self.stream.point:
            return None
        places: list[list[Any]] = [
            [r.get(name) for name in self.stream.point] for r in (self.latest[object_id], row)
        ]
        span = row[self.stream.time] - self.latest[object_id][self.stream.time]
        if not span or not all(is_finite(x) for place in places for x in place):
            return None
        before, now = [tuple(map(float, place)) for place in places]
        distance = self.geometry.distance(*now, *before)
        speed = math.nan if distance is None else distance / (float(span) / 1e6)
        return speed if math.isfinite(speed) else None

    def _used(self) -> set[str]:
        """The attributes of the catalog's queries: whoever rejects rows need not know the time."""
        used: set[str] = set()
        for query in self.registered.values():
            used |= attributes_in(query.where)
            if query.region or query.knn:
                used |= set(self.stream.point or ())
        return used

    def _is_late(self, time: int, object_id: Any) -> bool:
        # Late: older than the object's last row ...
        if object_id in self.latest and time < self.latest[object_id][self.stream.time]:
            return True
        # ... or timed out on arrival: such an object is gone, whatever the row says.
        return self._is_timed_out(time)

    def _is_timed_out(self, time: int) -> bool:
        timeout = self.stream.timeout
        return timeout is not None and self.newest is not None and self.newest > time + timeout

    def _start(self, object_id: Any, time: int) -> set[str]:
        """The queries that waited for this focal object, and for no later row of it."""
        started = set()
        for query_id, focals in self.waiting.items():
            since = self.since[query_id]
            if object_id in focals and (since is None or time >= since):
                focals.remove(object_id)
                started.add(query_id)
        return started

    # Time-outs and lifetimes

    def _end(self, query: QuerySpec) -> int | None:
        birth = self.births[query.id]
        return None if birth is None or query.lifetime is None else birth + query.lifetime

    def _close_due(self, time: int) -> list[Change]:
        # What ends before a row goes before it: by time, then queries that end before the rows of
        # that time, objects, queries that end after them; then id.
        due = []
        if self.stream.timeout is not None:
            for object_id in self.live:
                expiry = self.latest[object_id][self.stream.time] + self.stream.timeout
                due.append((expiry, 1, order_key(object_id), object_id))
        for query in self.queries.values():
            end = self._end(query)
            if query.until is not None and (end is None or query.until <= end):
                due.append((query.until, 0, order_key(query.id), query.id))
            elif end is not None:
                due.append((end, 2, order_key(query.id), query.id))
        changes = []
        for end, turn, _, name in sorted(due):
            # UNTIL comes before the rows of its time, all else after them.
            if end > time or (end == time and turn):
                break
            if turn == 1:
                self.live.discard(name)
            else:
                self._forget(name)
            changes += self._settle(end, "expired" if turn == 1 else "dropped", "enter")
        return changes

    # Answers

    def _place(self, object_id: Any) -> tuple[float, float]:
        """Its last place; NaN where it has none (its row came before any query used it)."""
        assert self.stream.point, "the stream declares no POINT"
        x, y = [self.latest[object_id].get(name, math.nan) for name in self.stream.point]
        return (float(x), float(y)) if is_finite(x) and is_finite(y) else (math.nan, math.nan)

    def _admits(self, query: QuerySpec, object_id: Any) -> bool:
        if not holds(query.where, self.latest[object_id], self.geometry):
            return False
        if query.region:
            moves = query.region[0] in ("mbox", "mcircle")
            centre = self._place(query.region[1]) if moves else None
            return self.geometry.inside(query.region, *self._place(object_id), centre)
        return not query.knn or all(map(is_finite, self._place(object_id)))

    def _answer(self, query: QuerySpec) -> set[Any]:
        focals = query.focals()
        # A moving query is empty until its focal object reports, and while it is gone.
        if self.waiting[query.id] or not focals <= self.live:
            return set()
        # A focal object is never in its own query's answer.
        members = {name for name in self.live - focals if self._admits(query, name)}
        if query.knn is None:
            return members
        kind, k, *centre = query.knn
        middle = self._place(centre[0]) if kind == "mknn" else tuple(map(float, centre))
        return self.geometry.nearest(k, {name: self._place(name) for name in members}, middle)

    def _distance(self, query: QuerySpec | None, object_id: Any) -> float | None:
        """From kNN's centre, else from that of the circle if it is the only region and not negated;
        None for all other queries. A focal object that is gone is where its last row says."""
        assert query is not None
        regions = regions_in(query.where) + ([(query.region, True)] if query.region else [])
        if query.knn:
            kind, _, *centre = query.knn
        elif regions and all(region == regions[0] for region in regions):
            (kind, *centre), is_positive = regions[0]
            if kind not in ("circle", "mcircle") or not is_positive:
                return None
        else:
            return None
        moves = kind in ("mknn", "mcircle")
        cx, cy = self._place(centre[0]) if moves else map(float, centre[:2])
        return self.geometry.distance(*self._place(object_id), cx, cy)

    def _settle(
        self, time: int, left: str, entered: str, started: Iterable[str] = ()
    ) -> list[Change]:
        """Compute all answers again; the changes are the differences."""
        before, asked = self.answers, self.asked
        self.answers = {query.id: self._answer(query) for query in self.queries.values()}
        self.asked = dict(self.queries)
        changes = []
        for query_id in before.keys() | self.answers.keys():
            old, new = before.get(query_id, set()), self.answers.get(query_id, set())
            # A starting query's `+` are `registered`, at the newest time of the stream.
            fresh = query_id in started
            when, why = (self.newest, "registered") if fresh else (time, entered)
            # What leaves a query that is dropped or replaced leaves that one, not its successor.
            changes += [
                Change(
                    query_id, sign, name, at, reason, self.latest[name], self._distance(of, name)
                )
                for sign, of, names, at, reason in (
                    (-1, asked.get(query_id), old - new, time, left),
                    (+1, self.queries.get(query_id), new - old, when, why),
                )
                for name in names
            ]
        # The `-` of an event come before its `+`, each by query id, then object id.
        return sorted(
            changes, key=lambda c: (c.sign, order_key(c.query_id), order_key(c.object_id))
        )


class Significant(Ledger):
    """Keeps only objects that some query looks at: SOLE's significant ones.

    A query looks at its answer; one that moves also at what is not farther than a margin from its
    region; one that ranks also at some more neighbours. `part` of `travel`, the distance both can
    go before an object reports again, is the margin; where that is unknown, of half the region.
    """

    def __init__(
        self, stream: StreamSpec, part: float, travel: float | None, geometry: Plane = PLANE
    ) -> None:
        super().__init__(stream, geometry)
        self.part, self.travel = part, travel
        self.before: dict[Any, int] = {}

    def process(self, rows: Iterable[Row]) -> list[Change]:
        self.before = {name: row[self.stream.time] for name, row in self.latest.items()}
        return super().process(rows)

    def _is_late(self, time: int, object_id: Any) -> bool:
        # Nobody knows when an object that was let go came last: late is what is older than the
        # last row of an object that was kept before these rows.
        late = time < self.before.get(object_id, time)
        return late or self._is_timed_out(time)

    def _settle(
        self, time: int, left: str, entered: str, started: Iterable[str] = ()
    ) -> list[Change]:
        changes = super()._settle(time, left, entered, started)
        kept = set().union(*(q.focals() | self._looked_at(q) for q in self.queries.values()))
        for gone in self.live - kept:
            self.live.remove(gone)
            del self.latest[gone]
        return changes

    def _looked_at(self, query: QuerySpec) -> set[Any]:
        if query.knn:
            kind, k, *centre = query.knn
            knn = (kind, k + math.ceil(self.part * k), *centre)
            return self._answer(QuerySpec(query.id, query.where, query.region, knn))
        if not query.region or query.region[0] not in ("mbox", "mcircle"):
            return self.answers[query.id]
        focals = query.focals()
        if self.waiting[query.id] or not focals <= self.live:
            return set()
        return {
            name
            for name in self.live - focals
            if holds(query.where, self.latest[name], self.geometry)
            and self._is_near(query.region, name)
        }

    def _is_near(self, region: Tree, name: Any) -> bool:
        x, y = self._place(name)
        if not (math.isfinite(x) and math.isfinite(y)):
            return False
        # Half the size of a region: the radius, or the larger half of a box.
        half = float(region[2]) if region[0] == "mcircle" else max(map(float, region[2:])) / 2
        margin = self.part * (half if self.travel is None else self.travel)
        return self.geometry.around(region, margin, x, y, self._place(region[1]))


def replay(changes: Iterable[Change]) -> dict[str, set[Any]]:
    """The answers the changes lead to; each must be a true change."""
    answers: dict[str, set[Any]] = {}
    for change in changes:
        members = answers.setdefault(change.query_id, set())
        if change.sign > 0:
            assert change.object_id not in members, f"+ for a member: {change}"
            members.add(change.object_id)
        else:
            assert change.object_id in members, f"- for a non-member: {change}"
            members.remove(change.object_id)
    return answers
