"""The queries of a tracker that move with an object or rank by distance.

They are decided by one operator over all objects (`row_operator`), which is built when there is
such a query, and built again from the objects where what it knows may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Integers, Mask, Small
from watchline.matching import is_among
from watchline.proximity import Events
from watchline.rows import Columns
from watchline.tracking.distances import points_of
from watchline.tracking.memberships import Lookers, Memberships, ProximityChanges
from watchline.tracking.objects import WORKING, Objects, RowSource
from watchline.tracking.plan import ChangePlan
from watchline.tracking.queries import Step
from watchline.tracking.retention.shrinking import Shrinkage
from watchline.tracking.row_operator import RowOperator
from watchline.tracking.timeline.format import Timeline
from watchline.tracking.timeline.sent import SentTimelines
from watchline.tracking.tracked_queries import TrackedQueries

# The bytes of an object where there is no operator: by how many queries it is held.
HELD_BYTES = 4


class ProximityQueries:
    """The operator of a tracker, if there is one; without an operator no query looks at an object.
    `sent` is what this part of a stream has sent to the merge of all parts."""

    def __init__(self, objects: Objects, queries: TrackedQueries, sent: SentTimelines):
        self._objects, self._queries, self._sent = objects, queries, sent
        self._operator: RowOperator | None = None

    def __bool__(self) -> bool:
        return self._operator is not None

    def operator(self) -> RowOperator | None:
        """The operator, built if there is a query for it."""
        has_points = self._objects.stream.point is not None
        if self._operator is None and has_points and self._queries.have_moving():
            self._operator = self._built(self._queries.shrinkage)
        return self._operator

    def _built(self, shrinkage: Shrinkage) -> RowOperator:
        queries, waiting = self._queries.moving(), self._queries.lives.waiting
        return RowOperator.over(self._objects, self._sent, queries, waiting, shrinkage)

    @property
    def is_alone(self) -> bool:
        """Whether there are no other parts, so that the k nearest here are those of all."""
        return self._sent.parts == 1

    def discard(self) -> None:
        """The operator may know what is wrong: it is built again when it is needed."""
        self._operator = None

    def rebuild(self) -> None:
        """Build the operator again, for queries of other sizes; the timeline goes on."""
        before, self._operator = self._operator, None
        after = self.operator()
        if after is not None and before is not None:
            after.continue_timeline(before)

    def note_waiting(self) -> None:
        """After a batch or a version: the tracker knows which queries wait."""
        if self._operator is not None:
            self._queries.lives.wait(self._operator.changed_waits())

    # --- versions

    def step(self, step: Step) -> tuple[list[Memberships], list[Memberships]]:
        """Drop and register queries as a version does: who was in their answers, and who is now.

        The lives of the new queries have begun; of a stream that is declared anew there are none
        yet.
        """
        came = step.came.moving
        if self._operator is None and len(came) and not step.reset:
            shrinkage = self._queries.shrinkage
            self._operator = RowOperator.over(self._objects, self._sent, [], {}, shrinkage)
        if self._operator is None:
            return [], []
        fresh = came.take(np.arange(0)) if step.reset else self._queries.lives.alive(came)
        left, entered = self._operator.step(
            step.version, step.dropped, fresh, self._objects, step.gone
        )
        self.note_waiting()
        return [left], [entered]

    def divert(
        self, old: Sequence[Memberships], new: Sequence[Memberships], came: ChangePlan | None
    ) -> tuple[list[Memberships], list[Memberships], int]:
        """The answers of the last step without those that go to the timeline, and how many more of
        these came than went; `came` are the queries that the step registers, None if it resets the
        stream."""
        if self._operator is None:
            return list(old), list(new), 0
        return self._operator.divert(old, new, came)

    def timeline(self) -> Timeline | None:
        """What nearest neighbours did since this was last asked, if there are several parts."""
        return None if self._operator is None else self._operator.timeline()

    # --- who looks at whom

    def looking(self, columns: Columns, seats: Small | None, whole: bool = False) -> Lookers:
        """The queries that look at rows; `whole`: and in whose answers rows are with the whole
        region of a query. Without seats, of objects that are not here: as if they were."""
        if self._operator is None:
            none = np.empty(0, np.int64), pa.array([], pa.string()), np.empty(0, np.bool_)
            return Lookers(*none, np.empty(0))
        return self._operator.looking(columns, seats, whole)

    def names(self) -> Iterable[str]:
        """The ids of all these queries."""
        return () if self._operator is None else self._operator.names()

    def ranked(self) -> dict[str, int]:
        """The nearest-neighbour queries, and how many neighbours they ask for."""
        return {} if self._operator is None else self._operator.ranked()

    def is_ranked(self, ids: pa.Array) -> Mask:
        """Which of these queries are nearest-neighbour queries."""
        return is_among(ids, pa.array(sorted(self.ranked()), pa.string()))

    def looks(self) -> Integers:
        """How many of these queries look at each object."""
        n = len(self._objects)
        return np.zeros(n, np.int64) if self._operator is None else self._operator.refs(self.seats)

    def is_followed(self) -> Mask:
        """Which objects some query moves with."""
        if self._operator is None:
            return np.zeros(len(self._objects), np.bool_)
        return self._operator.is_followed(self.seats)

    def would_look(self, shrinkage: Shrinkage) -> Mask:
        """Which objects some query would look at, or move with, if queries had these sizes."""
        if self._operator is None:
            return np.zeros(len(self._objects), np.bool_)
        other = self._built(shrinkage)
        seats = other.seats[self._objects.own.places()]
        looked: Mask = (other.refs(seats) > 0) | other.is_followed(seats)
        return looked

    # --- objects that come and go outside of batches

    @property
    def seats(self) -> Small:
        """The seats of all objects, by their places."""
        if self._operator is None:
            return np.empty(0, np.int32)
        return self._operator.seats[self._objects.own.places()]

    def seats_at(self, places: Integers) -> Small:
        """The seats of the objects at these places."""
        return self.seats if self._operator is None else self.seats[places]

    def enrol(self, rows: pa.Table) -> Small:
        """The seats of objects that come back."""
        if self._operator is None:
            return np.empty(0, np.int32)
        return self._operator.enrol(rows[self._objects.stream.object].combine_chunks(), True)

    def exchange(
        self, kind: int, rows: pa.Table, seats: Small, held: Integers
    ) -> ProximityChanges | None:
        """What answers do when the objects of these rows come or go, one after the other; `held` is
        by how many more queries each is held elsewhere."""
        operator, n = self._operator, rows.num_rows
        if operator is None:
            return None
        stream, now = self._objects.stream, self._objects.newest or 0
        mine = Columns(rows, stream)
        events = Events(
            np.full(n, kind, np.int8),
            np.full(n, now),
            seats.astype(np.int64),
            points_of(mine, stream),
            WORKING + np.arange(n),
            *operator.filter_columns(mine),
            held,
        )
        return operator.run(events, RowSource(self._objects, rows), now)

    def add(self, slots: Integers, seats: Small) -> None:
        """Objects that came back have these slots and seats."""
        if self._operator is not None:
            nobody = np.empty(0, np.int64), np.empty(0, np.int32)
            self._operator.settle((slots, seats), nobody, seats[:0])

    def keep(self, kept: Mask) -> Mask:
        """Keep these objects, unless the operator let them go meanwhile: which are kept."""
        return kept if self._operator is None else self._operator.keep(self.seats, kept)

    def hold(self, held: Integers) -> Mask:
        """After a version: so many queries elsewhere hold each object. Which objects are kept."""
        return held > 0 if self._operator is None else self._operator.hold(self.seats, held)

    # --- sizes

    @property
    def entry_bytes(self) -> int:
        """The bytes of an object beside its row."""
        return HELD_BYTES if self._operator is None else self._operator.entry_bytes

    @property
    def query_bytes(self) -> int:
        """The bytes of these queries and their lists of cells."""
        return 0 if self._operator is None else self._operator.query_bytes
