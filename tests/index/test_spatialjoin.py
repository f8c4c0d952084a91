"""The spatial join against brute force, and the parts it is made of.

Answers are compared with all boxes by NumPy alone. Rows come in batches (clusters, masks of bits)
and a few at a time (one by one): nearly all tests ask both ways.
"""

from __future__ import annotations

import itertools
import math
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import watchline as wl
from tests.support.effort import examples
from tests.support.indexes import NUMBERS, TINY
from tests.support.unjitted import as_plain_python
from watchline.index import Index, spatialjoin
from watchline.index.codes import CEILING, SAMPLE
from watchline.index.hilbert import _place, curve_order
from watchline.index.hits import TILE
from watchline.index.mlgf import FANOUT, HEIGHT, PAGE, ROOT
from watchline.index.spatialjoin import FEW, SIZES, SpatialJoinIndex
from watchline.kernels import simd, threads
from watchline.spark import share

INF, NAN = math.inf, math.nan
MAX = sys.float_info.max
Array = np.ndarray[Any, Any]


# --- boxes, rows and answers


class Held:
    """Boxes as arrays, ordered by id: what an index should hold."""

    def __init__(self, dims: int):
        self.dims = dims
        self.ids = np.empty(0, np.int64)
        self.lo, self.hi = np.empty((0, dims)), np.empty((0, dims))

    def insert(self, ids: Any, lo: Array, hi: Array) -> None:
        self.ids = np.concatenate([self.ids, np.asarray(ids, np.int64)])
        order = np.argsort(self.ids)
        self.ids = self.ids[order]
        self.lo, self.hi = (
            np.concatenate([self.lo, lo])[order],
            np.concatenate([self.hi, hi])[order],
        )

    def remove(self, ids: Any) -> None:
        kept = ~np.isin(self.ids, ids)
        self.ids, self.lo, self.hi = self.ids[kept], self.lo[kept], self.hi[kept]

    def matches(self, points: Array, lenient: bool = False) -> tuple[Array, Array]:
        """Row and id of each match, in order."""
        rows, ids = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        free = (self.lo == -INF) & (self.hi == INF) & lenient
        step = max(1, 4_000_000 // max(1, len(self.ids)))
        for start in range(0, len(points), step):
            part = points[start : start + step]
            inside = np.ones((len(part), len(self.ids)), np.bool_)
            for d in range(self.dims):
                x = part[:, d, None]
                within = (self.lo[:, d] <= x) & (x < self.hi[:, d]) & np.isfinite(x)
                inside &= within | free[:, d]
            row, box = np.nonzero(inside)
            rows.append(row + start)
            ids.append(self.ids[box])
        return np.concatenate(rows), np.concatenate(ids)


def ordered(found: Any) -> tuple[Array, Array]:
    rows, ids = found.rows(), found.ids.astype(np.int64)
    order = np.lexsort((ids, rows))
    return rows[order], ids[order]


def check(index: Index, held: Held, points: Array, lenient: bool = False) -> int:
    """All rows in one batch, and the first few one by one; how many matches there were."""
    assert len(index) == len(held.ids)
    for some in (points, points[:FEW], points[:1]):
        rows, ids = held.matches(some, lenient)
        found = index.stab(some)
        assert found.offsets[0] == 0
        assert len(found.offsets) == len(some) + 1
        got = ordered(found)
        np.testing.assert_array_equal(got[0], rows)
        np.testing.assert_array_equal(got[1], ids)
    return len(held.matches(points, lenient)[0])


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers of all sorts: on a grid, beside it, tiny, huge, denormal."""
    sort = rng.choice(6, shape, p=[0.1, 0.3, 0.3, 0.1, 0.1, 0.1])
    grid = rng.integers(-4, 12, shape).astype(float)
    return np.choose(
        sort,
        [
            rng.choice(NUMBERS, shape),
            grid,
            rng.uniform(-2, 11, shape),
            np.nextafter(grid, rng.choice([-INF, INF], shape)),
            rng.normal(size=shape) * 10.0 ** rng.integers(-310, 300, shape),
            TINY * rng.integers(-9, 9, shape),
        ],
    )


def boxes(rng: np.random.Generator, n: int, dims: int) -> tuple[Array, Array]:
    """Boxes that bound about three of their dimensions, some on one side alone."""
    a, b = numbers(rng, (n, dims)), numbers(rng, (n, dims))
    lo, hi = np.minimum(a, b), np.maximum(a, b)
    bounded = rng.random((2, n, dims)) < min(0.85, 3 / dims)
    bounded[1] = np.where(rng.random((n, dims)) < 0.8, bounded[0], bounded[1])
    lo, hi = np.where(bounded[0], lo, -INF), np.where(bounded[1], hi, INF)
    flat = ~(lo < hi)
    return np.where(flat, -INF, lo), np.where(flat, INF, hi)


def rows_near(rng: np.random.Generator, held: Held, n: int, missing: float = 0.0) -> Array:
    """Rows of which many values are bounds of boxes, or next to one."""
    points = numbers(rng, (n, held.dims))
    if len(held.ids):
        bounds = np.concatenate([held.lo, held.hi])
        picked = rng.integers(0, len(bounds), (n, held.dims))
        near = bounds[picked, np.arange(held.dims)]
        with np.errstate(over="ignore"):
            near = np.where(rng.random(near.shape) < 0.3, np.nextafter(near, -INF), near)
            near = np.where(rng.random(near.shape) < 0.2, np.nextafter(near, INF), near)
        points = np.where((rng.random(near.shape) < 0.6) & np.isfinite(near), near, points)
    points = np.clip(points, -MAX, MAX)
    no_number = rng.choice([NAN, INF, -INF], points.shape)
    return np.where(rng.random(points.shape) < missing, no_number, points)


def filled(
    rng: np.random.Generator, n: int, dims: int, **tuning: Any
) -> tuple[SpatialJoinIndex, Held]:
    held = Held(dims)
    held.insert(np.arange(n), *boxes(rng, n, dims))
    return built(held, **tuning), held


def built(held: Held, **tuning: Any) -> SpatialJoinIndex:
    index = wl.index.build("spatialjoin", held.lo, held.hi, held.ids, **tuning)
    assert isinstance(index, SpatialJoinIndex)
    return index


# --- coming and going


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
@pytest.mark.parametrize("dims", [*range(1, 13), 20, 40])
def test_boxes_come_and_go(dims: int, lenient: bool) -> None:
    rng = np.random.default_rng(dims)
    index, held = filled(rng, 700, dims, lenient=lenient)
    missing = 0.3 / dims if not lenient else 0.2

    def compare(some: bool = True) -> None:
        matches = check(index, held, rows_near(rng, held, 150, missing), lenient)
        assert matches > 0 or not some

    compare()
    for i in range(30):
        one = boxes(rng, 1, dims)
        index.insert([1_000 + i], *one)
        held.insert([1_000 + i], *one)
    compare()
    more = boxes(rng, 400, dims)
    index.insert(np.arange(2_000, 2_400), *more)
    held.insert(np.arange(2_000, 2_400), *more)
    compare()
    gone = rng.permutation(held.ids)[:500]
    back = [a[np.isin(held.ids, gone)] for a in (held.ids, held.lo, held.hi)]
    index.remove(gone)
    held.remove(gone)
    compare()
    index.insert(*back)
    held.insert(*back)
    compare()
    everything = rng.permutation(held.ids)
    for some in (everything[:50], everything[50:]):
        index.remove(some)
        held.remove(some)
        compare(len(held.ids) > 0)
    index.insert(*back)
    held.insert(*back)
    compare()
    for i in rng.permutation(held.ids)[:470]:
        index.remove([i])
        held.remove([i])
    compare()


@pytest.mark.parametrize("dims", [2, 5])
def test_growth_from_nothing_one_by_one(dims: int) -> None:
    rng = np.random.default_rng(1)
    index, held = built(Held(dims)), Held(dims)
    lo, hi = boxes(rng, 5_200, dims)
    done = 0
    for end in (1, 2, 63, 64, 65, 66, 255, 256, 257, 258, 300, 1_200, 1_290, 5_200):
        for i in range(done, end):
            index.insert([i], lo[i : i + 1], hi[i : i + 1])
        held.insert(np.arange(done, end), lo[done:end], hi[done:end])
        done = end
        check(index, held, rows_near(rng, held, 60, 0.02))
    structure(index)


@pytest.mark.parametrize("dims", [1, 3, 6])
@pytest.mark.parametrize("by", [1, 40])
def test_borders_that_wander_away(dims: int, by: int) -> None:
    """Their number stays the same, while all scales become useless, and are made anew."""
    rng = np.random.default_rng(2)
    index, held = built(Held(dims)), Held(dims)
    steps = 2_000 // by
    for step in range(steps):
        lo = rng.uniform(step * by, step * by + 500, (by, dims))
        new = np.arange(step * by, (step + 1) * by), lo, lo + rng.exponential(100, (by, dims))
        index.insert(*new)
        held.insert(*new)
        if step * by >= 400:
            index.remove(new[0] - 400)
            held.remove(new[0] - 400)
        if step % (steps // 10) == 0:
            check(index, held, rows_near(rng, held, 40))
    structure(index)
    # A box that has been there from the start would have been in the first scales.
    assert index._file.scales.start.max() > 0 or index._file.scales.edges[:, 0].min() > 300


def test_a_chain_of_equal_boxes_grows_in_time() -> None:
    """One by one and in bulk, with others between: equal points cannot be cut apart."""
    rng = np.random.default_rng(3)
    index, held = filled(rng, 400, 3)
    same = np.full((10_000, 3), 2.7), np.full((10_000, 3), 3.1)
    index.insert(np.arange(1_000, 6_000), same[0][:5_000], same[1][:5_000])
    for i in range(6_000, 11_000):
        index.insert([i], same[0][:1], same[1][:1])
    held.insert(np.arange(1_000, 11_000), *same)
    for i in range(20_000, 20_100):
        one = boxes(rng, 1, 3)
        index.insert([i], *one)
        held.insert([i], *one)
    points = rows_near(rng, held, 40)
    points[::3] = rng.choice([2.7, 2.8, 3.1, np.nextafter(3.1, 0)], (14, 3))
    assert check(index, held, points) > 10_000
    structure(index)
    gone = rng.permutation(np.arange(1_000, 11_000))
    for some in (gone[:4_000], gone[4_000:9_000], gone[9_000:]):
        index.remove(some)
        held.remove(some)
        check(index, held, points)
        structure(index)


# --- numbers


def test_boxes_equal_in_all_codes_but_not_in_floats() -> None:
    """They come after the scales were made and fall between two edges, where values are, too."""
    held = Held(2)
    grid = np.arange(400.0)
    held.insert(np.arange(400), np.stack([grid, grid], 1), np.stack([grid + 5, grid + 5], 1))
    index = built(held)
    rng = np.random.default_rng(4)
    inner = np.sort(rng.uniform(10.01, 10.99, (500, 2, 2)), axis=2)
    new = np.arange(1_000, 1_500), inner[:, :, 0], inner[:, :, 1]
    index.insert(*new)
    held.insert(*new)
    assert len(np.unique(index._file.tree.points[index._boxes.find(new[0])], axis=0)) == 1
    points = rng.uniform(10, 11, (3_000, 2))
    points[::3] = inner.reshape(-1, 2)[rng.integers(0, 1_000, 1_000)]
    points[1::6] = np.nextafter(points[1::6], -INF)
    for size in (None, *SIZES):
        index._cluster_rows = size
        assert check(index, held, points) > 10_000


def one_sided(n: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    at, below = rng.uniform(0, 9, (n, 3)), rng.random((n, 3)) < 0.5
    return np.where(below, -INF, at), np.where(below, at, INF)


def around(numbers: list[float]) -> tuple[Array, Array]:
    """All ranges between two of these numbers, in every dimension another."""
    pairs = np.array(list(itertools.combinations(sorted(set(numbers)), 2)))
    rng = np.random.default_rng(6)
    picked = pairs[rng.integers(0, len(pairs), (800, 3))]
    return picked[:, :, 0], picked[:, :, 1]


HUGE = [-INF, -MAX, np.nextafter(-MAX, 0), -1e300, 0.0, 1e300, np.nextafter(MAX, 0), MAX, INF]
SMALL = [i * TINY for i in range(-6, 7)] + [2.2250738585072014e-308, -2.2250738585072014e-308]


@pytest.mark.parametrize(
    "sides",
    [
        one_sided(800),
        (np.full((400, 3), -INF), np.full((400, 3), INF)),
        around(HUGE),
        around(SMALL),
        around([*HUGE, *SMALL, 1.0]),
        around([1.0 + i * 2.0**-52 for i in range(9)]),
        around([float(i) for i in range(4)]),
    ],
    ids=["one-sided", "unbounded", "huge", "tiny", "both", "ulps", "ties"],
)
@pytest.mark.parametrize("size", [None, 64, 1_024])
def test_extreme_numbers(sides: tuple[Array, Array], size: int | None) -> None:
    rng = np.random.default_rng(7)
    held = Held(3)
    held.insert(np.arange(len(sides[0])), *sides)
    for some in (held, Held(3)):
        # Built at once, and without scales to begin with.
        index = built(some, N_dc=size)
        for part in np.array_split(np.arange(len(held.ids)), 9) if some is not held else ():
            index.insert(held.ids[part], held.lo[part], held.hi[part])
        points = rows_near(rng, held, 300, 0.01)
        points[::5] = rng.choice([0.0, -0.0, TINY, -TINY, MAX, -MAX, 1.0, 2.0], (60, 3))
        assert check(index, held, points) > 0


@pytest.mark.parametrize("dims", [1, 3, 8])
def test_strings_as_codes_and_many_rows_of_few_values(dims: int) -> None:
    rng = np.random.default_rng(8)
    held = Held(dims)
    lo = rng.integers(0, 4, (600, dims)).astype(float)
    free = rng.random((600, dims)) < 0.5
    held.insert(np.arange(600), np.where(free, -INF, lo), np.where(free, INF, lo + 1))
    points = rng.integers(-1, 6, (4_000, dims)).astype(float)
    for size in (None, 64, 1_024):
        assert check(built(held, N_dc=size), held, points) > 10_000 / dims


@pytest.mark.parametrize(("dims", "n"), [(1, 150_000), (2, 140_000), (12, 9_000), (40, 3_000)])
def test_more_bounds_than_codes(dims: int, n: int) -> None:
    """Scales of a sample: many bounds have one code, and values have it, too."""
    rng = np.random.default_rng(9)
    assert dims > 2 or 2 * n >= 2 * SAMPLE
    lo = rng.uniform(0, 1_000, (n, dims))
    held = Held(dims)
    held.insert(np.arange(n), lo, lo + rng.uniform(0, 1_500 if dims > 2 else 1, (n, dims)))
    index = built(held)
    assert index._file.scales.size < 2**15
    points = np.clip(rows_near(rng, held, 64), 0, 2_000)
    # Rows in the corners of boxes, or next to them.
    points[:16] = held.lo[:16]
    points[16:24] = np.nextafter(held.lo[16:24], -INF)
    points[24:32] = np.nextafter(held.hi[24:32], -INF)
    assert check(index, held, points) >= 24
    structure(index, regions=False)


# --- ids


@pytest.mark.parametrize("size", [None, *SIZES])
def test_ids_of_any_sign_and_width(size: int | None) -> None:
    rng = np.random.default_rng(10)
    held = Held(3)
    narrow = np.array([-(2**31), -1, 0, 2**31 - 1, *range(-400, -100)])
    held.insert(narrow, *boxes(rng, len(narrow), 3))
    held.lo[::3], held.hi[::3] = -INF, INF
    index = built(held, N_dc=size)
    points = rows_near(rng, held, 500)
    assert check(index, held, points) > 10_000
    assert index.stab(points).ids.dtype == np.int32
    wide = np.array([2**31, -(2**31) - 1, 2**62, -(2**63), 2**63 - 1])
    new = wide, np.full((5, 3), -INF), np.full((5, 3), INF)
    index.insert(*new)
    held.insert(*new)
    assert index.stab(points).ids.dtype == np.int64
    assert check(index, held, points) > 10_000
    index.remove(wide)
    held.remove(wide)
    check(index, held, points)


# --- batches


@pytest.mark.parametrize(
    "rows", [0, 1, 2, 11, 12, 13, 63, 64, 65, 255, 257, 1_023, 1_024, 1_025, 5_000, 20_000, 70_000]
)
def test_batches_of_any_size(rows: int) -> None:
    rng = np.random.default_rng(11)
    for dims in (1, 3, 6) if rows <= 5_000 else (3,):
        index, held = filled(rng, 300, dims)
        matches = check(index, held, rows_near(rng, held, rows, 0.01))
        assert matches > 0 or rows < 13


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [13, 64, 65, 1_023, 1_025, 2_500])
def test_clusters_of_any_size(size: int, rows: int) -> None:
    rng = np.random.default_rng(12)
    for dims in (1, 2, 5):
        index, held = filled(rng, 400, dims, N_dc=size)
        assert check(index, held, rows_near(rng, held, rows, 0.01)) > 0


@pytest.mark.parametrize("size", [None, *SIZES])
@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
def test_rows_that_crowd(size: int | None, lenient: bool) -> None:
    """All alike, all in one cell, all without numbers, all but one without."""
    rng = np.random.default_rng(13)
    index, held = filled(rng, 500, 3, N_dc=size, lenient=lenient)
    alike = np.repeat(rows_near(rng, held, 1), 1_500, axis=0)
    step = 1 / 4_096
    crowd = 5.25 + step * rng.random((1_500, 3))
    inner = 5.25 + step * np.sort(rng.random((100, 3, 2)), axis=2)
    new = np.arange(1_000, 1_100), inner[:, :, 0], inner[:, :, 1]
    index.insert(*new)
    held.insert(*new)
    nothing = np.full((1_500, 3), NAN)
    last = nothing.copy()
    last[-1] = crowd[-1]
    column = crowd.copy()
    column[:, 1] = INF
    for points in (alike, crowd, nothing, last, column, np.concatenate([nothing, crowd])):
        check(index, held, points, lenient)


@pytest.mark.parametrize("n", [7, 8, 9, 65, TILE - 1, TILE, TILE + 1, 2 * TILE + 3])
@pytest.mark.parametrize("wide", [0, 2**40], ids=["narrow", "wide"])
def test_every_box_matches(n: int, wide: int) -> None:
    """Dense answers are written eight ids at a time, tile by tile."""
    rng = np.random.default_rng(14)
    held = Held(3)
    lo, hi = rng.uniform(-9, -1, (n, 3)), rng.uniform(1, 9, (n, 3))
    held.insert(np.arange(n) - n // 2 + wide, lo, hi)
    points = rng.uniform(-1, 1, (333, 3))
    for size in (None, 64, 1_024):
        assert check(built(held, N_dc=size), held, points) == n * 333
    points[::2] = rng.uniform(-9, 9, (167, 3))
    points[::50] = NAN
    for size in (None, 64, 1_024):
        check(built(held, N_dc=size), held, points)


@pytest.mark.parametrize("share", [0.01, 0.04, 0.06, 0.3, 0.9])
def test_answers_of_any_density(share: float) -> None:
    """About this share of all pairs of a row and a box match."""
    rng = np.random.default_rng(15)
    held = Held(3)
    lo = rng.uniform(0, 1, (1_500, 3)) * (1 - share ** (1 / 3))
    held.insert(np.arange(1_500), lo, lo + share ** (1 / 3))
    points = rng.uniform(0, 1, (700, 3))
    for size in (None, *SIZES):
        assert check(built(held, N_dc=size), held, points) > 0


def test_few_rows_of_a_batch_have_most_matches() -> None:
    """The room for the matches, guessed from the rows so far, turns out wrong both ways."""
    rng = np.random.default_rng(16)
    held = Held(3)
    held.insert(np.arange(1_000), np.zeros((1_000, 3)), 1 + rng.random((1_000, 3)))
    index = built(held)
    points = np.full((25_000, 3), 7.0)
    points[:300] = 0.5
    points[-2_000:] = rng.uniform(0, 2, (2_000, 3))
    assert check(index, held, points) > 300_000
    assert check(index, held, points[::-1]) > 300_000


def test_rows_in_arrays_of_any_layout() -> None:
    rng = np.random.default_rng(17)
    index, held = filled(rng, 400, 3)
    points = rows_near(rng, held, 400, 0.01)
    frozen = points.copy()
    frozen.flags.writeable = False
    wide = np.zeros((800, 6))
    wide[::2, ::2] = points
    for same in (np.asfortranarray(points), frozen, wide[::2, ::2], points[::-1][::-1]):
        check(index, held, same)
        np.testing.assert_array_equal(index.stab(same).ids, index.stab(points).ids)
    check(index, held, points[::-1])
    whole = rng.integers(-3, 12, (100, 3))
    for same in (whole, whole.astype(np.float32), whole.tolist()):
        assert ordered(index.stab(same))[1].tolist() == held.matches(whole)[1].tolist()


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
def test_threads_share_a_batch(lenient: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(18)
    index, held = filled(rng, 40, 3, lenient=lenient)
    points = rows_near(rng, held, 100_500, 0.01)
    monkeypatch.setattr(nb, "get_num_threads", lambda: 2)
    assert check(index, held, points, lenient) > 0
    with threads.one_thread():
        alone = index.stab(points)
    np.testing.assert_array_equal(index.stab(points).ids, alone.ids)


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
@pytest.mark.parametrize("rows", [13, 64, 65, 500, 4_000])
def test_threads_share_the_clusters_of_a_small_batch(
    rows: int, lenient: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row costs microseconds here: some hundreds of them are worth a second thread."""
    rng = np.random.default_rng(20)
    index, held = filled(rng, 300, 3, lenient=lenient)
    points = rows_near(rng, held, rows, 0.01)
    with threads.one_thread():
        alone = index.stab(points)
    monkeypatch.setattr(spatialjoin, "WORTH", 1.0)
    monkeypatch.setattr(nb, "get_num_threads", lambda: 3)
    used: list[int] = []
    monkeypatch.setattr(spatialjoin, "team", lambda n: (used.append(n), threads.team(n))[1])
    check(index, held, points, lenient)
    assert used == [3]
    together = index.stab(points)
    np.testing.assert_array_equal(together.offsets, alone.offsets)
    for i in range(rows):
        part = slice(alone.offsets[i], alone.offsets[i + 1])
        assert sorted(together.ids[part].tolist()) == sorted(alone.ids[part].tolist())


def test_a_batch_of_little_work_uses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    index, held = filled(np.random.default_rng(21), 40, 3)
    monkeypatch.setattr(nb, "get_num_threads", lambda: pytest.fail("Numba's threads were started"))
    check(index, held, rows_near(np.random.default_rng(22), held, 100, 0.01))


def test_searches_from_several_threads() -> None:
    rng = np.random.default_rng(19)
    index, held = filled(rng, 2_000, 3)
    batches = [rows_near(rng, held, n, 0.01) for n in (5, 100, 700, 5_000)]
    failed: list[BaseException] = []

    def ask(points: Array) -> None:
        try:
            for _ in range(4):
                check(index, held, points)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(points,)) for points in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


