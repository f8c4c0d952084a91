"""What a tracker takes with many queries and large answers, by the rows of a call: resident memory.

Boxes of a hundredth of each side are so many that an object is in one of ten thousand. Each
measurement is a process of its own, `python -m bench.tracking.memory QUERIES ROWS`, since memory
that was given back may stay with a process.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.report import say, table
from bench.tracking.squares import register_squares

SIDE = 0.01
# Objects for each query.
OBJECTS = 0.1
ROWS = (1_000, 5_000, 20_000)
MIB = 2**20


def memory(quick: bool) -> Iterator[str]:
    """The tracker beside its catalog, fed with objects that are anywhere."""
    queries = 20_000 if quick else 1_000_000
    yield f"## Memory: {queries:,} boxes, {int(OBJECTS * queries):,} objects"
    lines = []
    for rows in ROWS[:1] if quick else ROWS:
        say(f"memory: calls of {rows:,} rows")
        found = json.loads(
            subprocess.run(
                [sys.executable, "-m", "bench.tracking.memory", str(queries), str(rows)],
                check=True,
                cwd=Path(__file__).parents[2],
                capture_output=True,
                text=True,
            ).stdout
        )
        cells = [f"{found[name]:,.0f} MiB" for name in ("made", "fed", "peak")]
        lines.append([f"{rows:,}", f"{found['pairs']:,}", *cells])
    yield table(["rows a call", "pairs in answers", "without objects", "with them", "peak"], lines)


def measured(queries: int, rows: int) -> dict[str, float]:
    """MiB that a tracker takes more than its catalog, and the pairs in its answers."""
    rng = np.random.default_rng(5)
    catalog = wl.Catalog.of(
        "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
        " POINT (x, y) TIMEOUT INTERVAL 1 HOUR"
    )
    register_squares(catalog, "cars", queries, SIDE, rng)
    gc.collect()
    before = _resident()
    tracker = wl.Tracker(catalog, "cars")
    made = _resident()
    pairs = 0
    for ids in np.split(
        np.arange(int(OBJECTS * queries)), range(rows, int(OBJECTS * queries), rows)
    ):
        x, y = rng.random((2, len(ids)))
        ts = pa.array(ids, pa.timestamp("us", "UTC"))
        pairs += len(tracker.process(pa.table({"id": ids, "x": x, "y": y, "ts": ts})))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sizes = {"made": made, "fed": _resident(), "peak": peak}
    return {"pairs": pairs, **{name: size - before for name, size in sizes.items()}}


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]), int(sys.argv[2]))))
