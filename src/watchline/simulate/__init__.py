"""Traffic on a road network: objects that travel, made by a seed, for benchmarks, demos and tests.

    from watchline import roads

    network = roads.town(blocks=40, seed=7)
    traffic = roads.traffic(network, objects=10_000, ticks=60, interval=5.0, seed=7)
    for rows in traffic:  # one Arrow table of 10,000 rows for each tick
        ...
    traffic.top_speed  # what a stream may declare as MAX SPEED

network.py  `Network`: nodes and edges of any table, and the checks
towns.py    `town`: a network that is made
trees.py    the shortest ways to some destinations
motion.py   `traffic`: who is where, tick by tick
"""

from __future__ import annotations

from watchline.simulate.motion import KINDS, SCHEMA, Kind, Traffic, traffic
from watchline.simulate.network import LIMITS, Network
from watchline.simulate.towns import town

__all__ = ["KINDS", "LIMITS", "SCHEMA", "Kind", "Network", "Traffic", "town", "traffic"]