# --- missing values


@pytest.mark.parametrize("size", [None, *SIZES])
@pytest.mark.parametrize("n", [3, 300, 2_000])
def test_missing_values_matter_only_where_a_box_has_a_bound(n: int, size: int | None) -> None:
    rng = np.random.default_rng(20)
    for dims in (1, 3, 9):
        index, held = filled(rng, n, dims, N_dc=size, lenient=True)
        strict = built(held, N_dc=size)
        for missing in (0.02, 0.3, 0.9):
            points = rows_near(rng, held, 300, missing)
            assert check(index, held, points, lenient=True) > 0 or n == 3
            check(strict, held, points)


def test_a_bound_that_holds_all_numbers_of_a_batch_holds_no_missing_one() -> None:
    held = Held(2)
    lo = np.full((400, 2), -INF)
    lo[:, 0] = np.arange(400)
    held.insert(np.arange(400), lo, np.full((400, 2), INF))
    held.insert(np.arange(400, 800), np.full((400, 2), -INF), -lo[:, ::-1])
    held.insert([800], np.array([[-MAX, -INF]]), np.array([[INF, INF]]))
    index = built(held, lenient=True)
    points = np.full((40, 2), 200.5)
    points[1::2, 0], points[::3, 1] = NAN, -200.5
    assert check(index, held, points, lenient=True) > 0
    points[:, 0] = NAN
    assert check(index, held, points, lenient=True) > 0


