"""One version and wall clock per micro-batch: the first to ask decides, all others read."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import TICKS
from watchline.catalog import Catalog
from watchline.spark import version_pin as pin
from watchline.spark.store import ObjectStore
from watchline.spark.version_pin import Pin, pinned, run_store


@pytest.fixture
def made(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path / "catalog")
    catalog.execute(TICKS)
    return catalog


def asked(catalog: Catalog, query_id: str, batch_id: int) -> Pin:
    return pinned(catalog, run_store(catalog, catalog.uri or "", query_id), batch_id)


def add(catalog: Catalog, name: str) -> int:
    version: int = catalog.execute(f"CREATE QUERY {name} AS SELECT * FROM ticks WHERE price < 3")
    return version


def test_a_batch_keeps_its_version(made: Catalog) -> None:
    uri = made.uri or ""
    # Spark runs no task for an empty batch: the first one that asks need not be batch 0.
    first = asked(made, "query", 3)
    assert first.version == 1
    assert first.now is not None
    assert abs(first.now - time.time_ns() // 1_000) < 60_000_000
    assert add(made, "a") == 2
    assert asked(made, "query", 3) == first
    assert asked(made, "query", 4).version == 2
    assert asked(made, "other", 3).version == 2
    assert asked(Catalog(uri), "query", 3) == first


def test_a_pin_of_an_older_version_has_no_clock(made: Catalog) -> None:
    uri = made.uri or ""
    run = Path(uri) / pin.FOLDER / "query"
    run.mkdir(parents=True)
    (run / "3").write_text("1", encoding="ascii")
    assert add(made, "a") == 2
    assert asked(made, "query", 3) == Pin(1, None)


def test_tasks_that_ask_at_once_agree(made: Catalog) -> None:
    uri = made.uri or ""

    def ask(i: int) -> Pin:
        catalog = Catalog(uri)
        if i % 2:
            add(catalog, f"q{i}")
        return asked(catalog, "query", 0)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1


def test_old_batches_are_forgotten(made: Catalog) -> None:
    uri = made.uri or ""
    for batch in range(pin.KEPT + 5):
        asked(made, "query", batch)
    assert len(list((Path(uri) / pin.FOLDER / "query").iterdir())) == pin.KEPT


def test_the_way_of_an_object_store(made: Catalog, tmp_path: Path) -> None:
    """Pins are Delta logs, as `pinned` finds and makes them there."""
    store = ObjectStore(f"file://{tmp_path}/run")
    made.folder = None
    first = pinned(made, store, 0)
    assert first.version == 1
    assert add(made, "a") == 2
    assert pinned(made, store, 0) == first
    assert pinned(made, store, 1).version == 2
    older = store.create_if_absent("2", lambda: b"7")
    assert older.is_new
    assert pinned(made, store, 2) == Pin(7, None)
