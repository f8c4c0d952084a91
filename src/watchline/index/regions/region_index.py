"""The index of regions: polygons, circles and corridors in, and for each point those that hold it.

Invariant (I4): the answer is the one of the fixed formulas for each region, bit for bit, whatever
the coordinates. NaN and infinities are in no region. A refused call has changed nothing.

An index on Earth has regions of longitudes and latitudes, and its lengths are metres
(`wl.index.build_regions`). What engines give it may be of both kinds.

The index keeps the vertices once, and a tree of cells whose lists refer to them (tree.py). It is
tuned when it is built, and built again when it has doubled or most of it has gone. Cost: a point
reads two or three cells and the edges near it; a region is inserted into the cells that its border
meets. Memory: the vertices, and about three quarters as much for the tree.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from watchline.errors import DuplicateQuery, InvalidRange, UnknownQuery
from watchline.index.base import FADE, checked_ids, checked_points
from watchline.index.regions.entries import ALIGN, MOST_REGIONS
from watchline.index.regions.extents import extent_of
from watchline.index.regions.forms import (
    CIRCLE_VERTICES,
    EARTH_CIRCLE,
    EARTH_CIRCLE_VERTICES,
)
from watchline.index.regions.geometries import RegionColumns, joined_columns, region_columns
from watchline.index.regions.holdings import Holdings
from watchline.index.regions.marking import Ground
from watchline.index.regions.marks import Marks, clean_marks
from watchline.index.regions.moves import RegionChanges, changes_of
from watchline.index.regions.sheet import sheet_over
from watchline.index.regions.stabbing import CellTree, Earth, stab
from watchline.index.regions.tree import (
    COSTS,
    EDGE,
    ENTRY,
    FEW_EDGES,
    FULL,
    LOOK,
    MOST_BITS,
    REMOVING,
    USED,
    WASTED,
    compacted,
    entries_of,
    settle,
)
from watchline.index.result import Matches, search
from watchline.kernels.arrays import Doubles, Integers, Small
from watchline.kernels.earth import cosines_of, wrapped_all

# The first grid has about so many cells a side for the square root of the regions, and at most so
# many cells that are whole in a region for each vertex.
ROOT_CELLS, ROOT_WHOLES, MOST_ROOT_BITS = 2.5, 1.0, 11
# The index is built again when it has so many times the regions it was built for, and some more.
OUTGROWN, SOME = 2, 1_024
# Grids that a search looks through, most of the time.
GRIDS = 3


class RegionIndex:
    """Regions that can be searched, added and removed; made by `wl.index.build_regions`."""

    def __init__(self, columns: RegionColumns, ids: Integers, *, geography: bool = False):
        self._geography = geography
        self._per_row = 0.0
        # Room to mark cells: kept while regions come and go.
        self._scratch: tuple[Marks, Small] | None = None
        self._build(ids, columns)

    # --- what callers use

    def stab(self, points: npt.ArrayLike) -> Matches:
        """The regions that hold each point; points are (m, 2)."""
        return self.stab_points(self._checked(points))

    def stab_points(self, points: Doubles) -> Matches:
        """As `stab`, for float64 (m, 2), which is not checked; longitudes are in [-180, 180)."""
        fill = partial(stab, self._earth, self._tree())
        matches = search(fill, (points,), self._held.ids.dtype, self._per_row)
        self._per_row = max(FADE * self._per_row, len(matches) / max(1, len(points)))
        return matches

    def changes(self, old: npt.ArrayLike, new: npt.ArrayLike) -> RegionChanges:
        """The regions that each move from old[i] to new[i] leaves and enters.

        A point that is NaN is nowhere: a move from there enters all that hold the new point.
        """
        before, after = self._checked(old), self._checked(new)
        if len(before) != len(after):
            raise InvalidRange(f"there are {len(before)} old points and {len(after)} new ones")
        return self.changes_of_points(before, after)

    def changes_of_points(self, old: Doubles, new: Doubles) -> RegionChanges:
        """As `changes`, for float64 (m, 2) that are known to be alike, and are not checked."""
        return changes_of(self._earth, self._tree(), old, new)

    def insert(
        self, ids: npt.ArrayLike, geometries: Any, *, radius: Any = None, within: Any = None
    ) -> None:
        """More regions, given as to `wl.index.build_regions`."""
        columns = region_columns(geometries, radius, within, geography=self._geography)
        self._insert(checked_ids(ids), columns)

    def remove(self, ids: npt.ArrayLike) -> None:
        gone = checked_ids(ids)
        slots = self._held.find(gone)
        if (slots < 0).any():
            raise UnknownQuery(f"id {gone[slots < 0].min()} is not in the index")
        many = 2 * len(gone) > len(self)
        if not many:
            self._settle(slots, removing=True)
        self._held.free(slots)
        if many or self._held.sparse:
            self._rebuild()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays that the index keeps."""
        kept = self._held.nbytes + self.cells_nbytes
        if self._scratch is not None:
            marks, latest = self._scratch
            kept += latest.nbytes + sum(array.nbytes for array in marks)
        return kept

    @property
    def cells_nbytes(self) -> int:
        """The bytes of the tree of cells, of all `nbytes`."""
        return self._words.nbytes

    def __getstate__(self) -> dict[str, Any]:
        """Arrays alone are large, so that processes can map what one of them has built."""
        return self.__dict__ | {"_scratch": None}

    def _checked(self, points: npt.ArrayLike) -> Doubles:
        """Points as searches take them: on Earth with longitudes in [-180, 180)."""
        checked = checked_points(points, 2)
        if not self._geography:
            return checked
        beyond = (np.abs(checked[:, 1]) > 90) & np.isfinite(checked[:, 1])
        if beyond.any():
            latitude = checked[np.argmax(beyond), 1]
            raise InvalidRange(
                f"a point has latitude {latitude:g}, beyond 90: are longitude and latitude swapped?"
            )
        longitudes = wrapped_all(np.ascontiguousarray(checked[:, 0]))
        return np.stack([longitudes, checked[:, 1]], axis=1)

    # --- the tree

    def _tree(self) -> CellTree:
        held = self._held
        return CellTree(self._words, held.coordinates, held.reach, held.ids, self._sheet)

    def _build(self, ids: Integers, columns: RegionColumns) -> None:
        """All anew, for these regions; nothing is changed if they are too many."""
        held = Holdings(columns, ids)
        if len(held) > MOST_REGIONS or held.vertices >= 2**32:
            _refuse_full()
        extents = extent_of(*columns)
        low = extents[:, :2].min(axis=0, initial=np.inf)
        high = extents[:, 2:].max(axis=0, initial=-np.inf)
        before = dict(self.__dict__)
        self._held, self._sheet = held, sheet_over(*low.tolist(), *high.tolist())
        self._earth: Earth = _any_on_earth(columns)
        self._bits = _root_bits(extents, _corners(columns), self._earth)
        self._built_for = len(held)
        self._words, self._state = np.zeros(ALIGN, dtype=np.uint32), np.zeros(4, dtype=np.int64)
        self._state[USED], self._scratch = ALIGN, None
        if len(held):
            self._settle(held.find(ids), removing=False)
        if self._state[FULL]:
            self.__dict__ = before
            _refuse_full()
        # Those who only search need no room for more.
        self._words, self._scratch = self._words[: self._state[USED]].copy(), None

    def _insert(self, numbers: Integers, columns: RegionColumns) -> None:
        _check_count(numbers, columns)
        known = self._held.find(numbers) >= 0
        if known.any():
            raise DuplicateQuery(f"id {numbers[known].min()} is in the index already")
        if len(self) + len(numbers) > OUTGROWN * self._built_for + SOME:
            held_ids, held = self._held.all()
            self._build(np.concatenate([held_ids, numbers]), joined_columns([held, columns]))
            return
        slots = self._held.add(numbers, columns)
        assert slots is not None
        self._earth = self._earth or _any_on_earth(columns)
        self._settle(slots, removing=False)
        if self._state[FULL]:
            self._held.free(slots)
            self._rebuild()
            _refuse_full()

    def _rebuild(self) -> None:
        self._build(*self._held.all())

    def _settle(self, slots: Small, *, removing: bool) -> None:
        held = self._held
        if self._scratch is None:
            bits = max(self._bits, MOST_BITS)
            self._scratch = clean_marks(bits), np.full(1 << 2 * bits, -1, dtype=np.int32)
        marks, latest = self._scratch
        ground = Ground(held.coordinates, held.reach, self._sheet, marks, latest, COSTS, self._bits)
        forms, begins, ends = held.chains_of(slots)
        entries = entries_of(slots, forms, begins, ends, held.chains)
        self._state[REMOVING] = removing
        self._words = settle(self._words, self._state, entries, ground)
        if 2 * self._state[WASTED] > self._state[USED] + 4_096 and not self._state[FULL]:
            self._words = compacted(self._words, self._state)


