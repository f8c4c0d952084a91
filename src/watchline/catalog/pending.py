"""The commands of one commit while it is made: each is checked against those before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from watchline import sql
from watchline.catalog import codec
from watchline.catalog.answering import named
from watchline.catalog.state import State
from watchline.errors import (
    DuplicateQuery,
    DuplicateStream,
    InvalidQuery,
    UnknownQuery,
    UnknownStream,
)


class PendingCommit:
    """The state as it would be after some commands, and the rows that make it so."""

    def __init__(self, state: State):
        self._state = state
        self.streams = dict(state.streams)
        self.rows: list[dict[str, Any]] = []
        self._added: dict[str, set[str]] = {}  # query id -> the streams it reads
        self._dropped: set[str] = set()

    def command(self, statement: sql.Statement) -> bool:
        """Take in a statement; False if it is none that changes anything."""
        if isinstance(statement, sql.CreateStream):
            self._create_stream(statement)
        elif isinstance(statement, sql.CreateQuery):
            self._create_query(statement)
        elif isinstance(statement, sql.DropQuery):
            if self._has(statement.id) or not statement.if_exists:
                self._drop_query(statement.id)
        elif isinstance(statement, sql.DropStream):
            if statement.name in self.streams or not statement.if_exists:
                self._drop_stream(statement.name)
        else:
            if isinstance(statement, sql.ExplainQuery) and not self._has(statement.id):
                raise unknown_query(self._state, statement.id)
            return False
        return True

    def _has(self, query_id: str) -> bool:
        if query_id in self._added:
            return True
        return query_id not in self._dropped and self._state.has(query_id)

    def _create_stream(self, statement: sql.CreateStream) -> None:
        stream = statement.stream
        if stream.name in self.streams:
            if statement.if_not_exists:
                return
            raise DuplicateStream(
                f"stream {stream.name!r} exists already: drop it first, or name another"
            )
        self.streams[stream.name] = stream
        definition = codec.dumps(stream)
        self._row("stream", stream.name, definition=definition, text=statement.text)

    def _create_query(self, statement: sql.CreateQuery) -> None:
        query = statement.query
        exists = self._has(query.id)
        if exists and not statement.replace:
            raise already_taken(query.id)
        definition = codec.dumps(query)
        op = "replace" if exists else "query"
        self._row(op, query.id, definition=definition, text=statement.text)
        self._added[query.id] = {source.stream for source in query.sources}

    def _drop_query(self, query_id: str) -> None:
        if not self._has(query_id):
            raise unknown_query(self._state, query_id)
        self._added.pop(query_id, None)
        self._dropped.add(query_id)
        self._row("drop", query_id)

    def _drop_stream(self, name: str) -> None:
        if name not in self.streams:
            raise unknown_stream(name, self.streams)
        if (user := self._user_of(name)) is not None:
            raise InvalidQuery(f"stream {name!r} is read by query {user!r}: drop its queries first")
        del self.streams[name]
        self._row("drop stream", name)

    def _user_of(self, stream: str) -> str | None:
        """A query that reads the stream."""
        for query_id, read in self._added.items():
            if stream in read:
                return query_id
        gone = self._dropped | self._added.keys()
        readers = self._state.queries().on(stream)
        return next((i for i in readers.ids() if i not in gone), None)

    def _row(self, op: str, name: str, **columns: str) -> None:
        self.rows.append({"op": op, "id": name, **columns})


def unknown_stream(name: str, known: Iterable[str]) -> UnknownStream:
    """Nobody declared the stream; names like it are suggested."""
    return UnknownStream(f"there is no stream {name!r}" + sql.hint(name, known))


def unknown_query(state: State, query_id: str) -> UnknownQuery:
    """The query is not registered; ids like it are suggested where queries are few."""
    known = list(state.entries) if not state.blocks else []
    return UnknownQuery(f"there is no query {query_id!r}" + sql.hint(query_id, known))


def unknown_queries(state: State, ids: pa.Array) -> UnknownQuery:
    """These queries are not registered."""
    if len(ids) == 1:
        return unknown_query(state, ids[0].as_py())
    return UnknownQuery(f"there are no queries {named(ids)}")


def already_taken(query_id: str) -> DuplicateQuery:
    """The id belongs to a living query."""
    return DuplicateQuery(
        f"query {query_id!r} is registered already: use CREATE OR REPLACE, or another id"
    )
