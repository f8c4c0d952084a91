"""Which objects are in which answers of a tracker, what exchanges of objects change in them, and
how accurate they are.

The latest rows decide all answers, so nothing is kept here but what the tracker has anyway. The
accuracy of an answer is counted: objects in it, beside shadows that would be in it (`shedding`) and
those that were forgotten (`forgotten`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.evaluate import Columns
from watchline.model import Stream
from watchline.moving.events import Events
from watchline.moving.queries import Moving
from watchline.moving.tables import RETURN
from watchline.reasons import ENTERED, LEFT, Reason
from watchline.tracking.changes import change_table
from watchline.tracking.flips import Moves
from watchline.tracking.forgotten import Forgotten
from watchline.tracking.mover import Mover, Pairs
from watchline.tracking.mover import places as points_of
from watchline.tracking.shedding import Shadows
from watchline.tracking.shrinking import WHOLE, Sizes, shrunk_watcher
from watchline.tracking.watcher import QueryFlips, Term, Watcher

Integers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Slots = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


class Looked(NamedTuple):
    """Three counts for each of some objects. `looks`: the queries that look at the object, of any
    kind. `steady`: those of them that are not kNN queries. `answers`: those of the steady ones that
    have the object in their answer, or would have it if the tracker kept the object."""

    looks: Integers
    steady: Integers
    answers: Integers


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
        found = pc.index_in(self.queries, value_set=names)
        mine, places = found.is_valid().to_numpy(zero_copy_only=False), found.drop_null().to_numpy()
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


class Answers:
    """The part of a tracker that knows its answers."""

    stream: Stream
    version: int
    _parts: int
    _watcher: Watcher
    _mover: Mover | None
    _objects: pa.Table
    _others: pa.Table
    # How many queries that a row alone decides hold each object, if that is known.
    _held: Integers
    _is_held_known: bool
    # Focal objects that moving queries wait for.
    _waiting: dict[str, tuple[int, int]]
    _newest: int | None
    _births: dict[str, int | None]
    _terms: dict[str, Term]
    _counts: Counter[str]
    # Objects that were given up, and those of them that were forgotten.
    _shadows: Shadows
    _forgotten: Forgotten
    # How much is left of queries, and these, unless they are whole.
    _sizes: Sizes
    _small: Watcher | None
    # How many objects each query misses, unless that has changed.
    _missed: Missing | None

    def __len__(self) -> int:
        return int(self._objects.num_rows)

    def _moving(self) -> Mover | None:
        """The mover, if there is a query for it."""
        if self._mover is None and self.stream.point is not None:
            queries = self._watcher.moving(self.version)
            if any(map(len, queries)):
                self._mover = self._mover_of(map(self._alive, queries), self._waiting)
        return self._mover

    def _mover_of(
        self,
        queries: Iterable[Moving],
        waiting: dict[str, tuple[int, int]],
        sizes: Sizes | None = None,
    ) -> Mover:
        return Mover.over(
            self.stream,
            self._parts,
            queries,
            waiting,
            self._objects,
            self._others,
            self._held,
            self._sizes if sizes is None else sizes,
        )

    def _alive(self, queries: Moving) -> Moving:
        """Without those whose life is over."""
        alive = [self._is_alive(name) for name in queries.ids.to_pylist()]
        return queries.take(np.flatnonzero(np.array(alive, dtype=np.bool_)))

    def _is_alive(self, name: str) -> bool:
        return name not in self._terms or name in self._births

    def _over(self) -> list[str]:
        """The queries whose life is over."""
        return [name for name in self._terms if name not in self._births]

    def _slots(self) -> Slots:
        return np.empty(0, np.int32) if self._mover is None else self._mover.slots

    def _slots_at(self, places: Integers) -> Slots:
        return np.empty(0, np.int32) if self._mover is None else self._mover.slots[places]

    def _refs(self) -> Integers:
        """How many queries look at each object."""
        return self._held if self._mover is None else self._held + self._mover.refs()

    def _least(self) -> dict[str, float]:
        """The living queries with a least accuracy."""
        return {
            name: least for name, least in self._watcher.guards().items() if self._is_alive(name)
        }

    def _asked(self) -> Watcher:
        """The queries that a row alone decides, in their sizes."""
        if self._sizes == WHOLE:
            return self._watcher
        if self._small is None:
            self._small = shrunk_watcher(self._watcher, self._sizes)
        return self._small

    def _answers(self, columns: Columns) -> Pairs:
        """Who is in the answers of queries that are not merged."""
        return self._inside(columns, ranked=False)

    def _inside(self, columns: Columns, ranked: bool = True) -> Pairs:
        """Who is in the answers of queries, with those of nearest neighbours or without."""
        flips = self._entered(columns)
        found = Pairs(flips.moves, flips.ids)
        if self._mover is None:
            return found
        more, ids, inside = self._mover.looking(columns, self._mover.slots)
        if not ranked:
            inside &= ~self._is_ranked(ids)
        return Pairs(
            np.concatenate([found.rows, more[inside]]),
            pa.concat_arrays([found.ids, ids.filter(pa.array(inside))]),
        )

    def _ranked(self) -> dict[str, int]:
        """The queries of nearest neighbours, and how many they ask for."""
        return {} if self._mover is None else self._mover.ranked()

    def _is_ranked(self, ids: pa.Array) -> Mask:
        ranked = pa.array(sorted(self._ranked()), pa.string())
        return pc.is_in(ids, value_set=ranked).to_numpy(zero_copy_only=False)

    def _holds(self, columns: Columns, watcher: Watcher | None = None) -> Integers:
        """How many queries that a row alone decides hold each of these, in their sizes or as this
        watcher has them."""
        return np.bincount(self._entered(columns, watcher).moves, minlength=len(columns))

    def _entered(self, columns: Columns, watcher: Watcher | None = None) -> QueryFlips:
        """Rows that come from nowhere, and the queries that they enter."""
        rows = np.arange(len(columns))
        moves = Moves(np.full(len(rows), -1), rows)
        return self._alive_flips((watcher or self._asked()).flips(columns, moves))

    def _alive_flips(self, flips: QueryFlips) -> QueryFlips:
        """Without those of queries whose life is over."""
        if not flips.mortal.any():
            return flips
        over = pa.array(self._over(), pa.string())
        return flips.chosen(~pc.is_in(flips.ids, value_set=over).to_numpy(zero_copy_only=False))

    def _looked(self, columns: Columns) -> Looked:
        """Who looks at these objects, which are not here, or would with its whole region."""
        held = self._holds(columns, self._watcher)
        if self._mover is None:
            return Looked(held, held, held)
        n = len(held)
        rows, ids, inside = self._mover.looking(columns, None, whole=True)
        ranges = ~self._is_ranked(ids)
        looks, steady, answers = (
            held + np.bincount(rows[chosen], minlength=n)
            for chosen in (slice(None), ranges, ranges & inside)
        )
        return Looked(looks, steady, answers)

    def _looking(
        self, columns: Columns, slots: Slots | None, names: pa.Array
    ) -> tuple[Integers, Integers, Mask]:
        """Rows, the places in `names` of queries that look at them, and whether they are in the
        answers or would be."""
        rows, ids = self._asked().holding(columns, names.to_pylist())
        inside = np.ones(len(rows), np.bool_)
        if self._mover is not None:
            more, who, within = self._mover.looking(columns, slots)
            rows = np.concatenate([rows, more])
            ids = pa.concat_arrays([ids, who])
            inside = np.concatenate([inside, within])
        places = pc.index_in(ids, value_set=names)
        wanted = places.is_valid().to_numpy(zero_copy_only=False)
        return rows[wanted], places.drop_null().to_numpy().astype(np.int64), inside[wanted]

    def _exchanged(
        self, rows: pa.Table, places: Integers, kind: int, slots: Slots, strange: Mask
    ) -> pa.Table:
        """What answers do when the objects of these rows go, or come back, one after the other; or
        when strangers come."""
        columns, n = Columns(rows, self.stream), len(places)
        nowhere = np.full(n, -1)
        moves = Moves(nowhere, places) if kind == RETURN else Moves(places, nowhere)
        flips = self._alive_flips(self._asked().flips(columns, moves))
        event, ids, signs, row = flips.moves, flips.ids, flips.signs, places[flips.moves]
        now = self._newest or 0
        if self._mover is not None:
            mine = columns.take(places)
            happened = self._mover.run(
                Events(
                    np.full(n, kind, np.int8),
                    np.full(n, now),
                    slots.astype(np.int64),
                    points_of(mine, self.stream),
                    places,
                    *self._mover.ask(mine),
                    np.bincount(flips.moves, flips.signs, n).astype(np.int64),
                ),
                rows,
                now,
            )
            event = np.concatenate([event, happened.event])
            ids = pa.concat_arrays([ids, happened.ids])
            signs = np.concatenate([signs, happened.sign])
            row = np.concatenate([row, happened.row])
        order = np.lexsort((signs, event))
        entered = np.where(strange[event], Reason.ENTER, ENTERED[kind])
        reasons = np.where(signs > 0, entered, LEFT[kind])
        return change_table(
            self.stream,
            rows,
            row[order],
            ids.take(pa.array(order)),
            signs[order],
            np.full(len(order), now),
            reasons[order],
        )

    def _opened(
        self,
        old: Sequence[Pairs],
        new: Sequence[Pairs],
        why: tuple[Reason, Reason] = (Reason.DROPPED, Reason.REGISTERED),
    ) -> pa.Table:
        """The difference of two sets of answers; a query that was replaced changes by it alone.
        `why` it leaves and enters."""
        sides = []
        for pairs in (old, new):
            rows = np.concatenate([np.empty(0, np.int64), *(r for r, _ in pairs)])
            sides.append(
                (rows, pa.concat_arrays([pa.array([], pa.string()), *(i for _, i in pairs)]))
            )
        (old_rows, old_ids), (new_rows, new_ids) = sides
        coded = pa.concat_arrays([old_ids, new_ids]).dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int64)
        count = max(len(coded.dictionary), 1)
        keys_old = old_rows * count + codes[: len(old_rows)]
        keys_new = new_rows * count + codes[len(old_rows) :]
        left = np.setdiff1d(keys_old, keys_new, assume_unique=True)
        entered = np.setdiff1d(keys_new, keys_old, assume_unique=True)
        keys = np.concatenate([left, entered])
        signs = np.repeat(np.array([-1, 1], np.int8), [len(left), len(entered)])
        reasons = np.repeat(why, [len(left), len(entered)])
        times = np.full(len(keys), self._newest or 0)
        ids = coded.dictionary.take(pa.array(keys % count))
        return change_table(self.stream, self._objects, keys // count, ids, signs, times, reasons)

    def accuracies(self) -> dict[str, float]:
        """Of each query that misses objects: the part of its answer that it has. Where shadows were
        forgotten (`stats()["unknown"]`) it is the least part that is possible."""
        return self._by_query(self._shares())

    def _by_query(self, shares: Doubles) -> dict[str, float]:
        return dict(zip(self._missing().queries.to_pylist(), shares.tolist(), strict=True))

    def _shares(self) -> Doubles:
        """The accuracies, in the order of the queries that miss objects. A query of k nearest
        neighbours may have others in the place of those that it misses."""
        missing = self._missing()
        if not len(missing.queries):
            return np.empty(0)
        held = value_counts(self._inside(Columns(self._objects, self.stream)).ids)
        whole, k = missing.matched(held) + missing.objects, missing.matched(self._ranked())
        whole = np.where(k > 0, np.minimum(whole, k), whole)
        shares: Doubles = np.maximum(whole - missing.objects, 0) / whole
        return shares

    def _missing(self) -> Missing:
        """How many objects each query misses."""
        if self._missed is None:
            self._moving()
            incomplete = self._shadows or self._sizes.step or self._forgotten.objects
            self._missed = self._count_missing() if incomplete else NOTHING
        return self._missed

    def _count_missing(self) -> Missing:
        """Shadows that would be in answers; those that were forgotten and may be; and where queries
        are smaller, who would be with the whole regions."""
        missing = self._counted(Columns(self._shadows.rows(), self.stream), None)
        if self._sizes.step:
            columns = Columns(self._objects, self.stream)
            missing += self._counted(columns, self._slots())
            missing -= Counter(self._answers(columns).ids.to_pylist())
        if not self._forgotten.objects:
            return NOTHING.plus(missing)
        return self._count_forgotten().plus(missing)

    def _count_forgotten(self) -> Missing:
        """How many forgotten objects each query may miss: a query that moves, all of them; a query
        that stays, those that it held and those that were forgotten before it was registered."""
        ids, versions = self._watcher.registered_after(self._forgotten.oldest)
        moving = [] if self._mover is None else list(self._mover.names())
        apart = pa.array([*self._over(), *moving], pa.string())
        stays = ~pc.is_in(ids, value_set=apart).to_numpy(zero_copy_only=False)
        earlier = self._forgotten.before(versions[stays])
        held = Counter(
            {name: n for name, n in self._forgotten.answers.items() if self._is_alive(name)}
        )
        every = dict.fromkeys(moving, self._forgotten.objects)
        return Missing(ids.filter(pa.array(stays)), earlier).plus(held).plus(every)

    def _counted(self, columns: Columns, slots: Slots | None) -> Counter[str]:
        """How many of these objects each query holds, with its whole region; of nearest neighbours,
        shadows alone."""
        counts = value_counts(self._entered(columns, self._watcher).ids)
        if self._mover is not None:
            _, ids, inside = self._mover.looking(columns, slots, whole=True)
            if slots is not None:
                inside &= ~self._is_ranked(ids)
            counts += value_counts(ids.filter(pa.array(inside)))
        return counts

    def _accuracy(self) -> float:
        """The part of all answers that is there; the least possible where some are forgotten."""
        missing = self._missing()
        is_ranked = missing.matched(self._ranked()) > 0
        wrong, missed = (int(missing.objects[of].sum()) for of in (is_ranked, ~is_ranked))
        answers = self._counts["answers"]
        whole = answers + missed
        return max(answers - wrong, 0) / whole if whole else 1.0


def value_counts(ids: pa.Array) -> Counter[str]:
    """How often each id occurs."""
    counted = pc.value_counts(ids)
    names, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    return Counter(dict(zip(names, counts, strict=True)))
