"""Query shedding: the same queries with less around them, and then with smaller regions.

There are steps: the first take the cache of queries that move, the others a tenth of every region's
area each. A region shrinks about its centre, so that what is left is a part of it. No region is
left with less of its area than its query's least ACCURACY; where that is not enough, because
objects are not spread evenly, the query is *locked*: it has its whole region and cache.

Where queries overlap, a step may let no object go. Such a step costs accuracy for nothing, so it is
not taken; and what was tried in vain is not tried in every batch (`Patience`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchline.matching import Base, Plan, base_of
from watchline.matching.plan import Part, Residue, circles_of
from watchline.model import Circle, Stream
from watchline.tracking.watcher import WatchBase, Watcher, watch_base

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# The share of the cache, and of the area, in each step.
STEPS = ((1.0, 1.0), (0.5, 1.0), (0.0, 1.0), *((0.0, tenths / 10) for tenths in range(9, 0, -1)))
LAST_STEP = len(STEPS) - 1
# After a search for a smaller step that was in vain, so many batches pass at most before the next.
LONGEST = 64


@dataclass(frozen=True)
class Sizes:
    """How much is left of queries: a step, and the ids of those that are locked."""

    step: int = 0
    locked: frozenset[str] = frozenset()

    @property
    def is_last(self) -> bool:
        return self.step == LAST_STEP

    def areas(self, ids: pa.Array, least: Doubles) -> Doubles:
        """The part of each region that is left."""
        area = np.maximum(STEPS[self.step][1], least)
        area[self._locked(ids)] = 1.0
        return area

    def caches(self, ids: pa.Array) -> Doubles:
        """The part of each cache that is left."""
        left = np.full(len(ids), STEPS[self.step][0])
        left[self._locked(ids)] = 1.0
        return left

    def _locked(self, ids: pa.Array) -> npt.NDArray[np.bool_]:
        locked = pa.array(sorted(self.locked), pa.string())
        return pc.is_in(ids, value_set=locked).to_numpy(zero_copy_only=False)


WHOLE = Sizes()


@dataclass(frozen=True)
class Patience:
    """When a smaller step is looked for again, after that was in vain: each time twice as many
    batches pass as before, and `left` of them are to come."""

    wait: int = 0
    left: int = 0

    def lost(self) -> Patience:
        """Once more in vain."""
        wait = min(max(2 * self.wait, 1), LONGEST)
        return Patience(wait, wait)

    def waited(self) -> Patience:
        """One batch less to wait."""
        return replace(self, left=self.left - 1)


def shrunk(base: Base, sizes: Sizes) -> Base:
    """The queries of a base with less area."""
    made = base.plan
    area = sizes.areas(made.ids, made.accuracy)
    if (area == 1.0).all():
        return base
    smaller = _shrunk(made, np.sqrt(area), base.stream)
    if isinstance(base, WatchBase):
        return watch_base(smaller, base.stream)
    return base_of(smaller, base.stream)


def shrunk_watcher(watcher: Watcher, sizes: Sizes) -> Watcher:
    """The queries of a watcher as they are now, with less area."""
    return watcher.through(lambda base: shrunk(base, sizes))


def _shrunk(made: Plan, side: Doubles, stream: Stream) -> Plan:
    """Each region with so much of its width and height."""
    of_box = side[made.query]
    residue, residues = _shrunk_residues(made, of_box)
    parts = tuple(_shrunk_part(part, of_box[part.numbers], stream) for part in made.parts)
    return replace(
        made, parts=parts, residue=residue, residues=residues, circles=circles_of(residues)
    )


def _shrunk_part(part: Part, side: Doubles, stream: Stream) -> Part:
    """Boxes that are bounded in both coordinates of the place, about their centres."""
    names = [axis.name for axis in part.axes]
    if stream.point is None or not set(stream.point) <= set(names):
        return part
    axes = [names.index(name) for name in stream.point]
    lo, hi = part.lo.copy(), part.hi.copy()
    bounded = np.isfinite(lo[axes]).all(axis=0) & np.isfinite(hi[axes]).all(axis=0)
    for d in axes:
        low, high = (np.where(bounded, ends[d], 0.0) for ends in (lo, hi))
        middle, half = low / 2 + high / 2, (high / 2 - low / 2) * side
        low, high = np.maximum(middle - half, lo[d]), np.minimum(middle + half, hi[d])
        chosen = bounded & (side < 1) & (low < high)
        lo[d], hi[d] = np.where(chosen, low, lo[d]), np.where(chosen, high, hi[d])
    return replace(part, lo=lo, hi=hi)


def _shrunk_residues(made: Plan, side: Doubles) -> tuple[Integers, tuple[Residue, ...]]:
    """Circles with smaller radii; of a polygon the box around it shrinks, and it stays."""
    residues: dict[Residue, int] = {}
    pairs, places = np.unique(
        np.stack([made.residue, side.view(np.int64)], axis=1), axis=0, return_inverse=True
    )
    numbers = []
    for number, bits in pairs.tolist():
        if number < 0:
            numbers.append(-1)
            continue
        found = made.residues[number]
        if isinstance(found.region, Circle):
            factor = np.array(bits).view(np.float64).item()
            radius = found.region.radius * factor
            if radius > 0:
                found = replace(found, region=replace(found.region, radius=radius))
        numbers.append(residues.setdefault(found, len(residues)))
    return np.array(numbers, np.int64)[places.reshape(-1)], tuple(residues)
