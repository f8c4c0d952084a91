"""Writes the fixtures of this folder with commit 6de3d4c, before states had format 3.

    git worktree add /tmp/old 6de3d4c
    PYTHONPATH=/tmp/old/src .venv/bin/python tests/data/6de3d4c/make.py

`begun.tar.xz` has a catalog, two jobs that have run for three batches (their rows, checkpoints and
sinks), the snapshots of two trackers and a joiner after the same rows, the rows that come later,
and the statements that are executed before them. The second tracker sheds objects. Both sinks, and
what the first tracker and the joiner give, are in `continued.json.xz` as commit 6de3d4c itself goes
on; of the second tracker, whose shedding has changed since, it has the changes before.

The large states of the join are files: `daemon.py` is the module of Spark's Python workers.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa

import watchline as wl

HERE = Path(__file__).parent
# Spark writes this path into checkpoints and lists of files; tests replace it by their own.
ROOT = Path("/tmp/watchline-6de3d4c")
NOON = 1_714_564_800_000  # milliseconds: 2024-05-01T12:00:00Z
Row = dict[str, Any]

DECLARED = """
CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, speed DOUBLE, n BIGINT, kind STRING,
       ts TIMESTAMP) OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 30 SECONDS;
CREATE STREAM r (id BIGINT, x DOUBLE, tag STRING, ts TIMESTAMP) OBJECT id TIME ts;
CREATE STREAM s (name STRING, x DOUBLE, n BIGINT, at TIMESTAMP) OBJECT name TIME at;
"""
ASKED = """
CREATE QUERY fast AS SELECT * FROM cars WHERE speed >= 60 EMIT CHANGES;
CREATE QUERY trucks AS SELECT * FROM cars WHERE kind = 'truck' AND x < 50 EMIT CHANGES;
CREATE QUERY edge AS SELECT * FROM cars WHERE x < 10 OR y > 90 OR n = 9007199254740993 EMIT CHANGES;
CREATE QUERY steep AS SELECT * FROM cars WHERE y > x EMIT CHANGES;
CREATE QUERY box AS SELECT * FROM cars INSIDE (20, 20, 60, 70);
CREATE QUERY depot AS SELECT * FROM cars INSIDE CIRCLE (50, 50, 25);
CREATE QUERY zone AS SELECT * FROM cars
       INSIDE POLYGON 'POLYGON ((10 10, 90 20, 40 95, 10 10), (40 30, 50 30, 45 50, 40 30))';
CREATE QUERY convoy AS SELECT * FROM cars INSIDE ('M', 3, 40, 30);
CREATE QUERY escort AS SELECT * FROM cars WHERE speed < 80 INSIDE CIRCLE ('M', 5, 25);
CREATE QUERY centre AS SELECT * FROM cars kNN (3, 50, 50);
CREATE QUERY near AS SELECT * FROM cars kNN ('M', 2, 3);
CREATE QUERY inmost AS SELECT * FROM cars WHERE speed < 70 INSIDE (20, 20, 80, 80) kNN (2, 40, 40);
CREATE QUERY lunch AS SELECT * FROM cars INSIDE (0, 0, 70, 70) FOR INTERVAL 60 SECONDS;
CREATE QUERY short AS SELECT * FROM cars INSIDE ('M', 5, 60, 60) FOR INTERVAL 30 SECONDS;
CREATE QUERY odd AS SELECT id, x FROM cars WHERE n < 3;
CREATE QUERY equal AS SELECT * FROM r [RANGE 10 SECONDS], s [ROWS 20] WHERE r.x = s.x;
CREATE QUERY less AS SELECT * FROM r [ROWS 5], s [RANGE 5 SECONDS] WHERE r.x < s.x AND n >= 5;
CREATE QUERY either AS SELECT * FROM s [ROWS 8], r [ROWS 8]
       WHERE (r.x = s.x AND tag = 'a') OR (s.n > r.x AND tag IN ('b', 'ü'));
CREATE QUERY twice AS SELECT * FROM r [ROWS 4] AS a, r [RANGE 3 SECONDS] AS b
       WHERE a.tag = b.tag AND a.x >= b.x;
