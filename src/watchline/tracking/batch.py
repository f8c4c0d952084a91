"""A batch of rows on its way through a tracker: moves, what they enter and leave, and when.

Rows are put in order, and each becomes a *move* from its object's row before it; a time-out is a
move to nowhere. The watcher says what moves do to queries that a row alone decides, all at once.
The mover says what they do to queries that move or rank, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.evaluate import Columns
from watchline.model import Shed, Stream
from watchline.moving.events import Events
from watchline.moving.tables import END, FIRST, ROW, TIMEOUT, UNHOLD
from watchline.reasons import ENTERED, LEFT, Reason
from watchline.tracking.changes import change_table
from watchline.tracking.flips import Moves
from watchline.tracking.mover import SECOND, Happened, Mover, places
from watchline.tracking.rows import sequence, stable_order, times_of
from watchline.tracking.watcher import End, QueryFlips, Term, Watcher, members

Integers = npt.NDArray[np.int64]

# What ends before the rows of its moment goes before every kind of event.
BEFORE_ROWS = UNHOLD + 1


class Span(NamedTuple):
    """The oldest and the newest time of the accepted rows of a batch, in all shards."""

    oldest: int
    newest: int


@dataclass(frozen=True)
class Known:
    """What a tracker knows before a batch."""

    stream: Stream
    objects: pa.Table
    others: pa.Table
    newest: int | None
    births: dict[str, int | None]
    terms: dict[str, Term]
    watcher: Watcher
    mover: Mover | None
    # How many queries that a row alone decides hold each object; where all are kept, nobody asks.
    held: Integers


class Linked:
    """The rows of a batch, each with its object's row before it; nothing of the tracker is touched.

    All rows are `rows`: the latest of each known object, then the batch's. A move is from a row to
    a row, or to none where the object times out; it is told with the row `shown`.
    """

    def __init__(
        self,
        objects: pa.Table,
        batch: pa.Table,
        stream: Stream,
        before: int | None,
        newest: int | None,
    ):
        self._timeout = stream.timeout
        self.known = objects.num_rows
        self.rows = _joined(objects, batch)
        self.times = times_of(self.rows, stream)
        ids = self.rows[stream.object].chunk(0).dictionary_encode()
        self.codes = ids.indices.to_numpy().astype(np.int64)
        # What is known are different objects: their codes count them.
        self.ids = ids.dictionary
        self.order = self._in_order(batch, before)
        # Rows of one object at one moment count by their attributes, not by their places.
        self.ranks = np.zeros(len(self.times), dtype=np.int64)
        self.ranks[self.order] = np.arange(1, len(self.order) + 1)
        self._link(newest)

    def _in_order(self, batch: pa.Table, newest: int | None) -> Integers:
        """The batch's rows that are not late, as places among all rows, by object and time."""
        known = self.known
        mine, times = self.codes[known:], self.times[known:]
        before = np.full(len(self.ids), FIRST)
        before[:known] = self.times[:known]
        late = times < before[mine]
        if self._timeout is not None and newest is not None:
            late |= times < back(newest, self._timeout)
        self.late = int(np.count_nonzero(late))
        chosen = np.flatnonzero(~late)
        if self.late:
            batch = batch.take(pa.array(chosen))
        order = sequence(mine[chosen], times[chosen], batch)
        return known + chosen[order]

    def _link(self, newest: int | None) -> None:
        """Each row's row before it; which rows are their object's last; who has timed out."""
        codes, times, order, known = self.codes, self.times, self.order, self.known
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = codes[order][1:] != codes[order][:-1]
        before = np.empty(len(order), dtype=np.int64)
        before[1:] = order[:-1]
        mine = codes[order[first]]
        before[first] = np.where(mine < known, mine, -1)
        latest = np.full(len(self.ids), -1)
        latest[:known] = np.arange(known)
        # Later rows overwrite earlier ones of the same object.
        latest[codes[order]] = order
        latest = latest[latest >= 0]
        gap = np.zeros(len(order), dtype=np.bool_)
        expired = latest[:0]
        if self._timeout is not None:
            gap = (before >= 0) & (times[before] < back(times[order], self._timeout))
            if newest is not None:
                over = times[latest] < back(newest, self._timeout)
                expired, latest = latest[over], latest[~over]
        self.kept, self.expired = latest, expired
        gone = np.concatenate([before[gap], expired])
        none = np.full(len(gone), -1)
        self.moves = Moves(
            np.concatenate([np.where(gap, -1, before), gone]), np.concatenate([order, none])
        )
        # The row that a move is told with: the object's latest.
        self.shown = np.concatenate([order, gone])
        timeouts = times[gone] + (self._timeout or 0)
        self.when = np.concatenate([times[order], timeouts])
        self.kind = np.repeat([ROW, TIMEOUT], [len(order), len(gone)])


