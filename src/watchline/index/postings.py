"""Many lists in one pool: what every index of virtual constructs keeps.

A list has ids whose boxes cover its construct whole, and *cuts*: those that cover it in part and
must be compared, with their bounds. Invariant: head c tells where list c starts and how many of
both it has. Its run in the pool has the least capacity (1, 2, 3, 4, 6, 8, 12, 16 … words) that
holds it; ids stand at the front and cuts at the back, so both can be appended, and a search
touches one place. Capacities differ by capacities: a list that became shorter cuts its run in
place, and what is left over is a free run. A list that outgrows its run moves.

Entries come as slots of the table of boxes (`rows`, `ids`), and are kept as ids; a cut has its
range with it in one dimension, and in two it is the slot itself.

Cost: eight bytes a list (sixteen once a list has more than 65,535 of a kind), at most half as much
again as the entries need; constant time to append, the list's length to remove.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from watchline.index.table import BoxTable
from watchline.kernels.arrays import Array, Doubles, Int, Integers, Small, Words
from watchline.kernels.compiled import inner, kernel, leaf
from watchline.kernels.simd import SLACK, bit_length, prefetch

CLASSES = 80
# Why an entry cannot be appended: a count is at its limit, the pool is, or there is no such list.
_FULL, _ROOM, _MISSING = -1, -2, -3
_SHORT = 2**16 - 1
# Removing fewer entries than this goes entry by entry; more go through each list once.
_MANY = 64
# Entries whose lists are fetched ahead together when they are appended.
_AHEAD = 64

_U16, _U32 = np.uint64(16), np.uint64(32)
_LOW16, _LOW32 = np.uint64(2**16 - 1), np.uint64(2**32 - 1)


class Pieces(NamedTuple):
    """Boxes decomposed: list and slot of each construct, and of each that is cut."""

    lists: Integers
    owners: Small
    cut_lists: Integers
    cut_owners: Small


class Store(NamedTuple):
    """The arrays of the lists, as kernels take them."""

    # (lists,) with start and counts in one word each; (lists, 2) once a count needs more.
    heads: Words
    words: Array
    # The same memory, as numbers: where cuts have their bounds.
    doubles: Doubles
    # Array for a cut: its bounds, its id, and one more if that keeps bounds at even places.
    cut: int
    # The first free run of each class, then how much of the pool was ever used.
    runs: Integers


class PostingLists:
    """PostingLists 0 … count-1 of boxes of so many dimensions. One more list is always empty."""

    def __init__(self, count: int, id_type: Any, dims: int):
        per_double = 8 // np.dtype(id_type).itemsize
        self._cut = 3 * per_double if dims == 1 else 1
        self._id_type = id_type
        self.whole_entries = self.cut_entries = 0
        self.store = self._made(np.zeros(count + 1, dtype=np.uint64), SLACK)

    def _made(self, heads: Words, size: int) -> Store:
        size += size % 2
        words = np.empty(size, dtype=self._id_type)
        words[-SLACK:] = 0
        runs = np.full(CLASSES + 1, -1, dtype=np.int64)
        runs[CLASSES] = 0
        return Store(heads, words, words.view(np.float64), self._cut, runs)

    def __getstate__(self) -> dict[str, Any]:
        """The words once, not a second time as numbers."""
        return self.__dict__ | {"store": self.store._replace(doubles=np.empty(0))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.store = self.store._replace(doubles=self.store.words.view(np.float64))

    def __len__(self) -> int:
        return len(self.store.heads) - 1

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self.store.heads, self.store.words, self.store.runs))

    @property
    def id_type(self) -> Any:
        return self._id_type

    def longest(self, lists: Integers) -> int:
        """The most cuts that one of these lists has."""
        return int(_most_cuts(self.store, lists))

    # --- all at once: count what will come, allot, then put

    def allot(self, wholes: Integers, cuts: Integers) -> None:
        """PostingLists of so many entries each, one after the other; all are then to be put."""
        wide = bool(max(wholes.max(initial=0), cuts.max(initial=0)) > _SHORT)
        heads = np.zeros((len(wholes) + 1, 2) if wide else len(wholes) + 1, dtype=np.uint64)
        total = int(_allot(self._made(heads, SLACK), wholes, cuts))
        if total >= 2**31 - 2 * SLACK:
            raise MemoryError("the lists of one index hold at most 2^31 words")
        self.store = self._made(heads, total + SLACK)
        self.store.runs[CLASSES] = total
        self.whole_entries, self.cut_entries = int(wholes.sum()), int(cuts.sum())

    def put(self, pieces: Pieces, boxes: BoxTable, wholes: Integers, cuts: Integers) -> None:
        """Allotted entries; `wholes` and `cuts` are how many each list still waits for."""
        _put(self.store, pieces.lists, pieces.owners, boxes.ids, wholes)
        _put_cuts(self.store, pieces.cut_lists, pieces.cut_owners, boxes.rows, boxes.ids, cuts)

    # --- entries come and go

    def append(
        self, pieces: Pieces, boxes: BoxTable, count: Callable[[], int], done: int = 0
    ) -> None:
        """Entries from number `done` on; `count` is asked for lists that are not there yet."""
        while True:
            done, why = append_to(self.store, *pieces, boxes.rows, boxes.ids, done)
            if not why:
                break
            if why == _ROOM:
                self._grow()
            elif why == _FULL:
                self._widen()
            else:
                self._extend(count())
        self.count_in(len(pieces.lists), len(pieces.cut_lists))

    def count_in(self, wholes: int, cuts: int) -> None:
        """So many entries were appended."""
        self.whole_entries += wholes
        self.cut_entries += cuts

    def remove(self, pieces: Pieces, boxes: BoxTable) -> None:
        """Drop entries that are there."""
        lists, cuts = pieces.lists, pieces.cut_lists
        ids, cut_ids = boxes.ids[pieces.owners], self._cut_ids(pieces.cut_owners, boxes)
        if len(lists) + len(cuts) < _MANY:
            _remove(self.store, lists, ids)
            _remove_cuts(self.store, cuts, cut_ids)
        else:
            _filter(self.store, np.unique(lists), np.unique(ids))
            _filter_cuts(self.store, np.unique(cuts), np.unique(cut_ids))
        self.whole_entries -= len(lists)
        self.cut_entries -= len(cuts)
        needed = self.whole_entries + self._cut * self.cut_entries
        if self.store.runs[CLASSES] > 4 * needed + 1_024:
            self._compact()

    def _cut_ids(self, owners: Small, boxes: BoxTable) -> Integers:
        return boxes.ids[owners] if self._cut > 1 else owners.astype(np.int64)

    def _extend(self, count: int) -> None:
        """More lists, empty ones."""
        old = self.store.heads
        more = np.zeros((count - len(self), *old.shape[1:]), dtype=np.uint64)
        self.store = self.store._replace(heads=np.concatenate([old, more]))

    def _grow(self) -> None:
        old = self.store
        size = len(old.words) + max(len(old.words) // 8, 1_024)
        if size > 2**31:
            raise MemoryError("the lists of one index hold at most 2^31 words")
        words = old.words
        if words.base is None and words.flags.writeable:
            # The pool is one large piece of memory: the system moves it without copying.
            words.resize(size + size % 2, refcheck=False)
        else:
            words = np.concatenate([words, np.empty(size + size % 2 - len(words), words.dtype)])
        words[-SLACK:] = 0
        self.store = old._replace(words=words, doubles=words.view(np.float64))

    def _widen(self) -> None:
        """Words with room for any count."""
        old = self.store.heads
        counts = ((old >> _U16) & _LOW16) << _U32 | old & _LOW16
        self.store = self.store._replace(heads=np.stack([old >> _U32, counts], axis=1))

    def _compact(self) -> None:
        """The same lists without the free runs between them."""
        old = self.store
        self.allot(*_counts(old))
        _copy(old, self.store)


@leaf()
def read_head(heads: Words, c: Any) -> tuple[Int, Int, Int]:
    """Where list c starts, and how many whole entries and cuts it has."""
    if heads.ndim == 2:
        counts = heads[c, 1]
        return heads[c, 0], counts >> _U32, counts & _LOW32
    head = heads[c]
    return head >> _U32, (head >> _U16) & _LOW16, head & _LOW16


@inner
def _write_head(heads: Words, c: int, start: int, wholes: int, cuts: int) -> None:
    if heads.ndim == 2:
        heads[c, 0] = np.uint64(start)
        heads[c, 1] = (np.uint64(wholes) << _U32) | np.uint64(cuts)
    else:
        heads[c] = (np.uint64(start) << _U32) | (np.uint64(wholes) << _U16) | np.uint64(cuts)


@kernel
def _list(store: Store, c: int) -> tuple[Int, Int, Int]:
    start, wholes, cuts = read_head(store.heads, c)
    return np.int64(start), np.int64(wholes), np.int64(cuts)


@inner
def _need(wholes: int, cuts: int, cut: int) -> int:
    """Array of a list; bounds may have to skip one to stand at an even place."""
    return wholes + cuts * cut + ((cuts > 0) & (cut > 1))


@kernel
def _capacity(words: int) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12 … that is enough, without a branch."""
    power = 1 << bit_length(words - 1)
    quarter = power >> 2
    return power - quarter * (words <= 3 * quarter)


