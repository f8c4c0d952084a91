"""The tracker's changes are the oracle's after every row and version, however cut (I1, I2)."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference
from tests.ledgers import expected, ordered, same, told
from tests.properties.test_matching import region_sql, regions
from tests.strategies import DOUBLES, STRINGS, condition_sql, conditions
from watchline.errors import QuerySyntaxError
from watchline.matching import limits
from watchline.tracking import flips
from watchline.tracking.batch import Span

ATTRIBUTES = [
    ("d", "DOUBLE"), ("e", "DOUBLE"), ("n", "BIGINT"), ("m", "BIGINT"), ("s", "STRING"),
    ("u", "STRING"), ("b", "BOOLEAN"), ("c", "BOOLEAN"), ("ts", "TIMESTAMP"), ("tt", "TIMESTAMP"),
]  # fmt: skip
NAMES = ["id", *(name for name, _ in ATTRIBUTES)]
ARROW = {
    "DOUBLE": pa.float64(),
    "BIGINT": pa.int64(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}


def declaration(kind: str, timeout: int | None) -> str:
    columns = ", ".join(f"{name} {of}" for name, of in [("id", kind), *ATTRIBUTES])
    text = f"CREATE STREAM rows ({columns}) OBJECT id TIME ts POINT (d, e)"
    return text if timeout is None else f"{text} TIMEOUT INTERVAL {timeout} MICROSECONDS"


def table(data: list[dict[str, Any]], kind: str) -> pa.Table:
    types = [("id", kind), *ATTRIBUTES]
    return pa.table(
        {name: pa.array([row.get(name) for row in data], ARROW[of]) for name, of in types}
    )


# --- strategies: few values, so that things meet

few_doubles = st.sampled_from([-1.0, 0.0, -0.0, 0.5, 1.0, 2.0, 3.0]) | st.sampled_from(DOUBLES)
odd_doubles = st.sampled_from([None, math.nan, math.inf])


@st.composite
def data_rows(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    ids = [1, 2, 3, -(2**63)] if kind == "BIGINT" else ["", "a", "b", "🚕"]
    return {
        "id": draw(st.sampled_from([*ids, *ids, None])),
        "d": draw(few_doubles | few_doubles | few_doubles | odd_doubles),
        "e": draw(few_doubles | few_doubles | few_doubles | odd_doubles),
        "n": draw(st.sampled_from([-1, 0, 1, 2, 2**53 + 1, None])),
        "m": draw(st.integers(-1, 2)),
        "s": draw(st.sampled_from([*STRINGS[:4], None])),
        "u": draw(st.sampled_from(STRINGS[:3])),
        "b": draw(st.booleans() | st.none()),
        "c": draw(st.booleans()),
        "tt": draw(st.sampled_from([0, 1, None])),
    }


simple = st.builds(
    lambda name, lo, width: ("between", ("attr", name), ("const", lo), ("const", lo + width)),
    st.sampled_from(["d", "e"]),
    st.sampled_from([-1.0, 0.0, 0.5, 1.0]),
    st.sampled_from([0.0, 0.5, 1.0, 5.0]),
)
wheres = simple | st.tuples(st.just("and"), simple, simple) | conditions()


@st.composite
def scripts(draw: st.DrawFn) -> tuple[str, int | None, list[Any]]:
    """A kind of object id, a time-out, and events: rows, registrations, drops."""
    kind = draw(st.sampled_from(["BIGINT", "STRING"]))
    timeout = draw(st.sampled_from([None, 2, 5]))
    event = st.one_of(
        st.tuples(
            st.just("rows"),
            st.lists(
                st.tuples(data_rows(kind), st.integers(-3, 4) | st.none()), min_size=1, max_size=5
            ),
        ),
        st.tuples(
            st.just("query"),
            st.sampled_from("abcde"),
            wheres,
            regions,
            st.sampled_from([None, None, 1, 4]),
        ),
        st.tuples(st.just("drop"), st.sampled_from("abcde")),
    )
    return kind, timeout, draw(st.lists(event, min_size=1, max_size=12))


class Both:
    """A tracker and the oracle, side by side."""

    def __init__(self, kind: str, timeout: int | None):
        self.kind = kind
        self.catalog = wl.Catalog.of(declaration(kind, timeout))
        self.tracker = wl.Tracker(self.catalog, "rows")
        spec = reference.StreamSpec("id", "ts", [("id", kind), *ATTRIBUTES], ("d", "e"), timeout)
        self.ledger = reference.Ledger(spec)
        self.events: list[reference.Change] = []
        self.now = 0

    def rows(self, steps: list[tuple[dict[str, Any], int | None]]) -> list[dict[str, Any]]:
        """Rows with times around now; a step back may make a row late."""
        made = []
        for row, step in steps:
            if step is not None:
                self.now = max(0, self.now + step)
            made.append({**row, "ts": None if step is None else self.now})
        return made

    def process(self, rows: list[dict[str, Any]]) -> None:
        wanted = self.ledger.process(rows)
        self.events += wanted
        same(told(self.tracker.process(table(rows, self.kind))), expected(wanted, NAMES))
        self.check()

    def register(self, name: str, where: Any, region: Any, lifetime: int | None) -> None:
        text = f"CREATE OR REPLACE QUERY {name} AS SELECT * FROM rows WHERE {condition_sql(where)}"
        life = "" if lifetime is None else f" FOR INTERVAL {lifetime} MICROSECONDS"
        try:
            self.catalog.execute(f"{text} {region_sql(region)}{life} EMIT CHANGES")
        except QuerySyntaxError as error:
            assume("alternatives" not in error.problem)
            return
        query = self.catalog.queries()[name]
        # What can be left out of a condition is not used by it.
        used = {a.name for a in query.attributes()}
        assume(reference.attributes_in(where) <= used | {"s", "u", "b", "c", "tt"})
        spec = reference.QuerySpec(name, where, region, lifetime=lifetime)
        drops = [name] if name in self.ledger.registered else []
        self.follow(self.ledger.version(drops, [spec]))

    def drop(self, name: str) -> None:
        if name in self.ledger.registered:
            self.catalog.drop(name)
            self.follow(self.ledger.drop(name))

    def follow(self, wanted: list[reference.Change]) -> None:
        self.events += wanted
        found = self.tracker.advance_to(self.catalog.version)
        same(told(found), expected(wanted, NAMES))
        self.check()

    def check(self) -> None:
        stats = self.tracker.stats()
        assert stats["late"] == self.ledger.counters["late"]
        assert stats["rejected"] == self.ledger.counters["rejected"]
        assert stats["objects"] == len(self.ledger.live)
        assert stats["answers"] == sum(map(len, self.ledger.answers.values()))

    def through_bytes(self) -> None:
        self.tracker = wl.Tracker.restore(self.catalog, "rows", self.tracker.snapshot())


def go(way: str, patch: pytest.MonkeyPatch) -> None:
    """Make one of the ways so cheap that every move goes it; there are grids in two dimensions."""
    patch.setattr(flips, "RANK", 1e9 if way in ("as stabs", "as grids") else 0.0)
    patch.setattr(flips, "MOVE", 0.0 if way == "as grids" else 1e9)
    for cost in ("ENTRY", "CHECKED", "BLOCK", "BUILD", "BUILD_GRID"):
        patch.setattr(flips, cost, 0.0)


@pytest.fixture(params=["as scans", "as borders", "as stabs", "as grids"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few boxes are compared one by one; here they also have border lists, and indexes."""
    if request.param != "as scans":
        monkeypatch.setattr(limits, "MANY_WHOLE", 0)
        go(request.param, monkeypatch)


