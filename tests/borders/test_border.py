"""Crossings by hand, the edges of the interface, and what large numbers do."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import watchline as wl
from watchline.borders import AUTO, STABS, WALK, BorderIndex, Steps, build_borders, crossings
from watchline.borders.papers.diff import CHUNK, DiffRmq
from watchline.borders.runs import BLOCK

INF = float("inf")


def told(found: Any) -> list[tuple[int, int, int, int]]:
    columns = found.rows, found.streams, found.ids, found.signs
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


MAKERS: dict[str, Any] = {
    "border": lambda dims: BorderIndex(dims),
    "walk": lambda dims: BorderIndex(dims, steps=WALK),
    "stabs": lambda dims: BorderIndex(dims, steps=STABS),
    "cei": lambda dims: DiffRmq("cei", dims),
    "islist": lambda dims: DiffRmq("islist", dims),
}


@pytest.fixture(params=MAKERS)
def one(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param](1)


def test_the_paper_s_example(one: Any) -> None:
    """Figure 2, with its five queries between nine borders.

    0    1    2    3    4    5    6    7    8
    |    [---------1---------)              |
         |    [--------------2----)
    [---------3--------------)
              |    [---------4---------)
                             |    [----5----)
    """
    one.insert([1, 2, 3, 4, 5], [1, 2, 0, 3, 6], [5, 6, 4, 7, 8])
    assert told(one.advance([9], [4.5])) == [(0, 9, 1, 1), (0, 9, 2, 1), (0, 9, 4, 1)]
    assert told(one.advance([9], [7.5])) == [
        (0, 9, 1, -1),
        (0, 9, 2, -1),
        (0, 9, 4, -1),
        (0, 9, 5, 1),
    ]
    assert told(one.advance([9], [1.5])) == [(0, 9, 1, 1), (0, 9, 3, 1), (0, 9, 5, -1)]


def test_a_range_begins_at_its_lower_border_and_ends_before_its_upper(one: Any) -> None:
    one.insert([1], [2.0], [3.0])
    below, last = np.nextafter(2.0, 0), np.nextafter(3.0, 0)
    signs = [1 if 2 <= x < 3 else 0 for x in (below, 2.0, last, 3.0)]
    assert signs == [0, 1, 1, 0]
    found = one.advance([7] * 6, [below, 2.0, last, 3.0, last, below])
    assert told(found) == [(1, 7, 1, 1), (3, 7, 1, -1), (4, 7, 1, 1), (5, 7, 1, -1)]


def test_a_jump_over_a_query_is_none_but_touching_queries_are_two(one: Any) -> None:
    """[1)[2) touch at 2: passing from one to the other leaves the one and enters the other."""
    one.insert([1, 2], [1.0, 2.0], [2.0, 3.0])
    assert told(one.advance([5, 5], [0.0, 4.0])) == []
    assert told(one.advance([5, 5], [1.5, 2.5])) == [(0, 5, 1, 1), (1, 5, 1, -1), (1, 5, 2, 1)]


def test_values_that_are_nowhere_leave_everything(one: Any) -> None:
    one.insert([1, 2, 3], [-INF, 0.0, -INF], [INF, INF, 0.0])
    assert told(one.advance([5], [-INF])) == []
    assert told(one.advance([5, 5], [-1.0, np.nan])) == [
        (0, 5, 1, 1),
        (0, 5, 3, 1),
        (1, 5, 1, -1),
        (1, 5, 3, -1),
    ]
    # From nowhere to beyond the last border, which is where nowhere is kept.
    assert told(one.advance([5, 5], [1e308, INF])) == [
        (0, 5, 1, 1),
        (0, 5, 2, 1),
        (1, 5, 1, -1),
        (1, 5, 2, -1),
    ]
    assert told(one.advance([5, 5], [1e308, -INF])) == [
        (0, 5, 1, 1),
        (0, 5, 2, 1),
        (1, 5, 1, -1),
        (1, 5, 2, -1),
    ]


def test_queries_that_come_and_go_open_and_close(one: Any) -> None:
    one.advance([1, 2, 3], [0.5, 1.5, np.nan])
    assert told(one.insert([7, 8], [0.0, 1.0], [1.0, 2.0])) == [(-1, 1, 7, 1), (-1, 2, 8, 1)]
    # The stream's segment ended at no border before: it must have been cut by the new ones.
    assert told(one.advance([1], [1.25])) == [(0, 1, 7, -1), (0, 1, 8, 1)]
    assert told(one.remove([8])) == [(-1, 1, 8, -1), (-1, 2, 8, -1)]
    assert told(one.advance([1, 2], [0.25, 0.75])) == [(0, 1, 7, 1), (1, 2, 7, 1)]
    assert told(one.forget([2, 2, 3])) == [(-1, 2, 7, -1)]
    assert one.streams == 1
    assert told(one.advance([2], [0.75])) == [(0, 2, 7, 1)]
    assert len(one.insert([], [], [])) == 0
    assert len(one.remove([])) == 0
    assert len(one.advance([], [])) == 0


def test_an_id_may_come_again_with_other_borders(one: Any) -> None:
    one.advance([1], [0.5])
    for round in range(30):
        low = float(round % 3)
        one.insert([4], [low], [low + 1.0])
        found = one.advance([1, 1], [2.5, 0.5])
        assert len(found) == (2 if low in (0.0, 2.0) else 0)
        assert len(one.remove([4])) == (low == 0.0)


def test_two_dimensions_are_checked_across() -> None:
    """A corner is entered through both borders at once, and told once.

    2 +-----+
      |  1  |     a: into 1 by x alone     b: by y alone
    1 +--+--+     c: by both               d: x is inside, y is not
      0  1  2
    """
    border = wl.BorderIndex(2)
    border.insert([1], [[0.0, 1.0]], [[2.0, 2.0]])
    a = border.advance([1, 1], [[-1.0, 1.5], [1.0, 1.5]])
    b = border.advance([2, 2], [[1.0, 0.5], [1.0, 1.5]])
    c = border.advance([3, 3], [[-1.0, 0.5], [1.0, 1.5]])
    d = border.advance([4, 4], [[-1.0, 0.5], [1.0, 0.5]])
    assert [told(x) for x in (a, b, c, d)] == [
        [(1, 1, 1, 1)],
        [(1, 2, 1, 1)],
        [(1, 3, 1, 1)],
        [],
    ]
    assert told(border.advance([3, 2], [[-1.0, 3.0], [1.0, np.nan]])) == [
        (0, 3, 1, -1),
        (1, 2, 1, -1),
    ]


@pytest.mark.parametrize("maker", ["border", "cei"])
def test_refused_calls_change_nothing(maker: str) -> None:
    one = MAKERS[maker](1)
    one.insert([1, 2], [0.0, 1.0], [2.0, 3.0])
    one.advance([5], [1.5])
    refused: list[tuple[Any, Any]] = [
        (wl.DuplicateQuery, lambda: one.insert([3, 2], [0, 0], [9, 9])),
        (wl.DuplicateQuery, lambda: one.insert([3, 3], [0, 0], [9, 9])),
        (wl.InvalidRange, lambda: one.insert([3, 4], [0, 9], [9, 9])),
        (wl.InvalidRange, lambda: one.insert([3], [np.nan], [9])),
        (wl.InvalidRange, lambda: one.insert([3], [[0, 0]], [[9, 9]])),
        (wl.InvalidRange, lambda: one.insert([3, 4], [0], [9])),
        (wl.InvalidQuery, lambda: one.insert([0.5], [0], [9])),
        (wl.UnknownQuery, lambda: one.remove([1, 9])),
        (wl.DuplicateQuery, lambda: one.remove([1, 1])),
        (wl.InvalidQuery, lambda: one.remove(["a"])),
        (wl.InvalidQuery, lambda: one.advance([0.5], [1.0])),
        (wl.InvalidQuery, lambda: one.advance([[1]], [1.0])),
        (wl.InvalidQuery, lambda: one.advance(np.array([2**63], dtype=np.uint64), [1.0])),
        (wl.InvalidRange, lambda: one.advance([5, 6], [1.0])),
        (wl.InvalidRange, lambda: one.advance([5], [[1.0, 2.0]])),
        (wl.InvalidRange, lambda: one.advance([5], ["x"])),
        (wl.UnknownStream, lambda: one.forget([5, 6])),
    ]
    for error, call in refused:
        with pytest.raises(error):
            call()
    assert (len(one), one.streams) == (2, 1)
    assert told(one.advance([5], [2.5])) == [(0, 5, 1, -1)]


def test_dimensions_are_whole_numbers_from_one() -> None:
    for dims in (0, -1, 1.5, "2"):
        with pytest.raises(wl.InvalidQuery):
            wl.BorderIndex(dims)  # type: ignore[arg-type]


def random_walks(
    rng: np.random.Generator, streams: int, rounds: int, step: float, dims: int = 1
) -> tuple[Any, Any]:
    start = rng.uniform(0, 1_000, (1, streams, dims))
    moves = rng.normal(0, step, (rounds, streams, dims)).cumsum(axis=0)
    return np.tile(np.arange(streams), rounds), (start + moves).reshape(-1, dims) % 1_000


@pytest.mark.parametrize("step", [0.1, 10.0, 1_000.0])
@pytest.mark.parametrize("dims", [1, 2])
def test_all_ways_give_the_same(step: float, dims: int) -> None:
    """Thousands of queries: blocks, checkpoints and several generations are all in use."""
    rng = np.random.default_rng(3)
    makers = MAKERS if dims == 1 else {n: MAKERS[n] for n in ("border", "walk", "stabs")}
    everyone = [make(dims) for make in makers.values()]
    if dims == 2:
        everyone.append(DiffRmq("ces", 2))
    streams, values = random_walks(rng, 30, 40, step, dims)
    calls: list[Any] = []
    for part in range(4):
        lo = rng.uniform(0, 1_000, (1_500, dims))
        ids = np.arange(1_500) + 1_500 * part
        hi = lo + rng.exponential(30.0, (1_500, dims)) + 1e-9
        rows = slice(part * 300, part * 300 + 300)
        calls.append(lambda b, ids=ids, lo=lo, hi=hi: b.insert(ids, lo, hi))
        calls.append(lambda b, rows=rows: b.advance(streams[rows], values[rows]))
        calls.append(lambda b, ids=ids: b.remove(ids[::3]))
    calls.append(lambda b: b.forget(np.arange(30)))
    total = 0
    for call in calls:
        first, *others = [told(call(one)) for one in everyone]
        total += len(first)
        for other in others:
            assert other == first
    assert total > 300


@pytest.mark.slow
def test_a_call_of_many_rows_grows_its_columns() -> None:
    """More crossings than the first guess, new streams in the middle, more rows than a chunk."""
    rng = np.random.default_rng(1)
    count = CHUNK + 500
    streams = np.concatenate([np.zeros(count // 2, int), rng.integers(0, 50, count - count // 2)])
    values = rng.uniform(0, 100, count)
    lo = rng.uniform(0, 100, 300)
    found = []
    for one in (BorderIndex(1), DiffRmq("cei")):
        one.insert(np.arange(300), lo, lo + 20)
        found.append(told(one.advance(streams, values)))
        assert len(one.advance(streams[:0], values[:0])) == 0
    assert found[0] == found[1]
    assert len(found[0]) > 50 * count


def test_registrations_one_by_one_make_few_generations() -> None:
    rng = np.random.default_rng(2)
    border, rival = BorderIndex(1), DiffRmq("cei")
    lo = rng.uniform(0, 100, 6_000)
    for one in (border, rival):
        one.advance([1, 2], [50.0, 75.0])
    for i in range(3_000):
        border.insert([i], lo[i : i + 1], lo[i : i + 1] + 1)
    border.insert(np.arange(3_000, 6_000), lo[3_000:], lo[3_000:] + 1)
    rival.insert(np.arange(6_000), lo, lo + 1)
    sizes = border._lists.entries
    assert sum(sizes) == 12_000
    assert all(a >= 4 * b for a, b in pairwise(sizes))
    values = rng.uniform(0, 100, 500)
    assert told(border.advance([1] * 500, values)) == told(rival.advance([1] * 500, values))


def test_generations_stay_few_under_any_sizes() -> None:
    rng = np.random.default_rng(5)
    border, number = BorderIndex(1), 0
    for _ in range(60):
        count = int(10 ** rng.uniform(0, 3))
        lo = rng.uniform(0, 100, count)
        border.insert(np.arange(number, number + count), lo, lo + 1)
        number += count
        if rng.random() < 0.5:
            border.remove(np.arange(number - count // 2, number))
    assert len(border._lists.entries) < 8


def test_removing_most_rebuilds_and_gives_memory_back() -> None:
    rng = np.random.default_rng(6)
    border = BorderIndex(2)
    lo = rng.uniform(0, 100, (20_000, 2))
    border.insert(np.arange(20_000), lo, lo + 1)
    full = border.nbytes
    border.remove(np.arange(15_000))
    assert sum(border._lists.entries) == 4 * 5_000
    border.remove(np.arange(15_000, 19_900))
    assert border.nbytes < full / 20
    border.remove(np.arange(19_900, 20_000))
    assert border.nbytes < 1_000
    border.insert([5], [[0.0, 0.0]], [[1.0, 1.0]])
    assert told(border.advance([1], [[0.5, 0.5]])) == [(0, 1, 5, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("steps", [AUTO, WALK, STABS])
def test_a_million_equal_borders(steps: Steps) -> None:
    """All queries are one range: every search and removal meets one border a million times."""
    count = 1_000_000
    border = BorderIndex(1, steps=steps)
    border.insert(np.arange(count), np.full(count, 2.0), np.full(count, 3.0))
    assert len(border.advance([1], [1.0])) == 0
    found = border.advance([1, 1], [2.5, 3.0])
    assert len(found) == 2 * count
    assert found.signs.sum() == 0
    for gone in range(0, 3_000, 3):
        border.remove([gone])
    assert len(border.advance([1], [2.0])) == count - 1_000
    assert len(border.insert([0], [2.0], [3.0])) == 1


def test_checkpoints_are_no_longer_than_the_borders() -> None:
    """Whatever the overlap: none, some, all queries open at once."""
    rng = np.random.default_rng(8)
    for width in (1e-6, 1.0, 50.0, 1e6):
        lo = rng.uniform(0, 1_000, 5_000)
        borders = build_borders(lo[:, None], (lo + width)[:, None], np.arange(5_000))
        assert len(borders.members) <= 10_000
        places = np.arange(0, 10_000, BLOCK)
        latest = borders.latest[: len(places)] * BLOCK
        assert (latest <= places).all()
        # A stab reads no more than about twice what is open there, and two blocks.
        opened = np.cumsum(np.where(borders.others[:10_000] > borders.keys[:10_000], 1, -1))[places]
        assert (places - latest <= 2 * opened + 2 * BLOCK).all()


def test_memory_is_flat_in_the_width_and_counts_everything() -> None:
    rng = np.random.default_rng(9)
    lo = rng.uniform(0, 1e6, 20_000)
    sizes = []
    for width in (1.0, 100.0, 10_000.0, 1e6):
        border = BorderIndex(1)
        border.insert(np.arange(20_000), lo, lo + width)
        border.advance(np.arange(100), rng.uniform(0, 1e6, 100))
        sizes.append(border.nbytes)
    assert max(sizes) < 1.15 * min(sizes)
    assert min(sizes) > 20_000 * (24 + 2 * 24)


def test_pickled_and_read_only_borders_answer_the_same() -> None:
    rng = np.random.default_rng(10)
    border = BorderIndex(1)
    lo = rng.uniform(0, 100, 2_000)
    border.insert(np.arange(2_000), lo, lo + 5)
    border.advance(np.arange(10), rng.uniform(0, 100, 10))
    again = pickle.loads(pickle.dumps(border))
    values = rng.uniform(0, 100, 10)
    assert told(border.advance(np.arange(10), values)) == told(again.advance(np.arange(10), values))

    borders = build_borders(lo[:, None], (lo + 5)[:, None], np.arange(2_000))
    frozen = type(borders)(*(_read_only(array) for array in borders))
    old, new = _read_only(rng.uniform(0, 100, 50)), _read_only(rng.uniform(0, 100, 50))
    rows, tags, signs = crossings(frozen, old, new)
    before = (lo <= old[:, None]) & (old[:, None] < lo + 5)
    after = (lo <= new[:, None]) & (new[:, None] < lo + 5)
    expected = after.astype(int) - before
    told_by = np.zeros_like(expected)
    told_by[rows, tags] = signs
    assert (told_by == expected).all()
    assert len(rows) == np.count_nonzero(expected)


def _read_only(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def test_explain_tells_sizes() -> None:
    border = wl.BorderIndex(2)
    assert border.explain() == (
        "border: 0 boxes of 2 dimensions, 0 streams; 0 borders in 0 generations"
    )
    border.insert([1], [[0, 0]], [[1, 1]])
    border.advance([3], [[0.5, 0.5]])
    assert border.explain() == (
        "border: 1 boxes of 2 dimensions, 1 streams; 4 borders in 1 generation"
    )
