"""`make burst`: a match ends, 6,000 cars leave the stadium at once, and memory stays in bounds.

3,000 vehicles drive through the town, and 716 standing queries look at them; at most 3,000 objects
may be kept. When the match ends three times as many vehicles report. Those that few queries look at
are given up: answers become less accurate, Watchline says how much, and no query has less than it
demands. When the crowd is home all answers are whole again. Each batch is compared with brute force
while it runs. A second terminal may add queries (README).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
from rich.console import Console

import watchline as wl
from examples import city, crowd, live, standing, timeline
from examples.audit import Audit, Integers
from examples.crowd import Evening
from examples.gauges import Gauges, Load
from examples.standing import Ask
from watchline.rows.sharding import shards_of

SHARDS = 2
# Seconds of a tick by our clock, and how many may be written that Spark has not read.
PACE, AHEAD = 0.8, 2
# After so many ticks every vehicle has reported since all queries began.
SETTLED = round(standing.TIMEOUT / crowd.INTERVAL)


def declaration(evening: Evening) -> str:
    """The stream: only what queries look at is kept, and in each shard its part of the bound."""
    return (
        f"{standing.STREAM} MAX SPEED {evening.top_speed!r}"
        f" RETAIN SIGNIFICANT MAX OBJECTS {evening.size.bound // SHARDS} SHED OBJECTS"
    )


def without_bound(catalog: wl.Catalog, evening: Evening) -> Load:
    """What would be kept if there were room."""
    roomy = wl.Tracker(catalog, "cars", max_objects=10**9)
    objects, size = [], []
    for rows in evening.ticks:
        roomy.process(rows)
        objects.append(roomy.stats()["objects"])
        size.append(roomy.stats()["bytes"])
    return Load(evening.size.bound, objects, size)


def shards(vehicles: Integers) -> Integers:
    return shards_of(pa.array(vehicles), SHARDS)


class Watch:
    """Follows the stream: the audit first, then what is shown."""

    def __init__(
        self, stream: live.Stream, audit: Audit, board: Gauges, catalog: wl.Catalog, bound: int
    ):
        self._stream, self._audit, self._board = stream, audit, board
        self._catalog, self._version = catalog, catalog.version
        self.written = 0
        self._bound = bound

    def follow(self) -> bool:
        """What is new; whether the next tick may be written."""
        batches, changes = self._stream.news()
        self._audit.hear(changes)
        for batch in batches:
            if batch.rows:
                self._audit.step(batch.metrics, self._catalog.version == self._version)
                self._tell_turns()
                self._board.add([batch])
        self._board.tell(changes)
        return self.behind < AHEAD

    @property
    def behind(self) -> int:
        return self.written - len(self._audit.moments)

    def _tell_turns(self) -> None:
        """When it becomes too much, and when it is over."""
        *before, now = self._audit.moments
        was = before[-1].given_up if before else 0
        if now.given_up and not was:
            self._board.note(
                f"more than {self._bound:,}: objects that few queries look at are given up"
            )
        if was and not now.given_up:
            self._board.note("there is room for all again: every answer is whole")


def drive(evening: Evening, watch: Watch, stream: live.Stream, board: Gauges) -> None:
    for tick in live.paced(evening.size.ticks, PACE, watch.follow):
        if tick == evening.size.whistle:
            board.note(f"the match is over: {evening.fans:,} cars leave the stadium")
        board.tick = tick + 1
        evening.write(tick)
        watch.written += 1
    stream.finish()
    # Spark tells of a batch a little after it is done.
    while watch.behind:
        watch.follow()
        time.sleep(0.05)


def report(audit: Audit, load: Load, asks: dict[str, Ask], console: Console) -> None:
    """What was found, once all of it has been compared. Other queries than ours count in what is
    stated, so that is compared until they come."""
    end = audit.finish()
    peak = max(range(len(load.objects)), key=load.objects.__getitem__)
    least = min(audit.moments, key=lambda moment: moment.stated)
    console.print(
        f"at the peak {load.objects[peak]:,} objects would have been kept, and"
        f" {max(moment.kept for moment in audit.moments):,} were; accuracy fell to"
        f" {100 * least.stated:.1f} % in tick {least.tick + 1} and came back to"
        f" {100 * audit.moments[-1].stated:.0f} %\n"
        f"{audit.followed:,} changes, followed one by one: in {audit.compared} batches the accuracy"
        " that is stated is the one that brute force counts, no answer had a vehicle too many,"
        f" and {sum(bool(ask.accuracy) for ask in asks.values())} queries had what they demand;"
        f" in the end {end}",
        highlight=False,
    )


def hint(folder: Path) -> str:
    """What to type into a second terminal."""
    x, y = crowd.STADIUM
    return (
        f".venv/bin/watchline --catalog {os.path.relpath(folder)}/catalog query add mine \\\n"
        f'    "SELECT * FROM cars INSIDE CIRCLE ({x}, {y}, 0.05) ACCURACY 0.8"'
    )


def run(folder: Path, size: crowd.Size, console: Console) -> None:
    say = live.clock(console)
    say(city.FIRST)
    (folder / "in").mkdir(parents=True)
    evening = Evening(city.read_network(None), folder / "in", size)
    asks = {ask.id: ask for ask in crowd.all_asks(evening)}
    catalog = wl.Catalog(folder / "catalog")
    catalog.execute(declaration(evening))
    standing.register(catalog, list(asks.values()))
    say(
        f"{size.vehicles:,} vehicles, {len(asks):,} queries, room for {size.bound:,} objects;"
        " starting Spark"
    )
    # Rows of the crowd too, so that the rehearsal has more objects than there is room for.
    rows = pa.concat_tables([evening.ticks[0], evening.ticks[size.whistle + size.leaving]])
    spark = live.spark_for(catalog, "cars", rows, f"local[{SHARDS}]", console)
    load = without_bound(catalog, evening)
    stream = live.start(spark, catalog, folder, SHARDS, maxFilesPerTrigger=1)
    say("running; ask from a second terminal who is at the stadium, and demand 80 % of it:\n")
    console.print(hint(folder) + "\n", highlight=False, soft_wrap=True)
    audit = Audit(asks.values(), evening.ticks, shards, SETTLED)
    board = Gauges(console, asks, audit.moments, load)
    watch = Watch(stream, audit, board, catalog, size.bound)
    with board.shown():
        drive(evening, watch, stream, board)
    stream.stop()
    spark.stop()
    report(audit, load, asks, console)
    timeline.picture(evening, asks, audit, load, Path("burst.png"))
    say(f"the evening is in {Path('burst.png').absolute()}")


def main() -> None:
    given = live.options("burst").parse_args()
    with live.folder() as folder:
        run(folder, crowd.SMALL if given.small else crowd.FULL, Console())


if __name__ == "__main__":
    main()
