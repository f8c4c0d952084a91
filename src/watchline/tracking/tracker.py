"""The tracker: one shard's objects, and the changes that rows and catalog versions cause.

Invariant (I1): after every row, replaying the changes gives each query's true answer. The state is
the latest row of each object, the stream's newest time, the catalog version, and when queries with
a life time began; answers are not kept, since the latest row decides them.

A batch is one pass of columns: rows are put in order, each becomes a *move* from the object's row
before it, time-outs become moves to nowhere, and the watcher says which queries a move enters and
leaves. Cost: the rows, what they cross, and one copy of the objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline import sql
from watchline.catalog import Catalog
from watchline.errors import InvalidState, UnknownVersion
from watchline.evaluate import Columns
from watchline.matching import Base
from watchline.model import Stream
from watchline.moving.merge import Timeline
from watchline.reasons import Reason
from watchline.tracking import blob as blobs
from watchline.tracking.changes import change_schema, change_table
from watchline.tracking.flips import Moves
from watchline.tracking.rows import Rejects, accepted, sequence, times_of
from watchline.tracking.rows import row_schema as schema_of_rows
from watchline.tracking.watcher import STEPS, QueryFlips, Step, Watcher, members

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# At one moment rows come first, then objects that time out, then queries whose life is over.
_ROW, _TIMEOUT, _END = range(3)
# The first and the last moment there is.
_FIRST, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Span(NamedTuple):
    """The oldest and the newest time of the accepted rows of a batch, in all shards."""

    oldest: int
    newest: int


class Tracker:
    """Follows one stream of a catalog; `version` is the one to start from, the newest if None."""

    def __init__(self, catalog: Catalog, stream: str, version: int | None = None):
        self._start(Watcher(catalog, stream, version), catalog.identity)

    @classmethod
    def over(cls, watcher: Watcher, identity: str, parts: int = 1) -> Tracker:
        """A tracker whose queries are kept elsewhere, and shared; it has one of `parts` shards."""
        tracker = cls.__new__(cls)
        tracker._start(watcher, identity)
        return tracker

    def follow(self, watcher: Watcher) -> None:
        """Take the queries from another watcher, at this version or ahead of it."""
        self._watcher = watcher

    def _start(self, watcher: Watcher, identity: str) -> None:
        self._watcher, self.identity = watcher, identity
        self.version = watcher.version
        self._counts: Counter[str] = Counter()
        self._rejects: Rejects = Counter()
        self._forget(watcher.stream)
        self._births: dict[str, int | None] = dict.fromkeys(watcher.timed())
        self._lifetimes = watcher.timed()

    def _forget(self, stream: Stream) -> None:
        """No objects of this stream, and nothing seen."""
        self.stream = stream
        self._schema = change_schema(self.stream)
        self._objects = schema_of_rows(self.stream).empty_table()
        self._newest: int | None = None

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

        `span` is given where other shards have rows of the same batch; `foreign` are those of
        focal objects.
        """
        batch, rejects = accepted(rows, self.stream, self._watcher.used())
        times = times_of(batch, self.stream)
        if span is None:
            span = Span(int(times.min()), int(times.max())) if len(times) else None
        done = _Batch(self, batch, times, span)
        self._rejects += rejects
        self._counts["rows"] += rows.num_rows
        self._counts["rejected"] += rejects.total()
        self._counts["late"] += done.late
        self._objects, self._newest = done.objects, done.newest
        self._births = done.births
        return self._told(done.changes)

    def timeline(self) -> Timeline | None:
        """What kNN queries did since the last call, where other shards have a part in them."""
        return None

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
        for query_id in step.dropped:
            self._births.pop(query_id, None)
            self._lifetimes.pop(query_id, None)
        if step.reset:
            changes = self._opened(old, [])
            self._forget(step.came.stream)
        plan = step.came.plan
        numbers = np.flatnonzero(plan.lifetime > 0)
        ids = plan.ids.take(pa.array(numbers)).to_pylist()
        self._births.update(dict.fromkeys(ids, self._newest))
        self._lifetimes.update(zip(ids, plan.lifetime[numbers].tolist(), strict=True))
        if step.reset:
            return changes
        return self._opened(old, [self._members(step.came, columns, None)])

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
        old: list[tuple[Integers, pa.Array]],
        new: list[tuple[Integers, pa.Array]],
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
        reasons = np.repeat([Reason.DROPPED, Reason.REGISTERED], [len(left), len(entered)])
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
        return change_table(self.stream, rows, places, ids, signs, times, reasons)

    # --- state

    def snapshot(self) -> bytes:
        """The state as bytes, for `restore`."""
        head = {
            "stream": repr(self.stream),
            "catalog": self.identity,
            "version": self.version,
            "newest": self._newest,
            "births": self._births,
            "counts": dict(self._counts),
            "rejects": dict(self._rejects),
        }
        return blobs.pack(head, self._objects)

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
        tracker._start(watcher, head["catalog"])
        # Where the stream was declared anew since then, the objects are of the stream as it was.
        tracker._forget(saved.stream)
        tracker.version, tracker._newest = head["version"], head["newest"]
        tracker._births = head["births"]
        tracker._counts = Counter(head["counts"])
        tracker._rejects = Counter(head["rejects"])
        tracker._objects = saved.objects
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
            "unanswered": self._watcher.unanswered(),
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


