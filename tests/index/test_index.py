"""The index protocol, refusals, hot spots, memory, tuning, and what indexes are made of."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numba
import numpy as np
import pytest

import watchline as wl
from tests.support.indexes import CASES, Held, brute, empty, listed, name
from watchline.index import result, scan
from watchline.index.cei import ContainmentEncodedIntervals
from watchline.index.ces import ContainmentEncodedSquares, morton
from watchline.index.papers.formulas import construct_counts, mean_pieces, storage
from watchline.index.postings import (
    CLASSES,
    Pieces,
    PostingLists,
    _capacity,
    _list,
    _next_smaller,
    first_cut,
)
from watchline.index.table import BoxTable
from watchline.kernels import threads

Case = tuple[str, int, dict[str, Any]]


def boxes_of(n: int, dims: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    lo = rng.uniform(0, 1_000, (n, dims))
    return lo, lo + rng.exponential(20, (n, dims)) + 0.01


# --- the protocol


def test_one_dimension_takes_flat_arrays() -> None:
    index = wl.index.build("scan", [0, 1, 2], [2, 3, 4], ids=[7, 8, 2**40])
    found = index.stab([0.0, 1.0, 2.0, 3.999, 4.0, math.nan])
    assert listed(found) == [[7], [7, 8], [8, 2**40], [2**40], [], []]
    assert found.ids.dtype == np.int64
    assert found.rows().tolist() == [0, 1, 1, 2, 2, 3]
    assert wl.index.build("scan", [0], [1]).stab([0.5]).ids.dtype == np.int32
    assert index.kind == "scan"


@pytest.mark.parametrize("case", CASES, ids=name)
def test_refused_calls_change_nothing(case: Case) -> None:
    kind, dims, tuning = case
    lo, hi = boxes_of(200, dims)
    index = wl.index.build(kind, lo, hi, **tuning)
    one = np.zeros((1, dims)), np.ones((1, dims))
    two = np.zeros((2, dims)), np.ones((2, dims))
    more = np.zeros((1, dims + 3)), np.ones((1, dims + 3))
    flat = np.zeros((2, dims)), np.zeros((2, dims))
    refused: list[tuple[type[Exception], Any]] = [
        (wl.DuplicateQuery, lambda: index.insert([500, 1], *two)),
        (wl.DuplicateQuery, lambda: index.insert([500, 500], *two)),
        (wl.UnknownQuery, lambda: index.remove([0, 999])),
        (wl.DuplicateQuery, lambda: index.remove([0, 0])),
        (wl.InvalidRange, lambda: index.insert([500, 501], *flat)),
        (wl.InvalidRange, lambda: index.insert([500], one[0] * math.nan, one[1])),
        (wl.InvalidRange, lambda: index.insert([500], *two)),
        (wl.InvalidRange, lambda: index.insert([500], *more)),
        (wl.InvalidRange, lambda: index.stab(more[0])),
        (wl.InvalidRange, lambda: index.stab(["x"])),
        (wl.InvalidQuery, lambda: index.insert([1.5], *one)),
        (wl.InvalidQuery, lambda: index.insert([2**63], *one)),
    ]
    before, bytes_before = listed(index.stab(lo)), index.nbytes
    for error, call in refused:
        with pytest.raises(error):
            call()
    assert len(index) == 200
    assert listed(index.stab(lo)) == before
    assert index.nbytes == bytes_before


@pytest.mark.parametrize(
    ("kind", "dims", "tuning", "said"),
    [
        ("tree", 1, {}, "there is no index 'tree'"),
        ("scan", 1, {"depth": 3}, "'scan' does not take the option 'depth'; it takes lenient"),
        ("ui", 1, {"L": 2}, "'ui' does not take the option 'L'; it takes unit, domain"),
        ("auto", 1, {"L": 2}, "'auto' does not take the option 'L'; it takes none"),
        ("cei", 2, {}, "index 'cei' has 1 dimension, not 2"),
        ("ces", 1, {}, "index 'ces' has 2 dimensions, not 1"),
        ("islist", 2, {}, "index 'islist' has one dimension, not 2"),
        ("cei", 1, {"L": 3}, "L must be a power of two, not 3"),
        ("cei", 1, {"L": 0}, "L must be a power of two, not 0"),
        ("cei", 1, {"L": "8"}, "L must be a power of two, not '8'"),
        ("lci", 1, {"unit": -1}, "unit must be a positive number, not -1"),
        ("lci", 1, {"unit": math.nan}, "unit must be a positive number"),
        ("ces", 2, {"domain": (3, 1)}, "domain needs two finite numbers"),
        ("ces", 2, {"domain": 5}, "domain must be a pair of numbers"),
        ("cells", 2, {"L": 4}, "takes L and unit together"),
        ("cei", 1, {"unit": 1e-9, "domain": (0, 1)}, "cells"),
    ],
)
def test_bad_tuning_is_refused_in_our_words(
    kind: str, dims: int, tuning: dict[str, Any], said: str
) -> None:
    with pytest.raises(wl.WatchlineError, match=said):
        wl.index.build(kind, np.zeros((1, dims)), np.ones((1, dims)), **tuning)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_ids_beyond_32_bits_may_come_late(case: Case) -> None:
    kind, dims, tuning = case
    lo, hi = boxes_of(300, dims)
    index = wl.index.build(kind, lo, hi, **tuning)
    assert index.stab(lo).ids.dtype == np.int32
    index.insert([2**40, -(2**50)], lo[:2], hi[:2])
    held: Held = {i: (tuple(a), tuple(b)) for i, (a, b) in enumerate(zip(lo, hi, strict=True))}
    held |= {2**40: held[0], -(2**50): held[1]}
    found = index.stab(lo)
    assert found.ids.dtype == np.int64
    assert listed(found) == brute(held, lo)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_an_index_survives_pickling(case: Case) -> None:
    kind, dims, tuning = case
    lo, hi = boxes_of(300, dims)
    index = wl.index.build(kind, lo, hi, **tuning)
    copy = pickle.loads(pickle.dumps(index))
    for one in (index, copy):
        one.remove(np.arange(50))
        one.insert([1_000], lo[:1], hi[:1])
    assert listed(copy.stab(lo)) == listed(index.stab(lo))
    assert len(copy) == len(index) == 251


# --- hot spots

EVERY = [case for case in CASES if not case[2]]


@pytest.mark.parametrize("case", EVERY, ids=name)
def test_nothing_and_one(case: Case) -> None:
    dims = case[1]
    index = empty(*case)
    assert listed(index.stab(np.zeros((3, dims)))) == [[], [], []]
    assert listed(index.stab(np.empty((0, dims)))) == []
    index.insert([5], np.zeros((1, dims)), np.ones((1, dims)))
    points = np.array([[0.0], [0.5], [1.0], [-1e-9]]) * np.ones(dims)
    assert listed(index.stab(points)) == [[5], [5], [], []]
    index.remove([5])
    index.remove([])
    assert listed(index.stab(points)) == [[], [], [], []]


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY, ids=name)
def test_very_many_identical_boxes(case: Case) -> None:
    """More than 65,535 entries in one list, inserted at once, and some after that, and removed."""
    kind, dims, _ = case
    n = 70_000
    lo, hi = np.full((n, dims), 2.7), np.full((n, dims), 3.1)
    index = wl.index.build(kind, lo, hi)
    index.insert(np.arange(n, n + 50), lo[:50], hi[:50])
    points = np.array([[2.7], [3.0], [3.1], [2.6999], [math.nextafter(3.1, 0)]]) * np.ones(dims)
    counts = np.diff(index.stab(points).offsets)
    assert counts.tolist() == [n + 50, n + 50, 0, 0, n + 50]
    index.remove(np.arange(0, n, 2))
    assert np.diff(index.stab(points).offsets).tolist() == [
        n // 2 + 50,
        n // 2 + 50,
        0,
        0,
        n // 2 + 50,
    ]
    assert set(index.stab(points[:1]).ids.tolist()) == {*range(1, n, 2), *range(n, n + 50)}
    index.remove([*range(1, n, 2), *range(n, n + 50)])
    assert len(index.stab(points)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("tuning", [{}, {"unit": 1, "L": 4, "domain": (0, 100)}], ids=str)
@pytest.mark.parametrize(("kind", "dims"), [("cei", 1), ("ces", 2)])
def test_one_border_shared_by_very_many(kind: str, dims: int, tuning: dict[str, Any]) -> None:
    """They begin at one place, and grow past 65,535 in a list a few at a time."""
    rng = np.random.default_rng(5)
    n = 70_000
    lo, hi = np.full((n, dims), 10.25), 10.25 + rng.uniform(0.1, 80, (n, dims))
    index = empty(kind, dims, tuning)
    for chunk in np.array_split(np.arange(n), 40):
        index.insert(chunk, lo[chunk], hi[chunk])
    points = np.array([[10.25], [10.2], [10.3], [10.9], [60.0]]) * np.ones(dims)
    expected = [((lo <= p) & (p < hi)).all(axis=1).sum() for p in points]
    assert np.diff(index.stab(points).offsets).tolist() == expected


@pytest.mark.parametrize("border", [50.0, 0.0, -3.0, 5e-324, 1e300, -1.7976931348623157e308])
@pytest.mark.parametrize(
    "kind",
    "ui sci lci cei islist ugc vcs ces auto ibs counting twophase".split(),
)
def test_one_border_and_no_other(kind: str, border: float) -> None:
    """ "price < 50", and nothing else, two hundred times; then "price >= 50"."""
    dims = 2 if kind in ("ugc", "vcs", "ces") else 1
    below = border > -1.7e308
    before = np.nextafter(border, -np.inf) if below else -np.inf
    points = np.array([[before], [border], [1e301]]) * np.ones(dims)
    for lo, hi, expected in ((-np.inf, border, [below, 0, 0]), (border, np.inf, [0, 1, 1])):
        shape = (200, dims) if dims > 1 else 200
        index = wl.index.build(kind, np.full(shape, lo), np.full(shape, hi))
        found = np.diff(index.stab(points if dims > 1 else points[:, 0]).offsets)
        assert found.tolist() == [200 * e for e in expected]
        index.insert([1_000], np.full((1, dims), -1.0), np.full((1, dims), 1.0))
        assert len(index) == 201


def test_one_point_a_million_times() -> None:
    lo, hi = boxes_of(1_000, 1)
    index = wl.index.build("cei", lo, hi)
    [answer] = listed(index.stab([500.0]))
    found = index.stab(np.full(1_000_000, 500.0))
    assert (np.diff(found.offsets) == len(answer)).all()
    assert (found.ids.reshape(-1, len(answer)) == found.ids[: len(answer)]).all()


def test_one_sided_ranges_have_few_entries_each() -> None:
    """Not one for each segment: "price > x" a hundred thousand times."""
    rng = np.random.default_rng(6)
    n = 20_000
    lo = np.where(np.arange(n) % 2, -np.inf, rng.uniform(0, 1e6, n))
    hi = np.where(np.arange(n) % 2, rng.uniform(0, 1e6, n), np.inf)
    for kind in ("ui", "sci", "lci", "cei"):
        tuning: dict[str, Any] = {"unit": 4, "domain": (0, 1e6)}
        if kind != "ui":
            tuning["L"] = 4
        index = wl.index.build(kind, lo, hi, **tuning)
        assert index.nbytes < 50e6
        points = rng.uniform(-10, 1e6, 20)
        expected = [int(((lo <= x) & (x < hi)).sum()) for x in points]
        assert np.diff(index.stab(points).offsets).tolist() == expected


def test_more_hits_than_expected_and_more_boxes_than_a_block() -> None:
    n = 3 * scan.BLOCK + 1
    index = wl.index.build("scan", np.zeros((n, 2)), np.arange(1, n + 1)[:, None] * [1.0, 2.0])
    found = index.stab(np.array([[0.0, 0.0], [n - 0.5, 0.0], [n, 0.0], [100.0, 100.0]] * 400))
    assert np.diff(found.offsets)[:4].tolist() == [n, 1, 0, n - 100]
    assert found.ids[n] == n - 1


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY, ids=name)
def test_a_batch_whose_sample_misleads(case: Case) -> None:
    """Few rows match very much: the room guessed from a sample is not enough."""
    kind, dims, _ = case
    n = 3_000
    index = wl.index.build(kind, np.zeros((n, dims)), np.ones((n, dims)))
    points = np.full((5_000, dims), 7.0)
    points[[1_234, 1_235, 4_999]] = 0.5
    counts = np.diff(index.stab(points).offsets)
    assert counts[[1_234, 1_235, 4_999]].tolist() == [n, n, n]
    assert counts.sum() == 3 * n


@pytest.mark.parametrize("case", EVERY, ids=name)
def test_threads_give_the_same_answer(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, dims, _ = case
    index = wl.index.build(kind, *boxes_of(500, dims))
    points = np.random.default_rng(7).uniform(0, 1_000, (4_001, dims))
    alone = index.stab(points)
    monkeypatch.setattr(result, "ROWS_PER_THREAD", 700)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)
    together = index.stab(points)
    assert (together.offsets == alone.offsets).all()
    assert (together.ids == alone.ids).all()
    monkeypatch.setattr(threads, "ThreadPoolExecutor", None)
    with threads.one_thread():
        assert (index.stab(points).ids == alone.ids).all()


# --- memory


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY, ids=name)
def test_memory_returns(case: Case) -> None:
    kind, dims, _ = case
    lo, hi = boxes_of(20_000, dims)
    small = wl.index.build(kind, lo[:50], hi[:50]).nbytes
    index = wl.index.build(kind, lo, hi)
    index.remove(np.arange(50, 20_000))
    assert index.nbytes < 4 * small + 200_000
    assert listed(index.stab(lo[:50])) == listed(
        wl.index.build(kind, lo[:50], hi[:50]).stab(lo[:50])
    )


@pytest.mark.parametrize(
    ("kind", "L"), [("cei", 1), ("cei", 4), ("cei", 16), ("cei", 64), ("lci", 8)]
)
def test_storage_is_within_twice_the_papers_formula(kind: str, L: int) -> None:
    r, n, W = 65_536, 50_000, 200
    rng = np.random.default_rng(8)
    lo = rng.integers(0, r - W, n).astype(float)
    index = wl.index.build(kind, lo, lo + rng.integers(1, W + 1, n), L=L, unit=1, domain=(0, r))
    pieces = mean_pieces(kind, W, L).upper
    assert index.nbytes < 2 * storage(construct_counts(kind, r, L).defined, n, pieces)


# --- the papers' counts


def test_containment_encoded_intervals_by_enumeration() -> None:
    """Table 1 and Table 2, the labels, and that a decomposition is the smallest there is."""
    for L, W in ((1, 16), (2, 64), (4, 64), (8, 100), (16, 100), (32, 200)):
        r = 2 * L + W + (-W % L)
        lo, hi = (
            np.array(x, dtype=float)
            for x in zip(*[(p, p + w) for p in range(L) for w in range(1, W + 1)], strict=True)
        )
        index = wl.index.build("cei", lo, hi, L=L, unit=1, domain=(0, r - 1))
        assert isinstance(index, ContainmentEncodedIntervals)
        # One segment more than the paper, for values below the domain.
        assert index._count() == construct_counts("cei", r + L, L).defined
        assert index._lists.cut_entries == 0
        mean = index._lists.whole_entries / len(lo)
        bounds = mean_pieces("cei", W, L)
        assert bounds.lower - 1e-9 <= mean <= bounds.upper + 1e-9
        fewest = [smallest(int(a), int(b), L) for a, b in zip(lo, hi, strict=True)]
        assert mean == pytest.approx(np.mean(fewest))


def smallest(a: int, b: int, L: int) -> int:
    """The fewest aligned intervals of 1, 2, 4 … L that make [a, b), by trying all."""
    fewest = [0] + [0] * (b - a)
    for length in range(1, b - a + 1):
        start = b - length
        sizes = [s for s in (2**j for j in range(L.bit_length())) if start % s == 0 and s <= length]
        fewest[length] = 1 + min(fewest[length - s] for s in sizes)
    return fewest[b - a]


def test_logarithmic_and_unit_intervals_by_enumeration() -> None:
    for kind, L, W in (("lci", 4, 64), ("lci", 16, 100), ("sci", 8, 50), ("ui", 1, 50)):
        lo = np.zeros(W)
        hi = np.arange(1.0, W + 1)
        tuning = {} if kind == "ui" else {"L": L}
        index: Any = wl.index.build(kind, lo, hi, unit=1, domain=(0, 127), **tuning)
        mean = index._lists.whole_entries / W
        if kind == "sci":
            assert mean == np.mean([-(-w // L) for w in range(1, W + 1)])
        else:
            bounds = mean_pieces(kind, W, L)
            assert bounds.lower - 1e-9 <= mean <= bounds.upper + 1e-9
        counts = construct_counts(kind, 128 + L, L)
        # The anchors before the first cell, at which nothing begins, are ours.
        assert index._count() == counts.defined + (L - 1) * (counts.defined // (128 + L))
        if kind in ("sci", "lci"):
            assert len(index._around(index.shape.k, 1)) == counts.covering


def test_containment_encoded_squares_by_enumeration() -> None:
    """The paper's example: (5, 2, 8, 12) takes 36 squares at L = 4, and 96 unit cells."""
    box = [[5.0, 2.0]], [[13.0, 14.0]]
    for kind, tuning, entries in (("ces", {"L": 4}, 36), ("ugc", {}, 96), ("vcs", {"L": 4}, 6)):
        index: Any = wl.index.build(kind, *box, unit=1, domain=(0, 15), **tuning)
        assert index._lists.whole_entries == entries, kind
        assert index._lists.cut_entries == 0
    for L in (1, 2, 4, 8):
        squares = wl.index.build("ces", *box, L=L, unit=1, domain=(0, 15))
        assert isinstance(squares, ContainmentEncodedSquares)
        assert squares._count() == construct_counts("ces", 16 + L, L).defined
    assert construct_counts("vcs", 16, 4).covering == 21
    assert construct_counts("cells", 16, 4) == (16, 1)


