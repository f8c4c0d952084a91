"""`watchline run` and `watchline replay`: files in, files out, kills, mistakes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.spark.test_matches import QUERIES, TICKS, pairs_in_process, ticks
from tests.support.kills import kill_in_process
from tests.support.programs import InProcess, finish, program, wait_for
from watchline.catalog import Catalog
from watchline.config import load
from watchline.errors import InvalidState, SchemaMismatch
from watchline.spark import job as spark_job
from watchline.spark.sink import committed_files

pytestmark = pytest.mark.spark

JOB = """
catalog = "catalog"
stream = "ticks"
checkpoint = "checkpoint"
trigger = "available now"
[source]
format = "parquet"
path = "in"
options = { maxFilesPerTrigger = 1 }
[sink]
format = "parquet"
path = "out"
[spark]
"spark.master" = "local[1]"
"spark.driver.memory" = "512m"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A catalog, a job file, and ten files of fifty rows."""
    Catalog(tmp_path / "catalog").execute("; ".join([TICKS, *QUERIES]))
    (tmp_path / "in").mkdir()
    rows = ticks(500)
    for i in range(10):
        pq.write_table(rows.slice(50 * i, 50), tmp_path / "in" / f"{i:02}.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def written(folder: Path) -> list[Any]:
    """What the sink holds, by Spark's own list of committed files."""
    files = committed_files(str(folder / "out"))
    return as_pairs(pa.concat_tables([pq.read_table(file) for file in files]))


