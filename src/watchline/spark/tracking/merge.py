"""After the shards: the timelines of their k nearest become changes of one answer.

A kNN query is merged in the partition that the hash of its id names, whichever shards have
timelines of it. Changes of other queries pass untouched; those of a query that was a kNN query when
the batch began come after its timeline. There is no state here: each batch brings all that its
merge needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from watchline import sql
from watchline.kernels.threads import one_thread
from watchline.model import Stream
from watchline.rows import change_table, conformed
from watchline.spark.batch_counters import COUNTS, COUNTS_TYPE, as_json, counters_alone
from watchline.spark.tracking.shard import LATER, STREAM
from watchline.spark.wire import ROWS, unpacked
from watchline.tracking import Timeline, merge_timelines, unpack_timeline


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
                if kind == ROWS:
                    yield from self._uncounted(unpacked(blob, self.schema))
                else:
                    waiting[kind].append(blob)
        later = waiting.pop(LATER, [])
        for kind in sorted(waiting):
            with one_thread():
                changes, answers = _merged([unpack_timeline(blob) for blob in waiting[kind]])
            yield from self._uncounted(conformed(changes, self.schema))
            counted = as_json({"changes": changes.num_rows, "answers": answers})
            yield counters_alone(pa.array([counted], COUNTS_TYPE), self.schema)
        for blob in later:
            yield from self._uncounted(unpacked(blob, self.schema))

    def _uncounted(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        yield from changes.append_column(COUNTS, pa.nulls(len(changes), COUNTS_TYPE)).to_batches()


def _merged(timelines: list[Timeline]) -> tuple[pa.Table, int]:
    """The changes, and how many more are in answers than the shards say."""
    stream = _declared(timelines[0].rows.schema.metadata[STREAM.encode()].decode())
    found = merge_timelines(timelines, stream)
    changes = change_table(
        stream, found.rows, found.places, found.queries, found.signs, found.times, found.reasons
    )
    return changes, found.answers


@lru_cache(maxsize=8)
def _declared(text: str) -> Stream:
    statement = sql.statement(text)
    assert isinstance(statement, sql.CreateStream)
    return statement.stream
