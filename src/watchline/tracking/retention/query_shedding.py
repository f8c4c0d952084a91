"""SHED QUERIES: a tracker makes queries smaller where there are too many objects, and larger again.

`shrinking` says how small queries are made in each step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Integers
from watchline.reasons import Reason
from watchline.rows import Columns
from watchline.tracking.answers import Answers
from watchline.tracking.memberships import Memberships
from watchline.tracking.retention.accuracy import Accuracy
from watchline.tracking.retention.bounds import RetentionBounds
from watchline.tracking.retention.object_shedding import ROOM
from watchline.tracking.retention.shrinking import (
    LAST_STEP,
    WHOLE,
    Patience,
    Shrinkage,
    shrunk_queries,
)


class QueryShedding:
    """The sizes of a tracker's queries. `hold` is told, after each change of sizes, how many
    queries hold each object, and lets go of objects that nobody looks at."""

    def __init__(
        self,
        answers: Answers,
        bounds: RetentionBounds,
        accuracy: Accuracy,
        hold: Callable[[Integers], None],
    ):
        self._answers, self._objects = answers, answers.objects
        self._queries, self._proximity = answers.queries, answers.proximity
        self._bounds, self._accuracy, self._hold = bounds, accuracy, hold
        self.patience = Patience()

    @property
    def _shrinkage(self) -> Shrinkage:
        return self._queries.shrinkage

    def shed(self) -> list[pa.Table]:
        """Smaller queries where there are too many objects, if that lets some go; larger ones again
        where there is room, a step in each batch."""
        before, changes = self._shrinkage, []
        n = len(self._objects)
        if n <= self._bounds.objects():
            self.patience = Patience()
            if before.step and n <= ROOM * self._bounds.objects():
                step = before.step - 1
                changes.append(self.resize(replace(before, step=step) if step else WHOLE))
        elif self.patience.left:
            self.patience = self.patience.waited()
        else:
            changes += self._shrink_to_fit()
        if self._shrinkage.step and (short := self._inaccurate()):
            locked = self._shrinkage.locked | short
            changes.append(self.resize(replace(self._shrinkage, locked=locked)))
            if self._shrinkage.step > before.step and len(self._objects) >= n:
                changes.append(self.resize(before))
                self.patience = self.patience.lost()
        return changes

    def _shrink_to_fit(self) -> list[pa.Table]:
        """The first step with which there are few enough objects. If there is none, the first with
        which there are as few as possible; and for some batches no other is tried."""
        changes = []
        while len(self._objects) > self._bounds.objects():
            step = self._paying_step()
            if step is None:
                self.patience = self.patience.lost()
                break
            changes.append(self.resize(replace(self._shrinkage, step=step)))
        return changes

    def _paying_step(self) -> int | None:
        """The first step with as few objects as the bound says, or as any step leaves; None if no
        step lets an object go."""
        shrinkage = self._shrinkage
        if shrinkage.is_last:
            return None
        least = self._left_by(LAST_STEP)
        if least >= len(self._objects):
            return None
        wanted, steps = max(least, self._bounds.objects()), range(shrinkage.step + 1, LAST_STEP)
        place = bisect_left(steps, True, key=lambda step: self._left_by(step) <= wanted)
        return shrinkage.step + 1 + place

    def _left_by(self, step: int) -> int:
        """How many objects some query would look at, or move with, at this step."""
        shrinkage = replace(self._shrinkage, step=step)
        queries = shrunk_queries(self._queries.shared, shrinkage)
        looked = self._answers.holders(self._objects.columns(), queries) > 0
        return int(np.count_nonzero(looked | self._proximity.would_look(shrinkage)))

    def _inaccurate(self) -> set[str]:
        """Queries that are less accurate than they demand."""
        least = self._queries.least_accuracies()
        if not least:
            return set()
        accuracies = self._accuracy.by_query()
        return {name for name in least if accuracies.get(name, 1.0) < least[name]}

    def resize(self, shrinkage: Shrinkage) -> pa.Table:
        """All queries have these sizes from now on: what leaves and enters their answers."""
        answers, columns = self._answers, self._objects.columns()
        old = self._members(columns)
        self._queries.resize(shrinkage)
        # The objects are the same until all know who looks at them.
        self._objects.set_held(answers.holders(columns))
        self._proximity.rebuild()
        new = self._members(columns)
        changes = answers.difference([old], [new], (Reason.SHED, Reason.SHED))
        self._hold(self._objects.held)
        return changes

    def _members(self, columns: Columns) -> Memberships:
        """Who is in the answers of queries that are no nearest neighbours, by slots."""
        members = self._answers.members(columns, ranked=False)
        return members._replace(rows=self._objects.own.places()[members.rows])
