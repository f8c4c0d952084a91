"""`make demo`: a city of 5,000 vehicles on Spark, and 2,300 standing queries about them.

Taxis, cars, buses and trucks drive on the roads of a town and report every five seconds; where the
real fixes of the taxis of San Francisco lie beside the project, these drive instead. Places are
longitudes and latitudes, and queries count metres. Each tick is a Parquet file; Spark Structured
Streaming reads them, and `wl.changes` tells who enters and leaves fences, convoys that move with a
vehicle, and the five nearest taxis of those who look for one. Queries come and go while it runs; a
second terminal may add some (README). In the end the changes are replayed and compared with brute
force, and there is a map.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console

import watchline as wl
from examples import cabs, live, maps, standing, truth
from examples.board import Board
from examples.land import Land, around
from examples.standing import Ask
from watchline import roads
from watchline.simulate.network import KMH

SHARDS = 2
# Seconds of a tick, by the city's clock and by ours.
INTERVAL, PACE = 5.0, 0.45
# So many ticks may be written that Spark has not read: where it is slow its batches become larger.
AHEAD = 10
# No query comes or goes in the last ticks, so that Spark has rows of all vehicles after that.
QUIET = 20
SEED = 7
KINDS = (
    roads.Kind("car", 130 * KMH, 0.62),
    roads.Kind("taxi", 100 * KMH, 0.06),
    roads.Kind("truck", 80 * KMH, 0.2),
    roads.Kind("bus", 45 * KMH, 0.12),
)
FIRST = (
    "driving through the town, then on Spark: about a minute;"
    " the first run compiles kernels, for another minute"
)
# The middle of the made-up town.
MIDDLE = (-122.44, 37.76)
BOXES, TRUCK_BOXES, CIRCLES, POLYGONS = 1_400, 400, 100, 100
CONVOYS, CUSTOMERS, RANKS = 200, 60, 40


class Size(NamedTuple):
    """How many vehicles drive, and for how many ticks."""

    vehicles: int
    ticks: int

    def part(self, queries: int) -> int:
        """As many queries for each vehicle as the full size has."""
        return max(1, queries * self.vehicles // FULL.vehicles)


FULL, SMALL = Size(5_000, 72), Size(400, 30)


class City:
    """The roads, where every vehicle is at each tick, and the files that Spark reads."""

    def __init__(self, traffic: Traffic, folder: Path, land: Land | None = None):
        self._folder, self._rng = folder, np.random.default_rng(SEED)
        self.network, self.ticks, self.land = traffic.network, list(traffic), land
        # Where people ask about: crossings, or where cabs were.
        roads_ = np.stack([self.network.x, self.network.y], axis=1)
        self.shapes = [] if isinstance(traffic, roads.Traffic) else traffic.neighbourhoods()
        self._spots = roads_ if isinstance(traffic, roads.Traffic) else traffic.spots
        first = self.ticks[0]
        kinds = zip(first["id"].to_pylist(), first["kind"].to_pylist(), strict=True)
        # Those of the first tick by their names.
        self.names = {vehicle: f"{kind.split()[-1]} {vehicle}" for vehicle, kind in kinds}
        # Those who report in every tick.
        stay = set.intersection(*(set(rows["id"].to_pylist()) for rows in self.ticks))
        self.stayers = sorted(stay)

    def write(self, tick: int) -> int:
        """The rows of a tick as a file that appears at once; how many there are."""
        rows = self.rows(tick)
        hidden = self._folder / f".{tick:04}.parquet"
        pq.write_table(rows, hidden)
        os.rename(hidden, self._folder / f"{tick:04}.parquet")
        return int(rows.num_rows)

    def rows(self, tick: int) -> pa.Table:
        """What is reported in a tick."""
        return pa.concat_tables([self.ticks[tick], self._broken(tick), self._delayed(tick)])

    def _broken(self, tick: int) -> pa.Table:
        """A few vehicles report once more, without a place: such rows are rejected."""
        some = self._some_rows(tick, 3)
        return some.set_column(1, some.column_names[1], pa.array(np.full(3, np.nan)))

    def _delayed(self, tick: int) -> pa.Table:
        """A few rows come again, two ticks late."""
        return self._some_rows(max(tick - 2, 0), 2)

    def _some_rows(self, tick: int, count: int) -> pa.Table:
        rows = self.ticks[tick]
        return rows.take(pa.array(self._rng.integers(0, rows.num_rows, count)))

    def places(self, count: int, rng: np.random.Generator) -> standing.Places:
        """Places beside roads, in units of the map."""
        places = self._spots[rng.integers(0, len(self._spots), count)]
        if self.land:
            places = self.land.units(places)
        return places + rng.normal(0, 0.01, (count, 2))

    def some(self, count: int, rng: np.random.Generator, kind: str = "") -> dict[int, str]:
        """Some vehicles of the first tick by name, of one kind or of all."""
        those = [vehicle for vehicle, name in self.names.items() if kind in name]
        drawn = rng.choice(those, count, replace=False).tolist()
        return {vehicle: self.names[vehicle] for vehicle in drawn}

    def traveller(self) -> int:
        """A car that stays, comes far, and ends in the middle of the town."""
        kind = self.land.looking if self.land else "car"
        cars = [vehicle for vehicle in self.stayers if kind in self.names[vehicle]]
        shown = self.ticks[-maps.LAST :]
        begin, end = (_places(rows, cars) for rows in (shown[0], shown[-1]))
        middle, quarter = np.array([[0.5], [0.5]]), np.array([[0.25], [0.25]])
        if self.land:
            begin, end = self.land.units(begin.T).T, self.land.units(end.T).T
            middle, quarter = (np.array([self.land.extent]).T * part for part in (0.5, 0.25))
        far = np.hypot(*(end - begin))
        central = (np.abs(end - middle) < quarter).all(axis=0)
        return cars[int(np.argmax(np.where(central, far, -1.0)))]


def traffic(network: roads.Network, size: Size = FULL) -> roads.Traffic:
    return roads.traffic(network, *size, kinds=KINDS, interval=INTERVAL, phases=5, seed=SEED)


Traffic = Union[roads.Traffic, cabs.SanFrancisco]


def city_of(network: roads.Network | None, size: Size, folder: Path) -> City:
    """Of these roads; without any, the real town if its data is there, else the made-up one."""
    if network is None and cabs.are_there():
        town = cabs.SanFrancisco(size.ticks)
        return City(town, folder, town.land)
    drawn = made_up() if network is None else network
    return City(traffic(drawn, size), folder, around(drawn))


def made_up() -> roads.Network:
    return read_network(None).placed(*MIDDLE)


def _places(rows: pa.Table, vehicles: list[int]) -> standing.Places:
    """x and y of these vehicles, as two rows."""
    at = pc.index_in(pa.array(vehicles), value_set=rows["id"].combine_chunks())
    return np.stack([rows[name].take(at).to_numpy() for name in rows.column_names[1:3]])


def all_asks(city: City, traveller: int, size: Size = FULL) -> list[Ask]:
    rng, part, land = np.random.default_rng(SEED), size.part, city.land
    assert land
    names = city.some(part(CUSTOMERS) - 1, rng, land.looking)
    names[traveller] = city.names[traveller]
    asks = [
        *standing.boxes(city.places(part(BOXES), rng), rng),
        *standing.boxes(city.places(part(TRUCK_BOXES), rng), rng, land.heavy),
        *standing.circles(city.places(part(CIRCLES), rng), rng),
        *([] if city.shapes else standing.polygons(city.places(part(POLYGONS), rng), rng)),
        *standing.convoys(city.some(part(CONVOYS), rng), rng),
        *standing.customers(names, land.wanted),
        *standing.ranks(city.places(part(RANKS), rng), land.wanted),
    ]
    return [*map(land.ask, asks), *city.shapes]


class Visitors:
    """Who registers, drops and replaces queries while all runs, as one does from outside."""

    def __init__(self, catalog: wl.Catalog, asks: dict[str, Ask], city: City, kept: str):
        self._catalog, self._asks, self._city, self._kept = catalog, asks, city, kept
        self._rng = np.random.default_rng(SEED + 1)

    def act(self, tick: int) -> str:
        """What they do at this tick, in words; mostly nothing."""
        if tick % 5 != 3 or tick > len(self._city.ticks) - QUIET:
            return ""
        turns = (self._register, self._drop, self._replace, self._drop)
        return turns[tick // 5 % 4](tick)

    def _register(self, tick: int) -> str:
        ((x, y),) = self._city.places(1, self._rng).tolist()
        land = self._city.land
        assert land
        name = f"district {tick}"
        ask = land.ask(Ask(f"district{tick}", "circle", (x, y, 0.1), land.heavy, name=name))
        self._catalog.execute(ask.statement)
        self._asks[ask.id] = ask
        return f"registered: {ask.id}, {land.heavy}s within a kilometre of a place"

    def _drop(self, tick: int) -> str:
        sort = "convoy" if tick // 5 % 4 == 1 else "fence"
        ask = self._any(sort)
        self._catalog.drop(ask.id)
        del self._asks[ask.id]
        return f"dropped: {ask.id}"

    def _replace(self, tick: int) -> str:
        old = self._any("taxis")
        ask = old._replace(numbers=(3,))
        self._catalog.execute(ask.statement)
        self._asks[ask.id] = ask
        return f"replaced: {ask.id}, now the three nearest {ask.kind}s of {ask.name}"

    def _any(self, sort: str) -> Ask:
        those = [ask for ask in self._asks.values() if ask.id.startswith(sort)]
        those = [ask for ask in those if ask.id != self._kept]
        return those[int(self._rng.integers(len(those)))]


def drive(city: City, visitors: Visitors, stream: live.Stream, board: Board) -> None:
    """Tick by tick: visitors, a file, and what Spark has done with those before."""
    written = 0

    def follow() -> bool:
        batches, changes = stream.news()
        board.add(batches)
        board.tell(changes)
        return written - board.rows <= AHEAD * city.ticks[0].num_rows

    for tick in live.paced(len(city.ticks), PACE, follow):
        if note := visitors.act(tick):
            board.note(note)
        board.tick = tick + 1
        written += city.write(tick)
    stream.finish()
    follow()


def verify(city: City, asks: dict[str, Ask], changes: pa.Table, console: Console) -> truth.Answers:
    answers = truth.replay(changes)
    assert city.land
    fleet = truth.last_positions(city.ticks, city.land.timeout)
    total = truth.check(asks.values(), answers, fleet)
    console.print(
        f"{changes.num_rows:,} changes, replayed, give the answers of brute force over"
        f" {len(fleet.ids):,} vehicles: all {len(asks):,} queries agree ({total:,} in answers)",
        highlight=False,
    )
    return answers


def hint(folder: Path, vehicle: int, wanted: str = "taxi") -> str:
    """What to type into a second terminal."""
    return (
        f".venv/bin/watchline --catalog {os.path.relpath(folder)}/catalog query add mine \\\n"
        f"    \"SELECT * FROM cars WHERE kind = '{wanted}'"
        f" INSIDE CIRCLE ('M', {vehicle}, 500 METERS)\""
    )


def run(folder: Path, network: roads.Network | None, size: Size, console: Console) -> None:
    say = live.clock(console)
    say(FIRST)
    (folder / "in").mkdir(parents=True)
    city = city_of(network, size, folder / "in")
    assert city.land
    traveller = city.traveller()
    asks = {ask.id: ask for ask in all_asks(city, traveller, size)}
    catalog = wl.Catalog(folder / "catalog")
    catalog.execute(city.land.stream)
    standing.register(catalog, list(asks.values()))
    say(f"{len(city.names):,} vehicles, {len(asks):,} queries; starting Spark")
    rows = pa.concat_tables(city.ticks[:2])
    spark = live.spark_for(catalog, "cars", rows, f"local[{SHARDS}]", console)
    stream = live.start(spark, catalog, folder, SHARDS)
    say("running; add a query from a second terminal, what is around one that drives:\n")
    command = hint(folder, traveller, city.land.wanted)
    console.print(command + "\n", highlight=False, soft_wrap=True)
    board = Board(console, asks, size.ticks)
    visitors = Visitors(catalog, asks, city, f"taxis{traveller}")
    with board.shown():
        drive(city, visitors, stream, board)
    stream.stop()
    spark.stop()
    changes = stream.changes()
    answers = verify(city, asks, changes, console)
    scene = maps.Scene(city.network, city.ticks, asks, answers, changes, traveller, city.land)
    maps.still(scene, Path("demo.png"))
    say(f"the map is in {Path('demo.png').absolute()}")
    maps.animation(scene, Path("demo.gif"))
    who = f"{city.names[traveller]} and its nearest {city.land.wanted}s"
    say(f"{who} are in {Path('demo.gif').absolute()}")


def read_network(paths: list[str] | None) -> roads.Network:
    if not paths:
        return roads.town(blocks=24, seed=SEED)
    nodes, edges = (pq.read_table(path) for path in paths)
    if "lon" in nodes.column_names:
        return roads.Network.of(nodes, edges, geography=True)
    return roads.Network.of(nodes, edges)


def given_network(paths: list[str] | None) -> roads.Network | None:
    """Roads on Earth that somebody names."""
    if not paths:
        return None
    network = read_network(paths)
    return network if network.geography else network.placed(*MIDDLE)


def main() -> None:
    parser = live.options("city")
    parser.add_argument(
        "--network", nargs=2, metavar=("NODES", "EDGES"), help="Parquet files of other roads"
    )
    given = parser.parse_args()
    with live.folder() as folder:
        run(folder, given_network(given.network), SMALL if given.small else FULL, Console())


if __name__ == "__main__":
    main()
