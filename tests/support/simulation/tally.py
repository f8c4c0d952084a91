"""Many histories in one process, with its time. A module of its own: other processes import it."""

from __future__ import annotations

import gc
import time
from typing import NamedTuple

from tests.support.simulation.judge import problem_of

# Histories that a process runs before its time is taken: kernels are loaded meanwhile.
WARMING = 20


class Tally(NamedTuple):
    """Histories that one process ran, the wrong ones, and the minutes that it took: of the wall
    clock, and of its core. The two differ where other programs use the machine."""

    histories: int
    wrong: dict[int, str]
    minutes: float
    core_minutes: float


def tally(seeds: range) -> Tally:
    """Run these histories in this process."""
    for seed in range(WARMING):
        problem_of(seed)
    gc.collect()
    gc.freeze()
    began, core = time.perf_counter(), time.process_time()
    wrong = {seed: problem for seed in seeds if (problem := problem_of(seed)) is not None}
    minutes, core_minutes = (time.perf_counter() - began) / 60, (time.process_time() - core) / 60
    return Tally(len(seeds), wrong, minutes, core_minutes)
