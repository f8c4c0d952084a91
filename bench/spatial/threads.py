"""`spatialjoin` with one thread and with all of them, for batches of few rows and of many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numba

import watchline as wl
from bench.common.report import amount, publish, require_same, say, table
from bench.indexes.race import by_threads
from bench.spatial.race import OURS, scale_of
from bench.spatial.selections import print_of, workload

ROWS = (500, 2_000, 10_000)


def threads(quick: bool, _: Path) -> Iterator[str]:
    every, scale = numba.config.NUMBA_NUM_THREADS, scale_of(quick)
    n = scale.queries(100_000)
    yield f"## Threads: {n:,} queries"
    lines = []
    for attributes in (4, 8):
        for rows in ROWS[:1] if quick else ROWS:
            w = workload(n, attributes, rows)
            say(f"threads: {w.name}, {rows:,} rows")
            index = wl.index.build(OURS, w.lo, w.hi)
            answers = []
            for count in (1, every):
                numba.set_num_threads(count)
                answers.append(print_of(index.stab(w.points)))
            require_same(answers[1], answers[0])
            one, all_of_them = by_threads(index, w, scale.rounds)
            what = f"{OURS}, 1 thread / {every} threads, {attributes} attributes, {rows:,} rows"
            gain = publish(what, one / all_of_them)
            cells = [amount(one), amount(all_of_them), f"{gain:.2f}×"]
            lines.append([f"{attributes}", f"{rows:,}", *cells])
    yield table(["attributes", "rows", "1 thread", f"{every} threads", "faster"], lines)
