"""After the shuffle: a shard's rows of one batch go through its engine. All operators share this.

An operator says how routed rows are read and how its engines are made: `tracking/shard.py` for
changes, `joining/shard.py` for joins. Everything else is here. A shard's engine is the worker's
own, or comes from the state (`shard_state.py`), or is new. It follows the catalog to the version of
the batch and processes the rows; then its state is saved, and what it sends leaves as parcels, with
the counters of the batch beside the first (`wire.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd
import pyarrow as pa

from watchline.kernels.threads import one_thread
from watchline.spark.batch_counters import since
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import Shard
from watchline.spark.shard_state import ShardState, state_files
from watchline.spark.wire import ROWS, SENT, Parcel, sent_columns
from watchline.spark.worker import batch_version, catalog_of, micro_batch

# What a shard gets in a batch, as its operator reads it.
InboxT = TypeVar("InboxT")
InboxT_contra = TypeVar("InboxT_contra", contravariant=True)


class Engine(Protocol[InboxT_contra]):
    """The engine of one shard, as a batch calls it: in this order, each function once."""

    def counted(self) -> dict[str, Any]:
        """Counters of the engine's whole life, which never fall, by name. A call costs little."""

    def advance_to(self, version: int) -> None:
        """Follow the catalog. What this causes is sent by `process`."""

    def process(self, inbox: InboxT_contra, last: bool) -> list[Parcel]:
        """What these rows cause; `last` says that no more rows will ever come."""

    def stats(self) -> dict[str, Any]:
        """What `counted` has, and gauges of now."""

    def snapshot(self) -> bytes:
        """The state, from which `ShardOperator.resumed` makes the engine again."""

    def touched(self) -> Any:
        """What changed since this was last called, for `delta`; None if only a snapshot can say."""

    def delta(self, touched: Sequence[Any]) -> bytes:
        """What all these touched, as it is now: a delta to the state of before."""

    def replayed(self) -> list[Any]:
        """What each delta touched that the engine was made from."""


class ShardOperator(Protocol[InboxT]):
    """What differs between operators. It is sent to Spark's workers by pickle."""

    def opened(self, routed: Iterable[tuple[Any, ...]]) -> InboxT:
        """The inbox of a shard, from all rows that routers sent to it in this batch."""

    def new(self, shard: Shard, version: int) -> Engine[InboxT]:
        """An engine that has seen no rows."""

    def reused(self, engine: Any, saved: int, version: int) -> Engine[InboxT] | None:
        """A worker's own engine of this shard, made ready for a batch of this version; None if the
        engine is of another operator. `saved` is the version that the last batch ended with."""

    def resumed(
        self, shard: Shard, blobs: Sequence[bytes], saved: int, version: int
    ) -> Engine[InboxT]:
        """The engine of a snapshot and the deltas after it; `saved` and `version` are as for
        `reused`."""


@dataclass(frozen=True)
class ShardTask(Generic[InboxT]):
    """The function that runs once for each shard and batch.

    `version` is that of a batch input and None for a stream, whose micro-batches each have their
    own. `folder` has the files of large states; without one they are beside the catalog.
    """

    ref: CatalogRef
    shards: int
    version: int | None
    folder: str | None
    operator: ShardOperator[InboxT]

    def stream_batch(
        self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: Any
    ) -> Iterator[pd.DataFrame]:
        """For `applyInPandasWithState`."""
        # Spark pads our rows with empty ones, which pandas finds worth a warning in every batch.
        warnings.filterwarnings("ignore", "The behavior of DataFrame concat", FutureWarning)
        inbox = self.operator.opened(
            row for frame in frames for row in frame.itertuples(index=False, name=None)
        )
        version = batch_version(self.ref, self.version)
        shard, (query_id, _) = Shard(int(key[0]), self.shards), micro_batch()
        files = state_files(self.ref, self.folder, query_id)
        kept = ShardState(query_id, shard, catalog_of(self.ref).identity, files, state)
        with one_thread():
            engine = self.engine(shard, version, kept)
            sent = processed(engine, shard, version, inbox, last=False)
            kept.save(engine, version)
        yield pd.DataFrame(sent)

    def whole_batch(self, key: tuple[Any, ...], routed: pa.Table) -> pa.Table:
        """For `applyInArrow`: no state before, none after, and no row waits for others."""
        inbox = self.operator.opened(
            zip(*(column.to_pylist() for column in routed.columns), strict=True)
        )
        version = batch_version(self.ref, self.version)
        shard = Shard(int(key[0].as_py()), self.shards)
        with one_thread():
            engine = self.operator.new(shard, version)
            sent = processed(engine, shard, version, inbox, last=True)
        return pa.table(sent, schema=SENT)

    def engine(self, shard: Shard, version: int, kept: ShardState) -> Engine[InboxT]:
        """The engine of a shard as the last batch left it, or a new one."""
        # A worker's own engine is taken out whatever becomes of it.
        held = kept.engine()
        if kept.row is None:
            return self.operator.new(shard, version)
        saved = kept.row.version
        reused = None if held is None else self.operator.reused(held, saved, version)
        if reused is not None:
            return reused
        engine = self.operator.resumed(shard, kept.blobs(), saved, version)
        kept.note(engine)
        return engine


def processed(
    engine: Engine[InboxT], shard: Shard, version: int, inbox: InboxT, last: bool
) -> dict[str, list[Any]]:
    """One batch through an engine: columns of `SENT`."""
    before = engine.counted()
    engine.advance_to(version)
    parcels = engine.process(inbox, last)
    after = engine.stats()
    counts = after | since(before, after)
    return sent_columns(counts, parcels or [Parcel(shard.key, ROWS, b"")])
