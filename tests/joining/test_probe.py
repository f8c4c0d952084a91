"""Parts of the join engine that whole joiners do not reach."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numba as nb
import numpy as np
import pytest

import watchline as wl
from tests.support.unjitted import as_plain_python
from tests.support.window_joins import STREAMS, digest, many, told
from watchline.joining import BitsDirection, Life, probe
from watchline.joining.plan import JoinPlan, JoinQuery
from watchline.kernels import simd


@pytest.mark.slow
def test_members_that_need_too_many_bits_are_probed_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = wl.Catalog.of([*STREAMS, *many(500)])
    whole = told(wl.Joiner(catalog, ["r", "s"]))
    monkeypatch.setattr(probe, "MOST_BYTES", 8 * 60)
    assert told(wl.Joiner(catalog, ["r", "s"])) == whole
    assert set(whole.values()) == {1}
    assert len(whole) > 1_000


def test_directions_that_stay_as_they_are_are_not_made_again() -> None:
    catalog = wl.Catalog.of([*STREAMS, *many(6)])
    asked = [
        JoinQuery.of(i, entry.query) for i, entry in enumerate(catalog.queries().entries.values())
    ]
    made = []

    def build(direction: Any) -> BitsDirection:
        made.append(direction)
        return BitsDirection(direction)

    first = JoinPlan(asked, [Life()] * 6, build)
    assert len(made) == 4
    # One query less: its two directions change, the two of other shape do not.
    JoinPlan(asked[1:], [Life()] * 5, build, first)
    assert len(made) == 6


def test_numbers_of_queries_that_are_gone_are_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watchline.joining.joiner.SPARE", 2)
    catalog = wl.Catalog.of(STREAMS)
    joiner = wl.Joiner(catalog, ["r", "s"])
    for text in many(40):
        catalog.execute(text.replace("QUERY", "OR REPLACE QUERY").replace(text.split()[2], "only"))
        joiner.advance_to(catalog.version)
        joiner.process({})
    fresh = wl.Joiner(catalog, ["r", "s"])
    assert told(joiner) == told(fresh) != Counter()
    assert joiner.stats()["queries"] == 1


def test_kernels_as_plain_python_tell_the_same() -> None:
    assert as_plain_python("windows") == [digest()]


@nb.njit
def _picked(source: Any, of: int, bits: Any) -> Any:
    target = np.full(3 * simd.BLOCK, -1, np.int32)
    simd.pick_block(target, np.uint64(5), source, np.uint64(of), np.uint64(bits))
    return target


def test_elements_whose_bits_are_set_are_moved_together() -> None:
    rng = np.random.default_rng(1)
    source = rng.integers(0, 1_000, 64).astype(np.int32)
    for bits in [0, 1, 0x8000, 0xFFFF, *rng.integers(0, 1 << 16, 200).tolist()]:
        of = int(rng.integers(0, 48))
        wanted = [int(source[of + i]) for i in range(16) if bits >> i & 1]
        compiled, plain = _picked(source, of, bits), _picked.py_func(source, of, bits)
        for found in (compiled, plain):
            assert found[5 : 5 + len(wanted)].tolist() == wanted
            assert (found[:5] == -1).all()
            assert (found[5 + simd.BLOCK :] == -1).all()
