"""Three streams, and joiners beside the oracle: what they say is compared at every step.

A query is written twice, in SQL and as the oracle's tree, so that the oracle never sees what the
parser made of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pyarrow as pa

import watchline as wl
from tests.reference_joins import Joined, JoinLedger, JoinQuery, JoinSource, JoinStream
from tests.support.strategies import condition_sql, life_sql
from watchline.errors import QuerySyntaxError

Row = dict[str, Any]
Rows = Mapping[str, list[Row]]
# The query, and all columns of its rows.
Told = tuple[Any, ...]

METHODS = ("bits", "sj", "ibs")
ALL = "CREATE QUERY q AS SELECT * FROM r [RANGE 99 SECONDS] CROSS JOIN s [RANGE 99 SECONDS]"
Ids = list[tuple[Any, ...]]
# The kinds of object id differ, and so do the places of the attributes.
ATTRIBUTES = {
    "r": [
        ("id", "BIGINT"), ("d", "DOUBLE"), ("n", "BIGINT"), ("k", "STRING"), ("b", "BOOLEAN"),
        ("ts", "TIMESTAMP"),
    ],
    "s": [
        ("ts", "TIMESTAMP"), ("b", "BOOLEAN"), ("k", "STRING"), ("n", "BIGINT"), ("d", "DOUBLE"),
        ("id", "STRING"),
    ],
    "t": [("n", "BIGINT"), ("d", "DOUBLE"), ("id", "BIGINT"), ("k", "STRING"), ("ts", "TIMESTAMP")],
}  # fmt: skip
# Streams with places, two of the plane and two on Earth.
POINTS = {"u": ("x", "y"), "v": ("y", "x"), "e": ("lon", "lat"), "f": ("lon", "lat")}
EARTH = ("e", "f")
PLACED = {
    name: [
        ("id", "BIGINT"), *((axis, "DOUBLE") for axis in axes), ("n", "BIGINT"), ("d", "DOUBLE"),
        ("ts", "TIMESTAMP"),
    ]
    for name, axes in POINTS.items()
}  # fmt: skip
COLUMNS = ATTRIBUTES | PLACED
ARROW = {
    "DOUBLE": pa.float64(),
    "BIGINT": pa.int64(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}


def declaration(name: str) -> str:
    columns = ", ".join(f"{column} {of}" for column, of in COLUMNS[name])
    point = f" POINT ({', '.join(POINTS[name])})" if name in POINTS else ""
    point += " AS GEOGRAPHY" if name in EARTH else ""
    return f"CREATE STREAM {name} ({columns}) OBJECT id TIME ts{point} MAX AHEAD UNLIMITED"


def of_oracle(name: str) -> JoinStream:
    return JoinStream(name, "id", "ts", COLUMNS[name], POINTS.get(name), name in EARTH)


def table(name: str, rows: list[Row]) -> pa.Table:
    return pa.table(
        {c: pa.array([row.get(c) for row in rows], ARROW[of]) for c, of in COLUMNS[name]}
    )


def tables(rows: Rows) -> dict[str, pa.Table]:
    return {name: table(name, given) for name, given in rows.items()}


@dataclass(frozen=True)
class Asked:
    """A join in SQL, and for the oracle."""

    id: str
    sources: list[JoinSource]
    where: Any = ("true",)
    lifetime: int | None = None
    cross: bool = False
    until: int | None = None

    @property
    def text(self) -> str:
        parts = []
        for source in self.sources:
            kind, size = source.window
            window = f"RANGE {size} MICROSECONDS" if kind == "range" else f"ROWS {size}"
            parts.append(f"{source.stream} AS {source.alias} [{window}]")
        sources = (" CROSS JOIN " if self.cross else ", ").join(parts)
        where = "" if self.where == ("true",) else f" WHERE {condition_sql(self.where)}"
        life = life_sql(self.lifetime, self.until)
        return f"CREATE OR REPLACE QUERY {self.id} AS SELECT * FROM {sources}{where}{life}"

    @property
    def spec(self) -> JoinQuery:
        return JoinQuery(self.id, self.sources, self.where, self.lifetime, self.until)

    def times(self) -> Counter[str]:
        """How often each stream stands in FROM."""
        return Counter(source.stream for source in self.sources)


def lines(picture: str, **columns: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Rows drawn as time lines: a stream and its rows' ids, a letter or a dot per microsecond.

        r  1..2
        s  ..a.

    The attributes are 0, but for what is given by the ids.
    """
    rows: dict[str, list[Row]] = {}
    for line in filter(None, map(str.strip, picture.splitlines())):
        stream, drawn = line.split()
        kinds = dict(ATTRIBUTES[stream])
        for moment, letter in enumerate(drawn):
            if letter != ".":
                own = {name: of[letter] for name, of in columns.items() if letter in of}
                object_id = letter if kinds["id"] == "STRING" else int(letter)
                plain = {"id": object_id, "d": 0.0, "n": 0, "k": "", "b": None, "ts": moment}
                rows.setdefault(stream, []).append(plain | own)
    return rows


