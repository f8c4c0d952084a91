"""Entries: what a cell knows of a region, as words of 32 bits.

An entry of one word is a region that holds the whole cell: its slot times four. An entry with the
bit CUT goes on with chains of two words each: the first vertex of consecutive edges that come near
the cell, and their number with flags. The last entry of a list has the bit END, the last chain of
an entry the bit LAST.

For a polygon a point of the cell is inside if this is odd: the bit ODD of the first chain; for each
chain with BEFORE whether y is at or above its first vertex, with AFTER its last one; and the edges
of the chains that cross. Where the first and the last edge of a ring are both there and meet in the
rows of the cell, the chain of the one says OPENS and that of the other CLOSES. For a circle the
chain has the centre, and after it (radius, 0), or what a circle on Earth needs. For a corridor a
point is inside if it is near one of the segments.

A cell is one word: nothing, one whole region, a list, or a grid of cells with a cell of its own for
the regions that hold all of it.
"""

from __future__ import annotations

import numpy as np

from watchline.index.regions.forms import (
    CIRCLE,
    EARTH_CIRCLE,
    POLYGON,
    crosses,
    in_circle,
    in_earth_circle,
    metres_across,
    near_earth_segment,
    near_segment,
)
from watchline.kernels.arrays import Array, Doubles, Int
from watchline.kernels.compiled import inner
from watchline.kernels.earth import Vector

# Of the first word of an entry.
CUT, END = 1, 2
MOST_REGIONS = 2**30
# Of the second word of a chain: three bits of the form, flags, and the number of edges.
FORM, LAST, BEFORE, AFTER, ODD, OPENS, CLOSES, COUNT = 7, 8, 16, 32, 64, 128, 256, 9
MOST_EDGES = 2**23

# The word of a cell has one of these in its two lowest bits; the next bit says whether a list has
# cut entries, or whether a grid has whole ones.
EMPTY, ONE, LIST, GRID = 0, 1, 2, 3
TAG, MORE, PLACE = 3, 4, 3
# Of a grid: four bits tell how many cells, and its first word is at a multiple of 16.
BITS, BITS_MASK, GRID_PLACE, ALIGN = 3, 15, 7, 16
MOST_WORDS = 2**29


@inner
def entry_end(words: Array, at: Int) -> Int:
    """Where the entry at this place ends."""
    if not words[at] & CUT:
        return at + 1
    at += 1
    while not words[at + 1] & LAST:
        at += 2
    return at + 2


@inner
def is_on_earth(words: Array, at: Int) -> bool:
    """Whether the cut entry at this place is of a form of the Earth alone: see `holds_on_earth`."""
    return np.int64(words[at + 2]) & FORM >= EARTH_CIRCLE


@inner
def needs_vector(words: Array, at: Int) -> bool:
    """Whether the cut entry at this place is decided by the vector of a point."""
    return np.int64(words[at + 2]) & FORM == EARTH_CIRCLE


@inner
def holds_on_earth(
    words: Array, at: Int, coordinates: Doubles, reach: Doubles, x: float, y: float, place: Vector
) -> bool:
    """As `holds`, for entries of all forms; `place` is the vector of the point, and is only looked
    at where it is needed."""
    if not is_on_earth(words, at):
        return holds(words, at, coordinates, reach, x, y)
    if needs_vector(words, at):
        return in_earth_circle(place, coordinates, np.int64(words[at + 1]))
    far, across = reach[np.int64(words[at]) >> 2], metres_across(y)
    at += 1
    while True:
        first, info = np.int64(words[at]), np.int64(words[at + 1])
        for k in range(first, first + (info >> COUNT)):
            ax, ay = coordinates[k, 0], coordinates[k, 1]
            bx, by = coordinates[k + 1, 0], coordinates[k + 1, 1]
            if near_earth_segment(x, y, across, ax, ay, bx, by, far):
                return True
        if info & LAST:
            return False
        at += 2


@inner
def holds(words: Array, at: Int, coordinates: Doubles, reach: Doubles, x: float, y: float) -> bool:
    """Whether the region of the cut entry at this place holds a point of the cell; for polygons and
    forms of the plane."""
    slot = np.int64(words[at]) >> 2
    at += 1
    info = np.int64(words[at + 1])
    form = info & FORM
    if form == POLYGON:
        odd = (info & ODD) != 0
        while True:
            first, info = np.int64(words[at]), np.int64(words[at + 1])
            end = first + (info >> COUNT)
            ax, ay = coordinates[first, 0], coordinates[first, 1]
            odd ^= ((info & BEFORE) != 0) & (y >= ay)
            for k in range(first + 1, end + 1):
                bx, by = coordinates[k, 0], coordinates[k, 1]
                odd ^= crosses(x, y, ax, ay, bx, by)
                ax, ay = bx, by
            odd ^= ((info & AFTER) != 0) & (y >= ay)
            if info & LAST:
                return odd
            at += 2
    if form == CIRCLE:
        k = np.int64(words[at])
        return in_circle(x, y, coordinates[k, 0], coordinates[k, 1], coordinates[k + 1, 0])
    while True:
        first, info = np.int64(words[at]), np.int64(words[at + 1])
        for k in range(first, first + (info >> COUNT)):
            ax, ay = coordinates[k, 0], coordinates[k, 1]
            bx, by = coordinates[k + 1, 0], coordinates[k + 1, 1]
            if near_segment(x, y, ax, ay, bx, by, reach[slot]):
                return True
        if info & LAST:
            return False
        at += 2
