"""Indexes that merge attributes by counting: marks, counters, building anew, rows in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import watchline as wl
from tests.support.indexes import Held, brute, empty, listed
from watchline.index.papers import twophase
from watchline.index.papers.ibs import ABOVE, BELOW, EQUAL, LISTS, marks_of, walk
from watchline.index.papers.merging import collect, count_hits, merge_hits, tally

KINDS = ["ibs", "counting", "twophase"]
REBUILT = ["ibs", "counting"]


def held_of(lo: Any, hi: Any) -> Held:
    return {i: (tuple(a), tuple(b)) for i, (a, b) in enumerate(zip(lo, hi, strict=True))}


def mixed(n: int, dims: int, seed: int, width: float = 1.0) -> tuple[Any, Any]:
    """Ranges, `x < b`, `x >= a` and no bound at equal odds."""
    rng = np.random.default_rng(seed)
    lo = rng.random((n, dims))
    hi = lo + width * rng.random((n, dims)) + 1e-9
    sort = rng.integers(0, 4, (n, dims))
    lo[(sort == 1) | (sort == 3)] = -np.inf
    hi[(sort == 2) | (sort == 3)] = np.inf
    return lo, hi


# --- marks


def marks(a: int, b: int, height: int) -> list[int]:
    stack, lists = np.empty(200, dtype=np.int64), np.empty(200, dtype=np.int64)
    return sorted(lists[: marks_of(a, b, height, stack, lists)].tolist())


def test_marks_of_a_tree_of_seven() -> None:
    """
    node       4   2   5   1   6   3   7
    rank       0   1   2   3   4   5   6
    [1, 5)         =---=---=---=---o        2 `=` and `>`, 1 `=`, 3 `<`
    [-, 3)    -=---=---=---o                1 `<`
    """
    assert marks(1, 5, 3) == [LISTS + EQUAL, 2 * LISTS + EQUAL, 2 * LISTS + ABOVE, 3 * LISTS]
    assert marks(-1, 3, 3) == [LISTS + BELOW]
    assert marks(3, 7, 3) == [LISTS + EQUAL, LISTS + ABOVE]
    # A key, and the gap after it.
    assert marks(2, 3, 3) == [5 * LISTS + EQUAL, 5 * LISTS + ABOVE]


@pytest.mark.parametrize("height", [1, 2, 3, 4])
def test_a_value_meets_each_range_around_it_once(height: int) -> None:
    """All ranges on all small trees; values are the keys 0, 1, 2 … and the gaps beside them."""
    size = (1 << height) - 1
    nodes = np.full(1 << height, np.inf)
    for level in range(height):
        step = 1 << (height - level)
        nodes[1 << level : 2 << level] = np.arange(step // 2 - 1, size, step)
    for a in range(-1, size):
        for b in range(max(a + 1, 0), size + 1):
            marked = marks(a, b, height)
            assert len(set(marked)) == len(marked)
            assert len(marked) <= 6 * height
            counts = np.zeros(LISTS * len(nodes) + 1, dtype=np.uint32)
            counts[np.array(marked) + 1] = 1
            heads = np.cumsum(counts, dtype=np.uint32)
            pool = np.arange(len(marked), dtype=np.int32)
            for value in np.arange(-0.5, size, 0.5):
                runs = np.empty((64, 2), dtype=np.int64)
                found = walk(nodes, heads, pool, 0, len(nodes), value, runs, 0)
                inside = (a < 0 or a <= value) and (b == size or value < b)
                assert found == inside, (a, b, value)


def test_marks_are_few() -> None:
    """At most about 2 log n of each sort for a range, whatever its width."""
    index: Any = wl.index.build("ibs", *mixed(20_000, 1, seed=3))
    keys = np.isfinite(index._trees.keys).sum()
    assert len(index._trees.marks) < 4 * len(index) * np.log2(keys)


# --- counters


@pytest.mark.parametrize("few", [True, False])
def test_merging_gives_what_has_nothing_left_and_puts_back(few: bool) -> None:
    n = 1_000
    needs = np.arange(n) % 3
    boxes = tally(needs, np.arange(n) + 7, np.int32, 2)
    assert len(boxes.needs) == 1_024
    left, found = boxes.needs.copy(), np.zeros(n + 64, dtype=np.int32)
    hit = np.arange(0, 12 if few else 900, dtype=np.int32)
    places = np.concatenate([hit[hit % 3 > 0], hit[hit % 3 == 2][1:]]).astype(np.int32)
    cut = int((hit % 3 > 0).sum())
    runs = np.array([[0, cut], [cut, len(places)]])
    at = merge_hits(boxes, left, places, runs, 2, found, 0)
    expected = {*range(0, n, 3), *hit[hit % 3 == 1], *hit[hit % 3 == 2][1:]}
    assert sorted(found[:at] - 7) == sorted(expected)
    assert (left == boxes.needs).all()
    # Too little room changes nothing.
    assert merge_hits(boxes, left, places, runs, 2, found[:100], 0) == -1
    assert (left == boxes.needs).all()


@pytest.mark.parametrize(("most", "kind"), [(254, np.uint8), (255, np.uint16), (70_000, np.uint32)])
def test_counters_are_wide_enough(most: int, kind: Any) -> None:
    boxes = tally(np.array([most, most]), np.array([5, 6]), np.int64, most)
    assert boxes.needs.dtype == kind
    boxes.needs[1] += 1
    left, found = boxes.needs.copy(), np.zeros(64, dtype=np.int64)
    for _ in range(most):
        count_hits(left, np.array([0, 1], dtype=np.int32), 0, 2, -1)
    assert left[:2].tolist() == [0, 1]
    assert collect(left, boxes.needs, boxes.ids, found, 0) == 1
    assert found[0] == 5


@pytest.mark.parametrize("dims", [127, 128, 130, 255, 300])
@pytest.mark.parametrize("kind", REBUILT)
def test_more_dimensions_than_a_byte_counts(kind: str, dims: int) -> None:
    """A point in all ranges, in none, in all but one; and the same of boxes that have gone."""
    n = 70
    index: Any = wl.index.build(kind, np.zeros((n, dims)), np.ones((n, dims)))
    wide = dims > (254 if kind == "ibs" else 127)
    assert index._tally.needs.dtype == (np.uint16 if wide else np.uint8)
    points = np.full((5, dims), 0.5)
    points[1], points[2], points[3, -1], points[4, 0] = 2.0, -1.0, 1.0, -0.1
    index.remove(np.arange(20))
    assert np.diff(index.stab(points).offsets).tolist() == [50, 0, 0, 0, 0]
    # From a row that violates all to one that violates none, and back.
    order = [0, 1, 0, 2, 1, 0, 0]
    assert np.diff(index.stab(points[order]).offsets).tolist() == [50, 0, 50, 0, 0, 50, 50]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [0.001, 1.0])
def test_few_hits_and_many(kind: str, width: float) -> None:
    lo, hi = mixed(3_000, 3, seed=1, width=width)
    points = np.random.default_rng(2).random((100, 3))
    if width < 1:
        narrow = np.isinf(lo) | np.isinf(hi)
        lo[narrow], hi[narrow] = 0.5, 0.501
    points[::7] = lo[:15]
    assert listed(wl.index.build(kind, lo, hi).stab(points)) == brute(held_of(lo, hi), points)


# --- boxes without bounds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", [1, 4])
def test_boxes_without_any_bound(kind: str, dims: int) -> None:
    n = 500
    index = wl.index.build(kind, np.full((n, dims), -np.inf), np.full((n, dims), np.inf))
    points = np.array([[0.0], [1e308], [-5e-324], [np.nan], [np.inf], [-np.inf]]) * np.ones(dims)
    assert np.diff(index.stab(points).offsets).tolist() == [n, n, n, 0, 0, 0]
    index.remove(np.arange(0, n, 5))
    assert np.diff(index.stab(points).offsets).tolist() == [400, 400, 400, 0, 0, 0]
    # Slots are given again, to boxes with bounds, and then again to some without.
    index.insert(np.arange(0, n, 5), np.zeros((100, dims)), np.ones((100, dims)))
    assert np.diff(index.stab(points).offsets).tolist() == [500, 400, 400, 0, 0, 0]
    index.remove(np.arange(0, n, 5))
    index.insert([1_000, 1_001], np.full((2, dims), -np.inf), np.full((2, dims), np.inf))
    expected = sorted({*range(n)} - {*range(0, n, 5)} | {1_000, 1_001})
    assert listed(index.stab(points))[:2] == [expected, expected]


@pytest.mark.parametrize("kind", KINDS)
def test_few_without_a_bound_among_many_that_are_far(kind: str) -> None:
    """Nothing is hit, so no counter is touched: those without a bound are found nevertheless."""
    lo, hi = np.full((5_000, 2), 5.0), np.full((5_000, 2), 6.0)
    lo[[3, 4_000]], hi[[3, 4_000]] = -np.inf, np.inf
    index = wl.index.build(kind, lo, hi)
    assert listed(index.stab(np.zeros((1, 2)))) == [[3, 4_000]]
    index.remove([3])
    assert listed(index.stab(np.zeros((1, 2)))) == [[4_000]]
    index.insert([3], lo[:1], hi[:1])
    assert listed(index.stab(np.array([[0.0, 0.0], [np.nan, 0.0]]))) == [[4_000], []]


@pytest.mark.parametrize("kind", KINDS)
def test_very_many_that_are_one_sided(kind: str) -> None:
    rng = np.random.default_rng(4)
    n = 60_000
    lo, hi = np.full((n, 2), -np.inf), np.full((n, 2), np.inf)
    lo[::2, 0], hi[1::2, 1] = rng.random(n // 2), rng.random(n // 2)
    index = wl.index.build(kind, lo, hi)
    points = np.array([[0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [-1.0, 2.0], [2.0, -1.0]])
    points = np.concatenate([points, rng.random((20, 2))])
    expected = [int(((lo <= p) & (p < hi)).all(axis=1).sum()) for p in points]
    assert expected[3:5] == [0, n]
    assert np.diff(index.stab(points).offsets).tolist() == expected


# --- boxes come and go


@pytest.mark.parametrize("kind", REBUILT)
def test_late_boxes_until_it_is_built_anew(kind: str) -> None:
    lo, hi = mixed(2_000, 3, seed=5)
    index: Any = wl.index.build(kind, lo[:800], hi[:800])
    held, points = held_of(lo[:800], hi[:800]), np.random.default_rng(6).random((20, 3))
    late = []
    for i in range(800, 1_100):
        index.insert([i], lo[[i]], hi[[i]])
        held[i] = tuple(lo[i]), tuple(hi[i])
        late.append(len(index._late))
        if i % 20 == 0:
            assert listed(index.stab(points)) == brute(held, points)
    assert late[:100] == [*range(1, 101)]
    assert late[100] == 0
    assert max(late) < 120
    assert f"{late[-1]} of them late" in index.explain()


@pytest.mark.parametrize("kind", REBUILT)
def test_what_goes_is_gone_at_once_late_or_not(kind: str) -> None:
    lo, hi = mixed(1_100, 2, seed=7)
    index: Any = wl.index.build(kind, lo[:1_000], hi[:1_000])
    index.insert(np.arange(1_000, 1_100), lo[1_000:], hi[1_000:])
    held, points = held_of(lo, hi), np.random.default_rng(8).random((20, 2))
    assert len(index._late) == 100
    for gone in ([1_000, 1_050], [0, 1, 2], [3, 1_099], range(4, 400)):
        index.remove(gone)
        for i in gone:
            del held[i]
        assert listed(index.stab(points)) == brute(held, points)
    assert (len(index._late), index._gone) == (97, 400)
    # Slots of what has gone are given to others, which are late.
    index.insert([5_000, 0], lo[:2], hi[:2])
    held |= {5_000: (tuple(lo[0]), tuple(hi[0])), 0: (tuple(lo[1]), tuple(hi[1]))}
    assert len(index._late) == 99
    assert listed(index.stab(points)) == brute(held, points)
    index.remove([5_000])
    index.remove(np.arange(400, 600))
    for i in (5_000, *range(400, 600)):
        del held[i]
    assert (len(index._late), index._gone) == (0, 0)
    assert listed(index.stab(points)) == brute(held, points)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_what_the_arrays_have(kind: str) -> None:
    index: Any = wl.index.build(kind, *mixed(3_000, 3, seed=9))
    index.insert([10_000], *mixed(1, 3, seed=10))
    index.stab(np.zeros((1, 3)))
    assert index.nbytes == sum(a.nbytes for a in arrays_of(index).values())
    assert empty(kind, 3, {}).nbytes < 10_000


def arrays_of(thing: Any) -> dict[int, Any]:
    """The arrays of an object and of all its parts, each once, whatever views it has."""
    if isinstance(thing, np.ndarray):
        while isinstance(thing.base, np.ndarray):
            thing = thing.base
        return {id(thing): thing}
    if isinstance(thing, list | tuple):
        parts = list(thing)
    elif type(thing).__module__.startswith("watchline") and hasattr(thing, "__dict__"):
        parts = list(thing.__dict__.values())
    else:
        parts = []
    return {key: array for part in parts for key, array in arrays_of(part).items()}


# --- rows in chunks


def test_rows_with_more_hits_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    lo, hi = mixed(400, 3, seed=11)
    points = np.random.default_rng(12).random((50, 3))
    points[7, 1] = np.nan
    index = wl.index.build("twophase", lo, hi)
    expected = brute(held_of(lo, hi), points)
    for kept, rows in ((6, 4), (900, 3), (10_000, 1), (3_000, 1_000)):
        monkeypatch.setattr(twophase, "KEPT", kept)
        monkeypatch.setattr(twophase, "ROWS", rows)
        assert listed(index.stab(points)) == expected


def test_a_dimension_that_no_box_bounds() -> None:
    lo, hi = mixed(300, 3, seed=13)
    lo[:, 1], hi[:, 1] = -np.inf, np.inf
    points = np.random.default_rng(14).normal(size=(50, 3))
    for kind in KINDS:
        index = wl.index.build(kind, lo, hi)
        assert listed(index.stab(points)) == brute(held_of(lo, hi), points)
        assert "ns a row" in index.explain()
