"""The tables of the shared operator: objects, queries, and the changes of answers.

On Earth coordinates are degrees and lengths metres. There each place also has its vector, from
which all distances are measured; degrees only say in which cell a place is and whether a box holds
it. Vectors are computed where objects and queries are placed (`watchline.kernels.earth`).

An object has a slot and a query has a number, which are their places in the columns. An object is
in the list of its cell; a query is in the lists of the cells that its region, or the circle of what
it knows, touches. A query that is too large for that is in the lists of larger cells.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from watchline.kernels.arrays import Doubles, Integers, Mask, Signs, Small, Words
from watchline.kernels.compiled import leaf
from watchline.kernels.earth import (
    Bounds,
    Vector,
    between_longitudes,
    bounds_around,
    box_around,
    chord_of,
    metres_of,
    put_vector,
    square_of_chord,
    vector_at,
)
from watchline.proximity.grid import (
    NONE,
    WIDER,
    CellLists,
    Cells,
    GridFrame,
    cell_holding,
    cells_between,
    cells_within,
    find,
    put,
    spare_blocks,
    take,
    turned,
)

# Records: see OBJECT and QUERY.
Table = Any
# Kind (BOX or CIRCLE), x1, y1, x2, y2, and for circles the centre and the square of the radius. On
# Earth a box has its west, south, east and north; a circle its centre's vector in place of these,
# and the square of its chord at the end.
PlacedRegion = tuple[float, float, float, float, float, float, float, float]

# Coordinates and, on Earth, the vector.
Point = tuple[float, float, Vector]
# An object before or after an event: whether it is there, its place, and its line.
Presence = tuple[bool, float, float, int]

# Constants that kernels hand on have a type: for each plain number they would be compiled anew.
# Shapes of regions that move.
NO_SHAPE, BOX, CIRCLE = 0, 1, 2
# States of a query: no such query, waiting for a focal object, has an answer.
FREE, CLOSED, OPEN = np.uint8(0), np.uint8(1), np.uint8(2)
# Roles of a focal object.
OF_REGION, OF_NEAREST = 0, 1
# What the distances of a query's changes count from: nothing, the middle of the region, the centre
# of nearest neighbours.
NO_CENTRE, REGION_CENTRE, NEAREST_CENTRE = 0, 1, 2
# Kinds of events, in the order of one moment: of an object, of a query that ends, of an object that
# one query less holds elsewhere, of an object that is given up, of one that is taken back.
ROW, TIMEOUT, END, UNHOLD, SHED, RETURN = 0, 1, 2, 3, 4, 5
# What a change says: an object is in the answer, still is with another row, is no more; and of
# nearest neighbours that are to be merged: where the centre is now, that the query starts, that it
# ends.
ADD, REFRESH, REMOVE = np.int8(1), np.int8(0), np.int8(-1)
CENTRE, FRESH, CLOSE = np.int8(2), np.int8(3), np.int8(4)
# What is looked for: in a region that is there before, or after; those that leave, or enter.
BEFORE, AFTER, LEAVE, ENTER = np.int64(1), np.int64(2), np.int64(4), np.int64(8)
# One query more or less looks at an object.
MORE, LESS = np.int64(1), np.int64(-1)
# An object is there.
HERE = np.uint8(1)
# Nobody's slot.
NOBODY = np.int64(-1)
# Filters from 0 on are bits; these are none, and the first whose terms are known here.
NO_FILTER, INSIDE = -1, -(1 << 30)
# A query that would be in more cells than this is listed in larger ones.
MOST_CELLS = 64
UNLISTED = -1
LAST_LABEL = np.iinfo(np.int64).max
# The first moment there is.
FIRST = np.iinfo(np.int64).min


# `here`: it is known, and neither timed out nor let go. `mine`: it may be in answers (another
# shard's focal object may not). `row`: its latest row. `label`: orders objects as their ids do.
# `first`: the first of the queries that move with it, as query * 2 + role. Where only some are
# kept: `refs` queries of these tables look at it, and `held` others do; `dirty`: whether anybody
# still does is to be seen.
OBJECT = np.dtype(
    [
        ("row", np.int64), ("label", np.int64), ("mark", np.int64), ("cell", np.int32),
        ("spot", np.int32), ("first", np.int32), ("refs", np.int32), ("here", np.uint8),
        ("mine", np.uint8), ("dirty", np.uint8), ("held", np.int32),
    ],
    align=True,
)  # fmt: skip
# `w`, `h`: half width and half height, or radius and its square, on Earth that of its chord. `x1`
# to `y2`, `mx`, `my`: a box around all that is looked at now, and its middle. `cx`, `cy`: where
# distances count from. `waits`: for which roles. `since`: the earliest report that starts it.
# `filter`: which bit of an object admits it. `centred`: see NO_CENTRE.
#
# The nearest known are the `count` from `start` on, by distance and label: all that are not beyond
# (`reach`, `reach_label`). The first `k` of them are the answer.
#
# What every object that passes is compared with comes first: it is one cache line.
QUERY = np.dtype(
    [
        ("x1", np.float64), ("y1", np.float64), ("x2", np.float64), ("y2", np.float64),
        ("mx", np.float64), ("my", np.float64), ("h", np.float64), ("filter", np.int32),
        ("form", np.uint8), ("state", np.uint8), ("waits", np.uint8),
        ("centred", np.uint8), ("w", np.float64),
        ("cx", np.float64), ("cy", np.float64), ("reach", np.float64), ("reach_label", np.int64),
        ("k", np.int64), ("start", np.int64), ("room", np.int64), ("count", np.int64),
        ("stamp", np.int64), ("fresh", np.int64), ("since", np.int64),
    ],
    align=True,
)  # fmt: skip


# Of queries where only some objects are kept: those are that are not farther than `margin` from the
# region; and of neighbours the `want` nearest, which are k and some more. `w`, `h`: those of QUERY,
# before the region was shrunk.
AROUND = np.dtype(
    [("margin", np.float64), ("w", np.float64), ("h", np.float64), ("want", np.int64)], align=True
)


class Lines(NamedTuple):
    """What filters need of the latest row of each object, and in the last line of one before.

    The bits of filters that were asked before; values, and the terms (which value, from, below) of
    filters that are asked here: INSIDE + f has those from `first[f]` to `first[f + 1]`.
    """

    bits: Words
    values: Doubles
    terms: Doubles
    first: Integers


class World(NamedTuple):
    """All that the kernels work on.

    Of objects also their places and lines; of queries also their focal objects by role, the links
    of the lists of these, and the cells they are listed in: columns and rows, from and to, at which
    level. `levels`: of the cells of each level the first list in `ranges` and `nearest`, how many
    columns, and how many queries are in such lists.
    """

    frame: GridFrame
    objects: Table
    place: Doubles
    lines: Lines
    queries: Table
    focal: Small
    then: Small
    span: Small
    spots: CellLists
    ranges: CellLists
    nearest: CellLists
    levels: Integers
    # What nearest-neighbour queries know: slots, and squares of distances.
    slots: Small
    squares: Doubles
    # `scratch` is room for slots or numbers. `counter` has three numbers: the last mark that was
    # given, how many slots are in `dirty`, and the events of all earlier calls, which keep the
    # stamps of two calls apart.
    scratch: Small
    counter: Integers
    dirty: Small
    # Where only those objects are kept that some query looks at: see AROUND.
    around: Table
    # None where all are: kernels for these are compiled without all that concerns the others.
    significant: bool | None
    # The radius in which there is one object, on average.
    guess: float
    # None in the plane: kernels for it are compiled without all that concerns the Earth.
    earth: bool | None
    # On Earth: the vectors of objects by their lines, and those of the centres of queries, which
    # are twice the query and the role.
    vectors: Doubles
    anchors: Doubles
    # Whether the grid is: see `grid`.
    is_turned: bool


class AnswerChanges(NamedTuple):
    """Changes of answers: the event that caused each, the query, what the change says (ADD,
    REFRESH, …), the row of the object, and its distance from the centre of the query, NaN for none.
    """

    event: Integers
    query: Integers
    what: Signs
    row: Integers
    distance: Doubles

    def where(self, chosen: Mask) -> AnswerChanges:
        return AnswerChanges(
            self.event[chosen],
            self.query[chosen],
            self.what[chosen],
            self.row[chosen],
            self.distance[chosen],
        )


# The types of the columns of `AnswerChanges`.
CHANGE_TYPES = (np.int64, np.int64, np.int8, np.int64, np.float64)


@leaf
def widened(radius: float) -> float:
    """So that no object of the circle is farther away along an axis: its test rounds, squares
    underflow, and one that overflows is that of every distance."""
    return radius * (1 + 1e-12) + 1e-160 if radius * radius < np.inf else np.inf


@leaf
def point_at(world: World, x: float, y: float, line: int) -> Point:
    """An object's place, of which the line has the vector."""
    if world.earth is not None:
        return x, y, vector_at(world.vectors, line)
    return x, y, (0.0, 0.0, 0.0)


