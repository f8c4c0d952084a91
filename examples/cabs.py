"""San Francisco as it was: its taxis of June 2008, and its neighbourhoods.

The data is no part of the project; `make demo` takes it where it lies beside it, in ../shared/data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from examples.land import Land, Places, around
from examples.standing import Ask
from watchline import roads

DATA = Path(__file__).parents[2] / "shared" / "data"
FIXES, OUTLINES = DATA / "cabs_sf.parquet", DATA / "sf_neighborhoods.geojson"
FREE, HIRED = "free cab", "hired cab"
# When the ticks begin, in hours after the first fix, and seconds of a tick.
FROM, TICK = 40, 120
# A cab that is silent for longer is gone.
TIMEOUT = 600
Ring = list[tuple[float, float]]


def are_there() -> bool:
    return FIXES.exists() and OUTLINES.exists()


class SanFrancisco:
    """Looks as simulated traffic does: a network to draw, and a table of rows for each tick."""

    def __init__(self, ticks: int):
        found = json.loads(OUTLINES.read_text(encoding="utf-8"))["features"]
        self._shapes = {each["properties"]["name"]: each["geometry"] for each in found}
        self.network = outlines([ring for shape in self._shapes.values() for ring in rings(shape)])
        self.land: Land = around(
            self.network, wanted=FREE, heavy=HIRED, looking="cab", timeout=TIMEOUT
        )
        self._ticks = list(cut(pq.read_table(FIXES), ticks))

    def __iter__(self) -> Iterator[pa.Table]:
        return iter(self._ticks)

    @property
    def spots(self) -> Places:
        """Where cabs have been, within the map."""
        lon, lat = (
            np.concatenate([t[name].to_numpy() for t in self._ticks]) for name in ("lon", "lat")
        )
        places = np.stack([lon, lat], axis=1)
        units = self.land.units(places)
        return places[((units > 0) & (units < self.land.extent)).all(axis=1)]

    def neighbourhoods(self) -> list[Ask]:
        return [
            Ask(
                f"zone{i}",
                "polygon",
                (),
                name=name,
                rings=tuple(rings(shape)),
                text=json.dumps(shape),
            )
            for i, (name, shape) in enumerate(sorted(self._shapes.items()))
        ]


def rings(shape: dict[str, Any]) -> list[tuple[tuple[float, float], ...]]:
    parts = shape["coordinates"] if shape["type"] == "MultiPolygon" else [shape["coordinates"]]
    return [tuple((x, y) for x, y, *_ in ring[:-1]) for part in parts for ring in part]


def outlines(all_rings: list[tuple[tuple[float, float], ...]]) -> roads.Network:
    """The outlines as a network, for the map."""
    places = np.array([place for ring in all_rings for place in ring])
    ends, at = [], 0
    for ring in all_rings:
        ends += [(at + i, at + (i + 1) % len(ring)) for i in range(len(ring))]
        at += len(ring)
    src, dst = np.array(ends).T
    nodes = pa.table({"node_id": np.arange(len(places)), "lon": places[:, 0], "lat": places[:, 1]})
    return roads.Network.of(nodes, pa.table({"src": src, "dst": dst}), geography=True)


def cut(fixes: pa.Table, ticks: int) -> Iterator[pa.Table]:
    """Rows as the city's vehicles have them, in ticks of some minutes."""
    times = fixes["t"].cast(pa.timestamp("us", "UTC"))
    micros = times.cast(pa.int64()).to_numpy()
    start = int(micros.min()) + FROM * 3_600_000_000
    ends = np.searchsorted(micros, start + np.arange(ticks + 1) * TICK * 1_000_000)
    codes = fixes["cab_id"].combine_chunks().cast(pa.string()).dictionary_encode().indices
    kinds = pc.if_else(pc.equal(fixes["occupied"], 0), FREE, HIRED)
    table = pa.table(
        {
            "id": codes.cast(pa.int64()),
            "lon": fixes["lon"],
            "lat": fixes["lat"],
            "speed": pa.nulls(len(fixes), pa.float64()),
            "kind": kinds,
            "ts": times,
        }
    )
    for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        yield table.slice(low, high - low).cast(roads.EARTH_SCHEMA).combine_chunks()
