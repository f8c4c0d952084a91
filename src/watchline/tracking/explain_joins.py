"""The plan of a join, for EXPLAIN: who meets whom, how partners are found, and who shares that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from watchline.catalog import Queries
from watchline.hooks import PlanLines
from watchline.model import Query
from watchline.tracking.explain import Scale, estimated
from watchline.tracking.sampling import are_few, sample_beside
from watchline.windowjoin import Half, halves, way_of

Key = tuple[object, ...]


def join_planner(queries: Queries) -> PlanLines:
    """Gives the lines of each join. All queries are looked at once if they are few."""
    if are_few(queries):
        shared = _shared(queries)
        return lambda query_id: _lines(queries[query_id], shared, Scale())
    return lambda query_id: _likely_lines(queries, query_id)


def _likely_lines(queries: Queries, query_id: str) -> list[str]:
    query = queries[query_id]
    sample = sample_beside(query, queries)
    shared = _shared(sample.queries)
    # The query shares its directions with itself, too.
    counts = Counter({key: sample.times * count for key, count in shared.items()})
    counts.update({_key(half) for half in _halves(query)})
    return [
        *_lines(query, counts, Scale(sample.times, exact=False)),
        estimated(sample.queries, queries),
    ]


def _shared(queries: Queries) -> Counter[Key]:
    """How many queries there are of each direction."""
    joins = (e.query for e in queries.entries.values() if e.query.is_join)
    return Counter(key for query in joins for key in {_key(half) for half in _halves(query)})


def _halves(query: Query) -> list[Half]:
    return halves(query) if len(query.sources) == 2 else []


def _lines(query: Query, shared: Counter[Key], scale: Scale) -> list[str]:
    parts = _halves(query)
    return _pairs(parts, query, shared, scale) if parts else [_chain(query)]


def _key(half: Half) -> Key:
    """Halves of one key are one direction, where their queries' lives allow it."""
    return (half.streams, half.positions, half.links, type(half.window))


def _pairs(parts: Iterable[Half], query: Query, shared: Counter[Key], scale: Scale) -> list[str]:
    lines = []
    for half in parts:
        who, partner = (query.sources[i].alias for i in half.positions)
        lines.append(
            f"  planned as  a row of {who} meets {partner} {half.window!r}: {way_of(half, partner)}"
        )
        others = scale.count(shared[_key(half)] - 1, "other query", "other queries")
        lines.append(f"  shared with {others}")
    return lines


def _chain(query: Query) -> str:
    n = len(query.sources)
    return f"  planned as  a chain of {n} streams, joined one by one from the row that comes last"
