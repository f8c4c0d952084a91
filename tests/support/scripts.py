"""Scripts of rows, registrations and drops, played to trackers and the oracle side by side.

Few values, so that things meet.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
from hypothesis import reject
from hypothesis import strategies as st

import watchline as wl
from tests import reference
from tests.support.ledgers import Told, expected, same, told
from tests.support.strategies import (
    DOUBLES,
    STRINGS,
    condition_sql,
    conditions,
    knn_sql,
    life_sql,
    region_sql,
)
from watchline.errors import QuerySyntaxError
from watchline.model import Inside

ATTRIBUTES = [
    ("d", "DOUBLE"), ("e", "DOUBLE"), ("n", "BIGINT"), ("m", "BIGINT"), ("s", "STRING"),
    ("u", "STRING"), ("b", "BOOLEAN"), ("c", "BOOLEAN"), ("ts", "TIMESTAMP"), ("tt", "TIMESTAMP"),
]  # fmt: skip
NAMES = ["id", *(name for name, _ in ATTRIBUTES)]
NUMERIC = {name for name, of in ATTRIBUTES if of in ("DOUBLE", "BIGINT")}
ARROW = {
    "DOUBLE": pa.float64(),
    "BIGINT": pa.int64(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}
Row = dict[str, Any]
# A kind of object id, a time-out, and events.
Script = tuple[str, "int | None", list[Any]]


def declaration(kind: str, timeout: int | None, geometry: str = "") -> str:
    columns = ", ".join(f"{name} {of}" for name, of in [("id", kind), *ATTRIBUTES])
    text = f"CREATE STREAM rows ({columns}) OBJECT id TIME ts POINT (d, e){geometry}"
    return text if timeout is None else f"{text} TIMEOUT INTERVAL {timeout} MICROSECONDS"


def table(data: list[Row], kind: str) -> pa.Table:
    types = [("id", kind), *ATTRIBUTES]
    return pa.table(
        {name: pa.array([row.get(name) for row in data], ARROW[of]) for name, of in types}
    )


def is_good(row: Row, used: frozenset[str]) -> bool:
    """Not rejected, where queries use these attributes."""
    return (
        row["id"] is not None
        and row["ts"] is not None
        and all(reference.is_finite(row[name]) for name in used & NUMERIC)
    )


# --- strategies

few_doubles = st.sampled_from([-1.0, 0.0, -0.0, 0.5, 1.0, 2.0, 3.0]) | st.sampled_from(DOUBLES)
odd_doubles = st.sampled_from([None, math.nan, math.inf])
simple = st.builds(
    lambda name, lo, width: ("between", ("attr", name), ("const", lo), ("const", lo + width)),
    st.sampled_from(["d", "e"]),
    st.sampled_from([-1.0, 0.0, 0.5, 1.0]),
    st.sampled_from([0.0, 0.5, 1.0, 5.0]),
)
# FOR INTERVAL and UNTIL, in microseconds.
FOREVER = (None, None)
lives = st.tuples(
    st.sampled_from([None, None, None, 1, 4]),
    st.sampled_from([None, None, None, None, 1, 2, 3, 5, 8, 13]),
)
wheres = simple | st.tuples(st.just("and"), simple, simple) | conditions()


@st.composite
def data_rows(draw: st.DrawFn, ids: list[Any], places: st.SearchStrategy[Any]) -> Row:
    return {
        "id": draw(st.sampled_from([*ids, *ids, None])),
        "d": draw(places),
        "e": draw(places),
        "n": draw(st.sampled_from([-1, 0, 1, 2, 2**53 + 1, None])),
        "m": draw(st.integers(-1, 2)),
        "s": draw(st.sampled_from([*STRINGS[:4], None])),
        "u": draw(st.sampled_from(STRINGS[:3])),
        "b": draw(st.booleans() | st.none()),
        "c": draw(st.booleans()),
        "tt": draw(st.sampled_from([0, 1, None])),
    }


# --- players


class Played:
    """The oracle and a tracker to which a script is played: both say the same at every step.

    Others may have several trackers, or cut the rows: what each of them tells is compared.
    """

    # What follows the point in the declaration of the stream, and the whole declaration.
    geometry = clauses = ""

    def __init__(self, kind: str, timeout: int | None):
        self.kind = kind
        self.catalog = wl.Catalog.of(declaration(kind, timeout, self.geometry) + self.clauses)
        spec = reference.StreamSpec("id", "ts", [("id", kind), *ATTRIBUTES], ("d", "e"), timeout)
        self.ledger = self._ledger(spec)
        self.events: list[reference.Change] = []
        self.now = 0
        self.trackers = self._start()

    def play(self, what: str, *parts: Any) -> None:
        if what == "rows":
            self.process(self.rows(parts[0]))
        elif what == "query":
            self.register(*parts)
        else:
            self.drop(*parts)

    def rows(self, steps: list[tuple[Row, int | None]]) -> list[Row]:
        """Rows with times around now; a step back may make a row late."""
        made = []
        for row, step in steps:
            if step is not None:
                self.now = max(0, self.now + step)
            made.append({**row, "ts": None if step is None else self.now})
        return made

    def process(self, rows: list[Row]) -> None:
        self._compare(self.ledger.process(rows), self._rows(rows))

    def register(
        self,
        name: str,
        where: Any,
        region: Any,
        life: tuple[int | None, int | None],
        knn: Any = None,
    ) -> None:
        text = f"CREATE OR REPLACE QUERY {name} AS SELECT * FROM rows WHERE {condition_sql(where)}"
        try:
            self.catalog.execute(
                f"{text} {region_sql(region)} {knn_sql(knn)}{life_sql(*life)}{self.more(name)}"
                " EMIT CHANGES"
            )
        except QuerySyntaxError as error:
            if "alternatives" in error.problem:
                reject()
            return
        query = self.catalog.queries()[name]
        # What can be left out of a condition is not used by it.
        used = {a.name for a in query.attributes()}
        if not reference.attributes_in(where) <= used | {"s", "u", "b", "c", "tt"}:
            reject()
        # Regions that can be left out give the query no centre, and take it none.
        regions = {
            (atom.region, atom.negated)
            for alternative in query.where
            for atom in alternative.atoms
            if isinstance(atom, Inside)
        }
        if len(regions) != len({repr(found) for found in reference.regions_in(where)}):
            reject()
        spec = reference.QuerySpec(name, where, region, knn, *life)
        drops = [name] if name in self.ledger.registered else []
        self.follow(self.ledger.version(drops, [spec]))

    def drop(self, name: str) -> None:
        if name in self.ledger.registered:
            self.catalog.drop(name)
            self.follow(self.ledger.drop(name))

    def follow(self, wanted: list[reference.Change]) -> None:
        self._compare(wanted, self._versions())

    def _compare(self, changes: list[reference.Change], found: list[list[Told]]) -> None:
        self.events += changes
        wanted = expected(changes, NAMES)
        for mine in found:
            same(mine, wanted)
        for stats in self._stats():
            self._check(stats)

    def _check(self, stats: dict[str, Any]) -> None:
        assert stats["late"] == self.ledger.counters["late"]
        assert stats["rejected"] == self.ledger.counters["rejected"]
        assert stats["objects"] == len(self.ledger.live)
        assert stats["answers"] == sum(map(len, self.ledger.answers.values()))
        assert stats["changes"] == len(self.events)

    def more(self, name: str) -> str:
        """What follows the query of this name."""
        return ""

    def _ledger(self, spec: reference.StreamSpec) -> reference.Ledger:
        return reference.Ledger(spec)

    # The trackers.

    def _start(self) -> list[wl.Tracker]:
        return [wl.Tracker(self.catalog, "rows")]

    def _rows(self, rows: list[Row]) -> list[list[Told]]:
        return [told(tracker.process(table(rows, self.kind))) for tracker in self.trackers]

    def _versions(self) -> list[list[Told]]:
        version = self.catalog.version
        return [told(tracker.advance_to(version)) for tracker in self.trackers]

    def _stats(self) -> list[dict[str, Any]]:
        return [tracker.stats() for tracker in self.trackers]

    def through_bytes(self) -> None:
        """The trackers end, and come back from their snapshots."""
        self.trackers = [
            wl.Tracker.restore(self.catalog, "rows", tracker.snapshot())
            for tracker in self.trackers
        ]
