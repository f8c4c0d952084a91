"""Every index gives the answers of brute force, whatever the numbers and whatever came and went."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import watchline as wl
from tests.support.effort import examples, seeds
from tests.support.indexes import CASES, NUMBERS, Held, brute, empty, interleave, listed, name
from tests.support.unjitted import as_plain_python
from watchline.index.cells import begins_cell, cell_of, cells_of, edged_axis, equal_axis, span_of

finite = st.sampled_from(NUMBERS) | st.floats(allow_nan=False, allow_infinity=False)
bound = finite | st.sampled_from([math.inf, -math.inf])


@st.composite
def boxes(draw: st.DrawFn, dims: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    sides = []
    for _ in range(dims):
        a, b = sorted((draw(bound), draw(bound)))
        sides.append((a, b) if a < b else (-math.inf, math.inf))
    lo, hi = zip(*sides, strict=True)
    return lo, hi


@pytest.mark.parametrize("case", CASES, ids=name)
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_any_floats(case: tuple[str, int, dict[str, Any]], data: st.DataObject) -> None:
    kind, dims, tuning = case
    held: Held = dict(enumerate(data.draw(st.lists(boxes(dims), max_size=12))))
    index = wl.index.build(
        kind,
        np.array([lo for lo, _ in held.values()]).reshape(-1, dims),
        np.array([hi for _, hi in held.values()]).reshape(-1, dims),
        **tuning,
    )
    borders = [b for box in held.values() for side in box for b in side if math.isfinite(b)]
    near = st.sampled_from(borders or [0.0])
    value = near | near.map(lambda b: math.nextafter(b, -math.inf)) | bound | st.just(math.nan)
    points = np.array(data.draw(st.lists(st.tuples(*[value] * dims), max_size=12)))
    points = points.reshape(-1, dims)
    expected = brute(held, points)
    assert listed(index.stab(points)) == expected
    # Also as a batch: a few rows may be searched in another way.
    assert listed(index.stab(np.tile(points, (3, 1)))) == 3 * expected


@pytest.mark.parametrize("case", CASES, ids=name)
@pytest.mark.parametrize("seed", seeds(range(3)))
def test_long_interleavings(case: tuple[str, int, dict[str, Any]], seed: int) -> None:
    index, held = empty(*case), Held()
    rng = np.random.default_rng(seed)
    interleave(index, case[1], rng, 60, 40, held)
    index.remove(sorted(held))
    held.clear()
    interleave(index, case[1], rng, 10, 300, held)


@pytest.mark.parametrize(
    "kind", ["ui", "lci", "cei", "islist", "auto", "ibs", "counting", "twophase"]
)
def test_growth_from_nothing_to_thousands_and_back(kind: str) -> None:
    """Tuning is chosen again on the way, more than once, for numbers that wander off."""
    rng = np.random.default_rng(4)
    index, held = empty(kind, 1, {}), Held()
    for step in range(40):
        lo = rng.normal(10.0 ** (step / 8), 1, 300)
        hi = lo + rng.exponential(0.5, 300) + 1e-9
        ids = np.arange(300 * step, 300 * (step + 1))
        index.insert(ids, lo, hi)
        held |= {int(i): ((a,), (b,)) for i, a, b in zip(ids, lo, hi, strict=True)}
        points = np.concatenate([lo[:5], hi[:5], rng.normal(10.0 ** (step / 8), 1, 5)])
        assert listed(index.stab(points)) == brute(held, points.reshape(-1, 1))
    for gone in np.array_split(rng.permutation(12_000), 20)[:-1]:
        index.remove(gone)
        for i in gone:
            del held[int(i)]
        points = np.array([lo[0] for lo, _ in list(held.values())[:10]]).reshape(-1, 1)
        assert listed(index.stab(points)) == brute(held, points)


@pytest.mark.slow
def test_kernels_as_plain_python() -> None:
    """The same interleavings with nothing compiled."""
    assert len(as_plain_python()) == len(CASES)


axes = st.one_of(
    st.builds(
        equal_axis,
        finite,
        st.sampled_from([1e-300, 1e-20, 0.1, 1.0, 3.0, 1e20, 1e300]),
        st.integers(1, 1_000),
    ),
    st.lists(finite, min_size=1, max_size=30).map(
        lambda e: edged_axis(np.unique(np.array(e) + 0.0))
    ),
)


@settings(max_examples=examples(300), deadline=None)
@given(axes, st.lists(bound, min_size=1, max_size=50))
def test_cells_never_decrease(axis: Any, values: list[float]) -> None:
    cells = cells_of(axis, np.sort(np.array(values)))
    assert (np.diff(cells) >= 0).all()
    assert (cells >= 0).all()
    assert (cells < axis.cells).all()


@settings(max_examples=examples(300), deadline=None)
@given(axes, bound, bound, st.lists(finite, max_size=30))
def test_a_span_tells_which_cells_need_no_comparison(
    axis: Any, a: float, b: float, values: list[float]
) -> None:
    lo, hi = min(a, b), max(a, b)
    if not lo < hi:
        return
    span = span_of(axis, lo, hi)
    near = [math.nextafter(x, d) for x in (lo, hi) for d in (-math.inf, math.inf)]
    for x in [*values, lo, hi, *near]:
        if not math.isfinite(x):
            continue
        cell = cell_of(axis, x)
        inside = lo <= x < hi
        if span.first <= cell < span.end:
            assert inside
        elif inside:
            assert cell in (span.low, span.high)
    assert span.low != span.high or span.low == -1
    assert begins_cell(axis, -math.inf) is False
