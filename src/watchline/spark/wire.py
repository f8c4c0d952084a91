"""Tables on their way between Spark's operators: Arrow IPC in binary columns.

Rows go to the shards, and results leave them, thousands in one binary, so that nothing on the way
handles them one by one. A shard sends parcels; its counters stand beside the first of them.
`UnpackTask` makes rows of parcels where no other operator needs them packed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from watchline.rows import OWN, conformed
from watchline.spark.batch_counters import COUNTS, COUNTS_TYPE, as_json

# What shards send: the columns of a parcel, and the counters.
SENT = pa.schema(
    [("target", pa.int64()), ("kind", pa.int32()), (COUNTS, COUNTS_TYPE), ("packed", pa.binary())]
)
SENT_DDL = f"target long, kind int, {COUNTS} string, packed binary"
# The kind of a parcel that has rows of the result. Other kinds are the operator's own.
ROWS = 0
# Rows in one binary.
CHUNK = 250_000
# The key of a binary's metadata that says which columns are copies of others.
_SAME = b"same"


class Parcel(NamedTuple):
    """One binary that a shard sends. `target` is the key of the shard whose partition it goes to,
    if there is another shuffle; `kind` says what is packed."""

    target: int
    kind: int
    packed: bytes


def to_ipc(rows: pa.Table) -> pa.Buffer:
    """Rows as one Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def from_ipc(blob: bytes) -> pa.Table:
    """The rows of an Arrow IPC stream."""
    with pa.ipc.open_stream(pa.py_buffer(blob)) as reader:
        return reader.read_all()


def packed_rows(rows: pa.Table) -> list[bytes]:
    """Any number of rows, at most `CHUNK` in a binary."""
    return [to_ipc(rows.slice(start, CHUNK)).to_pybytes() for start in range(0, len(rows), CHUNK)]


def packed_changes(changes: pa.Table) -> list[bytes]:
    """Changes, without the columns that are copies of others (the object's id is always an
    attribute, and most changes have the time of their row), and without distances if there is none.
    """
    same = {name: _twin(changes, name) for name in ("object_id", "time")}
    same = {name: twin for name, twin in same.items() if twin is not None}
    why = changes.schema.get_field_index("reason")
    slim = changes.set_column(why, "reason", changes["reason"].dictionary_encode())
    without = [*same, *(["distance"] if changes["distance"].null_count == len(changes) else [])]
    slim = slim.drop_columns(without).replace_schema_metadata({_SAME: json.dumps(same)})
    return packed_rows(slim)


def _twin(changes: pa.Table, name: str) -> str | None:
    """The attribute that is the same as this column."""
    column = changes[name]
    others = (field.name for field in changes.schema if field.name not in OWN)
    return next((other for other in others if column.equals(changes[other])), None)


def sent_columns(counts: Mapping[str, Any], parcels: Sequence[Parcel]) -> dict[str, list[Any]]:
    """Columns of `SENT`: the parcels, and the counters beside the first."""
    targets, kinds, packed = map(list, zip(*parcels, strict=True))
    beside = [as_json(counts), *[None] * (len(parcels) - 1)]
    return dict(zip(SENT.names, (targets, kinds, beside, packed), strict=True))


def unpacked(blob: pa.Buffer, schema: pa.Schema) -> pa.Table:
    """The rows of a binary, in the columns that the job began with."""
    if not len(blob):
        return schema.empty_table()
    slim = from_ipc(blob)
    columns = dict(zip(slim.column_names, slim.columns, strict=True))
    same = json.loads((slim.schema.metadata or {}).get(_SAME, b"{}"))
    columns |= {name: columns[twin] for name, twin in same.items()}
    for name, column in columns.items():
        if pa.types.is_dictionary(column.type):
            columns[name] = column.cast(column.type.value_type)
    return conformed(pa.table(columns), schema)


@dataclass(frozen=True)
class UnpackTask:
    """The function that `mapInArrow` runs last: binaries in, rows of this schema out."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch.column("packed"):
                yield from unpacked(packed.as_buffer(), self.schema).to_batches()
