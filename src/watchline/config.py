"""The TOML file of `watchline run` and `watchline replay`, checked before Spark is started.

catalog = "alerts"                 # paths are relative to the file
stream = "ticks"
emit = "changes"                   # or "matches", which it is if not given
shards = 4                         # for changes; as many as Spark's shuffle partitions if not given
checkpoint = "checkpoint"          # for run
trigger = "5 seconds"              # or "available now"; as fast as possible if not given

[keep]                             # for changes: where it is not to be as the stream declares it
retain = "significant"             # or "all"
cache = 0.25
max_objects = 100000               # or max_bytes
shed = "objects"                   # or "queries"

[source]
format = "parquet"                 # any format Spark knows
path = "in"
options = { maxFilesPerTrigger = 1 }

[sink]
format = "parquet"
path = "out"

[spark]
"spark.driver.memory" = "4g"
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from watchline.errors import InvalidQuery
from watchline.model import Keep
from watchline.sql import hint

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

FILE_FORMATS = ("parquet", "json", "csv", "orc", "text", "avro", "delta")
EMITS = ("matches", "changes")
Options = dict[str, Any]
_TABLES = ("options", "keep", "spark")


@dataclass(frozen=True)
class Source:
    """Where rows come from. `schema` is the declared stream's where a file format needs one."""

    format: str
    path: str = ""
    schema: str = ""
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Sink:
    """Where matches or changes go."""

    format: str
    path: str = ""
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """A whole file."""

    catalog: str
    stream: str
    source: Source
    sink: Sink
    checkpoint: str = ""
    trigger: str = ""
    emit: str = "matches"
    # 0: as many as the checkpoint has, or as Spark's shuffle partitions.
    shards: int = 0
    keep: Options = field(default_factory=dict)
    spark: Options = field(default_factory=dict)


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
    job = _section(Job, raw, path, "")
    if job.emit not in EMITS:
        allowed = " or ".join(f'"{e}"' for e in EMITS)
        raise InvalidQuery(f"{path}: 'emit' must be {allowed}, not {job.emit!r}")
    if job.shards < 0 or (job.shards and job.emit != "changes"):
        raise InvalidQuery(f"{path}: 'shards' must be above zero, and goes with emit = \"changes\"")
    _check_keep(job, path)
    folder = os.path.dirname(os.path.abspath(path))
    return _resolved(job, folder)


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
        if key not in raw:
            if types[key] in (Source, Sink) or key in ("catalog", "stream", "format"):
                raise InvalidQuery(f"{where}{key!r} is missing")
            continue
        value: Any = raw[key]
        wanted = dict if types[key] in (Source, Sink) or key in _TABLES else types[key]
        if not isinstance(value, wanted) or isinstance(value, bool):
            expected = {dict: "a table", int: "a whole number"}.get(wanted, "a string")
            raise InvalidQuery(f"{where}{key!r} must be {expected}, not {value!r}")
        if types[key] in (Source, Sink):
            value = _section(types[key], raw[key], path, key)
        values[key] = value
    return kind(**values)


def _check_keys(kind: type[Any], raw: Options, where: str) -> None:
    known = [f.name for f in fields(kind)]
    for key in raw:
        if key not in known:
            raise InvalidQuery(f"{where}unknown key {key!r}{hint(key, known)}")


def _resolved(job: Job, folder: str) -> Job:
    def local(value: str) -> str:
        return value if not value or "://" in value else os.path.join(folder, value)

    source = replace(job.source, path=local(job.source.path))
    sink = replace(job.sink, path=local(job.sink.path))
    for name, part in (("source", source), ("sink", sink)):
        if part.format in FILE_FORMATS and not part.path:
            raise InvalidQuery(f"[{name}] 'path' is missing: format {part.format!r} needs one")
    if source.path and "://" not in source.path and not os.path.exists(source.path):
        raise InvalidQuery(f"[source] there is nothing at {source.path}")
    return replace(
        job,
        catalog=local(job.catalog),
        source=source,
        sink=sink,
        checkpoint=local(job.checkpoint),
    )
