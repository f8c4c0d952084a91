"""A catalog that commit 6de3d4c wrote is read, and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.old_files import continued, execute_later, unpack
from watchline.catalog import Catalog


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    unpack(tmp_path)
    return tmp_path


def texts(catalog: Catalog) -> dict[str, str]:
    return {query.id: str(query) for query in catalog.queries()}


def test_the_newest_version(folder: Path) -> None:
    catalog = Catalog(folder / "catalog", create=False)
    assert catalog.version == continued()["version"]
    assert sorted(stream.name for stream in catalog.streams()) == ["cars", "r", "s"]
    assert texts(catalog) == dict(continued()["queries"])


def test_an_older_version(folder: Path) -> None:
    catalog = Catalog(folder / "catalog", create=False)
    queries = catalog.queries(2)
    assert len(queries) == 19
    assert "fast" in queries
    assert "INSIDE (20, 20, 60, 70)" in str(queries["box"])


def test_new_commits(folder: Path) -> None:
    before = dict(continued()["queries"])
    catalog = execute_later(folder)
    assert catalog.version == continued()["version"] + 1
    again = Catalog(folder / "catalog", create=False)
    after = texts(again)
    assert after.keys() - before.keys() == {"late", "tagged"}
    assert before.keys() - after.keys() == {"zone", "twice"}
    changed = {name for name in after.keys() & before.keys() if after[name] != before[name]}
    assert changed == {"depot"}
    again.execute("DROP QUERY late")
    assert catalog.version == again.version
