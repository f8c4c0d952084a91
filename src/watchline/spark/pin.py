"""One catalog version and one wall clock per micro-batch, the same on every replay.

The first task of a micro-batch that asks writes down the newest version and the time under
(streaming query, batch); every other task, and every later replay of the batch, reads that. Both
ids are Spark's own and survive a restart from the checkpoint. Writing is "create if absent", so two
tasks cannot disagree: a hard link on a file system, the first entry of a Delta log on an object
store.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from typing import NamedTuple

from watchline.catalog import Catalog
from watchline.clock import micros_now

FOLDER = "_runs"
KEPT = 100


class Pin(NamedTuple):
    """What a batch goes by: a version, and the wall clock in microseconds (None: no clock was
    pinned, so no row is of the future)."""

    version: int
    now: int | None

    @staticmethod
    def read(text: str) -> Pin:
        """A pin as it was written; older ones have no clock."""
        version, *now = map(int, text.split())
        return Pin(version, now[0] if now else None)

    def __str__(self) -> str:
        return str(self.version) if self.now is None else f"{self.version} {self.now}"


def pinned(catalog: Catalog, uri: str, query_id: str, batch_id: int) -> Pin:
    """What this batch of this streaming query goes by, now and for ever."""
    local = catalog.folder
    run = f"{uri}/{FOLDER}/{query_id}" if local is None else os.path.join(local, FOLDER, query_id)
    read, write = (_read_delta, _write_delta) if local is None else (_read_file, _write_file)
    found = read(run, batch_id)
    if found is None:
        write(run, batch_id, Pin(catalog.version, micros_now()))
        found = read(run, batch_id)
        assert found is not None
    return found


def _read_file(run: str, batch_id: int) -> Pin | None:
    try:
        with open(os.path.join(run, str(batch_id)), encoding="ascii") as file:
            return Pin.read(file.read())
    except FileNotFoundError:
        return None


def _write_file(run: str, batch_id: int, pin: Pin) -> None:
    os.makedirs(run, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=run, prefix="new-")
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(str(pin))
        file.flush()
        os.fsync(file.fileno())
    # A link, unlike a rename, fails where another task was faster.
    with suppress(FileExistsError):
        os.link(temporary, os.path.join(run, str(batch_id)))
    os.unlink(temporary)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(run, str(batch_id - KEPT)))


def _read_delta(run: str, batch_id: int) -> Pin | None:
    from deltalake import DeltaTable

    place = f"{run}/{batch_id}"
    if not DeltaTable.is_deltatable(place):
        return None
    return Pin.read(DeltaTable(place).metadata().description or "0")


def _write_delta(run: str, batch_id: int, pin: Pin) -> None:
    import pyarrow as pa
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    with suppress(DeltaError):
        DeltaTable.create(
            f"{run}/{batch_id}",
            pa.schema([("version", pa.int64())]),
            mode="error",
            description=str(pin),
        )