# --- any floats

finite = st.sampled_from(NUMBERS) | st.floats(allow_nan=False, allow_infinity=False)
bound = finite | st.sampled_from([INF, -INF])


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
@pytest.mark.parametrize("dims", [1, 2, 4])
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_floats_with_scales(dims: int, lenient: bool, data: st.DataObject) -> None:
    """So many copies of a few boxes that there are scales, and of rows that they are a batch."""
    side = st.tuples(bound, bound).map(lambda ab: sorted(ab) if ab[0] != ab[1] else [-INF, INF])
    some = st.lists(st.tuples(*[side] * dims), min_size=1, max_size=8)
    early, late = (np.array(data.draw(some)).reshape(-1, dims, 2) + 0.0 for _ in range(2))
    held = Held(dims)
    copies = np.tile(early, (300 // len(early) + 1, 1, 1))
    held.insert(np.arange(len(copies)), copies[:, :, 0], copies[:, :, 1])
    index = built(held, lenient=lenient)
    new = 1_000 + np.arange(len(late)), late[:, :, 0], late[:, :, 1]
    index.insert(*new)
    held.insert(*new)
    borders = np.concatenate([early, late]).ravel()
    near = st.sampled_from(borders.tolist())
    value = near | near.map(lambda b: math.nextafter(b, -INF)) | bound | st.just(NAN)
    rows = data.draw(st.lists(st.tuples(*[value] * dims), min_size=1, max_size=20))
    points = np.array(rows).reshape(-1, dims)
    check(index, held, np.concatenate([points] * (FEW // len(points) + 2)), lenient)


# --- the grid file


def structure(index: SpatialJoinIndex, regions: bool = True) -> None:
    """The invariants of the tree: regions, depth, windows, and a place for every living slot."""
    tree, living = index._file.tree, index._boxes.living()
    sides = tree.points.shape[1]
    places: dict[int, int] = {}
    leaves: list[tuple[Array, Array]] = []

    def below(node: int, height: int, first: Array, last: Array, parent: int) -> Array:
        """The slots below a node, whose region this is."""
        assert tree.parent[node] == parent
        size = int(tree.size[node])
        assert 1 <= size <= FANOUT
        found = []
        assert sum(volume(node, k) for k in range(size)) == math.prod(
            int(b) - int(a) + 1 for a, b in zip(first, last, strict=True)
        )
        for k in range(size):
            begin, end = tree.first[node, :, k], tree.last[node, :, k]
            assert (begin >= first).all()
            assert (end <= last).all()
            child = int(tree.child[node, k])
            if height > 1:
                slots = below(child, height - 1, begin, end, node)
            else:
                assert tree.above[child] == node
                slots = leaf(child)
                leaves.append((begin, end))
            points = tree.points[slots]
            assert ((begin <= points) & (points <= end)).all()
            window = tree.window[node, :, k]
            assert (points[:, ::2] >= window[::2]).all()
            assert (points[:, 1::2] <= window[1::2]).all()
            found.append(slots)
        return np.concatenate(found)

    def volume(node: int, k: int) -> int:
        return math.prod(
            int(tree.last[node, s, k]) - int(tree.first[node, s, k]) + 1 for s in range(sides)
        )

    def leaf(page: int) -> Array:
        first, slots = page, []
        while page >= 0:
            count = int(tree.filled[page])
            assert 0 <= count <= PAGE
            here = tree.slots[page, :count]
            assert (tree.leaves[here] == first).all()
            assert (tree.points[here] == tree.codes[page, :, :count].T).all()
            assert (tree.ids[page, :count] == index._boxes.ids[here]).all()
            slots.append(here)
            assert page not in places
            places[page] = first
            page = int(tree.next[page])
        return np.concatenate(slots)

    everything = np.zeros(sides, np.uint16), np.full(sides, CEILING, np.uint16)
    slots = below(int(tree.state[ROOT]), int(tree.state[HEIGHT]), *everything, -1)
    np.testing.assert_array_equal(np.sort(slots), living)
    if regions:
        # Of one volume with the whole, and disjoint: they cover it.
        first, last = (np.array(a) for a in zip(*leaves, strict=True))
        for i in range(len(first)):
            meets = ((first[i] <= last) & (first <= last[i])).all(axis=1)
            assert np.flatnonzero(meets).tolist() == [i]


@pytest.mark.parametrize("dims", [1, 2, 4, 9])
def test_leaves_cover_the_space_whatever_comes_and_goes(dims: int) -> None:
    rng = np.random.default_rng(21)
    index, held, number = built(Held(dims)), Held(dims), 0
    for step in range(40):
        if step % 3 < 2 or not len(held.ids):
            n = int(rng.choice([1, 5, 63, 64, 65, 500]))
            new = boxes(rng, n, dims)
            if rng.random() < 0.2:
                new = np.repeat(new[0][:1], n, axis=0), np.repeat(new[1][:1], n, axis=0)
            if step > 20:
                # Where the scales have no edges.
                new = new[0] + 1e5, new[1] + 2e5
            ids = np.arange(number, number + n)
            index.insert(ids, *new)
            held.insert(ids, *new)
            number += n
        else:
            share = rng.choice([0.05, 0.3, 0.9])
            gone = held.ids[rng.random(len(held.ids)) < share]
            index.remove(gone)
            held.remove(gone)
        structure(index)
    check(index, held, rows_near(rng, held, 100))


def test_a_directory_of_several_levels() -> None:
    """Nodes are cut, and so is the root, in bulk and one by one."""
    rng = np.random.default_rng(22)
    held = Held(2)
    lo = rng.uniform(0, 1_000, (60_000, 2))
    hi = lo + rng.exponential(1, (60_000, 2)) + 1e-9
    index = built(held)
    for end in (30_000, 59_000):
        new = np.arange(len(held.ids), end), lo[len(held.ids) : end], hi[len(held.ids) : end]
        index.insert(*new)
        held.insert(*new)
        structure(index)
    for i in range(59_000, 60_000):
        index.insert([i], lo[i : i + 1], hi[i : i + 1])
    held.insert(np.arange(59_000, 60_000), lo[59_000:], hi[59_000:])
    structure(index)
    assert index._file.tree.state[HEIGHT] >= 2
    assert "levels of directory" in index.explain()
    points = np.concatenate([lo[:50], hi[:50], np.nextafter(hi[50:100], -INF)])
    assert check(index, held, points) >= 100
    index.remove(np.arange(0, 60_000, 2))
    held.remove(np.arange(0, 60_000, 2))
    structure(index)
    check(index, held, points)


# --- the curve


@pytest.mark.parametrize(("dims", "bits"), [(1, 5), (2, 1), (2, 4), (3, 3), (4, 1), (4, 2), (5, 2)])
def test_the_curve_visits_every_cell_and_goes_by_single_steps(dims: int, bits: int) -> None:
    cells = np.array(list(itertools.product(range(2**bits), repeat=dims)))
    places = [int(_place(cell.astype(np.uint64), bits)) for cell in cells]
    assert sorted(places) == list(range(len(cells)))
    steps = np.diff(cells[np.argsort(places)], axis=0)
    assert (np.abs(steps).sum(axis=1) == 1).all()


def test_rows_keep_their_number_along_the_curve() -> None:
    rng = np.random.default_rng(23)
    for dims in (1, 2, 3, 5, 16, 17, 40):
        codes = rng.integers(0, 60_000, (700, dims)).astype(np.uint16)
        rows = np.flatnonzero(rng.random(700) < 0.8)
        order = curve_order(codes, np.arange(dims), rows)
        assert sorted(order.tolist()) == rows.tolist()
    assert curve_order(codes, np.arange(0), rows).tolist() == rows.tolist()
    assert curve_order(codes, np.arange(3), rows[:0]).tolist() == []
    # Along the only dimension that counts, rows are in order.
    order = curve_order(codes, np.array([2]), rows)
    ranks = np.argsort(np.argsort(codes[order, 2], kind="stable"))
    assert np.abs(ranks - np.arange(len(rows))).max() < 16


# --- instructions


@pytest.mark.parametrize("words", [1, 2, 4, 8, 16])
def test_words_are_set_and_narrowed(words: int) -> None:
    rng = np.random.default_rng(24)
    lanes = (0,) * words

    @nb.njit
    def compiled(target: Any, at: int, source: Any, start: int, lanes: Any) -> Any:
        a = simd.set_words(target, at, source, start, lanes)
        return a, simd.and_words(target, at, source, start + 1, lanes)

    for _ in range(50):
        source = rng.integers(0, 2**64, (6, words), dtype=np.uint64)
        source &= rng.integers(0, 2**64, (6, words), dtype=np.uint64) * np.uint64(
            rng.random() < 0.5
        )
        target = rng.integers(0, 2**64, (5, words), dtype=np.uint64)
        other = target.copy()
        at, start = int(rng.integers(0, 5)), int(rng.integers(0, 5))
        some = compiled(target, at, source, start, lanes)
        plain = (
            simd.set_words(other, at, source, start, lanes),
            simd.and_words(other, at, source, start + 1, lanes),
        )
        assert some == plain
        assert (target == other).all()
        assert (target[at] == source[start] & source[start + 1]).all()
        assert some == (source[start].any(), target[at].any())


def test_bits_are_turned_around() -> None:
    rng = np.random.default_rng(25)

    @nb.njit
    def compiled(target: Any, at: int, words: Any, first: int) -> None:
        simd.transpose_bits(target, at, words, first)

    words = rng.integers(0, 2**64, 12, dtype=np.uint64)
    for first in range(5):
        target, other = np.full(200, 7, np.uint8), np.full(200, 7, np.uint8)
        compiled(target, 64 + first, words, first)
        simd.transpose_bits(other, 64 + first, words, first)
        assert (target == other).all()
        for i, k in itertools.product(range(64), range(8)):
            bit = int(words[first + k]) >> i & 1
            assert int(target[64 + first + i]) >> k & 1 == bit


def test_columns_reach_and_just_do() -> None:
    rng = np.random.default_rng(27)

    @nb.njit
    def compiled(codes: Any, at: int, low: Any, high: Any) -> Any:
        return simd.reached(codes, at, low, high)

    for dims in (1, 2, 5):
        codes = rng.integers(0, 12, (4, 2 * dims, 64)).astype(np.uint16)
        codes[codes == 11] = CEILING
        for at in range(4):
            low = rng.integers(0, 12, dims).astype(np.uint16)
            high = low + rng.integers(0, 4, dims).astype(np.uint16)
            found = compiled(codes, at, low, high)
            assert found == simd.reached(codes, at, low, high)
            for k in range(64):
                lower, upper = codes[at, 0::2, k], codes[at, 1::2, k]
                assert int(found[0]) >> k & 1 == ((lower <= high) & (upper >= low)).all()
                assert int(found[1]) >> k & 1 == ((lower == high) | (upper == low)).any()


def test_codes_between_two() -> None:
    rng = np.random.default_rng(28)

    @nb.njit
    def compiled(codes: Any, at: int, side: int, first: int, last: int) -> Any:
        return simd.between(codes, at, side, first, last)

    codes = rng.integers(0, 12, (3, 4, 64)).astype(np.uint16)
    codes[codes == 11] = CEILING
    for at, side in itertools.product(range(3), range(4)):
        for first, last in ((0, CEILING), (1, CEILING - 1), (3, 7), (5, 5), (8, 2)):
            found = compiled(codes, at, side, first, last)
            assert found == simd.between(codes, at, side, first, last)
            inside = [first <= code <= last for code in codes[at, side].tolist()]
            assert [bool(int(found) >> k & 1) for k in range(64)] == inside


def test_eight_are_picked_with_and_without_the_instruction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(26)
    integer, array = nb.uint64, nb.types.Array(nb.int32, 1, "C")
    monkeypatch.setattr(simd, "CAN_PICK", False)
    fallback = nb.njit(simd._compiled_pick(array, integer, array, integer, integer))
    monkeypatch.undo()

    @nb.njit
    def compiled(target: Any, at: int, source: Any, of: int, bits: int) -> None:
        simd.pick(target, at, source, of, bits)

    source = rng.integers(-(2**31), 2**31, 40).astype(np.int32)
    for bits in range(256):
        chosen = [int(source[11 + i]) for i in range(8) if bits >> i & 1]
        for pick in (compiled, fallback, simd.pick):
            target = np.zeros(24, np.int32)
            pick(target, np.uint64(5), source, np.uint64(11), np.uint64(bits))
            assert target[5 : 5 + len(chosen)].tolist() == chosen
            assert not target[:5].any()
            assert not target[13:].any()
        assert simd.ONES[bits] == len(chosen)


@pytest.mark.slow
def test_the_join_as_plain_python() -> None:
    """Batches and missing values with nothing compiled."""
    as_plain_python("join")


# --- what it says of itself


def test_it_tells_its_pages_clusters_and_cost() -> None:
    rng = np.random.default_rng(27)
    index, held = filled(rng, 3_000, 4)
    said = index.explain()
    for word in ("spatialjoin: 3,000 boxes of 4 dimensions", "pages", "levels of", "ns a row"):
        assert word in said
    assert "N_dc" not in said
    index.stab(rows_near(rng, held, 3_000))
    assert any(f"N_dc {size}" in index.explain() for size in SIZES)
    index.remove(held.ids)
    assert "0 boxes" in index.explain()
    assert "N_dc" not in index.explain()
    assert index.nanoseconds == built(Held(4)).nanoseconds


@pytest.mark.parametrize("N_dc", [0, 1, 63, 65, 100, 2_048, -64, 64.0, 64.5, "64", True, NAN])
def test_a_wrong_size_of_clusters_is_refused(N_dc: Any) -> None:
    with pytest.raises(wl.InvalidQuery, match="N_dc must be one of 64, 128, 256, 512, 1024, not"):
        wl.index.build("spatialjoin", [[0, 0, 0]], [[1, 1, 1]], N_dc=N_dc)


def test_options_are_checked() -> None:
    with pytest.raises(wl.InvalidQuery, match="does not take the option 'L'; it takes N_dc, len"):
        wl.index.build("spatialjoin", [[0, 0, 0]], [[1, 1, 1]], L=4)
    with pytest.raises(wl.InvalidQuery, match="it takes none"):
        wl.index.build("auto", [[0, 0, 0]], [[1, 1, 1]], lenient=True)
    index = wl.index.build("spatialjoin", [[0, 0]], [[1, 1]], N_dc=np.int64(128), lenient=1)
    assert np.diff(index.stab([[0.5, NAN]] * 20).offsets).tolist() == [0] * 20


def test_memory_grows_and_shrinks() -> None:
    rng = np.random.default_rng(28)
    index, held = filled(rng, 100, 5)
    small = index.nbytes
    assert index.nbytes >= sum(a.nbytes for a in (held.ids, held.lo, held.hi))
    index.insert(np.arange(100, 20_000), *boxes(rng, 19_900, 5))
    large = index.nbytes
    # Bounds twice over, as floats and as codes, and no more than twice the room for them.
    assert 19_900 * 8 * 11 < large < 19_900 * 2 * (8 * 11 + 3 * 2 * 10 + 20) + 4_000_000
    index.remove(np.arange(100, 20_000))
    assert index.nbytes < large / 8
    index.remove(held.ids)
    assert index.nbytes < small


@pytest.mark.parametrize("dims", [1, 3, 12, 40])
def test_costs_are_numbers(dims: int) -> None:
    rng = np.random.default_rng(29)
    index = built(Held(dims))
    for n in (0, 1, 30, 300, 6_000):
        held = Held(dims)
        held.insert(np.arange(n), *boxes(rng, n, dims))
        for one in (built(held), built(held, lenient=True), built(held, N_dc=64)):
            for cost in (one.nanoseconds, one.estimate(held.lo, held.hi)):
                assert 0 < cost < INF
            one.stab(rows_near(rng, held, 100))
            assert 0 < one.nanoseconds < INF
        assert 0 < index.estimate(held.lo, held.hi) < INF
    everything = np.full((300, dims), -INF), np.full((300, dims), INF)
    assert 0 < index.estimate(*everything) < INF
    assert len(index) == 0


# --- auto


@pytest.mark.parametrize("dims", [3, 5, 8])
def test_auto_changes_between_scan_and_join(dims: int) -> None:
    rng = np.random.default_rng(30)
    index: Any = wl.index.build("auto", np.empty((0, dims)), np.empty((0, dims)))
    held, kinds = Held(dims), [index.kind]
    lo = rng.uniform(0, 1_000, (30_000, dims))
    hi = lo + rng.exponential(100, (30_000, dims)) + 1e-9

    def compare() -> None:
        kinds.append(index.kind)
        points = np.concatenate([lo[:20], hi[-20:], rng.uniform(0, 1_000, (20, dims))])
        points[::7, 0] = NAN
        check(index, held, points)
        assert index.kind in index.explain()
        assert "scan about" in index.explain()
        assert 0 < index.nanoseconds < INF

    for _ in range(2):
        done = 0
        for end in (1, 31, 33, 150, 400, 5_000, 30_000):
            index.insert(np.arange(done, end), lo[done:end], hi[done:end])
            held.insert(np.arange(done, end), lo[done:end], hi[done:end])
            done = end
            compare()
        assert index.kind == "spatialjoin"
        large = index.nbytes
        everything = rng.permutation(30_000)
        for gone in np.split(everything, [10_000, 25_000, 29_900, 29_985]):
            index.remove(gone)
            held.remove(gone)
            compare()
        assert index.kind == "scan"
        assert index.nbytes < large / 20
    assert {"scan", "spatialjoin"} == set(kinds)


def test_auto_takes_wide_ids_while_it_joins() -> None:
    rng = np.random.default_rng(31)
    held = Held(4)
    held.insert(np.arange(20_000), *boxes(rng, 20_000, 4))
    index = wl.index.build("auto", held.lo, held.hi, held.ids)
    assert index.kind == "spatialjoin"
    new = np.array([2**50, -(2**50)]), *boxes(rng, 2, 4)
    index.insert(*new)
    held.insert(*new)
    check(index, held, rows_near(rng, held, 100))


# --- in another process


def test_an_index_goes_on_where_it_was_shared(tmp_path: Path) -> None:
    """As workers do: mapped from a file, searched and changed there, the file left as it is."""
    rng = np.random.default_rng(32)
    index, held = filled(rng, 2_000, 3, lenient=True)
    points = rows_near(rng, held, 400, 0.1)
    index.stab(points)
    path = tmp_path / "index.bin"
    share._write(path, (index, points))
    before = path.read_bytes()
    for _ in range(2):
        copy, same = share._read(path)
        check(copy, held, same, lenient=True)
        changed = Held(3)
        changed.insert(held.ids, held.lo, held.hi)
        changed.remove(held.ids[::2])
        copy.remove(held.ids[::2])
        new = np.arange(5_000, 6_000), *boxes(rng, 1_000, 3)
        copy.insert(*new)
        changed.insert(*new)
        check(copy, changed, points, lenient=True)
        structure(copy)
    assert path.read_bytes() == before
    check(index, held, points, lenient=True)


def test_a_pickled_index_answers_in_another_process(tmp_path: Path) -> None:
    rng = np.random.default_rng(33)
    index, held = filled(rng, 1_000, 4)
    points = rows_near(rng, held, 200, 0.01)
    (tmp_path / "index").write_bytes(pickle.dumps((index, points)))
    code = (
        "import pickle, sys\n"
        "index, points = pickle.load(open(sys.argv[1], 'rb'))\n"
        "found = [index.stab(points), index.stab(points[:5])]\n"
        "index.remove([0, 1, 2])\n"
        "pickle.dump([*found, index.stab(points)], open(sys.argv[2], 'wb'))\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "index"), str(tmp_path / "found")],
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    found = pickle.loads((tmp_path / "found").read_bytes())
    for got, some in zip(found[:2], (points, points[:5]), strict=True):
        for one, other in zip(ordered(got), held.matches(some), strict=True):
            np.testing.assert_array_equal(one, other)
    held.remove([0, 1, 2])
    np.testing.assert_array_equal(ordered(found[2])[1], held.matches(points)[1])
