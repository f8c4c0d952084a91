"""A rehearsal: a few rows through the engines of a job, so that their kernels are compiled.

Numba compiles a kernel when it is first called, and keeps the machine code on disk, where every
later process finds it. A rehearsal calls what a job will call: with the job's own queries, in two
shards, with a state that is saved and read again. So it compiles what these queries need and
nothing else. It has no effect but these files.

The rows are drawn from the queries' own boxes, because it depends on the rows which of several
ways a batch goes: rows that no query looks at would leave most kernels untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.catalog import Catalog, Queries
from watchline.joining import Joiner
from watchline.kernels.arrays import Doubles
from watchline.matching import PairMatcher, Part, Plan, RegionPart, prepare
from watchline.model import Attribute, Keep, Query, Stream, Type
from watchline.proximity import Moving
from watchline.rows import row_schema, shards_of, times_of
from watchline.tracking import (
    WHOLE,
    ChangeQueries,
    MergedAnswers,
    Received,
    Saved,
    Timeline,
    TimeSpan,
    Tracker,
    pack_timeline,
    prepare_changes,
    split_timeline,
    unpack_timeline,
)

T = TypeVar("T")

SHARDS = 2
# Rows that are drawn where none are given, and the batches they come in.
ROWS, BATCHES = 2_000, 2
# Queries of each kind that a rehearsal has: enough for every index that more of them would have.
OF_A_KIND = 2_000
# Microseconds between two rows.
APART = 1_000


def is_moving(query: Query) -> bool:
    """Whether the operator of queries that move or rank decides it."""
    return query.knn is not None or bool(query.focals)


class QueryKinds(NamedTuple):
    """What decides which kernels queries need, as a text, and the ids of some of each kind."""

    key: str
    ids: tuple[str, ...]


def kinds(queries: Queries) -> QueryKinds:
    """The kinds of these queries.

    Kernels depend on the clauses of queries, and on roughly how many there are. Jobs of the same
    kinds need one rehearsal, and a rehearsal needs some queries of each kind.
    """
    chosen: dict[str, list[str]] = {}
    for name, entry in queries.entries.items():
        of_kind = chosen.setdefault(repr(_clauses(entry.query)), [])
        if len(of_kind) < OF_A_KIND:
            of_kind.append(name)
    columns = {repr((b.emit, b.kind)) for b in queries.blocks}
    ids = tuple(name for of_kind in chosen.values() for name in of_kind)
    return QueryKinds(repr((sorted(chosen), sorted(columns), len(str(len(queries))))), ids)


def some_of(queries: Queries, ids: Sequence[str]) -> Queries:
    """These of the queries that came as SQL, and all that came in bulk."""
    entries = {name: queries.entries[name] for name in ids if name in queries.entries}
    return Queries(queries.version, entries, queries.blocks)


def _clauses(query: Query) -> tuple[Any, ...]:
    atoms = {type(atom).__name__ for conjunction in query.where for atom in conjunction.atoms}
    parts = (query.region, query.knn, query.lifetime)
    names = tuple(type(part).__name__ for part in parts)
    return query.emit, len(query.sources), len(query.where) > 1, sorted(atoms), names


def part_of(queries: Queries, moving: bool) -> Queries:
    """The queries that move or rank, or all others: the two have few kernels in common."""
    entries = {
        name: entry for name, entry in queries.entries.items() if is_moving(entry.query) == moving
    }
    return Queries(queries.version, entries, () if moving else queries.blocks)


def rehearse_changes(
    queries: Queries, stream: Stream, rows: pa.Table | None = None, keep: Keep | None = None
) -> None:
    """What `wl.changes` does: shards, the merge of their nearest neighbours, a state."""
    made = prepare_changes(queries, stream)
    if not len(made.plan):
        return
    shared = ChangeQueries.from_plans(stream.name, queries.version, _only(made), _no_commits)
    trackers = [Tracker.over(shared, "", SHARDS, keep) for _ in range(SHARDS)]
    for batch in _batches(drawn(made.plan, stream, moving=made.moving) if rows is None else rows):
        timelines = _processed(trackers, batch, stream, shared.focals())
        _merge(timelines, stream)
        trackers = [_saved_and_read(tracker, shared, keep) for tracker in trackers]


def rehearse_matches(queries: Queries, stream: Stream, rows: pa.Table | None = None) -> None:
    """What `wl.matches` does."""
    made = prepare(queries, stream)
    matcher = PairMatcher.from_plans(stream.name, queries.version, _only(made), _no_commits)
    for batch in _batches(drawn(made.plan, stream) if rows is None else rows):
        matcher.match(batch)


def rehearse_joins(catalog: Catalog, streams: Sequence[str]) -> None:
    """What `wl.joins` does: rows of all streams, and a state."""
    joiner = Joiner.of_part(catalog, streams, catalog.version)
    declared = [catalog.stream(name) for name in streams]
    for batch in range(BATCHES):
        first = batch * ROWS * APART
        joiner.process({s.name: plain(s, ROWS // 4, first=first) for s in declared})
        joiner = Joiner.resume(catalog, list(streams), joiner.snapshot())
    joiner.finish()


def _only(made: T) -> Callable[[int], T]:
    return lambda version: made


def _no_commits(after: int, upto: int) -> list[Any]:
    return []


def _batches(rows: pa.Table) -> Iterator[pa.Table]:
    cuts = np.linspace(0, rows.num_rows, BATCHES + 1).astype(int).tolist()
    for start, end in pairwise(cuts):
        if start < end:
            yield rows.slice(start, end - start)


def _processed(
    trackers: list[Tracker], rows: pa.Table, stream: Stream, focals: pa.Array
) -> list[Timeline]:
    """A batch through all shards; what their nearest neighbours did."""
    times = times_of(rows, stream)
    span = TimeSpan(int(times.min()), int(times.max()))
    ids = rows[stream.object].combine_chunks()
    shards = shards_of(ids, len(trackers))
    focal = pc.is_in(ids, focals).to_numpy(zero_copy_only=False)
    timelines = []
    for number, tracker in enumerate(trackers):
        own, foreign = shards == number, focal & (shards != number)
        tracker.process(rows.filter(pa.array(own)), span, rows.filter(pa.array(foreign)))
        timelines.append(tracker.timeline())
    return [timeline for timeline in timelines if timeline is not None]


def _merge(timelines: list[Timeline], stream: Stream) -> None:
    """As shards send their timelines: dealt by query, packed, and merged; and the merge's state."""
    dealt = [
        split_timeline(timeline, shards_of(timeline.queries["id"].combine_chunks(), SHARDS), SHARDS)
        for timeline in timelines
    ]
    for parts in zip(*dealt, strict=True):
        received = [
            Received(number, WHOLE, unpack_timeline(pack_timeline(part)))
            for number, part in enumerate(parts)
            if part.records.num_rows
        ]
        if received:
            merged = MergedAnswers(SHARDS)
            merged.merge(received, stream)
            MergedAnswers.resumed(SHARDS, [merged.snapshot()]).merge(received, stream)


