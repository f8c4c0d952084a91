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
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from watchline.catalog.guard import (
    RECORD,
    TRANSACTION,
    Fault,
    Guard,
    Record,
    entries_of,
    entry_path,
    read_entry,
    replace_file,
)
from watchline.catalog.log import OLDEST, DeltaLog, local_folder
from watchline.errors import (
    CatalogDamaged,
    CatalogError,
    CatalogMissing,
    InvalidQuery,
    UnknownVersion,
)

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
    whole = _newest_whole(folder, found)
    restorable = record.version if record and _can_restore(folder, record, found) else None
    return Health(tuple(told), whole, restorable)


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
    if found and not _can_restore(folder, record, found):
        raise _lost(path, found[0], _newest_whole(folder, found))
    for fault in found:
        assert record is not None
        _set_aside(folder, fault.entry)
        replace_file(entry_path(folder, fault.entry), record.text.encode())
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
    try:
        return Guard(folder).look(_id_of(folder))
    except FileNotFoundError:
        raise CatalogMissing(f"there is no catalog at {path}") from None
    except OSError as error:
        raise CatalogError(f"the catalog at {path} cannot be read: {error}") from error


def _id_of(folder: str) -> str | None:
    """The id of the table, None if it cannot be opened: then any record counts."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        return str(DeltaTable(folder).metadata().id)
    except (OSError, DeltaError):
        return None


def _can_restore(folder: str | None, record: Record | None, found: tuple[Fault, ...]) -> bool:
    """Whether the record has all that is lost, and the data files that it names are there."""
    if folder is None or record is None or not found or not all(f.recorded for f in found):
        return False
    actions = [json.loads(line) for line in record.text.split("\n") if line]
    files = [unquote(action["add"]["path"]) for action in actions if "add" in action]
    return all(os.path.exists(os.path.join(folder, file)) for file in files)


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
    first = found[0].entry
    before = DeltaLog.at_entry(path, folder, first - 1)
    oldest, whole = before.known_versions()
    if not oldest <= to <= whole:
        raise UnknownVersion(f"version {to} cannot be read: versions {oldest} to {whole} can")
    rows = before.read(0, to)
    entries = {first, *(entry for entry in entries_of(folder) if entry > first)}
    new = 1 + max(
        # Each lost entry may have claimed a version.
        whole + len(found),
        record.version if record else 0,
        *_claimed(folder, entries),
        *_written(folder),
    )
    _claim(Record(before.id, first, new, _entry_text(new)), folder, entries)
    if to == whole:
        return _read_all(path)
    DeltaLog(path, create=False).replace(rows, new + 1)
    return new + 1


def _claim(claim: Record, folder: str, entries: set[int]) -> None:
    """Let the log end with a claim of a new version, and the record with a copy of it.

    The catalog is refused until the last step, and where that is not reached, `repair` takes it.
    The numbers of entries are not used again: a reader may have the old ones in memory.
    """
    for entry in entries:
        _set_aside(folder, entry)
    replace_file(os.path.join(folder, RECORD), claim.as_bytes())
    for entry in sorted(entries - {claim.entry}, reverse=True):
        replace_file(entry_path(folder, entry), _entry_text().encode())
    replace_file(entry_path(folder, claim.entry), claim.text.encode())


def _claimed(folder: str, entries: set[int]) -> list[int]:
    """Versions that these entries have claimed, as far as their texts tell."""
    claimed: list[int] = []
    for entry in entries & entries_of(folder):
        text = read_entry(folder, entry)
        claims = re.findall(rf'"appId":"{TRANSACTION}","version":(\d+)', text)
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


def _entry_text(version: int | None = None) -> str:
    """An entry of Delta's log that does nothing, or claims a version and forgets those before."""
    information: dict[str, Any] = {
        "timestamp": time.time_ns() // 1_000_000,
        "operation": "WATCHLINE REPAIR",
        "operationParameters": {},
    }
    marks = [] if version is None else [TRANSACTION, OLDEST]
    claims = [{"txn": {"appId": mark, "version": version}} for mark in marks]
    actions = [{"commitInfo": information}, *claims]
    return "\n".join(json.dumps(action, separators=(",", ":")) for action in actions)
