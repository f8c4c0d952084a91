"""Kernels over many objects or queries at once: what the operator does between events."""

from __future__ import annotations

import numpy as np

from watchline.kernels.arrays import Doubles, Integers, Mask, Signs, Small
from watchline.kernels.compiled import kernel
from watchline.proximity.events import let_go, most_of, place_nearest
from watchline.proximity.grid import (
    BLOCK,
    ITEMS,
    NONE,
)
from watchline.proximity.nearest import (
    begin_nearest,
    capacity_for,
    close_nearest,
    list_circle,
    looks_near,
    open_nearest,
)
from watchline.proximity.regions import close_range, open_range
from watchline.proximity.tables import (
    CLOSED,
    FREE,
    OPEN,
    UNLISTED,
    AnswerChanges,
    Lines,
    World,
    admits,
    cell_at,
    cells_of_query,
    distance_to,
    in_region,
    is_focal,
    list_at,
    list_query,
    outer_of,
    point_at,
    region_of,
    suspect,
    wanted,
    whole_of,
)


@kernel
def cells_holding(world: World, points: Doubles) -> Small:
    """The cell of each of these points."""
    found = np.empty(len(points), np.int32)
    for i in range(len(points)):
        found[i] = cell_at(world, points[i, 0], points[i, 1])
    return found


@kernel
def capacities_for(k: Integers) -> Integers:
    """How many candidates the lists of these kNN queries hold."""
    found = np.empty(len(k), np.int64)
    for i in range(len(k)):
        found[i] = capacity_for(k[i])
    return found


@kernel
def copy_known(
    world: World, numbers: Integers, starts: Integers, slots: Small, squares: Doubles
) -> None:
    """What queries know, to other places."""
    for i in range(len(numbers)):
        first = world.queries.start[numbers[i]]
        for j in range(world.queries.count[numbers[i]]):
            slots[starts[i] + j] = world.slots[first + j]
            squares[starts[i] + j] = world.squares[first + j]


@kernel
def list_open_queries(world: World) -> None:
    """All open queries, into lists that are empty."""
    queries = world.queries
    for q in range(len(queries)):
        world.span[q, 4] = UNLISTED
    for q in range(len(queries)):
        if queries.state[q] == OPEN:
            if queries.k[q]:
                list_circle(world, q)
            else:
                list_query(world, world.ranges, q, cells_of_query(world, q))


@kernel
def look_around_again(world: World, numbers: Integers) -> None:
    """Find the nearest of these kNN queries anew, those that are open."""
    for q in numbers:
        if world.queries.state[q] == OPEN:
            begin_nearest(world, q)


@kernel
def queries_looking(
    world: World,
    places: Doubles,
    lines: Lines,
    slots: Integers,
    whole: bool,
    changes: AnswerChanges,
    i: int,
    at: int,
) -> tuple[int, int]:
    """The queries that look at these places; the next place to ask, and the next in `changes`. On
    Earth the vectors in `world` are those of the places."""
    queries = world.queries
    for j in range(i, len(places)):
        x, y, s = places[j, 0], places[j, 1], slots[j]
        cell, point = cell_at(world, x, y), point_at(world, x, y, j)
        most = 0
        for level in range(len(world.levels)):
            number = list_at(world, level, cell)
            most += world.ranges.heads[number, 2] + world.nearest.heads[number, 2]
        if at + most > len(changes.event):
            return j, at
        for level in range(len(world.levels)):
            number = list_at(world, level, cell)
            for kind in range(2):
                heads, blocks = world.ranges if kind == 0 else world.nearest
                block, fill = heads[number, 0], heads[number, 1]
                while block != NONE:
                    for place in range(block * BLOCK, block * BLOCK + fill):
                        q = np.int64(blocks[place])
                        if s >= 0 and is_focal(world.focal, q, s):
                            continue
                        if not admits(lines, j, queries.filter[q]):
                            continue
                        if queries.k[q]:
                            looks, inside = looks_near(world, q, point)
                        else:
                            looks = in_region(world, outer_of(world, q), point)
                            region = whole_of(world, q) if whole else region_of(world, q)
                            inside = in_region(world, region, point)
                            looks |= inside
                        if looks:
                            changes.event[at], changes.query[at], changes.row[at] = j, q, 0
                            changes.distance[at] = distance_to(world, q, point)
                            changes.what[at] = np.int8(1) if inside else np.int8(0)
                            at += 1
                    block, fill = blocks[block * BLOCK + ITEMS], ITEMS
    return len(places), at


