"""Where objects go: one shard for ever, on every machine; each shard has its own partition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from watchline.rows.sharding import shards_of
from watchline.spark.routing import shard_keys


@pytest.mark.spark
@pytest.mark.parametrize("shards", [1, 2, 3, 7, 64, 200])
def test_spark_deals_each_key_to_a_partition_of_its_own(spark: SparkSession, shards: int) -> None:
    keys = shard_keys(shards)
    assert len(set(keys)) == shards
    assert 0 in keys  # so that any two numbers of shards share a key
    df = spark.createDataFrame([(k,) for k in keys], "k int")
    places = df.select(fn.pmod(fn.hash("k"), fn.lit(shards)).alias("p")).collect()
    assert [row.p for row in places] == list(range(shards))


def test_a_shard_is_for_ever() -> None:
    """Changing these numbers would lose the state of every running job."""
    numbers = pa.array([0, 1, 2, -1, 2**63 - 1, -(2**63)])
    assert shards_of(numbers, 7).tolist() == [0, 5, 5, 1, 3, 2]
    names = pa.array(["", "a", "IBM", "ünï", "🚕"])
    assert shards_of(names, 7).tolist() == [2, 1, 4, 5, 1]


def test_a_slice_of_ids_is_dealt_as_the_whole() -> None:
    names = pa.array([f"car {i}" for i in range(1000)])
    whole = shards_of(names, 5)
    assert shards_of(names.slice(100, 50), 5).tolist() == whole[100:150].tolist()
    assert shards_of(names.slice(0, 0), 5).tolist() == []


@pytest.mark.parametrize(
    "ids", [pa.array(range(70_000)), pa.array([f"S{i}" for i in range(70_000)])]
)
def test_shards_are_about_equal(ids: pa.Array) -> None:
    sizes = np.bincount(shards_of(ids, 7), minlength=7)
    assert sizes.min() > 9_500
    assert sizes.max() < 10_500
