"""The states of a stream's shards, dealt to another number of shards.

Invariant (I2): trackers that go on from the new states tell what those of the old ones would have.
Each object goes to the shard of its id. What follows from the catalog and the stream's times alone,
such as the version, the newest time and the lives of queries, is equal in all shards, and stays.
Every shard knows the objects that queries move with; they are copied from their owners. Counters of
whole lives add up, and the first shard has the sums. How many answers a shard counts depends on
whether it ranks its nearest neighbours alone, so answers are counted anew.

A stream with RETAIN is refused: what a shard keeps, and what it gave up, depends on how many shards
there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.errors import InvalidState
from watchline.rows import blob as blobs
from watchline.rows import shards_of
from watchline.tracking.queries import ChangeQueries
from watchline.tracking.saved import Saved
from watchline.tracking.tracker import Tracker

# What a head has that is equal in all shards. What else it may have is of one shard, and is not
# taken over: nobody has been told anything by the new ones yet.
_EQUAL = ("stream", "catalog", "version", "newest", "births", "waiting")


def resharded(states: Sequence[Saved], queries: ChangeQueries, shards: int) -> list[bytes]:
    """Snapshots of so many shards from the states of all shards there were, with the queries of
    their version."""
    stream = states[0].stream
    if stream.retention is not None:
        raise InvalidState(
            f"stream {stream.name!r} has RETAIN: what its shards keep depends on their number;"
            " start with a new checkpoint"
        )
    wholes = [_whole(state, queries, len(states)) for state in states]
    first = wholes[0]
    for name in _EQUAL:
        if any(state.head[name] != first.head[name] for state in wholes):
            raise InvalidState(
                f"the states of the shards differ in {name!r}: restore the checkpoint"
            )
    owned = [state.objects.slice(0, _owned(state)) for state in wholes]
    rows = pa.concat_tables(owned, promote_options="default")
    ids = rows[stream.object].combine_chunks()
    owners = shards_of(ids, shards)
    followed = pc.is_in(ids, value_set=queries.focals()).to_numpy(zero_copy_only=False)
    made = []
    for shard in range(shards):
        own = np.flatnonzero(owners == shard)
        others = np.flatnonzero(followed & (owners != shard)) if shards > 1 else own[:0]
        head = {name: first.head[name] for name in _EQUAL} | {"others": len(others)}
        head |= _counts([] if shard else wholes)
        table = rows.take(pa.array(np.concatenate([own, others])))
        made.append(_recounted(head, table, queries, shards))
    return made


def _whole(state: Saved, queries: ChangeQueries, parts: int) -> Saved:
    """The same state as a snapshot alone."""
    blob = Tracker.resume(queries, state, parts).snapshot()
    return Saved.of(blob, state.head["catalog"], state.stream.name)


def _owned(state: Saved) -> int:
    return state.objects.num_rows - state.others


def _counts(states: Sequence[Saved]) -> dict[str, dict[str, int]]:
    """The sums of the counters."""
    sums = {name: Counter[str]() for name in ("counts", "rejects")}
    for state in states:
        for name, counts in sums.items():
            counts.update(state.head[name])
    return {name: dict(sorted(counts.items())) for name, counts in sums.items()}


def _recounted(head: dict[str, Any], table: pa.Table, queries: ChangeQueries, shards: int) -> bytes:
    """A snapshot of these objects, which has counted its answers."""
    saved = Saved.of(blobs.pack(head, [table]), head["catalog"], queries.stream.name)
    tracker = Tracker.resume(queries, saved, shards)
    tracker.count_answers()
    return tracker.snapshot()