class _Batch:
    """One batch on its way through a tracker, which is not touched."""

    def __init__(self, tracker: Tracker, batch: pa.Table, times: Integers, span: Span | None):
        self._tracker = tracker
        self._stream = tracker.stream
        self._timeout = tracker.stream.timeout
        self._known = len(tracker)
        self.newest, self.births = tracker._newest, dict(tracker._births)
        if span is not None:
            if self.newest is None:
                # Lives that had no beginning yet begin with the stream's first row.
                self.births = dict.fromkeys(self.births, span.oldest)
            self.newest = span.newest if self.newest is None else max(span.newest, self.newest)
        self._rows = _joined(tracker._objects, batch)
        self._times = times_of(self._rows, self._stream)
        self._order = self._in_order(batch, times)
        # Rows of one object at one moment count by their attributes, not by their places.
        self._ranks = np.zeros(len(self._times), dtype=np.int64)
        self._ranks[self._order] = np.arange(1, len(self._order) + 1)
        self._link()
        self.objects = self._rows.take(pa.array(self._kept))
        self.changes = self._found()

    def _in_order(self, batch: pa.Table, times: Integers) -> Integers:
        """The batch's rows that are not late, as places among all rows, by object and time."""
        known = self._known
        ids = self._rows[self._stream.object].chunk(0)
        codes = ids.dictionary_encode().indices.to_numpy().astype(np.int64)
        self._codes = codes
        # What the tracker knows are different objects: their codes count them.
        mine = codes[known:]
        before = np.full(int(codes.max(initial=-1)) + 1, _FIRST)
        before[:known] = self._times[:known]
        late = times < before[mine]
        newest = self._tracker._newest
        if self._timeout is not None and newest is not None:
            late |= times < _back(newest, self._timeout)
        self.late = int(np.count_nonzero(late))
        chosen = np.flatnonzero(~late)
        if self.late:
            batch = batch.take(pa.array(chosen))
        order = sequence(mine[chosen], times[chosen], batch)
        return known + chosen[order]

    def _link(self) -> None:
        """Each row's row before it; which rows are their object's last; who has timed out."""
        codes, times, order = self._codes, self._times, self._order
        known = self._known
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = codes[order][1:] != codes[order][:-1]
        before = np.empty(len(order), dtype=np.int64)
        before[1:] = order[:-1]
        mine = codes[order[first]]
        before[first] = np.where(mine < known, mine, -1)
        latest = np.full(int(codes.max(initial=-1)) + 1, -1)
        latest[:known] = np.arange(known)
        # Later rows overwrite earlier ones of the same object.
        latest[codes[order]] = order
        latest = latest[latest >= 0]
        gap = np.zeros(len(order), dtype=np.bool_)
        expired = latest[:0]
        if self._timeout is not None:
            gap = (before >= 0) & (times[before] < _back(times[order], self._timeout))
            if self.newest is not None:
                over = times[latest] < _back(self.newest, self._timeout)
                expired, latest = latest[over], latest[~over]
        self._kept = latest
        gone = np.concatenate([before[gap], expired])
        none = np.full(len(gone), -1)
        self._moves = Moves(
            np.concatenate([np.where(gap, -1, before), gone]), np.concatenate([order, none])
        )
        # The row that a move is told with: the object's latest.
        self._shown = np.concatenate([order, gone])
        timeouts = times[gone] + (self._timeout or 0)
        self._when = np.concatenate([times[order], timeouts])
        self._kind = np.repeat([_ROW, _TIMEOUT], [len(order), len(gone)])

    def _found(self) -> pa.Table:
        tracker = self._tracker
        columns = Columns(self._rows, self._stream)
        flips = tracker._watcher.flips(columns, self._moves)
        flips = self._living(flips)
        moves = flips.moves
        row = self._shown[moves]
        kind, when = self._kind[moves], self._when[moves]
        reasons = np.where(
            kind == _TIMEOUT, Reason.EXPIRED, np.where(flips.signs > 0, Reason.ENTER, Reason.EXIT)
        )
        ended, ends, end_ids = self._ends(flips, columns)
        row, when = np.concatenate([row, ended]), np.concatenate([when, ends])
        kind = np.concatenate([kind, np.full(len(ended), _END)])
        reasons = np.concatenate([reasons, np.full(len(ended), Reason.DROPPED)])
        signs = np.concatenate([flips.signs, np.full(len(ended), -1, np.int8)])
        ids = pa.concat_arrays([flips.ids, end_ids])
        order = np.lexsort((signs, self._ranks[row], self._codes[row], kind, when))
        return tracker._changes(
            self._rows,
            row[order],
            ids.take(pa.array(order)),
            signs[order],
            when[order],
            reasons[order],
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
        kept[timed] = self._when[flips.moves[timed]] <= end[coded.indices.to_numpy()]
        chosen = pa.array(np.flatnonzero(kept))
        return QueryFlips(
            flips.moves[kept], flips.ids.take(chosen), flips.signs[kept], flips.lifetimes[kept]
        )

    def _ends(self, flips: QueryFlips, columns: Columns) -> tuple[Integers, Integers, pa.Array]:
        """The objects in answers that end in this batch: their rows then, the end, the query.

        Members are those of before the batch and what the batch's flips made of them.
        """
        nothing = np.empty(0, np.int64), np.empty(0, np.int64), pa.array([], pa.string())
        if self.newest is None:
            return nothing
        ends = {i: self._end_of(i) for i in self.births}
        over = {i: e for i, e in ends.items() if e is not None and e < self.newest}
        if not over:
            return nothing
        names = list(over)
        for name in names:
            del self.births[name]
        numbers = {name: k for k, name in enumerate(names)}
        wanted = pa.array(names, pa.string())
        mine = columns.take(np.arange(self._known))
        rows, queries = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for base in self._tracker._watcher.among(names):
            found, which = members(base, mine)
            rows.append(found)
            ids = base.plan.ids.take(pa.array(which)).to_pylist()
            queries.append(np.array([numbers[i] for i in ids], dtype=np.int64))
        chosen = np.flatnonzero(pc.is_in(flips.ids, wanted).to_numpy(zero_copy_only=False))
        moves = flips.moves[chosen]
        changed = self._shown[moves]
        started = np.concatenate(rows)
        code = np.concatenate([self._codes[started], self._codes[changed]])
        which = np.concatenate(
            [*queries, pc.index_in(flips.ids.take(pa.array(chosen)), wanted).to_numpy()]
        ).astype(np.int64)
        when = np.concatenate([np.full(len(started), _FIRST), self._when[moves]])
        kind = np.concatenate([np.zeros(len(started), np.int64), self._kind[moves]])
        place = self._ranks[np.concatenate([started, changed])]
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
        order = self._order
        own = self._codes[order]
        ranks, place = np.unique(self._times[order], return_inverse=True)
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