@leaf
def cell_at(world: World, x: float, y: float) -> int:
    """The cell of a place."""
    if world.earth is not None and world.is_turned:
        x = turned(x)
    return cell_holding(world.frame, x, y)


@leaf
def cells_on_earth(world: World, bounds: Bounds) -> Cells:
    """The cells of all places within these bounds."""
    return cells_within(world.frame, world.is_turned, bounds)


@leaf
def centre_at(world: World, q: int) -> Point:
    """The centre of nearest neighbours."""
    x, y = world.queries.cx[q], world.queries.cy[q]
    if world.earth is not None:
        return x, y, vector_at(world.anchors, 2 * q + OF_NEAREST)
    return x, y, (0.0, 0.0, 0.0)


@leaf
def square_between(world: World, a: Point, b: Point) -> float:
    """The square of the distance by which nearest neighbours are ordered."""
    if world.earth is not None:
        return square_of_chord(a[2], b[2])
    dx, dy = a[0] - b[0], a[1] - b[1]
    return dx * dx + dy * dy


@leaf
def region_of(world: World, q: int) -> PlacedRegion:
    """The region of the answer."""
    o = world.queries[q]
    if world.earth is not None:
        if o.form == CIRCLE:
            return _circle_on_earth(world, q, o.h)
        if world.significant is not None:
            return _box_on_earth(box_around(o.mx, o.my, 2.0 * o.w, 2.0 * o.h))
        return _box_on_earth((o.x1, o.y1, o.x2, o.y2))
    if world.significant is not None and o.form == BOX:
        return (float(BOX), o.mx - o.w, o.my - o.h, o.mx + o.w, o.my + o.h, o.mx, o.my, o.h)
    return (float(o.form), o.x1, o.y1, o.x2, o.y2, o.mx, o.my, o.h)


