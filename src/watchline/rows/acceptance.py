"""A batch of rows: which are accepted, and in which order they count.

Rows count by (time, object id, attributes); NULL comes before any value, strings go by their bytes.
What an object's answers depend on is the order of its own rows, so that is what is made here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.errors import SchemaMismatch
from watchline.kernels.arrays import Doubles, Integers, Mask, read_only
from watchline.kernels.compiled import kernel
from watchline.model import Attribute, Stream, Type
from watchline.rows.columns import ARROW, Columns, beyond_a_pole, on_the_sheet, one_array
from watchline.rows.slot_columns import raw_values

TIME = pa.timestamp("us", "UTC")
_ARROW = {**ARROW, Type.TIMESTAMP: TIME}
_LAST = 2**63 - 1
_NO_ORDER = np.empty(0, np.int64)
# The reason of rows that are farther ahead of the wall clock than MAX AHEAD.
FUTURE = "future"
# That of rows on Earth beyond a pole: mostly longitude and latitude are swapped.
LATITUDE = "latitude"
# Rows that were not accepted, by the reason.
Rejects = Counter[str]


def arrow_type(attribute: Attribute) -> pa.DataType:
    """The Arrow type of an attribute in rows that are accepted."""
    return _ARROW[attribute.type]


@lru_cache(maxsize=64)
def row_schema(stream: Stream) -> pa.Schema:
    """The columns of rows that are accepted."""
    return pa.schema([(a.name, arrow_type(a)) for a in stream.attributes])


def conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of this schema: NULL where there is none of its name and type."""
    columns = [
        rows[field.name]
        if field.name in rows.schema.names and rows.schema.field(field.name).type == field.type
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def declared(rows: pa.Table | pa.RecordBatch, stream: Stream) -> pa.Table:
    """The declared attributes, each in one piece and of exactly its type."""
    if not isinstance(rows, (pa.Table, pa.RecordBatch)):
        raise SchemaMismatch(f"rows come as a pyarrow Table, not as {type(rows).__name__}")
    schema = row_schema(stream)
    if rows.schema.equals(schema):
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        table = _in_one_piece(table)
        return _wrapped(table, stream) if stream.geography else table
    columns = Columns(rows, stream)
    arrays = []
    for attribute in stream.attributes:
        # Latitudes are for `accepted` to judge.
        is_latitude = stream.geography and stream.point and attribute.name == stream.point[1]
        array = columns.as_given(attribute) if is_latitude else columns.array(attribute)
        arrays.append(array.cast(TIME) if attribute.type is Type.TIMESTAMP else array)
    return pa.Table.from_arrays(arrays, schema=schema)


def _wrapped(rows: pa.Table, stream: Stream) -> pa.Table:
    """The rows with their longitudes in [-180, 180)."""
    assert stream.point
    place = rows.schema.get_field_index(stream.point[0])
    given = one_array(rows.column(place))
    if (moved := on_the_sheet(given, stream.point[0], stream)) is given:
        return rows
    return rows.set_column(place, rows.schema.field(place), moved)


def _in_one_piece(rows: pa.Table) -> pa.Table:
    """The table, each of whose columns is one array."""
    if all(rows.column(i).num_chunks == 1 for i in range(rows.num_columns)):
        return rows
    arrays = [one_array(column) for column in rows.columns]
    return pa.Table.from_arrays(arrays, schema=rows.schema)


@dataclass(frozen=True)
class AcceptedRows:
    """Rows that an engine may process: the declared attributes of the stream, of rows that passed
    every check. Rows are accepted once, by `accepted`, and an engine does not check these again."""

    table: pa.Table
    stream: Stream
    # The same rows as columns, where their acceptance has looked at them already.
    seen: Columns | None = None

    @property
    def columns(self) -> Columns:
        """The rows as columns."""
        return Columns(self.table, self.stream) if self.seen is None else self.seen

    @staticmethod
    def trusted(table: pa.Table, stream: Stream) -> AcceptedRows:
        """Rows that were accepted in another process, which sent the table alone.

        Nothing is checked here but the columns. On Spark the router accepts rows and the shards
        trust them: both are at the version that is pinned for the batch, so that the stream and the
        attributes that its queries use are the same.
        """
        return AcceptedRows(declared(table, stream), stream)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def of(self, stream: Stream) -> AcceptedRows:
        """These rows, if they have the columns of this stream as it is declared now."""
        if self.stream.name != stream.name or self.table.schema != row_schema(stream):
            raise SchemaMismatch(
                f"the rows were accepted for stream {self.stream.name!r} as it was declared then:"
                f" accept them for stream {stream.name!r} as it is now"
            )
        return self


# What engines take: rows to be checked, or rows that were.
Rows = Union[pa.Table, pa.RecordBatch, AcceptedRows]


def accepted(
    rows: Rows, stream: Stream, used: frozenset[str], now: int | None = None
) -> tuple[AcceptedRows, Rejects]:
    """The declared attributes of the rows that have an object, a time, and a finite number in each
    attribute that is used. Rows that are accepted already are not checked again.

    `now` is the wall clock, in microseconds: rows farther ahead of it than the stream allows are
    rejected as `future`. Without it no row is.
    """
    rejects: Rejects = Counter()
    if isinstance(rows, AcceptedRows):
        return rows.of(stream), rejects
    table = declared(rows, stream)
    columns = Columns(table, stream)
    good: Mask | None = None
    for found, reason in _requirements(columns, stream, used, now):
        passed = found if good is None else good & found
        if bad := (len(columns) if good is None else np.count_nonzero(good)) - np.count_nonzero(
            passed
        ):
            rejects[reason] += int(bad)
        good = passed
    if not rejects:
        return AcceptedRows(table, stream, columns), rejects
    kept = table.filter(pa.array(good))
    return AcceptedRows(kept, stream), rejects


def _requirements(
    columns: Columns, stream: Stream, used: frozenset[str], now: int | None
) -> Iterator[tuple[Mask, str]]:
    """Which rows meet each requirement, and the reason of those that do not. Requirements that all
    rows meet are left out: to see that costs one look at a column, without an array of masks."""
    time = stream.attribute(stream.time)
    for attribute, reason in ((stream.attribute(stream.object), "no object id"), (time, "no time")):
        if columns.array(attribute).null_count:
            yield columns.present(attribute), reason
    if now is not None and stream.max_ahead is not None and len(columns):
        latest = min(now + stream.max_ahead, _LAST)
        times = raw_values(columns.array(time))
        if extent(read_only(times))[1] > latest:
            # What stands where there is NULL decides nothing: such a row has no time.
            yield times <= np.int64(latest), FUTURE
    if stream.geography and stream.point:
        latitudes = columns.as_given(stream.attribute(stream.point[1]))
        if (beyond := beyond_a_pole(latitudes.to_numpy(zero_copy_only=False))) is not None:
            yield ~beyond, LATITUDE
    for attribute in stream.attributes:
        if attribute.name not in used or attribute.type not in (Type.DOUBLE, Type.BIGINT):
            continue
        if columns.array(attribute).null_count or (
            attribute.type is Type.DOUBLE and not _all_finite(read_only(columns.values(attribute)))
        ):
            yield columns.comparable(attribute), f"no finite {attribute.name}"


def times_of(rows: pa.Table, stream: Stream) -> Integers:
    """Microseconds of 1970, without a copy where the column is in one piece."""
    times: Integers = raw_values(one_array(rows[stream.time]))
    return times


def stable_order(keys: Integers) -> Integers:
    """As a stable argsort, but numbers are sorted much faster than their places are."""
    n = len(keys)
    bits = n.bit_length()
    low, high = (int(keys.min()), int(keys.max())) if n else (0, 0)
    if (high - low) >> (63 - bits):
        return np.argsort(keys, kind="stable")
    packed = ((keys - low) << bits) | np.arange(n)
    packed.sort()
    return packed & ((1 << bits) - 1)


def sequence(codes: Integers, times: Integers, rows: pa.Table) -> Integers:
    """The rows by object, and those of an object by time and then by attributes."""
    count = int(codes.max(initial=-1)) + 1
    order, is_sorted, has_ties = _by_object(codes, times, _NO_ORDER, count)
    if not is_sorted:
        order, _, has_ties = _by_object(codes, times, stable_order(times), count)
    if has_ties:
        same = (codes[order][1:] == codes[order][:-1]) & (times[order][1:] == times[order][:-1])
        places = order[_tied_places(same)]
        order[_tied_places(same)] = _by_attributes(codes[places], times[places], rows, places)
    return order


def in_time(rows: pa.Table, stream: Stream) -> Integers:
    """The rows by time, those of one time by object id, and then by attributes."""
    times, objects = times_of(rows, stream), rows[stream.object].combine_chunks()
    if pa.types.is_integer(objects.type):
        ids = objects.to_numpy()
    else:
        found = pc.rank(objects, sort_keys="ascending", tiebreaker="dense")
        ids = found.to_numpy().astype(np.int64)
    same = times[1:] == times[:-1]
    if ((times[1:] > times[:-1]) | (same & (ids[1:] > ids[:-1]))).all():
        return np.arange(len(times))
    order = np.lexsort((ids, times))
    times, ids = times[order], ids[order]
    places = _tied_places((times[1:] == times[:-1]) & (ids[1:] == ids[:-1]))
    if len(places):
        order[places] = _by_attributes(times[places], ids[places], rows, order[places])
    return order


def _tied_places(same: Mask) -> Integers:
    """Those that are the same as the one before or after them."""
    tied = np.zeros(len(same) + 1, dtype=np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    return np.flatnonzero(tied)


@kernel
def _by_object(
    codes: Integers, times: Integers, by_time: Integers, count: int
) -> tuple[Integers, bool, bool]:
    """The rows by code, and those of one code by time: a counting sort of an order by time, which
    is that of the rows if none is given. Whether they were in that order, without which there is no
    result; and whether two rows of one code have the same time."""
    n, given = len(codes), len(by_time) > 0
    order = np.empty(n, np.int64)
    if not given:
        for i in range(1, n):
            if times[i] < times[i - 1]:
                return order, False, False
    places = np.zeros(count + 1, dtype=np.int64)
    for i in range(n):
        places[codes[i] + 1] += 1
    for c in range(count):
        places[c + 1] += places[c]
    for i in range(n):
        row = by_time[i] if given else i
        c = codes[row]
        order[places[c]] = row
        places[c] += 1
    has_ties = False
    for i in range(1, n):
        a, b = order[i - 1], order[i]
        has_ties |= (codes[a] == codes[b]) & (times[a] == times[b])
    return order, True, has_ties


@kernel
def extent(times: Integers) -> tuple[int, int]:
    """The least and the greatest of some times, of which there is one at least."""
    least, greatest = times[0], times[0]
    for time in times:
        least, greatest = min(least, time), max(greatest, time)
    return least, greatest


@kernel
def _all_finite(values: Doubles) -> bool:
    finite = True
    for value in values:
        # Of infinity and NaN the difference with themselves is NaN. The loop has no way out, so
        # that it becomes vector instructions.
        finite &= value - value == 0.0
    return finite


def _by_attributes(first: Integers, second: Integers, rows: pa.Table, tied: Integers) -> Integers:
    """These rows in the order of two keys, and then of their attributes."""
    columns = {"first": pa.array(first), "second": pa.array(second)}
    taken = rows.take(pa.array(tied))
    for i, column in enumerate(taken.columns):
        if pa.types.is_floating(column.type):
            # NaN counts as NULL, and zero has one sign.
            column = pc.if_else(pc.is_nan(column), None, pc.add(column, 0.0))
        # What has no value comes first.
        columns[f"has{i}"], columns[f"a{i}"] = column.is_valid(), column
    found = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])
    return tied[found.to_numpy()]
