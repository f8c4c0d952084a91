"""The tracker's changes are the oracle's after every row and version, however cut (I1, I2)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference
from tests.support.effort import examples
from tests.support.ledgers import ordered, same, told
from tests.support.scripts import (
    Played,
    Script,
    data_rows,
    few_doubles,
    is_good,
    lives,
    odd_doubles,
    table,
    wheres,
)
from tests.support.strategies import regions
from watchline.matching import limits
from watchline.tracking import ranges
from watchline.tracking.batch import TimeSpan

IDS: dict[str, list[Any]] = {"BIGINT": [1, 2, 3, -(2**63)], "STRING": ["", "a", "b", "🚕"]}


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Rows, registrations, drops."""
    kind = draw(st.sampled_from(["BIGINT", "STRING"]))
    timeout = draw(st.sampled_from([None, 2, 5]))
    row = data_rows(IDS[kind], few_doubles | odd_doubles)
    event = st.one_of(
        st.tuples(
            st.just("rows"),
            st.lists(st.tuples(row, st.integers(-3, 4) | st.none()), min_size=1, max_size=5),
        ),
        st.tuples(
            st.just("query"),
            st.sampled_from("abcde"),
            wheres,
            regions,
            lives,
        ),
        st.tuples(st.just("drop"), st.sampled_from("abcde")),
    )
    return kind, timeout, draw(st.lists(event, min_size=1, max_size=12))


def go(way: str, patch: pytest.MonkeyPatch) -> None:
    """Make one of the ways so cheap that every move goes it; there are grids in two dimensions."""
    patch.setattr(ranges, "RANK", 1e9 if way in ("as stabs", "as grids") else 0.0)
    patch.setattr(ranges, "MOVE", 0.0 if way == "as grids" else 1e9)
    for cost in ("ENTRY", "CHECKED", "BLOCK", "BUILD", "BUILD_GRID"):
        patch.setattr(ranges, cost, 0.0)


@pytest.fixture(params=["as scans", "as borders", "as stabs", "as grids"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few boxes are compared one by one; here they also have border lists, and indexes."""
    if request.param != "as scans":
        monkeypatch.setattr(limits, "MANY_WHOLE", 0)
        go(request.param, monkeypatch)


@pytest.mark.usefixtures("many")
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts(), st.integers(0, 12))
def test_changes_equal_the_oracle(script: Script, restored: int) -> None:
    kind, timeout, events = script
    both = Played(kind, timeout)
    for step, event in enumerate(events):
        if step == restored:
            both.through_bytes()
        both.play(*event)
    reference.replay(both.events)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_cuts_and_shards_change_nothing(script: Script, shards: int, chance: random.Random) -> None:
    """One ordered stream: row by row, in one batch, or dealt to shards that know the span."""
    kind, timeout, events = script
    both = Played(kind, timeout)
    rows: list[dict[str, Any]] = []
    for what, *parts in events:
        if what == "query":
            both.register(*parts)
        elif what == "rows":
            rows += both.rows(
                [(row, None if step is None else abs(step)) for row, step in parts[0]]
            )
    rows = ordered(rows, both.ledger.stream)
    whole = wl.Tracker(both.catalog, "rows")
    wanted = told(whole.process(table(rows, kind)))
    one = wl.Tracker(both.catalog, "rows")
    single = [c for row in rows for c in told(one.process(table([row], kind)))]
    same(single, wanted)
    trackers = [wl.Tracker(both.catalog, "rows") for _ in range(shards)]
    dealt: dict[Any, int] = {}
    pieces, place = [], 0
    while place < len(rows):
        size = chance.randint(1, 6)
        pieces.append(rows[place : place + size])
        place += size
    found = []
    used = trackers[0]._queries.shared.used()
    for piece in pieces:
        good = [r for r in piece if is_good(r, used)]
        span = TimeSpan(min(r["ts"] for r in good), max(r["ts"] for r in good)) if good else None
        for k, tracker in enumerate(trackers):
            mine = [r for r in good if dealt.setdefault(r["id"], chance.randrange(shards)) == k]
            found += told(tracker.process(table(mine, kind), span))
    same(found, wanted)


@pytest.mark.parametrize("kind", ["BIGINT", "STRING"])
def test_an_empty_batch_changes_nothing(kind: str) -> None:
    both = Played(kind, 5)
    both.catalog.execute("CREATE QUERY a AS SELECT * FROM rows EMIT CHANGES")
    both.follow(both.ledger.register(reference.QuerySpec("a")))
    both.process([])
    assert both.trackers[0].newest is None
