"""One answer of all shards from their own: the merge of the k nearest.

The k nearest of all objects are among the k nearest of each shard, its *candidates*. In a batch a
shard sends a `Timeline`: what happened to its candidates, of those queries to which something
happened. The merge has the candidates of all shards as the batch began, replays the timelines event
by event, and reports what enters and leaves the answers. Where the candidates of the batch's
beginning are kept is not known here: `merged.py` has them, and a whole timeline brings its own.

Invariant: after every event the answer of a query is the first k of its candidates, by distance and
then by object, or nothing while it has no centre. What leaves and enters has its distance from the
centre as it is after the event; what leaves a line that ends, or that loses its centre, from the
centre that this line had.

Places are points of three coordinates: on Earth their vectors, made of the degrees of rows and
lines as in the shards; in a plane with 0 behind the two, which adds nothing to a square.

Cost: rows and events are ranked and records sorted, once. An event that touches a query costs the
query's candidates, at most k of each shard, and where its centre moves a sort of them. Queries to
which nothing happened cost nothing, unless a whole timeline has them.

Events of different shards are one event if they have the same time, kind, cause and place. Those
that end a query's life have no cause, and are one for each query, which is replayed by itself.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Doubles, Integers
from watchline.kernels.buffers import grown
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.earth import Vector, arcs_over, vectors_of
from watchline.model import Stream
from watchline.proximity import ADD, CENTRE, CLOSE, END, FRESH, REFRESH, REMOVE
from watchline.reasons import ENTERED, LEFT, Reason
from watchline.rows import Columns
from watchline.tracking.distances import points_of
from watchline.tracking.timeline.format import PLAIN, RECORDS, STEP, Timeline, column_numbers


class KnownCandidates(Protocol):
    """The candidates of queries as the batch began, where timelines do not bring them all."""

    def of(self, ids: pa.Array) -> tuple[Integers, pa.Table]:
        """The candidates of these queries: the place in `ids` of each one's query, and its row."""


class QueriesAfter(NamedTuple):
    """The queries of which timelines say anything, after the batch: how many members the answer of
    each has; and of every candidate the place of its query in `ids`, and of its row in `rows`."""

    ids: pa.Array
    sizes: Integers
    owners: Integers
    places: Integers


class MergedChanges(NamedTuple):
    """Change i is of the query `queries[i]` and shows `rows[places[i]]`; a distance is NaN where
    there is none."""

    queries: pa.Array
    signs: npt.NDArray[np.int8]
    rows: pa.Table
    places: Integers
    times: Integers
    reasons: npt.NDArray[np.int8]
    distances: Doubles
    after: QueriesAfter


class _Lines(NamedTuple):
    """The lines of all shards, each once: by id, those of an id in their order.

    `group` is the number of the id; the lines of group g begin at `first[g]`.
    """

    group: Integers
    first: Integers
    k: Integers
    centre: Doubles


class _MergedEvents(NamedTuple):
    """Events of all shards, each once, in order; `newest` is the newest time of the stream then."""

    time: Integers
    kind: Integers
    newest: Integers


class _Records(NamedTuple):
    """Records of all shards: of the event, line and row of all; a row of -1 is none."""

    event: Integers
    line: Integers
    op: Integers
    row: Integers

    def chosen(self, places: Integers) -> _Records:
        return _Records(*(column[places] for column in self))


class _Rows(NamedTuple):
    """Points of rows, and the rank of the object of each among `objects`."""

    points: Doubles
    object: Integers
    objects: int