"""
CHANGED = """
CREATE OR REPLACE QUERY box AS SELECT * FROM cars INSIDE (40, 30, 80, 90);
CREATE OR REPLACE QUERY escort AS SELECT * FROM cars kNN ('M', 3, 5);
CREATE OR REPLACE QUERY less AS SELECT * FROM r [ROWS 5], s [RANGE 5 SECONDS] WHERE r.x < s.x;
DROP QUERY fast;
"""
LATER = """
CREATE QUERY late AS SELECT * FROM cars INSIDE CIRCLE ('M', 7, 30);
CREATE OR REPLACE QUERY depot AS SELECT * FROM cars kNN (4, 60, 40);
CREATE QUERY tagged AS SELECT * FROM r [ROWS 6], s [ROWS 6] WHERE r.x = s.n AND tag = 'a';
DROP QUERY zone;
DROP QUERY twice;
"""
CARS = """
catalog = "catalog"
stream = "cars"
emit = "changes"
shards = 2
checkpoint = "cars/checkpoint"
trigger = "available now"
[source]
format = "json"
path = "cars/in"
options = { maxFilesPerTrigger = 1 }
[sink]
format = "json"
path = "cars/out"
"""
PAIRS = """
catalog = "catalog"
emit = "joins"
shards = 2
checkpoint = "pairs/checkpoint"
trigger = "available now"
[sources.r]
format = "json"
path = "pairs/r"
options = { maxFilesPerTrigger = 1 }
[sources.s]
format = "json"
path = "pairs/s"
options = { maxFilesPerTrigger = 1 }
[sink]
format = "json"
path = "pairs/out"
"""
DAEMON = """
import watchline.spark.daemon
from watchline.spark import state

