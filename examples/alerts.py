"""`make alerts`: prices of 2,000 symbols on Spark against 20,000 alerts that come and go.

Random walks are written as small files, Spark Structured Streaming reads them, and `wl.changes`
tells when an alert goes on and when it goes off. While it runs, alerts are added and dropped; a
second terminal may do the same (README). It ends by itself and leaves a picture of one symbol with
its alert bands and the moments at which they went on and off.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

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
from watchline.model import InRange
from watchline.spark.sink import committed_files

SYMBOLS, ALERTS, STEPS, ROWS = 2_000, 20_000, 30, 20_000
SECONDS_PER_STEP = 1.0
WATCHED = "S7"
DECLARATION = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, ts TIMESTAMP)"
    " OBJECT symbol TIME ts"
)


class Market:
    """Random walks, ten ticks of each symbol a step, as one Parquet file each."""

    def __init__(self, folder: Path, seed: int = 1):
        self._rng = np.random.default_rng(seed)
        self._folder = folder
        self._prices = self._rng.uniform(50, 150, SYMBOLS)
        self._names = np.array([f"S{i}" for i in range(SYMBOLS)])
        self.start = int(time.time()) * 1_000_000
        self.history: list[tuple[int, float]] = []
        self.added: dict[str, int] = {}

    def step(self, number: int) -> None:
        turns = ROWS // SYMBOLS
        moves = self._rng.normal(0, 0.004, (turns, SYMBOLS))
        walks = self._prices * np.exp(np.cumsum(moves, axis=0))
        self._prices = walks[-1]
        times = self.start + (number * turns + np.arange(turns)) * 100_000
        watched = int(WATCHED[1:])
        self.history += zip(times.tolist(), walks[:, watched].tolist(), strict=True)
        table = pa.table(
            {
                "symbol": np.tile(self._names, turns),
                "price": walks.ravel(),
                "volume": self._rng.integers(1, 1000, ROWS).astype(np.float64),
                "ts": pa.array(np.repeat(times, SYMBOLS), pa.timestamp("us", tz="UTC")),
            }
        )
        hidden = self._folder / f".{number:04}.parquet"
        pq.write_table(table, hidden)
        os.rename(hidden, self._folder / f"{number:04}.parquet")


def register_alerts(catalog: wl.Catalog) -> None:
    """Ten price bands for each symbol, in one commit."""
    rng = np.random.default_rng(2)
    middle = rng.uniform(40, 170, ALERTS)
    width = middle * rng.uniform(0.002, 0.02, ALERTS)
    catalog.execute(DECLARATION)
    catalog.register_boxes(
        "ticks",
        [f"alert{i}" for i in range(ALERTS)],
        {"price": (middle, middle + width), "symbol": [f"S{i % SYMBOLS}" for i in range(ALERTS)]},
        emit="changes",
    )


def warm_up(catalog: wl.Catalog) -> None:
    """One row in this process: what it compiles, Spark's workers find on disk."""
    row = {"symbol": [WATCHED], "price": [1.0], "volume": [1.0], "ts": [0]}
    schema = pa.schema(
        [
            ("symbol", pa.string()),
            ("price", pa.float64()),
            ("volume", pa.float64()),
            ("ts", pa.timestamp("us", "UTC")),
        ]
    )
    wl.Tracker(catalog, "ticks").process(pa.table(row, schema=schema))


def change_alerts(catalog: wl.Catalog, step: int, market: Market) -> str:
    """Now and then somebody adds an alert around the watched price, or drops one."""
    if step % 6 == 2:
        now, price = market.history[-1]
        market.added[f"user{step}"] = now
        low, high = price * 0.998, price * 1.004
        catalog.execute(
            f"CREATE QUERY user{step} AS SELECT * FROM ticks"
            f" WHERE symbol = '{WATCHED}' AND price BETWEEN {low:.2f} AND {high:.2f} EMIT CHANGES"
        )
        return f"+ user{step}: {WATCHED} between {low:.2f} and {high:.2f}"
    if step % 6 == 5:
        catalog.drop(f"alert{step}")
        return f"- alert{step}"
    return ""


