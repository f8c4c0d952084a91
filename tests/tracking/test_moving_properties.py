"""Moving and nearest queries: the tracker's changes are the oracle's after every event (I1, I2).

However the rows are cut, whatever is restored, in any number of shards.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference
from tests.support.effort import examples, seeds
from tests.support.ledgers import Told, ordered, told
from tests.support.scripts import ARROW, Played, Row, Script, data_rows, is_good, simple, table
from tests.support.strategies import MAX, conditions, regions
from watchline.proximity.events import Events
from watchline.proximity.operator import Operator
from watchline.rows.acceptance import declared
from watchline.rows.sharding import shards_of
from watchline.tracking import WHOLE, MergedAnswers, Received
from watchline.tracking.batch import TimeSpan
from watchline.tracking.queries import ChangeQueries
from watchline.tracking.resharding import resharded
from watchline.tracking.saved import Saved

NAN, INF = float("nan"), float("inf")
# Distances tie, sums are inexact, squares overflow and underflow. Weights by repetition.
LATTICE = [-1.0, 0.0, -0.0, 0.1, 0.2, 0.1 + 0.2, 0.3, 0.5, 1.0, 1.0, 2.0, 2.0, 3.0]
EXTREME = [5e-324, -5e-324, 1e-170, 1.0 + 2**-52, 1e154, 1e300, -1e300, MAX, -MAX]
PLACES = [*LATTICE * 9, *EXTREME, None, NAN, INF]
CENTRES = [*LATTICE * 3, *EXTREME]
SIZES = [8.0, 8.0, 4.0, 4.0, 3.0, 2.0, 2.0, 1.0, 0.6, 0.2, 5e-324, 1e-170, 1e300, MAX]
COUNTS = [1, 1, 2, 2, 3, 5, 100]
STEPS = [0, 1, 0, 1, 0, 1, 0, 2, 0, 4, -1, -3, None]
LIVES = [(None, None)] * 6 + [(1, None), (4, None), (None, 2), (None, 6), (4, 5)]
WHAT = ["rows"] * 5 + ["query"] * 3 + ["drop"]

IDS: dict[str, list[Any]] = {
    # Some are one and the same as floats.
    "BIGINT": [1, 2, 3, 2**63 - 1, 2**63 - 2, -(2**63), 10],
    # The order of their bytes is not that of UTF-16.
    "STRING": ["", "a", "it's", "\ue000", "\U00010000", "é", "b"],
}
# Most focal objects are also members of other queries; one never reports.
NOBODY: dict[str, Any] = {"BIGINT": 99, "STRING": "nobody"}


def one_attribute(name: str, op: str, value: Any) -> tuple[Any, ...]:
    return ("cmp", op, ("attr", name), ("const", value))


# Types of every kind; several alternatives; two attributes; what is not there.
PLAIN: list[Any] = [
    one_attribute("n", ">=", 1),
    one_attribute("n", "=", 2**53 + 1),
    one_attribute("s", "=", "a"),
    one_attribute("s", "<>", ""),
    one_attribute("b", "=", True),
    ("isnull", ("attr", "s")),
    ("isnull", ("attr", "b")),
    ("or", one_attribute("s", "=", "a"), one_attribute("d", "<", 1.0)),
    ("or", one_attribute("n", "<", 0), one_attribute("c", "=", True)),
    ("cmp", "<", ("attr", "d"), ("attr", "e")),
    ("cmp", "<=", ("attr", "n"), ("attr", "d")),
    ("cmp", "=", ("attr", "s"), ("attr", "u")),
]


def forms(knn: bool) -> list[str]:
    return ["moving"] * 4 + ["static"] + (["kNN", "kNN", "moving kNN", "static kNN"] * knn)


def focals_of(kind: str) -> list[Any]:
    return [*IDS[kind][:3] * 3, *IDS[kind], NOBODY[kind]]


@st.composite
def moving_regions(draw: st.DrawFn, focals: list[Any]) -> tuple[Any, ...]:
    sizes = st.sampled_from(SIZES)
    focal = draw(st.sampled_from(focals))
    if draw(st.booleans()):
        return ("mbox", focal, draw(sizes), draw(sizes))
    return ("mcircle", focal, draw(sizes))


@st.composite
def nearest(draw: st.DrawFn, focals: list[Any]) -> tuple[Any, ...]:
    k, centres = draw(st.sampled_from(COUNTS)), st.sampled_from(CENTRES)
    if draw(st.booleans()):
        return ("knn", k, draw(centres), draw(centres))
    return ("mknn", k, draw(st.sampled_from(focals)))


@st.composite
def questions(draw: st.DrawFn, kind: str, knn: bool) -> tuple[Any, ...]:
    """A registration, or the replacement of what has this name by anything else."""
    form = draw(st.sampled_from(forms(knn)))
    where = ("true",)
    how = draw(st.sampled_from(["all"] * 6 + ["plain", "plain", "any"]))
    if how != "all":
        where = draw(st.sampled_from(PLAIN) if how == "plain" else simple | conditions())
    region = None
    if form.startswith("moving"):
        region = draw(moving_regions(focals_of(kind)))
    elif form.startswith("static"):
        region = draw(regions)
    near = draw(nearest(focals_of(kind))) if form.endswith("kNN") else None
    life = draw(st.sampled_from(LIVES))
    return ("query", draw(st.sampled_from("abcde")), where, region, life, near)


@st.composite
def scripts(draw: st.DrawFn, most: int, batch: int, knn: bool = True) -> Script:
    """At most so many events: batches of so many rows, registrations, drops."""
    kind = draw(st.sampled_from(["BIGINT", "STRING"]))
    timeout = draw(st.sampled_from([None, 2, 5]))
    ids = IDS[kind][: draw(st.sampled_from([3, 5, 7]))]
    row = data_rows(ids * 3, st.sampled_from(PLACES))
    rows = st.lists(st.tuples(row, st.sampled_from(STEPS)), min_size=1, max_size=batch)
    events: list[Any] = draw(st.lists(questions(kind, knn), min_size=1, max_size=3))
    for _ in range(draw(st.integers(most // 2, most))):
        what = draw(st.sampled_from(WHAT))
        if what == "rows":
            events.append(("rows", draw(rows)))
        elif what == "query":
            events.append(draw(questions(kind, knn)))
        else:
            events.append(("drop", draw(st.sampled_from("abcde"))))
    return kind, timeout, events


# --- crowds: many objects and queries that all meet, from a seed


def crowd(seed: int, knn: bool = True) -> Script:
    chance = random.Random(seed)
    kind = chance.choice(["BIGINT", "STRING"])
    ids = IDS[kind]
    if kind == "BIGINT":
        ids = [*ids, *range(2**53, 2**53 + 10)]
    else:
        ids = [*ids, *(first + second for first in "\ue000\U00010000" for second in "abcde")]
    events: list[Any] = []
    while len(events) < 50:
        what = "query" if len(events) < 10 else chance.choice(WHAT)
        if what == "rows":
            count = chance.choice([1, 2, 10, 30])
            events.append((what, [_crowded(chance, ids) for _ in range(count)]))
        elif what == "query":
            events.append(_asked(chance, kind, knn))
        else:
            events.append((what, chance.choice("abcdefghijkl")))
    return kind, chance.choice([None, 6, 20]), events


def _crowded(chance: random.Random, ids: list[Any]) -> tuple[Row, int | None]:
    d, e = (chance.choice([*LATTICE * 20, *EXTREME, NAN]) for _ in range(2))
    row = {
        "id": chance.choice(ids),
        "d": d,
        "e": e,
        "n": chance.choice([0, 1, 2, 2**53 + 1]),
        "m": 0,
        "s": chance.choice(["", "a", "b", None]),
        "u": "a",
        "b": chance.choice([True, False, None]),
        "c": chance.random() < 0.5,
        "tt": None,
    }
    return row, chance.choice([0] * 12 + [1, 1, 2, 5, -1, -4])


def _asked(chance: random.Random, kind: str, knn: bool) -> tuple[Any, ...]:
    form, focals = chance.choice(forms(knn)), focals_of(kind)
    region: Any = None
    if form.startswith("moving"):
        focal, width, height = chance.choice(focals), *chance.choices(SIZES, k=2)
        region = chance.choice([("mbox", focal, width, height), ("mcircle", focal, width)])
    elif form.startswith("static"):
        region = chance.choice([("box", -1.0, 0.0, 1.0, 2.0), ("circle", 1.0, 1.0, 1.0)])
    near: Any = None
    if form.endswith("kNN"):
        k, x, y = chance.choice(COUNTS), *chance.choices(CENTRES, k=2)
        near = chance.choice([("knn", k, x, y), ("mknn", k, chance.choice(focals))])
    where = chance.choice([("true",), ("true",), chance.choice(PLAIN)])
    life = chance.choice([(None, None)] * 4 + [(None, 60), (10, None)])
    return ("query", chance.choice("abcdefghijkl"), where, region, life, near)


# --- against the oracle

ours = settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))


@ours
@given(scripts(14, 6), st.sets(st.integers(0, 14), max_size=3))
def test_changes_equal_the_oracle(script: Script, restored: set[int]) -> None:
    """After every event; what is restored from its bytes goes on as if nothing had been."""
    kind, timeout, events = script
    both = Played(kind, timeout)
    for step, event in enumerate(events):
        if step in restored:
            both.through_bytes()
        both.play(*event)
    reference.replay(both.events)


@pytest.mark.parametrize("seed", seeds(range(20)))
def test_changes_of_a_crowd_equal_the_oracle(seed: int) -> None:
    kind, timeout, events = crowd(seed)
    both = Played(kind, timeout)
    for step, event in enumerate(events):
        if step % 9 == seed % 9:
            both.through_bytes()
        both.play(*event)
    reference.replay(both.events)
    assert len(both.events) > 100


def _cramped(operator: Operator, *_: Any) -> int:
    return len(operator._queries) // 16 + 8


@pytest.mark.parametrize("blocks", [Operator._blocks, _cramped])
@pytest.mark.parametrize("side", [0.03, 0.3])
@pytest.mark.parametrize("seed", seeds(range(4)))
def test_cells_of_any_size_change_nothing(
    seed: int, side: float, blocks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where queries are listed in larger cells, because they are large or there is no room."""
    monkeypatch.setattr(Operator, "_chosen_side", lambda *_: side)
    monkeypatch.setattr(Operator, "_blocks", blocks)
    levels = set()

    def noted(operator: Operator, events: Events) -> Any:
        told = run(operator, events)
        levels.update(operator._span[:, 4].tolist())
        return told

    run = Operator.run
    monkeypatch.setattr(Operator, "run", noted)
    test_changes_of_a_crowd_equal_the_oracle(seed)
    assert max(levels) >= (4 if blocks is _cramped else 1)


