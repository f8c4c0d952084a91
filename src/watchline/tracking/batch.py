"""A batch of rows on its way through a tracker: moves, what they enter and leave, and when.

Rows are put in order, and each becomes a *move* from its object's row before it; a time-out is a
move to nowhere. Queries that a row alone decides see all moves at once. Queries that move or rank
see them one after the other, in the order of time (`row_operator`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Integers
from watchline.matching import is_among
from watchline.model import SPEED, Shed
from watchline.proximity import END, FIRST, UNHOLD, Events
from watchline.reasons import ENTERED, LEFT, Reason
from watchline.rows import Columns, change_table, no_changes, stable_order, taken
from watchline.tracking.distances import (
    Distances,
    chosen_distances,
    distances_between,
    joined_distances,
    metres_apart,
    points_of,
)
from watchline.tracking.linked_rows import BatchObjects, LinkedRows, both_tables
from watchline.tracking.lives import End
from watchline.tracking.memberships import ProximityChanges
from watchline.tracking.object_table import ObjectTable
from watchline.tracking.objects import WORKING, Objects, RowSource
from watchline.tracking.queries import QueryTransitions
from watchline.tracking.row_operator import SECOND, RowOperator
from watchline.tracking.tracked_queries import TrackedQueries

# What ends before the rows of its moment goes before every kind of event.
BEFORE_ROWS = UNHOLD + 1


class TimeSpan(NamedTuple):
    """The oldest and the newest time of the accepted rows of a batch, in all shards."""

    oldest: int
    newest: int


class _MoveEvents(NamedTuple):
    """Who, what kind, when, the rank among its object's rows, and the row."""

    who: Integers
    kind: Integers
    when: Integers
    rank: Integers
    row: Integers

    @staticmethod
    def of(linked: LinkedRows, slots: Integers, before: int = 0) -> _MoveEvents:
        """The moves of objects that have these slots by their codes."""
        who = slots[linked.codes[linked.shown]]
        rank = linked.ranks[linked.shown]
        return _MoveEvents(who, linked.kind, linked.when, rank, before + linked.shown)

    @staticmethod
    def without_row(kind: int, who: Integers, when: Integers) -> _MoveEvents:
        n = len(who)
        return _MoveEvents(who, np.full(n, kind), when, np.zeros(n, np.int64), np.full(n, -1))


class _Changes(NamedTuple):
    """Changes in any order: rows, query ids, signs, times, reasons, what sorts them, and
    distances."""

    row: Integers
    ids: pa.Array
    signs: npt.NDArray[np.int8]
    times: Integers
    reasons: Integers
    when: Integers
    kind: Integers
    place: Integers
    distances: Distances = None

    @staticmethod
    def joined(pieces: list[_Changes]) -> _Changes:
        """The changes of all pieces."""
        *columns, _ = zip(*pieces, strict=True)
        every: list[Any] = [
            pa.concat_arrays(column) if isinstance(column[0], pa.Array) else np.concatenate(column)
            for column in columns
        ]
        every.append(joined_distances((piece.distances, len(piece.row)) for piece in pieces))
        return _Changes(*every)


class _EndedAnswers(NamedTuple):
    """Answers that end: the object's row then, the time of the change, the query, whether it ends
    before the rows of that time, and the object's distance."""

    rows: Integers
    when: Integers
    ids: pa.Array
    is_before: npt.NDArray[np.bool_]
    distances: Distances


_NO_PLACES: Integers = np.empty(0, np.int64)
_NOTHING_ENDED = _EndedAnswers(
    _NO_PLACES, _NO_PLACES, pa.array([], pa.string()), np.empty(0, np.bool_), None
)


