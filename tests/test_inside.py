"""INSIDE as a condition: what it means, how it is kept, and that answers are exactly right.

The oracle is tests/reference_regions.py: brute force with rational numbers. All places are
quarters, and all regions such that no step of the fixed formulas rounds, so borders are compared.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference, reference_regions
from tests.support.effort import examples
from tests.support.ledgers import Asked, Twin, compared, fleet, within
from watchline import sql
from watchline.catalog import Catalog, codec
from watchline.errors import InvalidQuery, QuerySyntaxError
from watchline.evaluate import contains
from watchline.matching import plan_all
from watchline.model import (
    Attribute,
    Box,
    Circle,
    Conjunction,
    Corridor,
    Emit,
    InRange,
    Inside,
    IsNull,
    NotNull,
    Polygon,
    Query,
    Range,
    Source,
    Stream,
    Type,
    condition_sql,
    conjoin,
    conjunction,
)

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, n BIGINT, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y) MAX AHEAD UNLIMITED"
)
SQUARE, HOLE = [(-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0)], [(-2.0, -2.0), (2.0, -2.0)]
DIAMOND = [(0.0, 0.0), (2.0, 2.0), (0.0, 4.0), (-2.0, 2.0)]
LINE, DIAGONAL = [(-3.0, 1.0), (1.0, 1.0), (1.0, -1.0)], [(-2.0, -2.0), (2.0, 2.0)]
# The height of each slanted edge and the squared length of each segment is a power of two.
REGIONS: dict[str, tuple[Any, ...]] = {
    "INSIDE (0, -1, 2, 1)": ("box", 0.0, -1.0, 2.0, 1.0),
    "INSIDE (-4, 0.25, 4, 0.5)": ("box", -4.0, 0.25, 4.0, 0.5),
    "INSIDE CIRCLE (1, 0, 1.25)": ("circle", 1.0, 0.0, 1.25),
    "INSIDE CIRCLE (0, 0, 5)": ("circle", 0.0, 0.0, 5.0),
    "INSIDE POLYGON 'POLYGON ((-1 -2, 3 -2, 1 2, -1 -2))'": (
        "polygon",
        [[(-1.0, -2.0), (3.0, -2.0), (1.0, 2.0)]],
    ),
    "INSIDE POLYGON 'POLYGON ((-3 -3, 3 -3, 3 3, -3 3, -3 -3), (-2 -2, 2 -2, 0 2, -2 -2))'": (
        "polygon",
        [SQUARE, [*HOLE, (0.0, 2.0)]],
    ),
    "INSIDE POLYGON 'MULTIPOLYGON (((0 0, 2 2, 0 4, -2 2, 0 0)), ((0 0, -1 -2, 1 -2, 0 0)))'": (
        "polygon",
        [DIAMOND, [(0.0, 0.0), (-1.0, -2.0), (1.0, -2.0)]],
    ),
    "INSIDE CORRIDOR 'LINESTRING (-3 1, 1 1, 1 -1)' WITHIN 0.5": ("corridor", [LINE], 0.5),
    "INSIDE CORRIDOR 'MULTILINESTRING ((-2 -2, 2 2), (3 0, 3 0))' WITHIN 1.25": (
        "corridor",
        [DIAGONAL, [(3.0, 0.0), (3.0, 0.0)]],
        1.25,
    ),
}
NAMES = list(REGIONS)
QUARTERS = [i / 4 for i in range(-18, 19)]
ODD = [None, math.nan, math.inf, -math.inf]


def is_inside(name: str) -> tuple[Any, ...]:
    return within(REGIONS[name])


def condition_of(tree: tuple[Any, ...]) -> str:
    kind, *parts = tree
    if kind == "inside":
        return next(text for text, region in REGIONS.items() if region == parts[0])
    if kind == "cmp":
        return f"n {parts[0]} {parts[2][1]}"
    if kind == "isnull":
        return f"{parts[0][1]} IS NULL"
    if kind == "not":
        return f"NOT ({condition_of(parts[0])})"
    return f" {kind.upper()} ".join(f"({condition_of(part)})" for part in parts)


def rows_of(places: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    names = ("id", "x", "y", "n", "ts")
    return [dict(zip(names, place, strict=True)) for place in places]


def table(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {"id": pa.int64(), "n": pa.int64(), "ts": pa.timestamp("us")}
    return pa.table(
        {
            name: pa.array([row[name] for row in rows], kinds.get(name, pa.float64()))
            for name in ("id", "x", "y", "n", "ts")
        }
    )


@pytest.mark.parametrize("name", NAMES)
def test_each_region_and_its_opposite_are_exact(name: str) -> None:
    """Every quarter, borders and vertices included; and what has no place."""
    known = list(itertools.product(QUARTERS, QUARTERS))
    places = [*known, *itertools.product([0.0, *ODD], [0.0, *ODD])]
    data = rows_of([(i, x, y, 0, i) for i, (x, y) in enumerate(places)])
    for tree in (is_inside(name), ("not", is_inside(name))):
        text = f"CREATE QUERY q AS SELECT * FROM cars WHERE {condition_of(tree)} EMIT MATCHES"
        out = wl.Matcher([CARS, text], "cars").match(table(data))
        wanted = [row["id"] for row in data if reference_regions.truth(tree, row) is True]
        assert sorted(out["id"].to_pylist()) == wanted


def test_every_two_regions_together() -> None:
    """As conditions under AND, AND NOT and OR, and one of them as the clause."""
    places = itertools.product([*QUARTERS[::2], None], repeat=2)
    data = rows_of([(i, x, y, 0, i) for i, (x, y) in enumerate(places)])
    known = {
        name: [reference_regions.truth(is_inside(name), row) for row in data] for name in NAMES
    }
    queries, wanted = [], list[tuple[str, int]]()
    for (i, a), (k, b) in itertools.product(enumerate(NAMES), repeat=2):
        forms = {f"{a} AND {b}": "and", f"{a} {b}": "and", f"{a} OR {b}": "or"}
        if i != k:
            forms[f"{a} AND NOT {b}"] = "not"
        for text, how in forms.items():
            name = f"q{len(queries)}"
            queries.append(f"CREATE QUERY {name} AS SELECT * FROM cars WHERE {text} EMIT MATCHES")
            for row, one, other in zip(data, known[a], known[b], strict=True):
                second = reference.kleene_not(other) if how == "not" else other
                logic = reference.kleene_or if how == "or" else reference.kleene_and
                wanted += [(name, row["id"])] if logic([one, second]) else []
    out = wl.Matcher([CARS, *queries], "cars").match(table(data))
    found = zip(out["query_id"].to_pylist(), out["id"].to_pylist(), strict=True)
    assert sorted(found) == sorted(wanted)


# --- random conditions


leaves = st.sampled_from(NAMES).map(is_inside)
others = st.sampled_from(
    [
        compared("n", "<", 1),
        compared("n", ">=", 0),
        compared("n", "=", 1),
        ("isnull", ("attr", "x")),
        ("isnull", ("attr", "y")),
    ]
)
trees = st.recursive(
    st.one_of(leaves, leaves, leaves, others),
    lambda inner: st.one_of(
        inner.map(lambda part: ("not", part)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("and", *parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("or", *parts)),
    ),
    max_leaves=6,
)
quarters = st.sampled_from(QUARTERS)
odd_quarters = st.one_of(quarters, quarters, quarters, st.sampled_from(ODD))


def accepted(
    catalog: Catalog, name: str, tree: tuple[Any, ...], more: str = ""
) -> reference.QuerySpec | None:
    """The query as the oracle has it; None where no row can satisfy it.

    What asks for a place emits changes without saying so.
    """
    condition = condition_of(tree)
    if not more and "INSIDE" not in condition:
        more = "EMIT CHANGES"
    try:
        catalog.execute(f"CREATE QUERY {name} AS SELECT * FROM cars WHERE {condition} {more}")
    except QuerySyntaxError as error:
        assert error.problem.startswith("the condition can never be true"), error
        return None
    return reference.QuerySpec(name, tree)


@settings(max_examples=examples(400), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(trees, min_size=1, max_size=6),
    st.lists(st.tuples(odd_quarters, odd_quarters, st.sampled_from([None, 0, 1])), max_size=40),
)
def test_matches_are_those_of_the_exact_oracle(
    conditions: list[tuple[Any, ...]], places: list[tuple[Any, ...]]
) -> None:
    catalog = Catalog.of(CARS)
    data = rows_of([(i, x, y, n, i) for i, (x, y, n) in enumerate(places)])
    wanted = []
    for number, tree in enumerate(conditions):
        true = [row["id"] for row in data if reference_regions.truth(tree, row) is True]
        if accepted(catalog, f"q{number}", tree, "EMIT MATCHES") is None:
            assert not true
        wanted += [(each, f"q{number}") for each in true]
    out = wl.Matcher(catalog, "cars").match(table(data))
    pairs = zip(out["id"].to_pylist(), out["query_id"].to_pylist(), strict=True)
    assert sorted(pairs) == sorted(wanted)


def held(queries: list[reference.QuerySpec], row: dict[str, Any]) -> set[str]:
    return {q.id for q in queries if reference_regions.truth(q.where, row) is True}


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(trees, min_size=1, max_size=5),
    st.lists(
        st.tuples(st.integers(1, 4), odd_quarters, odd_quarters, st.integers(0, 1)), max_size=30
    ),
    st.integers(1, 7),
    st.integers(0, 30),
)
def test_changes_are_those_of_the_exact_oracle(
    conditions: list[tuple[Any, ...]],
    places: list[tuple[Any, ...]],
    size: int,
    late: int,
) -> None:
    """Rows in batches of a size, one query registered after some of them, and a restart."""
    catalog = Catalog.of(CARS)
    # This query uses the place, so rows without one are rejected whatever the others ask.
    queries = [accepted(catalog, "all", ("or", is_inside(NAMES[0]), ("not", is_inside(NAMES[0]))))]
    queries += [accepted(catalog, f"q{i}", tree) for i, tree in enumerate(conditions[1:])]
    live = [query for query in queries if query is not None]
    tracker = wl.Tracker(catalog, "cars")
    data = rows_of([(each, x, y, n, at) for at, (each, x, y, n) in enumerate(places)])
    latest: dict[int, dict[str, Any]] = {}
    wanted: list[tuple[Any, ...]] = []
    found: list[tuple[Any, ...]] = []
    rejected = 0
    for start in range(0, len(data) + 1, size):
        if start <= late < start + size:
            new = accepted(catalog, "late", conditions[0])
            if new is not None:
                wanted += [
                    ("late", 1, i, "registered") for i, r in latest.items() if held([new], r)
                ]
                live.append(new)
            found += changes(tracker.advance_to(catalog.version))
            tracker = wl.Tracker.restore(catalog, "cars", tracker.snapshot())
        for row in data[start : start + size]:
            if not (reference.is_finite(row["x"]) and reference.is_finite(row["y"])):
                rejected += 1
                continue
            before = held(live, latest[row["id"]]) if row["id"] in latest else set()
            latest[row["id"]] = row
            after = held(live, row)
            wanted += [(name, -1, row["id"], "exit") for name in before - after]
            wanted += [(name, 1, row["id"], "enter") for name in after - before]
        found += changes(tracker.process(table(data[start : start + size])))
    assert sorted(found) == sorted(wanted)
    assert tracker.stats()["rejected"] == rejected


def changes(out: pa.Table) -> list[tuple[Any, ...]]:
    columns = (out[name].to_pylist() for name in ("query_id", "sign", "object_id", "reason"))
    return list(zip(*columns, strict=True))


# --- beside what moves and ranks

RING = (
    "and",
    within(("circle", 50.0, 50.0, 40.0)),
    ("not", within(("box", 40.0, 40.0, 60.0, 60.0))),
)
RING_SQL = "WHERE INSIDE CIRCLE (50, 50, 40) AND NOT INSIDE (40, 40, 60, 60)"
FILTERED = [
    Asked("ring", RING_SQL, RING),
    Asked("clause", f"{RING_SQL} INSIDE (0, 0, 70, 70)", RING, ("box", 0.0, 0.0, 70.0, 70.0)),
    Asked("nearest", f"{RING_SQL} kNN (3, 50, 50)", RING, knn=("knn", 3, 50.0, 50.0)),
    Asked("near", f"{RING_SQL} kNN ('M', 3, 1)", RING, knn=("mknn", 3, 1)),
    Asked("convoy", f"{RING_SQL} INSIDE ('M', 2, 60, 60)", RING, ("mbox", 2, 60.0, 60.0)),
    Asked(
        "road",
        "INSIDE CORRIDOR 'LINESTRING (0 0, 100 50)' WITHIN 10 kNN (3, 20, 10)",
        region=("corridor", [[(0.0, 0.0), (100.0, 50.0)]], 10.0),
        knn=("knn", 3, 20.0, 10.0),
    ),
]


def test_regions_filter_what_moves_and_ranks() -> None:
    twin = Twin(queries=FILTERED)
    rows = fleet(1_500, seed=3)
    for start in range(0, len(rows), 250):
        twin.process(rows[start : start + 250])
    assert all(len(twin.ledger.answers[asked.id]) for asked in FILTERED)
    twin.drop("clause")


# --- the model

X, Y = Attribute("x", Type.DOUBLE), Attribute("y", Type.DOUBLE)
POINT = (X, Y)
BOX, ROUND = Inside(Box(0, 0, 1, 1), POINT), Inside(Circle(0, 0, 1), POINT)
OUT = Inside(Box(0, 0, 1, 1), POINT, True)


def test_a_region_twice_is_one_atom_in_any_order() -> None:
    both = conjunction([ROUND, BOX, ROUND, BOX])
    assert both == conjunction([BOX, ROUND]) == Conjunction((BOX, ROUND))
    assert conjoin(Conjunction((ROUND,)), Conjunction((BOX,))) == both
    # Also of one kind.
    other = Inside(Box(-1, 0, 1, 1), POINT)
    assert conjunction([BOX, other]) == conjunction([other, BOX]) == Conjunction((other, BOX))


def test_a_region_and_its_opposite_contradict_each_other() -> None:
    assert conjunction([BOX, ROUND, OUT]) is None
    assert conjunction([OUT, ROUND]) == Conjunction((OUT, ROUND))


def test_a_region_asks_for_both_coordinates() -> None:
    assert conjunction([OUT, NotNull(X), NotNull(Y)]) == Conjunction((OUT,))
    assert conjunction([OUT, IsNull(Y)]) is None
    some = InRange(X, Range(0, 1))
    assert conjunction([OUT, some]) == Conjunction((some, OUT))
    assert list(Conjunction((OUT,)).attributes()) == [X, Y]


def test_a_join_has_no_place() -> None:
    with pytest.raises(InvalidQuery, match="a join takes no INSIDE"):
        Query("q", (Source("r", "r"), Source("s", "s")), where=(Conjunction((BOX,)),))


def stream() -> Stream:
    statement = sql.statement(CARS)
    assert isinstance(statement, sql.CreateStream)
    return statement.stream


def query_of(where: str, emit: str = "") -> Query:
    statement = sql.statement(f"CREATE QUERY q AS SELECT * FROM cars {where} {emit}", [stream()])
    assert isinstance(statement, sql.CreateQuery)
    return statement.query


def test_what_is_emitted() -> None:
    assert query_of("WHERE n > 3 AND NOT INSIDE (0, 0, 1, 1)").emit is Emit.CHANGES
    assert query_of("WHERE n > 3 AND NOT INSIDE (0, 0, 1, 1)", "EMIT MATCHES").emit is Emit.MATCHES
    # Also where what is written turns out to decide nothing.
    vain = query_of("WHERE n > 3 OR INSIDE (0, 0, 1, 1) AND NOT INSIDE (0, 0, 1, 1)")
    assert (vain.emit, vain.has_predicates) == (Emit.CHANGES, False)


def test_a_big_region_is_shortened_for_people_and_whole_in_sql() -> None:
    turn = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    points = np.stack([np.cos(turn), np.sin(turn)], axis=1).tolist()
    ring = ", ".join(f"{x!r} {y!r}" for x, y in [*points, points[0]])
    query = query_of(
        f"WHERE NOT INSIDE POLYGON 'POLYGON (({ring}))' AND INSIDE CORRIDOR"
        f" 'LINESTRING ({ring})' WITHIN 0.5 OR n > 3"
    )
    [first, _] = query.where
    for text in (repr(query), repr(first), *map(repr, first.atoms)):
        assert "characters more" in text
        assert len(text) < 2_200
    assert "characters more" not in query.sql + condition_sql(query.where)
    assert query_of(query.sql.partition(" FROM cars ")[2]) == query
    assert codec.loads(codec.dumps(query)) == query
    [line, area] = first.atoms
    assert isinstance(line, Inside)
    assert isinstance(area, Inside)
    assert (type(line.region), type(area.region)) == (Corridor, Polygon)


def test_the_catalog_keeps_and_explains_it() -> None:
    ring = "INSIDE CIRCLE (5, 5, 1) AND NOT INSIDE (5, 5, 6, 6)"
    where = f"WHERE n > 3 AND (INSIDE (0, 0, 1, 1) OR {ring})"
    catalog = Catalog.of([CARS, f"CREATE QUERY q AS SELECT * FROM cars {where}"])
    text = catalog.explain("q")
    assert "reads       cars (n BIGINT, x DOUBLE, y DOUBLE)" in text
    assert "              n >= 4 AND INSIDE (0, 0, 1, 1)" in text
    assert "              n >= 4 AND NOT INSIDE (5, 5, 6, 6) AND INSIDE CIRCLE (5, 5, 1)" in text
    [checked] = [line for line in text.splitlines() if line.startswith("  then")]
    assert "NOT INSIDE (5, 5, 6, 6)" in checked
    assert "emits       changes" in text
    [shown] = catalog.execute("SHOW QUERIES")
    assert "INSIDE CIRCLE (5, 5, 1)" in shown.sql


# --- the plan


def plan_of(where: str) -> Any:
    return plan_all([query_of(where)], stream())


def test_a_box_is_all_of_its_sides() -> None:
    made = plan_of("WHERE INSIDE (0, 0, 1, 1) AND INSIDE (0, 0, 2, 0.5)")
    assert not made.residues
    [part] = made.parts
    assert (part.lo.tolist(), part.hi.tolist()) == ([[0], [0]], [[1], [0.5]])
    assert plan_of("WHERE INSIDE (0, 0, 1, 1) AND NOT INSIDE (0, 0, 2, 0.5)").residues


def test_what_is_not_inside_gives_no_sides_and_uses_the_place() -> None:
    made = plan_of("WHERE NOT INSIDE CIRCLE (0, 0, 1)")
    assert [part.axes for part in made.parts] == [()]
    assert made.uses[made.use[0]] == {"x", "y"}


def test_regions_that_are_apart_leave_no_box() -> None:
    assert len(plan_of("WHERE INSIDE (0, 0, 1, 1) AND INSIDE CIRCLE (5, 5, 1)").query) == 0


def test_the_box_around_a_corridor_holds_it() -> None:
    """Places at its reach all around its vertices, which rounding puts inside or outside."""
    reach, rng = 0.7, np.random.default_rng(1)
    line = rng.normal(0, 10, (5, 2))
    clause = f"INSIDE CORRIDOR '{line_text(line)}' WITHIN {reach}"
    turns = np.exp(1j * rng.random(20_000) * 2 * np.pi) * reach
    places = line[rng.integers(0, 5, 20_000)] + np.stack([turns.real, turns.imag], axis=1)
    inside = contains(Corridor.of([line], reach), places[:, 0], places[:, 1])
    assert 1_000 < inside.sum() < 19_000
    rows = {"id": np.arange(20_000), "x": places[:, 0], "y": places[:, 1]}
    rows |= {"n": np.zeros(20_000, np.int64), "ts": np.zeros(20_000, "datetime64[us]")}
    for where in (clause, f"WHERE {clause}"):
        query = f"CREATE QUERY q AS SELECT * FROM cars {where} EMIT MATCHES"
        out = wl.Matcher([CARS, query], "cars").match(pa.table(rows))
        assert sorted(out["id"].to_pylist()) == np.flatnonzero(inside).tolist()


def line_text(line: Any) -> str:
    return f"LINESTRING ({', '.join(f'{x!r} {y!r}' for x, y in line.tolist())})"
