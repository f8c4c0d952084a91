"""The guide "Metres on Earth": its commands ask three questions about real cabs, its job answers
them as brute force does, and its table of errors holds."""

from __future__ import annotations

import math
import random
import re
import shlex
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from geographiclib.geodesic import Geodesic
from pyspark.sql import SparkSession

from watchline.kernels.earth import metres_between, wrapped

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "metres-on-earth.md").read_text(encoding="utf-8")
CABS = ROOT.parent / "shared" / "data" / "cabs_sf.parquet"
HOURS = 3
MICROS = 1_000_000
TIMEOUT = 600 * MICROS
NEAREST = 5
NEVER = np.int64(2**62)

Doubles = npt.NDArray[np.float64]
# Query, sign, object, microseconds, reason; and how far away.
Change = tuple[str, int, str, int, str]
Found = dict[Change, list[float]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


# --- the table


def rows_of_table() -> list[tuple[str, float, float]]:
    found = re.findall(r"^\| ([\d,]+ k?m|antipodes) \| ([\d,.]+) m \| ([\d,.]+) m \|$", GUIDE, re.M)
    return [(name, *(float(n.replace(",", "")) for n in errors)) for name, *errors in found]


@pytest.mark.parametrize(("name", "most", "half"), rows_of_table())
def test_distances_are_as_exact_as_the_guide_says(name: str, most: float, half: float) -> None:
    draw, earth, errors = random.Random(name), Geodesic.WGS84, []
    for _ in range(1_000):
        lat, lon = math.degrees(math.asin(draw.uniform(-1, 1))), draw.uniform(-180, 180)
        if name == "antipodes":
            there = -lat, wrapped(lon + 180)
            metres = earth.Inverse(lat, lon, *there, Geodesic.DISTANCE)["s12"]
        else:
            number, unit = name.replace(",", "").split()
            metres = float(number) * {"m": 1, "km": 1000}[unit]
            end = earth.Direct(lat, lon, draw.uniform(0, 360), metres)
            there = end["lat2"], wrapped(end["lon2"])
        places = (np.array([value]) for value in (lon, lat, there[1], there[0]))
        errors.append(abs(metres_between(*places)[0] - metres))
    assert len(rows_of_table()) == 8
    assert most / 2 < max(errors) <= most or most < 1e-8
    assert np.median(errors) <= half


# --- the questions, by brute force


class Rows(NamedTuple):
    """Fixes in the order in which they count."""

    ids: list[str]
    times: list[int]
    lon: Doubles
    lat: Doubles
    vectors: npt.NDArray[Any]
    free: list[bool]


def vectors(lon: Doubles, lat: Doubles) -> npt.NDArray[Any]:
    """Of the ellipsoid, by the reduced latitude and in long doubles."""
    theta, phi = (np.radians(np.asarray(v, dtype=np.longdouble)) for v in (lon, lat))
    ratio = 1 - 1 / np.longdouble("298.257223563")
    out, up = np.cos(phi), ratio * np.sin(phi)
    out, up = (part / np.hypot(out, up) for part in (out, up))
    places = [out * np.cos(theta), out * np.sin(theta), ratio * up]
    return 6_378_137 * np.stack(places, axis=-1)


def arc(chord: Any) -> Any:
    return 2 * 6_371_008.8 * np.arcsin(chord / (2 * 6_371_008.8))


def rows_of(cabs: pa.Table) -> Rows:
    ids = np.array(cabs["cab_id"].to_pylist())
    times = cabs["t"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
    lon, lat, taken = (cabs[name].to_numpy() for name in ("lon", "lat", "occupied"))
    order = np.lexsort([taken, lat, lon, ids, times])
    ids, times, lon, lat, taken = (column[order] for column in (ids, times, lon, lat, taken))
    free = (taken == 0).tolist()
    return Rows(ids.tolist(), times.tolist(), lon, lat, vectors(lon, lat), free)


def by_cab(rows: Rows, name: str, holds: list[bool], far: Doubles | None) -> Found:
    """What a query says that each row of a cab decides alone, or with the one before."""
    found: Found = defaultdict(list)
    last: dict[str, int] = {}
    fixes = defaultdict(list)
    for i, cab in enumerate(rows.ids):
        fixes[cab].append(i)

    def tell(cab: str, sign: int, time: int, reason: str, i: int) -> None:
        found[name, sign, cab, time, reason].append(math.nan if far is None else float(far[i]))

    for cab, mine in fixes.items():
        inside = False
        for before, i in zip([None, *mine], mine, strict=False):
            if before is not None and rows.times[i] > rows.times[before] + TIMEOUT and inside:
                tell(cab, -1, rows.times[before] + TIMEOUT, "expired", before)
                inside = False
            if holds[i] != inside:
                tell(
                    cab,
                    *((1, rows.times[i], "enter") if holds[i] else (-1, rows.times[i], "exit")),
                    i,
                )
            inside = holds[i]
        last[cab] = mine[-1]
        if inside and rows.times[mine[-1]] + TIMEOUT < rows.times[-1]:
            tell(cab, -1, rows.times[mine[-1]] + TIMEOUT, "expired", mine[-1])
    return found


def near_place(rows: Rows, name: str, lon: float, lat: float, metres: float) -> Found:
    far = arc(np.linalg.norm(rows.vectors - vectors(np.array(lon), np.array(lat)), axis=1))
    # None is so near to the border that rounding decides.
    assert np.abs(far - metres).min() > 1e-7
    return by_cab(rows, name, (far <= metres).tolist(), far.astype(np.float64))


def fast_in_box(rows: Rows, name: str, limit: float, box: tuple[float, ...]) -> Found:
    west, south, east, north = box
    there = (rows.lon >= west) & (rows.lon < east) & (rows.lat >= south) & (rows.lat < north)
    holds, last = [], dict[str, int]()
    for i, cab in enumerate(rows.ids):
        before = last.get(cab)
        last[cab] = i
        span = 0 if before is None else rows.times[i] - rows.times[before]
        if not 0 < span <= TIMEOUT:
            holds.append(False)
            continue
        speed = arc(np.linalg.norm(rows.vectors[i] - rows.vectors[before])) / (span / MICROS)
        assert abs(speed - limit) > 1e-9
        holds.append(bool(there[i] and speed > limit))
    return by_cab(rows, name, holds, None)


class Nearest:
    """The five nearest free cabs of one that drives, after each row computed anew."""

    def __init__(self, rows: Rows, name: str, focal: str):
        self.rows, self.name, self.focal = rows, name, focal
        self.names = sorted(set(rows.ids))
        self.place = {cab: at for at, cab in enumerate(self.names)}
        self.last = np.full(len(self.names), -1)
        self.free = np.zeros(len(self.names), dtype=bool)
        self.deadlines = np.full(len(self.names), NEVER)
        self.at = np.full((len(self.names), 3), np.nan, dtype=np.float64)
        self.answer: dict[int, float] = {}
        self.found: Found = defaultdict(list)

    def run(self) -> Found:
        me, times = self.place[self.focal], self.rows.times
        here = self.rows.vectors.astype(np.float64)
        for i, cab in enumerate(self.rows.ids):
            self.expire(times[i])
            slot, started = self.place[cab], self.last[me] >= 0
            self.last[slot], self.free[slot], self.at[slot] = i, self.rows.free[i], here[i]
            self.deadlines[slot] = times[i] + TIMEOUT
            starts = slot == me and not started
            self.settle(times[i], "exit", "registered" if starts else "enter")
        return self.found

    def expire(self, now: int) -> None:
        """Those that were silent for too long, one by one, in the order of their deadlines."""
        late = np.flatnonzero(self.deadlines < now)
        for end, slot in sorted((int(self.deadlines[slot]), int(slot)) for slot in late):
            gone = self.at[slot]
            self.last[slot], self.free[slot], self.deadlines[slot] = -1, False, NEVER
            self.settle(end, "expired", "enter", gone if slot == self.place[self.focal] else None)

    def settle(self, time: int, left: str, entered: str, centre: Any = None) -> None:
        me = self.place[self.focal]
        if self.last[me] < 0 and not self.answer:
            return
        middle = self.at[me] if centre is None else centre
        far = ((self.at - middle) ** 2).sum(axis=1)
        far[~self.free] = np.inf
        far[me] = np.inf
        some = np.flatnonzero(np.isfinite(far)) if self.last[me] >= 0 else np.empty(0, np.int64)
        order = some[np.lexsort((some, far[some]))]
        chosen, rest = order[:NEAREST], order[NEAREST : NEAREST + 1]
        if len(rest):
            self.certain(int(chosen[-1]), int(rest[0]), middle)
        new = set(chosen.tolist())
        changes = [(-1, slot, left) for slot in set(self.answer) - new]
        changes += [(1, slot, entered) for slot in new - set(self.answer)]
        for sign, slot, reason in changes:
            chord = np.linalg.norm(self.at[slot] - middle)
            told = (self.name, sign, self.names[slot], time, reason)
            self.found[told].append(float(arc(chord)))
        self.answer = dict.fromkeys(new, 0.0)

    def certain(self, one: int, other: int, middle: Any) -> None:
        """No rounding decides which of two cabs is among the nearest: they are at one place, where
        the lesser id counts, or some nanometres apart."""
        gaps = [float(np.linalg.norm(self.at[slot] - middle)) for slot in (one, other)]
        assert gaps[1] - gaps[0] > 1e-8 or (self.at[one] == self.at[other]).all()


def wanted(cabs: pa.Table) -> Found:
    rows = rows_of(cabs)
    return {
        **near_place(rows, "station", -122.3949, 37.7764, 500.0),
        **fast_in_box(rows, "racing", 30.0, (-122.425, 37.772, -122.392, 37.798)),
        **Nearest(rows, "relief", "eggfrij").run(),
    }


def given(told: pa.Table) -> Found:
    times = told["time"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    names = ("query_id", "sign", "object_id", "reason", "distance")
    found: Found = defaultdict(list)
    columns = (told[name].to_pylist() for name in names)
    for (query, sign, cab, reason, far), time in zip(
        zip(*columns, strict=True), times, strict=True
    ):
        found[query, sign, cab, time, reason].append(math.nan if far is None else far)
    return found


def agree(found: Found, expected: Found) -> None:
    counts, others = ({key: len(far) for key, far in some.items()} for some in (found, expected))
    assert counts == others
    for key, far in expected.items():
        assert sorted(found[key]) == pytest.approx(sorted(far), abs=1e-6, nan_ok=True), key


@pytest.fixture(scope="module")
def cabs() -> pa.Table:
    if not CABS.exists():
        pytest.skip("needs the shared data")
    rows = pq.read_table(CABS)
    end = pc.add(pc.min(rows["t"]), pa.scalar(HOURS * 3_600_000, pa.duration("ms")))
    return rows.filter(pc.less(rows["t"], end))


def commands() -> list[list[str]]:
    return [shlex.split(line) for block in blocks("sh") for line in block.splitlines()]


def statements() -> list[str]:
    """The stream and the queries of the guide."""
    added = [line for line in commands() if "add" in line]
    return [
        line[-1] if line[3] == "stream" else f"CREATE QUERY {line[-2]} AS {line[-1]}"
        for line in added
    ]


@pytest.mark.slow
def test_a_tracker_answers_as_brute_force_does(cabs: pa.Table) -> None:
    import watchline as wl

    rows = cabs.set_column(0, "cab_id", cabs["cab_id"].cast(pa.string()))
    expected = wanted(cabs)
    sizes = Counter(query for query, *_ in expected)
    assert min(sizes[name] for name in ("station", "relief", "racing")) > 300
    tracker = wl.Tracker(wl.Catalog.of(statements()), "cabs")
    pieces = [tracker.process(rows.slice(at, 30_000)) for at in range(0, len(rows), 30_000)]
    agree(given(pa.concat_tables(pieces)), expected)


@pytest.mark.spark
@pytest.mark.slow
def test_the_guide_gives_what_brute_force_gives(
    cabs: pa.Table, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.programs import InProcess
    from watchline.cli import cli
    from watchline.spark.sink import committed_files

    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    pq.write_table(cabs, tmp_path / "in" / "cabs_sf.parquet")
    [job] = blocks("toml")
    (tmp_path / "job.toml").write_text(job)
    for line in commands()[:-1]:
        done = CliRunner().invoke(cli, line[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert commands()[-1] == ["watchline", "run", "job.toml"]
    ended = InProcess(spark, monkeypatch).finish(tmp_path, "run")
    assert ended.code == 0, ended.stderr
    files = committed_files(str(tmp_path / "changes"))
    agree(given(pa.concat_tables([pq.read_table(file) for file in files])), wanted(cabs))
