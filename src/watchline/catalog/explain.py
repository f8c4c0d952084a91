"""`EXPLAIN QUERY`: how Watchline understands a query, in words and in normal form."""

from __future__ import annotations

from collections.abc import Mapping

from watchline.catalog.boxes import BoxBlock
from watchline.catalog.state import Entry
from watchline.model import TRUE, Emit, Query, Stream, interval_sql, shortened, timestamp_sql


def explain(found: Entry | tuple[BoxBlock, int], streams: Mapping[str, Stream]) -> list[str]:
    """A few lines about a registered query."""
    if isinstance(found, Entry):
        query, version, text = found.query, found.version, found.text
    else:
        block, i = found
        query, version, text = block.query(i), block.version, ""
    lines = [f"query {query.id}", f"  registered  at version {version}"]
    if text:
        lines.append(f"  as typed    {shortened(' '.join(text.split()))}")
    else:
        lines.append("  as typed    one box of a bulk registration")
    lines.append(f"  reads       {', '.join(_source(query, streams))}")
    lines += _condition(query)
    if query.region:
        lines.append(f"  where       {query.region!r}")
    if query.knn:
        lines.append(f"  nearest     {query.knn!r}")
    if query.focals:
        focals = ", ".join(repr(f) for f in sorted(query.focals, key=repr))
        lines.append(f"  moves with  object {focals}, which is never in its answer")
    lines.append(f"  emits       {_emits(query)}")
    if query.accuracy:
        lines.append(f"  accuracy    at least {query.accuracy:g} when load is shed")
    if query.lifetime is not None:
        lines.append(f"  lives       {interval_sql(query.lifetime)} of stream time")
    if query.until is not None:
        moment = str(timestamp_sql(query.until)).removeprefix("TIMESTAMP ")
        lines.append(
            f"  until       {moment} UTC of stream time; rows of then and later do nothing"
        )
    return lines


def _source(query: Query, streams: Mapping[str, Stream]) -> list[str]:
    read = {s.alias: s for s in query.sources}
    used = [f"{a!r} {a.type.value}" for a in query.attributes()]
    if query.region or query.knn:
        point = streams[query.stream].point or ()
        used += [f"{name} DOUBLE" for name in point if f"{name} DOUBLE" not in used]
    return [f"{', '.join(repr(s) for s in read.values())} ({', '.join(used) or 'no attribute'})"]


def _condition(query: Query) -> list[str]:
    if query.where == (TRUE,):
        return ["  condition   none: every row"]
    if len(query.where) == 1:
        return [f"  condition   {query.where[0]!r}"]
    head = f"  condition   one of {len(query.where)} alternatives:"
    shown = [f"              {c!r}" for c in query.where[:20]]
    more = len(query.where) - len(shown)
    return [head, *shown, *([f"              … and {more} more"] if more else [])]


def _emits(query: Query) -> str:
    if query.is_join:
        return "each matching pair once"
    if query.emit is Emit.MATCHES:
        return "matches: every row that satisfies it"
    return "changes: + when an object enters its answer, - when it leaves"
