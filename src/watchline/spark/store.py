"""Small stores of named files: all access to the files of states and pins goes through them.

A store is one place, a local folder or a prefix of an object store, and holds files by flat names.
What is written is complete and on disk before the call returns, so a crash leaves a name with all
of its content or without any. Functions take a `FileStore`; `store_at` makes the one for a path or
URL. `MemoryStore` stands in for both kinds in tests and simulations, which may tear or lose its
writes.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from pyarrow import fs

# The end of a local file's name until its content is complete. A crash may leave such a file.
UNFINISHED = ".new"


class Created(NamedTuple):
    """The content that a name has after `create_if_absent`, and whether this call put it there."""

    content: bytes
    is_new: bool


class FileStore(Protocol):
    """Files by name in one place.

    A name is either written or created for its whole life: an object store keeps the two kinds
    differently. `place` is for messages.
    """

    place: str

    def read(self, name: str) -> bytes | None:
        """The content of a written file; None if there is none of this name."""

    def write(self, name: str, content: bytes) -> None:
        """Give the name this content, complete and on disk before the call returns."""

    def create_if_absent(self, name: str, content: Callable[[], bytes]) -> Created:
        """The content of the name, which is for ever that of the first caller.

        `content` is called only if the name is absent: it may be costly to make.
        """

    def list(self, prefix: str = "") -> list[str]:
        """The names of written files that begin with this, in order. The remains of writes that a
        crash broke off are among them: such a name begins with that of the file, and ends with
        `UNFINISHED`."""

    def delete(self, name: str) -> None:
        """Remove a written file, or a created one of a local folder; an absent one is no error."""


# Makers of stores for URLs of further schemes: a simulation adds its own.
SCHEMES: dict[str, Callable[[str], FileStore]] = {}


def store_at(place: str) -> FileStore:
    """The store of a local folder, which need not be there yet, or of an object store's URL."""
    scheme, mark, _ = place.partition("://")
    if not mark:
        return LocalStore(place)
    if scheme in SCHEMES:
        return SCHEMES[scheme](place)
    if place.startswith("file://"):
        return LocalStore(fs.FileSystem.from_uri(place)[1])
    return ObjectStore(place)


class LocalStore:
    """A folder of a file system that has hard links."""

    def __init__(self, folder: str):
        self.place = os.path.abspath(folder)

    def read(self, name: str) -> bytes | None:
        try:
            with open(self._path(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        os.replace(self._unfinished(name, content), self._path(name))
        self._sync_names()

    def create_if_absent(self, name: str, content: Callable[[], bytes]) -> Created:
        found = self.read(name)
        if found is not None:
            return Created(found, is_new=False)
        made = content()
        temporary = self._unfinished(name, made)
        try:
            # A link, unlike a rename, fails where another writer was faster.
            os.link(temporary, self._path(name))
            self._sync_names()
        except FileExistsError:
            found = self.read(name)
            assert found is not None
            return Created(found, is_new=False)
        finally:
            os.unlink(temporary)
        return Created(made, is_new=True)

    def list(self, prefix: str = "") -> list[str]:
        try:
            with os.scandir(self.place) as entries:
                names = [entry.name for entry in entries if entry.is_file()]
        except FileNotFoundError:
            return []
        return sorted(name for name in names if name.startswith(prefix))

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self.place, name)

    def _unfinished(self, name: str, content: bytes) -> str:
        """The path of a complete and synced file, which has a name of its own as yet."""
        os.makedirs(self.place, exist_ok=True)
        temporary = self._path(f"{name}.{uuid.uuid4().hex}{UNFINISHED}")
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        return temporary

    def _sync_names(self) -> None:
        """A new name is on disk only once its folder is."""
        folder = os.open(self.place, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class ObjectStore:
    """A prefix of an object store.

    An object is visible once all of it was sent. Most object stores cannot create an object only if
    it is absent, but Delta can commit the first entry of a log: a created name is a Delta table
    without rows, whose description is the content. Nothing but `create_if_absent` reads it, and it
    is never deleted.
    """

    def __init__(self, uri: str):
        self.place = uri

    def read(self, name: str) -> bytes | None:
        filesystem, folder = self._objects
        try:
            with filesystem.open_input_file(f"{folder}/{name}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        filesystem, folder = self._objects
        filesystem.create_dir(folder, recursive=True)
        with filesystem.open_output_stream(f"{folder}/{name}") as stream:
            stream.write(content)

    def create_if_absent(self, name: str, content: Callable[[], bytes]) -> Created:
        import pyarrow as pa
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        place = f"{self.place}/{name}"
        if DeltaTable.is_deltatable(place):
            return Created(_first_description(place), is_new=False)
        made = content()
        try:
            DeltaTable.create(
                place,
                pa.schema([("version", pa.int64())]),
                mode="error",
                description=made.decode(),
            )
        except DeltaError:
            # Another writer was faster; if it was not, the error is a real one.
            if not DeltaTable.is_deltatable(place):
                raise
        found = _first_description(place)
        return Created(found, is_new=found == made)

    def list(self, prefix: str = "") -> list[str]:
        filesystem, folder = self._objects
        listed = filesystem.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        names = (info.base_name for info in listed if info.type == fs.FileType.File)
        return sorted(name for name in names if name.startswith(prefix))

    def delete(self, name: str) -> None:
        filesystem, folder = self._objects
        with suppress(FileNotFoundError):
            filesystem.delete_file(f"{folder}/{name}")

    @cached_property
    def _objects(self) -> tuple[Any, str]:
        # Made when it is first needed: Delta reaches some stores that Arrow does not know.
        filesystem, folder = fs.FileSystem.from_uri(self.place)
        return filesystem, folder


def _first_description(table: str) -> bytes:
    """The description that came with version 0: a table that several writers create at once has a
    later version of each of them that Delta did not refuse."""
    from deltalake import DeltaTable

    return (DeltaTable(table, version=0).metadata().description or "").encode()


# What becomes of a write in a MemoryStore, given its name and content: the content that is kept,
# None for none. A function that raises stands for a process that dies before its write.
Fate = Callable[[str, bytes], "bytes | None"]


class MemoryStore:
    """A store for tests and simulations. Its files live as long as the dict that holds them."""

    def __init__(
        self,
        files: dict[str, bytes] | None = None,
        fate: Fate = lambda name, content: content,
        place: str = "memory",
    ):
        self.place = place
        self.files = {} if files is None else files
        self._fate, self._lock = fate, threading.Lock()

    def read(self, name: str) -> bytes | None:
        return self.files.get(name)

    def write(self, name: str, content: bytes) -> None:
        kept = self._fate(name, content)
        if kept is not None:
            self.files[name] = kept

    def create_if_absent(self, name: str, content: Callable[[], bytes]) -> Created:
        with self._lock:
            if name in self.files:
                return Created(self.files[name], is_new=False)
            made = content()
            self.write(name, made)
            return Created(made, is_new=True)

    def list(self, prefix: str = "") -> list[str]:
        return sorted(name for name in self.files if name.startswith(prefix))

    def delete(self, name: str) -> None:
        self.files.pop(name, None)
