"""The moments of a micro-batch at which something may happen, and what may strike there."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Effect(Enum):
    """What a fault does."""

    # The machines go down: all processes, and what was not synced.
    KILL = "kill"
    # The streaming query fails and is started again; workers go on, with all that they remember.
    RESTART = "restart"
    # One worker process dies, and another one runs its task again.
    CRASH = "crash"
    # A task fails; its worker goes on, and some worker runs the task again.
    FAIL = "fail"
    # A task runs a second time although it succeeded; either result may count.
    TWIN = "twin"
    # A task's first attempt, given up, goes on in a later batch.
    ZOMBIE = "zombie"


DRIVER = (Effect.KILL, Effect.RESTART)
TASK = (Effect.KILL, Effect.RESTART, Effect.CRASH, Effect.FAIL)

# In the order of a batch. What a fault may do there is beside each.
MOMENTS: dict[str, tuple[Effect, ...]] = {
    "plan": DRIVER,  # before the offsets are logged
    "planned": DRIVER,
    "route": TASK,  # a router's task begins
    "pin": TASK,  # while the pin is written
    "routed": TASK,
    "open": TASK,  # a shard's task begins
    "process": TASK,
    "processed": TASK,
    "file": TASK,  # while a state file is written
    "row": TASK,  # between the state file and Spark's row
    "saved": (*TASK, Effect.TWIN, Effect.TWIN, Effect.ZOMBIE, Effect.ZOMBIE),
    "merge": TASK,
    "merge file": TASK,  # while a file of the merge's state is written
    "merge row": TASK,  # while the row that names these files is written
    "merged": (*TASK, Effect.TWIN, Effect.TWIN, Effect.ZOMBIE, Effect.ZOMBIE),
    "sink": DRIVER,  # while the sink is written
    "written": DRIVER,  # between the sink and the log of commits
    "committed": DRIVER,
}
# Moments that come once for each shard.
BY_SHARD = (
    *("open", "process", "processed", "file", "row", "saved"),
    *("merge", "merge file", "merge row", "merged"),
)
# Moments that come only where states are files, and only where several shards are merged.
IN_FILES = ("file", "merge file")
MERGED = ("merge file", "merge row", "merged")


class Aim(NamedTuple):
    """A moment of a batch: the `turn`-th time that an attempt at this batch comes to it."""

    batch: int
    moment: str
    turn: int


class Fault(NamedTuple):
    """Something that strikes once."""

    at: Aim
    effect: Effect


class Struck(BaseException):
    """What a fault raises. No code of the product may catch it."""

    def __init__(self, effect: Effect):
        super().__init__(effect.value)
        self.effect = effect


class TaskFailed(OSError):
    """An ordinary error in a task, as of a full disk: the product may clean up behind it."""


def strike(effect: Effect) -> None:
    """Let the running task or the whole query end here."""
    if effect is Effect.FAIL:
        raise TaskFailed("no space left on device")
    raise Struck(effect)
