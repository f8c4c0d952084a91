"""Fixtures of the tests on Spark; tests/conftest.py has the session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.programs import InProcess, end_workers
from tests.support.streaming import Stream


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
    jvm = int(spark.sparkContext._gateway.proc.pid)
    return lambda: end_workers(jvm)
