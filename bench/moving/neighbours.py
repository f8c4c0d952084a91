"""Small batches beside many nearest-neighbour queries, on local Spark.

The same rows go through three jobs in turn: without kNN queries, with them, and with them where the
merge has no place for its state, so that every batch sends all candidates of all queries.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np

import watchline as wl
from bench.common.files import write_batch
from bench.common.report import publish, say, table
from bench.matches.experiments import local_spark
from bench.moving.response import CARS, POINT, add_squares, rows_of
from bench.moving.spark import nearest_text
from bench.moving.world import Feed, Walk
from bench.tracking.experiments import Job, batches
from watchline.spark.tracking.merge_state import MergeMemory

TARGET = 2.0
ROUNDS = 2
# Batches that warm up, after the one that has all objects, and that are counted.
FIRST, COUNTED = 2, 12
SHARDS = 2


def neighbours(quick: bool, _: Path) -> Iterator[str]:
    """10,000 kNN queries, batches of 1,000 rows, two shards."""
    objects, queries, rows = (500, 20, 100) if quick else (100_000, 10_000, 1_000)
    yield f"## On Spark: {rows:,} rows a batch beside {queries:,} kNN queries, {objects:,} objects"
    with local_spark() as (session, folder):
        jobs = prepared(folder, objects, queries, rows, FIRST + (2 if quick else COUNTED))
        times: dict[str, list[float]] = {name: [] for name in jobs}
        for turn in range(1 if quick else ROUNDS + 1):
            for name, (job, remembers) in jobs.items():
                say(f"neighbours: {name}, round {turn}")
                of = MergeMemory.of if remembers else lambda *_: None
                with mock.patch.object(MergeMemory, "of", of):
                    done = batches(session, job)[1 + FIRST :]
                # The first round warms up, too.
                if turn or quick:
                    times[name] += [p["durationMs"]["triggerExecution"] / 1e3 for p in done]
    without, sends, whole = (statistics.median(taken) for taken in times.values())
    ratio = publish(f"{queries:,} kNN queries / none, {rows:,} rows a batch", sends / without)
    lines = [
        [name, f"{min(taken):.3f} s", f"{statistics.median(taken):.3f} s"]
        for name, taken in times.items()
    ]
    yield table(["job", "best batch", "median"], lines)
    met = "yes" if ratio <= TARGET else "no"
    lines = [
        ["a batch / one without kNN queries", f"≤ {TARGET:g}", f"{ratio:.2f}", met],
        ["where every batch sends all candidates", "", f"{whole / without:.2f}", ""],
    ]
    yield table(["target", "wanted", "measured (median)", "met"], lines)


def prepared(
    folder: Path, objects: int, queries: int, rows: int, count: int
) -> dict[str, tuple[Job, bool]]:
    """The jobs by their names, and whether the merge has a place for its state. Their input is a
    batch of all objects, and so many small ones."""
    (folder / "in").mkdir()
    feed = Feed(Walk.of(objects))
    write_batch(rows_of(feed.take(objects), 0), folder / "in", 0)
    for k in range(1, 1 + count):
        write_batch(rows_of(feed.take(rows), objects + k * rows), folder / "in", k)
    focal = np.random.default_rng(3).permutation(objects)[:queries].tolist()
    made = {}
    for name, text in (("without kNN", ""), ("with kNN", nearest_text(focal))):
        say(f"neighbours: queries, {name}")
        catalog = wl.Catalog(folder / name.split()[0])
        catalog.execute(CARS + POINT)
        add_squares(catalog, queries, 0.0001)
        if text:
            catalog.execute(text)
        made[name] = Job(name, folder, catalog, rows, "cars", SHARDS)
    last = "with kNN, all candidates in each batch"
    jobs = {name: (job, True) for name, job in made.items()}
    return {**jobs, last: (made["with kNN"], False)}
