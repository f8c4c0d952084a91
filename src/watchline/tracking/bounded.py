"""What a tracker does under a bound: it gives objects up and takes them back, or makes queries
smaller and larger. `shedding` says which objects, `shrinking` how small.

The bound covers objects of this shard. Shadows have a bound of their own, a share of this one:
beyond it they are `forgotten`.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.evaluate import Columns
from watchline.model import Shed
from watchline.moving.tables import RETURN, SHED
from watchline.reasons import Reason
from watchline.tracking.answers import Answers, Integers, Mask, Slots, value_counts
from watchline.tracking.rows import times_of
from watchline.tracking.shedding import (
    Given,
    Guards,
    Prices,
    Small,
    chosen,
    needed,
    pairs_by_object,
    threshold_of,
)
from watchline.tracking.shrinking import LAST_STEP, WHOLE, Patience, Sizes, shrunk_watcher

# Load is high until objects are less than this part of the bound: until then the threshold stays,
# and queries do not grow.
ROOM = 0.75
# So many shadows there may be for each object of MAX OBJECTS, and this part of MAX BYTES is theirs.
SHADOWS, SHADOW_BYTES = 10, 0.5
# Where there are too many shadows, this part of the bound stays. To choose which, all are matched
# with all queries: so that is done once for each tenth of the bound that comes, not in each batch.
SHADOWS_LEFT = 0.9


class Visitors(NamedTuple):
    """Objects that are not kept and have just reported: who is a stranger, and how many queries
    look at each, nearest neighbours not counted. They are the last whole rows of shadows."""

    strange: Mask
    looks: Integers

    def where(self, chosen: Mask) -> Visitors:
        return Visitors(self.strange[chosen], self.looks[chosen])


NOBODY = Visitors(np.empty(0, np.bool_), np.empty(0, np.int64))


class Relief(NamedTuple):
    """What shedding changes after a batch, and the new objects of the batch that it refuses."""

    changes: list[pa.Table]
    refused: pa.Array


class Bounded(Answers):
    """The part of a tracker that keeps it within its bound."""

    # How many queries must look at a shadow that takes the place of an object.
    _threshold: int
    # The budget for giving up known objects, in changes of range queries: those that a tracker
    # without a bound would have emitted so far, less those that this tracker has emitted, less
    # those that it would emit if it took all shadows back now (decision 21).
    _spared: int
    # The shadows and strangers that reported in the batch being processed. `_hear` sets them, and
    # `_take_back` and `_slim_down` remove them, so there are none between batches.
    _visitors: Visitors
    _patience: Patience

    # --- shadows

    def _set_aside(self, batch: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The batch without the reports of shadows and, while load is high, of strangers; and
        these. An object that queries move with is needed: it is no shadow any more."""
        kept = self.stream.retention
        if kept is None or kept.sheds is not Shed.OBJECTS or not self._shadows:
            return batch, batch.slice(0, 0)
        ids, focals = batch[self.stream.object], self._focals()
        if self._threshold > 1:
            known = self._objects[self.stream.object].combine_chunks()
            processed = pc.or_(pc.is_in(ids, value_set=known), pc.is_in(ids, value_set=focals))
        else:
            shadows = self._shadows.ids(self.stream)
            processed = pc.or_(
                pc.invert(pc.is_in(ids, value_set=shadows)), pc.is_in(ids, value_set=focals)
            )
        return batch.filter(processed), batch.filter(pc.invert(processed))

    def _focals(self) -> pa.Array:
        """The objects that living queries move with. That of a query whose life is over is an
        object like any other: processed without a need, it would enter and leave in each batch."""
        known = self._watcher.focals()
        if all(name in self._births for name in self._terms):
            return known
        living = map(self._alive, self._watcher.moving(self.version))
        return pa.concat_arrays([known[:0], *(ids for m in living for ids in m.focals)]).drop_null()

    def _hear(self, reports: pa.Table, before: int | None) -> int:
        """Shadows change by what their objects report; nothing is told. Those that have reported
        are visitors now. How many rows were late."""
        heard = self._shadows.heard(reports, self.stream, before, self._newest)
        self._shadows, self._missed = heard.silent, None
        self._spared += 2 * heard.expired
        self._forgotten.age(self._newest, self.stream.timeout)
        if heard.rows.num_rows:
            looked = self._looked(Columns(heard.rows, self.stream))
            self._spare(heard.answers, looked.answers)
            seen = looked.looks > 0
            rows, pinned = heard.rows.filter(pa.array(seen)), seen[seen]
            given = Given(rows, pinned, looked.answers[seen], looked.looks[seen])
            self._shadows = self._shadows.joined(given, self.stream, self._watcher.used())
            self._visitors = Visitors(heard.strange[seen], looked.steady[seen])
        return heard.late

    def _spare(self, before: Small, after: Integers) -> None:
        """Add to `_spared` what shadows spare by leaving answers. `before` and `after` have, for
        each shadow, the number of range answers it would be in. For each answer that a shadow
        leaves, the exact run emits an exit that this tracker does not emit; and this tracker need
        not emit an enter any more if it takes the object back. So each is worth two changes."""
        self._spared += 2 * int(np.maximum(before - after, 0).sum())

    def _look_again(self) -> None:
        """Count anew who looks at shadows; there are none of objects that no query looks at."""
        if not self._shadows:
            return
        looked = self._looked(Columns(self._shadows.rows(), self.stream))
        self._spare(self._shadows.answers, looked.answers)
        counted = self._shadows.recounted(looked.answers, looked.looks)
        self._shadows = counted.where(looked.looks > 0)
        self._missed = None

    def _cast_shadows(self, gone: pa.Table) -> None:
        """Make shadows of objects that the tracker lets go because queries are smaller under SHED
        QUERIES: of those objects that some query would look at with its whole region. The other
        objects leave nothing behind."""
        looked = self._looked(Columns(gone, self.stream))
        seen = looked.looks > 0
        if seen.any():
            # Whoever demands an accuracy may be locked, and then needs them.
            pinned = np.full(int(seen.sum()), bool(self._least()))
            rows = gone.filter(pa.array(seen))
            given = Given(rows, pinned, looked.answers[seen], looked.looks[seen])
            self._shadows = self._shadows.joined(given, self.stream, self._watcher.used())
            self._counts["shed"] += given.rows.num_rows
        self._missed = None

    def _slim_down(self) -> None:
        """Visitors become shadows; those that no query needs whole are a part of their rows."""
        if not len(self._visitors.looks):
            return
        self._counts["shed"] += int(np.count_nonzero(self._visitors.strange))
        self._shadows, given = self._shadows.without(self._visitor_places())
        self._visitors = NOBODY
        given = given._replace(pinned=self._pinned(given.rows, None))
        self._shadows = self._shadows.joined(given, self.stream, self._watcher.used())

    def _visitor_places(self) -> Integers:
        """Where visitors are among the whole rows of shadows."""
        n = len(self._visitors.looks)
        return self._shadows.full.num_rows - n + np.arange(n)

    def _pinned(self, rows: pa.Table, slots: Slots | None) -> Mask:
        """Whether a query with a least accuracy looks at these objects."""
        pinned = np.zeros(rows.num_rows, np.bool_)
        if names := list(self._least()):
            columns = Columns(rows, self.stream)
            found, _, _ = self._looking(columns, slots, pa.array(names, pa.string()))
            pinned[found] = True
        return pinned

    def _forget_shadows(self) -> None:
        """Keep the bound on shadows. Where there are more, the tracker forgets shadows until nine
        tenths of the bound are left: first those that the fewest queries look at, and of these the
        ones that were silent longest. Whole rows stay: they are demanded."""
        if self._shadows.total <= self._most_shadows():
            return
        self._look_again()
        total, most = self._shadows.total, self._most_shadows()
        if total <= most:
            return
        excess = total - int(SHADOWS_LEFT * most)
        first = self._shadows.full.num_rows
        looks, times = self._shadows.looks[first:], times_of(self._shadows.slim, self.stream)
        places = first + np.lexsort((times, looks))[:excess]
        if not len(places):
            return
        gone = np.zeros(self._shadows.total, np.bool_)
        gone[places] = True
        columns = Columns(self._shadows.rows().filter(pa.array(gone)), self.stream)
        answers = value_counts(self._entered(columns, self._watcher).ids)
        self._forgotten.add(len(places), answers, self._newest or 0, self.version)
        self._shadows = self._shadows.where(~gone)
        self._counts["forgotten"] += len(places)
        self._missed = None

    # --- bounds

    def _bound(self) -> int:
        """How many objects there may be."""
        kept = self.stream.retention
        assert kept is not None
        if kept.max_objects is not None:
            return kept.max_objects
        assert kept.max_bytes is not None
        n = len(self)
        if not n:
            # How many bytes an object takes is known with the first.
            return 1
        each = self._bytes_of_objects() / n
        over = self._bytes_of_objects() + self._bytes_of_shadows() - kept.max_bytes
        if over <= 0:
            return n + int(-over / each)
        # What is given up leaves a shadow, unless shadows have all that is theirs.
        names = self._shadows.slim.column_names
        shadow = self._objects.select(names).nbytes / n
        own = int((1 - SHADOW_BYTES) * kept.max_bytes / each)
        return min(n, max(n - int(np.ceil(over / max(each - shadow, 1.0))), own))

    def _most_shadows(self) -> int:
        """How many shadows there may be."""
        kept = self.stream.retention
        assert kept is not None
        if kept.max_objects is not None:
            return SHADOWS * kept.max_objects
        assert kept.max_bytes is not None
        each = self._shadows.nbytes / max(self._shadows.total, 1)
        return int(SHADOW_BYTES * kept.max_bytes / max(each, 1.0))

    def _bytes_of_objects(self) -> int:
        entry = 4 if self._mover is None else self._mover.entry_bytes
        return int(self._objects.nbytes) + entry * len(self)

    def _bytes_of_shadows(self) -> int:
        return self._shadows.nbytes - self._shadows.extra_bytes(len(self._visitors.looks))

    def _bytes_of_queries(self) -> int:
        """What no bound covers: plans and indexes of queries, and the lists of cells."""
        moving = 0 if self._mover is None else self._mover.query_bytes
        return self._watcher.nbytes + moving

    # --- relief

    def _relieve(self, came: pa.Array) -> Relief:
        """After a batch: give up objects where there are too many, take back what queries with a
        least accuracy need, and others where there is room. `came` were not known before the
        batch."""
        kept = self.stream.retention
        relief = Relief([], came[:0])
        if kept is None or kept.sheds is not Shed.QUERIES:
            relief.changes.extend([] if self._sizes == WHOLE else [self._resized(WHOLE)])
        if kept is None or kept.sheds is None:
            return relief
        if kept.sheds is Shed.QUERIES:
            self._threshold = 1
            relief.changes.extend(self._shrink())
            relief.changes.extend(self._recall())
        else:
            relief = self._shed(came, relief.changes)
        self._forget_shadows()
        over = len(self) > self._bound() or self._shadows.total > self._most_shadows()
        self._counts["over_limit"] += over
        self._missed = None
        return relief

    def _without_refused(self, changes: pa.Table, relief: Relief) -> pa.Table:
        """All changes of a batch. Of objects that it refuses nobody is told: none of them was in an
        answer before, and none is now."""
        told = changes.num_rows
        changes = pa.concat_tables([changes, *relief.changes])
        if not len(relief.refused):
            return changes
        refused = pc.is_in(changes["object_id"], value_set=relief.refused)
        mine = refused.to_numpy()[:told]
        ranked = self._is_ranked(changes["query_id"].slice(0, told).combine_chunks())
        self._spared += int(np.count_nonzero(mine & ~ranked))
        return changes.filter(pc.invert(refused))

    # --- objects

    def _shed(self, came: pa.Array, found: list[pa.Table]) -> Relief:
        """Object shedding: who is refused, given up, or taken back."""
        found += self._recall()
        bound, refused = self._bound(), came[:0]
        excess, room = max(len(self) - bound, 0), max(bound - len(self), 0)
        refs, free = self._refs(), self._free()
        if excess:
            self._threshold = max(self._threshold, threshold_of(refs[free], excess))
        strong = int(np.count_nonzero(self._visitors.looks >= self._threshold))
        swaps = max(strong - room, 0)
        if excess or (swaps and (refs[free] < self._threshold).any()):
            changes, refused = self._give_way(came, excess, swaps)
            found.append(changes)
        room = max(self._bound() - len(self), 0)
        back = np.sort(np.argsort(-self._visitors.looks, kind="stable")[:room])
        if len(back):
            found.append(self._take_back(self._visitor_places()[back]))
        self._slim_down()
        if not self._shadows or len(self) <= ROOM * self._bound():
            self._threshold = 1
        return Relief(found, refused)

    def _recall(self) -> list[pa.Table]:
        """Take back what queries with a least accuracy need."""
        if not (self._shadows.full.num_rows and self._least()):
            return []
        places = needed(self._guards(Columns(self._shadows.full, self.stream), None))
        return [self._take_back(places)] if len(places) else []

    def _free(self) -> Mask:
        """Objects that no query moves with."""
        return np.ones(len(self), np.bool_) if self._mover is None else ~self._mover.is_followed()

    def _give_way(self, came: pa.Array, excess: int, swaps: int) -> tuple[pa.Table, pa.Array]:
        """Give up this excess of objects, and so many more that are below the threshold: what
        changes, and which of those that came are refused."""
        columns, refs = Columns(self._objects, self.stream), self._refs()
        ids = self._objects[self.stream.object].combine_chunks()
        is_new = pc.is_in(ids, value_set=came).to_numpy(zero_copy_only=False)
        answers = np.bincount(self._answers(columns).rows, minlength=len(self))
        free = np.flatnonzero(self._free())
        order = free[np.lexsort((~is_new[free], refs[free]))]
        victims = chosen(
            order,
            int(np.count_nonzero(refs[free] < self._threshold)),
            excess + swaps,
            excess,
            Prices(np.where(is_new, 0, 2 * answers), max(self._spared, 0)),
            self._guards(columns, self._slots()),
        )
        is_new, answers = is_new[victims], answers[victims]
        # It takes a change of each answer to take the new ones back, and two for the others.
        self._spared -= int(np.where(is_new, answers, 2 * answers).sum())
        changes = self._give_up(victims, answers, refs[victims])
        return changes, ids.take(pa.array(victims[is_new]))

    def _guards(self, columns: Columns, slots: Slots | None) -> Guards:
        """The queries with a least accuracy, and who of these objects is in their answers. Without
        slots the objects are shadows."""
        least = self._least()
        names = pa.array(list(least), pa.string())
        counts = []
        pairs: tuple[Integers, Integers] = (np.empty(0, np.int64), np.empty(0, np.int64))
        sides = (
            (Columns(self._objects, self.stream), self._slots()),
            (Columns(self._shadows.rows(), self.stream), None),
        )
        if not len(names):
            none = np.empty(0, np.int64)
            return Guards(np.empty(0), none, none, np.zeros(len(columns) + 1, np.int64), none)
        for mine, (of, with_slots) in zip((slots is not None, slots is None), sides, strict=True):
            rows, queries, inside = self._looking(of, with_slots, names)
            counts.append(np.bincount(queries[inside], minlength=len(names)))
            if mine:
                # Shadows of whole rows come first.
                chosen_ = inside & (rows < len(columns))
                pairs = pairs_by_object(rows[chosen_], queries[chosen_], len(columns))
        return Guards(np.array(list(least.values())), counts[0], counts[1], *pairs)

    def _give_up(self, places: Integers, answers: Integers, looks: Integers) -> pa.Table:
        """These objects leave all answers, and cast shadows."""
        gone, slots = self._objects.take(pa.array(places)), self._slots_at(places)
        given = Given(gone, self._pinned(gone, slots), answers, looks)
        rows_of = pa.concat_tables([self._objects, self._others])
        changes = self._exchanged(rows_of, places, SHED, slots, np.zeros(len(places), np.bool_))
        kept = np.ones(len(self), np.bool_)
        kept[places] = False
        self._keep(kept)
        # Visitors stay the last of the whole rows.
        older, visiting = self._shadows.without(self._visitor_places())
        visiting = visiting._replace(pinned=np.ones(len(visiting.looks), np.bool_))
        used = self._watcher.used()
        self._shadows = older.joined(given, self.stream, used).joined(visiting, self.stream, used)
        self._counts["shed"] += len(places)
        return changes

    def _take_back(self, places: Integers) -> pa.Table:
        """Objects that were given up, by their places among whole rows, are here again."""
        visitors = self._visitor_places()
        strange = np.isin(places, visitors[self._visitors.strange])
        self._visitors = self._visitors.where(~np.isin(visitors, places))
        self._shadows, given = self._shadows.without(places)
        n, back = len(self), given.rows
        rows_of = pa.concat_tables([self._objects, self._others, back])
        new = len(rows_of) - len(back) + np.arange(len(back))
        slots = np.empty(0, np.int32)
        if self._mover is not None:
            slots = self._mover.enrol(back[self.stream.object].combine_chunks(), True)
        changes = self._exchanged(rows_of, new, RETURN, slots, strange)
        held = self._holds(Columns(back, self.stream))
        self._objects = pa.concat_tables([self._objects, back])
        self._held = np.concatenate([self._held, held])
        if self._mover is not None:
            self._mover.slots = np.concatenate([self._mover.slots, slots]).astype(np.int32)
        self._keep(np.ones(n + len(back), np.bool_))
        return changes

    def _keep(self, kept: Mask) -> None:
        """These objects, unless they were let go meanwhile."""
        if self._mover is not None:
            slots = self._mover.slots
            kept = kept & self._mover.is_here(slots)
            self._mover.settle(slots[kept], slots[~kept], self._mover.other_slots)
        self._objects, self._held = self._objects.filter(pa.array(kept)), self._held[kept]

    def _hold(self, held: Integers) -> None:
        """After a version: so many queries that a row alone decides hold each object."""
        if self.stream.retention is None or not self._is_held_known:
            return
        kept = held > 0 if self._mover is None else self._mover.hold(held)
        gone = self._objects.filter(pa.array(~kept))
        self._objects, self._held = self._objects.filter(pa.array(kept)), held[kept]
        self._missed = None
        if self._sizes.step:
            self._cast_shadows(gone)

    # --- queries

    def _shrink(self) -> list[pa.Table]:
        """Smaller queries where there are too many objects, if that lets some go; larger ones again
        where there is room, a step in each batch."""
        before, found = self._sizes, []
        n = len(self)
        if n <= self._bound():
            self._patience = Patience()
            if self._sizes.step and n <= ROOM * self._bound():
                step = self._sizes.step - 1
                found.append(self._resized(replace(self._sizes, step=step) if step else WHOLE))
        elif self._patience.left:
            self._patience = self._patience.waited()
        else:
            found += self._shrink_to_fit()
        if self._sizes.step and (short := self._short()):
            locked = self._sizes.locked | short
            found.append(self._resized(replace(self._sizes, locked=locked)))
            if self._sizes.step > before.step and len(self) >= n:
                found.append(self._resized(before))
                self._patience = self._patience.lost()
        return found

    def _shrink_to_fit(self) -> list[pa.Table]:
        """The first step with which there are few enough objects. If there is none, the first with
        which there are as few as possible; and for some batches no other is tried."""
        found = []
        while len(self) > self._bound():
            step = self._paying_step()
            if step is None:
                self._patience = self._patience.lost()
                break
            found.append(self._resized(replace(self._sizes, step=step)))
        return found

    def _paying_step(self) -> int | None:
        """The first step with as few objects as the bound says, or as any step leaves; None if no
        step lets an object go."""
        if self._sizes.is_last:
            return None
        least = self._left_by(LAST_STEP)
        if least >= len(self):
            return None
        wanted, steps = max(least, self._bound()), range(self._sizes.step + 1, LAST_STEP)
        place = bisect_left(steps, True, key=lambda step: self._left_by(step) <= wanted)
        return self._sizes.step + 1 + place

    def _left_by(self, step: int) -> int:
        """How many objects some query would look at, or move with, at this step."""
        sizes = replace(self._sizes, step=step)
        columns = Columns(self._objects, self.stream)
        looked = self._holds(columns, shrunk_watcher(self._watcher, sizes)) > 0
        if self._mover is not None:
            queries = map(self._alive, self._watcher.moving(self.version))
            mover = self._mover_of(queries, self._waiting, sizes)
            looked |= (mover.refs() > 0) | mover.is_followed()
        return int(np.count_nonzero(looked))

    def _short(self) -> set[str]:
        """Queries that are less accurate than they demand."""
        least = self._least()
        if not least:
            return set()
        accuracies = self.accuracies()
        return {name for name in least if accuracies.get(name, 1.0) < least[name]}

    def _resized(self, sizes: Sizes) -> pa.Table:
        """All queries have these sizes from now on: what leaves and enters their answers."""
        columns = Columns(self._objects, self.stream)
        old = self._answers(columns)
        before = self._mover
        self._sizes, self._small, self._mover = sizes, None, None
        # The objects are the same until all know who looks at them.
        self._held = self._holds(columns)
        mover = self._moving()
        if mover is not None and before is not None:
            mover.take_story(before)
        new = self._answers(columns)
        changes = self._opened([old], [new], (Reason.SHED, Reason.SHED))
        self._hold(self._held)
        return changes
