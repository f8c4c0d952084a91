"""Real taxis and real prices: the tracker's ledger is the oracle's, however the rows are cut.

The data are not part of the project; without them these tests are skipped.
"""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import watchline as wl
from tests import reference
from tests.support.ledgers import SECOND, Told, attr, compared, expected, replayed, same, told
from watchline.catalog import Catalog

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="needs the shared data")

# Two vehicles each under one id: they jump across the city with every other row.
PING_PONG = ["upthin", "udwadla"]
CABS = (
    "CREATE STREAM cabs (cab_id STRING, t TIMESTAMP, lon DOUBLE, lat DOUBLE, occupied BIGINT)"
    " OBJECT cab_id TIME t POINT (lon, lat)"
)
PRICES = (
    "CREATE STREAM prices (symbol STRING, t TIMESTAMP, low DOUBLE, close DOUBLE)"
    " OBJECT symbol TIME t TIMEOUT INTERVAL 3 HOURS"
)
Asked = tuple[str, reference.QuerySpec]


def dicts(rows: pa.Table) -> list[dict[str, Any]]:
    times = rows["t"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return rows.set_column(rows.column_names.index("t"), "t", times).to_pylist()


def compare(rows: pa.Table, declared: str, asked: list[Asked], seed: int) -> list[Told]:
    """The tracker in random cuts, with a restart in between, against the oracle row by row."""
    catalog = Catalog.of([declared, *(text for text, _ in asked)])
    [stream] = catalog.streams()
    kinds = [(a.name, a.type.value) for a in stream.attributes]
    rows = rows.select([name for name, _ in kinds])
    spec = reference.StreamSpec(stream.object, stream.time, kinds, stream.point, stream.timeout)
    ledger = reference.Ledger(spec)
    ledger.version(adds=[query for _, query in asked])
    wanted = expected(ledger.process(dicts(rows)), [name for name, _ in kinds])
    draw, tracker = random.Random(seed), wl.Tracker(catalog, stream.name)
    found, place = [], 0
    while place < rows.num_rows:
        size = draw.choice([1, 2, 50, 500])
        found += told(tracker.process(rows.slice(place, size)))
        if draw.random() < 0.1:
            tracker = wl.Tracker.restore(catalog, stream.name, tracker.snapshot())
        place += size
    same(found, wanted)
    assert replayed(found) == {name: who for name, who in ledger.answers.items() if who}
    assert tracker.stats()["objects"] == len(ledger.live)
    assert tracker.stats()["late"] == ledger.counters["late"]
    whole = wl.Tracker(catalog, stream.name)
    same(told(whole.process(rows)), wanted)
    return wanted


def region(name: str, clause: str, tree: Any) -> Asked:
    text = f'CREATE QUERY "{name}" AS SELECT * FROM cabs INSIDE {clause}'
    return text, reference.QuerySpec(name, region=tree)


def places(smallest: int) -> list[Asked]:
    """Boxes and circles downtown and at the airport, and neighbourhoods of few corners."""
    asked = [
        region("centre", "(-122.4, 37.77, -122.3, 37.80)", ("box", -122.4, 37.77, -122.3, 37.8)),
        region("airport", "(-122.4, 37.6, -122.3, 37.63)", ("box", -122.4, 37.6, -122.3, 37.63)),
        region("near", "CIRCLE (-122.41, 37.78, 0.02)", ("circle", -122.41, 37.78, 0.02)),
        region("far", "CIRCLE (-122.39, 37.62, 0.01)", ("circle", -122.39, 37.62, 0.01)),
    ]  # fmt: skip
    where = ("and", compared("occupied", "=", 0), compared("lat", ">", 37.75))
    text = "CREATE QUERY free AS SELECT * FROM cabs WHERE occupied = 0 AND lat > 37.75 EMIT CHANGES"
    asked.append((text, reference.QuerySpec("free", where)))
    features = json.loads((DATA / "sf_neighborhoods.geojson").read_text())["features"]
    features.sort(key=lambda f: len(json.dumps(f["geometry"]["coordinates"])))
    for feature in features[:smallest]:
        rings = [
            [(x, y) for x, y, *_ in ring[:-1]]
            for polygon in feature["geometry"]["coordinates"]
            for ring in polygon
        ]
        shape = json.dumps(feature["geometry"])
        asked.append(
            region(feature["properties"]["name"], f"POLYGON '{shape}'", ("polygon", rings))
        )
    return asked


def cabs() -> pa.Table:
    rows = pq.read_table(DATA / "cabs_sf.parquet")
    return rows.set_column(0, "cab_id", rows["cab_id"].cast(pa.string()))


@pytest.mark.parametrize("timeout", [None, 300])
def test_taxis_that_ping_pong(timeout: int | None) -> None:
    rows = cabs()
    names = [*PING_PONG, *rows["cab_id"].unique().to_pylist()[:8]]
    rows = rows.filter(pc.is_in(rows["cab_id"], pa.array(names))).slice(3_000, 2_000)
    declared = CABS if timeout is None else f"{CABS} TIMEOUT INTERVAL {timeout} SECONDS"
    found = compare(rows, declared, places(8), seed=1)
    jumps = sum(c[2] in PING_PONG for c in found)
    assert jumps > 200
    assert (timeout is not None) == ("expired" in {c[4] for c in found})


def test_the_burst_at_midnight() -> None:
    """Hundreds of rows in one second, of which many do not move."""
    rows = cabs()
    midnight = datetime(2008, 6, 1, 7, 1, 14, tzinfo=timezone.utc)
    start, end = (midnight + timedelta(seconds=s) for s in (-20, 10))
    kept = pc.and_(pc.greater_equal(rows["t"], start), pc.less(rows["t"], end))
    rows = rows.filter(kept)
    some = rows["cab_id"].unique().to_pylist()[::2]
    rows = rows.filter(pc.is_in(rows["cab_id"], pa.array(some)))
    assert 200 < rows.num_rows < 2_000
    found = compare(rows, f"{CABS} TIMEOUT INTERVAL 10 SECONDS", places(5), seed=2)
    assert len(found) > 100


def test_prices_in_bands() -> None:
    """Eight bands for each of six symbols, over a weekend: all time out, and come back."""
    rows = pq.read_table(DATA / "fx_minute.parquet")
    rows = rows.set_column(0, "symbol", rows["symbol"].cast(pa.string()))
    friday = datetime(2020, 3, 6, 21, 0, tzinfo=timezone.utc)
    sunday = datetime(2020, 3, 8, 23, 0, tzinfo=timezone.utc)
    rows = rows.filter(pc.and_(pc.greater(rows["t"], friday), pc.less(rows["t"], sunday)))
    symbols = sorted(rows["symbol"].unique().to_pylist())[:6]
    rows = rows.filter(pc.is_in(rows["symbol"], pa.array(symbols)))
    asked = []
    for symbol in symbols:
        mine = rows.filter(pc.equal(rows["symbol"], symbol))["close"]
        bounds = pc.quantile(mine, [i / 10 for i in range(11)]).to_pylist()
        for i, (low, high) in enumerate(zip(bounds, bounds[3:], strict=False)):
            where = f"symbol = '{symbol}' AND close BETWEEN {low!r} AND {high!r}"
            band = ("between", attr("close"), ("const", low), ("const", high))
            tree = ("and", compared("symbol", "=", symbol), band)
            asked.append(price(f"{symbol} {i}", where, tree))
    asked.append(price("falling", "close <= low", ("cmp", "<=", attr("close"), attr("low"))))
    asked.append(price("day", "close > 1", compared("close", ">", 1.0), 2_400 * SECOND))
    found = compare(rows, PRICES, asked, seed=3)
    reasons = {c[4] for c in found}
    assert {"enter", "exit", "expired", "dropped"} == reasons
    assert len(found) > 500


def price(name: str, where: str, tree: Any, life: int | None = None) -> Asked:
    forever = "" if life is None else f" FOR INTERVAL {life} MICROSECONDS"
    text = f'CREATE QUERY "{name}" AS SELECT * FROM prices WHERE {where}{forever} EMIT CHANGES'
    return text, reference.QuerySpec(name, tree, lifetime=life)
