"""Residues: what is left to check on candidates that the indexes of a plan have found.

A residue is a conjunction of atoms, and of regions that a row must be inside or outside of. Atoms
that are alike are kept once, and checked on the candidates of all that share them. Regions are
columns: one kernel decides all pairs of a candidate and its residue by the fixed formulas, with
every edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from watchline.evaluate import holds
from watchline.index import RegionColumns, joined_columns, region_holds, runs
from watchline.kernels.arrays import Doubles, Integers, Mask, read_only
from watchline.kernels.compiled import kernel
from watchline.matching.shapes import Shape, ShapeDraft, shape_columns
from watchline.model import Atom, Attribute, Conjunction
from watchline.rows import Columns

Atoms = tuple[Atom, ...]


@dataclass(frozen=True)
class Residues:
    """Residues by number. Residue r has the atoms `atoms[kinds[r]]`, and the regions `begins[r]`
    to `begins[r + 1]`: it holds a row that is outside of those that are `negated`, and inside of
    the others. A row without a point is in none, and outside of none."""

    atoms: tuple[Atoms, ...]
    kinds: Integers
    begins: Integers
    negated: Mask
    regions: RegionColumns

    def __len__(self) -> int:
        return len(self.kinds)

    def atoms_of(self, residue: int) -> Atoms:
        """The atoms of a residue."""
        return self.atoms[self.kinds[residue]]

    def regions_of(self, residue: int) -> list[tuple[RegionColumns, bool]]:
        """The regions of a residue, each as columns, and whether it is negated."""
        places = range(self.begins[residue], self.begins[residue + 1])
        return [(self.regions.taken(np.array([k])), bool(self.negated[k])) for k in places]

    @cached_property
    def _have_atoms(self) -> Mask:
        return np.array([bool(atoms) for atoms in self.atoms], np.bool_)

    def hold(
        self,
        residues: Integers,
        rows: Integers,
        columns: Columns,
        point: tuple[Attribute, Attribute] | None,
    ) -> Mask:
        """Which rows satisfy their residue; -1 is none, which every row satisfies."""
        kept = np.ones(len(rows), np.bool_)
        if not len(rows):
            return kept
        if len(self.negated):
            assert point is not None
            x, y = (read_only(columns.values(axis)) for axis in point)
            regions = RegionColumns(*map(read_only, self.regions))
            pairs = read_only(residues), read_only(rows)
            kept = _in_regions(
                read_only(self.begins), read_only(self.negated), regions, *pairs, x, y
            )
        if self._have_atoms.any():
            kind_of = np.where(residues >= 0, self.kinds[residues], -1)
            waiting = np.flatnonzero(kept & (kind_of >= 0))
            waiting = waiting[self._have_atoms[kind_of[waiting]]]
            waiting = waiting[np.argsort(kind_of[waiting], kind="stable")]
            bounds = np.flatnonzero(np.diff(kind_of[waiting], prepend=-1, append=-1))
            for start, end in pairwise(bounds):
                alike = waiting[start:end]
                asked = Conjunction(self.atoms[kind_of[alike[0]]])
                kept[alike] = holds((asked,), columns.take(rows[alike]))
        return kept


@kernel
def _in_regions(
    begins: Integers, negated: Mask, regions: RegionColumns,
    residues: Integers, rows: Integers, x: Doubles, y: Doubles,
) -> Mask:  # fmt: skip
    """Which rows are inside and outside of the regions of their residue as it wants."""
    kept = np.ones(len(rows), np.bool_)
    for i in range(len(rows)):
        r = residues[i]
        if r < 0:
            continue
        for k in range(begins[r], begins[r + 1]):
            px, py = x[rows[i]], y[rows[i]]
            known = np.isfinite(px) and np.isfinite(py)
            if not known or region_holds(regions, k, px, py) == negated[k]:
                kept[i] = False
                break
    return kept


class Left(NamedTuple):
    """What is left to check of an alternative: atoms, and regions, some negated."""

    atoms: Atoms = ()
    shapes: tuple[Shape, ...] = ()
    negated: tuple[bool, ...] = ()


class ResidueDraft:
    """Residues in the making; those that are alike and have no regions are one."""

    def __init__(self) -> None:
        self._atoms: dict[Atoms, int] = {}
        self._plain: dict[int, int] = {}
        self._kinds: list[Integers] = []
        self._counts: list[Integers] = []
        self._negated: list[Mask] = []
        self._shapes = ShapeDraft()
        self._count = 0

    def add(self, left: Left) -> int:
        """The number of a residue; -1 if nothing is left to check."""
        if not left.atoms and not left.shapes:
            return -1
        kind = self._atoms.setdefault(left.atoms, len(self._atoms))
        if not left.shapes:
            return self._plain_number(kind)
        self._shapes.add(left.shapes)
        self._negated.append(np.array(left.negated, np.bool_))
        return int(self._new(np.array([kind]), np.array([len(left.shapes)]))[0])

    def add_each(self, left: Left, regions: RegionColumns) -> Integers:
        """The numbers of residues that each have one of these regions, and what is left besides."""
        n, more = len(regions), len(left.shapes)
        kind = self._atoms.setdefault(left.atoms, len(self._atoms))
        if more:
            every = joined_columns([regions, shape_columns(left.shapes)])
            others = np.broadcast_to(np.arange(n, n + more), (n, more))
            regions = every.taken(np.column_stack([np.arange(n), others]).reshape(-1))
        self._shapes.add(regions)
        self._negated.append(np.tile(np.array([False, *left.negated], np.bool_), n))
        return self._new(np.full(n, kind), np.full(n, 1 + more))

    def take(self, made: Residues, numbers: Integers) -> Integers:
        """Take over residues of another plan, each given once: their numbers here."""
        used, places = np.unique(made.kinds[numbers], return_inverse=True)
        kinds = [self._atoms.setdefault(made.atoms[k], len(self._atoms)) for k in used]
        kind = np.array(kinds, np.int64)[places.reshape(-1)]
        counts = made.begins[numbers + 1] - made.begins[numbers]
        fresh = np.empty(len(numbers), np.int64)
        plain = counts == 0
        fresh[plain] = [self._plain_number(k) for k in kind[plain].tolist()]
        if not plain.all():
            some = np.flatnonzero(~plain)
            which = runs(made.begins[numbers[some]], counts[some])
            self._shapes.add(made.regions.taken(which))
            self._negated.append(made.negated[which])
            fresh[some] = self._new(kind[some], counts[some])
        return fresh

    def _plain_number(self, kind: int) -> int:
        if kind not in self._plain:
            self._plain[kind] = int(self._new(np.array([kind]), np.zeros(1, np.int64))[0])
        return self._plain[kind]

    def _new(self, kinds: Integers, counts: Integers) -> Integers:
        numbers = np.arange(self._count, self._count + len(kinds))
        self._kinds.append(kinds)
        self._counts.append(counts)
        self._count += len(kinds)
        return numbers

    def finish(self) -> Residues:
        """All residues."""
        counts = np.concatenate([np.zeros(1, np.int64), *self._counts])
        return Residues(
            tuple(self._atoms),
            np.concatenate([np.empty(0, np.int64), *self._kinds]),
            np.cumsum(counts),
            np.concatenate([np.empty(0, np.bool_), *self._negated]),
            self._shapes.finish(),
        )
