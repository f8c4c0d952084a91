"""Where the merge of nearest neighbours keeps its state between batches.

Spark has no state store behind a plain `mapInArrow`. But the state after a batch follows from the
rows of the stream up to there, and Spark runs again only a batch that it has not committed. So the
state is a row in a file named by target and batch: batch b goes on from the newest row of an
earlier batch, and writes its own in one piece. Attempts at one batch write rows of the same
meaning, each naming complete files of its own, so it does not matter whose row stays. What a row
names, and which engine of a worker it goes with, is as for shards (`ShardState`).

A batch in which nothing happens to a target's queries writes no row there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from watchline.errors import InvalidState
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import Shard
from watchline.spark.shard_state import ShardState, StateFiles, StateRow, state_place
from watchline.spark.store import FileStore, store_at
from watchline.spark.worker import catalog_of, micro_batch
from watchline.tracking import MergedAnswers

# Rows that stay: Spark goes back by one batch, and a late attempt may come from a few before.
KEPT = 4
# The version in a row: what the merge knows is of no version.
_NO_VERSION = 0


class BatchRows:
    """The rows of one target in one batch, for `ShardState`, to which they are what Spark's state
    store is for a shard."""

    def __init__(self, store: FileStore, target: int, batch: int):
        self._store, self._prefix, self._batch = store, f"row-{target}-", batch
        # A crash leaves names that have more behind the number of the batch.
        self._found = {name: self._batch_of(name) for name in store.list(self._prefix)}
        before = [
            (n, name) for name, n in self._found.items() if n < batch and self._name(n) == name
        ]
        self._last = max(before)[1] if before else None

    def _name(self, batch: int) -> str:
        return f"{self._prefix}{batch}"

    def _batch_of(self, name: str) -> int:
        return int(name[len(self._prefix) :].partition(".")[0])

    @property
    def exists(self) -> bool:
        return self._last is not None

    @property
    def get(self) -> StateRow:
        assert self._last is not None
        content = self._store.read(self._last)
        if content is None:
            raise InvalidState(
                f"the state file {self._last} of the checkpoint is missing from"
                f" {self._store.place}: put it back, or start with a new checkpoint"
            )
        head, _, blob = content.partition(b"\n")
        *parts, has_blob = json.loads(head)
        return StateRow._make([*parts, blob if has_blob else None])

    def update(self, row: StateRow) -> None:
        *parts, blob = row
        head = json.dumps([*parts, blob is not None]).encode()
        self._store.write(self._name(self._batch), head + b"\n" + (blob or b""))
        newest = sorted({n for n in self._found.values() if n < self._batch})[-KEPT:]
        for name, n in self._found.items():
            if newest and n < newest[0]:
                self._store.delete(name)


class TargetState:
    """The merge of one target in one batch, found and saved."""

    def __init__(self, state: ShardState, shards: int):
        self._state = state
        engine = state.engine()
        if engine is None and state.row is not None:
            engine = MergedAnswers.resumed(shards, state.blobs())
            state.note(engine)
        self.merged: MergedAnswers = MergedAnswers(shards) if engine is None else engine

    def save(self) -> None:
        """What the next batch finds."""
        self._state.save(self.merged, _NO_VERSION)

    def hold(self) -> None:
        """Nothing happened: the worker may go on with the engine as it is."""
        self._state.hold(self.merged)


@dataclass(frozen=True)
class MergeMemory:
    """Where the states of the merge are. It is sent to Spark's workers by pickle. `folder` is the
    user's; without one they are beside the catalog."""

    ref: CatalogRef
    shards: int
    folder: str | None

    @staticmethod
    def of(ref: CatalogRef, shards: int, folder: str | None) -> MergeMemory | None:
        """None where queries are statements and no folder is named: there is no place for files."""
        memory = MergeMemory(ref, shards, folder)
        return None if state_place(ref, folder, "") is None else memory

    def opened(self, target: int) -> TargetState:
        """The state of a target, as the batches before this task's own left it."""
        query_id, batch = micro_batch()
        place = state_place(self.ref, self.folder, query_id)
        assert place is not None
        store = store_at(f"{place}/merge")
        rows = BatchRows(store, target, batch)
        shard, identity = Shard(target, self.shards), catalog_of(self.ref).identity
        state = ShardState(f"{query_id}/merge", shard, identity, StateFiles(store), rows)
        return TargetState(state, self.shards)
