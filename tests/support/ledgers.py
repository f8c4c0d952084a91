"""A stream of cars with queries of every kind, for tests that hold a ledger against the oracle.

A query is written twice, in SQL and as the oracle's tree, so that the oracle never sees what the
parser made of it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import watchline as wl
from tests import reference
from tests.support.strategies import constant_sql, life_sql
from watchline.catalog import Catalog

Row = dict[str, Any]
# Query, sign, object, time, reason, and the distance with the row.
Told = tuple[Any, ...]

ATTRIBUTES = [
    ("x", "DOUBLE"), ("y", "DOUBLE"), ("speed", "DOUBLE"), ("n", "BIGINT"), ("kind", "STRING"),
    ("ts", "TIMESTAMP"),
]  # fmt: skip
ARROW = {
    "DOUBLE": pa.float64(),
    "BIGINT": pa.int64(),
    "STRING": pa.string(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}
SECOND = 1_000_000
# 2026-03-01 12:00:00.
NOON = 1_772_366_400 * SECOND
# The empty string, letters of one to four bytes, and pairs whose order differs in UTF-16.
NAMES = [
    "",
    " ",
    "a",
    "A",
    "ä",
    "it's",
    "京",
    "\ue000",
    "\U00010000",
    "🚕",
    "a\nb",
    "\x00",
    "e\u0301",
]


def attributes(kind: str = "BIGINT") -> list[tuple[str, str]]:
    return [("id", kind), *ATTRIBUTES]


def declaration(kind: str = "BIGINT", timeout: int | None = None, name: str = "cars") -> str:
    columns = ", ".join(f"{column} {of}" for column, of in attributes(kind))
    text = f"CREATE STREAM {name} ({columns}) OBJECT id TIME ts POINT (x, y) MAX AHEAD UNLIMITED"
    return text if timeout is None else f"{text} TIMEOUT INTERVAL {timeout} MICROSECONDS"


def spec(kind: str = "BIGINT", timeout: int | None = None) -> reference.StreamSpec:
    return reference.StreamSpec("id", "ts", attributes(kind), ("x", "y"), timeout)


@dataclass(frozen=True)
class Asked:
    """A query in SQL, and for the oracle."""

    id: str
    sql: str
    where: Any = ("true",)
    region: Any = None
    lifetime: int | None = None
    knn: Any = None
    until: int | None = None

    @property
    def text(self) -> str:
        life = life_sql(self.lifetime, self.until)
        return f"CREATE QUERY {self.id} AS SELECT * FROM cars {self.sql}{life} EMIT CHANGES"

    @property
    def replacement(self) -> str:
        return self.text.replace("CREATE QUERY", "CREATE OR REPLACE QUERY", 1)

    @property
    def spec(self) -> reference.QuerySpec:
        return reference.QuerySpec(
            self.id, self.where, self.region, self.knn, self.lifetime, self.until
        )


def attr(name: str) -> tuple[str, str]:
    return ("attr", name)


def compared(name: str, op: str, value: Any) -> tuple[Any, ...]:
    return ("cmp", op, attr(name), ("const", value))


def within(region: tuple[Any, ...]) -> tuple[Any, ...]:
    """INSIDE as a condition."""
    return ("inside", region, attr("x"), attr("y"))


TRIANGLE = [[(10.0, 10.0), (90.0, 20.0), (40.0, 95.0)], [(40.0, 30.0), (50.0, 30.0), (45.0, 50.0)]]
QUERIES = [
    Asked("fast", "WHERE speed >= 60", compared("speed", ">=", 60.0)),
    Asked(
        "trucks",
        "WHERE kind = 'truck' AND x < 50",
        ("and", compared("kind", "=", "truck"), compared("x", "<", 50.0)),
    ),
    Asked(
        "heavy",
        "WHERE kind IN ('truck', 'bus', '🚕') AND y BETWEEN 20 AND 80",
        (
            "and",
            ("in", attr("kind"), [("const", k) for k in ("truck", "bus", "🚕")]),
            ("between", attr("y"), ("const", 20.0), ("const", 80.0)),
        ),
    ),
    Asked(
        "edge",
        "WHERE x < 10 OR y > 90",
        ("or", compared("x", "<", 10.0), compared("y", ">", 90.0)),
    ),
    Asked("steep", "WHERE y > x", ("cmp", ">", attr("y"), attr("x"))),
    Asked("big", "WHERE n >= 9007199254740993", compared("n", ">=", 2**53 + 1)),
    Asked("untold", "WHERE kind IS NULL", ("isnull", attr("kind"))),
    Asked("others", "WHERE NOT kind = 'car'", ("not", compared("kind", "=", "car"))),
    Asked("box", "INSIDE (20, 20, 60, 70)", region=("box", 20.0, 20.0, 60.0, 70.0)),
    Asked("depot", "INSIDE CIRCLE (50, 50, 25)", region=("circle", 50.0, 50.0, 25.0)),
    Asked(
        "zone",
        "INSIDE POLYGON 'POLYGON ((10 10, 90 20, 40 95, 10 10), (40 30, 50 30, 45 50, 40 30))'",
        region=("polygon", TRIANGLE),
    ),
    Asked(
        "lunch",
        "WHERE speed < 80 INSIDE (0, 0, 70, 70)",
        compared("speed", "<", 80.0),
        ("box", 0.0, 0.0, 70.0, 70.0),
        lifetime=60 * SECOND,
    ),
    Asked(
        "kerbs",
        "WHERE (INSIDE CORRIDOR 'LINESTRING (0 0, 100 50)' WITHIN 10 OR INSIDE CIRCLE (50, 50, 25))"
        " AND NOT INSIDE (20, 20, 60, 70)",
        (
            "and",
            ("or", within(("corridor", [[(0.0, 0.0), (100.0, 50.0)]], 10.0)),
             within(("circle", 50.0, 50.0, 25.0))),
            ("not", within(("box", 20.0, 20.0, 60.0, 70.0))),
        ),
    ),
]  # fmt: skip


def moving(kind: str = "BIGINT") -> list[Asked]:
    """Queries that move, and nearest neighbours; the focal objects are of every fleet."""
    a, b = (2**63 - 1, -(2**63)) if kind == "BIGINT" else ("it's", "🚕")
    first, second = (constant_sql(focal, False) for focal in (a, b))
    slow, wide = compared("speed", "<", 50.0), ("mbox", b, 60.0, 60.0)
    return [
        Asked("convoy", f"INSIDE ('M', {first}, 40, 30)", region=("mbox", a, 40.0, 30.0)),
        Asked("escort", f"INSIDE CIRCLE ('M', {first}, 25)", region=("mcircle", a, 25.0)),
        Asked("slow", f"WHERE speed < 50 INSIDE ('M', {second}, 60, 60)", slow, wide),
        Asked("centre", "kNN (3, 50, 50)", knn=("knn", 3, 50.0, 50.0)),
        Asked("near", f"kNN ('M', 4, {second})", knn=("mknn", 4, b)),
        Asked(
            "inmost",
            "WHERE speed < 50 INSIDE (20, 20, 60, 70) kNN (2, 40, 40)",
            slow,
            ("box", 20.0, 20.0, 60.0, 70.0),
            knn=("knn", 2, 40.0, 40.0),
        ),
        Asked(
            "both",
            f"INSIDE ('M', {first}, 80, 80) kNN ('M', 3, {second})",
            region=("mbox", a, 80.0, 80.0),
            knn=("mknn", 3, b),
        ),
        Asked(
            "tour",
            f"INSIDE CIRCLE ('M', {second}, 30)",
            region=("mcircle", b, 30.0),
            lifetime=60 * SECOND,
        ),
    ]


def ids_of(kind: str, count: int) -> list[Any]:
    if kind == "BIGINT":
        return [0, -1, 2**63 - 1, -(2**63), *range(1, count)][:count]
    return [*NAMES, *(f"cab {i}" for i in range(count))][:count]


def fleet(
    count: int, kind: str = "BIGINT", objects: int = 24, seed: int = 0, odd: float = 0.05
) -> list[Row]:
    """Rows in the order in which they count, some at the same moment.

    `odd` is the share with a bad value.
    """
    draw = random.Random(seed)
    ids = ids_of(kind, objects)
    now, made = NOON, []
    for _ in range(count):
        now += draw.choice([0, 0, 1, SECOND // 3, SECOND, 4 * SECOND])
        row: Row = {
            "id": draw.choice(ids),
            "x": float(draw.randint(0, 100)),
            "y": draw.choice([-0.0, draw.uniform(0, 100), float(draw.randint(0, 100))]),
            "speed": draw.uniform(0, 100),
            "n": 2**53 + draw.randint(-2, 3),
            "kind": draw.choice(["car", "truck", "bus", "🚕", "", None]),
            "ts": now,
        }
        if draw.random() < odd:
            name = draw.choice(["id", "x", "y", "speed", "n", "ts"])
            bad = [None, math.nan, math.inf] if name in ("x", "y", "speed") else [None]
            row[name] = draw.choice(bad)
        made.append(row)
    return ordered(made, spec(kind))


def ordered(rows: list[Row], stream: reference.StreamSpec) -> list[Row]:
    """Rows of one moment by object and attributes; those without an object or time stay."""
    key = reference.Ledger(stream)._row_key
    good = [i for i, r in enumerate(rows) if r["id"] is not None and r["ts"] is not None]
    placed = dict(zip(good, sorted((rows[i] for i in good), key=key), strict=True))
    return [placed.get(i, row) for i, row in enumerate(rows)]


def table(rows: list[Row], kind: str = "BIGINT") -> pa.Table:
    return pa.table(
        {name: pa.array([r[name] for r in rows], ARROW[of]) for name, of in attributes(kind)}
    )


# --- ledgers


def told(changes: pa.Table) -> list[Told]:
    """Changes as comparable tuples, times in microseconds."""
    columns = {
        name: changes[name].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
        if pa.types.is_timestamp(changes[name].type)
        else [_plain(v) for v in changes[name].to_pylist()]
        for name in changes.column_names
    }
    own = [columns[name] for name in ("query_id", "sign", "object_id", "time", "reason")]
    rows = zip(*(columns[name] for name in changes.column_names[5:]), strict=True)
    return [(*mine, row) for *mine, row in zip(*own, rows, strict=True)]


def expected(changes: Iterable[reference.Change], names: list[str]) -> list[Told]:
    return [
        (
            *(c.query_id, c.sign, c.object_id, c.time, c.reason),
            (c.distance, *(_plain(c.row[n]) for n in names)),
        )
        for c in changes
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        # NaN is no value, and zero has one sign.
        return None if math.isnan(value) else value + 0.0
    return value


def same(found: list[Told], wanted: list[Told]) -> None:
    """The same changes, each as often."""
    lost, extra = Counter(wanted), Counter(found)
    lost, extra = lost - extra, extra - lost
    assert not lost, f"{lost.total()} lost, as {min(lost, key=repr)}"
    assert not extra, f"{extra.total()} too many, as {min(extra, key=repr)}"


def replayed(changes: Iterable[Told]) -> dict[str, set[Any]]:
    """The answers the changes lead to, empty ones left out; each must be a true change."""
    listed = [reference.Change(q, sign, o, t, why, {}) for q, sign, o, t, why, _ in changes]
    return {name: members for name, members in reference.replay(listed).items() if members}


class Twin:
    """A tracker and the oracle side by side: what they say is compared at every step."""

    def __init__(self, kind: str = "BIGINT", timeout: int | None = None, queries: Any = ()):
        self.kind = kind
        self.catalog = Catalog.of(declaration(kind, timeout))
        self.tracker = wl.Tracker(self.catalog, "cars")
        self.ledger = reference.Ledger(spec(kind, timeout))
        self.names = [name for name, _ in attributes(kind)]
        for asked in queries:
            self.register(asked)

    def process(self, rows: list[Row]) -> list[Told]:
        wanted = expected(self.ledger.process(rows), self.names)
        return self._agreed(self.tracker.process(table(rows, self.kind)), wanted)

    def register(self, asked: Asked) -> list[Told]:
        drops = [asked.id] if asked.id in self.ledger.registered else []
        self.catalog.execute(asked.replacement)
        return self._follow(self.ledger.version(drops, [asked.spec]))

    def drop(self, query_id: str) -> list[Told]:
        self.catalog.drop(query_id)
        return self._follow(self.ledger.drop(query_id))

    def _follow(self, wanted: list[reference.Change]) -> list[Told]:
        opened = self.tracker.advance_to(self.catalog.version)
        return self._agreed(opened, expected(wanted, self.names))

    def _agreed(self, changes: pa.Table, wanted: list[Told]) -> list[Told]:
        found = told(changes)
        same(found, wanted)
        stats = self.tracker.stats()
        assert stats["objects"] == len(self.ledger.live)
        assert stats["answers"] == sum(map(len, self.ledger.answers.values()))
        assert stats["late"] == self.ledger.counters["late"]
        assert stats["rejected"] == self.ledger.counters["rejected"]
        return found
