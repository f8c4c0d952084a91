"""Load shedding: which objects a tracker gives up under a bound, and what it still knows of them.

An object that few queries look at costs as much memory as one that many do, and less accuracy. So
under a bound those go first that the fewest queries look at. What is given up has a *shadow*: its
id, time and place, and what queries read of it, from which the accuracy of all answers follows. A
shadow that reports changes its shadow only. It comes back when there is room, or when as many
queries look at it as the *threshold* says and an object below the threshold can go instead. While
load is high a *stranger*, an object that is neither kept nor a shadow, is treated as a shadow that
reports.

Shedding tells no more changes than the exact run would (`Prices`). An object that nobody was told
of is refused for nothing. To give up a known one, and to take it back, takes a change of each
answer that it is in; so that is done only for changes that were *spared*: those that the exact run
tells of objects that are shadows here.

A query with a least ACCURACY locks what it cannot spare. Answers also shrink when objects leave: so
the shadow of what such a query looks at is the whole row, and it comes back when it is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Doubles, Integers, Mask, Small
from watchline.kernels.compiled import kernel
from watchline.model import Stream
from watchline.rows import Columns, conformed, row_schema, times_of
from watchline.tracking.linked_rows import BatchObjects, LinkedRows, back

# In place of the number of answers of a shadow whose row lacks what some query reads.
UNDECIDED = -1


class Shadows(NamedTuple):
    """Objects that were given up: of most what queries read, of some the whole row.

    Of each, whole rows first: in how many answers it would be, and how many queries look at it, as
    was counted when it reported last. A query that is registered later may read what a row lacks;
    then the answers are `UNDECIDED` until the object reports.
    """

    slim: pa.Table
    full: pa.Table
    answers: Small
    looks: Small

    @staticmethod
    def none(stream: Stream) -> Shadows:
        empty, nobody = row_schema(stream).empty_table(), np.empty(0, np.int32)
        return Shadows(empty.select(_read(stream, frozenset())), empty, nobody, nobody)

    @staticmethod
    def unpacked(slim: pa.Table, full: pa.Table, counts: pa.Table | None) -> Shadows:
        """From tables of a state; one of an older release does not have the counts."""
        if counts is None:
            zeros = np.zeros(slim.num_rows + full.num_rows, np.int32)
            return Shadows(slim, full, zeros, zeros)
        answers, looks = (column.to_numpy().astype(np.int32) for column in counts.columns)
        return Shadows(slim, full, answers, looks)

    def packed(self) -> list[pa.Table]:
        """Tables for a state."""
        counts = {"answers": self.answers, "looks": self.looks}
        return [self.slim, self.full, pa.table(counts)]

    def __bool__(self) -> bool:
        return self.total > 0

    @property
    def total(self) -> int:
        return int(self.slim.num_rows + self.full.num_rows)

    @property
    def nbytes(self) -> int:
        arrays = (self.slim, self.full, self.answers, self.looks)
        return sum(int(array.nbytes) for array in arrays)

    def extra_bytes(self, visitors: int) -> int:
        """How much less there would be if the last whole rows were not whole."""
        rows = self.full.slice(self.full.num_rows - visitors)
        return int(rows.nbytes - rows.select(self.slim.column_names).nbytes)

    def rows(self) -> pa.Table:
        """All of them, the whole rows first; NULL where nothing is known."""
        return pa.concat_tables([self.full, conformed(self.slim, self.full.schema)])

    def ids(self, stream: Stream) -> pa.Array:
        """The objects, in the order of `rows`."""
        chunks = [c for t in (self.full, self.slim) for c in t[stream.object].chunks]
        return pa.chunked_array(chunks, self.full[stream.object].type).combine_chunks()

    def met(self, batch: pa.Table, stream: Stream) -> tuple[Shadows, pa.Table, int]:
        """A batch comes: its objects cast no shadow any more. The batch without rows that are older
        than that, and how many these are."""
        if not self or not batch.num_rows:
            return self, batch, 0
        seen = pc.index_in(batch[stream.object], value_set=self.ids(stream))
        places = pc.fill_null(seen, -1).to_numpy().astype(np.int64)
        if (places < 0).all():
            return self, batch, 0
        then = np.append(self._times(stream), np.iinfo(np.int64).min)
        late = times_of(batch, stream) < then[places]
        silent = np.ones(self.total, np.bool_)
        silent[places[(places >= 0) & ~late]] = False
        return self.where(silent), batch.filter(pa.array(~late)), int(np.count_nonzero(late))

    def _times(self, stream: Stream) -> Integers:
        """When each of `rows` was reported."""
        return np.concatenate([times_of(t, stream) for t in (self.full, self.slim)])

    def _expire(self, stream: Stream, newest: int | None) -> bool:
        """Whether some of these objects have timed out when this is the stream's newest time."""
        if not self or stream.timeout is None or newest is None:
            return False
        return bool(self._times(stream).min() < back(newest, stream.timeout))

    def heard(
        self, reports: pa.Table, stream: Stream, before: int | None, newest: int | None
    ) -> ShadowReports:
        """Rows of these objects and of strangers come, and some objects time out; the newest time
        of the stream was `before` and is `newest`. Without rows and time-outs the cost is one pass
        over the times of the shadows."""
        if not reports.num_rows and not self._expire(stream, newest):
            return ShadowReports(self, reports, self.answers[:0], np.empty(0, np.bool_), 0, 0)
        objects = BatchObjects.of_rows(self.rows(), reports, stream)
        linked = LinkedRows(objects, Columns(reports, stream), stream, before, newest)
        is_new = linked.kept >= linked.known
        silent = np.zeros(self.total, np.bool_)
        silent[linked.kept[~is_new]] = True
        # Strangers are in no answer.
        answers = np.zeros(linked.count, np.int32)
        answers[: linked.known] = self.answers
        reported, expired = linked.kept[is_new], linked.codes[linked.expired]
        who = linked.codes[reported]
        return ShadowReports(
            self.where(silent),
            linked.rows.take(pa.array(reported)),
            answers[who],
            who >= linked.known,
            int(np.maximum(answers[expired], 0).sum()),
            linked.late,
        )

    def undecided(self, stream: Stream, used: frozenset[str]) -> Mask:
        """Of which nobody can count the answers, where queries read these attributes."""
        lacking: Mask = self.answers == UNDECIDED
        if not set(_read(stream, used)) <= set(self.slim.column_names):
            lacking[self.full.num_rows :] = True
        return lacking

    def plus(self, more: NewShadows, stream: Stream, used: frozenset[str]) -> Shadows:
        """With these objects."""
        names = _read(stream, used | frozenset(self.slim.column_names))
        pinned, n = more.pinned, self.full.num_rows
        before = np.where(self.undecided(stream, used), UNDECIDED, self.answers)
        fresh = more.rows.filter(pa.array(~pinned)).select(names)
        older = conformed(self.slim, fresh.schema)
        slim = pa.concat_tables([older, fresh]).combine_chunks()
        full = pa.concat_tables([self.full, more.rows.filter(pa.array(pinned))]).combine_chunks()
        answers, looks = (
            np.concatenate([old[:n], new[pinned], old[n:], new[~pinned]]).astype(np.int32)
            for old, new in ((before, more.answers), (self.looks, more.looks))
        )
        return Shadows(slim, full, answers, looks)

    def recounted(self, answers: Integers, looks: Integers) -> Shadows:
        """With these counts."""
        return self._replace(answers=answers.astype(np.int32), looks=looks.astype(np.int32))

    def where(self, kept: Mask) -> Shadows:
        """Those of `rows` that are kept."""
        n = self.full.num_rows
        return Shadows(
            self.slim.filter(pa.array(kept[n:])),
            self.full.filter(pa.array(kept[:n])),
            self.answers[kept],
            self.looks[kept],
        )

    def without(self, places: Integers) -> tuple[Shadows, NewShadows]:
        """Without some of the whole rows, and these."""
        kept = np.ones(self.total, np.bool_)
        kept[places] = False
        rows, pinned = self.full.take(pa.array(places)), np.zeros(len(places), np.bool_)
        return self.where(kept), NewShadows(rows, pinned, self.answers[places], self.looks[places])


