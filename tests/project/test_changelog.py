"""CHANGELOG.md: the release of the package is there, and says what was added, changed and fixed."""

from __future__ import annotations

import re
from pathlib import Path

import watchline as wl

PAGE = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")


def test_releases() -> None:
    headings = re.findall(r"^## (\S+)", PAGE, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert headings[1] == wl.__version__


def test_parts_of_a_release() -> None:
    for release in PAGE.split("\n## ")[2:]:
        parts = re.findall(r"^### (\w+)$", release, re.MULTILINE)
        assert parts == ["Added", "Changed", "Fixed"]


def test_a_line_stands_once() -> None:
    lines = re.findall(r"^- (.+)$", PAGE, re.MULTILINE)
    assert len(lines) == len(set(lines))
