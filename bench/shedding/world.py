"""What the benchmarks of bounded memory share: traffic at a paper's speed, streams, queries, bytes.

The paper's map is 28 miles wide; ours is the unit square. So a mile is 1/28, and traffic is made so
fast that its top speed is a given number of miles an hour on that map.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import watchline as wl
from bench.moving.response import moving_text
from bench.moving.world import network
from watchline import roads
from watchline.borders import build_grid
from watchline.kernels.arrays import Doubles
from watchline.simulate import Network, Traffic

MILE = 1 / 28
HOUR = 3600.0
PHASES = 30
# Ticks before the first that counts.
STARTED = 4
STREAM = (
    "CREATE STREAM cars (id BIGINT, kind STRING, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)


@cache
def _town() -> tuple[Network, float]:
    """The network, and the top speed there."""
    found, _ = network()
    return found, roads.traffic(found, 1, 0, unit=True).top_speed


def drive(objects: int, ticks: int, interval: float, mph: float = 60.0, seed: int = 1) -> Traffic:
    """Objects that report every so many seconds, at thirty moments of that time."""
    found, top = _town()
    slower = replace(found, metres=found.metres * top / (mph * MILE / HOUR))
    return roads.traffic(
        slower, objects, ticks, interval=interval, phases=PHASES, vanish=0.0, unit=True, seed=seed
    )


def declared(traffic: Traffic) -> str:
    speed = f"MAX SPEED {traffic.top_speed!r}"
    return f"{STREAM} TIMEOUT INTERVAL {traffic.interval} MICROSECONDS {speed}"


def rows_of(tick: pa.Table) -> pa.Table:
    return tick.select(["id", "kind", "x", "y", "ts"])


def moments(tick: pa.Table, parts: int) -> Iterator[pa.Table]:
    """A tick in so many batches, in the order of time."""
    rows = rows_of(tick)
    ends = np.arange(parts + 1) * rows.num_rows // parts
    return (
        rows.slice(a, b - a) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    )


@cache
def reports(objects: int, ticks: int, seed: int = 1) -> list[pa.Table]:
    """So many ticks of traffic, once objects are not where they began any more: at crossings."""
    return [
        rows_of(tick) for tick in list(drive(objects, STARTED + ticks, 30.0, seed=seed))[STARTED:]
    ]


@cache
def corners(count: int, size: float) -> tuple[Doubles, Doubles]:
    """Of squares around places on roads, within the unit square."""
    (rows,) = reports(count, 1, seed=2)
    side = float(np.sqrt(size))
    centres = np.stack([rows["x"].to_numpy(), rows["y"].to_numpy()], axis=1)
    lo = np.clip(centres - side / 2, 0, 1 - side)
    return lo, lo + side


def add_still(
    catalog: wl.Catalog, count: int, size: float, first: int = 0, total: int | None = None
) -> None:
    """Squares of this part of the space, that stay where they are: of `total` those from the
    first on."""
    lo, hi = (c[first : first + count] for c in corners(total or count, size))
    bounds = {axis: (lo[:, d], hi[:, d]) for d, axis in enumerate("xy")}
    ids = [f"q{first + i}" for i in range(count)]
    catalog.register_boxes("cars", ids, bounds, emit="changes")


def add_moving(catalog: wl.Catalog, focal: Any, size: float, more: str = "") -> None:
    """Squares around these objects."""
    text = moving_text(focal, float(np.sqrt(size)), "q")
    catalog.execute(text.replace("\n", f"{more}\n") + more)


def mean_accuracy(tracker: wl.Tracker, queries: int) -> float:
    """Of queries, each as good as another; one that misses nothing is accurate."""
    found = tracker.accuracies().values()
    return (queries - len(found) + sum(found)) / queries


# --- bytes


def plan_bytes(catalog: wl.Catalog, version: int | None = None) -> int:
    """What a tracker without objects has: its queries, as they were compiled."""
    return reachable(wl.Tracker(catalog, "cars", version, retain="significant", cache=0.25))


def bytes_of_still(count: int, size: float) -> int:
    """Of so many squares that stay: the plan, and the grid over them."""
    lo, hi = corners(count, size)
    catalog = wl.Catalog.of([STREAM])
    add_still(catalog, count, size)
    return build_grid(lo, hi, np.arange(count)).nbytes + plan_bytes(catalog)


def reachable(*things: Any) -> int:
    """Bytes of all arrays, tables, strings and containers that can be reached from here, with the
    room in them that is not in use; the catalog is not counted."""
    seen: set[int] = set()
    total, todo = 0, list(things)
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, (type, wl.Catalog)):
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            # A view has the memory of another.
            total += thing.nbytes if thing.base is None else 0
            todo.append(thing.base)
        elif isinstance(thing, (pa.Table, pa.Array, pa.ChunkedArray)):
            total += thing.nbytes
        elif isinstance(thing, (str, bytes, dict, list, tuple, set, frozenset)):
            total += sys.getsizeof(thing)
            if isinstance(thing, dict):
                todo += [*thing.keys(), *thing.values()]
            elif not isinstance(thing, (str, bytes)):
                todo += thing
        elif type(thing).__module__.startswith("watchline") and hasattr(thing, "__dict__"):
            todo += vars(thing).values()
    return total