class _Events(NamedTuple):
    """Who, what kind, when, the rank among its object's rows, and the row."""

    who: Integers
    kind: Integers
    when: Integers
    rank: Integers
    row: Integers

    @staticmethod
    def of(linked: Linked, slots: Integers, before: int = 0) -> _Events:
        """The moves of objects that have these slots by their codes."""
        who = slots[linked.codes[linked.shown]]
        rank = linked.ranks[linked.shown]
        return _Events(who, linked.kind, linked.when, rank, before + linked.shown)

    @staticmethod
    def without_row(kind: int, who: Integers, when: Integers) -> _Events:
        n = len(who)
        return _Events(who, np.full(n, kind), when, np.zeros(n, np.int64), np.full(n, -1))


class _Found(NamedTuple):
    """Changes in any order: rows, query ids, signs, times told, reasons, and what sorts them."""

    row: Integers
    ids: pa.Array
    signs: npt.NDArray[np.int8]
    times: Integers
    reasons: Integers
    when: Integers
    kind: Integers
    place: Integers


class _Ends(NamedTuple):
    """Answers that end: the object's row then, the time that is told, the query, and whether it
    ends before the rows of that time."""

    rows: Integers
    when: Integers
    ids: pa.Array
    is_before: npt.NDArray[np.bool_]


