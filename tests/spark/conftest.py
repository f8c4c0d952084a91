"""One Spark session for all tests of a worker process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import watchline as wl


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    made = wl.session("local[2]", **{"spark.driver.memory": "1g"})
    yield made
    made.stop()
