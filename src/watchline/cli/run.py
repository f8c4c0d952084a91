"""`watchline run` and `watchline replay`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from watchline import checkpoint as checkpoints
from watchline.catalog import Catalog
from watchline.cli.shared import Command, json_option, plain_warnings
from watchline.cli.stopping import Stop
from watchline.config import MAX_SHARDS, Job, load
from watchline.errors import InvalidQuery, InvalidState, WatchlineError
from watchline.preflight import check_replay, check_run


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
def run_command(file: str, as_json: bool) -> None:
    """Run a stream described in a TOML file until it ends, or until Ctrl-C or SIGTERM.

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
    try:
        with Stop() as stop:
            _run(job, file, as_json, stop)
    finally:
        checkpoints.release(job.checkpoint)


def _run(job: Job, file: str, as_json: bool, stop: Stop) -> None:
    if not job.checkpoint and job.sink.path:
        raise InvalidQuery(f"{file}: 'checkpoint' is missing: a stream into files needs one")
    catalog = _opened(job)
    for note in check_run(job, catalog):
        click.echo(f"note: {note}", err=True)
    from watchline.spark import job as spark_job

    with _spark(job, catalog, stop) as session:
        if stop.asked.is_set():
            click.echo("stopped: before the first batch", err=True)
            return
        with plain_warnings():
            query = stop.call(lambda: spark_job.start(session, job, catalog))
        click.echo(f"running {', '.join(job.sources)} from {file}; Ctrl-C stops", err=True)
        _follow(query, stop, _Display(as_json, job.result_name))


def _follow(query: Any, stop: Stop, show: _Display) -> None:
    """Show what the batches do, until the stream ends or a signal asks to stop."""
    from watchline.spark import job as spark_job

    last = -1
    while query.isActive and not stop.asked.is_set():
        stop.asked.wait(0.5)
        last = show.batches(spark_job.progress(query, last), last)
    if stop.asked.is_set():
        spark_job.stop(query)
    show.batches(spark_job.progress(query, last), last)
    show.close()
    if not stop.asked.is_set() and (error := spark_job.failure(query)) is not None:
        raise error
    click.echo(f"{'stopped' if stop.asked.is_set() else 'done'}: {show.summary()}", err=True)


@click.command("replay", cls=Command, examples="watchline replay alerts.toml")
@click.argument("file", type=click.Path())
@json_option
def replay_command(file: str, as_json: bool) -> None:
    """Run the same over stored data, once, as a batch. The sink must be new."""
    job = load(file)
    catalog = _opened(job)
    check_replay(job, catalog)
    with Stop() as stop:
        _replay(job, catalog, as_json, stop)


class _Broken(click.ClickException):
    """A replay that a signal broke off."""

    exit_code = 130

    def show(self, file: Any = None) -> None:
        click.echo(self.message, err=True)


def _replay(job: Job, catalog: Catalog, as_json: bool, stop: Stop) -> None:
    from watchline.spark import job as spark_job

    with _spark(job, catalog, stop) as session:
        start = time.monotonic()
        try:
            if stop.asked.is_set():
                raise _Broken("stopped: before the first row")
            with plain_warnings():
                counts = stop.call(
                    lambda: spark_job.replay(session, job, catalog),
                    session.sparkContext.cancelAllJobs,
                )
        except WatchlineError:
            if not stop.asked.is_set():
                raise
            # Spark's word for what we have cancelled.
            rest = "what the sink has is not complete; delete it"
            if job.sink.path and "://" not in job.sink.path and not os.path.exists(job.sink.path):
                rest = "nothing was written"
            raise _Broken(f"stopped: {rest}") from None
    seconds = time.monotonic() - start
    if as_json:
        record = {job.result_name: counts[job.result_name], "seconds": round(seconds, 3)}
        click.echo(json.dumps(record | {k: v for k, v in counts.items() if k not in record}))
    else:
        rows, results = f"{counts['rows']:,} rows", f"{counts[job.result_name]:,} {job.result_name}"
        click.echo(f"{results} in {seconds:.1f} s from {rows}{_dropped(counts, ', ')}")


@click.command("reshard", cls=Command, examples="watchline reshard alerts.toml --shards 8")
@click.argument("file", type=click.Path())
@click.option(
    "--shards",
    type=click.IntRange(1, MAX_SHARDS),
    required=True,
    help="The number of shards that the job is to have.",
)
@json_option
def reshard_command(file: str, shards: int, as_json: bool) -> None:
    """Give a stopped job that emits changes another number of shards.

    Its checkpoint is rewritten: all of it, or nothing of it if the command is broken off. Nothing
    is lost and nothing comes twice. The job's file must then say the new number, or none.
    """
    job = load(file)
    _check_reshard(job, file)
    catalog = _opened(job)
    checkpoints.hold(job.checkpoint, alone=True)
    try:
        with Stop() as stop, _spark(job, catalog, stop) as session:
            if stop.asked.is_set():
                raise _Broken("stopped: nothing was changed")
            from watchline.spark.checkpoint_shards import reshard

            before = stop.call(lambda: reshard(session, job, catalog, shards))
    finally:
        checkpoints.release(job.checkpoint)
    if as_json:
        click.echo(json.dumps({"shards": shards, "before": before}))
    elif before == shards:
        click.echo(f"nothing to do: the checkpoint {job.checkpoint} has {_counted(shards)}")
    else:
        click.echo(f"the checkpoint {job.checkpoint} has {_counted(shards)} now, not {before}")
    if job.shards not in (0, shards):
        click.echo(
            f"note: {file} says shards = {job.shards}: say {shards}, or leave it out", err=True
        )


