"""Input of a streaming benchmark: one Parquet file for each micro-batch."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def write_batch(rows: pa.Table, folder: Path, number: int) -> None:
    """Write the file that Spark reads as micro-batch `number`.

    Spark takes files in the order of their modification times. Small files are written within one
    tick of that clock, so each file gets a time of its own.
    """
    path = folder / f"{number:03}.parquet"
    pq.write_table(rows, path, row_group_size=100_000)
    os.utime(path, (1_000 * (number + 1),) * 2)
