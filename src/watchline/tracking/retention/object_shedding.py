"""SHED OBJECTS: a tracker gives up objects where there are too many, and takes them back.

`shedding` says which objects are given up, and `given_up` has what is left of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Integers, Mask, Small
from watchline.proximity import RETURN, SHED
from watchline.rows import Columns
from watchline.tracking.answers import Answers, Exchange
from watchline.tracking.retention.bounds import RetentionBounds
from watchline.tracking.retention.given_up import GivenUpObjects
from watchline.tracking.retention.shedding import (
    Guards,
    NewShadows,
    Prices,
    objects_to_give_up,
    objects_to_take_back,
    pairs_by_object,
    threshold_of,
)

# Load is high until objects are less than this part of the bound: until then the threshold stays,
# and queries do not grow.
ROOM = 0.75


class ObjectShedding:
    """Which objects of a tracker are refused, given up, or taken back.

    `threshold` is how many queries must look at a shadow that takes the place of an object.
    """

    def __init__(self, answers: Answers, given_up: GivenUpObjects, bounds: RetentionBounds):
        self._answers, self._objects = answers, answers.objects
        self._queries, self._proximity = answers.queries, answers.proximity
        self._given_up, self._bounds = given_up, bounds
        self.threshold = 1

    @property
    def is_load_high(self) -> bool:
        """Whether strangers are treated as shadows that report."""
        return self.threshold > 1

    def shed(self, came: pa.Array) -> tuple[list[pa.Table], pa.Array]:
        """After a batch: the changes, and which of the objects that came with it are refused."""
        changes = self.recall()
        bound, refused = self._bounds.objects(), came[:0]
        count = len(self._objects)
        excess, room = max(count - bound, 0), max(bound - count, 0)
        refs, free = self._answers.looks(), ~self._proximity.is_followed()
        if excess:
            self.threshold = max(self.threshold, threshold_of(refs[free], excess))
        given_up = self._given_up
        strong = int(np.count_nonzero(given_up.visitors.looks >= self.threshold))
        swaps = max(strong - room, 0)
        if excess or (swaps and (refs[free] < self.threshold).any()):
            more, refused = self._give_way(came, excess, swaps)
            changes.append(more)
        room = max(self._bounds.objects() - len(self._objects), 0)
        back = np.sort(np.argsort(-given_up.visitors.looks, kind="stable")[:room])
        if len(back):
            changes.append(self._take_back(given_up.visitor_places()[back]))
        given_up.slim_down()
        if not given_up.shadows or len(self._objects) <= ROOM * self._bounds.objects():
            self.threshold = 1
        return changes, refused

    def recall(self) -> list[pa.Table]:
        """Take back what queries with a least accuracy need."""
        shadows = self._given_up.shadows
        if not (shadows.full.num_rows and self._queries.least_accuracies()):
            return []
        places = objects_to_take_back(
            self._guards(Columns(shadows.full, self._objects.stream), None)
        )
        return [self._take_back(places)] if len(places) else []

    def _give_way(self, came: pa.Array, excess: int, swaps: int) -> tuple[pa.Table, pa.Array]:
        """Give up this excess of objects, and so many more that are below the threshold: what
        changes, and which of those that came are refused."""
        columns, refs = self._objects.columns(), self._answers.looks()
        ids = self._objects.ids()
        is_new = pc.is_in(ids, value_set=came).to_numpy(zero_copy_only=False)
        members = self._answers.members(columns, ranked=False)
        answers = np.bincount(members.rows, minlength=len(self._objects))
        free = np.flatnonzero(~self._proximity.is_followed())
        order = free[np.lexsort((~is_new[free], refs[free]))]
        victims = objects_to_give_up(
            order,
            int(np.count_nonzero(refs[free] < self.threshold)),
            excess + swaps,
            excess,
            Prices(np.where(is_new, 0, 2 * answers), max(self._given_up.spared, 0)),
            self._guards(columns, self._proximity.seats),
        )
        is_new, answers = is_new[victims], answers[victims]
        # It takes a change of each answer to take the new ones back, and two for the others.
        self._given_up.spared -= int(np.where(is_new, answers, 2 * answers).sum())
        changes = self._give_up(victims, answers, refs[victims])
        return changes, ids.take(pa.array(victims[is_new]))

    def _guards(self, columns: Columns, seats: Small | None) -> Guards:
        """The queries with a least accuracy, and who of these objects is in their answers. Without
        seats the objects are shadows."""
        least = self._queries.least_accuracies()
        names = pa.array(list(least), pa.string())
        counts = []
        pairs: tuple[Integers, Integers] = (np.empty(0, np.int64), np.empty(0, np.int64))
        if not len(names):
            none = np.empty(0, np.int64)
            return Guards(np.empty(0), none, none, np.zeros(len(columns) + 1, np.int64), none)
        sides = (
            (self._objects.columns(), self._proximity.seats),
            (self._given_up.columns(), None),
        )
        for mine, (of, with_seats) in zip((seats is not None, seats is None), sides, strict=True):
            rows, queries, inside = self._answers.looking(of, with_seats, names)
            counts.append(np.bincount(queries[inside], minlength=len(names)))
            if mine:
                # Shadows of whole rows come first.
                members = inside & (rows < len(columns))
                pairs = pairs_by_object(rows[members], queries[members], len(columns))
        return Guards(np.array(list(least.values())), counts[0], counts[1], *pairs)

    def _give_up(self, places: Integers, answers: Integers, looks: Integers) -> pa.Table:
        """These objects leave all answers, and cast shadows."""
        table = self._objects.own
        slots = table.places()[places]
        gone = table.take(slots)
        speeds = table.speeds(slots) if table.keeps_speeds else None
        seats = self._proximity.seats_at(places)
        given = NewShadows(gone, self._given_up.pinned(gone, seats), answers, looks)
        nobody = np.zeros(len(places), np.bool_)
        changes = self._answers.exchange(Exchange(SHED, gone, seats, nobody, speeds))
        kept = np.ones(len(self._objects), np.bool_)
        kept[places] = False
        self._keep(kept)
        self._given_up.add(given)
        return changes

    def _take_back(self, places: Integers) -> pa.Table:
        """Objects that were given up, by their places among whole rows, are here again."""
        back, strange = self._given_up.take_back(places)
        seats = self._proximity.enrol(back)
        changes = self._answers.exchange(Exchange(RETURN, back, seats, strange))
        held = self._answers.holders(Columns(back, self._objects.stream))
        self._proximity.add(self._objects.add(back, held), seats)
        self._keep(np.ones(len(self._objects), np.bool_))
        return changes

    def _keep(self, kept: Mask) -> None:
        """These objects, unless they were let go meanwhile."""
        self._objects.keep(self._proximity.keep(kept))
