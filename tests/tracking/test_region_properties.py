"""Queries over regions of any form, in scripts: the tracker and the matcher equal the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference
from tests.support.effort import examples
from tests.support.fences import POLYGONS, corners, fence_sql, fences, places, tree_of
from tests.support.scripts import Played, Row, data_rows, declaration, odd_doubles, simple, table
from tests.support.strategies import condition_sql, life_sql
from watchline.errors import QuerySyntaxError
from watchline.matching import limits

Where = tuple[Any, ...]
ALL = ("true",)


def among(name: str, *values: Any) -> Where:
    return ("in", ("attr", name), [("const", value) for value in values])


def atom(op: str, name: str, value: Any) -> Where:
    return ("cmp", op, ("attr", name), value)


# Nothing else, a key, the object, a set, a range, and what is left to check.
atoms = st.sampled_from([
    ALL, ALL, among("s", "a"), among("s", "a", "b"), atom("=", "id", ("const", 2)),
    among("b", True), atom(">", "n", ("const", 0)), atom(">=", "n", ("const", 2**53 + 1)),
    atom("<", "d", ("attr", "e")), ("isnull", ("attr", "s")), ("not", among("u", "a")),
]) | simple  # fmt: skip
wheres = st.one_of(
    atoms, atoms, st.tuples(st.just("and"), atoms, atoms), st.tuples(st.just("or"), atoms, atoms)
)
names = st.sampled_from("abcdefgh")
rows = data_rows([1, 2, 3], places | odd_doubles)
moves = st.lists(st.tuples(rows, st.integers(0, 3)), min_size=1, max_size=12)
lives = st.tuples(st.sampled_from([None, None, None, 4]), st.sampled_from([None, None, 8]))
event = st.one_of(
    st.tuples(st.just("rows"), moves),
    st.tuples(st.just("query"), names, wheres, fences, lives),
    st.tuples(st.just("query"), names, st.just(ALL), fences, st.just((None, None))),
    st.tuples(st.just("drop"), names),
)
scripts = st.lists(event, min_size=2, max_size=20)


class Fenced(Played):
    """A player whose queries have any regions."""

    def register(self, name: str, where: Any, region: Any, life: Any, knn: Any = None) -> None:
        text = f"CREATE OR REPLACE QUERY {name} AS SELECT * FROM rows WHERE {condition_sql(where)}"
        try:
            self.catalog.execute(f"{text} {fence_sql(region)}{life_sql(*life)} EMIT CHANGES")
        except QuerySyntaxError:
            return  # what can never be true is refused
        # What can be left out of a condition is not used by it.
        used = {a.name for a in self.catalog.queries()[name].attributes()}
        if not reference.attributes_in(where) <= used | {"s", "u", "b"}:
            reject()
        spec = reference.QuerySpec(name, where, tree_of(region), knn, *life)
        drops = [name] if name in self.ledger.registered else []
        self.follow(self.ledger.version(drops, [spec]))


@pytest.fixture(params=[False, True], ids=["few", "many"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few boxes are compared one by one; here they also have structures of their own."""
    if request.param:
        for name in (
            *("MANY", "MANY_JOINED", "MANY_BELOW_KEY", "MANY_WHOLE"),
            "MANY_REGIONS_BELOW_KEY",
        ):
            monkeypatch.setattr(limits, name, 0)


@pytest.mark.usefixtures("many")
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts, st.integers(0, 20), st.sampled_from([None, 3]))
def test_changes_equal_the_oracle(script: list[Any], restored: int, timeout: int | None) -> None:
    both = Fenced("BIGINT", timeout)
    for step, event in enumerate(script):
        if step == restored:
            both.through_bytes()
        both.play(*event)
    reference.replay(both.events)


def test_all_polygons_are_taken() -> None:
    both = Fenced("BIGINT", None)
    for i, parts in enumerate(POLYGONS):
        rings = [ring for part in parts for ring in part]
        both.register(f"p{i}", ALL, ("polygon", rings, parts), (None, None))
    assert len(both.catalog.queries()) == len(POLYGONS)


def expected(specs: dict[str, tuple[Where, Any]], data: list[Row]) -> list[tuple[int, str]]:
    return sorted(
        (i, name)
        for name, (where, fence) in specs.items()
        for i, row in enumerate(data)
        if reference.holds(where, row) and _inside(fence, row["d"], row["e"])
    )


