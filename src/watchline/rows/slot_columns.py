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

from watchline.kernels.arrays import Array, Bytes, Integers, Mask, Small, Words, read_only
from watchline.kernels.buffers import longer_with
from watchline.kernels.compiled import kernel
from watchline.rows.hashing import text_hash

_TYPES = {
    pa.float64(): np.float64,
    pa.int64(): np.int64,
    pa.bool_(): np.bool_,
}
_BOOLEAN, _DOUBLE, _STRING = (kind.id for kind in (pa.bool_(), pa.float64(), pa.string()))
# From so many values on Arrow's own gathering is as good as ours, which costs less to begin.
MANY = 4_096
# Up to so many values are cut out one by one and put together: any gathering costs as much to
# begin.
FEW = 5
# The numbers of which `taken` gathers few values.
_GATHERED = {kind.id for kind in (pa.float64(), pa.int64(), pa.timestamp("us"))}
# What the offsets of texts can count.
MOST_BYTES = 2**31 - 1
# The least size of a heap of strings, in bytes.
LEAST_HEAP = 1_024


def slot_column(kind: pa.DataType) -> SlotColumn:
    """An empty column for values of this Arrow type."""
    return StringColumn() if pa.types.is_string(kind) else NumberColumn(kind)


class Validity:
    """Which slots have NULL: those where `mask` is False, of which there are `nulls`. A free slot
    has none."""

    def __init__(self) -> None:
        self.mask: Mask = np.zeros(0, np.bool_)
        self.nulls = 0

    def grow(self, room: int) -> None:
        """Room for so many slots."""
        self.mask = longer_with(self.mask, room, 1)

    def put(self, slots: Integers, valid: Mask | bool) -> None:
        """Say of these slots whether they are valid; True of all."""
        if valid is True:
            if self.nulls:
                self.clear(slots)
        else:
            self.nulls += _put_valid(self.mask, slots, np.asarray(valid, np.bool_))

    def clear(self, slots: Integers) -> None:
        """These slots have no NULL."""
        if self.nulls:
            self.nulls += _put_valid(self.mask, slots, np.ones(len(slots), np.bool_))

    def bits(self, slots: Integers | slice) -> pa.Buffer | None:
        """Arrow's bits of validity of these slots; None if all are valid."""
        return None if not self.nulls else _validity(self.mask[slots])

    def row_bytes(self, count: int) -> int:
        """The bytes of these bits for so many slots, which are all that are not free."""
        return (count + 7) // 8 if self.nulls else 0


class NumberColumn:
    """Numbers, times and booleans."""

    def __init__(self, kind: pa.DataType):
        self.kind = kind
        self.values: Array = np.zeros(0, _TYPES.get(kind, np.int64))
        self.validity = Validity()

    def grow(self, room: int) -> None:
        """Room for so many slots."""
        self.values = longer_with(self.values, room, 0)
        self.validity.grow(room)

    def put(self, slots: Integers, array: pa.Array, places: Integers | None = None) -> None:
        """Give these slots these values, or those at some places; of a slot that is named twice,
        the last one."""
        valid = valid_mask(array)
        # What stands where there is NULL is nobody's business, but states should not differ by it.
        values = raw_values(array)
        if valid is not True:
            values = np.where(valid, values, 0)
        if places is not None:
            values = values[places]
            valid = True if valid is True else np.asarray(valid)[places]
        self.values[slots] = values
        self.validity.put(slots, valid)

    def take(self, slots: Integers) -> pa.Array:
        """The values of these slots."""
        return self._arrow(self.values[slots], slots)

    def numbers(self, slots: Integers) -> Array:
        """The values of these slots without Arrow; a double that is NULL is NaN, any other 0."""
        values = self.values[slots]
        if self.validity.nulls and values.dtype == np.float64:
            values[~self.validity.mask[slots]] = np.nan
        return values

    def clear(self, slots: Integers) -> None:
        """These slots are free."""
        self.validity.clear(slots)

    def first(self, count: int) -> pa.Array:
        """The values of the first slots. Nothing is copied, so the result must not outlive the
        next call of `put`."""
        return self._arrow(self.values[:count], slice(count))

    def _arrow(self, values: Array, slots: Integers | slice) -> pa.Array:
        count, bits = len(values), self.validity.bits(slots)
        if values.dtype == np.bool_:
            values = np.packbits(values, bitorder="little")
        return pa.Array.from_buffers(self.kind, count, [bits, pa.py_buffer(values)])

    def row_bytes(self, count: int) -> int:
        """What Arrow says that the rows of so many slots take, which are all that are not free."""
        size = (count + 7) // 8 if self.values.dtype == np.bool_ else 8 * count
        return size + self.validity.row_bytes(count)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.validity.mask.nbytes)