def merge_timelines(
    timelines: list[Timeline], stream: Stream, known: KnownCandidates | None = None
) -> MergedChanges:
    """The changes of the answers of all shards together, by event, `-` first, query and object.

    There is a timeline at least; a shard without records need not send one. Without `known` all
    candidates of the batch's beginning are in the timelines.
    """
    happenings = pa.concat_tables([t.events for t in timelines])
    ids, lines, line_of = _lines([t.queries for t in timelines], stream)
    tables = [t.rows for t in timelines]
    owners = np.empty(0, np.int64)
    if known is not None:
        owners, began = known.of(ids)
        tables.append(began.replace_schema_metadata(tables[0].schema.metadata))
    rows = pa.concat_tables(tables).combine_chunks()
    # Causes are objects: both are ranked together.
    named = [rows[stream.object], happenings["cause"]]
    objects, ranks = _ranked(pa.chunked_array([c for n in named for c in n.chunks], named[0].type))
    events, event_of = _events(happenings, ranks[rows.num_rows :])
    records = _records(timelines, line_of, event_of)
    if len(owners):
        records = _with_known(records, lines.first[owners], rows.num_rows - len(owners))
    placed = _Rows(_points_of_rows(rows, stream), ranks[: rows.num_rows], len(objects))
    changes, squares, sizes, kept = _replayed(records, lines, placed)
    distances = arcs_over(squares) if stream.geography else np.sqrt(squares)
    return _merged(changes, distances, QueriesAfter(ids, sizes, *kept.T), events, rows)


def _with_known(records: _Records, lines: Integers, first: int) -> _Records:
    """The records, and those that say who was a candidate of these lines as the batch began: the
    rows from `first` on."""
    n = len(lines)
    more = (np.full(n, -1), lines, np.full(n, ADD), first + np.arange(n))
    return _Records(*(np.concatenate(pair) for pair in zip(records, more, strict=True)))


def _ranked(values: pa.ChunkedArray) -> tuple[pa.Array, Integers]:
    """The different values in order, strings by their bytes; the rank of each, -1 for null."""
    coded = values.combine_chunks().dictionary_encode()
    order = pc.sort_indices(coded.dictionary)
    rank = np.full(len(order) + 1, -1)
    rank[order.to_numpy()] = np.arange(len(order))
    return coded.dictionary.take(order), rank[coded.indices.fill_null(-1).to_numpy()]


def _points_of_rows(rows: pa.Table, stream: Stream) -> Doubles:
    if stream.geography:
        # A row from before any query used the place may have a latitude beyond a pole.
        x, y = np.ascontiguousarray(points_of(Columns(rows, stream), stream).T)
    else:
        # Copies, since a kernel is compiled once more for what is read-only.
        x, y = (np.array(rows[name].to_numpy()) for name in stream.point or ())
    return _points(x, y, stream)


def _points(x: Doubles, y: Doubles, stream: Stream) -> Doubles:
    """Places as points of three coordinates, a row each."""
    if stream.geography:
        return np.asarray(vectors_of(x, y))
    return np.stack([x, y, np.zeros(len(x))], axis=1)


def _lines(queries: list[pa.Table], stream: Stream) -> tuple[pa.Array, _Lines, Integers]:
    """The ids, the lines of all shards, and which of these each shard's own are."""
    every = pa.concat_tables(queries)
    ids, group = _ranked(every["id"])
    shard = np.repeat(np.arange(len(queries)), [t.num_rows for t in queries])
    order = np.lexsort((group, shard))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (np.diff(group[order]) != 0) | (np.diff(shard[order]) != 0)
    starts = np.flatnonzero(first)
    # The how-manieth of its id in its shard a line is.
    nth = np.empty(len(order), dtype=np.int64)
    nth[order] = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    most = int(nth.max(initial=0)) + 1
    _, one, line_of = np.unique(group * most + nth, return_index=True, return_inverse=True)
    k, x, y = (every[name].to_numpy()[one] for name in ("k", "x", "y"))
    begin = np.searchsorted(group[one], np.arange(len(ids)))
    return ids, _Lines(group[one], begin, k, _points(x, y, stream)), line_of


