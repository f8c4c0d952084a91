"""On Earth, where only significant objects are kept or a bound holds: caches are metres wide, and
what is kept follows from distances on Earth."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import reference, reference_earth
from tests.support.effort import seeds
from tests.support.scripts import Script
from tests.tracking.retention.test_properties import PARTS, Kept, in_order
from tests.tracking.retention.test_shedding_properties import Bounded
from tests.tracking.test_moving_on_earth import (
    CutOnEarth,
    OnEarth,
    TooClose,
    crowd,
    ours,
    play,
    play_crowd,
    scripts,
)

# In metres a microsecond.
SPEEDS = [None, 20.0, 300.0]


class KeptOnEarth(Kept):
    def _ledger(self, spec: reference.StreamSpec) -> reference.Ledger:
        known: Any = super()._ledger(spec)
        self.earth = reference_earth.Earth()
        return reference.Significant(spec, known.part, known.travel, self.earth)


class Retained(KeptOnEarth, OnEarth):
    def __init__(self, kind: str, timeout: int | None, part: float, speed: float | None):
        self.keep(part, speed)
        super().__init__(kind, timeout)


class RetainedCut(KeptOnEarth, CutOnEarth):
    def __init__(self, script: Script, chance: random.Random, part: float, speed: float | None):
        self.keep(part, speed)
        super().__init__(script[0], script[1], chance)


class BoundedOnEarth(Bounded):
    geometry = " AS GEOGRAPHY"

    def __init__(self, *parts: Any):
        super().__init__(*parts)
        self.earth = reference_earth.Earth()
        self.truth = reference.Ledger(self.ledger.stream, self.earth)

    def check(self) -> None:
        if self.earth.close:
            raise TooClose
        super().check()


@ours
@given(
    scripts(14, 6),
    st.sets(st.integers(0, 14), max_size=3),
    st.sampled_from(PARTS),
    st.sampled_from(SPEEDS),
)
def test_changes_equal_the_oracle(
    script: Script, restored: set[int], part: float, speed: float | None
) -> None:
    kind, timeout, events = script
    both = Retained(kind, timeout, part, speed)
    for step, event in enumerate(events):
        if step in restored:
            both.through_bytes()
        play(both, [event])
    reference.replay(both.events)


@pytest.mark.slow
@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("seed", seeds(range(4)))
def test_changes_of_a_crowd_equal_the_oracle(seed: int, part: float, speed: float | None) -> None:
    kind, timeout, events = crowd(seed)
    play_crowd(Retained(kind, timeout, part, speed), events, seed % 9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(100, 106)))
def test_cuts_of_a_crowd_change_nothing(seed: int) -> None:
    script = in_order(crowd(seed))
    cut = RetainedCut(script, random.Random(seed), PARTS[seed % 4], SPEEDS[seed % 3])
    play_crowd(cut, script[2])


@pytest.mark.parametrize("sheds", ["OBJECTS", "QUERIES"])
@pytest.mark.parametrize("seed", seeds(range(6)))
def test_a_bound_keeps_answers_within_the_truth(seed: int, sheds: str) -> None:
    kind, timeout, events = in_order(crowd(seed))
    bound = f"MAX OBJECTS {4 + seed % 3} SHED {sheds}"
    both = BoundedOnEarth(kind, timeout, PARTS[seed % 4], SPEEDS[seed % 3], bound)
    with suppress(TooClose):
        for step, event in enumerate(events):
            if step % 9 == seed % 9:
                both.through_bytes()
            both.play(*event)
    [stats] = both._stats()
    assert stats["shed"] > 0 or sheds == "QUERIES"
