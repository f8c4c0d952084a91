"""Every benchmark runs to its end at a quick size.

Two run as programs, as `make bench` has it: one with Spark and one without. The others run in the
process of the test, where Spark has started and kernels are loaded already. Rivals of
requirements-bench.lock may be missing here: they then are rows that say so, and the exit code tells
it.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numba
import pytest

from tests.support.programs import QUICK_JVM, Done

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
# By module: its parts, and the libraries that it compares with.
MODULES = {
    "borders": ("By N", "By W", "By FL", "Small steps", "Several dimensions", "registrations"),
    "catalog": ("commit of ten queries", "boxes in one commit", "from GeoJSON", "two processes"),
    "indexes": (
        "### A: ", "### B: ", "### C: ", "## Threads", "## The papers' claims", "## Memory",
        "## One by one", "## Self-tuning", "## Hot spots", "A: `cei`, self-tuned / cold copy",
    ),
    "joins": ("Figure 18", "Pieces", "different sizes", "equi-join on Spark", "by inequality"),
    "matches": ("100 bands", "bands by symbol", "A: 1,000 ranges", "broadcast range join /",
        "## Small calls"),
    "moving": (
        "Squares that stay", "What moves or ranks", "## On Earth and in a plane", "on roads",
        "## Response", "How fine the grid",
        "## Shared, and each query alone", "WHERE or a join", "## On Spark", "crossings / grid",
    ),
    "regions": (
        "## Stabs", "## Changes", "## Updates", "200 circles: STRtree + formula", "## On Spark",
        "Sedona, polygons", "polygons / boxes, 100", "## On Earth", "on Earth / in the plane",
    ),
    "shedding": (
        "## The cache", "## Sharing", "## Load and accuracy", "## Queries that are supported",
        "## Pauses", "## What the bookkeeping costs",
    ),
    "spatial": (
        "## Figure 15", "## Figure 16", "## Figure 17", "## Table 3", "## Threads", "## Databases",
        "## Shapes", "## Targets", "## On Spark", "ibs or counting, the faster / batch, 4 attr",
    ),
    "tracking": (
        "## On Spark", "wl.changes", "## From the commit of a query", "## Growth", "## Latency: ",
        "functions that do nothing", "## Latency by objects", "## From row to change", "Tile38",
        "## Work: ", "## Memory: ",
    ),
}  # fmt: skip
RIVALS = {
    "indexes": ("geoindex_rs", "ncls", "rtree", "superintervals"),
    "spatial": ("duckdb", "polars"),
}
ON_SPARK = {"joins", "matches", "moving", "regions", "spatial", "tracking"}
# `catalog` starts processes, which import the program that they are started from.
PROGRAMS = {"catalog", "matches"}


def test_every_module_that_make_runs_is_here() -> None:
    listed = re.search(r"^BENCHMARKS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert listed is not None
    assert set(listed[1].split()) == set(MODULES)
    runnable = {path.parent.name for path in (ROOT / "bench").glob("*/__main__.py")}
    assert runnable == set(MODULES)


@pytest.fixture
def threads() -> Iterator[None]:
    """Benchmarks set how many threads kernels have."""
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


def as_program(module: str, arguments: list[str]) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{module}", *arguments],
        cwd=ROOT, env=os.environ | {"JAVA_TOOL_OPTIONS": QUICK_JVM},
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def in_process(module: str, arguments: list[str], request: pytest.FixtureRequest) -> Done:
    """On the session that the tests of this process share, if the module needs one."""
    patch = request.getfixturevalue("monkeypatch")
    if module in ON_SPARK:
        shared = request.getfixturevalue("spark").newSession()
        shared.stop = lambda: None
        patch.setattr("watchline.spark.sessions.session", lambda *_, **__: shared)
    patch.chdir(ROOT)
    patch.setattr("sys.argv", [f"bench.{module}", *arguments])
    code = 0
    try:
        runpy.run_module(f"bench.{module}", run_name="__main__")
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        code = ended.code
    printed = request.getfixturevalue("capsys").readouterr()
    return Done(code, printed.out, printed.err)


@pytest.mark.slow
@pytest.mark.usefixtures("threads", "capsys")
@pytest.mark.parametrize("module", MODULES)
def test_quick(module: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if module in ON_SPARK and shutil.which("java") is None:
        pytest.skip("needs Java")
    arguments = ["--quick", "--figures", str(tmp_path)]
    if module in PROGRAMS:
        done = as_program(module, arguments)
    else:
        done = in_process(module, arguments, request)
    missing = [name for name in RIVALS.get(module, ()) if find_spec(name) is None]
    if missing:
        assert "**not installed**" in done.stdout
        failures = done.stdout.partition("## Failed")[2].strip().splitlines()[2:]
        assert failures
        assert all(line.endswith("| not installed |") for line in failures), done.stdout
    assert done.code == (1 if missing else 0), done.stdout[-2_000:] + done.stderr[-4_000:]
    for words in MODULES[module]:
        assert words in done.stdout, (words, done.stdout)
