"""Changes as a table: our own columns, then the declared attributes of the object's latest row.

An attribute that has the name of an own column comes out as `<stream>_<name>`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.errors import InvalidQuery
from watchline.kernels.arrays import Doubles, Integers
from watchline.model import Stream
from watchline.reasons import REASONS
from watchline.rows.acceptance import TIME, arrow_type, row_schema
from watchline.rows.columns import one_array
from watchline.rows.slot_columns import taken

_REASONS = pa.array(REASONS, pa.string())
_SIGN, _DISTANCE = pa.int8(), pa.float64()
OWN = ("query_id", "sign", "object_id", "time", "reason", "distance")


@lru_cache(maxsize=64)
def shown_names(stream: Stream) -> dict[str, str]:
    """The column of a change that has each attribute, by the attribute's name. The names of our own
    columns are compared without regard to case, because Spark cannot tell such columns apart."""
    names = [a.name for a in stream.attributes]
    shown = {name: f"{stream.name}_{name}" if name.casefold() in OWN else name for name in names}
    known = {name.casefold() for name in names}
    for name, column in shown.items():
        if column != name and column.casefold() in known:
            raise InvalidQuery(
                f"attribute {name!r} of stream {stream.name!r} has the name of a column of the"
                f" result, and would come out as {column!r}, but there is such an attribute:"
                " declare one of them by another name"
            )
    return shown


@lru_cache(maxsize=64)
def change_schema(stream: Stream) -> pa.Schema:
    """The columns of a change."""
    object_type = arrow_type(stream.attribute(stream.object))
    types = (pa.string(), _SIGN, object_type, TIME, pa.string(), _DISTANCE)
    shown = shown_names(stream)
    attributes = [(shown[field.name], field.type) for field in row_schema(stream)]
    return pa.schema([*zip(OWN, types, strict=True), *attributes])


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
    distances: Doubles | None,
) -> pa.Table:
    """Change i is of query `ids[i]` and shows `rows[places[i]]`; reasons are codes. Distances are
    NaN where there is none, or None if no change has one."""
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
        _distance_column(distances, len(places)),
    ]
    return pa.Table.from_arrays([*own, *attributes], schema=change_schema(stream))


def _distance_column(distances: Doubles | None, count: int) -> pa.Array:
    """With NULL for NaN."""
    if distances is None:
        return pa.nulls(count, _DISTANCE)
    return pa.array(distances, _DISTANCE, from_pandas=True)