def _saved_and_read(tracker: Tracker, shared: ChangeQueries, keep: Keep | None) -> Tracker:
    saved = Saved.of(tracker.snapshot(), tracker.identity, tracker.stream.name)
    return Tracker.resume(shared, saved, SHARDS, keep)


# --- rows


def drawn(made: Plan, stream: Stream, count: int = ROWS, moving: Moving | None = None) -> pa.Table:
    """Rows of the stream that meet the queries of a plan, and those that move or rank."""
    rng = np.random.default_rng(0)
    rows = plain(stream, count, () if moving is None else _focals(moving))
    if stream.point is not None and moving is not None and len(moving):
        centres = moving.centre[rng.integers(0, len(moving), count)]
        known = np.where(np.isfinite(centres), centres, rng.random(centres.shape))
        for axis, name in enumerate(stream.point):
            rows = _with(rows, name, known[:, axis])
    for part in made.parts:
        if part.lo.shape[1]:
            boxes = part.around() if isinstance(part, RegionPart) else part
            rows = _within(rows, boxes, made, rng)
    return rows


def _focals(moving: Moving) -> pa.Array:
    return pa.concat_arrays([ids.drop_null() for ids in moving.focals])


def plain(stream: Stream, count: int, ids: Any = (), first: int = 0) -> pa.Table:
    """Rows of a few values each, of these objects and of others, one after the other in time."""
    numbers = np.arange(count)
    columns = {}
    for attribute, field in zip(stream.attributes, row_schema(stream), strict=True):
        values: Any = numbers % 7
        if attribute.name == stream.time:
            values = first + numbers * APART
        elif attribute.name == stream.object:
            values = numbers % max(count // 3, 1)
        if attribute.type is Type.STRING:
            values = [str(value) for value in values.tolist()]
        elif attribute.type is Type.BOOLEAN:
            values = numbers % 2 == 0
        columns[attribute.name] = pa.array(values).cast(field.type)
    rows = pa.table(columns, schema=row_schema(stream))
    known = pa.array(ids, rows.schema.field(stream.object).type)[: count // 2]
    named = pa.concat_arrays([known, rows[stream.object].combine_chunks()])[:count]
    return _with(rows, stream.object, named)


def _with(rows: pa.Table, name: str, values: Any) -> pa.Table:
    at = rows.schema.get_field_index(name)
    field = rows.schema.field(at)
    return rows.set_column(at, field, pa.array(values).cast(field.type, safe=False))


def _within(rows: pa.Table, part: Part, made: Plan, rng: np.random.Generator) -> pa.Table:
    """With values for the attributes of this part that lie inside boxes of it."""
    boxes = rng.integers(0, part.lo.shape[1], rows.num_rows)
    for attribute, lo, hi in zip(part.axes, part.lo[:, boxes], part.hi[:, boxes], strict=True):
        if attribute.type in (Type.DOUBLE, Type.BIGINT):
            rows = _with(rows, attribute.name, _between(lo, hi, rng))
        elif attribute in made.dictionaries:
            rows = _with(rows, attribute.name, _of(attribute, made, rows.num_rows, rng))
    if part.key is not None:
        rows = _with(rows, part.key.name, _of(part.key, made, rows.num_rows, rng))
    return rows


def _between(lo: Doubles, hi: Doubles, rng: np.random.Generator) -> Doubles:
    """Somewhere in [lo, hi): near the bound that there is, where one of them is missing."""
    low = np.where(np.isfinite(lo), lo, np.where(np.isfinite(hi), hi - 1.0, 0.0))
    high = np.where(np.isfinite(hi), hi, low + 1.0)
    return np.asarray(low + (high - low) * rng.random(len(low)))


def _of(attribute: Attribute, made: Plan, count: int, rng: np.random.Generator) -> pa.Array:
    values = made.dictionaries[attribute]
    return values.take(pa.array(rng.integers(0, len(values), count)))
