"""How many bytes queries take: each array once, mapped or not, and no walk over old queries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import watchline as wl
from watchline.catalog import Catalog
from watchline.spark import share
from watchline.tracking import ChangeQueries
from watchline.tracking.retention import footprint
from watchline.tracking.retention.footprint import array_bytes

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)


def test_an_array_counts_once() -> None:
    array = np.zeros(1_000)
    assert array_bytes(array, [array], {"view": array[10:]}, pa.array(np.zeros(10))) == 8_080
    assert array_bytes((array, np.zeros(3)), without=(array,)) == 24


def test_mapped_arrays_count_as_those_in_memory(tmp_path: Path) -> None:
    """Workers map what one of them has built."""
    value = {"numpy": np.arange(1_000.0), "arrow": pa.array(np.arange(1_000.0))}
    share._write(tmp_path / "file", value)
    assert array_bytes(share._read(tmp_path / "file")) == array_bytes(value) == 16_000


def test_a_new_version_visits_what_it_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    circle = "CREATE QUERY c{0} AS SELECT * FROM cars INSIDE CIRCLE ({0}, 0, 1)".format
    catalog = Catalog.of([CARS, *map(circle, range(500))])
    watcher = ChangeQueries(catalog, "cars")
    before = watcher.nbytes
    visits, parts = [], footprint._parts
    monkeypatch.setattr(footprint, "_parts", lambda thing: visits.append(thing) or parts(thing))
    catalog.execute(circle(500))
    watcher.advance(catalog.version)
    assert watcher.nbytes > before
    assert 0 < len(visits) < 200


def test_who_ends_is_found_out_once() -> None:
    """Every batch asks, and must not pay for all queries."""
    catalog = Catalog.of([CARS, "CREATE QUERY a AS SELECT * FROM cars INSIDE (0, 0, 1, 1)"])
    tracker = wl.Tracker(catalog, "cars")
    made = next(iter(tracker._queries.shared._plan)).prepared.plan
    assert made.mortal is made.mortal
    assert made.mortal.tolist() == [False]
