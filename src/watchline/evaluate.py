"""Conditions and static regions over columns: Arrow in, a NumPy mask out, no Python per row.

Invariant: `holds(condition, columns)[i]` is True exactly where SQL's WHERE would keep row i. NULL
and NaN have no value; an infinite number has one, but every comparison with it is unknown. Integers
are compared as integers, also with floats.

Numeric columns become NumPy views of the Arrow buffers, without a copy where Arrow stores them as
float64 or int64 without nulls. Cost: one pass per atom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.errors import InvalidQuery, SchemaMismatch, UnknownAttribute
from watchline.model import (
    INF,
    Atom,
    Attribute,
    Box,
    Circle,
    Compare,
    Condition,
    InRange,
    IsNull,
    NoneOf,
    NotNull,
    OneOf,
    Polygon,
    Query,
    Stream,
    Type,
)
from watchline.names import hint

Mask = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]

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
        self._chosen: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return int(self._rows.num_rows) if self._chosen is None else len(self._chosen)

    def array(self, attribute: Attribute) -> pa.Array:
        """The column as one Arrow array of exactly the declared type."""
        name = attribute.name
        if name not in self._arrays:
            if self._source is not None:
                array = self._source.array(attribute).take(pa.array(self._chosen))
            else:
                array = _converted(self._rows, attribute, self._stream)
            self._arrays[name] = array
        return self._arrays[name]

    def take(self, rows: npt.NDArray[np.int64]) -> Columns:
        """These rows only; columns that were converted before are not converted again."""
        taken = Columns(self._rows, self._stream)
        taken._source, taken._chosen = self, rows
        return taken

    def present(self, attribute: Attribute) -> Mask:
        """Where the attribute has a value: not NULL, not NaN."""
        array = self.array(attribute)
        if attribute.type is Type.DOUBLE:
            return np.asarray(~np.isnan(self.values(attribute)))
        if array.null_count == 0:
            return np.ones(len(array), dtype=np.bool_)
        return _mask(array.is_valid())

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
        name = attribute.name
        if name not in self._values:
            array = self.array(attribute)
            if attribute.type is not Type.DOUBLE and array.null_count:
                array = pc.fill_null(array, False if attribute.type is Type.BOOLEAN else 0)
            self._values[name] = array.to_numpy(zero_copy_only=False)
        return self._values[name]


def _converted(rows: pa.RecordBatch | pa.Table, attribute: Attribute, stream: Stream) -> pa.Array:
    found = rows.schema.names.count(attribute.name)
    if found != 1:
        raise UnknownAttribute(
            f"the rows have {found or 'no'} column{'s' * (found > 1)} {attribute.name!r};"
            f" stream {stream.name!r} declares one"
        )
    array = _one_array(rows.column(attribute.name))
    kind = array.type
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


def _one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column in one piece; only several pieces are copied."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _mask(array: pa.Array) -> Mask:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.bool_)


# --- conditions


def satisfies(query: Query, columns: Columns, stream: Stream) -> Mask:
    """WHERE and a static INSIDE of a query over one stream."""
    mask = holds(query.where, columns)
    if query.region is None:
        return mask
    assert stream.point is not None
    x, y = (columns.values(stream.attribute(name)) for name in stream.point)
    return mask & contains(query.region, x, y)  # type: ignore[arg-type]


def holds(condition: Condition, columns: Columns) -> Mask:
    """Where some conjunction has all its atoms true."""
    masks = (
        reduce(
            np.logical_and, (_atom(a, columns) for a in c.atoms), np.ones(len(columns), np.bool_)
        )
        for c in condition
    )
    return reduce(np.logical_or, masks, np.zeros(len(columns), np.bool_))


def _atom(atom: Atom, columns: Columns) -> Mask:
    if isinstance(atom, Compare):
        return _compare(atom, columns)
    attribute = atom.attribute
    if isinstance(atom, InRange):
        values, result = columns.values(attribute), columns.comparable(attribute)
        if atom.range.lo != -INF:
            result = result & (values >= atom.range.lo)  # type: ignore[operator]
        return result & (values < atom.range.hi) if atom.range.hi != INF else result  # type: ignore[operator]
    if isinstance(atom, IsNull):
        return ~columns.present(attribute)
    if isinstance(atom, NotNull):
        return columns.present(attribute)
    among = _mask(pc.is_in(columns.array(attribute), pa.array(atom.values, ARROW[attribute.type])))
    if isinstance(atom, OneOf):
        return among
    assert isinstance(atom, NoneOf)
    return columns.present(attribute) & ~among


def _compare(atom: Compare, columns: Columns) -> Mask:
    known = columns.comparable(atom.left) & columns.comparable(atom.right)
    if atom.left.type is Type.STRING:
        equal = pc.equal(columns.array(atom.left), columns.array(atom.right))
        signs = np.where(_mask(pc.fill_null(equal, False)), 0, 1)
    else:
        signs = _signs(columns.values(atom.left), columns.values(atom.right))
    # Orders are less 1, equal 2, greater 4: the bit number is the sign plus one.
    return known & ((atom.orders >> (signs + 1)) & 1).astype(np.bool_)


def _signs(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """-1, 0 or 1 as a is less than, equal to or greater than b; garbage where either is unknown."""
    a_float, b_float = a.dtype == np.float64, b.dtype == np.float64
    if a_float and not b_float:
        return -_signs_mixed(b, a)  # type: ignore[arg-type]
    if b_float and not a_float:
        return _signs_mixed(a, b)  # type: ignore[arg-type]
    return (a > b).astype(np.int64) - (a < b)  # type: ignore[operator, no-any-return]


def _signs_mixed(integers: npt.NDArray[np.int64], doubles: Doubles) -> npt.NDArray[np.int64]:
    """Exactly, where float64(integer) would round: compare with the floor, then its fraction."""
    limit = 2.0**63
    inside = (doubles >= -limit) & (doubles < limit)
    floor = np.floor(np.where(inside, doubles, 0.0))
    whole = floor.astype(np.int64)
    signs = (integers > whole).astype(np.int64) - (integers < whole)
    signs = np.where((signs == 0) & (doubles > floor), -1, signs)
    return np.where(inside, signs, np.where(doubles > 0, -1, 1))


# --- regions


def contains(region: Box | Circle | Polygon, x: Doubles, y: Doubles) -> Mask:
    """Which points are inside a static region; NaN and infinities are in none."""
    finite = np.isfinite(x) & np.isfinite(y)
    if isinstance(region, Box):
        return finite & (region.x1 <= x) & (x < region.x2) & (region.y1 <= y) & (y < region.y2)
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(region, Circle):
            dx, dy = x - region.x, y - region.y
            return finite & (dx * dx + dy * dy <= region.radius * region.radius)
        inside = np.zeros(len(x), dtype=np.bool_)
        for ring in region.rings():
            for (ax, ay), (bx, by) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
                if ay == by:
                    continue
                xl, yl, xu, yu = (ax, ay, bx, by) if ay < by else (bx, by, ax, ay)
                inside ^= (yl <= y) & (y < yu) & (x < xl + (y - yl) / (yu - yl) * (xu - xl))
        return finite & inside
