"""Traffic on Earth: places in degrees on the roads, and metres a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import reference_earth
from tests.support.roads import irregular
from watchline import roads
from watchline.errors import InvalidNetwork, InvalidRange, SchemaMismatch
from watchline.kernels.earth import metres_between
from watchline.simulate import Kind, Network, Traffic

DATA = Path(__file__).parents[3] / "shared" / "data"
CAR = [Kind("car", 20.0, 1.0)]


def network(places: Any, edges: Any, **lengths: Any) -> Network:
    lon, lat = zip(*places, strict=True)
    src, dst = zip(*edges, strict=True)
    nodes = pa.table({"node_id": range(len(lon)), "lon": lon, "lat": lat})
    return Network.of(nodes, pa.table({"src": src, "dst": dst, **lengths}), geography=True)


def assert_sound(traffic: Traffic, rows: pa.Table) -> None:
    """On the roads, and never faster than the top speed."""
    assert rows.column_names == ["id", "lon", "lat", "speed", "kind", "ts"]
    ids, lon, lat, speed = (rows[name].to_numpy() for name in ("id", "lon", "lat", "speed"))
    assert (lon >= -180).all()
    assert (lon < 180).all()
    assert (speed <= traffic.top_speed).all()
    times = rows["ts"].cast(pa.int64()).to_numpy()
    order = np.lexsort((times, ids))
    ids, lon, lat, times = (column[order] for column in (ids, lon, lat, times))
    same = np.flatnonzero(ids[1:] == ids[:-1])
    far = metres_between(lon[same], lat[same], lon[same + 1], lat[same + 1])
    assert (far <= traffic.top_speed * (times[same + 1] - times[same]) / 1e6).all()
    road = traffic.network
    lines = [
        [(road.x[a], road.y[a]), (road.x[a] + across, road.y[b])]
        for a, b, across in zip(road.src, road.dst, road.across, strict=True)
    ]
    for i in np.random.default_rng(0).integers(len(ids), size=20):
        assert reference_earth.line_distance(lines, lon[i], lat[i]) < 1e-5


@pytest.mark.parametrize("place", [(-122.42, 37.77), (179.999, -16.5), (12.0, 0.01), (5.0, 78.0)])
def test_a_town_is_placed_on_earth(place: tuple[float, float]) -> None:
    flat = roads.town(6, seed=3)
    town = flat.placed(*place)
    # As long as before, but for what a map is off by at its upper and lower border.
    assert town.apart == pytest.approx(flat.apart * flat.metres, rel=0.01)
    assert np.array_equal(town.length, flat.length)
    traffic = roads.traffic(town, 60, 60, interval=10.0, seed=2)
    rows = traffic.table()
    assert_sound(traffic, rows)
    fastest = rows["speed"].to_numpy().max()
    assert 15 < fastest < traffic.top_speed < 1.02 * 100 / 3.6 * 1.01
    # The same trips as on the plane, to the metre.
    plane = roads.traffic(flat, 60, 60, interval=10.0, seed=2).table()
    assert rows["id"].equals(plane["id"])
    middle = (flat.y.max() + flat.y.min()) / 2
    north = (plane["y"].to_numpy() - middle) * flat.metres
    assert (rows["lat"].to_numpy() - place[1]) * 111_195.08 == pytest.approx(north, abs=0.01)


def test_roads_cross_the_antimeridian() -> None:
    """
    179.99 ---- 180 ---- -179.99      2.2 km at the equator, 110 s by car
    """
    some = network([(179.99, 0.0), (-179.99, 0.0)], [(0, 1)])
    assert some.apart.tolist() == pytest.approx([0.02 * 111_319.5], rel=1e-4)
    assert (some.length == some.apart).all()
    assert some.metres == 1.0
    traffic = roads.traffic(some, 8, 80, kinds=CAR, interval=10.0, destinations=4)
    rows = traffic.table()
    assert_sound(traffic, rows)
    lon = rows["lon"].to_numpy()
    assert (np.abs(lon) >= 179.99).all()
    assert min(np.count_nonzero(lon > 0), np.count_nonzero(lon < 0)) > 100


def test_lengths_in_any_unit() -> None:
    places, edges = [(0.0, 60.0), (0.0, 60.01)], [(0, 1)]
    apart = float(network(places, edges).apart[0])
    assert apart == pytest.approx(1_114.1, abs=1)
    # Metres are told; other lengths are what the places say, all in all.
    assert network(places, edges, length_m=[1_200.0]).metres == 1.0
    assert network(places, edges, length=[2.0]).metres == pytest.approx(apart / 2)
    traffic = roads.traffic(network(places, edges, length_m=[2 * apart]), 3, 20, kinds=CAR)
    # A bent road: what is seen is half as fast as a car goes.
    assert traffic.table()["speed"].to_numpy().max() <= 50 / 3.6 / 2


def test_a_long_way_is_passed_at_an_uneven_pace() -> None:
    """From the equator to 80 degrees north, a quarter round: degrees of longitude become short."""
    some = network([(0.0, 0.0), (90.0, 80.0)], [(0, 1)])
    assert 1.2 < some.bend < 2
    traffic = roads.traffic(some, 5, 200, kinds=CAR, interval=20_000.0)
    assert_sound(traffic, traffic.table())


def test_a_network_of_another_shape() -> None:
    town = irregular(3).placed(10.0, 50.0)
    traffic = roads.traffic(town, 30, 60, interval=5.0)
    assert_sound(traffic, traffic.table())


def test_lafayette() -> None:
    files = [DATA / f"road_lafayette_bus_{part}.parquet" for part in ("nodes", "edges")]
    if not all(file.exists() for file in files):
        pytest.skip("needs the shared data")
    some = Network.of(*(pq.read_table(file) for file in files), geography=True)
    # Lengths of the file, in metres, are what the places say.
    assert some.apart == pytest.approx(some.length, rel=0.02, abs=0.5)
    traffic = roads.traffic(some, 500, 20, interval=5.0, destinations=40)
    assert_sound(traffic, traffic.table())


def test_what_is_refused() -> None:
    nodes = pa.table({"node_id": [0, 1], "x": [0.0, 1.0], "y": [0.0, 1.0]})
    edges = pa.table({"src": [0], "dst": [1]})
    with pytest.raises(SchemaMismatch, match="need the columns lon and lat"):
        Network.of(nodes, edges, geography=True)
    with pytest.raises(InvalidNetwork, match=r"node 1 has -122.4: are lon and lat swapped\?"):
        network([(37.0, -37.0), (37.7, -122.4)], [(0, 1)])
    with pytest.raises(InvalidRange, match="no unit square"):
        roads.traffic(network([(0, 0), (1, 1)], [(0, 1)]), 1, 1, unit=True)
    with pytest.raises(InvalidRange, match="away from the poles"):
        roads.town(3).placed(0, 90)
    with pytest.raises(InvalidRange, match="there already"):
        roads.town(3).placed(0, 0).placed(1, 1)
