"""Labels: numbers that order objects as their ids do.

An integer id is its own label. Strings have labels with gaps between, so that one that comes later
finds a label of its own; where there is no gap left, all are labelled anew, in the same order.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.kernels.arrays import Integers, Mask, Small

# Labels are within this on either side of zero.
RANGE = 1 << 62
# So many ids of objects that are gone are kept at least.
KEPT = 1_024


class Labels:
    """The labels of ids in the order of the ids, and the slots that have them.

    A slot may have been given to another id since: then its label is not the one that is here.
    """

    def __init__(self, kind: pa.DataType):
        self._plain = pa.types.is_integer(kind)
        self._ids, self._labels = pa.array([], kind), np.empty(0, np.int64)
        self._slots = np.empty(0, np.int32)

    def give(self, ids: pa.Array, slots: Small, labels: Integers) -> bool:
        """Labels for these ids, into the places of their slots; whether others changed for it."""
        if self._plain:
            labels[slots] = ids.to_numpy()
            return False
        changed = self._include(ids, labels)
        places = pc.index_in(ids, value_set=self._ids).to_numpy().astype(np.int64)
        self._slots[places] = slots
        labels[slots] = self._labels[places]
        return changed

    def _include(self, ids: pa.Array, given: Integers) -> bool:
        new = ids.filter(pc.invert(pc.is_in(ids, value_set=self._ids))).unique()
        if not len(new):
            return False
        known = len(self._ids)
        every = pa.concat_arrays([self._ids, new])
        # Strings go by their bytes.
        order = pc.sort_indices(every).to_numpy().astype(np.int64)
        old = np.flatnonzero(order < known)
        marks = np.concatenate([[-1], old, [len(order)]])
        bounds = np.concatenate([[-RANGE], self._labels, [RANGE]]).astype(np.float64)
        labels = np.interp(np.arange(len(order)), marks, bounds).astype(np.int64)
        labels[old] = self._labels
        crowded = not (labels[1:] > labels[:-1]).all()
        if crowded:
            labels = np.linspace(-RANGE, RANGE, len(order) + 2)[1:-1].astype(np.int64)
            mine = given[self._slots] == self._labels
            given[self._slots[mine]] = labels[old][mine]
        slots = np.zeros(len(order), np.int32)
        slots[old] = self._slots
        self._ids, self._labels, self._slots = every.take(pa.array(order)), labels, slots
        return crowded

    def are_many_for(self, living: int) -> bool:
        """Whether there are far more labels than so many objects need."""
        return len(self._ids) > 2 * living + KEPT

    def forget(self, labels: Integers, living: Mask) -> None:
        """The ids of slots that are not living any more, if these are many."""
        if not self.are_many_for(int(np.count_nonzero(living))):
            return
        kept = (labels[self._slots] == self._labels) & living[self._slots]
        self._ids = self._ids.filter(pa.array(kept))
        self._labels, self._slots = self._labels[kept], self._slots[kept]
