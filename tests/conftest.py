"""Fixtures that several test modules share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import watchline as wl
from watchline.catalog import Catalog

TICKS = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, n BIGINT, halted BOOLEAN,"
    " ts TIMESTAMP) OBJECT symbol TIME ts"
)


# Of the tests that start Spark or whole programs, those that come first: the longest.
LONG = ("changes_kills", "commands", "joins_run", "test_run", "stopping", "bench")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `spark` first, the longest of them at the front: one process begins with them,
    the other with the rest, and each takes from the other at the end. So kernels are seldom
    compiled in both at once, and what is left for the end is short and starts no second JVM."""
    for item in items:
        if getattr(getattr(item, "function", None), "is_hypothesis_test", False):
            item.add_marker("generated")

    def rank(item: pytest.Item) -> int:
        if item.get_closest_marker("spark") is None:
            return len(LONG) + 1
        return next((i for i, part in enumerate(LONG) if part in item.nodeid), len(LONG))

    items.sort(key=rank)


@pytest.fixture(params=["memory", "delta"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """A catalog with one stream, at version 1."""
    made = Catalog.of() if request.param == "memory" else Catalog(tmp_path / "catalog")
    made.execute(TICKS)
    return made


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark session for all tests of a process."""
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    # What runs no Spark does not import it.
    from tests.support.programs import QUICK_JVM, home_without_archives
    from watchline.spark.sessions import _LOG

    java = f"{QUICK_JVM} -Dlog4j2.configurationFile=file:{_LOG}"
    settings = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": java}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_HOME", home_without_archives(tmp_path_factory.mktemp("spark")))
        made = wl.session("local[2]", **settings)
    yield made
    made.stop()
