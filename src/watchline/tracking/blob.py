"""The state of a tracker as bytes: a head in JSON, the objects as Arrow, and a checksum over both.

A blob says what it is before anything of it is read: another format, another stream or catalog, or
a damaged blob is refused with `InvalidState`.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import pyarrow as pa

from watchline.errors import InvalidState

MAGIC = b"watchline-state\n"
FORMAT = 1
# Format, bytes of the head, bytes in all, checksum of what follows.
_FIXED = struct.Struct("<HQQI")


def pack(head: dict[str, Any], objects: pa.Table) -> bytes:
    text = json.dumps(head, ensure_ascii=False).encode()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, objects.schema) as writer:
        writer.write_table(objects)
    rows = sink.getvalue()
    checksum = zlib.crc32(rows, zlib.crc32(text))
    size = len(MAGIC) + _FIXED.size + len(text) + rows.size
    return b"".join([MAGIC, _FIXED.pack(FORMAT, len(text), size, checksum), text, rows])


def unpack(blob: bytes) -> tuple[dict[str, Any], pa.Table]:
    view = memoryview(blob)
    start = len(MAGIC) + _FIXED.size
    if bytes(view[: len(MAGIC)]) != MAGIC or len(view) < start:
        raise InvalidState("this is no state of a tracker: it begins otherwise")
    form, length, size, checksum = _FIXED.unpack_from(view, len(MAGIC))
    if form != FORMAT:
        raise InvalidState(
            f"the state has format {form}, this program reads format {FORMAT}:"
            " use the release that wrote it, or start anew with a new checkpoint"
        )
    if size != len(view) or zlib.crc32(view[start:]) != checksum:
        raise InvalidState("the state is damaged: its length or its checksum is wrong")
    head = json.loads(bytes(view[start : start + length]))
    with pa.ipc.open_stream(pa.py_buffer(view[start + length :])) as reader:
        return head, reader.read_all()


def format_of(blob: bytes) -> int:
    """The format a blob claims to have."""
    return int(_FIXED.unpack_from(blob, len(MAGIC))[0])
