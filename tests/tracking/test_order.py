"""Orders that are found in a faster way are the same orders."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from watchline.rows.acceptance import stable_order
from watchline.tracking.batch import _Changes, _in_order

EXTREME = st.integers(-(2**63), 2**63 - 1)
MOMENTS = st.one_of(st.integers(0, 5), EXTREME)
CHANGES = st.tuples(MOMENTS, st.integers(0, 2), st.integers(0, 3), st.sampled_from([-1, 1]))


@given(st.lists(MOMENTS, max_size=30))
def test_a_stable_order(numbers: list[int]) -> None:
    keys = np.array(numbers, np.int64)
    assert stable_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()


@given(st.lists(CHANGES, max_size=40))
def test_changes_by_time_kind_place_and_sign(changes: list[tuple[int, int, int, int]]) -> None:
    when, kind, place, sign = np.array(changes, np.int64).reshape(-1, 4).T
    nothing = np.empty(0, np.int64)
    signs = sign.astype(np.int8)
    found = _Changes(nothing, pa.nulls(0), signs, nothing, nothing, when, kind, place)
    order = _in_order(found).tolist()
    assert sorted(order) == list(range(len(changes)))
    assert [changes[i] for i in order] == sorted(changes)
