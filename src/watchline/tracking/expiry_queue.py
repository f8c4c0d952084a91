"""The objects of a tracker by the time of their last row, the oldest first, for time-outs.

Each object has one entry in a heap, with the time of its row when the entry was made. An object
that reports does not touch its entry. When the entry comes up, the object has either been silent
since, or its entry goes back with the time of its latest row. An object that lives reports at least
once in each TIMEOUT, so entries come up at most as often as rows come in.
"""

from __future__ import annotations

import numpy as np

from watchline.kernels.arrays import Integers, Small
from watchline.kernels.buffers import longer, longer_with
from watchline.kernels.compiled import inner, kernel

# The time of a slot that has no entry.
NO_ENTRY = np.iinfo(np.int64).max


class ExpiryQueue:
    """Slots by time. `entered` is the time of each slot's entry; an entry with another time than
    that is of an object that was removed, and is dropped when it comes up."""

    def __init__(self) -> None:
        self._times: Integers = np.empty(64, np.int64)
        self._slots: Small = np.empty(64, np.int32)
        self._entered: Integers = np.empty(0, np.int64)
        self._count = 0
        # Slots that came up as due, and have no entry until they are removed or report.
        self._due: Integers = np.empty(0, np.int64)

    def grow(self, room: int) -> None:
        """Room for so many slots."""
        self._entered = longer_with(self._entered, room, NO_ENTRY)

    def add(self, slots: Integers, times: Integers) -> None:
        """Objects whose last rows are of these times."""
        if self._count + len(slots) > len(self._times):
            size = 2 * (self._count + len(slots))
            self._times, self._slots = longer(self._times, size), longer(self._slots, size)
        self._count = _push(self._times, self._slots, self._count, slots, times)
        self._entered[slots] = times

    def remove(self, slots: Integers) -> None:
        """Objects that are gone. Their entries stay until they come up."""
        self._entered[slots] = NO_ENTRY
        if len(self._due):
            self._due = self._due[~np.isin(self._due, slots)]

    def due(self, limit: int, times: Integers) -> Integers:
        """The slots whose last rows are older than this; `times` has those of all slots. A slot is
        due in every call until it is removed or reports."""
        if len(self._due):
            is_due = times[self._due] < limit
            waiting = self._due[~is_due]
            self._due = self._due[is_due]
            self.add(waiting, times[waiting])
        if not self._count or self._times[0] >= limit:
            return self._due
        heap = (self._times, self._slots)
        self._count, found = _pop_due(*heap, self._count, self._entered, times, limit)
        self._due = np.concatenate([self._due, found])
        return self._due

    @property
    def nbytes(self) -> int:
        arrays = (self._times, self._slots, self._entered)
        return sum(int(array.nbytes) for array in arrays)


@inner
def _sift_up(times: Integers, slots: Small, at: int) -> None:
    time, slot = times[at], slots[at]
    while at > 0:
        above = (at - 1) >> 1
        if times[above] <= time:
            break
        times[at], slots[at] = times[above], slots[above]
        at = above
    times[at], slots[at] = time, slot


@inner
def _sift_down(times: Integers, slots: Small, count: int) -> None:
    """The first entry is new: it goes down to where it belongs."""
    if not count:
        return
    time, slot, at = times[0], slots[0], 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and times[below + 1] < times[below]:
            below += 1
        if times[below] >= time:
            break
        times[at], slots[at] = times[below], slots[below]
        at = below
    times[at], slots[at] = time, slot


@kernel
def _push(times: Integers, slots: Small, count: int, new: Integers, at: Integers) -> int:
    for i in range(len(new)):
        times[count], slots[count] = at[i], new[i]
        _sift_up(times, slots, count)
        count += 1
    return count


@kernel
def _pop_due(
    times: Integers, slots: Small, count: int, entered: Integers, latest: Integers, limit: int
) -> tuple[int, Integers]:
    """Take the entries before `limit` out: the slots that were silent; the others go back."""
    found = np.empty(16, np.int64)
    n = 0
    while count and times[0] < limit:
        time, slot = times[0], slots[0]
        if entered[slot] == time and latest[slot] >= limit:
            # It has reported since: the same entry, later.
            entered[slot] = times[0] = latest[slot]
            _sift_down(times, slots, count)
            continue
        count -= 1
        times[0], slots[0] = times[count], slots[count]
        _sift_down(times, slots, count)
        if entered[slot] == time:
            entered[slot] = NO_ENTRY
            if n == len(found):
                larger = np.empty(2 * n, np.int64)
                larger[:n] = found
                found = larger
            found[n] = slot
            n += 1
    return count, found[:n].copy()
