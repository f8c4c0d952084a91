"""One version per micro-batch: the first to ask decides, everybody else and every replay reads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import TICKS
from watchline.catalog import Catalog
from watchline.spark import pin
from watchline.spark.pin import pinned_version


@pytest.fixture
def made(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path / "catalog")
    catalog.execute(TICKS)
    return catalog


def add(catalog: Catalog, name: str) -> int:
    version: int = catalog.execute(f"CREATE QUERY {name} AS SELECT * FROM ticks WHERE price < 3")
    return version


def test_a_batch_keeps_its_version(made: Catalog) -> None:
    uri = made.uri or ""
    # Spark runs no task for an empty batch: the first one that asks need not be batch 0.
    assert pinned_version(made, uri, "query", 3) == 1
    assert add(made, "a") == 2
    assert pinned_version(made, uri, "query", 3) == 1
    assert pinned_version(made, uri, "query", 4) == 2
    assert pinned_version(made, uri, "other", 3) == 2
    assert pinned_version(Catalog(uri), uri, "query", 3) == 1


def test_tasks_that_ask_at_once_agree(made: Catalog) -> None:
    uri = made.uri or ""

    def ask(i: int) -> int:
        catalog = Catalog(uri)
        if i % 2:
            add(catalog, f"q{i}")
        return pinned_version(catalog, uri, "query", 0)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1


def test_old_batches_are_forgotten(made: Catalog) -> None:
    uri = made.uri or ""
    for batch in range(pin.KEPT + 5):
        pinned_version(made, uri, "query", batch)
    assert len(list((Path(uri) / pin.FOLDER / "query").iterdir())) == pin.KEPT


def test_the_way_of_an_object_store(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    assert pin._read_delta(run, 0) is None
    pin._write_delta(run, 0, 7)
    pin._write_delta(run, 0, 9)
    assert pin._read_delta(run, 0) == 7
