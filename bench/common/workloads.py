"""Ranges, boxes and points of the index benchmarks, and what they come to by definition.

As in the papers, borders are integers and points are real numbers, so that no point is on a border
and it does not matter to a rival which end of a range is open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from watchline.index.papers import formulas
from watchline.kernels.arrays import Doubles, Integers

LARGE, SMALL = 2**20, 65_536


@dataclass(frozen=True)
class Workload:
    """Boxes (n,) or (n, 2), points alike, and the domain [0, r) of each dimension."""

    name: str
    lo: Doubles
    hi: Doubles
    points: Doubles
    r: int

    @property
    def dims(self) -> int:
        return self.lo.ndim

    @property
    def domain(self) -> tuple[float, float]:
        return 0.0, float(self.r)

    def first(self, points: int) -> Workload:
        return replace(self, points=self.points[:points])

    def few(self) -> Workload:
        """A little of it, to compile and to warm up with."""
        return replace(self, lo=self.lo[:200], hi=self.hi[:200], points=self.points[:2_000])


def intervals(name: str, n: int, W: int, r: int, points: int, seed: int = 1) -> Workload:
    """The CEI paper, section 5: starts in 1 … r-1, lengths in 1 … W; none goes on after r."""
    rng = np.random.default_rng(seed)
    lo = rng.integers(1, r, n).astype(np.float64)
    hi = np.minimum(lo + rng.integers(1, W + 1, n), r)
    return Workload(name, lo, hi, inner(rng.uniform(1, r, points)), r)


def boxes(name: str, n: int, W: int, r: int, points: int, seed: int = 1) -> Workload:
    """The CES paper, section 4: a corner anywhere, width and height in 1 … W, within the region."""
    rng = np.random.default_rng(seed)
    lo = rng.integers(0, r, (n, 2)).astype(np.float64)
    hi = np.minimum(lo + rng.integers(1, W + 1, (n, 2)), r)
    return Workload(name, lo, hi, inner(rng.uniform(0, r, (points, 2))), r)


def inner(points: Doubles) -> Doubles:
    """The points, none of which is on an integer border."""
    assert not (points == np.floor(points)).any()
    return points


def setting(name: str, quick: bool = False) -> Workload:
    """A, B and C of the targets; quick ones are a hundredth of them."""
    scale = 100 if quick else 1
    m = 1_000_000 // scale
    if name == "A":
        return intervals("A", 100_000 // scale, 200, LARGE, m)
    if name == "B":
        return intervals("B", 640_000 // scale, 200, LARGE, m)
    return boxes("C", 64_000 // scale, 60, 1_024, m)


# --- results, whatever their order


@dataclass(frozen=True)
class Fingerprint:
    """Number of pairs (row, id), and a checksum of 64 bits that does not depend on their order."""

    count: int
    checksum: int


def fingerprint(rows: npt.NDArray[Any], ids: npt.NDArray[Any]) -> Fingerprint:
    assert len(rows) == len(ids)
    return Fingerprint(len(ids), int(_mixed(rows, ids)))


def _sum_of_mixed(rows: Any, ids: Any) -> Any:
    """Each pair through the last steps of splitmix64, and the sum."""
    total = np.uint64(0)
    for i in range(len(rows)):
        x = (np.uint64(rows[i]) << np.uint64(32)) ^ np.uint64(ids[i])
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        total += x ^ (x >> np.uint64(31))
    return total


_mixed: Callable[[Any, Any], Any] = nb.njit(_sum_of_mixed)


# --- constructs by definition, counted without any index


def constructs(kind: str, w: Workload, L: int = 1) -> int:
    """How many constructs all boxes are decomposed into, by the papers' definitions; unit 1."""
    a, b = w.lo.astype(np.int64), w.hi.astype(np.int64)
    width = b - a
    if kind in ("ui", "sci"):
        return int((-(-width // (L if kind == "sci" else 1))).sum())
    if kind == "lci":
        rest = sum((width % L >> i) & 1 for i in range(L.bit_length()))
        return int((width // L + rest).sum())
    if kind == "ugc":
        return int(width.prod(axis=1).sum())
    if kind == "cells":
        return int(((b - 1) // L - a // L + 1).prod(axis=1).sum())
    if kind == "vcs":
        return sum(_squares(int(x), int(y), L) for x, y in width)
    return _dyadic(a, b, L) if kind == "cei" else _quaternary(a, b, L)


def _dyadic(a: Integers, b: Integers, L: int) -> int:
    """The fewest aligned intervals of 1, 2, 4 … L: an odd end costs one, at each level."""
    count = np.zeros(len(a), dtype=np.int64)
    while L > 1:
        odd = (a & 1) * (a < b)
        count, a = count + odd, a + odd
        odd = (b & 1) * (a < b)
        count, b = count + odd, b - odd
        a, b, L = a >> 1, b >> 1, L >> 1
    return int((count + b - a).sum())


def _quaternary(lo: Integers, hi: Integers, L: int) -> int:
    """The fewest aligned squares of side 1, 2, 4 … L: an odd edge costs a strip, at each level."""
    lo, hi = lo.copy(), hi.copy()
    count = np.zeros(len(lo), dtype=np.int64)
    while L > 1:
        for d in (0, 1):
            for edge, step in ((lo, 1), (hi, -1)):
                odd = (edge[:, d] & 1) * (lo < hi).all(axis=1)
                count += odd * (hi[:, 1 - d] - lo[:, 1 - d])
                edge[:, d] += step * odd
        lo, hi, L = lo >> 1, hi >> 1, L >> 1
    return int((count + np.maximum(hi - lo, 0).prod(axis=1)).sum())


@cache
def _squares(width: int, height: int, L: int) -> int:
    """Squares anchored anywhere: the largest that fit, then what is right of them and above."""
    if not width or not height:
        return 0
    side = min(1 << (min(width, height).bit_length() - 1), L)
    across, up = width // side, height // side
    right = _squares(width - across * side, up * side, L)
    return across * up + right + _squares(width, height - up * side, L)


def storage(kind: str, w: Workload, L: int = 1) -> float:
    """Bytes by the papers' formula, 4N + 8nμ, with μ counted."""
    mean = constructs(kind, w, L) / len(w.lo)
    return formulas.storage(formulas.construct_counts(kind, w.r, L).defined, len(w.lo), mean)
