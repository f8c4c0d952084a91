"""A configured job: from sources, through `matches`, `changes` or `joins`, to a sink."""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from watchline import errors
from watchline.catalog import Catalog
from watchline.checkpoint import finish, hold, is_local
from watchline.config import Job, SourceConfig
from watchline.errors import (
    CatalogError,
    EngineError,
    InvalidState,
    SelectWarning,
    WatchlineError,
    WatchlineWarning,
)
from watchline.formats import NEED_SCHEMA
from watchline.model import Keep, Stream
from watchline.preflight import check_remote_sink, mark_sink, write_mark
from watchline.rows import shown_names
from watchline.spark.frame_checks import check_schema, quoted
from watchline.spark.joining.driver import joins_of
from watchline.spark.matching import matches_of
from watchline.spark.observing import counters
from watchline.spark.query_properties import COLUMN, with_properties
from watchline.spark.shard_job import checked_shards, partitions_for
from watchline.spark.tracking.driver import changes_of

# What a checkpoint belongs to: the id of a catalog, what is emitted, and of how many shards.
_MARK = "watchline-catalog"
_ANEW = "or start with a new checkpoint"
# Our own columns of changes in releases whose changes had no distance.
_OWN_BEFORE = ("query_id", "sign", "object_id", "time", "reason")


