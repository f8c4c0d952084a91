"""How accurate the answers of a tracker are.

Accuracy is counted: the objects in an answer, beside shadows that would be in it (`shedding`) and
objects that were forgotten (`forgotten`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Doubles, Integers, Small
from watchline.matching import is_among
from watchline.rows import Columns
from watchline.tracking.answers import Answers
from watchline.tracking.retention.given_up import GivenUpObjects, value_counts


class Missing(NamedTuple):
    """The queries that miss objects, each once, and how many objects each of them misses. These are
    columns, because a million queries may have been registered since objects were forgotten."""

    queries: pa.Array
    objects: Integers

    def plus(self, more: Mapping[str, int]) -> Missing:
        """With so many more for each of these queries."""
        names = pa.array(list(more), pa.string())
        counts = np.array(list(more.values()), np.int64)
        # The million queries are looked up among the few, since the latter are hashed faster.
        known = pc.index_in(self.queries, value_set=names)
        mine, places = known.is_valid().to_numpy(zero_copy_only=False), known.drop_null().to_numpy()
        objects, is_new = self.objects.copy(), np.ones(len(names), np.bool_)
        objects[mine] += counts[places]
        is_new[places] = False
        return Missing(
            pa.concat_arrays([self.queries, names.filter(pa.array(is_new))]),
            np.concatenate([objects, counts[is_new]]),
        )

    def matched(self, counts: Mapping[str, int]) -> Integers:
        """The numbers that these counts have for its queries, 0 where they have none."""
        zeros = self._replace(objects=np.zeros_like(self.objects))
        return zeros.plus(counts).objects[: len(self.objects)] if counts else zeros.objects


NOTHING = Missing(pa.array([], pa.string()), np.empty(0, np.int64))


class Accuracy:
    """The accuracy of answers, counted when it is asked for, until `invalidate` is called."""

    def __init__(self, answers: Answers, given_up: GivenUpObjects):
        self._answers, self._given_up = answers, given_up
        self._missing: Missing | None = None

    def invalidate(self) -> None:
        """What queries miss has changed."""
        self._missing = None

    def by_query(self, shares: Doubles | None = None) -> dict[str, float]:
        """The accuracy of each query that misses objects; `shares` if they are known."""
        shares = self.shares() if shares is None else shares
        return dict(zip(self.missing().queries.to_pylist(), shares.tolist(), strict=True))

    def shares(self) -> Doubles:
        """The accuracies, in the order of the queries that miss objects. A query of k nearest
        neighbours may have others in the place of those that it misses."""
        missing = self.missing()
        if not len(missing.queries):
            return np.empty(0)
        answers = self._answers
        held = value_counts(answers.members(answers.objects.columns()).ids)
        whole = missing.matched(held) + missing.objects
        k = missing.matched(answers.proximity.ranked())
        whole = np.where(k > 0, np.minimum(whole, k), whole)
        shares: Doubles = np.maximum(whole - missing.objects, 0) / whole
        return shares

    def overall(self, answers: int) -> float:
        """The part of all answers that is there, where so many are; the least possible where some
        objects are forgotten."""
        missing = self.missing()
        if not len(missing.queries):
            return 1.0
        is_ranked = missing.matched(self._answers.proximity.ranked()) > 0
        wrong, missed = (int(missing.objects[of].sum()) for of in (is_ranked, ~is_ranked))
        whole = answers + missed
        return max(answers - wrong, 0) / whole if whole else 1.0

    def missing(self) -> Missing:
        """How many objects each query misses."""
        if self._missing is None:
            self._answers.proximity.operator()
            given_up = self._given_up
            shrunk = self._answers.queries.are_shrunk
            incomplete = given_up.shadows or shrunk or given_up.forgotten.objects
            self._missing = self._counted() if incomplete else NOTHING
        return self._missing

    def _counted(self) -> Missing:
        """Shadows that would be in answers; those that were forgotten and may be; and where queries
        are smaller, who would be with the whole regions."""
        answers, given_up = self._answers, self._given_up
        missing = self._in_whole(given_up.columns(), None)
        if answers.queries.are_shrunk:
            columns = answers.objects.columns()
            missing += self._in_whole(columns, answers.proximity.seats)
            missing -= Counter(answers.members(columns, ranked=False).ids.to_pylist())
        if not given_up.forgotten.objects:
            return NOTHING.plus(missing)
        return self._forgotten().plus(missing)

    def _forgotten(self) -> Missing:
        """How many forgotten objects each query may miss: a query that moves, all of them; a query
        that stays, those that it held and those that were forgotten before it was registered."""
        queries, forgotten = self._answers.queries, self._given_up.forgotten
        ids, versions = queries.shared.registered_after(forgotten.oldest)
        moving = list(self._answers.proximity.names())
        stays = ~is_among(ids, pa.array([*queries.lives.ended(), *moving], pa.string()))
        earlier = forgotten.before(versions[stays])
        held = Counter(
            {name: n for name, n in forgotten.answers.items() if queries.lives.is_alive(name)}
        )
        every = dict.fromkeys(moving, forgotten.objects)
        return Missing(ids.filter(pa.array(stays)), earlier).plus(held).plus(every)

    def _in_whole(self, columns: Columns, seats: Small | None) -> Counter[str]:
        """How many of these objects each query holds, with its whole region; of nearest neighbours,
        shadows alone."""
        answers = self._answers
        counts = value_counts(answers.entered(columns, answers.queries.shared).ids)
        if answers.proximity:
            _, ids, inside, _ = answers.proximity.looking(columns, seats, whole=True)
            if seats is not None:
                inside &= ~answers.proximity.is_ranked(ids)
            counts += value_counts(ids.filter(pa.array(inside)))
        return counts
