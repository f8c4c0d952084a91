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
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.catalog import Call, CatalogLike, opened_catalog, warn_unanswered
from watchline.clock import Clock, checked_clock, micros_now
from watchline.errors import InvalidState, UnknownVersion
from watchline.evaluate import Columns
from watchline.matching import Base, Plan
from watchline.model import Emit, Keep, Stream
from watchline.moving.merge import Timeline
from watchline.moving.tables import FIRST
from watchline.tracking import blob as blobs
from watchline.tracking.batch import Batch, Known, Span
from watchline.tracking.bounded import NOBODY, Bounded
from watchline.tracking.changes import change_schema
from watchline.tracking.forgotten import Forgotten
from watchline.tracking.mover import Mover, Pairs
from watchline.tracking.rows import Rejects, accepted, declared, times_of
from watchline.tracking.rows import row_schema as schema_of_rows
from watchline.tracking.shedding import Shadows
from watchline.tracking.shrinking import WHOLE, Patience, Sizes, shrunk
from watchline.tracking.watcher import STEPS, Step, Watcher, members, terms_of

Integers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

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
# A query that waits for all its focal objects, since ever.
_ALL = (3, FIRST)


class Tracker(Bounded):
    """Follows one stream of a catalog; `version` is the one to start from, the newest if None.

    `catalog` is a Catalog, its path, or SQL statements. Which objects are kept is as the stream
    declares it, unless it is said here: see `Keep`. Rows from the future (the stream's MAX AHEAD)
    are rejected by the machine's clock, or by `clock`, a function that gives a datetime; it is
    asked once in each call of `process`. Queries of the stream that do not emit changes are not
    answered: an `UnansweredWarning` names them.
    """

    # None where the rows were checked before they came here.
    _clock: Clock | None

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
        self._start(Watcher(opened, stream, version), opened.identity, 1, kept)
        self._clock = checked_clock(clock)
        call = Call.of(Emit.CHANGES, stream)
        warn_unanswered(opened.queries(self.version), call, "wl.Tracker")

    @classmethod
    def over(
        cls, watcher: Watcher, identity: str, parts: int = 1, keep: Keep | None = None
    ) -> Tracker:
        """A tracker whose queries are kept elsewhere, and shared; one of so many parts.

        Whoever deals rows to the parts has checked that they are not of the future.
        """
        tracker = cls.__new__(cls)
        tracker._start(watcher, identity, parts, keep or Keep())
        return tracker

    def follow(self, watcher: Watcher) -> None:
        """Take the queries from another watcher, at this version or ahead of it."""
        self._watcher, self._small = watcher, None

    def _start(self, watcher: Watcher, identity: str, parts: int, keep: Keep) -> None:
        self._watcher, self.identity, self._parts = watcher, identity, parts
        self._kept_as = keep
        self._clock = None
        self.version = watcher.version
        self._counts: Counter[str] = Counter()
        self._rejects: Rejects = Counter()
        self._early: Timeline | None = None
        self._forget(watcher.stream)
        self._terms = watcher.terms(self.version)
        self._births: dict[str, int | None] = dict.fromkeys(self._terms)
        # Every moving query waits for its focal objects.
        self._waiting: dict[str, tuple[int, int]] = {
            name: _ALL for moving in watcher.moving(self.version) for name in moving.ids.to_pylist()
        }

    def _forget(self, stream: Stream) -> None:
        """No objects of this stream, and nothing seen."""
        self.stream = self._kept_as.of(stream)
        self._schema = change_schema(self.stream)
        self._objects = self._others = schema_of_rows(self.stream).empty_table()
        self._held = np.empty(0, np.int64)
        self._is_held_known = True
        self._shadows, self._forgotten = Shadows.none(stream), Forgotten()
        self._threshold, self._spared, self._visitors = 1, 0, NOBODY
        self._sizes, self._small, self._patience = WHOLE, None, Patience()
        self._missed = None
        self._newest: int | None = None
        self._mover: Mover | None = None
        self._waiting = {}

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
        if not self._is_held_known:
            self._held, self._is_held_known = self._holds(Columns(self._objects, self.stream)), True
            self._mover = None
        now = None if self._clock is None else micros_now(self._clock)
        batch, rejects = accepted(rows, self.stream, self._watcher.used(), now)
        times = times_of(batch, self.stream)
        if span is None:
            span = Span(int(times.min()), int(times.max())) if len(times) else None
        others = self.no_rows() if foreign is None else declared(foreign, self.stream)
        batch, reports = self._set_aside(batch)
        shadows, batch, late = self._shadows.met(batch, self.stream)
        before = self._newest
        try:
            done = Batch(self._known(), batch, others, span)
        except BaseException:
            # The mover may have seen a part of the batch: it is built again when it is needed.
            self._mover = None
            raise
        self._rejects += rejects
        self._counts["rows"] += rows.num_rows
        self._counts["rejected"] += rejects.total()
        self._counts["too_fast"] += done.too_fast
        self._objects, self._others, self._newest = done.objects, done.others, done.newest
        self._held = done.held
        self._births = done.births
        if self._mover is not None:
            self._waiting = self._mover.waiting()
        self._shadows = shadows
        self._counts["late"] += done.late + late + self._hear(reports, before)
        if self._sizes.step:
            self._cast_shadows(done.let_go)
        relief = self._relieve(done.came)
        return self._told(self._without_refused(done.changes, relief))

    def _known(self) -> Known:
        return Known(
            self.stream,
            self._objects,
            self._others,
            self._newest,
            self._births,
            self._terms,
            self._asked(),
            self._moving(),
            self._held,
        )

    def timeline(self) -> Timeline | None:
        """What nearest neighbours did since this was last asked, if there are several parts."""
        return None if self._mover is None else self._mover.timeline()

    def early(self) -> Timeline | None:
        """What they did before that, with the objects of a stream that was declared anew since."""
        found, self._early = self._early, None
        return found

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
        if not isinstance(version, int) or isinstance(version, bool):
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
                self.version, self._small = step.version, None
        if found:
            self._look_again()
        # A stream that was declared anew may have other attributes.
        told = [table for table in found if table.num_rows] or [self._schema.empty_table()]
        return self._told(pa.concat_tables(told))

    def _step(self, step: Step) -> pa.Table:
        columns = Columns(self._objects, self.stream)
        living = self._births
        old = [self._members(base, columns, living) for base in step.gone]
        mover = self._moving()
        for query_id in step.dropped:
            self._births.pop(query_id, None)
            self._terms.pop(query_id, None)
        if not step.reset:
            self._bear(step.came.plan)
        came = step.came.plan.moving
        if mover is None and len(came) and not step.reset:
            mover = self._mover = self._mover_of([], {})
        new = []
        if mover is not None:
            fresh = came.take(np.arange(0)) if step.reset else self._alive(came)
            left, entered = mover.step(
                step.version, step.dropped, fresh, self._newest, self._objects, self._others
            )
            old.append(left)
            new.append(entered)
            self._waiting = mover.waiting()
        self._forgotten.drop(step.dropped)
        if step.reset:
            if mover is not None:
                old, _, more = mover.divert(old, [], pa.array([], pa.string()))
                self._counts["answers"] += more
                # If it is declared anew once more, there were no objects meanwhile.
                self._early = self._early or mover.timeline()
            changes = self._opened(old, [])
            self._forget(step.came.stream)
            self._waiting = dict.fromkeys(came.ids.to_pylist(), _ALL)
            self._bear(step.came.plan)
            return changes
        new.append(self._members(step.came, columns, self._births))
        held = self._held.copy()
        for sides, more in ((old[: len(step.gone)], -1), (new[-1:], 1)):
            for pairs in sides:
                held += more * np.bincount(pairs.rows, minlength=len(held))
        if mover is not None:
            old, new, more = mover.divert(old, new, step.came.plan.ids)
            self._counts["answers"] += more
        changes = self._opened(old, new)
        self._hold(held)
        return changes

    def _bear(self, plan: Plan) -> None:
        """The lives of these queries begin, but for those whose end has passed already."""
        terms = terms_of(plan)
        self._terms |= terms
        newest = FIRST if self._newest is None else self._newest
        self._births |= {name: self._newest for name, term in terms.items() if term.until > newest}

    def _members(self, base: Base, columns: Columns, births: dict[str, int | None]) -> Pairs:
        """The objects in the answers of these queries, but for those whose life is over."""
        rows, queries = members(shrunk(base, self._sizes), columns)
        ids = base.plan.ids.take(pa.array(queries))
        if base.plan.mortal[queries].any():
            over = pa.array([i for i in terms_of(base.plan) if i not in births], pa.string())
            kept = ~pc.is_in(ids, over).to_numpy(zero_copy_only=False)
            rows, ids = rows[kept], ids.filter(pa.array(kept))
        return Pairs(rows, ids)

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
        tables = [pa.concat_tables([self._objects, self._others])]
        if self.stream.retention is not None:
            head["threshold"] = self._threshold
            head["sizes"] = self._sizes.step, sorted(self._sizes.locked)
            head["spared"], head["forgotten"] = self._spared, self._forgotten.state()
            head["patience"] = self._patience.wait, self._patience.left
            tables += [pa.table({"held": self._held.astype(np.int32)}), *self._shadows.packed()]
        return blobs.pack(head, tables)

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
        watcher = Watcher(opened, stream, saved.head["version"])
        tracker = cls.resume(watcher, saved, keep=kept)
        tracker._clock = checked_clock(clock)
        call = Call.of(Emit.CHANGES, stream)
        warn_unanswered(opened.queries(tracker.version), call, "wl.Tracker")
        return tracker

    @classmethod
    def resume(
        cls, watcher: Watcher, saved: Saved, parts: int = 1, keep: Keep | None = None
    ) -> Tracker:
        """As `restore`, with queries that are kept elsewhere; these may be ahead of the state."""
        head = saved.head
        tracker = cls.__new__(cls)
        tracker._start(watcher, head["catalog"], parts, keep or Keep())
        # Where the stream was declared anew since then, the objects are of the stream as it was.
        tracker._forget(replace(saved.stream, retention=watcher.stream.retention))
        tracker.version, tracker._newest = head["version"], head["newest"]
        tracker._births, tracker._terms = head["births"], watcher.terms(tracker.version)
        tracker._waiting = {name: (bits, since) for name, (bits, since) in head["waiting"].items()}
        tracker._counts = Counter(head["counts"])
        tracker._rejects = Counter(head["rejects"])
        own = saved.objects.num_rows - head["others"]
        tracker._objects, tracker._others = saved.objects.slice(0, own), saved.objects.slice(own)
        if saved.more and tracker.stream.retention is not None:
            held, slim, full, *counts = saved.more
            tracker._held = held["held"].to_numpy().astype(np.int64)
            tracker._shadows = Shadows.unpacked(slim, full, counts[0] if counts else None)
            tracker._threshold = head["threshold"]
            step, locked = head["sizes"]
            tracker._sizes = Sizes(step, frozenset(locked))
            # A state of before these were kept does not have them.
            tracker._spared = head.get("spared", 0)
            tracker._patience = Patience(*head.get("patience", ()))
            if "forgotten" in head:
                tracker._forgotten = Forgotten.of(head["forgotten"])
        else:
            # If not all are kept from now on, that is found out before the next rows.
            tracker._held = np.ones(own, np.int64)
            tracker._is_held_known = tracker.stream.retention is None
        return tracker

    def stats(self) -> dict[str, Any]:
        """What the tracker holds and has counted since it began. `accuracies` are those of queries
        that miss something, and `least` is the least of them; where some shadows were forgotten and
        `unknown` of them may still be missed, an accuracy is the least that is possible.

        MAX OBJECTS bounds `objects`, MAX BYTES bounds `bytes`, which are of objects and shadows;
        `query_bytes` are of the queries and their indexes, which no bound covers."""
        shares = self._shares()
        return {**self._summed_up(shares), "accuracies": self._by_query(shares)}

    def summary(self) -> dict[str, Any]:
        """As `stats`, without the accuracy of each query: there may be very many queries."""
        return self._summed_up(self._shares())

    def _summed_up(self, accuracies: Doubles) -> dict[str, Any]:
        return {
            "version": self.version,
            "newest": self._newest,
            "objects": len(self),
            "answers": self._counts["answers"],
            "unanswered": self._watcher.unanswered,
            **self.counted(),
            "shadow": self._shadows.total,
            "unknown": self._forgotten.objects,
            "accuracy": self._accuracy(),
            "least": float(accuracies.min(initial=1.0)),
            "bytes": self._bytes_of_objects() + self._shadows.nbytes,
            "query_bytes": self._bytes_of_queries(),
        }

    def counted(self) -> dict[str, Any]:
        """The counters of this tracker's whole life, which never fall, by name; `rejected_by` has
        the rejected rows by reason. A caller takes the counts of a batch as the difference of two
        such results."""
        counts = {name: self._counts[name] for name in COUNTED}
        return {**counts, "rejected_by": dict(self._rejects)}


class Saved(NamedTuple):
    """A snapshot that was read and found to be of a catalog and stream."""

    head: dict[str, Any]
    stream: Stream
    objects: pa.Table
    # Where only some objects are kept: by how many queries, and the shadows of others.
    more: list[pa.Table]

    @staticmethod
    def of(blob: bytes, identity: str, stream: str) -> Saved:
        head, (objects, *more) = blobs.unpack(blob)
        if "stream" not in head:
            raise InvalidState("the state is one of joins, not of a tracker")
        blobs.check_catalog(head["catalog"], identity)
        declared = blobs.stream_of(head["stream"])
        if declared.name != stream:
            raise InvalidState(f"the state belongs to stream {declared.name!r}, not to {stream!r}")
        return Saved(head, declared, objects, more)
