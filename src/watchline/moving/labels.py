"""Labels: numbers that order objects as their ids do.

An integer id is its own label. Strings have labels with gaps between, so that one that comes later
finds a label of its own; where there is no gap left, all are labelled anew.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]

# Labels are within this; half of it is never reached by rounding.
RANGE = 1 << 62


class Labels:
    """The labels of all ids seen, in the order of the ids."""

    def __init__(self, kind: pa.DataType):
        self._plain = pa.types.is_integer(kind)
        self._ids, self._labels = pa.array([], kind), np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def of(self, ids: pa.Array) -> tuple[Integers, bool]:
        """The labels of these ids, and whether those given before still hold."""
        if self._plain:
            return ids.to_numpy().astype(np.int64), True
        held = self._include(ids.unique())
        places = pc.index_in(ids, value_set=self._ids).to_numpy().astype(np.int64)
        return self._labels[places], held

    def _include(self, ids: pa.Array) -> bool:
        new = ids.filter(pc.invert(pc.is_in(ids, value_set=self._ids)))
        if not len(new):
            return True
        known = len(self._ids)
        every = pa.concat_arrays([self._ids, new])
        # Strings go by their bytes.
        order = pc.sort_indices(every).to_numpy().astype(np.int64)
        old = np.flatnonzero(order < known)
        self._ids = every.take(pa.array(order))
        marks = np.concatenate([[-1], old, [len(order)]])
        bounds = np.concatenate([[-RANGE], self._labels, [RANGE]]).astype(np.float64)
        labels = np.interp(np.arange(len(order)), marks, bounds).astype(np.int64)
        labels[old] = self._labels
        held = bool((labels[1:] > labels[:-1]).all())
        if not held:
            labels = np.linspace(-RANGE, RANGE, len(order) + 2)[1:-1].astype(np.int64)
        self._labels = labels
        return held

    def forget(self, ids: pa.Array) -> None:
        """Keep these only."""
        if not self._plain and len(self._ids) > 2 * len(ids) + 1_024:
            kept = pc.is_in(self._ids, value_set=ids)
            self._labels = self._labels[kept.to_numpy(zero_copy_only=False)]
            self._ids = self._ids.filter(kept)
