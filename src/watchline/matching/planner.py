"""Planning: which queries go to which index, and what remains for refinement (`plan`).

Planning is pure: it reads queries and makes arrays; no index is built here. It takes about half a
millisecond for a query that is registered as SQL, and a few operations on columns for a block.
"""

from __future__ import annotations

from collections.abc import Iterable

from watchline.catalog import Call, Queries, all_ids, unanswered
from watchline.matching.alternatives import key_of
from watchline.matching.draft import PlanDraft, Undecided
from watchline.matching.plan import (
    Plan,
)
from watchline.model import (
    Emit,
    InRange,
    OneOf,
    Query,
    Stream,
)


def plan(queries: Queries, stream: Stream, emit: Emit = Emit.MATCHES) -> Plan:
    """The plan for the queries over the stream alone that emit this."""
    return plan_and_rest(queries, stream, emit)[0]


def plan_and_rest(queries: Queries, stream: Stream, emit: Emit) -> tuple[Plan, Undecided]:
    """The plan for the queries over the stream alone that emit this, and those of them that have no
    boxes in it. For changes, boxes that are all of their query stand in parts of their own."""
    draft = PlanDraft(stream, apart=emit is Emit.CHANGES)
    draft.add_all(queries, emit)
    missed = unanswered(queries, Call.of(emit, stream.name))
    return draft.finish(queries.version, all_ids(missed.values())), draft.undecided


def likely_plan(
    sample: Queries, times: int, queries: Queries, stream: Stream, emit: Emit
) -> tuple[Plan, Undecided]:
    """The plan for `queries` and others, of which a sample is known: each of the sample's boxes
    stands for `times` boxes of its size nearby. Queries without boxes stand for themselves."""
    draft = PlanDraft(stream, apart=emit is Emit.CHANGES)
    draft.add_all(sample, emit)
    draft.multiply(times)
    draft.add_all(queries, emit)
    return draft.finish(queries.version, all_ids(())), draft.undecided


def plan_all(queries: Iterable[Query], stream: Stream) -> Plan:
    """The plan for these queries, whatever they emit."""
    draft = PlanDraft(stream, apart=False)
    for query in queries:
        draft.add(query, 0)
    return draft.finish(0, all_ids([]))


def keys_of(query: Query, stream: Stream) -> list[InRange | OneOf | None]:
    """For each alternative of a query the equality that selects a sub-index, if there is one."""
    return [key_of(alternative, stream) for alternative in query.where]
