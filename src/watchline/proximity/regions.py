"""Range queries that move with a focal object: what enters and leaves them.

An object's answer is decided by its own place and the focal object's. When an object moves, the
queries in the lists of its old and its new cell are asked about both places (SOLE's Algorithms 1
and 2); when a query moves, the objects in the cells of its old and its new region are asked about
both regions (Algorithms 3 and 4). Nobody keeps answers: where both are known, they follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from watchline.kernels.compiled import leaf
from watchline.proximity.grid import BLOCK, ITEMS, NONE, cells_between
from watchline.proximity.tables import (
    ADD,
    AFTER,
    BEFORE,
    CIRCLE,
    ENTER,
    LEAVE,
    LESS,
    MORE,
    OPEN,
    REMOVE,
    AnswerChanges,
    PlacedRegion,
    Presence,
    World,
    admits,
    bounds_on_earth,
    cells_of_query,
    cells_on_earth,
    column_at,
    columns_across,
    in_region,
    is_focal,
    list_query,
    may_hold,
    note_change,
    outer_of,
    point_at,
    refer,
    region_of,
    set_region,
    unlist_query,
    widened,
)


@leaf
def objects_in(world: World, cells: Any) -> int:
    """How many objects these cells hold."""
    c1, c2, r1, r2 = cells
    n, columns = 0, world.frame.columns
    for r in range(r1, r2 + 1):
        for i in range(c1, c1 + columns_across(world, c1, c2, columns)):
            n += world.spots.heads[r * columns + column_at(world, i, columns), 2]
    return n


@leaf
def most_of_range(world: World, q: int, x: float, y: float) -> int:
    """The most changes there can be when this query's focal object comes to this place, or goes."""
    queries = world.queries
    w, h = queries.w[q], queries.h[q]
    if world.earth is not None:
        bounds = bounds_on_earth(queries.form[q], x, y, w, h)
        n = objects_in(world, cells_on_earth(world, bounds))
    else:
        if queries.form[q] == CIRCLE:
            w = h = widened(w)
        n = objects_in(world, cells_between(world.frame, x - w, y - h, x + w, y + h))
    return n + objects_in(world, cells_of_query(world, q)) if queries.state[q] == OPEN else n


@leaf
def _regions(world: World, q: int) -> tuple[PlacedRegion, PlacedRegion]:
    """What is in the answer, and what is kept; the same where all is."""
    region = region_of(world, q)
    return region, outer_of(world, q) if world.significant is not None else region


@leaf
def open_range(
    world: World, changes: AnswerChanges, at: int, e: int, q: int, x: float, y: float
) -> int:
    """Begin a range query at its centre; the next place in `changes`."""
    set_region(world, q, x, y)
    world.queries.state[q] = OPEN
    span = cells_of_query(world, q)
    list_query(world, world.ranges, q, span)
    both = _regions(world, q)
    return _sweep(world, changes, at, e, q, span, both, both, AFTER | ENTER)


@leaf
def close_range(world: World, changes: AnswerChanges, at: int, e: int, q: int, state: Any) -> int:
    """What it holds leaves; `state` is the one it has then."""
    if world.queries.state[q] == OPEN:
        both = _regions(world, q)
        at = _sweep(world, changes, at, e, q, cells_of_query(world, q), both, both, BEFORE | LEAVE)
        unlist_query(world, world.ranges, q)
    world.queries.state[q] = state
    return at


@leaf
def move_range(
    world: World, changes: AnswerChanges, at: int, e: int, q: int, x: float, y: float
) -> int:
    """Move a range query to its new centre; the next place in `changes`."""
    before, old_span = _regions(world, q), cells_of_query(world, q)
    set_region(world, q, x, y)
    after, span = _regions(world, q), cells_of_query(world, q)
    both = BEFORE | AFTER
    if (
        (old_span[0] == span[0]) & (old_span[1] == span[1])
        & (old_span[2] == span[2]) & (old_span[3] == span[3])
    ):  # fmt: skip
        return _sweep(world, changes, at, e, q, span, before, after, both | LEAVE | ENTER)
    list_query(world, world.ranges, q, span)
    at = _sweep(world, changes, at, e, q, old_span, before, after, both | LEAVE)
    return _sweep(world, changes, at, e, q, span, before, after, both | ENTER)


