"""`watchline reshard`: a job goes on with another number of shards as if it had always had it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.spark.test_changes_run import FILES, JOB, KIND, ROWS, right, written
from tests.spark.test_changes_run import prepared as prepared_job
from tests.support.ledgers import fleet, same
from tests.support.programs import InProcess, end_workers

pytestmark = pytest.mark.spark

BATCH = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A job whose later files are not there yet."""
    prepared_job(tmp_path)
    (tmp_path / "later").mkdir()
    for path in sorted((tmp_path / "in").iterdir())[BATCH:]:
        path.rename(tmp_path / "later" / path.name)
    text = JOB.replace("shards = 2\n", "")
    text = text.replace("maxFilesPerTrigger = 2", f"maxFilesPerTrigger = {BATCH}")
    (tmp_path / "job.toml").write_text(text + '"spark.sql.shuffle.partitions" = 2\n')
    return tmp_path


def more(folder: Path, count: int) -> None:
    for path in sorted((folder / "later").iterdir())[:count]:
        os.rename(path, folder / "in" / path.name)


def test_a_job_goes_on_with_more_shards_and_with_one(folder: Path, jobs: InProcess) -> None:
    """Ranges, lives, time-outs, moving queries and neighbours. A batch that was not committed
    is refused."""
    assert jobs.finish(folder, "run").code == 0
    done = jobs.finish(folder, "reshard", "--shards", "3", "--json")
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout) == {"shards": 3, "before": 2}
    end_workers(jobs.jvm)
    more(folder, 3)
    done = jobs.finish(folder, "run", "--json")
    assert done.code == 0, done.stderr
    assert '"spark.sql.shuffle.partitions":"3"' in (folder / "checkpoint/offsets/1").read_text()
    commit = folder / "checkpoint" / "commits" / "1"
    commit.rename(folder / "commit")
    done = jobs.finish(folder, "reshard", "--shards", "1")
    assert done.code == 2
    assert "batch 1 of the checkpoint" in done.stderr
    (folder / "commit").rename(commit)
    done = jobs.finish(folder, "reshard", "--shards", "1")
    assert done.code == 0, done.stderr
    assert "has 1 shard now, not 3" in done.stdout
    more(folder, FILES)
    done = jobs.finish(folder, "run", "--json")
    assert done.code == 0, done.stderr
    same(written(folder), right(fleet(FILES * ROWS, KIND)))
    assert not (folder / "checkpoint" / "watchline-reshard").exists()