def test_morton_order_of_the_papers_example() -> None:
    assert morton(2, 3) == 0b1110
    assert morton(1, 1) == 0b11
    assert sorted(morton(x, y) for x in range(8) for y in range(8)) == list(range(64))


def test_formulas_refuse_lengths_that_are_no_powers_of_two() -> None:
    with pytest.raises(ValueError, match="power of two"):
        construct_counts("cei", 16, 3)


# --- tuning


def test_explain_shows_the_tuning_and_its_cost() -> None:
    index = wl.index.build("cei", *boxes_of(10_000, 1))
    for word in ("cei: 10,000 boxes", "cells of equal width", "L = ", "ns a row", "MiB"):
        assert word in index.explain()
    skewed = 10.0 ** np.random.default_rng(1).uniform(-9, 9, 20_000)
    assert "bounded by borders" in wl.index.build("cei", skewed, skewed * 1.001).explain()


def test_auto_chooses_and_chooses_again() -> None:
    index = empty("auto", 1, {})
    assert index.kind == "scan"
    lo, hi = boxes_of(5_000, 1)
    index.insert(np.arange(5_000), lo, hi)
    assert index.kind == "cei"
    assert "among: scan about" in index.explain()
    index.remove(np.arange(4_990))
    assert index.kind == "scan"
    assert wl.index.build("auto", *boxes_of(5_000, 2)).kind == "ces"
    assert wl.index.build("auto", *boxes_of(5_000, 3)).kind == "spatialjoin"
    assert wl.index.build("auto", *boxes_of(100, 3)).kind == "scan"