# --- cuts


class Cut(Played):
    """Three trackers: all rows of an event at once, one by one, and cut anywhere."""

    def __init__(self, kind: str, timeout: int | None, chance: random.Random):
        self.chance = chance
        super().__init__(kind, timeout)

    def _start(self) -> list[wl.Tracker]:
        return [wl.Tracker(self.catalog, "rows") for _ in range(3)]

    def process(self, rows: list[Row]) -> None:
        super().process(ordered(rows, self.ledger.stream))

    def _rows(self, rows: list[Row]) -> list[list[Told]]:
        ends = range(1, len(rows))
        anywhere = sorted(self.chance.sample(ends, self.chance.randint(0, len(ends))))
        return [
            [change for piece in pieces(rows, cuts) for change in self._piece(tracker, piece)]
            for tracker, cuts in zip(self.trackers, ([], list(ends), anywhere), strict=True)
        ]

    def _piece(self, tracker: wl.Tracker, rows: list[Row]) -> list[Told]:
        return told(tracker.process(table(rows, self.kind)))


def pieces(rows: list[Row], cuts: list[int]) -> list[list[Row]]:
    return [rows[start:end] for start, end in pairwise([0, *cuts, len(rows)])]


@settings(ours, max_examples=examples(60))
@given(scripts(6, 20), st.randoms(use_true_random=False))
def test_cuts_change_nothing(script: Script, chance: random.Random) -> None:
    kind, timeout, events = script
    cut = Cut(kind, timeout, chance)
    for event in events:
        cut.play(*event)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(100, 106)))
