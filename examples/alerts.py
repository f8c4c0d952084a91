"""`make alerts`: prices of 2,000 symbols on Spark against 20,000 alerts that come and go.

Random walks are written as small files, Spark Structured Streaming reads them, and `wl.changes`
tells when an alert goes on and when it goes off. While it runs, alerts are added and dropped; a
second terminal may do the same (README). It ends by itself: the changes are replayed and compared
with brute force over the last prices, and there is a picture of one symbol with its alert bands and
the moments at which they went on and off.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

import watchline as wl
from examples import live, truth
from watchline.config import Job, SinkConfig, SourceConfig
from watchline.spark import job as jobs
from watchline.spark.sink import committed_files

SECONDS_PER_STEP = 1.0
# Ticks of each symbol in a step, and alerts of each symbol.
TURNS, BANDS = 10, 10
WATCHED = "S7"
DECLARATION = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, ts TIMESTAMP)"
    " OBJECT symbol TIME ts"
)


class Size(NamedTuple):
    symbols: int
    steps: int

    @property
    def alerts(self) -> int:
        return BANDS * self.symbols


FULL, SMALL = Size(2_000, 30), Size(100, 10)


class Band(NamedTuple):
    """An alert: on while the price of its symbol is in [low, high)."""

    symbol: str
    low: float
    high: float
    # When it was added, in microseconds; 0 if before the first price.
    added: int = 0


class Market:
    """Random walks, ten ticks of each symbol a step, as one Parquet file each."""

    def __init__(self, folder: Path, symbols: int, seed: int = 1):
        self._rng = np.random.default_rng(seed)
        self._folder = folder
        self._prices = self._rng.uniform(50, 150, symbols)
        self._names = np.array([f"S{i}" for i in range(symbols)])
        self.start = int(time.time()) * 1_000_000
        self.history: list[tuple[int, float]] = []

    @property
    def prices(self) -> dict[str, float]:
        """The last price of each symbol."""
        return dict(zip(self._names.tolist(), self._prices.tolist(), strict=True))

    def step(self, number: int) -> None:
        moves = self._rng.normal(0, 0.004, (TURNS, len(self._names)))
        walks = self._prices * np.exp(np.cumsum(moves, axis=0))
        self._prices = walks[-1]
        times = self.start + (number * TURNS + np.arange(TURNS)) * 100_000
        watched = int(WATCHED[1:])
        self.history += zip(times.tolist(), walks[:, watched].tolist(), strict=True)
        table = pa.table(
            {
                "symbol": np.tile(self._names, TURNS),
                "price": walks.ravel(),
                "volume": self._rng.integers(1, 1000, walks.size).astype(np.float64),
                "ts": pa.array(np.repeat(times, len(self._names)), pa.timestamp("us", tz="UTC")),
            }
        )
        hidden = self._folder / f".{number:04}.parquet"
        pq.write_table(table, hidden)
        os.rename(hidden, self._folder / f"{number:04}.parquet")


class Alerts:
    """The alerts of the catalog, and the same as plain bands, for brute force and the picture."""

    def __init__(self, catalog: wl.Catalog, size: Size):
        """Ten price bands for each symbol, in one commit."""
        rng = np.random.default_rng(2)
        low = rng.uniform(40, 170, size.alerts)
        high = low + low * rng.uniform(0.002, 0.02, size.alerts)
        ids = [f"alert{i}" for i in range(size.alerts)]
        symbols = [f"S{i % size.symbols}" for i in range(size.alerts)]
        self._catalog = catalog
        catalog.execute(DECLARATION)
        bounds = {"price": (low, high), "symbol": symbols}
        catalog.register_boxes("ticks", ids, bounds, emit="changes")
        bands = map(Band, symbols, low.tolist(), high.tolist())
        self.bands = dict(zip(ids, bands, strict=True))

    def change(self, step: int, market: Market) -> str:
        """Now and then somebody adds an alert around the watched price, or drops one."""
        if step % 6 == 2:
            return self._add(f"user{step}", *market.history[-1])
        if step % 6 == 5:
            dropped = f"alert{step}"
            self._catalog.drop(dropped)
            del self.bands[dropped]
            return f"- {dropped}"
        return ""

    def _add(self, name: str, now: int, price: float) -> str:
        low, high = round(price * 0.998, 2), round(price * 1.004, 2)
        self._catalog.execute(
            f"CREATE QUERY {name} AS SELECT * FROM ticks"
            f" WHERE symbol = '{WATCHED}' AND price >= {low} AND price < {high} EMIT CHANGES"
        )
        self.bands[name] = Band(WATCHED, low, high, now)
        return f"+ {name}: {WATCHED} from {low:.2f} to {high:.2f}"

    def verify(self, changes: pa.Table, market: Market) -> str:
        """Refuse changes that do not lead to the alerts that the last prices put on."""
        answers, prices = truth.replay(changes), market.prices
        on = 0
        for name, band in self.bands.items():
            true = {band.symbol} if band.low <= prices[band.symbol] < band.high else set()
            if answers.get(name, set()) != true:
                raise truth.Disagreement(f"{name}: {answers.get(name)} is told, {true} is true")
            on += len(true)
        return (
            f"{changes.num_rows:,} changes, replayed, give the answers of brute force:"
            f" all {len(self.bands):,} alerts agree ({on:,} are on)"
        )


class Board:
    """What the terminal shows."""

    def __init__(self, catalog: wl.Catalog):
        self._catalog = catalog
        self.batches: list[Any] = []
        self.notes: list[str] = []
        self.samples: list[dict[str, Any]] = []

    @property
    def last(self) -> int:
        return self.batches[-1].batch if self.batches else -1

    def __rich__(self) -> Group:
        rows = sum(p.rows for p in self.batches)
        found = sum(p.results for p in self.batches)
        now = self.batches[-1].metrics.get("answers", 0) if self.batches else 0
        head = Text(
            f"{rows:>10,} rows   {found:>9,} changes   {now:,} of {len(self._catalog.queries()):,}"
            f" alerts on   catalog version {self._catalog.version}",
            style="bold",
        )
        batches = Table("batch", "rows", "changes", "latency", "rows/s", box=None, pad_edge=False)
        for p in self.batches[-6:]:
            batches.add_row(
                str(p.batch),
                f"{p.rows:,}",
                f"{p.results:,}",
                f"{p.seconds * 1e3:,.0f} ms",
                f"{p.rate:,.0f}",
            )
        samples = Table("", "alert", "symbol", "price", "why", box=None, pad_edge=False)
        for c in self.samples[-5:]:
            sign = Text("on", style="green") if c["sign"] > 0 else Text("off", style="red")
            samples.add_row(sign, c["query_id"], c["symbol"], f"{c['price']:.2f}", c["reason"])
        return Group(head, batches, Text(), samples, Text("\n".join(self.notes[-4:]), style="cyan"))


def sample(out: Path, board: Board, seen: set[str]) -> None:
    """A few changes of the newest file the sink has committed."""
    for file in committed_files(str(out))[-1:]:
        if file not in seen:
            seen.add(file)
            changes = pq.read_table(file)
            # What somebody added while this runs is what they look for: show it first.
            added = changes.filter(pc.invert(pc.starts_with(changes["query_id"], "alert")))
            board.samples += pa.concat_tables([added, changes]).slice(0, 2).to_pylist()


def picture(alerts: Alerts, market: Market, changes: pa.Table, path: Path) -> None:
    """One symbol: its price, its alert bands, and when they went on and off."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    changed = changes.filter(pc.equal(changes["symbol"], WATCHED))
    times, prices = map(np.array, zip(*market.history, strict=True))
    figure, axes = pyplot.subplots(figsize=(11, 6))
    axes.plot((times - market.start) / 1e6, prices, color="#334455", linewidth=1.2, label=WATCHED)
    bands = [band for band in alerts.bands.values() if band.symbol == WATCHED]
    for band in bands:
        # A band that was added while the demo ran begins when it was added.
        begin = band.added or market.start
        span = [(t - market.start) / 1e6 for t in (begin, times[-1])]
        axes.fill_between(span, band.low, band.high, alpha=0.15, color="#2277cc", linewidth=0)
    for sign, marker, colour, word in ((1, "^", "#22883a", "on"), (-1, "v", "#cc3322", "off")):
        those = changed.filter(pc.equal(changed["sign"], sign))
        when = those["time"].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        axes.scatter(
            (when - market.start) / 1e6, those["price"].to_numpy(), s=28, marker=marker,
            color=colour, zorder=3, label=f"{those.num_rows:,} × {word}",
        )  # fmt: skip
    title = f"{WATCHED}, its {len(bands)} alert bands, and when they went on and off"
    axes.set(xlabel="seconds", ylabel="price", title=title)
    axes.set_ylim(prices.min() * 0.97, prices.max() * 1.03)
    axes.legend(loc="upper left")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def hint(folder: Path) -> str:
    """What to type into a second terminal."""
    return (
        f".venv/bin/watchline --catalog {os.path.relpath(folder)}/catalog query add mine \\\n"
        f"    \"SELECT * FROM ticks WHERE symbol = '{WATCHED}' AND price > 1 EMIT CHANGES\""
    )


