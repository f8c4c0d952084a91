"""Where a shard's state lives between batches.

Spark's own state store holds a small row: sequence, version, number of shards, a token. A small
state is in that row; a large one is a file named after shard, sequence and token, complete and on
disk before the row names it. A batch that is run again writes another file under another token, so
nothing that Spark may still go back to is ever overwritten. The last few files of a shard are kept.

A worker keeps the engines of the shards it served. One counts only if its token is the one in
Spark's row; any other worker restores it from the state.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from typing import Any, NamedTuple

from pyarrow import fs

from watchline.errors import InvalidState
from watchline.spark.place import CatalogRef
from watchline.spark.worker import catalog_of, keep, micro_batch

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
    """The files of one streaming query's shards, in a folder of their own."""

    def __init__(self, folder: str):
        if "://" in folder:
            self._fs, self._folder = fs.FileSystem.from_uri(folder)
        else:
            self._fs, self._folder = fs.LocalFileSystem(), os.path.abspath(folder)
        self._local = isinstance(self._fs, fs.LocalFileSystem)

    def save(self, shard: int, sequence: int, token: str, blob: bytes) -> str:
        name = f"{shard}-{sequence}-{token}.state"
        self._fs.create_dir(self._folder, recursive=True)
        path = self._path(name)
        if self._local:
            with open(path, "wb") as file:
                file.write(blob)
                file.flush()
                os.fsync(file.fileno())
            directory = os.open(self._folder, os.O_RDONLY)
            os.fsync(directory)
            os.close(directory)
        else:
            with self._fs.open_output_stream(path) as stream:
                stream.write(blob)
        return name

    def load(self, name: str) -> bytes:
        try:
            with self._fs.open_input_file(self._path(name)) as file:
                return bytes(file.read())
        except OSError:
            raise InvalidState(
                f"the state file {name} of the checkpoint is missing from {self._folder}:"
                " put it back, or start with a new checkpoint"
            ) from None

    def tidy(self, shard: int, sequence: int) -> None:
        """Delete what no batch from the one before this on can need."""
        listed = self._fs.get_file_info(fs.FileSelector(self._folder, allow_not_found=True))
        for info in listed:
            of, _, rest = info.base_name.partition("-")
            number = rest.partition("-")[0]
            if of == str(shard) and number.isdigit() and int(number) <= sequence - KEPT:
                with suppress(OSError):
                    self._fs.delete_file(info.path)

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}"


# Of shards that a worker has served, whatever their engines are: a query has those of one kind.
KEPT_ENGINES = 64
_engines: dict[tuple[str, int], tuple[str, Any]] = {}


class ShardState:
    """The state of one shard in one batch of a streaming query: found, read, and saved.

    `state` is Spark's. `folder` has the files of large states; without one it is beside the
    catalog.
    """

    def __init__(self, ref: CatalogRef, shards: int, folder: str | None, shard: int, state: Any):
        self._query, _ = micro_batch()
        self._shard, self._shards, self._state = shard, shards, state
        self._identity = catalog_of(ref).identity
        self.files = _files(ref, folder, self._query)
        self.row = StateRow(*state.get) if state.exists else None
        if self.row is not None:
            self.row.check(shards, self._identity)

    def engine(self) -> Any:
        """The worker's own engine, if it is as the last batch left it."""
        # Taken out: a task that fails half way leaves no half-way engine behind.
        token, engine = _engines.pop((self._query, self._shard), ("", None))
        return engine if self.row is not None and token == self.row.token else None

    def blob(self) -> bytes:
        """The state as the last batch saved it."""
        assert self.row is not None
        if self.row.file is None:
            assert self.row.blob is not None
            return self.row.blob
        if self.files is None:
            raise InvalidState("the checkpoint has its state in files, and no folder is named")
        return self.files.load(self.row.file)

    def save(self, engine: Any, version: int) -> None:
        """What the next batch finds."""
        sequence = 0 if self.row is None else self.row.sequence + 1
        blob, token = engine.snapshot(), new_token()
        row = StateRow(sequence, version, self._shards, self._identity, token, None, blob)
        if self.files is not None and len(blob) > INLINE:
            name = self.files.save(self._shard, sequence, token, blob)
            row = row._replace(file=name, blob=None)
        if self.files is not None and sequence % TIDY == TIDY - 1:
            self.files.tidy(self._shard, sequence)
        self._state.update(tuple(row))
        keep(_engines, (self._query, self._shard), (token, engine), KEPT_ENGINES)


def _files(ref: CatalogRef, folder: str | None, query_id: str) -> StateFiles | None:
    if folder is not None:
        return StateFiles(f"{folder}/{query_id}")
    return None if ref.uri is None else StateFiles(f"{ref.uri}/_runs/{query_id}/state")


def new_token() -> str:
    return uuid.uuid4().hex
