"""From hits to matches: count what each row will have, then write ids to where they belong.

A join finds ids of boxes and masks of rows; an answer has ids by row. If masks have few rows, these
are taken one by one. If they are dense, eight masks at a time are turned around, and the ids that
the bits of a row's byte pick are written at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from watchline.kernels.arrays import Array, Bytes, Int, Integers, Small, Words
from watchline.kernels.compiled import kernel, leaf
from watchline.kernels.simd import CAN_PICK, ONES, lowest, pick, transpose_bits

# Masks that are turned around together.
TILE = 1_024
# Rows of a mask, on average, from which on that is worth it.
DENSE = 6


class HitLists(NamedTuple):
    """For every 64 rows a list, where it starts and how long it is: the ids of boxes, and for each
    the mask of those rows that are in it."""

    starts: Integers
    counts: Integers
    ids: Array
    masks: Words


def empty_hits(lists: int, room: int, id_type: Any) -> HitLists:
    """Lists without hits, with room for so many."""
    starts, counts = np.zeros(lists, np.int64), np.zeros(lists, np.int64)
    return HitLists(starts, counts, np.empty(room, id_type), np.empty(room, np.uint64))


class Hits(NamedTuple):
    """The hits of a join: the order of the rows, and the lists of `HitLists`."""

    order: Integers
    starts: Integers
    counts: Integers
    ids: Array
    masks: Words
    # How much of the arrays is in use.
    used: int

    @property
    def nbytes(self) -> int:
        return self.used * (self.ids.itemsize + self.masks.itemsize)


@kernel
def count_matches(hits: Hits, counts: Integers) -> None:
    """The matches of each row, by adding up masks as binary numbers that stand upright.

    Four words hold the low digits of 64 rows' counts; what sixteen masks carry beyond them is one
    mask again (no count can overflow twice), and is added to the high digits.
    """
    high = np.empty(32, np.uint64)
    for group in range(len(hits.starts)):
        a, b, c, d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
        high[:] = 0
        digits = 0
        start, end = hits.starts[group], hits.starts[group] + hits.counts[group]
        while start < end:
            over = np.uint64(0)
            for i in range(start, min(start + 16, end)):
                x = hits.masks[i]
                a, x = a ^ x, a & x
                b, x = b ^ x, b & x
                c, x = c ^ x, c & x
                d, x = d ^ x, d & x
                over |= x
            digit = 0
            while over:
                high[digit], over = high[digit] ^ over, high[digit] & over
                digit += 1
            digits = max(digits, digit)
            start += 16
        one = np.uint64(1)
        for i in range(min(64, len(hits.order) - 64 * group)):
            bit = np.uint64(i)
            total = np.int64(a >> bit & one) + 2 * np.int64(b >> bit & one)
            total += 4 * np.int64(c >> bit & one) + 8 * np.int64(d >> bit & one)
            for digit in range(digits):
                total += np.int64(high[digit] >> bit & one) << (digit + 4)
            counts[hits.order[64 * group + i]] = total


@kernel
def scatter(hits: Hits, offsets: Integers, found: Array, narrow: bool) -> None:
    """Write each hit's id to its rows; row i's matches are found[offsets[i] : offsets[i + 1]]."""
    ends = np.empty(64, np.uint64)
    bytes_ = np.empty((TILE // 8) * 64, np.uint8)
    labels = np.empty(TILE, np.int32)
    rest = np.empty(8, np.uint64)
    for group in range(len(hits.starts)):
        rows = hits.order[64 * group : 64 * (group + 1)]
        start, total = hits.starts[group], 0
        for i in range(len(rows)):
            ends[i] = offsets[rows[i]]
            total += offsets[rows[i] + 1] - offsets[rows[i]]
        n = hits.counts[group]
        masks, ids = hits.masks[start : start + n], hits.ids[start : start + n]
        if narrow and CAN_PICK and total > DENSE * n:
            for tile in range(0, n, TILE):
                part = slice(tile, min(tile + TILE, n))
                _dense(masks[part], ids[part], rows, offsets, ends, bytes_, labels, rest, found)
        else:
            _sparse(masks, ids, ends, found)


@leaf()
def _sparse(masks: Words, ids: Array, ends: Words, found: Array) -> None:
    for i in range(len(masks)):
        bits, label = masks[i], ids[i]
        while bits:
            row = np.uint64(lowest(bits))
            at = ends[row]
            found[at] = label
            ends[row] = at + np.uint64(1)
            bits &= bits - np.uint64(1)


@leaf()
def _dense(
    masks: Words,
    ids: Array,
    rows: Integers,
    offsets: Integers,
    ends: Words,
    bytes_: Bytes,
    labels: Small,
    rest: Words,
    found: Array,
) -> None:
    """A tile of masks, eight at a time."""
    n = len(masks)
    for i in range(n):
        labels[i] = ids[i]
    for group in range(n // 8):
        transpose_bits(bytes_, group * 64, masks, group * 8)
    groups = n // 8
    if n % 8:
        for i in range(8):
            rest[i] = masks[groups * 8 + i] if groups * 8 + i < n else np.uint64(0)
        transpose_bits(bytes_, groups * 64, rest, 0)
        groups += 1
    for i in range(len(rows)):
        limit = np.uint64(offsets[rows[i] + 1])
        ends[i] = _write(found, ends[i], limit, labels, bytes_, i, groups)


@leaf()
def _write(
    found: Array,
    at: Int,
    limit: Int,
    labels: Small,
    bytes_: Bytes,
    row: Int,
    groups: Int,
) -> Int:
    """The ids of one row of a tile, none of them at or after `limit`; where they end."""
    g, one, eight = np.uint64(0), np.uint64(1), np.uint64(8)
    at, row, end = np.uint64(at), np.uint64(row), np.uint64(groups)
    while g < end and at + eight <= limit:
        bits = np.uint64(bytes_[g * np.uint64(64) + row])
        pick(found, at, labels, g * eight, bits)
        at += ONES[bits]
        g += one
    while g < end:
        bits = np.uint64(bytes_[g * np.uint64(64) + row])
        while bits:
            found[at] = labels[g * eight + np.uint64(lowest(bits))]
            at += one
            bits &= bits - one
        g += one
    return at
