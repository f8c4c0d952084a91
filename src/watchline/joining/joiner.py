"""The joiner: the windows of several streams, and the tuples that rows complete.

Rows wait until every stream has come as far as they are, then they are processed in the order
(time, stream, object id, attributes); so what comes out does not depend on how fast each stream is.
The state is the rows that some window holds, those that wait, the newest time of each stream, and
when each query began. Queries join only rows of their own life, so which others there are, here or
in another part, changes nothing for them.

A batch is worked off in slices: the rows that windows hold and the slice are one stretch of each
stream, and every direction of the plan is probed with it (`probe`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from watchline.catalog import (
    Call,
    Catalog,
    CatalogLike,
    Commit,
    Queries,
    Unanswered,
    all_ids,
    opened_catalog,
    unanswered,
    warn_unanswered,
)
from watchline.clock import Clock, checked_clock, micros_now
from watchline.errors import (
    InvalidQuery,
    InvalidState,
    SchemaMismatch,
    UnknownStream,
    UnknownVersion,
)
from watchline.joining.directions import Life
from watchline.joining.feeds import Feed
from watchline.joining.plan import Build, JoinPlan, JoinQuery, Slot, SlotTuples
from watchline.joining.probe import BitsDirection
from watchline.joining.windows import JoinFrame, Stretch
from watchline.kernels.arrays import Integers
from watchline.model import Query, Stream
from watchline.rows import (
    AcceptedRows,
    Rejects,
    Rows,
    accepted,
    conformed,
    row_schema,
    shards_of,
    stable_order,
    times_of,
)
from watchline.rows import blob as blobs

METHODS = ("bits", "sj", "ibs")
# So many numbers of queries may be out of use.
SPARE = 4_096
# Rows of a slice, first few, and how many tuples it should find: with thousands of queries a single
# row may complete millions.
FIRST_SLICE, MOST_ROWS = 16, 1 << 16
TUPLES = 1 << 22


class Joiner:
    """Follows the joins of a catalog over these streams; `version` is where to start.

    `catalog` is a Catalog, its path, or SQL statements.

    One of several `parts` has its part of the queries and gets all rows. `times` says how often a
    stream may stand in FROM, where more than today's queries need. `method` is how pairs are found:
    all give the same answers, and "bits" is the one to use; `pieces` is for "sj" alone. Rows from
    the future (a stream's MAX AHEAD) are rejected by the machine's clock, or by `clock`, a function
    that gives a datetime; it is asked once for each batch of rows. Joins of other streams, and
    queries of one of these alone, are not answered: an `UnansweredWarning` names them.
    """

    def __init__(
        self,
        catalog: CatalogLike,
        streams: Sequence[str],
        version: int | None = None,
        *,
        part: int = 0,
        parts: int = 1,
        times: Mapping[str, int] | None = None,
        method: str = "bits",
        pieces: int | None = None,
        clock: Clock | None = None,
    ):
        opened = opened_catalog(catalog)
        build = _builder(method, pieces)
        self._open(opened, streams, version, (part, parts), times, build, checked_clock(clock))
        if part == 0:
            warn_unanswered(opened.queries(self.version), self.call, "wl.Joiner")

    @classmethod
    def of_part(
        cls,
        catalog: Catalog,
        streams: Sequence[str],
        version: int,
        part: tuple[int, int] = (0, 1),
        times: Mapping[str, int] | None = None,
    ) -> Joiner:
        """A joiner on Spark: `wl.joins` has warned its user, and routers have checked its rows."""
        joiner = cls.__new__(cls)
        build = _builder("bits", None)
        joiner._open(catalog, streams, version, part, times, build, None)
        return joiner

    def _open(
        self,
        catalog: Catalog,
        streams: Sequence[str],
        version: int | None,
        part: tuple[int, int],
        times: Mapping[str, int] | None,
        build: Build,
        clock: Clock | None,
    ) -> None:
        """At a version, without rows; its queries decide which columns there are."""
        version = catalog.version if version is None else version
        declared = [catalog.stream(name, version) for name in _checked_names(streams)]
        self._start(catalog, declared, version, part, build, clock)
        queries = catalog.queries(version)
        ours = self._joins(queries)
        self._slots = self._slots_of(list(ours.values()), times or {})
        self.schema = self._schema_of()
        self._unanswered = Unanswered(self._not_answered(queries))
        for query in ours.values():
            self._begin(query)

    def _start(
        self,
        catalog: Catalog,
        streams: list[Stream],
        version: int,
        part: tuple[int, int],
        build: Build,
        clock: Clock | None,
    ) -> None:
        """Of these streams, without rows and queries."""
        self._wall_clock = clock
        self.part, self._parts = part
        if not 0 <= self.part < self._parts:
            raise InvalidQuery(f"there is no part {self.part} of {self._parts}: parts count from 0")
        self._catalog, self._build, self.version = catalog, build, version
        self._feeds = {stream.name: Feed.of(stream) for stream in streams}
        self._clock: int | None = None
        self._processed: int | None = None
        self._counts: Counter[str] = Counter()
        self._rejects: Rejects = Counter()
        self._queries: dict[str, JoinQuery] = {}
        self._next = 0
        self._births: dict[str, dict[str, int]] = {}
        self._begun: dict[str, int | None] = {}
        self._slice = FIRST_SLICE
        # The plan of now, and the last there was.
        self._plan: JoinPlan | None = None
        self._last: JoinPlan | None = None

    @property
    def declared(self) -> dict[str, Stream]:
        """The streams as they are declared at this version, by name."""
        return {name: feed.stream for name, feed in self._feeds.items()}

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams that are joined, in the order in which they were given."""
        return tuple(self._feeds)

    @property
    def call(self) -> Call:
        """Which queries are answered here."""
        return Call(None, Counter(slot.stream for slot in self._slots))

    def _joins(self, queries: Queries) -> dict[str, Query]:
        """The joins that read no other streams."""
        joins = (entry.query for entry in queries.entries.values() if entry.query.is_join)
        return {query.id: query for query in joins if self._is_ours(query)}

    def _not_answered(self, queries: Queries) -> pa.Array:
        """The ids of this part's queries that are not answered."""
        ids = all_ids(unanswered(queries, self.call).values())
        return ids.filter(pa.array(shards_of(ids, self._parts) == self.part))

    def _is_ours(self, query: Query) -> bool:
        return all(source.stream in self._feeds for source in query.sources)

    def _slots_of(self, queries: list[Query], times: Mapping[str, int]) -> list[Slot]:
        most: Counter[str] = Counter(dict.fromkeys(self._feeds, 1))
        for name, count in times.items():
            if name not in self._feeds:
                raise UnknownStream(f"times: there is no stream {name!r} here")
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise InvalidQuery(f"times: {name!r} stands in FROM at least once, not {count!r}")
            most[name] = count
        for query in queries:
            most |= Counter(source.stream for source in query.sources)
        return [Slot(name, i + 1) for name in self._feeds for i in range(most[name])]

    def _schema_of(self) -> pa.Schema:
        fields = [("query_id", pa.string())]
        for slot in self._slots:
            of = row_schema(self._feeds[slot.stream].stream)
            fields += [(slot.column(field.name), field.type) for field in of]
        names = [name for name, _ in fields]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InvalidQuery(
                f"two columns of the result are called {twice[0]!r}: declare a stream or an"
                " attribute by another name"
            )
        return pa.schema(fields)

    # --- queries

    def _begin(self, query: Query) -> None:
        """The life of a query begins; only those of this part are kept."""
        mine = int(shards_of(pa.array([query.id], pa.string()), self._parts)[0]) == self.part
        if not mine:
            return
        needed = Counter(source.stream for source in query.sources)
        if needed - Counter(slot.stream for slot in self._slots):
            return  # there are no columns for it: it is unanswered
        self._queries[query.id] = JoinQuery.of(self._next, query)
        self._next += 1
        self._births[query.id] = {name: self._feeds[name].processed for name in needed}
        if query.lifetime is not None or query.until is not None:
            self._begun[query.id] = self._processed

    def _end(self, query_id: str) -> None:
        if self._queries.pop(query_id, None) is not None:
            del self._births[query_id]
            self._begun.pop(query_id, None)

    def advance_to(self, version: int) -> None:
        """Follow the catalog to a version: rows processed from now on meet its queries."""
        if not isinstance(version, int) or isinstance(version, bool):
            raise UnknownVersion(f"a version is a whole number, not {version!r}")
        if version < self.version:
            raise UnknownVersion(
                f"the joiner is at version {self.version}: it cannot go back to {version}"
            )
        if version == self.version:
            return
        for commit in self._catalog.changes(self.version, version):
            self._step(commit)
        self.version = version

    def _step(self, commit: Commit) -> None:
        for stream in commit.streams:
            old = self._feeds.get(stream.name)
            if old is not None and old.stream != stream:
                # Declared anew: its rows are of a stream that is no more.
                fresh = Feed.of(stream)
                fresh.first = old.processed
                self._feeds[stream.name] = fresh
        self._unanswered.step(commit.dropped, self._not_answered(commit.added))
        for query_id in commit.dropped:
            self._end(query_id)
        for entry in commit.added.entries.values():
            if entry.query.is_join and self._is_ours(entry.query):
                self._begin(entry.query)
        self._plan = None

    def _life(self, query: Query) -> Life:
        """Births before all that is kept are as good as none: such queries share directions."""
        births = tuple(
            (name, place)
            for name, place in self._births[query.id].items()
            if place > self._feeds[name].first
        )
        return Life(births, self._death(query))

    def _death(self, query: Query) -> int | None:
        """The last moment whose rows complete tuples of the query, as far as it is known."""
        begun = self._begun.get(query.id)
        ends = [] if query.until is None else [query.until - 1]
        if query.lifetime is not None and begun is not None:
            ends.append(begun + query.lifetime)
        return min(ends, default=None)

    def _planned(self) -> JoinPlan:
        if self._plan is None or any(
            place <= self._feeds[name].first for name, place in self._plan.young
        ):
            asked = list(self._queries.values())
            if self._next > 2 * len(asked) + SPARE:
                # Numbers of queries that are gone are given again, all at once.
                asked = [JoinQuery(i, a.query, a.halves) for i, a in enumerate(asked)]
                self._queries, self._next = {a.query.id: a for a in asked}, len(asked)
            lives = [self._life(a.query) for a in asked]
            self._plan = self._last = JoinPlan(asked, lives, self._build, self._last)
        return self._plan

    # --- rows

    def process(self, rows: Mapping[str, Rows]) -> pa.Table:
        """The tuples that these rows, and those that waited for them, complete."""
        return pa.concat_tables([self.schema.empty_table(), *self.chunks(rows)])

    def finish(self) -> pa.Table:
        """No more rows will come: all that wait are processed."""
        return pa.concat_tables([self.schema.empty_table(), *self.chunks({}, last=True)])

    def chunks(self, rows: Mapping[str, Rows], last: bool = False) -> Iterator[pa.Table]:
        """As `process`, piece by piece, to be read to its end; with `last` all are released."""
        if not isinstance(rows, Mapping):
            raise SchemaMismatch(
                f"rows come by the name of their stream, as a dict, not as {type(rows).__name__}"
            )
        now = None if self._wall_clock is None else micros_now(self._wall_clock)
        taken = {name: self._accepted(name, table, now) for name, table in rows.items()}
        for name, (good, rejects) in taken.items():
            self.count_rejects(rejects)
            self._counts["rows"] += good.num_rows
            if late := self._feeds[name].wait(good.table, self._clock):
                self._counts["late"] += late
        yield from self._released(last)

    def _accepted(self, name: str, rows: Rows, now: int | None) -> tuple[AcceptedRows, Rejects]:
        if name not in self._feeds:
            raise UnknownStream(f"there is no stream {name!r} among {', '.join(self._feeds)}")
        return accepted(rows, self._feeds[name].stream, frozenset(), now)

    def _released(self, last: bool) -> Iterator[pa.Table]:
        """Process what no stream can come before any more."""
        newest = [feed.newest for feed in self._feeds.values()]
        known = [time for time in newest if time is not None]
        if not known or (len(known) < len(newest) and not last):
            return
        clock = max(known) if last else min(known)
        if self._clock is not None:
            clock = max(clock, self._clock)
        ready = {name: feed.release(clock) for name, feed in self._feeds.items()}
        self._clock = clock
        yield from self._process_ready(ready)

    def _process_ready(self, ready: dict[str, pa.Table]) -> Iterator[pa.Table]:
        times = {name: times_of(rows, self._feeds[name].stream) for name, rows in ready.items()}
        names = sorted(ready, key=lambda name: name.encode())
        every = np.concatenate([times[name] for name in names])
        of = np.repeat(np.arange(len(names)), [len(times[name]) for name in names])
        order = stable_order(every)
        of, every = of[order], every[order]
        if self._processed is None and len(every):
            # Lives that began before any row begin with the first.
            self._begun = dict.fromkeys(self._begun, int(every[0]))
            self._plan = None
        start = 0
        while start < len(of):
            end = min(start + self._slice, len(of))
            slices = {}
            for i, name in enumerate(names):
                turns = np.flatnonzero(of[start:end] == i)
                rows = ready[name].slice(0, len(turns))
                ready[name] = ready[name].slice(len(turns))
                slices[name] = (rows, turns)
            self._processed = int(every[end - 1])
            found = yield from self._sliced(slices, self._processed)
            self._bury()
            self._adapt(found)
            start = end

    def _adapt(self, found: int) -> None:
        """So that a slice finds neither little nor more than memory is good for."""
        if found > TUPLES:
            self._slice = max(self._slice // 2, 1)
        elif found < TUPLES // 8:
            self._slice = min(self._slice * 2, MOST_ROWS)

    def _bury(self) -> None:
        """Queries whose life is over take no place any more."""
        assert self._processed is not None
        for query_id in list(self._begun):
            death = self._death(self._queries[query_id].query)
            if death is not None and self._processed > death:
                self._end(query_id)
                self._plan = None

    def _sliced(self, slices: dict[str, tuple[pa.Table, Integers]], now: int) -> Any:
        stretches = {name: self._feeds[name].stretch(*fresh) for name, fresh in slices.items()}
        plan = self._planned()
        tuples = plan.tuples(JoinFrame(stretches), self._slots)
        for name, stretch in stretches.items():
            self._feeds[name].trim(stretch, plan.windows.get(name, (-1, 0)), now)
        self._counts["pairs"] += len(tuples.query)
        if len(tuples.query):
            yield self._table(tuples, plan, stretches)
        return len(tuples.query)

    def _table(self, tuples: SlotTuples, plan: JoinPlan, stretches: dict[str, Stretch]) -> pa.Table:
        columns = {"query_id": plan.ids.take(pa.array(tuples.query))}
        for slot, rows in zip(self._slots, tuples.rows, strict=True):
            absent = rows < 0
            places = pa.array(rows, mask=absent) if absent.any() else pa.array(rows)
            taken = stretches[slot.stream].rows.take(places)
            columns |= {slot.column(name): taken[name] for name in taken.column_names}
        # A stream may have been declared anew since the columns were chosen.
        return conformed(pa.table(columns), self.schema)

    def count_rejects(self, rejects: Rejects) -> None:
        """Rows that were rejected before they came here."""
        self._rejects += rejects
        self._counts["rows"] += rejects.total()
        self._counts["rejected"] += rejects.total()

    # --- state

    def snapshot(self) -> bytes:
        """The state as bytes, for `restore`."""
        head = {
            "joins": [repr(feed.stream) for feed in self._feeds.values()],
            "catalog": self._catalog.identity,
            "version": self.version,
            "part": [self.part, self._parts],
            "slots": [list(slot) for slot in self._slots],
            "first": [feed.first for feed in self._feeds.values()],
            "newest": [feed.newest for feed in self._feeds.values()],
            "clock": self._clock,
            "processed": self._processed,
            "births": self._births,
            "begun": self._begun,
            "counts": dict(self._counts),
            "rejects": dict(self._rejects),
        }
        tables = [t for feed in self._feeds.values() for t in (feed.rows, feed.waiting)]
        # The columns of the result stay as they were, whatever streams are declared later.
        return blobs.pack(head, [*tables, self.schema.empty_table()])

    @classmethod
    def restore(
        cls,
        catalog: CatalogLike,
        streams: Sequence[str],
        blob: bytes,
        *,
        part: int = 0,
        parts: int = 1,
        method: str = "bits",
        pieces: int | None = None,
        clock: Clock | None = None,
    ) -> Joiner:
        """The joiner whose snapshot this is, of the same catalog, streams and part."""
        opened, build = opened_catalog(catalog), _builder(method, pieces)
        joiner = cls.resume(opened, streams, blob, (part, parts), build, checked_clock(clock))
        if part == 0:
            warn_unanswered(opened.queries(joiner.version), joiner.call, "wl.Joiner")
        return joiner

    @classmethod
    def resume(
        cls,
        catalog: Catalog,
        streams: Sequence[str],
        blob: bytes,
        part: tuple[int, int] = (0, 1),
        build: Build | None = None,
        clock: Clock | None = None,
    ) -> Joiner:
        """As `restore`, on Spark: `wl.joins` has warned, and routers have checked the rows."""
        head, tables = blobs.unpack(blob)
        names = _checked_names(streams)
        if "joins" not in head:
            raise InvalidState("the state is one of a tracker, not of joins")
        blobs.check_catalog(head["catalog"], catalog.identity)
        if head["part"] != list(part):
            of = "part {} of {}".format
            raise InvalidState(f"the state is {of(*head['part'])}, not {of(*part)}")
        declared = [blobs.stream_of(text) for text in head["joins"]]
        if [stream.name for stream in declared] != names:
            raise InvalidState("the state belongs to other streams: name those, or start anew")
        joiner = cls.__new__(cls)
        build = build or _builder("bits", None)
        joiner._start(catalog, declared, head["version"], part, build, clock)
        joiner._take_over(head, tables)
        return joiner

    def _take_over(self, head: dict[str, Any], tables: list[pa.Table]) -> None:
        for i, feed in enumerate(self._feeds.values()):
            feed.rows, feed.waiting = tables[2 * i], tables[2 * i + 1]
            feed.first, feed.newest = head["first"][i], head["newest"][i]
        self._slots = [Slot(*slot) for slot in head["slots"]]
        self.schema = tables[-1].schema
        self._clock, self._processed = head["clock"], head["processed"]
        queries = self._catalog.queries(self.version)
        self._unanswered = Unanswered(self._not_answered(queries))
        ours = self._joins(queries)
        self._queries = {name: JoinQuery.of(i, ours[name]) for i, name in enumerate(head["births"])}
        self._next = len(self._queries)
        self._births, self._begun = head["births"], head["begun"]
        self._counts, self._rejects = Counter(head["counts"]), Counter(head["rejects"])

    def stats(self) -> dict[str, Any]:
        """What the joiner holds and has counted since it began."""
        names = ("rows", "pairs", "late", "rejected")
        feeds = self._feeds.values()
        return {
            "version": self.version,
            "queries": len(self._queries),
            "unanswered": len(self._unanswered),
            **{name: self._counts[name] for name in names},
            "rejected_by": dict(self._rejects),
            "kept": sum(feed.rows.num_rows for feed in feeds),
            "waiting": sum(feed.waiting.num_rows for feed in feeds),
            "bytes": sum(feed.rows.nbytes + feed.waiting.nbytes for feed in feeds),
        }


def _builder(method: str, pieces: int | None) -> Build:
    if method not in METHODS:
        raise InvalidQuery(f"method is 'bits', 'sj' or 'ibs', not {method!r}")
    if pieces is not None:
        if method != "sj":
            raise InvalidQuery(f"pieces go with method 'sj', not with {method!r}")
        if isinstance(pieces, bool) or not isinstance(pieces, int) or not 1 <= pieces <= 1_024:
            raise InvalidQuery(f"pieces is a whole number from 1 to 1024, not {pieces!r}")
    if method == "bits":
        return BitsDirection
    # The paper's own methods are loaded when they are asked for.
    from watchline.joining.papers.indexed import PIECES, IndexedDirection

    return partial(IndexedDirection, method=method, pieces=pieces or PIECES)


def _checked_names(streams: Sequence[str]) -> list[str]:
    names = [streams] if isinstance(streams, str) else list(streams)
    if not names:
        raise InvalidQuery("a join needs the names of its streams")
    if len(set(names)) < len(names):
        raise InvalidQuery("a stream is named twice: once is enough, under however many aliases")
    return names
