"""The tree of cells: grids within cells, and the lists of entries in the cells of no grid.

A cell is a grid once many edges come near it, and how fine a grid is a model says (`bits_for`). A
cell that a region holds whole is told so once, at the coarsest grid: a region of any size has about
as many entries as its border has cells. Where all is even the tree is two grids deep; crowds have
more.

Invariant: the entries of a cell decide every region for every point of the cell, together with the
whole ones of the grids that it is in. Entries come from the entry of the window around it alone
(`watchline.index.regions.marking`), so that they depend neither on other regions nor on the order
in which regions come: a removal finds its entries by marking again.

Regions come and go by jobs: a cell, and entries that are to be put into it or taken out of it. A
list that changes moves to the end of the words; what it leaves is counted, and given back when it
is half of all.
"""

from __future__ import annotations

import math

import numpy as np

from watchline.index.regions.entries import (
    ALIGN,
    BITS,
    BITS_MASK,
    CLOSES,
    COUNT,
    CUT,
    EMPTY,
    END,
    FORM,
    GRID,
    GRID_PLACE,
    LAST,
    LIST,
    MORE,
    MOST_WORDS,
    ONE,
    OPENS,
    PLACE,
    TAG,
    entry_end,
)
from watchline.index.regions.forms import (
    CIRCLE,
    CORRIDOR,
    EARTH_CIRCLE,
    EARTH_CORRIDOR,
    POLYGON,
)
from watchline.index.regions.marking import Ground, mark, tell
from watchline.index.regions.sheet import UNIT_BITS, Window
from watchline.kernels.arrays import Array, Doubles, Int, Integers, Small
from watchline.kernels.buffers import with_room
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.earth import DEGREE_METRES, RADIUS

# Places of the counters of the words: in use, and of lists that have moved.
USED, WASTED, FULL, REMOVING = 0, 1, 2, 3
# The cells of a grid other than the first one are at most 2^MOST_BITS a side.
MOST_BITS = 6
# The model, in nanoseconds of a point: an edge that is evaluated, an entry that is read, one more
# grid; what a word of memory for each edge is worth; and the edges of a list that is not cut up.
COSTS = np.array([2.5, 4.0, 4.0, 8.0, 12.0])
EDGE, ENTRY, LOOK, WORD, FEW_EDGES = 0, 1, 2, 3, 4
# The most words that a grid takes for each edge.
MOST_SPENT = 24.0


@kernel
def entries_of(
    slots: Small, forms: Integers, begins: Integers, ends: Integers, chains: Array
) -> Array:
    """The entries of regions as the whole plane knows them: region i has the chains begins[i] …
    ends[i], each a first vertex and a number of edges."""
    words, used = np.empty(1_024, dtype=np.uint32), 0
    for i in range(len(slots)):
        words = with_room(words, used, 1 + 2 * (ends[i] - begins[i]))
        words[used] = (np.int64(slots[i]) << 2) | CUT
        used += 1
        for k in range(begins[i], ends[i]):
            last = LAST * (k + 1 == ends[i])
            words[used] = chains[k, 0]
            ring = (OPENS | CLOSES) * (forms[i] == POLYGON)
            words[used + 1] = (np.int64(chains[k, 1]) << COUNT) | forms[i] | last | ring
            used += 2
    return words[:used]


@kernel
def settle(words: Array, state: Integers, stack: Array, ground: Ground) -> Array:
    """Put the entries of `stack` into the tree, or take them out; the words, which may be others.

    `state` has the counters and REMOVING. It says FULL, and the tree is no longer to be used, if
    the tree would need too many words.
    """
    jobs, told = np.empty((64, 6), dtype=np.int64), np.empty((256, 4), dtype=np.int64)
    chains, fresh = np.empty((256, 3), dtype=np.int64), np.empty(1_024, dtype=np.uint32)
    jobs[0, 0] = 1
    jobs = _push(jobs, 0, Window(0, 0, UNIT_BITS, 0), 0, len(stack))
    while jobs[0, 0] > 1 and not state[FULL]:
        last = jobs[0, 0] - 1
        jobs[0, 0] = last
        place, begin, end = jobs[last, 0], jobs[last, 4], jobs[last, 5]
        window = Window(jobs[last, 1], jobs[last, 2], jobs[last, 3], 0)
        words, stack, end = _opened(words, state, stack, ground, place, window, begin, end)
        cell = np.int64(words[place])
        if cell & TAG != GRID:
            continue
        bits = (cell >> BITS) & BITS_MASK
        window = Window(window.x, window.y, window.shift - bits, bits)
        told[0, 0], told[0, 1] = 1, 0
        while begin < end:
            if not stack[begin] & CUT:
                words = _change_wholes(words, state, place, stack, begin, end)
            else:
                chains = mark(ground, chains, stack, begin, window)
                slot, form = np.int64(stack[begin]) >> 2, np.int64(stack[begin + 2]) & FORM
                told, fresh = tell(ground.marks, chains, bits, slot, form, told, fresh)
            begin = entry_end(stack, begin)
        words, stack, jobs = _hand_down(
            words, state, stack, end, jobs, told, fresh, ground, place, window
        )
    return words


