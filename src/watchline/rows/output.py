"""Changes as a table: our own columns, then the declared attributes of the object's latest row."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.errors import InvalidQuery
from watchline.kernels.arrays import Integers
from watchline.model import Stream
from watchline.reasons import REASONS
from watchline.rows.acceptance import TIME, arrow_type, row_schema
from watchline.rows.columns import one_array
from watchline.rows.slot_columns import taken

_REASONS = pa.array(REASONS, pa.string())
_SIGN = pa.int8()
OWN = ("query_id", "sign", "object_id", "time", "reason")


@lru_cache(maxsize=64)
def change_schema(stream: Stream) -> pa.Schema:
    """The columns of a change; attributes that are called as our own are refused."""
    taken = [a.name for a in stream.attributes if a.name in OWN]
    if taken:
        raise InvalidQuery(
            f"attribute {taken[0]!r} of stream {stream.name!r} is in the way of the result's own"
            " column: declare it by another name"
        )
    own = [pa.string(), pa.int8(), arrow_type(stream.attribute(stream.object)), TIME, pa.string()]
    return pa.schema([*zip(OWN, own, strict=True), *row_schema(stream)])


@lru_cache(maxsize=64)
def no_changes(stream: Stream) -> pa.Table:
    """A table of changes without rows, the same at each call: to make one costs as much as a batch
    of one row."""
    return change_schema(stream).empty_table()


def change_table(
    stream: Stream,
    rows: pa.Table,
    places: Integers,
    ids: pa.Array,
    signs: npt.NDArray[np.int8],
    times: Integers,
    reasons: npt.NDArray[Any],
) -> pa.Table:
    """Change i is of query `ids[i]` and shows `rows[places[i]]`; reasons are codes."""
    if not len(places):
        return no_changes(stream)
    names = rows.schema.names
    attributes = [taken(one_array(rows.column(i)), places) for i in range(rows.num_columns)]
    own = [
        ids,
        pa.Array.from_buffers(_SIGN, len(signs), [None, pa.py_buffer(signs.astype(np.int8))]),
        attributes[names.index(stream.object)],
        pa.Array.from_buffers(TIME, len(times), [None, pa.py_buffer(times.astype(np.int64))]),
        taken(_REASONS, reasons.astype(np.int64)),
    ]
    return pa.Table.from_arrays([*own, *attributes], schema=change_schema(stream))