@leaf
def outer_of(world: World, q: int) -> PlacedRegion:
    """The region and the margin around it, in which objects are kept."""
    o = world.queries[q]
    square = o.h
    if world.significant is not None and o.form == CIRCLE:
        m = world.around[q].margin
        if m > 0:
            if world.earth is not None:
                chord = chord_of(o.w + m)
                square = max(square, chord * chord)
            else:
                square = (o.w + m) * (o.w + m)
    if world.earth is not None:
        if o.form == CIRCLE:
            return _circle_on_earth(world, q, square)
        return _box_on_earth((o.x1, o.y1, o.x2, o.y2))
    return (float(o.form), o.x1, o.y1, o.x2, o.y2, o.mx, o.my, square)


@leaf
def whole_of(world: World, q: int) -> PlacedRegion:
    """The region as it was before it was shrunk."""
    o, around = world.queries[q], world.around[q]
    w, h = around.w, around.h
    if world.earth is not None:
        if o.form == CIRCLE:
            return _circle_on_earth(world, q, h)
        return _box_on_earth(box_around(o.mx, o.my, 2.0 * w, 2.0 * h))
    return (float(o.form), o.mx - w, o.my - h, o.mx + w, o.my + h, o.mx, o.my, h)


@leaf
def _circle_on_earth(world: World, q: int, square: float) -> PlacedRegion:
    x, y, z = vector_at(world.anchors, 2 * q + OF_REGION)
    return (float(CIRCLE), x, y, z, 0.0, 0.0, 0.0, square)


@leaf
def _box_on_earth(bounds: Bounds) -> PlacedRegion:
    west, south, east, north = bounds
    return (float(BOX), west, south, east, north, 0.0, 0.0, 0.0)


@leaf
def may_hold(world: World, region: PlacedRegion, point: Point) -> bool:
    """Whether a place may be in the region, by the box around it; on Earth, whether it is."""
    if world.earth is not None:
        return in_region(world, region, point)
    x, y, _ = point
    return (region[1] <= x) & (x <= region[3]) & (region[2] <= y) & (y <= region[4])


@leaf
def in_region(world: World, region: PlacedRegion, point: Point) -> bool:
    """Whether a region holds a point, by the fixed formulas."""
    x, y, vector = point
    if world.earth is not None:
        if region[0] == BOX:
            level = (region[2] <= y) & (y < region[4])
            return level and between_longitudes(x, region[1], region[3])
        return square_of_chord(vector, (region[1], region[2], region[3])) <= region[7]
    if region[0] == BOX:
        return (region[1] <= x) & (x < region[3]) & (region[2] <= y) & (y < region[4])
    dx, dy = x - region[5], y - region[6]
    return dx * dx + dy * dy <= region[7]


