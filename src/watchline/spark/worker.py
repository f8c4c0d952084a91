"""What runs in Spark's Python workers.

A task gets Arrow batches and gives Arrow batches. Workers are reused, so the matcher of a version
is kept and moved forward by the commits between; a worker that has none yet builds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from watchline.catalog import Catalog, Commit
from watchline.index.result import one_thread
from watchline.matching import Base, Matcher, prepare
from watchline.spark.share import shared

# Rows per output batch: large enough for Arrow, small enough for a worker's memory.
MAX_ROWS = 1_000_000


@dataclass(frozen=True)
class CatalogRef:
    """Where a worker finds the catalog: a place, or the statements themselves."""

    uri: str | None = None
    # Another catalog at the same place is another catalog.
    catalog_id: str = ""
    storage_options: tuple[tuple[str, str], ...] = ()
    statements: tuple[str, ...] = ()

    def open(self) -> Catalog:
        if self.uri is None:
            return Catalog.of(self.statements)
        return Catalog(self.uri, create=False, storage_options=dict(self.storage_options) or None)


_catalogs: dict[CatalogRef, Catalog] = {}
_matchers: dict[tuple[CatalogRef, str], Matcher] = {}


def catalog_of(ref: CatalogRef) -> Catalog:
    if ref not in _catalogs:
        _catalogs[ref] = ref.open()
    return _catalogs[ref]


def matcher_of(ref: CatalogRef, stream: str, version: int) -> Matcher:
    """The worker's own matcher, at this version. What it starts from is shared by all workers."""

    def base_at(version: int) -> Base:
        def build() -> Base:
            catalog = catalog_of(ref)
            return prepare(catalog.queries(version), catalog.stream(stream, version))

        name = repr((ref, stream))
        return shared(name, repr((ref, ref.catalog_id, stream, version)), build)

    def changes(after: int, upto: int) -> list[Commit]:
        return catalog_of(ref).changes(after, upto)

    known = _matchers.get((ref, stream))
    if known is None:
        known = Matcher.from_bases(stream, version, base_at, changes)
        _matchers[ref, stream] = known
    known.advance(version)
    return known


@dataclass(frozen=True)
class MatchTask:
    """The function that `mapInArrow` runs: rows in, `query_id` and the chosen columns out.

    `version` is None for a stream, whose micro-batches each have their own.
    """

    ref: CatalogRef
    stream: str
    columns: tuple[str, ...]
    version: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = matcher_of(self.ref, self.stream, self._version())
        for batch in batches:
            with one_thread():
                pairs = matcher.match(batch)
            for start in range(0, len(pairs), MAX_ROWS):
                rows = pa.array(pairs.rows[start : start + MAX_ROWS].astype(np.int64))
                chosen = [batch.column(name).take(rows) for name in self.columns]
                ids = pairs.ids.slice(start, MAX_ROWS)
                yield pa.RecordBatch.from_arrays([ids, *chosen], ["query_id", *self.columns])

    def _version(self) -> int:
        if self.ref.uri is None:
            # Statements have one version, and it counts them otherwise than their author did.
            return catalog_of(self.ref).version
        if self.version is not None:
            return self.version
        from pyspark import TaskContext

        from watchline.spark.pin import pinned_version

        task = TaskContext.get()
        assert task is not None
        query_id = task.getLocalProperty("sql.streaming.queryId")
        batch_id = task.getLocalProperty("streaming.sql.batchId")
        assert query_id is not None
        assert batch_id is not None
        return pinned_version(catalog_of(self.ref), self.ref.uri, query_id, int(batch_id))
