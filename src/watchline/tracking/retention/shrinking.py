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

from watchline.index import CIRCLE, EARTH_CIRCLE, RegionColumns, with_radii
from watchline.kernels.arrays import Doubles, Mask
from watchline.matching import Part, Plan, RegionPart
from watchline.model import Stream
from watchline.tracking.plan import ChangePlan
from watchline.tracking.queries import ChangeQueries

# The share of the cache, and of the area, in each step.
SHARES = ((1.0, 1.0), (0.5, 1.0), (0.0, 1.0), *((0.0, tenths / 10) for tenths in range(9, 0, -1)))
LAST_STEP = len(SHARES) - 1
# After a search for a smaller step that was in vain, so many batches pass at most before the next.
LONGEST = 64


@dataclass(frozen=True)
class Shrinkage:
    """How much is left of queries: a step, and the ids of those that are locked."""

    step: int = 0
    locked: frozenset[str] = frozenset()

    @property
    def is_last(self) -> bool:
        return self.step == LAST_STEP

    def areas(self, ids: pa.Array, least: Doubles) -> Doubles:
        """The part of each region that is left."""
        area = np.maximum(SHARES[self.step][1], least)
        area[self._locked(ids)] = 1.0
        return area

    def caches(self, ids: pa.Array) -> Doubles:
        """The part of each cache that is left."""
        left = np.full(len(ids), SHARES[self.step][0])
        left[self._locked(ids)] = 1.0
        return left

    def _locked(self, ids: pa.Array) -> npt.NDArray[np.bool_]:
        locked = pa.array(sorted(self.locked), pa.string())
        return pc.is_in(ids, value_set=locked).to_numpy(zero_copy_only=False)


WHOLE = Shrinkage()


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


def shrunk(queries: ChangePlan, shrinkage: Shrinkage) -> ChangePlan:
    """The queries of a plan with less area."""
    made = queries.plan
    area = shrinkage.areas(made.ids, made.accuracy)
    if (area == 1.0).all():
        return queries
    return queries.with_plan(_shrunk(made, np.sqrt(area), queries.stream))


def shrunk_queries(queries: ChangeQueries, shrinkage: Shrinkage) -> ChangeQueries:
    """The queries as they are now, with less area."""
    return queries.mapped(lambda made: shrunk(made, shrinkage))


def _shrunk(made: Plan, side: Doubles, stream: Stream) -> Plan:
    """Each region with so much of its width and height."""
    of_box = side[made.query]
    residues = made.residues
    # Of queries that share a residue none has less than it may have. To shrink what rows must be
    # outside of would add to answers.
    of_residue = np.zeros(len(residues))
    left = np.flatnonzero(made.residue >= 0)
    np.maximum.at(of_residue, made.residue[left], of_box[left])
    of_region = np.repeat(of_residue, np.diff(residues.begins))
    of_region[residues.negated] = 1.0
    residues = replace(residues, regions=_shrunk_circles(residues.regions, of_region))
    parts = (_shrunk_part(part, of_box[part.numbers], stream) for part in made.parts)
    return replace(made, parts=tuple(parts), residues=residues)


def _shrunk_part(part: Part, side: Doubles, stream: Stream) -> Part:
    """Boxes that are bounded in both coordinates of the place, about their centres. Of a polygon
    the box around it shrinks, and it stays; of a circle the radius shrinks."""
    if isinstance(part, RegionPart):
        part = replace(part, regions=_shrunk_circles(part.regions, side))
        if (side[~_are_circles(part.regions)] == 1).all():
            return part
        around = part.around()
        part = replace(part, whole=False, axes=around.axes, lo=around.lo, hi=around.hi)
    names = [axis.name for axis in part.axes]
    if stream.point is None or not set(stream.point) <= set(names):
        return part
    axes = [names.index(name) for name in stream.point]
    lo, hi = part.lo.copy(), part.hi.copy()
    bounded = np.isfinite(lo[axes]).all(axis=0) & np.isfinite(hi[axes]).all(axis=0)
    if stream.geography:
        # What goes across the antimeridian, or all the way round, has no middle to shrink about.
        bounded &= hi[axes[0]] - lo[axes[0]] < 360
    for d in axes:
        low, high = (np.where(bounded, ends[d], 0.0) for ends in (lo, hi))
        middle, half = low / 2 + high / 2, (high / 2 - low / 2) * side
        low, high = np.maximum(middle - half, lo[d]), np.minimum(middle + half, hi[d])
        chosen = bounded & (side < 1) & (low < high)
        lo[d], hi[d] = np.where(chosen, low, lo[d]), np.where(chosen, high, hi[d])
    return replace(part, lo=lo, hi=hi)


def _shrunk_circles(regions: RegionColumns, side: Doubles) -> RegionColumns:
    """Circles with smaller radii; other regions stay as they are."""
    circles = _are_circles(regions)
    if (side[circles] == 1).all():
        return regions
    radius = regions.coordinates[regions.chains[regions.begins[:-1], 0][circles] + 1, 0]
    smaller = radius * side[circles]
    return with_radii(regions, circles, np.where(smaller > 0, smaller, radius))


def _are_circles(regions: RegionColumns) -> Mask:
    return np.asarray((regions.forms == CIRCLE) | (regions.forms == EARTH_CIRCLE))
