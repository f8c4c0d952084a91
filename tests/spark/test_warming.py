"""Kernels are compiled in other processes: once, to their end, and never at the cost of the job."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from watchline.catalog import Catalog
from watchline.errors import InvalidQuery, UnknownStream
from watchline.spark import warm_up, warming

TICKS = "CREATE STREAM ticks (symbol STRING, price DOUBLE, ts TIMESTAMP) OBJECT symbol TIME ts"
CHEAP = "CREATE QUERY cheap AS SELECT * FROM ticks WHERE price < 40 EMIT CHANGES"


@pytest.fixture
def stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it says that a job was rehearsed, instead of beside the machine code."""
    path = tmp_path / "cache" / "stamp"
    monkeypatch.setattr(warming, "_stamp", lambda *_: path)
    return path


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    made = Catalog(tmp_path / "catalog")
    made.execute(f"{TICKS}; {CHEAP}")
    return made


def said(started: warming.Warming) -> str:
    file = io.StringIO()
    started.wait(Console(file=file, width=200))
    return file.getvalue()


def test_a_job_is_rehearsed_once(catalog: Catalog, stamp: Path) -> None:
    first = warm_up(catalog, "ticks")
    assert not first.is_done
    assert "instead" not in said(first)
    assert stamp.exists()
    second = warm_up(catalog, "ticks")
    assert second.is_done
    assert said(second) == ""


@pytest.mark.slow
def test_what_is_compiled_is_told(
    catalog: Catalog, stamp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty folder for machine code: as on a machine where Watchline never ran."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    started = warm_up(catalog, "ticks")
    file = io.StringIO()
    started.wait(Console(file=file, width=200, force_terminal=True))
    assert "compiling kernels, the first time only: " in file.getvalue()
    assert f"compiled {started.compiled} kernels; waited " in file.getvalue()
    assert started.compiled > 0
    assert list((tmp_path / "numba").rglob("sharding._string_shards-*.nbi"))


def test_a_rehearsal_that_fails_is_told_and_costs_nothing(catalog: Catalog, stamp: Path) -> None:
    wrong = pa.table({"other": [1]})
    text = said(warm_up(catalog, "ticks", rows=wrong))
    assert "kernels compile in the first batch instead: " in text
    assert "ts" in text
    assert not stamp.exists()


def test_it_can_be_stopped(catalog: Catalog, stamp: Path) -> None:
    started = warm_up(catalog, "ticks")
    started.stop()
    assert started.is_done


def test_a_process_ends_with_its_parent(catalog: Catalog, stamp: Path) -> None:
    """Which is when the pipe is closed that it got its work through."""
    started = warm_up(catalog, "ticks")
    for process in started._processes:
        process._threads[0].join()
        process._process.stdin.close()  # type: ignore[union-attr]
    began = time.monotonic()
    while not started.is_done:
        assert time.monotonic() - began < 60
        time.sleep(0.05)


def test_mistakes_are_told_before_a_process_starts(catalog: Catalog) -> None:
    with pytest.raises(UnknownStream):
        warm_up(catalog, "tacks")
    with pytest.raises(InvalidQuery, match="emit must be one of"):
        warm_up(catalog, "ticks", emit="match")
    with pytest.raises(InvalidQuery, match="has one stream, not 2"):
        warm_up(catalog, ["ticks", "ticks"])
    with pytest.raises(InvalidQuery, match="max_objects"):
        warm_up(catalog, "ticks", max_objects="many")
    with pytest.raises(InvalidQuery, match="max_object"):
        warm_up(catalog, "ticks", max_object=3)
