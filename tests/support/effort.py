"""How much a run of the tests tries.

`make test` tries a quarter of the examples that are written at a test, since each run tries others;
`make quick` a tenth, and `make soak` many times as many.
"""

from __future__ import annotations

import os

FACTOR = float(os.environ.get("WATCHLINE_EFFORT", "1"))


def examples(number: int) -> int:
    """How many examples Hypothesis tries where a test is written for this many."""
    return max(1, round(number * FACTOR))