@leaf
def _sweep(
    world: World,
    changes: AnswerChanges,
    at: int,
    e: int,
    q: int,
    cells: Any,
    before: tuple[PlacedRegion, PlacedRegion],
    after: tuple[PlacedRegion, PlacedRegion],
    asked: Any,
) -> int:
    """The objects of these cells that leave the one region or enter the other, as is asked."""
    heads, blocks = world.spots
    (old, old_outer), (new, new_outer) = before, after
    number, columns = world.queries.filter[q], world.frame.columns
    for r in range(cells[2], cells[3] + 1):
        for i in range(cells[0], cells[0] + columns_across(world, cells[0], cells[1], columns)):
            cell = r * columns + column_at(world, i, columns)
            block, fill = heads[cell, 0], heads[cell, 1]
            while block != NONE:
                for place in range(block * BLOCK, block * BLOCK + fill):
                    s = np.int64(blocks[place])
                    point = point_at(world, world.place[s, 0], world.place[s, 1], s)
                    more = 0
                    if world.significant is not None:
                        near = (asked & BEFORE != 0) and in_region(world, old_outer, point)
                        comes = (asked & AFTER != 0) and in_region(world, new_outer, point)
                        if not (near or comes):
                            continue
                        was = near and in_region(world, old, point)
                        now = comes and in_region(world, new, point)
                        if near != comes and asked & (LEAVE if near else ENTER):
                            more = 1 if comes else -1
                    else:
                        was = (asked & BEFORE != 0) and in_region(world, old, point)
                        now = (asked & AFTER != 0) and in_region(world, new, point)
                    changed = was != now and asked & (LEAVE if was else ENTER)
                    if not changed and not more:
                        continue
                    if not admits(world.lines, s, number) or is_focal(world.focal, q, s):
                        continue
                    if changed:
                        at = note_change(world, changes, at, e, q, s, ADD if now else REMOVE)
                    if more:
                        refer(world, s, more)
                block, fill = blocks[block * BLOCK + ITEMS], ITEMS
    return at


@leaf
def object_moves(
    world: World,
    changes: AnswerChanges,
    at: int,
    e: int,
    s: int,
    number: int,
    old: Presence,
    new: Presence,
    asked: Any,
) -> int:
    """Object s against the queries of one list."""
    (heads, blocks), queries = world.ranges, world.queries
    had, x, y, i = old
    has, to_x, to_y, j = new
    left, came = point_at(world, x, y, i), point_at(world, to_x, to_y, j)
    block, fill = heads[number, 0], heads[number, 1]
    while block != NONE:
        for place in range(block * BLOCK, block * BLOCK + fill):
            q = np.int64(blocks[place])
            if world.significant is not None and not _refers(world, s, q, old, new, asked):
                continue
            region = region_of(world, q)
            was = had and in_region(world, region, left)
            now = has and in_region(world, region, came)
            if not (was or now) or is_focal(world.focal, q, s):
                continue
            number_of = queries.filter[q]
            was = was and admits(world.lines, i, number_of)
            now = now and admits(world.lines, j, number_of)
            if was and not now and asked & LEAVE:
                at = note_change(world, changes, at, e, q, s, REMOVE)
            elif now and not was and asked & ENTER:
                at = note_change(world, changes, at, e, q, s, ADD)
        block, fill = blocks[block * BLOCK + ITEMS], ITEMS
    return at


@leaf
def _refers(world: World, s: int, q: int, old: Presence, new: Presence, asked: Any) -> bool:
    """Whether query q looks at object s, before or after; the object knows it then."""
    had, x, y, i = old
    has, to_x, to_y, j = new
    left, came = point_at(world, x, y, i), point_at(world, to_x, to_y, j)
    outer = outer_of(world, q)
    near, comes = had and may_hold(world, outer, left), has and may_hold(world, outer, came)
    if not (near or comes) or is_focal(world.focal, q, s):
        return False
    number = world.queries.filter[q]
    near = near and in_region(world, outer, left) and admits(world.lines, i, number)
    comes = comes and in_region(world, outer, came) and admits(world.lines, j, number)
    if near and not comes and asked & LEAVE:
        refer(world, s, LESS)
    elif comes and not near and asked & ENTER:
        refer(world, s, MORE)
    return near or comes
