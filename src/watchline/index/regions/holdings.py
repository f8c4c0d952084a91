"""The regions of an index by slot: ids, vertices and chains, in arrays that grow at their ends.

Cost: amortised constant for each vertex. What a region leaves behind is counted, and given back
when the index is built again.
"""

from __future__ import annotations

import numpy as np

from watchline.index.regions.forms import CORRIDOR, EARTH_CORRIDOR
from watchline.index.regions.geometries import RegionColumns, runs
from watchline.index.table import SlotTable
from watchline.kernels.arrays import Array, Doubles, Integers, Mask, Small
from watchline.kernels.buffers import longer


class Holdings:
    """Regions under slots that stay the same for as long as the region lives."""

    def __init__(self, columns: RegionColumns, ids: Integers):
        # By slot: the first chain, the end of the chains, the form.
        self._table = SlotTable(1, 2)
        self.coordinates: Doubles = np.empty((0, 2))
        # Of each chain the first vertex, and the edges.
        self.chains: Array = np.empty((0, 2), dtype=np.uint32)
        self.reach: Doubles = np.empty(0)
        self.ids: Array = np.empty(0, dtype=np.int32)
        self.vertices = self._chain_count = self._gone = 0
        self.add(ids, columns)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def nbytes(self) -> int:
        arrays = (self.coordinates, self.chains, self.reach, self.ids)
        return self._table.nbytes + sum(a.nbytes for a in arrays)

    @property
    def sparse(self) -> bool:
        """Whether most vertices are those of regions that have gone."""
        return 2 * self._gone > self.vertices

    def find(self, ids: Integers) -> Small:
        """The slot of each id, -1 where there is none."""
        return self._table.find(ids)

    def add(self, ids: Integers, columns: RegionColumns) -> Small | None:
        """Take in regions; their slots. None, and nothing taken in, if an id is there already."""
        begins = columns.begins + self._chain_count
        rest = np.stack([begins[1:], columns.forms], axis=1).astype(np.float64)
        slots = self._table.add(ids, begins[:-1, None].astype(np.float64), rest)
        if slots is None:
            return None
        count = self.vertices + len(columns.coordinates)
        if not len(self.coordinates) and _is_plain(columns.coordinates):
            # Nothing is ever written to vertices that there are: who has the columns shares them.
            self.coordinates = columns.coordinates
        else:
            self.coordinates = _with(self.coordinates, self.vertices, columns.coordinates)
        chains = columns.chains + np.array([self.vertices, 0])
        self.chains = _with(self.chains, self._chain_count, chains)
        self.vertices, self._chain_count = count, self._chain_count + len(chains)
        if self.ids.dtype != self._table.id_type:
            self.ids = self.ids.astype(self._table.id_type)
        self.ids = _put(self.ids, slots, ids)
        corridors = _is_corridor(columns.forms)
        if corridors.any():
            self.reach = _put(self.reach, slots[corridors], columns.reach[corridors])
        return slots

    def free(self, slots: Small) -> None:
        """Forget the regions of these slots."""
        _, begins, ends = self.chains_of(slots)
        self._gone += int((self.chains[runs(begins, ends - begins), 1].astype(np.int64) + 1).sum())
        self._table.free(slots)

    def chains_of(self, slots: Small) -> tuple[Integers, Integers, Integers]:
        """The form of each region, and where its chains begin and end."""
        rows = self._table.rows[slots]
        begins, ends, forms = rows[:, :3].T.astype(np.int64)
        return forms, begins, ends

    def all(self) -> tuple[Integers, RegionColumns]:
        """The ids of all regions, and the regions."""
        slots = self._table.living()
        forms, begins, ends = self.chains_of(slots)
        starts = np.zeros(len(slots) + 1, dtype=np.int64)
        np.cumsum(ends - begins, out=starts[1:])
        chains = self.chains[runs(begins, ends - begins)].astype(np.int64)
        sizes = chains[:, 1] + 1
        coordinates = self.coordinates[runs(chains[:, 0], sizes)]
        chains[:, 0] = np.cumsum(sizes) - sizes
        reach = np.full(len(slots), np.nan)
        corridors = _is_corridor(forms)
        reach[corridors] = self.reach[slots[corridors]]
        ids = self._table.ids[slots]
        return ids, RegionColumns(forms, starts, chains, coordinates, reach)


def _is_corridor(forms: Integers) -> Mask:
    return np.asarray((forms == CORRIDOR) | (forms == EARTH_CORRIDOR))


def _is_plain(array: Array) -> bool:
    """Whether kernels take the array as one of our own."""
    return bool(array.flags.c_contiguous and array.flags.writeable and array.flags.aligned)


def _with(array: Array, used: int, more: Array) -> Array:
    """The array, or a longer one, with some elements after those in use."""
    if used + len(more) > len(array):
        array = longer(array, max(used + len(more), len(array) + len(array) // 4))
    array[used : used + len(more)] = more
    return array


def _put(array: Array, slots: Small, values: Array) -> Array:
    """The array, or a longer one, with these values at these slots."""
    size = int(slots.max(initial=-1)) + 1
    if size > len(array):
        array = longer(array, max(size, len(array) + len(array) // 4))
    array[slots] = values
    return array