@inner
def _push(jobs: Integers, place: Int, window: Window, begin: Int, end: Int) -> Integers:
    """One more job: the cell at this place, its window, and its entries on the stack."""
    count = jobs[0, 0]
    jobs = with_room(jobs, count, 1)
    jobs[count, 0], jobs[count, 4], jobs[count, 5] = place, begin, end
    jobs[count, 1], jobs[count, 2], jobs[count, 3] = window.x, window.y, window.shift
    jobs[0, 0] = count + 1
    return jobs


@inner
def _opened(
    words: Array,
    state: Integers,
    stack: Array,
    ground: Ground,
    place: Int,
    window: Window,
    begin: Int,
    end: Int,
) -> tuple[Array, Array, Int]:
    """A cell that is a grid, or one that has been changed; the words, the stack, and its end.

    Where a list becomes a grid its entries join those of the job.
    """
    if np.int64(words[place]) & TAG == GRID:
        return words, stack, end
    if state[REMOVING]:
        _drop_all(words, state, place, stack, begin, end)
        return words, stack, end
    stack, end = _recalled(words, state, place, stack, end)
    bits = ground.bits if place == 0 else _bits_for(stack, begin, end, ground, window)
    if bits:
        return _make_grid(words, state, place, bits), stack, end
    return _put(words, state, place, stack, begin, end), stack, end


@inner
def _change_wholes(
    words: Array, state: Integers, place: Int, stack: Array, begin: Int, end: Int
) -> Array:
    """Tell a grid of a region that holds all of it, or of one that does so no more; from `end` on
    the stack is free."""
    own = grid_of(np.int64(words[place]))
    if state[REMOVING]:
        _drop(words, state, own, np.int64(stack[begin]) >> 2)
        if words[own] == EMPTY:
            words[place] = np.int64(words[place]) & ~MORE
        return words
    words[place] = np.int64(words[place]) | MORE
    stack = with_room(stack, end, 1)
    stack[end] = stack[begin]
    return _put(words, state, own, stack, end, end + 1)


@inner
def _hand_down(
    words: Array,
    state: Integers,
    stack: Array,
    end: Int,
    jobs: Integers,
    told: Integers,
    fresh: Array,
    ground: Ground,
    place: Int,
    window: Window,
) -> tuple[Array, Array, Integers]:
    """The entries told for the cells of a grid: into their lists, or as jobs."""
    latest, mask = ground.latest, (1 << window.bits) - 1
    for i in range(1, told[0, 0]):
        cell = told[i, 0]
        told[i, 3] = latest[cell]
        latest[cell] = i
    for i in range(1, told[0, 0]):
        cell = told[i, 0]
        entry, edges, begin = latest[cell], 0, end
        if entry < 0:
            continue
        latest[cell] = -1
        while entry >= 0:
            size = told[entry, 2] - told[entry, 1]
            stack = with_room(stack, end, size)
            stack[end : end + size] = fresh[told[entry, 1] : told[entry, 2]]
            edges += edges_of(stack, end)
            end, entry = end + size, told[entry, 3]
        at = grid_of(np.int64(words[place])) + 1 + cell
        found = np.int64(words[at])
        if found & TAG != GRID:
            if state[REMOVING]:
                _drop_all(words, state, at, stack, begin, end)
                end = begin
                continue
            if found & TAG == LIST:
                edges += _edges_in_list(words, found >> PLACE)
            if edges <= ground.costs[FEW_EDGES] or window.shift == 0:
                words = _put(words, state, at, stack, begin, end)
                end = begin
                continue
        x = window.x + ((cell & mask) << window.shift)
        y = window.y + ((cell >> window.bits) << window.shift)
        jobs = _push(jobs, at, Window(x, y, window.shift, 0), begin, end)
    return words, stack, jobs


# --- how fine


@inner
def edges_of(words: Array, at: Int) -> Int:
    """Edges of an entry; a circle is one."""
    edges = 0
    if words[at] & CUT:
        at += 1
        while True:
            edges += np.int64(words[at + 1]) >> COUNT
            if words[at + 1] & LAST:
                break
            at += 2
    return edges


