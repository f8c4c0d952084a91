"""On any network rows are sound, and every tree leads to its goal in the least time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from tests.support.roads import assert_sound, least_times, network
from watchline import roads
from watchline.errors import InvalidNetwork
from watchline.simulate import Kind, Network
from watchline.simulate.trees import NOWHERE, arcs_of, grow, planted, profiles_of

CLASSES = ("street", "arterial", "ring")
# Few places, so that nodes often share one.
coordinate = st.sampled_from([-40.0, 0.0, 0.0, 1e-3, 7.0, 100.0])


@st.composite
def networks(draw: st.DrawFn) -> Network:
    places = draw(st.lists(st.tuples(coordinate, coordinate), min_size=2, max_size=8))
    node = st.integers(0, len(places) - 1)
    edges = draw(st.lists(st.tuples(node, node), min_size=1, max_size=14))
    stretch = st.sampled_from([0.5, 1.0, 1.0, 3.0])
    lengths = [math.dist(places[a], places[b]) * draw(stretch) for a, b in edges]
    classes = [draw(st.sampled_from(CLASSES)) for _ in edges]
    return network(places, edges, lengths=lengths, classes=classes, metres=1.0)


@settings(max_examples=examples(150), deadline=None)
@given(some=networks(), seed=st.integers(0, 99), phases=st.integers(1, 3), data=st.data())
def test_rows_are_sound(some: Network, seed: int, phases: int, data: st.DataObject) -> None:
    vanish = data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    interval = data.draw(st.sampled_from([0.01, 1.0, 60.0]))
    unit = data.draw(st.booleans())
    options = {"phases": phases, "vanish": vanish, "interval": interval, "unit": unit}
    if (some.src == some.dst).all():
        with pytest.raises(InvalidNetwork, match="nowhere to go"):
            roads.traffic(some, 7, 12, seed=seed, **options)
        return
    traffic = roads.traffic(some, 7, 12, seed=seed, **options)
    rows = traffic.table()
    assert_sound(traffic, rows)
    assert traffic.table().equals(rows)


@settings(max_examples=examples(150), deadline=None)
@given(some=networks(), fast=st.sampled_from([1.0, 15.0, 25.0, 90.0]), seed=st.integers(0, 99))
def test_trees_lead_to_their_goals_in_the_least_time(some: Network, fast: float, seed: int) -> None:
    least = least_times(some, Kind("car", fast, 1.0))
    arcs = arcs_of(some)
    slowness, _ = profiles_of(np.minimum(fast, some.limits)[None, :])
    trees = planted(arcs, slowness, np.ones(1), 5, np.random.default_rng(seed))
    tails = np.repeat(np.arange(len(some.x)), np.diff(arcs.firsts))
    takes = arcs.lengths / np.minimum(fast, some.limits)[arcs.codes]
    for tree, goal in enumerate(trees.goals):
        grow(arcs, trees, tree)
        for start in range(len(some.x)):
            if arcs.components[start] != arcs.components[goal]:
                assert least[start][goal] == math.inf
                continue
            node, passed = start, 0.0
            for _ in range(len(some.x)):
                arc = trees.ways[trees.begins[tree] + arcs.places[node]]
                if arc == NOWHERE:
                    break
                assert tails[arc] == node
                passed += takes[arc]
                node = int(arcs.heads[arc])
            assert node == goal
            assert passed == pytest.approx(least[start][goal])


def test_kinds_whose_speeds_are_in_proportion_share_their_ways() -> None:
    speeds = np.array([[1.0, 2.0], [5.0, 10.0], [5.0, 5.0], [3.0, 3.0]])
    slowness, profiles = profiles_of(speeds)
    assert profiles[0] == profiles[1] != profiles[2] == profiles[3]
    assert len(slowness) == 2
