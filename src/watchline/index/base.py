"""What all query indexes share: the protocol, the checks, the result.

An index holds half-open boxes of d dimensions under int64 ids and answers, for a batch of points,
which boxes contain each point. Invariant (I4): every index gives the linear scan's answer on any
float64 input. NaN and ±inf are in no box.

A public method checks and shapes its arguments and knows the ids; an index class only stores boxes
and searches (`_add`, `_discard`, `_search`), so that a refused call has changed nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from watchline.errors import DuplicateQuery, InvalidQuery, InvalidRange, UnknownQuery

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Matches:
    """Row i of the points is in the boxes `ids[offsets[i]:offsets[i + 1]]`, in any order."""

    offsets: Integers
    ids: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self) -> Integers:
        """The row of each id: with `ids`, the matches as pairs."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class Index(ABC):
    """Boxes that can be searched, added and removed."""

    kind: str

    def __init__(self, dims: int):
        self.dims = dims
        self._ids: set[int] = set()

    # --- what callers use

    def stab(self, points: npt.ArrayLike) -> Matches:
        """The boxes that contain each point; points are (m,) for one dimension, else (m, d)."""
        return self._search(_points(points, self.dims))

    def insert(self, ids: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike) -> None:
        boxes = checked_boxes(lo, hi, ids, self.dims)
        new = set(boxes.ids.tolist())
        if known := self._ids & new:
            raise DuplicateQuery(f"id {min(known)} is in the index already")
        self._add(boxes)
        self._ids |= new

    def remove(self, ids: npt.ArrayLike) -> None:
        gone = _ids(ids)
        if unknown := set(gone.tolist()) - self._ids:
            raise UnknownQuery(f"id {min(unknown)} is not in the index")
        self._discard(gone)
        self._ids -= set(gone.tolist())

    def __len__(self) -> int:
        return len(self._ids)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The bytes of the arrays that hold the boxes."""

    # --- what an index does

    @abstractmethod
    def _add(self, boxes: Boxes) -> None:
        """Take in checked boxes with new ids."""

    @abstractmethod
    def _discard(self, ids: Integers) -> None:
        """Drop boxes that are there."""

    @abstractmethod
    def _search(self, points: Doubles) -> Matches:
        """The boxes of each row of an (m, d) array."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Checked boxes: (n, d) bounds with lo < hi, and n distinct ids."""

    lo: Doubles
    hi: Doubles
    ids: Integers


def checked_boxes(
    lo: npt.ArrayLike, hi: npt.ArrayLike, ids: npt.ArrayLike | None, dims: int | None = None
) -> Boxes:
    low, high = _matrix(lo, "lo"), _matrix(hi, "hi")
    if low.shape != high.shape:
        raise InvalidRange(f"lo has shape {low.shape} and hi {high.shape}: they must be alike")
    if dims is not None and low.shape[1] != dims:
        raise InvalidRange(f"the boxes have {low.shape[1]} dimensions, the index has {dims}")
    bad = ~(low < high)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise InvalidRange(
            f"box {i}, dimension {j}: needs lo < hi, not {low[i, j]} and {high[i, j]}"
        )
    numbers = np.arange(len(low)) if ids is None else _ids(ids)
    if len(numbers) != len(low):
        raise InvalidRange(f"there are {len(low)} boxes and {len(numbers)} ids")
    return Boxes(low + 0.0, high + 0.0, numbers)


def _matrix(values: npt.ArrayLike, name: str) -> Doubles:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidRange(f"{name} must be numbers: {error}") from None
    if array.ndim not in (1, 2):
        raise InvalidRange(f"{name} must have one or two axes, not shape {array.shape}")
    return np.ascontiguousarray(array.reshape(len(array), -1) if array.size else _empty(array))


def _empty(array: Doubles) -> Doubles:
    return array.reshape(0, array.shape[1] if array.ndim == 2 else 1)


def _points(points: npt.ArrayLike, dims: int) -> Doubles:
    array = _matrix(points, "points")
    if array.shape[1] != dims and array.size:
        raise InvalidRange(f"the points have {array.shape[1]} dimensions, the index has {dims}")
    return array.reshape(-1, dims)


def _ids(ids: npt.ArrayLike) -> Integers:
    array = np.asarray(ids)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidQuery(f"ids must be integers, not {array.dtype}")
    array = np.atleast_1d(array).astype(np.int64)
    if array.ndim != 1:
        raise InvalidQuery(f"ids must have one axis, not shape {array.shape}")
    values, counts = np.unique(array, return_counts=True)
    if len(values) < len(array):
        raise DuplicateQuery(f"id {values[counts > 1][0]} is given twice")
    return array


def compact_ids(ids: Integers) -> npt.NDArray[Any]:
    """The ids as int32 where all of them fit: half the memory to write for every match."""
    if not len(ids) or (ids.min() >= -(2**31) and ids.max() < 2**31):
        return ids.astype(np.int32)
    return ids
