"""The operator of queries that move or rank, for callers that know rows and query ids.

The operator itself has slots of objects, points and numbers of queries. Here a version becomes
registrations and drops, and what the operator reports becomes rows and query ids again. Where there
are several shards, what the k nearest do goes to a timeline instead, for the merge of all shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Doubles, Integers, Small
from watchline.kernels.buffers import longer_with
from watchline.model import Stream
from watchline.proximity import (
    ADD,
    CIRCLE,
    END,
    FIRST,
    GUESS,
    REMOVE,
    AnswerChanges,
    Events,
    Moving,
    Operator,
    object_type,
)
from watchline.rows import Columns, StringColumn, mask_of
from watchline.tracking.distances import points_of
from watchline.tracking.filters import FilterColumns, Filters, stacked
from watchline.tracking.memberships import (
    Lookers,
    Memberships,
    ProximityChanges,
    without_queries,
)
from watchline.tracking.objects import WORKING, Objects, RowSource, other_references
from watchline.tracking.plan import ChangePlan
from watchline.tracking.retention.shrinking import Shrinkage
from watchline.tracking.timeline.format import Timeline
from watchline.tracking.timeline.sent import SentTimelines
from watchline.tracking.timeline.writer import (
    BEGIN,
    Centres,
    TimelineEvents,
    TimelineWriter,
)

SECOND = 1_000_000
# Slots of objects in a table of the tracker, and their seats in the operator.
Seated = tuple[Integers, Small]
# Queries that wait: for which roles, and since when a report counts.
Waiting = Mapping[str, tuple[int, int]]


class _KindChanges(NamedTuple):
    """In a step: its event, the rows; ids that were not ranked and have a line, or have one now."""

    event: int
    rows: RowSource
    known: set[str]
    began: set[str]


class RowOperator:
    """The moving and nearest-neighbour queries of a tracker, and its objects as these see them.

    The operator calls the place of an object its slot; here that is a *seat*, since the tracker's
    tables have slots of their own. `seats` are those of the tracker's objects by slot, and
    `other_seats` those of focal objects that other shards own.
    """

    def __init__(self, stream: Stream, sent: SentTimelines, shrinkage: Shrinkage):
        self._stream, self._sent, self._shrinkage = stream, sent, shrinkage
        self._operator = Operator(
            object_type(stream),
            sent.parts > 1,
            significant=stream.retention is not None,
            earth=stream.geography,
        )
        self._filters = Filters(stream)
        self.seats: Small = np.empty(0, np.int32)
        self.other_seats: Small = np.empty(0, np.int32)
        # The ids of queries, by their numbers.
        self._names = StringColumn()
        self._focals: dict[str, tuple[Any, Any]] = {}
        # Where there are several parts: what nearest neighbours did since the last timeline.
        self._writer: TimelineWriter | None = None

    @staticmethod
    def over(
        objects: Objects,
        sent: SentTimelines,
        queries: Iterable[Moving],
        waiting: Waiting,
        shrinkage: Shrinkage,
    ) -> RowOperator:
        """With these queries, of which some wait, and these objects."""
        made = RowOperator(objects.stream, sent, shrinkage)
        listed = list(queries)
        numbers = [made._filters.acquire(moving, GUESS)[0] for moving in listed]
        made._seat(objects)
        made._operator.set_terms(*made._filters.terms())
        for moving, filters in zip(listed, numbers, strict=True):
            pairs = [waiting.get(name, (0, FIRST)) for name in moving.ids.to_pylist()]
            waits, since = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            # There may be nobody to wait for.
            for role, ids in enumerate(moving.focals):
                waits = np.where(mask_of(ids.is_null()), waits & ~(1 << role), waits)
            made._enter(moving, filters, waits, since, objects)
        return made

    def _seat(self, objects: Objects) -> None:
        """All objects have seats, and are where their rows say."""
        stream, operator = self._stream, self._operator
        tables = (objects.own, objects.others)
        own, foreign = (table.columns() for table in tables)
        slots, other_slots = (table.places() for table in tables)
        seats = operator.enrol(objects.ids(), np.ones(len(own), np.bool_))
        other_seats = operator.enrol(
            objects.others.take_ids(other_slots), np.zeros(len(foreign), np.bool_)
        )
        self._take_seats((slots, seats), (other_slots, other_seats))
        operator.seat(
            np.concatenate([seats, other_seats]),
            np.concatenate([points_of(own, stream), points_of(foreign, stream)]),
            np.concatenate([slots, other_references(other_slots)]),
            *stacked([self._filters.columns_of(own), self._filters.columns_of(foreign)]),
            held=np.append(objects.held, np.zeros(len(foreign), np.int64)),
        )

    def _take_seats(self, own: Seated, others: Seated) -> None:
        """Note the seats of objects by their slots."""
        self.seats = _noted(self.seats, *own)
        self.other_seats = _noted(self.other_seats, *others)

    def __len__(self) -> int:
        return len(self._operator)

    def __contains__(self, name: str) -> bool:
        return name in self._operator.numbers

    def names(self) -> Iterable[str]:
        """The ids of all queries."""
        return self._operator.numbers

    def waiting(self) -> dict[str, tuple[int, int]]:
        """The queries that wait: for which focal objects, and since when a report counts. The
        result goes on with the operator; see there."""
        return self._operator.waiting()

    def changed_waits(self) -> dict[str, tuple[int, int] | None]:
        """The queries whose waiting has changed since the last call; see the operator."""
        return self._operator.changed_waits()

    def _enter(
        self,
        moving: Moving,
        filters: Integers,
        waits: Integers,
        since: Integers,
        objects: Objects,
    ) -> AnswerChanges:
        """Register queries whose filters are known; what is in their answers."""
        known = [self._known(ids, objects) for ids in moving.focals]
        focals = [
            self._operator.focal_slots(*pair) for pair in zip(moving.focals, known, strict=True)
        ]
        named = zip(*(ids.to_pylist() for ids in moving.focals), strict=True)
        self._focals.update(zip(moving.ids.to_pylist(), named, strict=True))
        numbers = self._operator.register(
            moving,
            (focals[0], focals[1]),
            filters,
            waits.astype(np.uint8),
            since,
            caches_of(moving, self._stream, self._shrinkage),
            # Of nearest neighbours only the cache is less.
            np.where(
                moving.k > 0, 1.0, np.sqrt(self._shrinkage.areas(moving.ids, moving.accuracy))
            ),
        )
        if len(self._names.start) < len(self._operator.ids):
            self._names.grow(len(self._operator.ids))
        self._names.put(numbers, moving.ids)
        return self._operator.open(numbers)

    def _known(self, ids: pa.Array, objects: Objects) -> Small:
        """The seats of these objects, -1 for NULL and for objects that are not known."""
        found = np.full(len(ids), -1, np.int32)
        named = ~mask_of(ids.is_null())
        for table, seats in ((objects.others, self.other_seats), (objects.own, self.seats)):
            slots = np.where(named, table.find(ids), -1)
            found[slots >= 0] = seats[slots[slots >= 0]]
        return found

    # --- versions

    def step(
        self,
        version: int,
        dropped: Iterable[str],
        came: Moving,
        objects: Objects,
        gone_plans: Iterable[ChangePlan],
    ) -> tuple[Memberships, Memberships]:
        """Drop these queries and register those: who was in their answers, and who is now.
        `gone_plans` have the dropped queries."""
        rows, newest = RowSource(objects, objects.no_rows()), objects.newest
        writer = self._opened(rows)
        event = writer.add_version(version, newest) if writer else 0
        if writer:
            ranked = set(came.ids.filter(pa.array(came.k > 0)).to_pylist())
            plain = [name for name in dropped if not self._is_ranked(name)]
            centres_of = partial(self._centres_of, gone_plans)
            known, began = writer.leave_plain(plain, ranked, centres_of)
            self._kind_changes = _KindChanges(event, rows, known, began)
        gone = [name for name in dropped if name in self]
        heard = self._heard(gone)
        if writer:
            # In all shards, so that what comes in their place has the same lines in all of them.
            numbers = [self._operator.numbers[name] for name in gone]
            self._begin(writer, np.array(numbers, np.int64))
        old = self._memberships(self._leave(gone), event, rows)
        selectivity = self._operator.selectivity(came)
        filters, new, lacking = self._filters.acquire(came, selectivity)
        if lacking:
            self._read_again(objects)
        if new:
            self._operator.set_terms(*self._filters.terms())
        since = np.full(len(came), FIRST if newest is None else newest)
        opened = self._enter(came, filters, _waits(came, heard), since, objects)
        if writer:
            nearest = came.take(np.flatnonzero(came.k > 0))
            centres = np.concatenate([nearest.k[:, np.newaxis], nearest.centre], axis=1)
            writer.register(nearest.ids.to_pylist(), centres)
        return old, self._memberships(opened, event, rows)

    def _read_again(self, objects: Objects) -> None:
        """Filters need more of objects than before: all objects are asked for it. Filters of ranges
        need the same values, whatever the bounds: so this is done once for an attribute."""
        tables = ((objects.own, self.seats), (objects.others, self.other_seats))
        seats = [of[table.places()] for table, of in tables]
        columns = [self._filters.columns_of(table.columns()) for table, _ in tables]
        self._operator.set_lines(np.concatenate(seats), *stacked(columns))

    def _heard(self, names: list[str]) -> dict[str, set[Any]]:
        """The focal objects that each of these queries has heard of; a query that replaces it has
        heard of them too."""
        waiting = self.waiting()
        return {
            name: {
                focal
                for role, focal in enumerate(self._focals[name])
                if not waiting.get(name, (0, 0))[0] >> role & 1
            }
            for name in names
        }

    def _centres_of(self, plans: Iterable[ChangePlan], names: set[str]) -> Centres:
        """The centres of these queries, which do not rank and are here or in one of these plans; of
        those that have one."""
        centres: Centres = {}
        for plan in plans:
            centres |= plan.centres_of(names)
        here = sorted(names & self._operator.numbers.keys())
        numbers = np.array([self._operator.numbers[name] for name in here], np.int64)
        points = self._operator.region_centres(numbers).tolist()
        return centres | {name: (x, y) for name, (x, y) in zip(here, points, strict=True)}

    def _is_ranked(self, name: str) -> bool:
        number = self._operator.numbers.get(name)
        return number is not None and bool(self._operator.is_ranked(np.array([number]))[0])

    def divert(
        self, old: Sequence[Memberships], new: Sequence[Memberships], came: ChangePlan | None
    ) -> tuple[list[Memberships], list[Memberships], int]:
        """What is left of the last step's answers where some go to the timeline: those of queries
        that nearest neighbours come or came in the place of. And how many more came than went.
        `came` are the queries that the step registered."""
        writer = self._writer
        if writer is None:
            return list(old), list(new), 0
        event, rows, known, began = self._kind_changes
        plans = () if came is None else (came,)
        names = (name for plan in plans for name in plan.plan.ids.to_pylist())
        unranked = {name for name in names if not self._is_ranked(name)}
        entered = writer.enter_plain(unranked, partial(self._centres_of, plans))
        left, more = [], 0
        for sides, ids, ops in (
            (old, known, [(event, REMOVE)]),
            (old, began, [(BEGIN, ADD), (event, REMOVE)]),
            (new, entered, [(event, ADD)]),
        ):
            wanted = pa.array(sorted(ids), pa.string())
            for members in sides if ids else ():
                chosen = np.flatnonzero(mask_of(pc.is_in(members.ids, value_set=wanted)))
                mine = writer.lines(members.ids.take(pa.array(chosen)).to_pylist())
                for at, op in ops:
                    n = len(chosen)
                    writer.record(np.full(n, at), mine, np.full(n, op), members.rows[chosen], rows)
                more += n * int(ops[-1][1])
            left.append(wanted)
        gone = pa.concat_arrays(left[:2])
        return without_queries(old, gone), without_queries(new, left[2]), more

    def _leave(self, names: list[str]) -> AnswerChanges:
        numbers = np.array([self._operator.numbers[name] for name in names], dtype=np.int64)
        self._filters.release(self._operator.filters_of(numbers))
        changes = self._operator.drop(names)
        for name in names:
            del self._focals[name]
        return changes

    def _memberships(self, changes: AnswerChanges, event: int, rows: RowSource) -> Memberships:
        """Who is in answers after one event; the k nearest go to the timeline, if there is one."""
        changes = changes._replace(event=np.full(len(changes.event), event))
        if self._writer is not None:
            ranked = self._operator.is_ranked(changes.query)
            self._record(self._writer, changes.where(ranked), rows)
            changes = changes.where(~ranked)
        return Memberships(changes.row, self._ids(changes.query), changes.distance)

    def _opened(self, rows: RowSource) -> TimelineWriter | None:
        """The timeline of this batch; a new one if the last timeline has been handed out."""
        if self._sent.parts > 1 and self._writer is None:
            self._writer = TimelineWriter(self._operator, rows, self._sent.is_whole)
        return self._writer

    def _begin(self, writer: TimelineWriter, numbers: Integers) -> None:
        """Note how those of these queries that rank are, for the timeline."""
        ranked = numbers[self._operator.is_ranked(numbers)]
        writer.begin(
            [self._operator.ids[q] for q in ranked.tolist()], self._operator.centres(ranked)
        )

    def _record(self, writer: TimelineWriter, changes: AnswerChanges, rows: RowSource) -> None:
        """What nearest neighbours did, into the timeline."""
        numbers, places = np.unique(changes.query, return_inverse=True)
        lines = writer.lines(self._ids(numbers).to_pylist())
        writer.record(changes.event, lines[places], changes.what, changes.row, rows)

    def timeline(self) -> Timeline | None:
        """What nearest neighbours did since this was last asked, if there are several parts, and
        any nearest-neighbour queries now or since then."""
        writer, self._writer = self._writer, None
        if writer is None or (writer.is_empty and not self._operator.ranked_count):
            return None
        return writer.finish()

    def continue_timeline(self, other: RowOperator) -> None:
        """Go on with the timeline of another operator."""
        self._writer = other._writer

    def _ids(self, numbers: Integers) -> pa.Array:
        return self._names.take(numbers)

    # --- batches

    def enrol(self, ids: pa.Array, mine: bool) -> Small:
        """The slots of new objects, of this shard or of others."""
        return self._operator.enrol(ids, np.full(len(ids), mine))

    def labels(self, slots: Small) -> Integers:
        """Numbers of the objects in these slots that sort as their ids do."""
        return self._operator.labels(slots)

    def filter_columns(self, columns: Columns) -> FilterColumns:
        """What filters need of rows."""
        return self._filters.columns_of(columns)

    def run(self, events: Events, rows: RowSource, before: int | None) -> ProximityChanges:
        """What these events do; `before` is the newest time of the stream before them."""
        ended = events.who[events.kind == END]
        names = [self._operator.ids[q] for q in ended.tolist()]
        released = self._operator.filters_of(ended)
        writer = self._opened(rows)
        moved = self._operator.may_move(events) if writer else ended
        centres = self._operator.centres(moved)
        told = self._operator.run(events)
        fresh = (told.what > 0) & self._operator.is_fresh(told)
        if writer:
            ranked = self._operator.is_ranked(told.query)
            self._note_beginnings(writer, np.unique(told.query[ranked]), moved, centres)
            meant, places = np.unique(told.event[ranked], return_inverse=True)
            first = writer.add_events(self._timeline_events(events, meant, rows, before))
            self._record(writer, told.where(ranked)._replace(event=first + places), rows)
            told, fresh = told.where(~ranked), fresh[~ranked]
        for name in names:
            del self._focals[name]
        self._filters.release(released)
        ids = self._ids(told.query)
        return ProximityChanges(told.event, ids, told.what, told.row, fresh, told.distance)

    def _note_beginnings(
        self, writer: TimelineWriter, touched: Integers, moved: Integers, centres: Doubles
    ) -> None:
        """How queries that rank were when the batch began: those that may have moved since had
        these centres, all others still have theirs."""
        columns = self._operator.centres(touched)
        if len(moved):
            places = np.minimum(np.searchsorted(moved, touched), len(moved) - 1)
            is_moved = moved[places] == touched
            columns[is_moved] = centres[places[is_moved]]
        writer.begin([self._operator.ids[q] for q in touched.tolist()], columns)

    def _timeline_events(
        self, events: Events, meant: Integers, rows: RowSource, before: int | None
    ) -> TimelineEvents:
        """Those events that are meant, as all parts know them."""
        kind, time, who = events.kind.astype(np.int64), events.time, events.who
        same = np.zeros(len(kind), np.bool_)
        same[1:] = (kind[1:] == kind[:-1]) & (time[1:] == time[:-1]) & (who[1:] == who[:-1])
        # Rows of one object at one moment are counted.
        firsts = np.maximum.accumulate(np.where(same, 0, np.arange(len(kind))))
        place = (np.arange(len(kind)) - firsts)[meant]
        row, time, kind = events.row[meant] - WORKING, time[meant], kind[meant]
        newest = time if before is None else np.maximum(time, before)
        ids = rows.working[self._stream.object].combine_chunks()
        ids = ids.take(pa.array(row, mask=row < 0))
        return TimelineEvents(time, kind, ids, np.where(kind == END, 0, place), newest)

    def number(self, name: str) -> int:
        """The number of a query in the operator."""
        return self._operator.numbers[name]

    def hold(self, seats: Small, held: Integers) -> npt.NDArray[np.bool_]:
        """After a version: so many queries elsewhere hold each object. Which objects are kept."""
        self._operator.hold(seats, held)
        return self.keep(seats, np.ones(len(seats), np.bool_))

    def keep(self, seats: Small, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Keep these objects, unless they were let go meanwhile: which are kept."""
        kept = kept & self._operator.is_here(seats)
        self._operator.discharge(seats[~kept])
        return kept

    def looking(self, columns: Columns, slots: Small | None, whole: bool = False) -> Lookers:
        """The queries that look at rows; `whole`: and in whose answers rows are with the whole
        region of a query. Without slots, of objects that are not here: as if they were."""
        filtered = self._filters.columns_of(columns)
        points = points_of(columns, self._stream)
        found = self._operator.looking(points, *filtered, slots, whole)
        return Lookers(found.event, self._ids(found.query), found.what > 0, found.distance)

    def ranked(self) -> dict[str, int]:
        """The nearest-neighbour queries, and how many neighbours they ask for."""
        numbers = self._operator.ranked()
        counts = self._operator.centres(numbers)[:, 0].astype(np.int64).tolist()
        return {self._operator.ids[q]: k for q, k in zip(numbers.tolist(), counts, strict=True)}

    def refs(self, seats: Small) -> Integers:
        """How many of these queries look at each object."""
        return self._operator.refs(seats).astype(np.int64)

    def is_followed(self, seats: Small) -> npt.NDArray[np.bool_]:
        """Which objects some query moves with."""
        return self._operator.is_followed(seats)

    @property
    def entry_bytes(self) -> int:
        """The bytes of an object in the operator."""
        return self._operator.entry_bytes

    @property
    def query_bytes(self) -> int:
        """The bytes of the queries and their lists of cells."""
        return self._operator.query_bytes

    def is_here(self, slots: Small) -> npt.NDArray[np.bool_]:
        """Which of these slots have an object that is kept."""
        return self._operator.is_here(slots)

    def settle(self, own: Seated, others: Seated, gone: Small) -> None:
        """After a batch: slots and seats of its objects that are left, and the seats of those that
        are not. Changes show the rows in these slots from now on."""
        self._operator.discharge(gone)
        self._take_seats(own, others)
        self._operator.set_rows(own[1], own[0])
        self._operator.set_rows(others[1], other_references(others[0]))


