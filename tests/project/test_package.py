"""Importing the package is quick and starts nothing."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

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


def test_what_users_call_has_docstrings() -> None:
    public = {name: getattr(wl, name) for name in wl.__all__}
    called = {n: o for n, o in public.items() if inspect.isclass(o) or inspect.isfunction(o)}
    bare = [name for name, made in called.items() if not made.__doc__]
    for name, made in called.items():
        for method, found in vars(made).items() if inspect.isclass(made) else ():
            body = getattr(found, "fget", None) or getattr(found, "__func__", found)
            if not method.startswith("_") and callable(body) and not body.__doc__:
                bare.append(f"{name}.{method}")
    assert not bare


def test_tools_check_for_the_lowest_python() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    [lowest] = re.findall(r'^requires-python = ">=(3\.\d+)"$', project, re.MULTILINE)
    assert f'python_version = "{lowest}"\n' in project
    assert f'target-version = "py{lowest.replace(".", "")}"\n' in project


def test_names() -> None:
    assert set(wl.__all__) <= set(dir(wl))
    for name in wl.__all__:
        assert getattr(wl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wl.nothing  # noqa: B018
    for error in ("QuerySyntaxError", "DuplicateQuery", "UnknownQuery", "InvalidRange"):
        assert issubclass(getattr(wl, error), wl.WatchlineError)
