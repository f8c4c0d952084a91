"""Files of this machine as Spark writes them: which classes do it, and that a checkpoint goes on
under others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.test_changes_run import FILES, JOB, KIND, ROWS, prepared, put, right, written
from tests.support.ledgers import fleet, same
from watchline.config import load
from watchline.spark import job as spark_job
from watchline.spark.local_files import MANAGER, SETTINGS, manager_settings, prepare_checkpoint
from watchline.spark.sessions import _settings

# How Spark and Hadoop choose by themselves.
CHECKSUMMED = "org.apache.hadoop.fs.LocalFileSystem"


def test_a_session_of_this_machine_has_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    ours = SETTINGS | manager_settings()
    assert len(ours) == 2
    assert ours.items() <= _settings("local[2]", {}).items()
    assert not ours.keys() & _settings("spark://host:7077", {}).keys()
    own = dict.fromkeys(ours, "mine")
    assert own.items() <= _settings("local[2]", own).items()


@pytest.mark.spark
def test_files_are_written_whole_and_without_checksums(spark: SparkSession, tmp_path: Path) -> None:
    manager = manager_of(spark, tmp_path)
    assert manager.getClass().getName() == manager_settings()[MANAGER]
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(f"file://{tmp_path}/1")
    for text in (b"first", b"second"):
        stream = manager.createAtomic(path, True)
        stream.write(bytearray(text))
        assert (tmp_path / "1").exists() == (text == b"second")
        stream.close()
        assert [file.name for file in tmp_path.iterdir()] == ["1"]
        assert (tmp_path / "1").read_bytes() == text
    stream = manager.createAtomic(path, True)
    stream.write(bytearray(b"never"))
    stream.cancel()
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"second"]


def manager_of(spark: SparkSession, folder: Path) -> Any:
    """Spark's manager of checkpoint files for a folder."""
    jvm: Any = spark.sparkContext._jvm
    package: Any = jvm
    for name in manager_settings()[MANAGER].split(".")[:-1]:
        package = getattr(package, name)
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    where = jvm.org.apache.hadoop.fs.Path(f"file://{folder}")
    return package.CheckpointFileManager.create(where, hadoop)


@pytest.mark.spark
def test_a_checkpoint_behind_a_url_keeps_sparks_manager(spark: SparkSession) -> None:
    for is_chosen in (False, True):
        session = spark.newSession()
        prepare_checkpoint(session, "file:///nowhere", is_chosen)
        assert session.conf.get(MANAGER) == manager_settings()[MANAGER]
        prepare_checkpoint(session, "hdfs://host/checkpoint", is_chosen)
        assert (session.conf.get(MANAGER, None) is not None) == is_chosen


@pytest.mark.spark
def test_a_checkpoint_goes_on_under_the_other_file_system(
    spark: SparkSession, tmp_path: Path
) -> None:
    """From files with checksums to files without, and back. Each start runs the last batch of the
    one before again, and so writes files anew that the other file system has written."""
    rows, checkpoint = fleet(FILES * ROWS, KIND), tmp_path / "checkpoint"
    folder = prepared(tmp_path)
    for file in (folder / "in").iterdir():
        file.unlink()
    batches = 0
    for turn, checksums in enumerate((True, False, True)):
        for i in range(3 * turn, 3 * turn + 3):
            put(folder, i, rows[ROWS * i : ROWS * (i + 1)])
        session = with_checksums(spark) if checksums else spark.newSession()
        run(session, folder)
        assert bool(list(checkpoint.rglob("*.crc"))) == checksums
        commits = [int(file.name) for file in (checkpoint / "commits").glob("[0-9]*")]
        assert max(commits) > batches
        batches = max(commits)
        (checkpoint / "commits" / str(batches)).unlink()
    run(spark.newSession(), folder)
    same(written(folder), right(rows[: 9 * ROWS]))


def run(session: SparkSession, folder: Path) -> None:
    (folder / "job.toml").write_text(JOB)
    query = spark_job.start(session, load(str(folder / "job.toml")))
    query.awaitTermination()
    assert spark_job.failure(query) is None


def with_checksums(spark: SparkSession) -> SparkSession:
    """A session whose local files are as Spark and Hadoop write them by themselves."""
    session = spark.newSession()
    session.conf.unset(MANAGER)
    session.conf.set("fs.file.impl", CHECKSUMMED)
    # The JVM keeps the one that it has made.
    session.conf.set("fs.file.impl.disable.cache", "true")
    return session
