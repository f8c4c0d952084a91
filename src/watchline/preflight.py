"""What can be wrong with a job and is found without Spark, before anything is read or created.

Spark itself would find some of it late, and some never: a file sink drops the batches of a new
checkpoint that its own list has already, and a file source takes the declared columns for granted,
so that a renamed one is NULL in every row. Places behind URLs cannot be listed without Spark: their
sink is compared with the checkpoint when Spark has started, before a checkpoint is made.
"""

from __future__ import annotations

import csv
import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import islice

from watchline.catalog import Catalog
from watchline.config import Job, SourceConfig, local_places
from watchline.errors import InvalidState, SchemaMismatch
from watchline.formats import FILE_SINKS
from watchline.model import Keep, Stream, Type
from watchline.names import hint

# A source's newest file is looked for among so many, the last ones by name.
_SAMPLE_FILES = 1_000
_SAMPLE_LINES = 200
# The file in a checkpoint that names its sink.
_MARK = "watchline-sink"


def check_run(job: Job, catalog: Catalog) -> list[str]:
    """Refuse a stream that would lose or misread rows; give what is worth telling."""
    check_job(job, catalog)
    return check_sink(job) if _is_local_file_sink(job) else []


def check_replay(job: Job, catalog: Catalog) -> None:
    """The same for a batch, whose sink must not be there yet."""
    check_job(job, catalog)
    path = job.sink.path
    if path and job.sink.format in FILE_SINKS and os.path.exists(path):
        raise InvalidState(
            f"[sink] a replay writes a new folder, and there is one at {path}: name another in"
            " 'path', or delete it"
        )


def check_job(job: Job, catalog: Catalog) -> None:
    """What a stream and a batch need alike."""
    if job.emit == "changes":
        Keep(**job.keep).of(catalog.stream(job.stream))
    check_places(job)
    check_files(job, catalog)


def check_places(job: Job) -> None:
    """Refuse a sink that would write into what the job reads."""
    places = {f"the source of {name!r}": source.path for name, source in job.sources.items()}
    sink = job.sink.path
    for what, place in {**places, "the catalog": job.catalog}.items():
        if not sink or not place or "://" in sink or "://" in place:
            continue
        if os.path.commonpath([os.path.realpath(sink), os.path.realpath(place)]) == (
            os.path.realpath(place)
        ):
            raise InvalidState(
                f"[sink] 'path' is in the folder of {what}, {place}: name a folder of its own"
            )


# --- the sink and its checkpoint


# The names of the files in a folder, none if there is no such folder.
Listing = Callable[[str], list[str]]


def check_remote_sink(job: Job, names: Listing) -> list[str]:
    """As `check_sink`, for a file sink or a checkpoint behind a URL, which Spark can list."""
    is_remote = job.sink.format in FILE_SINKS and not _is_local_file_sink(job)
    return check_sink(job, names) if is_remote and job.sink.path and job.checkpoint else []


