"""The append-only log of commands that a catalog is: one Delta table, one commit per version.

Invariant: versions are 1, 2, 3 … without gaps, each written by exactly one commit. Every commit
carries its number as the transaction `watchline`; of two writers that claim one number, Delta lets
one commit and fails the other, which then looks at what happened and tries the next number. A
half-written commit has no entry in Delta's own log, so no reader ever sees it.

Rows carry their version, so files can be merged at any time without changing any version's answer.
Cost: a commit grows with the number of live files and of entries in Delta's own log; merging the
former every `MERGE_FILES` commits and forgetting the latter after minutes keeps it flat
(docs/decisions/0004).
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.catalog.guard import TRANSACTION, Fault, Guard, Record, entry_path
from watchline.errors import CatalogDamaged, CatalogError, CatalogMissing

FORMAT = 1
MERGE_FILES = 32
# Larger files are left alone when small ones are merged.
MERGED_BYTES = 16 * 2**20
# Unreferenced files are deleted when this many versions have passed, and only when an hour old:
# a slow reader may still be at them.
CLEAN_VERSIONS = 1_024

_NAME = "watchline catalog"
OLDEST = "watchline oldest"
_CONFIGURATION = {
    "delta.deletedFileRetentionDuration": "interval 1 minutes",
}
# On a local disk every commit lists Delta's log, so it must stay short; `DeltaLog._secure` guards
# against a writer that slept so long that the entries after its snapshot are gone.
_LOCAL_RETENTION = {"delta.logRetentionDuration": "interval 2 minutes"}
_REMOTE_RETENTION = {"delta.logRetentionDuration": "interval 1 days"}

SCHEMA = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("op", pa.string(), nullable=False),
        ("id", pa.string()),
        ("definition", pa.string()),
        ("text", pa.string()),
        ("lo", pa.list_(pa.float64())),
        ("hi", pa.list_(pa.float64())),
        ("first", pa.list_(pa.int64())),
        ("last", pa.list_(pa.int64())),
        ("keys", pa.list_(pa.string())),
    ]
)


class Conflict(Exception):
    """Another writer took the version."""


class Log(Protocol):
    """Where commands are kept. Versions count from 1; 0 is the empty catalog."""

    def versions(self) -> tuple[int, int]:
        """The oldest version kept and the newest one, also of other writers."""

    def read(self, after: int, upto: int) -> pa.Table:
        """The rows of the versions after < v <= upto, in order."""

    def append(self, version: int, rows: pa.Table) -> None:
        """Write this version durably; Conflict if it exists."""

    def rewrite(self, rows: pa.Table, oldest: int, version: int) -> None:
        """Replace all rows up to `version`, the newest, keeping versions from `oldest` on."""

    def compact(self) -> None:
        """Merge small files and delete what nothing refers to."""


class MemoryLog:
    """A log that lives as long as the process."""

    def __init__(self) -> None:
        # The rows of each commit, and the version that each made; the first may hold several.
        self._tables: list[pa.Table] = []
        self._versions: list[int] = []
        self._oldest = self._newest = 0

    def versions(self) -> tuple[int, int]:
        return self._oldest, self._newest

    def read(self, after: int, upto: int) -> pa.Table:
        first, end = bisect_right(self._versions, after), bisect_left(self._versions, upto) + 1
        tables = self._tables[first:end] if upto > after else []
        return _between(pa.concat_tables([SCHEMA.empty_table(), *tables]), after, upto)

    def append(self, version: int, rows: pa.Table) -> None:
        self._tables.append(rows)
        self._versions.append(version)
        self._newest = version

    def rewrite(self, rows: pa.Table, oldest: int, version: int) -> None:
        self._tables, self._versions, self._oldest = [rows], [version], oldest

    def compact(self) -> None:
        if self._tables:
            self._tables = [pa.concat_tables(self._tables).combine_chunks()]
            self._versions = [self._newest]


def _between(rows: pa.Table, after: int, upto: int) -> pa.Table:
    if not rows.num_rows:
        return rows
    versions = rows["version"].to_numpy()
    wanted = (versions > after) & (versions <= upto)
    # Filtering and sorting copy every string and list: not where there is nothing to do.
    chosen = rows if wanted.all() else rows.filter(pa.array(wanted))
    place = [("version", "ascending"), ("position", "ascending")]
    return chosen if _sorted(chosen) else chosen.sort_by(place)


def _sorted(rows: pa.Table) -> bool:
    version, position = rows["version"].to_numpy(), rows["position"].to_numpy()
    step = np.diff(version)
    return bool(((step > 0) | ((step == 0) & (np.diff(position) > 0))).all())


def _fault_of_rows(rows: pa.Table, after: int, upto: int) -> str | None:
    """Whether a version after < v <= upto has no rows, or some rows twice."""
    versions = rows["version"].to_numpy()
    found = np.zeros(max(upto - after, 0) + 1, dtype=np.bool_)
    found[np.maximum(versions - after, 0)] = True
    if not found[1:].all():
        return f"version {after + 1 + int(np.argmin(found[1:]))} has lost its commands"
    again = np.flatnonzero((np.diff(versions) == 0) & (np.diff(rows["position"].to_numpy()) == 0))
    return f"version {versions[again[0]]} has commands twice" if len(again) else None


class DeltaLog:
    """The log as a Delta table under a local path or an object store's URL."""

    def __init__(self, uri: str, create: bool, storage_options: dict[str, str] | None = None):
        self.name = uri
        self._options = storage_options
        self.folder = local_folder(uri)
        self._uri = self.folder if self.folder is not None else uri
        self.id = ""
        self._guard = None if self.folder is None else Guard(self.folder)
        self._is_suspect, self._checked_entry = False, -1
        with self._readable():
            self._table = self._open(create)
        self._check_format()
        self._versions = -1, (0, 0)

    @classmethod
    def at_entry(cls, uri: str, folder: str, entry: int) -> DeltaLog:
        """The log as it was after an entry of Delta's log, for reading; nothing is guarded."""
        from deltalake import DeltaTable

        log = cls.__new__(cls)
        log.name, log.folder, log._uri, log._options = uri, folder, folder, None
        log._guard, log._versions, log._is_suspect = None, (-1, (0, 0)), False
        with log._readable():
            log._table = DeltaTable(folder, version=entry)
        log._check_format()
        return log

    # --- opening

    def _open(self, create: bool):  # type: ignore[no-untyped-def]
        from deltalake import DeltaTable

        if self.folder is not None:
            self._check_folder(self.folder, create)
        if not DeltaTable.is_deltatable(self._uri, self._options):
            if self._guard is not None and self._guard.recorded(None) is not None:
                raise CatalogDamaged(
                    f"{self.name} has lost all entries of its log, and a new catalog would begin"
                    " again with version 1: run `watchline catalog check`, restore _delta_log from"
                    " a copy, or name a new folder"
                )
            if not create:
                raise CatalogMissing(f"there is no catalog at {self.name}")
            self._create()
        return DeltaTable(self._uri, storage_options=self._options)

    def _create(self) -> None:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        retention = _REMOTE_RETENTION if self.folder is None else _LOCAL_RETENTION
        try:
            DeltaTable.create(
                self._uri,
                SCHEMA,
                mode="error",
                name=_NAME,
                description=f"format {FORMAT}",
                configuration=_CONFIGURATION | retention,
                storage_options=self._options,
            )
        except DeltaError:
            # Another process may have created it in the meantime: then all is well.
            if not DeltaTable.is_deltatable(self._uri, self._options):
                raise
        if self.folder is not None:
            _sync_commit(self.folder, 0)

    def _check_folder(self, folder: str, create: bool) -> None:
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise CatalogError(f"{self.name} is a file: a catalog is a folder, name another path")
        if not os.path.isdir(folder):
            if not create:
                raise CatalogMissing(f"there is no catalog at {self.name}")
            return
        # Listing also tells an unreadable folder from one that holds no catalog.
        names = os.listdir(folder)
        if names and "_delta_log" not in names:
            raise CatalogError(
                f"{self.name} holds other files and no catalog: name an empty or a new folder"
            )

    def _check_format(self) -> None:
        metadata = self._table.metadata()
        self.id = str(metadata.id)
        if metadata.name != _NAME:
            raise CatalogError(f"{self.name} is a Delta table, but not a Watchline catalog")
        found = (metadata.description or "").removeprefix("format ")
        if not found.isdigit() or int(found) > FORMAT:
            raise CatalogError(
                f"the catalog at {self.name} has format {found or 'unknown'}; this Watchline reads"
                f" formats up to {FORMAT}: upgrade Watchline"
            )

    @contextmanager
    def _readable(self) -> Iterator[None]:
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (OSError, DeltaError, pa.ArrowException) as error:
            for fault in self._faults():
                raise self._damaged(fault) from error
            raise CatalogError(
                f"the catalog at {self.name} cannot be opened or read: {_reason(error)}"
            ) from error

    def _faults(self) -> tuple[Fault, ...]:
        """Damaged entries of Delta's log, where they can be looked at."""
        if self._guard is not None:
            with suppress(OSError):
                # A catalog that cannot be opened has not told its id.
                return self._guard.look(self.id or None)[1]
        return ()

    def _damaged(self, fault: object) -> CatalogDamaged:
        # What Delta has in memory is not to be gone on from, even when the files are mended.
        self._is_suspect = True
        command = f"watchline --catalog {self.name} catalog"
        return CatalogDamaged(
            f"the catalog at {self.name} is damaged: {fault}. Nothing was changed. See what is left"
            f" with `{command} check`, then mend it with `{command} repair`",
            str(fault),
        )

    # --- reading

    def versions(self) -> tuple[int, int]:
        with self._readable():
            return self._whole_versions()

    def _whole_versions(self) -> tuple[int, int]:
        """The oldest and newest version, after a look that found nothing missing."""
        last = self._versions[1][1]
        for look in (self._refresh, self._reopen):
            # First the record, then the log: what the one has the other must have.
            record = None if self._guard is None else self._guard.recorded(self.id)
            look()
            oldest, newest = self.known_versions()
            fault = self._fault_of_entry(record)
            if fault is None and newest < max(last, record.version if record else 0):
                fault = f"version {newest + 1} was there and is gone"
            if fault is None:
                return oldest, newest
        raise self._damaged(fault)

    def _fault_of_entry(self, record: Record | None) -> object:
        """What is wrong with the newest entry of Delta's log, None if nothing is."""
        entry = self._table.version()
        if self._guard is not None:
            return self._guard.fault(record, entry)
        # An object store writes an entry whole or not at all; but somebody may have emptied it.
        if entry != self._checked_entry and not self._table.history(1):
            return Fault(entry, "is empty")
        self._checked_entry = entry
        return None

    def known_versions(self) -> tuple[int, int]:
        """The oldest and newest version of the snapshot we hold."""
        # Looking up a transaction costs milliseconds: only when the table has moved.
        if self._versions[0] != self._table.version():
            marks = self._mark(OLDEST), self._mark(TRANSACTION)
            self._versions = self._table.version(), marks
        return self._versions[1]

    def _mark(self, name: str) -> int:
        return self._table.transaction_version(name) or 0

    def _refresh(self) -> None:
        from deltalake.exceptions import DeltaError

        changed = self._guard is not None and self._guard.is_changed(self._table.version())
        if changed or self._is_suspect:
            # Delta would go on from what it has in memory, whatever became of the files.
            self._reopen()
            return
        try:
            self._table.update_incremental()
        except DeltaError:
            # Delta's own log may have been cleaned past the place we were at.
            self._reopen()

    def _reopen(self) -> None:
        from deltalake import DeltaTable

        self._table = DeltaTable(self._uri, storage_options=self._options)
        self._is_suspect, self._versions = False, (-1, self._versions[1])

    def read(self, after: int, upto: int) -> pa.Table:
        if upto <= after:
            return SCHEMA.empty_table()
        with self._readable():
            try:
                rows = self._read(after, upto)
            except FileNotFoundError:
                # Merged and cleaned away since our last look at the table.
                self._refresh()
                rows = self._read(after, upto)
            kept = max(after, self.known_versions()[0])
        if (fault := _fault_of_rows(rows, kept, upto)) is not None:
            raise self._damaged(fault)
        return rows

    def _read(self, after: int, upto: int) -> pa.Table:
        if self.folder is None:
            version = pc.field("version")
            chosen = (version > after) & (version <= upto)
            rows = self._table.to_pyarrow_dataset().to_table(filter=chosen)
        else:
            import pyarrow.parquet as pq

            files = pa.table(self._table.get_add_actions(flatten=True))
            wanted = pc.and_(
                pc.greater(files["max.version"], after), pc.less_equal(files["min.version"], upto)
            )
            # Oldest first: rows that are in order need no sorting.
            chosen = files.filter(pc.fill_null(wanted, True)).sort_by("min.version")
            paths = chosen["path"].to_pylist()
            tables = [
                pq.ParquetFile(os.path.join(self.folder, unquote(p))).read(use_threads=False)
                for p in paths
            ]
            rows = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
        return _between(rows.select(SCHEMA.names).cast(SCHEMA), after, upto)

    # --- writing

    def append(self, version: int, rows: pa.Table) -> None:
        oldest, newest = self.known_versions()
        # Merging files may have moved our snapshot past commits that the caller has not seen, and
        # Delta only checks against what came after the snapshot. It does not look at the entry that
        # the snapshot ends with.
        if newest != version - 1 or not self._is_snapshot_on_disk():
            raise Conflict
        table = self._table
        self._write(rows, "append", {TRANSACTION: version})
        # A table that had to be opened anew may hold more than our commit: then it is asked again.
        if self._table is table:
            self._versions = table.version(), (oldest, version)
        self._tidy(version)

    def _is_snapshot_on_disk(self) -> bool:
        return self._guard is None or self._guard.is_unchanged(self._table.version())

    def rewrite(self, rows: pa.Table, oldest: int, version: int) -> None:
        newest = self.known_versions()[1]
        if newest != version or not self._is_snapshot_on_disk():
            raise Conflict
        # Claiming the newest version again fails if another writer claims the next one meanwhile.
        self._write(rows, "overwrite", {TRANSACTION: newest, OLDEST: oldest})

    def replace(self, rows: pa.Table, version: int) -> None:
        """Let these rows be all there is, at a version that no other writer may have claimed; the
        versions before it are forgotten."""
        self._write(rows, "overwrite", {TRANSACTION: version, OLDEST: version})

    def _write(self, rows: pa.Table, mode: str, marks: dict[str, int]) -> None:
        from deltalake import CommitProperties, Transaction, write_deltalake
        from deltalake.exceptions import CommitFailedError, DeltaError

        claim = CommitProperties(app_transactions=[Transaction(*mark) for mark in marks.items()])
        snapshot = self._table.version()
        try:
            write_deltalake(
                self._table,
                rows,
                mode=mode,
                commit_properties=claim,
                # Delta's own tidying after a commit would fail the call when others tidy, too.
                post_commithook_properties=_no_hooks(),
            )
        except CommitFailedError as error:
            raise Conflict from error
        except (OSError, DeltaError) as error:
            if not self._is_committed(rows):
                # Our snapshot may be gone from Delta's log, because others went on.
                if self._table.version() != snapshot:
                    raise Conflict from error
                raise self._unwritable(error) from error
        if self.folder is not None:
            try:
                self._secure(self.folder, rows)
            except OSError as error:
                raise self._unwritable(error) from error
            self._record(marks[TRANSACTION])

    def _record(self, version: int) -> None:
        if self._guard is not None:
            self._guard.record(self.id, self._table.version(), version)

    def _secure(self, folder: str, rows: pa.Table) -> None:
        """Force the commit to disk; take it back if it went into a gap that cleaning had left."""
        version = self._table.version()
        if not os.path.exists(entry_path(folder, version - 1)) and not self._is_committed(rows):
            os.unlink(entry_path(folder, version))
            raise Conflict
        _sync_commit(folder, version)

    def _is_committed(self, rows: pa.Table) -> bool:
        """Whether a fresh look at the table finds our rows."""
        with self._readable():
            self._reopen()
            version = rows["version"][-1].as_py()
            found = self._read(version - 1, version)
            return bool(found.num_rows and found.equals(_between(rows, version - 1, version)))

    def _unwritable(self, error: Exception) -> CatalogError:
        return CatalogError(f"the catalog at {self.name} cannot be written: {_reason(error)}")

    def _tidy(self, version: int) -> None:
        """Keep commits cheap. A failure costs only speed: other writers may be at the same."""
        from deltalake.exceptions import DeltaError

        if version % MERGE_FILES:
            return
        try:
            self._merge_files()
            if version % CLEAN_VERSIONS == 0:
                self._delete_unreferenced()
            self._record(self.known_versions()[1])
        except (OSError, DeltaError):
            self._refresh()

    def _merge_files(self) -> None:
        self._table.optimize.compact(
            target_size=MERGED_BYTES, post_commithook_properties=_no_hooks()
        )
        self._table.create_checkpoint()
        self._table.cleanup_metadata()

    def _delete_unreferenced(self) -> None:
        self._table.vacuum(
            retention_hours=1,
            enforce_retention_duration=False,
            dry_run=False,
            full=True,
            post_commithook_properties=_no_hooks(),
        )

    def compact(self) -> None:
        from deltalake.exceptions import DeltaError

        try:
            self._whole_versions()
            self._merge_files()
            self._delete_unreferenced()
            self._record(self.known_versions()[1])
        except (OSError, DeltaError) as error:
            raise self._unwritable(error) from error


def _no_hooks() -> Any:
    from deltalake import PostCommitHookProperties

    return PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


def local_folder(uri: str) -> str | None:
    """The folder of a local catalog, None for an object store."""
    try:
        uri.encode()
    except UnicodeEncodeError:
        raise CatalogError(f"the path {uri!r} is not valid Unicode: name another") from None
    parsed = urlparse(uri)
    if parsed.scheme != "file" and "://" in uri:
        return None
    folder = unquote(parsed.path) if parsed.scheme == "file" else uri
    if "%" in folder:
        # deltalake would decode it and look elsewhere.
        raise CatalogError(f"the path {folder} has a '%', which Delta cannot keep: name another")
    # The log is opened again and again, and the process may have another working folder by then.
    return os.path.abspath(folder) if folder else folder


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def _sync_commit(folder: str, version: int) -> None:
    """Force a commit to the disk: its data files, its entry in Delta's log, and their folders."""
    import json

    entry = entry_path(folder, version)
    with open(entry, encoding="utf-8") as lines:
        actions = [json.loads(line) for line in lines]
    added = [os.path.join(folder, unquote(a["add"]["path"])) for a in actions if "add" in a]
    for path in (*added, folder, entry, os.path.dirname(entry)):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
