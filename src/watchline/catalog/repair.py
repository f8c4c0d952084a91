"""Checking a catalog's files, and mending a local one that was damaged.

A version's number is never used for anything else: checkpoints of jobs name it. So there are two
ways to mend. If the record still has the entry that was lost, the entry is put back as it was, and
nothing has happened. Else a user may go back to an older version on purpose: its streams and
queries become a new version, above all numbers that were ever used, and the older ones are unknown
from then on.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from watchline.catalog.guard import (
    RECORD,
    TRANSACTION,
    Fault,
    Guard,
    Record,
    entry_path,
    faults,
    read_entry,
    replace_file,
)
from watchline.catalog.log import SCHEMA, DeltaLog, local_folder
from watchline.errors import CatalogDamaged, CatalogError, InvalidQuery, UnknownVersion

# Damaged entries are kept here.
DAMAGED = "_damaged"


@dataclass(frozen=True)
class Health:
    """What a check found. `newest` is the newest version that can be read, None if none can."""

    faults: tuple[str, ...]
    newest: int | None
    # The version that `repair` brings back, None if it cannot.
    restorable: int | None = None

    @property
    def is_sound(self) -> bool:
        return not self.faults


def check(path: str, storage_options: dict[str, str] | None = None) -> Health:
    """Read all of a catalog and tell what is damaged. Changes nothing."""
    folder = local_folder(path)
    found: tuple[Fault, ...] = ()
    record = None
    if folder is not None:
        record, found = _looked_at(folder, path)
    told = [str(fault) for fault in found]
    try:
        newest = _read_all(path, storage_options)
        if not told:
            return Health((), newest)
    except CatalogDamaged as error:
        told = told or [error.damage]
    except CatalogError as error:
        if not os.path.isdir(os.path.join(folder or "", "_delta_log")):
            raise
        told = told or [str(error)]
    restorable = record.version if record and _is_all_recorded(found) else None
    return Health(tuple(told), _newest_whole(folder, found), restorable)


def repair(path: str, to: int | None = None) -> int:
    """Mend a local catalog; gives the version that is the newest then.

    Without `to` lost entries are put back as they were, which is refused where they are lost for
    good; with it the catalog goes back to that version, under a new number.
    """
    folder = local_folder(path)
    if folder is None:
        raise CatalogError(f"{path} is in an object store: restore its files from there")
    record, found = _looked_at(folder, path)
    if to is not None:
        return _go_back(path, folder, to, record, found)
    if found and not _is_all_recorded(found):
        raise _lost(path, found[0], _newest_whole(folder, found))
    for fault in found:
        assert record is not None
        _set_aside(folder, fault.entry)
        replace_file(entry_path(folder, fault.entry), record.text)
    return _read_all(path)


def _read_all(path: str, storage_options: dict[str, str] | None = None) -> int:
    """Read every version, so that damage is found; gives the newest."""
    log = DeltaLog(path, create=False, storage_options=storage_options)
    newest = log.versions()[1]
    log.read(0, newest)
    return newest


def _lost(path: str, fault: Fault, whole: int | None) -> CatalogDamaged:
    remedy = "restore its folder from a backup"
    if whole is not None:
        command = f"watchline --catalog {path} catalog repair --to {whole}"
        remedy += f", or go back to version {whole} for good with `{command}`"
    lost = f"the catalog at {path} cannot be repaired as it was: {fault}, and no copy is left"
    return CatalogDamaged(f"{lost}: {remedy}", str(fault))


def _looked_at(folder: str, path: str) -> tuple[Record | None, tuple[Fault, ...]]:
    record = Guard(folder).recorded(None)
    try:
        return record, tuple(faults(folder, record))
    except FileNotFoundError:
        raise CatalogError(f"there is no catalog at {path}") from None
    except OSError as error:
        raise CatalogError(f"the catalog at {path} cannot be read: {error}") from error


def _is_all_recorded(found: tuple[Fault, ...]) -> bool:
    return bool(found) and all(fault.recorded for fault in found)


def _newest_whole(folder: str | None, found: tuple[Fault, ...]) -> int | None:
    """The newest version before the first damaged entry, as Delta itself reads the log."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    if folder is None or not found or not found[0].entry:
        return None
    try:
        table = DeltaTable(folder, version=found[0].entry - 1)
        return int(table.transaction_version(TRANSACTION) or 0)
    except (OSError, DeltaError):
        return None