@dataclass(frozen=True)
class BatchProgress:
    """What one micro-batch did."""

    batch: int
    rows: int
    # Matches, changes or pairs, whichever the job emits.
    results: int
    seconds: float
    # All counters of the batch.
    metrics: dict[str, Any]

    @property
    def rate(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0


def schema_of(stream: Stream) -> str:
    """The declared attributes as a Spark schema; our names of types are Spark's, too."""
    return ", ".join(f"{quoted(a.name)} {a.type.value}" for a in stream.attributes)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Spark's exceptions as ours: our own message from a worker, or the first line of Spark's."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise translated(error) from error


def translated(error: Exception) -> WatchlineError:
    """An error of Spark as one of ours, with the sentence that a user needs."""
    text = str(error)
    ours = re.findall(r"watchline\.errors\.(\w+): (.+)", text)
    if ours:
        name, message = ours[-1]
        kind = getattr(errors, name, EngineError)
        return kind(message) if issubclass(kind, WatchlineError) else EngineError(message)
    unknown = re.search(r"\[DATA_SOURCE_NOT_FOUND\][^:]*: (\S+?)\.", text)
    if unknown:
        return EngineError(f"Spark does not know the format {unknown.group(1)!r}: check its name"
                           " and that its package is on the class path")  # fmt: skip
    lines = [line for line in text.splitlines() if line.strip()]
    return EngineError(f"Spark refuses: {(lines or [type(error).__name__])[0][:500]}")


def read(spark: SparkSession, source: SourceConfig, stream: Stream, streaming: bool) -> DataFrame:
    """The DataFrame of a job's source, in batch or streaming."""
    reader: Any = spark.readStream if streaming else spark.read
    reader = reader.format(source.format).options(**_texts(source.options))
    if source.schema or source.format in NEED_SCHEMA:
        reader = reader.schema(source.schema or schema_of(stream))
    loaded: DataFrame = reader.load(source.path) if source.path else reader.load()
    return loaded


def start(spark: SparkSession, job: Job, catalog: Catalog | None = None) -> Any:
    """Start the stream; gives Spark's StreamingQuery. `catalog` is the job's, if it is open."""
    opened = catalog or Catalog(job.catalog, create=False)
    # What the source cannot give is refused before the checkpoint is made.
    frames = _frames(spark, job, opened, streaming=True)
    for note in check_remote_sink(job, lambda folder: _names_in(spark, folder)):
        warnings.warn(note, WatchlineWarning, stacklevel=2)
    shards = claim_checkpoint(job, opened, checked_shards(None, spark))
    mark_sink(job)
    with clear_errors(), partitions_for(spark, shards):
        result = _with_kept_columns(
            job, opened, lambda every: _result(job, opened, frames, shards, every)
        )
        writer = result.writeStream.format(job.sink.format).options(**_texts(job.sink.options))
        if job.checkpoint:
            writer = writer.option("checkpointLocation", job.checkpoint)
        if job.sink.format == "memory":
            writer = writer.queryName(job.emit)
        if job.trigger == "available now":
            writer = writer.trigger(availableNow=True)
        elif job.trigger:
            writer = writer.trigger(processingTime=job.trigger)
        return writer.start(job.sink.path) if job.sink.path else writer.start()


def _names_in(spark: SparkSession, folder: str) -> list[str]:
    """The names of the files in a folder that Hadoop can list, none if there is no such folder."""
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(folder)
    with clear_errors():
        system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        if not system.exists(path):
            return []
        return [status.getPath().getName() for status in system.listStatus(path)]


def _frames(
    spark: SparkSession, job: Job, catalog: Catalog, streaming: bool
) -> dict[str, DataFrame]:
    """The sources of the job, each with the columns of its declared stream."""
    frames = {}
    with clear_errors():
        for name, source in job.sources.items():
            stream = catalog.stream(name)
            frames[name] = read(spark, source, stream, streaming)
            check_schema(frames[name].schema, stream, ())
    return frames


def _result(
    job: Job,
    catalog: Catalog,
    frames: dict[str, DataFrame],
    shards: int | None,
    every: bool = False,
) -> DataFrame:
    """The result of the job; with `every` all columns, whatever queries select."""
    made = _bare_result(job, catalog, frames, shards, every)
    return with_properties(made, catalog) if job.sink.properties else made


def _bare_result(
    job: Job, catalog: Catalog, frames: dict[str, DataFrame], shards: int | None, every: bool
) -> DataFrame:
    """The result without properties."""
    if job.emit == "matches":
        return matches_of(frames[job.stream], catalog, job.stream, every=every)
    state = f"{job.checkpoint}/watchline-state" if job.checkpoint else None
    if job.emit == "joins":
        return joins_of(frames, catalog, shards, state, job.times, every)
    keep = Keep(**job.keep)
    return changes_of(frames[job.stream], catalog, job.stream, shards, state, keep, every)


def _with_kept_columns(
    job: Job, catalog: Catalog, result_of: Callable[[bool], DataFrame]
) -> DataFrame:
    """The result with the columns that its checkpoint began with: queries that came since may have
    other SELECT lists, and a sink has one schema."""
    if not job.checkpoint:
        return result_of(False)
    if "://" in job.checkpoint:
        # No mark is kept there, and a restart must not choose other columns: all come out.
        return result_of(job.emit != "matches")
    mark = os.path.join(job.checkpoint, "watchline-columns")
    shown = shown_names(catalog.stream(job.stream)) if job.emit == "changes" else {}
    begun = os.path.isdir(os.path.join(job.checkpoint, "offsets"))
    if begun and not os.path.exists(mark) and job.emit == "changes":
        # Until there were marks, changes and joins came with all columns.
        write_mark(mark, json.dumps([*_OWN_BEFORE, *shown]))
    if not begun or not os.path.exists(mark):
        made = result_of(begun and job.emit != "matches")
        write_mark(mark, json.dumps({"columns": made.columns}))
        return made
    with open(mark, encoding="ascii") as file:
        marked = json.load(file)
    # A list is of a release whose changes had no distance, and attributes their own names.
    columns, sources = (marked["columns"], {}) if isinstance(marked, dict) else (marked, shown)
    made = result_of(True)
    named = {name: sources.get(name, name) for name in columns}
    # An attribute may have that name, too.
    began = COLUMN in columns and (job.sink.properties or COLUMN not in made.columns)
    if job.sink.properties is not began:
        raise InvalidState(
            f"the result of the checkpoint {job.checkpoint} began"
            f" {'without' if job.sink.properties else 'with'} properties of queries: set"
            f" properties = {'false' if job.sink.properties else 'true'} in [sink], or start with a"
            " new checkpoint"
        )
    if gone := [name for name in columns if named[name] not in made.columns]:
        raise InvalidState(
            f"the result of the checkpoint {job.checkpoint} has a column {gone[0]!r}, which the"
            " stream has no more: declare it as it was, or start with a new checkpoint"
        )
    _warn_of_other_columns(columns, result_of)
    return made.select(*(fn.col(quoted(named[name])).alias(name) for name in columns))


def _warn_of_other_columns(columns: list[str], result_of: Callable[[bool], DataFrame]) -> None:
    """Tell if the result would have other columns now than the checkpoint keeps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WatchlineWarning)
        selected = result_of(False).columns
    if selected != columns:
        message = (
            f"the checkpoint keeps the columns that it began with ({', '.join(columns)}), and the"
            f" result has {', '.join(selected)} now: start with a new checkpoint to get these"
        )
        warnings.warn(message, SelectWarning, stacklevel=2)


def claim_checkpoint(job: Job, catalog: Catalog, default: int) -> int:
    """A checkpoint goes with one catalog and what is made of it: mark a new one, refuse another's.

    Gives the number of shards: the job's, or else the checkpoint's.
    """
    shards = job.shards or default
    if not is_local(job.checkpoint):
        return shards
    mark = os.path.join(job.checkpoint, _MARK)
    os.makedirs(job.checkpoint, exist_ok=True)
    hold(job.checkpoint)
    # A change of its shards that was broken off comes to its end first.
    finish(job.checkpoint)
    if not os.path.exists(mark) or not os.path.getsize(mark):
        write_mark(mark, _mark_of(job, catalog, shards))
    if job.emit == "matches":
        _check_mark(job, catalog)
        return shards
    made = marked_shards(job, catalog)
    if job.shards not in (0, made):
        raise InvalidState(
            f"the checkpoint {job.checkpoint} was made with {made} shards, not {job.shards}:"
            f" use shards = {made}, {_ANEW}"
        )
    return made


def _mark_of(job: Job, catalog: Catalog, shards: int) -> str:
    """What the mark of a checkpoint says."""
    emit = "matches" if job.emit == "matches" else f"{job.emit} {shards}"
    # A join's checkpoint knows its sources by their order alone.
    emit += f" {_names(job)}" if job.emit == "joins" else ""
    return f"{catalog.id} {emit}"


def marked_shards(job: Job, catalog: Catalog) -> int:
    """The number of shards that the job's checkpoint was made with."""
    more = _check_mark(job, catalog)
    return int(more[0])


def with_shards(job: Job, catalog: Catalog, shards: int) -> dict[str, str]:
    """The mark of the checkpoint with another number of shards, by its name there."""
    return {_MARK: _mark_of(job, catalog, shards)}


def _check_mark(job: Job, catalog: Catalog) -> list[str]:
    """Refuse the checkpoint of another job: what the mark says after what the job emits."""
    with open(os.path.join(job.checkpoint, _MARK), encoding="ascii") as file:
        # A mark from before there were changes is the id alone.
        owner, emit, *more = [*file.read().split(), "matches"][:4]
    if owner != catalog.id:
        raise CatalogError(
            f"the checkpoint {job.checkpoint} belongs to another catalog than {job.catalog}:"
            f" name that one, {_ANEW}"
        )
    if emit != job.emit:
        raise CatalogError(
            f"the checkpoint {job.checkpoint} is of a job that emits {emit}, {_ANEW}"
        )
    if emit == "joins" and more[1] != _names(job):
        of = ", ".join(map(unquote, more[1].split(",")))
        raise InvalidState(f"the checkpoint {job.checkpoint} is of a join of {of}, {_ANEW}")
    return more


def _names(job: Job) -> str:
    """The streams of a join, as a word."""
    return ",".join(quote(name, safe="") for name in sorted(job.sources))


def replay(spark: SparkSession, job: Job, catalog: Catalog | None = None) -> dict[str, Any]:
    """The same over stored data, as a batch; gives all counters."""
    opened = catalog or Catalog(job.catalog, create=False)
    frames = _frames(spark, job, opened, streaming=False)
    with clear_errors():
        result = _result(job, opened, frames, job.shards or None)
        if job.sink.format == "console":
            # All of it first: counters are those of the first action, and `show` reads a part.
            result.cache().count()
            result.show(20, truncate=False)
        else:
            writer = result.write.format(job.sink.format).options(**_texts(job.sink.options))
            writer = writer.mode("errorifexists")
            writer.save(job.sink.path) if job.sink.path else writer.save()
        return counters(result)


def progress(query: Any, after: int) -> list[BatchProgress]:
    """What the batches after this one did, as far as Spark still tells."""
    done = []
    for p in query.recentProgress:
        if p["batchId"] > after and p["numInputRows"] > 0:
            observed = p["observedMetrics"].get("watchline")
            metrics = observed.asDict() if observed else {}
            results = next((metrics[n] for n in ("matches", "changes", "pairs") if n in metrics), 0)
            rows = metrics.get("rows", p["numInputRows"]) or 0
            seconds = p["durationMs"].get("triggerExecution", 0) / 1e3
            done.append(BatchProgress(p["batchId"], rows, results or 0, seconds, metrics))
    return done


def failure(query: Any) -> WatchlineError | None:
    """Why the stream ended, if not because it was done or stopped."""
    error = query.exception()
    return translated(error) if error is not None else None


def stop(query: Any, patience: float = 30.0) -> None:
    """Stop once the running batch is done, if that is soon: a batch cut off is run again later."""
    with suppress(PySparkException, Py4JError):
        before, until = _batches(query), time.monotonic() + patience
        while query.isActive and query.status["isTriggerActive"] and _batches(query) == before:
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        # The next batch may have begun by now: Spark would print a page for each part it cuts off.
        with _silence():
            query.stop()


@contextmanager
def _silence() -> Iterator[None]:
    """Spark logs nothing meanwhile."""
    spark = SparkSession.active()
    root = spark.sparkContext._jvm.org.apache.logging.log4j.LogManager.getRootLogger()
    level = root.getLevel().toString()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield
    finally:
        spark.sparkContext.setLogLevel(level)


def _batches(query: Any) -> int:
    """The number of the last batch that is done."""
    last = query.lastProgress
    return -1 if last is None else int(last["batchId"])


def _texts(options: dict[str, Any]) -> dict[str, str]:
    """Spark takes strings: TOML's true is `true`, not `True`."""
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items()}
