"""Rows as columns: Arrow in, NumPy views out, by the attributes that a stream declares.

Numeric columns become NumPy views of the Arrow buffers, without a copy where Arrow stores them as
float64 or int64 without nulls. `check_rows` refuses rows whose columns do not fit the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.errors import InvalidQuery, SchemaMismatch, UnknownAttribute
from watchline.kernels.arrays import Doubles, Integers, Mask, read_only
from watchline.kernels.earth import all_wrapped, wrapped_all
from watchline.model import Attribute, Stream, Type
from watchline.names import hint

ARROW = {
    Type.DOUBLE: pa.float64(),
    Type.BIGINT: pa.int64(),
    Type.STRING: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.TIMESTAMP: pa.timestamp("us"),
}
_FITS = {
    Type.DOUBLE: lambda t: pa.types.is_floating(t) or _fits_exactly(t, 32),
    Type.BIGINT: lambda t: _fits_exactly(t, 64),
    Type.STRING: lambda t: pa.types.is_string(t) or pa.types.is_large_string(t),
    Type.BOOLEAN: pa.types.is_boolean,
    Type.TIMESTAMP: pa.types.is_timestamp,
}

# Arrow's numbers of types that need no conversion, and of times.
_EXACT: dict[Type, Any] = {
    kind: arrow.id for kind, arrow in ARROW.items() if kind is not Type.TIMESTAMP
}
_TIMES = ARROW[Type.TIMESTAMP].id


def _fits_exactly(kind: pa.DataType, bits: int) -> bool:
    """Whether every integer of the type is one of so many bits (uint64 is none of 64)."""
    if not pa.types.is_integer(kind):
        return False
    signed: bool = pa.types.is_signed_integer(kind)
    return bool(kind.bit_width <= bits) if signed else bool(kind.bit_width < bits)


def check_rows(schema: pa.Schema, stream: Stream, own: tuple[str, ...] = ()) -> None:
    """Refuse rows that are not the declared stream; `own` are columns that the result adds."""

    def misfit(attribute: Attribute) -> str | None:
        kind = schema.field(attribute.name).type
        stored = kind.value_type if pa.types.is_dictionary(kind) else kind
        return None if pa.types.is_null(kind) or _FITS[attribute.type](stored) else str(kind)

    check_columns("the rows do", schema.names, misfit, stream, own)


def check_columns(
    given: str,
    names: Sequence[str],
    misfit: Callable[[Attribute], str | None],
    stream: Stream,
    own: tuple[str, ...],
) -> None:
    """Name all that is wrong with given columns; `misfit` is the type of one that does not fit."""
    wrong = []
    if len(set(names)) < len(names):
        wrong.append("two columns have the same name: rename one")
        misfit = _unknown
    for attribute in stream.attributes:
        if attribute.name not in names:
            instead = hint(attribute.name, names)
            wrong.append(f"column {attribute.name!r} ({attribute.type.value}) is missing{instead}")
        elif (kind := misfit(attribute)) is not None:
            wrong.append(
                f"column {attribute.name!r} is {kind}, not {attribute.type.value}: cast it"
            )
    wrong += [
        f"column {name!r} is in the way of the result's own: rename it"
        for name in own
        if name in names
    ]
    if wrong:
        raise SchemaMismatch(f"{given} not fit stream {stream.name!r}: " + "; ".join(wrong))


def _unknown(attribute: Attribute) -> None:
    """Of two columns of one name neither is the attribute's."""