class Batch:
    """One batch on its way through a tracker, of which only the mover is touched."""

    def __init__(self, known: Known, batch: pa.Table, others: pa.Table, span: Span | None):
        self._known, self._stream = known, known.stream
        self.newest, self.births = known.newest, dict(known.births)
        if span is not None:
            if self.newest is None:
                # Lives that had no beginning yet begin with the stream's first row.
                self.births = dict.fromkeys(self.births, span.oldest)
            self.newest = span.newest if self.newest is None else max(span.newest, self.newest)
        self._own = self._linked(known.objects, batch)
        self._columns = Columns(self._own.rows, self._stream)
        self.late = self._own.late
        self.too_fast = self._too_fast()
        self._over = self._lives_over()
        self._other = self._linked(known.others, others)
        own = self._own
        flips = self._living(known.watcher.flips(self._columns, own.moves))
        ends = self._ends(flips)
        kept = np.ones(len(own.kept), np.bool_)
        self.held = kept.astype(np.int64)
        if self._stream.retention is not None:
            self.held = self._held_after(flips, ends.rows)
            kept = self.held > 0
        # Where moves count one by one, all are told in that order.
        found = []
        if known.mover is not None:
            found = [self._moved(known.mover, flips, ends)]
            kept = self._settled(known.mover)
        self.changes = self._told([self._flipped(flips, ends), *found])
        self.births = {name: b for name, b in self.births.items() if name not in self._over}
        self.held = self.held[kept]
        self.let_go = own.rows.take(pa.array(own.kept[~kept]))
        self.came = self._newcomers(kept)
        self.objects = own.rows.take(pa.array(own.kept[kept]))
        self.others = self._other.rows.take(pa.array(self._other.kept))

    def _newcomers(self, kept: npt.NDArray[np.bool_]) -> pa.Array:
        """The kept objects that were not known before this batch. Object shedding may refuse them;
        the result is empty for a stream that does not shed objects, because nobody reads it."""
        own, retention = self._own, self._stream.retention
        if retention is None or retention.sheds is not Shed.OBJECTS:
            return own.ids[:0]
        here = own.codes[own.kept[kept]]
        return own.ids.take(pa.array(here[here >= own.known]))

    def _linked(self, objects: pa.Table, batch: pa.Table) -> Linked:
        return Linked(objects, batch, self._stream, self._known.newest, self.newest)

    def _too_fast(self) -> int:
        """Rows farther from their object's row before than it can have gone."""
        stream, (old, new) = self._stream, self._own.moves
        if stream.max_speed is None or stream.point is None:
            return 0
        moved = (old >= 0) & (new >= 0)
        old, new = old[moved], new[moved]
        points, times = places(self._columns, stream), self._own.times
        with np.errstate(over="ignore", invalid="ignore"):
            gone = np.hypot(*(points[new] - points[old]).T)
            return int(
                np.count_nonzero(gone > stream.max_speed * (times[new] - times[old]) / SECOND)
            )

    def _held_after(self, flips: QueryFlips, ended: Integers) -> Integers:
        """How many queries that a row alone decides hold each object that has not timed out."""
        own = self._own
        codes, n = own.codes, len(own.ids)
        more = np.bincount(codes[own.shown[flips.moves]], flips.signs, n).astype(np.int64)
        more -= np.bincount(codes[ended], minlength=n)
        more[: own.known] += self._known.held
        return more[codes[own.kept]]

    def _flipped(self, flips: QueryFlips, ends: _Ends) -> _Found:
        """What the queries do that a row alone decides."""
        own = self._own
        moves = flips.moves
        kind, when = own.kind[moves], own.when[moves]
        left = np.array([Reason.EXIT, Reason.EXPIRED])[kind]
        reasons = np.where(flips.signs > 0, Reason.ENTER, left)
        n = len(ends.rows)
        row = np.concatenate([own.shown[moves], ends.rows])
        when = np.concatenate([when, ends.when])
        return _Found(
            row,
            pa.concat_arrays([flips.ids, ends.ids]),
            np.concatenate([flips.signs, np.full(n, -1, np.int8)]),
            when,
            np.concatenate([reasons, np.full(n, Reason.DROPPED)]),
            when,
            np.concatenate([kind, np.full(n, END)]),
            np.concatenate([self._place[moves], np.zeros(n, np.int64)]),
        )

    @cached_property
    def _place(self) -> Integers:
        """What sorts the moves of one moment and kind."""
        own = self._own
        return own.codes[own.shown] * (len(own.ranks) + 1) + own.ranks[own.shown]

    def _told(self, found: list[_Found]) -> pa.Table:
        joined = _Found(
            *(
                pa.concat_arrays(column)
                if isinstance(column[0], pa.Array)
                else np.concatenate(column)
                for column in zip(*found, strict=True)
            )
        )
        order = _in_order(joined)
        return change_table(
            self._stream,
            self._own.rows,
            joined.row[order],
            joined.ids.take(pa.array(order)),
            joined.signs[order],
            joined.times[order],
            joined.reasons[order],
        )

    # --- queries that move or rank

    def _moved(self, mover: Mover, flips: QueryFlips, let: _Ends) -> _Found:
        """What these do: the moves of all objects, and the ends of queries, one by one."""
        own, other = self._own, self._other
        self._slots = slots = self._slots_of(mover)
        shown = _Events.of(own, slots[0]), _Events.of(other, slots[1], len(own.rows))
        ends = {mover.number(name): end for name, end in self._over.items() if name in mover}
        over = _Events.without_row(
            END, np.array(list(ends), np.int64), np.array([e.told for e in ends.values()], np.int64)
        )
        is_before = np.array([e.is_before_rows for e in ends.values()], np.bool_)
        held = np.zeros(0, np.int64)
        if self._stream.retention is not None:
            let_go = _Events.without_row(UNHOLD, slots[0][own.codes[let.rows]], let.when)
            over = _Events(*map(np.concatenate, zip(over, let_go, strict=True)))
            is_before = np.concatenate([is_before, let.is_before])
            more = np.bincount(flips.moves, flips.signs, len(own.shown)).astype(np.int64)
            held = self._padded(more, len(other.shown) + len(over.who))
        who, kind, when, rank, rows = (
            np.concatenate(column).astype(np.int64) for column in zip(*shown, over, strict=True)
        )
        n = len(over.who)
        objects = len(who) - n
        label = np.append(mover.labels(who[:objects].astype(np.int32)), who[objects:])
        turn = kind.copy()
        turn[objects:][is_before] -= BEFORE_ROWS
        order = np.lexsort((rank, label, turn, when))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self._place = place[: len(own.shown)]
        every = _joined(own.rows, other.rows) if len(other.rows) else own.rows
        shown_rows = Columns(every, self._stream).take(rows[:objects])
        mover.place_others(len(own.rows))
        bits, values = mover.ask(shown_rows)
        happened = mover.run(
            Events(
                kind[order].astype(np.int8),
                when[order],
                who[order],
                self._padded(places(shown_rows, self._stream), n)[order],
                rows[order],
                self._padded(bits, n)[order],
                self._padded(values, n)[order],
                held[order] if len(held) else held,
            ),
            every,
            self._known.newest,
        )
        return self._as_found(happened, kind[order], when[order])

    def _settled(self, mover: Mover) -> npt.NDArray[np.bool_]:
        """Which objects that have not timed out are kept; the others give back their slots."""
        (own, other), (mine, others) = (self._own, self._other), self._slots
        slots = mine[own.codes[own.kept]]
        kept = mover.is_here(slots)
        gone = [mine[own.codes[own.expired]], others[other.codes[other.expired]], slots[~kept]]
        mover.settle(slots[kept], np.concatenate(gone), others[other.codes[other.kept]])
        return kept

    @staticmethod
    def _padded(lines: npt.NDArray[Any], more: int) -> npt.NDArray[Any]:
        return np.concatenate([lines, np.zeros((more, *lines.shape[1:]), lines.dtype)])

    def _slots_of(self, mover: Mover) -> tuple[Integers, Integers]:
        """The slots of the objects of a batch by their codes, own and others'."""
        found = []
        for linked, known, mine in (
            (self._own, mover.slots, True),
            (self._other, mover.other_slots, False),
        ):
            slots = np.full(len(linked.ids), -1)
            slots[: linked.known] = known
            # Of some all rows were late.
            new = np.unique(linked.codes[linked.order])
            new = new[new >= linked.known]
            slots[new] = mover.enrol(linked.ids.take(pa.array(new)), mine)
            found.append(slots)
        return found[0], found[1]

    def _as_found(self, happened: Happened, kind: Integers, when: Integers) -> _Found:
        event, ids, signs, row, fresh = happened
        kind, when = kind[event], when[event]
        entered = np.where(fresh, Reason.REGISTERED, np.array(ENTERED)[kind])
        left = np.array(LEFT)[kind]
        newest = FIRST if self._known.newest is None else self._known.newest
        return _Found(
            row,
            ids,
            signs,
            np.where(fresh, np.maximum(when, newest), when),
            np.where(signs > 0, entered, left),
            when,
            kind,
            event,
        )

    # --- queries with a life time

    def _end_of(self, query_id: str) -> End:
        """When a living query ends."""
        birth = self.births[query_id]
        assert birth is not None
        return self._known.terms[query_id].end(birth)

    def _living(self, flips: QueryFlips) -> QueryFlips:
        """Without what queries would do after their life."""
        timed = np.flatnonzero(flips.mortal)
        if not len(timed):
            return flips
        kept = np.ones(len(flips.moves), dtype=np.bool_)
        coded = flips.ids.take(pa.array(timed)).dictionary_encode()
        names = coded.dictionary.to_pylist()
        lasts = [self._end_of(i).last if i in self.births else FIRST for i in names]
        last = np.array(lasts, dtype=np.int64)
        kept[timed] = self._own.when[flips.moves[timed]] <= last[coded.indices.to_numpy()]
        return flips.chosen(kept)

    def _lives_over(self) -> dict[str, End]:
        """The queries whose life ends in this batch, and when."""
        if self.newest is None:
            return {}
        ends = {name: self._end_of(name) for name in self.births}
        return {name: end for name, end in ends.items() if end.last < self.newest}

    def _ends(self, flips: QueryFlips) -> _Ends:
        """The objects in answers that end in this batch.

        Members are those of before the batch and what the batch's flips made of them.
        """
        over, own = self._over, self._own
        if not over:
            none = np.empty(0, np.int64)
            return _Ends(none, none, pa.array([], pa.string()), none.astype(np.bool_))
        names = list(over)
        numbers = {name: k for k, name in enumerate(names)}
        wanted = pa.array(names, pa.string())
        mine = self._columns.take(np.arange(own.known))
        rows, queries = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for base in self._known.watcher.among(names):
            found, which = members(base, mine)
            rows.append(found)
            ids = base.plan.ids.take(pa.array(which)).to_pylist()
            queries.append(np.array([numbers[i] for i in ids], dtype=np.int64))
        chosen = np.flatnonzero(pc.is_in(flips.ids, wanted).to_numpy(zero_copy_only=False))
        moves = flips.moves[chosen]
        changed = own.shown[moves]
        started = np.concatenate(rows)
        code = np.concatenate([own.codes[started], own.codes[changed]])
        which = np.concatenate(
            [*queries, pc.index_in(flips.ids.take(pa.array(chosen)), wanted).to_numpy()]
        ).astype(np.int64)
        when = np.concatenate([np.full(len(started), FIRST), own.when[moves]])
        kind = np.concatenate([np.zeros(len(started), np.int64), own.kind[moves]])
        place = own.ranks[np.concatenate([started, changed])]
        sign = np.concatenate([np.ones(len(started), np.int8), flips.signs[chosen]])
        # The last of each object and query, in the order of events, tells who is a member.
        order = np.lexsort((sign, place, kind, when, which, code))
        key = code[order] * len(names) + which[order]
        last = np.append(key[1:] != key[:-1], True)[: len(order)]
        inside = order[last & (sign[order] > 0)]
        last, told = np.array([over[name] for name in names], dtype=np.int64)[which[inside]].T
        return _Ends(
            self._row_at(code[inside], last),
            told,
            wanted.take(pa.array(which[inside])),
            last < told,
        )

    def _row_at(self, codes: Integers, moments: Integers) -> Integers:
        """Each object's latest row at a moment."""
        order = self._own.order
        own = self._own.codes[order]
        ranks, place = np.unique(self._own.times[order], return_inverse=True)
        width = len(ranks) + 1
        keys = own * width + place
        upto = np.searchsorted(ranks, moments, side="right")
        found = np.searchsorted(keys, codes * width + upto) - 1
        inside = (found >= 0) & (own[np.maximum(found, 0)] == codes) if len(own) else found >= 0
        return np.where(inside, order[np.maximum(found, 0)] if len(order) else -1, codes)


def _in_order(found: _Found) -> Integers:
    """By time, kind, place and sign. Where most moments have one move alone, that is by time and
    sign with some exceptions: these are sorted again."""
    order = np.concatenate([np.flatnonzero(found.signs < 0), np.flatnonzero(found.signs > 0)])
    order = order[stable_order(found.when[order])]
    when, kind, place, sign = (
        column[order] for column in (found.when, found.kind, found.place, found.signs)
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


def back(times: Any, interval: int) -> Any:
    """So much earlier, but not before the first moment there is."""
    return np.maximum(times, FIRST + interval) - interval


def _joined(objects: pa.Table, batch: pa.Table) -> pa.Table:
    """Both tables, each column in one piece."""
    columns = [
        pa.concat_arrays([pa.array([], a.type), *a.chunks, *b.chunks])
        for a, b in zip(objects.columns, batch.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=batch.schema)
