"""What every operator's shard does in a batch, with an engine that only counts, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from watchline.errors import InvalidState
from watchline.spark import shard_state, worker
from watchline.spark.batch_counters import COUNTS
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.routing import Shard, shard_keys
from watchline.spark.shard_state import ShardState, StateFiles
from watchline.spark.shard_task import ShardTask, processed
from watchline.spark.store import MemoryStore
from watchline.spark.wire import ROWS, SENT, Parcel


class Summing:
    """Adds numbers up. A batch sends each of them as a parcel."""

    def __init__(self, total: int, origin: str):
        self.total, self.origin = total, origin

    def counted(self) -> dict[str, Any]:
        return {"rows": self.total}

    def advance_to(self, version: int) -> None:
        self.version = version

    def process(self, inbox: list[int], last: bool) -> list[Parcel]:
        if 13 in inbox:
            self.total = -1
            raise ValueError("half way")
        self.total += sum(inbox)
        return [Parcel(0, ROWS, str(number).encode()) for number in inbox]

    def stats(self) -> dict[str, Any]:
        return {"rows": self.total, "bytes": 8}

    def snapshot(self) -> bytes:
        return str(self.total).encode()

    def touched(self) -> None:
        return None

    def delta(self, touched: Sequence[Any]) -> bytes:
        raise AssertionError("nothing to tell of")

    def replayed(self) -> list[Any]:
        return []


@dataclass(frozen=True)
class Sums:
    """The operator of these engines."""

    takes_own: bool = True

    def opened(self, routed: Iterable[tuple[Any, ...]]) -> list[int]:
        return [number for _, number in routed]

    def new(self, shard: Shard, version: int) -> Summing:
        return Summing(0, "new")

    def reused(self, engine: Summing, saved: int, version: int) -> Summing | None:
        engine.origin = f"reused after {saved}"
        return engine if self.takes_own else None

    def resumed(self, shard: Shard, blobs: Sequence[bytes], saved: int, version: int) -> Summing:
        [blob] = blobs
        return Summing(int(blob), f"resumed after {saved}")


class SparkState:
    """The state of one group as Spark gives it to a function."""

    def __init__(self) -> None:
        self.row: tuple[Any, ...] | None = None

    @property
    def exists(self) -> bool:
        return self.row is not None

    @property
    def get(self) -> tuple[Any, ...]:
        assert self.row is not None
        return self.row

    def update(self, row: tuple[Any, ...]) -> None:
        self.row = row


@dataclass
class Run:
    """A shard of a streaming query, batch by batch."""

    state: SparkState
    store: MemoryStore
    operator: Sums
    shard: Shard

    def batch(self, version: int, *numbers: int) -> tuple[str, dict[str, list[Any]]]:
        """Where the engine came from, and what was sent."""
        task = ShardTask(CatalogRef(), self.shard.shards, None, None, self.operator)
        kept = ShardState("query", self.shard, "catalog", StateFiles(self.store), self.state)
        engine = task.engine(self.shard, version, kept)
        sent = processed(engine, self.shard, version, list(numbers), last=False)
        kept.save(engine, version)
        return engine.origin, sent  # type: ignore[attr-defined]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(worker, "_memory", worker.WorkerMemory())
    return Run(SparkState(), MemoryStore(), Sums(), Shard(0, 1))


def other_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_memory", worker.WorkerMemory())


def test_an_engine_is_new_then_the_worker_s_own_and_elsewhere_from_the_state(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.batch(3, 1, 2)[0] == "new"
    assert run.batch(4, 4)[0] == "reused after 3"
    other_worker(monkeypatch)
    assert run.batch(6, 8)[0] == "resumed after 4"
    assert run.state.get[:3] == (2, 6, 1)
    assert run.state.get[-1] == b"15"


def test_an_engine_of_another_operator_is_not_taken(run: Run) -> None:
    run.batch(3, 1)
    run.operator = Sums(takes_own=False)
    assert run.batch(4, 2)[0] == "resumed after 3"
    assert run.state.get[-1] == b"3"


def test_counters_are_of_the_batch_and_stand_beside_the_first_parcel(run: Run) -> None:
    run.batch(3, 1, 2)
    _, sent = run.batch(3, 4, 5)
    assert list(sent) == SENT.names
    assert sent["packed"] == [b"4", b"5"]
    assert [json.loads(text) if text else None for text in sent[COUNTS]] == [
        {"rows": 9, "bytes": 8},
        None,
    ]


def test_a_batch_without_parcels_sends_its_counters(run: Run) -> None:
    key = shard_keys(3)[2]
    run.shard = Shard(key, 3)
    _, sent = run.batch(3)
    assert sent["target"] == [key]
    assert sent["kind"] == [ROWS]
    assert sent["packed"] == [b""]
    assert json.loads(sent[COUNTS][0]) == {"rows": 0, "bytes": 8}


def test_an_engine_that_failed_half_way_is_not_used_again(run: Run) -> None:
    run.batch(3, 1)
    with pytest.raises(ValueError, match="half way"):
        run.batch(4, 13)
    assert run.batch(4, 2)[0] == "resumed after 3"
    assert run.state.get[-1] == b"3"


def test_an_engine_that_is_ahead_of_spark_s_row_is_not_used(run: Run) -> None:
    """Spark goes back to an older row where a batch was not committed."""
    run.batch(3, 1)
    before = run.state.row
    run.batch(4, 2)
    run.state.row = before
    assert run.batch(4, 2)[0] == "resumed after 3"
    assert run.state.get[-1] == b"3"


def test_large_states_go_through_the_store(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_state, "INLINE", 0)
    run.batch(3, 1)
    file, blob = run.state.get[-2:]
    assert blob is None
    assert run.store.files == {file: b"1"}
    other_worker(monkeypatch)
    assert run.batch(4, 2)[0] == "resumed after 3"
    other_worker(monkeypatch)
    run.store.files.clear()
    with pytest.raises(InvalidState, match="missing from memory"):
        run.batch(5, 4)


def test_another_number_of_shards_or_catalog_is_refused(run: Run) -> None:
    run.batch(3, 1)
    run.shard = Shard(0, 2)
    with pytest.raises(InvalidState, match="made with 1 shards, not 2"):
        run.batch(3, 1)
    with pytest.raises(InvalidState, match="another catalog"):
        ShardState("query", Shard(0, 1), "other", None, run.state)
