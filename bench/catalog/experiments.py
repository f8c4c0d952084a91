"""Catalog: commit and read times, a million boxes, fences from a file, and two processes that write
at once.

python -m bench.catalog [commits|boxes|fences|writers …] [--quick]
"""

from __future__ import annotations

import multiprocessing
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import watchline as wl
from bench.catalog.fences import fences
from bench.common.report import Part, amount, plain, say, spread, table, timed
from watchline.catalog import BoxBlock

TICKS = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, ts TIMESTAMP)"
    " OBJECT symbol TIME ts"
)
CREATE = "CREATE QUERY {} AS SELECT * FROM ticks WHERE symbol = 'S{}' AND price < {}"
Rows = list[tuple[str, str, str]]


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def commits(folder: Path, quick: bool) -> Rows:
    single, several = (20, 5) if quick else (300, 60)
    catalog = wl.Catalog(folder / "commits")
    catalog.execute(TICKS)
    numbers = iter(range(10**6))
    one = timed(lambda: catalog.execute(CREATE.format(f"q{next(numbers)}", 1, 2)), single)

    def ten() -> None:
        catalog.execute("; ".join(CREATE.format(f"q{next(numbers)}", i, i) for i in range(10)))

    tens = timed(ten, several)
    other = wl.Catalog(folder / "commits")

    def follow() -> None:
        version = other.version
        catalog.execute(CREATE.format(f"q{next(numbers)}", 1, 2))
        start = time.perf_counter()
        assert len(other.changes(version)) == 1
        seen.append(time.perf_counter() - start)

    seen: list[float] = []
    timed(follow, several)
    opened = timed(lambda: wl.Catalog(folder / "commits").queries(), 10)
    return [
        ("commit of one query", spread(one), f"{single} commits, one process"),
        ("commit of ten queries in one script", spread(tens), f"{several} commits"),
        ("another process' commit read by `changes`", spread(seen), f"{several} commits"),
        (f"open a catalog of {len(catalog.queries()):,} SQL queries", spread(opened), ""),
    ]


def boxes(folder: Path, quick: bool) -> Rows:
    n = 10_000 if quick else 1_000_000
    catalog = wl.Catalog(folder / "boxes")
    catalog.execute(TICKS)
    lo = np.random.default_rng(1).uniform(0, 1000, n)
    ids = [f"box{i}" for i in range(n)]
    before = peak_megabytes()
    write = timed(lambda: catalog.register_boxes("ticks", ids, {"price": (lo, lo + 1)}))
    used = peak_megabytes() - before
    read = timed(lambda: wl.Catalog(folder / "boxes").queries(), 5)
    queries = catalog.queries()
    assert len(queries) == n
    [block] = queries.blocks
    assert isinstance(block, BoxBlock)
    assert np.array_equal(block.lo[:, 0], lo)
    size = sum(f.stat().st_size for f in (folder / "boxes").glob("*.parquet")) / 2**20
    add = timed(lambda: catalog.execute(CREATE.format("single", 1, 2)))
    drop = timed(lambda: catalog.drop("box17"))
    return [
        (f"register {n:,} boxes in one commit", amount(write[0]), f"+{used:.0f} MB at the peak"),
        (f"open and read {n:,} boxes", spread(read), f"{size:.1f} MB on disk"),
        (f"add one SQL query beside {n:,} boxes", amount(add[0]), ""),
        (f"drop one of {n:,} boxes", amount(drop[0]), ""),
    ]


def add(folder: str, name: str, count: int) -> None:
    catalog = wl.Catalog(folder)
    for i in range(count):
        catalog.execute(CREATE.format(f"{name}{i}", i % 2000, i))
        if i % 1000 == 999:
            say(f"process {name}: {i + 1:,} queries")


def writers(folder: Path, quick: bool) -> Rows:
    each = 20 if quick else 5_000
    say(f"two processes, {each:,} queries each, one by one")
    path = str(folder / "writers")
    wl.Catalog(path).execute(TICKS)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=add, args=(path, name, each)) for name in "ab"]
    start = time.perf_counter()
    for writer in processes:
        writer.start()
    for writer in processes:
        writer.join()
    seconds = time.perf_counter() - start
    catalog = wl.Catalog(path)
    assert all(writer.exitcode == 0 for writer in processes)
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


def measured(what: Callable[[Path, bool], Rows]) -> Part:
    """A part whose catalogs are in a folder that goes with it."""

    def part(quick: bool) -> Iterator[str]:
        folder = Path(tempfile.mkdtemp(prefix="watchline-bench-"))
        try:
            yield table(["what", "time", "note"], what(folder, quick))
        finally:
            shutil.rmtree(folder)
        yield "Times are best / median / worst."

    return plain(part)


PARTS: dict[str, Part] = {
    "commits": measured(commits),
    "boxes": measured(boxes),
    "fences": measured(fences),
    "writers": measured(writers),
}
