"""`watchline run` and `replay` under test: in the process of the test, or as programs.

A start of Spark takes longer than most jobs of the tests. So `InProcess` runs the command line in
the process of the test, on the session that its tests share; only what has to do with processes
runs as a `Program`: signals, kills, and what is printed at the end of one.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
import pyspark
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from watchline.cli import cli

ROOT = Path(__file__).parents[2]
SECONDS = 240.0
# Options of a JVM that starts soon, which matters more in tests than one that becomes fast.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Done(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


def finish(folder: Path, verb: str, *more: str) -> Done:
    """The command on `job.toml` of this folder, to its end; for what ends before Spark starts."""
    done = CliRunner().invoke(cli, [verb, str(folder / "job.toml"), *more])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


class InProcess:
    """The command line on a session that is there already, and stays."""

    def __init__(self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch):
        self._spark, self.jvm = spark, int(spark.sparkContext._gateway.proc.pid)
        monkeypatch.setattr("watchline.cli.run._session", self._session)
        monkeypatch.setattr("watchline.spark.gateway.close", lambda spark: None)

    def _session(self, job: Any, *_: object) -> SparkSession:
        """With settings of its own; those that belong to a JVM are the shared one's."""
        click.echo("starting Spark", err=True)
        made = self._spark.newSession()
        for key, value in job.spark.items():
            if made.conf.isModifiable(key):
                made.conf.set(key, str(value))
        return made

    def finish(self, folder: Path, verb: str, *more: str) -> Done:
        return finish(folder, verb, *more)

    def interrupted(
        self, folder: Path, acts: Callable[[], None], *more: str, number: int = signal.SIGINT
    ) -> Done:
        """`run`, while another thread acts and then interrupts it."""
        failed: list[BaseException] = []
        over = threading.Event()

        def act() -> None:
            try:
                acts()
            except BaseException as error:  # for the thread of the test
                failed.append(error)
            if not over.is_set():  # else nobody listens any more
                os.kill(os.getpid(), number)

        actor = threading.Thread(target=act, daemon=True)
        actor.start()
        done = finish(folder, "run", *more)
        over.set()
        actor.join(SECONDS)
        if failed:
            raise failed[0]
        return done

    def killed(self, folder: Path, came: Callable[[], bool], writing: threading.Lock) -> bool:
        """`run`, and leave the folder as a kill of all processes would have left it once `came`
        returns; if that is False, the run is only interrupted. Gives what `came` has given.

        The JVM and its workers stand still while the folder is copied, and so does who else writes
        with this lock. The run then ends in peace, and the copy replaces what the run has written
        since. Its workers are ended: the next run finds none that remembers.
        """
        copy = folder.with_name(f"{folder.name}-{uuid.uuid4().hex}")
        held = threading.Event()

        def stand_still_and_copy() -> None:
            if came():
                writing.acquire()
                held.set()
                with frozen(self.jvm):
                    shutil.copytree(folder, copy)

        try:
            self.interrupted(folder, stand_still_and_copy)
            end_workers(self.jvm)
            if held.is_set():
                # A task that was cancelled may still write: what it leaves there is of no account.
                gone = copy.with_name(f"{copy.name}-gone")
                folder.rename(gone)
                copy.rename(folder)
                shutil.rmtree(gone, ignore_errors=True)
        finally:
            if held.is_set():
                writing.release()
        return held.is_set()


def wait_for(true: Callable[[], bool], seconds: float = SECONDS) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)


def end_workers(jvm: int) -> None:
    """Kill what the daemons of this JVM have forked. The daemons stay: to start one takes seconds,
    and none has run a task."""
    workers = [worker for daemon in _children(jvm) for worker in _children(daemon)]
    for worker in workers:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


@contextmanager
def frozen(jvm: int) -> Iterator[None]:
    """This JVM and all that it has started stand still."""
    stopped = [jvm]
    try:
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
            # Whoever stands still starts nothing more.
            stopped += _children(process)
        yield
    finally:
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


def _children(parent: int) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # After the name, which may have any letters, in brackets: the state and the parent.
            if int((process / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(process.name))
    return found


class Program:
    """`watchline run job.toml` of a folder. What it starts carries a mark: all of it can be found.

    The JVM has a process group and a session of its own, so that neither would do as the mark.
    """

    def __init__(self, folder: Path, *more: str):
        mark = uuid.uuid4().hex
        self._mark = f"WATCHLINE_TEST_MARK={mark}".encode()
        self.output = folder / f"{mark}.output"
        with self.output.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "watchline", "run", str(folder / "job.toml"), *more],
                stdout=file,
                stderr=file,
                env={**environment(), "WATCHLINE_TEST_MARK": mark},
                start_new_session=True,
            )

    @property
    def printed(self) -> str:
        return self.output.read_text()

    def wait_for(self, true: Callable[[], bool], seconds: float = SECONDS) -> bool:
        """Whether it became true in time; the program must not end before."""
        until = time.monotonic() + seconds
        while not true():
            assert self.process.poll() is None, self.printed
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        return True

    def left(self) -> list[int]:
        """Those of its processes that still run."""
        return [int(p.name) for p in Path("/proc").glob("[0-9]*") if self._mine(p)]

    def _mine(self, process: Path) -> bool:
        with suppress(OSError):
            return self._mark in (process / "environ").read_bytes().split(b"\0")
        return False

    def kill(self, driver_first: bool = False) -> None:
        """With all that it has started."""
        if driver_first:
            # The JVM goes on for a moment, and its workers with it.
            self.process.kill()
            time.sleep(0.3)
        while left := self.left():
            for number in left:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.01)
        self.process.wait()


@contextmanager
def program(folder: Path, *more: str) -> Iterator[Program]:
    """None of it is left at the end."""
    started = Program(folder, *more)
    try:
        yield started
    finally:
        started.kill()


def home_without_archives(folder: Path) -> str:
    """The installed Spark, in a folder that has no archive of PySpark's sources.

    Each process that Spark starts would compile what it imports from there, for a second; without
    the archive it imports the installed PySpark, which is compiled.
    """
    for part in ("bin", "jars"):
        (folder / part).symlink_to(Path(pyspark.__file__).parent / part)
    return str(folder)


def environment() -> dict[str, str]:
    """Workers find the modules of these tests, too."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
