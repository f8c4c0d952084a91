"""Query indexes: boxes in, and for each point the boxes that contain it. NumPy in, NumPy out.

base.py  the protocol, the checks, the result
scan.py  the linear scan
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from watchline.errors import InvalidQuery
from watchline.index.base import Index, Matches, checked_boxes
from watchline.index.scan import ScanIndex

__all__ = ["Index", "Matches", "build"]

_KINDS: dict[str, type[ScanIndex]] = {"scan": ScanIndex}


def build(
    kind: str,
    lo: npt.ArrayLike,
    hi: npt.ArrayLike,
    ids: npt.ArrayLike | None = None,
    **tuning: Any,
) -> Index:
    """An index of this kind over the half-open boxes [lo, hi): (n,) for one dimension, else (n, d).

    `ids` are int64, 0 … n-1 if not given; `tuning` are the options of the kind.
    """
    if kind not in _KINDS:
        raise InvalidQuery(f"there is no index {kind!r}; there is {', '.join(sorted(_KINDS))}")
    boxes = checked_boxes(lo, hi, ids)
    try:
        index = _KINDS[kind](boxes.lo.shape[1], **tuning)
    except TypeError as error:
        raise InvalidQuery(f"index {kind!r} does not take these options: {error}") from None
    index.insert(boxes.ids, boxes.lo, boxes.hi)
    return index
