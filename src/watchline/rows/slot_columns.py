"""Columns by slot: values that stay where they are from batch to batch, and grow when needed.

A batch reads and writes the slots of its own rows: a call costs what these rows cost, however many
slots there are. Numbers, times and booleans are arrays beside a mask of validity. Strings are bytes
in one heap: a new text takes the place of the old one if it fits, or goes to the end of the heap.
Where the heap has no room it is written anew without what nobody refers to, so the cost for each
byte is constant.
"""

from __future__ import annotations

from typing import Union

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Array, Bytes, Integers, Mask, Small, read_only
from watchline.kernels.buffers import longer_with
from watchline.kernels.compiled import kernel

_TYPES = {
    pa.float64(): np.float64,
    pa.int64(): np.int64,
    pa.bool_(): np.bool_,
}
_BOOLEAN, _DOUBLE, _STRING = (kind.id for kind in (pa.bool_(), pa.float64(), pa.string()))
# From so many values on Arrow's own gathering is as good as ours, which costs less to begin.
MANY = 4_096
# The types of which `taken` gathers few values.
_GATHERED = {kind.id for kind in (pa.float64(), pa.int64(), pa.string(), pa.timestamp("us"))}
# What the offsets of texts can count.
MOST_BYTES = 2**31 - 1
# The least size of a heap of strings, in bytes.
LEAST_HEAP = 1_024


def slot_column(kind: pa.DataType) -> SlotColumn:
    """An empty column for values of this Arrow type."""
    return StringColumn() if pa.types.is_string(kind) else NumberColumn(kind)


class NumberColumn:
    """Numbers, times and booleans. Where `valid` is False the slot has NULL."""

    def __init__(self, kind: pa.DataType):
        self.kind = kind
        self.values: Array = np.zeros(0, _TYPES.get(kind, np.int64))
        self.valid: Mask = np.zeros(0, np.bool_)
        # Whether no slot ever had NULL, so that nobody needs to look.
        self.is_full = True

    def grow(self, room: int) -> None:
        """Room for so many slots."""
        self.values = longer_with(self.values, room, 0)
        self.valid = longer_with(self.valid, room, 0)

    def put(self, slots: Integers, array: pa.Array, places: Integers | None = None) -> None:
        """Give these slots these values, or those at some places; of a slot that is named twice,
        the last one."""
        valid = valid_mask(array)
        # What stands where there is NULL is nobody's business, but states should not differ by it.
        values = raw_values(array)
        if valid is not True:
            self.is_full = False
            values = np.where(valid, values, 0)
        if places is not None:
            values = values[places]
            valid = valid[places] if isinstance(valid, np.ndarray) else valid
        self.values[slots] = values
        self.valid[slots] = valid

    def take(self, slots: Integers) -> pa.Array:
        """The values of these slots."""
        return self._arrow(self.values[slots], self.valid[slots])

    def numbers(self, slots: Integers) -> Array:
        """The values of these slots without Arrow; a double that is NULL is NaN, any other 0."""
        values = self.values[slots]
        if not self.is_full and values.dtype == np.float64:
            values[~self.valid[slots]] = np.nan
        return values

    def clear(self, slots: Integers) -> None:
        """These slots are free."""

    def first(self, count: int) -> pa.Array:
        """The values of the first slots. Nothing is copied, so the result must not outlive the
        next call of `put`."""
        return self._arrow(self.values[:count], self.valid[:count])

    def _arrow(self, values: Array, valid: Mask) -> pa.Array:
        if values.dtype == np.bool_:
            return pa.array(values, mask=~valid)
        data = [_validity(valid), pa.py_buffer(values)]
        return pa.Array.from_buffers(self.kind, len(values), data)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.valid.nbytes)


