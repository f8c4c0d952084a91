"""Boxes in bulk: a million range queries as columns, never as a million objects.

Bounds on DOUBLE attributes are half-open float64 pairs; on BIGINT and TIMESTAMP they are kept as
inclusive int64 pairs, because the exclusive end of "no upper bound" is 2^63, which int64 lacks. A
string attribute has one value per query.

An attribute named in `bounds` is asked to be a number, also where both its bounds are infinite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from watchline.catalog.query_blocks import Block, emit_of, query_ids
from watchline.errors import InvalidQuery, InvalidRange
from watchline.kernels.arrays import Array, Doubles, Integers, Mask
from watchline.model import (
    INF,
    MAX_BIGINT,
    MAX_DOUBLE,
    MIN_BIGINT,
    YEAR_1,
    YEAR_9999,
    Atom,
    Attribute,
    Emit,
    OneOf,
    Query,
    Range,
    Source,
    Stream,
    Type,
    conjunction,
    in_range,
    micros_of,
)


@dataclass(frozen=True)
class BoxBlock(Block):
    """The living queries of one `register_boxes`, column by column.

    `lo`, `hi` are (n, doubles); `first`, `last` are (n, integers), inclusive; `keys` has one string
    array per string attribute.
    """

    doubles: tuple[Attribute, ...]
    integers: tuple[Attribute, ...]
    strings: tuple[Attribute, ...]
    lo: Doubles
    hi: Doubles
    first: Integers
    last: Integers
    keys: tuple[pa.Array, ...]

    one = "box"

    def query(self, i: int) -> Query:
        atoms: list[Atom] = []
        for a, lo, hi in zip(self.doubles, self.lo[i].tolist(), self.hi[i].tolist(), strict=True):
            atoms.append(in_range(a, Range(lo, hi)))
        ends = zip(self.integers, self.first[i].tolist(), self.last[i].tolist(), strict=True)
        for a, first, last in ends:
            lo = -INF if first == MIN_BIGINT else first
            atoms.append(in_range(a, Range(lo, INF if last == MAX_BIGINT else last + 1)))
        for a, values in zip(self.strings, self.keys, strict=True):
            atoms.append(OneOf(a, (values[i].as_py(),)))
        where = conjunction(atoms)
        assert where is not None
        return Query(self.ids[i].as_py(), (Source(self.stream),), where=(where,), emit=self.emit)

    @property
    def kind(self) -> object:
        return self.doubles, self.integers, self.strings

    def all_properties(self) -> pa.Array:
        return pa.nulls(len(self), pa.string())

    def kept(self, mask: Mask) -> BoxBlock:
        chosen = pa.array(mask)
        return replace(
            self,
            ids=self.ids.filter(chosen),
            lo=self.lo[mask],
            hi=self.hi[mask],
            first=self.first[mask],
            last=self.last[mask],
            keys=tuple(k.filter(chosen) for k in self.keys),
        )


def block_of(
    stream: Stream, ids: Any, bounds: Mapping[str, Any], emit: str | Emit, version: int = 0
) -> BoxBlock:
    """What a caller of `register_boxes` gave, checked and in columns."""
    id_array = query_ids(ids, "register_boxes")
    if not bounds:
        raise InvalidQuery('register_boxes needs bounds, as in {"price": (lo, hi)}')
    attributes = [stream.attribute(name) for name in bounds]
    doubles = tuple(a for a in attributes if a.type is Type.DOUBLE)
    integers = tuple(a for a in attributes if a.type in (Type.BIGINT, Type.TIMESTAMP))
    strings = tuple(a for a in attributes if a.type is Type.STRING)
    for a in attributes:
        if a.type is Type.BOOLEAN:
            raise InvalidQuery(
                f"register_boxes takes no bounds on the BOOLEAN attribute {a.name!r}"
            )
    n = len(id_array)
    float_pairs = [_double_bounds(a, bounds[a.name], n) for a in doubles]
    int_pairs = [_integer_bounds(a, bounds[a.name], n) for a in integers]
    for a, (low, high) in zip(doubles, float_pairs, strict=True):
        _check_order(a, id_array, ~(low < high) | (high <= -MAX_DOUBLE))
    for a, (first, last) in zip(integers, int_pairs, strict=True):
        _check_order(a, id_array, first > last)
    return BoxBlock(
        version=version,
        stream=stream.name,
        emit=emit_of(emit),
        doubles=doubles,
        integers=integers,
        strings=strings,
        ids=id_array,
        lo=_columns([low for low, _ in float_pairs], n, np.float64),
        hi=_columns([high for _, high in float_pairs], n, np.float64),
        first=_columns([first for first, _ in int_pairs], n, np.int64),
        last=_columns([last for _, last in int_pairs], n, np.int64),
        keys=tuple(_key_array(a, bounds[a.name], n) for a in strings),
    )


def _pair(attribute: Attribute, bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InvalidQuery(f"the bounds of {attribute.name!r} must be a pair (lo, hi)")
    return bounds[0], bounds[1]


def _spread(attribute: Attribute, values: Array, n: int) -> Array:
    """One value per query; a single value stands for all."""
    if values.ndim > 1 or values.size not in (1, n):
        raise InvalidQuery(
            f"{attribute.name!r} has bounds of shape {values.shape}; there are {n} ids"
        )
    return np.broadcast_to(values.reshape(-1), (n,))


def _numbers(attribute: Attribute, values: Any, kinds: str) -> Array:
    """The bounds as an array of one of these NumPy kinds; `O` where only Python is exact."""
    if not isinstance(values, np.ma.MaskedArray):
        array = np.asarray(values)
        mixed = array.dtype.kind == "f" and isinstance(values, (list, tuple))
        if array.dtype == np.uint64 or (mixed and any(isinstance(v, int) for v in values)):
            array = np.asarray(values, dtype=object)
        if array.dtype.kind in kinds:
            return array
    raise InvalidQuery(
        f"the bounds of {attribute.name!r} must be {attribute.type.value} values, or ±inf for none"
    )


def _double_bounds(attribute: Attribute, bounds: Any, n: int) -> tuple[Doubles, Doubles]:
    pair = [_numbers(attribute, b, "iufO") for b in _pair(attribute, bounds)]
    try:
        low, high = (array.astype(np.float64) for array in pair)
    except (TypeError, ValueError, OverflowError):
        raise InvalidQuery(f"the bounds of {attribute.name!r} must be numbers") from None
    # Adding zero turns -0.0 into 0.0.
    return _spread(attribute, low, n) + 0.0, _spread(attribute, high, n) + 0.0


def _integer_bounds(attribute: Attribute, bounds: Any, n: int) -> tuple[Integers, Integers]:
    """Half-open [lo, hi) in any numbers as inclusive int64 [first, last]."""
    low, high = _pair(attribute, bounds)
    first = _spread(attribute, _int64(attribute, low, below=False), n)
    last = _spread(attribute, _int64(attribute, high, below=True), n)
    if attribute.type is Type.TIMESTAMP:
        for ends, none in ((first, MIN_BIGINT), (last, MAX_BIGINT)):
            if ((ends != none) & ((ends < YEAR_1) | (ends > YEAR_9999))).any():
                raise InvalidRange(
                    f"a bound of {attribute.name!r} is outside the years 1 to 9999; ±inf is none"
                )
    return first, last


def _int64(attribute: Attribute, values: Any, below: bool) -> Integers:
    """The least integers >= the values, or, `below`, the greatest ones < them."""
    is_time = attribute.type is Type.TIMESTAMP
    array = _numbers(attribute, values, "iufOM" if is_time else "iufO")
    kind = array.dtype.kind
    if kind == "O":
        exact = [_exact(attribute, v, below) for v in array.ravel()]
        return np.array(exact, dtype=np.int64).reshape(array.shape)
    if kind == "f":
        return _from_doubles(attribute, array.astype(np.float64), below)
    if kind == "M":
        array = _microseconds(attribute, array)
    integers = array.astype(np.int64)
    if below and (integers == MIN_BIGINT).any():
        raise InvalidRange(f"no value is below the upper bound {MIN_BIGINT} of {attribute.name!r}")
    return integers - below


def _exact(attribute: Attribute, value: Any, below: bool) -> int:
    if isinstance(value, datetime) and attribute.type is Type.TIMESTAMP:
        value = micros_of(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidQuery(
            f"the bounds of {attribute.name!r} must be {attribute.type.value} values, not {value!r}"
        )
    if isinstance(value, float):
        return int(_from_doubles(attribute, np.array(value), below))
    if not MIN_BIGINT <= value - below <= MAX_BIGINT:
        raise InvalidRange(f"the bound {value} of {attribute.name!r} is beyond BIGINT")
    return value - below


def _from_doubles(attribute: Attribute, values: Doubles, below: bool) -> Integers:
    if np.isnan(values).any():
        raise InvalidRange(f"a bound of {attribute.name!r} is NaN")
    if (values == (-INF if below else INF)).any():
        raise InvalidRange(f"{attribute.name!r} has an infinite bound on the wrong side")
    finite = np.isfinite(values)
    inner = np.ceil(np.where(finite, values, 0.0))
    if ((inner < -(2.0**63) + below) | (inner >= 2.0**63)).any():
        raise InvalidRange(f"a bound of {attribute.name!r} is beyond BIGINT; ±inf is none")
    return np.where(finite, inner.astype(np.int64) - below, MAX_BIGINT if below else MIN_BIGINT)


def _microseconds(attribute: Attribute, times: Array) -> Array:
    """Times of any unit, rounded up to whole microseconds."""
    if np.isnat(times).any():
        raise InvalidRange(f"a bound of {attribute.name!r} is no time (NaT)")
    whole = times.astype("datetime64[us]")
    return whole.astype(np.int64) + (whole.astype(times.dtype) < times)


def _key_array(attribute: Attribute, values: Any, n: int) -> pa.Array:
    if isinstance(values, str):
        values = [values] * n
    try:
        array = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
        array = array.cast(pa.string()) if pa.types.is_large_string(array.type) else array
    except (pa.ArrowException, UnicodeError, TypeError):
        array = None
    if array is None or array.type != pa.string() or array.null_count or len(array) != n:
        raise InvalidQuery(
            f"{attribute.name!r} is STRING: give one string for each of the {n} ids, or one for all"
        )
    return array


def _check_order(attribute: Attribute, ids: pa.Array, bad: Mask) -> None:
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidRange(
            f"query {ids[i].as_py()!r} (number {i}): the bounds of {attribute.name!r} need lo < hi,"
            " and neither may be NaN"
        )


def _columns(arrays: Sequence[Array], n: int, dtype: Any) -> Array:
    if not arrays:
        return np.empty((n, 0), dtype=dtype)
    return np.ascontiguousarray(np.stack(arrays, axis=1), dtype=dtype)
