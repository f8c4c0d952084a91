"""Traffic on a road network: objects that travel, made by a seed, for benchmarks, demos and tests.

    from watchline import roads

    network = roads.town(blocks=40, seed=7)
    traffic = roads.traffic(network, objects=10_000, ticks=60, interval=5.0, seed=7)
    for rows in traffic:  # one Arrow table of 10,000 rows for each tick
        ...
    traffic.top_speed  # what a stream may declare as MAX SPEED

On Earth: `roads.town(40).placed(-122.42, 37.77)`, or of longitudes and latitudes
`roads.Network.of(nodes, edges, geography=True)`. Rows then have the columns lon and lat, for a
stream that declares POINT (lon, lat) AS GEOGRAPHY, and speeds are in metres a second.

network.py  `Network`: nodes and edges of any table, and the checks
towns.py    `town`: a network that is made
trees.py    the shortest ways to some destinations
motion.py   `traffic`: who is where, tick by tick
"""

from __future__ import annotations

from watchline.simulate.motion import EARTH_SCHEMA, KINDS, SCHEMA, Kind, Traffic, traffic
from watchline.simulate.network import LIMITS, Network
from watchline.simulate.towns import town

__all__ = [
    "EARTH_SCHEMA",
    "KINDS",
    "LIMITS",
    "SCHEMA",
    "Kind",
    "Network",
    "Traffic",
    "town",
    "traffic",
]