@inner
def _class_of(capacity: int) -> int:
    bits = bit_length(capacity - 1)
    return 2 * bits - (1 if capacity < (1 << bits) else 0)


@kernel
def _next_smaller(capacity: int) -> int:
    if capacity <= 4:
        return capacity - 1
    power = 1 << bit_length(capacity - 1)
    return power >> 1 if capacity < power else (power >> 2) * 3


@kernel
def first_cut(start: Any, wholes: Any, cuts: Any, cut: int) -> int:
    """The word at which the cuts of a list begin; they end with its run."""
    start, wholes, cuts = np.int64(start), np.int64(wholes), np.int64(cuts)
    end = start + _capacity(_need(wholes, cuts, cut))
    if cut > 1:
        end &= ~1
    return end - cuts * cut


@inner
def _take(store: Store, capacity: int) -> int:
    """A run of this capacity, -1 if the pool has none; a free run's first word names the next."""
    kind = _class_of(capacity)
    start = store.runs[kind]
    if start >= 0:
        store.runs[kind] = store.words[start]
        return start
    start = store.runs[CLASSES]
    if start + capacity + SLACK > len(store.words):
        return -1
    store.runs[CLASSES] = start + capacity
    return start


@inner
def _give(store: Store, start: int, capacity: int) -> None:
    kind = _class_of(capacity)
    store.words[start] = store.runs[kind]
    store.runs[kind] = start


