"""Values are found by a hash table over their column."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from watchline.rows import ValueIndex

NUMBERS: list[Any] = [0, -1, 2**63 - 1, -(2**63), 7, 1 << 32]
TEXTS: list[Any] = ["", "a", "b", "ab", "ba", "🚕", "a\0", "\0"]


@pytest.mark.parametrize(("kind", "values"), [(pa.int64(), NUMBERS), (pa.string(), TEXTS)])
@pytest.mark.parametrize("seed", range(20))
def test_places_of_values(kind: pa.DataType, values: list[Any], seed: int) -> None:
    chance = random.Random(seed)
    known = chance.sample(values, chance.randint(0, len(values)))
    wanted = [chance.choice([*values, None]) for _ in range(20)]
    # A slice: what stands before and after it does not count.
    index = ValueIndex(pa.array([*known, *values], kind).slice(0, len(known)))
    found = index.find(pa.array([values[0], *wanted], kind).slice(1))
    assert found.tolist() == [known.index(v) if v in known else -1 for v in wanted]
    assert len(index) == len(known)


def test_many_texts() -> None:
    names = [f"query {i}" for i in range(50_000)]
    index = ValueIndex(pa.array(names))
    assert index.find(pa.array(names)).tolist() == list(range(50_000))
    assert index.find(pa.array(["query", "query 50000"])).tolist() == [-1, -1]