def _inside(fence: Any, x: float | None, y: float | None) -> bool:
    return x is not None and y is not None and reference.inside(tree_of(fence), x, y)


def found(matcher: wl.Matcher, rows: pa.Table) -> list[tuple[int, str]]:
    out = matcher.match(rows.append_column("row", pa.array(range(rows.num_rows))))
    return sorted(zip(out["row"].to_pylist(), out["query_id"].to_pylist(), strict=True))


@pytest.mark.usefixtures("many")
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(names, wheres, fences, st.booleans()), max_size=24),
    st.lists(rows, min_size=1, max_size=12),
    st.integers(0, 24),
)
def test_matches_equal_the_oracle(
    commands: list[tuple[str, Where, Any, bool]], data: list[Row], built: int
) -> None:
    """The matcher is built somewhere in the middle, and follows version by version."""
    catalog = wl.Catalog.of(declaration("BIGINT", None))
    data = [{**row, "ts": 0} for row in data]
    batch, specs = table(data, "BIGINT"), dict[str, tuple[Where, Any]]()
    matcher = wl.Matcher(catalog, "rows")
    for step, (name, where, fence, drops) in enumerate(commands):
        if step == built:
            matcher = wl.Matcher(catalog, "rows")
        if drops and name in specs:
            catalog.drop(name)
            del specs[name]
        else:
            text = f"CREATE OR REPLACE QUERY {name} AS SELECT * FROM rows WHERE"
            try:
                catalog.execute(f"{text} {condition_sql(where)} {fence_sql(fence)} EMIT MATCHES")
            except QuerySyntaxError:
                continue
            specs[name] = (where, fence)
        matcher.advance_to(catalog.version)
        assert found(matcher, batch) == expected(specs, data)
    assert found(wl.Matcher(catalog, "rows"), batch) == expected(specs, data)


WHERES = [
    "TRUE", "s = 'a'", "n > 0", "s IN ('a', 'b') OR d > 1", "d < e", "d < 0.5",
    "INSIDE (-1, -1, 2, 2)", "NOT INSIDE CIRCLE (0, 0, 1)", "INSIDE CIRCLE (0.5, 0.5, 1)",
    "s = 'a' AND NOT INSIDE (0, 0, 1, 1) OR INSIDE CIRCLE (1, 1, 0.7) AND n > 0",
]  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_block_answers_as_its_queries_do(seed: int) -> None:
    """Distances, too: a circle is the centre of its query if that has no other region."""
    rng = np.random.default_rng(seed)
    centres = np.round(rng.uniform(-1, 1, (60, 2)), 1)
    centres[:10] = 0.5
    radius = rng.choice([0.5, 1.0], 60)
    shapes = [
        shapely.Point(c) if i % 3 else shapely.Point(c).buffer(r, quad_segs=2)
        for i, (c, r) in enumerate(zip(centres, radius, strict=True))
    ]
    radius = np.where(np.arange(60) % 3, radius, np.nan)
    ids, wheres = [f"q{i}" for i in range(60)], [WHERES[i] for i in rng.integers(0, 10, 60)]
    bulk = wl.Catalog.of(declaration("BIGINT", None))
    bulk.register_regions("rows", ids, shapes, wheres, radius=radius)
    single = wl.Catalog.of(declaration("BIGINT", None))
    for query in bulk.queries():
        single.execute(query.sql)
    trackers = [wl.Tracker(catalog, "rows") for catalog in (bulk, single)]
    count = 0
    for step in range(6):
        batch = table([
            {"id": i, "d": float(rng.choice(corners)), "e": rng.uniform(-2, 2),
             "n": int(rng.integers(2)), "s": str(rng.choice(["a", "b", "c"])), "ts": step}
            for i in range(40)
        ], "BIGINT")  # fmt: skip
        one, other = (told_rows(tracker.process(batch)) for tracker in trackers)
        assert one == other
        count += len(one)
        if step == 3:
            for catalog in (bulk, single):
                catalog.drop_many([f"q{i}" for i in range(0, 60, 7)])
            one, other = (
                told_rows(tracker.advance_to(catalog.version))
                for tracker, catalog in zip(trackers, (bulk, single), strict=True)
            )
            assert one == other
    assert count > 500


def told_rows(changes: pa.Table) -> list[tuple[Any, ...]]:
    """What changes say, distances included, in an order of their own."""
    columns = (changes[name].to_pylist() for name in ("query_id", "sign", "object_id", "distance"))
    return sorted(zip(*columns, strict=True), key=repr)
