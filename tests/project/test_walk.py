"""The walk of a row: which packages one batch of each kind passes, and in which order.

ARCHITECTURE.md has the walks as a table. One small batch of each kind goes through the tasks that
Spark's workers run, in this process and without a JVM, while a profiler notes every call from one
package of Watchline into another.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from watchline.catalog import Catalog
from watchline.model import Keep
from watchline.rows import change_schema
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.joining.route import JoinRouter
from watchline.spark.joining.shard import JoinOperator
from watchline.spark.matching import MatchTask
from watchline.spark.routing import Router, RouteTask, shard_keys
from watchline.spark.shard_task import ShardOperator, ShardTask
from watchline.spark.tracking.merge import MergeTask
from watchline.spark.tracking.route import ChangeRouter
from watchline.spark.tracking.shard import ChangeOperator

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "watchline"
MOST_STOPS = 6
# Packages that only give words to others: what a stream or a query is, array types, the wall clock.
VOCABULARY = {"catalog", "clock", "errors", "kernels", "model", "names", "reasons"}
# A row does not come here: queries as columns.
QUERIES = {"watchline.proximity.query_columns"}
# Packages that others enter by the names of their modules: `kernels` so that who needs array types
# loads no compiler, `spark` because its parts load when they are first used.
BY_MODULE = {"kernels", "spark"}

START = datetime(2026, 3, 1, tzinfo=timezone.utc)
ROWS, SHARDS = 60, 2
CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, speed DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)
PAIRS = [
    f"CREATE STREAM {name} (id BIGINT, x DOUBLE, ts TIMESTAMP) OBJECT id TIME ts" for name in "rs"
]


def rows() -> pa.RecordBatch:
    rng = np.random.default_rng(5)
    times = [START + timedelta(seconds=i) for i in range(ROWS)]
    return pa.record_batch(
        {
            "id": pa.array(np.arange(ROWS) % 20),
            "x": rng.uniform(0, 1, ROWS),
            "y": rng.uniform(0, 1, ROWS),
            "speed": rng.uniform(0, 30, ROWS),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


def catalog(path: Path, statements: Sequence[str]) -> CatalogRef:
    made = Catalog(path / "catalog")
    made.execute(";".join(statements))
    return CatalogRef.of(made)


# --- one batch of each kind


def matches(path: Path) -> Callable[[], Any]:
    queries = [f"CREATE QUERY q{i} AS SELECT * FROM cars WHERE speed > {i}" for i in range(40)]
    task = MatchTask(catalog(path, [CARS, *queries]), "cars", ("id",), 1)
    return lambda: list(task(iter([rows()])))


def through_shards(
    ref: CatalogRef, routers: dict[Router, pa.RecordBatch], operator: ShardOperator[Any]
) -> pa.Table:
    """What the shards send, as `spark/shard_job.py` lets the tasks follow each other."""
    routed = pa.Table.from_batches(
        batch
        for router, given in routers.items()
        for batch in RouteTask(ref, 1, None, router)(iter([given]))
    )
    task = ShardTask(ref, SHARDS, 1, None, operator)
    shards = routed["shard"].to_numpy()
    return pa.concat_tables(
        task.whole_batch((pa.scalar(key),), routed.filter(pa.array(shards == key)))
        for key in shard_keys(SHARDS)
    )


def changes(path: Path, queries: Sequence[str]) -> Callable[[], Any]:
    ref = catalog(path, [CARS, *queries])
    operator = ChangeOperator(ref, "cars", merged=True, remembers=False, keep=Keep())
    schema = change_schema(ref.open().stream("cars"))

    def batch() -> pa.Table:
        sent = through_shards(ref, {ChangeRouter(ref, "cars", SHARDS): rows()}, operator)
        return pa.Table.from_batches(MergeTask(schema, SHARDS, None)(iter(sent.to_batches())))

    return batch


def range_changes(path: Path) -> Callable[[], Any]:
    boxes = (f"({i / 400}, 0, {i / 400 + 0.3}, 1)" for i in range(300))
    return changes(
        path, [f"CREATE QUERY q{i} AS SELECT * FROM cars INSIDE {b}" for i, b in enumerate(boxes)]
    )


def moving_ranges(path: Path) -> Callable[[], Any]:
    return changes(path, ["CREATE QUERY m AS SELECT * FROM cars INSIDE ('M', 3, 0.5, 0.5)"])


def nearest_neighbours(path: Path) -> Callable[[], Any]:
    return changes(path, ["CREATE QUERY k AS SELECT * FROM cars kNN (3, 0.5, 0.5)"])


def joins(path: Path) -> Callable[[], Any]:
    query = "CREATE QUERY j AS SELECT * FROM r [RANGE 60 SECONDS], s [ROWS 10] WHERE r.x < s.x"
    ref = catalog(path, [*PAIRS, query])
    operator = JoinOperator(ref, ("r", "s"), 1, ())
    given = rows().select(["id", "x", "ts"])
    routers: dict[Router, pa.RecordBatch] = {
        JoinRouter(ref, name, number, SHARDS): given for number, name in enumerate("rs")
    }
    return lambda: through_shards(ref, routers, operator)


KINDS = {
    "matches": matches,
    "range changes": range_changes,
    "moving ranges": moving_ranges,
    "nearest neighbours": nearest_neighbours,
    "joins": joins,
}


# --- the trace, and the table


def walk(batch: Callable[[], Any]) -> list[str]:
    """The packages that a batch enters, in the order in which it first comes to them."""
    stops: list[str] = []

    def note(frame: Any, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("watchline.") and name not in QUERIES:
            package = name.split(".")[1]
            if package not in VOCABULARY and package not in stops:
                stops.append(package)

    sys.setprofile(note)
    try:
        batch()
    finally:
        sys.setprofile(None)
    return stops


def table() -> dict[str, list[str]]:
    """The walks of ARCHITECTURE.md, by their kinds."""
    lines = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| stop |"))
    cells = [[cell.strip(" `") for cell in line.split("|")[2:-1]] for line in lines[first:]]
    head, _, *body = cells[: cells.index([])]
    columns = zip(*body, strict=True)
    return {kind: [s for s in stops if s] for kind, stops in zip(head, columns, strict=True)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_walk_is_the_one_in_the_table(kind: str, tmp_path: Path) -> None:
    batch = KINDS[kind](tmp_path)
    # Once before: kernels are compiled, catalogs are opened, and all of that is no row's way.
    assert sum(len(part) for part in batch()) > 0
    stops = walk(batch)
    assert stops == table()[kind]
    assert len(stops) <= MOST_STOPS


def test_the_table_has_all_kinds() -> None:
    assert set(table()) == set(KINDS)


def deep_imports() -> Iterator[str]:
    """Imports of another package that pass its `__init__` by."""
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE).parts
        own = inside[0] if len(inside) > 1 else ""
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("watchline."):
                package, *module = (node.module or "").split(".")[1:]
                if module and package not in {own, *BY_MODULE} and "papers" not in module:
                    yield f"{'/'.join(inside)}:{node.lineno} imports {node.module}"


def test_a_package_is_entered_through_its_init() -> None:
    assert list(deep_imports()) == []