def _counted(shards: int) -> str:
    return f"{shards:,} shard{'s' * (shards != 1)}"


def _check_reshard(job: Job, file: str) -> None:
    """Refuse what has no shards, and a checkpoint that is not there or cannot be rewritten."""
    if job.emit == "matches":
        raise InvalidQuery(f"{file}: a job that emits matches has no state, and so no shards")
    if job.emit == "joins":
        raise InvalidQuery(
            f"{file}: the shards of a join have queries, and windows of what these need: start with"
            " a new checkpoint to have another number of them"
        )
    if not job.checkpoint:
        raise InvalidQuery(f"{file}: 'checkpoint' is missing: there is nothing to give shards to")
    if not checkpoints.is_local(job.checkpoint):
        raise InvalidQuery(
            f"{file}: the checkpoint {job.checkpoint} is behind a URL, where files cannot be"
            " exchanged in one step: reshard a copy in a folder"
        )
    if not os.path.isdir(os.path.join(job.checkpoint, "offsets")):
        raise InvalidState(f"{file}: there is no checkpoint in {job.checkpoint}")


def _opened(job: Job) -> Catalog:
    """The catalog, with all streams of the job."""
    catalog = Catalog(job.catalog, create=False)
    for name in job.sources:
        catalog.stream(name)
    return catalog


@contextmanager
def _spark(job: Job, catalog: Catalog, stop: Stop) -> Iterator[Any]:
    """Spark, once everything that can be wrong without it has been checked; it ends with this.

    None if a signal came that broke off the start.
    """
    from watchline.spark.gateway import close

    try:
        session = stop.call(lambda: _session(job, catalog, stop))
    except WatchlineError:
        if not stop.asked.is_set():
            raise
        yield None
        return
    try:
        yield session
    finally:
        close(session)


def _session(job: Job, catalog: Catalog, stop: Stop) -> Any:
    from rich.console import Console

    from watchline.spark import session
    from watchline.spark.warming import warmed

    click.echo("starting Spark", err=True)
    settings: dict[str, Any] = {key: str(value) for key, value in job.spark.items()}
    console, streams = Console(stderr=True), list(job.sources)
    with warmed(console, catalog, streams, job.emit, until=stop.asked, **job.keep):
        made = session(**settings)
    # What goes wrong is reported once, by us; Spark would add pages of stack traces.
    made.sparkContext.setLogLevel("OFF")
    return made


# Counters that are shown where there is something to count: those of the batch, and those of now.
_OF_BATCH = ("rejected", "late", "too_fast", "shed", "forgotten", "over_limit")
_OF_NOW = ("unanswered", "waiting")


def _dropped(counts: Mapping[str, Any], separator: str) -> str:
    """What was not processed or not answered, in words; rejected rows with their reasons."""
    words = ""
    for name in (*_OF_BATCH, *_OF_NOW):
        if number := counts.get(name):
            words += f"{separator}{number:,} {name.replace('_', ' ')}"
            if name == "rejected" and (reasons := counts.get("rejected_by")):
                most = sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))
                words += f" ({', '.join(f'{n:,} {reason}' for reason, n in most)})"
    return words


class _Display:
    """A live line on a terminal, one line per batch into a pipe."""

    def __init__(self, as_json: bool, result_name: str):
        self._json = as_json
        self._result_name = result_name
        self._live = sys.stdout.isatty() and not as_json
        self.rows = self.results = self.count = 0
        self._totals: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._start = time.monotonic()

    def batches(self, done: list[Any], last: int) -> int:
        for p in done:
            self.rows += p.rows
            self.results += p.results
            self.count += 1
            self._add(p.metrics)
            last = max(last, p.batch)
            self._show(p)
        return last

    def _add(self, metrics: Mapping[str, Any]) -> None:
        self._totals.update({name: metrics.get(name) or 0 for name in _OF_BATCH})
        for name in _OF_NOW:
            self._totals[name] = metrics.get(name) or 0
        self._reasons.update(metrics.get("rejected_by") or {})

    def _show(self, p: Any) -> None:
        if self._json:
            record = {"batch": p.batch, "rows": p.rows, self._result_name: p.results}
            record |= {"seconds": p.seconds, "rows_per_second": round(p.rate)}
            click.echo(json.dumps(record | {k: v for k, v in p.metrics.items() if k not in record}))
            return
        line = (
            f"batch {p.batch:>5}  {p.rows:>9,} rows  {p.results:>9,} {self._result_name}"
            f"  {p.seconds * 1e3:>7,.0f} ms  {p.rate:>11,.0f} rows/s"
        )
        line += _dropped(p.metrics, "  ")
        accuracy = p.metrics.get("accuracy")
        if accuracy is not None and accuracy < 1:
            # Where shadows were forgotten, no more than this is known.
            about = "at least " if p.metrics.get("unknown") else ""
            line += f"  accuracy {about}{100 * accuracy:.1f} %"
            line += f", {100 * p.metrics.get('least', accuracy):.1f} % of the worst query"
        if self._live:
            click.echo(
                f"\r\x1b[2K{line}  total {self.rows:,} rows, {self.results:,} {self._result_name}",
                nl=False,
            )
        else:
            click.echo(line)

    def close(self) -> None:
        if self._live and self.count:
            click.echo()

    def summary(self) -> str:
        seconds = time.monotonic() - self._start
        rows, results = f"{self.rows:,} rows", f"{self.results:,} {self._result_name}"
        dropped = _dropped({**self._totals, "rejected_by": self._reasons}, ", ")
        return f"{rows}, {results}, {self.count:,} batches in {seconds:.1f} s{dropped}"