def _noted(seats: Small, slots: Integers, those: Small) -> Small:
    """With these seats at these slots."""
    room = int(slots.max(initial=-1)) + 1
    if room > len(seats):
        seats = longer_with(seats, max(2 * len(seats), room), 0)
    seats[slots] = those
    return seats


def caches_of(
    queries: Moving, stream: Stream, shrinkage: Shrinkage
) -> tuple[Doubles, Integers] | None:
    """How far around each query objects are kept, and how many neighbours; None if all are.

    Before an object reports again, both it and the query may have gone as far as it can in a
    time-out: so a region that moves has twice that around it. Where that is not known, it is a part
    of the region itself.
    """
    kept = stream.retention
    if kept is None:
        return None
    part = (1.0 if kept.cache is None else kept.cache) * shrinkage.caches(queries.ids)
    if stream.max_speed is not None and stream.timeout is not None:
        travel = np.full(len(queries), 2 * stream.max_speed * stream.timeout / SECOND)
    else:
        circle = queries.form == CIRCLE
        travel = np.where(circle, queries.size[:, 0], queries.size.max(axis=1, initial=0.0))
    margin = np.where(queries.k > 0, 0.0, part * travel)
    most = np.iinfo(np.int32).max
    want = np.minimum(queries.k + np.ceil(part * queries.k).astype(np.int64), most)
    return margin, want


def _waits(came: Moving, heard: Mapping[str, set[Any]]) -> Integers:
    """For each query the roles whose focal object it has to wait for, as bits."""
    waits = np.zeros(len(came), np.int64)
    for role, ids in enumerate(came.focals):
        for i, (name, focal) in enumerate(zip(came.ids.to_pylist(), ids.to_pylist(), strict=True)):
            if focal is not None and focal not in heard.get(name, ()):
                waits[i] |= 1 << role
    return waits