class NewShadows(NamedTuple):
    """Objects that are given up: their rows, whether these stay whole; answers, and who looks."""

    rows: pa.Table
    pinned: Mask
    answers: Integers | Small
    looks: Integers | Small


class ShadowReports(NamedTuple):
    """What shadows and strangers report: the shadows that are silent, the latest row of each object
    that has reported, in how many answers it was, and whether it is a stranger; in how many answers
    those were that have timed out; and how many rows were late."""

    silent: Shadows
    rows: pa.Table
    answers: Small
    strange: Mask
    expired: int
    late: int


def _read(stream: Stream, used: frozenset[str]) -> list[str]:
    """What a shadow has: object, time, place, and what queries read."""
    wanted = {stream.object, stream.time, *(stream.point or ()), *used}
    return [a.name for a in stream.attributes if a.name in wanted]


def threshold_of(refs: Integers, excess: int) -> int:
    """The least k such that fewer than k queries look at each of so many objects at least."""
    if not len(refs):
        return 1
    return int(np.searchsorted(np.cumsum(np.bincount(refs)), min(excess, len(refs)))) + 1


class Guards(NamedTuple):
    """Queries with a least accuracy: how many objects are in each answer, and how many are missed;
    and pairs of an object and a query that holds it, by object."""

    least: Doubles
    held: Integers
    missed: Integers
    offsets: Integers
    queries: Integers


