"""Signals to the process group: a clean stop, a quiet terminal, nothing left, and a restart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.ledgers import fleet, same
from tests.spark.test_changes_run import (
    FILES,
    FOREVER,
    KIND,
    ROWS,
    command,
    environment,
    prepared,
    right,
    written,
)
from watchline.spark import job
from watchline.spark.sink import committed_files

NOISE = ("Traceback", "ERROR", "WARN", "Exception", "Aborted")


class Running:
    """`watchline run` in a process group of its own, whose descendants are known by a mark."""

    def __init__(self, folder: Path, mark: str):
        self.mark = f"WATCHLINE_TEST_MARK={mark}".encode()
        self.output = folder / f"{mark}.output"
        with open(self.output, "w") as file:
            self.process = subprocess.Popen(
                command(folder, "run"),
                stdout=file,
                stderr=file,
                env={**environment(), "WATCHLINE_TEST_MARK": mark},
                start_new_session=True,
            )

    def await_text(self, text: str) -> None:
        until = time.monotonic() + 240
        while text not in self.output.read_text():
            assert self.process.poll() is None, self.output.read_text()
            assert time.monotonic() < until, self.output.read_text()
            time.sleep(0.1)

    def signal(self, number: int, everyone: bool = False) -> str:
        """Signal the group, or all descendants as systemd does; what was printed by the end."""
        if everyone:
            for process in self.left():
                with suppress(ProcessLookupError):
                    os.kill(int(process.name), number)
        else:
            os.killpg(self.process.pid, number)
        assert self.process.wait(120) == 0, self.output.read_text()
        until = time.monotonic() + 60
        while left := self.left():
            assert time.monotonic() < until, left
            time.sleep(0.2)
        told = self.output.read_text()
        assert not [word for word in NOISE if word in told], told
        return told

    def left(self) -> list[Path]:
        """The descendants that still run, as folders of /proc."""
        return [process for process in Path("/proc").glob("[0-9]*") if self._mine(process)]

    def _mine(self, process: Path) -> bool:
        with suppress(OSError):
            return self.mark in (process / "environ").read_bytes().split(b"\0")
        return False


def test_stopped_at_any_moment_and_restarted(tmp_path: Path) -> None:
    """While Spark starts, while a batch runs, while idle: and the sink is what it should be."""
    folder = prepared(tmp_path)
    (folder / "job.toml").write_text(FOREVER)
    starting = Running(folder, "starting")
    starting.await_text("starting Spark")
    assert "stopped: before the first batch" in starting.signal(signal.SIGTERM)
    busy = Running(folder, "busy")
    busy.await_text("batch ")
    assert "stopped: " in busy.signal(signal.SIGINT)
    idle = Running(folder, "idle")
    wanted = right(fleet(FILES * ROWS, KIND))
    until = time.monotonic() + 240
    while not committed_files(str(folder / "out")) or len(written(folder)) < len(wanted):
        assert time.monotonic() < until
        assert idle.process.poll() is None, idle.output.read_text()
        time.sleep(0.2)
    assert "stopped: " in idle.signal(signal.SIGTERM, everyone=True)
    same(written(folder), wanted)


SCRIPT = """
import sys
import watchline as wl
from watchline.config import load
from watchline.spark import job
folder = sys.argv[1]
spark = wl.session("local[1]", **{"spark.driver.memory": "512m"})
query = job.start(spark, load(f"{folder}/job.toml"))
while not job.progress(query, -1):
    query.awaitTermination(0.2)
if sys.argv[2] == "stop":
    job.stop(query, patience=0)  # in the middle of a batch
print("the end")
"""


@pytest.mark.parametrize("how", ["stop", "leave"])
def test_a_script_that_ends_prints_nothing_of_spark(tmp_path: Path, how: str) -> None:
    """With the query stopped or left running: neither the start nor the end of Spark is seen."""
    folder = prepared(tmp_path)
    (folder / "job.toml").write_text(FOREVER)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), how],
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
