"""Selection queries over many attributes: the experiments of the Spatial Join CQ paper (section 7),
databases that join by inequalities, queries that come and go, and Spark.

    python -m bench.spatial
        [figure15|figure16|figure17|table3|threads|peers|dynamic|claims|spark …]
        [--quick] [--runs N] [--figures DIR]

Without a part, all of them. Tables go to standard output, figures to the folder of `--figures`.
`claims` needs the figures and the peers: it measures what has not been measured in the same run.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.common.report import Part, publish, run, table
from bench.matches.experiments import HEADER, Feed, local_spark, setting
from bench.spatial.changes import dynamic
from bench.spatial.claims import claims
from bench.spatial.databases import peers
from bench.spatial.figures import figure15, figure16, figure17
from bench.spatial.table3 import table3
from bench.spatial.threads import threads

ATTRIBUTES = ("a", "b", "c", "d")
# Ranges of this width from -WIDTH on hold a value of [0, 1) with a probability of one in ten: four
# of them one in 10,000.
WIDTH = 1 / 9
OF_FLOOR = 2.0


def spark(quick: bool, _: Path) -> Iterator[str]:
    n, rows = (500, 5_000) if quick else (100_000, 1_000_000)
    yield f"## On Spark: {rows:,} rows a batch"
    with local_spark() as place:
        name = f"{n:,} queries over four attributes"
        result = setting(*place, name, boxes(n), rows, readings())
    yield table(HEADER, result.lines())
    measured = publish(f"`wl.matches` / floor, {name}", result.of_floor("wl.matches"))
    met = "yes" if measured <= OF_FLOOR else "no"
    line = ["`wl.matches` / floor", f"≤ {OF_FLOOR:g}", f"{measured:.2f}", met]
    yield table(["target", "wanted", "measured", "met"], [line])


def boxes(n: int) -> tuple[list[str], dict[str, tuple[np.ndarray, np.ndarray]]]:
    rng = np.random.default_rng(6)
    lo = rng.uniform(-WIDTH, 1, (len(ATTRIBUTES), n))
    bounds = {name: (low, low + WIDTH) for name, low in zip(ATTRIBUTES, lo, strict=True)}
    return [f"q{i}" for i in range(n)], bounds


def readings() -> Feed:
    """Four values of a sensor."""

    def columns(count: int) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(7)
        values = {name: rng.random(count) for name in ATTRIBUTES}
        return {
            "sensor": np.array([f"S{i}" for i in range(1_000)])[np.arange(count) % 1_000]
        } | values

    attributes = ", ".join(f"{name} DOUBLE" for name in ATTRIBUTES)
    create = f"CREATE STREAM readings (sensor STRING, {attributes}, ts TIMESTAMP)"
    return Feed("readings", f"{create} OBJECT sensor TIME ts", columns)


PARTS: dict[str, Part] = {
    "figure15": figure15,
    "figure16": figure16,
    "figure17": figure17,
    "table3": table3,
    "threads": threads,
    "peers": peers,
    "dynamic": dynamic,
    "claims": claims,
    "spark": spark,
}


def main() -> None:
    # The collector, called before each run, need not look at what the imports have made.
    gc.freeze()
    try:
        run("bench.spatial", PARTS)
    finally:
        gc.unfreeze()


if __name__ == "__main__":
    main()