def test_cuts_of_a_crowd_change_nothing(seed: int) -> None:
    kind, timeout, events = crowd(seed)
    cut = Cut(kind, timeout, random.Random(seed))
    for event in events:
        cut.play(*event)
    assert len(cut.events) > 100


# --- shards


class Shards(Played):
    """As many trackers as shards: each has its objects, and sees the focal objects of all."""

    def __init__(self, kind: str, timeout: int | None, parts: int, generous: bool):
        self.parts, self.generous = parts, generous
        super().__init__(kind, timeout)

    def _start(self) -> list[wl.Tracker]:
        self.watcher = ChangeQueries(self.catalog, "rows")
        identity = self.catalog.identity
        return [
            wl.Tracker.over(self.watcher, identity, parts=self.parts) for _ in range(self.parts)
        ]

    def _rows(self, rows: list[Row]) -> list[list[Told]]:
        good = [row for row in rows if is_good(row, self.watcher.used())]
        span = TimeSpan(min(r["ts"] for r in good), max(r["ts"] for r in good)) if good else None
        owners = shards_of(pa.array([r["id"] for r in good], ARROW[self.kind]), self.parts)
        focals = set(self.watcher.focals().to_pylist())
        found = []
        for k, tracker in enumerate(self.trackers):
            mine = [row for row, owner in zip(good, owners, strict=True) if owner == k]
            # Rows of objects that no query moves with, or none any more, do no harm.
            foreign = [
                row
                for row, owner in zip(good, owners, strict=True)
                if owner != k and (self.generous or row["id"] in focals)
            ]
            # As the router sends them.
            theirs = declared(table(foreign, self.kind), self.watcher.stream)
            found += told(tracker.process(table(mine, self.kind), span, theirs))
        return [found + self._nearest()]

    def _versions(self) -> list[list[Told]]:
        found = [change for mine in super()._versions() for change in mine]
        return [found + self._nearest()]

    def _stats(self) -> list[dict[str, Any]]:
        each = super()._stats()
        names = ("late", "objects", "answers", "changes")
        return [{name: sum(stats[name] for stats in each) for name in names}]

    def _check(self, stats: dict[str, Any]) -> None:
        # What is rejected never comes to a shard.
        super()._check({**stats, "rejected": self.ledger.counters["rejected"]})

    def _nearest(self) -> list[Told]:
        """What the kNN queries did; there are none."""
        return []


