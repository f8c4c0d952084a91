"""Indexes against brute force with the kernels as plain Python: run with NUMBA_DISABLE_JIT=1.

python -m tests.support.unjitted           every kind of query index
python -m tests.support.unjitted join      the spatial join, with boxes enough for scales
python -m tests.support.unjitted border    crossings of borders
python -m tests.support.unjitted earth     vectors, chords and bounds, each bit of them
python -m tests.support.unjitted roads     traffic, as compiled
python -m tests.support.unjitted windows   window joins: what they tell, as one line
python -m tests.support.unjitted regions   regions of all forms
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np

import watchline as wl
from tests.support import crossings as bordering
from tests.support import earth_regions as earthly
from tests.support import indexes as indexing
from tests.support import regions as covering
from tests.support import roads as roading
from tests.support import window_joins as windowing
from tests.support.earth import measured
from watchline.borders import AUTO, STABS, WALK, BorderIndex


def as_plain_python(*what: str) -> list[str]:
    """Run this in a process of its own, which must not fail; the cases it tells of."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.unjitted", *what],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stderr.splitlines()


def main(what: str) -> None:
    assert numba.config.DISABLE_JIT
    # Plain Python warns where compiled code wraps around, as the hash means to.
    np.seterr(over="ignore")
    parts = {
        "border": borders, "earth": places, "join": joins, "regions": regions, "roads": traffic,
        "windows": windows,
    }  # fmt: skip
    parts.get(what, kinds)()


def windows() -> None:
    print(windowing.digest(), file=sys.stderr)


def places() -> None:
    print(measured(), file=sys.stderr)


def kinds() -> None:
    for case in indexing.CASES:
        for seed in range(4):
            rng = np.random.default_rng(seed)
            indexing.interleave(indexing.empty(*case), case[1], rng, 25, 8, {})
        print(indexing.name(case), file=sys.stderr)


def joins() -> None:
    cases = [(1, 64, False), (3, 64, True), (3, 128, False), (6, None, True)]
    for dims, size, lenient in cases:
        rng = np.random.default_rng(dims)
        held = {i: indexing.box(rng, dims) for i in range(290)}
        # Some hold most rows: answers are dense.
        held |= dict.fromkeys(range(300, 320), ((-math.inf,) * dims, (math.inf,) * dims))
        lo, hi = zip(*held.values(), strict=True)
        tuning = {"N_dc": size, "lenient": lenient}
        index = wl.index.build("spatialjoin", lo, hi, list(held), **tuning)
        points = indexing.points_near(held, dims, rng, 70)
        for some in (points, np.where(rng.random(points.shape) < 0.3, math.nan, points)):
            found = indexing.listed(index.stab(some))
            assert found == indexing.brute(held, some, lenient)
        indexing.interleave(index, dims, rng, 12, 8, held, lenient)
        # Wide ids, and an index that is empty again.
        index.insert([2**40], *([[side] * dims] for side in (0.0, 1.0)))
        held[2**40] = ((0.0,) * dims, (1.0,) * dims)
        assert indexing.listed(index.stab(points)) == indexing.brute(held, points, lenient)
        index.remove(list(held))
        assert not len(index.stab(points))
        print(dims, tuning, file=sys.stderr)


def borders() -> None:
    for steps in (AUTO, WALK, STABS):
        for dims in (1, 2):
            for seed in range(4):
                rng = np.random.default_rng(seed)
                bordering.interleave(BorderIndex(dims, steps=steps), dims, rng, 30, 20)
            print(steps, dims, file=sys.stderr)


def regions() -> None:
    # Plain Python warns where compiled code gives an infinity, which the kernels allow for.
    np.seterr(all="ignore")
    for seed in range(2):
        covering.interleave(np.random.default_rng([seed, 36]), 2, 3, count=10)
        earthly.interleave(np.random.default_rng([seed, 37]), 2, 3, count=10)
    print("regions", file=sys.stderr)


def traffic() -> None:
    rows = wl.roads.traffic(roading.irregular(1), 15, 40, interval=9.0, seed=2).table()
    print(f"{rows['x'].to_numpy().sum():.6f}", file=sys.stderr)


if __name__ == "__main__":
    main(*(sys.argv[1:] or [""]))
