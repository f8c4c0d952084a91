"""Importing the package is quick and starts nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import watchline as wl

CODE = """
import sys
import watchline as wl
heavy = {"pyspark", "pandas", "sqlglot", "deltalake", "shapely", "pyarrow"}
print(sorted(heavy & sys.modules.keys()))
wl.Catalog, wl.model, wl.sql
print("pyspark" in sys.modules, "shapely" in sys.modules)
"""


def test_import_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nFalse False\n"


def test_names() -> None:
    assert set(wl.__all__) <= set(dir(wl))
    for name in wl.__all__:
        assert getattr(wl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wl.nothing  # noqa: B018
    for error in ("QuerySyntaxError", "DuplicateQuery", "UnknownQuery", "InvalidRange"):
        assert issubclass(getattr(wl, error), wl.WatchlineError)
