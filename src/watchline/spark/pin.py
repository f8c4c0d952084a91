"""One catalog version per micro-batch, the same on every replay.

The first task of a micro-batch that asks writes down the newest version under (streaming query,
batch); every other task, and every later replay of the batch, reads that. Both ids are Spark's
own and survive a restart from the checkpoint. Writing is "create if absent", so two tasks cannot
disagree: a hard link on a file system, the first entry of a Delta log on an object store.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress

from watchline.catalog import Catalog

FOLDER = "_runs"
KEPT = 100


def pinned_version(catalog: Catalog, uri: str, query_id: str, batch_id: int) -> int:
    """The version that this batch of this streaming query uses, now and for ever."""
    local = catalog.folder
    run = f"{uri}/{FOLDER}/{query_id}" if local is None else os.path.join(local, FOLDER, query_id)
    read, write = (_read_delta, _write_delta) if local is None else (_read_file, _write_file)
    found = read(run, batch_id)
    if found is None:
        write(run, batch_id, catalog.version)
        found = read(run, batch_id)
        assert found is not None
    return found


def _read_file(run: str, batch_id: int) -> int | None:
    try:
        with open(os.path.join(run, str(batch_id)), encoding="ascii") as file:
            return int(file.read())
    except FileNotFoundError:
        return None


def _write_file(run: str, batch_id: int, version: int) -> None:
    os.makedirs(run, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=run, prefix="new-")
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(str(version))
        file.flush()
        os.fsync(file.fileno())
    # A link, unlike a rename, fails where another task was faster.
    with suppress(FileExistsError):
        os.link(temporary, os.path.join(run, str(batch_id)))
    os.unlink(temporary)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(run, str(batch_id - KEPT)))


def _read_delta(run: str, batch_id: int) -> int | None:
    from deltalake import DeltaTable

    place = f"{run}/{batch_id}"
    if not DeltaTable.is_deltatable(place):
        return None
    return int(DeltaTable(place).metadata().description or 0)


def _write_delta(run: str, batch_id: int, version: int) -> None:
    import pyarrow as pa
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    with suppress(DeltaError):
        DeltaTable.create(
            f"{run}/{batch_id}",
            pa.schema([("version", pa.int64())]),
            mode="error",
            description=str(version),
        )
