"""`wl.matches` on Spark against the oracle itself, on adversarial conditions and values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import watchline as wl
from tests.properties.test_conditions import table
from tests.properties.test_matching import Spec, expected, region_sql, regions
from tests.strategies import DECLARATION, condition_sql, conditions, rows
from watchline.catalog import Catalog
from watchline.errors import QuerySyntaxError

pytestmark = pytest.mark.xdist_group("spark")


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(conditions(), regions), min_size=3, max_size=8),
    st.lists(rows(), min_size=5, max_size=25),
    st.integers(1, 3),
)
def test_pairs_equal_the_oracle(
    spark: SparkSession, specs: list[Spec], data: list[dict[str, Any]], partitions: int
) -> None:
    statements, accepted = [DECLARATION], {}
    for i, spec in enumerate(specs):
        text = (
            f"CREATE QUERY q{i} AS SELECT * FROM rows WHERE {condition_sql(spec[0])}"
            f" {region_sql(spec[1])} EMIT MATCHES"
        )
        try:
            Catalog.of([DECLARATION, text])
        except QuerySyntaxError:
            continue
        statements.append(text)
        accepted[f"q{i}"] = spec
    arrow = table(data).append_column("id", pa.array(range(len(data)), pa.int64()))
    arrow = arrow.append_column("ts", pa.array([0] * len(data), pa.timestamp("us", tz="UTC")))
    df = spark.createDataFrame(arrow).repartition(partitions)
    out = wl.matches(df, statements, "rows").select("id", "query_id").collect()
    assert sorted((row["id"], row["query_id"]) for row in out) == expected(accepted, data)
