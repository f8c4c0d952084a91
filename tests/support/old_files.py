"""The catalog, jobs and states that commit 6de3d4c wrote, and how that commit continued them.

`tests/data/6de3d4c/make.py` made them, and says what they are.
"""

from __future__ import annotations

import json
import lzma
import os
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from watchline.catalog import Catalog

FOLDER = Path(__file__).parents[1] / "data" / "6de3d4c"
# Where the files were written: Spark's checkpoints and lists of files have whole paths.
WRITTEN_AT = "/tmp/watchline-6de3d4c"
# How the tracker that sheds was made.
BOUND: dict[str, Any] = {"retain": "significant", "cache": 1.0, "max_objects": 6, "shed": "objects"}
Row = dict[str, Any]

_TIME = pa.timestamp("us", "UTC")
SCHEMAS = {
    "cars": pa.schema(
        [("id", pa.int64()), ("x", pa.float64()), ("y", pa.float64()), ("speed", pa.float64()),
         ("n", pa.int64()), ("kind", pa.string()), ("ts", _TIME)]
    ),
    "r": pa.schema([("id", pa.int64()), ("x", pa.float64()), ("tag", pa.string()), ("ts", _TIME)]),
    "s": pa.schema([("name", pa.string()), ("x", pa.float64()), ("n", pa.int64()), ("at", _TIME)]),
}  # fmt: skip


def unpack(folder: Path) -> None:
    """The files, as if they had been written to this folder."""
    with tarfile.open(FOLDER / "begun.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    for path in [*folder.glob("*/checkpoint/sources/*/*"), *folder.glob("*/out/_spark_metadata/*")]:
        path.write_text(path.read_text().replace(WRITTEN_AT, str(folder)))


@cache
def continued() -> dict[str, Any]:
    """What commit 6de3d4c made of the later statements and rows."""
    with lzma.open(FOLDER / "continued.json.xz", "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def execute_later(folder: Path) -> Catalog:
    """The catalog after the statements that stand between the earlier rows and the later ones."""
    catalog = Catalog(folder / "catalog", create=False)
    catalog.execute((folder / "later.sql").read_text())
    return catalog


def later_files(folder: Path, stream: str) -> list[Path]:
    return sorted((folder / "later" / stream).iterdir())


def put_later(folder: Path, stream: str, source: str) -> None:
    """The later files of a stream among those that its job reads, with their times."""
    for path in later_files(folder, stream):
        os.rename(path, folder / source / path.name)


def later_tables(folder: Path, stream: str) -> list[pa.Table]:
    return [_table(path, SCHEMAS[stream]) for path in later_files(folder, stream)]


def _table(path: Path, schema: pa.Schema) -> pa.Table:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    columns = []
    for field in schema:
        column = pa.array([row[field.name] for row in rows])
        columns.append(column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def plain(found: pa.Table) -> list[Row]:
    """Rows as `continued` has them; times are microseconds."""
    columns = []
    for column in found.columns:
        if pa.types.is_timestamp(column.type):
            column = column.cast(_TIME).cast(pa.int64())
        columns.append(column.to_pylist())
    return [
        dict(zip(found.column_names, values, strict=True)) for values in zip(*columns, strict=True)
    ]


def in_order(rows: list[Row]) -> list[str]:
    """Comparable, whatever the order in which rows and columns came."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)
