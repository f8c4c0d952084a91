"""Events in their order: each object's row or time-out, and each query's end, through all tables.

An event first puts the object where it is now. Then the queries that move with it move, and then
all others are asked about it. No query is in both: a focal object is never in its own answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watchline.kernels.arrays import Doubles, Integers, Signs, Words
from watchline.kernels.compiled import kernel, leaf
from watchline.kernels.earth import put_vector
from watchline.proximity.grid import NONE, put, take
from watchline.proximity.nearest import (
    close_nearest,
    forget_near,
    move_nearest,
    object_near,
    open_nearest,
)
from watchline.proximity.regions import (
    close_range,
    most_of_range,
    move_range,
    object_moves,
    open_range,
)
from watchline.proximity.tables import (
    CLOSED,
    END,
    ENTER,
    FREE,
    FRESH,
    LEAVE,
    NO_SHAPE,
    NOBODY,
    OF_NEAREST,
    OF_REGION,
    OPEN,
    RETURN,
    ROW,
    UNHOLD,
    AnswerChanges,
    World,
    cell_at,
    is_followed,
    list_at,
    note_change,
    set_region,
    suspect,
)


class Events(NamedTuple):
    """What happens, when, to which slot or query; the new place, row, and what filters need."""

    kind: Signs
    time: Integers
    who: Integers
    place: Doubles
    row: Integers
    bits: Words
    values: Doubles
    # Where only some objects are kept: how many queries more hold the row elsewhere.
    held: Integers


@kernel
def run_events(
    world: World, events: Events, partial: bool, changes: AnswerChanges, e: int, at: int
) -> tuple[int, int]:
    """Events from e on, until there may be no room; the next event, and the next place in
    `changes`."""
    for i in range(e, len(events.kind)):
        who = events.who[i]
        if events.kind[i] == UNHOLD:
            world.objects.held[who] -= 1
            suspect(world, who)
            let_go(world)
            continue
        if at + _most(world, events, i, who) > len(changes.event):
            return i, at
        if events.kind[i] == END:
            at = _close(world, changes, at, i, who, FREE, partial)
            for role in range(2):
                if world.significant is not None and world.focal[who, role] >= 0:
                    suspect(world, np.int64(world.focal[who, role]))
        else:
            at = _object(world, events, partial, changes, at, i, who)
        if world.significant is not None:
            let_go(world)
    return len(events.kind), at


@leaf
def let_go(world: World) -> None:
    """Objects that nobody looks at any more."""
    objects = world.objects
    for i in range(world.counter[1]):
        s = np.int64(world.dirty[i])
        objects.dirty[s] = 0
        if not (objects.here[s] and objects.mine[s]) or objects.refs[s] + objects.held[s]:
            continue
        if is_followed(world, s):
            continue
        cell = np.int64(objects.cell[s])
        moved = take(world.spots, cell, np.int64(objects.spot[s]))
        objects.spot[moved] = objects.spot[s]
        objects.here[s] = 0
        for level in range(len(world.levels)):
            if world.levels[level, 2]:
                forget_near(world, list_at(world, level, cell), s)
    world.counter[1] = 0


@leaf
def _most(world: World, events: Events, e: int, who: int) -> int:
    """No event can tell more than this."""
    objects = world.objects
    if events.kind[e] == END:
        return most_of(world, who, 0.0, 0.0)
    x, y = events.place[e, 0], events.place[e, 1]
    ranges, nearest = world.ranges.heads, world.nearest.heads
    cell, to_cell = np.int64(objects.cell[who]), cell_at(world, x, y)
    n = 0
    for level in range(len(world.levels)):
        if world.levels[level, 2]:
            there = list_at(world, level, to_cell)
            n += ranges[there, 2] + 3 * nearest[there, 2]
            if objects.here[who] and objects.mine[who]:
                there = list_at(world, level, cell)
                n += ranges[there, 2] + 3 * nearest[there, 2]
    link = np.int64(objects.first[who])
    while link != NONE:
        n += most_of(world, link >> 1, x, y)
        link = np.int64(world.then[link >> 1, link & 1])
    return n


@leaf
def most_of(world: World, q: int, x: float, y: float) -> int:
    """How many changes one event of this query can cause at the most."""
    k = world.queries.k[q]
    return 2 * min(k, len(world.objects)) + 3 if k else most_of_range(world, q, x, y)


@leaf
def _object(
    world: World, events: Events, partial: bool, changes: AnswerChanges, at: int, e: int, s: int
) -> int:
    """A row or the time-out of object s."""
    objects = world.objects
    comes = events.kind[e] == ROW or events.kind[e] == RETURN
    had, has = objects.here[s] and objects.mine[s], comes and objects.mine[s]
    x, y = world.place[s, 0], world.place[s, 1]
    to_x, to_y = events.place[e, 0], events.place[e, 1]
    cell, to_cell = np.int64(objects.cell[s]), cell_at(world, to_x, to_y)
    # The line of before is kept in the last one meanwhile.
    lines, spare = world.lines, len(world.lines.bits) - 1
    for w in range(lines.bits.shape[1]):
        lines.bits[spare, w] = lines.bits[s, w]
    for w in range(lines.values.shape[1]):
        lines.values[spare, w] = lines.values[s, w]
    if world.earth is not None:
        vectors = world.vectors
        for d in range(3):
            vectors[spare, d] = vectors[s, d]
        if comes:
            put_vector(vectors, s, to_x, to_y)
    if had and not (has and cell == to_cell):
        moved = take(world.spots, cell, np.int64(objects.spot[s]))
        objects.spot[moved] = objects.spot[s]
    if has and not (had and cell == to_cell):
        objects.spot[s] = put(world.spots, to_cell, s)
    objects.here[s] = comes
    if world.significant is not None:
        objects.held[s] += events.held[e]
    if comes:
        world.place[s, 0], world.place[s, 1] = to_x, to_y
        objects.cell[s], objects.row[s] = to_cell, events.row[e]
        for w in range(lines.bits.shape[1]):
            lines.bits[s, w] = events.bits[e, w]
        for w in range(lines.values.shape[1]):
            lines.values[s, w] = events.values[e, w]
    # What is taken back is an older row, which starts no query that waits.
    reports = events.kind[e] == ROW
    at = _focal(world, changes, at, e, s, events.time[e], comes, reports, partial)
    old = (had, x, y, spare)
    new = (has, to_x, to_y, s)
    for level in range(len(world.levels)):
        if not world.levels[level, 2]:
            continue
        into = list_at(world, level, to_cell) if has else NOBODY
        if had:
            out_of = list_at(world, level, cell)
            asked = LEAVE | ENTER if out_of == into else LEAVE
            at = object_moves(world, changes, at, e, s, out_of, old, new, asked)
            at = object_near(world, changes, at, e, s, out_of, old, new, partial)
            if out_of == into:
                continue
        if has:
            at = object_moves(world, changes, at, e, s, into, old, new, ENTER)
            at = object_near(world, changes, at, e, s, into, old, new, partial)
    if world.significant is not None and objects.refs[s] == 0:
        suspect(world, s)
    return at


@leaf
def _focal(
    world: World,
    changes: AnswerChanges,
    at: int,
    e: int,
    s: int,
    time: int,
    comes: bool,
    reports: bool,
    partial: bool,
) -> int:
    """The queries that move with object s, which is already where it is now."""
    queries = world.queries
    link = np.int64(world.objects.first[s])
    while link != NONE:
        q = link >> 1
        link = np.int64(world.then[q, link & 1])
        if queries.state[q] == FREE or queries.stamp[q] == world.counter[2] + e:
            continue  # its life is over, or it was here in its other role
        queries.stamp[q] = world.counter[2] + e
        if not comes:
            at = _close(world, changes, at, e, q, CLOSED, partial)
        else:
            at = _report(world, changes, at, e, q, s, time, reports, partial)
    return at


@leaf
def _report(
    world: World,
    changes: AnswerChanges,
    at: int,
    e: int,
    q: int,
    s: int,
    time: int,
    reports: bool,
    partial: bool,
) -> int:
    """Object s, which query q moves with, is at another place, or here again."""
    queries, objects = world.queries, world.objects
    starts = False
    for role in range(2):
        waits = np.uint8(1 << role)
        is_asked = world.focal[q, role] == s and queries.waits[q] & waits
        if is_asked and reports and time >= queries.since[q]:
            queries.waits[q] -= waits
            starts = True
    if queries.waits[q]:
        return at
    for role in range(2):
        f = np.int64(world.focal[q, role])
        if f >= 0 and not objects.here[f]:
            return at
    was = queries.state[q] == OPEN
    x, y = world.place[s, 0], world.place[s, 1]
    if not queries.k[q]:
        if was:
            return move_range(world, changes, at, e, q, x, y)
        if starts:
            queries.fresh[q] = world.counter[2] + e
        return open_range(world, changes, at, e, q, x, y)
    place_nearest(world, q)
    if was:
        return move_nearest(world, changes, at, e, q, partial)
    if starts:
        queries.fresh[q] = world.counter[2] + e
        if partial:
            at = note_change(world, changes, at, e, q, NOBODY, FRESH)
    return open_nearest(world, changes, at, e, q, partial)


@leaf
def place_nearest(world: World, q: int) -> None:
    """The region and the centre where the focal objects are."""
    queries = world.queries
    f = np.int64(world.focal[q, OF_REGION])
    if queries.form[q] != NO_SHAPE:
        set_region(world, q, world.place[f, 0], world.place[f, 1])
    f = np.int64(world.focal[q, OF_NEAREST])
    if f >= 0:
        queries.cx[q], queries.cy[q] = world.place[f, 0], world.place[f, 1]
        if world.earth is not None:
            for d in range(3):
                world.anchors[2 * q + OF_NEAREST, d] = world.vectors[f, d]


@leaf
def _close(
    world: World, changes: AnswerChanges, at: int, e: int, q: int, state: int, partial: bool
) -> int:
    if world.queries.k[q]:
        return close_nearest(world, changes, at, e, q, state, partial)
    return close_range(world, changes, at, e, q, state)