def _events(events: pa.Table, cause: Integers) -> tuple[_MergedEvents, Integers]:
    """The events of all shards, and which of these each shard's own are."""
    names = ("time", "kind", "place", "told")
    time, kind, place, newest = (column_numbers(events, name) for name in names)
    keys = np.where(kind == END, 0, place), cause, kind, time
    order = np.lexsort(keys)
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
    event_of = np.empty(len(order), dtype=np.int64)
    event_of[order] = np.cumsum(new) - 1
    one = order[new]
    return _MergedEvents(time[one], kind[one], newest[one]), event_of


def _records(timelines: list[Timeline], line_of: Integers, event_of: Integers) -> _Records:
    parts = []
    line = event = row = 0
    for t in timelines:
        mine = {name: column_numbers(t.records, name) for name in RECORDS.names}
        parts.append(
            _Records(
                _looked_up(event_of[event : event + t.events.num_rows], mine["event"]),
                line_of[line + mine["query"]],
                mine["op"],
                np.where(mine["row"] < 0, -1, mine["row"] + row),
            )
        )
        line, event = line + t.queries.num_rows, event + t.events.num_rows
        row += t.rows.num_rows
    return _Records(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _looked_up(table: Integers, places: Integers) -> Integers:
    """-1 stays."""
    return np.append(table, -1)[places]


def _replayed(
    records: _Records, lines: _Lines, rows: _Rows
) -> tuple[Integers, Doubles, Integers, Integers]:
    """The changes that the kernel finds, and the squares of their distances; after the batch the
    size of each answer, and the query and the row of every candidate."""
    group = lines.group[records.line]
    later = records.event >= 0
    touched = np.zeros(len(lines.first), dtype=np.bool_)
    touched[group[later]] = True
    # Where nothing happens only the number of candidates counts.
    still = np.flatnonzero(~later & ~touched[group])
    counts = np.bincount(records.line[still], minlength=len(lines.k))
    shown = np.where(np.isnan(lines.centre[:, 0]), 0, np.minimum(counts, lines.k))
    sizes = np.bincount(lines.group, shown, len(lines.first)).astype(np.int64)
    chosen = np.flatnonzero(~later & touched[group])
    began = records.chosen(chosen[np.argsort(group[chosen], kind="stable")])
    chosen = np.flatnonzero(later)
    later_records = records.chosen(chosen)
    moment = group[chosen] * (int(later_records.event.max(initial=0)) + 1) + later_records.event
    # Within an event the lines of an id in their order, and what goes before what comes.
    order = np.lexsort((later_records.line * (CLOSE - REMOVE + 1) + later_records.op, moment))
    room = np.bincount(group, touched[group], minlength=1).max()
    changes, squares, kept = _replay(
        began, later_records.chosen(order), lines, rows, sizes, int(room)
    )
    stays = np.stack([group[still], records.row[still]], axis=1)
    return changes, squares, sizes, np.concatenate([stays, kept])


def _merged(
    changes: Integers,
    distances: Doubles,
    after: QueriesAfter,
    events: _MergedEvents,
    rows: pa.Table,
) -> MergedChanges:
    event, group, sign, who, row, fresh = changes.T
    order = np.lexsort((who, group, sign, event))
    event, sign, entered = event[order], sign[order].astype(np.int8), sign[order] > 0
    starts = entered & (fresh[order] > 0)
    kind = events.kind[event]
    reasons = np.where(entered, _ENTERED[kind - STEP], _LEFT[kind - STEP])
    return MergedChanges(
        after.ids.take(pa.array(group[order])),
        sign,
        rows,
        row[order],
        np.where((kind == STEP) | starts, events.newest[event], events.time[event]),
        np.where(starts, Reason.REGISTERED, reasons).astype(np.int8),
        distances[order],
        after,
    )


# By kind, from STEP on.
_LEFT = np.array([Reason.DROPPED, *LEFT])
_ENTERED = np.array([Reason.REGISTERED, *ENTERED])

# --- kernels

# So many candidates are put in their places one by one; more are sorted in wide steps first.
_FEW = 16
_GAPS = np.array([100_000, 40_000, 16_000, 6_400, 2_600, 1_000, 400, 160, 64, 25, 10, 4, 1])


class _Query(NamedTuple):
    """Where the replay of a query is: its line, its centre, how many candidates it has."""

    line: int
    centre: Vector
    size: int


class _Centres(NamedTuple):
    """From where what leaves and what enters in an event has its distances."""

    left: Vector
    entered: Vector


class _Scratch(NamedTuple):
    """Candidates in order, by object and distance; the answer before the event, likewise.

    For each object its latest row, as far as the query being replayed knows it, and a stamp.
    """

    who: Integers
    far: Doubles
    before: Integers
    latest: Integers
    stamps: Integers


@kernel
def _replay(
    began: _Records, records: _Records, lines: _Lines, rows: _Rows, sizes: Integers, room: int
) -> tuple[Integers, Doubles, Integers]:
    """The columns of the changes (event, query, sign, object, row, and whether the query starts
    there) and the squares of their distances, then the query and the row of each candidate after
    the batch. The sizes of answers are written in place, by query."""
    objects = rows.objects
    own = _Scratch(
        np.empty(room, np.int64),
        np.empty(room, np.float64),
        np.empty(room, np.int64),
        np.empty(objects, np.int64),
        np.zeros(objects, np.int64),
    )
    out = np.empty((max(len(records.event), 16), 6), np.int64)
    far = np.empty(len(out), np.float64)
    kept = np.empty((max(len(began.line), 16), 2), np.int64)
    # Of a plain 0 Numba compiles versions of their own.
    count = size = stamp = at = i = np.int64(0)
    while i < len(records.event):
        group = lines.group[records.line[i]]
        query, at = _begun(began, at, group, lines, rows, own)
        while i < len(records.event) and lines.group[records.line[i]] == group:
            event, end, fresh = records.event[i], i, 0
            while (
                end < len(records.event)
                and records.event[end] == event
                and lines.group[records.line[end]] == group
            ):
                fresh |= records.op[end] == FRESH
                end += 1
            shown = _shown(query, lines)
            own.before[:shown] = own.who[:shown]
            stamp += 3
            before, query = query, _applied(query, records, i, end, lines, rows, own, stamp)
            if count + shown + query.size > len(out):
                out = _grown(out, count + shown + query.size)
                far = grown(far, len(out), count)
            after, at_event = _shown(query, lines), (event, group, fresh)
            centres = _centres(before, query)
            start, count = count, _compared(out, count, own, shown, after, at_event, stamp)
            _measured(out, far, start, count, rows, centres)
            i = end
        if lines.k[query.line] < PLAIN:
            sizes[group] = _shown(query, lines)
            if size + query.size > len(kept):
                kept = _grown(kept, size + query.size)
            for a in range(query.size):
                kept[size, 0], kept[size, 1] = group, own.latest[own.who[a]]
                size += 1
    return out[:count], far[:count], kept[:size]


@inner
def _begun(
    began: _Records, at: int, group: int, lines: _Lines, rows: _Rows, own: _Scratch
) -> tuple[_Query, int]:
    """An id as the batch began, and the place of the next one's records."""
    count = 0
    line = lines.first[group]
    while at < len(began.line) and lines.group[began.line[at]] == group:
        row = began.row[at]
        own.who[count] = rows.object[row]
        own.latest[rows.object[row]] = row
        count += 1
        at += 1
    query = _Query(line, _point_at(lines.centre, line), count)
    _sort(query, np.int64(0), rows, own)
    return query, at


@inner
def _shown(query: _Query, lines: _Lines) -> int:
    """So many of the first candidates are the answer."""
    k = lines.k[query.line]
    return 0 if np.isnan(query.centre[0]) and k < PLAIN else min(query.size, k)


@inner
def _centres(before: _Query, after: _Query) -> _Centres:
    """Around an event, by the query as it was before and is after it."""
    ends = after.line != before.line or np.isnan(after.centre[0])
    return _Centres(before.centre if ends else after.centre, after.centre)


@inner
def _point_at(points: Doubles, i: int) -> Vector:
    return points[i, 0], points[i, 1], points[i, 2]


@inner
def _square(points: Doubles, i: int, centre: Vector) -> float:
    """As operators compute it."""
    dx, dy, dz = points[i, 0] - centre[0], points[i, 1] - centre[1], points[i, 2] - centre[2]
    return dx * dx + dy * dy + dz * dz


@inner
def _applied(
    query: _Query,
    records: _Records,
    start: int,
    end: int,
    lines: _Lines,
    rows: _Rows,
    own: _Scratch,
    stamp: int,
) -> _Query:
    """The query after the records of an event."""
    line, centre, count = query
    if records.line[end - 1] != line:
        # What the line before it held goes with it.
        line, count = records.line[end - 1], 0
        centre = _point_at(lines.centre, line)
    moved = False
    for i in range(start, end):
        op, row = records.op[i], records.row[i]
        if op <= ADD:
            own.latest[rows.object[row]] = row
            own.stamps[rows.object[row]] = stamp
        elif records.line[i] == line and op == CENTRE:
            centre, moved = _point_at(rows.points, row), True
        elif records.line[i] == line and op == CLOSE:
            centre = (np.nan, np.nan, np.nan)
    kept = 0
    for a in range(count):
        if own.stamps[own.who[a]] != stamp:
            own.who[kept], own.far[kept] = own.who[a], own.far[a]
            kept += 1
    count = kept
    for i in range(start, end):
        if records.line[i] == line and REFRESH <= records.op[i] <= ADD:
            own.who[count] = rows.object[records.row[i]]
            count += 1
    query = _Query(line, centre, count)
    _sort(query, np.int64(0) if moved or count - kept > _FEW else kept, rows, own)
    return query


@inner
def _sort(query: _Query, kept: int, rows: _Rows, own: _Scratch) -> None:
    """Candidates by distance and object; the first `kept` stand so already.

    A Shell sort: with one gap it is the insertion of the others.
    """
    who, far, count = own.who, own.far, query.size
    for a in range(kept, count):
        far[a] = _square(rows.points, own.latest[who[a]], query.centre)
    for gap in _GAPS[0 if count - kept > _FEW else -1 :]:
        for a in range(max(kept, gap), count):
            w, f = who[a], far[a]
            b = a
            while b >= gap and (far[b - gap] > f or (far[b - gap] == f and who[b - gap] > w)):
                who[b], far[b] = who[b - gap], far[b - gap]
                b -= gap
            who[b], far[b] = w, f


@inner
def _compared(
    out: Integers,
    count: int,
    own: _Scratch,
    before: int,
    after: int,
    at: tuple[int, int, int],
    stamp: int,
) -> int:
    """Write down who left and who entered; the number of changes so far."""
    event, group, fresh = at
    stamps = own.stamps
    for a in range(before):
        stamps[own.before[a]] = stamp + 1
    for sign, side, size in ((1, own.who, after), (-1, own.before, before)):
        for a in range(size):
            w = side[a]
            # The entered are those of now not marked before; then what is now is marked.
            if stamps[w] != stamp + (1 if sign > 0 else 2):
                out[count, 0], out[count, 1], out[count, 2] = event, group, sign
                out[count, 3], out[count, 4], out[count, 5] = w, own.latest[w], fresh
                count += 1
            if sign > 0:
                stamps[w] = stamp + 2
    return count


@inner
def _measured(
    out: Integers, far: Doubles, start: int, end: int, rows: _Rows, centres: _Centres
) -> None:
    """The squares of the distances of these changes, all of one event and one query."""
    for i in range(start, end):
        centre = centres.entered if out[i, 2] > 0 else centres.left
        far[i] = _square(rows.points, out[i, 4], centre)


@inner
def _grown(table: Integers, least: int) -> Integers:
    wider = np.empty((max(2 * len(table), least), table.shape[1]), table.dtype)
    wider[: len(table)] = table
    return wider
