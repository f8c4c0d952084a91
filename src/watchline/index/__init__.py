"""Query indexes: boxes in, and for each point the boxes that contain it. NumPy in, NumPy out.

base.py        the protocol and its checks        result.py  what a search gives, room and threads
table.py       the boxes by slot and by id        lists.py   many lists in one pool
grid.py        values to cells                    tuning.py  how fine, by a cost model
vector.py      instructions Numba does not offer
constructs.py  what indexes of virtual constructs share
cei.py         `cei` and `ui`                     ces.py     `ces`, `ugc` and `cells`
anchored.py    `sci`, `lci` and `vcs`             islist.py  `islist`
merging.py     attributes merged by counting      rebuilt.py arrays that are built anew
ibs.py         `ibs`                              twophase.py `twophase`
counting.py    `counting`                         choose.py  `auto`
spatialjoin.py `spatialjoin`                      mlgf.py    boxes as points, in pages
hilbert.py     rows in proximity order            clusters.py rows and boxes by bits
hits.py        bits to matches                    scan.py    `scan`
formulas.py    the papers' counts and bounds
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from watchline.errors import InvalidQuery
from watchline.index.anchored import (
    LogarithmicConstructIntervals,
    SimpleConstructIntervals,
    VirtualConstructSquares,
)
from watchline.index.base import Index, checked_boxes
from watchline.index.cei import ContainmentEncodedIntervals, UnitIntervals
from watchline.index.ces import ContainmentEncodedSquares, FixedCells, UnitGridCells
from watchline.index.choose import AutoIndex
from watchline.index.counting import CountingIndex
from watchline.index.ibs import IntervalSearchTrees
from watchline.index.islist import IntervalSkipList
from watchline.index.result import Matches
from watchline.index.scan import ScanIndex
from watchline.index.spatialjoin import SpatialJoinIndex
from watchline.index.twophase import TwoPhaseIndex

__all__ = ["Index", "Matches", "build", "estimate"]

_CLASSES: tuple[type[Index], ...] = (
    ScanIndex,
    UnitIntervals,
    SimpleConstructIntervals,
    LogarithmicConstructIntervals,
    ContainmentEncodedIntervals,
    IntervalSkipList,
    UnitGridCells,
    FixedCells,
    VirtualConstructSquares,
    ContainmentEncodedSquares,
    SpatialJoinIndex,
    IntervalSearchTrees,
    CountingIndex,
    TwoPhaseIndex,
)
_KINDS: dict[str, type[Index]] = {kind.kind: kind for kind in _CLASSES} | {"auto": AutoIndex}


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
    boxes = checked_boxes(lo, hi, ids)
    index = _empty(kind, boxes.lo.shape[1], tuning)
    index.insert(boxes.ids, boxes.lo, boxes.hi)
    return index


def estimate(
    kind: str,
    lo: npt.NDArray[np.float64],
    hi: npt.NDArray[np.float64],
    **tuning: Any,
) -> float:
    """Nanoseconds that a row costs by the model of this kind over the boxes (n, d), none built."""
    return _empty(kind, lo.shape[1], tuning).estimate(lo, hi)


def _empty(kind: str, dims: int, tuning: dict[str, Any]) -> Index:
    if kind not in _KINDS:
        raise InvalidQuery(f"there is no index {kind!r}; there is {', '.join(sorted(_KINDS))}")
    options = [name for name in signature(_KINDS[kind]).parameters if name != "dims"]
    for name in tuning:
        if name not in options:
            taken = f"it takes {', '.join(options)}" if options else "it takes none"
            raise InvalidQuery(f"index {kind!r} does not take the option {name!r}; {taken}")
    return _KINDS[kind](dims, **tuning)