def region_cost(columns: RegionColumns) -> float:
    """Nanoseconds that a search costs by the model of the tree: a look for each of its grids, the
    regions around the point, and the edges of one list."""
    if not len(columns):
        return float(COSTS[LOOK])
    around = _covered(extent_of(*columns), _any_on_earth(columns))
    return float(GRIDS * COSTS[LOOK] + around * COSTS[ENTRY] + COSTS[FEW_EDGES] * COSTS[EDGE])


def _covered(extents: Doubles, earth: Earth) -> float:
    """How many of the extents are around a point of all that they cover, which is anywhere in the
    plane or on the globe."""
    low, high = extents[:, :2].min(axis=0), extents[:, 2:].max(axis=0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        part = ((extents[:, 2:] - extents[:, :2]) / (high - low)).clip(0, 1)
    if earth:
        # Towards the poles fewer places have the same degrees of longitude.
        middle = (extents[:, 1] + extents[:, 3]) / 2
        every = cosines_of(np.linspace(low[1], high[1], 64)).mean()
        part[:, 0] *= cosines_of(middle) / max(every, 1e-9)
        # What crosses the antimeridian is about as wide as high, not as wide as its extent.
        wide = (extents[:, 3] - extents[:, 1]) / (360 * max(every, 1e-9))
        crosses = (extents[:, 0] == -180) & (extents[:, 2] == 180)
        part[crosses, 0] = np.minimum(part[crosses, 0], wide[crosses])
    return float(np.nan_to_num(part, nan=1.0).prod(axis=1).sum())


def _any_on_earth(columns: RegionColumns) -> Earth:
    return True if (columns.forms >= EARTH_CIRCLE).any() else None


def _check_count(ids: Integers, columns: RegionColumns) -> None:
    if len(ids) != len(columns):
        raise InvalidRange(f"there are {len(columns)} geometries and {len(ids)} ids")


def _refuse_full() -> NoReturn:
    raise MemoryError("the cells of one index of regions take at most 2^29 words")


def _corners(columns: RegionColumns) -> int:
    """The vertices of regions, without those in which circles on Earth have their vectors."""
    more = EARTH_CIRCLE_VERTICES - CIRCLE_VERTICES
    return len(columns.coordinates) - more * int((columns.forms == EARTH_CIRCLE).sum())


def _root_bits(extents: Doubles, vertices: int, earth: Earth) -> int:
    """How fine the first grid is: by the regions, unless these cover so much that it would name
    them too often."""
    if not len(extents):
        return 1
    covered = _covered(extents, earth)
    cells = ROOT_CELLS * math.sqrt(len(extents))
    cells = min(cells, math.sqrt(max(ROOT_WHOLES * vertices / max(covered, 1e-9), 4)))
    return max(1, min(MOST_ROOT_BITS, round(math.log2(cells))))


def build_regions(
    geometries: Any,
    ids: npt.ArrayLike | None = None,
    *,
    radius: Any = None,
    within: Any = None,
    geography: bool = False,
) -> RegionIndex:
    """See `watchline.index.build_regions`."""
    columns = region_columns(geometries, radius, within, geography=geography)
    numbers = np.arange(len(columns)) if ids is None else checked_ids(ids)
    _check_count(numbers, columns)
    return RegionIndex(columns, numbers, geography=geography)
