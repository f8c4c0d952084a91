"""The interval skip list: answers as by brute force, and the paper's invariant after any change."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from tests.support.indexes import listed
from watchline.errors import DuplicateQuery, InvalidQuery, UnknownQuery
from watchline.index.papers import islist, marker_lists
from watchline.index.papers.islist import IntervalSkipList

TINY = 5e-324
LARGEST = sys.float_info.max
AWKWARD = [0.0, -0.0, TINY, -TINY, 2.3e-308, 1.0, math.nextafter(1, 2), 2.0, 3.0, 1e308, -1e308]
AWKWARD += [LARGEST, -LARGEST, math.inf, -math.inf]

Held = dict[int, tuple[float, float]]

bound = st.sampled_from(AWKWARD) | st.integers(-4, 4).map(float) | st.floats(allow_nan=False)
interval = (
    st.tuples(bound, bound).map(sorted).filter(lambda pair: pair[0] < pair[1]).map(tuple)  # type: ignore[arg-type]
)


def brute(held: Held, points: Any) -> list[list[int]]:
    ids = np.array(sorted(held), dtype=np.int64)
    lo, hi = np.array([held[i] for i in ids.tolist()]).reshape(-1, 2).T
    return [
        ids[(lo <= x) & (x < hi)].tolist() if math.isfinite(x) else []
        for x in np.asarray(points).tolist()
    ]


def beside(held: Held) -> Any:
    """All borders and the numbers next to them, and what is no number."""
    borders = np.array([*held.values()]).reshape(-1)
    with np.errstate(over="ignore"):
        near = [np.nextafter(borders, -np.inf), borders, np.nextafter(borders, np.inf)]
    return np.concatenate([*near, AWKWARD, [math.nan]])


def insert(index: IntervalSkipList, held: Held, new: Held) -> None:
    index.insert(
        np.array([*new], dtype=np.int64), [v[0] for v in new.values()], [v[1] for v in new.values()]
    )
    held |= new


def remove(index: IntervalSkipList, held: Held, gone: Any) -> None:
    index.remove(np.array(gone, dtype=np.int64))
    for i in gone:
        del held[int(i)]


# --- the invariant


def edges_of(index: IntervalSkipList) -> list[tuple[int, float, float, list[int]]]:
    """Level, ends and markers of every edge; nodes in order and each level linked as it must be."""
    towers, markers = index._towers, index._markers
    keys, node = {islist.HEADER: -math.inf}, islist.HEADER
    while towers.edges[node]["next"] != islist.TAIL:
        key, node = float(towers.edges[node]["key"]), int(towers.edges[node]["next"])
        assert key > [*keys.values()][-1]
        keys[node] = key
    top = max([1, *(int(towers.heights[n]) for n in keys if n != islist.HEADER)])
    assert towers.free[marker_lists.TOP] == top
    edges = []
    for level in range(islist.LEVELS):
        high = [n for n in keys if towers.heights[n] > level]
        for n, after in zip(high, [*high[1:], islist.TAIL], strict=True):
            edge = towers.edges[n + level]
            end = keys.get(after, math.inf)
            assert (int(edge["next"]), float(edge["key"])) == (after, end)
            place = int(edge["list"])
            found = markers[place + 1 : place + 1 + markers[place]].tolist() if place else []
            assert not place or found
            edges.append((level, keys[n], end, found))
    return edges


def check_markers(index: IntervalSkipList, held: Held) -> None:
    """Each interval marks exactly the edges it contains that are below no higher such edge."""
    edges = edges_of(index)
    level, start, end = (np.array([e[k] for e in edges]) for k in range(3))
    marked: dict[int, set[int]] = {i: set() for i in held}
    for e, (*_, markers) in enumerate(edges):
        assert len(set(markers)) == len(markers)
        for i in markers:
            marked[i].add(e)
    over = (level[:, None] < level) & (start[:, None] >= start) & (end[:, None] <= end)
    for i, (lo, hi) in held.items():
        within = (lo <= start) & (end <= hi)
        assert marked[i] == set(np.flatnonzero(within & ~(over & within).any(axis=1)).tolist())


def check_memory(index: IntervalSkipList, held: Held) -> None:
    """Nodes are the borders in use; every edge and run is in use or free, and once."""
    towers, markers, runs = index._towers, index._markers, index._runs
    borders, counts = np.unique([b for v in held.values() for b in v], return_counts=True)
    kept = np.isfinite(borders)
    uses, node, taken = [], int(towers.edges[islist.HEADER]["next"]), []
    while node != islist.TAIL:
        uses.append(int(towers.uses[node]))
        taken += range(node, node + int(towers.heights[node]))
        node = int(towers.edges[node]["next"])
    assert uses == counts[kept].tolist()
    used = [*range(islist.LEVELS), *taken]
    free = []
    for height in range(1, islist.LEVELS):
        node = int(towers.free[height])
        while node:
            free += range(node, node + height)
            node = int(towers.edges[node]["next"])
    assert sorted(used + free) == list(range(towers.free[marker_lists.END]))
    assert len(free) == towers.free[marker_lists.DEAD]
    free_runs = []
    for kind in range(len(marker_lists.CAPACITY)):
        start = int(runs[kind])
        while start:
            free_runs += range(start, start + marker_lists.SIZE[kind])
            start = int(markers[start])
    used_runs = [p for e in used for p in _run(markers, runs, int(towers.edges[e]["list"]))]
    assert sorted(used_runs + free_runs) == list(range(1, runs[marker_lists.END]))
    assert len(free_runs) == runs[marker_lists.DEAD]
    assert runs[marker_lists.END] + islist.SLACK <= len(markers)


def _run(markers: Any, runs: Any, place: int) -> list[int]:
    """The elements of a list's run and of its index, which must lead to each of its markers."""
    count = int(markers[place])
    if not place or count <= marker_lists.SMALL:
        size = marker_lists.SIZE[marker_lists.KIND[count]] if place else 0
        return list(range(place, place + size))
    kind, index = int(markers[place - 2]), int(markers[place - 1])
    assert count <= marker_lists.CAPACITY[kind]
    run = list(range(place - 2, place - 2 + marker_lists.SIZE[kind]))
    if index > 0:
        kind = int(marker_lists._index_kind(markers, place))
        run += range(index - 2, index - 2 + marker_lists.SIZE[kind])
        places = markers[index : index + marker_lists.CAPACITY[kind]]
        assert sorted(places[places > 0].tolist()) == list(range(1, count + 1))
        for marker in markers[place + 1 : place + 1 + count].tolist():
            found = marker_lists._look_up(markers, runs, place, marker)[1]
            assert markers[place + found] == marker
    return run


