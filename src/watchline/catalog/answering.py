"""Which queries of a catalog a call answers, and what its user is told about the others.

A call (`wl.matches`, `wl.changes`, `wl.joins`, a Matcher, a Tracker, a Joiner) names streams and
emits one kind of result. A query concerns the call if it reads one of these streams; every join
concerns `wl.joins`. A query that concerns the call and is not answered by it is *unanswered*: a
warning names it when the call is made, and `unanswered` counts it from then on. Queries that read
other streams alone belong to other calls.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.catalog.state import Queries
from watchline.errors import UnansweredWarning
from watchline.model import Emit

# Queries that a warning names for each reason; the others are counted.
NAMED = 5
_OTHER_CALL = {
    Emit.CHANGES: 'EMIT CHANGES: use wl.changes or wl.Tracker, or emit = "changes" in a job',
    Emit.MATCHES: 'EMIT MATCHES: use wl.matches or wl.Matcher, or emit = "matches" in a job',
}


@dataclass(frozen=True)
class Call:
    """What a call answers: queries of its stream that emit this or, where `emit` is None, joins.

    `streams` says how often the result has columns for each stream.
    """

    emit: Emit | None
    streams: Mapping[str, int]

    @staticmethod
    def of(emit: Emit, stream: str) -> Call:
        return Call(emit, {stream: 1})

    def answers(self, sources: tuple[str, ...], emit: Emit) -> bool:
        """Whether the call answers a query with these streams in FROM."""
        if self.emit is None:
            return len(sources) > 1 and not Counter(sources) - Counter(self.streams)
        return len(sources) == 1 and sources[0] in self.streams and emit is self.emit

    def problem(self, sources: tuple[str, ...], emit: Emit) -> str | None:
        """Why the call does not answer such a query, and the remedy; None where it does, and where
        the query does not concern it."""
        if self.answers(sources, emit):
            return None
        known = [name for name in sources if name in self.streams]
        if len(sources) == 1:
            return self._other_call(emit) if known else None
        if self.emit is not None:
            return 'joins: use wl.joins or wl.Joiner, or emit = "joins" in a job' if known else None
        if missing := sorted(set(sources) - set(self.streams)):
            return f"no stream {', '.join(map(repr, missing))} is given: add it to the call"
        times = {name: n for name, n in Counter(sources).items() if n > self.streams[name]}
        return f"no columns for a stream this often in FROM: start again with times = {times}"

    def _other_call(self, emit: Emit) -> str:
        if self.emit is Emit.CHANGES:
            return f"{_OTHER_CALL[emit]}, or register them with EMIT CHANGES"
        return _OTHER_CALL[emit]


def unanswered(queries: Queries, call: Call) -> dict[str, pa.Array]:
    """The ids of the unanswered queries, by the problem."""
    found: dict[str, list[str]] = {}
    for query_id, entry in queries.entries.items():
        sources = tuple(source.stream for source in entry.query.sources)
        if problem := call.problem(sources, entry.query.emit):
            found.setdefault(problem, []).append(query_id)
    ids = {problem: [pa.array(listed, pa.string())] for problem, listed in found.items()}
    for block in queries.blocks:
        if problem := call.problem((block.stream,), block.emit):
            ids.setdefault(problem, []).append(block.ids)
    return {problem: pa.concat_arrays(parts) for problem, parts in ids.items()}


def all_ids(parts: Iterable[pa.Array]) -> pa.Array:
    """The ids of all parts, in one array."""
    return pa.concat_arrays([pa.array([], pa.string()), *parts])


class Unanswered:
    """The unanswered queries of a call, followed from version to version.

    A step costs one pass over their ids if it drops queries; the count costs nothing.
    """

    def __init__(self, ids: pa.Array):
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def step(self, dropped: Iterable[str], added: pa.Array) -> None:
        """Follow a commit; a query that it replaces is dropped and added."""
        gone = pa.array(sorted(dropped), pa.string())
        if len(self._ids) and len(gone):
            kept = ~pc.is_in(self._ids, gone).to_numpy(zero_copy_only=False)
            self._ids = self._ids.filter(pa.array(np.asarray(kept, np.bool_)))
        if len(added):
            self._ids = pa.concat_arrays([self._ids, added])


def warn_unanswered(queries: Queries, call: Call, name: str, stacklevel: int = 2) -> int:
    """Warn the caller of the function that calls this; gives the number of unanswered queries."""
    found = unanswered(queries, call)
    count = sum(map(len, found.values()))
    if count:
        told = "; ".join(f"{named(ids)} ({problem})" for problem, ids in found.items())
        queries_are = "1 query is" if count == 1 else f"{count:,} queries are"
        message = f"{queries_are} not answered by {name}: {told}"
        warnings.warn(message, UnansweredWarning, stacklevel=stacklevel + 1)
    return count


def named(ids: pa.Array) -> str:
    """The first ids, and how many more there are."""
    names = ", ".join(map(repr, ids.slice(0, NAMED).to_pylist()))
    return names if len(ids) <= NAMED else f"{names} and {len(ids) - NAMED:,} more"
