"""Another number of shards for the checkpoint of a stopped job.

Spark keeps a partition of its state store for each shard, and the number of partitions with the
last batch that it planned. The number of the next batch, what the sources gave, and the id of the
streaming query stay, so a sink with a list of batches goes on exactly once. What changes:

    state/                     written anew: a small streaming query of the new shards, in a folder
                               of its own, puts their rows into a store of its own, whose only
                               version gets the number of the version that the next batch reads
    offsets/<last>             the number of partitions
    watchline-catalog          the number of shards
    watchline-state/<query>/   large states of the new shards; those of the old ones go in the end

All of it is prepared beside the old, and takes effect in one step: see `checkpoint.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from watchline import checkpoint as checkpoints
from watchline.catalog import Catalog
from watchline.checkpoint import Rewriting
from watchline.config import Job
from watchline.errors import InvalidState
from watchline.spark.job import clear_errors, marked_shards, with_shards
from watchline.spark.routing import shard_keys
from watchline.spark.shard_job import PARTITIONS, partitions_for
from watchline.spark.shard_state import INLINE, STATE_DDL, Chain, StateFiles, StateRow
from watchline.spark.store import store_at
from watchline.tracking import ChangeQueries, Saved, resharded

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_ROWS = pa.schema(
    [("shard", pa.int32()), ("sequence", pa.int64()), ("version", pa.int64()),
     ("shards", pa.int32()), ("catalog", pa.string()), ("token", pa.string()),
     ("file", pa.string()), ("blob", pa.binary())]
)  # fmt: skip


class Stopped(NamedTuple):
    """A checkpoint as its job left it: the last batch, which was committed, the text of its
    offsets, and the id of the streaming query."""

    folder: str
    batch: int
    offsets: str
    query_id: str

    @staticmethod
    def of(folder: str) -> Stopped:
        planned, committed = (_last(os.path.join(folder, of)) for of in ("offsets", "commits"))
        if planned is None:
            raise InvalidState(
                f"the checkpoint {folder} has no batch yet: say shards in the job's file"
            )
        if planned != committed:
            # A sink may have the batch: then nobody runs it again, and its state is needed; or it
            # has not, and then the state of before.
            raise InvalidState(
                f"batch {planned} of the checkpoint {folder} was not finished: run the job until it"
                " is, stop it, and try again"
            )
        with open(os.path.join(folder, "metadata"), encoding="utf-8") as file:
            query_id = json.load(file)["id"]
        with open(os.path.join(folder, "offsets", str(planned)), encoding="utf-8") as file:
            return Stopped(folder, planned, file.read(), query_id)

    @property
    def settings(self) -> dict[str, str]:
        """Spark's settings that the batch was planned with."""
        found: dict[str, str] = json.loads(self.offsets.split("\n")[1])["conf"]
        return found

    def with_partitions(self, count: int) -> dict[str, str]:
        """The offsets as if the batch had been planned for so many partitions, by their file."""
        first, second, *rest = self.offsets.split("\n")
        said = json.loads(second)
        said["conf"][PARTITIONS] = str(count)
        second = json.dumps(said, separators=(",", ":"))
        return {f"offsets/{self.batch}": "\n".join([first, second, *rest])}


def _last(folder: str) -> int | None:
    """The number of the last batch in one of Spark's logs."""
    if not os.path.isdir(folder):
        return None
    return max((int(name) for name in os.listdir(folder) if name.isdigit()), default=None)


def reshard(spark: SparkSession, job: Job, catalog: Catalog, shards: int) -> int:
    """Give the checkpoint of a stopped job so many shards: how many it had. The caller has seen
    that nobody else uses it."""
    checkpoints.finish(job.checkpoint)
    before = marked_shards(job, catalog)
    if before == shards:
        return before
    stopped = Stopped.of(job.checkpoint)
    if stopped.settings.get(_PROVIDER, "").rpartition(".")[2] != "RocksDBStateStoreProvider":
        raise InvalidState(
            f"the state of the checkpoint {job.checkpoint} is not in RocksDB: start with a new"
            " checkpoint"
        )
    files = StateFiles(store_at(_state_folder(stopped)))
    with clear_errors():
        rows = _state_rows(spark, stopped)
    for row in rows:
        row.check(before, catalog.identity)
    if len(rows) < before:
        raise InvalidState(f"the checkpoint {job.checkpoint} has the states of {len(rows)} shards")
    queries = ChangeQueries(catalog, job.stream, rows[0].version)
    states = [_saved(row, files, catalog.identity, job.stream) for row in rows]
    blobs = resharded(states, queries, shards)
    gone = _files_below(stopped.folder, _state_folder(stopped))
    work = checkpoints.prepared(stopped.folder)
    like = rows[0]._replace(sequence=rows[0].sequence + 1, shards=shards, file=None, blob=None)
    made = _new_rows(blobs, files, like)
    with clear_errors():
        _write_store(spark, stopped, work, made)
    texts = stopped.with_partitions(shards) | with_shards(job, catalog, shards)
    checkpoints.commit(stopped.folder, Rewriting(texts, gone))
    checkpoints.finish(stopped.folder)
    return before