class StringColumn:
    """Texts. The text of slot s is `heap[start[s] : start[s] + size[s]]`, and has `room[s]` bytes
    there."""

    kind = pa.string()

    def __init__(self) -> None:
        self.heap: Bytes = np.zeros(0, np.uint8)
        self.start: Integers = np.zeros(0, np.int64)
        self.size: Small = np.zeros(0, np.int32)
        self.room: Small = np.zeros(0, np.int32)
        self.validity = Validity()
        self._end = 0
        # The bytes of all texts.
        self._letters = 0

    def grow(self, room: int) -> None:
        """Room for so many slots."""
        self.start = longer_with(self.start, room, 0)
        self.size, self.room = (longer_with(x, room, 0) for x in (self.size, self.room))
        self.validity.grow(room)

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
        self._end, more = _write_texts(self.heap, self._end, where, slots, offsets, letters)
        self._letters += more
        self.validity.put(slots, valid_mask(array))

    def _make_room(self, more: int) -> None:
        """A new heap for the texts there are and as many bytes more, and half as much again."""
        heap = np.empty(max(LEAST_HEAP, 3 * (self._letters + more) // 2), np.uint8)
        self._end = _copy_texts(self.heap, heap, self.start, self.size)
        self.heap, self.room = heap, self.size.copy()

    def take(self, slots: Integers) -> pa.Array:
        """The texts of these slots."""
        offsets = np.zeros(len(slots) + 1, np.int64)
        np.cumsum(self.size[slots], out=offsets[1:])
        letters = np.empty(int(offsets[-1]), np.uint8)
        _read_texts(self.heap, self.start, slots, offsets, letters)
        data = [self.validity.bits(slots)]
        data += [pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(letters)]
        return pa.Array.from_buffers(self.kind, len(slots), data)

    def hashes(self, slots: Integers) -> Words:
        """The hashes of the texts of these slots, as `text_hashes` gives them."""
        return _hashes_of_slots(self.heap, self.start, self.size, slots)

    def clear(self, slots: Integers) -> None:
        """These slots are free: their texts need no bytes when the heap is written anew."""
        self._letters -= int(self.size[slots].sum(dtype=np.int64))
        self.size[slots] = 0
        self.validity.clear(slots)

    def first(self, count: int) -> pa.Array:
        """The texts of the first slots."""
        return self.take(np.arange(count))

    def row_bytes(self, count: int) -> int:
        """What Arrow says that the rows of so many slots take, which are all that are not free."""
        return self._letters + 4 * count + self.validity.row_bytes(count)

    @property
    def nbytes(self) -> int:
        arrays = (self.heap, self.start, self.size, self.room, self.validity.mask)
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


def text_hashes(array: pa.Array) -> Words:
    """The hash of each text."""
    return _hashes_of_texts(*text_buffers(array))


def taken(array: pa.Array, places: Integers) -> pa.Array:
    """The values at these places, as `Array.take` gives them. A call of Arrow's kernels costs more
    than a few dozen values do, so few values are gathered by NumPy and a kernel of ours."""
    kind, count = array.type, len(places)
    if count < 2:
        return array.slice(places[0], 1) if count else array.slice(0, 0)
    if count > MANY:
        return array.take(pa.array(places))
    if kind.id in _GATHERED and not array.null_count:
        values = pa.py_buffer(raw_values(array)[places])
        return pa.Array.from_buffers(kind, count, [None, values])
    if count <= FEW:
        return pa.concat_arrays([array.slice(place, 1) for place in places.tolist()])
    if kind.id != _STRING or array.null_count:
        return array.take(pa.array(places))
    # `MANY` texts may have more bytes than 32 bits count: then there are none.
    found, text = text_buffers(array)
    offsets, letters = _gathered_texts(read_only(found), read_only(text), places)
    if not len(offsets):
        return array.take(pa.array(places))
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])


def taken_rows(rows: pa.RecordBatch, places: Integers) -> pa.RecordBatch:
    """The rows at these places, as `RecordBatch.take` gives them. Of a single row nothing is
    gathered: copies of it are put together, or it is repeated."""
    count = len(places)
    if count < 2:
        return rows.slice(places[0], 1) if count else rows.slice(0, 0)
    if rows.num_rows == 1 and count <= FEW:
        return pa.concat_batches([rows] * count)
    # Arrow does not see when texts that it repeats are longer than offsets count.
    if rows.num_rows == 1 and count * rows.get_total_buffer_size() <= MOST_BYTES:
        return pa.RecordBatch.from_struct_array(pa.repeat(rows.to_struct_array()[0], count))
    return rows.take(pa.array(places))


def _validity(valid: Mask) -> pa.Buffer | None:
    """Arrow's bits of validity; None if all are valid."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


@kernel
def _put_valid(mask: Mask, slots: Integers, valid: Mask) -> int:
    """Write the mask of these slots; how many more NULLs there are now."""
    more = 0
    for i in range(len(slots)):
        more += int(mask[slots[i]]) - int(valid[i])
        mask[slots[i]] = valid[i]
    return more


@kernel
def _write_texts(
    heap: Bytes,
    end: int,
    places: tuple[Integers, Small, Small],
    slots: Integers,
    offsets: Small,
    letters: Bytes,
) -> tuple[int, int]:
    """Write each text into its slot: the new end of the heap, which has room for all texts, and how
    many bytes more all texts have now."""
    start, size, room = places
    more = 0
    for i in range(len(slots)):
        s, first = slots[i], offsets[i]
        length = offsets[i + 1] - first
        if length > room[s]:
            start[s], room[s] = end, length
            end += length
        at = start[s]
        for j in range(length):
            heap[at + j] = letters[first + j]
        more += length - size[s]
        size[s] = length
    return end, more


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
