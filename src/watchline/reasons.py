"""Why an object entered or left an answer."""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """The codes are places in `REASONS`, which has the names that users see."""

    ENTER = 0
    EXIT = 1
    REGISTERED = 2
    DROPPED = 3
    EXPIRED = 4
    SHED = 5


REASONS = tuple(reason.name.lower() for reason in Reason)