class StringColumn:
    """Texts. The text of slot s is `heap[start[s] : start[s] + size[s]]`, and has `room[s]` bytes
    there."""

    kind = pa.string()

    def __init__(self) -> None:
        self.heap: Bytes = np.zeros(0, np.uint8)
        self.start: Integers = np.zeros(0, np.int64)
        self.size: Small = np.zeros(0, np.int32)
        self.room: Small = np.zeros(0, np.int32)
        self.valid: Mask = np.zeros(0, np.bool_)
        self._end = 0

    def grow(self, room: int) -> None:
        """Room for so many slots."""
        self.start = longer_with(self.start, room, 0)
        self.size, self.room = (longer_with(x, room, 0) for x in (self.size, self.room))
        self.valid = longer_with(self.valid, room, 0)

    def put(self, slots: Integers, array: pa.Array, places: Integers | None = None) -> None:
        """Give these slots these texts, or those at some places; of a slot that is named twice, the
        last one."""
        if places is not None:
            array = taken(array, places)
        offsets, letters = text_buffers(array)
        more = int(offsets[-1] - offsets[0])
        if self._end + more > len(self.heap):
            self._make_room(more)
        where = (self.start, self.size, self.room)
        self._end = _write_texts(self.heap, self._end, where, slots, offsets, letters)
        self.valid[slots] = valid_mask(array)

    def _make_room(self, more: int) -> None:
        """A new heap for the texts there are and as many bytes more, and half as much again."""
        used = int(self.size.sum(dtype=np.int64))
        heap = np.empty(max(LEAST_HEAP, 3 * (used + more) // 2), np.uint8)
        self._end = _copy_texts(self.heap, heap, self.start, self.size)
        self.heap, self.room = heap, self.size.copy()

    def take(self, slots: Integers) -> pa.Array:
        """The texts of these slots."""
        offsets = np.zeros(len(slots) + 1, np.int64)
        np.cumsum(self.size[slots], out=offsets[1:])
        letters = np.empty(int(offsets[-1]), np.uint8)
        _read_texts(self.heap, self.start, slots, offsets, letters)
        data = [_validity(self.valid[slots])]
        data += [pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(letters)]
        return pa.Array.from_buffers(self.kind, len(slots), data)

    def clear(self, slots: Integers) -> None:
        """These slots are free: their texts need no bytes when the heap is written anew."""
        self.size[slots] = 0

    def first(self, count: int) -> pa.Array:
        """The texts of the first slots."""
        return self.take(np.arange(count))

    @property
    def nbytes(self) -> int:
        arrays = (self.heap, self.start, self.size, self.room, self.valid)
        return sum(int(array.nbytes) for array in arrays)


SlotColumn = Union[NumberColumn, StringColumn]


def raw_values(array: pa.Array) -> Array:
    """The values of an array of numbers, times or booleans; anything where they are NULL."""
    if array.type.id == _BOOLEAN:
        return array.fill_null(False).to_numpy(zero_copy_only=False)
    kind = np.float64 if array.type.id == _DOUBLE else np.int64
    found: Array = np.frombuffer(array.buffers()[1] or b"", kind)
    return found[array.offset : array.offset + len(array)]


def valid_mask(array: pa.Array) -> Mask | bool:
    """Where the array is not NULL."""
    if array.null_count == 0:
        return True
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def text_buffers(array: pa.Array) -> tuple[Small, Bytes]:
    """The offsets and the bytes of an array of strings."""
    _, offsets, letters = array.buffers()
    if not len(array):
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    found = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return found, np.frombuffer(letters or b"", np.uint8)


def taken(array: pa.Array, places: Integers) -> pa.Array:
    """The values at these places, as `Array.take` gives them. A call of Arrow's kernels costs more
    than a few dozen values do, so few values are gathered by NumPy and a kernel of ours."""
    kind = array.type
    if len(places) < 2:
        return array.slice(places[0], 1) if len(places) else array.slice(0, 0)
    if len(places) > MANY or array.null_count or kind.id not in _GATHERED:
        return array.take(pa.array(places))
    if kind.id == _STRING:
        # `MANY` texts may have more bytes than 32 bits count: then there are none.
        found, text = text_buffers(array)
        offsets, letters = _gathered_texts(read_only(found), read_only(text), places)
        if not len(offsets):
            return array.take(pa.array(places))
        data = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
        return pa.Array.from_buffers(kind, len(places), data)
    return pa.Array.from_buffers(kind, len(places), [None, pa.py_buffer(raw_values(array)[places])])


def _validity(valid: Mask) -> pa.Buffer | None:
    """Arrow's bits of validity; None if all are valid."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


@kernel
def _write_texts(
    heap: Bytes,
    end: int,
    places: tuple[Integers, Small, Small],
    slots: Integers,
    offsets: Small,
    letters: Bytes,
) -> int:
    """Write each text into its slot; the new end of the heap, which has room for all texts."""
    start, size, room = places
    for i in range(len(slots)):
        s, first = slots[i], offsets[i]
        length = offsets[i + 1] - first
        if length > room[s]:
            start[s], room[s] = end, length
            end += length
        at = start[s]
        for j in range(length):
            heap[at + j] = letters[first + j]
        size[s] = length
    return end


@kernel
def _copy_texts(heap: Bytes, into: Bytes, start: Integers, size: Small) -> int:
    """Copy all texts, one after the other, and note where they are now."""
    end = 0
    for s in range(len(start)):
        at = start[s]
        start[s] = end
        for j in range(size[s]):
            into[end + j] = heap[at + j]
        end += size[s]
    return end


@kernel
def _read_texts(
    heap: Bytes, start: Integers, slots: Integers, offsets: Integers, letters: Bytes
) -> None:
    for i in range(len(slots)):
        at, first = start[slots[i]], offsets[i]
        for j in range(offsets[i + 1] - first):
            letters[first + j] = heap[at + j]


@kernel
def _gathered_texts(offsets: Small, letters: Bytes, places: Integers) -> tuple[Small, Bytes]:
    """The texts at some places, as offsets and bytes; no offsets where there are too many bytes."""
    ends, total = np.empty(len(places) + 1, np.int32), np.int64(0)
    ends[0] = 0
    for i in range(len(places)):
        total += np.int64(offsets[places[i] + 1]) - np.int64(offsets[places[i]])
        if total > MOST_BYTES:
            return ends[:0].copy(), letters[:0].copy()
        ends[i + 1] = total
    found = np.empty(total, np.uint8)
    for i in range(len(places)):
        first, at = offsets[places[i]], ends[i]
        for j in range(ends[i + 1] - at):
            found[at + j] = letters[first + j]
    return ends, found
