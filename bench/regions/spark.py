"""Points against polygons on local Spark: `wl.matches`, beside boxes of the same areas and beside
the broadcast join of Apache Sedona, if that is installed.

All have their points in memory and throw their pairs away. Sedona collects its polygons, makes a
tree of them and broadcasts it in each run; our workers keep an index from the first run on. What
that run took is told of polygons only: boxes go first, when the workers start, and a JVM compiles
in its first runs. Processor time, of the JVM and all processes, is told besides: where others use
the machine a wall clock measures the neighbours, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

import watchline as wl
from bench.common.report import (
    amount,
    attempt,
    failure_row,
    in_turn,
    number,
    publish,
    require_same,
    say,
    spread,
    table,
)
from bench.matches.experiments import Feed, fingerprint, local_spark, timing
from bench.regions.sedona import INSTALLER, Sedona, installed
from bench.regions.world import Setting, even
from bench.tracking.processor import processor_seconds

POLYGONS, BOXES, SEDONA = "`wl.matches`, polygons", "`wl.matches`, boxes", "Sedona, polygons"
HEADER = [
    "setting", "who", "time", "rows/s", "× polygons", "processor", "× polygons", "first run",
    "matches a row",
]  # fmt: skip
ROUNDS = 3
VERTICES = (12, 61)
CREATE = (
    "CREATE STREAM places (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)
# The shortest processor time that the system tells.
TICK = 0.01
# At least so many times as fast as Sedona, and at most so many times as long as boxes.
OF_SEDONA, OF_BOXES = 5.0, 1.5


@dataclass
class Contestant:
    """A job: what runs it once, the processor time that it has taken so far, the number and the
    checksum of its pairs, and the seconds of its runs, by the clock and of the processor."""

    run: Callable[[], float]
    processor: Callable[[], float]
    answer: tuple[int, int]
    first: float
    seconds: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)

    def more(self) -> None:
        """Run it once more."""
        before = self.processor()
        self.seconds.append(self.run())
        self.worked.append(self.processor() - before)

    def times(self, other: Contestant | None) -> tuple[float, float]:
        """How many times as long as another it takes, by the clock and of the processor."""
        if other is None:
            return math.nan, math.nan
        worked = min(self.worked) / max(min(other.worked), TICK)
        return min(self.seconds) / min(other.seconds), worked


def spark(quick: bool) -> Iterator[str]:
    """Ours and Sedona's times for each number of polygons."""
    rows, sizes = (2_000, (100,)) if quick else (1_000_000, (10_000, 50_000))
    vertices = f"{VERTICES[0]} to {VERTICES[1] - 1} vertices"
    yield f"## On Spark: {rows:,} points, polygons of {vertices}"
    lines: list[list[str]] = []
    targets: list[list[str]] = []
    with local_spark() as (session, folder):
        for count in sizes:
            place = folder / str(count)
            place.mkdir()
            raced = race(session, place, even(count, VERTICES, rows), 1 if quick else ROUNDS)
            lines += lines_of(f"{count:,} polygons", raced, rows)
            targets += targets_of(f"{count:,} polygons", raced)
    yield table(HEADER, lines)
    yield table(["target", "wanted", "measured", "processor time", "met"], targets)


def race(session: Any, place: Path, made: Setting, rounds: int) -> dict[str, Contestant]:
    """All that get through, which have found the same pairs in the same polygons."""
    say(f"spark: {made.name}")
    ids = [f"q{i}" for i in range(len(made.shapes))]
    points, regions = place / "points.parquet", place / "regions.parquet"
    Feed("places", CREATE, lambda _: columns(made.points)).write(points, len(made.points))
    pq.write_table(pa.table({"query_id": ids, "wkb": shapely.to_wkb(made.shapes)}), regions)
    df = session.read.parquet(str(points)).cache()
    df.count()
    # Boxes first: the first run of all starts the workers, and that of polygons is to be told.
    catalogs = {BOXES: wl.Catalog(place / "boxes"), POLYGONS: wl.Catalog(place / "polygons")}
    for catalog in catalogs.values():
        catalog.execute(CREATE)
    catalogs[POLYGONS].register_regions("places", ids, made.shapes, emit="matches")
    catalogs[BOXES].register_boxes("places", ids, boxes(made.shapes), emit="matches")
    with ExitStack() as cleanup:
        cleanup.callback(df.unpersist)
        found = {
            who: ours(session, wl.matches(df, each, "places")) for who, each in catalogs.items()
        }
        if installed():
            files = (points, regions, place / "sedona.log")
            start = partial(sedonas, cleanup, files, found[POLYGONS].answer)
            if (rival := attempt(SEDONA, start)) is not None:
                found[SEDONA] = rival
        take_turns(found, rounds)
    return found