@leaf
def set_region(world: World, q: int, x: float, y: float) -> None:
    """The region around this place. What is kept besides is a box: it holds a circle, and the
    margin where there is one."""
    o = world.queries[q]
    w, h, m = o.w, o.h, 0.0
    if world.significant is not None:
        m = world.around[q].margin
    o.mx, o.my = x, y
    if world.earth is not None:
        put_vector(world.anchors, 2 * q + OF_REGION, x, y)
        o.x1, o.y1, o.x2, o.y2 = bounds_on_earth(o.form, x, y, w + m, h + m)
        return
    if o.form == CIRCLE:
        w = h = widened(w + m)
        m = 0.0
    o.x1, o.y1, o.x2, o.y2 = x - w - m, y - h - m, x + w + m, y + h + m


@leaf
def bounds_on_earth(form: int, x: float, y: float, w: float, h: float) -> Bounds:
    """Around a circle of radius w, or exactly those of a box of half width w and half height h."""
    if form == CIRCLE:
        return bounds_around(x, y, w)
    return box_around(x, y, 2.0 * w, 2.0 * h)


@leaf
def admits(rows: Lines, i: int, number: int) -> bool:
    """Whether the row of line i passes this filter."""
    if number >= 0:
        return (rows.bits[i, number >> 6] >> np.uint64(number & 63)) & np.uint64(1) != 0
    if number == NO_FILTER:
        return True
    first = number - INSIDE
    for t in range(rows.first[first], rows.first[first + 1]):
        value = rows.values[i, np.int64(rows.terms[t, 0])]
        if not (rows.terms[t, 1] <= value < rows.terms[t, 2]):
            return False
    return True


@leaf
def is_focal(focal: Small, q: int, s: int) -> bool:
    """Whether an object is a focal object of this query."""
    return (focal[q, 0] == s) | (focal[q, 1] == s)


@leaf
def distance_to(world: World, q: int, point: Point) -> float:
    """From the centre of query q as it is now; NaN if the query has none."""
    o = world.queries[q]
    if o.centred == NO_CENTRE:
        return np.nan
    if world.earth is not None:
        role = OF_REGION if o.centred == REGION_CENTRE else OF_NEAREST
        return metres_of(square_of_chord(point[2], vector_at(world.anchors, 2 * q + role)))
    if o.centred == REGION_CENTRE:
        dx, dy = point[0] - o.mx, point[1] - o.my
    else:
        dx, dy = point[0] - o.cx, point[1] - o.cy
    return math.sqrt(dx * dx + dy * dy)


@leaf
def note_change(
    world: World, changes: AnswerChanges, at: int, event: int, q: int, s: int, what: int
) -> int:
    """Write one change of query q by object s, which is where it is now; the next place."""
    changes.event[at], changes.query[at], changes.what[at] = event, q, np.int8(what)
    if s >= 0:
        changes.row[at] = world.objects.row[s]
        point = point_at(world, world.place[s, 0], world.place[s, 1], s)
        changes.distance[at] = distance_to(world, q, point)
    else:
        changes.row[at], changes.distance[at] = -1, np.nan
    return at + 1


# --- which objects are kept


@leaf
def refer(world: World, s: int, more: int) -> None:
    """So many more queries look at object s."""
    objects = world.objects
    objects.refs[s] += more
    if objects.refs[s] == 0:
        suspect(world, s)


@leaf
def suspect(world: World, s: int) -> None:
    """Perhaps nobody looks at object s any more: that is seen when the event is over."""
    objects = world.objects
    if not objects.dirty[s]:
        objects.dirty[s] = 1
        world.dirty[world.counter[1]] = s
        world.counter[1] += 1


@leaf
def wanted(world: World, q: int) -> int:
    """How many nearest neighbours are kept."""
    if world.significant is not None:
        return world.around[q].want
    return world.queries[q].k


@leaf
def is_followed(world: World, s: int) -> bool:
    """Whether a query moves with object s."""
    link = np.int64(world.objects.first[s])
    while link != NONE:
        if world.queries.state[link >> 1] != FREE:
            return True
        link = np.int64(world.then[link >> 1, link & 1])
    return False


# --- in which lists a query is


@leaf
def columns_across(world: World, c1: int, c2: int, columns: int) -> int:
    """How many columns there are from one to another: on Earth perhaps beyond the antimeridian."""
    n = c2 - c1 + 1
    if world.earth is not None and c1 > c2:
        n += columns
    return n


@leaf
def column_at(world: World, c: int, columns: int) -> int:
    """The column that comes as the c-th: on Earth the first one comes after the last one."""
    if world.earth is not None and c >= columns:
        return c - columns
    return c


