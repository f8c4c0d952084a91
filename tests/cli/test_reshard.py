"""What `watchline reshard` refuses before Spark is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import finish
from watchline import checkpoint
from watchline.catalog import Catalog

JOB = """
catalog = "catalog"
stream = "cars"
emit = "changes"
checkpoint = "checkpoint"
[source]
format = "parquet"
path = "in"
[sink]
format = "parquet"
path = "out"
"""
JOIN = (
    JOB.replace('stream = "cars"\n', "")
    .replace('"changes"', '"joins"')
    .replace("[source]", "[sources.cars]")
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Catalog(tmp_path / "catalog").execute(
        "CREATE STREAM cars (id BIGINT, x DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    )
    (tmp_path / "in").mkdir()
    (tmp_path / "checkpoint" / "offsets").mkdir(parents=True)
    return tmp_path


REFUSED = [
    (JOB, "0", "0 is not in the range 1<=x<=4096"),
    (JOB, "4097", "4097 is not in the range"),
    (JOB, "2.5", "'2.5' is not a valid integer"),
    (JOB.replace('"changes"', '"matches"'), "3", "matches has no state, and so no shards"),
    (JOIN, "3", "the shards of a join have queries"),
    (JOB.replace('checkpoint = "checkpoint"', ""), "3", "'checkpoint' is missing"),
    (JOB.replace('"checkpoint"', '"s3://b/c"'), "3", "is behind a URL"),
    (JOB.replace('"checkpoint"', '"elsewhere"'), "3", "there is no checkpoint in"),
    (JOB.replace('"cars"', '"vans"'), "3", "vans"),
]


@pytest.mark.parametrize(("text", "shards", "message"), REFUSED, ids=[m[2][:20] for m in REFUSED])
def test_refused(folder: Path, text: str, shards: str, message: str) -> None:
    (folder / "job.toml").write_text(text)
    done = finish(folder, "reshard", "--shards", shards)
    assert done.code == 2, done.stderr
    assert message in done.stderr
    assert list((folder / "checkpoint").iterdir()) == [folder / "checkpoint" / "offsets"]


def test_a_running_job_is_refused(folder: Path) -> None:
    (folder / "job.toml").write_text(JOB)
    place = str(folder / "checkpoint")
    text = (
        f"from watchline import checkpoint; checkpoint.hold({place!r}); print('held', flush=True)"
        "; input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "held\n"
        done = finish(folder, "reshard", "--shards", "3")
        assert (done.code, "a job runs on it" in done.stderr) == (2, True), done.stderr
        running.communicate("\n")
    assert place not in checkpoint._held
