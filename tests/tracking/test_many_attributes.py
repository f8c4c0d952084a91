"""Conditions over subsets of twelve attributes: the engines give the oracle's answers, whichever
parts, indexes and ways the planner chooses."""

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
from tests.support.effort import examples
from tests.support.ledgers import expected, same, told
from tests.support.scripts import ARROW
from tests.support.strategies import condition_sql
from tests.tracking.test_properties import go
from watchline.catalog import Catalog
from watchline.errors import QuerySyntaxError
from watchline.matching import PairMatcher, limits, prepare

DOUBLES = [f"d{i}" for i in range(6)]
TYPES = {
    **dict.fromkeys(DOUBLES, "DOUBLE"),
    **dict.fromkeys(["n0", "n1"], "BIGINT"),
    **dict.fromkeys(["s0", "s1", "s2"], "STRING"),
    "b": "BOOLEAN",
}
ATTRIBUTES = [("id", "BIGINT"), *TYPES.items(), ("ts", "TIMESTAMP")]
NAMES = [name for name, _ in ATTRIBUTES]
DECLARATION = (
    f"CREATE STREAM rows ({', '.join(f'{n} {t}' for n, t in ATTRIBUTES)}) OBJECT id TIME ts"
)
SPEC = reference.StreamSpec("id", "ts", ATTRIBUTES)
WORDS = ["", "a", "b", "ä", "🚕"]
Tree = tuple[Any, ...]

constants = {
    "DOUBLE": st.sampled_from([-1.5, -1.0, 0.0, 0.5, 1.0, 2.0]),
    "BIGINT": st.integers(-1, 2) | st.sampled_from([2**53 + 1]),
    "STRING": st.sampled_from(WORDS[:4]),
    "BOOLEAN": st.booleans(),
}
# Rows also have what no condition names, and no value at all.
values = {
    "DOUBLE": constants["DOUBLE"] | st.sampled_from([None, math.nan, math.inf, -math.inf]),
    "BIGINT": constants["BIGINT"] | st.none(),
    "STRING": st.sampled_from([*WORDS, None]),
    "BOOLEAN": st.booleans() | st.none(),
}
rows = st.fixed_dictionaries(
    {"id": st.integers(1, 4), **{name: values[kind] for name, kind in TYPES.items()}}
)


@st.composite
def atoms(draw: st.DrawFn, name: str) -> Tree:
    kind = TYPES[name]
    attribute = ("attr", name)
    one, other = (("const", draw(constants[kind])) for _ in range(2))
    if kind == "BOOLEAN":
        return ("cmp", "=", attribute, one)
    if kind == "STRING":
        several = draw(st.lists(constants[kind], min_size=1, max_size=3))
        return ("in", attribute, [("const", v) for v in several])
    form = draw(st.sampled_from(["<", ">=", "<=", ">", "=", "between", "in"]))
    if form == "between":
        return ("between", attribute, *sorted((one, other)))
    if form == "in":
        return ("in", attribute, [one, other])
    return ("cmp", form, attribute, one)


@st.composite
def conjunctions(draw: st.DrawFn) -> Tree:
    names = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=5, unique=True))
    parts = [draw(atoms(name)) for name in names]
    if draw(st.integers(0, 3)) == 0:
        parts.append(("cmp", "=", ("attr", "id"), ("const", draw(st.integers(1, 4)))))
    if draw(st.integers(0, 5)) == 0:
        parts.append(("cmp", "<", ("attr", "d0"), ("attr", "d1")))
    if draw(st.integers(0, 5)) == 0:
        parts.append(("not", ("isnull", ("attr", draw(st.sampled_from(sorted(TYPES)))))))
    return ("and", *parts)


conditions = st.lists(conjunctions(), min_size=1, max_size=2).map(
    lambda parts: ("or", *parts) if len(parts) > 1 else parts[0]
)


def table(data: list[dict[str, Any]]) -> pa.Table:
    return pa.table({n: pa.array([r.get(n) for r in data], ARROW[t]) for n, t in ATTRIBUTES})


def register(catalog: Catalog, queries: dict[str, Tree], emit: str) -> dict[str, Tree]:
    """Those that were accepted; what can never be true is refused."""
    taken = {}
    for name, where in queries.items():
        text = f"CREATE OR REPLACE QUERY {name} AS SELECT * FROM rows WHERE {condition_sql(where)}"
        try:
            catalog.execute(f"{text} EMIT {emit}")
        except QuerySyntaxError as error:
            assume("alternatives" not in error.problem)
            continue
        taken[name] = where
    return taken


def small(patch: pytest.MonkeyPatch, own: int) -> None:
    """As if a few boxes were many, and only so many sets of attributes had a part of their own."""
    for name in ("MANY", "MANY_BELOW_KEY", "MANY_WHOLE"):
        patch.setattr(limits, name, 1)
    patch.setattr(limits, "MAX_OWN", own)


