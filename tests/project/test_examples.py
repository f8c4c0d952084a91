"""The demos' own truth: it finds what a tracker finds, also under a bound; a ledger with a hole, or
a wrong word about accuracy, is refused. And what the burst is made of and shows."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import watchline as wl
from examples import burst, city, crowd, standing, truth
from examples.audit import Audit, Moment
from examples.gauges import Gauges, Load
from examples.standing import Ask
from watchline import roads
from watchline.config import Job, SinkConfig, SourceConfig

README = Path(__file__).parents[2] / "README.md"
ASKS = [
    Ask("box", "box", (0.2, 0.2, 0.6, 0.7)),
    Ask("trucks", "box", (0.1, 0.1, 0.9, 0.9), "truck"),
    Ask("circle", "circle", (0.5, 0.5, 0.3)),
    Ask("zone", "polygon", (0.1, 0.1, 0.9, 0.2, 0.8, 0.8, 0.4, 0.5)),
    Ask("convoy", "box", (0.4, 0.3), focal=3),
    Ask("round", "circle", (0.25,), focal=4),
    Ask("taxis", "nearest", (5,), "taxi", 5),
    Ask("rank", "nearest", (5, 0.4, 0.6), "taxi"),
    Ask("gone", "nearest", (3,), focal=10**6),
]


@pytest.fixture(scope="module")
def ticks() -> list[pa.Table]:
    """Vehicles of which some vanish, and are silent for longer than the time-out."""
    made = roads.traffic(
        roads.town(6, seed=1), 150, 30, kinds=city.KINDS, interval=15.0, destinations=20, seed=1
    )
    return list(made)


@pytest.fixture(scope="module")
def changes(ticks: list[pa.Table]) -> pa.Table:
    catalog = wl.Catalog.of([standing.STREAM])
    standing.register(catalog, ASKS)
    tracker = wl.Tracker(catalog, "cars")
    return pa.concat_tables([tracker.process(rows) for rows in ticks])


def test_the_truth_is_what_the_tracker_tells(ticks: list[pa.Table], changes: pa.Table) -> None:
    fleet = truth.last_positions(ticks, standing.TIMEOUT)
    assert 150 <= len(fleet.ids) < max(rows["id"].to_numpy().max() for rows in ticks)
    assert truth.check(ASKS, truth.replay(changes), fleet) > 20


def test_a_hole_in_the_ledger_is_found(ticks: list[pa.Table], changes: pa.Table) -> None:
    fleet = truth.last_positions(ticks, standing.TIMEOUT)
    entries = np.flatnonzero(changes["sign"].to_numpy() > 0)
    for hole in (entries[0], entries[-1]):
        kept = changes.filter(pa.array(np.arange(len(changes)) != hole))
        with pytest.raises(truth.Disagreement):
            truth.check(ASKS, truth.replay(kept), fleet)


def test_changes_that_do_not_alternate_are_refused() -> None:
    for signs in ([1, 1], [-1], [1, -1, -1]):
        told = {"query_id": ["q"] * len(signs), "object_id": [7] * len(signs), "sign": signs}
        with pytest.raises(truth.Disagreement):
            truth.Ledger().follow(pa.table(told))


# --- the burst

# Ticks are 15 seconds long, and the time-out is 20.
SETTLED = 2
RANGES = [ask for ask in ASKS if ask.form != "nearest"]
DEMANDING = [ask._replace(accuracy=0.9) if ask.id == "round" else ask for ask in RANGES]


def audited(ticks: list[pa.Table], change: Any = None, wrong: float = 0.0) -> Audit:
    """A tracker with room for half of the vehicles. `change`: of what it tells in tick 5."""
    declared = f"{standing.STREAM} MAX SPEED 0.003 RETAIN SIGNIFICANT MAX OBJECTS 75"
    catalog = wl.Catalog.of([declared, *(ask.statement for ask in DEMANDING)])
    tracker = wl.Tracker(catalog, "cars")
    audit = Audit(DEMANDING, ticks, np.zeros_like, SETTLED)
    for tick, rows in enumerate(ticks):
        changes = tracker.process(rows)
        audit.hear(change(changes) if change and tick == 5 else changes)
        metrics = tracker.stats()
        metrics["accuracy"] += wrong
        audit.step(metrics, alone=True)
    return audit


def test_under_a_bound_the_accuracy_is_what_brute_force_counts(ticks: list[pa.Table]) -> None:
    audit = audited(ticks)
    assert audit.compared == len(ticks) - SETTLED
    assert audit.worst is not None
    assert audit.worst.stated < 0.8
    assert not audit.worst.told & audit.worst.missed
    assert 67 < max(moment.kept for moment in audit.moments) <= 75
    assert "still given up" in audit.finish()


def test_a_wrong_word_about_accuracy_is_refused(ticks: list[pa.Table]) -> None:
    with pytest.raises(truth.Disagreement, match="is said to be"):
        audited(ticks, wrong=0.01)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_audit_finds_a_hole(ticks: list[pa.Table], sign: int) -> None:
    def holed(changes: pa.Table) -> pa.Table:
        hole = np.flatnonzero(changes["sign"].to_numpy() == sign)[-1]
        return changes.filter(pa.array(np.arange(len(changes)) != hole))

    with pytest.raises(truth.Disagreement):
        audited(ticks, holed)


def test_a_query_with_less_than_it_demands_is_found(ticks: list[pa.Table]) -> None:
    audit = Audit(DEMANDING, ticks, np.zeros_like, 0)
    audit.hear(wl.Tracker(wl.Catalog.of([standing.STREAM]), "cars").process(ticks[0]))
    stated = {"objects": 0, "shadow": 0, "bytes": 0, "accuracy": 0.0}
    with pytest.raises(truth.Disagreement, match=r"round has 0\.0 of its answer"):
        audit.step(stated, alone=True)


@pytest.mark.parametrize("width", [80, 120])
def test_what_is_kept_and_given_up_is_charted(width: int) -> None:
    """
    objects   8 ┤    ░
              6 ┤   ░░░
              4 ┤ ─████─      the bound
              2 ┤ ██████
    """
    objects = [n for n in (3, 4, 6, 8, 6, 3) for _ in range(6)]
    load = Load(4, objects, [100 * n for n in objects])
    moments = [
        Moment(i, 9, min(n, 4), max(n - 4, 0), 100 * n, 4 / max(n, 4), 1.0, {"round": 0.95})
        for i, n in enumerate(objects)
    ]
    asks = {ask.id: ask for ask in DEMANDING if ask.accuracy}
    file = StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    console.print(Gauges(console, asks, moments, load))
    shown = file.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    drawn = ["─" * 6 + "█" * 24 + "─" * 6, " " * 12 + "░" * 18 + " " * 6, " " * 18 + "░" * 6]
    for what in ("at most 4", "demands 90 %", "95.0 %", *drawn):
        assert what in shown


def test_the_crowd_comes_and_goes_within_the_limit(tmp_path: Path) -> None:
    evening = crowd.Evening(city.read_network(None), tmp_path)
    rows = pa.concat_tables(evening.ticks).sort_by([("id", "ascending"), ("ts", "ascending")])
    ids, x, y = (rows[name].to_numpy() for name in ("id", "x", "y"))
    times = rows["ts"].cast(pa.int64()).to_numpy()
    same = np.flatnonzero(ids[1:] == ids[:-1])
    seconds = (np.diff(times) / 1e6)[same]
    assert seconds.min() >= crowd.INTERVAL
    assert (np.hypot(np.diff(x), np.diff(y))[same] <= evening.top_speed * seconds).all()
    fans = [np.count_nonzero(tick["id"].to_numpy() >= crowd.FANS) for tick in evening.ticks]
    assert not any(fans[: evening.size.whistle] + fans[evening.size.gone :])
    assert max(fans) > 6_000
    for size in (crowd.FULL, crowd.SMALL):
        assert size.gone + 2 * burst.SETTLED < size.ticks


def test_the_commands_of_the_readme_are_the_demos(tmp_path: Path) -> None:
    """The car in it is there from the first tick to the last."""
    made = city.city_of(city.made_up(), city.FULL, tmp_path)
    command = city.hint(Path("demo-run").absolute(), made.traveller())
    text = README.read_text(encoding="utf-8")
    assert command in text
    assert burst.hint(Path("demo-run").absolute()) in text
    assert made.traveller() in made.stayers


def test_a_job_is_described_by_names() -> None:
    """An example once gave its fields in an order that had changed."""
    sink, sources = SinkConfig("console"), {"ticks": SourceConfig("rate")}
    assert Job(catalog="alerts", sink=sink, sources=sources).stream == "ticks"
    with pytest.raises(TypeError, match="positional"):
        Job("alerts", sink, sources)  # type: ignore[misc]
