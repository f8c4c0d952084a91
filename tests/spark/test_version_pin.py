"""One version and wall clock per micro-batch: the first to ask decides, all others read."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import TICKS
from watchline.catalog import Catalog
from watchline.spark import pin
from watchline.spark.pin import Pin, pinned


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
    first = pinned(made, uri, "query", 3)
    assert first.version == 1
    assert first.now is not None
    assert abs(first.now - time.time_ns() // 1_000) < 60_000_000
    assert add(made, "a") == 2
    assert pinned(made, uri, "query", 3) == first
    assert pinned(made, uri, "query", 4).version == 2
    assert pinned(made, uri, "other", 3).version == 2
    assert pinned(Catalog(uri), uri, "query", 3) == first


def test_a_pin_of_an_older_version_has_no_clock(made: Catalog) -> None:
    uri = made.uri or ""
    run = Path(uri) / pin.FOLDER / "query"
    run.mkdir(parents=True)
    (run / "3").write_text("1", encoding="ascii")
    assert add(made, "a") == 2
    assert pinned(made, uri, "query", 3) == Pin(1, None)


def test_tasks_that_ask_at_once_agree(made: Catalog) -> None:
    uri = made.uri or ""

    def ask(i: int) -> Pin:
        catalog = Catalog(uri)
        if i % 2:
            add(catalog, f"q{i}")
        return pinned(catalog, uri, "query", 0)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1


def test_old_batches_are_forgotten(made: Catalog) -> None:
    uri = made.uri or ""
    for batch in range(pin.KEPT + 5):
        pinned(made, uri, "query", batch)
    assert len(list((Path(uri) / pin.FOLDER / "query").iterdir())) == pin.KEPT


def test_the_way_of_an_object_store(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    assert pin._read_delta(run, 0) is None
    pin._write_delta(run, 0, Pin(7, 1_000))
    pin._write_delta(run, 0, Pin(9, 2_000))
    assert pin._read_delta(run, 0) == Pin(7, 1_000)
    pin._write_delta(run, 1, Pin(7, None))
    assert pin._read_delta(run, 1) == Pin(7, None)