def _go_back(
    path: str, folder: str, to: int, record: Record | None, found: tuple[Fault, ...]
) -> int:
    """Make version `to` the newest one, with a number that no version had."""
    if isinstance(to, bool) or not isinstance(to, int) or to < 0:
        raise InvalidQuery(f"a version is a whole number, not {to!r}")
    if not found:
        newest = _read_all(path)
        raise InvalidQuery(
            f"the catalog at {path} is sound (version {newest}): repair goes back only from damage"
        )
    if not found[0].entry:
        raise _lost(path, found[0], None)
    rows, whole, oldest = _rows_before(path, folder, found[0].entry)
    if not oldest <= to <= whole:
        raise UnknownVersion(f"version {to} cannot be read: versions {oldest} to {whole} can")
    used = max(
        # Each lost entry may have claimed a version.
        whole + len(found),
        record.version if record else 0,
        *_claimed(folder, found),
        *_written(folder),
    )
    for fault in found:
        _set_aside(folder, fault.entry)
        # The number of an entry is not used again either: a reader may have it in memory.
        replace_file(entry_path(folder, fault.entry), _nothing_done())
    if os.path.exists(os.path.join(folder, RECORD)):
        os.unlink(os.path.join(folder, RECORD))
    kept = rows.filter(pc.less_equal(rows["version"], to))
    DeltaLog(path, create=False).replace(kept, used + 1)
    return used + 1


def _rows_before(path: str, folder: str, entry: int) -> tuple[pa.Table, int, int]:
    """All rows before an entry, the newest version of them, and the oldest that is kept."""
    log = DeltaLog.at_entry(path, folder, entry - 1)
    oldest, newest = log.known_versions()
    return log.read(0, newest) if newest else SCHEMA.empty_table(), newest, oldest


def _claimed(folder: str, found: tuple[Fault, ...]) -> list[int]:
    """Versions that entries from the first damaged one on have claimed, as far as texts tell."""
    claimed: list[int] = []
    for name in os.listdir(os.path.join(folder, "_delta_log")):
        if name.endswith(".json") and name[:20].isdigit() and int(name[:20]) >= found[0].entry:
            text = read_entry(folder, int(name[:20]))
            claims = re.findall(r'"appId":"watchline","version":(\d+)', text)
            # The statistics of a file have the versions in it, also where its claim is cut off.
            claimed += map(int, claims + re.findall(r'\\"version\\":(\d+)', text))
    return claimed


def _written(folder: str) -> Iterator[int]:
    """The newest version of each data file, also of those that no entry names any more."""
    for name in os.listdir(folder):
        if name.endswith(".parquet"):
            with suppress(OSError, pa.ArrowException):
                found = pq.read_table(os.path.join(folder, name), columns=["version"])["version"]
                yield pc.max(found).as_py() or 0


def _set_aside(folder: str, entry: int) -> None:
    source = entry_path(folder, entry)
    if os.path.exists(source):
        os.makedirs(os.path.join(folder, DAMAGED), exist_ok=True)
        name = f"{os.path.basename(source)}.{time.time_ns()}"
        shutil.copy2(source, os.path.join(folder, DAMAGED, name))


def _nothing_done() -> str:
    information: dict[str, Any] = {
        "timestamp": time.time_ns() // 1_000_000,
        "operation": "WATCHLINE REPAIR",
        "operationParameters": {},
    }
    return json.dumps({"commitInfo": information})
