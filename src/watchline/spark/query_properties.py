"""The properties of queries as a column of a result, for the sink of a job.

They are looked up where the rows are, at the version that the batch goes by: so a batch that is run
again after a crash writes the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as st

from watchline.catalog import Catalog
from watchline.errors import InvalidQuery
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.worker import batch_version, properties_known

COLUMN = "properties"


def with_properties(result: DataFrame, catalog: Catalog) -> DataFrame:
    """The result with the column `properties`: JSON, NULL for queries that have none.

    A query that is dropped keeps the properties that it had last.
    """
    if COLUMN in result.columns:
        raise InvalidQuery(
            f"the result has a column {COLUMN!r} of its own, an attribute: leave"
            f" {COLUMN} = true out, or declare the attribute by another name"
        )
    version = None if result.isStreaming else catalog.version
    schema = st.StructType([*result.schema.fields, st.StructField(COLUMN, st.StringType())])
    return result.mapInArrow(PropertiesTask(CatalogRef.of(catalog), version), schema)


@dataclass(frozen=True)
class PropertiesTask:
    """The function that `mapInArrow` runs: rows with `query_id` in, the same with properties out.

    `version` is None for a stream, whose micro-batches each have their own.
    """

    ref: CatalogRef
    version: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known = None
        for batch in batches:
            if known is None:
                known = properties_known(self.ref, batch_version(self.ref, self.version))
            yield batch.append_column(COLUMN, known.of(batch.column("query_id")))
