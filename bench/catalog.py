"""Catalog: commit and read times, a million boxes, and two processes that write at once.

python -m bench.catalog            # all of it, some minutes
python -m bench.catalog --each 500 # a quicker race
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import watchline as wl
from bench.report import amount, machine, say, spread, table, timed

TICKS = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, ts TIMESTAMP)"
    " OBJECT symbol TIME ts"
)
CREATE = "CREATE QUERY {} AS SELECT * FROM ticks WHERE symbol = 'S{}' AND price < {}"
Rows = list[tuple[str, str, str]]


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def commits(folder: Path) -> Rows:
    say("single commits")
    catalog = wl.Catalog(folder / "commits")
    catalog.execute(TICKS)
    numbers = iter(range(10**6))
    one = timed(lambda: catalog.execute(CREATE.format(f"q{next(numbers)}", 1, 2)), 300)

    def ten() -> None:
        catalog.execute("; ".join(CREATE.format(f"q{next(numbers)}", i, i) for i in range(10)))

    tens = timed(ten, 60)
    other = wl.Catalog(folder / "commits")

    def follow() -> None:
        version = other.version
        catalog.execute(CREATE.format(f"q{next(numbers)}", 1, 2))
        start = time.perf_counter()
        assert len(other.changes(version)) == 1
        seen.append(time.perf_counter() - start)

    seen: list[float] = []
    timed(follow, 60)
    opened = timed(lambda: wl.Catalog(folder / "commits").queries(), 10)
    return [
        ("commit of one query", spread(one), "300 commits, one process"),
        ("commit of ten queries in one script", spread(tens), "60 commits"),
        ("another process' commit read by `changes`", spread(seen), "60 commits"),
        (f"open a catalog of {len(catalog.queries()):,} SQL queries", spread(opened), ""),
    ]


def million(folder: Path, n: int = 1_000_000) -> Rows:
    say("a million boxes")
    catalog = wl.Catalog(folder / "million")
    catalog.execute(TICKS)
    lo = np.random.default_rng(1).uniform(0, 1000, n)
    ids = [f"box{i}" for i in range(n)]
    before = peak_megabytes()
    write = timed(lambda: catalog.register_boxes("ticks", ids, {"price": (lo, lo + 1)}))
    used = peak_megabytes() - before
    read = timed(lambda: wl.Catalog(folder / "million").queries(), 5)
    queries = catalog.queries()
    assert len(queries) == n
    assert np.array_equal(queries.blocks[0].lo[:, 0], lo)
    size = sum(f.stat().st_size for f in (folder / "million").glob("*.parquet")) / 2**20
    add = timed(lambda: catalog.execute(CREATE.format("single", 1, 2)))
    drop = timed(lambda: catalog.drop("box17"))
    return [
        ("register 10^6 boxes in one commit", amount(write[0]), f"+{used:.0f} MB at the peak"),
        ("open and read 10^6 boxes", spread(read), f"{size:.1f} MB on disk"),
        ("add one SQL query beside 10^6 boxes", amount(add[0]), ""),
        ("drop one of 10^6 boxes", amount(drop[0]), ""),
    ]


def add(folder: str, name: str, count: int) -> None:
    catalog = wl.Catalog(folder)
    for i in range(count):
        catalog.execute(CREATE.format(f"{name}{i}", i % 2000, i))
        if i % 1000 == 999:
            say(f"process {name}: {i + 1:,} queries")


def race(folder: Path, each: int) -> Rows:
    say(f"two processes, {each:,} queries each, one by one")
    path = str(folder / "race")
    wl.Catalog(path).execute(TICKS)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=add, args=(path, name, each)) for name in "ab"]
    start = time.perf_counter()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    seconds = time.perf_counter() - start
    catalog = wl.Catalog(path)
    assert all(writer.exitcode == 0 for writer in writers)
    assert len(catalog.queries()) == 2 * each
    assert catalog.version == 2 * each + 1
    changes = catalog.changes(1)
    assert [c.version for c in changes] == list(range(2, 2 * each + 2))
    assert all(len(c.added) == 1 for c in changes)
    past = timed(lambda: catalog.queries(each), 3)
    rate = f"{2 * each / seconds:.0f} commits/s"
    return [
        (f"two processes, {each:,} queries each, one by one", amount(seconds), rate),
        (
            f"the state at version {each:,} of {catalog.version:,}",
            spread(past),
            "read from the log",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--each", type=int, default=5_000, help="queries per process in the race")
    each = parser.parse_args().each
    folder = Path(tempfile.mkdtemp(prefix="watchline-bench-"))
    try:
        rows = [*commits(folder), *million(folder), *race(folder, each)]
    finally:
        shutil.rmtree(folder)
    print(f"{machine()}. Times are best / median / worst.\n")
    print(table(["what", "time", "note"], rows))


if __name__ == "__main__":
    main()
