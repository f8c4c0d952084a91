"""After the shards: the timelines of their k nearest become changes of one answer.

A kNN query is merged in the partition that the hash of its id names, its *target*, whichever shards
have timelines of it. Changes of other queries pass untouched; those of a query that was a kNN query
when the batch began come after its timeline. From batch to batch the candidates of all shards are
kept (`merge_state.py`), so that shards send what changed; where there is no place for that, and in
a batch input, each batch brings all that its merge needs.
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
from watchline.spark.tracking.merge_state import MergeMemory
from watchline.spark.tracking.shard import LATER, received
from watchline.spark.wire import ROWS, unpacked
from watchline.tracking import MergedAnswers, unpack_timeline

# The parcels of one target that wait for each other, by their kinds.
_Waiting = dict[int, list[pa.Buffer]]


@dataclass(frozen=True)
class MergeTask:
    """The function that `mapInArrow` runs after the second shuffle: timelines become changes, and
    all changes are unpacked. Out come changes of this schema with one more column, and rows that
    have nothing but counters in it. Without a `memory` nothing is known of batches before.
    """

    schema: pa.Schema
    shards: int
    memory: MergeMemory | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        targets: dict[int, _Waiting] = defaultdict(lambda: defaultdict(list))
        for batch in batches:
            yield counters_alone(batch.column(COUNTS).drop_null(), self.schema)
            blobs = (packed.as_buffer() for packed in batch.column("packed"))
            names = (batch.column(name).to_pylist() for name in ("target", "kind"))
            for target, kind, blob in zip(*names, blobs, strict=True):
                if kind == ROWS:
                    yield from self._uncounted(unpacked(blob, self.schema))
                else:
                    targets[target][kind].append(blob)
        for target, waiting in sorted(targets.items()):
            later = waiting.pop(LATER, [])
            if waiting:
                yield from self._merged(target, waiting)
            for blob in later:
                yield from self._uncounted(unpacked(blob, self.schema))

    def _merged(self, target: int, waiting: _Waiting) -> Iterator[pa.RecordBatch]:
        """The changes of a target's queries, and its counters. The state is saved before."""
        with one_thread():
            if self.memory is None:
                merged = MergedAnswers(self.shards)
                tables, _ = _taken_in(merged, waiting)
            else:
                state = self.memory.opened(target)
                merged = state.merged
                tables, is_other = _taken_in(merged, waiting)
                if is_other:
                    state.save()
                else:
                    state.hold()
        for changes in tables:
            yield from self._uncounted(conformed(changes, self.schema))
        counted = {"changes": sum(map(len, tables)), "answers": merged.answers}
        yield counters_alone(pa.array([as_json(counted)], COUNTS_TYPE), self.schema)

    def _uncounted(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        yield from changes.append_column(COUNTS, pa.nulls(len(changes), COUNTS_TYPE)).to_batches()


def _taken_in(merged: MergedAnswers, waiting: _Waiting) -> tuple[list[pa.Table], bool]:
    """The changes of all timelines, in the order of their kinds; whether anything happened."""
    tables, is_other = [], False
    for kind in sorted(waiting):
        labelled = [received(unpack_timeline(blob)) for blob in waiting[kind]]
        stream = _declared(labelled[0][0])
        timelines = [of for _, of in labelled]
        is_other |= any(of.is_counted for of in timelines)
        found = merged.merge(timelines, stream)
        tables.append(
            change_table(
                *(stream, found.rows, found.places, found.queries),
                *(found.signs, found.times, found.reasons, found.distances),
            )
        )
    return tables, is_other


@lru_cache(maxsize=8)
def _declared(text: str) -> Stream:
    statement = sql.statement(text)
    assert isinstance(statement, sql.CreateStream)
    return statement.stream
