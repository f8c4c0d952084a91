"""Between the tracker and the shared operator: rows and ids there, slots and numbers here.

The operator knows places, the tracker knows rows. A batch becomes events in their order, a version
becomes registrations and drops, and what the operator tells becomes rows and query ids again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.evaluate import Columns
from watchline.model import Stream
from watchline.moving.events import Events
from watchline.moving.grid import Doubles
from watchline.moving.merge import Timeline
from watchline.moving.operator import GUESS, Operator
from watchline.moving.queries import Moving, object_type
from watchline.moving.tables import ADD, CIRCLE, END, FIRST, REMOVE, Integers, Small, Told
from watchline.tracking.filters import Asked, Filters, lines
from watchline.tracking.shrinking import WHOLE, Sizes
from watchline.tracking.story import BEGIN, Happenings, Story

SECOND = 1_000_000
# Queries that wait: for which roles, and since when a report counts.
Waiting = Mapping[str, tuple[int, int]]


class Pairs(NamedTuple):
    """Object rows and the ids of queries."""

    rows: Integers
    ids: pa.Array


class Happened(NamedTuple):
    """What a batch did: event, query id, sign, the object's row, and whether the query started."""

    event: Integers
    ids: pa.Array
    sign: npt.NDArray[np.int8]
    row: Integers
    fresh: npt.NDArray[np.bool_]


class _Crossing(NamedTuple):
    """In a step: its event, the rows; ids that were not ranked and have a line, or have one now."""

    event: int
    rows: pa.Table
    known: set[str]
    began: set[str]