@leaf
def _is_beside(world: World, c: int, c1: int, c2: int) -> bool:
    """Whether a column is not among those from c1 to c2."""
    if world.earth is not None and c1 > c2:
        return (c < c1) & (c > c2)
    return (c < c1) | (c > c2)


@leaf
def list_query(world: World, lists: CellLists, q: int, cells: Any) -> None:
    """Brings a query into the lists of these cells, or of larger ones around them."""
    span, top = world.span, len(world.levels) - 1
    c1, c2, r1, r2 = cells
    level, many = 0, columns_across(world, c1, c2, world.frame.columns) * (r2 - r1 + 1)
    # Those of the one cell at the top always find room.
    room = min(spare_blocks(lists) - len(span) // 16 - 2, MOST_CELLS)
    while many > room and level < top:
        level += 1
        is_across = c1 > c2
        c1, c2, r1, r2 = c1 >> WIDER, c2 >> WIDER, r1 >> WIDER, r2 >> WIDER
        columns = world.levels[level, 1]
        if world.earth is not None and is_across and c1 <= c2 + 1:
            c1, c2 = np.int64(0), columns - 1
        many = columns_across(world, c1, c2, columns) * (r2 - r1 + 1)
    o1, o2, p1, p2 = (
        np.int64(span[q, 0]),
        np.int64(span[q, 1]),
        np.int64(span[q, 2]),
        np.int64(span[q, 3]),
    )
    if span[q, 4] == level:
        if (o1 == c1) & (o2 == c2) & (p1 == r1) & (p2 == r2):
            return
    else:
        unlist_query(world, lists, q)
        o1, o2, p1, p2 = np.int64(0), np.int64(-1), np.int64(0), np.int64(-1)
        world.levels[level, 2] += 1
    first, columns = world.levels[level, 0], world.levels[level, 1]
    for r in range(p1, p2 + 1):
        for i in range(o1, o1 + columns_across(world, o1, o2, columns)):
            c = column_at(world, i, columns)
            if _is_beside(world, c, c1, c2) or r < r1 or r > r2:
                _out(lists, first + r * columns + c, q)
    for r in range(r1, r2 + 1):
        for i in range(c1, c1 + columns_across(world, c1, c2, columns)):
            c = column_at(world, i, columns)
            if _is_beside(world, c, o1, o2) or r < p1 or r > p2:
                put(lists, first + r * columns + c, q)
    span[q, 0], span[q, 1], span[q, 2], span[q, 3], span[q, 4] = c1, c2, r1, r2, level


@leaf
def unlist_query(world: World, lists: CellLists, q: int) -> None:
    """Take a query out of the cells that list it."""
    span, level = world.span, np.int64(world.span[q, 4])
    if level == UNLISTED:
        return
    first, columns = world.levels[level, 0], world.levels[level, 1]
    c1, c2 = np.int64(span[q, 0]), np.int64(span[q, 1])
    for r in range(span[q, 2], span[q, 3] + 1):
        for i in range(c1, c1 + columns_across(world, c1, c2, columns)):
            _out(lists, first + r * columns + column_at(world, i, columns), q)
    world.levels[level, 2] -= 1
    span[q, 4] = UNLISTED


@leaf
def list_at(world: World, level: int, cell: int) -> int:
    """The list of the queries of a level that may reach into this cell."""
    shift = WIDER * level
    row, column = cell // world.frame.columns, cell % world.frame.columns
    return world.levels[level, 0] + (row >> shift) * world.levels[level, 1] + (column >> shift)


@leaf
def _out(lists: CellLists, number: int, q: int) -> None:
    take(lists, number, find(lists, number, q))


@leaf
def cells_of_query(world: World, q: int) -> Any:
    """The cells that a query looks at, or would with its whole region."""
    o = world.queries[q]
    if world.earth is not None:
        bounds = o.x1, o.y1, o.x2, o.y2
        if world.significant is not None:
            around = world.around[q]
            if around.w > o.w:
                # Around one centre the wider of two regions holds the other.
                w, h = max(around.w, o.w + around.margin), max(around.h, o.h + around.margin)
                bounds = bounds_on_earth(o.form, o.mx, o.my, w, h)
        return cells_on_earth(world, bounds)
    if world.significant is not None:
        around = world.around[q]
        if around.w > o.w:
            w, h = around.w, around.h
            if o.form == CIRCLE:
                w = h = widened(w)
            return cells_between(
                world.frame,
                min(o.x1, o.mx - w),
                min(o.y1, o.my - h),
                max(o.x2, o.mx + w),
                max(o.y2, o.my + h),
            )
    return cells_between(world.frame, o.x1, o.y1, o.x2, o.y2)
