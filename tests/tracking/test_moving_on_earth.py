"""Moving and nearest queries on Earth: changes are those of the oracle, near poles, across the
antimeridian, at antipodes; however rows are cut, whatever is restored, in any number of shards.

Examples in which rounding may decide are thrown away, as the oracle tells.
"""

from __future__ import annotations

import math
import random
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import watchline as wl
from tests import reference, reference_earth
from tests.support import earth
from tests.support.effort import examples, seeds
from tests.support.ledgers import Told, expected
from tests.support.scripts import NAMES, Played, Row, Script, data_rows
from tests.tracking.test_moving_properties import (
    COUNTS,
    IDS,
    LIVES,
    PLAIN,
    STEPS,
    WHAT,
    Cut,
    MergedShards,
    Resharded,
    Shards,
    focals_of,
    forms,
)
from watchline.proximity.events import Events
from watchline.proximity.operator import Operator

NAN = math.nan


class TooClose(Exception):
    """Rounding may decide what comes next."""


class OnEarth(Played):
    """The stream is on Earth, and the oracle measures there."""

    geometry = " AS GEOGRAPHY"

    def _ledger(self, spec: reference.StreamSpec) -> reference.Ledger:
        self.earth = reference_earth.Earth()
        return reference.Ledger(spec, self.earth)

    def _compare(self, changes: list[reference.Change], found: list[list[Told]]) -> None:
        if self.earth.close:
            raise TooClose
        self.events += changes
        wanted = expected(changes, NAMES)
        for mine in found:
            alike(mine, wanted)
        for stats in self._stats():
            self._check(stats)


class CutOnEarth(OnEarth, Cut):
    def process(self, rows: list[Row]) -> None:
        # Rows of one moment are in the order of what is accepted of them.
        stream = self.ledger.stream
        super().process([self.earth.taken(row, stream) or row for row in rows])


class ShardsOnEarth(OnEarth, Shards):
    pass


class MergedOnEarth(OnEarth, MergedShards):
    pass


class ReshardedOnEarth(OnEarth, Resharded):
    pass


def alike(found: list[Told], wanted: list[Told]) -> None:
    """The same changes, whose distances are equal but for rounding."""
    found, wanted = (sorted(changes, key=repr_without_distance) for changes in (found, wanted))
    keys = [[repr_without_distance(change)[0] for change in side] for side in (found, wanted)]
    assert keys[0] == keys[1]
    for mine, theirs in zip(found, wanted, strict=True):
        is_far(mine[-1][0], theirs[-1][0])


def repr_without_distance(change: Told) -> tuple[str, float]:
    *key, (distance, *row) = change
    return repr((key, row)), -1.0 if distance is None else distance


def is_far(found: float | None, wanted: float | None) -> None:
    if wanted is None or found is None:
        assert found is wanted
        return
    # Next to the antipodes a change of the chord in its last bit is one of centimetres.
    slack = 1.0 if wanted > 1.99e7 else 1e-6 + 1e-9 * wanted
    assert abs(found - wanted) <= slack


# --- scripts: few places, at which several objects meet


@st.composite
def questions(draw: st.DrawFn, kind: str, spots: list[Any], knn: bool) -> tuple[Any, ...]:
    form = draw(st.sampled_from(forms(knn)))
    where = draw(st.sampled_from([("true",)] * 6 + PLAIN))
    region = near = None
    focals = st.sampled_from(focals_of(kind))
    if form.startswith("moving"):
        region = draw(earth.moving_regions(draw(focals)))
    elif form.startswith("static"):
        region = draw(earth.boxes() | earth.circles())
    if form.endswith("kNN"):
        k = draw(st.sampled_from(COUNTS))
        if draw(st.booleans()):
            lon, lat = draw(st.sampled_from(spots) | earth.places)
            near = ("knn", k, lon, lat)
        else:
            near = ("mknn", k, draw(focals))
    life = draw(st.sampled_from(LIVES))
    return ("query", draw(st.sampled_from("abcde")), where, region, life, near)