def test_outliers_do_not_spoil_the_cells() -> None:
    lo, hi = boxes_of(20_000, 1)
    far = np.array([[1e300], [-1e300], [1e9]])
    index: Any = wl.index.build(
        "cei", np.concatenate([lo, far]), np.concatenate([hi, far * 1.5 + 1e301])
    )
    assert index.shape.estimate.compared < 50


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "dims"), [("cei", 1), ("ces", 2), ("lci", 1)])
def test_borders_that_wander_off_are_followed(kind: str, dims: int) -> None:
    """Their number stays the same: each step drops the oldest and adds some further out."""
    rng = np.random.default_rng(9)
    index: Any = empty(kind, dims, {})
    held: Held = {}
    for step in range(60):
        lo = rng.uniform(100 * step, 100 * step + 300, (400, dims))
        hi = lo + rng.uniform(0.1, 3, (400, dims))
        ids = np.arange(400 * step, 400 * (step + 1))
        index.insert(ids, lo, hi)
        held |= {int(i): (tuple(a), tuple(b)) for i, a, b in zip(ids, lo, hi, strict=True)}
        if step >= 5:
            index.remove(ids - 2_000)
            for i in ids - 2_000:
                del held[int(i)]
    assert listed(index.stab(lo[:20])) == brute(held, lo[:20])
    assert index._lists.longest(np.arange(len(index._lists))) < 1_600


