"""What all that watch borders share: the tables of queries and streams, and the checks.

A public method checks and shapes its arguments; a class only finds crossings (`_opened`, `_closed`,
`_moved`, `_left`), so that a refused call has changed nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from watchline.borders.step import Crossings, RowChanges
from watchline.errors import DuplicateQuery, InvalidQuery, InvalidRange, UnknownQuery, UnknownStream
from watchline.index import (
    BoxTable,
    SlotTable,
    checked_boxes,
    checked_ids,
    checked_points,
    whole_numbers,
)
from watchline.kernels.arrays import Doubles, Integers, Small


def checked_dims(dims: int) -> int:
    """The number of dimensions, refused unless it is one or more."""
    if not isinstance(dims, (int, np.integer)) or dims < 1:
        raise InvalidQuery(f"there must be one dimension or more, not {dims!r}")
    return int(dims)


class Monitor(ABC):
    """Half-open boxes of `dims` dimensions under int64 ids, watched by streams under int64 ids."""

    def __init__(self, dims: int, more: int):
        """`more` numbers are kept for each stream besides its value."""
        self.dims = dims
        self._boxes = BoxTable(self.dims)
        self._streams = SlotTable(self.dims, more)
        # Crossings a row, of the last call: room for the next.
        self._rate = 1.0

    # --- what callers use

    def insert(self, ids: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike) -> Crossings:
        """Register queries; the streams that are inside already."""
        boxes = checked_boxes(lo, hi, ids, self.dims)
        slots = self._boxes.add(boxes.ids, boxes.lo, boxes.hi)
        if slots is None:
            known = self._boxes.find(boxes.ids) >= 0
            raise DuplicateQuery(f"id {boxes.ids[known].min()} is in the index already")
        return self._opened(slots)

    def remove(self, ids: npt.ArrayLike) -> Crossings:
        """Drop queries; the streams that were inside."""
        gone = checked_ids(ids)
        slots = self._boxes.find(gone)
        if (slots < 0).any():
            raise UnknownQuery(f"id {gone[slots < 0].min()} is not in the index")
        closed = self._closed(slots)
        self._boxes.free(slots)
        self._settle()
        return closed

    def advance(self, streams: npt.ArrayLike, values: npt.ArrayLike) -> Crossings:
        """New values, in the order of the rows, and what they cross; a stream that is new enters
        all that contains it. Values are (m,) for one dimension, else (m, d)."""
        numbers, points = whole_numbers(streams, "streams"), checked_points(values, self.dims)
        if len(numbers) != len(points):
            raise InvalidRange(f"there are {len(numbers)} streams and {len(points)} values")
        crossings = self._moved(numbers, points)
        self._rate = len(crossings) / max(len(numbers), 1)
        return crossings

    def forget(self, streams: npt.ArrayLike) -> Crossings:
        """Drop streams; the queries that they were in."""
        gone = np.unique(whole_numbers(streams, "streams"))
        slots = self._streams.find(gone)
        if (slots < 0).any():
            raise UnknownStream(f"stream {gone[slots < 0].min()} is not known")
        closed = self._left(slots)
        self._streams.free(slots)
        if self._streams.sparse:
            self._streams.compact()
        return closed

    def __len__(self) -> int:
        return len(self._boxes)

    @property
    def streams(self) -> int:
        """How many streams have reported and were not forgotten."""
        return len(self._streams)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays that are kept."""
        return self._boxes.nbytes + self._streams.nbytes + self._nbytes

    # --- what a class does

    @property
    @abstractmethod
    def _nbytes(self) -> int:
        """The bytes of the arrays besides the tables."""

    @abstractmethod
    def _opened(self, slots: Small) -> Crossings:
        """Take in the boxes that now stand in these slots of the table."""

    @abstractmethod
    def _closed(self, slots: Small) -> Crossings:
        """Drop the boxes of these slots; the table still holds them."""

    @abstractmethod
    def _moved(self, numbers: Integers, points: Doubles) -> Crossings:
        """Rows of streams, which may be new, and values, which may be nowhere."""

    @abstractmethod
    def _left(self, slots: Small) -> Crossings:
        """Drop the streams of these slots; the table still holds them."""

    @abstractmethod
    def _settle(self) -> None:
        """Give back what is not needed now that boxes have gone."""

    # --- parts

    def _meet(self, numbers: Integers, more: float) -> None:
        """Take in the streams among these that are new: they were nowhere."""
        new = np.sort(numbers[self._streams.find(numbers) < 0])
        new = new[np.append(True, new[1:] != new[:-1])]
        rest = np.full((len(new), self._streams.right.shape[1]), more)
        self._streams.add(new, np.full((len(new), self.dims), np.inf), rest)

    def _by_no_row(self, slots: Small, changes: RowChanges, ids: Integers) -> Crossings:
        """The crossings of the streams of these slots, caused by no row of a call."""
        rows, _, signs = changes
        return Crossings(np.full(len(rows), -1), self._streams.ids[slots[rows]], ids, signs)
