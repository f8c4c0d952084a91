"""Slots of arrays that are taken and given back. A call costs the slots it is about."""

from __future__ import annotations

import numpy as np

from watchline.kernels.arrays import Integers
from watchline.kernels.buffers import longer_with

LEAST_ROOM = 64


class SlotPool:
    """Numbers from 0 on that are taken and given back."""

    def __init__(self) -> None:
        self._free: Integers = np.empty(0, np.int64)
        self._count = 0
        self.room = 0

    def take(self, count: int) -> Integers:
        """So many slots that are free; `room` grows where there were too few."""
        if count > self._count:
            room = max(LEAST_ROOM, 2 * self.room, self.room + count - self._count)
            self._free = longer_with(self._free, room, 0)
            self._free[self._count : self._count + room - self.room] = np.arange(self.room, room)
            self._count += room - self.room
            self.room = room
        self._count -= count
        return self._free[self._count : self._count + count].copy()

    def give(self, slots: Integers) -> None:
        """Slots that were taken are free again."""
        self._free[self._count : self._count + len(slots)] = slots
        self._count += len(slots)
