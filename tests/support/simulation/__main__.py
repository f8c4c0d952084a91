"""Run histories: one by its seed, or many.

python -m tests.support.simulation --seed 7 --trace
python -m tests.support.simulation --seed 7 --trace --calm
python -m tests.support.simulation --count 1000 --from 5000 --processes 2
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from tests.support.simulation.history import History, drawn
from tests.support.simulation.judge import Wrong, judged_history
from tests.support.simulation.tally import tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.simulation")
    parser.add_argument("--seed", type=int, help="run the history of this seed alone")
    parser.add_argument("--trace", action="store_true", help="print each step of it")
    parser.add_argument("--calm", action="store_true", help="run it without its faults")
    parser.add_argument("--count", type=int, default=1000, help="how many histories")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.seed is not None:
        history = drawn(chosen.seed)
        return one(replace(history, faults=[]) if chosen.calm else history, chosen.trace)
    return many(chosen.first, chosen.count, chosen.processes)


def one(history: History, trace: bool) -> int:
    """Run one history, and say how it ended."""
    try:
        job = judged_history(history)
    except Wrong as wrong:
        print(wrong if trace else wrong.problem)
        return 1
    if trace:
        print("\n".join(job.scheduler.trace))
    print(f"seed {history.seed}: right")
    return 0


def many(first: int, count: int, processes: int) -> int:
    """Run many histories, and say which are wrong and how fast they were."""
    parts = [range(first + i, first + count, processes) for i in range(processes)]
    if processes == 1:
        tallies = [tally(parts[0])]
    else:
        spawning = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, mp_context=spawning) as pool:
            tallies = list(pool.map(tally, parts))
    wrong = {seed: problem for part in tallies for seed, problem in part.wrong.items()}
    for seed, problem in sorted(wrong.items()):
        print(f"seed {seed}: {problem}")
    speed = sum(part.histories / part.minutes for part in tallies)
    core = sum(part.histories for part in tallies) / sum(part.core_minutes for part in tallies)
    print(
        f"{count:,} histories, {len(wrong)} wrong; {speed:,.0f} a minute, {core:,.0f} by one core"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
