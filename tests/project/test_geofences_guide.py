"""The guide "Geofences from a file": its commands load real neighbourhoods, and its job says which
cabs enter and leave them: all that brute force finds, and nothing else."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "geofences.md").read_text(encoding="utf-8")
DATA = ROOT.parent / "shared" / "data"
FENCES, CABS = DATA / "sf_neighborhoods.geojson", DATA / "cabs_sf.parquet"

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Doubles = npt.NDArray[np.float64]
# Query, sign, object, microseconds, reason.
Change = tuple[str, int, str, int, str]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def rings_of(geometry: dict[str, Any]) -> Iterator[list[list[float]]]:
    polygons = geometry["coordinates"]
    for polygon in [polygons] if geometry["type"] == "Polygon" else polygons:
        yield from polygon


def inside(rings: list[list[list[float]]], x: Doubles, y: Doubles) -> npt.NDArray[np.bool_]:
    """Even-odd, by the formula of the language: the edge from (xl, yl) up to (xu, yu) counts for
    yl <= y < yu and x < xl + (y - yl) / (yu - yl) * (xu - xl)."""
    odd = np.zeros(len(x), dtype=bool)
    for ring in rings:
        for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1], strict=True):
            if ay == by:
                continue
            xl, yl, xu, yu = (ax, ay, bx, by) if ay < by else (bx, by, ax, ay)
            near = np.flatnonzero((yl <= y) & (y < yu))
            crossing = xl + (y[near] - yl) / (yu - yl) * (xu - xl)
            odd[near] ^= x[near] < crossing
    return odd


def by_brute_force(cabs: pa.Table, fences: list[dict[str, Any]]) -> Counter[Change]:
    """What enters and leaves, cab by cab in the order of (time, longitude, latitude)."""
    ids = np.array(cabs["cab_id"].to_pylist())
    times = cabs["t"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
    x, y = cabs["lon"].to_numpy(), cabs["lat"].to_numpy()
    order = np.lexsort([y, x, times, ids])
    ids, times, x, y = ids[order], times[order], x[order], y[order]
    first = np.append(True, ids[1:] != ids[:-1])
    found: Counter[Change] = Counter()
    for fence in fences:
        rings = list(rings_of(fence["geometry"]))
        corners = np.array([corner for ring in rings for corner in ring])
        (west, south), (east, north) = corners.min(axis=0) - 1e-6, corners.max(axis=0) + 1e-6
        near = np.flatnonzero((west <= x) & (x <= east) & (south <= y) & (y <= north))
        now = np.zeros(len(x), dtype=bool)
        now[near] = inside(rings, x[near], y[near])
        before = np.append(False, now[:-1]) & ~first
        name = fence["properties"]["name"]
        for i in np.flatnonzero(now != before).tolist():
            sign, reason = (1, "enter") if now[i] else (-1, "exit")
            found[name, sign, str(ids[i]), int(times[i]), reason] += 1
    return found


@pytest.mark.skipif(not FENCES.exists() or not CABS.exists(), reason="needs the shared data")
def test_the_guide_gives_what_brute_force_gives(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.programs import InProcess
    from watchline.cli import cli
    from watchline.spark.sink import committed_files

    monkeypatch.chdir(tmp_path)
    shutil.copy(FENCES, tmp_path)
    (tmp_path / "in").mkdir()
    shutil.copy(CABS, tmp_path / "in")
    [job] = blocks("toml")
    (tmp_path / "job.toml").write_text(job)
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert [shlex.split(line)[:4][-1] for line in commands[1:3]] == ["query", "query"]
    for line in commands[:-1]:
        done = CliRunner().invoke(cli, shlex.split(line)[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert done.output == "registered 37 regions of sf_neighborhoods.geojson (version 2)\n"
    assert commands[-1] == "watchline run job.toml"
    ended = InProcess(spark, monkeypatch).finish(tmp_path, "run")
    assert ended.code == 0, ended.stderr

    told = pa.concat_tables(
        [pq.read_table(file) for file in committed_files(str(tmp_path / "changes"))]
    )
    times = told["time"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    columns = [told[name].to_pylist() for name in ("query_id", "sign", "object_id", "reason")]
    names, signs, cabs, reasons = columns
    given = Counter(zip(names, signs, cabs, times, reasons, strict=True))
    fences = json.loads(FENCES.read_text(encoding="utf-8"))["features"]
    expected = by_brute_force(pq.read_table(CABS), fences)
    assert sum(expected.values()) > 10_000
    assert given == expected