@pytest.mark.usefixtures("many")
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts(), st.integers(0, 12))
def test_changes_equal_the_oracle(script: tuple[str, int | None, list[Any]], restored: int) -> None:
    kind, timeout, events = script
    both = Both(kind, timeout)
    for step, (what, *parts) in enumerate(events):
        if step == restored:
            both.through_bytes()
        if what == "rows":
            both.process(both.rows(parts[0]))
        elif what == "query":
            both.register(*parts)
        else:
            both.drop(*parts)
    reference.replay(both.events)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_cuts_and_shards_change_nothing(
    script: tuple[str, int | None, list[Any]], shards: int, chance: random.Random
) -> None:
    """One ordered stream: row by row, in one batch, or dealt to shards that know the span."""
    kind, timeout, events = script
    both = Both(kind, timeout)
    rows: list[dict[str, Any]] = []
    for what, *parts in events:
        if what == "query":
            both.register(*parts)
        elif what == "rows":
            rows += both.rows(
                [(row, None if step is None else abs(step)) for row, step in parts[0]]
            )
    rows = ordered(rows, both.ledger.stream)
    whole = wl.Tracker(both.catalog, "rows")
    wanted = told(whole.process(table(rows, kind)))
    both.tracker = wl.Tracker(both.catalog, "rows")
    single = [c for row in rows for c in told(both.tracker.process(table([row], kind)))]
    same(single, wanted)
    trackers = [wl.Tracker(both.catalog, "rows") for _ in range(shards)]
    dealt: dict[Any, int] = {}
    pieces, place = [], 0
    while place < len(rows):
        size = chance.randint(1, 6)
        pieces.append(rows[place : place + size])
        place += size
    found = []
    used = trackers[0]._watcher.used()
    for piece in pieces:
        good = [r for r in piece if _is_good(r, used)]
        span = Span(min(r["ts"] for r in good), max(r["ts"] for r in good)) if good else None
        for k, tracker in enumerate(trackers):
            mine = [r for r in good if dealt.setdefault(r["id"], chance.randrange(shards)) == k]
            found += told(tracker.process(table(mine, kind), span))
    same(found, wanted)


def _is_good(row: dict[str, Any], used: frozenset[str]) -> bool:
    numeric = {name for name, of in ATTRIBUTES if of in ("DOUBLE", "BIGINT")}
    return (
        row["id"] is not None
        and row["ts"] is not None
        and all(reference.is_finite(row[name]) for name in used & numeric)
    )


@pytest.mark.parametrize("kind", ["BIGINT", "STRING"])
def test_an_empty_batch_changes_nothing(kind: str) -> None:
    both = Both(kind, 5)
    both.catalog.execute("CREATE QUERY a AS SELECT * FROM rows EMIT CHANGES")
    both.follow(both.ledger.register(reference.QuerySpec("a")))
    both.process([])
    assert both.tracker.newest is None
