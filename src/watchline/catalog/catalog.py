"""The catalog: streams and standing queries, durable, versioned, shared by many processes.

Every command is one commit and every commit one version. A call looks at the newest state, checks
its command against it, and claims the next version; if another writer was faster it looks again. So
a command is either refused and nothing has changed, or it is durable when the call returns.
"""

from __future__ import annotations

import dataclasses
import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Union

import pyarrow as pa
import pyarrow.compute as pc

from watchline import sql
from watchline.catalog.boxes import block_of
from watchline.catalog.commands import block_rows, command_rows, drop_rows, steps
from watchline.catalog.log import SCHEMA, Conflict, DeltaLog, Log, MemoryLog
from watchline.catalog.pending import (
    PendingCommit,
    already_taken,
    unknown_queries,
    unknown_query,
    unknown_stream,
)
from watchline.catalog.query_blocks import Block
from watchline.catalog.region_blocks import RegionsGiven, region_block
from watchline.catalog.state import Commit, Queries, State, check_id, commits
from watchline.errors import (
    CatalogBusy,
    InvalidQuery,
    UnknownAttribute,
    UnknownVersion,
    WatchlineError,
)
from watchline.model import Emit, Stream

if TYPE_CHECKING:
    from watchline.explain import PlanLines

ATTEMPTS = 200
FRESH = 2.0  # seconds


