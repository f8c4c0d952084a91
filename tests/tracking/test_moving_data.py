"""Real taxis: neighbourhoods, what is about a taxi, and the five nearest to it, against NumPy.

At sampled moments the answers to which the changes lead are computed anew, from all rows until
then. The data are not part of the project; without them these tests are skipped.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import watchline as wl
from tests.tracking.test_tracker_data import CABS, DATA, PING_PONG, cabs
from watchline.catalog import Catalog
from watchline.kernels.arrays import Mask

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="needs the shared data")

MINUTE = 60_000_000
START = datetime(2008, 6, 1, 2, 0, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Now:
    """The latest rows of the taxis that are there at a moment, by the order of their names."""

    names: npt.NDArray[Any]
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    free: Mask

    def focal(self, name: str) -> tuple[float, float, Mask] | None:
        """Where a taxi is, and all others; None if it is not there."""
        place = np.flatnonzero(self.names == name)
        if not len(place):
            return None
        return self.x[place[0]], self.y[place[0]], self.names != name

    def nobody(self) -> Mask:
        return np.zeros(len(self.names), dtype=np.bool_)

    def nearest(self, k: int, x: float, y: float, among: Mask) -> Mask:
        dx, dy = self.x - x, self.y - y
        distance = np.where(among, dx * dx + dy * dy, np.inf)
        # Stable: of the same distance, the first name comes first.
        order = np.argsort(distance, kind="stable")[: min(k, np.count_nonzero(among))]
        found = self.nobody()
        found[order] = True
        return found


# A query's clauses, and who is in its answer.
Asked = tuple[str, Callable[[Now], Mask]]


class Traffic:
    """Rows in order, and who was where at a moment."""

    def __init__(self, rows: pa.Table, timeout: int):
        self.rows, self.timeout = rows, timeout
        self.names = np.array(sorted(rows["cab_id"].unique().to_pylist()), dtype=object)
        self._codes = pc.index_in(rows["cab_id"], pa.array(self.names)).to_numpy()
        self.times = rows["t"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
        self._x, self._y = rows["lon"].to_numpy(), rows["lat"].to_numpy()
        self._free = rows["occupied"].to_numpy() == 0
        assert (np.diff(self.times) >= 0).all()

    def at(self, moment: int) -> Now:
        """After all rows until then, and all that timed out."""
        count = int(np.searchsorted(self.times, moment, side="right"))
        latest = np.full(len(self.names), -1)
        latest[self._codes[:count]] = np.arange(count)
        there = latest[latest >= 0]
        there = there[self.times[there] + self.timeout > moment]
        names = self.names[self._codes[there]]
        return Now(names, self._x[there], self._y[there], self._free[there])


# --- queries


def neighbourhoods() -> Iterator[tuple[str, Asked]]:
    features = json.loads((DATA / "sf_neighborhoods.geojson").read_text())["features"]
    for feature in features:
        shape = feature["geometry"]
        rings = [np.array(ring)[:, :2] for part in shape["coordinates"] for ring in part]

        def inside(now: Now, rings: list[Any] = rings) -> Mask:
            return even_odd(rings, now)

        name = feature["properties"]["name"]
        yield name, (f"INSIDE POLYGON '{json.dumps(shape)}'", inside)


def even_odd(rings: list[npt.NDArray[np.float64]], now: Now) -> Mask:
    """How many edges a ray to the right crosses: edges down the rows, taxis across."""
    count = np.zeros(len(now.names), dtype=np.int64)
    for ring in rings:
        (ax, ay), (bx, by) = ring[:-1].T[:, :, None], ring[1:].T[:, :, None]
        spans = (np.minimum(ay, by) <= now.y) & (now.y < np.maximum(ay, by))
        with np.errstate(divide="ignore", invalid="ignore"):
            crossed = spans & (now.x < ax + (now.y - ay) * (bx - ax) / (by - ay))
        count += crossed.sum(axis=0)
    return count % 2 == 1


def about(name: str) -> Iterator[tuple[str, Asked]]:
    """A box, a circle and the five nearest, all moving with one taxi."""
    clause = f"'M', '{name}'"

    def box(now: Now) -> Mask:
        if not (focal := now.focal(name)):
            return now.nobody()
        x, y, others = focal
        across = (x - 0.02 / 2 <= now.x) & (now.x < x + 0.02 / 2)
        return others & across & (y - 0.01 / 2 <= now.y) & (now.y < y + 0.01 / 2)

    def circle(now: Now) -> Mask:
        if not (focal := now.focal(name)):
            return now.nobody()
        x, y, others = focal
        dx, dy = now.x - x, now.y - y
        return others & (dx * dx + dy * dy <= 0.01 * 0.01)

    def nearest(now: Now) -> Mask:
        focal = now.focal(name)
        return now.nearest(5, *focal) if focal else now.nobody()

    def free(now: Now) -> Mask:
        if not (focal := now.focal(name)):
            return now.nobody()
        x, y, others = focal
        return now.nearest(3, x, y, others & now.free)

    yield f"{name} box", (f"INSIDE ({clause}, 0.02, 0.01)", box)
    yield f"{name} circle", (f"INSIDE CIRCLE ({clause}, 0.01)", circle)
    yield f"{name} nearest", (f"kNN ('M', 5, '{name}')", nearest)
    yield f"{name} free", (f"WHERE occupied = 0 kNN ('M', 3, '{name}')", free)


def downtown() -> Iterator[tuple[str, Asked]]:
    """The free taxis nearest to a corner, anywhere and within a box."""
    x, y = -122.41, 37.78

    def free(now: Now) -> Mask:
        return now.nearest(5, x, y, now.free)

    def west(now: Now) -> Mask:
        box = (now.x >= -122.5) & (now.x < -122.42) & (now.y >= 37.7) & (now.y < 37.8)
        return now.nearest(5, x, y, box)

    yield "free", (f"WHERE occupied = 0 kNN (5, {x}, {y})", free)
    yield "west", (f"INSIDE (-122.5, 37.7, -122.42, 37.8) kNN (5, {x}, {y})", west)


# --- the comparison


def ledger(traffic: Traffic, asked: dict[str, Asked], late: int, seed: int) -> pa.Table:
    """The changes of random cuts with restarts; the queries come after so many rows."""
    draw, rows = random.Random(seed), traffic.rows
    catalog = Catalog.of(f"{CABS} TIMEOUT INTERVAL {traffic.timeout} MICROSECONDS")
    texts = [
        f'CREATE QUERY "{name}" AS SELECT * FROM cabs {clauses}'
        for name, (clauses, _) in asked.items()
    ]
    tracker, place, found = wl.Tracker(catalog, "cabs"), 0, []
    while place < rows.num_rows:
        if place == late:
            catalog.execute("; ".join(texts))
            found.append(tracker.advance_to(catalog.version))
        size = draw.choice([1, 50, 500, 3_000])
        if place < late:
            size = min(size, late - place)
        found.append(tracker.process(rows.slice(place, size)))
        place += size
        if draw.random() < 0.1:
            tracker = wl.Tracker.restore(catalog, "cabs", tracker.snapshot())
    assert tracker.stats()["late"] == tracker.stats()["rejected"] == 0
    return pa.concat_tables(found)


def check(traffic: Traffic, asked: dict[str, Asked], moments: list[int], changes: pa.Table) -> int:
    """Replay the changes; how many members the answers had at the moments, all in all."""
    times = changes["time"].cast(pa.int64()).to_numpy()
    assert (np.diff(times) >= 0).all()
    columns = [changes[name].to_pylist() for name in ("query_id", "sign", "object_id")]
    events = list(zip(*columns, strict=True))
    answers: dict[str, set[str]] = {name: set() for name in asked}
    place = members = 0
    for moment in moments:
        end = int(np.searchsorted(times, moment, side="right"))
        for name, sign, who in events[place:end]:
            assert (who in answers[name]) == (sign < 0), (name, sign, who)
            (answers[name].add if sign > 0 else answers[name].remove)(who)
        place, now = end, traffic.at(moment)
        for name, (_, holds) in asked.items():
            truth = set(now.names[holds(now)].tolist())
            assert answers[name] == truth, (name, moment)
            members += len(truth)
    return members


def evening(minutes: int, timeout: int) -> Traffic:
    rows = cabs()
    end = START + timedelta(minutes=minutes)
    kept = pc.and_(pc.greater_equal(rows["t"], START), pc.less(rows["t"], end))
    return Traffic(rows.filter(kept), timeout)


def sampled(traffic: Traffic, late: int, count: int, seed: int) -> list[int]:
    """Moments of rows and between them, when the queries are there and time goes on."""
    draw = random.Random(seed)
    first, last = int(traffic.times[late]), int(traffic.times[-1]) - 1
    rows = [int(draw.choice(traffic.times[late:])) for _ in range(count // 2)]
    between = [draw.randint(first, last) for _ in range(count // 2)]
    return sorted(moment for moment in [*rows, *between] if first < moment < last)


def test_taxis_in_neighbourhoods() -> None:
    traffic, asked = evening(60, 5 * MINUTE), dict(neighbourhoods())
    changes = ledger(traffic, asked, 0, seed=1)
    assert len(asked) == 37
    assert check(traffic, asked, sampled(traffic, 0, 30, seed=1), changes) > 2_000


@pytest.mark.parametrize("timeout", [2, 60])
def test_taxis_about_a_taxi(timeout: int) -> None:
    """Some taxis are far out, two jump across the city; with two minutes they vanish often.

    The queries come when many taxis are there already: each starts when its taxi reports again.
    """
    traffic = evening(90, timeout * MINUTE)
    late = traffic.rows.num_rows // 4
    heard = late + 3_000
    again = traffic.rows.slice(late, heard - late)["cab_id"].unique().to_pylist()
    assert set(again) > set(PING_PONG)
    some = [*PING_PONG, *random.Random(timeout).sample(sorted(again), 6)]
    asked = {name: query for cab in some for name, query in about(cab)} | dict(downtown())
    changes = ledger(traffic, asked, late, seed=timeout)
    reasons = set(changes["reason"].unique().to_pylist())
    assert reasons >= {"registered", "enter", "exit"}
    assert timeout == 60 or "expired" in reasons
    moments = sampled(traffic, heard, 200, seed=timeout)
    assert len(moments) > 100
    assert check(traffic, asked, moments, changes) > 5_000
