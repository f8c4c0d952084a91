"""Writes the fixture of this folder with commit 2eb3528, before deltas had format 5.

    git worktree add /tmp/old 2eb3528
    PYTHONPATH=/tmp/old/src .venv/bin/python tests/data/2eb3528/make.py

`chain.json.xz` has the statements of a catalog with several versions, a snapshot of a tracker and
the deltas after it (lives begin and end in them, and focal objects report), a snapshot of a tracker
that sheds, the rows that come later, and the changes that the commit itself makes of them.
"""

from __future__ import annotations

import base64
import json
import lzma
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

import watchline as wl
from watchline.catalog import Catalog

HERE = Path(__file__).parent
SECOND = 1_000_000
STATEMENTS = [
    """
CREATE STREAM cars (id STRING, x DOUBLE, y DOUBLE, kind STRING, ts TIMESTAMP)
       OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 8 SECONDS;
CREATE QUERY west AS SELECT * FROM cars WHERE x < 40 EMIT CHANGES;
CREATE QUERY lunch AS SELECT * FROM cars INSIDE (0, 0, 70, 70) FOR INTERVAL 9 SECONDS;
CREATE QUERY long AS SELECT * FROM cars WHERE kind = 'truck' FOR INTERVAL 300 SECONDS EMIT CHANGES;
CREATE QUERY convoy AS SELECT * FROM cars INSIDE ('M', 'car 3', 40, 30);
CREATE QUERY absent AS SELECT * FROM cars INSIDE ('M', 'car 19', 60, 60);
CREATE QUERY never AS SELECT * FROM cars INSIDE ('M', 'nobody', 60, 60);
CREATE QUERY near AS SELECT * FROM cars kNN (3, 50, 50);
""",
    """
CREATE OR REPLACE QUERY long AS SELECT * FROM cars WHERE kind = 'van' FOR INTERVAL 14 SECONDS
       EMIT CHANGES;
CREATE QUERY brief AS SELECT * FROM cars INSIDE ('M', 'car 5', 50, 50) FOR INTERVAL 25 SECONDS;
DROP QUERY west;
""",
]
BOUND: dict[str, Any] = {"retain": "significant", "cache": 1.0, "max_objects": 6, "shed": "objects"}
SCHEMA = pa.schema(
    [("id", pa.string()), ("x", pa.float64()), ("y", pa.float64()), ("kind", pa.string()),
     ("ts", pa.timestamp("us", "UTC"))]
)  # fmt: skip
BEFORE, AFTER = 12, 12


def rows(second: int) -> list[dict[str, Any]]:
    """The rows of a second. Car 19 comes late."""
    at = random.Random(second)
    cars = [19] if second == 7 else at.sample(range(16), 5)
    return [
        {
            "id": f"car {i}",
            "x": at.uniform(0, 100),
            "y": at.uniform(0, 100),
            "kind": at.choice(["truck", "van", None]),
            "ts": (second + 100) * SECOND,
        }
        for i in cars
    ]


def plain(changes: pa.Table) -> list[list[Any]]:
    names = ["query_id", "sign", "object_id", "time", "reason", "x"]
    columns = [changes[name] for name in names]
    columns[3] = columns[3].cast(pa.int64())
    return sorted(map(list, zip(*(column.to_pylist() for column in columns), strict=True)), key=str)


def text(blob: bytes) -> str:
    return base64.b64encode(blob).decode()


def main() -> None:
    catalog = Catalog.of(STATEMENTS)
    tracker = wl.Tracker(catalog, "cars", 1)
    bounded = wl.Tracker(catalog, "cars", 1, **BOUND)
    tracker.process(pa.Table.from_pylist(rows(0), SCHEMA))
    chain = [text(tracker.snapshot())]
    tracker.touched()
    changes: list[Any] = []
    for second in range(1, BEFORE + AFTER):
        made = pa.Table.from_pylist(rows(second), SCHEMA)
        done = plain(tracker.advance_to(2)) if second >= 4 else []
        done += plain(tracker.process(made))
        if second < BEFORE:
            bounded.process(made)
            touched = tracker.touched()
            assert touched is not None
            chain.append(text(tracker.delta([touched])))
        else:
            changes.append(done)
    found = {
        "statements": STATEMENTS,
        "chain": chain,
        "bounded": text(bounded.snapshot()),
        "bounded_stats": bounded.stats(),
        "later": [rows(second) for second in range(BEFORE, BEFORE + AFTER)],
        "changes": changes,
    }
    with lzma.open(HERE / "chain.json.xz", "wt", preset=9) as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
