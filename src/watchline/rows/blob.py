"""The state of a tracker as bytes: a head in JSON, tables in Arrow, and a checksum over both.

A blob says what it is before anything of it is read: another format, another stream or catalog, or
a damaged blob is refused with `InvalidState`.
"""

from __future__ import annotations

import json
import struct
import zlib
from functools import lru_cache
from typing import Any

import pyarrow as pa

from watchline import sql
from watchline.errors import InvalidState
from watchline.model import Stream

MAGIC = b"watchline-state\n"
# Format 3 has what shedding counts; format 2 is read as a state in which nothing is counted yet.
FORMAT, READ = 3, (2, 3)
# The format of a delta: what changed since a state, or since the delta before. A delta of format 4
# has the lives of all queries.
DELTA, DELTAS = 5, (4, 5)
# Format, bytes of the head, bytes in all; then a checksum of these and of what follows it.
_FIXED, _SUM = struct.Struct("<HQQ"), struct.Struct("<I")
_START = len(MAGIC) + _FIXED.size + _SUM.size


def check_catalog(found: str, identity: str) -> None:
    """Refuse the state of another catalog."""
    if found != identity:
        raise InvalidState(
            "the state belongs to another catalog: name that one, or start with a new checkpoint"
        )


@lru_cache(maxsize=8)
def stream_of(text: str) -> Stream:
    """A stream as a head has it. All shards of a query have the same one, and it is parsed once."""
    statement = sql.statement(text)
    assert isinstance(statement, sql.CreateStream)
    return statement.stream


def pack(head: dict[str, Any], tables: list[pa.Table], form: int = FORMAT) -> bytes:
    """A head and tables as bytes, of one of the formats."""
    text = json.dumps(head, ensure_ascii=False).encode()
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    rows = sink.getvalue()
    fixed = _FIXED.pack(form, len(text), _START + len(text) + rows.size)
    checksum = zlib.crc32(rows, zlib.crc32(text, zlib.crc32(fixed)))
    return b"".join([MAGIC, fixed, _SUM.pack(checksum), text, rows])


def unpack(
    blob: bytes, read: tuple[int, ...] | None = None
) -> tuple[dict[str, Any], list[pa.Table]]:
    """The head and the tables of a blob of a state, or of one that has one of these formats."""
    read = READ if read is None else read
    try:
        view = memoryview(blob)
    except TypeError:
        raise InvalidState(f"this is no state of a tracker but {type(blob).__name__}") from None
    if bytes(view[: len(MAGIC)]) != MAGIC or len(view) < _START:
        raise InvalidState("this is no state of a tracker: it begins otherwise")
    form, length, size = _FIXED.unpack_from(view, len(MAGIC))
    if form not in read:
        formats = " and ".join(map(str, read))
        raise InvalidState(
            f"the state has format {form}, this program reads format{'s' * (len(read) > 1)}"
            f" {formats}: use the release that wrote it, or start anew with a new checkpoint"
        )
    fixed = view[len(MAGIC) : _START - _SUM.size]
    (checksum,) = _SUM.unpack_from(view, _START - _SUM.size)
    if size != len(view) or zlib.crc32(view[_START:], zlib.crc32(fixed)) != checksum:
        raise InvalidState("the state is damaged: its length or its checksum is wrong")
    head = json.loads(bytes(view[_START : _START + length]))
    source = pa.BufferReader(pa.py_buffer(view[_START + length :]))
    tables = []
    while source.tell() < source.size():
        with pa.ipc.open_stream(source) as reader:
            tables.append(reader.read_all())
    return head, tables
