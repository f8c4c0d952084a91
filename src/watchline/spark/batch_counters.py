"""Counters as tasks write them: JSON in a column of its own, beside rows or in a row of its own.

`observing.py` is the driver's side: Spark combines those of all tasks there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

# The column that has them; NULL in rows that have none beside them.
COUNTS = "_watchline_counts"
COUNTS_TYPE = pa.string()
# Rows that were rejected, by the reason: the one counter that is a map.
BY_REASON = "rejected_by"


def as_json(counts: Mapping[str, Any]) -> str:
    """Counters as the text that travels beside the rows."""
    return json.dumps(counts)


def since(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What was counted between the two: numbers, and maps of numbers."""
    return {
        name: dict(Counter(n) - Counter(before[name])) if isinstance(n, dict) else n - before[name]
        for name, n in after.items()
        if name in before
    }


def counters_alone(counts: pa.Array, schema: pa.Schema) -> pa.RecordBatch:
    """Rows that have nothing but counters, in the columns of a result and one more."""
    nothing = [pa.nulls(len(counts), kind) for kind in schema.types]
    return pa.RecordBatch.from_arrays([*nothing, counts], [*schema.names, COUNTS])
