"""After the shards: what their k nearest did becomes changes of one answer.

A kNN query is merged where the hash of its id says, whichever shards tell of it. Changes of other
queries pass untouched; those of one that was a kNN query when the batch began come after what is
told of that. There is no state here: each batch brings all that its merge needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline import sql
from watchline.index.result import one_thread
from watchline.model import Stream
from watchline.moving.merge import Timeline, merge, unpack
from watchline.spark.shard import CHANGES, LATER, PACKED, SENT, STREAM, binaries, sent_columns
from watchline.tracking import change_table


@dataclass(frozen=True)
class MergeTask:
    """The function that `mapInArrow` runs after the second shuffle: timelines become changes."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: dict[int, list[pa.Buffer]] = defaultdict(list)
        for batch in batches:
            kinds = batch.column("kind").to_numpy()
            for i in np.flatnonzero(kinds != CHANGES):
                waiting[int(kinds[i])].append(batch.column("packed")[i].as_buffer())
            yield _passed(batch, kinds)
        later = waiting.pop(LATER, [])
        for kind in sorted(waiting):
            with one_thread():
                columns = _merged([unpack(blob) for blob in waiting[kind]])
            yield _packed(columns)
        if later:
            yield _packed(sent_columns({}, [(0, CHANGES, blob.to_pybytes()) for blob in later]))


def _packed(columns: dict[str, list[Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns, schema=SENT).select(PACKED.names)


def _passed(batch: pa.RecordBatch, kinds: Any) -> pa.RecordBatch:
    """What is not merged. Of all else the counters beside it stay."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    if (kinds != CHANGES).any():
        columns["packed"] = pc.if_else(pa.array(kinds == CHANGES), columns["packed"], b"")
    return pa.RecordBatch.from_arrays([columns[name] for name in PACKED.names], schema=PACKED)


def _merged(timelines: list[Timeline]) -> dict[str, list[Any]]:
    """The packed changes, with their counters."""
    stream = _declared(timelines[0].rows.schema.metadata[STREAM.encode()].decode())
    found = merge(timelines, stream)
    changes = change_table(
        stream, found.rows, found.places, found.queries, found.signs, found.times, found.reasons
    )
    counted = {"changes": changes.num_rows, "answers": found.answers}
    sent = [(0, CHANGES, blob) for blob in binaries(changes)] or [(0, CHANGES, b"")]
    return sent_columns(counted, sent)


@lru_cache(maxsize=8)
def _declared(text: str) -> Stream:
    statement = sql.statement(text)
    assert isinstance(statement, sql.CreateStream)
    return statement.stream
