"""What a new user types runs to its end: make targets, demos at their small size, README commands.

Each demo is started once, as its make target starts it. While it runs, the command that the README
gives for a second terminal is typed. In the end it has compared its answers with brute force.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from examples import city
from tests.support.programs import QUICK_JVM
from watchline.cli import cli

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
SECONDS = 1_800
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "JAVA_TOOL_OPTIONS": QUICK_JVM}
# What no command prints that ends well.
DEPTHS = re.compile(r"Traceback|\bERROR\b|\bWARN(?:ING)?\b|\w+Exception\b")
# Targets that no test of this file runs, and why.
ELSEWHERE = {
    "setup": "tests/project/test_setup.py runs scripts/setup",
    "test": "runs this test",
    "quick": "runs a part of the tests",
    "soak": "takes hours",
    "check": "lints the sources that a developer is changing",
    "format": "changes the sources",
    "bench": "the benchmarks have tests of their own, at a quick size",
    "lock": "needs uv and a package index",
    "test-spark": "installs other versions of Spark",
    "hooks": "changes what git does in this folder",
}
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


class Done(NamedTuple):
    """A command that has ended: its exit code, and what it printed on both streams."""

    code: int
    text: str


def well(done: Done) -> str:
    """What was printed, if the command ended well and nothing came from the depths."""
    assert done.code == 0, done.text
    assert not DEPTHS.search(done.text), done.text
    return done.text


def blocks(language: str) -> list[str]:
    """The fenced blocks of the README in this language; commands and outputs have none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [text for named, text in found if named == language]


# --- make


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def recipe(target: str, arguments: str = "") -> list[str]:
    """The commands of a target without its `setup`, for the Python that runs this test."""
    command = ["make", "--dry-run", "--no-print-directory", target, f"ARGS={arguments}"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line for line in shown.splitlines() if line != "scripts/setup"]
    return [line.replace(".venv/bin/python", sys.executable) for line in lines]


