"""What all query indexes share: the protocol, the checks, the result.

An index holds half-open boxes of d dimensions under int64 ids and answers, for a batch of points,
which boxes contain each point. Invariant (I4): every index gives the linear scan's answer on any
float64 input. NaN and ±inf are in no box.

A public method checks and shapes its arguments and keeps the table of boxes; an index class only
places boxes and searches (`_add`, `_discard`, `_fill`), so that a refused call has changed nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from watchline.errors import DuplicateQuery, InvalidQuery, InvalidRange, UnknownQuery
from watchline.index.result import Matches, search
from watchline.index.table import BoxTable
from watchline.index.tuning import scan_cost
from watchline.kernels.arrays import Array, Doubles, Integers, Small
from watchline.kernels.compiled import kernel

# How much of the matches seen is expected after each search.
FADE = 0.99


class Index(ABC):
    """Boxes that can be searched, added and removed."""

    kind: str

    def __init__(self, dims: int):
        self.dims = dims
        self._boxes = BoxTable(dims)
        # The most matches of a row, fading: the room that a few rows are given.
        self._per_row = 0.0

    # --- what callers use

    def stab(self, points: npt.ArrayLike) -> Matches:
        """The boxes that contain each point; points are (m,) for one dimension, else (m, d)."""
        return self.stab_points(checked_points(points, self.dims))

    def stab_points(self, points: Doubles) -> Matches:
        """As `stab`, for points that are known to be float64 (m, d), and are not checked."""
        return self._stab(points)

    def insert(self, ids: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike) -> None:
        boxes = checked_boxes(lo, hi, ids, self.dims)
        slots = self._boxes.add(boxes.ids, boxes.lo, boxes.hi)
        if slots is None:
            known = self._boxes.find(boxes.ids) >= 0
            raise DuplicateQuery(f"id {boxes.ids[known].min()} is in the index already")
        self._add(slots)

    def remove(self, ids: npt.ArrayLike) -> None:
        gone = checked_ids(ids)
        slots = self._boxes.find(gone)
        if (slots < 0).any():
            raise UnknownQuery(f"id {gone[slots < 0].min()} is not in the index")
        self._discard(slots)
        self._boxes.free(slots)
        self._settle()

    def __len__(self) -> int:
        return len(self._boxes)

    def explain(self) -> str:
        """The kind, its tuning, and what a search costs by the model."""
        plural = "s" if self.dims > 1 else ""
        return f"{self.kind}: {len(self):,} boxes of {self.dims} dimension{plural}"

    def estimate(self, lo: Doubles, hi: Doubles) -> float:
        """Nanoseconds a row of a batch costs by the model if these were the boxes; they are not
        taken in. A kind without a model of its own is taken for a scan."""
        return scan_cost(self.dims, len(lo))

    @property
    def nanoseconds(self) -> float:
        """What a row of a batch costs by the model."""
        living = self._boxes.living()
        return self.estimate(self._boxes.lo[living], self._boxes.hi[living])

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays that the index keeps."""
        return self._boxes.nbytes + self._nbytes

    # --- what an index does

    def _stab(self, points: Doubles) -> Matches:
        """The answer for checked points, by `_fill` unless a kind knows better."""
        found = search(self._fill, (points,), self._boxes.id_type, self._per_row)
        self._per_row = max(FADE * self._per_row, len(found) / max(1, len(points)))
        return found

    @property
    @abstractmethod
    def _nbytes(self) -> int:
        """The bytes of the arrays besides the boxes."""

    @abstractmethod
    def _add(self, slots: Small) -> None:
        """Take in the boxes that now stand in these slots of the table."""

    @abstractmethod
    def _discard(self, slots: Small) -> None:
        """Drop the boxes of these slots; the table still holds them."""

    def _settle(self) -> None:
        """Give back what is not needed now that boxes have gone. Who keeps slots must do more."""
        if self._boxes.sparse:
            self._boxes.compact()

    @abstractmethod
    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        """Answer the points from `row` on, writing ids from found[at] on and each row's end to
        offsets[row + 1]. Ends after the last row or before one for which `found` may not have room
        (all it could match, and `SLACK`); gives the next row and the next place."""


class Boxes(NamedTuple):
    """Checked boxes: (n, d) bounds with lo < hi, and n distinct ids."""

    lo: Doubles
    hi: Doubles
    ids: Integers


def checked_boxes(
    lo: npt.ArrayLike, hi: npt.ArrayLike, ids: npt.ArrayLike | None, dims: int | None = None
) -> Boxes:
    """Boxes as matrices of float64 with distinct ids; what is no box is refused by its place."""
    low, high = _matrix(lo, "lo"), _matrix(hi, "hi")
    if low.shape != high.shape:
        raise InvalidRange(f"lo has shape {low.shape} and hi {high.shape}: they must be alike")
    if dims is not None and low.shape[1] != dims:
        raise InvalidRange(f"the boxes have {low.shape[1]} dimensions, the index has {dims}")
    if not _all_below(low, high):
        i, j = np.argwhere(~(low < high))[0]
        raise InvalidRange(
            f"box {i}, dimension {j}: needs lo < hi, not {low[i, j]} and {high[i, j]}"
        )
    numbers = np.arange(len(low)) if ids is None else checked_ids(ids)
    if len(numbers) != len(low):
        raise InvalidRange(f"there are {len(low)} boxes and {len(numbers)} ids")
    return Boxes(low, high, numbers)


@kernel
def _all_below(low: Doubles, high: Doubles) -> bool:
    good = True
    for i in range(low.shape[0]):
        for j in range(low.shape[1]):
            good &= low[i, j] < high[i, j]
    return good


def _matrix(values: npt.ArrayLike, name: str) -> Doubles:
    try:
        array = np.asarray(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidRange(f"{name} must be numbers: {error}") from None
    if array.ndim not in (1, 2):
        raise InvalidRange(f"{name} must have one or two axes, not shape {array.shape}")
    return array if array.ndim == 2 else array.reshape(-1, 1)


def checked_points(points: npt.ArrayLike, dims: int) -> Doubles:
    """Points as a matrix of float64, refused if they have another number of dimensions."""
    array = _matrix(points, "points")
    if array.shape[1] != dims and array.size:
        raise InvalidRange(f"the points have {array.shape[1]} dimensions, the index has {dims}")
    return array.reshape(-1, dims)


def checked_ids(ids: npt.ArrayLike) -> Integers:
    """Distinct int64 ids."""
    array = whole_numbers(ids, "ids")
    if len(array) == 1:
        return array
    values, counts = np.unique(array, return_counts=True)
    if len(values) < len(array):
        raise DuplicateQuery(f"id {values[counts > 1][0]} is given twice")
    return array


def whole_numbers(values: npt.ArrayLike, name: str) -> Integers:
    """One axis of int64; a copy."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidQuery(f"{name} must be integers, not {array.dtype}")
    if array.dtype.kind == "u" and array.size and array.max() >= 2**63:
        raise InvalidQuery(f"{name} must fit into 64 bits with a sign, not {array.max()}")
    array = np.atleast_1d(array).astype(np.int64)
    if array.ndim != 1:
        raise InvalidQuery(f"{name} must have one axis, not shape {array.shape}")
    return array
