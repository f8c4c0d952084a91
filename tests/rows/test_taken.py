"""Few values and rows are gathered without Arrow, and they are what Arrow gives."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from watchline.rows import MANY, slot_columns, taken, taken_rows

VALUES: dict[Any, list[Any]] = {
    pa.float64(): [0.0, -0.0, 1.5, float("nan"), float("inf")],
    pa.int64(): [0, -(2**63), 2**63 - 1],
    pa.string(): ["", "a", "ä", "🚕", "a\0b", "x" * 300],
    pa.timestamp("us", "UTC"): [datetime(2026, 1, 1), datetime(1960, 1, 1)],
    pa.timestamp("ns"): [datetime(2026, 1, 1)],
    pa.bool_(): [True, False],
    pa.int32(): [1, -1],
    pa.large_string(): ["", "b"],
    pa.list_(pa.int64()): [[1], []],
    pa.dictionary(pa.int64(), pa.string()): ["a", "b"],
}


@pytest.mark.parametrize("kind", list(VALUES), ids=str)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_taken_is_what_arrow_takes(kind: pa.DataType, data: st.DataObject) -> None:
    values = st.sampled_from(VALUES[kind])
    if data.draw(st.booleans()):
        values = st.none() | values
    array = pa.array(data.draw(st.lists(values, max_size=8)), kind)
    # A part of a larger array has an offset.
    array = array[data.draw(st.integers(0, len(array))) :]
    places = data.draw(st.lists(st.integers(0, len(array) - 1), max_size=9)) if len(array) else []
    found = taken(array, np.array(places, np.int64))
    found.validate(full=True)
    assert found.type == kind
    wanted = array.take(pa.array(places, pa.int64()))
    assert repr(found.to_pylist()) == repr(wanted.to_pylist())


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_taken_rows_are_what_arrow_takes(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 3))
    columns = []
    for kind, values in VALUES.items():
        drawn = st.lists(st.none() | st.sampled_from(values), min_size=count, max_size=count)
        columns.append(pa.array(data.draw(drawn), kind))
    rows = pa.RecordBatch.from_arrays(columns, [str(kind) for kind in VALUES])
    # A part of a larger batch has an offset.
    rows = rows.slice(data.draw(st.integers(0, count - 1)))
    places = data.draw(st.lists(st.integers(0, rows.num_rows - 1), max_size=40))
    found = taken_rows(rows, np.array(places, np.int64))
    found.validate(full=True)
    assert found.schema == rows.schema
    wanted = rows.take(pa.array(places, pa.int64()))
    assert repr(found.to_pylist()) == repr(wanted.to_pylist())


def test_a_row_is_not_repeated_beyond_what_offsets_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow would make wrong offsets of it, and say nothing."""
    monkeypatch.setattr(slot_columns, "MOST_BYTES", 1_000)
    rows = pa.RecordBatch.from_pydict({"a": ["x" * 300], "n": [1]})

    def refused(*_: Any) -> None:
        raise AssertionError("the row was repeated")

    monkeypatch.setattr(slot_columns.pa, "repeat", refused)
    assert taken_rows(rows, np.zeros(9, np.int64)).to_pylist() == rows.to_pylist() * 9
    with pytest.raises(AssertionError, match="repeated"):
        taken_rows(rows.select(["n"]), np.zeros(9, np.int64))


def test_many_values_are_taken_too() -> None:
    places = np.arange(MANY + 1) % 3
    found = taken(pa.array(["a", "b", "c"]), places)
    assert found.to_pylist() == [("a", "b", "c")[i] for i in places]
