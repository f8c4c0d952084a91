"""SELECT lists: a result has the columns that all its queries select, or else all of them.

The columns are chosen once, when the result is made: those of a stream do not change while it runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

from watchline.catalog import Call, Queries
from watchline.errors import SelectWarning
from watchline.model import Query
from watchline.tracking.joining import Slot, slots_of

Names = tuple[str, ...]


class Selected(NamedTuple):
    """A query and the columns it selects; None for all."""

    query: str
    names: Names | None

    def __repr__(self) -> str:
        return f"{self.query!r} selects {'*' if self.names is None else ', '.join(self.names)}"


def agreed(queries: Queries, call: Call, name: str, stacklevel: int = 2) -> Names | None:
    """The columns that all queries which the call answers select; None for all of them.

    Where the lists differ the caller of the function that calls this is warned.
    """
    first: Selected | None = None
    for found in _lists(queries, call):
        if first is not None and found.names != first.names:
            message = (
                f"SELECT lists differ, so all attributes come out of {name}: {first!r}, {found!r};"
                " select columns from the result"
            )
            warnings.warn(message, SelectWarning, stacklevel=stacklevel + 1)
            return None
        first = found
    return None if first is None else first.names


def _lists(queries: Queries, call: Call) -> Iterator[Selected]:
    for entry in queries.entries.values():
        query = entry.query
        if call.answers(tuple(source.stream for source in query.sources), query.emit):
            yield Selected(query.id, None if query.select is None else _columns(query))
    for block in queries.blocks:
        if call.answers((block.stream,), block.emit):
            yield Selected(block.ids[0].as_py(), None)


def _columns(query: Query) -> Names:
    """The columns of the result that the query selects."""
    assert query.select is not None
    names = (attribute.name for attribute in query.select)
    if query.is_join:
        slots: dict[str, Slot] = dict(
            zip((source.alias for source in query.sources), slots_of(query), strict=True)
        )
        names = (slots[attribute.alias].column(attribute.name) for attribute in query.select)
    return tuple(dict.fromkeys(names))
