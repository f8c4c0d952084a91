"""The wall clock. It decides one thing: which rows come from the future (`MAX AHEAD`).

All other time is stream time. A clock is a function without arguments that gives a `datetime`, UTC
where it has no zone; users pass their own to test, or to process rows of a simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

from watchline.errors import InvalidQuery
from watchline.model import micros_of

Clock = Callable[[], datetime]


def wall_clock() -> datetime:
    """The machine's clock."""
    return datetime.now(timezone.utc)


def checked_clock(clock: Clock | None) -> Clock:
    """What a caller gave as `clock`; the machine's clock if nothing."""
    if clock is None:
        return wall_clock
    if not callable(clock):
        raise InvalidQuery(
            f"clock is a function that gives a datetime, not {type(clock).__name__}:"
            " clock=lambda: datetime(2026, 3, 1)"
        )
    return clock


def micros_now(clock: Clock = wall_clock) -> int:
    """The clock's time in microseconds since 1970."""
    now = clock()
    if not isinstance(now, datetime):
        raise InvalidQuery(f"clock must give a datetime, not {type(now).__name__}")
    return micros_of(now)
