"""The state at a version: a fold of the log.

`State` moves forward only, and in place; `Queries` is the immutable view that callers get. Queries
written as SQL are entries of a dict and become model objects when first looked at; those that came
in bulk stay in their blocks. Cost of moving forward: the rows of the new versions. Who reads the
blocks pays one pass for all that were dropped since they were last read.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from watchline.catalog import codec
from watchline.catalog.commands import Row, steps
from watchline.catalog.query_blocks import Block
from watchline.errors import CatalogError, InvalidQuery, UnknownQuery
from watchline.kernels.arrays import Mask
from watchline.model import Emit, Query, Stream
from watchline.sql import QueryFilter


@dataclass(frozen=True)
class Entry:
    """A query that was registered as SQL: what it means, as JSON, and what was typed."""

    id: str
    version: int
    definition: str
    text: str

    @cached_property
    def query(self) -> Query:
        query = codec.loads(self.definition)
        assert isinstance(query, Query)
        return query


class Queries:
    """The live queries of one version; iterating gives `Query` objects, made as you go.

    `entries` (registered as SQL) and `blocks` (registered in bulk) are for those who build indexes
    and must not make an object per query.
    """

    def __init__(self, version: int, entries: dict[str, Entry], blocks: tuple[Block, ...]):
        self.version = version
        self.entries = entries
        self.blocks = blocks

    def __len__(self) -> int:
        return len(self.entries) + sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[Query]:
        yield from (entry.query for entry in self.entries.values())
        for block in self.blocks:
            yield from block.queries()

    def __contains__(self, query_id: object) -> bool:
        return self.find(check_id(query_id)) is not None

    def __getitem__(self, query_id: str) -> Query:
        found = self.find(check_id(query_id))
        if found is None:
            raise UnknownQuery(f"there is no query {query_id!r} at version {self.version}")
        return found.query if isinstance(found, Entry) else found[0].query(found[1])

    def find(self, query_id: str) -> Entry | tuple[Block, int] | None:
        """The entry, or the block and the place in it."""
        if query_id in self.entries:
            return self.entries[query_id]
        return next(((b, i) for b in self.blocks if (i := b.position(query_id)) >= 0), None)

    def ids(self) -> Iterator[str]:
        yield from self.entries
        for block in self.blocks:
            yield from block.ids.to_pylist()

    def on(self, stream: str) -> Queries:
        """Those that read the stream, alone or in a join."""
        entries = {
            i: e
            for i, e in self.entries.items()
            if any(source.stream == stream for source in e.query.sources)
        }
        blocks = tuple(b for b in self.blocks if b.stream == stream)
        return Queries(self.version, entries, blocks)

    def chosen_by(self, where: QueryFilter) -> Queries:
        """Those that a condition over ids, streams and properties chooses. Each is looked at."""
        entries = {i: e for i, e in self.entries.items() if where.holds(_query_record(e.query))}
        blocks = []
        for block in self.blocks:
            mask = np.array([where.holds(r) for r in _block_records(block)], np.bool_)
            if mask.any():
                blocks.append(block if mask.all() else block.kept(mask))
        return Queries(self.version, entries, tuple(blocks))

    def __repr__(self) -> str:
        return f"<{len(self):,} queries at version {self.version}>"


def _query_record(query: Query) -> dict[str, Any]:
    streams = tuple(source.stream for source in query.sources)
    return _record(query.id, streams, query.emit, query.properties)


def _block_records(block: Block) -> Iterator[dict[str, Any]]:
    """Those of all queries of a block, which are not made for it."""
    for name, text in zip(block.ids.to_pylist(), block.all_properties().to_pylist(), strict=True):
        yield _record(name, (block.stream,), block.emit, text)


def _record(
    query_id: str, streams: tuple[str, ...], emit: Emit, properties: str | None
) -> dict[str, Any]:
    """What a filter may ask about a query."""
    return {
        "id": query_id,
        "stream": streams,
        "emit": emit.value,
        "properties": json.loads(properties) if properties else None,
    }


def check_id(query_id: object) -> str:
    """A query id as callers may give it: a string that can be stored."""
    if not isinstance(query_id, str):
        raise InvalidQuery(f"a query id is a string, not {query_id!r}")
    try:
        query_id.encode()
    except UnicodeEncodeError:
        raise InvalidQuery(f"the query id {query_id!r} is not valid Unicode") from None
    return query_id


@dataclass(frozen=True)
class Commit:
    """What one version changed, net: a replaced query is dropped and added."""

    version: int
    streams: tuple[Stream, ...]
    dropped_streams: frozenset[str]
    dropped: frozenset[str]
    added: Queries


class State:
    """All streams and queries at `version`."""

    def __init__(self, oldest: int = 0) -> None:
        self.version = 0
        self.oldest = oldest
        self.streams: dict[str, Stream] = {}
        self.entries: dict[str, Entry] = {}
        self._blocks: list[Block] = []
        # Queries that were dropped and still stand in blocks. They are taken out when somebody
        # reads the blocks, so that following versions does not cost a pass for each drop.
        self._dead: set[str] = set()
        # Readers take them out too, and a catalog has readers in several threads.
        self._lock = threading.Lock()

    @property
    def blocks(self) -> list[Block]:
        """The living blocks. Cost: one pass, if some were dropped since the last."""
        with self._lock:
            if self._dead:
                left = (block.without(self._dead) for block in self._blocks)
                self._blocks = [block for block in left if len(block)]
                self._dead = set()
            return self._blocks

    def _bury(self, query_id: str) -> None:
        """A query that was registered in bulk is dropped."""
        with self._lock:
            self._dead.add(query_id)

    def apply(self, rows: pa.Table, version: int) -> None:
        """Move on to `version`; the rows are all those after ours up to it, in order."""
        for row, block in steps(rows):
            op, name = row["op"], row["id"]
            if op == "stream":
                self.streams[name] = codec.loads(row["definition"])
            elif op == "drop stream":
                self.streams.pop(name)
            elif op in ("query", "replace"):
                if op == "replace" and name not in self.entries:
                    self._bury(name)
                self.entries[name] = entry_of(row)
            elif op == "drop":
                if self.entries.pop(name, None) is None:
                    self._bury(name)
            elif block is None:
                raise CatalogError(
                    f"the catalog has commands {op!r}, which this Watchline does not know:"
                    " upgrade Watchline"
                )
            else:
                # Ids may be used again after a drop: settle the drops before the newcomers.
                self.blocks.append(block)
        self.version = version

    def living(self, streams: bool) -> Container[str]:
        """The names of the streams, or of the queries registered as SQL."""
        return self.streams if streams else self.entries

    def queries(self) -> Queries:
        return Queries(self.version, dict(self.entries), tuple(self.blocks))

    def has(self, query_id: str) -> bool:
        return bool(self._is_registered(pa.array([query_id], pa.string()))[0])

    def registered(self, ids: pa.Array) -> pa.Array:
        """Whether each of these ids is that of a query."""
        return pa.array(self._is_registered(ids))

    def _is_registered(self, ids: pa.Array) -> Mask:
        with self._lock:
            blocks, dead = self._blocks, self._dead
        names = ids.to_pylist()
        found = np.zeros(len(ids), np.bool_)
        for block in blocks:
            found |= block.numbers.find(ids) >= 0
        if dead:
            found &= np.array([name not in dead for name in names], np.bool_)
        found |= np.array([name in self.entries for name in names], np.bool_)
        return found


def entry_of(row: Row) -> Entry:
    """The entry of a query that a row of the log registers."""
    return Entry(row["id"], row["version"], row["definition"], row["text"])


def commits(rows: pa.Table, versions: Iterable[int]) -> list[Commit]:
    """What each of these versions did, from their rows."""
    by_version: dict[int, list[tuple[Row, Block | None]]] = {v: [] for v in versions}
    for row, block in steps(rows):
        by_version[row["version"]].append((row, block))
    return [_commit(version, done) for version, done in by_version.items()]


def _commit(version: int, done: list[tuple[Row, Block | None]]) -> Commit:
    streams: dict[str, Stream] = {}
    dropped_streams: set[str] = set()
    added: dict[str, Entry] = {}
    dropped: set[str] = set()
    blocks = []
    for row, block in done:
        op, name = row["op"], row["id"]
        if op == "stream":
            streams[name] = codec.loads(row["definition"])
        elif op == "drop stream" and streams.pop(name, None) is None:
            dropped_streams.add(name)
        elif op in ("replace", "drop") and added.pop(name, None) is None:
            dropped.add(name)
        if op in ("query", "replace"):
            added[name] = entry_of(row)
        if block is not None:
            blocks.append(block)
    queries = Queries(version, added, tuple(blocks))
    return Commit(
        version, tuple(streams.values()), frozenset(dropped_streams), frozenset(dropped), queries
    )
