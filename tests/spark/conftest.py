"""One Spark session for all tests of a worker process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import watchline as wl
from tests.support.programs import InProcess, end_workers
from tests.support.streaming import Stream
from watchline.spark.sessions import _LOG


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


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


@pytest.fixture
def jobs(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """The command line in this process, on the session that is there."""
    return InProcess(spark, monkeypatch)


@pytest.fixture
def new_workers(spark: SparkSession) -> Callable[[], None]:
    """Ends all Python workers, which have to be idle: Spark forks others, that remember nothing."""
    jvm = spark.sparkContext._gateway.proc.pid
    return lambda: end_workers(jvm)
