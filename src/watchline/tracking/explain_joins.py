"""The plan of a join, for EXPLAIN: who meets whom, how partners are found, and who shares that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from watchline.catalog import Queries
from watchline.hooks import PlanLines
from watchline.model import Query
from watchline.windowjoin import Half, halves, way_of

Key = tuple[object, ...]


def join_planner(queries: Queries) -> PlanLines:
    """Plans once; what comes back tells of each join."""
    joins = {e.id: e.query for e in queries.entries.values() if e.query.is_join}
    parts = {i: halves(query) for i, query in joins.items() if len(query.sources) == 2}
    shared = Counter(key for of in parts.values() for key in {_key(half) for half in of})
    return lambda query_id: (
        _pairs(parts[query_id], joins[query_id], shared)
        if query_id in parts
        else [_chain(joins[query_id])]
    )


def _key(half: Half) -> Key:
    """Halves of one key are one direction, where their queries' lives allow it."""
    return (half.streams, half.positions, half.links, type(half.window))


def _pairs(parts: Iterable[Half], query: Query, shared: Counter[Key]) -> list[str]:
    lines = []
    for half in parts:
        who, partner = (query.sources[i].alias for i in half.positions)
        lines.append(
            f"  planned as  a row of {who} meets {partner} {half.window!r}: {way_of(half, partner)}"
        )
        others = shared[_key(half)] - 1
        with_ = "no other query" if not others else f"{others:,} other quer{_plural(others)}"
        lines.append(f"  shared with {with_}")
    return lines


def _plural(count: int) -> str:
    return "y" if count == 1 else "ies"


def _chain(query: Query) -> str:
    n = len(query.sources)
    return f"  planned as  a chain of {n} streams, joined one by one from the row that comes last"
