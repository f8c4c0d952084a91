"""Labels order objects as their ids do, whatever comes and goes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from watchline.proximity import labels as module
from watchline.proximity.labels import Labels

names = st.text(st.sampled_from(["a", "b", "ä", "\ue000", "\U00010000"]), max_size=6)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.lists(names, min_size=1, max_size=8, unique=True), max_size=12), st.booleans())
def test_labels_of_strings_are_in_the_order_of_their_bytes(
    batches: list[list[str]], narrow: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # With few labels there are soon no gaps left.
        patch.setattr(module, "RANGE", 512 if narrow else 1 << 62)
        held, given_ = Labels(pa.string()), np.zeros(256, np.int64)
        slots: dict[str, int] = {}
        for batch in batches:
            for name in batch:
                slots.setdefault(name, len(slots))
            places = np.array([slots[name] for name in batch], np.int32)
            held.give(pa.array(batch), places, given_)
            ordered = sorted(slots, key=str.encode)
            found = [given_[slots[name]] for name in ordered]
            assert found == sorted(set(found))


def test_an_integer_is_its_own_label() -> None:
    held, given_ = Labels(pa.int64()), np.zeros(3, np.int64)
    ids = pa.array([2**63 - 1, -(2**63), 7])
    assert not held.give(ids, np.array([2, 0, 1], np.int32), given_)
    assert given_.tolist() == [-(2**63), 7, 2**63 - 1]


def test_ids_that_are_gone_are_forgotten_and_their_slots_given_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEPT", 0)
    held, given_ = Labels(pa.string()), np.zeros(4, np.int64)
    living = np.zeros(4, np.bool_)
    for i in range(50):
        held.give(pa.array([f"{i:02d}", "x"]), np.array([i % 3, 3], np.int32), given_)
        living[:] = [k == i % 3 for k in range(3)] + [True]
        held.forget(given_, living)
        assert len(held._ids) <= 4
        assert given_[i % 3] < given_[3]