@inner
def _make_room(store: Store, c: int, wholes: int, cuts: int) -> int:
    """Where list c starts once it has a run for so many entries, or why it cannot have one.

    The head is not changed, but for the start.
    """
    if c >= len(store.heads) - 1:
        return _MISSING
    if store.heads.ndim == 1 and (wholes > _SHORT or cuts > _SHORT):
        return _FULL
    start, old_wholes, old_cuts = _list(store, c)
    old = _need(old_wholes, old_cuts, store.cut)
    capacity = _capacity(_need(wholes, cuts, store.cut))
    if old > 0 and _capacity(old) == capacity:
        return start
    to = _take(store, capacity)
    if to < 0:
        return _ROOM
    store.words[to : to + old_wholes] = store.words[start : start + old_wholes]
    # Cuts stand at the back, wherever the ids end.
    end = to + capacity
    if store.cut > 1:
        end &= ~1
    size = old_cuts * store.cut
    if size:
        block = first_cut(start, old_wholes, old_cuts, store.cut)
        store.words[end - size : end] = store.words[block : block + size]
    if old > 0:
        _give(store, start, _capacity(old))
    return to


@kernel
def append_to(
    store: Store,
    lists: Integers,
    owners: Small,
    cut_lists: Integers,
    cut_owners: Small,
    rows: Doubles,
    ids: Integers,
    done: int,
) -> tuple[int, int]:
    """Append from entry `done` on, cuts last; the first not appended, and why not (0: all were)."""
    total = len(lists) + len(cut_lists)
    for begin in range(done, total, _AHEAD):
        end = min(begin + _AHEAD, total)
        _fetch_ends(store, lists, cut_lists, begin, end)
        for i in range(begin, end):
            j = i - len(lists)
            c = lists[i] if j < 0 else cut_lists[j]
            _, wholes, cuts = _list(store, min(c, len(store.heads) - 1))
            start = _make_room(store, c, wholes + (j < 0), cuts + (j >= 0))
            if start < 0:
                return i, start
            if j < 0:
                store.words[start + wholes] = ids[owners[i]]
            else:
                place = first_cut(start, wholes, cuts + 1, store.cut)
                _write_cut(store, place, cut_owners[j], rows, ids)
            _write_head(store.heads, c, start, wholes + (j < 0), cuts + (j >= 0))
    return total, 0


