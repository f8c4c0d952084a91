"""The objects that a tracker gave up: the shadows that they left, and what becomes of these.

`Shadows` are rows and counts; here they change by what objects report, by versions, and by a bound
of their own, beyond which they are forgotten.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Integers, Mask, Small
from watchline.rows import Columns, times_of
from watchline.tracking.answers import Answers
from watchline.tracking.retention.forgotten import Forgotten
from watchline.tracking.retention.shedding import UNDECIDED, NewShadows, Shadows

# Where there are too many shadows, this part of the bound stays. To choose which, all are matched
# with all queries: so that is done once for each tenth of the bound that comes, not in each batch.
SHADOWS_LEFT = 0.9


class Visitors(NamedTuple):
    """Objects that are not kept and have just reported: who is a stranger, and how many queries
    look at each, nearest neighbours not counted. They are the last whole rows of shadows."""

    strange: Mask
    looks: Integers

    def where(self, chosen: Mask) -> Visitors:
        """Those that are chosen."""
        return Visitors(self.strange[chosen], self.looks[chosen])


NOBODY = Visitors(np.empty(0, np.bool_), np.empty(0, np.int64))


class GivenUpObjects:
    """Shadows, and the shadows that were forgotten.

    `visitors` are the shadows and strangers that reported in the batch being processed: `hear` sets
    them, `take_back` and `slim_down` remove them, so there are none between batches.

    `spared` is the budget for giving up known objects, in changes of range queries: those that a
    tracker without a bound would have emitted so far, less those that this tracker has emitted,
    less those that it would emit if it took all shadows back now (decision 21).
    """

    def __init__(self, answers: Answers, counts: Counter[str]):
        self._answers, self._objects, self._queries = answers, answers.objects, answers.queries
        self._counts = counts
        self.clear()

    def clear(self) -> None:
        """Nothing was given up yet."""
        self.shadows, self.forgotten = Shadows.none(self._objects.stream), Forgotten()
        self.spared, self.visitors = 0, NOBODY

    def columns(self) -> Columns:
        """The rows of shadows, for conditions."""
        return Columns(self.shadows.rows(), self._objects.stream)

    @property
    def nbytes(self) -> int:
        """The bytes of shadows, as many as there will be when visitors are shadows again."""
        return self.shadows.nbytes - self.shadows.extra_bytes(len(self.visitors.looks))

    # --- batches

    def set_aside(self, batch: pa.Table, is_load_high: bool) -> tuple[pa.Table, pa.Table]:
        """The batch without the reports of shadows and, while load is high, of strangers; and
        these. An object that queries move with is needed: it is no shadow any more."""
        stream = self._objects.stream
        ids, focals = batch[stream.object], self._queries.focals()
        if is_load_high:
            processed = pc.is_in(ids, value_set=self._objects.ids())
        else:
            processed = pc.invert(pc.is_in(ids, value_set=self.shadows.ids(stream)))
        processed = pc.or_(processed, pc.is_in(ids, value_set=focals))
        return batch.filter(processed), batch.filter(pc.invert(processed))

    def hear(self, reports: pa.Table, before: int | None) -> int:
        """Shadows change by what their objects report, without a change of answers. Those that have
        reported are visitors now. How many rows were late."""
        stream, newest = self._objects.stream, self._objects.newest
        heard = self.shadows.heard(reports, stream, before, newest)
        self.shadows = heard.silent
        self.spared += 2 * heard.expired
        self.forgotten.age(newest, stream.timeout)
        if heard.rows.num_rows:
            counted = self._answers.attention(Columns(heard.rows, stream))
            self._spare(heard.answers, counted.answers)
            seen = counted.looks > 0
            rows, pinned = heard.rows.filter(pa.array(seen)), seen[seen]
            self._cast(NewShadows(rows, pinned, counted.answers[seen], counted.looks[seen]))
            self.visitors = Visitors(heard.strange[seen], counted.steady[seen])
        return heard.late

    def _cast(self, given: NewShadows) -> None:
        """These objects have shadows from now on."""
        used = self._queries.shared.used()
        self.shadows = self.shadows.plus(given, self._objects.stream, used)

    def _spare(self, before: Small, after: Integers) -> None:
        """Add to `spared` what shadows spare by leaving answers. `before` and `after` have, for
        each shadow, the number of range answers it would be in. For each answer that a shadow
        leaves, the exact run emits an exit that this tracker does not emit; and this tracker need
        not emit an enter any more if it takes the object back. So each is worth two changes.
        Where a number is `UNDECIDED` nobody knows of an exit."""
        known = (before != UNDECIDED) & (after != UNDECIDED)
        self.spared += 2 * int(np.maximum(before - after, 0)[known].sum())

    def look_again(self) -> None:
        """Count anew who looks at shadows; there are none of objects that no query looks at. A
        shadow stays if its row lacks what would tell."""
        counted = self._answers.attention(self.columns())
        used = self._queries.shared.used()
        undecided = self.shadows.undecided(self._objects.stream, used)
        answers = np.where(undecided, UNDECIDED, counted.answers)
        self._spare(self.shadows.answers, answers)
        recounted = self.shadows.recounted(answers, counted.looks)
        self.shadows = recounted.where((counted.looks > 0) | undecided)

    def let_go(self, gone: pa.Table) -> None:
        """Make shadows of objects that the tracker lets go because queries are smaller under SHED
        QUERIES: of those objects that some query would look at with its whole region. The other
        objects leave nothing behind."""
        counted = self._answers.attention(Columns(gone, self._objects.stream))
        seen = counted.looks > 0
        if seen.any():
            # Whoever demands an accuracy may be locked, and then needs them.
            pinned = np.full(int(seen.sum()), bool(self._queries.least_accuracies()))
            rows = gone.filter(pa.array(seen))
            self._cast(NewShadows(rows, pinned, counted.answers[seen], counted.looks[seen]))
            self._counts["shed"] += rows.num_rows

    # --- exchanges

    def visitor_places(self) -> Integers:
        """Where visitors are among the whole rows of shadows."""
        n = len(self.visitors.looks)
        return self.shadows.full.num_rows - n + np.arange(n)

    def slim_down(self) -> None:
        """Visitors become shadows; those that no query needs whole are a part of their rows."""
        if not len(self.visitors.looks):
            return
        self._counts["shed"] += int(np.count_nonzero(self.visitors.strange))
        self.shadows, given = self.shadows.without(self.visitor_places())
        self.visitors = NOBODY
        self._cast(given._replace(pinned=self.pinned(given.rows, None)))

    def pinned(self, rows: pa.Table, seats: Small | None) -> Mask:
        """Whether a query with a least accuracy looks at these objects."""
        pinned = np.zeros(rows.num_rows, np.bool_)
        if names := list(self._queries.least_accuracies()):
            columns = Columns(rows, self._objects.stream)
            looked, _, _ = self._answers.looking(columns, seats, pa.array(names, pa.string()))
            pinned[looked] = True
        return pinned

    def add(self, given: NewShadows) -> None:
        """Objects that are given up cast shadows; visitors stay the last of the whole rows."""
        self.shadows, visiting = self.shadows.without(self.visitor_places())
        self._cast(given)
        self._cast(visiting._replace(pinned=np.ones(len(visiting.looks), np.bool_)))
        self._counts["shed"] += given.rows.num_rows

    def take_back(self, places: Integers) -> tuple[pa.Table, Mask]:
        """Remove shadows by their places among whole rows: their rows, and who is a stranger."""
        visitors = self.visitor_places()
        strange = np.isin(places, visitors[self.visitors.strange])
        self.visitors = self.visitors.where(~np.isin(visitors, places))
        self.shadows, given = self.shadows.without(places)
        return given.rows, strange

    def forget(self, most: int) -> bool:
        """Where there are more shadows than this bound, forget some until nine tenths of the bound
        are left: first those that the fewest queries look at, and of these the ones that were
        silent longest. Whole rows stay: they are demanded. Whether some were forgotten."""
        excess = self.shadows.total - int(SHADOWS_LEFT * most)
        first = self.shadows.full.num_rows
        looks = self.shadows.looks[first:]
        times = times_of(self.shadows.slim, self._objects.stream)
        places = first + np.lexsort((times, looks))[:excess]
        if not len(places):
            return False
        gone = np.zeros(self.shadows.total, np.bool_)
        gone[places] = True
        columns = Columns(self.shadows.rows().filter(pa.array(gone)), self._objects.stream)
        queries = self._queries
        answers = value_counts(self._answers.entered(columns, queries.shared).ids)
        self.forgotten.add(len(places), answers, self._objects.newest or 0, queries.version)
        self.shadows = self.shadows.where(~gone)
        self._counts["forgotten"] += len(places)
        return True

    # --- state

    def take_over(self, head: dict[str, Any], tables: list[pa.Table]) -> None:
        """From a state; one of before counts and the forgotten were kept does not have them."""
        slim, full, *counts = tables
        self.shadows = Shadows.unpacked(slim, full, counts[0] if counts else None)
        self.spared = head.get("spared", 0)
        if "forgotten" in head:
            self.forgotten = Forgotten.of(head["forgotten"])


def value_counts(ids: pa.Array) -> Counter[str]:
    """How often each id occurs."""
    counted = pc.value_counts(ids)
    names, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    return Counter(dict(zip(names, counts, strict=True)))