class Catalog:
    """Opens the catalog at a local path or an object store's URL, or creates it.

    With `create=False` a missing catalog is a `CatalogError`. `storage_options` are handed to the
    deltalake package (credentials, endpoints). One object may be used by several threads.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        create: bool = True,
        storage_options: dict[str, str] | None = None,
    ):
        self.uri: str | None = fspath(path)
        self.storage_options = storage_options
        log = DeltaLog(self.uri, create, storage_options)
        self.folder: str | None = log.folder
        self.id: str = log.id
        self._setup(log)

    @classmethod
    def of(cls, statements: str | Iterable[str] = ()) -> Catalog:
        """A catalog in memory with these statements: a static set of queries, or a test's."""
        catalog = cls.__new__(cls)
        catalog.uri = catalog.folder = catalog.storage_options = None
        catalog.id = ""
        texts = [statements] if isinstance(statements, str) else list(statements)
        catalog._setup(MemoryLog())
        for text in texts:
            catalog.execute(text)
        catalog._origin = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]
        return catalog

    def _setup(self, log: Log) -> None:
        self._log = log
        self._origin = ""
        self._state = State()
        self._lock = threading.RLock()
        self._seen = 0.0
        self._alone = False
        self._planned: tuple[tuple[int, str, Emit], PlanLines] | None = None
        self._refresh()

    # --- reading

    def statements(self) -> tuple[str, ...]:
        """Statements that make a catalog with the streams and queries of the newest version."""
        state = self._refresh()
        return (*map(repr, state.streams.values()), *(query.sql for query in state.queries()))

    @property
    def identity(self) -> str:
        """What tells this catalog from others: its id, or the statements it was made of."""
        return self.id or self._origin

    @property
    def version(self) -> int:
        """The newest version there is, whoever wrote it. An empty catalog has version 0."""
        return self._refresh().version

    @property
    def oldest(self) -> int:
        """The oldest version that is kept: 0 until `compact` forgets some."""
        return self._refresh().oldest

    def queries(self, version: int | None = None) -> Queries:
        """The queries that live at a version, the newest if none is given."""
        return self._at(version).queries()

    def streams(self, version: int | None = None) -> list[Stream]:
        """The streams of a version, of the newest one if none is given."""
        return list(self._at(version).streams.values())

    def stream(self, name: str, version: int | None = None) -> Stream:
        """The stream of this name; `UnknownStream` if the version has none."""
        return _stream(self._at(version), name)

    def changes(self, after: int, upto: int | None = None) -> list[Commit]:
        """What each of the versions after < v <= upto did, oldest first."""
        with self._lock:
            upto = self.version if upto is None else upto
            self._check_version(after)
            self._check_version(upto)
            if upto <= after:
                return []
            return commits(self._log.read(after, upto), range(after + 1, upto + 1))

    def explain(self, query_id: str, version: int | None = None) -> str:
        """How Watchline understands a query, how it finds its rows, and what that costs."""
        # The engines stand above the catalog, so they are loaded when a query is explained.
        from watchline import explain as explaining

        state = self._at(version)
        queries = state.queries()
        found = queries.find(check_id(query_id))
        if found is None:
            raise unknown_query(state, query_id)
        query = queries[query_id]
        lines = explaining.description(found, state.streams)
        # A plan is of all queries of the stream, or of all joins, so the latest is kept.
        key = (state.version, "" if query.is_join else query.stream, query.emit)
        with self._lock:
            if self._planned is None or self._planned[0] != key:
                self._planned = key, explaining.planner(queries, query, state.streams)
            lines += self._planned[1](query_id)
        return "\n".join(lines)

    def _refresh(self) -> State:
        with self._lock:
            oldest, newest = self._log.versions()
            if oldest != self._state.oldest:
                # History was forgotten, perhaps between our version and the newest: start over.
                self._state = State(oldest)
            if newest > self._state.version:
                self._state.apply(self._log.read(self._state.version, newest), newest)
                self._alone = False
            else:
                self._alone = True
            self._seen = time.monotonic()
            return self._state

    def _at(self, version: int | None) -> State:
        with self._lock:
            state = self._refresh()
            if version is None or version == state.version:
                return state
            self._check_version(version)
            past = State()
            past.apply(self._log.read(0, version), version)
            return past

    def _check_version(self, version: int) -> None:
        state = self._refresh()
        if not isinstance(version, int):
            raise UnknownVersion(f"a version is a whole number, not {version!r}")
        if not 0 <= version <= state.version:
            raise UnknownVersion(f"there is no version {version!r}: the newest is {state.version}")
        if version < state.oldest:
            raise UnknownVersion(
                f"version {version} was forgotten: the oldest one kept is {state.oldest}"
            )

    # --- writing

    def execute(self, text: str) -> Any:
        """Run one or more statements, separated by `;`, as one commit: all of them or none.

        Gives what the last statement asks for: a list of streams or the `Queries` for SHOW, a text
        for EXPLAIN, the new version for a command.
        """
        if not isinstance(text, str):
            raise InvalidQuery(f"a statement is a string, not {type(text).__name__}")
        syntaxes = sql.parse(text)
        last: sql.Statement | None = None

        def plan(state: State, version: int) -> pa.Table:
            nonlocal last
            draft = PendingCommit(state)
            for syntax in syntaxes:
                last = sql.bind(syntax, draft.streams)
                if not draft.command(last) and syntax is not syntaxes[-1]:
                    syntax.place.refuse("SHOW and EXPLAIN answer only as the last statement")
            return command_rows(version, draft.rows)

        with self._lock:
            version = self._commit(plan)
            if isinstance(last, sql.ShowQueries):
                found = self.queries(version)
                return found if last.where is None else found.chosen_by(last.where)
            if isinstance(last, sql.ShowStreams):
                return self.streams(version)
            if isinstance(last, sql.ExplainQuery):
                return self.explain(last.id, version)
            return version

    def drop(self, query_id: str) -> int:
        """Drop a query; gives the new version."""
        return self.drop_many([query_id])

    def drop_many(self, ids: Iterable[str], *, if_exists: bool = False) -> int:
        """Drop many queries in one commit, all of them or none; gives the new version.

        With `if_exists` ids that are not registered are passed over.
        """
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise InvalidQuery(f"drop_many takes ids of queries, not {ids!r}: use drop for one")
        wanted = pa.array(dict.fromkeys(map(check_id, ids)), pa.string())

        def plan(state: State, version: int) -> pa.Table:
            known = state.registered(wanted)
            if not if_exists and (unknown := wanted.filter(pc.invert(known))):
                raise unknown_queries(state, unknown)
            return drop_rows(wanted.filter(known), version)

        return self._commit(plan)

    def register_boxes(
        self, stream: str, ids: Any, bounds: Mapping[str, Any], emit: str = "changes"
    ) -> int:
        """Register many range queries at once, as columns, in one commit; gives the new version.

        `bounds` maps an ordered attribute to `(lo, hi)`, each an array with one value per id or one
        value for all, half-open, ±inf for no bound; and a STRING attribute to the values it must
        equal. A query matches where all its attributes do.
        """

        def plan(state: State, version: int) -> pa.Table:
            declared = _stream(state, stream)
            if not isinstance(bounds, Mapping):
                raise InvalidQuery('bounds must be a mapping, as in {"price": (lo, hi)}')
            for name in bounds:
                _check_attribute(declared, name)
            block = block_of(declared, ids, bounds, emit, version)
            return _registration(state, block, replace=False)

        return self._commit(plan)

    def register_regions(
        self,
        stream: str,
        ids: Any,
        geometries: Any,
        where: Any = None,
        emit: str = "changes",
        properties: Any = None,
        *,
        radius: Any = None,
        within: Any = None,
        replace: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Register many regions at once, as columns, in one commit; gives the new version.

        `geometries` are polygons, points with a `radius`, or lines, which hold what is `within` a
        distance of them: shapely geometries, WKB, or a GeoArrow column; a radius or distance is a
        number, or one for each geometry (NaN where it is of another kind); metres on Earth, where
        polygons and lines may run beyond longitude 180. `where` is a condition
        in SQL that all share, or one for each id, None for no condition; `properties` is a JSON
        object, or one for each id.

        All of them or none: what is refused is refused with its id. Ids that are registered already
        are refused, or replaced if `replace` is set. A `dry_run` refuses what would be refused, and
        registers nothing.
        """
        given = RegionsGiven(ids, geometries, where, emit, properties, radius, within)
        made: dict[Stream, Block] = {}

        def plan(state: State, version: int) -> pa.Table:
            declared = _stream(state, stream)
            # Checked once, however many attempts the commit needs.
            if declared not in made:
                made[declared] = region_block(declared, given, version)
            return _registration(
                state, dataclasses.replace(made[declared], version=version), replace
            )

        if dry_run:
            state = self._refresh()
            plan(state, state.version + 1)
            return state.version
        return self._commit(plan)

    def compact(self, oldest: int | None = None) -> None:
        """Merge small files and delete unused ones. No version's answer changes.

        With `oldest`, what no version from there on needs is forgotten, and so are the versions
        before it.
        """
        with self._lock:
            if oldest is not None:
                self._check_version(oldest)
                self._forget(oldest)
            self._log.compact()

    def _forget(self, oldest: int) -> None:
        for attempt in range(ATTEMPTS):
            state = self._refresh()
            rows = _without_history(self._log.read(0, state.version), oldest)
            try:
                self._log.rewrite(rows, oldest, state.version)
            except Conflict:
                _back_off(attempt)
                continue
            self._refresh()
            return
        raise CatalogBusy("other writers won every attempt to forget old versions: try again")

    def _commit(self, plan: Callable[[State, int], pa.Table]) -> int:
        """Claim the next version for what `plan` makes of the newest state, until it is ours."""
        with self._lock:
            for attempt in range(ATTEMPTS):
                # Looking costs half as much as committing: a writer who was alone a moment ago
                # claims the next version without it, and looks when that fails.
                unseen = not attempt and self._alone and time.monotonic() - self._seen < FRESH
                state = self._state if unseen else self._refresh()
                try:
                    rows = plan(state, state.version + 1)
                except WatchlineError:
                    if not unseen:
                        raise
                    rows = SCHEMA.empty_table()
                if not rows.num_rows:
                    # A refusal, or nothing to do: said only of a state that was looked at.
                    if unseen:
                        self._alone = False
                        continue
                    return state.version
                try:
                    self._log.append(state.version + 1, rows)
                except Conflict:
                    self._alone = False
                    _back_off(attempt)
                    continue
                state.apply(rows, state.version + 1)
                self._seen = time.monotonic()
                return state.version
        raise CatalogBusy(f"other writers won {ATTEMPTS} attempts at a commit: try again")


CatalogLike = Union[Catalog, str, "PathLike[str]", Iterable[str]]


def opened_catalog(catalog: CatalogLike) -> Catalog:
    """A catalog as users may give it: itself, its path, or a list of SQL statements."""
    if isinstance(catalog, Catalog):
        return catalog
    if isinstance(catalog, (str, PathLike)):
        return Catalog(fspath(catalog), create=False)
    if not isinstance(catalog, Iterable):
        raise InvalidQuery(
            "a catalog is a Catalog, its path, or a list of SQL statements, not"
            f" {type(catalog).__name__}"
        )
    return Catalog.of(catalog)


def _without_history(rows: pa.Table, oldest: int) -> pa.Table:
    """The rows that versions from `oldest` on need; each keeps its version, for `explain`."""
    before = rows.filter(pc.less_equal(rows["version"], oldest))
    after = rows.filter(pc.greater(rows["version"], oldest))
    past = State()
    past.apply(before, oldest)
    # Of several rows about one name the last one made what is there now.
    made: dict[tuple[bool, str], dict[str, Any]] = {}
    for row, _ in steps(before):
        if row["op"] in ("stream", "query", "replace"):
            made[row["op"] == "stream", row["id"]] = row
    kept = [row for (is_stream, name), row in made.items() if name in past.living(is_stream)]
    blank = dict.fromkeys(SCHEMA.names)
    commands = [{**blank, **row, "op": row["op"].replace("replace", "query")} for row in kept]
    tables = [pa.Table.from_pylist(commands, schema=SCHEMA)]
    tables += [block_rows(block, block.version) for block in past.blocks]
    return pa.concat_tables([*tables, after])


def _registration(state: State, block: Block, replace: bool) -> pa.Table:
    """The rows that register a block, whose ids must be new or are to be replaced."""
    known = block.ids.filter(state.registered(block.ids))
    if not len(known):
        return block_rows(block, block.version)
    if not replace:
        raise already_taken(known[0].as_py())
    dropped = drop_rows(known, block.version)
    return pa.concat_tables([dropped, block_rows(block, block.version, len(known))])


def _stream(state: State, name: str) -> Stream:
    if not isinstance(name, str):
        raise InvalidQuery(f"a stream's name is a string, not {name!r}")
    if name not in state.streams:
        raise unknown_stream(name, state.streams)
    return state.streams[name]


def _check_attribute(stream: Stream, name: str) -> None:
    names = [a.name for a in stream.attributes]
    if not isinstance(name, str):
        raise InvalidQuery(f"an attribute's name is a string, not {name!r}")
    if name not in names:
        raise UnknownAttribute(
            f"stream {stream.name!r} has no attribute {name!r}" + sql.hint(name, names)
        )


def _back_off(attempt: int) -> None:
    """Wait a little, longer each time, and never in step with the writer who was faster."""
    time.sleep(random.uniform(0, min(0.2, 0.002 * 2 ** min(attempt, 7))))
