"""How much a run of the tests tries.

`make test` tries a quarter of the examples that are written at a test, since each run tries others;
`make quick` a twentieth, and `make soak` many times as many.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

FACTOR = float(os.environ.get("WATCHLINE_EFFORT", "1"))


def examples(number: int) -> int:
    """How many examples Hypothesis tries where a test is written for this many."""
    return max(1, round(number * FACTOR))


def seeds(numbers: Sequence[int], quick: int = 1) -> list[Any]:
    """Parameters of a test that is run with each of these seeds; `make quick` tries so many of the
    first ones."""
    others = (pytest.param(seed, marks=pytest.mark.slow) for seed in numbers[quick:])
    return [*numbers[:quick], *others]
