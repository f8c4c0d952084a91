"""Everyone who races: our indexes and the libraries that people use today.

Each contestant builds its index from the same boxes, is given the points in the form that it takes
(made before the clock starts), and answers all of them in the fastest way its interface offers:

* NCLS: `all_overlaps_both` of [floor(x), floor(x) + 1); its ranges are half-open as ours are.
* superintervals: `search_idxs_batch`; its ranges are closed, so they end one earlier. It numbers
  ranges in its own order, by start and then from the longest.
* shapely: a bulk query of an STRtree without predicate, as boxes are their own envelopes.
* geoindex-rs: it has no bulk search, but a join of two trees, which is several times faster than
  a call for each point.
* rtree: `intersection_v`.

A library is imported when it is built: one that is not installed fails then, and the others race.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

import watchline as wl
from bench.common.workloads import Workload
from watchline.kernels.arrays import Doubles

OURS, OTHERS = 7, 3

Pairs = tuple[npt.NDArray[Any], npt.NDArray[Any]]


@dataclass(frozen=True)
class Contestant:
    """Who builds what, how it is given points, and which pairs (row, id) its result means."""

    name: str
    build: Callable[[Workload], Any]
    prepare: Callable[[Any, Doubles], Callable[[], Any]]
    pairs: Callable[[Any, Any], Pairs]
    rounds: int = OTHERS
    # Only this many of the points, if all would take minutes.
    most: int | None = None
    # For our own: the kind and its tuning.
    kind: str = ""
    tuning: dict[str, Any] = field(default_factory=dict)


def own(kind: str, how: str = "self-tuned", **tuning: Any) -> Contestant:
    return Contestant(
        f"`{kind}`, {how}" if how else f"`{kind}`",
        lambda w: wl.index.build(kind, w.lo, w.hi, **tuning),
        lambda index, points: lambda: index.stab(points),
        lambda index, found: (found.rows(), found.ids),
        rounds=OURS,
        kind=kind,
        tuning=tuning,
    )


def paper(kind: str, r: int, L: int | None = None) -> Contestant:
    """One of ours as the papers have it: cells of 1, and L."""
    tuning = {"unit": 1, "domain": (0, r)} | ({"L": L} if L else {})
    return own(kind, f"unit 1{f', L {L}' if L else ''}", **tuning)


def copy(winner: Contestant) -> Contestant:
    """The least that any index could do: its own result copied into memory not yet touched."""
    return Contestant(
        f"cold copy of what {winner.name} found",
        lambda w: winner.prepare(winner.build(w), w.points)(),
        lambda found, points: lambda: (found.ids.copy(), found.offsets.copy()),
        lambda found, copied: (
            np.repeat(np.arange(len(copied[1]) - 1), np.diff(copied[1])),
            copied[0],
        ),
        rounds=OURS,
    )


def contestants(w: Workload) -> list[Contestant]:
    """Ours first."""
    r = w.r
    if w.dims == 1:
        ours = [own("cei"), paper("cei", r, 16), paper("ui", r), own("islist", "")]
        return [*ours, _ncls(np.int64), _ncls(np.int32), _superintervals()]
    ours = [own("ces"), paper("ces", r, 8), paper("ces", r, 16), paper("ugc", r)]
    ours += [own("cells"), own("vcs")]
    return [*ours, _shapely(), _geoindex_join(), _geoindex_build_and_join(), _rtree()]


# --- intervals


def _ncls(dtype: Any) -> Contestant:
    def build(w: Workload) -> Any:
        from ncls import NCLS

        return NCLS(w.lo.astype(dtype), w.hi.astype(dtype), np.arange(len(w.lo)))

    def prepare(index: Any, points: Doubles) -> Callable[[], Any]:
        cells, rows = np.floor(points).astype(dtype), np.arange(len(points))
        ends = cells + dtype(1)
        return lambda: index.all_overlaps_both(cells, ends, rows)

    return Contestant(f"NCLS, {np.dtype(dtype)}", build, prepare, lambda index, found: found)


def _superintervals() -> Contestant:
    def build(w: Workload) -> Any:
        from superintervals import IntervalMap

        order = np.lexsort((-w.hi, w.lo))
        lo, hi = w.lo[order].astype(np.int32), w.hi[order].astype(np.int32) - 1
        return IntervalMap.from_arrays(lo, hi), order

    def prepare(index: Any, points: Doubles) -> Callable[[], Any]:
        cells = np.floor(points).astype(np.int32)
        return lambda: index[0].search_idxs_batch(cells, cells)

    def pairs(index: Any, found: Any) -> Pairs:
        places = np.fromiter(chain.from_iterable(found), dtype=np.int64)
        return np.repeat(np.arange(len(found)), [len(row) for row in found]), index[1][places]

    return Contestant("superintervals, batch", build, prepare, pairs)


# --- boxes


def _shapely() -> Contestant:
    def prepare(tree: Any, points: Doubles) -> Callable[[], Any]:
        geometries = shapely.points(points)
        return lambda: tree.query(geometries)

    return Contestant(
        "shapely STRtree, bulk",
        lambda w: shapely.STRtree(shapely.box(*w.lo.T, *w.hi.T)),
        prepare,
        lambda tree, found: (found[0], found[1]),
    )


def _packed(lo: Doubles, hi: Doubles) -> Any:
    from geoindex_rs import rtree as geoindex

    builder = geoindex.RTreeBuilder(len(lo))
    builder.add(np.ascontiguousarray(np.hstack([lo, hi])))
    return builder.finish()


def _packed_boxes(w: Workload) -> Any:
    return _packed(w.lo, w.hi)


def _tree_join(tree: Any, others: Any) -> Any:
    from geoindex_rs import rtree as geoindex

    return geoindex.tree_join(tree, others)


def _joined(tree: Any, joined: Any) -> Pairs:
    return np.asarray(joined.column("right")), np.asarray(joined.column("left"))


def _geoindex_join() -> Contestant:
    def prepare(tree: Any, points: Doubles) -> Callable[[], Any]:
        others = _packed(points, points)
        return lambda: _tree_join(tree, others)

    return Contestant(
        "geoindex-rs, join with a tree of the points",
        _packed_boxes,
        prepare,
        _joined,
    )


def _geoindex_build_and_join() -> Contestant:
    return Contestant(
        "geoindex-rs, tree of the points and join",
        _packed_boxes,
        lambda tree, points: lambda: _tree_join(tree, _packed(points, points)),
        _joined,
    )


def _rtree() -> Contestant:
    def build(w: Workload) -> Any:
        from rtree.index import Index

        return Index((np.arange(len(w.lo)), w.lo, w.hi))

    def pairs(index: Any, found: Any) -> Pairs:
        ids, counts = found
        return np.repeat(np.arange(len(counts)), counts.astype(np.int64)), ids

    return Contestant(
        "rtree, intersection_v",
        build,
        lambda index, points: lambda: index.intersection_v(points, points),
        pairs,
        most=100_000,
    )
