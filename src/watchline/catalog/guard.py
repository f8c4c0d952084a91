"""Guards a local catalog against the loss of the newest entries of Delta's log.

Delta takes an emptied or missing newest entry for a shorter log: the catalog would go back by a
version in silence, and the next commit would use the version's number for something else. So each
commit leaves a copy of its entry in a file of ours, the *record*, and whoever looks at the log
compares.

Invariant: a record is written after the entry it copies is on disk. A reader reads the record
first and then the log, so the log has the recorded entry or is damaged; a record may lag behind
the log (a writer was killed in between, or two wrote at once), which proves nothing and is allowed.

Cost: a look reads the record, about 1.5 KB, and the state of one file; the entry itself is read
only when it has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

RECORD = "_newest.json"
LOG = "_delta_log"
TRANSACTION = "watchline"


@dataclass(frozen=True)
class Record:
    """The entry `entry` of Delta's log as its writer left it; `version` was the newest then."""

    catalog: str
    entry: int
    version: int
    text: str

    def as_bytes(self) -> bytes:
        made = json.dumps(asdict(self)).encode()
        return made + b"\n" + _checksum(made)


@dataclass(frozen=True)
class Fault:
    """An entry of Delta's log that is not what it was."""

    entry: int
    what: str
    # Whether the record has its text.
    recorded: bool = False

    def __str__(self) -> str:
        return f"entry {self.entry} of its log ({LOG}/{entry_name(self.entry)}) {self.what}"


def entry_name(entry: int) -> str:
    """The file name that Delta gives this entry of its log."""
    return f"{entry:020}.json"


def entry_path(folder: str, entry: int) -> str:
    """Where the file of this entry is, in the catalog's folder."""
    return os.path.join(folder, LOG, entry_name(entry))


class Guard:
    """The record of one catalog, and the state of the newest entry that was found whole."""

    def __init__(self, folder: str):
        self.folder = folder
        # The number of an entry, and its file's size, time and inode.
        self._whole: tuple[int, tuple[int, int, int] | None] = -1, None

    def recorded(self, catalog_id: str | None) -> Record | None:
        """The record, if it is this catalog's, or any. One that cannot be read proves nothing."""
        try:
            with open(os.path.join(self.folder, RECORD), "rb") as file:
                made, _, checksum = file.read().rpartition(b"\n")
            found = Record(**json.loads(made))
        except (OSError, ValueError, TypeError):
            return None
        if checksum != _checksum(made):
            return None
        return found if catalog_id in (None, found.catalog) else None

    def record(self, catalog_id: str, entry: int, version: int) -> None:
        """Copy an entry that is on disk. Where that fails the older record stays, which is true."""
        with suppress(OSError):
            text = read_entry(self.folder, entry)
            self._whole = entry, _state(entry_path(self.folder, entry))
            older = self.recorded(catalog_id)
            if older is None or older.entry < entry:
                made = Record(catalog_id, entry, version, text)
                _overwrite(os.path.join(self.folder, RECORD), made.as_bytes())

    def look(self, catalog_id: str | None) -> tuple[Record | None, tuple[Fault, ...]]:
        """The record, and all entries since the newest checkpoint that are damaged or missing.

        The files are looked at twice before any of them counts as damaged: others may write a
        checkpoint and delete the entries before it during the first look.
        """
        for _ in range(2):
            record = self.recorded(catalog_id)
            found = tuple(_faults(self.folder, record))
            if not found:
                break
        return record, found

    def is_unchanged(self, entry: int) -> bool:
        """Whether the file of this entry is the one that was found whole."""
        return self._whole == (entry, _state(entry_path(self.folder, entry)))

    def is_changed(self, entry: int) -> bool:
        """Whether the file of this entry was found whole and is another now, or gone."""
        return self._whole[0] == entry and not self.is_unchanged(entry)

    def fault(self, record: Record | None, entry: int) -> Fault | None:
        """What is wrong with the newest entry that Delta found, or with its being the newest."""
        if record is not None and record.entry > entry:
            lost = fault_of(self.folder, record.entry, record)
            return lost or Fault(entry + 1, "is passed over by Delta")
        if self.is_unchanged(entry):
            return None
        state = _state(entry_path(self.folder, entry))
        found = fault_of(self.folder, entry, record)
        if found is None:
            self._whole = entry, state
        return found


def fault_of(folder: str, entry: int, record: Record | None = None) -> Fault | None:
    """What is wrong with an entry, by the record if that has it, else by the entry's own counts."""
    recorded = record is not None and record.entry == entry
    try:
        text = read_entry(folder, entry)
    except FileNotFoundError:
        return Fault(entry, "is missing", recorded)
    if recorded:
        assert record is not None
        if text.rstrip() == record.text.rstrip():
            return None
        return Fault(entry, _what(text) or "is not what was written", True)
    what = _what(text)
    return None if what is None else Fault(entry, what)


def _what(text: str) -> str | None:
    """What is wrong with the text of an entry."""
    if not text.strip():
        return "is empty"
    try:
        actions = [json.loads(line) for line in text.split("\n") if line]
        counts = Counter(kind for action in actions for kind in action)
        [information] = [a["commitInfo"] for a in actions if "commitInfo" in a]
    except (ValueError, TypeError, AttributeError):
        return "is cut off or overwritten"
    if not _is_complete(information, actions, counts):
        return "lacks some of its lines"
    return None


def _is_complete(
    information: dict[str, Any], actions: list[dict[str, Any]], counts: Counter[str]
) -> bool:
    """The first line counts the files of the others; a commit of ours ends with its version."""
    metrics = information.get("operationMetrics") or {}
    for kind, names in (
        ("add", ("num_added_files", "numFilesAdded")),
        ("remove", ("num_removed_files", "numFilesRemoved")),
    ):
        counted = [metrics[name] for name in names if isinstance(metrics.get(name), int)]
        if any(counts[kind] != number for number in counted):
            return False
    claims = [a["txn"]["appId"] for a in actions if "txn" in a]
    return information.get("operation") != "WRITE" or TRANSACTION in claims


def read_entry(folder: str, entry: int) -> str:
    """The text of this entry; bytes that are no UTF-8 come out as replacement characters."""
    with open(entry_path(folder, entry), encoding="utf-8", errors="replace") as file:
        return file.read()


def _overwrite(path: str, content: bytes) -> None:
    """Write into a file as it stands. Putting a new file in its place would take milliseconds, as
    file systems force those to disk; the checksum tells a file that is written only in part."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(descriptor, content, 0)
        os.ftruncate(descriptor, len(content))
    finally:
        os.close(descriptor)


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def replace_file(path: str, content: bytes) -> None:
    """Put a durable file in the place of another, whole."""
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix="_new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def entries_of(folder: str) -> set[int]:
    """The numbers of the entries that are there, damaged or not."""
    names = os.listdir(os.path.join(folder, LOG))
    return {int(n[:20]) for n in names if n.endswith(".json") and n[:20].isdigit()}


def _faults(folder: str, record: Record | None) -> Iterator[Fault]:
    """All entries since the newest checkpoint that are damaged or missing."""
    names = os.listdir(os.path.join(folder, LOG))
    checkpoints = [int(n[:20]) for n in names if ".checkpoint" in n and n[:20].isdigit()]
    first = max(checkpoints, default=-1) + 1
    last = max(entries_of(folder) | ({record.entry} if record else set()), default=-1)
    for entry in range(min(first, last), last + 1):
        if entry >= 0 and (found := fault_of(folder, entry, record)) is not None:
            yield found


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
