"""The papers' rivals are loaded when somebody asks for them, and not before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOXES = "[1.0, 4.0], [2.0, 9.0]"


def papers_loaded(script: str) -> list[str]:
    """The modules of papers/ folders that a process of its own has loaded after this script."""
    report = "import sys; print([name for name in sys.modules if '.papers' in name])"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\n{report}"],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    names: list[str] = eval(done.stdout)
    return names


@pytest.mark.parametrize(
    "script",
    [
        f"import watchline.index; watchline.index.build('cei', {BOXES})",
        f"import watchline.index; watchline.index.build('auto', {BOXES}).stab([1.5])",
        "from watchline.borders import BorderIndex; BorderIndex(1)",
        "import watchline.joining, watchline.tracking, watchline.matching",
    ],
)
def test_what_is_built_needs_no_paper(script: str) -> None:
    assert papers_loaded(script) == []


def test_a_rival_is_loaded_when_it_is_built() -> None:
    loaded = papers_loaded(f"import watchline.index; watchline.index.build('ibs', {BOXES})")
    assert "watchline.index.papers.ibs" in loaded
    assert "watchline.index.papers.islist" not in loaded