@pytest.mark.parametrize("parts", [1, 2, 7])
@settings(ours, max_examples=examples(40))
@given(scripts(12, 6, knn=False), st.booleans())
def test_shards_change_nothing(parts: int, script: Script, generous: bool) -> None:
    """Moving ranges: what the shards tell together is what one tracker tells."""
    kind, timeout, events = script
    shards = Shards(kind, timeout, parts, generous)
    for event in events:
        shards.play(*event)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("seed", seeds(range(200, 206)))
def test_shards_of_a_crowd_change_nothing(seed: int, parts: int) -> None:
    kind, timeout, events = crowd(seed, knn=False)
    shards = Shards(kind, timeout, parts, generous=seed % 2 == 0)
    for event in events:
        shards.play(*event)
    assert len(shards.events) > 100


# --- shards with kNN: each knows the nearest of its own, and they are merged


class MergedShards(Shards):
    """Besides: the timelines of the kNN queries, merged after every event.

    Sometimes the merge goes on from its state, and a shard sends all its candidates.
    """

    def __init__(self, kind: str, timeout: int | None, parts: int, generous: bool) -> None:
        super().__init__(kind, timeout, parts, generous)
        self.draw = random.Random(len(self.trackers))
        self.begin_merge()

    def begin_merge(self) -> None:
        """A merge that knows nothing."""
        self.merged = MergedAnswers(len(self.trackers))
        self.state: list[bytes] = []
        # What each delta of the state touched.
        self.touches: list[list[pa.Array]] = []

    def _nearest(self) -> list[Told]:
        received = []
        for number, tracker in enumerate(self.trackers):
            before = WHOLE if tracker.sent.counts is None else tracker.sent.counts[0]
            timeline = tracker.timeline()
            if timeline is None:
                continue
            received.append(Received(number, before, timeline))
            if received[-1].is_counted:
                tracker.sent.counts = [max(before, 0) + 1]
            if self.draw.random() < 0.1:
                tracker.sent.counts = None
        if not received:
            return []
        stream = self.watcher.stream
        found = told_of(self.merged.merge(received, stream), stream.object)
        self._save()
        answers = self.ledger.answers.items()
        ranked = {spec.id for spec in self.ledger.queries.values() if spec.knn is not None}
        assert self.merged.answers == sum(len(who) for name, who in answers if name in ranked)
        return found

    def _save(self) -> None:
        """The state is a snapshot and deltas, and now and then read again."""
        touched = self.merged.touched()
        if len(self.state) in (0, 4):
            self.state, self.touches = [self.merged.snapshot()], []
        elif self.touches and self.draw.random() < 0.3:
            self.touches.append(touched)
            self.state[-1] = self.merged.delta(self.touches[-2:])
            self.touches[-2:] = [[ids for of in self.touches[-2:] for ids in of]]
        else:
            self.touches.append(touched)
            self.state.append(self.merged.delta([touched]))
        if self.draw.random() < 0.3:
            self.merged = MergedAnswers.resumed(len(self.trackers), self.state)
            self.merged.touched()

    def _check(self, stats: dict[str, Any]) -> None:
        # A shard counts its own candidates, of which not all are in the answer.
        assert stats["late"] == self.ledger.counters["late"]
        assert stats["objects"] == len(self.ledger.live)


