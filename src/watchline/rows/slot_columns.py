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

from watchline.kernels.arrays import Array, Bytes, Integers, Mask, Small, Words
from watchline.kernels.buffers import longer_with
from watchline.kernels.compiled import kernel
from watchline.rows.hashing import text_hash

_TYPES = {
    pa.float64(): np.float64,
    pa.int64(): np.int64,
    pa.bool_(): np.bool_,
}
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

    def grow(self, room: int) -> None:
        """Room for so many slots."""
        self.values = longer_with(self.values, room, 0)
        self.valid = longer_with(self.valid, room, 0)

    def put(self, slots: Integers, array: pa.Array) -> None:
        """Give these slots these values; of a slot that is named twice, the last one."""
        valid = valid_mask(array)
        # What stands where there is NULL is nobody's business, but states should not differ by it.
        values = raw_values(array)
        self.values[slots] = values if valid is True else np.where(valid, values, 0)
        self.valid[slots] = valid

    def take(self, slots: Integers) -> pa.Array:
        """The values of these slots."""
        return self._arrow(self.values[slots], self.valid[slots])

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

    def put(self, slots: Integers, array: pa.Array) -> None:
        """Give these slots these texts; of a slot that is named twice, the last one."""
        offsets, letters = text_buffers(array)
        more = int(offsets[-1] - offsets[0])
        if self._end + more > len(self.heap):
            self._make_room(more)
        places = (self.start, self.size, self.room)
        self._end = _write_texts(self.heap, self._end, places, slots, offsets, letters)
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

    def hashes(self, slots: Integers) -> Words:
        """The hashes of the texts of these slots, as `text_hashes` gives them."""
        return _hashes_of_slots(self.heap, self.start, self.size, slots)

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
    if pa.types.is_boolean(array.type):
        return array.fill_null(False).to_numpy(zero_copy_only=False)
    kind = _TYPES.get(array.type, np.int64)
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


def text_hashes(array: pa.Array) -> Words:
    """The hash of each text."""
    return _hashes_of_texts(*text_buffers(array))


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
def _hashes_of_slots(heap: Bytes, start: Integers, size: Small, slots: Integers) -> Words:
    found = np.empty(len(slots), np.uint64)
    for i in range(len(slots)):
        s = slots[i]
        found[i] = text_hash(heap, start[s], start[s] + size[s])
    return found


@kernel
def _hashes_of_texts(offsets: Small, letters: Bytes) -> Words:
    found = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(found)):
        found[i] = text_hash(letters, offsets[i], offsets[i + 1])
    return found
