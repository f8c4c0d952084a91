"""The shared operator: the objects of a shard, its moving and nearest-neighbour queries, one grid.

The tables are columns that grow; the grid is chosen from the data, and chosen again when these have
become others. All of it follows from the latest rows and from which queries have started, so it is
never saved: an operator that is lost is built again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Bytes, Doubles, Integers, Mask, Small, Words
from watchline.kernels.buffers import filled_columns, longer_with
from watchline.kernels.earth import DEGREE_METRES, chords_of, sine_and_cosine, vectors_of
from watchline.kernels.slots import SlotPool
from watchline.proximity.bulk import (
    capacities_for,
    cells_holding,
    close_queries,
    copy_known,
    let_go_of,
    link_focals,
    list_open_queries,
    look_around_again,
    open_queries,
    queries_following,
    queries_looking,
    rank_among_known,
    unlink_focals,
)
from watchline.proximity.events import Events, run_events
from watchline.proximity.grid import (
    BLOCK,
    ITEMS,
    NONE,
    chosen_frame,
    empty_lists,
    fill_lists,
    levels_of,
    spare_blocks,
)
from watchline.proximity.labels import Labels
from watchline.proximity.query_columns import Moving
from watchline.proximity.tables import (
    AROUND,
    CHANGE_TYPES,
    CIRCLE,
    CLOSED,
    END,
    FREE,
    MOST_CELLS,
    OBJECT,
    OF_NEAREST,
    OPEN,
    QUERY,
    REGION_CENTRE,
    ROW,
    UNLISTED,
    AnswerChanges,
    Lines,
    World,
)

# The grid is chosen again when there are so many times more objects or queries, or fewer.
CHANGED = 2.0
# Room for as many entries of a query in lists, at first: a few times what most have.
ENTRIES = 24
# The part of the space that a query looks at, as long as nothing is known.
GUESS = 0.01
# Objects in a cell, as long as there are no queries by which to choose its size.
SHARED = 16


class Operator:
    """Objects have slots, queries have numbers; the caller keeps the slots of its objects.

    `partial`: other shards have objects too, so changes of nearest neighbours are such that they
    can be merged. `side`: of a cell, chosen from the data if None. `significant`: objects that no
    query looks at are let go. `earth`: places are longitudes and latitudes, lengths are metres.
    """

    def __init__(
        self,
        kind: pa.DataType,
        partial: bool = False,
        side: float | None = None,
        significant: bool = False,
        earth: bool = False,
    ):
        self._partial, self._side, self._significant = partial, side, significant
        self._earth = earth
        self._labels = Labels(kind)
        self._objects, self._queries = np.zeros(0, OBJECT), np.zeros(0, QUERY)
        self._around = np.zeros(0, AROUND)
        self._place = np.zeros((0, 2))
        # On Earth, of the lines of objects, and two of each query: see World.
        self._vectors, self._anchors = np.zeros((int(earth), 3)), np.zeros((0, 3))
        # One line more than there are objects.
        self._lines = Lines(
            np.zeros((1, 1), np.uint64), np.zeros((1, 0)), np.zeros((0, 3)), np.zeros(1, np.int64)
        )
        self._focal, self._then = (np.full((0, 2), NONE, np.int32) for _ in range(2))
        self._span = np.full((0, 5), UNLISTED, np.int32)
        self._pool = SlotPool()
        self._here = 0
        self._counter = np.zeros(3, np.int64)
        # Events of all calls before the last one.
        self._events_before = 0
        # Queries that wait for focal objects, and those that may do so no more: see `waiting`.
        self._waiting: dict[str, tuple[int, int]] = {}
        # Of which `waiting` may have changed since `changed_waits` was last called.
        self._stirred: set[str] = set()
        self._reported: list[Integers] = []
        self._free_numbers: list[int] = []
        self.numbers: dict[str, int] = {}
        self.ids: list[str] = []
        # How many of the queries are nearest-neighbour queries.
        self.ranked_count = 0
        self.kind = kind
        self._focals: dict[Any, int] = {}
        self._focal_names: dict[int, Any] = {}
        # The same as columns, made when they are asked for.
        self._focal_columns: tuple[pa.Array, Small] | None = None
        self._slots, self._squares = np.empty(0, np.int32), np.empty(0)
        self._arena = 0
        # Room in lists for a query, on average.
        self._entries = ENTRIES
        # Queries whose life ended in the events that ran last.
        self._ended: Integers = np.empty(0, np.int64)
        self._built = (0, 0)
        self._world: World
        self._lay_out()

    def __len__(self) -> int:
        return len(self.numbers)

    # --- objects

    def enrol(self, ids: pa.Array, mine: Mask) -> Small:
        """Slots for objects that have none; they are not here yet. Cost: these and all focal
        objects."""
        if not len(ids):
            return np.empty(0, np.int32)
        focals, of_focals = self._listed_focals()
        known = pc.index_in(ids, value_set=focals)
        places = pc.fill_null(known, -1).to_numpy().astype(np.int64)
        slots = np.empty(len(ids), np.int32)
        reserved = places >= 0
        slots[reserved] = of_focals[places[reserved]]
        slots[~reserved] = self._new_slots(int(np.count_nonzero(~reserved)))
        self._label(ids, slots)
        self._objects["mine"][slots] = mine
        self._objects["held"][slots] = 0
        return slots

    def _label(self, ids: pa.Array, slots: Small) -> None:
        if self._labels.give(ids, slots, self._objects["label"]):
            # What queries know is in the same order still, but they know how far by a label.
            look_around_again(self._world, self.ranked())

    def _new_slots(self, count: int) -> Small:
        slots = self._pool.take(count)
        if self._pool.room > len(self._objects):
            self._grow_objects(self._pool.room)
        return slots.astype(np.int32)

    def seat(
        self,
        slots: Small,
        places: Doubles,
        rows: Integers,
        bits: Words,
        values: Doubles,
        held: Small | int = 0,
    ) -> None:
        """Objects that are here already; queries come after them."""
        self._objects["here"][slots], self._objects["row"][slots] = 1, rows
        self._objects["held"][slots] = held
        self._place[slots] = places
        if self._earth:
            self._vectors[slots] = _vectors(places)
        self.set_lines(slots, bits, values)
        self._count_here()
        self._lay_out()

    def _count_here(self) -> None:
        """Count all objects that are here."""
        self._here = int(np.count_nonzero(self._objects["here"]))

    def discharge(self, slots: Small) -> None:
        """After events: objects that have timed out. A focal object keeps its slot."""
        objects = self._objects
        self._pool.give(slots[objects["first"][slots] == NONE])
        # Focal objects that are not here have labels too.
        if len(slots) and self._labels.are_many_for(self._here):
            living = (objects["here"] > 0) | (objects["first"] != NONE)
            self._labels.forget(objects["label"], living)
        if len(self._ended):
            self._unlink(self._ended)
            self._ended = self._ended[:0]

    def is_here(self, slots: Small) -> Mask:
        return self._objects["here"][slots] > 0

    def is_followed(self, slots: Small) -> Mask:
        """Whether queries move with these objects."""
        return self._objects["first"][slots] != NONE

    def looking(
        self, places: Doubles, bits: Words, values: Doubles, slots: Small | None, whole: bool
    ) -> AnswerChanges:
        """The queries that look at objects at these places (`event`), ADD where one is in the
        answer. Without slots the objects are not here, and this is as if they all were. `whole`: of
        regions as they were before they were shrunk."""
        lines = self._lines._replace(bits=bits, values=values)
        known = np.full(len(places), -1) if slots is None else slots.astype(np.int64)
        world = self._world
        if self._earth:
            world = world._replace(vectors=_vectors(places))

        def fill(room: list[Any], i: int, at: int) -> tuple[int, int]:
            changes = AnswerChanges(*room)
            return queries_looking(world, places, lines, known, whole, changes, i, at)

        changes = AnswerChanges(*filled_columns(fill, len(places), 1.0, CHANGE_TYPES))
        if slots is None:
            changes = self._among_all(changes, places)
        return changes

    def _among_all(self, changes: AnswerChanges, places: Doubles) -> AnswerChanges:
        """Of objects that are not here: nearest neighbours look at those that would be among the
        nearest if all of them were here."""
        ranked = self.is_ranked(changes.query)
        found = np.flatnonzero(ranked)
        squares = self._squares_between(
            places[changes.event[found]], self.centres(changes.query[found])[:, 1:]
        )
        order = np.lexsort((squares, changes.query[found]))
        found, squares = found[order], squares[order]
        looks, inside = rank_among_known(self._world, changes.query[found], squares)
        changes.what[found] = inside
        ranked[found[looks]] = False
        return changes.where(~ranked)

    def _squares_between(self, places: Doubles, centres: Doubles) -> Doubles:
        """As kernels compute them."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._earth:
                dx, dy, dz = (_vectors(places) - _vectors(centres)).T
                return np.asarray(dx * dx + dy * dy + dz * dz)
            dx, dy = (places - centres).T
            return np.asarray(dx * dx + dy * dy)

    @property
    def entry_bytes(self) -> int:
        """What an object takes here."""
        lines = self._lines
        width = lines.bits.itemsize * (lines.bits.shape[1] + lines.values.shape[1])
        place = (2 + 3 * self._earth) * self._place.itemsize
        return int(OBJECT.itemsize + place + 2 * 4 + width)

    @property
    def query_bytes(self) -> int:
        """What queries and the lists of cells take here: all but the objects themselves."""
        world = self._world
        lists = (array for of in (world.spots, world.ranges, world.nearest) for array in of)
        queries = (self._queries, self._around, self._focal, self._then, self._span, self._anchors)
        known = (self._slots, self._squares, world.levels, world.scratch, world.dirty)
        return sum(int(array.nbytes) for array in (*lists, *queries, *known))

    def refs(self, slots: Small) -> Small:
        """How many of these queries look at objects."""
        return self._objects["refs"][slots]

    def hold(self, slots: Small, held: Integers) -> None:
        """Between events: so many other queries hold these objects. Of all, those that nobody
        looks at any more are let go."""
        self._objects["held"][slots] = held
        let_go_of(self._world, np.flatnonzero(self._objects["here"]))
        self._count_here()

    def set_rows(self, slots: Small, rows: Integers) -> None:
        self._objects["row"][slots] = rows

    def set_terms(self, terms: Doubles, first: Integers) -> None:
        """Of the filters that are asked here."""
        self._lines = self._lines._replace(terms=terms, first=first)
        self._world = self._world._replace(lines=self._lines)

    def set_lines(self, slots: Small, bits: Words, values: Doubles) -> None:
        """What filters need of objects; there may be more than before: then these are all."""
        lines = self._lines
        if (bits.shape[1], values.shape[1]) != (lines.bits.shape[1], lines.values.shape[1]):
            n = len(lines.bits)
            self._lines = lines = lines._replace(
                bits=np.zeros((n, bits.shape[1]), np.uint64), values=np.zeros((n, values.shape[1]))
            )
            self._assemble()
        lines.bits[slots], lines.values[slots] = bits, values

    def selectivity(self, queries: Moving) -> float:
        """The part of the space that these queries look at, on average; of nearest neighbours as
        much as they know. A guess where there is nobody yet."""
        if not len(queries):
            return GUESS
        # As when the grid was chosen: this only says in which order conditions are asked.
        area, count = self._area, max(self._here, 1)
        if not 0 < area < np.inf:
            return GUESS
        w, h = queries.size.T
        with np.errstate(over="ignore", invalid="ignore"):
            regions = np.where(queries.form == CIRCLE, np.pi * h, 4 * w * h) / area
        known = capacities_for(np.minimum(queries.k, count)) / count
        return float(np.fmin(np.where(queries.k > 0, known, regions), 1.0).mean())

    def labels(self, slots: Small) -> Integers:
        return self._objects["label"][slots]

    # --- queries

    def focal_slots(self, ids: pa.Array, known: Small) -> Small:
        """The slot of each focal object: `known` where it is not -1, one reserved elsewhere."""
        slots = np.full(len(ids), -1, np.int32)
        new: dict[Any, int] = {}
        for i, name in enumerate(ids.to_pylist()):
            if name is None:
                continue
            if name not in self._focals:
                if known[i] >= 0:
                    self._focals[name] = int(known[i])
                else:
                    new[name] = self._focals[name] = int(self._new_slots(1)[0])
                self._focal_names[self._focals[name]] = name
            slots[i] = self._focals[name]
        if new:
            self._label(pa.array(list(new), self.kind), np.array(list(new.values()), np.int32))
        self._focal_columns = None
        return slots

    def _listed_focals(self) -> tuple[pa.Array, Small]:
        """All focal objects and their slots. A version only says that these have changed."""
        if self._focal_columns is None:
            ids = pa.array(list(self._focals), self.kind)
            self._focal_columns = ids, np.array(list(self._focals.values()), np.int32)
        return self._focal_columns

    def register(
        self,
        queries: Moving,
        focals: tuple[Small, Small],
        filters: Integers,
        waits: Bytes,
        since: Integers,
        caches: tuple[Doubles, Integers] | None = None,
        sides: Doubles | None = None,
    ) -> Integers:
        """The numbers of new queries; they have no answers yet (see `open`). `caches`: margins, and
        how many neighbours are wanted. `sides`: what is left of widths and heights."""
        n = len(queries)
        while len(self._free_numbers) < n:
            self._grow_queries()
        numbers = np.array([self._free_numbers.pop() for _ in range(n)], dtype=np.int64)
        for number, name in zip(numbers.tolist(), queries.ids.to_pylist(), strict=True):
            self.numbers[name], self.ids[number] = number, name
        self._reported.append(numbers)
        table = self._queries
        table["state"][numbers], table["form"][numbers] = CLOSED, queries.form
        around = self._around
        around["w"][numbers], around["h"][numbers] = w, h = queries.size.T
        if sides is not None and (sides < 1).any():
            w = w * sides
            with np.errstate(over="ignore"):
                reach = chords_of(w) if self._earth else w
                h = np.where(queries.form == CIRCLE, reach * reach, h * sides)
        table["w"][numbers], table["h"][numbers] = w, h
        table["cx"][numbers], table["cy"][numbers] = queries.centre.T
        if self._earth:
            self._anchors[2 * numbers + OF_NEAREST] = _vectors(queries.centre)
        table["k"][numbers], table["count"][numbers] = queries.k, 0
        table["centred"][numbers] = queries.centred
        self.ranked_count += int(np.count_nonzero(queries.k))
        around["margin"][numbers] = 0.0 if caches is None else caches[0]
        around["want"][numbers] = queries.k if caches is None else caches[1]
        table["filter"][numbers] = filters
        table["waits"][numbers], table["since"][numbers] = waits, since
        table["stamp"][numbers], table["fresh"][numbers] = -1, -1
        self._focal[numbers] = np.stack(focals, axis=1)
        self._span[numbers] = UNLISTED
        link_focals(self._world, numbers)
        self._give_room(numbers)
        return numbers

    def open(self, numbers: Integers) -> AnswerChanges:
        """Answers of those that can have one now; `event` is the place in `numbers`."""
        if self._has_changed(self._here):
            self._lay_out()
        return self._changes_of(open_queries, numbers)

    def drop(self, names: Iterable[str]) -> AnswerChanges:
        """Queries that are no more, and what was in their answers."""
        known = [name for name in names if name in self.numbers]
        gone = [self.numbers.pop(name) for name in known]
        for name in known:
            self._waiting.pop(name, None)
        self._stirred.update(known)
        numbers = np.array(gone, dtype=np.int64)
        self.ranked_count -= int(np.count_nonzero(self.is_ranked(numbers)))
        changes = self._changes_of(close_queries, numbers)
        self._unlink(numbers)
        return changes

    def _unlink(self, numbers: Integers) -> None:
        focals = np.unique(self._focal[numbers])
        unlink_focals(self._world, numbers)
        self._free_numbers += numbers.tolist()
        focals = focals[focals != NONE]
        idle = focals[self._objects["first"][focals] == NONE]
        for slot in idle.tolist():
            del self._focals[self._focal_names.pop(slot)]
        if len(idle):
            self._pool.give(idle[self._objects["here"][idle] == 0])
            self._focal_columns = None

    def waiting(self) -> dict[str, tuple[int, int]]:
        """The queries that have not started: which focal objects they wait for, and since when. The
        caller takes this when what it told the operator is final: queries that events started since
        then are left out from now on. The cost follows what changed since the last call."""
        if self._reported:
            numbers = np.unique(np.concatenate(self._reported))
            found, self._reported = self._queries[numbers], []
            waits = np.where(found["state"] == FREE, 0, found["waits"])
            rows = zip(numbers.tolist(), waits.tolist(), found["since"].tolist(), strict=True)
            for q, roles, since in rows:
                name = self.ids[q]
                # A query of another number may have come in its place.
                if self.numbers.get(name, q) != q:
                    continue
                self._stirred.add(name)
                if roles:
                    self._waiting[name] = (roles, since)
                else:
                    self._waiting.pop(name, None)
        return self._waiting

    def changed_waits(self) -> dict[str, tuple[int, int] | None]:
        """What `waiting` says now of the queries of which it may say something else since this was
        last called; None of those that do not wait."""
        now = self.waiting()
        names, self._stirred = self._stirred, set()
        return {name: now.get(name) for name in names}

    # --- events

    def run(self, events: Events) -> AnswerChanges:
        """What happens; queries that ended are gone then."""
        short = self._is_short()
        if short:
            self._entries *= 2
        seats = np.unique(events.who[events.kind != END])
        arrive = np.unique(events.who[events.kind == ROW])
        new = int(np.count_nonzero(self._objects["here"][arrive] == 0))
        if short or self._has_changed(self._here + new):
            self._lay_out(*self._expected(events))
        self._note_waiting(seats)
        before = np.count_nonzero(self._objects["here"][seats])
        self._events_before = int(self._counter[2])

        def fill(room: list[Any], event: int, at: int) -> tuple[int, int]:
            changes = AnswerChanges(*room)
            return run_events(self._world, events, self._partial, changes, event, at)

        changes = AnswerChanges(*filled_columns(fill, len(events.kind), 1.0, CHANGE_TYPES))
        self._counter[2] += len(events.kind)
        if self._significant:
            # Objects without events may have been let go.
            self._count_here()
        else:
            self._here += int(np.count_nonzero(self._objects["here"][seats]) - before)
        self._ended = events.who[events.kind == END]
        self._reported.append(self._ended)
        self.ranked_count -= int(np.count_nonzero(self.is_ranked(self._ended)))
        for q in self._ended.tolist():
            self.numbers.pop(self.ids[q])
        return changes

    def _note_waiting(self, seats: Integers) -> None:
        """Queries that wait for some of these objects, of which something is going to happen."""
        followers = queries_following(self._world, seats)
        waits = followers[self._queries["waits"][followers] > 0]
        if len(waits):
            self._reported.append(waits)

    def may_move(self, events: Events) -> Integers:
        """The nearest-neighbour queries, in order, whose centre may be another one after these
        events: those that move with an object of which something happens, and those that end."""
        ends = events.kind == END
        moved = queries_following(self._world, np.unique(events.who[~ends]))
        numbers = np.unique(np.concatenate([moved, events.who[ends]]))
        return numbers[self.is_ranked(numbers)]

    def is_fresh(self, changes: AnswerChanges) -> Mask:
        """Whether each change is of a query that started in that event."""
        return self._queries["fresh"][changes.query] == self._events_before + changes.event

    def filters_of(self, numbers: Integers) -> Integers:
        return self._queries["filter"][numbers].astype(np.int64)

    def is_ranked(self, numbers: Integers) -> Mask:
        """Whether these are nearest-neighbour queries."""
        return self._queries["k"][numbers] > 0

    def ranked(self) -> Integers:
        """The nearest-neighbour queries."""
        return np.flatnonzero((self._queries["state"] != FREE) & (self._queries["k"] > 0))

    def centres(self, numbers: Integers) -> Doubles:
        """k and the centre of these queries, NaN where it moves and is nowhere now."""
        found = self._queries[numbers]
        closed = (found["state"] != OPEN) & (self._focal[numbers, OF_NEAREST] != NONE)
        columns = [found["k"], *(np.where(closed, np.nan, found[c]) for c in ("cx", "cy"))]
        return np.stack(columns, axis=1).astype(np.float64)

    def region_centres(self, numbers: Integers) -> Doubles:
        """Where the circles of these queries are; NaN for queries that have none, or none now."""
        found = self._queries[numbers]
        there = (found["state"] == OPEN) & (found["centred"] == REGION_CENTRE)
        return np.stack([np.where(there, found[c], np.nan) for c in ("mx", "my")], axis=1)

    def nearest(self, numbers: Integers) -> tuple[Integers, Integers]:
        """Of each that is among the nearest of these queries: its place in `numbers`, its row."""
        found = self._queries[numbers]
        counts = np.minimum(found["count"], found["k"])
        owner = np.repeat(np.arange(len(numbers)), counts)
        first = np.repeat(found["start"] - (np.cumsum(counts) - counts), counts)
        slots = self._slots[first + np.arange(len(owner))]
        return owner, self._objects["row"][slots]

    # --- room

    def _changes_of(self, kernel: Any, numbers: Integers) -> AnswerChanges:
        def fill(room: list[Any], i: int, at: int) -> tuple[int, int]:
            changes = AnswerChanges(*room)
            return kernel(self._world, numbers, self._partial, changes, i, at)

        return AnswerChanges(*filled_columns(fill, len(numbers), 1.0, CHANGE_TYPES))

    def _grow_objects(self, size: int) -> None:
        old = len(self._objects)
        self._objects = longer_with(self._objects, size, 0)
        self._objects["first"][old:] = NONE
        self._place = longer_with(self._place, size, 0)
        if self._earth:
            self._vectors = longer_with(self._vectors, size + 1, 0)
        self._lines = self._lines._replace(
            bits=longer_with(self._lines.bits, size + 1, 0),
            values=longer_with(self._lines.values, size + 1, 0),
        )
        self._assemble()
        self._give_room(np.flatnonzero(self._queries["state"] != FREE))
        self._lay_out()

    def _grow_queries(self) -> None:
        old = len(self._queries)
        size = max(64, 2 * old)
        self._queries, self._around = (
            longer_with(x, size, 0) for x in (self._queries, self._around)
        )
        self._focal, self._then, self._span = (
            longer_with(column, size, NONE) for column in (self._focal, self._then, self._span)
        )
        if self._earth:
            self._anchors = longer_with(self._anchors, 2 * size, 0)
        self._free_numbers += range(size - 1, old - 1, -1)
        self.ids += [""] * (size - old)
        self._lay_out()

    def _give_room(self, numbers: Integers) -> None:
        """Room for what nearest-neighbour queries know: never for more than all objects."""
        table = self._queries
        numbers = numbers[table["k"][numbers] > 0]
        rooms = np.minimum(capacities_for(self._around["want"][numbers]), len(self._objects) + 2)
        short = rooms > table["room"][numbers]
        numbers, rooms = numbers[short], rooms[short]
        if not len(numbers):
            return
        if self._arena + int(rooms.sum()) > len(self._slots):
            # Those that have room move together, and all have as much again behind them.
            others = np.setdiff1d(np.flatnonzero(table["room"] > 0), numbers)
            numbers = np.concatenate([others, numbers])
            rooms = np.concatenate([table["room"][others], rooms])
            self._arena, size = 0, 2 * int(rooms.sum())
            slots, squares = np.empty(size, np.int32), np.empty(size)
        else:
            slots, squares = self._slots, self._squares
        starts = self._arena + np.cumsum(rooms) - rooms
        copy_known(self._world, numbers, starts, slots, squares)
        table["start"][numbers], table["room"][numbers] = starts, rooms
        self._slots, self._squares, self._arena = slots, squares, int(starts[-1] + rooms[-1])
        self._world = self._world._replace(slots=slots, squares=squares)

    # --- the grid

    def _has_changed(self, here: int) -> bool:
        """Whether there are far more or fewer queries than when the grid was chosen, or objects."""
        return any(
            a > CHANGED * b or CHANGED * a < b
            for a, b in zip(self._sizes(here), self._built, strict=True)
        )

    def _sizes(self, here: int) -> tuple[int, int]:
        """So many objects, and the queries; a few more or less never matter."""
        return here + 64, len(self.numbers) + 64

    def _expected(self, events: Events) -> tuple[Mask, Doubles]:
        """Which objects are here or will be in these events, and where: else the first rows of all
        would meet in one cell."""
        here, place = self._objects["here"] > 0, self._place
        rows = events.kind == ROW
        who = events.who[rows]
        if not here[who].all():
            place = place.copy()
            here[who], place[who] = True, events.place[rows]
        return here, place

    def _is_short(self) -> bool:
        """Whether queries may be listed in larger cells for want of blocks."""
        most = len(self._queries) // ITEMS
        return self._entries < MOST_CELLS and any(
            spare_blocks(x) < len(x.blocks) // BLOCK // 8 + most
            for x in (self._ranges, self._nearest)
        )

    def _lay_out(self, here: Mask | None = None, place: Doubles | None = None) -> None:
        """Choose the grid for objects as they are, or as is expected, and list everything in it."""
        objects = self._objects
        present = np.flatnonzero((objects["here"] > 0) & (objects["mine"] > 0)).astype(np.int32)
        if here is None or place is None:
            here, place = objects["here"] > 0, self._place
        points = place[here & (objects["mine"] > 0)]
        self._built = self._sizes(int(np.count_nonzero(here)))
        self._is_turned = self._earth and _are_across(points[:, 0])
        if self._is_turned:
            points = np.stack([_turned(points[:, 0]), points[:, 1]], axis=1)
        scales = self._scales(points)
        self._area = area = _area(points) * scales[0] * scales[1]
        # A circle of this radius has one object in it, on average.
        self._guess = float(np.sqrt(area / (np.pi * max(len(points), 1))))
        side = self._side or self._chosen_side(area, len(points))
        self._frame = chosen_frame(points, (side / scales[0], side / scales[1]))
        cells = self._frame.columns * self._frame.rows
        self._spots = empty_lists(cells, cells + len(objects) // ITEMS + 1)
        self._levels = levels_of(self._frame)
        lists = int(self._levels[-1, 0]) + 1
        self._ranges, self._nearest = (
            empty_lists(lists, self._blocks(chosen, lists))
            for chosen in (self._queries["k"] == 0, self._queries["k"] > 0)
        )
        self._assemble()
        cell = cells_holding(self._world, self._place[present])
        objects["cell"][present] = cell
        fill_lists(self._spots, cell, present, objects["spot"])
        list_open_queries(self._world)

    def _scales(self, points: Doubles) -> tuple[float, float]:
        """Units of length for each unit of the coordinates. On Earth a degree of longitude is as
        long as in the middle of the objects, so that cells there are as wide as they are high."""
        if not self._earth:
            return 1.0, 1.0
        middle = float(np.median(points[:, 1])) if len(points) else 0.0
        cosine = sine_and_cosine(middle)[1] if np.isfinite(middle) else 1.0
        # Next to a pole a cell has many degrees of longitude, but is no half of the Earth.
        return DEGREE_METRES * max(cosine, 0.01), DEGREE_METRES

    def _chosen_side(self, area: float, count: int) -> float:
        """Half of what a query is wide, but not so that most cells are empty. Without queries cells
        have a few objects each, so that the first queries do not look at all objects."""
        table = self._queries
        living = table[table["state"] != FREE]
        ranges, ranked = living[living["k"] == 0], living[living["k"] > 0]
        with np.errstate(over="ignore"):
            boxes = np.sqrt(ranges["w"]) * np.sqrt(ranges["h"])
        found = np.concatenate(
            [
                np.where(ranges["form"] == CIRCLE, ranges["w"], boxes),
                self._guess * np.sqrt(np.minimum(ranked["k"], max(count, 1))),
            ]
        )
        least = float(np.sqrt(area / max(count, 1)))
        typical = float(np.median(found)) if len(found) else least * np.sqrt(SHARED)
        return max(typical, least)

    def _blocks(self, chosen: Mask, lists: int) -> int:
        """Blocks for these queries: some in each list, and as many entries as they are given."""
        count = int(np.count_nonzero(chosen & (self._queries["state"] != FREE)))
        return 2 * lists + 64 + (self._entries * count + 2 * len(self._queries)) // ITEMS

    def _assemble(self) -> None:
        most = max(len(self._objects), len(self._queries)) + 1
        self._objects["mark"] = self._objects["dirty"] = 0
        self._counter[:2] = 0
        self._world = World(
            self._frame,
            self._objects,
            self._place,
            self._lines,
            self._queries,
            self._focal,
            self._then,
            self._span,
            self._spots,
            self._ranges,
            self._nearest,
            self._levels,
            self._slots,
            self._squares,
            np.empty(most, np.int32),
            self._counter,
            np.empty(len(self._objects) + 1, np.int32),
            self._around,
            self._significant or None,
            self._guess,
            self._earth or None,
            self._vectors,
            self._anchors,
            self._is_turned,
        )


def _vectors(places: Doubles) -> Doubles:
    return vectors_of(np.ascontiguousarray(places[:, 0]), np.ascontiguousarray(places[:, 1]))


def _are_across(longitudes: Doubles) -> bool:
    """Whether most of these are nearer together across the antimeridian."""
    if not np.isfinite(longitudes).all() or not len(longitudes):
        return False
    straight, across = (
        float(np.diff(np.quantile(x, [0.005, 0.995]))[0]) for x in (longitudes, _turned(longitudes))
    )
    return across < straight / 2


def _turned(longitudes: Doubles) -> Doubles:
    return np.where(longitudes < 0, longitudes + 180.0, longitudes - 180.0)


def _area(points: Doubles) -> float:
    """Of the space that most of the points are in."""
    if not len(points):
        return 0.0
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    with np.errstate(over="ignore"):
        sides = high - low
        return float(sides[0] * sides[1]) if np.isfinite(sides).all() else np.inf