class Resharded(MergedShards):
    """Shards whose number changes after every event."""

    numbers: ClassVar = [3, 1, 2, 7, 2, 4, 1]

    def play(self, what: str, *parts: Any) -> None:
        super().play(what, *parts)
        reshard(self, self.numbers[len(self.events) % len(self.numbers)])
        self.begin_merge()


def reshard(played: Shards, parts: int) -> None:
    """Go on with so many trackers."""
    identity, name = played.catalog.identity, played.watcher.stream.name
    states = [Saved.of(tracker.snapshot(), identity, name) for tracker in played.trackers]
    queries = ChangeQueries(played.catalog, name, played.trackers[0].version)
    blobs = resharded(states, queries, parts)
    played.parts = parts
    played.trackers = [
        wl.Tracker.resume(played.watcher, Saved.of(blob, identity, name), parts) for blob in blobs
    ]


def told_of(merged: Any, object_name: str) -> list[Told]:
    """Its changes as those of a tracker."""
    reasons = pytest.importorskip("watchline.reasons").REASONS
    shown = merged.rows.take(pa.array(merged.places))
    own = {
        "query_id": merged.queries,
        "sign": pa.array(merged.signs),
        "object_id": shown[object_name],
        "time": pa.array(merged.times).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
        "reason": pa.array([reasons[code] for code in merged.reasons.tolist()], pa.string()),
        "distance": pa.array(merged.distances, from_pandas=True),
    }
    return told(pa.table({**own, **{name: shown[name] for name in shown.column_names}}))


