"""The TOML file of `watchline run` and `watchline replay`, checked before Spark is started.

catalog = "alerts"                 # paths are relative to the file
stream = "ticks"
emit = "changes"                   # or "joins", or "matches", which it is if not given
shards = 4                         # not for matches; Spark's shuffle partitions if not given
checkpoint = "checkpoint"          # for run
trigger = "5 seconds"              # or "available now"; as fast as possible if not given

[keep]                             # for changes: where it is not to be as the stream declares it
retain = "significant"             # or "all"
cache = 0.25
max_objects = 100000               # or max_bytes
shed = "objects"                   # or "queries"

[source]
format = "parquet"                 # a format that gives the declared columns
path = "in"
options = { maxFilesPerTrigger = 1 }

[sink]
format = "parquet"
path = "out"
properties = true                  # a column with the properties of each row's query

[spark]
"spark.driver.memory" = "4g"

With emit = "joins" there is no `stream` and no [source], but a table for each joined stream:

[sources.r]
format = "parquet"
path = "in-r"

[sources.s]
format = "parquet"
path = "in-s"

[times]                            # how often queries that come later may have a stream in FROM
r = 2
"""

from __future__ import annotations

import glob
import os
import re
import sys
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints
from urllib.parse import unquote, urlparse

from watchline.errors import InvalidQuery
from watchline.formats import FILE_FORMATS, check_format, check_options
from watchline.model import Keep
from watchline.names import hint

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_SHARDS = 4_096
EMITS = ("matches", "changes", "joins")
Options = dict[str, Any]
_TABLES = ("options", "keep", "spark", "sources", "times")


@dataclass(frozen=True)
class SourceConfig:
    """Where rows come from. `schema` is the declared stream's where a file format needs one."""

    format: str
    path: str = ""
    schema: str = ""
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class SinkConfig:
    """Where matches, changes or joined rows go."""

    format: str
    path: str = ""
    options: Options = field(default_factory=dict)
    # Whether rows have the properties of their query, in a column of that name.
    properties: bool = False


@dataclass(frozen=True, kw_only=True)
class Job:
    """A whole file. `sources` has the stream and its source, or those of a join, by their names.

    Its fields are given by name only: several have the same type, and their order may change.
    """

    catalog: str
    sink: SinkConfig
    sources: dict[str, SourceConfig]
    checkpoint: str = ""
    trigger: str = ""
    emit: str = "matches"
    # 0: as many as the checkpoint has, or as Spark's shuffle partitions.
    shards: int = 0
    keep: Options = field(default_factory=dict)
    times: Options = field(default_factory=dict)
    spark: Options = field(default_factory=dict)

    @property
    def stream(self) -> str:
        """The stream of a job that has one."""
        return next(iter(self.sources))

    @property
    def result_name(self) -> str:
        """What the rows of the result are called."""
        return "pairs" if self.emit == "joins" else self.emit


T = TypeVar("T")


