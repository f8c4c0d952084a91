"""Under a bound: events alternate, range answers are subsets of the truth, no query is less
accurate than it demands, and the bound holds unless the counters say so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference
from tests.support.effort import examples, seeds
from tests.support.ledgers import Told
from tests.support.scripts import FOREVER, Played, Row, Script, table
from tests.tracking.retention.test_properties import PARTS, SPEEDS, Kept, in_order
from tests.tracking.test_moving_properties import crowd, ours, scripts

# What queries of these names demand.
LEAST = {"a": 0.5, "b": 0.9, "c": 1.0, "f": 0.3}


class Bounded(Kept, Played):
    """A tracker with a bound, beside the truth and what a tracker without a bound would say."""

    def __init__(
        self, kind: str, timeout: int | None, part: float, speed: float | None, bound: str
    ):
        self.keep(part, speed)
        self.clauses += f" {bound}"
        super().__init__(kind, timeout)
        self.truth = reference.Ledger(self.ledger.stream)
        self.answers: dict[str, set[Any]] = {}
        self.ranked: set[str] = set()
        self.over = 0

    def more(self, name: str) -> str:
        return f" ACCURACY {LEAST[name]}" if name in LEAST else ""

    def register(self, name: str, where: Any, region: Any, life: Any, knn: Any = None) -> None:
        version = self.catalog.version
        super().register(name, where, region, life, knn)
        if self.catalog.version > version:
            spec = self.ledger.registered[name]
            self.truth.version([name] if name in self.truth.registered else [], [spec])
            self.ranked.discard(name)
            if knn:
                self.ranked.add(name)
            self.check()

    def drop(self, name: str) -> None:
        if name in self.truth.registered:
            self.truth.drop(name)
        super().drop(name)

    def process(self, rows: list[Row]) -> None:
        self.truth.process(rows)
        super().process(rows)
        self.check()

    def _compare(self, changes: list[reference.Change], found: list[list[Told]]) -> None:
        for query, sign, who, *_ in found[0]:
            answer = self.answers.setdefault(query, set())
            assert (who in answer) == (sign < 0), "events alternate"
            if sign > 0:
                answer.add(who)
            else:
                answer.discard(who)

    def check(self) -> None:
        [stats] = self._stats()
        for query, answer in self.answers.items():
            if query not in self.ranked:
                assert answer <= self.truth.answers.get(query, set())
        assert stats["answers"] == sum(map(len, self.answers.values()))
        [tracker] = self.trackers
        accuracies = tracker.accuracies()
        assert 0 <= stats["accuracy"] <= 1
        if not stats["shadow"] and "SHED OBJECTS" in self.clauses:
            assert not accuracies
        for name, accuracy in accuracies.items():
            assert accuracy < 1 or name in self.ranked

    def demands(self) -> None:
        """After rows: what queries have of the answers of a tracker without a bound is what they
        demand, and what is said of them."""
        [tracker] = self.trackers
        accuracies = tracker.accuracies()
        for name, wanted in self.ledger.answers.items():
            mine = len(self.answers.get(name, set()) & wanted)
            assert mine >= LEAST.get(name, 0) * len(wanted), name
            assert accuracies.get(name, 1.0) == (mine / len(wanted) if wanted else 1.0)
        whole = sum(map(len, self.ledger.answers.values()))
        there = sum(map(len, self.answers.values()))
        assert tracker.stats()["accuracy"] == (there / whole if whole else 1.0)

    def bounded(self, bound: int) -> None:
        [stats] = self._stats()
        assert stats["objects"] <= bound or stats["over_limit"] > self.over
        self.over = stats["over_limit"]


def play(player: Bounded, event: tuple[Any, ...], bound: int | None) -> None:
    player.play(*event)
    if event[0] == "rows" and bound is not None:
        player.bounded(bound)


parts, speeds = st.sampled_from(PARTS), st.sampled_from(SPEEDS)


@settings(ours, max_examples=examples(120))
@given(
    scripts(14, 6).map(in_order), st.sets(st.integers(0, 14), max_size=2), parts, speeds,
    st.sampled_from([1, 2, 3]), st.sampled_from(["OBJECTS", "QUERIES"]),
)  # fmt: skip
def test_a_bound_on_objects(
    script: Script, restored: set[int], part: float, speed: float | None, bound: int, what: str
) -> None:
    kind, timeout, events = script
    player = Bounded(kind, timeout, part, speed, f"MAX OBJECTS {bound} SHED {what}")
    for step, event in enumerate(events):
        if step in restored:
            player.through_bytes()
        play(player, event, bound)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["OBJECTS", "QUERIES"])
@pytest.mark.parametrize("bound", [1, 4, 9, 15])
@pytest.mark.parametrize("seed", seeds(range(4)))
def test_a_bound_on_the_objects_of_a_crowd(seed: int, bound: int, what: str) -> None:
    kind, timeout, events = in_order(crowd(seed))
    player = Bounded(kind, timeout, 1.0, SPEEDS[seed % 3], f"MAX OBJECTS {bound} SHED {what}")
    for event in events:
        play(player, event, bound)
    assert player.trackers[0].stats()["shed"] > 0 or bound > 9 or what == "QUERIES"


# --- how much is told


class Counted(Bounded):
    """A tracker with a bound beside one that keeps all objects; no query ranks, and none demands an
    accuracy, which may take more changes than there are."""

    def __init__(self, kind: str, timeout: int | None, part: float, speed: float | None, most: int):
        super().__init__(kind, timeout, part, speed, f"MAX OBJECTS {most} SHED OBJECTS")
        self.exact = wl.Tracker(self.catalog, "rows", retain="all")
        self.has_focals = False

    def more(self, name: str) -> str:
        return ""

    def register(self, name: str, where: Any, region: Any, lifetime: Any, knn: Any = None) -> None:
        self.has_focals |= region is not None and region[0] in ("mbox", "mcircle")
        super().register(name, where, region, lifetime)

    def _rows(self, rows: list[Row]) -> list[list[Told]]:
        self.exact.process(table(rows, self.kind))
        return super()._rows(rows)

    def _versions(self) -> list[list[Told]]:
        self.exact.advance_to(self.catalog.version)
        return super()._versions()

    def check(self) -> None:
        super().check()
        [tracker] = self.trackers
        told, exact = tracker.stats()["changes"], self.exact.stats()["changes"]
        # What was spared is there, and what it takes to take all shadows back.
        given_up = tracker._retention.given_up
        assert told + given_up.spared + int(given_up.shadows.answers.clip(0).sum()) <= exact
        # Only a focal object, which cannot be refused, may force a known object out without that.
        assert told <= exact or (given_up.spared < 0 and self.has_focals)


@settings(ours, max_examples=examples(120))
@given(
    scripts(14, 8).map(in_order), st.sets(st.integers(0, 14), max_size=2), parts, speeds,
    st.sampled_from([1, 2, 3]),
)  # fmt: skip
def test_no_more_is_told_than_the_exact_run_tells(
    script: Script, restored: set[int], part: float, speed: float | None, bound: int
) -> None:
    kind, timeout, events = script
    player = Counted(kind, timeout, part, speed, bound)
    for step, event in enumerate(events):
        if step in restored:
            player.through_bytes()
        play(player, event, bound)


def test_a_shadow_spares_nothing_by_a_query_that_reads_more_than_it_has() -> None:
    """Of object 3 the shadow has no `c`, which the new query reads: 3 is in its answer all the
    time, but nobody can tell. That 3 left the old answer would be worth two changes."""
    player = Counted("BIGINT", None, 0.5, 0.05, 2)
    row = {"d": 2.0, "e": -1.0, "n": 5, "m": 2, "s": "", "u": "a", "b": None, "c": False, "tt": 1}
    rows = [row | {"id": 3, "c": True}, row | {"id": 1, "n": -1}, row | {"id": 2}]
    either = ("or", ("cmp", "<", ("attr", "n"), ("const", 0)),
              ("cmp", "=", ("attr", "c"), ("const", True)))  # fmt: skip
    play(player, ("query", "e", ("true",), None, (None, None), None), 2)
    play(player, ("rows", [(each, 0) for each in rows]), 2)
    [tracker] = player.trackers
    given_up = tracker._retention.given_up
    assert given_up.shadows.answers.tolist() == [1]
    play(player, ("query", "e", either, None, (None, None), None), 2)
    assert given_up.shadows.answers.tolist() == [-1]
    assert given_up.spared == 0
    # The report decides: its whole row is counted again.
    play(player, ("rows", [(each, 1) for each in rows]), 2)
    assert (given_up.shadows.answers >= 0).all()


@pytest.mark.parametrize("bound", [1, 4, 9])
@pytest.mark.parametrize("seed", seeds(range(4)))
def test_no_more_is_told_of_a_crowd(seed: int, bound: int) -> None:
    kind, timeout, events = in_order(crowd(seed, knn=False))
    player = Counted(kind, timeout, 1.0, SPEEDS[seed % 3], bound)
    for event in events:
        play(player, event, bound)
    assert player.trackers[0].stats()["shed"] > 0


@pytest.mark.parametrize("seed", seeds(range(6)))
def test_where_nothing_moves_nothing_is_told(seed: int) -> None:
    """Ranges, moving ranges and nearest neighbours: the same rows once more, and again."""
    kind, _, events = in_order(crowd(seed))
    player = Bounded(kind, None, 1.0, SPEEDS[seed % 3], "MAX OBJECTS 6 SHED OBJECTS")
    for event in events:
        play(player, event, 6)
    latest = {row["id"]: row for row in player.truth.latest.values()}
    [tracker] = player.trackers
    for again in range(4):
        player.now += 1
        rows = [{**row, "ts": player.now} for row in latest.values()]
        before = tracker.stats()["changes"]
        player.process(rows)
        # At first some come that were let go, and focal objects start their queries.
        if again > 1:
            assert tracker.stats()["changes"] == before


# --- demands


@pytest.mark.parametrize("what", ["OBJECTS", "QUERIES"])
@pytest.mark.parametrize("bound", [1, 3, 8])
@pytest.mark.parametrize("seed", seeds(range(6)))
def test_no_query_is_less_accurate_than_it_demands(seed: int, bound: int, what: str) -> None:
    """All queries are there before the first row, so that nothing is unknown to them."""
    kind, _, events = in_order(crowd(seed, knn=False))
    first = [event for event in events if event[0] == "query" and event[3] is not None]
    rows = [event for event in events if event[0] == "rows"] * 3
    player = Bounded(kind, None, 1.0, None, f"MAX OBJECTS {bound} SHED {what}")
    for event in first:
        if event[3][0] in ("box", "circle"):
            player.play(*event)
    player.play("query", "a", ("true",), ("box", -1.0, 0.0, 1.0, 2.0), FOREVER)
    player.play("query", "b", ("true",), ("circle", 1.0, 1.0, 1.0), FOREVER)
    player.play("query", "c", ("true",), ("box", 0.3, 0.3, 3.0, 1.0), FOREVER)
    for event in rows:
        play(player, event, bound)
        player.demands()
    assert player.trackers[0].stats()["shed"] > 0
