"""The tracker: one shard's objects, and the changes that rows and catalog versions cause.

Invariant (I1): after every row, replaying the changes gives each query's true answer. The state is
the latest row of each object, the stream's newest time, the catalog version, when queries with a
life time began, and which moving queries have not started; answers are not kept, since the latest
rows decide them.

A batch is one pass of columns: rows are put in order, each becomes a *move* from the object's row
before it, time-outs become moves to nowhere, and the watcher says which queries a move enters and
leaves. Queries that move with an object or rank by distance see the same moves one by one, in the
order of time: the mover tells what they do. Cost: the rows, what they cross, and one copy of the
objects.

A tracker may be one of several parts. Then it has its own objects, and of the others only those
that some query moves with; and it tells of nearest neighbours what a merge of all parts needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline import sql
from watchline.catalog import Catalog
from watchline.errors import InvalidQuery, InvalidState, UnknownVersion
from watchline.evaluate import Columns
from watchline.matching import Base
from watchline.model import Stream
from watchline.moving.events import Events
from watchline.moving.queries import Moving
from watchline.tracking import blob as blobs
from watchline.tracking.flips import Moves
from watchline.tracking.mover import Happened, Mover, places
from watchline.tracking.rows import TIME, Rejects, accepted, arrow_type, sequence, times_of
from watchline.tracking.rows import row_schema as schema_of_rows
from watchline.tracking.watcher import STEPS, QueryFlips, Step, Watcher, members

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

OWN = ("query_id", "sign", "object_id", "time", "reason")
REASONS = ("enter", "exit", "registered", "dropped", "expired", "shed")
_ENTER, _EXIT, _REGISTERED, _DROPPED, _EXPIRED, _SHED = range(len(REASONS))
# At one moment rows come first, then objects that time out, then queries whose life is over.
_ROW, _TIMEOUT, _END = range(3)
# The first and the last moment there is.
_FIRST, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
# A query that waits for all its focal objects.
_ALL = 3


class Span(NamedTuple):
    """The oldest and the newest time of the accepted rows of a batch, in all shards."""

    oldest: int
    newest: int


def change_schema(stream: Stream) -> pa.Schema:
    """The columns of a change: our own, then the declared attributes."""
    taken = [a.name for a in stream.attributes if a.name in OWN]
    if taken:
        raise InvalidQuery(
            f"attribute {taken[0]!r} of stream {stream.name!r} is in the way of the result's own"
            " column: declare it by another name"
        )
    own = [pa.string(), pa.int8(), arrow_type(stream.attribute(stream.object)), TIME, pa.string()]
    return pa.schema([*zip(OWN, own, strict=True), *schema_of_rows(stream)])


class Tracker:
    """Follows one stream of a catalog; `version` is the one to start from, the newest if None."""

    def __init__(self, catalog: Catalog, stream: str, version: int | None = None):
        self._start(Watcher(catalog, stream, version), catalog.identity, 1)

    @classmethod
    def over(cls, watcher: Watcher, identity: str, parts: int = 1) -> Tracker:
        """A tracker whose queries are kept elsewhere, and shared; one of so many parts."""
        tracker = cls.__new__(cls)
        tracker._start(watcher, identity, parts)
        return tracker

    def follow(self, watcher: Watcher) -> None:
        """Take the queries from another watcher, at this version or ahead of it."""
        self._watcher = watcher

    def _start(self, watcher: Watcher, identity: str, parts: int) -> None:
        self._watcher, self.identity, self._parts = watcher, identity, parts
        self.version = watcher.version
        self._counts: Counter[str] = Counter()
        self._rejects: Rejects = Counter()
        self._forget(watcher.stream)
        self._births: dict[str, int | None] = dict.fromkeys(watcher.timed())
        self._lifetimes = watcher.timed()
        # Every moving query waits for its focal objects.
        self._waiting = {
            name: (_ALL, _FIRST)
            for moving in watcher.moving(self.version)
            for name in moving.ids.to_pylist()
        }

    def _forget(self, stream: Stream) -> None:
        """No objects of this stream, and nothing seen."""
        self.stream = stream
        self._schema = change_schema(self.stream)
        self._objects = self._others = schema_of_rows(self.stream).empty_table()
        self._newest: int | None = None
        self._mover: Mover | None = None
        self._waiting: dict[str, tuple[int, int]] = {}

    def _moving(self) -> Mover | None:
        """The mover, if there is a query for it."""
        if self._mover is None and self.stream.point is not None:
            queries = self._watcher.moving(self.version)
            if any(map(len, queries)):
                self._mover = Mover.over(
                    self.stream,
                    self._parts,
                    (self._alive(moving) for moving in queries),
                    self._waiting,
                    self._objects,
                    self._others,
                )
        return self._mover

    def _alive(self, queries: Moving) -> Moving:
        """Without those whose life is over."""
        over = [
            name in self._lifetimes and name not in self._births for name in queries.ids.to_pylist()
        ]
        return queries.take(np.flatnonzero(~np.array(over, dtype=np.bool_)))

    def __len__(self) -> int:
        return int(self._objects.num_rows)

    @property
    def newest(self) -> int | None:
        """The newest time seen, in microseconds."""
        return self._newest

    # --- rows

    def process(
        self,
        rows: pa.Table | pa.RecordBatch,
        span: Span | None = None,
        foreign: pa.Table | None = None,
    ) -> pa.Table:
        """The changes that these rows cause, in order; a row's `-` come before its `+`.

        `span` is given where other parts have rows of the same batch, and `foreign` are those of
        their rows whose objects some query moves with.
        """
        batch, rejects = accepted(rows, self.stream, self._watcher.used())
        times = times_of(batch, self.stream)
        if span is None:
            span = Span(int(times.min()), int(times.max())) if len(times) else None
        try:
            done = _Batch(self, batch, foreign, span)
        except BaseException:
            # The mover may have seen a part of the batch: it is built again when it is needed.
            self._mover = None
            raise
        self._rejects += rejects
        self._counts["rows"] += rows.num_rows
        self._counts["rejected"] += rejects.total()
        self._counts["late"] += done.late
        self._objects, self._others, self._newest = done.objects, done.others, done.newest
        self._births = done.births
        if self._mover is not None:
            self._waiting = self._mover.waiting()
        return self._told(done.changes)

    def no_rows(self) -> pa.Table:
        return schema_of_rows(self.stream).empty_table()

    def count_rejects(self, rejects: Rejects) -> None:
        """Rows that were rejected before they came here."""
        self._rejects += rejects
        self._counts["rows"] += rejects.total()
        self._counts["rejected"] += rejects.total()

    def _told(self, changes: pa.Table) -> pa.Table:
        signs = changes["sign"].to_numpy()
        self._counts["changes"] += len(signs)
        self._counts["answers"] += int(signs.sum(dtype=np.int64))
        return changes

    # --- versions

    def advance_to(self, version: int) -> pa.Table:
        """Follow the catalog to a version: the openings and closings that its commits cause."""
        if not isinstance(version, int):
            raise UnknownVersion(f"a version is a whole number, not {version!r}")
        if version < self.version:
            raise UnknownVersion(
                f"the tracker is at version {self.version}: it cannot go back to {version}"
            )
        if version > self._watcher.version:
            self._watcher.check(version)
        found = []
        while self.version < version:
            # Not further at once than the watcher remembers.
            part = min(version, self.version + STEPS)
            if self._watcher.version < part:
                self._watcher.advance(part)
            for step in self._watcher.steps(self.version, part):
                found.append(self._step(step))
                self.version = step.version
        # A stream that was declared anew may have other attributes.
        told = [table for table in found if table.num_rows] or [self._schema.empty_table()]
        return self._told(pa.concat_tables(told))

    def _step(self, step: Step) -> pa.Table:
        columns = Columns(self._objects, self.stream)
        living = self._births
        old = [self._members(base, columns, living) for base in step.gone]
        mover = self._moving()
        came = step.came.plan.moving
        if mover is None and len(came) and not step.reset:
            mover = self._mover = Mover.over(
                self.stream, self._parts, [], {}, self._objects, self._others
            )
        new = []
        if mover is not None:
            fresh = came.take(np.arange(0 if step.reset else len(came)))
            left, entered = mover.step(
                step.dropped, fresh, self._newest, self._objects, self._others
            )
            old.append(left)
            new.append(entered)
            self._waiting = mover.waiting()
        for query_id in step.dropped:
            self._births.pop(query_id, None)
            self._lifetimes.pop(query_id, None)
        if step.reset:
            changes = self._opened(old, [])
            self._forget(step.came.stream)
            self._waiting = dict.fromkeys(came.ids.to_pylist(), (_ALL, _FIRST))
        plan = step.came.plan
        numbers = np.flatnonzero(plan.lifetime > 0)
        ids = plan.ids.take(pa.array(numbers)).to_pylist()
        self._births.update(dict.fromkeys(ids, self._newest))
        self._lifetimes.update(zip(ids, plan.lifetime[numbers].tolist(), strict=True))
        if step.reset:
            return changes
        return self._opened(old, [self._members(step.came, columns, None), *new])

    def _members(
        self, base: Base, columns: Columns, births: dict[str, int | None] | None
    ) -> tuple[Integers, pa.Array]:
        """The objects in the answers of these queries, but for those whose life is over."""
        rows, queries = members(base, columns)
        ids = base.plan.ids.take(pa.array(queries))
        if births is not None and (base.plan.lifetime[queries] > 0).any():
            over = pa.array(list(self._ended(base, births)), pa.string())
            kept = ~pc.is_in(ids, over).to_numpy(zero_copy_only=False)
            rows, ids = rows[kept], ids.filter(pa.array(kept))
        return rows, ids

    def _ended(self, base: Base, births: dict[str, int | None]) -> Iterable[str]:
        numbers = np.flatnonzero(base.plan.lifetime > 0)
        ids = base.plan.ids.take(pa.array(numbers)).to_pylist()
        return (query_id for query_id in ids if query_id not in births)

    def _opened(
        self,
        old: Sequence[tuple[Integers, pa.Array]],
        new: Sequence[tuple[Integers, pa.Array]],
    ) -> pa.Table:
        """The difference of two sets of answers; a query that was replaced changes by it alone."""
        sides = []
        for pairs in (old, new):
            rows = np.concatenate([np.empty(0, np.int64), *(r for r, _ in pairs)])
            sides.append(
                (rows, pa.concat_arrays([pa.array([], pa.string()), *(i for _, i in pairs)]))
            )
        (old_rows, old_ids), (new_rows, new_ids) = sides
        coded = pa.concat_arrays([old_ids, new_ids]).dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int64)
        count = max(len(coded.dictionary), 1)
        keys_old = old_rows * count + codes[: len(old_rows)]
        keys_new = new_rows * count + codes[len(old_rows) :]
        left = np.setdiff1d(keys_old, keys_new, assume_unique=True)
        entered = np.setdiff1d(keys_new, keys_old, assume_unique=True)
        keys = np.concatenate([left, entered])
        signs = np.repeat(np.array([-1, 1], np.int8), [len(left), len(entered)])
        reasons = np.repeat([_DROPPED, _REGISTERED], [len(left), len(entered)])
        times = np.full(len(keys), self._newest or 0)
        ids = coded.dictionary.take(pa.array(keys % count))
        return self._changes(self._objects, keys // count, ids, signs, times, reasons)

    def _changes(
        self,
        rows: pa.Table,
        places: Integers,
        ids: pa.Array,
        signs: npt.NDArray[np.int8],
        times: Integers,
        reasons: npt.NDArray[Any],
    ) -> pa.Table:
        attributes = rows.take(pa.array(places))
        why = pa.DictionaryArray.from_arrays(pa.array(reasons, pa.int8()), pa.array(REASONS))
        own = [
            ids,
            pa.array(signs, pa.int8()),
            attributes[self.stream.object],
            pa.array(times).cast(pa.timestamp("us")).cast(TIME),
            why.cast(pa.string()),
        ]
        return pa.Table.from_arrays([*own, *attributes.columns], schema=self._schema)

    # --- state

    def snapshot(self) -> bytes:
        """The state as bytes, for `restore`."""
        head = {
            "stream": repr(self.stream),
            "catalog": self.identity,
            "version": self.version,
            "newest": self._newest,
            "births": self._births,
            "waiting": self._waiting,
            "others": self._others.num_rows,
            "counts": dict(self._counts),
            "rejects": dict(self._rejects),
        }
        return blobs.pack(head, pa.concat_tables([self._objects, self._others]))

    @classmethod
    def restore(cls, catalog: Catalog, stream: str, blob: bytes) -> Tracker:
        """The tracker whose snapshot this is, of the same catalog and stream."""
        saved = Saved.of(blob, catalog.identity, stream)
        return cls.resume(Watcher(catalog, stream, saved.head["version"]), saved)

    @classmethod
    def resume(cls, watcher: Watcher, saved: Saved, parts: int = 1) -> Tracker:
        """As `restore`, with queries that are kept elsewhere; these may be ahead of the state."""
        head = saved.head
        tracker = cls.__new__(cls)
        tracker._start(watcher, head["catalog"], parts)
        # Where the stream was declared anew since then, the objects are of the stream as it was.
        tracker._forget(saved.stream)
        tracker.version, tracker._newest = head["version"], head["newest"]
        tracker._births = head["births"]
        tracker._waiting = {name: (bits, since) for name, (bits, since) in head["waiting"].items()}
        tracker._counts = Counter(head["counts"])
        tracker._rejects = Counter(head["rejects"])
        own = saved.objects.num_rows - head["others"]
        tracker._objects, tracker._others = saved.objects.slice(0, own), saved.objects.slice(own)
        return tracker

    def stats(self) -> dict[str, Any]:
        """What the tracker holds and has counted since it began."""
        counts = {name: self._counts[name] for name in ("rows", "changes", "late", "rejected")}
        return {
            "version": self.version,
            "newest": self._newest,
            "objects": len(self),
            "answers": self._counts["answers"],
            **counts,
            "rejected_by": dict(self._rejects),
            "shed": 0,
            "accuracy": 1.0,
            "bytes": self._objects.nbytes,
        }


class Saved(NamedTuple):
    """A snapshot that was read and found to be of a catalog and stream."""

    head: dict[str, Any]
    stream: Stream
    objects: pa.Table

    @staticmethod
    def of(blob: bytes, identity: str, stream: str) -> Saved:
        head, objects = blobs.unpack(blob)
        if head["catalog"] != identity:
            raise InvalidState(
                "the state belongs to another catalog: name that one, or start with a new"
                " checkpoint"
            )
        statement = sql.statement(head["stream"])
        assert isinstance(statement, sql.CreateStream)
        if statement.stream.name != stream:
            raise InvalidState(
                f"the state belongs to stream {statement.stream.name!r}, not to {stream!r}"
            )
        return Saved(head, statement.stream, objects)


class _Linked:
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
        before = np.full(len(self.ids), _FIRST)
        before[:known] = self.times[:known]
        late = times < before[mine]
        if self._timeout is not None and newest is not None:
            late |= times < _back(newest, self._timeout)
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
            gap = (before >= 0) & (times[before] < _back(times[order], self._timeout))
            if newest is not None:
                over = times[latest] < _back(newest, self._timeout)
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
        self.kind = np.repeat([_ROW, _TIMEOUT], [len(order), len(gone)])


class _Events(NamedTuple):
    """Who, what kind, when, the rank among its object's rows, and the row."""

    who: Integers
    kind: Integers
    when: Integers
    rank: Integers
    row: Integers

    @staticmethod
    def of(linked: _Linked, slots: Integers, before: int = 0) -> _Events:
        """The moves of objects that have these slots by their codes."""
        who = slots[linked.codes[linked.shown]]
        rank = linked.ranks[linked.shown]
        return _Events(who, linked.kind, linked.when, rank, before + linked.shown)

    @staticmethod
    def of_ends(ends: dict[int, int]) -> _Events:
        n = len(ends)
        who, when = np.array(list(ends), np.int64), np.array(list(ends.values()), np.int64)
        return _Events(who, np.full(n, _END), when, np.zeros(n, np.int64), np.full(n, -1))


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


