"""The format of timelines: the tables of which one consists, and how it travels between shards.

Shards number lines and events alike, so that the merge can lay the timelines side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Integers
from watchline.kernels.compiled import kernel

# A catalog version is an event too, of a kind that comes before all others.
STEP = -1
# The k of a line that is no kNN query: one that such a query replaced, or was replaced by, in a
# step. All its candidates are its answer, and they are counted elsewhere.
PLAIN = 1 << 62

QUERIES = pa.schema(
    [("id", pa.string()), ("k", pa.int64()), ("x", pa.float64()), ("y", pa.float64())]
)
RECORDS = pa.schema(
    [("event", pa.int32()), ("query", pa.int32()), ("op", pa.int8()), ("row", pa.int32())]
)


def event_schema(cause: pa.DataType) -> pa.Schema:
    """The columns of events that objects with ids of this type cause."""
    numbers = [("place", pa.int64()), ("told", pa.int64())]
    return pa.schema([("time", pa.int64()), ("kind", pa.int8()), ("cause", cause), *numbers])


class Timeline(NamedTuple):
    """What the kNN queries of one shard did in a batch.

    `queries` has lines of those ids to which something happened: one for each registration of an
    id, in their order. Every shard that has lines of an id has the same ones. A line's centre is
    that of the batch's beginning, NaN if there was none; of a plain line, which has all its
    candidates in the answer, that of the step. A query that is replaced in a step has
    another line: records remove from the one, add to the other. `rows` are those that
    records mean. `told` of an event is the newest time of the stream then: what a step does, and
    what enters a query that starts, is told with it; all else with the event's own time. A record's
    event is -1 if it says what was when the batch began: that of all kNN queries is in a whole
    timeline only.
    """

    queries: pa.Table
    rows: pa.Table
    events: pa.Table
    records: pa.Table


def pack_timeline(timeline: Timeline) -> bytes:
    """The tables as Arrow IPC, one after the other."""
    sink = pa.BufferOutputStream()
    for table in timeline:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpack_timeline(blob: Any) -> Timeline:
    """The timeline whose tables were packed."""
    source = pa.BufferReader(blob)
    tables = []
    for _ in Timeline._fields:
        with pa.ipc.open_stream(source) as reader:
            tables.append(reader.read_all())
    return Timeline(*tables)


def split_timeline(timeline: Timeline, targets: Integers, parts: int) -> list[Timeline]:
    """Line i of the queries goes to part `targets[i]`, with all that its records mean.

    Lines of one id must go to the same part.
    """
    numbers = {name: column_numbers(timeline.records, name) for name in RECORDS.names}
    queries = _dealt(targets, parts)
    records = _dealt(targets[numbers["query"]], parts)
    meant = {"event": timeline.events, "row": timeline.rows}
    scratch = {name: np.full(table.num_rows, -1) for name, table in meant.items()}
    place_of_query = np.empty(len(targets), dtype=np.int64)
    made = []
    for lines, chosen in zip(queries, records, strict=True):
        place_of_query[lines] = np.arange(len(lines))
        of = {name: column[chosen] for name, column in numbers.items()}
        of["query"] = place_of_query[of["query"]]
        tables = {}
        for name, table in meant.items():
            of[name], used = _renumbered(of[name], scratch[name])
            tables[name] = table.take(pa.array(used))
        kept = pa.table([pa.array(of[n]).cast(RECORDS.field(n).type) for n in of], schema=RECORDS)
        taken = timeline.queries.take(pa.array(lines))
        made.append(Timeline(taken, tables["row"], tables["event"], kept))
    return made


def _dealt(targets: Integers, parts: int) -> list[Integers]:
    """The places of each part."""
    order = np.argsort(targets, kind="stable")
    return np.split(order, np.searchsorted(targets[order], np.arange(1, parts)))


def column_numbers(table: pa.Table, name: str) -> Integers:
    """An integer column of a timeline as int64."""
    column = table[name].combine_chunks()
    return column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


@kernel
def _renumbered(numbers: Integers, places: Integers) -> tuple[Integers, Integers]:
    """Numbers by their first appearance, and what they were; -1 stays. `places` is all -1."""
    made = np.empty(len(numbers), np.int64)
    used = np.empty(len(numbers), np.int64)
    count = 0
    for i in range(len(numbers)):
        number = numbers[i]
        if number >= 0 and places[number] < 0:
            places[number] = count
            used[count] = number
            count += 1
        made[i] = places[number] if number >= 0 else -1
    for i in range(count):
        places[used[i]] = -1
    return made, used[:count]
