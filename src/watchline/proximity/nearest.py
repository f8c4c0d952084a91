"""The k nearest neighbours of a place that may move, kept as objects move.

A query knows a few objects more than it wants: all that are not beyond its *reach*, in order. Its
circle, as far as it reaches, is in the lists of the cells it touches. An object that moves within,
in or out changes the order in one place. Only when fewer than that are left in reach does the query
look around again: so the circle grows and shrinks without a search for most moves.

On Earth the squares are those of chords, and so are the radii: a circle is all that a chord of its
length reaches, and its cells are those of the bounds of that chord, in which all of it lies. So a
circle whose cells were looked through has no other objects, whatever the shape of cells is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from watchline.kernels.compiled import leaf
from watchline.kernels.earth import bounds_of_chord
from watchline.proximity.grid import BLOCK, ITEMS, NONE, cells_between
from watchline.proximity.tables import (
    ADD,
    CENTRE,
    CLOSE,
    HERE,
    LAST_LABEL,
    LESS,
    MORE,
    NO_SHAPE,
    NOBODY,
    OF_NEAREST,
    OPEN,
    REFRESH,
    REMOVE,
    AnswerChanges,
    Point,
    Presence,
    World,
    admits,
    cells_on_earth,
    centre_at,
    column_at,
    columns_across,
    in_region,
    is_focal,
    list_query,
    note_change,
    point_at,
    refer,
    region_of,
    square_between,
    unlist_query,
    wanted,
    widened,
)


@leaf
def spare(k: int) -> int:
    """How many more than it wants a query looks for."""
    return max(4, k // 2)


@leaf
def capacity_for(k: int) -> int:
    """How many it has room for."""
    return k + 2 * spare(k) + 1


# --- the order of those known


@leaf
def _before(d: float, label: int, other: float, other_label: int) -> bool:
    return d < other or (d == other and label < other_label)


@leaf
def _position(world: World, q: int, d: float, label: int) -> int:
    """How many of those known come before this distance and label."""
    start = world.queries.start[q]
    low, high = 0, world.queries.count[q]
    while low < high:
        mid = (low + high) >> 1
        i = start + mid
        if _before(world.squares[i], world.objects.label[world.slots[i]], d, label):
            low = mid + 1
        else:
            high = mid
    return low


@leaf
def _insert(world: World, q: int, at: int, d: float, s: int) -> None:
    queries = world.queries
    start, n = queries.start[q], queries.count[q]
    for i in range(start + n, start + at, -1):
        world.slots[i], world.squares[i] = world.slots[i - 1], world.squares[i - 1]
    world.slots[start + at], world.squares[start + at] = s, d
    queries.count[q] = n + 1


@leaf
def _delete(world: World, q: int, at: int) -> None:
    queries = world.queries
    start, n = queries.start[q], queries.count[q]
    for i in range(start + at, start + n - 1):
        world.slots[i], world.squares[i] = world.slots[i + 1], world.squares[i + 1]
    queries.count[q] = n - 1


@leaf
def _reaches(world: World, q: int, d: float, label: int) -> bool:
    queries = world.queries
    return not _before(queries.reach[q], queries.reach_label[q], d, label)


@leaf
def _knows_all(world: World, q: int) -> bool:
    return world.queries.reach[q] == np.inf and world.queries.reach_label[q] == LAST_LABEL


# --- looking around


@leaf
def _admissible(world: World, q: int, s: int, point: Point, i: int) -> bool:
    queries = world.queries
    if not admits(world.lines, i, queries.filter[q]) or is_focal(world.focal, q, s):
        return False
    return queries.form[q] == NO_SHAPE or in_region(world, region_of(world, q), point)


@leaf
def _cells_around(world: World, q: int, radius: float) -> Any:
    """The cells of the circle around the centre, a little widened against rounding."""
    x, y = world.queries.cx[q], world.queries.cy[q]
    wide = widened(radius)
    if world.earth is not None:
        return cells_on_earth(world, bounds_of_chord(x, y, wide))
    return cells_between(world.frame, x - wide, y - wide, x + wide, y + wide)


@leaf
def _look_around(world: World, q: int, radius: float) -> None:
    """The nearest that it wants and some more, from about so far away; the reach follows."""
    queries, frame = world.queries, world.frame
    k = wanted(world, q)
    while True:
        if not radius > 0:
            radius = np.inf
        cells = _cells_around(world, q, radius)
        whole = (
            (cells[0] == 0) & (cells[1] == frame.columns - 1)
            & (cells[2] == 0) & (cells[3] == frame.rows - 1)
        )  # fmt: skip
        within = np.inf if whole else radius * radius
        cut = _gather(world, q, cells, within)
        n = queries.count[q]
        if whole or n >= k:
            break
        radius *= 2.0 if n == 0 else min(2.0, 1.3 * math.sqrt((k + 1) / n))
    if cut:
        last = queries.start[q] + queries.count[q] - 1
        queries.reach[q] = world.squares[last]
        queries.reach_label[q] = world.objects.label[world.slots[last]]
    else:
        queries.reach[q], queries.reach_label[q] = within, LAST_LABEL
    list_circle(world, q)


@leaf
def _gather(world: World, q: int, cells: Any, within: float) -> bool:
    """The nearest in these cells, in order; whether there were more than it keeps."""
    objects, queries, (heads, blocks) = world.objects, world.queries, world.spots
    keep = min(wanted(world, q) + spare(wanted(world, q)), queries.room[q] - 1)
    start, cut, columns = queries.start[q], False, world.frame.columns
    centre = centre_at(world, q)
    queries.count[q] = 0
    for r in range(cells[2], cells[3] + 1):
        for i in range(cells[0], cells[0] + columns_across(world, cells[0], cells[1], columns)):
            cell = r * columns + column_at(world, i, columns)
            block, fill = heads[cell, 0], heads[cell, 1]
            while block != NONE:
                for place in range(block * BLOCK, block * BLOCK + fill):
                    s = np.int64(blocks[place])
                    point = point_at(world, world.place[s, 0], world.place[s, 1], s)
                    d = square_between(world, point, centre)
                    if not d <= within or not _admissible(world, q, s, point, s):
                        continue
                    n = queries.count[q]
                    if n == keep:
                        cut = True
                        last = world.slots[start + n - 1]
                        if not _before(
                            d, objects.label[s], world.squares[start + n - 1], objects.label[last]
                        ):
                            continue
                        queries.count[q] = n - 1
                    _insert(world, q, _position(world, q, d, objects.label[s]), d, s)
                block, fill = blocks[block * BLOCK + ITEMS], ITEMS
    return cut


@leaf
def list_circle(world: World, q: int) -> None:
    """List a kNN query in the cells of its circle."""
    cells = _cells_around(world, q, math.sqrt(world.queries.reach[q]))
    list_query(world, world.nearest, q, cells)


@leaf
def _first_radius(world: World, q: int) -> float:
    k = wanted(world, q)
    return world.guess * math.sqrt(k + spare(k)) * 1.1


@leaf
def begin_nearest(world: World, q: int) -> None:
    """Finds the answer of a query that has a centre, and tells nobody."""
    world.queries.state[q] = OPEN
    _look_around(world, q, _first_radius(world, q))


# --- events


@leaf
def open_nearest(
    world: World, changes: AnswerChanges, at: int, e: int, q: int, partial: bool
) -> int:
    """Begin a kNN query; the next place in `changes`."""
    begin_nearest(world, q)
    _refer_all(world, q, MORE)
    if partial:
        at = _note_centre(world, changes, at, e, q)
    return _note_all(world, changes, at, e, q, ADD)


@leaf
def close_nearest(
    world: World, changes: AnswerChanges, at: int, e: int, q: int, state: int, partial: bool
) -> int:
    """End a kNN query in this state; the next place in `changes`."""
    queries = world.queries
    if queries.state[q] == OPEN:
        at = _note_all(world, changes, at, e, q, REMOVE)
        _refer_all(world, q, LESS)
        unlist_query(world, world.nearest, q)
        queries.count[q] = 0
        if partial and world.focal[q, OF_NEAREST] >= 0:
            at = note_change(world, changes, at, e, q, NOBODY, CLOSE)
    queries.state[q] = state
    return at


@leaf
def _note_all(world: World, changes: AnswerChanges, at: int, e: int, q: int, what: int) -> int:
    start = world.queries.start[q]
    for i in range(start, start + min(world.queries.count[q], world.queries.k[q])):
        at = note_change(world, changes, at, e, q, np.int64(world.slots[i]), what)
    return at


@leaf
def _refer_all(world: World, q: int, more: int) -> None:
    """Those that it wants are looked at, or no more."""
    if world.significant is not None:
        start = world.queries.start[q]
        for i in range(start, start + min(world.queries.count[q], wanted(world, q))):
            refer(world, np.int64(world.slots[i]), more)


@leaf
def _note_centre(world: World, changes: AnswerChanges, at: int, e: int, q: int) -> int:
    s = np.int64(world.focal[q, OF_NEAREST])
    return note_change(world, changes, at, e, q, s, CENTRE) if s >= 0 else at


@leaf
def move_nearest(
    world: World, changes: AnswerChanges, at: int, e: int, q: int, partial: bool
) -> int:
    """The centre or the region of the query is another: who was among the nearest, who is."""
    queries, objects = world.queries, world.objects
    start, k = queries.start[q], queries.k[q]
    n = min(queries.count[q], k)
    centre = centre_at(world, q)
    world.counter[0] += 1
    mark = world.counter[0]
    farthest = 0.0
    before = min(queries.count[q], wanted(world, q))
    for i in range(n, before):
        world.scratch[i] = world.slots[start + i]
    for i in range(n):
        s = np.int64(world.slots[start + i])
        world.scratch[i] = s
        objects.mark[s] = -mark
        point = point_at(world, world.place[s, 0], world.place[s, 1], s)
        farthest = max(farthest, square_between(world, point, centre))
    # All that were nearest are within this; where they are too few, there is nothing to go by.
    radius = math.sqrt(farthest) * 1.2 if n == k else _first_radius(world, q)
    _look_around(world, q, radius)
    if partial:
        at = _note_centre(world, changes, at, e, q)
    now = min(queries.count[q], k)
    for i in range(start, start + now):
        s = np.int64(world.slots[i])
        if objects.mark[s] != -mark:
            at = note_change(world, changes, at, e, q, s, ADD)
        objects.mark[s] = mark
    for i in range(n):
        s = np.int64(world.scratch[i])
        if objects.mark[s] == -mark:
            at = note_change(world, changes, at, e, q, s, REMOVE)
    if world.significant is not None:
        _refer_anew(world, q, before)
    return at


@leaf
def _refer_anew(world: World, q: int, before: int) -> None:
    """It wants others than so many in `scratch`."""
    objects, queries = world.objects, world.queries
    world.counter[0] += 1
    mark = world.counter[0]
    for i in range(before):
        objects.mark[world.scratch[i]] = -mark
    start = queries.start[q]
    for i in range(start, start + min(queries.count[q], wanted(world, q))):
        s = np.int64(world.slots[i])
        if objects.mark[s] != -mark:
            refer(world, s, MORE)
        objects.mark[s] = mark
    for i in range(before):
        s = np.int64(world.scratch[i])
        if objects.mark[s] == -mark:
            refer(world, s, LESS)


@leaf
def object_near(
    world: World,
    changes: AnswerChanges,
    at: int,
    e: int,
    s: int,
    number: int,
    old: Presence,
    new: Presence,
    partial: bool,
) -> int:
    """Object s, which is already where it went, against the queries of one list."""
    (heads, blocks), queries = world.nearest, world.queries
    # A query that looks around may leave this list, or come to it: those in it now are asked.
    n = 0
    block, fill = heads[number, 0], heads[number, 1]
    while block != NONE:
        for place in range(block * BLOCK, block * BLOCK + fill):
            q = np.int64(blocks[place])
            if queries.stamp[q] != world.counter[2] + e:
                queries.stamp[q] = world.counter[2] + e
                world.scratch[n] = q
                n += 1
        block, fill = blocks[block * BLOCK + ITEMS], ITEMS
    for i in range(n):
        at = _one_near(world, changes, at, e, s, np.int64(world.scratch[i]), old, new, partial)
    return at


@leaf
def _one_near(
    world: World,
    changes: AnswerChanges,
    at: int,
    e: int,
    s: int,
    q: int,
    old: Presence,
    new: Presence,
    partial: bool,
) -> int:
    queries, label, k = world.queries, world.objects.label[s], world.queries.k[q]
    start, want = queries.start[q], wanted(world, q)
    was, d = _known(world, q, s, old, label)
    now, to = _known(world, q, s, new, label)
    if not (was or now):
        return at
    i = want
    if was:
        i = _position(world, q, d, label)
        _delete(world, q, i)
    j = want
    if now:
        if queries.count[q] == queries.room[q] - 1:
            _shorten(world, q)
            now = _reaches(world, q, to, label)
        if now:
            j = _position(world, q, to, label)
            _insert(world, q, j, to, s)
    if queries.count[q] < want and not _knows_all(world, q):
        radius = math.sqrt(queries.reach[q]) * 1.3
        _look_around(world, q, radius if radius > 0 else _first_radius(world, q))
        # It may have gone beyond, and still be the nearest of what is there.
        n = queries.count[q]
        j = want
        if n and new[0] and _admissible(world, q, s, _point_of(world, new), new[3]):
            p = _position(world, q, to, label)
            if p < n and world.slots[start + p] == s:
                j = p
    n = queries.count[q]
    if world.significant is not None:
        if i < want <= j:
            refer(world, s, LESS)
            if n >= want:
                refer(world, np.int64(world.slots[start + want - 1]), MORE)
        elif j < want <= i:
            refer(world, s, MORE)
            if n > want:
                refer(world, np.int64(world.slots[start + want]), LESS)
    if i < k and j < k:
        return note_change(world, changes, at, e, q, s, REFRESH) if partial else at
    if i < k:
        at = note_change(world, changes, at, e, q, s, REMOVE)
        if n >= k:
            at = note_change(world, changes, at, e, q, np.int64(world.slots[start + k - 1]), ADD)
    elif j < k:
        at = note_change(world, changes, at, e, q, s, ADD)
        if n > k:
            at = note_change(world, changes, at, e, q, np.int64(world.slots[start + k]), REMOVE)
    return at


@leaf
def _point_of(world: World, side: Presence) -> Point:
    return point_at(world, side[1], side[2], side[3])


@leaf
def _known(
    world: World,
    q: int,
    s: int,
    side: Presence,
    label: int,
) -> tuple[bool, float]:
    """Whether the query knows the object on this side, and the square of its distance."""
    if not side[0]:
        return False, 0.0
    point = _point_of(world, side)
    d = square_between(world, point, centre_at(world, q))
    # Of some the place is not known: they are at no distance.
    known = d == d and _reaches(world, q, d, label) and _admissible(world, q, s, point, side[3])
    return known, d


@leaf
def looks_near(world: World, q: int, point: Point) -> tuple[bool, bool]:
    """Whether an object at this place is among those wanted, or would be; and among the nearest."""
    queries = world.queries
    if queries.form[q] != NO_SHAPE and not in_region(world, region_of(world, q), point):
        return False, False
    d = square_between(world, point, centre_at(world, q))
    start, n = queries.start[q], queries.count[q]
    k, want = queries.k[q], wanted(world, q)
    looks = d == d and (n < want or d <= world.squares[start + want - 1])
    return looks, looks and (n < k or d <= world.squares[start + k - 1])


@leaf
def forget_near(world: World, number: int, s: int) -> None:
    """Object s is let go: the queries of one list that know it want nearer ones."""
    heads, blocks = world.nearest
    label = world.objects.label[s]
    side = (HERE, world.place[s, 0], world.place[s, 1], s)
    block, fill = heads[number, 0], heads[number, 1]
    while block != NONE:
        for place in range(block * BLOCK, block * BLOCK + fill):
            q = np.int64(blocks[place])
            known, d = _known(world, q, s, side, label)
            if known:
                _delete(world, q, _position(world, q, d, label))
        block, fill = blocks[block * BLOCK + ITEMS], ITEMS


@leaf
def _shorten(world: World, q: int) -> None:
    """Forgets the farthest: the reach is less."""
    queries = world.queries
    n = min(wanted(world, q) + spare(wanted(world, q)), queries.count[q] - 1)
    queries.count[q] = n
    last = queries.start[q] + n - 1
    queries.reach[q] = world.squares[last]
    queries.reach_label[q] = world.objects.label[world.slots[last]]
    list_circle(world, q)