def load(path: str) -> Job:
    """Read and check the file; every mistake names the key and the remedy."""
    try:
        text = Path(path).read_bytes().decode()
        raw = tomllib.loads(text)
    except OSError as error:
        raise InvalidQuery(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidQuery(f"{path} is not TOML: {error}") from None
    job = _section(Job, _one_or_many(raw, path), path, "")
    if "shards" in raw and job.emit == "matches":
        raise InvalidQuery(f'{path}: \'shards\' goes with emit = "changes" or "joins"')
    if "shards" in raw and not 1 <= job.shards <= MAX_SHARDS:
        raise InvalidQuery(
            f"{path}: 'shards' must be a whole number from 1 to {MAX_SHARDS}, not {job.shards}"
        )
    _check_keep(job, path)
    _check_times(job, path)
    _check_trigger(job.trigger, path)
    _check_settings(job.spark, path)
    folder = os.path.dirname(os.path.abspath(path))
    return _resolved(job, folder)


def _one_or_many(raw: Options, path: str) -> Options:
    """With `sources`, whichever way the file names them."""
    emit = raw.get("emit", "matches")
    if isinstance(emit, str) and emit not in EMITS:
        allowed = ", ".join(f'"{e}"' for e in EMITS[:-1]) + f' or "{EMITS[-1]}"'
        raise InvalidQuery(f"{path}: 'emit' must be {allowed}, not {emit!r}")
    own = {key: value for key, value in raw.items() if key not in ("stream", "source", "sources")}
    _check_keys(Job, own, f"{path}: ", ("stream", "source"))
    if emit == "joins":
        if given := [key for key in ("stream", "source") if key in raw]:
            raise InvalidQuery(
                f'{path}: {given[0]!r} does not go with emit = "joins": name each stream that is'
                " joined in a table of its own, as [sources.r]"
            )
        tables = raw.get("sources", {})
        if not isinstance(tables, dict) or not tables:
            raise InvalidQuery(
                f"{path}: 'sources' is missing: emit = \"joins\" needs a table for each stream"
                " that is joined, as [sources.r]"
            )
    else:
        if "sources" in raw:
            raise InvalidQuery(
                f"{path}: [sources] goes with emit = \"joins\"; any other job has 'stream' and"
                " [source]"
            )
        for key, kind in (("stream", str), ("source", dict)):
            _check_type(f"{path}: ", key, raw, kind)
        tables = {raw["stream"]: raw["source"]}
    sources = {}
    for name, table in tables.items():
        _check_type(f"{path}: [sources] ", name, tables, dict)
        where = f"sources.{name}" if emit == "joins" else "source"
        sources[name] = _section(SourceConfig, table, path, where)
    return own | {"sources": sources}


_UNIT = r"(?:milli|micro)?seconds?|minutes?|hours?|days?|weeks?"
_TRIGGER = re.compile(
    rf"available now|(?:interval )?\d{{1,9}} (?:{_UNIT})(?: \d{{1,9}} (?:{_UNIT}))*", re.IGNORECASE
)


def _check_trigger(trigger: str, path: str) -> None:
    if trigger and not _TRIGGER.fullmatch(trigger):
        raise InvalidQuery(
            f'{path}: \'trigger\' must be "available now" or a time such as "5 seconds", not'
            f" {trigger!r}"
        )


def _check_settings(settings: Options, path: str) -> None:
    for key in settings:
        if not key.startswith("spark."):
            raise InvalidQuery(
                f"{path}: [spark] has Spark's own settings, which begin with 'spark.', not {key!r}"
            )


def _check_times(job: Job, path: str) -> None:
    if job.times and job.emit != "joins":
        raise InvalidQuery(f'{path}: [times] goes with emit = "joins"')
    for name, count in job.times.items():
        if name not in job.sources:
            known = list(job.sources)
            raise InvalidQuery(f"{path}: [times] there is no source {name!r}{hint(name, known)}")
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidQuery(f"{path}: [times] {name!r} must be a whole number above zero")


def _check_keep(job: Job, path: str) -> None:
    _check_keys(Keep, job.keep, f"{path}: [keep] ")
    if job.keep and job.emit != "changes":
        raise InvalidQuery(f'{path}: [keep] goes with emit = "changes"')
    try:
        Keep(**job.keep)
    except InvalidQuery as error:
        raise InvalidQuery(f"{path}: [keep] {error}") from None


def _section(kind: type[T], raw: dict[str, Any], path: str, name: str) -> T:
    types = get_type_hints(kind)
    where = f"{path}: [{name}] " if name else f"{path}: "
    _check_keys(kind, raw, where)
    values: dict[str, Any] = {}
    for key in types:
        needed = types[key] is SinkConfig or key in ("catalog", "format")
        if key in raw or needed:
            is_table = types[key] is SinkConfig or key in _TABLES
            value = _check_type(where, key, raw, dict if is_table else types[key])
            values[key] = (
                _section(SinkConfig, value, path, key) if types[key] is SinkConfig else value
            )
    return kind(**values)


def _check_type(where: str, key: str, raw: Options, wanted: type[Any]) -> Any:
    """The value, if there is one and it is of this type."""
    if key not in raw:
        raise InvalidQuery(f"{where}{key!r} is missing")
    value = raw[key]
    if not isinstance(value, wanted) or isinstance(value, bool) is not (wanted is bool):
        words = {dict: "a table", int: "a whole number", bool: "true or false"}
        expected = words.get(wanted, "a string")
        raise InvalidQuery(f"{where}{key!r} must be {expected}, not {value!r}")
    return value


def _check_keys(kind: type[Any], raw: Options, where: str, more: tuple[str, ...] = ()) -> None:
    known = [*(f.name for f in fields(kind)), *more]
    for key in raw:
        if key not in known:
            raise InvalidQuery(f"{where}unknown key {key!r}{hint(key, known)}")


def local_places(path: str) -> list[str]:
    """The files and folders that a local path of a source names, which may be a pattern."""
    return [path] if os.path.exists(path) else sorted(glob.glob(path))


def _resolved(job: Job, folder: str) -> Job:
    def local(value: str) -> str:
        if value.startswith("file://"):
            # A local place in other words: it is checked as one.
            value = unquote(urlparse(value).path)
        return value if not value or "://" in value else os.path.join(folder, value)

    sources = {name: replace(s, path=local(s.path)) for name, s in job.sources.items()}
    sink = replace(job.sink, path=local(job.sink.path))
    places = {f"sources.{n}" if job.emit == "joins" else "source": s for n, s in sources.items()}
    parts: list[tuple[str, SourceConfig | SinkConfig]] = [*places.items(), ("sink", sink)]
    for name, part in parts:
        check_format(name, part.format, job.spark)
        if part.format in FILE_FORMATS and not part.path:
            raise InvalidQuery(f"[{name}] 'path' is missing: format {part.format!r} needs one")
        check_options(name, part.format, part.options)
    for name, source in places.items():
        if source.path and "://" not in source.path and not local_places(source.path):
            raise InvalidQuery(f"[{name}] there is nothing at {source.path}")
    return replace(
        job,
        # Spark knows one spelling of it.
        trigger=job.trigger.casefold(),
        catalog=local(job.catalog),
        sources=sources,
        sink=sink,
        checkpoint=local(job.checkpoint),
    )
