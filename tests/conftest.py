"""Fixtures that several test modules share."""

from __future__ import annotations

from pathlib import Path

import pytest

from watchline.catalog import Catalog

TICKS = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, n BIGINT, halted BOOLEAN,"
    " ts TIMESTAMP) OBJECT symbol TIME ts"
)


# Those that start Spark or whole programs, the longest first.
LONG = ("changes_kills", "commands", "joins_run", "test_run", "stopping", "bench", "tests/spark")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first: one process begins with them, the other with the rest, and each takes from
    the other at the end. So kernels are seldom compiled in both at once."""
    for item in items:
        if getattr(getattr(item, "function", None), "is_hypothesis_test", False):
            item.add_marker("generated")

    def rank(item: pytest.Item) -> int:
        return next((i for i, part in enumerate(LONG) if part in item.nodeid), len(LONG))

    items.sort(key=rank)


@pytest.fixture(params=["memory", "delta"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """A catalog with one stream, at version 1."""
    made = Catalog.of() if request.param == "memory" else Catalog(tmp_path / "catalog")
    made.execute(TICKS)
    return made
