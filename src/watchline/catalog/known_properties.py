"""The properties of queries by their ids, as results need them.

A change may be of a query that its own batch dropped. So what is known here is not what lives at a
version, but what was registered up to it: a query that was dropped keeps the properties that it had
last. Cost: following the log, and one text for each query that has properties.
"""

from __future__ import annotations

import pyarrow as pa

from watchline.catalog.catalog import Catalog
from watchline.catalog.state import Queries
from watchline.errors import UnknownVersion


class KnownProperties:
    """The properties of all queries that were registered up to a version."""

    def __init__(self, catalog: Catalog):
        self._catalog = catalog
        self._forget()

    def _forget(self) -> None:
        self._version = -1
        self._texts: dict[str, str] = {}

    def advance(self, version: int) -> None:
        """Go to a version; one that is older than the present one costs the whole log."""
        if version < self._version:
            self._forget()
        if version == self._version:
            return
        if self._version < 0:
            self._begin(min(version, self._catalog.oldest))
        try:
            commits = self._catalog.changes(self._version, version)
        except UnknownVersion:
            # What lies between was forgotten meanwhile.
            self._begin(version)
            return
        for commit in commits:
            self._take(commit.added)
        self._version = version

    def _begin(self, version: int) -> None:
        self._take(self._catalog.queries(version))
        self._version = version

    def _take(self, queries: Queries) -> None:
        for query_id, entry in queries.entries.items():
            # Decoding takes as long as looking at a hundred texts.
            text = entry.query.properties if '"properties"' in entry.definition else None
            self._put(query_id, text)
        for block in queries.blocks:
            for query_id, text in zip(
                block.ids.to_pylist(), block.all_properties().to_pylist(), strict=True
            ):
                self._put(query_id, text)

    def _put(self, query_id: str, text: str | None) -> None:
        if text is None:
            self._texts.pop(query_id, None)
        else:
            self._texts[query_id] = text

    def of(self, ids: pa.Array) -> pa.Array:
        """The properties of these queries, null for those without."""
        coded = ids.dictionary_encode()
        texts = [self._texts.get(query_id) for query_id in coded.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(coded.indices)
