"""How much a run of the tests tries: `make quick` tries less, `make soak` more."""

from __future__ import annotations

import os

FACTOR = float(os.environ.get("WATCHLINE_EFFORT", "1"))


def examples(number: int) -> int:
    """How many examples Hypothesis tries where `make test` tries this many."""
    return max(1, round(number * FACTOR))
