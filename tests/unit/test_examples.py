"""The demo's own truth: it finds what a tracker finds, and a ledger with a hole is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import watchline as wl
from examples import city, standing, truth
from examples.standing import Ask
from watchline import roads

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


def test_the_command_of_the_readme_is_the_demos(tmp_path: Path) -> None:
    """The car in it is there from the first tick to the last."""
    made = city.City(city.traffic(city.read_network(None)), tmp_path)
    command = city.hint(Path("demo-run").absolute(), made.traveller())
    assert command in README.read_text(encoding="utf-8")
    assert made.traveller() in made.stayers