class Mover:
    """The moving and nearest-neighbour queries of a tracker, and its objects as these see them.

    `slots` are of the tracker's objects, `other_slots` of focal objects that other shards own.
    """

    def __init__(self, stream: Stream, parts: int, sizes: Sizes = WHOLE):
        self._stream, self._parts, self._sizes = stream, parts, sizes
        significant = stream.retention is not None
        self._operator = Operator(object_type(stream), parts > 1, significant=significant)
        self._filters = Filters(stream)
        self.slots: Small = np.empty(0, np.int32)
        self.other_slots: Small = np.empty(0, np.int32)
        self._names: pa.Array | None = None
        self._focals: dict[str, tuple[Any, Any]] = {}
        # Where there are several parts: what nearest neighbours did.
        self._story: Story | None = None

    @staticmethod
    def over(
        stream: Stream,
        parts: int,
        queries: Iterable[Moving],
        waiting: Waiting,
        objects: pa.Table,
        others: pa.Table,
        held: Integers,
        sizes: Sizes,
    ) -> Mover:
        """With these queries, of which some wait, and these objects, each held by so many queries
        elsewhere."""
        mover = Mover(stream, parts, sizes)
        listed = list(queries)
        numbers = [mover._filters.acquire(moving, GUESS)[0] for moving in listed]
        own, foreign = Columns(objects, stream), Columns(others, stream)
        operator = mover._operator
        mover.slots = operator.enrol(_ids(objects, stream), np.ones(len(own), np.bool_))
        mover.other_slots = operator.enrol(_ids(others, stream), np.zeros(len(foreign), np.bool_))
        operator.seat(
            np.concatenate([mover.slots, mover.other_slots]),
            np.concatenate([places(own, stream), places(foreign, stream)]),
            np.arange(len(own) + len(foreign)),
            *lines([mover._filters.ask(own), mover._filters.ask(foreign)]),
            held=np.append(held, np.zeros(len(foreign), np.int64)),
        )
        operator.set_terms(*mover._filters.terms())
        for moving, found in zip(listed, numbers, strict=True):
            pairs = [waiting.get(name, (0, FIRST)) for name in moving.ids.to_pylist()]
            waits, since = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            # There may be nobody to wait for.
            for role, ids in enumerate(moving.focals):
                waits = np.where(_mask(ids.is_null()), waits & ~(1 << role), waits)
            mover._enter(moving, found, waits, since, objects, others)
        return mover

    def __len__(self) -> int:
        return len(self._operator)

    def __contains__(self, name: str) -> bool:
        return name in self._operator.numbers

    def names(self) -> Iterable[str]:
        """The ids of all queries."""
        return self._operator.numbers

    def waiting(self) -> dict[str, tuple[int, int]]:
        return self._operator.waiting()

    def _enter(
        self,
        moving: Moving,
        filters: Integers,
        waits: Integers,
        since: Integers,
        objects: pa.Table,
        others: pa.Table,
    ) -> Told:
        """Register queries whose filters are known; what is in their answers."""
        known = pa.concat_arrays([_ids(objects, self._stream), _ids(others, self._stream)])
        slots = np.concatenate([self.slots, self.other_slots, [-1]]).astype(np.int32)
        focals = []
        for ids in moving.focals:
            found = pc.fill_null(pc.index_in(ids, value_set=known), -1).to_numpy()
            found = np.where(_mask(ids.is_null()), -1, found)
            focals.append(self._operator.focal_slots(ids, slots[found.astype(np.int64)]))
        named = zip(*(ids.to_pylist() for ids in moving.focals), strict=True)
        self._focals.update(zip(moving.ids.to_pylist(), named, strict=True))
        self._names = None
        numbers = self._operator.register(
            moving,
            (focals[0], focals[1]),
            filters,
            waits.astype(np.uint8),
            since,
            caches_of(moving, self._stream, self._sizes),
            # Of nearest neighbours only the cache is less.
            np.where(moving.k > 0, 1.0, np.sqrt(self._sizes.areas(moving.ids, moving.accuracy))),
        )
        return self._operator.open(numbers)

    # --- versions

    def step(
        self,
        version: int,
        dropped: Iterable[str],
        came: Moving,
        newest: int | None,
        objects: pa.Table,
        others: pa.Table,
    ) -> tuple[Pairs, Pairs]:
        """Drop these queries and register those: what was in answers, and what is now."""
        rows = pa.concat_tables([objects, others])
        story = self._begun(rows)
        event = story.step(version, newest) if story else 0
        if story:
            ranked = set(came.ids.filter(pa.array(came.k > 0)).to_pylist())
            plain = [name for name in dropped if not self._is_ranked(name)]
            self._crossing = _Crossing(event, rows, *story.leave_plain(plain, ranked))
        gone = [name for name in dropped if name in self]
        # Focal objects that a query has heard of; one that replaces it has heard of them too.
        waiting = self.waiting()
        heard = {
            name: {
                focal
                for role, focal in enumerate(self._focals[name])
                if not waiting.get(name, (0, 0))[0] >> role & 1
            }
            for name in gone
        }
        old = self._pairs(self._leave(gone), event, rows)
        filters, new = self._filters.acquire(came, self._operator.selectivity(came))
        if new:
            asked = self._filters.ask(Columns(rows, self._stream))
            self._operator.set_lines(np.concatenate([self.slots, self.other_slots]), *asked)
            self._operator.set_terms(*self._filters.terms())
        waits = np.zeros(len(came), np.int64)
        for role, ids in enumerate(came.focals):
            for i, (name, focal) in enumerate(
                zip(came.ids.to_pylist(), ids.to_pylist(), strict=True)
            ):
                if focal is not None and focal not in heard.get(name, ()):
                    waits[i] |= 1 << role
        since = np.full(len(came), FIRST if newest is None else newest)
        told = self._enter(came, filters, waits, since, objects, others)
        if story:
            nearest = came.take(np.flatnonzero(came.k > 0))
            centres = np.concatenate([nearest.k[:, np.newaxis], nearest.centre], axis=1)
            story.register(nearest.ids.to_pylist(), centres)
        return old, self._pairs(told, event, rows)

    def _is_ranked(self, name: str) -> bool:
        number = self._operator.numbers.get(name)
        return number is not None and bool(self._operator.is_ranked(np.array([number]))[0])

    def divert(
        self, old: Sequence[Pairs], new: Sequence[Pairs], came: pa.Array
    ) -> tuple[list[Pairs], list[Pairs], int]:
        """What is left of the last step's answers where some are told in the story: those of
        queries that nearest neighbours come or came in the place of. And how many came more than
        went."""
        story = self._story
        if story is None:
            return list(old), list(new), 0
        event, rows, known, began = self._crossing
        ranked = [name for name in came.to_pylist() if not self._is_ranked(name)]
        entered = story.enter_plain(set(ranked))
        left, more = [], 0
        for sides, ids, ops in (
            (old, known, [(event, REMOVE)]),
            (old, began, [(BEGIN, ADD), (event, REMOVE)]),
            (new, entered, [(event, ADD)]),
        ):
            wanted = pa.array(sorted(ids), pa.string())
            for pairs in sides if ids else ():
                chosen = np.flatnonzero(_mask(pc.is_in(pairs.ids, value_set=wanted)))
                mine = story.lines(pairs.ids.take(pa.array(chosen)).to_pylist())
                for at, op in ops:
                    n = len(chosen)
                    story.record(np.full(n, at), mine, np.full(n, op), pairs.rows[chosen], rows)
                more += n * int(ops[-1][1])
            left.append(wanted)
        gone = pa.concat_arrays(left[:2])
        return _without(old, gone), _without(new, left[2]), more

    def _leave(self, names: list[str]) -> Told:
        numbers = np.array([self._operator.numbers[name] for name in names], dtype=np.int64)
        self._filters.release(self._operator.filters_of(numbers))
        told = self._operator.drop(names)
        for name in names:
            del self._focals[name]
        return told

    def _pairs(self, told: Told, event: int, rows: pa.Table) -> Pairs:
        """Of what is told in one event: for the story if others have a part in it, or for all."""
        told = self._recorded(told._replace(event=np.full(len(told.event), event)), rows)
        return Pairs(told.row, self._ids(told.query))

    def _begun(self, rows: pa.Table) -> Story | None:
        """The story, which begins with how things are now if it was just told."""
        if self._parts > 1 and self._story is None:
            self._story = Story(self._operator, rows)
        return self._story

    def _recorded(self, told: Told, rows: pa.Table) -> Told:
        """What is left when nearest neighbours are in the story; without one, all of it."""
        if self._story is None:
            return told
        ranked = self._operator.is_ranked(told.query)
        self._record(told.where(ranked), rows)
        return told.where(~ranked)

    def _record(self, told: Told, rows: pa.Table) -> None:
        """What is told of nearest neighbours, into the story."""
        assert self._story is not None
        numbers, places = np.unique(told.query, return_inverse=True)
        found = self._story.lines(self._ids(numbers).to_pylist())
        self._story.record(told.event, found[places], told.what, told.row, rows)

    def timeline(self) -> Timeline | None:
        """What nearest neighbours did since this was last asked, if there are several parts."""
        story, self._story = self._story, None
        return story.timeline() if story else None

    def _ids(self, numbers: Integers) -> pa.Array:
        if self._names is None or len(self._names) != len(self._operator.ids):
            self._names = pa.array(self._operator.ids, pa.string())
        return self._names.take(pa.array(numbers))

    # --- batches

    def enrol(self, ids: pa.Array, mine: bool) -> Small:
        return self._operator.enrol(ids, np.full(len(ids), mine))

    def labels(self, slots: Small) -> Integers:
        return self._operator.labels(slots)

    def ask(self, columns: Columns) -> Asked:
        """What filters need of rows."""
        return self._filters.ask(columns)

    def run(self, events: Events, rows: pa.Table, before: int | None) -> Happened:
        """What these events do; `before` is the newest time of the stream before them."""
        ended = events.who[events.kind == END]
        names = [self._operator.ids[q] for q in ended.tolist()]
        released = self._operator.filters_of(ended)
        story = self._begun(rows)
        told = self._operator.run(events)
        fresh = (told.what > 0) & self._operator.is_fresh(told)
        if story:
            ranked = self._operator.is_ranked(told.query)
            meant, places = np.unique(told.event[ranked], return_inverse=True)
            first = story.happen(self._happenings(events, meant, rows, before))
            self._record(told.where(ranked)._replace(event=first + places), rows)
            told, fresh = told.where(~ranked), fresh[~ranked]
        for name in names:
            del self._focals[name]
        self._filters.release(released)
        return Happened(told.event, self._ids(told.query), told.what, told.row, fresh)

    def _happenings(
        self, events: Events, meant: Integers, rows: pa.Table, before: int | None
    ) -> Happenings:
        """Those events that are meant, as all parts know them."""
        kind, time, who = events.kind.astype(np.int64), events.time, events.who
        same = np.zeros(len(kind), np.bool_)
        same[1:] = (kind[1:] == kind[:-1]) & (time[1:] == time[:-1]) & (who[1:] == who[:-1])
        # Rows of one object at one moment are counted.
        firsts = np.maximum.accumulate(np.where(same, 0, np.arange(len(kind))))
        place = (np.arange(len(kind)) - firsts)[meant]
        row, time, kind = events.row[meant], time[meant], kind[meant]
        told = time if before is None else np.maximum(time, before)
        ids = _ids(rows, self._stream).take(pa.array(row, mask=row < 0))
        return Happenings(time, kind, ids, np.where(kind == END, 0, place), told)

    def place_others(self, before: int) -> None:
        """The rows of the others' objects come after so many."""
        self._operator.set_rows(self.other_slots, before + np.arange(len(self.other_slots)))

    def number(self, name: str) -> int:
        return self._operator.numbers[name]

    def hold(self, held: Integers) -> npt.NDArray[np.bool_]:
        """After a version: so many queries elsewhere hold each object. Which objects are kept."""
        self._operator.hold(self.slots, held)
        kept = self._operator.is_here(self.slots)
        self.settle(self.slots[kept], self.slots[~kept], self.other_slots)
        return kept

    def looking(
        self, columns: Columns, slots: Small | None, whole: bool = False
    ) -> tuple[Integers, pa.Array, npt.NDArray[np.bool_]]:
        """Rows, the queries that look at each, and whether it is in the answer; or in that of a
        query with its whole region. Without slots, of objects that are not here: as if they
        were."""
        asked = self._filters.ask(columns)
        found = self._operator.looking(places(columns, self._stream), *asked, slots, whole)
        return found[0], self._ids(found[1]), found[2]

    def take_story(self, other: Mover) -> None:
        """Go on with what another has told."""
        self._story = other._story

    def ranked(self) -> dict[str, int]:
        """The nearest-neighbour queries, and how many neighbours they ask for."""
        numbers = self._operator.ranked()
        counts = self._operator.centres(numbers)[:, 0].astype(np.int64).tolist()
        return {self._operator.ids[q]: k for q, k in zip(numbers.tolist(), counts, strict=True)}

    def refs(self) -> Integers:
        """How many of these queries look at each object."""
        return self._operator.refs(self.slots).astype(np.int64)

    def is_followed(self) -> npt.NDArray[np.bool_]:
        return self._operator.is_followed(self.slots)

    @property
    def entry_bytes(self) -> int:
        return self._operator.entry_bytes

    @property
    def query_bytes(self) -> int:
        return self._operator.query_bytes

    def is_here(self, slots: Small) -> npt.NDArray[np.bool_]:
        return self._operator.is_here(slots)

    def settle(self, kept: Small, gone: Small, others: Small) -> None:
        """After a batch: the slots of the objects that are left, and of those that are not."""
        self.slots, self.other_slots = kept, others
        self._operator.discharge(gone)
        self._operator.set_rows(np.concatenate([kept, others]), np.arange(len(kept) + len(others)))


