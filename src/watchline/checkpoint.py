"""What a checkpoint has beside Spark's own files: who uses it, and a change of its shards.

Another number of shards takes several steps in the folder. So all that is new is prepared in a
folder of its own, and a *plan* beside it says what is to be done. The plan is written last, in one
step: without it nothing has happened, with it everything will. `finish` does what the plan says,
each step in such a way that it may be done again; whoever opens the checkpoint next calls it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from watchline.errors import InvalidState

# The folder of what is prepared, and in it the plan, Spark's state that is new, and the old one.
FOLDER, PLAN, NEW, OLD = "watchline-reshard", "plan", "state", "old-state"
LOCK = "watchline-lock"


@dataclass(frozen=True)
class Rewriting:
    """What makes the prepared files those of the checkpoint: texts that files get, and files that
    nobody needs any more, by their paths in the checkpoint."""

    texts: dict[str, str]
    gone: list[str] = field(default_factory=list)


def is_local(checkpoint: str) -> bool:
    """Whether the checkpoint is a folder of this machine."""
    return bool(checkpoint) and "://" not in checkpoint


# The locks that this process holds, by checkpoint.
_held: dict[str, int] = {}


def hold(checkpoint: str, alone: bool = False) -> None:
    """The checkpoint, a folder, is in use until `release`. Several runs may say so; who is `alone`
    refuses if somebody else does, and is refused to others. A lock goes with its process, however
    that ends."""
    if checkpoint in _held:
        return
    lock = os.open(os.path.join(checkpoint, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        who = "a job runs on it" if alone else "it is being given another number of shards"
        raise InvalidState(f"the checkpoint {checkpoint} is in use: {who}") from None
    _held[checkpoint] = lock


def release(checkpoint: str) -> None:
    """This process does not use the checkpoint any more."""
    lock = _held.pop(checkpoint, None)
    if lock is not None:
        os.close(lock)


def prepared(checkpoint: str) -> str:
    """An empty folder for what is new."""
    finish(checkpoint)
    folder = os.path.join(checkpoint, FOLDER)
    os.mkdir(folder)
    return folder


def commit(checkpoint: str, plan: Rewriting) -> None:
    """What is prepared counts from now on."""
    folder = os.path.join(checkpoint, FOLDER)
    sync_tree(folder)
    write_synced(os.path.join(folder, PLAN), json.dumps(asdict(plan)))


def finish(checkpoint: str) -> None:
    """Carry out a plan that was written, and clear away what has none."""
    folder = os.path.join(checkpoint, FOLDER)
    if not os.path.isdir(folder):
        return
    path = os.path.join(folder, PLAN)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            plan = Rewriting(**json.load(file))
        _exchange(checkpoint, folder)
        for name, text in plan.texts.items():
            write_synced(os.path.join(checkpoint, name), text)
        for name in plan.gone:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(checkpoint, name))
        os.unlink(path)
        _sync(folder)
    shutil.rmtree(folder)


def _exchange(checkpoint: str, folder: str) -> None:
    """The new state of Spark's store in the place of the old one."""
    state = os.path.join(checkpoint, "state")
    new, old = os.path.join(folder, NEW), os.path.join(folder, OLD)
    if not os.path.isdir(new):
        return
    if os.path.isdir(state):
        os.rename(state, old)
    os.rename(new, state)
    _sync(checkpoint)


def write_synced(path: str, text: str) -> None:
    """A file that is complete and on disk before it has its name. Hadoop's checksum of an older
    content goes first: without one nothing is compared."""
    folder, name = os.path.split(path)
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, f".{name}.crc"))
    os.replace(f"{path}.new", path)
    _sync(folder)


def sync_tree(folder: str) -> None:
    """All files below are on disk, and their names."""
    for place, _, names in os.walk(folder):
        for name in names:
            _sync(os.path.join(place, name))
        _sync(place)


def _sync(path: str) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
