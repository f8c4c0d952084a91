"""CONTRIBUTING.md names what is there: paths, make targets, tools."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
KINDS = (
    *("a region kind", "a statement", "a sink", "an index", "a counter", "a reason"),
    *("a CLI command", "a Spark setting", "an error", "a benchmark"),
)
# Where a word in backquotes begins so, it is a path.
ROOTS = ("src/", "tests/", "bench/", "docs/", "examples/", "scripts/", ".pre-commit")
FILES = ("Makefile", "README.md", "CHANGELOG.md", "ARCHITECTURE.md", "pyproject.toml")


def paths(text: str) -> set[str]:
    quoted = re.findall(r"`([^`\s]+)`", text)
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    typed = re.findall(r"\b(?:tests|bench|src)/[\w/.-]+", text)
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    named = {word for word in quoted if word.startswith(ROOTS) or word in {*FILES, *folders}}
    return {path.rstrip(".") for path in named | set(linked) | set(typed)}


def rows() -> dict[str, list[str]]:
    """The table of changes: kind -> example, source, tests, docs."""
    table = PAGE.partition("## Where does my change go")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return {kind: rest for kind, *rest in cells[2:]}


def test_every_path_exists() -> None:
    named = paths(PAGE)
    assert len(named) > 50
    missing = sorted(path for path in named if not (ROOT / path).exists())
    assert not missing


def test_ten_kinds_of_change_have_their_paths() -> None:
    assert tuple(rows()) == KINDS
    for kind, (example, source, tests, docs) in rows().items():
        assert example, kind
        assert any(path.startswith(("src/", "bench/")) for path in paths(source)), kind
        assert any(path.startswith("tests/") for path in paths(tests)), kind
        assert paths(docs), kind


def test_every_target_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+(?:-[a-z]+)?)", PAGE))
    assert named <= targets
    assert named >= {"setup", "quick", "test", "soak", "test-spark", "check", "bench", "hooks"}


def test_every_module_that_is_typed_can_be_run() -> None:
    for module in re.findall(r"python -m ((?:bench|tests)[.\w]*\w)", PAGE):
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module


def test_the_hooks_run_what_make_check_runs() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    entries = re.findall(r"entry: \.venv/bin/(.+)", hooks)
    checks = re.findall(r'"\$bin/([\w-]+)"(.*)', (ROOT / "scripts" / "check").read_text())
    assert [(tool + words).removesuffix(" .") for tool, words in checks] == entries
    assert set(re.findall(r"repo: (\S+)", hooks)) == {"local"}
    assert set(re.findall(r"language: (\S+)", hooks)) == {"system"}


def test_the_tests_that_are_typed_exist() -> None:
    for path, test in re.findall(r"(tests/\S+\.py)::(\w+)", PAGE):
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")