@inner
def _fetch_ends(store: Store, lists: Integers, cut_lists: Integers, begin: int, end: int) -> None:
    """Ask for the heads of some lists, then for the places where these go on."""
    last = len(store.heads) - 1
    for i in range(begin, end):
        c = lists[i] if i < len(lists) else cut_lists[i - len(lists)]
        prefetch(store.heads, min(c, last) * store.heads.ndim)
    for i in range(begin, end):
        whole = i < len(lists)
        c = lists[i] if whole else cut_lists[i - len(lists)]
        start, wholes, cuts = _list(store, min(c, last))
        place = start + wholes if whole else first_cut(start, wholes, cuts, store.cut)
        prefetch(store.words, place)


@inner
def _write_cut(store: Store, place: int, slot: int, rows: Doubles, ids: Integers) -> None:
    """A cut at a word: its range and its id, or its slot."""
    if store.cut == 1:
        store.words[place] = slot
    else:
        size = len(store.words) // len(store.doubles)
        store.doubles[place // size] = rows[slot, 0]
        store.doubles[place // size + 1] = rows[slot, 1]
        store.words[place + 2 * size] = ids[slot]


@inner
def _id_place(store: Store) -> int:
    """The word of a cut that is its id."""
    size = len(store.words) // len(store.doubles)
    return 0 if store.cut == 1 else store.cut - size


@inner
def _shorten(
    store: Store, c: int, start: int, wholes: int, cuts: int, new_wholes: int, new_cuts: int
) -> None:
    """Make a list shorter whose remaining ids are at the front and remaining cuts at the back."""
    old, need = _need(wholes, cuts, store.cut), _need(new_wholes, new_cuts, store.cut)
    capacity, least = _capacity(old), _capacity(need) if need else 0
    size = new_cuts * store.cut
    if capacity != least and size:
        block = first_cut(start, wholes, cuts, store.cut) + (cuts - new_cuts) * store.cut
        to = first_cut(start, new_wholes, new_cuts, store.cut)
        for j in range(size):
            store.words[to + j] = store.words[block + j]
    while capacity > max(least, 1):
        smaller = _next_smaller(capacity)
        _give(store, start + smaller, capacity - smaller)
        capacity = smaller
    if need == 0:
        _give(store, start, 1)
        start = 0
    _write_head(store.heads, c, start, new_wholes, new_cuts)


@kernel
def _remove(store: Store, lists: Integers, ids: Array) -> None:
    for i in range(len(lists)):
        start, wholes, cuts = _list(store, lists[i])
        j = start
        while store.words[j] != ids[i]:
            j += 1
        store.words[j] = store.words[start + wholes - 1]
        _shorten(store, lists[i], start, wholes, cuts, wholes - 1, cuts)


@kernel
def _remove_cuts(store: Store, lists: Integers, ids: Array) -> None:
    at = _id_place(store)
    for i in range(len(lists)):
        start, wholes, cuts = _list(store, lists[i])
        first = first_cut(start, wholes, cuts, store.cut)
        j = first
        while store.words[j + at] != ids[i]:
            j += store.cut
        for k in range(store.cut):
            store.words[j + k] = store.words[first + k]
        _shorten(store, lists[i], start, wholes, cuts, wholes, cuts - 1)


@inner
def _among(values: Array, value: Any) -> bool:
    at = np.searchsorted(values, value)
    return at < len(values) and values[at] == value


@kernel
def _filter(store: Store, lists: Integers, gone: Array) -> None:
    """Go through each list once and drop what is in `gone`, which is sorted."""
    for i in range(len(lists)):
        start, wholes, cuts = _list(store, lists[i])
        kept = start
        for j in range(start, start + wholes):
            if not _among(gone, store.words[j]):
                store.words[kept] = store.words[j]
                kept += 1
        _shorten(store, lists[i], start, wholes, cuts, kept - start, cuts)


@kernel
def _filter_cuts(store: Store, lists: Integers, gone: Array) -> None:
    at = _id_place(store)
    for i in range(len(lists)):
        start, wholes, cuts = _list(store, lists[i])
        first = first_cut(start, wholes, cuts, store.cut)
        # From the back: what remains ends where the run does.
        kept = first + (cuts - 1) * store.cut
        for j in range(kept, first - 1, -store.cut):
            if not _among(gone, store.words[j + at]):
                for k in range(store.cut):
                    store.words[kept + k] = store.words[j + k]
                kept -= store.cut
        left = cuts - (kept + store.cut - first) // store.cut
        _shorten(store, lists[i], start, wholes, cuts, wholes, left)


@kernel
def _allot(store: Store, wholes: Integers, cuts: Integers) -> int:
    """Words of lists side by side; how many words they take."""
    total = 0
    for c in range(len(wholes)):
        need = _need(wholes[c], cuts[c], store.cut)
        _write_head(store.heads, c, total if need else 0, wholes[c], cuts[c])
        total += _capacity(need) if need else 0
    return total


@kernel
def _put(store: Store, lists: Integers, owners: Small, ids: Integers, left: Integers) -> None:
    for i in range(len(lists)):
        c = lists[i]
        left[c] -= 1
        store.words[_list(store, c)[0] + left[c]] = ids[owners[i]]


@kernel
def _put_cuts(
    store: Store, lists: Integers, owners: Small, rows: Doubles, ids: Integers, left: Integers
) -> None:
    for i in range(len(lists)):
        c = lists[i]
        left[c] -= 1
        start, wholes, cuts = _list(store, c)
        place = first_cut(start, wholes, cuts, store.cut) + left[c] * store.cut
        _write_cut(store, place, owners[i], rows, ids)


@kernel
def _most_cuts(store: Store, lists: Integers) -> int:
    most = 0
    for i in range(len(lists)):
        most = max(most, _list(store, lists[i])[2])
    return most


@kernel
def _counts(store: Store) -> tuple[Integers, Integers]:
    size = len(store.heads) - 1
    wholes, cuts = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for c in range(size):
        _, wholes[c], cuts[c] = _list(store, c)
    return wholes, cuts


@kernel
def _copy(old: Store, new: Store) -> None:
    """PostingLists into runs allotted for them."""
    for c in range(len(old.heads) - 1):
        start, wholes, cuts = _list(old, c)
        to, _, _ = _list(new, c)
        new.words[to : to + wholes] = old.words[start : start + wholes]
        if cuts:
            size = cuts * old.cut
            a = first_cut(start, wholes, cuts, old.cut)
            b = first_cut(to, wholes, cuts, new.cut)
            new.words[b : b + size] = old.words[a : a + size]
        _write_head(new.heads, c, to, wholes, cuts)
