"""SELECT lists: a result has the columns that all its queries select, or else all of them.

The columns are chosen once, when the result is made: those of a stream do not change while it runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

from watchline.catalog.answering import Call
from watchline.catalog.state import Queries
from watchline.errors import SelectWarning
from watchline.model import Query

Names = tuple[str, ...]
ColumnsOf = Callable[[Query], Names]


class Selected(NamedTuple):
    """A query and the columns it selects; None for all."""

    query: str
    names: Names | None

    def __repr__(self) -> str:
        return f"{self.query!r} selects {'*' if self.names is None else ', '.join(self.names)}"


def attributes_of(query: Query) -> Names:
    """The attributes that a query of one stream selects, each once."""
    assert query.select is not None
    return tuple(dict.fromkeys(attribute.name for attribute in query.select))


def agreed(
    queries: Queries,
    call: Call,
    name: str,
    stacklevel: int = 2,
    columns_of: ColumnsOf = attributes_of,
) -> Names | None:
    """The columns that all queries which the call answers select; None for all of them.

    `columns_of` gives the columns of the result that one query with a list selects. Where the lists
    differ the caller of the function that calls this is warned.
    """
    first: Selected | None = None
    for found in _lists(queries, call, columns_of):
        if first is not None and found.names != first.names:
            message = (
                f"SELECT lists differ, so all attributes come out of {name}: {first!r}, {found!r};"
                " select columns from the result"
            )
            warnings.warn(message, SelectWarning, stacklevel=stacklevel + 1)
            return None
        first = found
    return None if first is None else first.names


def _lists(queries: Queries, call: Call, columns_of: ColumnsOf) -> Iterator[Selected]:
    for entry in queries.entries.values():
        query = entry.query
        if call.answers(tuple(source.stream for source in query.sources), query.emit):
            yield Selected(query.id, None if query.select is None else columns_of(query))
    for block in queries.blocks:
        if call.answers((block.stream,), block.emit):
            yield Selected(block.ids[0].as_py(), None)
