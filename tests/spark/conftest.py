"""One Spark session for all tests of a worker process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import watchline as wl
from watchline.spark.settings import _LOG


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    # A JVM that starts soon matters more here than one that becomes fast.
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile=file:{_LOG}"
    settings = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": java}
    made = wl.session("local[2]", **settings)
    yield made
    made.stop()
