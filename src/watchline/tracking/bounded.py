"""What a tracker does under a bound: it gives objects up, takes some back, and knows how accurate
its answers still are. See `shedding` for which ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.evaluate import Columns
from watchline.model import Shed, Stream
from watchline.moving.events import Events
from watchline.moving.queries import Moving
from watchline.moving.tables import RETURN, SHED
from watchline.reasons import ENTERED, LEFT, Reason
from watchline.tracking.changes import change_table
from watchline.tracking.flips import Moves
from watchline.tracking.mover import Mover, Pairs
from watchline.tracking.mover import places as points_of
from watchline.tracking.shedding import (
    GOAL,
    Guards,
    Shadows,
    chosen,
    needed,
    pairs_by_object,
    threshold_of,
)
from watchline.tracking.shrinking import WHOLE, Sizes, shrunk_watcher
from watchline.tracking.watcher import QueryFlips, Term, Watcher

Integers = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


# Queries grow again where objects are less than this part of the bound.
ROOM = 0.75


class Bounded:
    """The part of a tracker that keeps it within its bound."""

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
    # Objects that were given up, and how many queries must look at one that is not.
    _shadows: Shadows
    _threshold: int
    # How much is left of queries, and these, unless they are whole.
    _sizes: Sizes
    _small: Watcher | None
    # How many objects each query misses, unless that has changed.
    _missed: dict[str, int] | None

    def _moving(self) -> Mover | None:
        """The mover, if there is a query for it."""
        if self._mover is None and self.stream.point is not None:
            queries = self._watcher.moving(self.version)
            if any(map(len, queries)):
                self._mover = self._mover_of(map(self._alive, queries), self._waiting)
        return self._mover

    def _mover_of(self, queries: Iterable[Moving], waiting: dict[str, tuple[int, int]]) -> Mover:
        return Mover.over(
            self.stream,
            self._parts,
            queries,
            waiting,
            self._objects,
            self._others,
            self._held,
            self._sizes,
        )

    def _alive(self, queries: Moving) -> Moving:
        """Without those whose life is over."""
        over = [
            name in self._terms and name not in self._births for name in queries.ids.to_pylist()
        ]
        return queries.take(np.flatnonzero(~np.array(over, dtype=np.bool_)))

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

    def __len__(self) -> int:
        return int(self._objects.num_rows)

    def _relieve(self, fresh: Mask) -> list[pa.Table]:
        """After a batch: give up objects where there are too many, take back what queries with a
        least accuracy need. `fresh`: objects whose rows just came."""
        kept = self.stream.retention
        if kept is None or kept.sheds is None:
            return [] if self._sizes == WHOLE else [self._resized(WHOLE)]
        found = []
        if kept.sheds is Shed.QUERIES:
            self._threshold = 1
            found += self._shrink()
        elif self._sizes != WHOLE:
            found.append(self._resized(WHOLE))
        bound = self._bound() if kept.sheds is Shed.OBJECTS else len(self)
        if len(self) > bound or self._threshold > 1:
            victims = self._victims(fresh, bound)
            if len(victims):
                found.append(self._give_up(victims))
        if self._shadows.full.num_rows:
            back = needed(self._guards(Columns(self._shadows.full, self.stream), None))
            if len(back):
                found.append(self._take_back(back))
        self._counts["over_limit"] += len(self) > self._bound()
        self._missed = None
        return found

    def _shrink(self) -> list[pa.Table]:
        """Smaller queries where there are too many objects; larger ones again where there is room,
        a step in each batch."""
        found = []
        while len(self) > self._bound() and not self._sizes.is_last:
            found.append(self._resized(replace(self._sizes, step=self._sizes.step + 1)))
        if not found and self._sizes.step and len(self) <= ROOM * self._bound():
            step = self._sizes.step - 1
            found.append(self._resized(replace(self._sizes, step=step) if step else WHOLE))
        if self._sizes.step and (short := self._short()):
            locked = self._sizes.locked | short
            found.append(self._resized(replace(self._sizes, locked=locked)))
        return found

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

    def _ranked(self) -> set[str]:
        """The queries of nearest neighbours."""
        return set() if self._mover is None else self._mover.ranked()

    def _is_ranked(self, ids: pa.Array) -> Mask:
        ranked = pa.array(sorted(self._ranked()), pa.string())
        return pc.is_in(ids, value_set=ranked).to_numpy(zero_copy_only=False)

    def _asked(self) -> Watcher:
        """The queries that a row alone decides, in their sizes."""
        if self._sizes == WHOLE:
            return self._watcher
        if self._small is None:
            self._small = shrunk_watcher(self._watcher, self._sizes)
        return self._small

    def _seen(self, rows: pa.Table) -> Mask:
        """Whether some query looks at these, or would with its whole region."""
        columns = Columns(rows, self.stream)
        seen = self._holds(columns, self._watcher) > 0
        if self._mover is not None:
            more, _, _ = self._mover.looking(columns, np.full(len(seen), -1, np.int32), whole=True)
            seen[more] = True
        return seen

    def _prune_shadows(self) -> None:
        """After a version: no shadows of objects that no query would look at."""
        if self._shadows:
            self._shadows = self._shadows.where(self._seen(self._shadows.rows()))
            self._missed = None

    def _cast_shadows(self, gone: pa.Table) -> None:
        """Objects that no query looks at any more, but some would with its whole region."""
        gone = gone.filter(pa.array(self._seen(gone)))
        if gone.num_rows:
            # Whoever demands an accuracy may be locked, and then needs them.
            pinned = np.full(gone.num_rows, bool(self._least()))
            self._shadows = self._shadows.joined(gone, pinned, self.stream, self._watcher.used())
            self._counts["shed"] += gone.num_rows
        self._missed = None

    def _bound(self) -> int:
        """How many objects there may be."""
        kept = self.stream.retention
        assert kept is not None
        if kept.max_objects is not None:
            return kept.max_objects
        assert kept.max_bytes is not None
        n = len(self)
        if not n:
            return n
        each = self._bytes_of_objects() / n
        over = self._bytes_of_objects() + self._shadows.nbytes - kept.max_bytes
        if over <= 0:
            return n + int(-over / each)
        # What is given up leaves a shadow.
        names = self._shadows.slim.column_names
        shadow = self._objects.select(names).nbytes / n
        return max(n - int(np.ceil(over / max(each - shadow, 1.0))), 0)

    def _bytes_of_objects(self) -> int:
        entry = 4 if self._mover is None else self._mover.entry_bytes
        return int(self._objects.nbytes) + entry * len(self)

    def _refs(self) -> Integers:
        """How many queries look at each object."""
        return self._held if self._mover is None else self._held + self._mover.refs()

    def _victims(self, fresh: Mask, bound: int) -> Integers:
        """Objects to give up: such that few queries look at."""
        n, goal = len(self), int(GOAL * bound)
        refs = self._refs()
        free = np.ones(n, np.bool_) if self._mover is None else ~self._mover.is_followed()
        if self._threshold == 1:
            self._threshold = threshold_of(refs[free], n - goal)
        lazy = free & fresh & (refs < self._threshold)
        others = np.flatnonzero(free & ~lazy)
        first = np.flatnonzero(lazy)
        order = np.concatenate(
            [
                first[np.argsort(refs[first], kind="stable")],
                others[np.argsort(refs[others], kind="stable")],
            ]
        )
        guards = self._guards(Columns(self._objects, self.stream), self._slots())
        victims = chosen(order, len(first), max(n - goal, 0), max(n - bound, 0), guards)
        if n - len(victims) <= goal:
            self._threshold = 1
        return victims

    def _slots(self) -> Slots:
        return np.empty(0, np.int32) if self._mover is None else self._mover.slots

    def _slots_at(self, places: Integers) -> Slots:
        return np.empty(0, np.int32) if self._mover is None else self._mover.slots[places]

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

    def _least(self) -> dict[str, float]:
        """The living queries with a least accuracy."""
        return {
            name: least
            for name, least in self._watcher.guards().items()
            if name not in self._terms or name in self._births
        }

    def _looking(
        self, columns: Columns, slots: Slots | None, names: pa.Array
    ) -> tuple[Integers, Integers, Mask]:
        """Rows, the places in `names` of queries that look at them, and whether they are in the
        answers or would be."""
        rows, ids = self._asked().holding(columns, names.to_pylist())
        inside = np.ones(len(rows), np.bool_)
        if self._mover is not None:
            of = np.full(len(columns), -1, np.int32) if slots is None else slots
            more, who, within = self._mover.looking(columns, of)
            rows = np.concatenate([rows, more])
            ids = pa.concat_arrays([ids, who])
            inside = np.concatenate([inside, within])
        places = pc.index_in(ids, value_set=names)
        wanted = places.is_valid().to_numpy(zero_copy_only=False)
        return rows[wanted], places.drop_null().to_numpy().astype(np.int64), inside[wanted]

    def _give_up(self, places: Integers) -> pa.Table:
        """These objects leave all answers, and cast shadows."""
        gone = self._objects.take(pa.array(places))
        pinned = np.zeros(len(places), np.bool_)
        if names := list(self._least()):
            of, slots = Columns(gone, self.stream), self._slots_at(places)
            rows, _, _ = self._looking(of, slots, pa.array(names, pa.string()))
            pinned[rows] = True
        rows_of = pa.concat_tables([self._objects, self._others])
        changes = self._exchanged(rows_of, places, SHED, self._slots_at(places))
        kept = np.ones(len(self), np.bool_)
        kept[places] = False
        self._keep(kept)
        self._shadows = self._shadows.joined(gone, pinned, self.stream, self._watcher.used())
        self._counts["shed"] += len(places)
        return changes

    def _take_back(self, places: Integers) -> pa.Table:
        """Objects that were given up, by their places among whole rows, are here again."""
        self._shadows, back = self._shadows.without(places)
        n = len(self)
        rows_of = pa.concat_tables([self._objects, self._others, back])
        new = len(rows_of) - len(back) + np.arange(len(back))
        slots = np.empty(0, np.int32)
        if self._mover is not None:
            slots = self._mover.enrol(back[self.stream.object].combine_chunks(), True)
        changes = self._exchanged(rows_of, new, RETURN, slots)
        held = self._holds(Columns(back, self.stream))
        self._objects = pa.concat_tables([self._objects, back])
        self._held = np.concatenate([self._held, held])
        if self._mover is not None:
            self._mover.slots = np.concatenate([self._mover.slots, slots]).astype(np.int32)
        self._keep(np.ones(n + len(back), np.bool_))
        return changes

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
        over = pa.array([n for n in self._terms if n not in self._births], pa.string())
        return flips.chosen(~pc.is_in(flips.ids, value_set=over).to_numpy(zero_copy_only=False))

    def _exchanged(self, rows: pa.Table, places: Integers, kind: int, slots: Slots) -> pa.Table:
        """What answers do when the objects of these rows go, or come back, one after the other."""
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
        reasons = np.where(signs > 0, ENTERED[kind], LEFT[kind])
        return change_table(
            self.stream,
            rows,
            row[order],
            ids.take(pa.array(order)),
            signs[order],
            np.full(len(order), now),
            reasons[order],
        )

    def _keep(self, kept: Mask) -> None:
        """These objects, unless they were let go meanwhile."""
        if self._mover is not None:
            slots = self._mover.slots
            kept = kept & self._mover.is_here(slots)
            self._mover.settle(slots[kept], slots[~kept], self._mover.other_slots)
        self._objects, self._held = self._objects.filter(pa.array(kept)), self._held[kept]

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

    # --- accuracy

    def accuracies(self) -> dict[str, float]:
        """Of each query that misses objects: the part of its answer that it has."""
        missing = self._missing()
        if not missing:
            return {}
        held = _value_counts(self._inside(Columns(self._objects, self.stream)).ids)
        ranked = self._ranked()
        return {
            name: _accuracy(name in ranked, held[name], missed) for name, missed in missing.items()
        }

    def _missing(self) -> dict[str, int]:
        """How many objects each query misses."""
        if self._missed is None:
            self._missed = self._count_missing() if self._shadows or self._sizes.step else {}
        return self._missed

    def _count_missing(self) -> dict[str, int]:
        """Shadows that would be in answers; and where queries are smaller, who would be with the
        whole regions."""
        missing = self._counted(Columns(self._shadows.rows(), self.stream), None)
        if self._sizes.step:
            columns = Columns(self._objects, self.stream)
            missing += self._counted(columns, self._slots())
            missing -= Counter(self._answers(columns).ids.to_pylist())
        return dict(+missing)

    def _counted(self, columns: Columns, slots: Slots | None) -> Counter[str]:
        """How many of these objects each query holds, with its whole region; of nearest neighbours,
        shadows alone."""
        counts = _value_counts(self._entered(columns, self._watcher).ids)
        if self._mover is not None:
            of = np.full(len(columns), -1, np.int32) if slots is None else slots
            _, ids, inside = self._mover.looking(columns, of, whole=True)
            if slots is not None:
                inside &= ~self._is_ranked(ids)
            counts += _value_counts(ids.filter(pa.array(inside)))
        return counts

    def _accuracy(self) -> float:
        """The part of all answers that is there."""
        missing = self._missing()
        ranked = self._ranked()
        wrong = sum(n for name, n in missing.items() if name in ranked)
        missed = sum(missing.values()) - wrong
        answers = self._counts["answers"]
        whole = answers + missed
        return max(answers - wrong, 0) / whole if whole else 1.0


def _value_counts(ids: pa.Array) -> Counter[str]:
    counted = pc.value_counts(ids)
    names, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    return Counter(dict(zip(names, counts, strict=True)))


def _accuracy(ranked: bool, held: int, missed: int) -> float:
    """Of one query: a nearest-neighbour query has others in the place of those it misses."""
    if ranked:
        return max(held - missed, 0) / held if held else 1.0
    return held / (held + missed) if held + missed else 1.0
