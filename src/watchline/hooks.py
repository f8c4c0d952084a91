"""What a lower layer has done by a higher one that it does not import. The package sets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Lines about the plan of a query, by its id.
PlanLines = Callable[[str], list[str]]


def join_planner(queries: Any) -> PlanLines:
    """The lines of all joins."""
    return lambda query_id: []


def planner(queries: Any, stream: Any, emit: Any) -> PlanLines:
    """The lines of all queries over the stream that emit this."""
    return lambda query_id: []
