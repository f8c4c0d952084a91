"""SQL -> model -> evaluation on rows gives what the oracle says, whatever the values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tests import reference
from tests.support.effort import examples
from tests.support.strategies import TYPES, condition_sql, conditions, rows, stream
from watchline import sql
from watchline.catalog import codec
from watchline.errors import QuerySyntaxError
from watchline.evaluate import holds
from watchline.model import Query
from watchline.rows.columns import Columns

STREAM = stream()
ARROW = {
    "DOUBLE": pa.float64(),
    "BIGINT": pa.int64(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}


def table(data: list[dict[str, Any]]) -> pa.Table:
    return pa.table({n: pa.array([r[n] for r in data], ARROW[k]) for n, k in TYPES.items()})


def bound(tree: tuple[Any, ...]) -> Query | None:
    """The query with this WHERE; None if it is refused as a contradiction."""
    text = f"CREATE QUERY q AS SELECT * FROM rows WHERE {condition_sql(tree)}"
    try:
        statement = sql.statement(text, [STREAM])
    except QuerySyntaxError as error:
        assume("alternatives" not in error.problem)
        assert error.problem.startswith("the condition can never be true"), error
        return None
    assert isinstance(statement, sql.CreateQuery)
    return statement.query


NULL_ROW: dict[str, Any] = dict.fromkeys(TYPES)


@settings(max_examples=examples(1_500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conditions(), st.lists(rows(), min_size=1, max_size=12))
@example(("not", ("cmp", "<", ("attr", "d"), ("const", 5.0))), [{**NULL_ROW, "d": float("-inf")}])
@example(("cmp", "=", ("attr", "n"), ("attr", "d")), [{**NULL_ROW, "n": 2**53 + 1, "d": 2.0**53}])
@example(("cmp", "<", ("attr", "n"), ("attr", "d")), [{**NULL_ROW, "n": 2**63 - 1, "d": 2.0**63}])
@example(("cmp", "=", ("attr", "d"), ("const", 0.0)), [{**NULL_ROW, "d": -0.0}])
def test_where_equals_the_oracle(tree: tuple[Any, ...], data: list[dict[str, Any]]) -> None:
    query = bound(tree)
    expected = [reference.holds(tree, row) for row in data]
    if query is None:
        assert not any(expected)
        return
    assert holds(query.where, Columns(table(data), STREAM)).tolist() == expected


@settings(max_examples=examples(800), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conditions())
def test_repr_and_json_lead_back_to_the_query(tree: tuple[Any, ...]) -> None:
    query = bound(tree)
    assume(query is not None)
    again = sql.statement(query.sql, [STREAM])
    assert isinstance(again, sql.CreateQuery)
    assert again.query == query
    assert codec.loads(codec.dumps(query)) == query