# --- what is told


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        # NaN is no value, and zero has one sign.
        return None if math.isnan(value) else value + 0.0
    return value


def told(found: pa.Table) -> list[Told]:
    columns = [
        column.cast(pa.int64()).to_pylist()
        if pa.types.is_timestamp(column.type)
        else [_plain(value) for value in column.to_pylist()]
        for column in found.columns
    ]
    return list(zip(*columns, strict=True))


def names(streams: Sequence[str], times: Mapping[str, int]) -> list[str]:
    """The columns of the output, where a query has a stream so often."""
    return ["query_id"] + [
        f"{stream}{k if k > 1 else ''}_{attribute}"
        for stream in streams
        for k in range(1, times.get(stream, 1) + 1)
        for attribute, _ in COLUMNS[stream]
    ]


def expected(
    joined: Joined, query: JoinQuery, streams: Sequence[str], times: Mapping[str, int]
) -> Told:
    values: dict[str, Any] = {"query_id": joined.query_id}
    met: Counter[str] = Counter()
    for source, row in zip(query.sources, joined.rows, strict=True):
        met[source.stream] += 1
        k = met[source.stream]
        for attribute, _ in COLUMNS[source.stream]:
            column = f"{source.stream}{k if k > 1 else ''}_{attribute}"
            values[column] = _plain(row.get(attribute))
    return tuple(values.get(name) for name in names(streams, times))


def same(found: Iterable[Told], wanted: Iterable[Told]) -> None:
    """The same tuples, each as often."""
    lost, extra = Counter(wanted), Counter(found)
    lost, extra = lost - extra, extra - lost
    assert not lost, f"{lost.total()} lost, as {min(lost, key=repr)}"
    assert not extra, f"{extra.total()} too many, as {min(extra, key=repr)}"


class Twin:
    """Joiners of every method, one or several parts of each, and the oracle."""

    def __init__(
        self,
        streams: Sequence[str] = ("r", "s"),
        queries: Iterable[Asked] = (),
        methods: Sequence[str] = METHODS,
        parts: int = 1,
        times: Mapping[str, int] | None = None,
    ):
        self.streams = list(streams)
        placed = [name for name in streams if name in PLACED]
        self.catalog = wl.Catalog.of(declaration(name) for name in [*ATTRIBUTES, *placed])
        self.ledger = JoinLedger([of_oracle(name) for name in streams])
        self.times = Counter(times or {})
        self.asked: dict[str, Asked] = {}
        self.pairs = 0
        for asked in queries:
            self.commit(asked)
        for asked in self.asked.values():
            if set(asked.times()) <= set(streams):
                self.times |= asked.times()
                self.ledger.register(asked.spec)
        self.joiners = {
            method: [
                wl.Joiner(
                    self.catalog, self.streams, part=k, parts=parts, times=times, method=method
                )
                for k in range(parts)
            ]
            for method in methods
        }
        for joiner in self.all():
            assert joiner.schema.names == names(self.streams, self.times)

    def all(self) -> list[wl.Joiner]:
        return [joiner for parts in self.joiners.values() for joiner in parts]

    # --- versions

    def commit(self, asked: Asked) -> bool:
        """Whether the catalog takes it: a condition that is never true is refused."""
        try:
            self.catalog.execute(asked.text)
        except QuerySyntaxError as error:
            if "no condition links" in error.problem:
                cross = replace(asked, cross=True)
                self.catalog.execute(cross.text)
            else:
                assert "can never be true" in error.problem or "alternatives" in error.problem
                return False
        self.asked[asked.id] = asked
        return True

    def register(self, asked: Asked) -> None:
        if self.commit(asked):
            self.ledger.drop(asked.id)
            if asked.times() <= self._room():
                self.ledger.register(asked.spec)
            self.follow()

    @property
    def unanswered(self) -> int:
        """The joins of now that read other streams, or one more often than there are columns."""
        return sum(not asked.times() <= self._room() for asked in self.asked.values())

    def _room(self) -> Counter[str]:
        return Counter({name: max(1, self.times[name]) for name in self.streams})

    def drop(self, query_id: str) -> None:
        if query_id in self.asked:
            self.catalog.drop(query_id)
            del self.asked[query_id]
            self.ledger.drop(query_id)
            self.follow()

    def follow(self) -> None:
        for joiner in self.all():
            joiner.advance_to(self.catalog.version)
        self._check()

    # --- rows

    def process(self, rows: Rows) -> list[Told]:
        given = tables(rows)
        wanted = self.ledger.process(rows)
        return self._agreed(wanted, lambda joiner: joiner.process(given))

    def finish(self) -> list[Told]:
        return self._agreed(self.ledger.finish(), lambda joiner: joiner.finish())

    def through_bytes(self) -> None:
        """The joiners end, and come back from their snapshots."""
        for method, parts in self.joiners.items():
            for k, joiner in enumerate(parts):
                before, blob = joiner.stats(), joiner.snapshot()
                parts[k] = wl.Joiner.restore(
                    self.catalog, self.streams, blob, part=k, parts=len(parts), method=method
                )
                assert parts[k].stats() | {"bytes": 0} == before | {"bytes": 0}
                assert parts[k].schema == joiner.schema

    def _agreed(self, wanted: list[Joined], tell: Any) -> list[Told]:
        # Within what one row completes there is no order.
        groups = [list(group) for _, group in groupby(wanted, key=lambda joined: joined.last)]
        rows = [[self._expected(joined) for joined in group] for group in groups]
        flat = [row for group in rows for row in group]
        self.pairs += len(flat)
        for parts in self.joiners.values():
            found = [tell(joiner) for joiner in parts]
            for joiner, answer in zip(parts, found, strict=True):
                assert answer.schema == joiner.schema
            listed = [told(answer) for answer in found]
            same([row for answer in listed for row in answer], flat)
            if len(parts) == 1:
                place = 0
                for group in rows:
                    same(listed[0][place : place + len(group)], group)
                    place += len(group)
        self._check()
        return flat

    def _expected(self, joined: Joined) -> Told:
        query = self.ledger.queries[joined.query_id]
        return expected(joined, query, self.streams, self.times)

    def _check(self) -> None:
        for parts in self.joiners.values():
            stats = [joiner.stats() for joiner in parts]
            for mine in stats:
                assert mine["late"] == self.ledger.late
                assert mine["rejected_by"] == dict(self.ledger.rejected_by)
                assert mine["rejected"] == self.ledger.rejected_by.total()
                assert mine["waiting"] == len(self.ledger.waiting)
                assert mine["version"] == self.catalog.version
            assert sum(mine["pairs"] for mine in stats) == self.pairs
            assert sum(mine["unanswered"] for mine in stats) == self.unanswered


