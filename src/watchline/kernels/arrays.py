"""The types of arrays, under one name each in all packages, and views that all kernels take."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
# Slots, cells, and places in arrays that stay below two thousand million.
Small = npt.NDArray[np.int32]
# +1 enters, -1 leaves.
Signs = npt.NDArray[np.int8]
Bytes = npt.NDArray[np.uint8]
# Codes of cells, and ranks, that stay below 65,536.
Codes = npt.NDArray[np.uint16]
# Bits, 64 in a word.
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
# Of any type: ids, which are 32 bits wide where all fit, or columns of several types.
Array = npt.NDArray[Any]
# A whole number of Python or of NumPy: kernels have machine words, and care which.
Int = Any


def read_only(array: Array) -> Array:
    """Arrow's arrays cannot be written to and others can: to Numba these are two types."""
    view = array.view()
    view.setflags(write=False)
    return view
