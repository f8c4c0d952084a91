"""Jobs go on from the checkpoints that commit 6de3d4c wrote, as that commit went on itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.old_files import Row, continued, execute_later, in_order, put_later, unpack
from tests.support.programs import InProcess
from watchline.spark.sink import committed_files

pytestmark = pytest.mark.spark

SOURCES = {"cars": {"cars": "cars/in"}, "pairs": {"r": "pairs/r", "s": "pairs/s"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    unpack(tmp_path)
    return tmp_path


def sunk(folder: Path, job: str) -> list[str]:
    """What the sink holds, by Spark's own list of files."""
    rows: list[Row] = []
    for file in committed_files(str(folder / job / "out")):
        rows += [json.loads(line) for line in Path(file).read_text().splitlines()]
    return in_order(rows)


def go_on(jobs: InProcess, folder: Path, job: str) -> None:
    execute_later(folder)
    for stream, source in SOURCES[job].items():
        put_later(folder, stream, source)
    (folder / f"{job}.toml").rename(folder / "job.toml")
    done = jobs.finish(folder, "run")
    assert done.code == 0, done.stderr


@pytest.mark.parametrize("job", SOURCES)
def test_a_job_goes_on(job: str, folder: Path, jobs: InProcess) -> None:
    """The state of `cars` stands in Spark's own store, that of `pairs` in files."""
    assert sunk(folder, job) == in_order(continued()["begun"][job])
    go_on(jobs, folder, job)
    assert sunk(folder, job) == in_order(continued()["ended"][job])


def test_a_batch_that_was_cut_off_is_run_again(folder: Path, jobs: InProcess) -> None:
    """A kill before the last commit: the batch meets the catalog version that it met before."""
    (folder / "cars" / "checkpoint" / "commits" / "2").unlink()
    go_on(jobs, folder, "cars")
    assert sunk(folder, "cars") == in_order(continued()["ended"]["cars"])
