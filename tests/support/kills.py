"""Kills of `watchline run`, aimed at moments of a batch's life.

A kill leaves the files as they are at that moment, and nothing else. `kill_program` starts a
program and kills it with all that it has started; most of its time is a start of Spark.
`kill_in_process` has the same files left by a run in the process of the test, in a fraction of the
time: see `InProcess.killed`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.programs import InProcess, Program

# Where something new is written at each moment of a batch's life.
MOMENTS = {
    "planning": ["checkpoint/offsets/*"],
    "version": ["catalog/_runs/*/*"],
    "tasks": ["checkpoint/watchline-state/*/*.state", "checkpoint/watchline-state/*/*.delta"],
    "state": ["checkpoint/state/0/*/*"],
    "files": ["out/*.parquet", "out/_temporary/**"],
    "sink": ["out/_spark_metadata/*"],
    "commit": ["checkpoint/commits/*"],
}
# A start, and files of states that only the workers of `tests.support.small_states` write.
PROGRAMS_ONLY = {"", "tasks"}
# How long a kill waits after something was written: at once mostly, or into the next batches.
SOON, LATER = (0.0, 0.0, 0.005, 0.05), (0.3, 0.6, 1.0, 2.0)
# How long something may take to be written: a run that has read everything writes no more.
PATIENCE = 120.0


def kill_program(folder: Path, moment: str, after: float, draw: random.Random) -> bool:
    """Kill a program so long after something new was written there, or after its start without a
    moment; whether the moment came."""
    come = new_files(folder, moment) if moment else lambda: True
    running = Program(folder)
    met = running.wait_for(come, PATIENCE)
    time.sleep(after)
    running.kill(driver_first=draw.random() < 0.3)
    return met


def kill_in_process(
    folder: Path,
    moment: str,
    after: float,
    jobs: InProcess,
    writing: threading.Lock | None = None,
) -> bool:
    """Kill a run of this process so long after something new was written there; whether the moment
    came. Who else writes to the folder holds this lock."""
    come, until = new_files(folder, moment), time.monotonic() + PATIENCE

    def came() -> bool:
        while not come():
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        time.sleep(after)
        return True

    return jobs.killed(folder, came, writing or threading.Lock())


def new_files(folder: Path, moment: str) -> Callable[[], bool]:
    """Whether something was written there since this call."""

    def files() -> set[str]:
        return {str(path) for place in MOMENTS[moment] for path in folder.glob(place)}

    before = files()
    return lambda: bool(files() - before)
