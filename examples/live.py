"""What the demos on Spark share: a folder that goes again, a pace, a stream that is followed."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from rich.console import Console

import watchline as wl
from watchline.rows import change_schema
from watchline.spark import job as jobs
from watchline.spark.sink import committed_files
from watchline.spark.warming import warmed


def options(name: str) -> argparse.ArgumentParser:
    """What every demo takes: its full size takes a minute or two, its small one is for tests."""
    parser = argparse.ArgumentParser(prog=f"python -m examples.{name}")
    parser.add_argument("--small", action="store_true", help="a tenth of it, in some seconds")
    return parser


def spark_for(
    catalog: wl.Catalog, stream: str, rows: pa.Table | None, master: str, console: Console
) -> Any:
    """A Spark session; beside its start the kernels of the catalog's queries are compiled."""
    with warmed(console, catalog, stream, rows=rows):
        made = wl.session(master, app_name="watchline demo")
    # PySpark's own handler of Ctrl-C calls into the JVM, perhaps in the middle of another call.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return made


@contextmanager
def folder() -> Iterator[Path]:
    """Where a demo has its files; nothing is left of it."""
    made = Path(os.environ.get("WATCHLINE_DEMO", "demo-run")).absolute()
    shutil.rmtree(made, ignore_errors=True)
    # py4j would log a Ctrl-C that comes in a call into the JVM as an error.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        yield made
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def clock(console: Console) -> Callable[[str], None]:
    """A voice that says when it speaks, in seconds from now on."""
    began = time.monotonic()

    def say(text: str) -> None:
        console.print(f"{time.monotonic() - began:5.1f} s  {text}", highlight=False)

    return say


def paced(ticks: int, seconds: float, follow: Callable[[], bool]) -> Iterator[int]:
    """Tick by tick, each so many seconds long, or longer until `follow` says that Spark is not too
    far behind."""
    for tick in range(ticks):
        until = time.monotonic() + seconds
        yield tick
        while not follow() or time.monotonic() < until:
            time.sleep(0.05)


class Stream:
    """A query on Spark, and what of its output has been seen."""

    def __init__(self, query: Any, out: Path, schema: pa.Schema):
        self._query, self._out, self._schema = query, str(out), schema
        self._batch, self._seen = -1, set[str]()

    def news(self) -> tuple[list[jobs.BatchProgress], pa.Table]:
        """The batches that are done since, and changes: at least all of these batches."""
        if failed := jobs.failure(self._query):
            raise failed
        batches = jobs.progress(self._query, self._batch)
        files = []
        if batches:
            self._batch = batches[-1].batch
            files = [file for file in committed_files(self._out) if file not in self._seen]
        self._seen.update(files)
        return batches, self._read(files)

    def changes(self) -> pa.Table:
        """All of them."""
        return self._read(committed_files(self._out))

    def _read(self, files: list[str]) -> pa.Table:
        if not files:
            return self._schema.empty_table()
        return ds.dataset(files, self._schema, format="parquet").to_table()

    def finish(self) -> None:
        """Wait until all rows are processed."""
        self._query.processAllAvailable()

    def stop(self) -> None:
        self._query.stop()


def start(spark: Any, catalog: wl.Catalog, folder: Path, shards: int, **options: Any) -> Stream:
    """The query on Spark: files in, changes out."""
    declared = catalog.stream("cars")
    reader = spark.readStream.schema(jobs.schema_of(declared)).options(**options)
    rows = reader.parquet(str(folder / "in"))
    changes = wl.changes(rows, catalog, "cars", shards=shards, state=folder / "state")
    query = (
        changes.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start(str(folder / "out"))
    )
    return Stream(query, folder / "out", change_schema(declared))
