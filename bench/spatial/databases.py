"""Databases and data frames that join by inequalities, beside `spatialjoin`.

Queries are a table with a lower and an upper bound for each attribute, rows another; both are in
the rival's own memory before the clock starts. A run gives all pairs (row, id) as an Arrow table.
The rivals use all threads they want:

* DuckDB: `JOIN … ON x0 >= lo0 AND x0 < hi0 AND …`; its plan names the operator.
* Polars: `join_where` with the same conditions, by both of its engines.

They have no index that outlives a batch, so `spatialjoin` also runs with its index built anew.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa

import watchline as wl
from bench.common.report import (
    NOT_INSTALLED,
    amount,
    attempt,
    failure_row,
    once_a_run,
    publish,
    table,
)
from bench.common.workloads import Workload
from bench.indexes.peers import Contestant, Pairs, own
from bench.indexes.race import Entry, raced
from bench.spatial.race import OURS
from bench.spatial.selections import workload
from watchline.kernels.arrays import Doubles

# Queries and rows: what the rivals can do in seconds and in a few GiB.
SIZES = ((10_000, 2_000), (100_000, 500))
QUICK = ((200, 50),)
RIVALS = ("DuckDB", "Polars")


@dataclass(frozen=True)
class Peers:
    """One size: what was raced, and how DuckDB joins."""

    w: Workload
    entries: list[Entry]
    lost: list[str]
    operator: str

    def times(self, rival: str) -> float:
        """How many times as long the rival, in its fastest way, takes as ours with one thread."""
        found = [min(e.seconds) for e in self.entries if e.who.name.startswith(rival)]
        return min(found, default=math.nan) / min(self.entries[0].seconds)


@once_a_run
def measured(attributes: int, n: int, rows: int) -> Peers:
    w = workload(n, attributes, rows)
    every = numba.config.NUMBA_NUM_THREADS
    everyone = [ours(1), ours(every), built_anew(), _duckdb(), _polars("in-memory")]
    done = raced(w, [*everyone, _polars("streaming")])
    numba.set_num_threads(1)
    operator = attempt("DuckDB", partial(_operator, w)) or "–"
    return Peers(w, done.entries, done.lost, operator)


def peers(quick: bool, _: Path) -> Iterator[str]:
    yield "## Databases that join by inequalities"
    for attributes in (4, 8):
        for n, rows in QUICK if quick else SIZES:
            found = measured(attributes, n, rows)
            pairs = len(found.entries[0].call().ids)
            yield f"### {found.w.name}, {rows:,} rows, {pairs / rows:,.1f} matches a row"
            header = ["who", "best / median", "µs a row", "× ours, 1 thread", "build"]
            lost = [failure_row(who, len(header)) for who in found.lost]
            yield table(header, [*lines(found), *lost])
            for rival in RIVALS:
                publish(f"{rival} / {OURS}, 1 thread, {found.w.name}", found.times(rival))
            yield f"DuckDB joins by {found.operator}. All found the same {pairs:,} pairs."
    yield (
        f"DuckDB {_version('duckdb')}, Polars {_version('polars')}, with as many threads as they"
        " want. × ours: of the time of the first row, for the same rows and queries. Build: of the"
        " index, or of the tables in the rival's own memory; not in the times, except where it says"
        " so."
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return NOT_INSTALLED


def lines(found: Peers) -> Iterator[list[str]]:
    first = min(found.entries[0].seconds)
    for entry in found.entries:
        best = min(entry.seconds)
        yield [
            entry.who.name,
            f"{amount(best)} / {amount(statistics.median(entry.seconds))}",
            f"{best / entry.points * 1e6:,.2f}",
            f"{best / first:.2f}",
            amount(entry.built) if entry.who.name != built_anew().name else "",
        ]


# --- ours


def ours(threads: int) -> Contestant:
    def prepare(index: wl.index.Index, points: Doubles) -> Callable[[], Any]:
        def call() -> wl.index.Matches:
            numba.set_num_threads(threads)
            return index.stab(points)

        return call

    how = "1 thread" if threads == 1 else f"{threads} threads"
    return replace(own(OURS, how), prepare=prepare)


def built_anew() -> Contestant:
    def prepare(w: Workload, points: Doubles) -> Callable[[], Any]:
        def call() -> wl.index.Matches:
            numba.set_num_threads(1)
            return wl.index.build(OURS, w.lo, w.hi).stab(points)

        return call

    name = f"`{OURS}`, 1 thread, index built for each batch"
    return Contestant(name, lambda w: w, prepare, lambda w, found: (found.rows(), found.ids))


# --- rivals


def _tables(w: Workload) -> tuple[pa.Table, pa.Table]:
    """Queries and rows."""
    dims = range(w.lo.shape[1])
    queries: dict[str, Any] = {"id": np.arange(len(w.lo), dtype=np.int32)}
    for i in dims:
        queries |= {f"lo{i}": w.lo[:, i], f"hi{i}": w.hi[:, i]}
    rows: dict[str, Any] = {"row": np.arange(len(w.points), dtype=np.int32)}
    return pa.table(queries), pa.table(rows | {f"x{i}": w.points[:, i] for i in dims})


def _pairs(_: Any, found: pa.Table) -> Pairs:
    return found["row"].to_numpy(), found["id"].to_numpy()


def _connection(w: Workload) -> Any:
    import duckdb

    connection = duckdb.connect()
    for name, content in zip(("queries", "rows"), _tables(w), strict=True):
        connection.register("given", content)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        connection.unregister("given")
    return connection


def _sql(dims: int) -> str:
    conditions = (f"x{i} >= lo{i} AND x{i} < hi{i}" for i in range(dims))
    return f'SELECT "row", id FROM rows JOIN queries ON {" AND ".join(conditions)}'


def _duckdb() -> Contestant:
    def prepare(connection: Any, points: Doubles) -> Callable[[], Any]:
        sql = _sql(points.shape[1])
        return lambda: connection.sql(sql).to_arrow_table()

    return Contestant("DuckDB", _connection, prepare, _pairs)


def _operator(w: Workload) -> str:
    """What DuckDB's plan calls the join."""
    plan = _connection(w).execute(f"EXPLAIN {_sql(w.points.shape[1])}").fetchall()
    # In capitals up to version 1, then the title of a frame.
    named = re.findall(r"─ ([\w ]+ Join) ─|(\w+_JOIN)", plan[0][1])
    return ", ".join(new or old for new, old in named)


def _polars(engine: Any) -> Contestant:
    def build(w: Workload) -> Any:
        import polars as pl

        return [pl.DataFrame(pl.from_arrow(content)).lazy() for content in _tables(w)]

    def prepare(frames: Any, points: Doubles) -> Callable[[], Any]:
        import polars as pl

        queries, rows = frames
        conditions = []
        for i in range(points.shape[1]):
            x = pl.col(f"x{i}")
            conditions += [x >= pl.col(f"lo{i}"), x < pl.col(f"hi{i}")]
        joined = rows.join_where(queries, *conditions).select("row", "id")
        return lambda: joined.collect(engine=engine).to_arrow()

    return Contestant(f"Polars, {engine}", build, prepare, _pairs)