# --- matches


@pytest.fixture(params=["as they are", "one part", "own parts"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "as they are":
        small(monkeypatch, 0 if request.param == "one part" else 16)


def pairs(matcher: PairMatcher, data: list[dict[str, Any]]) -> list[tuple[int, str]]:
    found = matcher.match(table(data))
    return sorted(zip(found.rows.tolist(), found.ids.to_pylist(), strict=True))


def true_pairs(queries: dict[str, Tree], data: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return sorted(
        (i, name)
        for name, where in queries.items()
        for i, row in enumerate(data)
        if reference.holds(where, row)
    )


@pytest.mark.usefixtures("parts")
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(conditions, min_size=1, max_size=12),
    st.lists(conditions, max_size=4),
    st.lists(rows, min_size=1, max_size=8),
)
def test_matches_equal_the_oracle(
    first: list[Tree], later: list[Tree], data: list[dict[str, Any]]
) -> None:
    catalog = Catalog.of(DECLARATION)
    held = register(catalog, {f"q{i}": where for i, where in enumerate(first)}, "MATCHES")
    matcher = PairMatcher(catalog, "rows")
    assert pairs(matcher, data) == true_pairs(held, data)
    for i, where in enumerate(later):
        if f"q{i}" in held and i % 2:
            catalog.drop(f"q{i}")
            del held[f"q{i}"]
        held.update(register(catalog, {f"new{i}": where}, "MATCHES"))
        matcher.advance(catalog.version)
        assert pairs(matcher, data) == true_pairs(held, data)
    assert pairs(PairMatcher(catalog, "rows"), data) == true_pairs(held, data)


def drawn(draw: random.Random, names: list[str]) -> Tree:
    """A box over these attributes; of a string or an integer one value."""
    parts: list[Tree] = []
    for name in names:
        if TYPES[name] == "DOUBLE":
            lo = draw.uniform(0, 90)
            parts.append(("between", ("attr", name), ("const", lo), ("const", lo + 10)))
        else:
            value = draw.choice(WORDS) if TYPES[name] == "STRING" else draw.randint(0, 3)
            parts.append(("cmp", "=", ("attr", name), ("const", value)))
    return ("and", *parts)


def drawn_rows(draw: random.Random, count: int, holes: float) -> list[dict[str, Any]]:
    made = []
    for i in range(count):
        row: dict[str, Any] = {"id": i, "b": None, "ts": i}
        for name, kind in TYPES.items():
            if kind == "DOUBLE":
                row[name] = draw.uniform(0, 100)
            elif kind != "BOOLEAN":
                row[name] = draw.choice(WORDS) if kind == "STRING" else draw.randint(0, 3)
            if kind == "DOUBLE" and draw.random() < holes:
                row[name] = draw.choice([None, math.nan, math.inf, -math.inf])
        made.append(row)
    return made


@pytest.mark.slow
def test_many_sets_of_attributes_are_few_parts() -> None:
    draw = random.Random(5)
    numeric = [n for n, kind in TYPES.items() if kind in ("DOUBLE", "BIGINT")]
    subsets = {tuple(sorted(draw.sample(numeric, draw.randint(1, 6)))) for _ in range(400)}
    subsets = set(sorted(subsets)[:200])
    assert len(subsets) > 100
    queries = {f"q{i}": drawn(draw, list(s)) for i, s in enumerate(sorted(subsets) * 3)}
    catalog = Catalog.of(DECLARATION)
    assert register(catalog, queries, "MATCHES") == queries
    base = prepare(catalog.queries(), catalog.stream("rows"))
    assert len(base.searches) == 1
    data = drawn_rows(draw, 200, 0.2)
    found = true_pairs(queries, data)
    assert len(found) > 100
    assert pairs(PairMatcher(catalog, "rows"), data) == found


def test_boxes_in_bulk_over_several_strings() -> None:
    draw = random.Random(6)
    n = 500
    words = {name: [draw.choice(WORDS) for _ in range(n)] for name in ("s0", "s1", "s2")}
    lo = [draw.uniform(0, 50) for _ in range(n)]
    catalog = Catalog.of(DECLARATION)
    bounds = {**words, "d3": (lo, [x + 30 for x in lo]), "n1": (0, 3)}
    catalog.register_boxes("rows", [f"q{i}" for i in range(n)], bounds, emit="matches")
    queries: dict[str, Tree] = {
        f"q{i}": (
            "and",
            *(("cmp", "=", ("attr", name), ("const", words[name][i])) for name in words),
            ("cmp", ">=", ("attr", "d3"), ("const", lo[i])),
            ("cmp", "<", ("attr", "d3"), ("const", lo[i] + 30)),
            ("between", ("attr", "n1"), ("const", 0), ("const", 2)),
        )
        for i in range(n)
    }
    data = drawn_rows(draw, 150, 0.1)
    assert pairs(PairMatcher(catalog, "rows"), data) == true_pairs(queries, data) != []


# --- changes


class Both:
    """A tracker and the oracle, side by side."""

    def __init__(self) -> None:
        self.catalog = Catalog.of(DECLARATION)
        self.tracker = wl.Tracker(self.catalog, "rows")
        self.ledger = reference.Ledger(SPEC)
        self.now = 0

    def register(self, queries: dict[str, Tree]) -> None:
        for name, where in register(self.catalog, queries, "CHANGES").items():
            used = {a.name for a in self.catalog.queries()[name].attributes()}
            numeric = {
                n for n in reference.attributes_in(where) if TYPES.get(n) in ("DOUBLE", "BIGINT")
            }
            assume(numeric <= used)
            drops = [name] if name in self.ledger.registered else []
            wanted = self.ledger.version(drops, [reference.QuerySpec(name, where)])
            self.compare(self.tracker.advance_to(self.tracker.version + 1), wanted)

    def drop(self, name: str) -> None:
        if name in self.ledger.registered:
            self.catalog.drop(name)
            self.compare(self.tracker.advance_to(self.catalog.version), self.ledger.drop(name))

    def process(self, data: list[dict[str, Any]]) -> int:
        for row in data:
            self.now += 1
            row["ts"] = self.now
        wanted = self.ledger.process(data)
        self.compare(self.tracker.process(table(data)), wanted)
        return len(wanted)

    def compare(self, found: pa.Table, wanted: list[reference.Change]) -> None:
        same(told(found), expected(wanted, NAMES))


@pytest.fixture(params=["as they are", "as borders", "as stabs", "as grids", "as one part"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "as they are":
        small(monkeypatch, 0 if request.param == "as one part" else 16)
        go(request.param, monkeypatch)


events = st.one_of(
    st.tuples(st.just("rows"), st.lists(rows, min_size=1, max_size=6)),
    st.tuples(st.just("rows"), st.lists(rows, min_size=1, max_size=6)),
    st.tuples(st.just("query"), st.sampled_from("abcd"), conditions),
    st.tuples(st.just("drop"), st.sampled_from("abcd")),
)


@pytest.mark.usefixtures("ways")
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(conditions, max_size=8), st.lists(events, min_size=1, max_size=8))
def test_changes_equal_the_oracle(first: list[Tree], script: list[Any]) -> None:
    both = Both()
    both.register({f"q{i}": where for i, where in enumerate(first)})
    both.tracker = wl.Tracker(both.catalog, "rows")
    for what, *given_ in script:
        if what == "rows":
            both.process([dict(row) for row in given_[0]])
        elif what == "query":
            both.register({given_[0]: given_[1]})
        else:
            both.drop(given_[0])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["as they are", "as borders", "as stabs", "as grids"])
@pytest.mark.parametrize("step", [0.1, 50.0])
def test_small_and_large_steps_over_many_boxes(
    way: str, step: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More boxes than are compared one by one: over one axis, two, three, and below a key one and
    a code."""
    if way != "as they are":
        go(way, monkeypatch)
    draw = random.Random(7)
    both = Both()
    count = limits.MANY_WHOLE + 20
    statements, specs = [], []
    for k, names in enumerate([["d0"], ["d1", "d2"], ["d3", "d4", "d5"], ["d0", "s1"]]):
        for i in range(count):
            where = drawn(draw, names)
            if "s1" in names:
                where = (*where, ("cmp", "=", ("attr", "s0"), ("const", "a")))
            text = f"CREATE QUERY q{k}_{i} AS SELECT * FROM rows WHERE {condition_sql(where)}"
            statements.append(f"{text} EMIT CHANGES")
            specs.append(reference.QuerySpec(f"q{k}_{i}", where))
    both.catalog.execute("; ".join(statements))
    both.compare(both.tracker.advance_to(2), both.ledger.version(adds=specs))
    both.tracker = wl.Tracker(both.catalog, "rows")
    prepared = next(iter(both.tracker._queries.shared._plan)).prepared
    runs = [r for part in prepared.transitions if part for r in part.long.values()]
    assert sorted(len(run.costs.part.axes) for run in runs) == [1, 2, 2, 3]
    data = drawn_rows(draw, 12, 0.0)
    changes = both.process(data)
    for _ in range(4):
        data = [
            {n: v + draw.uniform(-step, step) if n in DOUBLES else v for n, v in row.items()}
            for row in data
        ]
        for row in draw.sample(data, 4):
            row["s0"] = draw.choice([*WORDS, None])
        changes += both.process(data)
    assert changes > 50
    if way == "as stabs":
        assert all(run._index is not None for run in runs)
    if way == "as grids":
        assert all((run._grid is None) == (len(run.costs.part.axes) != 2) for run in runs)
    if way == "as borders":
        assert all(run._index is run._grid is None for run in runs)
