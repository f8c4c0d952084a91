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


# Why objects leave and enter, by the kind of an event: a row, a time-out, the end of a query, one
# that holds an object no more, an object that is given up, one that is taken back.
LEFT = (
    *(Reason.EXIT, Reason.EXPIRED, Reason.DROPPED),
    *(Reason.DROPPED, Reason.SHED, Reason.EXIT),
)
ENTERED = (
    *(Reason.ENTER, Reason.ENTER, Reason.ENTER),
    *(Reason.ENTER, Reason.ENTER, Reason.SHED),
)
REASONS = tuple(reason.name.lower() for reason in Reason)
