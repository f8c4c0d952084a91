"""The shortest ways to some destinations, as trees: for each node the arc that leads on.

An object that travels needs no path of its own: whoever goes to the same destination follows the
same tree. Objects whose speeds on all classes are in the same proportion have the same shortest
ways by time and share trees too: they are of one *profile*. A destination is drawn for a component
and a profile, at least two for each, so that whoever arrives can go on.

Invariant: following the arcs of a tree from any node of its component ends at the goal, in the
least time there is for its profile. An arc is only replaced by one that is strictly faster, so that
edges of length zero make no circle.

Cost: a tree is one Dijkstra over its component with a binary heap, O(arcs × log arcs), when it is
first asked for: under 1 ms for 6,000 nodes; then a step is one read. 4 bytes for each node of the
component and destination: 12 MB for 500 destinations in 6,000 nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from watchline.kernels.arrays import Doubles, Integers, Mask, Small
from watchline.kernels.compiled import kernel, leaf
from watchline.simulate.network import Network

# A number of Python or of NumPy.
Number = Any

NOWHERE = -1
# Fewer would leave an object that has arrived nowhere to go.
FEWEST = 2


class Arcs(NamedTuple):
    """Each edge in both directions, by the node it leaves."""

    x: Doubles
    y: Doubles
    # The arcs that leave node n are firsts[n] to firsts[n + 1].
    firsts: Small
    heads: Small
    # The same edge in the other direction.
    mates: Small
    lengths: Doubles
    # How far an arc goes in x; in y that is the difference of its ends.
    across: Doubles
    codes: Small
    # Coordinate units of a unit of length, or metres on Earth.
    scales: Doubles
    # The component of each node, its place in it, and the nodes and arcs of each component.
    components: Small
    places: Small
    sizes: Small
    room: Small


class Trees(NamedTuple):
    """Destinations of a component and profile stand together: group g has firsts[g] to firsts[g+1],
    where g is component × profiles + profile."""

    firsts: Integers
    goals: Small
    profiles: Small
    # Seconds of a unit of length, for each profile and class.
    slowness: Doubles
    # The ways of tree t begin at begins[t], one for each place in the component.
    begins: Integers
    ways: Small
    grown: Mask


def arcs_of(network: Network) -> Arcs:
    """The edges of a network in both directions, ordered by the node in which they begin."""
    nodes, edges = len(network.x), len(network.src)
    tails = np.concatenate([network.src, network.dst])
    heads = np.concatenate([network.dst, network.src])
    order = np.argsort(tails, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(2 * edges)
    firsts = np.zeros(nodes + 1, dtype=np.int32)
    firsts[1:] = np.cumsum(np.bincount(tails, minlength=nodes))
    long = network.length > 0
    scale = np.divide(network.apart, network.length, out=np.zeros(edges), where=long)
    components, places, sizes = _components(firsts, heads[order])
    room = np.bincount(components[tails], minlength=len(sizes)).astype(np.int32)
    return Arcs(
        x=network.x,
        y=network.y,
        firsts=firsts,
        heads=heads[order],
        mates=position[(order + edges) % (2 * edges)].astype(np.int32),
        lengths=np.tile(network.length, 2)[order],
        across=np.concatenate([network.across, -network.across])[order],
        codes=np.tile(network.codes, 2)[order],
        scales=np.tile(scale, 2)[order],
        components=components,
        places=places,
        sizes=sizes,
        room=room,
    )


def profiles_of(speeds: Doubles) -> tuple[Doubles, Small]:
    """Seconds of a unit of length for each profile and class, and the profile of each kind.

    Speeds are (kinds, classes). The fastest class of a profile has slowness 1: ways depend on
    proportions only.
    """
    relative = np.round(speeds / speeds.max(axis=1, keepdims=True), 12)
    distinct, profiles = np.unique(relative, axis=0, return_inverse=True)
    return 1.0 / distinct, profiles.reshape(-1).astype(np.int32)


def planted(
    arcs: Arcs, slowness: Doubles, shares: Doubles, destinations: int, rng: np.random.Generator
) -> Trees:
    """Trees that are still to be grown, about so many: by the size of components and the shares of
    profiles."""
    sizes = arcs.sizes.astype(np.int64)
    able = np.where(sizes >= FEWEST, sizes, 0)
    wanted = destinations * np.outer(able / max(able.sum(), 1), shares)
    counts = np.minimum(np.maximum(np.rint(wanted).astype(np.int64), FEWEST), able[:, None])
    flat = counts.ravel()
    firsts = np.concatenate([[0], np.cumsum(flat)])
    group = np.repeat(np.arange(len(flat)), flat)
    component = group // len(shares)
    begins = np.concatenate([[0], np.cumsum(sizes[component])])
    return Trees(
        firsts=firsts,
        goals=_drawn(arcs, firsts, len(shares), rng),
        profiles=(group % len(shares)).astype(np.int32),
        slowness=slowness,
        begins=begins[:-1],
        ways=np.empty(begins[-1], dtype=np.int32),
        grown=np.zeros(len(group), dtype=np.bool_),
    )


@kernel
def _drawn(arcs: Arcs, firsts: Integers, profiles: int, rng: np.random.Generator) -> Small:
    """Distinct nodes of its component for each group: the first of a shuffle that is cut short."""
    ends = np.cumsum(arcs.sizes)
    nodes = np.empty(len(arcs.components), np.int32)
    for node in range(len(nodes)):
        component = arcs.components[node]
        nodes[ends[component] - arcs.sizes[component] + arcs.places[node]] = node
    goals = np.empty(firsts[-1], np.int32)
    for group in range(len(firsts) - 1):
        size = arcs.sizes[group // profiles]
        begin = ends[group // profiles] - size
        for i in range(firsts[group + 1] - firsts[group]):
            j = begin + i + int(rng.random() * (size - i))
            nodes[begin + i], nodes[j] = nodes[j], nodes[begin + i]
            goals[firsts[group] + i] = nodes[begin + i]
    return goals


@kernel
def _components(firsts: Small, heads: Small) -> tuple[Small, Small, Small]:
    count = len(firsts) - 1
    components, places = np.full(count, NOWHERE, np.int32), np.empty(count, np.int32)
    sizes, found = np.empty(count, np.int32), 0
    queue = np.empty(count, np.int32)
    for start in range(count):
        if components[start] != NOWHERE:
            continue
        components[start], queue[0] = found, start
        taken, filled = 0, 1
        while taken < filled:
            node = queue[taken]
            places[node] = taken
            taken += 1
            for arc in range(firsts[node], firsts[node + 1]):
                if components[heads[arc]] == NOWHERE:
                    components[heads[arc]], queue[filled] = found, heads[arc]
                    filled += 1
        sizes[found] = filled
        found += 1
    return components, places, sizes[:found].copy()


@leaf()
def way(arcs: Arcs, trees: Trees, tree: Number, node: Number) -> Number:
    """The arc that leads on from the node, or `NOWHERE` at the goal."""
    return trees.ways[trees.begins[tree] + arcs.places[node]]


@kernel
def grow(arcs: Arcs, trees: Trees, tree: Number) -> None:
    """Dijkstra from the goal, over arcs backwards; what is in the heap twice is settled once."""
    firsts, heads, lengths, codes = arcs.firsts, arcs.heads, arcs.lengths, arcs.codes
    places, slowness = arcs.places, trees.slowness[trees.profiles[tree]]
    goal = trees.goals[tree]
    component = arcs.components[goal]
    begin, size = trees.begins[tree], arcs.sizes[component]
    ways = trees.ways[begin : begin + size]
    ways[:] = NOWHERE
    times = np.full(size, np.inf)
    keys, nodes = np.empty(arcs.room[component] + 1), np.empty(arcs.room[component] + 1, np.int32)
    times[places[goal]], keys[0], nodes[0] = 0.0, 0.0, goal
    held = 1
    while held:
        time, node = keys[0], nodes[0]
        held -= 1
        _sink(keys, nodes, held, keys[held], nodes[held])
        if time > times[places[node]]:
            continue
        for arc in range(firsts[node], firsts[node + 1]):
            head, later = heads[arc], time + lengths[arc] * slowness[codes[arc]]
            place = places[head]
            if later < times[place]:
                times[place], ways[place] = later, arcs.mates[arc]
                _rise(keys, nodes, held, later, head)
                held += 1
    trees.grown[tree] = True


@leaf()
def _rise(keys: Doubles, nodes: Small, at: int, key: float, node: int) -> None:
    """Put a node into the heap, from its last place upwards."""
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] <= key:
            break
        keys[at], nodes[at] = keys[above], nodes[above]
        at = above
    keys[at], nodes[at] = key, node


@leaf()
def _sink(keys: Doubles, nodes: Small, held: int, key: float, node: int) -> None:
    """Put a node into the heap of so many, from its empty top downwards."""
    at = 0
    while True:
        below = 2 * at + 1
        if below + 1 < held and keys[below + 1] < keys[below]:
            below += 1
        if below >= held or keys[below] >= key:
            break
        keys[at], nodes[at] = keys[below], nodes[below]
        at = below
    keys[at], nodes[at] = key, node