# --- parts


@pytest.mark.slow
def test_lists_hold_what_was_put_into_them() -> None:
    """Against dictionaries, through appends and removals of entries and cuts, of both widths."""
    rng = np.random.default_rng(0)
    for id_type, dims in ((np.int32, 1), (np.int64, 1), (np.int32, 2)):
        boxes, lists = BoxTable(dims), PostingLists(20, id_type, dims)
        slots = boxes.add(
            np.arange(5_000), rng.random((5_000, dims)), 1 + rng.random((5_000, dims))
        )
        wholes: dict[int, set[int]] = {c: set() for c in range(20)}
        cuts: dict[int, set[int]] = {c: set() for c in range(20)}
        for _ in range(300):
            owners = rng.choice(slots, rng.integers(1, 60), replace=False)
            c = int(rng.integers(0, 20))
            if rng.random() < 0.6:
                new = [s for s in owners if s not in wholes[c] and s not in cuts[c]]
                half = len(new) // 2
                lists.append(pieces(c, new[:half], new[half:]), boxes, lambda: 20)
                wholes[c] |= set(new[:half])
                cuts[c] |= set(new[half:])
            else:
                gone = [s for s in wholes[c] if rng.random() < 0.5]
                gone_cuts = [s for s in cuts[c] if rng.random() < 0.5]
                lists.remove(pieces(c, gone, gone_cuts), boxes)
                wholes[c] -= set(gone)
                cuts[c] -= set(gone_cuts)
            assert contents(lists, boxes, c) == (wholes[c], cuts[c])
        assert lists.whole_entries == sum(map(len, wholes.values()))
        assert lists.cut_entries == sum(map(len, cuts.values()))
        assert lists.store.runs[CLASSES] < len(lists.store.words)