@kernel
def rank_among_known(world: World, numbers: Integers, squares: Doubles) -> tuple[Mask, Signs]:
    """Objects beside those that each query knows, by query and distance: whether they would be
    among those wanted, and among the nearest. Of equal distances the known are first."""
    queries = world.queries
    looks, inside = np.zeros(len(numbers), np.bool_), np.zeros(len(numbers), np.int8)
    nearer = known = 0
    for i in range(len(numbers)):
        q = numbers[i]
        if i == 0 or q != numbers[i - 1]:
            nearer = known = 0
        start = queries.start[q]
        while known < queries.count[q] and world.squares[start + known] <= squares[i]:
            known += 1
        looks[i] = nearer + known < wanted(world, q)
        inside[i] = np.int8(1) if nearer + known < queries.k[q] else np.int8(0)
        nearer += 1
    return looks, inside


@kernel
def let_go_of(world: World, slots: Integers) -> None:
    """Let go of those of these objects that nothing holds."""
    for s in slots:
        suspect(world, s)
    let_go(world)


@kernel
def link_focals(world: World, numbers: Integers) -> None:
    """Queries into the lists of their focal objects."""
    first = world.objects.first
    for q in numbers:
        for role in range(2):
            s = world.focal[q, role]
            if s >= 0:
                world.then[q, role] = first[s]
                first[s] = 2 * q + role


@kernel
def queries_following(world: World, slots: Integers) -> Integers:
    """The queries that move with these objects, once for each of their roles."""
    count = 0
    for s in slots:
        link = np.int64(world.objects.first[s])
        while link != NONE:
            count += 1
            link = np.int64(world.then[link >> 1, link & 1])
    found = np.empty(count, np.int64)
    count = 0
    for s in slots:
        link = np.int64(world.objects.first[s])
        while link != NONE:
            found[count] = link >> 1
            count += 1
            link = np.int64(world.then[link >> 1, link & 1])
    return found


@kernel
def unlink_focals(world: World, numbers: Integers) -> None:
    """Take these queries out of the lists of their focal objects."""
    queries, first = world.queries, world.objects.first
    for q in numbers:
        for role in range(2):
            s = world.focal[q, role]
            if s < 0:
                continue
            link, before = first[s], NONE
            while link != 2 * q + role:
                before, link = link, world.then[link >> 1, link & 1]
            after = world.then[q, role]
            if before == NONE:
                first[s] = after
            else:
                world.then[before >> 1, before & 1] = after
            world.focal[q, role] = NONE
        queries.state[q] = FREE
        queries.room[q] = 0


@kernel
def open_queries(
    world: World, numbers: Integers, partial: bool, changes: AnswerChanges, i: int, at: int
) -> tuple[int, int]:
    """Begin these queries from the i-th on; the next to begin, and the next place in `changes`."""
    queries, objects = world.queries, world.objects
    for j in range(i, len(numbers)):
        q = numbers[j]
        s = np.int64(max(world.focal[q, 0], 0))
        if at + most_of(world, q, world.place[s, 0], world.place[s, 1]) > len(changes.event):
            return j, at
        ready = queries.waits[q] == 0 and queries.state[q] == CLOSED
        for role in range(2):
            s = np.int64(world.focal[q, role])
            ready = ready and (s < 0 or objects.here[s] != 0)
        if not ready:
            continue
        if queries.k[q]:
            place_nearest(world, q)
            at = open_nearest(world, changes, at, j, q, partial)
        else:
            s = np.int64(world.focal[q, 0])
            at = open_range(world, changes, at, j, q, world.place[s, 0], world.place[s, 1])
    return len(numbers), at


@kernel
def close_queries(
    world: World, numbers: Integers, partial: bool, changes: AnswerChanges, i: int, at: int
) -> tuple[int, int]:
    """End these queries from the i-th on; the next to end, and the next place in `changes`."""
    for j in range(i, len(numbers)):
        q = numbers[j]
        if at + most_of(world, q, 0.0, 0.0) > len(changes.event):
            return j, at
        if world.queries.k[q]:
            at = close_nearest(world, changes, at, j, q, CLOSED, partial)
        else:
            at = close_range(world, changes, at, j, q, CLOSED)
    return len(numbers), at
