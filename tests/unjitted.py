"""Every kind against brute force with the kernels as plain Python: run with NUMBA_DISABLE_JIT=1."""

from __future__ import annotations

import sys

import numba
import numpy as np

from tests.indexing import CASES, empty, interleave, name


def main() -> None:
    assert numba.config.DISABLE_JIT
    # Plain Python warns where compiled code wraps around, as the hash means to.
    np.seterr(over="ignore")
    for case in CASES:
        for seed in range(4):
            interleave(empty(*case), case[1], np.random.default_rng(seed), 25, 8, {})
        print(name(case), file=sys.stderr)


if __name__ == "__main__":
    main()
