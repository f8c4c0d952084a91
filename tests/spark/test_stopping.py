"""Signals to the process group: a clean stop, a quiet terminal, nothing left, and a restart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.test_changes_run import (
    FILES,
    FOREVER,
    KIND,
    ROWS,
    prepared,
    right,
    written,
)
from tests.support.ledgers import fleet, same
from tests.support.programs import QUICK_JVM, Program, environment, program, wait_for
from watchline.spark import job
from watchline.spark.sink import committed_files

pytestmark = pytest.mark.spark

NOISE = ("Traceback", "ERROR", "WARN", "Exception", "Aborted")


def signalled(running: Program, number: int, everyone: bool = False) -> str:
    """Signal the group, or all processes as systemd does; what was printed by the end."""
    if everyone:
        for process in running.left():
            with suppress(ProcessLookupError):
                os.kill(process, number)
    else:
        os.killpg(running.process.pid, number)
    assert running.process.wait(120) == 0, running.printed
    wait_for(lambda: not running.left(), 60)
    assert not [word for word in NOISE if word in running.printed], running.printed
    return running.printed


def test_stopped_at_any_moment_and_restarted(tmp_path: Path) -> None:
    """While Spark starts, while a batch runs, while idle: and the sink is what it should be."""
    folder = prepared(tmp_path)
    (folder / "job.toml").write_text(FOREVER)
    with program(folder) as starting:
        assert starting.wait_for(lambda: "starting Spark" in starting.printed)
        assert "stopped: before the first batch" in signalled(starting, signal.SIGTERM)
    with program(folder) as busy:
        assert busy.wait_for(lambda: "batch " in busy.printed)
        assert "stopped: " in signalled(busy, signal.SIGINT)
    wanted = right(fleet(FILES * ROWS, KIND))

    def all_written() -> bool:
        return bool(committed_files(str(folder / "out"))) and len(written(folder)) >= len(wanted)

    with program(folder) as idle:
        assert idle.wait_for(all_written)
        assert "stopped: " in signalled(idle, signal.SIGTERM, everyone=True)
    same(written(folder), wanted)


SCRIPT = """
import sys
import watchline as wl
from watchline.config import load
from watchline.spark import job
options, *folders = sys.argv[1:]
settings = {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": options}
spark = wl.session("local[1]", **settings)

def running(folder):
    query = job.start(spark, load(f"{folder}/job.toml"))
    while not job.progress(query, -1):
        query.awaitTermination(0.2)
    return query

job.stop(running(folders[0]), patience=0)  # in the middle of a batch
query = running(folders[1])
while not query.status["isTriggerActive"]:
    query.awaitTermination(0.01)
query.stop()
running(folders[2])
print("the end")
"""


def test_a_script_that_ends_prints_nothing_of_spark(tmp_path: Path) -> None:
    """Two queries are stopped, by us and by Spark's own call, and one is left running: neither the
    start of Spark nor any of these ends nor Spark's own is seen."""
    folders = [tmp_path / name for name in ("stopped", "plainly", "left")]
    for folder in folders:
        folder.mkdir()
        (prepared(folder) / "job.toml").write_text(FOREVER)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, QUICK_JVM, *map(str, folders)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "the end\n", "")


def test_spark_is_silent_while_a_query_is_stopped_and_only_then(spark: SparkSession) -> None:
    root = spark.sparkContext._jvm.org.apache.logging.log4j.LogManager.getRootLogger()
    before, levels = root.getLevel().toString(), []

    class Query:
        isActive, lastProgress = False, None  # noqa: N815 - Spark's names

        def stop(self) -> None:
            levels.append(root.getLevel().toString())

    job.stop(Query())
    assert [*levels, root.getLevel().toString()] == ["OFF", before]


def test_a_jvm_that_does_not_start_says_why() -> None:
    code = """
import watchline as wl
try:
    wl.session("local[1]", **{"spark.driver.memory": "1x"})
except wl.EngineError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Spark's JVM did not start: Invalid maximum heap size: -Xmx1x" in done.stdout