@inner
def _edges_in_list(words: Array, at: Int) -> Int:
    edges = 0
    while True:
        edges += edges_of(words, at)
        if words[at] & END:
            return edges
        at = entry_end(words, at)


@inner(error_model="numpy")
def _bits_for(stack: Array, begin: Int, end: Int, ground: Ground, window: Window) -> Int:
    """How fine a grid is worth its memory in a cell with these entries; 0: none.

    An edge pays for memory by the share of it that the cell can have. So where many edges are one
    on another, which no grid takes apart, cells are cut up until they are as small as the edges.
    """
    side = np.int64(1) << window.shift
    wide, high = side * ground.sheet.wide, side * ground.sheet.high
    edges, length, wholes, cuts, share, reach = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    coordinates = ground.coordinates
    while begin < end:
        after = entry_end(stack, begin)
        if after == begin + 1:
            wholes += 1
        elif np.int64(stack[begin + 2]) & FORM == CORRIDOR:
            # The border is as far from the line.
            reach = ground.reach[np.int64(stack[begin]) >> 2]
        elif np.int64(stack[begin + 2]) & FORM == EARTH_CORRIDOR:
            reach = ground.reach[np.int64(stack[begin]) >> 2] / DEGREE_METRES
        else:
            reach = 0.0
        for at in range(begin + 1, after, 2):
            first, info = np.int64(stack[at]), np.int64(stack[at + 1])
            if info & FORM == CIRCLE or info & FORM == EARTH_CIRCLE:
                edges += 1
                aside, above = _radii(coordinates, first, info & FORM)
                length += min(3 * aside / wide, 1.5) + min(3 * above / high, 1.5)
                cuts += 1
                share += 1.0 / max(1.0, aside / wide, above / high)
                continue
            edges += info >> COUNT
            cuts += at == begin + 1
            for k in range(first, first + (info >> COUNT)):
                dx = abs(coordinates[k + 1, 0] - coordinates[k, 0])
                dy = abs(coordinates[k + 1, 1] - coordinates[k, 1])
                length += min(dx / wide, 1.0) + min(dy / high, 1.0)
                share += 1.0 / max(1.0, max(dx, reach) / wide, max(dy, reach) / high)
        begin = after
    most = min(MOST_BITS, window.shift)
    costs = ground.costs
    best, least = 0, costs[EDGE] * edges + costs[ENTRY] * cuts
    for bits in range(1, most + 1):
        m = float(1 << bits)
        met = edges + length * m
        nearby = cuts + length * m
        time = (
            costs[EDGE] * met / (m * m) + costs[ENTRY] * min(nearby / (m * m), cuts) + costs[LOOK]
        )
        memory = m * m * (1 + max(cuts / 2 - 1, 0.0)) + 3 * min(nearby, cuts * m * m) + 8
        cost = time + costs[WORD] * memory / share
        if cost < least and memory <= MOST_SPENT * share:
            best, least = bits, cost
    return best


@inner(error_model="numpy")
def _radii(coordinates: Doubles, first: Int, form: Int) -> tuple[float, float]:
    """How far a circle goes to the side and up, about."""
    radius = coordinates[first + 1, 0]
    if form == CIRCLE:
        return radius, radius
    above = radius / DEGREE_METRES
    x, y = coordinates[first + 2, 0], coordinates[first + 2, 1]
    return min(above * RADIUS / math.sqrt(x * x + y * y), 180.0), above


# --- lists


@inner
def grid_of(cell: Int) -> Int:
    """The place of the first word of a grid."""
    return (cell >> GRID_PLACE) * ALIGN


@inner
def _allotted(words: Array, state: Integers, size: Int) -> Array:
    """The words with room for so many more; FULL if there cannot be so many."""
    state[FULL] |= state[USED] + size + ALIGN > MOST_WORDS
    if state[FULL]:
        return words
    return with_room(words, state[USED], size + ALIGN)


@inner
def _make_grid(words: Array, state: Integers, place: Int, bits: Int) -> Array:
    size = 1 + (1 << 2 * bits)
    words = _allotted(words, state, size)
    if state[FULL]:
        return words
    base = (state[USED] + ALIGN - 1) // ALIGN
    words[state[USED] : base * ALIGN + size] = 0
    state[USED] = base * ALIGN + size
    words[place] = GRID | (bits << BITS) | (base << GRID_PLACE)
    return words


@inner
def _size(words: Array, at: Int) -> Int:
    """The words of a list."""
    begin = at
    while True:
        last = words[at] & END
        at = entry_end(words, at)
        if last:
            return at - begin


