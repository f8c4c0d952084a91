"""Run histories: one by its seed, or many.

python -m tests.support.simulation --seed 7 --trace
python -m tests.support.simulation --count 1000 --from 5000
"""

from __future__ import annotations

import argparse
import gc
import sys
import time

from tests.support.simulation.judge import Wrong, judged


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.simulation")
    parser.add_argument("--seed", type=int, help="run the history of this seed alone")
    parser.add_argument("--trace", action="store_true", help="print each step")
    parser.add_argument("--count", type=int, default=1000, help="how many histories")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        return _one(chosen.seed, chosen.trace)
    return _many(range(chosen.first, chosen.first + chosen.count))


def _one(seed: int, trace: bool) -> int:
    try:
        job = judged(seed)
    except Wrong as wrong:
        print(wrong if trace else wrong.problem)
        return 1
    if trace:
        print("\n".join(job.scheduler.trace))
    print(f"seed {seed}: right")
    return 0


def _many(seeds: range) -> int:
    judged(seeds.start)  # compiles
    gc.collect()
    gc.freeze()
    wrong, began = [], time.perf_counter()
    for seed in seeds:
        try:
            judged(seed)
        except Wrong as error:
            wrong.append(seed)
            print(f"seed {seed}: {error.problem}")
    minutes = (time.perf_counter() - began) / 60
    print(f"{len(seeds)} histories, {len(wrong)} wrong, {len(seeds) / minutes:,.0f} a minute")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
