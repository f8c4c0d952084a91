"""`make tour`: a tour of what is registered, how it is understood, and which rows it matches."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

import watchline as wl
from watchline.evaluate import satisfies
from watchline.rows.columns import Columns

SCRIPT = """\
CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, ts TIMESTAMP)
       OBJECT symbol TIME ts;
CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, kind STRING, ts TIMESTAMP)
       OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 90 SECONDS;
CREATE QUERY cheap    AS SELECT * FROM ticks WHERE symbol = 'IBM' AND price < 40;
CREATE QUERY odd      AS SELECT * FROM ticks WHERE NOT price BETWEEN 5 AND 900 OR volume >= 1e6;
CREATE QUERY downtown AS SELECT * FROM cars  WHERE kind = 'truck' INSIDE (0.2, 0.3, 0.4, 0.5);
CREATE QUERY taxis    AS SELECT * FROM cars  WHERE kind = 'taxi' kNN (5, 0.3, 0.7);
"""
WRONG = "CREATE QUERY oops AS SELECT * FROM ticks WHERE symbol = 'IBM' AND prise < 40"


def tour(folder: Path, console: Console) -> None:
    console.rule("streams and queries, in one commit")
    catalog = wl.Catalog(folder / "catalog")
    console.print(Syntax(SCRIPT, "sql", background_color="default", word_wrap=True))
    catalog.execute(SCRIPT)
    console.print(f"version {catalog.version}: {len(catalog.queries())} queries\n")

    console.rule("how Watchline understands one of them")
    console.print(catalog.explain("odd") + "\n", highlight=False)

    console.rule("a mistake")
    try:
        catalog.execute(WRONG)
    except wl.QuerySyntaxError as error:
        console.print(f"[red]{error}[/red]\n", highlight=False)

    console.rule("a million price bands, in one commit")
    n = 1_000_000
    rng = np.random.default_rng(7)
    lo = rng.uniform(1, 1000, n)
    ids = [f"band{i}" for i in range(n)]
    start = time.perf_counter()
    catalog.register_boxes("ticks", ids, {"price": (lo, lo * 1.01)})
    took = time.perf_counter() - start
    start = time.perf_counter()
    total = len(wl.Catalog(folder / "catalog").queries())
    again = time.perf_counter() - start
    console.print(
        f"registered in {took:.1f} s; another process reads all {total:,} in {again:.2f} s\n"
    )

    console.rule("rows against the queries")
    matches(catalog, console)

    console.rule("every version stays")
    catalog.execute("DROP QUERY odd")
    for version in range(1, catalog.version + 1):
        console.print(f"  version {version}: {len(catalog.queries(version)):>9,} queries")


def matches(catalog: wl.Catalog, console: Console) -> None:
    """Four rows and the SQL queries they satisfy; NULL and NaN fail what asks for a value."""
    ticks = pa.table(
        {
            "symbol": ["IBM", "IBM", "ACME", None],
            "price": [39.5, 40.0, 950.0, float("nan")],
            "volume": [1e3, 1e3, 1e3, 2e6],
        }
    )
    stream = catalog.stream("ticks")
    table = Table("symbol", "price", "volume", "satisfies", box=None)
    columns = Columns(ticks, stream)
    queries = [entry.query for entry in catalog.queries().on("ticks").entries.values()]
    masks = {q.id: satisfies(q, columns, stream) for q in queries}
    for i, row in enumerate(ticks.to_pylist()):
        found = ", ".join(name for name, mask in masks.items() if mask[i])
        table.add_row(str(row["symbol"]), str(row["price"]), str(row["volume"]), found or "-")
    console.print(table)
    console.print()


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="watchline-demo-"))
    try:
        tour(folder, Console())
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
