"""Fixtures that several test modules share."""

from __future__ import annotations

import os
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


# The files of tests that start Spark or whole programs, the longest: seconds, of which only the
# order and the rough size matter.
LONG = {
    "bench/test_quick": 200, "spark/test_changes.py": 140, "spark/test_changes_kills": 110,
    "spark/test_moving": 110, "project/test_commands": 100, "spark/test_joins.py": 80,
    "spark/test_stopping": 70, "spark/test_counters": 60, "spark/test_joins_run": 55,
    "spark/test_retention": 50, "spark/test_run": 30, "spark/test_pipelines": 25,
}  # fmt: skip
OTHER = 12


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The order of tests for processes that begin with equal parts of the list, and take from each
    other at the end.

    Tests marked `spark` wait more than they compute. They stand at the front of every other part,
    whole files together and the longest first: so these processes have a JVM each, and the others
    none. What is left for the end is short.
    """
    for item in items:
        if getattr(getattr(item, "function", None), "is_hypothesis_test", False):
            item.add_marker("generated")

    files: dict[str, list[pytest.Item]] = {}
    rest = []
    for item in items:
        if item.get_closest_marker("spark") is None:
            rest.append(item)
        else:
            files.setdefault(item.nodeid.partition("::")[0], []).append(item)

    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    queues: list[list[pytest.Item]] = [[] for _ in range((processes + 1) // 2)]
    filled = [0] * len(queues)
    for seconds, name in sorted(((_seconds(name), name) for name in files), reverse=True):
        shortest = filled.index(min(filled))
        filled[shortest] += seconds
        queues[shortest] += files[name]

    size, ordered = len(items) // processes, []
    for queue in queues:
        fill = max(0, size - len(queue))
        ordered += queue + rest[:fill]
        rest = rest[fill:]
        fill = size if len(ordered) + size < len(items) else 0
        ordered += rest[:fill]
        rest = rest[fill:]
    items[:] = ordered + rest


def _seconds(name: str) -> int:
    return next((seconds for part, seconds in LONG.items() if part in name), OTHER)


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
