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

_REASONS = pa.array(REASONS, pa.string())
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
    schema = change_schema(stream)
    if not len(places):
        return schema.empty_table()
    attributes = rows.take(pa.array(places))
    own = [
        ids,
        pa.array(signs, pa.int8()),
        attributes[stream.object],
        pa.Array.from_buffers(TIME, len(times), [None, pa.py_buffer(times.astype(np.int64))]),
        _REASONS.take(pa.array(reasons, pa.int8())),
    ]
    return pa.Table.from_arrays([*own, *attributes.columns], schema=schema)