def pieces(c: int, wholes: list[int], cuts: list[int]) -> Pieces:
    return Pieces(
        np.full(len(wholes), c, dtype=np.int64),
        np.array(wholes, dtype=np.int32),
        np.full(len(cuts), c, dtype=np.int64),
        np.array(cuts, dtype=np.int32),
    )


def contents(lists: PostingLists, boxes: BoxTable, c: int) -> tuple[set[int], set[int]]:
    store = lists.store
    start, wholes, cuts = _list(store, c)
    first = first_cut(start, wholes, cuts, store.cut) if cuts else 0
    size = len(store.words) // len(store.doubles)
    found = set()
    for place in range(first, first + cuts * store.cut, store.cut):
        if store.cut == 1:
            found.add(int(store.words[place]))
            continue
        slot = int(boxes.find(np.array([store.words[place + 2 * size]], dtype=np.int64))[0])
        assert store.doubles[place // size] == boxes.lo[slot, 0]
        assert store.doubles[place // size + 1] == boxes.hi[slot, 0]
        found.add(slot)
    ids = store.words[start : start + wholes].astype(np.int64)
    return {int(s) for s in boxes.find(ids)}, found


def test_capacities_differ_by_capacities() -> None:
    for words in range(1, 5_000):
        capacity = _capacity(words)
        assert words <= capacity <= max(words + words // 2, 2)
        if capacity > 1:
            smaller = _next_smaller(capacity)
            assert smaller < words
            assert _capacity(capacity - smaller) == capacity - smaller


def test_the_table_finds_ids_of_any_sign_and_size() -> None:
    rng = np.random.default_rng(2)
    table = BoxTable(1)
    known: dict[int, int] = {}
    for _ in range(200):
        ids = np.unique(rng.integers(-(2**62), 2**62, 30) >> rng.integers(0, 60, 30))
        ids = np.array([i for i in ids if int(i) not in known], dtype=np.int64)
        slots = table.add(ids, ids[:, None].astype(float), ids[:, None] + 1e300)
        known |= dict(zip(ids.tolist(), slots.tolist(), strict=True))
        gone = rng.choice(list(known), len(known) // 3, replace=False)
        table.free(table.find(gone))
        for i in gone:
            del known[int(i)]
        assert table.find(np.array(list(known))).tolist() == list(known.values())
        assert (table.find(gone) == -1).all()
        assert len(table) == len(known)
    table.compact()
    assert sorted(table.find(np.array(list(known))).tolist()) == list(range(len(known)))


# --- lenient: what a box does not bound is not looked at


def test_a_lenient_scan_does_not_look_where_a_box_has_no_bound() -> None:
    inf, nan = math.inf, math.nan
    lo = [[0, -inf, -inf], [-inf, -inf, -inf], [0, 5, -1.7976931348623157e308]]
    hi = [[2, inf, 3], [inf, inf, inf], [inf, inf, inf]]
    points = [[1, 7, 2], [1, nan, 2], [1, inf, -inf], [nan, 7, 2], [1, 7, nan], [nan, nan, nan]]
    lenient = wl.index.build("scan", lo, hi, lenient=True)
    assert listed(lenient.stab(points)) == [[0, 1, 2], [0, 1], [1], [1], [1], [1]]
    strict = wl.index.build("scan", lo, hi)
    assert listed(strict.stab(points)) == [[0, 1, 2], [], [], [], [], []]
    lenient.remove([1])
    lenient.insert([9], [[-inf, -inf, 2]], [[inf, inf, inf]])
    assert listed(lenient.stab(points)) == [[0, 2, 9], [0, 9], [], [9], [], []]


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_estimate_of_boxes_is_that_of_an_index_that_holds_them(case: Case) -> None:
    kind, dims, tuning = case
    lo, hi = boxes_of(500, dims)
    index = wl.index.build(kind, lo, hi, **tuning)
    assert index.nanoseconds > 0
    assert index.estimate(lo, hi) == index.nanoseconds
    assert index.estimate(np.repeat(lo, 8, axis=0), np.repeat(hi, 8, axis=0)) > index.nanoseconds