state.INLINE = 4096

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()
"""
SCHEMAS = {
    "cars": [("id", pa.int64()), ("x", pa.float64()), ("y", pa.float64()), ("speed", pa.float64()),
             ("n", pa.int64()), ("kind", pa.string()), ("ts", pa.timestamp("us", "UTC"))],
    "r": [("id", pa.int64()), ("x", pa.float64()), ("tag", pa.string()),
          ("ts", pa.timestamp("us", "UTC"))],
    "s": [("name", pa.string()), ("x", pa.float64()), ("n", pa.int64()),
          ("at", pa.timestamp("us", "UTC"))],
}  # fmt: skip
FOLDERS = {"cars": "cars/in", "r": "pairs/r", "s": "pairs/s"}
BEFORE, AFTER = 3, 2
BOUND: dict[str, Any] = {"retain": "significant", "cache": 1.0, "max_objects": 6, "shed": "objects"}


def rows_of(stream: str, piece: int) -> list[Row]:
    """The rows of one file, by time; some have no number and are rejected."""
    draw = random.Random(f"{stream} {piece}")
    made: list[Row] = []
    now = NOON + 20_000 * piece
    for _ in range(30):
        now += draw.choice([0, 250, 500, 1_000])
        x = draw.choice([float(draw.randint(0, 100)), round(draw.uniform(0, 100), 3)])
        if stream == "cars":
            row = {"id": draw.randint(0, 11), "x": x, "y": round(draw.uniform(0, 100), 3)}
            row |= {"speed": None if draw.random() < 0.04 else round(draw.uniform(0, 100), 1)}
            row |= {"n": draw.choice([1, 2, 9007199254740992, 9007199254740993])}
            row |= {"kind": draw.choice(["car", "truck", "bus", "🚕", None])}
        elif stream == "r":
            row = {"id": draw.randint(0, 9), "x": float(draw.randint(0, 6))}
            row |= {"tag": draw.choice(["a", "b", "ü", None])}
        else:
            row = {"name": f"car {draw.randint(0, 9)}", "x": float(draw.randint(0, 6))}
            row |= {"n": draw.choice([None, *range(8)])}
        made.append(row | {"at" if stream == "s" else "ts": now})
    return made


def put(stream: str, piece: int, folder: str | None = None) -> None:
    """One more file of a stream; Spark takes files in the order of their times."""
    place = ROOT / (folder or FOLDERS[stream])
    place.mkdir(parents=True, exist_ok=True)
    time = "at" if stream == "s" else "ts"
    lines = []
    for row in rows_of(stream, piece):
        moment = f"2024-05-01T12:{(row[time] - NOON) / 60_000 // 1:02.0f}:"
        moment += f"{(row[time] - NOON) % 60_000 / 1_000:06.3f}Z"
        lines.append(json.dumps(row | {time: moment}, ensure_ascii=False))
    path = place / f"{piece}.json"
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (1_000 * piece + 1_000,) * 2)


def table(stream: str, piece: int) -> pa.Table:
    rows, columns = rows_of(stream, piece), {}
    for name, kind in SCHEMAS[stream]:
        values = [row[name] * 1_000 if pa.types.is_timestamp(kind) else row[name] for row in rows]
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def plain(found: pa.Table) -> list[Row]:
    """Rows as JSON has them; times are microseconds."""
    columns = {}
    for name in found.column_names:
        column = found[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        columns[name] = column.to_pylist()
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, values, strict=True)) for values in rows]


def run(spark: Any, name: str) -> None:
    from watchline.config import load
    from watchline.spark import job

    query = job.start(spark, load(str(ROOT / f"{name}.toml")))
    query.awaitTermination()
    print(name, [(p["batchId"], p["numInputRows"]) for p in query.recentProgress], flush=True)


def sunk(name: str) -> list[Row]:
    """What the sink holds, by Spark's own list of files."""
    from watchline.spark.sink import committed_files

    rows = []
    for file in committed_files(str(ROOT / name / "out")):
        rows += [json.loads(line) for line in Path(file).read_text().splitlines()]
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def archive() -> None:
    """All of it, without Spark's checksums of files, whose text tests change."""

    def wanted(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        return None if info.name.endswith(".crc") else info

    with tarfile.open(HERE / "begun.tar.xz", "w:xz", preset=9) as file:
        for place in sorted(ROOT.iterdir()):
            if place.name != "code":
                file.add(place, place.name, filter=wanted)


def main() -> None:
    shutil.rmtree(ROOT, ignore_errors=True)
    (ROOT / "code").mkdir(parents=True)
    (ROOT / "code" / "old_daemon.py").write_text(DAEMON)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "code"), *sys.path[1:]])
    for name, text in {"cars": CARS, "pairs": PAIRS}.items():
        (ROOT / f"{name}.toml").write_text(text.lstrip())
    (ROOT / "later.sql").write_text(LATER.lstrip())
    catalog = wl.Catalog(str(ROOT / "catalog"))
    catalog.execute(DECLARED)
    catalog.execute(ASKED)
    speeds = [float(i) for i in range(0, 100, 10)]
    ids = [f"speed-{i:.0f}" for i in speeds]
    bounds = {"speed": (speeds, [v + 15 for v in speeds])}
    catalog.register_boxes("cars", ids, bounds=bounds, emit="changes")
    daemon = {"spark.python.daemon.module": "old_daemon", "spark.sql.shuffle.partitions": "2"}
    spark = wl.session("local[2]", **daemon)
    tracker = wl.Tracker(catalog, "cars")
    bounded = wl.Tracker(catalog, "cars", **BOUND)
    joiner = wl.Joiner(catalog, ["r", "s"])
    kept: list[Row] = []
    for piece in range(BEFORE):
        if piece == BEFORE - 1:
            catalog.execute(CHANGED)
            tracker.advance_to(catalog.version)
            kept += plain(bounded.advance_to(catalog.version))
            joiner.advance_to(catalog.version)
        for stream in FOLDERS:
            put(stream, piece)
        tracker.process(table("cars", piece))
        kept += plain(bounded.process(table("cars", piece)))
        joiner.process({name: table(name, piece) for name in ("r", "s")})
        run(spark, "cars")
        run(spark, "pairs")
    (ROOT / "tracker.state").write_bytes(tracker.snapshot())
    (ROOT / "bounded.state").write_bytes(bounded.snapshot())
    (ROOT / "joiner.state").write_bytes(joiner.snapshot())
    for piece in range(BEFORE, BEFORE + AFTER):
        for stream in FOLDERS:
            put(stream, piece, f"later/{stream}")
    versions = {"version": catalog.version, "begun": {n: sunk(n) for n in ("cars", "pairs")}}
    versions["queries"] = [[q.id, str(q)] for q in catalog.queries()]
    archive()
    catalog.execute(LATER)
    opened = plain(tracker.advance_to(catalog.version))
    joiner.advance_to(catalog.version)
    changes, pairs = [opened], []
    for piece in range(BEFORE, BEFORE + AFTER):
        for stream in FOLDERS:
            put(stream, piece)
        changes.append(plain(tracker.process(table("cars", piece))))
        pairs.append(plain(joiner.process({n: table(n, piece) for n in ("r", "s")})))
    pairs.append(plain(joiner.finish()))
    run(spark, "cars")
    run(spark, "pairs")
    spark.stop()
    written = {"tracker": changes, "joiner": pairs, "stats": tracker.stats()}
    written["bounded"] = kept
    written["ended"] = {n: sunk(n) for n in ("cars", "pairs")}
    with lzma.open(HERE / "continued.json.xz", "wt", preset=9) as file:
        json.dump(versions | written, file, ensure_ascii=False)
    shutil.rmtree(ROOT)


if __name__ == "__main__":
    main()
