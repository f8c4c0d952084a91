"""What tests of traffic share: networks by hand, and the truth about rows by brute force."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Doubles
from watchline.simulate import KINDS, SCHEMA, Kind, Network, Traffic

# Where an object was, when, and how fast: x, y, seconds, speed.
Report = tuple[float, float, float, float]


def network(
    nodes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    *,
    lengths: Sequence[float] | None = None,
    classes: Sequence[str] | None = None,
    **options: Any,
) -> Network:
    x, y = zip(*nodes, strict=True)
    columns: dict[str, Any] = {
        "src": [src for src, _ in edges],
        "dst": [dst for _, dst in edges],
        "length": lengths,
        "class": classes,
    }
    columns = {name: values for name, values in columns.items() if values is not None}
    ids = {"node_id": range(len(nodes)), "x": np.array(x, float), "y": np.array(y, float)}
    return Network.of(pa.table(ids), pa.table(columns), **options)


def irregular(seed: int, size: int = 12, extra: int = 10, metres: float = 1.0) -> Network:
    """Connected, of several classes, with parallel edges, loops and lengths that are no distances;
    a second component, and a node alone."""
    rng = np.random.default_rng(seed)
    nodes = [(float(x), float(y)) for x, y in rng.uniform(-500, 500, (size + 4, 2))]
    edges = [(i, int(rng.integers(i))) for i in range(1, size)]
    edges += [(int(a), int(b)) for a, b in rng.integers(0, size, (extra, 2))]
    edges += [edges[0], edges[1], (size, size + 1), (size + 1, size + 2)]
    lengths = [math.dist(nodes[a], nodes[b]) * rng.uniform(0.8, 2.0) + 1.0 for a, b in edges]
    classes = [str(name) for name in rng.choice(["street", "arterial", "ring"], len(edges))]
    return network(nodes, edges, lengths=lengths, classes=classes, metres=metres)


def seconds(network: Network, kind: Kind) -> Doubles:
    """What each edge takes a kind that is at its full pace."""
    limits = network.limits[network.codes]
    return network.length * network.metres / np.minimum(kind.speed, limits)


def least_times(network: Network, kind: Kind) -> list[list[float]]:
    """Between any two nodes, by Floyd."""
    count = len(network.x)
    least = [[0.0 if a == b else math.inf for b in range(count)] for a in range(count)]
    for a, b, time in zip(network.src, network.dst, seconds(network, kind), strict=True):
        least[a][b] = least[b][a] = min(least[a][b], float(time))
    for via in range(count):
        for a in range(count):
            for b in range(count):
                least[a][b] = min(least[a][b], least[a][via] + least[via][b])
    return least


def reports(rows: pa.Table) -> dict[tuple[int, str], list[Report]]:
    """The rows of each object, which has one kind for all its life."""
    told = defaultdict(list)
    times = rows["ts"].cast(pa.int64()).to_numpy() / 1e6
    columns = (rows[name].to_pylist() for name in ("id", "kind", "x", "y", "speed"))
    for (name, kind, x, y, speed), at in zip(zip(*columns, strict=True), times, strict=True):
        told[name, kind].append((x, y, float(at), speed))
    assert len({name for name, _ in told}) == len(told)
    return told


def off_the_road(network: Network, x: Doubles, y: Doubles) -> float:
    """How far the furthest of these points is from its nearest edge."""
    ax, ay = network.x[network.src], network.y[network.src]
    dx, dy = network.x[network.dst] - ax, network.y[network.dst] - ay
    square = dx * dx + dy * dy
    furthest = 0.0
    for px, py in zip(x, y, strict=True):
        along = (px - ax) * dx + (py - ay) * dy
        part = np.clip(np.divide(along, square, out=np.zeros_like(along), where=square > 0), 0, 1)
        gaps = np.hypot(px - ax - part * dx, py - ay - part * dy)
        furthest = max(furthest, float(gaps.min()))
    return furthest


def assert_sound(traffic: Traffic, rows: pa.Table, sample: int = 300) -> None:
    """What holds for all rows of a whole table; a sample of them is compared with all edges."""
    assert rows.schema == SCHEMA
    assert len(rows) == traffic.objects * traffic.ticks
    ids, x, y, speed = (rows[name].to_numpy() for name in ("id", "x", "y", "speed"))
    times = rows["ts"].cast(pa.int64()).to_numpy()
    assert np.array_equal(np.lexsort((ids, times)), np.arange(len(rows)))
    assert (speed >= 0).all()
    assert (speed <= traffic.top_speed).all()
    by_object = np.lexsort((times, ids))
    ids, x, y, times = (column[by_object] for column in (ids, x, y, times))
    same = ids[1:] == ids[:-1]
    gap = np.diff(times)[same]
    assert (gap == traffic.interval).all()
    steps = np.hypot(np.diff(x), np.diff(y))[same]
    assert (steps <= traffic.top_speed * gap / 1e6).all()
    some = np.random.default_rng(0).integers(len(rows), size=min(sample, len(rows)))
    extent = max(np.abs(traffic.network.x).max(), np.abs(traffic.network.y).max(), 1e-300)
    assert off_the_road(traffic.network, x[some], y[some]) <= 1e-12 * extent


def assert_shortest(network: Network, rows: pa.Table, kinds: Iterable[Kind] = KINDS) -> int:
    """Each object of one trip is at all times where the shortest way by time has brought it.

    Objects that do not arrive are left out; how many arrive. Nodes must be at distinct places.
    """
    by_name = {kind.name: kind for kind in kinds}
    least = {name: least_times(network, kind) for name, kind in by_name.items()}
    nodes = {(x, y): i for i, (x, y) in enumerate(zip(network.x, network.y, strict=True))}
    arrived = 0
    for (_, name), told in reports(rows).items():
        if told[-1][3] == 0.0:
            arrived += 1
            src, dst = nodes[told[0][:2]], nodes[told[-1][:2]]
            assert src != dst
            assert _is_shortest(network, by_name[name], least[name], src, dst, told)
    return arrived


def _is_shortest(
    network: Network, kind: Kind, least: list[list[float]], src: int, dst: int, told: list[Report]
) -> bool:
    """Whether some pace, as the first edge of a shortest way tells it, explains all reports."""
    takes = seconds(network, kind)
    fits = _edges_on_the_way(network, takes, least, src, dst)
    for a, b, time in fits:
        if a != src or time == 0:
            continue
        full = math.dist(_place(network, a), _place(network, b)) / time
        pace = told[0][3] / full
        if not 0.75 <= pace * (1 + 1e-9) <= 1 + 2e-9:
            continue
        last = (told[-1][2] - told[0][2]) * pace
        step = (told[1][2] - told[0][2]) * pace
        total = least[src][dst]
        on_time = (last - step) * (1 - 1e-9) <= total <= last * (1 + 1e-9)
        if on_time and all(
            _is_at(network, fits, least, src, (at - told[0][2]) * pace, (x, y))
            for x, y, at, _ in told[:-1]
        ):
            return True
    return False


def _edges_on_the_way(
    network: Network, takes: Doubles, least: list[list[float]], src: int, dst: int
) -> list[tuple[int, int, float]]:
    both = [*zip(network.src, network.dst, takes, strict=True)]
    both += [*zip(network.dst, network.src, takes, strict=True)]
    total = least[src][dst]
    return [
        (int(a), int(b), float(time))
        for a, b, time in both
        if least[src][a] + time + least[b][dst] <= total * (1 + 1e-9)
    ]


def _is_at(
    network: Network,
    fits: list[tuple[int, int, float]],
    least: list[list[float]],
    src: int,
    passed: float,
    place: tuple[float, float],
) -> bool:
    for a, b, time in fits:
        part = (passed - least[src][a]) / time if time else 0.0
        if -1e-9 <= part <= 1 + 1e-9:
            (ax, ay), (bx, by) = _place(network, a), _place(network, b)
            expected = ax + (bx - ax) * part, ay + (by - ay) * part
            if math.dist(expected, place) <= 1e-6:
                return True
    return False


def _place(network: Network, node: int) -> tuple[float, float]:
    return float(network.x[node]), float(network.y[node])