def _local_names(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []


def check_sink(job: Job, names: Listing = _local_names) -> list[str]:
    """Whether a file sink and the checkpoint are of one run; both know the last batch written."""
    sink, checkpoint = job.sink.path, job.checkpoint
    remedy = "name a new folder in [sink] 'path', or delete this one to start over"
    begun = _last(names(f"{checkpoint}/offsets"))
    done = _last(names(f"{checkpoint}/commits"))
    written = _last(names(f"{sink}/_spark_metadata"))
    if begun >= 0 and (other := _marked_sink(checkpoint)) and not _same_place(other, sink):
        raise InvalidState(
            f"the checkpoint {checkpoint} belongs to the sink {other}, not to {sink}: name that"
            " one, or start with a new checkpoint"
        )
    if written > begun:
        whose = "is new" if begun < 0 else f"ends with batch {begun}"
        raise InvalidState(
            f"the sink {sink} has batch {written} of another run, and the checkpoint {checkpoint}"
            f" {whose}: Spark would drop all batches up to that one. Use the checkpoint that wrote"
            f" it, {remedy}"
        )
    if written < 0 and begun < 0 and (strange := next(_data_files(sink), None)):
        raise InvalidState(
            f"the sink {sink} has files of something else, as {os.path.relpath(strange, sink)}:"
            f" {remedy}"
        )
    if written < done:
        has = f"ends with batch {written}" if written >= 0 else "has no batch"
        return [
            f"the checkpoint has batches up to {done} as written, but the sink {sink} {has}: it"
            " gets later rows only; for all rows, start with a new checkpoint"
        ]
    return []


def mark_sink(job: Job) -> None:
    """Write down which sink a checkpoint has, relative to it, so that both can be moved."""
    if not _is_local_file_sink(job):
        return
    place = os.path.relpath(job.sink.path, job.checkpoint)
    write_mark(os.path.join(job.checkpoint, _MARK), place)


def write_mark(path: str, text: str) -> None:
    """A small file that is complete before it has its name: a crash leaves no half of it."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def _is_local_file_sink(job: Job) -> bool:
    places = (job.sink.path, job.checkpoint)
    return job.sink.format in FILE_SINKS and all(p and "://" not in p for p in places)


def _marked_sink(checkpoint: str) -> str:
    try:
        with open(os.path.join(checkpoint, _MARK), encoding="utf-8") as file:
            place = file.read()
    except FileNotFoundError:
        return ""
    return os.path.normpath(os.path.join(checkpoint, place)) if place else ""


def _same_place(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _last(names: list[str]) -> int:
    """The newest batch in one of Spark's logs, by the names of its files; -1 if there is none."""
    numbers = (name.partition(".")[0] for name in names)
    return max((int(n) for n in numbers if n.isdigit()), default=-1)


# --- the columns of files


def check_files(job: Job, catalog: Catalog) -> None:
    """Refuse files that lack a declared column, or have it with a type that cannot be read as it.

    Only the newest file is compared: older ones may lack a column that was added since. A folder
    without files passes.
    """
    for name, source in job.sources.items():
        if source.schema or "://" in source.path or source.format not in _READERS:
            continue
        file = _newest_file(source.path)
        if file is None:
            continue
        stream = catalog.stream(name)
        wrong = _READERS[source.format](file, source, stream)
        if wrong:
            first = stream.attributes[0]
            raise SchemaMismatch(
                f"{file} does not fit stream {name!r}: {'; '.join(wrong)}. To read such files as"
                " they are, give all columns of the stream beside their path:"
                f' schema = "{first.name} {first.type.value}, …"'
            )


def _newest_file(folder: str) -> str | None:
    """The file that was modified last; of a large folder, among the last files by name, because to
    ask a file system for the times of millions of files takes minutes."""
    files = (file for place in local_places(folder) for file in _data_files(place))
    last = deque(files, maxlen=_SAMPLE_FILES)
    return max(last, key=lambda file: (_modified(file), file), default=None)


def _modified(file: str) -> float:
    try:
        return os.path.getmtime(file)
    except FileNotFoundError:
        # Somebody cleans the folder up: any other file is newer.
        return float("-inf")


def _data_files(folder: str) -> Iterator[str]:
    """Files as Spark sees them: not those whose name begins with _ or a dot."""
    if os.path.isfile(folder):
        yield folder
        return
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(("_", ".")) or "=" in f)
        for name in sorted(files):
            if not name.startswith(("_", ".")):
                yield os.path.join(place, name)


def _partitions(file: str, source: SourceConfig) -> list[str]:
    """Columns that the names of folders give: `day=1/`."""
    parts = os.path.relpath(file, source.path).split(os.sep)[:-1]
    return [part.partition("=")[0] for part in parts if "=" in part]


def _missing(stream: Stream, columns: list[str]) -> list[str]:
    found = {name.casefold() for name in columns}
    return [
        f"column {a.name!r} ({a.type.value}) is missing{_instead(a.name, columns)}"
        for a in stream.attributes
        if a.name.casefold() not in found
    ]


def _instead(name: str, columns: list[str]) -> str:
    near = _similar(name, columns) or _longer(name, columns)
    return f"; there is {near!r}: rename it, or declare that name" if near else hint(name, columns)


def _similar(name: str, columns: list[str]) -> str:
    """The column whose name is nearly this one."""
    return next(iter(get_close_matches(name, columns, n=1)), "")


def _longer(name: str, columns: list[str]) -> str:
    """A column whose name is a longer or shorter form of this one."""
    forms = (c for c in columns if c.startswith(name) or (len(c) > 1 and name.startswith(c)))
    return next(forms, "")


def _typed_columns(file: str, source: SourceConfig, stream: Stream) -> list[str]:
    """Parquet and ORC: names and types stand in the file."""
    import pyarrow as pa

    try:
        if source.format == "parquet":
            import pyarrow.parquet as pq

            schema = pq.read_schema(file)
        else:
            from pyarrow import orc

            schema = orc.ORCFile(file).schema
    except (pa.ArrowException, OSError) as error:
        return [f"it is not {source.format}: {error}"]
    given = _partitions(file, source)
    types = {field.name.casefold(): field.type for field in schema}
    wrong = _missing(stream, [*schema.names, *given])
    for a in stream.attributes:
        kind = types.get(a.name.casefold())
        if kind is not None and not _fits(kind, a.type):
            wrong.append(f"column {a.name!r} is {kind}, not {a.type.value}")
    return wrong


