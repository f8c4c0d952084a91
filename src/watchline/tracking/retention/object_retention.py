"""Which objects a tracker keeps, and how it stays within its bound.

A tracker of a stream without RETAIN keeps all objects. One of RETAIN SIGNIFICANT keeps those that
some query looks at; under a bound it gives up objects, or makes queries smaller.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Integers
from watchline.model import Shed
from watchline.tracking.answers import Answers
from watchline.tracking.retention.accuracy import Accuracy
from watchline.tracking.retention.bounds import RetentionBounds
from watchline.tracking.retention.given_up import GivenUpObjects
from watchline.tracking.retention.object_shedding import ObjectShedding
from watchline.tracking.retention.query_shedding import QueryShedding
from watchline.tracking.retention.shrinking import WHOLE, Patience, Shrinkage


class Relief(NamedTuple):
    """What shedding changes after a batch, and the new objects of the batch that it refuses."""

    changes: list[pa.Table]
    refused: pa.Array


class ObjectRetention:
    """The objects that a tracker gave up, the sizes of its queries, and its bounds."""

    def __init__(self, answers: Answers, counts: Counter[str]):
        self._answers, self._objects, self._counts = answers, answers.objects, counts
        self._queries, self._proximity = answers.queries, answers.proximity
        self.given_up = GivenUpObjects(answers, counts)
        self.bounds = RetentionBounds(answers, self.given_up)
        self.accuracy = Accuracy(answers, self.given_up)
        self.object_shedding = ObjectShedding(answers, self.given_up, self.bounds)
        self.query_shedding = QueryShedding(answers, self.bounds, self.accuracy, self.hold)

    def clear(self) -> None:
        """The stream is declared anew: there are no objects, and nothing was given up."""
        self.given_up.clear()
        self.accuracy.invalidate()
        self._queries.resize(WHOLE)
        self.object_shedding.threshold = 1
        self.query_shedding.patience = Patience()

    # --- a batch

    @property
    def is_idle(self) -> bool:
        """Whether all objects are kept, and nothing is left of a time in which they were not."""
        return (
            self._objects.stream.retention is None
            and not self.given_up.shadows
            and self._queries.shrinkage == WHOLE
        )

    def set_aside(self, batch: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The batch as the tracker processes it, and reports of objects that it has given up."""
        clauses = self._objects.stream.retention
        if clauses is None or clauses.sheds is not Shed.OBJECTS or not self.given_up.shadows:
            return batch, batch.slice(0, 0)
        return self.given_up.set_aside(batch, self.object_shedding.is_load_high)

    def hear(self, reports: pa.Table, before: int | None) -> int:
        """Objects that were given up report; the newest time was `before`. How many rows were
        late."""
        self.accuracy.invalidate()
        return self.given_up.hear(reports, before)

    def let_go(self, gone: pa.Table) -> None:
        """A batch let these objects go: where queries are smaller they leave shadows."""
        if self._queries.are_shrunk:
            self.given_up.let_go(gone)
            self.accuracy.invalidate()

    def relieve(self, came: pa.Array) -> Relief:
        """After a batch: give up objects where there are too many, take back what queries with a
        least accuracy need, and others where there is room. `came` were not known before the
        batch."""
        clauses = self._objects.stream.retention
        changes: list[pa.Table] = []
        refused = came[:0]
        sheds = None if clauses is None else clauses.sheds
        if sheds is not Shed.QUERIES and self._queries.shrinkage != WHOLE:
            changes.append(self.query_shedding.resize(WHOLE))
        if sheds is None:
            return Relief(changes, refused)
        if sheds is Shed.QUERIES:
            self.object_shedding.threshold = 1
            changes += self.query_shedding.shed()
            changes += self.object_shedding.recall()
        else:
            more, refused = self.object_shedding.shed(came)
            changes += more
        self._forget_shadows()
        self._counts["over_limit"] += self.bounds.are_exceeded
        self.accuracy.invalidate()
        return Relief(changes, refused)

    def _forget_shadows(self) -> None:
        """Keep the bound on shadows."""
        if self.given_up.shadows.total <= self.bounds.shadows():
            return
        self.look_again()
        most = self.bounds.shadows()
        if self.given_up.shadows.total > most and self.given_up.forget(most):
            self.accuracy.invalidate()

    def without_refused(self, changes: pa.Table, relief: Relief) -> pa.Table:
        """All changes of a batch. Of objects that it refuses nobody is told: none of them was in an
        answer before, and none is now."""
        processed = changes.num_rows
        changes = pa.concat_tables([changes, *relief.changes])
        if not len(relief.refused):
            return changes
        refused = pc.is_in(changes["object_id"], value_set=relief.refused)
        mine = refused.to_numpy()[:processed]
        queries = changes["query_id"].slice(0, processed).combine_chunks()
        ranked = self._proximity.is_ranked(queries)
        self.given_up.spared += int(np.count_nonzero(mine & ~ranked))
        return changes.filter(pc.invert(refused))

    # --- a version

    def hold(self, held: Integers) -> None:
        """So many queries that a row alone decides hold each object: let go of the others."""
        if self._objects.stream.retention is None or not self._objects.is_held_known:
            return
        kept = self._proximity.hold(held)
        gone = self._objects.rows.filter(pa.array(~kept))
        self._objects.set_held(held)
        self._objects.keep(kept)
        self.accuracy.invalidate()
        self.let_go(gone)

    def look_again(self) -> None:
        """Queries have changed: count anew who looks at shadows."""
        if self.given_up.shadows:
            self.given_up.look_again()
            self.accuracy.invalidate()

    # --- state

    @property
    def has_given_up(self) -> bool:
        """Whether something is left of a time in which objects were given up, or queries smaller:
        then only a whole state has it."""
        given_up = self.given_up
        lost = given_up.shadows or given_up.forgotten.objects or given_up.spared
        return bool(lost) or self._queries.shrinkage != WHOLE

    def head(self) -> dict[str, Any]:
        """What the head of a state has of it."""
        return self.packed()[0]

    def packed(self) -> tuple[dict[str, Any], list[pa.Table]]:
        """What a state has of it: keys of its head, and tables."""
        shrinkage, patience = self._queries.shrinkage, self.query_shedding.patience
        head = {
            "threshold": self.object_shedding.threshold,
            "sizes": (shrinkage.step, sorted(shrinkage.locked)),
            "spared": self.given_up.spared,
            "forgotten": self.given_up.forgotten.state(),
            "patience": (patience.wait, patience.left),
        }
        return head, self.given_up.shadows.packed()

    def take_over(self, head: dict[str, Any], tables: list[pa.Table]) -> None:
        """From a state."""
        self.given_up.take_over(head, tables)
        self.object_shedding.threshold = head["threshold"]
        step, locked = head["sizes"]
        self._queries.resize(Shrinkage(step, frozenset(locked)))
        # A state of before it was kept does not have it.
        self.query_shedding.patience = Patience(*head.get("patience", ()))