class _Batch:
    """One batch on its way through a tracker, of which only the mover is touched."""

    def __init__(
        self, tracker: Tracker, batch: pa.Table, foreign: pa.Table | None, span: Span | None
    ):
        self._tracker = tracker
        self._stream = tracker.stream
        self.newest, self.births = tracker._newest, dict(tracker._births)
        if span is not None:
            if self.newest is None:
                # Lives that had no beginning yet begin with the stream's first row.
                self.births = dict.fromkeys(self.births, span.oldest)
            self.newest = span.newest if self.newest is None else max(span.newest, self.newest)
        self._own = self._linked(tracker._objects, batch)
        self._columns = Columns(self._own.rows, self._stream)
        self.late = self._own.late
        self._over = self._lives_over()
        mover = tracker._moving()
        nothing = tracker._others.slice(0, 0)
        self._other = self._linked(tracker._others, nothing if foreign is None else foreign)
        # Where moves count one by one, all are told in that order.
        found = [] if mover is None else [self._moved(mover)]
        self.changes = self._told([self._flipped(), *found])
        self.births = {name: b for name, b in self.births.items() if name not in self._over}
        self.objects = self._own.rows.take(pa.array(self._own.kept))
        self.others = self._other.rows.take(pa.array(self._other.kept))

    def _linked(self, objects: pa.Table, batch: pa.Table) -> _Linked:
        return _Linked(objects, batch, self._stream, self._tracker._newest, self.newest)

    def _flipped(self) -> _Found:
        """What the queries do that a row alone decides."""
        own = self._own
        flips = self._living(self._tracker._watcher.flips(self._columns, own.moves))
        moves = flips.moves
        kind, when = own.kind[moves], own.when[moves]
        reasons = np.where(kind == _TIMEOUT, _EXPIRED, np.where(flips.signs > 0, _ENTER, _EXIT))
        ended, ends, end_ids = self._ends(flips)
        n = len(ended)
        row, when = np.concatenate([own.shown[moves], ended]), np.concatenate([when, ends])
        return _Found(
            row,
            pa.concat_arrays([flips.ids, end_ids]),
            np.concatenate([flips.signs, np.full(n, -1, np.int8)]),
            when,
            np.concatenate([reasons, np.full(n, _DROPPED)]),
            when,
            np.concatenate([kind, np.full(n, _END)]),
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
        order = np.lexsort((joined.signs, joined.place, joined.kind, joined.when))
        return self._tracker._changes(
            self._own.rows,
            joined.row[order],
            joined.ids.take(pa.array(order)),
            joined.signs[order],
            joined.times[order],
            joined.reasons[order],
        )

    # --- queries that move or rank

    def _moved(self, mover: Mover) -> _Found:
        """What these do: the moves of all objects, and the ends of queries, one by one."""
        own, other = self._own, self._other
        slots = self._slots(mover)
        if mover.is_stale:
            # Names came for which there was no label: all have others now.
            self._tracker._mover = None
            mover = self._tracker._moving()  # type: ignore[assignment]
            slots = self._slots(mover)
        shown = _Events.of(own, slots[0]), _Events.of(other, slots[1], len(own.rows))
        ends = {mover.number(name): end for name, end in self._over.items() if name in mover}
        who, kind, when, rank, rows = (
            np.concatenate(column).astype(np.int64)
            for column in zip(*shown, _Events.of_ends(ends), strict=True)
        )
        objects = len(who) - len(ends)
        label = np.append(mover.labels(who[:objects]), who[objects:])
        order = np.lexsort((rank, label, kind, when))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self._place = place[: len(own.shown)]
        happened = mover.run(
            Events(
                kind[order].astype(np.int8),
                when[order],
                who[order],
                self._padded(places(self._shown, self._stream), len(ends))[order],
                rows[order],
                self._padded(mover.bits(self._shown), len(ends))[order],
            )
        )
        mover.settle(
            slots[0][own.codes[own.kept]],
            np.concatenate(
                [slots[0][own.codes[own.expired]], slots[1][other.codes[other.expired]]]
            ),
            slots[1][other.codes[other.kept]],
        )
        return self._as_found(happened, kind[order], when[order])

    @cached_property
    def _shown(self) -> Columns:
        """The rows of all moves, own and others'."""
        own, other = self._own, self._other
        rows = _joined(own.rows, other.rows) if len(other.rows) else own.rows
        places = np.concatenate([own.shown, len(own.rows) + other.shown])
        return Columns(rows, self._stream).take(places)

    @staticmethod
    def _padded(lines: npt.NDArray[Any], more: int) -> npt.NDArray[Any]:
        return np.concatenate([lines, np.zeros((more, *lines.shape[1:]), lines.dtype)])

    def _slots(self, mover: Mover) -> tuple[Integers, Integers]:
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
        chosen = np.flatnonzero(~happened.shared)
        event, signs, fresh = (
            column[chosen] for column in (happened.event, happened.what, happened.fresh)
        )
        kind, when = kind[event], when[event]
        entered = np.where(fresh, _REGISTERED, _ENTER)
        left = np.array([_EXIT, _EXPIRED, _DROPPED])[kind]
        newest = _FIRST if self._tracker._newest is None else self._tracker._newest
        return _Found(
            happened.row[chosen],
            happened.ids.take(pa.array(chosen)),
            signs,
            np.where(fresh, np.maximum(when, newest), when),
            np.where(signs > 0, entered, left),
            when,
            kind,
            event,
        )

    # --- queries with a life time

    def _end_of(self, query_id: str) -> int | None:
        """When the query's life is over; None if that is so already."""
        if query_id not in self.births:
            return None
        birth = self.births[query_id]
        assert birth is not None
        return min(birth + self._tracker._lifetimes[query_id], _LAST)

    def _living(self, flips: QueryFlips) -> QueryFlips:
        """Without what queries would do after their life."""
        timed = np.flatnonzero(flips.lifetimes > 0)
        if not len(timed):
            return flips
        kept = np.ones(len(flips.moves), dtype=np.bool_)
        coded = flips.ids.take(pa.array(timed)).dictionary_encode()
        ends = [self._end_of(i) for i in coded.dictionary.to_pylist()]
        end = np.array([_FIRST if e is None else e for e in ends], dtype=np.int64)
        kept[timed] = self._own.when[flips.moves[timed]] <= end[coded.indices.to_numpy()]
        chosen = pa.array(np.flatnonzero(kept))
        return QueryFlips(
            flips.moves[kept], flips.ids.take(chosen), flips.signs[kept], flips.lifetimes[kept]
        )

    def _lives_over(self) -> dict[str, int]:
        """The queries whose life ends in this batch, and when."""
        if self.newest is None:
            return {}
        ends = {name: self._end_of(name) for name in self.births}
        return {name: end for name, end in ends.items() if end is not None and end < self.newest}

    def _ends(self, flips: QueryFlips) -> tuple[Integers, Integers, pa.Array]:
        """The objects in answers that end in this batch: their rows then, the end, the query.

        Members are those of before the batch and what the batch's flips made of them.
        """
        over, own = self._over, self._own
        if not over:
            return np.empty(0, np.int64), np.empty(0, np.int64), pa.array([], pa.string())
        names = list(over)
        numbers = {name: k for k, name in enumerate(names)}
        wanted = pa.array(names, pa.string())
        mine = self._columns.take(np.arange(own.known))
        rows, queries = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for base in self._tracker._watcher.among(names):
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
        when = np.concatenate([np.full(len(started), _FIRST), own.when[moves]])
        kind = np.concatenate([np.zeros(len(started), np.int64), own.kind[moves]])
        place = own.ranks[np.concatenate([started, changed])]
        sign = np.concatenate([np.ones(len(started), np.int8), flips.signs[chosen]])
        # The last of each object and query, in the order of events, tells who is a member.
        order = np.lexsort((sign, place, kind, when, which, code))
        key = code[order] * len(names) + which[order]
        last = np.append(key[1:] != key[:-1], True)[: len(order)]
        inside = order[last & (sign[order] > 0)]
        ends_at = np.array([over[name] for name in names], dtype=np.int64)[which[inside]]
        return (
            self._row_at(code[inside], ends_at),
            ends_at,
            wanted.take(pa.array(which[inside])),
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


def _back(times: Any, interval: int) -> Any:
    """So much earlier, but not before the first moment there is."""
    return np.maximum(times, _FIRST + interval) - interval


def _joined(objects: pa.Table, batch: pa.Table) -> pa.Table:
    """Both tables, each column in one piece."""
    columns = [
        pa.concat_arrays([pa.array([], a.type), *a.chunks, *b.chunks])
        for a, b in zip(objects.columns, batch.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=batch.schema)
