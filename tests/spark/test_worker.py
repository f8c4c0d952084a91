"""A worker's task without Spark: Arrow batches in, matches out."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tests.conftest import TICKS
from watchline.catalog import Catalog
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.matching import MatchTask

CHEAP = "CREATE QUERY cheap AS SELECT * FROM ticks WHERE price < 40"


def test_statements_mean_the_same_however_they_were_committed() -> None:
    """One script, or one by one with a detour: the worker counts versions of its own."""
    detour = CHEAP.replace("cheap", "gone")
    for texts in ([f"{TICKS}; {CHEAP}"], [TICKS, detour, "DROP QUERY gone", CHEAP]):
        catalog = Catalog.of(texts)
        task = MatchTask(CatalogRef.of(catalog), "ticks", ("price",), catalog.version)
        batch = pa.record_batch({"price": [39.0, 41.0]})
        # Rows without a query have the task's counters.
        out = pa.Table.from_batches(task(iter([batch]))).filter(pc.field("query_id").is_valid())
        found = out.select(["query_id", "price"]).to_pydict()
        assert found == {"query_id": ["cheap"], "price": [39.0]}