@inner
def _recalled(
    words: Array, state: Integers, place: Int, stack: Array, end: Int
) -> tuple[Array, Int]:
    """The entries of a list go to the stack, and the cell is empty."""
    cell = np.int64(words[place])
    words[place] = EMPTY
    if cell & TAG == ONE:
        stack = with_room(stack, end, 1)
        stack[end] = (cell >> PLACE) << 2
        return stack, end + 1
    if cell & TAG == LIST:
        at = cell >> PLACE
        size = _size(words, at)
        state[WASTED] += size
        stack = with_room(stack, end, size)
        stack[end : end + size] = words[at : at + size]
        _seal(stack, end, end + size, 0)
        return stack, end + size
    return stack, end


@inner
def _seal(words: Array, begin: Int, end: Int, bit: Int) -> Int:
    """Let the last of the entries say END, or none; whether some are cut."""
    cut = 0
    while begin < end:
        after = entry_end(words, begin)
        cut |= np.int64(words[begin]) & CUT
        words[begin] = (np.int64(words[begin]) & ~END) | (bit * (after == end))
        begin = after
    return cut


@inner
def _put(words: Array, state: Integers, place: Int, stack: Array, begin: Int, end: Int) -> Array:
    """Entries of the stack join the list of a cell."""
    cell = np.int64(words[place])
    if cell == EMPTY and end == begin + 1:
        words[place] = ONE | (np.int64(stack[begin]) >> 2 << PLACE)
        return words
    stack, end = _recalled(words, state, place, stack, end)
    size = end - begin
    if size == 0:
        return words
    words = _allotted(words, state, size)
    if state[FULL]:
        return words
    at = state[USED]
    words[at : at + size] = stack[begin:end]
    cut = _seal(words, at, at + size, END)
    words[place] = LIST | (MORE * cut) | (at << PLACE)
    state[USED] = at + size
    return words


@inner
def _drop_all(
    words: Array, state: Integers, place: Int, stack: Array, begin: Int, end: Int
) -> None:
    """Take the regions of the entries out of the list of a cell."""
    while begin < end:
        _drop(words, state, place, np.int64(stack[begin]) >> 2)
        begin = entry_end(stack, begin)


@inner
def _drop(words: Array, state: Integers, place: Int, slot: Int) -> None:
    cell = np.int64(words[place])
    if cell & TAG == ONE:
        words[place] = EMPTY
        return
    at = first = cell >> PLACE
    while np.int64(words[at]) >> 2 != slot:
        at = entry_end(words, at)
    after, end = entry_end(words, at), first + _size(words, first)
    size = end - first - (after - at)
    words[at : first + size] = words[after:end]
    state[WASTED] += after - at
    if size == 0:
        words[place] = EMPTY
    elif size == 1:
        words[place] = ONE | (np.int64(words[first]) >> 2 << PLACE)
        state[WASTED] += 1
    else:
        cut = _seal(words, first, first + size, END)
        words[place] = LIST | (MORE * cut) | (first << PLACE)


@kernel
def compacted(words: Array, state: Integers) -> Array:
    """The same tree without what lists have left behind."""
    size = state[USED] - state[WASTED] + ALIGN
    made = np.zeros(size, dtype=np.uint32)
    # Cells whose grids and lists are yet to be copied, by their places in both trees.
    jobs = np.empty((64, 3), dtype=np.int64)
    jobs[0, 0], jobs[0, 1], jobs[0, 2], count = 0, 0, 1, 1
    used = ALIGN
    while count:
        count -= 1
        old, new, cells = jobs[count, 0], jobs[count, 1], jobs[count, 2]
        for i in range(cells):
            cell = np.int64(words[old + i])
            if cell & TAG == LIST:
                at = cell >> PLACE
                length = _size(words, at)
                made = with_room(made, used, length)
                made[used : used + length] = words[at : at + length]
                cell = (cell & (TAG | MORE)) | (used << PLACE)
                used += length
            elif cell & TAG == GRID:
                length = 1 + (1 << 2 * ((cell >> BITS) & BITS_MASK))
                base = (used + ALIGN - 1) // ALIGN
                made = with_room(made, used, length + ALIGN)
                made[used : base * ALIGN + length] = 0
                jobs = with_room(jobs, count, 1)
                jobs[count, 0], jobs[count, 1], jobs[count, 2] = grid_of(cell), base * ALIGN, length
                count += 1
                cell = (cell & ((1 << GRID_PLACE) - 1)) | (base << GRID_PLACE)
                used = base * ALIGN + length
            made[new + i] = cell
    state[USED], state[WASTED] = used, 0
    return made[:used].copy()
