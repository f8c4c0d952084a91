"""What one region is to the cells of a window: from its entry for the window to one for each cell.

Why a cell needs few edges. Over the rows of a cell the crossing of an edge lies between its values
at the ends of the part of the edge that is in these rows (`crossing` is monotone), and so do its
columns. A cell on the left of these columns counts the edge wherever y is between its ends; one on
their right never does; only the cells in between, which *own* the edge, evaluate it. The columns of
a vertex of the row are taken in, so that two edges that meet there have a column in common.

"y is between the ends" is `[y >= ay] xor [y >= by]`, which telescopes along a chain of edges that
count. What is left of a chain are its two ends. An end outside the rows of the cell is a constant,
and goes into the parity of the cell; an end in them is next to an edge that the cell owns, and
becomes a flag of this edge's chain. So the parity of a cell is a bit, found by a sum over the row.

A window is marked and told in one go. Between two regions the marks are clean: parity 0, chains -1.
Cost: proportional to the edges times the cells that they meet, and to the entries told.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from watchline.index.regions.earth_marking import mark_earth_circle, mark_earth_segment
from watchline.index.regions.entries import (
    AFTER,
    BEFORE,
    CLOSES,
    COUNT,
    CUT,
    FORM,
    LAST,
    ODD,
    OPENS,
)
from watchline.index.regions.forms import (
    CIRCLE,
    CORRIDOR,
    EARTH_CIRCLE,
    POLYGON,
    SLIPS,
    crossing,
    from_segment,
    reached,
)
from watchline.index.regions.marks import NO_COLUMN, Marks, own, touch, whole
from watchline.index.regions.sheet import (
    Sheet,
    Window,
    column_bounds,
    column_of,
    row_bounds,
    row_of,
)
from watchline.kernels.arrays import Array, Doubles, Int, Integers, Small
from watchline.kernels.buffers import with_room
from watchline.kernels.compiled import inner
from watchline.model import SHORTEST


class Ground(NamedTuple):
    """The regions, and the sheet that they lie on."""

    coordinates: Doubles
    # By slot: how far a corridor goes from its line.
    reach: Doubles
    sheet: Sheet
    marks: Marks
    # By cell of a window: the last entry told for it, -1 between two windows.
    latest: Small
    # Of the model: see tree.py.
    costs: Doubles
    # How fine the first grid is.
    bits: int


@inner
def mark(ground: Ground, chains: Integers, words: Array, at: Int, window: Window) -> Integers:
    """Mark the cells that the cut entry at this place has to do with; the chains found.

    A row of `chains` has the first edge, the word of flags, and the next chain of the cell. Row 0
    has the number of rows in use.
    """
    coordinates, reach, sheet, marks = ground.coordinates, ground.reach, ground.sheet, ground.marks
    chains[0, 0] = 1
    slot = np.int64(words[at]) >> 2
    at += 1
    form = np.int64(words[at + 1]) & FORM
    if form == POLYGON and np.int64(words[at + 1]) & ODD:
        marks.rows[0] ^= 1
    opening = -1
    while True:
        first, info = np.int64(words[at]), np.int64(words[at + 1])
        end = first + (info >> COUNT)
        if form == POLYGON:
            previous = following = -1
            if info & OPENS:
                previous, opening = _closing_edge(words, at), first
            if info & CLOSES:
                following = opening
            chain = _RingPart(first, end, info, previous, following)
            chains = _mark_edges(marks, chains, coordinates, chain, sheet, window)
        elif form == CIRCLE:
            chains = _mark_circle(marks, chains, coordinates, first, sheet, window)
        elif form == EARTH_CIRCLE:
            chains = mark_earth_circle(marks, chains, coordinates, first, sheet, window)
        elif form != CORRIDOR:
            for k in range(first, end):
                far = reach[slot]
                chains = mark_earth_segment(marks, chains, coordinates, k, far, sheet, window)
        else:
            for k in range(first, end):
                chains = _mark_segment(marks, chains, coordinates, k, reach[slot], sheet, window)
        if info & LAST:
            return chains
        at += 2


class _RingPart(NamedTuple):
    """Edges first … end - 1, what an entry says of them, and their neighbours on the ring, if these
    are in the entry and not in the chain; else -1."""

    first: int
    end: int
    info: int
    previous: int
    following: int


@inner
def _closing_edge(words: Array, at: Int) -> Int:
    """The last edge of the ring that the chain at this place opens."""
    while not words[at + 1] & CLOSES:
        at += 2
    return np.int64(words[at]) + (np.int64(words[at + 1]) >> COUNT) - 1


# --- polygons


@inner(error_model="numpy")
def _span(coordinates: Doubles, k: Int, row: Int, sheet: Sheet, window: Window) -> tuple[Int, Int]:
    """The first and the last column that own edge k in a row which it meets."""
    xl, yl = coordinates[k, 0], coordinates[k, 1]
    xu, yu = coordinates[k + 1, 0], coordinates[k + 1, 1]
    if yl > yu:
        xl, yl, xu, yu = xu, yu, xl, yl
    west, east = min(xl, xu), max(xl, xu)
    if yl < yu:
        low, high = row_bounds(sheet, window, row)
        a = crossing(max(yl, low), xl, yl, xu, yu)
        b = crossing(min(yu, high), xl, yl, xu, yu)
        west, east = min(a, b), max(a, b)
        if row_of(sheet, window, yl) == row:
            west, east = min(west, xl), max(east, xl)
        if row_of(sheet, window, yu) == row:
            west, east = min(west, xu), max(east, xu)
    return column_of(sheet, window, west), column_of(sheet, window, east)


@inner
def _span_at(
    coordinates: Doubles, k: Int, row: Int, flag: Int, sheet: Sheet, window: Window
) -> tuple[Int, Int]:
    """The span, in the row of one of its ends, of an edge that may not be there (-1): then all
    cells count it if this flag is set, and none does otherwise."""
    side = 1 << window.bits
    if k >= 0 and 0 <= row < side:
        return _span(coordinates, k, row, sheet, window)
    return (side, side) if flag and k < 0 else (-1, -1)


@inner
def _end_outside(marks: Marks, flag: Int, row: Int, side: Int) -> None:
    """A chain of edges that count ends in this row: the cells of all later rows see a constant."""
    if flag and row + 1 < side:
        marks.rows[max(row + 1, 0)] ^= 1


@inner
def _mark_edges(
    marks: Marks,
    chains: Integers,
    coordinates: Doubles,
    chain: _RingPart,
    sheet: Sheet,
    window: Window,
) -> Integers:
    side, info = 1 << window.bits, chain.info
    row = row_of(sheet, window, coordinates[chain.first, 1])
    last_row = row_of(sheet, window, coordinates[chain.end, 1])
    _end_outside(marks, info & BEFORE, row, side)
    _end_outside(marks, info & AFTER, last_row, side)
    # Cells on the left of `before` count the edge before this one, at the vertex between them.
    opening = _span_at(coordinates, chain.previous, row, info & BEFORE, sheet, window)
    closing = _span_at(coordinates, chain.following, last_row, info & AFTER, sheet, window)
    before = opening[0]
    for k in range(chain.first, chain.end):
        next_row = row_of(sheet, window, coordinates[k + 1, 1])
        bottom, top = min(row, next_row), max(row, next_row)
        if top < 0 or bottom >= side:
            row = next_row
            continue
        after, kept = closing[0], -1
        if k + 1 < chain.end:
            after = _span_at(coordinates, k + 1, next_row, 0, sheet, window)[0]
        opens = k == chain.first and chain.previous >= 0
        closes = k == chain.end - 1 and chain.following >= 0
        for r in range(max(bottom, 0), min(top, side - 1) + 1):
            west, east = _span(coordinates, k, r, sheet, window)
            if bottom < r and west > 0:
                marks.parity[(r << window.bits) + min(west, side) - 1] ^= 1
                touch(marks, r, min(west, side) - 1)
            for column in range(max(west, 0), min(east, side - 1) + 1):
                flags = BEFORE * (r == row and column < before)
                flags |= AFTER * (r == next_row and column < after)
                flags |= OPENS * (opens and r == row and opening[0] <= column <= opening[1])
                flags |= CLOSES * (closes and r == next_row and closing[0] <= column <= closing[1])
                chains = own(marks, chains, window.bits, r, column, k, flags)
            if r == next_row:
                kept = west
        row, before = next_row, kept
    return chains


# --- circles and corridors


@inner
def _ends(low: float, high: float, centre: float) -> tuple[float, float]:
    """The least and the greatest distance from a centre on one axis."""
    a, b = low - centre, high - centre
    far = max(abs(a), abs(b))
    return (0.0 if a <= 0.0 <= b else min(abs(a), abs(b))), far


@inner
def _mark_circle(
    marks: Marks, chains: Integers, coordinates: Doubles, first: Int, sheet: Sheet, window: Window
) -> Integers:
    side = 1 << window.bits
    cx, cy = coordinates[first, 0], coordinates[first, 1]
    radius = coordinates[first + 1, 0]
    square = radius * radius
    # Where squares lose their last bits the circle is wider than its radius; where that of the
    # radius is infinite, it holds the whole plane.
    reach = max(radius * (1 + SLIPS), SHORTEST) if square < np.inf else np.inf
    bottom, top = row_of(sheet, window, cy - reach), row_of(sheet, window, cy + reach)
    west, east = column_of(sheet, window, cx - reach), column_of(sheet, window, cx + reach)
    for row in range(max(bottom, 0), min(top, side - 1) + 1):
        low, high = row_bounds(sheet, window, row)
        near_y, far_y = _ends(low, high, cy)
        for column in range(max(west, 0), min(east, side - 1) + 1):
            low, high = column_bounds(sheet, window, column)
            near_x, far_x = _ends(low, high, cx)
            if near_x * near_x + near_y * near_y > square:
                continue
            if far_x * far_x + far_y * far_y <= square:
                whole(marks, (row << window.bits) + column, row, column)
            else:
                chains = own(marks, chains, window.bits, row, column, first, CIRCLE)
    return chains


@inner(error_model="numpy")
def _mark_segment(
    marks: Marks,
    chains: Integers,
    coordinates: Doubles,
    k: Int,
    reach: float,
    sheet: Sheet,
    window: Window,
) -> Integers:
    side = 1 << window.bits
    ax, ay = coordinates[k, 0], coordinates[k, 1]
    bx, by = coordinates[k + 1, 0], coordinates[k + 1, 1]
    length = math.sqrt((bx - ax) * (bx - ax) + (by - ay) * (by - ay))
    slips = SLIPS * (length + reach)
    wide = reach + slips
    bottom = row_of(sheet, window, min(ay, by) - wide)
    top = row_of(sheet, window, max(ay, by) + wide)
    for row in range(max(bottom, 0), min(top, side - 1) + 1):
        low, high = row_bounds(sheet, window, row)
        west, east = reached(ax, ay, bx, by, low - wide, high + wide)
        first = column_of(sheet, window, west - 2 * wide)
        last = column_of(sheet, window, east + 2 * wide)
        for column in range(max(first, 0), min(last, side - 1) + 1):
            left, right = column_bounds(sheet, window, column)
            x, y = (left + right) / 2, (low + high) / 2
            cell = (row << window.bits) + column
            if math.isfinite(x) and math.isfinite(y):
                dx, dy = max(x - left, right - x), max(y - low, high - y)
                radius = math.sqrt(dx * dx + dy * dy)
                distance = math.sqrt(from_segment(x, y, ax, ay, bx, by))
                slip = SLIPS * (distance + radius) + slips
                if distance - radius > reach + slip:
                    continue
                if distance + radius < reach - slip:
                    whole(marks, cell, row, column)
                    continue
            chains = own(marks, chains, window.bits, row, column, k, CORRIDOR)
    return chains


# --- what was marked


@inner
def tell(
    marks: Marks, chains: Integers, bits: Int, slot: Int, form: Int, told: Integers, words: Array
) -> tuple[Integers, Array]:
    """An entry for each cell that has to do with the region; the marks are clean afterwards.

    A row of `told` has the cell, where its entry begins in `words`, where it ends, and -1; row 0
    has the number of rows and of words in use.
    """
    side, base = 1 << bits, 0
    for row in range(side):
        base ^= marks.rows[row]
        marks.rows[row] = 0
        west, east = marks.west[row], marks.east[row]
        if east < 0 and not base:
            continue
        marks.west[row], marks.east[row] = NO_COLUMN, -1
        odd = base
        for column in range(side - 1 if base else east, -1, -1):
            if column < west and not odd:
                break
            cell = (row << bits) + column
            if form == POLYGON:
                odd ^= marks.parity[cell]
                inside = odd
            else:
                inside = marks.parity[cell]
            marks.parity[cell] = 0
            chain = marks.first[cell]
            marks.first[cell] = marks.last[cell] = -1
            if inside and (chain < 0 or form != POLYGON):
                told, words = _tell_whole(told, words, cell, slot)
            elif chain >= 0:
                told, words = _tell_cut(told, words, cell, slot, chains, chain, inside)
    marks.rows[side] = 0
    return told, words


@inner
def _tell_whole(told: Integers, words: Array, cell: Int, slot: Int) -> tuple[Integers, Array]:
    used = told[0, 1]
    words = with_room(words, used, 1)
    words[used] = slot << 2
    return _tell_entry(told, cell, used, used + 1), words


@inner
def _tell_cut(
    told: Integers,
    words: Array,
    cell: Int,
    slot: Int,
    chains: Integers,
    chain: Int,
    odd: Int,
) -> tuple[Integers, Array]:
    used = begin = told[0, 1]
    words = with_room(words, used, 1)
    words[used] = (slot << 2) | CUT
    used += 1
    parity = ODD * (odd != 0)
    while chain >= 0:
        words = with_room(words, used, 2)
        following = chains[chain, 2]
        words[used] = chains[chain, 0]
        words[used + 1] = chains[chain, 1] | parity | (LAST * (following < 0))
        parity, chain, used = 0, following, used + 2
    return _tell_entry(told, cell, begin, used), words


@inner
def _tell_entry(told: Integers, cell: Int, begin: Int, end: Int) -> Integers:
    count = told[0, 0]
    told = with_room(told, count, 1)
    told[count, 0], told[count, 1], told[count, 2], told[count, 3] = cell, begin, end, -1
    told[0, 0], told[0, 1] = count + 1, end
    return told