class Columns:
    """The declared attributes of a batch of rows, each converted when it is first asked for."""

    def __init__(self, rows: pa.RecordBatch | pa.Table, stream: Stream):
        self._rows = rows
        self._stream = stream
        self._arrays: dict[str, pa.Array] = {}
        self._values: dict[str, npt.NDArray[np.generic]] = {}
        self._known: dict[str, Mask] = {}
        self._source: Columns | None = None
        self._chosen: Integers | None = None

    def __len__(self) -> int:
        return int(self._rows.num_rows) if self._chosen is None else len(self._chosen)

    @property
    def table(self) -> pa.Table:
        """The rows as they were given, if that was as a table and all of them are meant."""
        assert isinstance(self._rows, pa.Table)
        assert self._chosen is None
        return self._rows

    def array(self, attribute: Attribute) -> pa.Array:
        """The column as one Arrow array of exactly the declared type."""
        array = self._arrays.get(attribute.name)
        if array is None:
            if self._source is not None:
                array = self._source.array(attribute).take(pa.array(self._chosen))
            else:
                array = self.as_given(attribute)
                if self._stream.geography:
                    array = on_the_sheet(array, attribute.name, self._stream)
            self._arrays[attribute.name] = array
        return array

    def as_given(self, attribute: Attribute) -> pa.Array:
        """The column of the rows themselves, of the declared type; on Earth a latitude may be
        beyond a pole."""
        return _converted(self._rows, attribute, self._stream)

    def take(self, rows: Integers) -> Columns:
        """These rows only; columns that were converted before are not converted again."""
        taken = Columns(self._rows, self._stream)
        taken._source, taken._chosen = self, rows
        return taken

    def derive(self, attribute: Attribute, array: pa.Array) -> None:
        """Give a derived attribute its values, which were computed from these rows."""
        self._arrays[attribute.name] = array

    def present(self, attribute: Attribute) -> Mask:
        """Where the attribute has a value: not NULL, not NaN."""
        array = self.array(attribute)
        if attribute.type is Type.DOUBLE:
            return np.asarray(~np.isnan(self.values(attribute)))
        if array.null_count == 0:
            return np.ones(len(array), dtype=np.bool_)
        return mask_of(array.is_valid())

    def comparable(self, attribute: Attribute) -> Mask:
        """Where comparisons are not unknown: a value, and a finite one."""
        if attribute.name not in self._known:
            if attribute.type is Type.DOUBLE:
                known = np.isfinite(self.values(attribute))
            else:
                known = self.present(attribute)
            self._known[attribute.name] = known
        return self._known[attribute.name]

    def values(self, attribute: Attribute) -> npt.NDArray[np.generic]:
        """Numbers as float64 or int64; NULL reads as NaN in the one, as 0 in the other."""
        values = self._values.get(attribute.name)
        if values is None:
            array = self.array(attribute)
            if attribute.type is not Type.DOUBLE and array.null_count:
                array = pc.fill_null(array, False if attribute.type is Type.BOOLEAN else 0)
            values = self._values[attribute.name] = array.to_numpy(zero_copy_only=False)
        return values


def on_the_sheet(array: pa.Array, name: str, stream: Stream) -> pa.Array:
    """The longitudes of a stream on Earth in [-180, 180), and its latitudes without those beyond a
    pole, which become NULL; other columns, and those that are so already, as they are."""
    assert stream.point
    if name not in stream.point:
        return array
    values: Doubles = array.to_numpy(zero_copy_only=False)
    if name == stream.point[0]:
        if all_wrapped(read_only(values)):
            return array
        return pa.array(wrapped_all(read_only(values)), from_pandas=True)
    beyond = beyond_a_pole(values)
    return array if beyond is None else pc.if_else(pa.array(beyond), None, array)


def beyond_a_pole(latitudes: Doubles) -> Mask | None:
    """Which latitudes are none, None if all are; NaN counts as one that is not known."""
    if not len(latitudes) or max(np.fmax.reduce(latitudes), -np.fmin.reduce(latitudes)) <= 90:
        return None
    beyond: Mask = np.abs(latitudes) > 90
    return beyond if beyond.any() else None


def _converted(rows: pa.RecordBatch | pa.Table, attribute: Attribute, stream: Stream) -> pa.Array:
    place = rows.schema.get_field_index(attribute.name)
    if place < 0 and attribute.derived:
        return pa.nulls(rows.num_rows, ARROW[attribute.type])
    if place < 0:
        found = rows.schema.names.count(attribute.name)
        raise UnknownAttribute(
            f"the rows have {found or 'no'} column{'s' * (found > 1)} {attribute.name!r};"
            f" stream {stream.name!r} declares one"
        )
    array = one_array(rows.column(place))
    kind = array.type
    if kind.id == _EXACT.get(attribute.type):
        return array
    if kind.id == _TIMES and attribute.type is Type.TIMESTAMP and kind.unit == "us":
        return array.view(pa.int64())
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
    if not pa.types.is_null(kind) and not _FITS[attribute.type](array.type):
        raise InvalidQuery(
            f"column {attribute.name!r} is {kind}, but stream {stream.name!r} declares it as"
            f" {attribute.type.value}: cast it first"
        )
    if attribute.type is Type.TIMESTAMP and not pa.types.is_null(kind):
        if kind.unit == "ns":
            array = pc.floor_temporal(array, unit="microsecond")
        # As int64: a time zone moves no instant, and any unit becomes microseconds.
        try:
            return array.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        except pa.ArrowInvalid:
            raise InvalidQuery(
                f"column {attribute.name!r} has times that do not fit in 64 bits of microseconds"
            ) from None
    wanted = pa.int64() if attribute.type is Type.TIMESTAMP else ARROW[attribute.type]
    return array if array.type == wanted else array.cast(wanted)


def one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column in one piece; only several pieces are copied."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def mask_of(array: pa.Array) -> Mask:
    """Booleans without NULL as a NumPy mask."""
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.bool_)
