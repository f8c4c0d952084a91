"""Which objects are in which answers of a tracker, and the changes between two sets of answers.

The latest rows decide all answers, so nothing is kept here but what a tracker has anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Integers, Mask, Small
from watchline.matching import is_among
from watchline.model import SPEED
from watchline.proximity import RETURN
from watchline.reasons import ENTERED, LEFT, Reason
from watchline.rows import Columns, change_table
from watchline.tracking.distances import chosen_distances, distances_of, joined_distances
from watchline.tracking.lives import terms_of
from watchline.tracking.memberships import Memberships, all_memberships
from watchline.tracking.objects import Objects, RowSource
from watchline.tracking.plan import ChangePlan
from watchline.tracking.proximity import ProximityQueries
from watchline.tracking.queries import ChangeQueries, QueryTransitions
from watchline.tracking.ranges import Moves
from watchline.tracking.retention.shrinking import shrunk
from watchline.tracking.tracked_queries import TrackedQueries


class Attention(NamedTuple):
    """Three counts for each of some objects. `looks`: the queries that look at the object, of any
    kind. `steady`: those of them that are not kNN queries. `answers`: those of the steady ones that
    have the object in their answer, or would have it if the tracker kept the object."""

    looks: Integers
    steady: Integers
    answers: Integers


class Exchange(NamedTuple):
    """Objects that go, or come back, one after the other: by a kind of event, their rows, their
    seats in the operator, and which are strangers, of whom no answer knew."""

    kind: int
    rows: pa.Table
    seats: Small
    strange: Mask
    # The SPEED of rows, where it is known.
    speeds: pa.Array | None = None


class Answers:
    """The answers of a tracker, computed from its objects and queries."""

    def __init__(self, objects: Objects, queries: TrackedQueries, proximity: ProximityQueries):
        self.objects, self.queries, self.proximity = objects, queries, proximity

    # --- members

    def members(self, columns: Columns, ranked: bool = True) -> Memberships:
        """Who of all objects is in the answers of queries, by places; with the answers of nearest
        neighbours or without."""
        entered = self.entered(columns)
        if not self.proximity:
            return Memberships(entered.moves, entered.ids, entered.distances)
        found = self.proximity.looking(columns, self.proximity.seats)
        inside = found.inside
        if not ranked:
            inside &= ~self.proximity.is_ranked(found.ids)
        rows = found.rows[inside]
        steady, moving = (entered.distances, len(entered.moves)), found.distances[inside]
        return Memberships(
            np.concatenate([entered.moves, rows]),
            pa.concat_arrays([entered.ids, found.ids.filter(pa.array(inside))]),
            joined_distances([steady, (moving, len(rows))]),
        )

    def members_of(self, part: ChangePlan) -> Memberships:
        """Who of all objects is in the answers of these queries that a row alone decides, by slots;
        but for queries whose life is over."""
        made, births = part.plan, self.queries.lives.births
        if not len(made):
            return Memberships(np.empty(0, np.int64), pa.array([], pa.string()), None)
        rows, queries = self.objects.own.members(shrunk(part, self.queries.shrinkage))
        ids = made.ids.take(pa.array(queries))
        if made.mortal[queries].any():
            over = pa.array([name for name in terms_of(made) if name not in births], pa.string())
            kept = ~is_among(ids, over)
            rows, queries, ids = rows[kept], queries[kept], ids.filter(pa.array(kept))
        distances = None
        if len(made.centres):
            columns, every = self.objects.own.columns_at(rows), np.arange(len(rows))
            distances = distances_of(columns, self.objects.stream, every, made, queries)
        return Memberships(rows, ids, distances)

    def entered(self, columns: Columns, queries: ChangeQueries | None = None) -> QueryTransitions:
        """The queries that a row alone decides which rows enter that come from nowhere; in their
        sizes, or as these queries are."""
        rows = np.arange(len(columns))
        moves = Moves(np.full(len(rows), -1), rows)
        return self._alive((queries or self.queries.in_sizes()).transitions(columns, moves))

    def _alive(self, transitions: QueryTransitions) -> QueryTransitions:
        """Without those of queries whose life is over."""
        if not transitions.mortal.any():
            return transitions
        over = pa.array(self.queries.lives.ended(), pa.string())
        return transitions.chosen(~is_among(transitions.ids, over))

    def holders(self, columns: Columns, queries: ChangeQueries | None = None) -> Integers:
        """How many queries that a row alone decides hold each of these rows."""
        return np.bincount(self.entered(columns, queries).moves, minlength=len(columns))

    # --- attention

    def looks(self) -> Integers:
        """How many queries look at each object."""
        held = self.objects.held
        return held + self.proximity.looks() if self.proximity else held

    def attention(self, columns: Columns) -> Attention:
        """Who looks at these objects, which are not here, or would with its whole region."""
        held = self.holders(columns, self.queries.shared)
        if not self.proximity:
            return Attention(held, held, held)
        n = len(held)
        rows, ids, inside, _ = self.proximity.looking(columns, None, whole=True)
        ranges = ~self.proximity.is_ranked(ids)
        looks, steady, answers = (
            held + np.bincount(rows[chosen], minlength=n)
            for chosen in (slice(None), ranges, ranges & inside)
        )
        return Attention(looks, steady, answers)

    def looking(
        self, columns: Columns, seats: Small | None, names: pa.Array
    ) -> tuple[Integers, Integers, Mask]:
        """Rows, the places in `names` of queries that look at them, and whether they are in the
        answers or would be."""
        rows, ids = self.queries.in_sizes().holding(columns, names.to_pylist())
        inside = np.ones(len(rows), np.bool_)
        if self.proximity:
            more, who, within, _ = self.proximity.looking(columns, seats)
            rows = np.concatenate([rows, more])
            ids = pa.concat_arrays([ids, who])
            inside = np.concatenate([inside, within])
        places = pc.index_in(ids, value_set=names)
        wanted = places.is_valid().to_numpy(zero_copy_only=False)
        return rows[wanted], places.drop_null().to_numpy().astype(np.int64), inside[wanted]

    # --- changes

    def exchange(self, exchange: Exchange) -> pa.Table:
        """The changes when objects go, or come back, one after the other."""
        kind, rows, seats, strange, speeds = exchange
        stream, n = self.objects.stream, rows.num_rows
        places, nowhere = np.arange(n), np.full(n, -1)
        moves = Moves(nowhere, places) if kind == RETURN else Moves(places, nowhere)
        columns = Columns(rows, stream)
        if speeds is not None:
            columns.derive(SPEED, speeds)
        crossed = self._alive(self.queries.in_sizes().transitions(columns, moves))
        event, ids, signs, row = crossed.moves, crossed.ids, crossed.signs, crossed.moves
        distances = crossed.distances
        held = np.bincount(event, signs, n).astype(np.int64)
        nearby = self.proximity.exchange(kind, rows, seats, held)
        if nearby is not None:
            rows, more = RowSource(self.objects, rows).with_rows(nearby.row)
            event = np.concatenate([event, nearby.event])
            ids = pa.concat_arrays([ids, nearby.ids])
            signs = np.concatenate([signs, nearby.sign])
            distances = joined_distances([(distances, len(row)), (nearby.distances, len(more))])
            row = np.concatenate([row, more])
        order = np.lexsort((signs, event))
        entered = np.where(strange[event], Reason.ENTER, ENTERED[kind])
        reasons = np.where(signs > 0, entered, LEFT[kind])
        times = np.full(len(order), self.objects.newest or 0)
        ids = ids.take(pa.array(order))
        distances = chosen_distances(distances, order)
        return change_table(
            stream, rows, row[order], ids, signs[order], times, reasons[order], distances
        )

    def difference(
        self,
        old: Sequence[Memberships],
        new: Sequence[Memberships],
        why: tuple[Reason, Reason] = (Reason.DROPPED, Reason.REGISTERED),
    ) -> pa.Table:
        """The changes between two sets of answers, whose rows are slots; a query that was replaced
        changes by it alone. `why` it leaves and enters."""
        (old_rows, old_ids, was), (new_rows, new_ids, now) = map(all_memberships, (old, new))
        coded = pa.concat_arrays([old_ids, new_ids]).dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int64)
        count = max(len(coded.dictionary), 1)
        keys_old = old_rows * count + codes[: len(old_rows)]
        keys_new = new_rows * count + codes[len(old_rows) :]
        left = np.flatnonzero(np.isin(keys_old, keys_new, assume_unique=True, invert=True))
        entered = np.flatnonzero(np.isin(keys_new, keys_old, assume_unique=True, invert=True))
        keys = np.concatenate([keys_old[left], keys_new[entered]])
        distances = joined_distances(
            [
                (chosen_distances(was, left), len(left)),
                (chosen_distances(now, entered), len(entered)),
            ]
        )
        signs = np.repeat(np.array([-1, 1], np.int8), [len(left), len(entered)])
        reasons = np.repeat(why, [len(left), len(entered)])
        times = np.full(len(keys), self.objects.newest or 0)
        ids = coded.dictionary.take(pa.array(keys % count))
        rows, places = self.objects.own.take(keys // count), np.arange(len(keys))
        stream = self.objects.stream
        return change_table(stream, rows, places, ids, signs, times, reasons, distances)
