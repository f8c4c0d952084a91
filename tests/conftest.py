"""Fixtures that several test modules share."""

from __future__ import annotations

from pathlib import Path

import pytest

from watchline.catalog import Catalog

TICKS = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, n BIGINT, halted BOOLEAN,"
    " ts TIMESTAMP) OBJECT symbol TIME ts"
)


@pytest.fixture(params=["memory", "delta"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """A catalog with one stream, at version 1."""
    made = Catalog.of() if request.param == "memory" else Catalog(tmp_path / "catalog")
    made.execute(TICKS)
    return made