# --- by example


def asked(sources: str, where: str = "", more: str = "", name: str = "q") -> str:
    if "[" not in sources:
        sources = ", ".join(f"{part} [RANGE 99 SECONDS]" for part in sources.split(", "))
    where = f" WHERE {where}" if where else ""
    return f"CREATE OR REPLACE QUERY {name} AS SELECT * FROM {sources}{where} {more}"


def row(ts: int | None, object_id: Any, **values: Any) -> Row:
    return {"id": object_id, "d": 0.0, "n": 0, "k": "", "b": None, "ts": ts} | values


def ids(found: pa.Table) -> Ids:
    """The ids of the rows of each tuple."""
    columns = [name for name in found.column_names if name.endswith("_id") and name != "query_id"]
    rows = zip(*(found[name].to_pylist() for name in columns), strict=True)
    return [tuple(object_id for object_id in row if object_id is not None) for row in rows]


class Lines:
    """One joiner of each method: all of them must tell the same."""

    def __init__(self, *queries: str, streams: tuple[str, ...] = ("r", "s"), **options: Any):
        self.catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), *queries])
        self.streams = list(streams)
        self.joiners = [
            wl.Joiner(self.catalog, self.streams, method=method, **options) for method in METHODS
        ]

    def process(self, rows: Rows) -> Ids:
        return self._same([joiner.process(tables(rows)) for joiner in self.joiners])

    def finish(self) -> Ids:
        return self._same([joiner.finish() for joiner in self.joiners])

    def execute(self, text: str) -> None:
        self.catalog.execute(text)
        for joiner in self.joiners:
            joiner.advance_to(self.catalog.version)

    def stat(self, name: str) -> Any:
        first, *others = (joiner.stats()[name] for joiner in self.joiners)
        assert all(other == first for other in others)
        return first

    @staticmethod
    def _same(found: list[pa.Table]) -> Ids:
        first, *others = (sorted(ids(table), key=repr) for table in found)
        assert all(other == first for other in others)
        return first


def moments(rows: Rows) -> list[Rows]:
    """The rows cut into those of each moment."""
    times = sorted({row["ts"] for given in rows.values() for row in given})
    return [
        {name: [row for row in given if row["ts"] == time] for name, given in rows.items()}
        for time in times
    ]


def joined(query: str, rows: Rows, streams: tuple[str, ...] = ("r", "s")) -> Ids:
    """What the query finds in all the rows, however they are cut."""
    whole, cut = Lines(query, streams=streams), Lines(query, streams=streams)
    found = sorted(whole.process(rows) + whole.finish())
    pieces = [pair for piece in moments(rows) for pair in cut.process(piece)]
    assert sorted(pieces + cut.finish()) == found
    return found
