"""Objects of large arrays, built once on a machine and shared by its worker processes.

The first process that needs an object builds it and writes it to a file; all, the first one too,
map that file into memory. Pages are shared until one is written to, which stays private. A file is
named after what it holds and is complete before it has its name; the newest few are kept.

The folder is the user's own and readable by nobody else, because what is in it is trusted.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import pickle
import stat
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import watchline

T = TypeVar("T")

# Files kept under a name, and in all.
KEPT, KEPT_IN_ALL = 3, 32
_MAGIC = b"watchline-shared-1\n"
_ALIGN = 64


def shared(name: str, key: str, build: Callable[[], T]) -> T:
    """The object of this key; the newest few keys under a name are kept.

    Where the folder cannot be used the object is simply built.
    """
    folder = _folder()
    if folder is None:
        return build()
    prefix = digest(name)
    path = folder / f"{prefix}-{digest(f'{code_of()} {key}')}.bin"
    if not path.exists():
        with _locked(path.with_suffix(".lock")):
            if not path.exists():
                value = build()
                try:
                    _write(path, value)
                    _forget_old(folder, prefix)
                except OSError:  # no room, say: then everyone builds their own
                    return value
    try:
        return _read(path)  # type: ignore[no-any-return]
    except (OSError, ValueError, pickle.UnpicklingError):
        return build()


@cache
def code_of() -> str:
    """The program that makes and reads the files: another's may have other classes in them."""
    sources = sorted(Path(watchline.__file__).parent.rglob("*.py"))
    stamps = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sources]
    return digest(repr((sys.version, stamps)))


def digest(text: str) -> str:
    """A short name for a text, which differs for other texts."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _folder() -> Path | None:
    """Our folder for temporary files, if it is ours alone."""
    path = Path(tempfile.gettempdir()) / f"watchline-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError:
        return None
    private = found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) == 0o700
    return path if private and stat.S_ISDIR(found.st_mode) else None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; where that cannot be had, all may build at once and lose only time."""
    try:
        file = path.open("w")
    except OSError:
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(path: Path, value: Any) -> None:
    """Magic, sizes, the pickle, and the arrays, each where a cache line begins."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    sizes = struct.pack(f"<{len(parts) + 1}q", len(parts), *(len(part) for part in parts))
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(_MAGIC + sizes)
            for part in parts:
                file.write(b"\0" * (-file.tell() % _ALIGN))
                file.write(part)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path) -> Any:
    with path.open("rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    if mapped[: len(_MAGIC)] != _MAGIC:
        raise ValueError(f"{path} is not a file of shared arrays")
    at = len(_MAGIC)
    (count,) = struct.unpack_from("<q", mapped, at)
    sizes = struct.unpack_from(f"<{count}q", mapped, at + 8)
    at += 8 * (count + 1)
    parts = []
    for size in sizes:
        at += -at % _ALIGN
        parts.append(mapped[at : at + size])
        at += size
    return pickle.loads(parts[0], buffers=parts[1:])


def _forget_old(folder: Path, prefix: str) -> None:
    """All but the newest files, under a name and in all; who has one mapped keeps it."""
    files = sorted(folder.glob("*.bin"), key=_written, reverse=True)
    mine = [path for path in files if path.name.startswith(prefix)]
    for path in {*mine[KEPT:], *files[KEPT_IN_ALL:]}:
        path.unlink(missing_ok=True)
        path.with_suffix(".lock").unlink(missing_ok=True)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process was faster
        return 0.0
