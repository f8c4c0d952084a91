"""`watchline run` and `watchline replay`."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from typing import Any

import click

from watchline.catalog import Catalog
from watchline.cli.shared import Command, json_option
from watchline.config import Job, load
from watchline.errors import InvalidQuery


@click.command(
    "run",
    cls=Command,
    examples="""
watchline run alerts.toml
watchline run alerts.toml --json | jq .changes
""",
)
@click.argument("file", type=click.Path())
@json_option
def run(file: str, as_json: bool) -> None:
    """Run a stream described in a TOML file until it ends or Ctrl-C.

    \b
    catalog = "my-catalog"          # paths are relative to the file
    stream = "ticks"
    emit = "changes"                # or "matches"; "joins" has [sources.r], [sources.s] instead
    checkpoint = "checkpoint"
    [source]
    format = "parquet"
    path = "in"
    [sink]
    format = "parquet"
    path = "out"
    """
    job = load(file)
    if not job.checkpoint and job.sink.path:
        raise InvalidQuery(f"{file}: 'checkpoint' is missing: a stream into files needs one")
    session = _session(job)
    from watchline.spark import job as spark_job

    # After Spark's start, which installs a handler of its own.
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    query = spark_job.start(session, job)
    click.echo(f"running {', '.join(job.sources)} from {file}; Ctrl-C stops", err=True)
    show = _Display(as_json, job.found)
    last = -1
    while query.isActive and not stop.is_set():
        stop.wait(0.5)
        last = show.batches(spark_job.progress(query, last), last)
    if stop.is_set():
        query.stop()
    show.batches(spark_job.progress(query, last), last)
    if not stop.is_set() and (error := spark_job.failure(query)) is not None:
        show.close()
        raise error
    show.close()
    click.echo(f"{'stopped' if stop.is_set() else 'done'}: {show.summary()}", err=True)


@click.command("replay", cls=Command, examples="watchline replay alerts.toml")
@click.argument("file", type=click.Path())
@json_option
def replay(file: str, as_json: bool) -> None:
    """Run the same over stored data, once, as a batch. The sink must be new."""
    job = load(file)
    session = _session(job)
    from watchline.spark import job as spark_job

    start = time.monotonic()
    count = spark_job.replay(session, job)
    seconds = time.monotonic() - start
    if as_json:
        click.echo(json.dumps({job.found: count, "seconds": round(seconds, 3)}))
    else:
        click.echo(f"{count:,} {job.found} in {seconds:.1f} s")


def _session(job: Job) -> Any:
    """Spark, once everything that can be wrong without it has been checked."""
    catalog = Catalog(job.catalog, create=False)
    for name in job.sources:
        catalog.stream(name)
    from watchline.spark import session

    click.echo("starting Spark", err=True)
    made = session(**{key: str(value) for key, value in job.spark.items()})
    # What goes wrong is reported once, by us; Spark would add pages of stack traces.
    made.sparkContext.setLogLevel("OFF")
    return made


# Counters that are shown where there is something to count.
_SHOWN = (
    *("rejected", "late", "too_fast", "shed", "forgotten", "over_limit"),
    *("unanswered", "waiting"),
)


class _Display:
    """A live line on a terminal, one line per batch into a pipe."""

    def __init__(self, as_json: bool, found: str):
        self._json = as_json
        self._found = found
        self._live = sys.stdout.isatty() and not as_json
        self.rows = self.found = self.count = 0
        self._start = time.monotonic()

    def batches(self, done: list[Any], last: int) -> int:
        for p in done:
            self.rows += p.rows
            self.found += p.found
            self.count += 1
            last = max(last, p.batch)
            self._show(p)
        return last

    def _show(self, p: Any) -> None:
        if self._json:
            told = {"batch": p.batch, "rows": p.rows, self._found: p.found}
            told |= {"seconds": p.seconds, "rows_per_second": round(p.rate)}
            click.echo(json.dumps(told | {k: v for k, v in p.metrics.items() if k not in told}))
            return
        line = (
            f"batch {p.batch:>5}  {p.rows:>9,} rows  {p.found:>9,} {self._found}"
            f"  {p.seconds * 1e3:>7,.0f} ms  {p.rate:>11,.0f} rows/s"
        )
        counts = {name: p.metrics.get(name) or 0 for name in _SHOWN}
        line += "".join(f"  {n:,} {name.replace('_', ' ')}" for name, n in counts.items() if n)
        accuracy = p.metrics.get("accuracy")
        if accuracy is not None and accuracy < 1:
            # Where shadows were forgotten, no more than this is known.
            about = "at least " if p.metrics.get("unknown") else ""
            line += f"  accuracy {about}{100 * accuracy:.1f} %"
            line += f", {100 * p.metrics.get('least', accuracy):.1f} % of the worst query"
        if self._live:
            click.echo(
                f"\r\x1b[2K{line}  total {self.rows:,} rows, {self.found:,} {self._found}", nl=False
            )
        else:
            click.echo(line)

    def close(self) -> None:
        if self._live and self.count:
            click.echo()

    def summary(self) -> str:
        seconds = time.monotonic() - self._start
        rows, found = f"{self.rows:,} rows", f"{self.found:,} {self._found}"
        return f"{rows}, {found}, {self.count:,} batches in {seconds:.1f} s"