@contextmanager
def started(line: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A shell command in this folder, that finds the examples; none of it is left at the end."""
    process = subprocess.Popen(
        line, cwd=folder, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=os.environ | ENVIRONMENT, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run(line: str, folder: Path, meanwhile: dict[str, Callable[[], None]] | None = None) -> Done:
    """The command to its end; a function of `meanwhile` is called once its words are printed."""
    waiting, printed = dict(meanwhile or {}), list[str]()
    with started(line, folder) as process:
        assert process.stdout is not None
        watchdog = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        watchdog.start()
        for text in process.stdout:
            printed.append(text)
            for words in [words for words in waiting if words in text]:
                waiting.pop(words)()
        watchdog.cancel()
        done = Done(process.wait(), "".join(printed))
    assert not waiting, f"never printed: {list(waiting)}\n{done.text}"
    return done


@needs_make
def test_every_target_is_run_by_a_test_or_says_why_not() -> None:
    here = {"help", "clean", "tour", "demo", "burst", "alerts"}
    assert targets() <= here | set(ELSEWHERE)
    assert not here & set(ELSEWHERE)
    assert targets() >= here


@needs_make
def test_help_lists_every_target(tmp_path: Path) -> None:
    done = run(f"make --no-print-directory -C {shlex.quote(str(ROOT))} help", tmp_path)
    listed = re.findall(r"^  make ([a-z-]+) +\S", well(done), re.MULTILINE)
    assert set(listed) == targets()


@needs_make
def test_clean_removes_what_make_has_made(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for made in (".venv/bin", ".pytest_cache", "build", "src/watchline.egg-info", "src/watchline"):
        (tmp_path / made).mkdir(parents=True)
    well(run("make clean", tmp_path))
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["Makefile", "src", "src/watchline"]


# --- demos


def readme_command(words: str) -> list[str]:
    """The arguments of the README's `watchline` command that has these words."""
    [text] = [block for block in blocks("") if "demo-run/catalog" in block and words in block]
    program, *arguments = shlex.split(text.replace("\\\n", " "))
    assert program == ".venv/bin/watchline"
    return arguments


class SecondTerminal:
    """Types the README's command for a demo into the folder in which the demo runs."""

    def __init__(self, folder: Path, words: str):
        self._folder, self._arguments = folder, readme_command(words)

    def type(self) -> None:
        at = self._arguments.index("--catalog") + 1
        arguments = [*self._arguments]
        arguments[at] = str(self._folder / arguments[at])
        # In this process: the demo's small size may be over before another one has started.
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, done.output
        assert done.output.startswith("registered mine (version ")


def demo(target: str, folder: Path, query: str, when: str, more: str = "") -> str:
    """What a demo prints; its query of a second terminal comes when these words are printed."""
    [line] = recipe(target, f"--small {more}")
    terminal = SecondTerminal(folder, query)
    text = well(run(line, folder, {when: terminal.type}))
    assert not (folder / "demo-run").exists()
    return text


def figures(pattern: str, text: str) -> list[float]:
    """The numbers in these words, which a narrow terminal may have broken anywhere."""
    found = re.search(pattern.replace(" ", r"\s+").replace("#", r"([\d,.]+)"), text)
    assert found, text
    return [float(number.replace(",", "")) for number in found.groups()]


def write_roads(folder: Path) -> None:
    """The demo's own town as files."""
    town = city.read_network(None)
    nodes = {"node_id": np.arange(len(town.x)), "x": town.x, "y": town.y}
    pq.write_table(pa.table(nodes), folder / "nodes.parquet")
    edges = {"src": town.src, "dst": town.dst}
    pq.write_table(pa.table(edges), folder / "edges.parquet")


@needs_make
def test_the_city_on_roads_from_files(tmp_path: Path) -> None:
    option = "--network nodes.parquet edges.parquet"
    assert f".venv/bin/python -m examples.city {option}" in README
    write_roads(tmp_path)
    text = demo("demo", tmp_path, "INSIDE CIRCLE ('M', 2540", "second terminal", option)
    changes, vehicles, queries, members = figures(
        r"# changes, replayed, give the answers of brute force over # vehicles:"
        r" all # queries agree \(# in answers\)",
        text,
    )
    assert changes > members > 50
    assert vehicles >= 350
    assert queries > 150
    assert re.search(r"registered: district\d+", text)
    assert " late " in text
    for left in ("demo.png", "demo.gif"):
        assert (tmp_path / left).stat().st_size > 10_000


@needs_make
def test_the_burst(tmp_path: Path) -> None:
    text = demo("burst", tmp_path, "ACCURACY 0.8", "there is room for all again")
    wanted, kept, least, _, last = figures(
        "# objects would have been kept, and # were; accuracy fell to # % in tick # and came back"
        " to # %",
        text,
    )
    assert wanted > 400 >= kept
    assert least < 100 == last
    # Until the query of the second terminal comes, when the crowd is home.
    [compared] = figures("in # batches the accuracy that is stated is the one", text)
    assert compared > 8
    assert (tmp_path / "burst.png").stat().st_size > 10_000


@needs_make
def test_the_alerts(tmp_path: Path) -> None:
    text = demo("alerts", tmp_path, "symbol = 'S7'", "second terminal")
    changes, alerts, on = figures(
        r"# changes, replayed, give the answers of brute force: all # alerts agree \(# are on\)",
        text,
    )
    assert changes > on > 0
    # Ten of each symbol; two were added, one was dropped.
    assert alerts == 1_001
    assert (tmp_path / "alerts.png").stat().st_size > 10_000


@needs_make
def test_the_tour(tmp_path: Path) -> None:
    [line] = recipe("tour")
    text = well(run(line, tmp_path))
    assert "did you mean 'price'?" in text
    assert "reads all 1,000,004" in text
    assert re.search(r"ACME\s+950\.0\s+1000\.0\s+odd", text)
    assert "version 3: 1,000,003 queries" in text


# --- the command line


def typed() -> list[tuple[str, list[str]]]:
    """The lines after `$` of the README's section on the command line, and what each prints."""
    [block] = [block for block in blocks("") if block.startswith("$ export ")]
    lines: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            lines.append((line[2:], []))
        else:
            lines[-1][1].append(line)
    return lines


def catalog_of_the_readme(folder: Path) -> None:
    """`my-catalog`, by the Python block of the README that creates it."""
    [block] = [block for block in blocks("python") if 'wl.Catalog("my-catalog")' in block]
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("1 1\n")


def test_the_command_line_of_the_readme(tmp_path: Path) -> None:
    """All lines in one shell, each followed by a mark that tells its output from the next one's."""
    catalog_of_the_readme(tmp_path)
    program = shlex.quote(f"{Path(sys.executable).parent}/watchline")
    lines = typed()
    script = "set -e\n" + "echo ---\n".join(
        line.replace(".venv/bin/watchline", program) + "\n" for line, _ in lines
    )
    printed = well(run(script, tmp_path)).split("---\n")
    assert len(printed) == len(lines) > 4
    for (line, wanted), text in zip(lines, printed, strict=True):
        assert not wanted or text.splitlines() == wanted, line
    commands = [line.partition("watchline ")[2] for line, _ in lines]
    by_command = dict(zip(commands, printed, strict=True))
    assert "cheap" in by_command["query list"]
    assert "dear" in by_command["query list"]
    assert "dear" in by_command["query explain dear"]
    assert "dear" not in by_command["query list --json"]


def test_the_mistake_of_the_readme(tmp_path: Path) -> None:
    catalog_of_the_readme(tmp_path)
    [shown] = [block for block in blocks("") if block.startswith("error: ")]
    query = shown.splitlines()[2].strip()
    name, text = re.fullmatch(r"CREATE QUERY (\w+) AS (.*)", query).groups()  # type: ignore[union-attr]
    command = ["--catalog", str(tmp_path / "my-catalog"), "query", "add", name, text]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 2
    assert done.output == shown


def test_every_shell_command_of_the_readme_is_run() -> None:
    """A block without a language is a command of `make`, of a demo, typed here, or an output."""
    for block in blocks(""):
        first = block.splitlines()[0]
        if first.startswith("make "):
            named = set(re.findall(r"^make (\w+)", block, re.MULTILINE))
            assert named <= targets()
        elif "demo-run/catalog" not in block:
            assert first.startswith(("$ export ", "error: ", "+---"))
    assert sum("demo-run/catalog" in block for block in blocks("")) == 3
    for named in re.findall(r"`make (\w+)`", README):
        assert named in targets()
