"""SPEED in conditions: changes are the oracle's after every event (I1, I2).

However rows are cut, in any number of shards, through snapshots and deltas, with queries that are
registered in the middle. Times are so many microseconds that few speeds are equal by accident, and
places so few that many are.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference, reference_earth
from tests.support import earth
from tests.support.effort import examples
from tests.support.scripts import Played, Script, data_rows
from tests.support.strategies import regions
from tests.tracking.test_moving_on_earth import CutOnEarth, TooClose
from tests.tracking.test_moving_properties import (
    IDS,
    LIVES,
    PLACES,
    STEPS,
    Cut,
    MergedShards,
    Resharded,
    moving_regions,
    nearest,
)
from tests.tracking.test_properties import go
from watchline.matching import limits
from watchline.tracking.queries import ChangeQueries
from watchline.tracking.saved import Saved

SPEED = ("attr", "SPEED")
# Places are 0.1 to 4 apart, and rows 1 to 4 microseconds.
SPEEDS = [0.0, 1e5, 2.5e5, 5e5, 1e6, 1e6, 2e6, 1e154, 1e300]


@st.composite
def speed_conditions(draw: st.DrawFn) -> tuple[Any, ...]:
    """One that reads SPEED, alone or with others."""
    limit = ("const", draw(st.sampled_from(SPEEDS)))
    op = draw(st.sampled_from([">", ">", ">=", "<", "<=", "<>", "="]))
    asked = draw(
        st.sampled_from(
            [
                *[("cmp", op, SPEED, limit)] * 6,
                ("not", ("cmp", op, SPEED, limit)),
                ("between", SPEED, ("const", 0.0), limit),
                ("isnull", SPEED),
                ("not", ("isnull", SPEED)),
                ("cmp", op, SPEED, ("attr", "d")),
                ("cmp", op, SPEED, ("attr", "m")),
            ]
        )
    )
    more = draw(
        st.sampled_from(
            [
                None,
                None,
                ("cmp", "=", ("attr", "s"), ("const", "a")),
                ("cmp", ">=", ("attr", "m"), ("const", 1)),
                ("between", ("attr", "e"), ("const", 0.0), ("const", 2.0)),
                ("isnull", ("attr", "b")),
            ]
        )
    )
    return asked if more is None else (draw(st.sampled_from(["and", "or"])), asked, more)


@st.composite
def scripts(draw: st.DrawFn, most: int, batch: int, nearby: bool = True) -> Script:
    """Rows, drops, and registrations of which most read SPEED."""
    kind = draw(st.sampled_from(["BIGINT", "STRING"]))
    timeout = draw(st.sampled_from([None, 2, 5]))
    ids = IDS[kind][:3]
    row = data_rows(ids * 3, st.sampled_from(PLACES))
    rows = st.tuples(
        st.just("rows"),
        st.lists(st.tuples(row, st.sampled_from(STEPS)), min_size=1, max_size=batch),
    )
    where = st.one_of(speed_conditions(), speed_conditions(), st.just(("true",)))
    around = st.none() | moving_regions(ids) if nearby else st.none()
    near = st.none() | nearest(ids) if nearby else st.none()
    query = st.tuples(
        st.just("query"),
        st.sampled_from("abcd"),
        where,
        st.none() | regions | around,
        st.sampled_from(LIVES),
        near,
    )
    drop = st.tuples(st.just("drop"), st.sampled_from("abcd"))
    first = draw(st.lists(rows, max_size=2))
    return (
        kind,
        timeout,
        first
        + draw(st.lists(st.one_of(rows, rows, query, drop), min_size=most // 2, max_size=most)),
    )


ours = settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))


class Saving(Played):
    """Its state is a snapshot and deltas, from which it now and then goes on."""

    def __init__(self, kind: str, timeout: int | None, chance: random.Random):
        super().__init__(kind, timeout)
        self.chance = chance
        self.state: list[bytes] = []

    def play(self, what: str, *parts: Any) -> None:
        super().play(what, *parts)
        [tracker] = self.trackers
        touched = tracker.touched()
        if not self.state or touched is None:
            self.state = [tracker.snapshot()]
        else:
            self.state.append(tracker.delta([touched]))
        if self.chance.random() < 0.3:
            identity = self.catalog.identity
            saved = Saved.of(self.state[0], identity, "rows", self.state[1:])
            queries = ChangeQueries(self.catalog, "rows", saved.head["version"])
            self.trackers = [wl.Tracker.resume(queries, saved)]
            self.state = []


@pytest.mark.parametrize("way", ["as scans", "as borders", "as stabs", "as grids"])
@ours
@given(scripts(14, 6, nearby=False), st.sets(st.integers(0, 14), max_size=3))
def test_changes_equal_the_oracle(way: str, script: Script, restored: set[int]) -> None:
    kind, timeout, events = script
    with pytest.MonkeyPatch.context() as patch:
        if way != "as scans":
            patch.setattr(limits, "MANY_WHOLE", 0)
            go(way, patch)
        both = Played(kind, timeout)
        for step, event in enumerate(events):
            if step in restored:
                both.through_bytes()
            both.play(*event)
    reference.replay(both.events)


@ours
@given(scripts(14, 6), st.randoms(use_true_random=False))
def test_states_have_speeds(script: Script, chance: random.Random) -> None:
    kind, timeout, events = script
    both = Saving(kind, timeout, chance)
    for event in events:
        both.play(*event)


@ours
@given(scripts(8, 16), st.randoms(use_true_random=False))
def test_cuts_change_nothing(script: Script, chance: random.Random) -> None:
    kind, timeout, events = script
    cut = Cut(kind, timeout, chance)
    for event in events:
        cut.play(*event)


@pytest.mark.parametrize("parts", [2, 5])
@settings(ours, max_examples=examples(60))
@given(scripts(12, 6), st.booleans())
def test_shards_change_nothing(parts: int, script: Script, generous: bool) -> None:
    kind, timeout, events = script
    shards = MergedShards(kind, timeout, parts, generous)
    for event in events:
        shards.play(*event)


@settings(ours, max_examples=examples(40))
@given(scripts(12, 6), st.booleans())
def test_another_number_of_shards_changes_nothing(script: Script, generous: bool) -> None:
    kind, timeout, events = script
    shards = Resharded(kind, timeout, 2, generous)
    for event in events:
        shards.play(*event)


# --- on Earth

LIMITS = [10.0, 1e3, 3e5, 1e7, 4e8, 5e9, 1e11, 3e12]


class SpeedsOnEarth(reference.Ledger):
    """Notes speeds so close to a limit that rounding may decide."""

    def _speed(self, object_id: Any, row: reference.Row) -> float | None:
        speed = super()._speed(object_id, row)
        if speed is not None and isinstance(self.geometry, reference_earth.Earth):
            near = (abs(speed - limit) <= 1e-6 * limit + 1e-2 for limit in LIMITS)
            self.geometry.close += any(near)
        return speed


class SpeedsCut(CutOnEarth):
    def _ledger(self, spec: reference.StreamSpec) -> reference.Ledger:
        self.earth = reference_earth.Earth()
        return SpeedsOnEarth(spec, self.earth)


@st.composite
def earthly(draw: st.DrawFn) -> Script:
    """Objects that jump between a few places; queries about their speeds, inside circles or not."""
    kind = draw(st.sampled_from(["BIGINT", "STRING"]))
    ids = IDS[kind][:3]
    spots = draw(st.lists(earth.places, min_size=2, max_size=6))
    row = st.builds(
        lambda row, place: {**row, "d": place[0], "e": place[1]},
        data_rows(ids, st.just(0.0)),
        st.sampled_from(spots),
    )
    rows = st.tuples(
        st.just("rows"),
        st.lists(st.tuples(row, st.sampled_from(STEPS)), min_size=1, max_size=8),
    )
    limit = st.tuples(st.just("const"), st.sampled_from(LIMITS))
    query = st.tuples(
        st.just("query"),
        st.sampled_from("abcd"),
        st.tuples(st.just("cmp"), st.sampled_from("><"), st.just(SPEED), limit)
        | st.tuples(st.just("between"), st.just(SPEED), st.just(("const", 10.0)), limit),
        st.none() | earth.circles() | earth.moving_regions(ids[0]),
        st.sampled_from(LIVES),
    )
    events = draw(st.lists(rows | query, min_size=4, max_size=10))
    return kind, draw(st.sampled_from([None, 2, 5])), [draw(query), *events]


@ours
@given(earthly(), st.randoms(use_true_random=False))
def test_speeds_on_earth(script: Script, chance: random.Random) -> None:
    kind, timeout, events = script
    cut = SpeedsCut(kind, timeout, chance)
    with suppress(TooClose):
        for event in events:
            cut.play(*event)
        return
    reject()