def start(spark: Any, folder: Path) -> Any:
    """The job that `watchline run` would run: files in, changes out."""
    job = Job(
        catalog=str(folder / "catalog"),
        sources={"ticks": SourceConfig("parquet", str(folder / "in"))},
        sink=SinkConfig("parquet", str(folder / "out")),
        checkpoint=str(folder / "checkpoint"),
        emit="changes",
    )
    return jobs.start(spark, job)


def drive(market: Market, alerts: Alerts, query: Any, board: Board, steps: int, out: Path) -> None:
    """Step by step: a file of prices, alerts that come and go, and what Spark has done."""
    seen = set[str]()
    for step in range(1, steps):
        until = time.monotonic() + SECONDS_PER_STEP
        market.step(step)
        if note := alerts.change(step, market):
            board.notes.append(note)
        board.batches += jobs.progress(query, board.last)
        sample(out, board, seen)
        time.sleep(max(0.0, until - time.monotonic()))
    query.processAllAvailable()
    board.batches += jobs.progress(query, board.last)


def run(folder: Path, size: Size, console: Console) -> None:
    say = live.clock(console)
    (folder / "in").mkdir(parents=True)
    catalog = wl.Catalog(folder / "catalog")
    say(
        f"{size.alerts:,} alerts over {size.symbols:,} symbols: about a minute;"
        " the first run compiles kernels, for half a minute more"
    )
    alerts = Alerts(catalog, size)
    say("starting Spark")
    spark = live.spark_for(catalog, "ticks", None, "local[*]", console)
    market = Market(folder / "in", size.symbols)
    market.step(0)
    query = start(spark, folder)
    say("running; add an alert from a second terminal:\n")
    console.print(hint(folder) + "\n", highlight=False, soft_wrap=True)
    board = Board(catalog)
    with Live(board, console=console, refresh_per_second=4, transient=False):
        drive(market, alerts, query, board, size.steps, folder / "out")
    query.stop()
    spark.stop()
    changes = ds.dataset(committed_files(str(folder / "out")), format="parquet").to_table()
    console.print("\n" + alerts.verify(changes, market), highlight=False)
    picture(alerts, market, changes, Path("alerts.png"))
    say(f"the picture of {WATCHED} is in {Path('alerts.png').absolute()}")


def main() -> None:
    given = live.options("alerts").parse_args()
    with live.folder() as folder:
        run(folder, SMALL if given.small else FULL, Console())


if __name__ == "__main__":
    main()
