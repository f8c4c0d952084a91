"""Crossings replay to the truth, whatever the floats and whatever comes and goes between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.test_properties import bound, boxes
from tests.support.crossings import World, interleave
from tests.support.effort import examples, seeds
from tests.support.unjitted import as_plain_python
from watchline.borders import AUTO, STABS, WALK, BorderIndex, build_borders
from watchline.borders.papers.diff import DiffRmq
from watchline.borders.runs import rank

WAYS = {"auto": AUTO, "walk": WALK, "stabs": STABS}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dims", [1, 2, 3])
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_any_floats(way: str, dims: int, data: st.DataObject) -> None:
    world, border = World(dims), BorderIndex(dims, steps=WAYS[way])
    number = 0
    for _ in range(data.draw(st.integers(1, 4))):
        new = data.draw(st.lists(boxes(dims), max_size=8))
        world.insert(border, dict(enumerate(new, number)))
        number += len(new)
        borders = [b for box in world.held.values() for side in box for b in side]
        near = st.sampled_from([b for b in borders if math.isfinite(b)] or [0.0])
        value = near | near.map(lambda b: math.nextafter(b, -math.inf)) | bound | st.just(math.nan)
        points = np.array(data.draw(st.lists(st.tuples(*[value] * dims), max_size=8)))
        points = points.reshape(-1, dims)
        streams = data.draw(st.lists(st.integers(0, 2), min_size=len(points), max_size=len(points)))
        world.advance(border, np.array(streams, dtype=np.int64), points)
        gone = data.draw(st.lists(st.sampled_from(sorted(world.held) or [0]), unique=True))
        world.remove(border, [query for query in gone if query in world.held])
        gone = data.draw(st.lists(st.sampled_from(sorted(world.values) or [0]), unique=True))
        world.forget(border, [stream for stream in gone if stream in world.values])


CASES: list[Any] = [
    *[(f"{way}-{d}", lambda d=d, way=way: BorderIndex(d, steps=WAYS[way]), d)
      for way in WAYS for d in (1, 2, 3)],
    ("cei", lambda: DiffRmq("cei"), 1),
    ("islist", lambda: DiffRmq("islist"), 1),
    ("ces", lambda: DiffRmq("ces", 2), 2),
]  # fmt: skip


@pytest.mark.parametrize(("make", "dims"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
@pytest.mark.parametrize("seed", seeds(range(3)))
def test_long_interleavings(make: Any, dims: int, seed: int) -> None:
    interleave(make(), dims, np.random.default_rng(seed), 60, 40)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(bound, bound), max_size=40), st.lists(bound, max_size=20))
def test_a_rank_counts_the_keys_up_to_a_value(
    pairs: list[tuple[float, float]], values: list[float]
) -> None:
    sides = [(min(p), max(p)) for p in pairs if p[0] != p[1]]
    lo, hi = (np.array([side[i] for side in sides]).reshape(-1, 1) + 0.0 for i in (0, 1))
    borders = build_borders(lo, hi, np.arange(len(sides)))
    keys = np.sort(np.concatenate([lo, hi]).reshape(-1))
    assert (borders.keys[: len(keys)] == keys).all()
    for value in [*values, *keys.tolist(), math.inf]:
        assert rank(borders, 0, value) == (keys <= value).sum()


@pytest.mark.slow
def test_kernels_as_plain_python() -> None:
    """The same interleavings with nothing compiled."""
    assert len(as_plain_python("border")) == len(WAYS) * 2
