"""The matching engine finds exactly the pairs that the oracle finds, at every version."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests import reference
from tests.support.effort import examples
from tests.support.strategies import (
    DECLARATION,
    condition_sql,
    conditions,
    region_sql,
    regions,
    rows,
)
from tests.test_conditions import table
from watchline.catalog import Catalog
from watchline.errors import QuerySyntaxError
from watchline.matching import Matcher, PairMatcher

Spec = tuple[tuple[Any, ...], "tuple[Any, ...] | None"]


def register(catalog: Catalog, name: str, spec: Spec) -> bool:
    """Whether the query was accepted; what can never be true is refused."""
    condition, region = spec
    text = f"CREATE OR REPLACE QUERY {name} AS SELECT * FROM rows WHERE {condition_sql(condition)}"
    try:
        catalog.execute(f"{text} {region_sql(region)} EMIT MATCHES")
    except QuerySyntaxError as error:
        assume("alternatives" not in error.problem)
        return False
    return True


def expected(specs: dict[str, Spec], data: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return sorted(
        (i, name)
        for name, (condition, region) in specs.items()
        for i, row in enumerate(data)
        if reference.holds(condition, row)
        and (region is None or _inside(region, row["d"], row["e"]))
    )


def _inside(region: tuple[Any, ...], x: float | None, y: float | None) -> bool:
    return x is not None and y is not None and reference.inside(region, x, y)


def found(matcher: PairMatcher, data: pa.Table) -> list[tuple[int, str]]:
    pairs = matcher.match(data)
    return sorted(zip(pairs.rows.tolist(), pairs.ids.to_pylist(), strict=True))


def found_by_users(matcher: Matcher, data: pa.Table) -> list[tuple[int, str]]:
    """The same from the public class, which gives rows and not their places."""
    places = pa.array(range(data.num_rows), pa.int64())
    rows = data.append_column("id", places).append_column("ts", places.cast(pa.timestamp("us")))
    out = matcher.match(rows)
    return sorted(zip(out["id"].to_pylist(), out["query_id"].to_pylist(), strict=True))


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.tuples(conditions(), regions)), max_size=10),
    st.lists(rows(), min_size=1, max_size=10),
    st.integers(0, 10),
)
def test_pairs_equal_the_oracle_at_every_version(
    commands: list[tuple[str, Spec]], data: list[dict[str, Any]], built: int
) -> None:
    """The matcher is built somewhere in the middle and then follows, version by version."""
    catalog = Catalog.of(DECLARATION)
    specs: dict[str, Spec] = {}
    arrow = table(data)
    matcher = PairMatcher(catalog, "rows")
    for step, (name, spec) in enumerate(commands):
        if step == built:
            matcher = PairMatcher(catalog, "rows")
        if name in specs and step % 3 == 0:
            catalog.drop(name)
            del specs[name]
        elif register(catalog, name, spec):
            specs[name] = spec
        matcher.advance(catalog.version)
        assert found(matcher, arrow) == expected(specs, data)
    assert len(matcher) == len(specs)
    assert found(PairMatcher(catalog, "rows"), arrow) == expected(specs, data)
    past = PairMatcher(catalog, "rows", version=1)
    assert found(past, arrow) == []
    assert found_by_users(Matcher(catalog, "rows"), arrow) == expected(specs, data)