def columns(points: Any) -> dict[str, Any]:
    return {"id": np.arange(len(points)), "x": points[:, 0], "y": points[:, 1]}


def boxes(shapes: Any) -> dict[str, Any]:
    """A square of the same area around the centroid of each polygon: as many matches."""
    centres = shapely.get_coordinates(shapely.centroid(shapes))
    reach = np.sqrt(shapely.area(shapes)) / 2
    return {
        name: (centres[:, dim] - reach, centres[:, dim] + reach) for dim, name in enumerate("xy")
    }


def ours(session: Any, df: Any) -> Contestant:
    job = timing(df)
    first = job()[0]
    processor = partial(processor_seconds, session)
    return Contestant(lambda: job()[0], processor, fingerprint(df), first)


def sedonas(cleanup: ExitStack, files: tuple[Path, Path, Path], expected: Any) -> Contestant:
    """Sedona, if it finds the same pairs; two runs do not count."""
    program = Sedona(*files)
    cleanup.callback(program.close)
    answer = program.pairs()
    require_same(answer, expected)
    return Contestant(program.run, program.processor_seconds, answer, program.run())


def take_turns(found: dict[str, Contestant], rounds: int) -> None:
    """Let each run so often; who fails is taken out."""
    for turn in range(rounds):
        for who in in_turn(list(found), turn):
            before = len(found[who].worked)
            attempt(who, found[who].more)
            if len(found[who].worked) == before:
                del found[who]


def lines_of(name: str, found: dict[str, Contestant], rows: int) -> Iterator[list[str]]:
    for who in (POLYGONS, BOXES, SEDONA):
        setting = name if who == POLYGONS else ""
        if who in found:
            one = found[who]
            clock, worked = one.times(found.get(POLYGONS))
            yield [
                setting, who, spread(one.seconds), f"{rows / min(one.seconds):,.0f}",
                number(clock, ".2f"), spread(one.worked), number(worked, ".2f"),
                amount(one.first) if who == POLYGONS else "", f"{one.answer[0] / rows:.2f}",
            ]  # fmt: skip
        elif who == SEDONA and not installed():
            skipped = f"{SEDONA}: not installed, skipped; `{INSTALLER}` installs it"
            yield [setting, skipped, *[""] * (len(HEADER) - 2)]
        else:
            yield [setting, *failure_row(who, len(HEADER) - 1)]


def targets_of(setting: str, found: dict[str, Contestant]) -> Iterator[list[str]]:
    of, sedona, squares = (found.get(who) for who in (POLYGONS, SEDONA, BOXES))
    if of and sedona:
        name, ratios = f"Sedona / polygons, {setting}", sedona.times(of)
        yield [name, f"≥ {OF_SEDONA:g}", *judged(name, ratios, ratios[0] >= OF_SEDONA)]
    if of and squares:
        name, ratios = f"polygons / boxes, {setting}", of.times(squares)
        yield [name, f"≤ {OF_BOXES:g}", *judged(name, ratios, ratios[0] <= OF_BOXES)]


def judged(name: str, ratios: tuple[float, float], met: bool) -> list[str]:
    """The last cells of a target, whose ratios are published."""
    clock, worked = publish(name, ratios[0]), publish(f"{name}, processor time", ratios[1])
    return [f"{clock:.2f}", f"{worked:.2f}", "yes" if met else "no"]
