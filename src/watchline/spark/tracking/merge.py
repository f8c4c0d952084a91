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

import pyarrow as pa

from watchline import sql
from watchline.index.result import one_thread
from watchline.model import Stream
from watchline.moving.merge import Timeline, merge, unpack
from watchline.spark.counting import COUNTS, COUNTS_TYPE, as_json, counters_alone
from watchline.spark.shard import CHANGES, LATER, STREAM, unpacked
from watchline.tracking import change_table
from watchline.tracking.rows import conformed


@dataclass(frozen=True)
class MergeTask:
    """The function that `mapInArrow` runs after the second shuffle: timelines become changes, and
    all changes are unpacked. Out come changes of this schema with one more column, and rows that
    have nothing but counters in it.
    """

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: dict[int, list[pa.Buffer]] = defaultdict(list)
        for batch in batches:
            yield counters_alone(batch.column(COUNTS).drop_null(), self.schema)
            blobs = (packed.as_buffer() for packed in batch.column("packed"))
            for kind, blob in zip(batch.column("kind").to_pylist(), blobs, strict=True):
                if kind == CHANGES:
                    yield from self._told(unpacked(blob, self.schema))
                else:
                    waiting[kind].append(blob)
        later = waiting.pop(LATER, [])
        for kind in sorted(waiting):
            with one_thread():
                changes, answers = _merged([unpack(blob) for blob in waiting[kind]])
            yield from self._told(conformed(changes, self.schema))
            counted = as_json({"changes": changes.num_rows, "answers": answers})
            yield counters_alone(pa.array([counted], COUNTS_TYPE), self.schema)
        for blob in later:
            yield from self._told(unpacked(blob, self.schema))

    def _told(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        yield from changes.append_column(COUNTS, pa.nulls(len(changes), COUNTS_TYPE)).to_batches()


def _merged(timelines: list[Timeline]) -> tuple[pa.Table, int]:
    """The changes, and how many more are in answers than the shards say."""
    stream = _declared(timelines[0].rows.schema.metadata[STREAM.encode()].decode())
    found = merge(timelines, stream)
    changes = change_table(
        stream, found.rows, found.places, found.queries, found.signs, found.times, found.reasons
    )
    return changes, found.answers


@lru_cache(maxsize=8)
def _declared(text: str) -> Stream:
    statement = sql.statement(text)
    assert isinstance(statement, sql.CreateStream)
    return statement.stream