class Board:
    """What the terminal shows."""

    def __init__(self, catalog: wl.Catalog):
        self._catalog = catalog
        self.batches: list[Any] = []
        self.notes: list[str] = []
        self.samples: list[dict[str, Any]] = []

    def __rich__(self) -> Group:
        rows = sum(p.rows for p in self.batches)
        found = sum(p.found for p in self.batches)
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
                f"{p.found:,}",
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


def picture(catalog: wl.Catalog, market: Market, out: Path, path: Path) -> None:
    """One symbol: its price, its alert bands, and when they went on and off."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    files = ds.dataset(committed_files(str(out)), format="parquet")
    changed = files.to_table(filter=ds.field("symbol") == WATCHED)
    times, prices = map(np.array, zip(*market.history, strict=True))
    figure, axes = pyplot.subplots(figsize=(11, 6))
    axes.plot((times - market.start) / 1e6, prices, color="#334455", linewidth=1.2, label=WATCHED)
    bands = [q for q in catalog.queries() if f"'{WATCHED}'" in q.sql]
    for query in bands:
        band = next(a.range for a in query.where[0].atoms if isinstance(a, InRange))
        # A band that was added while the demo ran begins when it was added.
        begin = market.added.get(query.id, market.start)
        span = [(t - market.start) / 1e6 for t in (begin, times[-1])]
        axes.fill_between(span, band.lo, band.hi, alpha=0.15, color="#2277cc", linewidth=0)
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


def run(folder: Path, console: Console) -> None:
    from watchline.config import Job, Sink, Source
    from watchline.spark import job as jobs

    (folder / "in").mkdir(parents=True)
    catalog = wl.Catalog(folder / "catalog")
    console.print(f"registering {ALERTS:,} alerts over {SYMBOLS:,} symbols")
    register_alerts(catalog)
    console.print("compiling the kernels, the first time only")
    warm_up(catalog)
    console.print("starting Spark")
    spark = wl.session("local[*]", app_name="watchline alerts")
    market = Market(folder / "in")
    market.step(0)
    job = Job(
        str(folder / "catalog"),
        "ticks",
        Source("parquet", str(folder / "in")),
        Sink("parquet", str(folder / "out")),
        str(folder / "checkpoint"),
        emit="changes",
    )
    query = jobs.start(spark, job)
    console.print("running; add an alert from a second terminal:")
    console.print(
        f"  .venv/bin/watchline --catalog {os.path.relpath(folder)}/catalog query add mine"
        f" \"SELECT * FROM ticks WHERE symbol = '{WATCHED}' AND price > 1 EMIT CHANGES\"\n",
        soft_wrap=True,
        highlight=False,
    )
    board, seen = Board(catalog), set[str]()
    with Live(board, console=console, refresh_per_second=4, transient=False):
        for step in range(1, STEPS):
            until = time.monotonic() + SECONDS_PER_STEP
            market.step(step)
            if note := change_alerts(catalog, step, market):
                board.notes.append(note)
            last = board.batches[-1].batch if board.batches else -1
            board.batches += jobs.progress(query, last)
            sample(folder / "out", board, seen)
            threading.Event().wait(max(0.0, until - time.monotonic()))
        query.processAllAvailable()
        board.batches += jobs.progress(query, board.batches[-1].batch if board.batches else -1)
    query.stop()
    spark.stop()
    target = Path("alerts.png")
    picture(catalog, market, folder / "out", target)
    console.print(f"\nthe picture of {WATCHED} is in {target.absolute()}")


def main() -> None:
    folder = Path(os.environ.get("WATCHLINE_DEMO", "demo-run")).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        run(folder, Console())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
