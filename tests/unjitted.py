"""Indexes against brute force with the kernels as plain Python: run with NUMBA_DISABLE_JIT=1.

python -m tests.unjitted           every kind of query index
python -m tests.unjitted border    crossings of borders
"""

from __future__ import annotations

import sys

import numba
import numpy as np

from tests import bordering, indexing
from watchline.border import AUTO, STABS, WALK, BorderIndex


def main(what: str) -> None:
    assert numba.config.DISABLE_JIT
    # Plain Python warns where compiled code wraps around, as the hash means to.
    np.seterr(over="ignore")
    (borders if what == "border" else kinds)()


def kinds() -> None:
    for case in indexing.CASES:
        for seed in range(4):
            rng = np.random.default_rng(seed)
            indexing.interleave(indexing.empty(*case), case[1], rng, 25, 8, {})
        print(indexing.name(case), file=sys.stderr)


def borders() -> None:
    for steps in (AUTO, WALK, STABS):
        for dims in (1, 2):
            for seed in range(4):
                rng = np.random.default_rng(seed)
                bordering.interleave(BorderIndex(dims, steps=steps), dims, rng, 30, 20)
            print(steps, dims, file=sys.stderr)


if __name__ == "__main__":
    main(*(sys.argv[1:] or [""]))
