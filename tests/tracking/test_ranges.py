"""Differences of two stabs, and what decides between them, crossings and a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from watchline.borders import AUTO, STABS, WALK, build_borders, build_grid, entries_read
from watchline.catalog import Catalog
from watchline.matching import Part, plan
from watchline.model import Emit
from watchline.tracking import ranges
from watchline.tracking.ranges import LongRun, Moves, differences

INF = np.inf


def test_differences_are_what_one_row_has_and_the_other_has_not() -> None:
    lists = [[], [3, 1, 4], [4, 1, 5, 9], [3, 1, 4]]
    offsets = np.cumsum([0, *map(len, lists)])
    ids = np.array([n for row in lists for n in row], dtype=np.int32)
    moves = Moves(np.array([1, 2, 1, 0, -1, 2, -1]), np.array([2, 1, 3, 2, 1, -1, -1]))
    found = differences(offsets, ids, moves, 10)
    told = sorted(zip(*(column.tolist() for column in found), strict=True))
    wanted = []
    for i, (old, new) in enumerate(zip(*moves, strict=True)):
        before, after = (set(lists[row]) if row >= 0 else set() for row in (old, new))
        wanted += [(i, n, 1) for n in after - before] + [(i, n, -1) for n in before - after]
    assert told == sorted(wanted)


def test_differences_find_room_for_any_number_of_ids() -> None:
    n = 50_000
    offsets, ids = np.array([0, n, n]), np.arange(n)
    found = differences(offsets, ids, Moves(np.array([0, 1, 0]), np.array([1, 0, 0])), n)
    assert np.bincount(found.moves, minlength=3).tolist() == [n, n, 0]
    assert (found.signs == np.where(found.moves == 0, -1, 1)).all()


def test_the_entries_between_two_values_are_counted() -> None:
    """Borders at 0, 1, 2 … 99 in each of two dimensions."""
    lo = np.arange(0.0, 100.0, 2.0)[:, np.newaxis].repeat(2, axis=1)
    borders = build_borders(lo, lo + 1, np.arange(50))
    old = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 9.5], [INF, INF]])
    new = np.array([[0.5, 0.5], [9.5, 2.5], [0.5, 0.5], [3.5, 50.0]])
    each = [entries_read(borders, old[i : i + 1], new[i : i + 1], WALK) for i in range(4)]
    # From nowhere only the first dimension is crossed: the borders 4 to 99.
    assert each == [0, 9 + 2, 9, 96]
    assert entries_read(borders, old, new, AUTO) <= sum(each)
    assert entries_read(borders, old, new, STABS) < sum(each)


@pytest.fixture
def part() -> Part:
    lo = np.random.default_rng(2).uniform(0, 100, (2, 3_000))
    return part_of(lo, lo + 2)


def part_of(lo: np.ndarray, hi: np.ndarray) -> Part:
    catalog = Catalog.of(
        "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    )
    bounds = {"x": (lo[0], hi[0]), "y": (lo[1], hi[1])}
    catalog.register_boxes("cars", [str(i) for i in range(lo.shape[1])], bounds)
    [found] = plan(catalog.queries(), catalog.stream("cars"), Emit.CHANGES).parts
    return found


def moved(run: LongRun, old: np.ndarray, new: np.ndarray) -> list[tuple[int, int, int]]:
    found = run.transitions(np.arange(len(old)), old.copy(), new.copy())
    return sorted(zip(*(column.tolist() for column in found), strict=True))


def test_what_the_steps_of_batches_have_paid_for_is_built(part: Part) -> None:
    rng = np.random.default_rng(3)
    run = LongRun.over(part, 0)
    old = rng.uniform(0, 100, (2_000, 2))
    near, far = old + rng.uniform(-1e-4, 1e-4, old.shape), rng.uniform(0, 100, old.shape)
    crossed = moved(run, old[:1], far[:1])
    for _ in range(20):
        moved(run, old, near)
    # Small steps never ask for more, and one large step is no reason to build it.
    assert run._index is None
    assert run._grid is None
    for _ in range(20):
        large = moved(run, old, far)
    assert run._index is not None or run._grid is not None
    assert [f for f in large if f[0] == 0] == crossed
    assert moved(run, old, near) == moved(LongRun.over(part, 0), old, near)


def test_small_batches_are_judged_together(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    run, whole, judged = LongRun.over(part, 0), LongRun.over(part, 0), []

    def counted(run: LongRun, old: np.ndarray, new: np.ndarray, of: Any = LongRun._judged) -> str:
        judged.append(len(old))
        return str(of(run, old, new))

    monkeypatch.setattr(LongRun, "_judged", counted)
    for _ in range(400):
        old, new = rng.uniform(0, 100, (2, 100, 2))
        assert moved(run, old, new) == moved(whole, old, new)
    # The first batch has to go some way; from then on it takes six to make a sample.
    mine = [100, *[600] * (399 // 6)]
    assert sorted(judged) == sorted(2 * mine)
    # What these steps have paid for is built as for large batches.
    assert run._index is not None or run._grid is not None


def test_steps_over_some_borders_go_through_the_grid(part: Part) -> None:
    rng = np.random.default_rng(5)
    run = LongRun.over(part, 0)
    old = rng.uniform(0, 100, (2_000, 2))
    new = old + rng.normal(0, 0.3, old.shape)
    for _ in range(20):
        moved(run, old, new)
    assert run._grid is not None
    assert run._index is None
    assert run._way(old, new) == ranges.GRID


def test_a_grid_that_has_little_to_divide_is_left_again() -> None:
    """All boxes but a few in one place: by its sizes a grid is good, by what it reads it is not."""
    rng = np.random.default_rng(6)
    lo = np.concatenate([rng.uniform(0, 1e-3, (2, 4_000)), rng.uniform(0, 100, (2, 400))], axis=1)
    part = part_of(lo, lo + 1e-5)
    run = LongRun.over(part, 0)
    old = rng.uniform(0, 1e-3, (2_000, 2))
    new = old + rng.normal(0, 1e-4, old.shape)
    run._grid = build_grid(*run.costs.boxes, run.numbers)
    assert run._way(old, new) != ranges.GRID


@pytest.mark.parametrize("step", [1e-3, 0.5, 30.0])
def test_all_ways_give_the_same_transitions(
    part: Part, step: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    old = rng.uniform(0, 100, (500, 2))
    new = old + rng.normal(0, step, old.shape)
    old[::7], new[::5] = np.nan, np.nan
    old[::11, 1], new[::13, 0] = INF, INF
    found = {}
    for way in (ranges.CROSSINGS, ranges.STABS, ranges.GRID):
        monkeypatch.setattr(LongRun, "_way", lambda run, old, new, way=way: way)
        run = LongRun.over(part, 0)
        found[way] = moved(run, old, new)
        assert (run._index is not None) == (way == ranges.STABS)
        assert (run._grid is not None) == (way == ranges.GRID)
    assert (
        found[ranges.STABS]
        == found[ranges.GRID]
        == found[ranges.CROSSINGS]
        == brute(part, old, new)
    )


def brute(part: Part, old: np.ndarray, new: np.ndarray) -> list[tuple[int, int, int]]:
    def holds(points: np.ndarray) -> np.ndarray:
        inside = (points[:, np.newaxis] >= part.lo.T) & (points[:, np.newaxis] < part.hi.T)
        return inside.all(axis=2)

    before, after = holds(old), holds(new)
    moves, boxes = np.nonzero(before != after)
    signs = np.where(after[moves, boxes], 1, -1)
    return sorted(zip(moves.tolist(), part.numbers[boxes].tolist(), signs.tolist(), strict=True))
