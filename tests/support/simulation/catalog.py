"""A catalog in memory, as workers ask it, whose commits cost no parsing and no log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchline.catalog import Commit, Queries
from watchline.catalog.state import Entry
from watchline.errors import UnknownVersion
from watchline.model import Stream

if TYPE_CHECKING:
    from tests.support.simulation.history import Version


class SimulatedCatalog:
    """The part of `Catalog` that workers use. Version 1 declares the stream and has the first
    queries."""

    # As of a catalog in an object store: its pins are found by its URL.
    folder: str | None = None

    def __init__(self, uri: str, identity: str, stream: Stream):
        self.uri, self.id, self.identity = uri, identity, identity
        self._stream = stream
        self._entries: list[dict[str, Entry]] = [{}]
        self._commits: list[Commit | None] = [None]

    @property
    def version(self) -> int:
        return len(self._entries) - 1

    def commit(self, version: Version) -> int:
        """The next version."""
        number = self.version + 1
        added = {question.query.id: _entry(question.query, number) for question in version.adds}
        entries = {k: v for k, v in self._entries[-1].items() if k not in version.drops}
        self._entries.append(entries | added)
        streams = (self._stream,) if number == 1 else ()
        dropped = frozenset(version.drops)
        self._commits.append(
            Commit(number, streams, frozenset(), dropped, Queries(number, added, ()))
        )
        return number

    def queries(self, version: int | None = None) -> Queries:
        number = self.version if version is None else self._checked(version)
        return Queries(number, dict(self._entries[number]), ())

    def stream(self, name: str, version: int | None = None) -> Stream:
        assert name == self._stream.name
        return self._stream

    def changes(self, after: int, upto: int | None = None) -> list[Commit]:
        last = self.version if upto is None else self._checked(upto)
        return [c for c in self._commits[self._checked(after) + 1 : last + 1] if c is not None]

    def _checked(self, version: int) -> int:
        if not 0 <= version <= self.version:
            raise UnknownVersion(f"there is no version {version}: the newest is {self.version}")
        return version


def _entry(query: Any, version: int) -> Entry:
    entry = Entry(query.id, version, "", "")
    # What the cached property would decode.
    entry.__dict__["query"] = query
    return entry
