"""The grid of boxes that stay, against brute force on any float64."""

from __future__ import annotations

import math
import pickle

import numba as nb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from watchline.borders import Grid, blocks_read, build_grid, grid_crossings, grid_sizes, stationary
from watchline.borders.grid_build import MEMBERS
from watchline.borders.stationary import MoveColumns
from watchline.borders.strips import EntryBlocks
from watchline.kernels.blocks import LANES, cross_block, leave_block

INF, NAN = np.inf, np.nan
DENORMAL = 5e-324
Told = list[tuple[int, int, int]]


def brute(lo: np.ndarray, hi: np.ndarray, old: np.ndarray, new: np.ndarray) -> Told:
    def holds(points: np.ndarray) -> np.ndarray:
        somewhere = (points < INF).all(axis=1)[:, np.newaxis]
        inside = (lo <= points[:, np.newaxis]) & (points[:, np.newaxis] < hi)
        return inside.all(axis=2) & somewhere

    before, after = holds(old), holds(new)
    told = [(int(i), int(j), 1) for i, j in zip(*np.nonzero(after & ~before), strict=True)]
    told += [(int(i), int(j), -1) for i, j in zip(*np.nonzero(before & ~after), strict=True)]
    return sorted(told)


def told(grid: Grid, old: np.ndarray, new: np.ndarray, rate: float = 1.0) -> Told:
    found = grid_crossings(grid, np.arange(len(old)), old, new, rate)
    assert [column.dtype for column in found] == [np.int64, np.int64, np.int8]
    return sorted(zip(*(column.tolist() for column in found), strict=True))


def agree(
    lo: np.ndarray,
    hi: np.ndarray,
    old: np.ndarray,
    new: np.ndarray,
    strips: tuple[int, int] | None = None,
) -> int:
    grid = build_grid(lo, hi, np.arange(len(lo)), strips)
    wanted = brute(lo, hi, old, new)
    assert told(grid, old, new) == wanted
    assert blocks_read(grid, old, new) >= 0
    return len(wanted)


# --- any numbers

# Few, so that values meet borders; of all magnitudes.
VALUES = [0.0, -0.0, 1.0, -1.0, 0.1, 2.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)]
VALUES += [DENORMAL, -DENORMAL, 1e-300, 1e300, -1e300, np.finfo(float).max, -np.finfo(float).max]
finite = st.one_of(
    st.sampled_from(VALUES), st.floats(-3, 3), st.floats(allow_nan=False, allow_infinity=False)
)
low = st.one_of(finite, st.just(-INF))
high = st.one_of(finite, st.just(INF))
coordinate = st.one_of(finite, st.sampled_from([NAN, INF]))
side = st.tuples(low, high).map(sorted).filter(lambda s: s[0] < s[1])
grids = st.one_of(st.none(), st.tuples(st.integers(1, 9), st.integers(1, 9)))


@settings(max_examples=examples(200), deadline=None)
@given(
    boxes=st.lists(st.tuples(side, side), min_size=1, max_size=30),
    moves=st.lists(st.tuples(*[coordinate] * 4), min_size=1, max_size=30),
    strips=grids,
    on_borders=st.randoms(use_true_random=False),
)
def test_any_boxes_and_moves(boxes: list, moves: list, strips: tuple, on_borders: object) -> None:
    bounds = np.array(boxes)
    lo, hi = bounds[:, :, 0], bounds[:, :, 1]
    steps = np.array(moves).reshape(-1, 2, 2)
    # Half of the coordinates are borders of some box, or next to one.
    for i, k, d in np.ndindex(*steps.shape):
        if on_borders.random() < 0.5:
            value = bounds[on_borders.randrange(len(bounds)), d, on_borders.randrange(2)]
            beside = on_borders.choice([value, *(math.nextafter(value, to) for to in (-INF, INF))])
            steps[i, k, d] = beside if np.isfinite(beside) else NAN
    agree(lo, hi, steps[:, 0].copy(), steps[:, 1].copy(), strips)