def _state_folder(stopped: Stopped) -> str:
    return os.path.join(stopped.folder, "watchline-state", stopped.query_id)


def _files_below(checkpoint: str, folder: str) -> list[str]:
    """All files in a folder of the checkpoint."""
    return [
        os.path.relpath(os.path.join(place, name), checkpoint)
        for place, _, names in os.walk(folder)
        for name in names
    ]


# --- what there was


def _state_rows(spark: SparkSession, stopped: Stopped) -> list[StateRow]:
    """The rows of the shards after the last batch."""
    reader = spark.read.format("statestore").option("batchId", stopped.batch)
    found = reader.load(stopped.folder).select("key.*", "value.groupState.*").toArrow()
    names = StateRow._fields
    rows = [StateRow(**{name: row[name] for name in names}) for row in found.to_pylist()]
    # A store may have rows of keys that are no shard's any more.
    newest = max((row.sequence for row in rows), default=0)
    return [row for row in rows if row.sequence == newest]


def _saved(row: StateRow, files: StateFiles, identity: str, stream: str) -> Saved:
    if row.file is None:
        assert row.blob is not None
        return Saved.of(row.blob, identity, stream)
    blobs = [files.load(name) for name in Chain.read(row.file).files]
    return Saved.of(blobs[0], identity, stream, blobs[1:])


# --- what there will be


def _new_rows(blobs: Sequence[bytes], files: StateFiles, like: StateRow) -> list[tuple[Any, ...]]:
    """The key and the row of each new shard; large states are files."""
    made = []
    for key, blob in zip(shard_keys(len(blobs)), blobs, strict=True):
        row = like._replace(token=uuid.uuid4().hex)
        if len(blob) <= INLINE:
            row = row._replace(blob=blob)
        else:
            row = row._replace(file=files.save(key, row.sequence, row.token, blob))
        made.append((key, *row))
    return made


def _write_store(
    spark: SparkSession, stopped: Stopped, work: str, rows: list[tuple[Any, ...]]
) -> None:
    """Spark's state store with these rows, as the next batch reads it."""
    inbox, made = os.path.join(work, "rows"), os.path.join(work, "made")
    os.mkdir(inbox)
    columns = [
        pa.array(column, kind)
        for column, kind in zip(zip(*rows, strict=True), _ROWS.types, strict=True)
    ]
    pq.write_table(pa.Table.from_arrays(columns, schema=_ROWS), os.path.join(inbox, "rows.parquet"))
    with partitions_for(spark, len(rows)), _setting(spark, _CHANGELOG, "false"):
        source = spark.readStream.schema(f"shard int, {STATE_DDL}").parquet(inbox)
        put = source.groupBy("shard").applyInPandasWithState(
            _put, "shard int", STATE_DDL, "append", "NoTimeout"
        )
        writer = put.writeStream.format("noop").option("checkpointLocation", made)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    state = os.path.join(made, "state")
    for place, _, names in os.walk(state):
        for name in names:
            if name == "1.zip":
                os.rename(
                    os.path.join(place, name), os.path.join(place, f"{stopped.batch + 1}.zip")
                )
            elif name == ".1.zip.crc":
                os.unlink(os.path.join(place, name))
    for number in range(len(rows)):
        if not os.path.exists(os.path.join(state, "0", str(number), f"{stopped.batch + 1}.zip")):
            raise InvalidState("Spark wrote no snapshot of the new state: nothing was changed")
    os.rename(state, os.path.join(work, checkpoints.NEW))
    shutil.rmtree(inbox)
    shutil.rmtree(made)


def _put(
    key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: Any
) -> Iterator[pd.DataFrame]:
    """For `applyInPandasWithState`: the row of a shard becomes its state."""
    for frame in frames:
        for row in frame.itertuples(index=False, name=None):
            file, blob = (None if pd.isna(value) else value for value in row[6:])
            state.update((*map(int, row[1:4]), *row[4:6], file, blob))
    yield pd.DataFrame({"shard": [int(key[0])]})


@contextmanager
def _setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """A session with this setting."""
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)