@pytest.mark.parametrize("parts", [2, 7])
@settings(ours, max_examples=examples(40))
@given(scripts(12, 6), st.booleans())
def test_merged_shards_change_nothing(parts: int, script: Script, generous: bool) -> None:
    pytest.importorskip("watchline.tracking.timeline.reader")
    kind, timeout, events = script
    shards = MergedShards(kind, timeout, parts, generous)
    for event in events:
        shards.play(*event)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, 7])
@pytest.mark.parametrize("seed", seeds(range(300, 306)))
def test_merged_shards_of_a_crowd_change_nothing(seed: int, parts: int) -> None:
    pytest.importorskip("watchline.tracking.timeline.reader")
    kind, timeout, events = crowd(seed)
    shards = MergedShards(kind, timeout, parts, generous=seed % 2 == 0)
    for event in events:
        shards.play(*event)
    assert len(shards.events) > 100


# Region and kNN clause: kinds with a centre and without, and centres that differ.
SUCCESSORS: dict[str, tuple[Any, Any]] = {
    "near": (None, ("knn", 2, 0.0, 0.0)),
    "near another place": (None, ("knn", 2, 3.0, 0.0)),
    "near a car": (None, ("mknn", 2, 1)),
    "circle": (("circle", 0.5, 0.0, 2.0), None),
    "circle of a car": (("mcircle", 1, 2.0), None),
    "box": (("box", -1.0, -1.0, 2.5, 2.5), None),
}


@pytest.mark.parametrize("new", SUCCESSORS)
@pytest.mark.parametrize("old", SUCCESSORS)
def test_what_a_replaced_query_loses_has_its_distance_in_shards(old: str, new: str) -> None:
    """Its distance is from the old centre, what enters has it from the new one."""
    shards = MergedShards("BIGINT", None, 2, generous=False)
    rest = dict.fromkeys("nm", 0) | dict.fromkeys(["s", "u", "b", "c", "tt"])
    cars = [{"id": i, "d": 0.7 * i - 1.0, "e": 0.0, **rest} for i in range(1, 8)]
    near = [{**car, "d": car["d"] - 1.0} for car in cars]
    far = [{**car, "d": car["d"] + 3.0} for car in cars]
    shards.play("query", "a", ("true",), *_region_and_life(old))
    shards.play("rows", [(car, 0) for car in cars])
    shards.play("rows", [(car, 1) for car in near])
    shards.play("query", "a", ("true",), *_region_and_life(new))
    shards.play("rows", [(car, 1) for car in [*near, *far]])
    shards.play("query", "a", ("true",), *_region_and_life(old))
    shards.play("drop", "a")
    assert {"enter", "exit"} <= {change.reason for change in shards.events}


def _region_and_life(name: str) -> tuple[Any, ...]:
    region, knn = SUCCESSORS[name]
    return region, (None, None), knn


@settings(ours, max_examples=examples(40))
@given(scripts(12, 6), st.booleans())
def test_another_number_of_shards_changes_nothing(script: Script, generous: bool) -> None:
    """Moving and kNN queries, lives and time-outs: each event meets another number of shards."""
    kind, timeout, events = script
    shards = Resharded(kind, timeout, 2, generous)
    for event in events:
        shards.play(*event)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(400, 406)))
def test_another_number_of_shards_changes_nothing_for_a_crowd(seed: int) -> None:
    kind, timeout, events = crowd(seed)
    shards = Resharded(kind, timeout, 2, generous=seed % 2 == 0)
    for event in events:
        shards.play(*event)
    assert len(shards.events) > 100


@pytest.mark.parametrize("seed", seeds(range(500, 504)))
def test_counters_of_other_shards_are_those_of_one(seed: int) -> None:
    """Without neighbours, whose answers the merge counts, the sums are those of one tracker."""
    kind, timeout, events = crowd(seed, knn=False)
    shards = Shards(kind, timeout, 2, generous=False)
    for number, event in enumerate(events):
        shards.play(*event)
        reshard(shards, 1 + number % 3)