@pytest.mark.parametrize("strips", [(1, 1), (1, 40), (40, 1), (3, 7), (16, 16), (100, 100), None])
@pytest.mark.parametrize("step", [0.0, 0.01, 0.1, 3.0])
def test_random_moves(strips: tuple[int, int] | None, step: float) -> None:
    rng = np.random.default_rng(5)
    lo = rng.uniform(0, 1, (400, 2))
    hi = lo + rng.exponential(0.1, (400, 2))
    old = rng.uniform(-0.1, 1.1, (500, 2))
    new = old + rng.normal(0, step, old.shape)
    # Along one axis alone, first rows and last ones.
    new[::5, 0], new[1::5, 1] = old[::5, 0], old[1::5, 1]
    old[::17], new[::13] = NAN, NAN
    old[::19, 1], new[::23, 0] = INF, NAN
    assert agree(lo, hi, old, new, strips) > 100


def test_borders_on_cells_edges_and_moves_between_them() -> None:
    """Everything is a multiple of a sixteenth, of which strips and places begin at most."""
    rng = np.random.default_rng(6)
    lo = rng.integers(0, 15, (200, 2)) / 16
    hi = lo + rng.integers(1, 8, (200, 2)) / 16
    lo[0], hi[0] = 0.0, 1.0
    old, new = rng.integers(-1, 18, (2, 600, 2)) / 16
    for strips in ((1, 1), (2, 4), (16, 16), (32, 8)):
        assert agree(lo, hi, old, new, strips) > 1_000


def test_a_corner_that_is_cut_and_a_box_that_is_jumped_over() -> None:
    """
      ┌───┐      a → m enters, m → b leaves: nothing is told of the box.
    a │ m │
      └───┘      Behind a box on either axis nothing is told either.
        b
    """
    lo, hi = np.array([[1.0, 1.0]]), np.array([[2.0, 2.0]])
    old = np.array([[0.5, 1.5], [1.5, 2.5], [0.5, 1.5], [1.5, 1.5], [1.5, 1.5], [0.5, 0.5]])
    new = np.array([[1.5, 0.5], [0.5, 1.5], [2.5, 1.5], [1.5, 0.5], [0.5, 0.5], [1.5, 1.5]])
    for strips in ((1, 1), (5, 5)):
        grid = build_grid(lo, hi, np.array([7]), strips)
        assert told(grid, old, new) == [(3, 7, -1), (4, 7, -1), (5, 7, 1)]


def test_boxes_that_are_the_same_or_a_point_wide_or_without_bounds() -> None:
    one = [1.0, np.nextafter(1.0, 2.0)]
    sides = np.array([[one, one]] * 20 + [[[-INF, INF], [-INF, INF]]] * 3 + [[[-INF, 1], one]] * 9)
    lo, hi = sides[:, :, 0], sides[:, :, 1]
    points = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [NAN, 1.0], [-1e308, 1.0]])
    old, new = points.repeat(6, axis=0), np.tile(points, (6, 1))
    for strips in (None, (1, 1), (4, 4)):
        assert agree(lo, hi, old, new, strips) > 100


def test_far_outliers_leave_the_grid_as_it_is() -> None:
    rng = np.random.default_rng(7)
    lo = rng.uniform(0, 1, (5_000, 2))
    hi = lo + 0.05
    plain = grid_sizes(lo, hi)
    lo[0], hi[0] = -1e300, -1e299
    lo[1], hi[1] = 1e299, 1e300
    assert grid_sizes(lo, hi).x.strips == pytest.approx(plain.x.strips, rel=0.1)
    old = np.concatenate([rng.uniform(0, 1, (200, 2)), rng.uniform(-1e300, 1e300, (50, 2))])
    agree(lo, hi, old, old[::-1] + 0.01)


# --- memory and room


