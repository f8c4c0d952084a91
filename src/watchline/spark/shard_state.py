"""Where a shard's state lives between batches.

Spark's own state store holds a small row: sequence, version, number of shards, a token. A small
state is in that row; a large one is a file named after shard, sequence and token, complete and on
disk before the row names it. A batch that is run again writes another file under another token, so
nothing that Spark may still go back to is ever overwritten. The last few files of a shard are kept.

A worker keeps the engines of the shards it served. One counts only if its token is the one in
Spark's row; any other worker restores it from the state.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any, NamedTuple

from watchline.errors import InvalidState
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import Shard
from watchline.spark.store import FileStore, store_at
from watchline.spark.worker import keep, remembered

STATE_DDL = (
    "sequence long, version long, shards int, catalog string, token string, file string,"
    " blob binary"
)
# A state of more bytes than this is a file.
INLINE = 1 << 20
KEPT = 3
# Files that no row names (a task failed after writing them) are looked for this often.
TIDY = 16


class StateRow(NamedTuple):
    """What Spark keeps for a shard."""

    sequence: int
    version: int
    shards: int
    catalog: str
    token: str
    file: str | None
    blob: bytes | None

    def check(self, shards: int, catalog: str) -> None:
        if self.catalog != catalog:
            raise InvalidState(
                "the checkpoint belongs to another catalog: name that one, or start with a new"
                " checkpoint"
            )
        if self.shards != shards:
            raise InvalidState(
                f"the checkpoint was made with {self.shards} shards, not {shards}: use shards ="
                f" {self.shards}, or start with a new checkpoint"
            )


class StateFiles:
    """The files of one streaming query's shards, in a store of their own."""

    def __init__(self, store: FileStore):
        self._store = store

    def save(self, shard: int, sequence: int, token: str, blob: bytes) -> str:
        name = f"{shard}-{sequence}-{token}.state"
        self._store.write(name, blob)
        return name

    def load(self, name: str) -> bytes:
        found = None
        with suppress(OSError):
            found = self._store.read(name)
        if found is None:
            raise InvalidState(
                f"the state file {name} of the checkpoint is missing from {self._store.place}:"
                " put it back, or start with a new checkpoint"
            )
        return found

    def tidy(self, shard: int, sequence: int) -> None:
        """Delete what no batch from the one before this on can need."""
        for name in self._store.list(f"{shard}-"):
            number = name.split("-")[1]
            if number.isdigit() and int(number) <= sequence - KEPT:
                with suppress(OSError):
                    self._store.delete(name)


# Of shards that a worker has served, whatever their engines are: a query has those of one kind.
KEPT_ENGINES = 64


class ShardState:
    """The state of one shard in one batch of a streaming query: found, read, and saved.

    `identity` is the catalog's, `state` is Spark's. `files` has large states; None keeps them all
    in Spark's row.
    """

    def __init__(
        self, query_id: str, shard: Shard, identity: str, files: StateFiles | None, state: Any
    ):
        self._query, self._shard, self._identity = query_id, shard, identity
        self._files, self._state = files, state
        self.row = StateRow(*state.get) if state.exists else None
        if self.row is not None:
            self.row.check(shard.shards, identity)

    def engine(self) -> Any:
        """The worker's own engine, if it is as the last batch left it."""
        # Taken out: a task that fails half way leaves no half-way engine behind.
        engines = remembered().engines
        token, engine = engines.pop((self._query, self._shard.key), ("", None))
        return engine if self.row is not None and token == self.row.token else None

    def blob(self) -> bytes:
        """The state as the last batch saved it."""
        assert self.row is not None
        if self.row.file is None:
            assert self.row.blob is not None
            return self.row.blob
        if self._files is None:
            raise InvalidState("the checkpoint has its state in files, and no folder is named")
        return self._files.load(self.row.file)

    def save(self, engine: Any, version: int) -> None:
        """What the next batch finds."""
        sequence = 0 if self.row is None else self.row.sequence + 1
        blob, token = engine.snapshot(), uuid.uuid4().hex
        shards = self._shard.shards
        row = StateRow(sequence, version, shards, self._identity, token, None, blob)
        if self._files is not None and len(blob) > INLINE:
            name = self._files.save(self._shard.key, sequence, token, blob)
            row = row._replace(file=name, blob=None)
        if self._files is not None and sequence % TIDY == TIDY - 1:
            self._files.tidy(self._shard.key, sequence)
        self._state.update(tuple(row))
        engines = remembered().engines
        keep(engines, (self._query, self._shard.key), (token, engine), KEPT_ENGINES)


def state_files(ref: CatalogRef, folder: str | None, query_id: str) -> StateFiles | None:
    """The files of a streaming query: in the user's folder, or beside the catalog. Statements have
    no place for files."""
    if folder is not None:
        return StateFiles(store_at(f"{folder}/{query_id}"))
    return None if ref.uri is None else StateFiles(store_at(f"{ref.uri}/_runs/{query_id}/state"))
