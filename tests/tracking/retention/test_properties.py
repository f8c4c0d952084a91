"""Where only significant objects are kept: the tracker's changes are those of an oracle that keeps
the same objects, however the rows are cut, whatever is restored."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import reference
from tests.support.effort import examples, seeds
from tests.support.scripts import Played, Script
from tests.tracking.test_moving_properties import Cut, crowd, ours, scripts

PARTS = [0.0, 0.25, 0.5, 1.0]
# Of a microsecond: a few cells of the lattice in a time-out.
SPEEDS = [None, 0.05, 0.25]


class Kept:
    """How much is kept, for any player."""

    part: float
    speed: float | None

    def keep(self, part: float, speed: float | None) -> None:
        self.part, self.speed = part, speed
        top = "" if speed is None else f" MAX SPEED {speed * 1_000_000!r}"
        self.clauses = f"{top} RETAIN SIGNIFICANT CACHE {part!r}"

    def _ledger(self, spec: reference.StreamSpec) -> reference.Ledger:
        travel = None
        if self.speed is not None and spec.timeout is not None:
            travel = 2 * (self.speed * 1_000_000) * spec.timeout / 1_000_000
        return reference.Significant(spec, self.part, travel)


class Retained(Kept, Played):
    def __init__(self, kind: str, timeout: int | None, part: float, speed: float | None):
        self.keep(part, speed)
        super().__init__(kind, timeout)


class RetainedCut(Kept, Cut):
    def __init__(self, script: Script, chance: random.Random, part: float, speed: float | None):
        self.keep(part, speed)
        super().__init__(script[0], script[1], chance)


def in_order(script: Script) -> Script:
    """Without rows that are late: nobody knows how late they are once their objects are let go."""
    kind, timeout, events = script
    made = [
        ("rows", [(row, None if step is None else max(step, 0)) for row, step in event[1]])
        if event[0] == "rows"
        else event
        for event in events
    ]
    return kind, timeout, made


parts, speeds = st.sampled_from(PARTS), st.sampled_from(SPEEDS)


@ours
@given(scripts(14, 6), st.sets(st.integers(0, 14), max_size=3), parts, speeds)
def test_changes_equal_the_oracle(
    script: Script, restored: set[int], part: float, speed: float | None
) -> None:
    kind, timeout, events = script
    both = Retained(kind, timeout, part, speed)
    for step, event in enumerate(events):
        if step in restored:
            both.through_bytes()
        both.play(*event)
    reference.replay(both.events)


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("seed", seeds(range(3)))
def test_changes_of_a_crowd_equal_the_oracle(seed: int, part: float, speed: float | None) -> None:
    kind, timeout, events = crowd(seed)
    both = Retained(kind, timeout, part, speed)
    for step, event in enumerate(events):
        if step % 9 == seed % 9:
            both.through_bytes()
        both.play(*event)
    reference.replay(both.events)


@settings(ours, max_examples=examples(60))
@given(scripts(6, 20), st.randoms(use_true_random=False), parts, speeds)
def test_cuts_change_nothing(
    script: Script, chance: random.Random, part: float, speed: float | None
) -> None:
    script = in_order(script)
    cut = RetainedCut(script, chance, part, speed)
    for event in script[2]:
        cut.play(*event)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(100, 106)))
def test_cuts_of_a_crowd_change_nothing(seed: int) -> None:
    script = in_order(crowd(seed))
    cut = RetainedCut(script, random.Random(seed), PARTS[seed % 4], SPEEDS[seed % 3])
    for event in script[2]:
        cut.play(*event)