def test_entries_are_few_whatever_the_sizes_of_boxes() -> None:
    rng = np.random.default_rng(8)
    n = 4_000
    lo = rng.uniform(0, 1, (n, 2))
    shapes = {
        "points": np.full((n, 2), 1e-9),
        "small": np.full((n, 2), 0.01),
        "half": np.full((n, 2), 0.5),
        "all": np.full((n, 2), INF),
        "long": np.stack([np.full(n, 1.0), np.full(n, 1e-6)], axis=1),
        "some large": np.where(rng.random((n, 1)) < 0.02, 1.0, 0.001).repeat(2, axis=1),
        "mixed": rng.pareto(1.0, (n, 2)) * 0.001,
    }
    for name, sides in shapes.items():
        grid = build_grid(lo, lo + sides, np.arange(n))
        assert grid.entries <= (MEMBERS + 16) * n, name
        assert grid.nbytes <= 2_000 * n, name


def test_moves_that_find_more_than_there_is_room_for() -> None:
    lo, hi = np.zeros((3_000, 2)), np.ones((3_000, 2))
    old, new = np.full((40, 2), 0.5), np.full((40, 2), 1.5)
    new[::2, 0] = 0.5
    grid = build_grid(lo, hi, np.arange(3_000))
    assert told(grid, old, new, rate=0.0) == brute(lo, hi, old, new)
    assert told(grid, old[:0], new[:0]) == []


def test_many_moves_are_taken_cell_by_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    lo = rng.uniform(0, 1, (300, 2))
    old, new = rng.uniform(0, 1, (2, 700, 2))
    old[::9] = NAN
    for crowded in (1, 100, 2**40):
        monkeypatch.setattr(stationary, "CROWDED", crowded)
        assert agree(lo, lo + 0.2, old, new, (6, 6)) > 1_000


def test_a_grid_from_another_process_is_the_same() -> None:
    """Through bytes, and in memory that nobody may write to."""
    rng = np.random.default_rng(11)
    lo = rng.uniform(0, 1, (300, 2))
    old, new = rng.uniform(0, 1, (2, 200, 2))
    grid = build_grid(lo, lo + 0.2, np.arange(300))
    there = pickle.loads(pickle.dumps(grid))
    for lists in (there.across_x, there.across_y, there.members):
        for array in lists:
            array.setflags(write=False)
    assert told(there, old, new) == told(grid, old, new) == brute(lo, lo + 0.2, old, new)


# --- a block


@nb.njit
def _cross(columns, at, move, lists, block, step, sign):  # type: ignore[no-untyped-def]
    return cross_block(columns, at, move, lists, block, step, sign)


@nb.njit
def _leave(columns, at, move, lists, block, step, sign):  # type: ignore[no-untyped-def]
    return leave_block(columns, at, move, lists, block, step, sign)


@pytest.mark.parametrize(("compiled", "plain"), [(_cross, cross_block), (_leave, leave_block)])
def test_a_block_at_once_is_the_same_one_by_one(compiled: object, plain: object) -> None:
    rng = np.random.default_rng(10)
    some = 0
    for _ in range(1_000):
        bounds = rng.integers(0, 6, (12, LANES)).astype(float)
        bounds[rng.random(bounds.shape) < 0.1] = rng.choice([NAN, INF, -INF])
        tags = rng.integers(0, 2**31 - 1, (3, LANES)).astype(np.int32)
        lists = EntryBlocks(np.zeros(1, np.int32), bounds, tags)
        step, sign = tuple(rng.integers(0, 6, 4).astype(float)), int(rng.choice([-1, 1]))
        got = []
        for write in (compiled, plain):
            room = np.zeros(20, np.int64), np.zeros(20, np.int64), np.zeros(20, np.int8)
            columns = MoveColumns(*room)
            count = write(columns, 3, 2**40, lists, 1, step, sign)
            got.append([column[3 : 3 + count].tolist() for column in columns])
            assert not any(column[:3].any() for column in columns)
        assert got[0] == got[1]
        some += len(got[0][0])
    assert some > 100