class Prices(NamedTuple):
    """How many changes it takes to give up each object and take it back, and how many there may
    be in all."""

    each: Integers
    budget: int


def objects_to_give_up(
    order: Integers, weak: int, most: int, least: int, prices: Prices, guards: Guards
) -> Any:
    """Objects to give up, of these in their order: `most` of the first `weak`, and others until
    there are `least`. No query falls below its accuracy; and no more is spent than the budget has,
    unless there would be fewer than `least`."""
    held, missed = guards.held.copy(), guards.missed.copy()
    guards = guards._replace(held=held, missed=missed)
    taken = np.zeros(len(order), np.bool_)
    count = _choose(order[:weak], taken[:weak], most, prices.each, prices.budget, guards)
    spent = int(prices.each[order[taken]].sum())
    count += _choose(
        order[weak:], taken[weak:], least - count, prices.each, prices.budget - spent, guards
    )
    _choose(order, taken, least - count, np.zeros_like(prices.each), 0, guards)
    return order[taken]


@kernel
def _choose(
    order: Integers, taken: Mask, most: int, prices: Integers, budget: int, guards: Guards
) -> int:
    """Take so many more of these, as far as the budget goes; how many are taken."""
    count = 0
    for i in range(len(order)):
        if count >= most:
            break
        if taken[i] or prices[order[i]] > budget:
            continue
        first, end = guards.offsets[order[i]], guards.offsets[order[i] + 1]
        spared = True
        for j in range(first, end):
            q = guards.queries[j]
            there = guards.held[q] + guards.missed[q]
            if guards.held[q] - 1 < guards.least[q] * there:
                spared = False
                break
        if spared:
            for j in range(first, end):
                guards.held[guards.queries[j]] -= 1
                guards.missed[guards.queries[j]] += 1
            taken[i] = True
            budget -= prices[order[i]]
            count += 1
    return count


def objects_to_take_back(missing: Guards) -> Integers:
    """Objects to take back until no query is below its accuracy; `missing` has the pairs of those
    that were given up."""
    held, missed = missing.held.copy(), missing.missed.copy()
    return np.flatnonzero(_needed(missing._replace(held=held, missed=missed)))


@kernel
def _needed(guards: Guards) -> Any:
    n = len(guards.offsets) - 1
    back = np.zeros(n, np.bool_)
    for i in range(n):
        first, end = guards.offsets[i], guards.offsets[i + 1]
        for j in range(first, end):
            q = guards.queries[j]
            if guards.held[q] < guards.least[q] * (guards.held[q] + guards.missed[q]):
                back[i] = True
                break
        if back[i]:
            for j in range(first, end):
                guards.held[guards.queries[j]] += 1
                guards.missed[guards.queries[j]] -= 1
    return back


def pairs_by_object(objects: Integers, queries: Integers, count: int) -> tuple[Integers, Integers]:
    """Where the queries of each object begin, and these."""
    order = np.argsort(objects, kind="stable")
    return np.searchsorted(objects[order], np.arange(count + 1)), queries[order]
