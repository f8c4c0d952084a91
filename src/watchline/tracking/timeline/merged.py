"""The answers of all shards' nearest neighbours, kept from batch to batch.

Invariant: after a batch the candidates of a query here are those of all shards together. A shard
counts the timelines that it has sent, and its own state has that count. The merge counts those that
it got: a state of another batch, or of another checkpoint, is noticed and refused.

Cost: a batch costs its timelines and the candidates of the queries that they are about, and so does
what it adds to the state (`delta`). Only a whole timeline costs what is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from watchline.errors import InvalidState
from watchline.model import Stream
from watchline.rows import blob as blobs
from watchline.rows import row_schema, shards_of
from watchline.tracking.timeline.candidates import Candidates
from watchline.tracking.timeline.reader import MergedChanges, merge_timelines
from watchline.tracking.timeline.sent import WHOLE, Received

# In a state: queries, the sizes of their answers, and how many of the rows beside them are of each.
_QUERIES = pa.schema([("id", pa.string()), ("size", pa.int64()), ("candidates", pa.int64())])
_LOST = (
    "the nearest neighbours of this checkpoint are in state files of another batch or are missing:"
    " put the folder of the state back as it was, or start with a new checkpoint"
)


class MergedAnswers:
    """The merge of the shards' nearest neighbours, in one partition. `parts` is the number of
    shards."""

    def __init__(self, parts: int):
        self._parts = parts
        self._candidates: Candidates | None = None
        self._received: dict[int, int] = {}
        self._touched: list[pa.Array] | None = None
        self._replayed: list[pa.Array] = []

    @property
    def answers(self) -> int:
        """How many members all answers have."""
        return 0 if self._candidates is None else self._candidates.answers

    def merge(self, received: Sequence[Received], stream: Stream) -> MergedChanges:
        """The changes of one batch, from the timelines of some shards; of any shard at most one."""
        known = self._known_for(stream)
        for part, before, _ in received:
            if before == WHOLE:
                self._forget(known, part, stream)
            elif before != self._received.get(part, 0):
                raise InvalidState(_LOST)
        found = merge_timelines([of.timeline for of in received], stream, known)
        ids, sizes, owners, places = found.after
        known.replace(ids, sizes, owners, found.rows.take(pa.array(places)))
        for of in received:
            if of.is_counted:
                self._received[of.part] = max(of.before, 0) + 1
        self._note(ids)
        return found

    def _known_for(self, stream: Stream) -> Candidates:
        """The candidates; none yet if the stream was declared anew, which closed all answers."""
        schema = row_schema(stream)
        if self._candidates is None or not self._candidates.schema.equals(schema):
            if self._candidates is not None and len(self._candidates):
                raise InvalidState(_LOST)
            self._candidates = Candidates(schema)
        return self._candidates

    def _forget(self, known: Candidates, part: int, stream: Stream) -> None:
        """All candidates of one shard, which sends them again."""
        if not len(known):
            return
        ids = known.ids()
        owners, rows = known.of(ids)
        others = shards_of(rows[stream.object].combine_chunks(), self._parts) != part
        sizes = known.sizes(ids)
        known.replace(ids, sizes, owners[others], rows.filter(pa.array(others)))
        self._note(ids)

    def _note(self, ids: pa.Array) -> None:
        if self._touched is not None:
            self._touched.append(ids)

    # --- state

    @staticmethod
    def resumed(parts: int, state: Sequence[bytes]) -> MergedAnswers:
        """The merge of a snapshot and the deltas after it."""
        made = MergedAnswers(parts)
        for i, blob in enumerate(state):
            head, (queries, rows) = blobs.unpack(blob, (blobs.DELTA,) if i else None)
            if "received" not in head:
                raise InvalidState("the state is one of a shard, not of merged nearest neighbours")
            counts = queries["candidates"].to_numpy()
            owners = np.repeat(np.arange(len(counts)), counts)
            if made._candidates is None or not made._candidates.schema.equals(rows.schema):
                made._candidates = Candidates(rows.schema)
            ids = queries["id"].combine_chunks()
            made._candidates.replace(ids, queries["size"].to_numpy(), owners, rows)
            made._received = {int(part): count for part, count in head["received"].items()}
            made._replayed.append(ids)
        del made._replayed[:1]
        return made

    def snapshot(self) -> bytes:
        """The whole state, for `resumed`."""
        known = self._candidates
        assert known is not None
        return self._packed(known, known.ids(), blobs.FORMAT)

    def touched(self) -> list[pa.Array]:
        """The queries that changed since this was last called. The first call begins to note."""
        touched, self._touched = self._touched or [], []
        return touched

    def delta(self, touched: Sequence[list[pa.Array]]) -> bytes:
        """What these queries are now: a delta to the state of before."""
        known = self._candidates
        assert known is not None
        parts = [ids for of in touched for ids in of]
        ids = pa.concat_arrays([pa.array([], pa.string()), *parts]).unique()
        return self._packed(known, ids, blobs.DELTA)

    def replayed(self) -> list[list[pa.Array]]:
        """What each delta touched that this was made from."""
        return [[ids] for ids in self._replayed]

    def _packed(self, known: Candidates, ids: pa.Array, form: int) -> bytes:
        owners, rows = known.of(ids)
        counts = np.bincount(owners, minlength=len(ids))
        queries = pa.table([ids, known.sizes(ids), counts], schema=_QUERIES)
        received = {str(part): count for part, count in sorted(self._received.items())}
        return blobs.pack({"received": received}, [queries, rows], form)
