"""A sample of the queries of a version, for EXPLAIN.

To decode and plan a query takes about half a millisecond: of 50,000 queries, that is far longer
than anybody waits for an explanation. So EXPLAIN looks at all queries only where they are few, and
else at some of them, drawn at random but always the same ones. The cost is one pass over the texts
of the definitions, and `MOST` queries to decode.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from watchline.catalog import Entry, Queries, definition_of
from watchline.matching import is_static, keys_of
from watchline.model import OneOf, Query, Stream

# Queries registered as SQL that are decoded for one EXPLAIN.
MOST = 512


@dataclass(frozen=True)
class Sample:
    """Queries, each of which stands for `times` queries."""

    queries: Queries
    times: int


def are_few(queries: Queries) -> bool:
    """Whether all queries can be looked at."""
    return len(queries.entries) <= MOST


def sample_beside(query: Query, queries: Queries, stream: Stream | None = None) -> Sample:
    """A sample of the other queries that the same rows are compared with; `stream` is None for a
    join."""
    entries = [entry for entry in queries.entries.values() if entry.id != query.id]
    if stream is not None and is_static(query):
        entries = _below_the_same_keys(query, entries, stream)
    times = max(1, math.ceil(len(entries) / MOST))
    chosen = random.Random(len(entries)).sample(entries, len(entries) // times)
    return Sample(Queries(queries.version, {e.id: e for e in chosen}, ()), times)


def _below_the_same_keys(query: Query, entries: list[Entry], stream: Stream) -> list[Entry]:
    """Where equality selects a sub-index, the queries whose text has one of the same values."""
    texts: list[str] = []
    for key in keys_of(query, stream):
        if key is None:
            return entries
        texts += map(definition_of, key.values if isinstance(key, OneOf) else [key])
    return [entry for entry in entries if any(text in entry.definition for text in texts)]
