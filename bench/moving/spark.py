"""Moving queries on local Spark, beside the floor of `bench.tracking.experiments`.

The floor's stream has no POINT, so that nothing merges nearest neighbours after it and no row goes
to more than one shard: what those cost counts as ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import watchline as wl
from bench.common.files import write_batch
from bench.common.report import publish, say, table
from bench.matches.experiments import local_spark
from bench.moving.response import CARS, POINT, add_squares, moving_text, rows_of
from bench.moving.world import Feed, Walk
from bench.tracking.experiments import BATCHES, HEADER, ROUNDS, Job, race

SIZE, K = 0.0001, 10
OF_FLOOR = 1.5
SHARDS = (1, 2, 4)


def data(folder: Path, objects: int, rows: int, batches: int) -> None:
    """A batch in a file; each object has its turn."""
    feed = Feed(Walk.of(objects))
    for k in range(batches):
        write_batch(rows_of(feed.take(rows), k * rows), folder, k)


def nearest_text(focal: list[int]) -> str:
    """Half of them around places, half around objects."""
    rng = np.random.default_rng(6)
    clauses = [
        f"kNN ('M', {K}, {who})" if i % 2 else f"kNN ({K}, {rng.random()!r}, {rng.random()!r})"
        for i, who in enumerate(focal)
    ]
    text = "CREATE QUERY n{} AS SELECT * FROM cars {}"
    return ";\n".join(text.format(i, clause) for i, clause in enumerate(clauses))


def catalogs(folder: Path, objects: int, scale: int) -> dict[str, wl.Catalog]:
    """By name: what stays, what moves, what ranks, and all of them."""
    still, moves, nearest = 50_000 // scale, 10_000 // scale, 1_000 // scale
    focal = np.random.default_rng(3).permutation(objects).tolist()
    texts = {
        f"{moves:,} that move": moving_text(focal[:moves], float(np.sqrt(SIZE))),
        f"{nearest:,} × {K} nearest": nearest_text(focal[moves : moves + nearest]),
    }
    found = {f"{still:,} that stay": wl.Catalog(folder / "still")}
    found |= {name: wl.Catalog(folder / f"texts{i}") for i, name in enumerate(texts)}
    found["all of them"] = wl.Catalog(folder / "all")
    for name, catalog in found.items():
        say(f"spark: queries, {name}")
        catalog.execute(CARS + POINT)
        for part, text in texts.items():
            if name in (part, "all of them"):
                catalog.execute(text)
    for name in (f"{still:,} that stay", "all of them"):
        add_squares(found[name], still, SIZE)
    return found


def spark(quick: bool, _: Path) -> Iterator[str]:
    objects, rows, scale = (200, 1_000, 500) if quick else (100_000, 1_000_000, 1)
    yield f"## On Spark: {rows:,} rows a batch, {objects:,} objects, squares of 0.01 %"
    target = 0.0
    with local_spark() as (session, folder):
        (folder / "in").mkdir()
        data(folder / "in", objects, rows, 2 if quick else BATCHES)
        floor = wl.Catalog(folder / "floor")
        floor.execute(CARS)
        made = catalogs(folder, objects, scale)
        # Where it is to be quick, all kinds of queries together, once.
        for name, catalog in list(made.items())[-1 if quick else 0 :]:
            lines: list[list[str]] = []
            for shards in (2,) if target or quick else SHARDS:
                # The setting with a target: as many rounds as in `bench.tracking.experiments`.
                first = shards == 2 and not target
                label = f"{name}, {shards} shard{'s' if shards > 1 else ''}"
                job = Job(label, folder, catalog, rows, "cars", shards, floor)
                done = race(session, job, ROUNDS if first and not quick else 1)
                ratio = publish(f"`wl.changes` / floor, {label}", done.of_floor())
                target = ratio if first else target
                lines += done.lines(label)
                say(f"spark: {lines[-1]}")
            yield table(HEADER, lines)
    met = "yes" if target <= OF_FLOOR else "no"
    line = ["squares that stay, 2 shards, / floor", f"≤ {OF_FLOOR:g}", f"{target:.2f}", met]
    yield table(["target", "wanted", "measured (median)", "met"], [line])
