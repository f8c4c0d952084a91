"""Compiled functions are kept until a source that they are made of changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import watchline
from watchline.kernels import sources
from watchline.proximity import tables
from watchline.tracking import ranges

PACKAGE = Path(watchline.__file__).parent
CALLED = """
from watchline.kernels.compiled import leaf
@leaf
def called(x: int) -> int:
    return x + 1
"""
CALLS = """
from watchline.kernels.called import called
from watchline.kernels.compiled import kernel
@kernel
def calls(x: int) -> int:
    return called(x)
"""
RUN = """
from watchline.kernels.calls import calls
print(calls(1), sum(calls.stats.cache_hits.values()))
"""


def test_what_is_called_from_another_file_counts() -> None:
    imported = str(PACKAGE / "kernels" / "earth.py")
    assert imported in sources._source(tables.__file__)[0]
    assert sources.digest_of(tables.__file__) != sources.digest_of(imported)


def test_of_packages_the_files_behind_them_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a package offers is imported from its `__init__`, and stands elsewhere."""
    texts = {str(path): path.read_text() for path in PACKAGE.rglob("*.py")}
    monkeypatch.setattr(sources, "_text", texts.__getitem__)
    monkeypatch.setattr(sources, "_source", sources._source.__wrapped__)
    digest = sources.digest_of.__wrapped__
    before = digest(ranges.__file__)
    texts[str(PACKAGE / "model" / "region.py")] += "\n"
    assert digest(ranges.__file__) == before, "nothing is compiled there"
    texts[str(PACKAGE / "borders" / "step.py")] += "\n"
    assert digest(ranges.__file__) != before


@pytest.mark.slow
def test_a_change_in_another_file_compiles_again(tmp_path: Path) -> None:
    copy = tmp_path / "watchline"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    called, calls = copy / "kernels" / "called.py", copy / "kernels" / "calls.py"
    called.write_text(CALLED)
    calls.write_text(CALLS)
    env = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", RUN], cwd=tmp_path, env=env | {"PYTHONPATH": str(tmp_path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.split()

    assert run() == ["2", "0"]
    assert run() == ["2", "1"]
    called.write_text(CALLED.replace("x + 1", "x + 2"))
    assert run() == ["3", "0"]