def caches_of(queries: Moving, stream: Stream, sizes: Sizes) -> tuple[Doubles, Integers] | None:
    """How far around each query objects are kept, and how many neighbours; None if all are.

    Before an object reports again, both it and the query may have gone as far as it can in a
    time-out: so a region that moves has twice that around it. Where that is not known, it is a part
    of the region itself.
    """
    kept = stream.retention
    if kept is None:
        return None
    part = (1.0 if kept.cache is None else kept.cache) * sizes.caches(queries.ids)
    if stream.max_speed is not None and stream.timeout is not None:
        travel = np.full(len(queries), 2 * stream.max_speed * stream.timeout / SECOND)
    else:
        circle = queries.form == CIRCLE
        travel = np.where(circle, queries.size[:, 0], queries.size.max(axis=1, initial=0.0))
    margin = np.where(queries.k > 0, 0.0, part * travel)
    most = np.iinfo(np.int32).max
    want = np.minimum(queries.k + np.ceil(part * queries.k).astype(np.int64), most)
    return margin, want


def places(columns: Columns, stream: Stream) -> npt.NDArray[np.float64]:
    """Where objects are; NaN where it is not known."""
    assert stream.point is not None
    found = [
        np.asarray(columns.values(stream.attribute(name)), np.float64) for name in stream.point
    ]
    points = np.stack(found, axis=1)
    points[~np.isfinite(points).all(axis=1)] = np.nan
    return points


def _ids(table: pa.Table, stream: Stream) -> pa.Array:
    return table[stream.object].combine_chunks()


def _without(sides: Sequence[Pairs], ids: pa.Array) -> list[Pairs]:
    """What is not of these queries."""
    if not len(ids):
        return list(sides)
    kept = [np.flatnonzero(~_mask(pc.is_in(p.ids, value_set=ids))) for p in sides]
    return [Pairs(p.rows[k], p.ids.take(pa.array(k))) for p, k in zip(sides, kept, strict=True)]


def _mask(array: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.bool_)
