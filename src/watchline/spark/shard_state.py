"""Where a shard's state lives between batches.

Spark's own state store holds a small row: sequence, version, number of shards, a token. A small
state is in that row. A large one is a *chain* of files: a base, which is a whole snapshot, and
deltas, which have what batches changed since. A batch writes one file. Each file is complete, on
disk and closed by a checksum before the row names it. A batch that is run again writes another file
under another token, so nothing that Spark may still go back to is ever overwritten.

What is written follows what changes. Where `FAN` deltas of one level stand at the end of a chain,
the next file has what all of them changed, and is of the next level. Where deltas have become as
large as their base, a new base is written. So a row is written about once for each level and once
for the base, and restoring reads at most twice the base and a few dozen files.

A file that a chain does not need any more is deleted when `KEPT` batches have passed. A worker
keeps the engines of the shards it served. One counts only if its token is the one in Spark's row;
any other worker restores it from the state.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
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
# A state of more bytes than this is in files: in Spark's row all of it is written in each batch.
INLINE = 1 << 16
# So many deltas of one level become one of the next.
FAN = 16
# How large all deltas may become, as a part of their base.
MOST = 1.0
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


class Delta(NamedTuple):
    """A file of a chain with what some batches changed: its name, its level, its size in bytes."""

    name: str
    level: int
    size: int


@dataclass
class Chain:
    """The files of one state: the base, its size (0 if that is not known), and deltas.

    `old` has files that chains of the last batches had, and the sequence at which each was dropped.
    `touched` has, for each delta, what its batches changed, as the engine knows it.
    It is not saved.
    """

    base: str
    size: int
    deltas: list[Delta] = field(default_factory=list)
    old: list[tuple[int, str]] = field(default_factory=list)
    touched: list[list[Any]] = field(default_factory=list)

    @staticmethod
    def read(text: str) -> Chain:
        """A chain as a row has it; a row of an older release has the name of one file."""
        if not text.startswith("{"):
            return Chain(text, 0)
        parts = json.loads(text)
        deltas = [Delta(*delta) for delta in parts["deltas"]]
        return Chain(parts["base"], parts["size"], deltas, [(s, n) for s, n in parts["old"]])

    def __str__(self) -> str:
        if not self.deltas and not self.old:
            return self.base
        return json.dumps(
            {"base": self.base, "size": self.size, "deltas": self.deltas, "old": self.old}
        )

    @property
    def files(self) -> list[str]:
        return [self.base, *(delta.name for delta in self.deltas)]

    def merged(self) -> int:
        """How many of the last deltas the next file replaces."""
        levels = [delta.level for delta in reversed(self.deltas)]
        count = level = 0
        while levels[count : count + FAN - 1] == [level] * (FAN - 1):
            count, level = count + FAN - 1, level + 1
        return count


class StateFiles:
    """The files of one streaming query's shards, in a store of their own."""

    def __init__(self, store: FileStore):
        self._store = store

    def save(self, shard: int, sequence: int, token: str, blob: bytes, kind: str = "state") -> str:
        name = f"{shard}-{sequence}-{token}.{kind}"
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

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError):
                self._store.delete(name)

    def tidy(self, shard: int, sequence: int, needed: Iterable[str] = ()) -> None:
        """Delete what no batch from the one before this on can need: what tasks left that failed.
        `needed` are files that stay, however old they are."""
        stay = set(needed)
        self.delete(
            name
            for name in self._store.list(f"{shard}-")
            if name not in stay and _sequence_of(name) <= sequence - KEPT
        )


def _sequence_of(name: str) -> int:
    """The sequence in the name of a file; one that has none is never old."""
    number = name.split("-")[1]
    return int(number) if number.isdigit() else 1 << 63


# Of shards that a worker has served, whatever their engines are: a query has those of one kind.
KEPT_ENGINES = 64


