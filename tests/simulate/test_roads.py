"""Traffic on networks by hand, on a town, and on real ones; what is refused."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.roads import (
    assert_shortest,
    assert_sound,
    irregular,
    least_times,
    network,
    off_the_road,
    reports,
    seconds,
)
from tests.support.unjitted import as_plain_python
from watchline import roads
from watchline.errors import InvalidNetwork, InvalidRange, SchemaMismatch
from watchline.simulate import KINDS, Kind, Network

DATA = Path(__file__).parents[3] / "shared" / "data"
CAR = [Kind("car", 10.0, 1.0)]
# Three nodes in a row, 100 apart.
ROW = network([(0, 0), (100, 0), (200, 0)], [(0, 1), (1, 2)], metres=1.0)


# --- what objects do


def test_a_trip_by_hand() -> None:
    """One object at 7.5 to 10 a second, on its way from one end of 100 to the other and back."""
    single = network([(0, 0), (100, 0)], [(0, 1)], metres=1.0)
    rows = roads.traffic(single, 1, 40, kinds=CAR, vanish=0.0, seed=3).table()
    x, speed = rows["x"].to_numpy(), rows["speed"].to_numpy()
    stands = np.flatnonzero(speed == 0)
    pace = speed[0]
    assert 7.5 <= pace <= 10
    # It stands where it has arrived, is reported there once, and goes back.
    needed = math.ceil(100 / pace)
    assert stands.tolist() == list(range(needed, 40, needed))
    assert set(x[stands]) <= {0.0, 100.0}
    away = np.abs(x - x[0])
    assert away[: needed + 1] == pytest.approx([*np.arange(needed) * pace, 100])
    assert away[needed : 2 * needed + 1] == pytest.approx([*(100 - np.arange(needed) * pace), 0])
    assert rows["id"].to_pylist() == [0] * 40


def test_the_same_seed_gives_the_same_rows() -> None:
    town = roads.town(6, seed=1)
    one = roads.traffic(town, 50, 40, interval=10.0, seed=5)
    rows = one.table()
    assert one.table().equals(rows)
    assert roads.traffic(roads.town(6, seed=1), 50, 40, interval=10.0, seed=5).table().equals(rows)
    assert not roads.traffic(town, 50, 40, interval=10.0, seed=6).table().equals(rows)
    # Fewer ticks are the beginning of more.
    fewer = roads.traffic(town, 50, 15, interval=10.0, seed=5).table()
    assert fewer.equals(rows.slice(0, len(fewer)))


@pytest.mark.parametrize("seed", range(4))
def test_objects_take_shortest_ways_by_time(seed: int) -> None:
    some = irregular(seed)
    traffic = roads.traffic(some, 20, 120, interval=7.0, vanish=1.0, destinations=9, seed=seed)
    rows = traffic.table()
    assert_sound(traffic, rows)
    assert assert_shortest(some, rows) > 30


def test_a_detour_that_is_faster_is_taken_by_those_who_are_faster_on_it() -> None:
    """Straight on through a street, or around by the ring: cars go around, walkers do not."""
    places, edges = [(0.0, 0.0), (100.0, 0.0), (50.0, 40.0)], [(0, 1), (0, 2), (2, 1)]
    limits = {"street": 5.0, "ring": 20.0}
    classes = ["street", "ring", "ring"]
    some = network(places, edges, classes=classes, limits=limits, metres=1.0)
    kinds = [Kind("walker", 2.0, 0.5), Kind("car", 20.0, 0.5)]
    rows = roads.traffic(some, 40, 400, kinds=kinds, vanish=1.0, destinations=6).table()
    ways = set()
    for (_, kind), told in reports(rows).items():
        if {told[0][0], told[-1][0]} == {0.0, 100.0} and told[-1][3] == 0.0:
            ways.add((kind, any(y > 0 for _, y, _, _ in told)))
    assert ways == {("walker", False), ("car", True)}
    assert assert_shortest(some, rows, kinds) > 100


def test_of_parallel_edges_the_faster_is_taken() -> None:
    some = network(
        [(0, 0), (100, 0)],
        [(0, 1), (1, 0), (0, 1)],
        lengths=[300, 100, 100],
        classes=["ring", "street", "ring"],
        limits={"street": 5.0, "ring": 10.0},
        metres=1.0,
    )
    rows = roads.traffic(some, 5, 60, kinds=CAR, vanish=1.0).table()
    assert assert_shortest(some, rows, CAR) > 10
    assert rows["speed"].to_numpy().max() > 7.5


def test_objects_stay_in_their_component() -> None:
    """Two streets, a node alone, and a node with nothing but a loop."""
    places = [(0, 0), (100, 0), (0, 50), (100, 50), (0, 70), (0, 90)]
    some = network(places, [(0, 1), (2, 3), (5, 5)], lengths=[100, 100, 30], metres=1.0)
    traffic = roads.traffic(some, 30, 50, vanish=0.1, interval=3.0)
    rows = traffic.table()
    assert_sound(traffic, rows)
    streets = [{y for _, y, _, _ in told} for told in reports(rows).values()]
    assert all(len(street) == 1 for street in streets)
    assert set.union(*streets) == {0.0, 50.0}


def test_edges_of_no_length_are_passed_in_no_time() -> None:
    """
    0 --- 1 = 2 = 3 --- 4      three nodes at one place, joined in a circle
    """
    places = [(0, 0), (100, 0), (100, 0), (100, 0), (200, 0)]
    some = network(places, [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)], metres=1.0)
    traffic = roads.traffic(some, 20, 100, kinds=CAR, vanish=0.5, destinations=5)
    assert_sound(traffic, traffic.table())
    alone = network([(5, 5), (5, 5)], [(0, 1)])
    standing = roads.traffic(alone, 3, 4, unit=True)
    assert set(standing.table()["speed"].to_pylist()) == {0.0}


def test_objects_vanish_and_others_appear() -> None:
    traffic = roads.traffic(ROW, 10, 200, kinds=CAR, vanish=1.0)
    ticks = [table["id"].to_pylist() for table in traffic]
    assert all(len(ids) == 10 for ids in ticks)
    seen: set[int] = set()
    for ids in ticks:
        new = set(ids) - seen
        assert new == set(range(len(seen), len(seen) + len(new)))
        seen |= new
    assert len(seen) > 50
    for told in reports(traffic.table()).values():
        # It appears at a node, and whoever is seen standing is not seen again.
        assert told[0][0] in (0.0, 100.0, 200.0)
        assert all(speed > 0 for *_, speed in told[:-1])
    stay = roads.traffic(ROW, 10, 200, kinds=CAR, vanish=0.0).table()
    assert set(stay["id"].to_pylist()) == set(range(10))


def test_kinds_have_their_shares_and_speeds() -> None:
    town = roads.town(10)
    rows = roads.traffic(town, 5_000, 1).table()
    counts = {kind.name: 0 for kind in KINDS}
    for name in rows["kind"].to_pylist():
        counts[name] += 1
    for kind in KINDS:
        assert counts[kind.name] == pytest.approx(5_000 * kind.share, rel=0.15)
        here = rows.filter(pa.array([name == kind.name for name in rows["kind"].to_pylist()]))
        assert here["speed"].to_numpy().max() * town.metres <= kind.speed * (1 + 1e-9)


# --- when they report


def test_the_interval_and_the_start() -> None:
    start = datetime(2030, 5, 1, 12, tzinfo=timezone.utc)
    traffic = roads.traffic(ROW, 3, 4, interval=0.25, start=start)
    micros = int(start.timestamp()) * 1_000_000
    times = traffic.table()["ts"].cast(pa.int64()).to_pylist()
    assert times == [micros + 250_000 * tick for tick in range(4) for _ in range(3)]


def test_phases() -> None:
    """
    tick      0                   1
    phase     0      1      2     0
              |------|------|-----|
    objects   0,1,2  3,4,5  6-9   0,1,2
    """
    traffic = roads.traffic(ROW, 10, 300, kinds=CAR, vanish=1.0, phases=3, interval=1.0)
    first = next(iter(traffic))
    micros = (first["ts"].cast(pa.int64()).to_numpy() - traffic.start).tolist()
    assert micros == [0] * 3 + [333_333] * 3 + [666_666] * 4
    rows = traffic.table()
    assert_sound(traffic, rows)
    assert assert_shortest(ROW, rows, CAR) > 50


def test_a_table_of_no_ticks_is_empty() -> None:
    traffic = roads.traffic(ROW, 3, 0)
    assert list(traffic) == []
    assert traffic.table().schema == roads.SCHEMA


# --- space


def test_the_unit_square_keeps_the_aspect() -> None:
    some = network([(-300, 1000), (100, 1000), (100, 1200)], [(0, 1), (1, 2)], metres=1.0)
    small = some.unit()
    assert small.x == pytest.approx([0, 1, 1])
    assert small.y == pytest.approx([0, 0, 0.5])
    assert max(small.x) < 1
    plain, scaled = roads.traffic(some, 9, 60), roads.traffic(some, 9, 60, unit=True)
    assert_sound(scaled, scaled.table())
    assert scaled.table()["x"].to_numpy() == pytest.approx(
        (plain.table()["x"].to_numpy() + 300) / 400
    )
    assert scaled.top_speed == pytest.approx(plain.top_speed / 400)
    # It is written into statements as it is.
    assert repr(plain.top_speed) == str(float(plain.top_speed))


def test_the_top_speed_counts_what_coordinates_say() -> None:
    """A length of 50 between ends that are 100 apart: who goes 10 is seen to go 20."""
    some = network([(0, 0), (100, 0), (100, 50)], [(0, 1), (1, 2)], lengths=[50, 50], metres=1.0)
    traffic = roads.traffic(some, 20, 50, kinds=CAR)
    assert traffic.top_speed == pytest.approx(20.0)
    assert_sound(traffic, traffic.table())
    assert traffic.table()["speed"].to_numpy().max() > 15.0


@pytest.mark.parametrize("blocks", [2, 3, 7, 20])
@pytest.mark.parametrize("seed", range(3))
def test_a_town(blocks: int, seed: int) -> None:
    town = roads.town(blocks, seed=seed)
    assert min(town.x.min(), town.y.min()) >= 0
    assert max(town.x.max(), town.y.max()) < 1
    assert set(town.classes) == {"street", "arterial", "ring"}
    # Connected: from node 0 all others are reached.
    reached = np.zeros(len(town.x), dtype=bool)
    reached[0] = True
    for _ in range(len(town.x)):
        before = reached.sum()
        either = reached[town.src] | reached[town.dst]
        reached[town.src[either]] = True
        reached[town.dst[either]] = True
        if reached.sum() == before:
            break
    assert reached.all()
    again = roads.town(blocks, seed=seed)
    assert np.array_equal(town.x, again.x)
    assert np.array_equal(town.src, again.src)
    traffic = roads.traffic(town, 40, 40, interval=20.0, seed=seed)
    assert_sound(traffic, traffic.table())


def test_streets_of_a_town_are_missing() -> None:
    town = roads.town(40)
    full = 2 * 40 * 41
    streets = np.count_nonzero(town.codes != town.classes.index("ring"))
    assert 0.8 * full < streets < 0.97 * full


# --- networks of others


@pytest.mark.parametrize("name", ["oldenburg", "lafayette_bus"])
@pytest.mark.parametrize("unit", [False, True])
def test_real_networks(name: str, unit: bool) -> None:
    files = [DATA / f"road_{name}_{part}.parquet" for part in ("nodes", "edges")]
    if not all(file.exists() for file in files):
        pytest.skip("needs the shared data")
    some = Network.of(*(pq.read_table(file) for file in files))
    traffic = roads.traffic(some, 2_000, 30, interval=15.0, unit=unit, destinations=40, phases=4)
    rows = traffic.table()
    assert_sound(traffic, rows)
    assert len(set(rows["id"].to_pylist())) > 2_000
    if unit:
        x, y = rows["x"].to_numpy(), rows["y"].to_numpy()
        assert min(x.min(), y.min()) >= 0
        assert max(x.max(), y.max()) < 1


def test_columns_of_any_kind() -> None:
    """Ids are text or numbers of any width, columns come in pieces and in any order."""
    nodes = pa.table({"lat": [40, 41], "lon": [-86.5, -86.0], "node_id": ["a", "b"]})
    pieces = pa.concat_tables([nodes.slice(0, 1), nodes.slice(1)])
    edges = pa.table({"src": ["b"], "dst": ["a"], "length_m": pa.array([70_000], pa.int32())})
    some = Network.of(pieces, edges)
    assert (some.src.tolist(), some.dst.tolist(), some.length.tolist()) == ([1], [0], [70_000.0])
    assert some.metres == 1.0
    assert Network.of(pieces, edges.drop(["length_m"])).metres == pytest.approx(111_195)
    narrow = nodes.set_column(2, "node_id", pa.array([7, 8], pa.int16()))
    wide = pa.table({"src": pa.array([8], pa.int64()), "dst": pa.array([7], pa.uint32())})
    assert Network.of(narrow, wide).src.tolist() == [1]


def test_a_network_without_a_unit_has_ten_kilometres() -> None:
    places = [(0.0, 0.0), (4.0, 0.0)]
    assert network(places, [(0, 1)]).metres == pytest.approx(2_500)
    # Lengths may be in another unit than coordinates.
    assert network(places, [(0, 1)], lengths=[20_000]).metres == pytest.approx(0.5)


NODES = pa.table({"node_id": [1, 2, 3], "x": [0.0, 1.0, 2.0], "y": [0.0, 0.0, 0.0]})
EDGES = pa.table({"src": [1, 2], "dst": [2, 3], "length": [1.0, 1.0]})


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    kept = [column for column in table.column_names if column != name]
    return table.select(kept).append_column(name, pa.array(values))


REFUSED: dict[str, tuple[pa.Table, pa.Table, type[Exception], str]] = {
    "no ids": (NODES.drop(["node_id"]), EDGES, SchemaMismatch, "nodes need the column node_id"),
    "no y": (NODES.drop(["y"]), EDGES, SchemaMismatch, "x and y, or lon and lat"),
    "no dst": (NODES, EDGES.drop(["dst"]), SchemaMismatch, "edges need the column dst"),
    "no table": (NODES, [(1, 2)], SchemaMismatch, "edges come as a pyarrow Table, not as list"),
    "x is text": (with_column(NODES, "x", ["a", "b", "c"]), EDGES, SchemaMismatch, "x must be"),
    "ids of another type": (
        NODES,
        with_column(EDGES, "src", ["1", "2"]),
        SchemaMismatch,
        "src is string, but node_id is int64",
    ),
    "unknown src": (NODES, with_column(EDGES, "src", [1, 9]), InvalidNetwork, "src .* and 9 is"),
    "unknown dst": (NODES, with_column(EDGES, "dst", [None, 3]), InvalidNetwork, "dst must be"),
    "NaN": (with_column(NODES, "y", [0, math.nan, 0]), EDGES, InvalidNetwork, "y .* node 2"),
    "null": (with_column(NODES, "x", [0.0, 1.0, None]), EDGES, InvalidNetwork, "x .* node 3"),
    "infinite": (with_column(NODES, "x", [0.0, 1.0, math.inf]), EDGES, InvalidNetwork, "finite"),
    "below zero": (NODES, with_column(EDGES, "length", [1.0, -2.0]), InvalidNetwork, "row 1 .*-2"),
    "no length": (NODES, with_column(EDGES, "length", [None, 1.0]), InvalidNetwork, "row 0"),
    "zero apart": (NODES, with_column(EDGES, "length", [1.0, 0.0]), InvalidNetwork, "are apart"),
    "no edges": (NODES, EDGES.slice(0, 0), InvalidNetwork, "at least one edge"),
    "ids twice": (with_column(NODES, "node_id", [1, 2, 2]), EDGES, InvalidNetwork, "2 is there"),
    "a null id": (with_column(NODES, "node_id", [1, 2, None]), EDGES, InvalidNetwork, "not be nul"),
    "unknown class": (NODES, with_column(EDGES, "class", ["a", "b"]), InvalidNetwork, "limits="),
    "null class": (
        NODES,
        with_column(EDGES, "class", ["ring", None]),
        InvalidNetwork,
        "class must",
    ),
    "class": (NODES, with_column(EDGES, "class", [[1], [2]]), SchemaMismatch, "must be text"),
}


@pytest.mark.parametrize(("nodes", "edges", "error", "says"), REFUSED.values(), ids=REFUSED)
def test_refused_networks(nodes: Any, edges: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Network.of(nodes, edges)


def test_refused_parameters() -> None:
    with pytest.raises(InvalidRange, match="metres"):
        Network.of(NODES, EDGES, metres=0.0)
    with pytest.raises(InvalidRange, match="limit of 'street'"):
        Network.of(NODES, EDGES, limits={"street": 0.0})
    with pytest.raises(InvalidRange, match="at least 2 blocks"):
        roads.town(1)
    with pytest.raises(InvalidNetwork, match="nowhere to go"):
        roads.traffic(network([(0, 0), (1, 1)], [(1, 1)]), 1, 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"objects": 0}, "needs an object"),
        ({"ticks": -1}, "ticks below zero"),
        ({"destinations": 0}, "destination"),
        ({"interval": 0.0}, "interval"),
        ({"interval": math.nan}, "interval"),
        ({"phases": 0}, "phases"),
        ({"vanish": 1.5}, "vanish"),
        ({"vanish": math.nan}, "vanish"),
        ({"kinds": []}, "kinds"),
        ({"kinds": [*CAR, *CAR]}, "another name"),
        ({"kinds": [Kind("snail", 0.0, 1.0)]}, "'snail'"),
        ({"kinds": [Kind("ghost", 1.0, 0.0)]}, "'ghost'"),
        ({"start": datetime(2030, 1, 1)}, "time zone"),
    ],
)
def test_refused_traffic(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRange, match=says):
        roads.traffic(ROW, **{"objects": 5, "ticks": 5, **options})


def test_traffic_as_plain_python() -> None:
    """The same rows, whether the kernels are compiled or not."""
    rows = roads.traffic(irregular(1), 15, 40, interval=9.0, seed=2).table()
    assert as_plain_python("roads") == [f"{rows['x'].to_numpy().sum():.6f}"]


# --- the truth itself


def test_the_truth_by_hand() -> None:
    """
    0 --100-- 1 --100-- 2
    """
    assert seconds(ROW, CAR[0]).tolist() == [10.0, 10.0]
    assert least_times(ROW, CAR[0]) == [[0, 10, 20], [10, 0, 10], [20, 10, 0]]
    assert off_the_road(ROW, np.array([50.0, 205.0]), np.array([3.0, 0.0])) == 5.0
    late = roads.traffic(ROW, 5, 40, kinds=CAR, vanish=1.0).table()
    x = late["x"].to_numpy()
    wrong = late.set_column(1, "x", pa.array(np.where((x > 20) & (x < 60), x + 1, x)))
    with pytest.raises(AssertionError):
        assert_shortest(ROW, wrong, CAR)
