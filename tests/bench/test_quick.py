"""Every benchmark runs to its end at a quick size, in a process of its own, as `make bench` has it.

Rivals of requirements-bench.lock may be missing here: they then are rows that say so, and the exit
code tells it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
# By module: its parts, and the libraries that it compares with.
MODULES = {
    "borders": ("By N", "By W", "By FL", "Small steps", "Several dimensions", "registrations"),
    "catalog": ("commit of ten queries", "boxes in one commit", "two processes"),
    "indexes": (
        "### A: ", "### B: ", "### C: ", "## Threads", "## The papers' claims", "## Memory",
        "## One by one", "## Self-tuning", "## Hot spots", "A: `cei`, self-tuned / cold copy",
    ),
    "joins": ("Figure 18", "Pieces", "different sizes", "equi-join on Spark", "by inequality"),
    "matches": ("100 bands", "bands by symbol", "A: 1,000 ranges", "broadcast range join /"),
    "moving": (
        "Squares that stay", "What moves or ranks", "on roads", "## Response", "How fine the grid",
        "## Shared, and each query alone", "WHERE or a join", "## On Spark", "crossings / grid",
    ),
    "shedding": (
        "## The cache", "## Sharing", "## Load and accuracy", "## Queries that are supported",
        "## Pauses", "## What the bookkeeping costs",
    ),
    "spatial": (
        "## Figure 15", "## Figure 16", "## Figure 17", "## Table 3", "## Threads", "## Databases",
        "## Shapes", "## Targets", "## On Spark", "ibs or counting, the faster / batch, 4 attr",
    ),
    "tracking": ("## On Spark", "wl.changes", "## From the commit of a query"),
}  # fmt: skip
RIVALS = {
    "indexes": ("geoindex_rs", "ncls", "rtree", "superintervals"),
    "spatial": ("duckdb", "polars"),
}
ON_SPARK = {"joins", "matches", "moving", "spatial", "tracking"}


def test_every_module_that_make_runs_is_here() -> None:
    listed = re.search(r"^BENCHMARKS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert listed is not None
    assert set(listed[1].split()) == set(MODULES)
    runnable = {path.parent.name for path in (ROOT / "bench").glob("*/__main__.py")}
    assert runnable == set(MODULES)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_quick(module: str, tmp_path: Path) -> None:
    if module in ON_SPARK and shutil.which("java") is None:
        pytest.skip("needs Java")
    command = [sys.executable, "-m", f"bench.{module}", "--quick", "--figures", str(tmp_path)]
    settings = os.environ | {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    done = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=900
    )
    missing = [name for name in RIVALS.get(module, ()) if find_spec(name) is None]
    if missing:
        assert "**not installed**" in done.stdout
        failures = done.stdout.partition("## Failed")[2].strip().splitlines()[2:]
        assert failures
        assert all(line.endswith("| not installed |") for line in failures), done.stdout
    assert done.returncode == (1 if missing else 0), done.stdout[-2_000:] + done.stderr[-4_000:]
    for words in MODULES[module]:
        assert words in done.stdout, (words, done.stdout)