def _fits(kind: object, declared: Type) -> bool:
    """Whether Spark reads a column of this Arrow type as the declared one."""
    from pyarrow import types as of

    if of.is_dictionary(kind):
        kind = kind.value_type  # type: ignore[attr-defined]
    small = of.is_integer(kind) and kind.bit_width <= 32  # type: ignore[attr-defined]
    accepted = {
        Type.DOUBLE: of.is_float64(kind) or of.is_float32(kind) or small,
        Type.BIGINT: of.is_integer(kind),
        Type.STRING: of.is_string(kind) or of.is_large_string(kind) or of.is_binary(kind),
        Type.BOOLEAN: of.is_boolean(kind),
        Type.TIMESTAMP: of.is_timestamp(kind),
    }
    return bool(accepted[declared])


def _csv_columns(file: str, source: SourceConfig, stream: Stream) -> list[str]:
    """CSV: Spark reads columns by their place, whatever a header says, unless told otherwise."""
    options = {key.casefold(): str(value) for key, value in source.options.items()}
    separator = options.get("sep", options.get("delimiter", ","))
    if file.endswith((".gz", ".bz2", ".zst")) or len(separator) != 1:
        return []
    try:
        with open(file, encoding=_encoding(options), errors="replace") as lines:
            first = [cell.strip() for cell in next(csv.reader(lines, delimiter=separator), [])]
    except (csv.Error, LookupError, OSError) as error:
        return [f"its first row cannot be read: {error}"]
    declared = [a.name for a in stream.attributes if a.name not in _partitions(file, source)]
    if options.get("header", "false").casefold() != "true":
        few = first and len(first) < len(declared)
        return [f"its first row has {len(first)} columns, not {len(declared)}"] if few else []
    if not first or (wrong := _missing(stream, [*first, *_partitions(file, source)])):
        return wrong if first else []
    by_name = options.get("enforceschema", "true").casefold() == "false"
    in_order = [n.casefold() for n in first[: len(declared)]] == [n.casefold() for n in declared]
    if by_name or in_order:
        return []
    return [
        f"its columns are {', '.join(first)}, and Spark reads them by place, as"
        f" {', '.join(declared)}: declare the stream in the order of the file"
    ]


def _json_columns(file: str, source: SourceConfig, stream: Stream) -> list[str]:
    """JSON: a field may be left out of a row, so only what no row can do without must be there, and
    no field whose name is nearly that of one which is left out: that one was renamed."""
    options = {key.casefold(): str(value).casefold() for key, value in source.options.items()}
    if file.endswith((".gz", ".bz2", ".zst")) or options.get("multiline") == "true":
        return []
    keys: dict[str, None] = {}
    try:
        with open(file, encoding=_encoding(options), errors="replace") as lines:
            for line in islice(lines, _SAMPLE_LINES):
                keys |= dict.fromkeys(_fields(line))
    except (LookupError, OSError) as error:
        return [f"its first lines cannot be read: {error}"]
    if not keys:
        return ["none of its first lines is a JSON object"] if os.path.getsize(file) else []
    needed = {stream.object, stream.time, *(stream.point or ())}
    columns = [*keys, *_partitions(file, source)]
    declared = {a.name.casefold() for a in stream.attributes}
    undeclared = [key for key in columns if key.casefold() not in declared]
    found = {key.casefold() for key in columns}
    return [
        f"no row of the first {_SAMPLE_LINES} has {a.name!r}{_instead(a.name, undeclared)}"
        for a in stream.attributes
        if a.name.casefold() not in found and (a.name in needed or _similar(a.name, undeclared))
    ]


def _encoding(options: dict[str, str]) -> str:
    """The encoding of a text file by the options of its source; Spark takes UTF-8 if none is named,
    with or without a byte order mark."""
    return options.get("encoding", options.get("charset", "utf-8-sig"))


def _fields(line: str) -> list[str]:
    """The fields of the JSON object in this line; none if there is something else in it."""
    try:
        row = json.loads(line)
    except ValueError:
        return []
    return list(row) if isinstance(row, dict) else []


_READERS = {
    "parquet": _typed_columns,
    "orc": _typed_columns,
    "csv": _csv_columns,
    "json": _json_columns,
}
