"""What runs in Spark's Python workers.

A task gets Arrow batches and gives Arrow batches. Workers are reused, so the matcher of a version
is kept and moved forward by the commits between; a worker that has none yet builds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from watchline.catalog import Catalog, Commit, Queries
from watchline.index.result import one_thread
from watchline.matching import Base, PairMatcher, matched, prepare
from watchline.model import Stream
from watchline.spark.counting import COUNTS, COUNTS_TYPE, as_json, counters_alone
from watchline.spark.place import CatalogRef
from watchline.spark.share import shared
from watchline.tracking import Watcher, prepare_changes

if TYPE_CHECKING:
    from watchline.spark.pin import Pin

K = TypeVar("K")
V = TypeVar("V")

# Rows per output batch: large enough for Arrow, small enough for a worker's memory.
MAX_ROWS = 1_000_000


_catalogs: dict[CatalogRef, Catalog] = {}
_streams: dict[tuple[CatalogRef, str, int], Stream] = {}
_matchers: dict[tuple[CatalogRef, str], PairMatcher] = {}
_watchers: dict[tuple[CatalogRef, str], Watcher] = {}


# Streams and their queries that a worker keeps; one that served many forgets the oldest.
KEPT = 8


def keep(cache: dict[K, V], key: K, value: V, most: int) -> V:
    """Put in a value as the newest; the oldest goes if there are too many."""
    cache.pop(key, None)
    cache[key] = value
    while len(cache) > most:
        del cache[next(iter(cache))]
    return value


def catalog_of(ref: CatalogRef) -> Catalog:
    found = _catalogs.get(ref)
    return keep(_catalogs, ref, ref.open() if found is None else found, KEPT)


def stream_of(ref: CatalogRef, stream: str, version: int) -> Stream:
    """The stream as it is declared at this version; that of an older one is read again and again
    otherwise."""
    found = _streams.get((ref, stream, version))
    if found is None:
        found = catalog_of(ref).stream(stream, version)
    return keep(_streams, (ref, stream, version), found, KEPT)


def matcher_of(ref: CatalogRef, stream: str, version: int) -> PairMatcher:
    """The worker's own matcher, at this version. What it starts from is shared by all workers."""
    known = _matchers.get((ref, stream))
    if known is None:
        sources = _base_at(ref, stream, prepare), _changes(ref)
        known = PairMatcher.from_bases(stream, version, *sources)
        keep(_matchers, (ref, stream), known, KEPT)
    known.advance(version)
    return known


def watcher_of(ref: CatalogRef, stream: str, version: int) -> Watcher:
    """The same for changes."""
    return watcher_from(ref, stream, version, version)


def watcher_from(ref: CatalogRef, stream: str, after: int, version: int) -> Watcher:
    """A watcher that is at version `after` or past it, with the steps from there, but not past
    `version`."""
    known = _watchers.get((ref, stream))
    if known is None or after < known.oldest or version < known.version:
        sources = _base_at(ref, stream, prepare_changes), _changes(ref)
        known = Watcher.from_bases(stream, after, *sources)
        keep(_watchers, (ref, stream), known, KEPT)
    elif known.version < after:
        known.advance(after)
    return known


def _base_at(
    ref: CatalogRef, stream: str, prepared: Callable[[Queries, Stream], Base]
) -> Callable[[int], Base]:
    def base_at(version: int) -> Base:
        def build() -> Base:
            catalog = catalog_of(ref)
            return prepared(catalog.queries(version), catalog.stream(stream, version))

        name = repr((ref, stream, prepared.__name__))
        return shared(name, repr((name, ref.catalog_id, version)), build)

    return base_at


def _changes(ref: CatalogRef) -> Callable[[int, int], list[Commit]]:
    return lambda after, upto: catalog_of(ref).changes(after, upto)


def batch_version(ref: CatalogRef, version: int | None) -> int:
    """The version of the task's batch; `version` is None for a stream, whose batches each have
    their own."""
    return batch_pin(ref, version).version


def batch_pin(ref: CatalogRef, version: int | None, now: int | None = None) -> Pin:
    """As `batch_version`, with the wall clock beside it: `now` for a batch input, and for a stream
    the time that is pinned. Statements have no place for a pin: see `routing.NOW`."""
    from watchline.spark.pin import Pin, pinned

    if ref.uri is None:
        # Statements have one version, and it counts them otherwise than their author did.
        return Pin(catalog_of(ref).version, now)
    if version is not None:
        return Pin(version, now)
    return pinned(catalog_of(ref), ref.uri, *micro_batch())


def micro_batch() -> tuple[str, int]:
    """Spark's ids of the streaming query and of the batch that the task belongs to."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    query_id = task.getLocalProperty("sql.streaming.queryId")
    batch_id = task.getLocalProperty("streaming.sql.batchId")
    assert query_id is not None
    assert batch_id is not None
    return query_id, int(batch_id)


@dataclass(frozen=True)
class MatchTask:
    """The function that `mapInArrow` runs: rows in, `query_id` and the chosen columns out, and at
    the end one row that has nothing but counters.

    `version` is None for a stream, whose micro-batches each have their own.
    """

    ref: CatalogRef
    stream: str
    columns: tuple[str, ...]
    version: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = matcher_of(self.ref, self.stream, batch_version(self.ref, self.version))
        seen, schema = 0, None
        for batch in batches:
            seen += batch.num_rows
            if schema is None:
                of_rows = [batch.schema.field(name) for name in self.columns]
                schema = pa.schema([("query_id", pa.string()), *of_rows])
                if self.version is not None:
                    # `wl.counters` must know whether all tasks of a batch came to their end.
                    yield counters_alone(pa.array([as_json({})], COUNTS_TYPE), schema)
            with one_thread():
                pairs = matcher.match(batch)
            for start in range(0, len(pairs), MAX_ROWS):
                piece = matched(pairs.slice(start, MAX_ROWS), batch, self.columns)
                uncounted = pa.nulls(piece.num_rows, COUNTS_TYPE)
                yield from piece.append_column(COUNTS, uncounted).to_batches()
        if schema is not None:
            counts = as_json({"rows": seen, "unanswered": matcher.unanswered})
            yield counters_alone(pa.array([counts], COUNTS_TYPE), schema)
