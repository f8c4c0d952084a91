"""What Spark's Python workers keep between tasks, and what a task knows of its batch.

Workers are reused, so the catalog and the queries of a stream at a version are kept, and moved
forward by the commits between; a worker that has none yet builds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from watchline.catalog import Catalog, Commit, KnownProperties, Queries
from watchline.matching import PairMatcher, prepare
from watchline.model import Stream
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.share import shared
from watchline.spark.version_pin import Pin, pinned, run_store
from watchline.tracking import ChangeQueries, prepare_changes

K = TypeVar("K")
V = TypeVar("V")


@dataclass
class WorkerMemory:
    """What one worker process keeps between tasks. A process has one; a simulation has one for each
    worker that it simulates, and switches between them by `remember`."""

    catalogs: dict[CatalogRef, Catalog] = field(default_factory=dict)
    streams: dict[tuple[CatalogRef, str, int], Stream] = field(default_factory=dict)
    matchers: dict[tuple[CatalogRef, str], PairMatcher] = field(default_factory=dict)
    queries: dict[tuple[CatalogRef, str], ChangeQueries] = field(default_factory=dict)
    properties: dict[CatalogRef, KnownProperties] = field(default_factory=dict)
    # Engines of shards by streaming query and shard, each with its token: see `shard_state`.
    engines: dict[tuple[str, int], tuple[str, Any]] = field(default_factory=dict)


_memory = WorkerMemory()


def remembered() -> WorkerMemory:
    """The memory of this process."""
    return _memory


def remember(memory: WorkerMemory) -> None:
    """Let this process go on with another memory."""
    global _memory
    _memory = memory


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
    """The catalog that a reference names, kept open by this worker."""
    found = _memory.catalogs.get(ref)
    return keep(_memory.catalogs, ref, ref.open() if found is None else found, KEPT)


def declared_stream(ref: CatalogRef, stream: str, version: int) -> Stream:
    """The stream as it is declared at this version. It is kept, because reading an old version
    replays the catalog's log."""
    found = _memory.streams.get((ref, stream, version))
    if found is None:
        found = catalog_of(ref).stream(stream, version)
    return keep(_memory.streams, (ref, stream, version), found, KEPT)


def matcher_of(ref: CatalogRef, stream: str, version: int) -> PairMatcher:
    """The worker's own matcher, at this version. What it starts from is shared by all workers."""
    known = _memory.matchers.get((ref, stream))
    if known is None:
        sources = _base_at(ref, stream, prepare), _changes(ref)
        known = PairMatcher.from_plans(stream, version, *sources)
        keep(_memory.matchers, (ref, stream), known, KEPT)
    known.advance(version)
    return known


def properties_known(ref: CatalogRef, version: int) -> KnownProperties:
    """The properties of all queries that were registered up to this version."""
    known = _memory.properties.get(ref)
    if known is None:
        known = keep(_memory.properties, ref, KnownProperties(catalog_of(ref)), KEPT)
    known.advance(version)
    return known


def queries_at(ref: CatalogRef, stream: str, version: int) -> ChangeQueries:
    """The worker's own queries that emit changes, at this version."""
    return queries_from(ref, stream, version, version)


def queries_from(ref: CatalogRef, stream: str, after: int, version: int) -> ChangeQueries:
    """The queries at version `after` or past it, with the steps from there, but not past
    `version`."""
    known = _memory.queries.get((ref, stream))
    if known is None or after < known.oldest or version < known.version:
        sources = _base_at(ref, stream, prepare_changes), _changes(ref)
        known = ChangeQueries.from_plans(stream, after, *sources)
        keep(_memory.queries, (ref, stream), known, KEPT)
    elif known.version < after:
        known.advance(after)
    return known


def _base_at(
    ref: CatalogRef, stream: str, prepared: Callable[[Queries, Stream], V]
) -> Callable[[int], V]:
    def base_at(version: int) -> V:
        def build() -> V:
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
    if ref.uri is None:
        # Statements have one version, and it counts them otherwise than their author did.
        return Pin(catalog_of(ref).version, now)
    if version is not None:
        return Pin(version, now)
    catalog, (query_id, batch_id) = catalog_of(ref), micro_batch()
    return pinned(catalog, run_store(catalog, ref.uri, query_id), batch_id)


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