def as_pairs(table: pa.Table) -> list[Any]:
    times = table["ts"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    return sorted(zip(times, table["query_id"].to_pylist(), strict=True))


def test_run_and_replay(folder: Path, jobs: InProcess) -> None:
    expected = pairs_in_process(Catalog(folder / "catalog"), ticks(500))
    done = jobs.finish(folder, "run")
    assert done.code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 10
    assert lines[0].split()[2:4] == ["50", "rows"]
    assert f"500 rows, {len(expected)} matches, 10 batches" in done.stderr
    assert "warning: 1 query is not answered by wl.matches: 'quiet' (EMIT CHANGES:" in done.stderr
    assert "Warning" not in done.stderr
    assert lines[0].endswith("  1 unanswered")
    assert written(folder) == expected
    text = JOB.replace('"out"', '"again"').replace("{ maxFilesPerTrigger = 1 }", "{}")
    (folder / "job.toml").write_text(text)
    done = jobs.finish(folder, "replay", "--json")
    assert done.code == 0, done.stderr
    counts = json.loads(done.stdout)
    assert (counts["matches"], counts["rows"], counts["unanswered"]) == (len(expected), 500, 1)
    assert as_pairs(ds.dataset(folder / "again", format="parquet").to_table()) == expected


def test_killed_and_restarted(folder: Path, jobs: InProcess) -> None:
    """SIGKILL at random moments, again and again: the sink is what an undisturbed run writes."""
    expected = pairs_in_process(Catalog(folder / "catalog"), ticks(500))
    draw = random.Random(5)
    (folder / "job.toml").write_text(JOB.replace('trigger = "available now"\n', ""))
    assert kill_in_process(folder, "commit", draw.uniform(0, 1.0), jobs)
    with program(folder) as running:
        # The first batch of this run is done.
        assert running.wait_for(lambda: "batch " in running.printed)
        time.sleep(draw.uniform(0, 1.0))
    (folder / "job.toml").write_text(JOB)
    assert jobs.finish(folder, "run").code == 0
    assert written(folder) == expected


def test_interrupt_stops_cleanly_and_the_catalog_is_followed(folder: Path, jobs: InProcess) -> None:
    text = JOB.replace('trigger = "available now"\n', "").replace("maxFilesPerTrigger = 1", "")
    (folder / "job.toml").write_text(text)
    commits = folder / "checkpoint" / "commits"

    def register_and_add_rows() -> None:
        wait_for((commits / "0").exists)
        env = {"WATCHLINE_CATALOG": str(folder / "catalog")}
        add = ["query", "add", "all", "SELECT * FROM ticks WHERE n > 0"]
        command = [sys.executable, "-m", "watchline", *add]
        subprocess.run(command, env={**os.environ, **env}, check=True, capture_output=True)
        pq.write_table(ticks(20, seed=9), folder / "in" / "new.parquet")
        wait_for(lambda: len(written(folder)) > before)

    before = len(pairs_in_process(Catalog(folder / "catalog"), ticks(500)))
    done = jobs.interrupted(folder, register_and_add_rows)
    assert done.code == 0
    assert "500 rows" in done.stdout.splitlines()[0]
    assert "20 rows" in done.stdout.splitlines()[1]
    assert "stopped: 520 rows" in done.stderr
    found = written(folder)
    assert sum(name == "all" for _, name in found) == 20


def test_other_formats_and_another_catalog(folder: Path, jobs: InProcess) -> None:
    """Rows from JSON to the console; then the same checkpoint with another catalog."""
    lines = [
        '{"symbol": "S1", "price": 5.0, "volume": null, "n": 3, "ts": "2026-03-01T12:00:00Z"}',
        '{"symbol": "S2", "price": 50.0, "volume": 60.0, "n": 3, "ts": "2026-03-01T12:00:01Z"}',
    ]
    (folder / "in").rename(folder / "old")
    (folder / "in").mkdir()
    (folder / "in" / "a.json").write_text("\n".join(lines))
    text = JOB.replace('format = "parquet"', 'format = "json"', 1)
    text = text.replace('format = "parquet"\npath = "out"', 'format = "console"')
    (folder / "job.toml").write_text(text)
    done = jobs.finish(folder, "run", "--json")
    assert done.code == 0, done.stderr
    assert '"rows": 2, "matches": 2' in done.stdout
    Catalog(folder / "other").execute("; ".join([TICKS, *QUERIES]))
    (folder / "job.toml").write_text(text.replace('catalog = "catalog"', 'catalog = "other"'))
    (folder / "in" / "b.json").write_text(lines[0])
    done = jobs.finish(folder, "run")
    assert done.code == 2
    assert "belongs to another catalog" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_source_without_the_declared_columns_is_refused(
    folder: Path, spark: SparkSession
) -> None:
    """Before the checkpoint is made; Kafka's `value` fares alike, as long as nothing decodes it."""
    source = '[source]\nformat = "rate"\n[sink]'
    text = JOB[: JOB.index("[source]")] + source + JOB.partition("[sink]")[2]
    (folder / "job.toml").write_text(text)
    with pytest.raises(SchemaMismatch, match=r"column 'symbol' \(STRING\) is missing; there is"):
        spark_job.start(spark, load(str(folder / "job.toml")))
    assert not (folder / "checkpoint").exists()
    assert not (folder / "out").exists()


def test_a_used_sink_with_a_new_checkpoint(folder: Path, jobs: InProcess) -> None:
    """Spark would call its first batches written, and drop them."""
    text = JOB.replace("maxFilesPerTrigger = 1", "")
    (folder / "job.toml").write_text(text)
    assert jobs.finish(folder, "run").code == 0
    before = written(folder)
    (folder / "job.toml").write_text(text.replace('"checkpoint"', '"new"'))
    done = jobs.finish(folder, "run")
    assert done.code == 2
    assert "has batch 0 of another run, and the checkpoint" in done.stderr
    assert not (folder / "new").exists()
    assert written(folder) == before


def test_a_used_sink_behind_a_url(folder: Path, jobs: InProcess, spark: SparkSession) -> None:
    """What only Hadoop can list is compared when Spark has started, before a checkpoint is made."""
    text = JOB.replace("maxFilesPerTrigger = 1", "")
    (folder / "job.toml").write_text(text)
    assert jobs.finish(folder, "run").code == 0
    job = replace(load(str(folder / "job.toml")), checkpoint=f"file://{folder}/new")
    with pytest.raises(InvalidState, match="has batch 0 of another run, and the checkpoint"):
        spark_job.start(spark, job)
    assert not (folder / "new").exists()


MISTAKES = [
    ("stream =", "steam =", "unknown key 'steam'; did you mean 'stream'?"),
    ('stream = "ticks"\n', "", "'stream' is missing"),
    ('stream = "ticks"', 'stream = "tocks"', "there is no stream 'tocks'; did you mean 'ticks'?"),
    ('stream = "ticks"', "stream = 5", "'stream' must be a string, not 5"),
    ('catalog = "catalog"', 'catalog = "none"', "there is no catalog at"),
    ('checkpoint = "checkpoint"\n', "", "'checkpoint' is missing"),
    ('path = "in"', 'path = "nothing"', "there is nothing at"),
    ('path = "in"\n', "", "[source] 'path' is missing"),
    (
        '[source]\nformat = "parquet"',
        '[source]\nformat = "paquet"',
        "does not know the format 'paquet'",
    ),
    ("[sink]", "[sink", "is not TOML"),
]


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[m[2][:30] for m in MISTAKES])
def test_mistakes_in_the_file(folder: Path, old: str, new: str, message: str) -> None:
    assert old in JOB
    (folder / "job.toml").write_text(JOB.replace(old, new, 1))
    done = finish(folder, "run")
    assert done.code == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_no_java_or_one_too_old(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    monkeypatch.setenv("JAVA_HOME", str(home))
    done = finish(folder, "run")
    assert done.code == 2
    assert "Spark needs Java 17 or newer and there is none: install one with" in done.stderr
    java = home / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_302\"' >&2\n")
    java.chmod(0o755)
    done = finish(folder, "run")
    assert done.code == 2
    assert "is Java 8: install" in done.stderr
