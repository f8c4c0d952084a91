"""The index protocol and the linear scan: answers, refusals, and kernels run uncompiled too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import watchline as wl
from watchline.index import scan
from watchline.index.base import Matches

number = st.sampled_from([0.0, -0.0, 5e-324, 1.0, 1.5, 2.0, -1.0, 1e308, -1e308]) | st.floats(
    allow_nan=False, allow_infinity=False
)
bound = number | st.sampled_from([math.inf, -math.inf])
value = bound | st.just(math.nan)


@st.composite
def boxes(draw: st.DrawFn, dims: int) -> tuple[list[float], list[float]]:
    lo, hi = [], []
    for _ in range(dims):
        a, b = draw(bound), draw(bound)
        a, b = min(a, b), max(a, b)
        lo.append(a if a < b else -math.inf)
        hi.append(b if a < b else math.inf)
    return lo, hi


def brute(held: dict[int, Any], points: list[tuple[float, ...]]) -> list[list[int]]:
    return [
        sorted(
            i
            for i, (lo, hi) in held.items()
            if all(math.isfinite(x) for x in p)
            and all(a <= x < b for a, x, b in zip(lo, p, hi, strict=True))
        )
        for p in points
    ]


def listed(found: Matches) -> list[list[int]]:
    o = found.offsets
    return [sorted(found.ids[o[i] : o[i + 1]].tolist()) for i in range(len(o) - 1)]


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 4))
def test_scan_equals_brute_force_through_inserts_and_removes(data: Any, dims: int) -> None:
    held: dict[int, Any] = {}
    index = wl.index.build("scan", np.empty((0, dims)), np.empty((0, dims)))
    for step in range(data.draw(st.integers(1, 5))):
        new = data.draw(st.lists(boxes(dims), max_size=5))
        ids = [10 * step + i for i in range(len(new))]
        if new:
            index.insert(ids, [lo for lo, _ in new], [hi for _, hi in new])
        held |= dict(zip(ids, new, strict=True))
        gone = data.draw(st.lists(st.sampled_from(sorted(held)), unique=True)) if held else []
        index.remove(np.array(gone, dtype=np.int64))
        for i in gone:
            del held[i]
        points = data.draw(st.lists(st.tuples(*[value] * dims), max_size=6))
        assert listed(index.stab(np.array(points).reshape(-1, dims))) == brute(held, points)
        assert len(index) == len(held)


def test_one_dimension_takes_flat_arrays() -> None:
    index = wl.index.build("scan", [0, 1, 2], [2, 3, 4], ids=[7, 8, 2**40])
    found = index.stab([0.0, 1.0, 2.0, 3.999, 4.0, math.nan])
    assert listed(found) == [[7], [7, 8], [8, 2**40], [2**40], [], []]
    assert found.ids.dtype == np.int64
    assert found.rows().tolist() == [0, 1, 1, 2, 2, 3]
    assert wl.index.build("scan", [0], [1]).stab([0.5]).ids.dtype == np.int32
    assert index.nbytes > 3 * 8 * 3
    assert index.kind == "scan"


def test_refused_calls_change_nothing() -> None:
    index = wl.index.build("scan", [0.0, 1.0], [2.0, 3.0])
    refused: list[tuple[type[Exception], Any]] = [
        (wl.DuplicateQuery, lambda: index.insert([5, 1], [0, 0], [1, 1])),
        (wl.DuplicateQuery, lambda: index.insert([5, 5], [0, 0], [1, 1])),
        (wl.UnknownQuery, lambda: index.remove([0, 9])),
        (wl.InvalidRange, lambda: index.insert([5, 6], [0, 1], [1, 1])),
        (wl.InvalidRange, lambda: index.insert([5], [math.nan], [1])),
        (wl.InvalidRange, lambda: index.insert([5], [0, 1], [1, 2])),
        (wl.InvalidRange, lambda: index.insert([5], [[0, 1]], [[1, 2]])),
        (wl.InvalidRange, lambda: index.stab([[1.0, 2.0]])),
        (wl.InvalidRange, lambda: index.stab(["x"])),
        (wl.InvalidQuery, lambda: index.insert([1.5], [0], [1])),
        (wl.InvalidQuery, lambda: wl.index.build("tree", [0], [1])),
        (wl.InvalidQuery, lambda: wl.index.build("scan", [0], [1], depth=3)),
    ]
    for error, call in refused:
        with pytest.raises(error):
            call()
    assert len(index) == 2
    assert listed(index.stab([1.5])) == [[0, 1]]


def test_kernels_run_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_narrow", "_finite", "_grown"):
        monkeypatch.setattr(scan, name, getattr(scan, name).py_func)
    lo, hi = np.array([[0.0, 1.0]]), np.array([[2.0, 3.0]])
    points = np.array([[1.5], [math.nan], [2.5]])
    starts, ends = np.zeros(3, np.int64), np.full(3, 2)
    offsets, ids = scan.scan_runs.py_func(lo, hi, points, starts, ends, np.array([5, 6]))
    assert offsets.tolist() == [0, 2, 2, 3]
    assert ids.tolist() == [5, 6, 6]


def test_more_hits_than_expected_and_more_boxes_than_a_block() -> None:
    n = 3 * scan.BLOCK + 1
    index = wl.index.build("scan", np.zeros((n, 2)), np.arange(1, n + 1)[:, None] * [1.0, 2.0])
    found = index.stab(np.array([[0.0, 0.0], [n - 0.5, 0.0], [n, 0.0], [100.0, 100.0]] * 400))
    assert np.diff(found.offsets)[:4].tolist() == [n, 1, 0, n - 100]
    assert found.ids[n] == n - 1
