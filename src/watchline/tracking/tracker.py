"""The tracker: one shard's objects, and the changes that rows and catalog versions cause.

Invariant (I1): after every row, replaying the changes gives each query's true answer. The state is
the latest row of each object, the stream's newest time, the catalog version, when queries with a
life time began, and which moving queries have not started; answers are not kept, since the latest
rows decide them.

A batch is one pass of columns: rows are put in order, each becomes a *move* from the object's row
before it, time-outs become moves to nowhere, and the queries say which of them a move enters and
leaves. Queries that move with an object or rank by distance see the same moves one by one, in the
order of time. Cost: the rows and what they cross, however many objects are known.

A tracker may be one of several parts. Then it has its own objects, and of the others only those
that some query moves with; and of nearest neighbours it gives a timeline, which a merge of all
parts needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pyarrow as pa

from watchline.catalog import Call, CatalogLike, opened_catalog, warn_unanswered
from watchline.clock import Clock, checked_clock, micros_now
from watchline.errors import UnknownVersion
from watchline.kernels.arrays import Doubles, Integers, read_only
from watchline.model import Emit, Keep, Stream
from watchline.rows import (
    AcceptedRows,
    Columns,
    Rejects,
    Rows,
    accepted,
    change_schema,
    extent,
    times_of,
)
from watchline.rows import blob as blobs
from watchline.tracking.answers import Answers
from watchline.tracking.batch import ProcessedBatch, TimeSpan
from watchline.tracking.memberships import Memberships
from watchline.tracking.objects import Objects
from watchline.tracking.proximity import ProximityQueries
from watchline.tracking.queries import STEPS, ChangeQueries, Step
from watchline.tracking.retention.object_retention import ObjectRetention
from watchline.tracking.saved import Saved, TouchedState
from watchline.tracking.timeline.format import Timeline
from watchline.tracking.timeline.sent import SentTimelines
from watchline.tracking.tracked_queries import TrackedQueries

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Keeping(TypedDict, total=False):
    """What `Keep` takes."""

    retain: str | None
    cache: float | None
    max_objects: int | None
    max_bytes: int | None
    shed: str | None


COUNTED = ("rows", "changes", "late", "rejected", "shed", "over_limit", "too_fast", "forgotten")


class Tracker:
    """Follows one stream of a catalog; `version` is the one to start from, the newest if None.

    `catalog` is a Catalog, its path, or SQL statements. Which objects are kept is as the stream
    declares it, unless it is said here: see `Keep`. Rows from the future (the stream's MAX AHEAD)
    are rejected by the machine's clock, or by `clock`, a function that gives a datetime; it is
    asked once in each call of `process`. Queries of the stream that do not emit changes are not
    answered: an `UnansweredWarning` names them.
    """

    # None where the rows were checked before they came here.
    _clock: Clock | None
    # What each delta of the state touched that the tracker was made from.
    replayed: list[TouchedState]
    # The timelines that this part of the stream has sent; who sends them counts them here.
    sent: SentTimelines

    def __init__(
        self,
        catalog: CatalogLike,
        stream: str,
        version: int | None = None,
        *,
        clock: Clock | None = None,
        **keep: Unpack[Keeping],
    ):
        kept = Keep.from_arguments(keep, "wl.Tracker", "version", "clock")
        opened = opened_catalog(catalog)
        self._start(ChangeQueries(opened, stream, version), opened.identity, 1, kept)
        self._clock = checked_clock(clock)
        call = Call.of(Emit.CHANGES, stream)
        warn_unanswered(opened.queries(self.version), call, "wl.Tracker")

    @classmethod
    def over(
        cls, queries: ChangeQueries, identity: str, parts: int = 1, keep: Keep | None = None
    ) -> Tracker:
        """A tracker whose queries are kept elsewhere, and shared; one of so many parts.

        Whoever deals rows to the parts has checked that they are not of the future.
        """
        tracker = cls.__new__(cls)
        tracker._start(queries, identity, parts, keep or Keep())
        return tracker

    def follow(self, queries: ChangeQueries) -> None:
        """Take the queries from elsewhere, at this version or ahead of it."""
        self._queries.follow(queries)

    def _start(self, queries: ChangeQueries, identity: str, parts: int, keep: Keep) -> None:
        self.identity, self._keep = identity, keep
        self._clock = None
        self._counts: Counter[str] = Counter()
        self._rejects: Rejects = Counter()
        self._early: Timeline | None = None
        self.replayed = []
        self._objects = Objects(keep.of(queries.stream))
        self._queries = TrackedQueries(queries)
        self.sent = SentTimelines.of_new(parts)
        self._proximity = ProximityQueries(self._objects, self._queries, self.sent)
        self._answers = Answers(self._objects, self._queries, self._proximity)
        self._retention = ObjectRetention(self._answers, self._counts)
        self._schema = change_schema(self.stream)
        if queries.ask_speed():
            self._objects.keep_speeds()

    def _forget(self, stream: Stream) -> None:
        """No objects of this stream, and nothing seen."""
        self._objects.clear(self._keep.of(stream))
        self._schema = change_schema(self.stream)
        self._proximity.discard()
        self._retention.clear()

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def version(self) -> int:
        """The catalog's version whose queries are answered."""
        return self._queries.version

    @property
    def stream(self) -> Stream:
        """The stream as it is declared at this version, with the retention of this tracker."""
        return self._objects.stream

    @property
    def newest(self) -> int | None:
        """The newest time seen, in microseconds."""
        return self._objects.newest

    # --- rows

    def process(
        self,
        rows: Rows,
        span: TimeSpan | None = None,
        foreign: AcceptedRows | pa.Table | None = None,
    ) -> pa.Table:
        """The changes that these rows cause, in order; a row's `-` come before its `+`.

        Rows of a plain table are checked; `AcceptedRows` were checked. `span` is given where other
        parts have rows of the same batch, and `foreign` are those of their rows whose objects some
        query moves with: the other parts check them.
        """
        self._count_holders()
        now = None if self._clock is None else micros_now(self._clock)
        good, rejects = accepted(rows, self.stream, self._queries.shared.used(), now)
        if span is None:
            span = _span_of(good)
        others = self._others(foreign)
        if self._retention.is_idle:
            changes = self._committed(self._processed(good.columns, others, span))
        else:
            changes = self._retained(good.table, others, span)
        self._rejects += rejects
        self._counts["rows"] += rows.num_rows
        self._counts["rejected"] += rejects.total()
        return self._counted(changes)

    def _committed(self, done: ProcessedBatch) -> pa.Table:
        """Take over what a batch did: its changes."""
        done.commit()
        self._proximity.note_waiting()
        self._counts["too_fast"] += done.too_fast
        self._counts["late"] += done.late
        return done.changes

    def _retained(self, rows: pa.Table, others: pa.Table, span: TimeSpan | None) -> pa.Table:
        """The changes of a batch where some objects may not be kept."""
        batch, reports = self._retention.set_aside(rows)
        given_up = self._retention.given_up
        shadows, batch, late = given_up.shadows.met(batch, self.stream)
        before = self.newest
        done = self._processed(Columns(batch, self.stream), others, span)
        changes = self._committed(done)
        given_up.shadows = shadows
        self._counts["late"] += late + self._retention.hear(reports, before)
        self._retention.let_go(done.let_go)
        relief = self._retention.relieve(done.came)
        return self._retention.without_refused(changes, relief)

    def _others(self, foreign: AcceptedRows | pa.Table | None) -> pa.Table:
        if foreign is None:
            return self.no_rows()
        if not isinstance(foreign, AcceptedRows):
            foreign = AcceptedRows.trusted(foreign, self.stream)
        return foreign.of(self.stream).table

    def _count_holders(self) -> None:
        """After a restore from a state that did not count who holds objects."""
        if not self._objects.is_held_known:
            self._objects.set_held(self._answers.holders(self._objects.columns()))
            self._proximity.discard()

    def _processed(self, batch: Columns, others: pa.Table, span: TimeSpan | None) -> ProcessedBatch:
        operator = self._proximity.operator()
        try:
            return ProcessedBatch(self._objects, self._queries, operator, batch, others, span)
        except BaseException:
            # The operator may have seen a part of the batch.
            self._proximity.discard()
            raise

    def timeline(self) -> Timeline | None:
        """What nearest neighbours did since this was last asked, if there are several parts."""
        return self._proximity.timeline()

    def early(self) -> Timeline | None:
        """What they did before that, with the objects of a stream that was declared anew since."""
        early, self._early = self._early, None
        return early

    def no_rows(self) -> pa.Table:
        """A table of the stream's columns without rows."""
        return self._objects.no_rows()

    def count_rejects(self, rejects: Rejects) -> None:
        """Rows that were rejected before they came here."""
        self._rejects += rejects
        self._counts["rows"] += rejects.total()
        self._counts["rejected"] += rejects.total()

    def count_answers(self) -> None:
        """Count anew what is in answers, for `stats`: the objects were other parts' before. Of
        several parts none knows who is among the nearest neighbours of all."""
        self._proximity.operator()
        members = self._answers.members(self._objects.columns(), self._proximity.is_alone)
        self._counts["answers"] = len(members.rows)

    def _counted(self, changes: pa.Table) -> pa.Table:
        if not changes.num_rows:
            return changes
        signs = changes["sign"].to_numpy()
        self._counts["changes"] += len(signs)
        self._counts["answers"] += int(signs.sum(dtype=np.int64))
        return changes

    # --- versions

    def advance_to(self, version: int) -> pa.Table:
        """Follow the catalog to a version: the openings and closings that its commits cause."""
        if not isinstance(version, int) or isinstance(version, bool):
            raise UnknownVersion(f"a version is a whole number, not {version!r}")
        if version < self.version:
            raise UnknownVersion(
                f"the tracker is at version {self.version}: it cannot go back to {version}"
            )
        shared = self._queries.shared
        if version > shared.version:
            shared.check(version)
        tables = []
        while self.version < version:
            # Not further at once than the shared queries remember.
            part = min(version, self.version + STEPS)
            if shared.version < part:
                shared.advance(part)
            for step in shared.steps(self.version, part):
                tables.append(self._step(step))
                self._queries.reach(step.version)
        if tables:
            self._retention.look_again()
        # A stream that was declared anew may have other attributes.
        changed = [table for table in tables if table.num_rows] or [self._schema.empty_table()]
        return self._counted(pa.concat_tables(changed))

    def _step(self, step: Step) -> pa.Table:
        """The changes that one version causes."""
        lives = self._queries.lives
        gone = [self._answers.members_of(part) for part in step.gone]
        # The operator knows the queries of before.
        self._proximity.operator()
        lives.drop(step.dropped)
        if not step.reset:
            lives.begin(step.came.plan, self.newest)
            self._heed_speed(step)
        left, entered = self._proximity.step(step)
        self._retention.given_up.forgotten.drop(step.dropped)
        if step.reset:
            return self._reset(step, [*gone, *left])
        came = self._answers.members_of(step.came)
        held = None if self.stream.retention is None else self._held_after(gone, came)
        old, new, more = self._proximity.divert([*gone, *left], [*entered, came], step.came)
        self._counts["answers"] += more
        changes = self._answers.difference(old, new)
        if held is not None:
            self._retention.hold(held)
        return changes

    def _heed_speed(self, step: Step) -> None:
        """Keep the SPEED of rows from here on, if a new query asks for it. This is decided by
        versions alone: it must not depend on when a tracker sees them."""
        if step.came.asks_speed:
            self._objects.keep_speeds()

    def _held_after(self, gone: list[Memberships], came: Memberships) -> Integers:
        """How many queries hold each object, by its place, without some answers and with others."""
        table = self._objects.own
        held = table.held.copy()
        for members, more in (*((part, -1) for part in gone), (came, 1)):
            held += more * np.bincount(members.rows, minlength=len(held))
        return held[table.places()]

    def _reset(self, step: Step, old: list[Memberships]) -> pa.Table:
        """The stream was dropped or declared anew: all answers close, and no objects are left."""
        if self._proximity:
            old, _, more = self._proximity.divert(old, [], None)
            self._counts["answers"] += more
            # If it is declared anew once more, there were no objects meanwhile.
            self._early = self._early or self._proximity.timeline()
        changes = self._answers.difference(old, [])
        self._forget(step.came.stream)
        self._heed_speed(step)
        self._queries.lives.await_focals([step.came.moving])
        self._queries.lives.begin(step.came.plan, self.newest)
        return changes

    # --- state

    def snapshot(self) -> bytes:
        """The state as bytes, for `restore`."""
        head = self._head() | self._queries.lives.state()
        tables = [self._objects.every_row()]
        if self.stream.retention is not None:
            more, shadows = self._retention.packed()
            head |= more
            tables += [self._objects.held_table(), *shadows]
        return blobs.pack(head, tables)

    def _head(self) -> dict[str, Any]:
        """What a state has beside the objects and the lives of queries."""
        sent = {} if self.sent.parts == 1 else {"sent": self.sent.counts}
        return sent | {
            "stream": repr(self.stream),
            "catalog": self.identity,
            "version": self.version,
            "newest": self.newest,
            "others": len(self._objects.others),
            "counts": dict(sorted(self._counts.items())),
            "rejects": dict(sorted(self._rejects.items())),
        }

    def touched(self) -> TouchedState | None:
        """What changed since this was last called; None if only a snapshot can say."""
        objects, lives = self._objects.touched(), self._queries.lives.touched()
        if objects is None or self._retention.has_given_up:
            return None
        return TouchedState(objects, lives)

    def delta(self, touched: Sequence[TouchedState]) -> bytes:
        """What changed, as bytes: a snapshot of before, and this, are a state of now. Its size
        follows the touched objects and the queries that began, ended or started meanwhile."""
        names = frozenset[str]().union(*(of.lives for of in touched))
        head = self._head() | {"lives": self._queries.lives.changed(names)}
        if self.stream.retention is not None:
            head |= self._retention.head()
        tables = self._objects.delta([of.objects for of in touched])
        return blobs.pack(head, tables, blobs.DELTA)

    @classmethod
    def restore(
        cls,
        catalog: CatalogLike,
        stream: str,
        blob: bytes,
        *,
        clock: Clock | None = None,
        **keep: Unpack[Keeping],
    ) -> Tracker:
        """The tracker whose snapshot this is, of the same catalog and stream."""
        kept = Keep.from_arguments(keep, "wl.Tracker.restore", "clock")
        opened = opened_catalog(catalog)
        saved = Saved.of(blob, opened.identity, stream)
        queries = ChangeQueries(opened, stream, saved.head["version"])
        tracker = cls.resume(queries, saved, keep=kept)
        tracker._clock = checked_clock(clock)
        call = Call.of(Emit.CHANGES, stream)
        warn_unanswered(opened.queries(tracker.version), call, "wl.Tracker")
        return tracker

    @classmethod
    def resume(
        cls, queries: ChangeQueries, saved: Saved, parts: int = 1, keep: Keep | None = None
    ) -> Tracker:
        """As `restore`, with queries that are kept elsewhere; these may be ahead of the state."""
        tracker = cls.__new__(cls)
        tracker._start(queries, saved.head["catalog"], parts, keep or Keep())
        # Where the stream was declared anew since then, the objects are of the stream as it was.
        tracker._forget(replace(saved.stream, retention=queries.stream.retention))
        tracker._take_over(saved)
        tracker.replayed = [
            TouchedState(tracker._objects.apply(delta.tables, saved.head["newest"]), delta.lives)
            for delta in saved.deltas
        ]
        return tracker

    def _take_over(self, saved: Saved) -> None:
        head, objects = saved.head, self._objects
        self._queries.take_over(head["version"], head["births"], head["waiting"])
        self._counts.update(head["counts"])
        self._rejects.update(head["rejects"])
        # Older releases sent all candidates in each batch, and did not count.
        self.sent.counts = head.get("sent")
        objects.take_over(saved.objects, saved.others, head["newest"])
        if self.stream.retention is None:
            # All are kept: nobody asks who holds them.
            objects.is_held_known = True
        elif saved.more:
            held, *shadows = saved.more
            objects.take_over_held(held)
            self._retention.take_over(head, shadows)

    def stats(self) -> dict[str, Any]:
        """What the tracker holds and has counted since it began. `accuracies` are those of queries
        that miss something, and `least` is the least of them; where some shadows were forgotten and
        `unknown` of them may still be missed, an accuracy is the least that is possible.

        MAX OBJECTS bounds `objects`, MAX BYTES bounds `bytes`, which are of objects and shadows;
        `query_bytes` are of the queries and their indexes, which no bound covers."""
        accuracy = self._retention.accuracy
        shares = accuracy.shares()
        return {**self._summed_up(shares), "accuracies": accuracy.by_query(shares)}

    def summary(self) -> dict[str, Any]:
        """As `stats`, without the accuracy of each query: there may be very many queries."""
        return self._summed_up(self._retention.accuracy.shares())

    def _summed_up(self, accuracies: Doubles) -> dict[str, Any]:
        retention = self._retention
        shadows = retention.given_up.shadows
        return {
            "version": self.version,
            "newest": self.newest,
            "objects": len(self),
            "answers": self._counts["answers"],
            "unanswered": self._queries.shared.unanswered,
            **self.counted(),
            "shadow": shadows.total,
            "unknown": retention.given_up.forgotten.objects,
            "accuracy": retention.accuracy.overall(self._counts["answers"]),
            "least": float(accuracies.min(initial=1.0)),
            "bytes": retention.bounds.object_bytes() + shadows.nbytes,
            "query_bytes": self._queries.shared.nbytes + self._proximity.query_bytes,
        }

    def accuracies(self) -> dict[str, float]:
        """Of each query that misses objects: the part of its answer that it has. Where shadows were
        forgotten (`stats()["unknown"]`) it is the least part that is possible."""
        return self._retention.accuracy.by_query()

    def counted(self) -> dict[str, Any]:
        """The counters of this tracker's whole life, which never fall, by name; `rejected_by` has
        the rejected rows by reason. A caller takes the counts of a batch as the difference of two
        such results."""
        counts = {name: self._counts[name] for name in COUNTED}
        return {**counts, "rejected_by": dict(self._rejects)}


def _span_of(rows: AcceptedRows) -> TimeSpan | None:
    times = times_of(rows.table, rows.stream)
    return TimeSpan(*extent(read_only(times))) if len(times) else None
