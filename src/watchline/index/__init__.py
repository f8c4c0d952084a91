"""Query indexes: boxes in, and for each point the boxes that contain it. NumPy in, NumPy out.

`build_regions` takes regions of any form instead of boxes.

base.py         the protocol and its checks      result.py       what a search gives, room, threads
table.py        the boxes by slot and by id      postings.py     many lists in one pool
cells.py        values to cells                  tuning.py       how fine, by a cost model
constructs.py   what indexes of virtual constructs share
cei.py          `cei` and `ui`                   ces.py          `ces`, `ugc` and `cells`
spatialjoin.py  `spatialjoin`                    clusters.py     rows and boxes by bits
hilbert.py      rows in proximity order          hits.py         bits to matches
codes.py        values and bounds as 16 bits     mlgf.py         boxes as points, in pages
mlgf_search.py  pages and boxes near some values
scan.py         `scan`                           choose.py       `auto`
regions/        polygons, circles, corridors
papers/         the rivals of the papers, loaded when one of their kinds is built
"""

from __future__ import annotations

import importlib
from inspect import signature
from typing import Any

import numpy.typing as npt

from watchline.errors import InvalidQuery

# What `wl.index` gives its users stands in `__all__`; the names repeated with `as` are for other
# packages of Watchline.
from watchline.index.base import Index
from watchline.index.base import checked_boxes as checked_boxes
from watchline.index.base import checked_ids as checked_ids
from watchline.index.base import checked_points as checked_points
from watchline.index.base import whole_numbers as whole_numbers
from watchline.index.cells import HUGEST as HUGEST
from watchline.index.cells import TINIEST as TINIEST
from watchline.index.regions import CIRCLE as CIRCLE
from watchline.index.regions import CORRIDOR as CORRIDOR
from watchline.index.regions import EARTH_CIRCLE as EARTH_CIRCLE
from watchline.index.regions import EARTH_CORRIDOR as EARTH_CORRIDOR
from watchline.index.regions import POLYGON as POLYGON
from watchline.index.regions import RegionColumns as RegionColumns
from watchline.index.regions import RegionIndex as RegionIndex
from watchline.index.regions import RegionsRead as RegionsRead
from watchline.index.regions import build_regions as _build_regions
from watchline.index.regions import earth_circles as earth_circles
from watchline.index.regions import extent_of as extent_of
from watchline.index.regions import joined_columns as joined_columns
from watchline.index.regions import read_regions as read_regions
from watchline.index.regions import region_cost as region_cost
from watchline.index.regions import region_holds as region_holds
from watchline.index.regions import runs as runs
from watchline.index.regions import shapes_of_arrow as shapes_of_arrow
from watchline.index.regions import with_radii as with_radii
from watchline.index.regions import with_vectors as with_vectors
from watchline.index.regions import without_vectors as without_vectors
from watchline.index.result import Matches
from watchline.index.result import search as search
from watchline.index.scan import scan_runs as scan_runs
from watchline.index.table import BoxTable as BoxTable
from watchline.index.table import SlotTable as SlotTable
from watchline.index.table import hash_place as hash_place
from watchline.index.tuning import scan_cost as scan_cost
from watchline.kernels.arrays import Doubles

__all__ = ["Index", "Matches", "build", "build_regions", "estimate"]

# The class of each kind, and its module here. A module is loaded when one of its kinds is first
# built, so that nobody compiles the papers' rivals who does not ask for them.
_KINDS = {
    "auto": "choose.AutoIndex",
    "cei": "cei.ContainmentEncodedIntervals",
    "cells": "ces.FixedCells",
    "ces": "ces.ContainmentEncodedSquares",
    "counting": "papers.counting.CountingIndex",
    "ibs": "papers.ibs.IntervalSearchTrees",
    "islist": "papers.islist.IntervalSkipList",
    "lci": "papers.anchored.LogarithmicConstructIntervals",
    "scan": "scan.ScanIndex",
    "sci": "papers.anchored.SimpleConstructIntervals",
    "spatialjoin": "spatialjoin.SpatialJoinIndex",
    "twophase": "papers.twophase.TwoPhaseIndex",
    "ugc": "ces.UnitGridCells",
    "ui": "cei.UnitIntervals",
    "vcs": "papers.anchored.VirtualConstructSquares",
}


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


def build_regions(
    geometries: Any,
    ids: npt.ArrayLike | None = None,
    *,
    radius: Any = None,
    within: Any = None,
    geography: bool = False,
) -> RegionIndex:
    """An index over regions: polygons, circles and corridors, in one index if wanted.

    `geometries` are shapely geometries, WKB, or a GeoArrow column. A polygon may have holes and
    several parts; a point is a circle of `radius`, and an array (n, 2) has the centres of n
    circles; a line is a corridor that holds what is at most `within` from it. `radius` and `within`
    are a number, or one for each geometry (NaN where it is of another kind). `ids` are int64,
    0 … n-1 if not given.

    With `geography` the regions are on Earth, and so are the points that are searched: x is a
    longitude and y a latitude in degrees, `radius` and `within` are metres, edges of polygons are
    straight in longitude and latitude, and what crosses the antimeridian may run beyond 180.
    Latitudes beyond 90 are refused.

    Borders are those of docs/decisions/0003, bit for bit. What is no region is refused with its
    number: an `InvalidRange`.
    """
    return _build_regions(geometries, ids, radius=radius, within=within, geography=geography)


def estimate(
    kind: str,
    lo: Doubles,
    hi: Doubles,
    **tuning: Any,
) -> float:
    """Nanoseconds that a row costs by the model of this kind over the boxes (n, d), none built."""
    return _empty(kind, lo.shape[1], tuning).estimate(lo, hi)


def _empty(kind: str, dims: int, tuning: dict[str, Any]) -> Index:
    if kind not in _KINDS:
        raise InvalidQuery(f"there is no index {kind!r}; there is {', '.join(sorted(_KINDS))}")
    module, name = _KINDS[kind].rsplit(".", 1)
    found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    options = [name for name in signature(found).parameters if name != "dims"]
    for name in tuning:
        if name not in options:
            taken = f"it takes {', '.join(options)}" if options else "it takes none"
            raise InvalidQuery(f"index {kind!r} does not take the option {name!r}; {taken}")
    made: Index = found(dims, **tuning)
    return made
