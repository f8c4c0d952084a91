"""An index over objects, by which queries that are registered or dropped find their members.

It has the slots of objects in the order of an attribute: numbers by value, texts by their hash.
The attributes are those that some opening or closing asked about. Rows are only noted; the next
search looks at all that were noted, and where these are many, they are put into the order. So a
batch pays for its rows, a search for its candidates and the rows since the last search, and a
stream whose queries stay pays nothing: an index that nobody asks is given up when as many rows have
been noted as there are objects.

Candidates are a superset: who asks must look at their rows, which are always the latest.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Array, Doubles, Integers, Mask, Small
from watchline.kernels.buffers import longer_with
from watchline.kernels.compiled import kernel
from watchline.matching import Part, Plan, RegionPart
from watchline.model import Attribute, Type
from watchline.rows import NumberColumn, SlotColumn, StringColumn, text_hashes

# A search of so few objects is a look at all.
LEAST_OBJECTS = 4_096
# All are looked at where candidates would be more than this part of them.
MOST_CANDIDATES = 0.25
# The index is given up when so many rows for each object were noted since the last search.
PATIENCE = 1.0
# Rows that were noted are put into the order where they are more than this part of the objects.
FOLDED = 0.125
# Another attribute is put into order where a box has more than this part of the objects otherwise.
NARROW = 0.004
NUMBERS = (Type.DOUBLE, Type.BIGINT, Type.TIMESTAMP)


class IndexedObjects(Protocol):
    """What the index needs of a table of objects."""

    def __len__(self) -> int: ...

    @property
    def room(self) -> int: ...

    def slot_column(self, attribute: Attribute) -> SlotColumn: ...

    def find(self, ids: pa.Array) -> Integers: ...

    def distinct(self, slots: Integers) -> tuple[Integers, Integers]: ...

    def is_alive(self, slots: Integers) -> Mask: ...

    def places(self) -> Integers: ...


class Order:
    """The slots of objects in the order of their keys; those without a key are not there."""

    def __init__(self, keys: Array, slots: Integers):
        order = np.argsort(keys, kind="stable")
        self.keys: Array = keys[order]
        self.slots: Small = slots[order].astype(np.int32)
        # Whether a search asked since rows were last put in.
        self.is_used = True

    def fold(self, stale: Mask, keys: Array, slots: Integers) -> None:
        """Take out the slots that are stale, and put in others."""
        kept = ~stale[self.slots]
        old, fresh = self.keys[kept], Order(keys, slots)
        places = np.searchsorted(old, fresh.keys)
        self.keys = np.insert(old, places, fresh.keys)
        self.slots = np.insert(self.slots[kept], places, fresh.slots)

    @property
    def nbytes(self) -> int:
        return int(self.keys.nbytes + self.slots.nbytes)


class Stretches(NamedTuple):
    """For each box, the places in an order that may have its members."""

    order: Order
    first: Integers
    end: Integers


class ObjectIndex:
    """Orders of the objects of a table, by attribute, and the slots that were written since."""

    def __init__(self, table: IndexedObjects):
        self._table = table
        self._orders: dict[Attribute, Order] = {}
        self._noted: list[Integers] = []
        self._count = 0
        # The slots that were written since rows were last put in, each once and as a mask.
        self._stale: Small = np.empty(0, np.int32)
        self._is_stale: Mask = np.zeros(0, np.bool_)

    @property
    def nbytes(self) -> int:
        orders = sum(order.nbytes for order in self._orders.values())
        return int(orders + self._stale.nbytes + self._is_stale.nbytes + 8 * self._count)

    def note(self, slots: Integers) -> bool:
        """These slots were written. False if so many were that the index is not worth keeping."""
        self._noted.append(slots)
        self._count += len(slots)
        return self._count <= max(LEAST_OBJECTS, PATIENCE * len(self._table))

    def candidates(self, made: Plan, own_id: Attribute) -> Integers | None:
        """Slots that have all members of the queries; None if all objects are to be looked at."""
        self._look()
        found, total = [np.empty(0, np.int64)], float(len(self._stale))
        for part in made.parts:
            if part.key == own_id:
                slots = self._table.find(_values_of_runs(made, part))
                found.append(slots[slots >= 0])
                continue
            ways = self._ways(made, part.around() if isinstance(part, RegionPart) else part)
            if not ways:
                return None
            counts = np.stack([np.where(w.first < 0, np.inf, w.end - w.first) for w in ways])
            total += counts.min(axis=0).sum()
            if total > MOST_CANDIDATES * len(self._table):
                return None
            best = counts.argmin(axis=0)
            for k, (order, first, end) in enumerate(ways):
                mine = best == k
                found.append(_gathered(order.slots, first[mine], end[mine], self._is_stale))
        found.append(self._stale.astype(np.int64))
        slots, _ = self._table.distinct(np.concatenate(found))
        return slots[self._table.is_alive(slots)]

    def _ways(self, made: Plan, part: Part) -> list[Stretches]:
        """The orders in which boxes can be searched; first is -1 for boxes that do not ask."""
        n, ways = len(part.numbers), []
        fewest = np.full(n, np.inf)
        asked: list[tuple[Attribute, Mask, Doubles | pa.Array, Doubles | None]] = []
        if part.key is not None and part.key.type is Type.STRING:
            values = _values_of_runs(made, part)
            values = values.take(pa.array(np.repeat(np.arange(len(values)), np.diff(part.starts))))
            asked.append((part.key, np.ones(n, np.bool_), values, None))
        for k, axis in enumerate(part.axes):
            looks = ~np.isnan(part.hi[k])
            if axis.type is Type.STRING:
                codes = np.where(looks, part.lo[k], 0).astype(np.int64)
                asked.append((axis, looks, made.dictionaries[axis].take(pa.array(codes)), None))
            elif axis.type in NUMBERS:
                asked.append((axis, looks, part.lo[k], part.hi[k]))
        # Orders that are there first: another one is made only where these leave many candidates.
        asked.sort(key=lambda of: of[0] not in self._orders)
        many = NARROW * len(self._table)
        for attribute, looks, lo, hi in asked:
            if attribute not in self._orders and not (looks & (fewest > many)).any():
                continue
            order = self._order(attribute)
            first, end = _stretch(order, lo, hi)
            ways.append(Stretches(order, np.where(looks, first, -1), end))
            fewest = np.where(looks, np.minimum(fewest, end - first), fewest)
        return [] if np.isinf(fewest).any() else ways

    def _order(self, attribute: Attribute) -> Order:
        """The order of an attribute, made now if nobody asked about it before."""
        if attribute not in self._orders:
            keys, slots = self._keyed(attribute, self._table.places())
            self._orders[attribute] = Order(keys, slots)
        order = self._orders[attribute]
        order.is_used = True
        return order

    def _keyed(self, attribute: Attribute, slots: Integers) -> tuple[Array, Integers]:
        """The keys of living slots, and the slots, without those that no box can hold."""
        column = self._table.slot_column(attribute)
        slots = slots[column.validity.mask[slots]]
        if isinstance(column, StringColumn):
            return column.hashes(slots), slots
        assert isinstance(column, NumberColumn)
        # As matching sees numbers.
        keys = column.values[slots].astype(np.float64)
        finite = np.isfinite(keys)
        return keys[finite], slots[finite]

    def _look(self) -> None:
        """Take in what was noted."""
        if self._table.room > len(self._is_stale):
            self._is_stale = longer_with(self._is_stale, self._table.room, 0)
        if self._noted:
            slots = np.concatenate(self._noted)
            fresh = _newly_marked(slots, self._is_stale)
            self._stale = np.concatenate([self._stale, fresh])
            self._noted, self._count = [], 0
        if len(self._stale) > max(LEAST_OBJECTS, FOLDED * len(self._table)):
            self._fold()

    def _fold(self) -> None:
        """Put the slots that were written into all orders that are used."""
        self._orders = {name: order for name, order in self._orders.items() if order.is_used}
        slots = self._stale.astype(np.int64)
        slots = slots[self._table.is_alive(slots)]
        for attribute, order in self._orders.items():
            order.fold(self._is_stale, *self._keyed(attribute, slots))
            order.is_used = False
        self._is_stale[self._stale] = False
        self._stale = self._stale[:0]


def _values_of_runs(made: Plan, part: Part) -> pa.Array:
    """The key value of each run."""
    assert part.key is not None
    return made.dictionaries[part.key].take(pa.array(part.codes))


def _stretch(order: Order, lo: Doubles | pa.Array, hi: Doubles | None) -> tuple[Integers, Integers]:
    """From where to where the values stand that are in [lo, hi), or equal to texts."""
    if hi is None:
        hashes = text_hashes(lo)
        first = np.searchsorted(order.keys, hashes)
        return first, np.searchsorted(order.keys, hashes, side="right")
    first = np.searchsorted(order.keys, lo)
    return first, np.maximum(np.searchsorted(order.keys, hi), first)


@kernel
def _newly_marked(slots: Integers, marks: Mask) -> Small:
    """Mark these slots; those that were not marked before, each once."""
    fresh = np.empty(len(slots), np.int32)
    n = 0
    for s in slots:
        if not marks[s]:
            marks[s] = True
            fresh[n] = s
            n += 1
    return fresh[:n].copy()


@kernel
def _gathered(slots: Small, first: Integers, end: Integers, stale: Mask) -> Integers:
    """The slots of all stretches that are not stale."""
    room = 0
    for i in range(len(first)):
        room += end[i] - first[i]
    found = np.empty(room, np.int64)
    n = 0
    for i in range(len(first)):
        for j in range(first[i], end[i]):
            s = slots[j]
            if not stale[s]:
                found[n] = s
                n += 1
    return found[:n].copy()