class ProcessedBatch:
    """One batch on its way through a tracker, of which only the operator is touched until `commit`.

    The results are attributes: the changes, and what the tracker has after the batch. The cost
    follows the rows, the objects that they or the operator change, and the queries that end; where
    retention lets the operator decide who is kept, all objects are looked at.
    """

    def __init__(
        self,
        objects: Objects,
        queries: TrackedQueries,
        operator: RowOperator | None,
        batch: Columns,
        others: pa.Table,
        span: TimeSpan | None,
    ):
        self._before, self._stream, self._operator = objects, objects.stream, operator
        self._queries, self._lives = queries.in_sizes(), queries.lives
        self.newest = self._newest_after(span)
        # Lives that had no beginning yet begin with the stream's first row.
        self._first = span.oldest if span is not None and objects.newest is None else None
        self._over = self._lives_over()
        self._own = self._linked(objects.own, batch, self._needed_slots())
        if objects.keeps_speeds:
            self._own.derive_speeds(self._stream)
        self._columns = self._own.columns
        self.late = self._own.late
        self.too_fast = self._too_fast()
        # What changes show: own rows, until an operator adds others.
        self._rows: pa.Table | None = None
        # Most trackers know no objects of others.
        self._other: LinkedRows | None = None
        if operator is not None or others.num_rows or len(objects.others):
            rows = Columns(others, self._stream)
            self._other = self._linked(objects.others, rows, np.empty(0, np.int64))
        own = self._own
        transitions = self._living(self._queries.transitions(self._columns, own.moves))
        ended = self._ended(transitions)
        kept = np.ones(len(own.kept), np.bool_)
        self._held = kept.astype(np.int64)
        if self._stream.retention is not None:
            self._held = self._held_after(transitions, ended.rows)
            kept = self._held > 0
        changes = []
        # Where moves count one by one, all changes come in the operator's order.
        if operator is not None:
            changes = [self._moved(operator, transitions, ended)]
            kept = operator.is_here(self._seats[0][own.codes[own.kept]])
        self.changes = no_changes(self._stream)
        if len(transitions.moves) or len(ended.rows) or changes:
            self.changes = self._in_table([self._crossed(transitions, ended), *changes])
        self._kept = kept
        self.let_go = objects.no_rows()
        if not kept.all():
            self.let_go = own.rows.take(pa.array(own.kept[~kept]))
        self.came = self._newcomers(kept)

    def commit(self) -> None:
        """The objects of the tracker become those of after the batch."""
        objects, own, other = self._before, self._own, self._other
        objects.newest = self.newest
        if self._first is not None:
            self._lives.first_row(self._first)
        if self._over:
            assert self.newest is not None
            self._lives.end(self._over, self.newest)
        mine = own.kept[self._kept]
        slots = own.commit(objects.own, mine, self._held[self._kept])
        if other is None:
            return
        others = other.kept
        other_slots = other.commit(objects.others, others, np.ones(len(others), np.int64))
        if self._operator is None:
            return
        seats, other_seats = self._seats
        gone = [
            seats[own.codes[own.expired]],
            other_seats[other.codes[other.expired]],
            seats[own.codes[own.kept[~self._kept]]],
        ]
        self._operator.settle(
            (slots, seats[own.codes[mine]]),
            (other_slots, other_seats[other.codes[others]]),
            np.concatenate(gone),
        )

    def _newest_after(self, span: TimeSpan | None) -> int | None:
        """The newest time of the stream after the batch."""
        before = self._before.newest
        if span is None or before is None:
            return before if span is None else span.newest
        return max(span.newest, before)

    def _newcomers(self, kept: npt.NDArray[np.bool_]) -> pa.Array:
        """The kept objects that were not known before this batch. Object shedding may refuse them;
        the result is empty for a stream that does not shed objects, because nobody reads it."""
        own, retention = self._own, self._stream.retention
        if retention is None or retention.sheds is not Shed.OBJECTS:
            return own.objects.new[:0]
        here = own.codes[own.kept[kept]]
        return own.objects.new.take(pa.array(here[here >= own.known] - own.known))

    def _linked(self, table: ObjectTable, batch: Columns, more: Integers) -> LinkedRows:
        objects = BatchObjects.of_table(table, batch, self.newest, more)
        return LinkedRows(objects, batch, self._stream, self._before.newest, self.newest)

    def _needed_slots(self) -> Integers:
        """The slots of objects that the batch is about even if they do not report: members of
        queries that end, and all objects where the operator may let any of them go."""
        table = self._before.own
        if self._operator is not None and self._stream.retention is not None:
            return table.places()
        if not self._over:
            return np.empty(0, np.int64)
        members = [table.members(part)[0] for part in self._queries.among(list(self._over))]
        return np.unique(np.concatenate([np.empty(0, np.int64), *members]))

    def _too_fast(self) -> int:
        """Rows farther from their object's row before than it can have gone."""
        stream, (old, new) = self._stream, self._own.moves
        if stream.max_speed is None or stream.point is None:
            return 0
        moved = (old >= 0) & (new >= 0)
        old, new = old[moved], new[moved]
        points, times = points_of(self._columns, stream), self._own.times
        with np.errstate(over="ignore", invalid="ignore"):
            if stream.geography:
                gone = metres_apart(points[new], points[old])
            else:
                gone = np.hypot(*(points[new] - points[old]).T)
            return int(
                np.count_nonzero(gone > stream.max_speed * (times[new] - times[old]) / SECOND)
            )

    def _held_after(self, transitions: QueryTransitions, ended: Integers) -> Integers:
        """How many queries that a row alone decides hold each object that has not timed out."""
        own = self._own
        codes, n = own.codes, own.count
        shown = codes[own.shown[transitions.moves]]
        more = np.bincount(shown, transitions.signs, n).astype(np.int64)
        more -= np.bincount(codes[ended], minlength=n)
        more[: own.known] += self._before.own.held[own.objects.slots]
        return more[codes[own.kept]]

    def _crossed(self, transitions: QueryTransitions, ended: _EndedAnswers) -> _Changes:
        """The changes of queries that a row alone decides."""
        own = self._own
        moves, signs = transitions.moves, transitions.signs
        kind, when = own.kind[moves], own.when[moves]
        left = np.array([Reason.EXIT, Reason.EXPIRED])[kind]
        reasons = np.where(signs > 0, Reason.ENTER, left)
        n = len(ended.rows)
        row = np.concatenate([own.shown[moves], ended.rows])
        when = np.concatenate([when, ended.when])
        return _Changes(
            row,
            pa.concat_arrays([transitions.ids, ended.ids]),
            np.concatenate([signs, np.full(n, -1, np.int8)]),
            when,
            np.concatenate([reasons, np.full(n, Reason.DROPPED)]),
            when,
            np.concatenate([kind, np.full(n, END)]),
            np.concatenate([self._place[moves], np.zeros(n, np.int64)]),
            joined_distances([(transitions.distances, len(moves)), (ended.distances, n)]),
        )

    @cached_property
    def _place(self) -> Integers:
        """What sorts the moves of one moment and kind."""
        own = self._own
        return own.codes[own.shown] * (len(own.ranks) + 1) + own.ranks[own.shown]

    def _in_table(self, pieces: list[_Changes]) -> pa.Table:
        every = _Changes.joined(pieces)
        order = _in_order(every)
        row = every.row[order]
        rows, places = self._own.rows_for(row) if self._rows is None else (self._rows, row)
        return change_table(
            self._stream,
            rows,
            places,
            taken(every.ids, order),
            every.signs[order],
            every.times[order],
            every.reasons[order],
            chosen_distances(every.distances, order),
        )

    # --- queries that move or rank

    def _moved(
        self, operator: RowOperator, transitions: QueryTransitions, ended: _EndedAnswers
    ) -> _Changes:
        """What these do: the moves of all objects, and the ends of queries, one by one."""
        own, other = self._own, self._other
        assert other is not None
        self._seats = seats = self._seats_of(operator, other)
        shown = _MoveEvents.of(own, seats[0]), _MoveEvents.of(other, seats[1], len(own.times))
        over, is_before = self._ends_in(operator)
        held = np.zeros(0, np.int64)
        if self._stream.retention is not None:
            let_go = _MoveEvents.without_row(UNHOLD, seats[0][own.codes[ended.rows]], ended.when)
            over = _MoveEvents(*map(np.concatenate, zip(over, let_go, strict=True)))
            is_before = np.concatenate([is_before, ended.is_before])
            more = np.bincount(transitions.moves, transitions.signs, len(own.shown))
            held = self._padded(more.astype(np.int64), len(other.shown) + len(over.who))
        who, kind, when, rank, rows = (
            np.concatenate(column).astype(np.int64) for column in zip(*shown, over, strict=True)
        )
        n = len(over.who)
        objects = len(who) - n
        label = np.append(operator.labels(who[:objects].astype(np.int32)), who[objects:])
        turn = kind.copy()
        turn[objects:][is_before] -= BEFORE_ROWS
        order = np.lexsort((rank, label, turn, when))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self._place = place[: len(own.shown)]
        every = both_tables(own.rows, other.rows) if len(other.rows) else own.rows
        columns = Columns(every, self._stream)
        if self._before.keeps_speeds:
            # Objects of others are no members here.
            none = pa.nulls(len(other.rows), pa.float64())
            columns.derive(SPEED, pa.concat_arrays([own.columns.array(SPEED), none]))
        shown_rows = columns.take(rows[:objects])
        bits, values = operator.filter_columns(shown_rows)
        nearby = operator.run(
            Events(
                kind[order].astype(np.int8),
                when[order],
                who[order],
                self._padded(points_of(shown_rows, self._stream), n)[order],
                np.where(rows >= 0, WORKING + rows, -1)[order],
                self._padded(bits, n)[order],
                self._padded(values, n)[order],
                held[order] if len(held) else held,
            ),
            RowSource(self._before, every),
            self._before.newest,
        )
        self._rows, places = RowSource(self._before, every).with_rows(nearby.row)
        return self._nearby(nearby._replace(row=places), kind[order], when[order])

    def _ends_in(self, operator: RowOperator) -> tuple[_MoveEvents, npt.NDArray[np.bool_]]:
        """The ends of the operator's queries in this batch, and which come before the rows of their
        moment."""
        ends = {operator.number(name): e for name, e in self._over.items() if name in operator}
        times = np.array([end.time for end in ends.values()], np.int64)
        over = _MoveEvents.without_row(END, np.array(list(ends), np.int64), times)
        return over, np.array([end.is_before_rows for end in ends.values()], np.bool_)

    @staticmethod
    def _padded(lines: npt.NDArray[Any], more: int) -> npt.NDArray[Any]:
        return np.concatenate([lines, np.zeros((more, *lines.shape[1:]), lines.dtype)])

    def _seats_of(self, operator: RowOperator, other: LinkedRows) -> tuple[Integers, Integers]:
        """The seats of the objects of a batch by their codes, own and others'."""
        sides = []
        for linked, known, mine in (
            (self._own, operator.seats, True),
            (other, operator.other_seats, False),
        ):
            seats = np.full(linked.count, -1)
            seats[: linked.known] = known[linked.objects.slots]
            # Of some all rows were late.
            new = np.unique(linked.codes[linked.order])
            new = new[new >= linked.known]
            seats[new] = operator.enrol(linked.objects.new.take(pa.array(new - linked.known)), mine)
            sides.append(seats)
        return sides[0], sides[1]

    def _nearby(self, nearby: ProximityChanges, kind: Integers, when: Integers) -> _Changes:
        """The changes of queries that move or rank."""
        event, ids, signs, row, fresh, distances = nearby
        kind, when = kind[event], when[event]
        entered = np.where(fresh, Reason.REGISTERED, np.array(ENTERED)[kind])
        left = np.array(LEFT)[kind]
        newest = FIRST if self._before.newest is None else self._before.newest
        return _Changes(
            row,
            ids,
            signs,
            np.where(fresh, np.maximum(when, newest), when),
            np.where(signs > 0, entered, left),
            when,
            kind,
            event,
            distances,
        )

    # --- queries with a life time

    def _end_of(self, query_id: str) -> End:
        """When a living query ends."""
        birth = self._lives.births[query_id] if self._first is None else self._first
        assert birth is not None
        return self._lives.terms[query_id].end(birth)

    def _living(self, transitions: QueryTransitions) -> QueryTransitions:
        """Without what queries would do after their life."""
        if not transitions.mortal.any():
            return transitions
        timed = np.flatnonzero(transitions.mortal)
        kept = np.ones(len(transitions.moves), dtype=np.bool_)
        coded = transitions.ids.take(pa.array(timed)).dictionary_encode()
        names = coded.dictionary.to_pylist()
        alive = self._lives.births
        lasts = [self._end_of(i).last if i in alive else FIRST for i in names]
        last = np.array(lasts, dtype=np.int64)
        kept[timed] = self._own.when[transitions.moves[timed]] <= last[coded.indices.to_numpy()]
        return transitions.chosen(kept)

    def _lives_over(self) -> dict[str, End]:
        """The queries whose life ends in this batch, and when."""
        if self.newest is None:
            return {}
        if self._first is None:
            return self._lives.ending(self.newest)
        ends = {name: self._end_of(name) for name in self._lives.births}
        return {name: end for name, end in ends.items() if end.last < self.newest}

    def _ended(self, transitions: QueryTransitions) -> _EndedAnswers:
        """The objects in answers that end in this batch.

        Members are those of before the batch and what its transitions made of them.
        """
        over, own = self._over, self._own
        if not over:
            return _NOTHING_ENDED
        names = list(over)
        numbers = {name: k for k, name in enumerate(names)}
        wanted = pa.array(names, pa.string())
        mine = self._columns.take(np.arange(own.known))
        rows, queries = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        centres: dict[str, tuple[float, float]] = {}
        for part in self._queries.among(names):
            members, which = part.members(mine)
            rows.append(members)
            ids = part.plan.ids.take(pa.array(which)).to_pylist()
            queries.append(np.array([numbers[i] for i in ids], dtype=np.int64))
            centres |= part.centres_of(names)
        chosen = np.flatnonzero(is_among(transitions.ids, wanted))
        moves = transitions.moves[chosen]
        changed = own.shown[moves]
        started = np.concatenate(rows)
        code = np.concatenate([own.codes[started], own.codes[changed]])
        which = np.concatenate(
            [*queries, pc.index_in(transitions.ids.take(pa.array(chosen)), wanted).to_numpy()]
        ).astype(np.int64)
        when = np.concatenate([np.full(len(started), FIRST), own.when[moves]])
        kind = np.concatenate([np.zeros(len(started), np.int64), own.kind[moves]])
        place = own.ranks[np.concatenate([started, changed])]
        sign = np.concatenate([np.ones(len(started), np.int8), transitions.signs[chosen]])
        # The last of each object and query, in the order of events, tells who is a member.
        order = np.lexsort((sign, place, kind, when, which, code))
        key = code[order] * len(names) + which[order]
        last = np.append(key[1:] != key[:-1], True)[: len(order)]
        inside = order[last & (sign[order] > 0)]
        last, time = np.array([over[name] for name in names], dtype=np.int64)[which[inside]].T
        shown, which = self._row_at(code[inside], last), which[inside]
        distances = None
        if centres:
            to = np.array([centres.get(name, (np.nan, np.nan)) for name in names])
            points = points_of(self._columns, self._stream, shown)
            measured = metres_apart if self._stream.geography else distances_between
            distances = measured(points, to[which])
        return _EndedAnswers(shown, time, wanted.take(pa.array(which)), last < time, distances)

    def _row_at(self, codes: Integers, moments: Integers) -> Integers:
        """Each object's latest row at a moment."""
        order = self._own.order
        own = self._own.codes[order]
        ranks, place = np.unique(self._own.times[order], return_inverse=True)
        width = len(ranks) + 1
        keys = own * width + place
        upto = np.searchsorted(ranks, moments, side="right")
        at = np.searchsorted(keys, codes * width + upto) - 1
        inside = (at >= 0) & (own[np.maximum(at, 0)] == codes) if len(own) else at >= 0
        return np.where(inside, order[np.maximum(at, 0)] if len(order) else -1, codes)


def _in_order(changes: _Changes) -> Integers:
    """By time, kind, place and sign. Where most moments have one move alone, that is by time and
    sign with some exceptions: these are sorted again."""
    order = np.concatenate([np.flatnonzero(changes.signs < 0), np.flatnonzero(changes.signs > 0)])
    order = order[stable_order(changes.when[order])]
    when, kind, place, sign = (
        column[order] for column in (changes.when, changes.kind, changes.place, changes.signs)
    )
    moment = when[1:] == when[:-1]
    alike = kind[1:] == kind[:-1]
    later = (kind[1:] < kind[:-1]) | (alike & (place[1:] < place[:-1]))
    later |= alike & (place[1:] == place[:-1]) & (sign[1:] < sign[:-1])
    if not (wrong := moment & later).any():
        return order
    # All of a moment in which two are the wrong way round.
    starts = np.flatnonzero(np.append(True, ~moment))
    mixed = np.logical_or.reduceat(np.append(False, wrong), starts)
    places = np.flatnonzero(np.repeat(mixed, np.diff(np.append(starts, len(order)))))
    again = np.lexsort((sign[places], place[places], kind[places], when[places]))
    order[places] = order[places[again]]
    return order