class KeptEngine(NamedTuple):
    """An engine in a worker's memory, and the files that its state is in, if it is in files."""

    engine: Any
    chain: Chain | None


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
        self._chain: Chain | None = None
        self.row = StateRow(*state.get) if state.exists else None
        if self.row is not None:
            self.row.check(shard.shards, identity)

    def engine(self) -> Any:
        """The worker's own engine, if it is as the last batch left it."""
        # Taken out: a task that fails half way leaves no half-way engine behind.
        engines = remembered().engines
        token, kept = engines.pop((self._query, self._shard.key), ("", KeptEngine(None, None)))
        if self.row is None or token != self.row.token:
            return None
        self._chain = kept.chain
        return kept.engine

    def blobs(self) -> list[bytes]:
        """The state as the last batch saved it: a snapshot, and the deltas after it."""
        assert self.row is not None
        if self.row.file is None:
            assert self.row.blob is not None
            return [self.row.blob]
        if self._files is None:
            raise InvalidState("the checkpoint has its state in files, and no folder is named")
        self._chain = Chain.read(self.row.file)
        blobs = [self._files.load(name) for name in self._chain.files]
        self._chain.size = len(blobs[0])
        return blobs

    def note(self, engine: Any) -> None:
        """An engine was made from `blobs`: it takes notes of what changes from now on, and what the
        deltas touched may be merged later."""
        engine.touched()
        if self._chain is not None:
            self._chain.touched = [[touched] for touched in engine.replayed()]

    def save(self, engine: Any, version: int) -> None:
        """What the next batch finds."""
        sequence = 0 if self.row is None else self.row.sequence + 1
        token = uuid.uuid4().hex
        row = StateRow(sequence, version, self._shard.shards, self._identity, token, None, None)
        touched, chain = engine.touched(), None
        if self._chain is not None and touched is not None:
            chain = self._longer_chain(engine, touched, sequence, token)
        if chain is None:
            blob = engine.snapshot()
            if self._files is None or len(blob) <= INLINE:
                row = row._replace(blob=blob)
            if self._files is not None and (row.blob is None or self._chain is not None):
                chain = self._new_chain(self._files, row, blob)
        if chain is not None:
            row = row._replace(file=str(chain), blob=None)
        self._state.update(tuple(row))
        if self._files is not None and sequence % TIDY == TIDY - 1:
            needed = [] if chain is None else [*chain.files, *(name for _, name in chain.old)]
            self._files.tidy(self._shard.key, sequence, needed)
        engines, kept = remembered().engines, KeptEngine(engine, chain)
        keep(engines, (self._query, self._shard.key), (token, kept), KEPT_ENGINES)

    def hold(self, engine: Any) -> None:
        """The batch changed nothing: the state stays the last one, and the engine goes with it."""
        if self.row is not None:
            kept = self.row.token, KeptEngine(engine, self._chain)
            keep(remembered().engines, (self._query, self._shard.key), kept, KEPT_ENGINES)

    def _new_chain(self, files: StateFiles, row: StateRow, blob: bytes) -> Chain:
        """A chain of a new base alone."""
        before, sequence = self._chain, row.sequence
        name = files.save(self._shard.key, sequence, row.token, blob)
        old = [] if before is None else self._old_files(before, before.files, sequence)
        return Chain(name, len(blob), old=old)

    def _longer_chain(self, engine: Any, touched: Any, sequence: int, token: str) -> Chain | None:
        """The chain with what this batch changed; None if a new base is the better."""
        chain, files = self._chain, self._files
        assert chain is not None
        assert files is not None
        first = len(chain.deltas) - chain.merged()
        every = [part for parts in chain.touched[first:] for part in parts] + [touched]
        blob = engine.delta(every)
        size = sum(delta.size for delta in chain.deltas[:first]) + len(blob)
        if size > MOST * chain.size:
            return None
        gone = chain.deltas[first:]
        level = gone[0].level + 1 if gone else 0
        name = files.save(self._shard.key, sequence, token, blob, "delta")
        return Chain(
            chain.base,
            chain.size,
            [*chain.deltas[:first], Delta(name, level, len(blob))],
            self._old_files(chain, [delta.name for delta in gone], sequence),
            [*chain.touched[:first], every],
        )

    def _old_files(self, chain: Chain, names: list[str], sequence: int) -> list[tuple[int, str]]:
        """The old files of a chain that drops these. What no batch from the one before this on can
        need is deleted."""
        assert self._files is not None
        self._files.delete(name for since, name in chain.old if since <= sequence - KEPT)
        kept = [(since, name) for since, name in chain.old if since > sequence - KEPT]
        return [*kept, *((sequence, name) for name in names)]


def state_files(ref: CatalogRef, folder: str | None, query_id: str) -> StateFiles | None:
    """The files of a streaming query, if there is a place for them."""
    place = state_place(ref, folder, query_id)
    return None if place is None else StateFiles(store_at(place))


def state_place(ref: CatalogRef, folder: str | None, query_id: str) -> str | None:
    """Where a streaming query has its files: in the user's folder, or beside the catalog.
    Statements have no place for files."""
    if folder is not None:
        return f"{folder}/{query_id}"
    return None if ref.uri is None else f"{ref.uri}/_runs/{query_id}/state"