def check(index: IntervalSkipList, held: Held) -> None:
    check_markers(index, held)
    check_memory(index, held)


# --- answers


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_equals_brute_force_on_awkward_numbers(data: Any) -> None:
    index = IntervalSkipList(1, p=data.draw(st.sampled_from([0.25, 0.5, 0.75])))
    held: Held = {}
    for step in range(data.draw(st.integers(1, 5))):
        new = data.draw(st.lists(interval, max_size=6))
        insert(index, held, {10 * step + i: pair for i, pair in enumerate(new)})
        gone = data.draw(st.lists(st.sampled_from(sorted(held)), unique=True)) if held else []
        remove(index, held, gone)
        points = beside(held)
        assert listed(index.stab(points)) == brute(held, points)
        check(index, held)
        assert len(index) == len(held)


@pytest.mark.parametrize(("p", "grid"), [(0.25, 30), (0.5, 30), (0.5, 2_000), (0.7, 200)])
def test_long_interleavings(p: float, grid: int) -> None:
    random = np.random.default_rng(grid)
    index, held = IntervalSkipList(1, p=p), {}
    for step in range(400):
        count = int(random.choice([1, 1, 1, 2, 7, 40]))
        if (len(held) < 120 and random.random() < 0.6) or not held:
            lo, width = random.integers(0, grid, count), random.integers(1, grid, count)
            hi = np.where(random.random(count) < 0.1, np.inf, lo + width)
            low = np.where(random.random(count) < 0.1, -np.inf, lo)
            insert(index, held, {1000 * step + i: (low[i], hi[i]) for i in range(count)})
        else:
            remove(index, held, random.permutation([*held])[:count])
        if step % 4 == 0:
            points = random.permutation(beside(held))
            assert listed(index.stab(points)) == brute(held, points)
        if step % 8 == 0:
            check(index, held)