@st.composite
def scripts(draw: st.DrawFn, most: int, batch: int, knn: bool = True) -> Script:
    kind = draw(st.sampled_from(["BIGINT", "STRING"]))
    timeout = draw(st.sampled_from([None, 2, 5]))
    ids = IDS[kind][: draw(st.sampled_from([3, 5, 7]))]
    spots = draw(st.lists(earth.places, min_size=2, max_size=8))
    row = placed_rows(ids, [*spots * 8, (spots[0][0] + 360.0, spots[0][1]), (NAN, 1.0)])
    rows = st.lists(st.tuples(row, st.sampled_from(STEPS)), min_size=1, max_size=batch)
    asked = questions(kind, spots, knn)
    events: list[Any] = draw(st.lists(asked, min_size=1, max_size=3))
    for _ in range(draw(st.integers(most // 2, most))):
        what = draw(st.sampled_from(WHAT))
        if what == "rows":
            events.append(("rows", draw(rows)))
        else:
            events.append(draw(asked) if what == "query" else ("drop", draw(st.sampled_from("ab"))))
    return kind, timeout, events


def placed_rows(ids: list[Any], spots: list[Any]) -> st.SearchStrategy[Row]:
    row = data_rows(ids * 3, st.just(0.0))
    return st.builds(lambda r, at: {**r, "d": at[0], "e": at[1]}, row, st.sampled_from(spots))


# --- crowds: many objects and queries around one place, from a seed

MIDDLES = [(-122.4, 37.8), (180.0, -16.5), (-180.0, 0.0), (10.0, 89.9997), (33.0, -89.9999)]


def crowd(seed: int, knn: bool = True) -> Script:
    """Within two kilometres of a place, or all over the Earth."""
    chance = random.Random(seed)
    kind = chance.choice(["BIGINT", "STRING"])
    ids = [*IDS[kind], *([f"x{i}" for i in range(20)] if kind == "STRING" else range(20, 40))]
    middle = MIDDLES[seed % len(MIDDLES)]
    is_wide = seed % 3 == 0
    reach = 1e7 if is_wide else 1e3

    def place() -> tuple[float, float]:
        if is_wide:
            return chance.uniform(-180, 180), math.degrees(math.asin(chance.uniform(-1, 1)))
        return earth.beside(middle, chance.uniform(-reach, reach), chance.uniform(-reach, reach))

    spots = [place() for _ in range(25)]
    spots += [earth.antipode(spots[0]), (chance.uniform(-180, 180), 90.0)]

    def row() -> tuple[Row, int | None]:
        lon, lat = chance.choice(spots) if chance.random() < 0.5 else place()
        more = {"n": chance.choice([0, 1, 2]), "m": 0, "s": chance.choice(["", "a", None])}
        rest = {"u": "a", "b": True, "c": chance.random() < 0.5, "tt": None}
        made = {"id": chance.choice(ids), "d": lon, "e": lat, **more, **rest}
        return made, chance.choice([0] * 12 + [1, 1, 2, 5, -1, -4])

    def asked() -> tuple[Any, ...]:
        form, focals = chance.choice(forms(knn)), focals_of(kind)
        region: Any = None
        near: Any = None
        if form.startswith("moving") or not form.endswith("kNN"):
            focal = chance.choice(focals)
            w, h = (reach * chance.choice([0.1, 0.4, 0.7, 1.3, 4.0]) for _ in range(2))
            w, h = w * chance.uniform(0.9, 1.1), h * chance.uniform(0.9, 1.1)
            region = chance.choice([("mbox", focal, w, h), ("mcircle", focal, w)])
        if form.endswith("kNN"):
            k = chance.choice(COUNTS)
            near = chance.choice([("knn", k, *place()), ("mknn", k, chance.choice(focals))])
        where = chance.choice([("true",), ("true",), chance.choice(PLAIN)])
        life = chance.choice([(None, None)] * 4 + [(None, 60), (10, None)])
        return ("query", chance.choice("abcdefghijkl"), where, region, life, near)

    events: list[Any] = []
    while len(events) < 50:
        what = "query" if len(events) < 10 else chance.choice(WHAT)
        if what == "rows":
            events.append((what, [row() for _ in range(chance.choice([1, 2, 10, 30]))]))
        else:
            events.append(asked() if what == "query" else (what, chance.choice("abcdefghijkl")))
    return kind, chance.choice([None, 6, 20]), events


def play(played: OnEarth, events: list[Any]) -> None:
    """Until rounding may decide; a generated example is thrown away then."""
    try:
        for event in events:
            played.play(*event)
    except TooClose:
        reject()


def play_crowd(played: OnEarth, events: list[Any], restore: int | None = None) -> None:
    """As far as rounding decides nothing."""
    with suppress(TooClose):
        for step, event in enumerate(events):
            if restore is not None and step % 9 == restore:
                played.through_bytes()
            played.play(*event)
    assert len(played.events) > 100


ours = settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))


@ours
@given(scripts(14, 6), st.sets(st.integers(0, 14), max_size=3))
def test_changes_equal_the_oracle(script: Script, restored: set[int]) -> None:
    kind, timeout, events = script
    both = OnEarth(kind, timeout)
    for step, event in enumerate(events):
        if step in restored:
            both.through_bytes()
        play(both, [event])
    reference.replay(both.events)


@pytest.mark.parametrize("seed", seeds(range(20)))
def test_changes_of_a_crowd_equal_the_oracle(seed: int) -> None:
    kind, timeout, events = crowd(seed)
    both = OnEarth(kind, timeout)
    play_crowd(both, events, seed % 9)
    reference.replay(both.events)


def _cramped(operator: Operator, *_: Any) -> int:
    return len(operator._queries) // 16 + 8


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [Operator._blocks, _cramped])
@pytest.mark.parametrize("side", [0.02, 0.2])
@pytest.mark.parametrize("seed", seeds(range(6)))
def test_cells_of_any_size_change_nothing(
    seed: int, side: float, blocks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where queries are listed in larger cells, or in all columns around a pole."""
    reach = 1e7 if seed % 3 == 0 else 1e3
    monkeypatch.setattr(Operator, "_chosen_side", lambda *_: side * reach)
    monkeypatch.setattr(Operator, "_blocks", blocks)
    levels: set[int] = set()

    def noted(operator: Operator, events: Events) -> Any:
        told = run(operator, events)
        levels.update(operator._span[:, 4].tolist())
        return told

    run = Operator.run
    monkeypatch.setattr(Operator, "run", noted)
    test_changes_of_a_crowd_equal_the_oracle(seed)
    assert max(levels) >= 1


@settings(ours, max_examples=examples(60))
@given(scripts(6, 20), st.randoms(use_true_random=False))
def test_cuts_change_nothing(script: Script, chance: random.Random) -> None:
    kind, timeout, events = script
    play(CutOnEarth(kind, timeout, chance), events)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(100, 106)))
def test_cuts_of_a_crowd_change_nothing(seed: int) -> None:
    kind, timeout, events = crowd(seed)
    play_crowd(CutOnEarth(kind, timeout, random.Random(seed)), events)


@pytest.mark.parametrize("parts", [1, 2, 3])
@settings(ours, max_examples=examples(30))
@given(scripts(12, 6, knn=False), st.booleans())
def test_shards_change_nothing(parts: int, script: Script, generous: bool) -> None:
    kind, timeout, events = script
    play(ShardsOnEarth(kind, timeout, parts, generous), events)


@pytest.mark.parametrize("parts", [2, 3])
@settings(ours, max_examples=examples(30))
@given(scripts(12, 6), st.booleans())
def test_merged_shards_change_nothing(parts: int, script: Script, generous: bool) -> None:
    kind, timeout, events = script
    play(MergedOnEarth(kind, timeout, parts, generous), events)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("seed", seeds(range(300, 306)))
def test_merged_shards_of_a_crowd_change_nothing(seed: int, parts: int) -> None:
    kind, timeout, events = crowd(seed)
    play_crowd(MergedOnEarth(kind, timeout, parts, seed % 2 == 0), events)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(400, 404)))
def test_another_number_of_shards_changes_nothing_for_a_crowd(seed: int) -> None:
    kind, timeout, events = crowd(seed)
    play_crowd(ReshardedOnEarth(kind, timeout, 2, seed % 2 == 0), events)


# --- examples

CARS = (
    "CREATE STREAM cars (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX AHEAD UNLIMITED"
)


def cars(*rows: tuple[int, float, float, int]) -> pa.Table:
    """Rows of an id, a longitude, a latitude and seconds."""
    ids, lon, lat, seconds = zip(*rows, strict=True)
    times = pa.array([s * 1_000_000 for s in seconds], pa.timestamp("us"))
    return pa.table({"id": ids, "lon": lon, "lat": lat, "ts": times})


def members(changes: pa.Table, name: str) -> list[int]:
    """Who enters a query, in the order of ids."""
    rows = changes.to_pylist()
    return sorted(c["object_id"] for c in rows if c["query_id"] == name and c["sign"] > 0)


def tracker_of(*queries: str, clauses: str = "") -> wl.Tracker:
    texts = [f"CREATE QUERY {text} EMIT CHANGES" for text in queries]
    return wl.Tracker(wl.Catalog.of([CARS + clauses, *texts]), "cars")


def test_a_circle_and_a_box_go_across_the_antimeridian() -> None:
    """At the equator the thousandth part of a degree is 111 metres."""
    tracker = tracker_of(
        "near AS SELECT * FROM cars INSIDE CIRCLE ('M', 1, 230)",
        "box AS SELECT * FROM cars INSIDE ('M', 1, 450, 450)",
        "two AS SELECT * FROM cars kNN ('M', 2, 1)",
    )
    found = tracker.process(
        cars((1, 179.999, 0.0, 0), (2, -179.999, 0.0, 0), (3, 179.0, 0.0, 0), (4, 181.5, 0.0, 0))
    )
    assert members(found, "near") == members(found, "box") == [2]
    assert members(found, "two") == [2, 3]
    distances = {c["object_id"]: c["distance"] for c in found.to_pylist() if c["query_id"] == "two"}
    assert distances[2] == pytest.approx(222.64, abs=0.01)


def test_a_circle_around_a_pole_holds_all_longitudes() -> None:
    tracker = tracker_of("near AS SELECT * FROM cars INSIDE CIRCLE ('M', 1, 25)")
    rows = [(i, 360.0 * i / 7, 90 - 0.0001, 0) for i in range(2, 9)]
    found = tracker.process(cars((1, 12.0, 90 - 0.00005, 0), *rows, (9, 0.0, 89.999, 0)))
    assert members(found, "near") == list(range(2, 9))


def test_half_the_way_round_is_everywhere() -> None:
    tracker = tracker_of(
        "all AS SELECT * FROM cars INSIDE CIRCLE ('M', 1, 20100000)",
        "most AS SELECT * FROM cars INSIDE CIRCLE ('M', 1, 19000000)",
    )
    found = tracker.process(cars((1, 10.0, 20.0, 0), (2, -170.0, -20.0, 0), (3, -170.0, 0.0, 0)))
    assert members(found, "all") == [2, 3]
    assert members(found, "most") == [3]


def test_speeds_are_metres_per_second() -> None:
    """From latitude 37.8 on, the thousandth part of a degree north is 111 metres."""
    for speed, count in ((100, 1), (120, 0)):
        tracker = tracker_of("n AS SELECT * FROM cars kNN (1, 0, 0)", clauses=f" MAX SPEED {speed}")
        tracker.process(cars((1, -122.4, 37.8, 0)))
        tracker.process(cars((1, -122.4, 37.801, 1)))
        assert tracker.stats()["too_fast"] == count