@pytest.mark.slow
def test_many_intervals_of_all_widths() -> None:
    random = np.random.default_rng(5)
    n = 20_000
    lo = random.uniform(0, 1000, n)
    hi = lo + random.exponential(10 ** random.uniform(-3, 3, n))
    index = IntervalSkipList(1)
    index.insert(np.arange(n), lo, hi)
    gone = random.permutation(n)[: n // 2]
    index.remove(gone)
    index.insert(gone[::2] + n, lo[gone[::2]], hi[gone[::2]])
    alive = np.ones(n, dtype=bool)
    alive[gone[1::2]] = False
    points = random.permutation(
        np.concatenate((random.uniform(-1, 2000, 2000), lo[::50], hi[::50]))
    )
    found = index.stab(points)
    number = np.searchsorted(np.sort(lo[alive]), points, "right")
    number -= np.searchsorted(np.sort(hi[alive]), points, "right")
    assert np.diff(found.offsets).tolist() == number.tolist()
    ids, rows = found.ids % n, found.rows()
    assert ((lo[ids] <= points[rows]) & (points[rows] < hi[ids])).all()
    assert len(np.unique(rows * n + ids)) == len(ids)


def test_identical_intervals_in_bulk_and_alone() -> None:
    n = 100_000
    index = IntervalSkipList(1)
    index.insert(np.arange(n), np.full(n, 1.0), np.full(n, 2.0))
    assert listed(index.stab([1.0, 2.0, 0.5, 1.5])) == [[*range(n)], [], [], [*range(n)]]
    for i in range(200):
        index.remove([7 * i])
        index.insert([n + i], [1.0], [2.0])
    left = sorted({*range(n + 200)} - {7 * i for i in range(200)})
    assert listed(index.stab([1.25])) == [left]
    # A node between them splits the one edge, one of an awkward height more than once.
    index.insert([-1, -2, -3], [1.5, 1.25, 1.75], [3.0, 1.5, 1.875])
    assert listed(index.stab([1.8])) == [[-3, -1, *left]]
    index.remove(np.array([*left[: n // 2], -2]))
    assert listed(index.stab([1.3, 1.8])) == [left[n // 2 :], [-3, -1, *left[n // 2 :]]]
    check_memory(
        index, dict.fromkeys(left[n // 2 :], (1.0, 2.0)) | {-1: (1.5, 3), -3: (1.75, 1.875)}
    )
    index.remove(np.array(left[n // 2 : -10]))
    assert listed(index.stab([1.5])) == [[-1, *left[-10:]]]
    assert index._nbytes < 20_000


def test_long_lists_with_indexes_split_and_joined() -> None:
    random = np.random.default_rng(8)
    index, held, n = IntervalSkipList(1, p=0.5), {}, 4_000
    insert(index, held, {i: (0.0, 100.0) if i % 3 else (-math.inf, 50.0) for i in range(n)})
    for i in random.permutation(n)[:300].tolist():
        remove(index, held, [i])
    check(index, held)
    for i in range(40):
        insert(index, held, {n + i: (float(i), 99.0 - i)})
        remove(index, held, random.permutation([j for j in held if j < n])[:60])
    check(index, held)
    for i in random.permutation(40).tolist():
        remove(index, held, [n + i])
    check(index, held)
    points = random.permutation(np.arange(-1, 102.0))
    assert listed(index.stab(points)) == brute(held, points)


def test_one_by_one_and_in_bulk_hold_the_same() -> None:
    random = np.random.default_rng(3)
    n = 3_000
    lo = random.integers(0, 5_000, n).astype(float)
    hi = lo + random.integers(1, 800, n)
    bulk, single = IntervalSkipList(1), IntervalSkipList(1)
    bulk.insert(np.arange(n), lo, hi)
    for i in range(n):
        single.insert([i], lo[i : i + 1], hi[i : i + 1])
    points = np.arange(-1.0, 5_900, 0.5)
    assert listed(bulk.stab(points)) == listed(single.stab(points))
    for i in random.permutation(n)[: n - 100].tolist():
        single.remove([i])
    held = {int(i): (lo[i], hi[i]) for i in single._boxes.ids[single._boxes.living()]}
    check(single, held)
    assert listed(single.stab(points)) == brute(held, points)


def test_wide_ids_that_come_later() -> None:
    index, held = IntervalSkipList(1), {}
    insert(index, held, {i - 50: (float(i % 7), float(i % 7 + 20)) for i in range(100)})
    assert index.stab([3.0]).ids.dtype == np.int32
    insert(index, held, {2**40: (0.5, 9.0), -(2**62): (3.0, 4.0), 2**31: (3.0, 9.0)})
    points = beside(held)
    found = index.stab(points)
    assert found.ids.dtype == np.int64
    assert listed(found) == brute(held, points)
    check(index, held)
    remove(index, held, [2**40, *range(-50, 0)])
    assert listed(index.stab(points)) == brute(held, points)
    remove(index, held, [*held])
    assert listed(index.stab([3.0])) == [[]]
    insert(index, held, {1: (0.0, 1.0)})
    assert index.stab([0.5]).ids.dtype == np.int32
    assert listed(index.stab([0.5])) == [[1]]


def test_intervals_without_ends() -> None:
    index, held = IntervalSkipList(1), {}
    insert(index, held, dict.fromkeys(range(40), (-math.inf, math.inf)))
    check(index, held)
    insert(index, held, {50: (-math.inf, 3.0), 51: (3.0, math.inf), 52: (-LARGEST, LARGEST)})
    check(index, held)
    points = np.array([0.0, 3.0, LARGEST, -LARGEST, math.inf, -math.inf, math.nan])
    assert listed(index.stab(points)) == brute(held, points)
    remove(index, held, [50, 51])
    check(index, held)
    assert listed(index.stab(points)) == brute(held, points)


def test_rows_that_do_not_fit_are_answered_when_there_is_room() -> None:
    index, held = IntervalSkipList(1), {}
    insert(index, held, {i: (0.0, float(i + 1)) for i in range(50)})
    points = np.array([[40.0], [0.0], [49.5], [60.0]])
    offsets, found = np.zeros(5, dtype=np.int64), np.full(70, -7, dtype=np.int32)
    assert index._fill(points, offsets, found, 0, 0) == (1, 10)
    assert offsets[:2].tolist() == [0, 10]
    row, at = index._fill(points, offsets, np.empty(10 + 50 + 1 + islist.SLACK, np.int32), 1, 10)
    assert (row, at, offsets.tolist()) == (4, 61, [0, 10, 60, 61, 61])
    rng = np.random.default_rng(1)
    many = rng.uniform(0, 50, 5_000)
    assert listed(index.stab(many)) == brute(held, many)


# --- memory


@pytest.mark.slow
def test_memory_returns() -> None:
    index = IntervalSkipList(1)
    empty = index.nbytes
    assert empty < 4_096
    random = np.random.default_rng(2)
    n = 30_000
    lo = random.uniform(0, 1000, n)
    index.insert(np.arange(n), lo, lo + 5)
    full = index._nbytes
    for _ in range(5):
        # The places of what goes are taken by what comes.
        gone = random.permutation(n)[: n // 3]
        index.remove(gone)
        lo[gone] = random.uniform(0, 1000, n // 3)
        index.insert(gone, lo[gone], lo[gone] + 5)
    assert index._nbytes < 2 * full
    index.remove(np.arange(n - 100))
    assert index._nbytes < full / 20
    held = {i: (lo[i], lo[i] + 5) for i in range(n - 100, n)}
    check(index, held)
    index.remove(np.arange(n - 100, n))
    assert index.nbytes == empty
    index.remove(np.empty(0, dtype=np.int64))
    index.insert(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
    assert (len(index), index.nbytes) == (0, empty)


def test_nbytes_counts_every_array() -> None:
    index = IntervalSkipList(1)
    index.insert(np.arange(1000), np.arange(1000.0), np.arange(1000.0) + 50)
    held = [*vars(index).values()]
    arrays = [a for v in held for a in (v if isinstance(v, tuple) else [v])]
    assert index._nbytes == sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))


# --- the rest of the protocol


def test_same_seed_same_list() -> None:
    def built(seed: int) -> IntervalSkipList:
        index, random = IntervalSkipList(1, seed=seed), np.random.default_rng(0)
        for step in range(20):
            lo = random.uniform(0, 100, 50)
            index.insert(np.arange(50) + 50 * step, lo, lo + random.exponential(10, 50))
            index.remove(random.permutation(50)[:10] + 50 * step)
        return index

    one, same, other = built(1), built(1), built(2)
    for a, b in zip(one._towers, same._towers, strict=True):
        assert (a == b).all()
    assert (one._markers == same._markers).all()
    assert one._towers.heights.tobytes() != other._towers.heights.tobytes()
    assert listed(one.stab(np.arange(100.0))) == listed(other.stab(np.arange(100.0)))


def test_refusals() -> None:
    with pytest.raises(InvalidQuery, match="index 'islist' has one dimension, not 2"):
        IntervalSkipList(2)
    for p in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(InvalidQuery, match="p between 0 and 1"):
            IntervalSkipList(1, p=p)
    index = IntervalSkipList(1)
    index.insert([1], [0.0], [1.0])
    with pytest.raises(DuplicateQuery):
        index.insert([1], [5.0], [6.0])
    with pytest.raises(UnknownQuery):
        index.remove([1, 2])
    check(index, {1: (0.0, 1.0)})
    assert listed(index.stab([0.5])) == [[1]]
    assert index.kind == "islist"


UNCOMPILED = """
import numpy as np
from watchline.index.papers.islist import IntervalSkipList

random = np.random.default_rng(4)
index = IntervalSkipList(1)
lo = random.integers(0, 60, 150).astype(float)
index.insert(np.arange(150), lo, lo + random.integers(1, 40, 150))
for i in range(60):
    index.remove([2 * i])
    index.insert([1000 + i - 2**33 * (i > 50)], [float(i)], [i + 0.5])
index.insert(np.arange(3000) + 5000, np.full(3000, 7.0), np.full(3000, 9.0))
for i in range(40):
    index.remove([5000 + 7 * i])
index.insert([-5], [8.0], [np.inf])
index.remove(np.arange(400) + 6000)
found = index.stab(np.append(np.arange(-1, 100, 0.25), [np.nan, np.inf]))
o = found.offsets
print([sorted(found.ids[o[i] : o[i + 1]].tolist()) for i in range(len(o) - 1)])
"""


@pytest.mark.slow
def test_kernels_give_the_same_uncompiled() -> None:
    answers = []
    for uncompiled in ("0", "1"):
        env = {**os.environ, "NUMBA_DISABLE_JIT": uncompiled}
        done = subprocess.run(
            [sys.executable, "-c", UNCOMPILED], env=env, capture_output=True, text=True, check=True
        )
        answers.append(done.stdout)
    assert answers[0] == answers[1]
    assert len(answers[0]) > 1_000
