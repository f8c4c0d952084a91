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
from watchline.spark.shard_state import KEPT, TIDY, Chain, ShardState, StateFiles
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


# --- chains of a base and deltas


class Counting(Summing):
    """Numbers by name; a delta has the names that were written."""

    def __init__(self, numbers: dict[str, int], origin: str):
        super().__init__(0, origin)
        self.numbers, self.written = numbers, set[str]()
        self.parts: list[set[str]] = []

    def process(self, inbox: list[int], last: bool) -> list[Parcel]:
        for number in inbox:
            self.numbers[f"n{number}"] = self.numbers.get(f"n{number}", 0) + 1
            self.written.add(f"n{number}")
        return []

    def snapshot(self) -> bytes:
        return json.dumps(self.numbers).encode()

    def touched(self) -> set[str]:  # type: ignore[override]
        written, self.written = self.written, set()
        return written

    def delta(self, touched: Sequence[set[str]]) -> bytes:
        names = set().union(*touched)
        return json.dumps({name: self.numbers[name] for name in sorted(names)}).encode()

    def replayed(self) -> list[set[str]]:
        return self.parts


class Counts(Sums):
    def new(self, shard: Shard, version: int) -> Counting:
        return Counting({}, "new")

    def resumed(self, shard: Shard, blobs: Sequence[bytes], saved: int, version: int) -> Counting:
        parts = [json.loads(blob) for blob in blobs]
        made = Counting({k: v for part in parts for k, v in part.items()}, f"of {len(parts)}")
        made.parts = [set(part) for part in parts[1:]]
        return made


@pytest.mark.parametrize("every", [1, 2, 5, 1_000])
def test_a_chain_is_the_state_after_every_batch(
    run: Run, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever restores it, and whenever: deltas are merged by levels, a base is written when deltas
    have become as large, and files go when no batch can need them."""
    monkeypatch.setattr(shard_state, "INLINE", 0)
    monkeypatch.setattr(shard_state, "FAN", 3)
    run.operator = Counts()
    truth: dict[str, int] = {}
    run.batch(1, *range(60))
    truth |= {f"n{i}": 1 for i in range(60)}
    lengths, levels, bases = set(), set(), set()
    for batch in range(120):
        if batch % every == 0:
            other_worker(monkeypatch)
        before = run.state.row
        run.batch(1, batch % 60)
        # Spark goes back to the row of before: its files are all there.
        if batch % 7 == 0:
            run.state.row = before
            run.batch(1, batch % 60)
        truth[f"n{batch % 60}"] += 1
        chain = Chain.read(run.state.get[5])
        assert set(chain.files) <= set(run.store.files)
        lengths.add(len(chain.files))
        levels |= {delta.level for delta in chain.deltas}
        bases.add(chain.base)
        kept = StateFiles(run.store)
        parts = [json.loads(kept.load(name)) for name in chain.files]
        assert {k: v for part in parts for k, v in part.items()} == truth
        deltas = sum(delta.size for delta in chain.deltas)
        assert deltas <= chain.size
    assert max(lengths) <= 12
    assert levels >= {0, 1, 2}
    assert 1 < len(bases) < 20
    # Files of tasks that ran twice are looked for now and then.
    assert len(run.store.files) < 12 + KEPT + 3 * TIDY


def test_a_batch_writes_what_it_changed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_state, "INLINE", 0)
    run.operator = Counts()
    run.batch(1, *range(10_000))
    sizes = []
    for batch in range(15):
        known = set(run.store.files)
        run.batch(1, batch)
        sizes += [len(run.store.files[name]) for name in set(run.store.files) - known]
    assert len(sizes) == 15
    assert max(sizes) < 20


def test_a_missing_delta_is_missed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_state, "INLINE", 0)
    run.operator = Counts()
    run.batch(1, *range(100))
    run.batch(1, 1)
    run.batch(1, 2)
    del run.store.files[Chain.read(run.state.get[5]).deltas[0].name]
    other_worker(monkeypatch)
    with pytest.raises(InvalidState, match=r"\.delta of the checkpoint is missing from memory"):
        run.batch(1, 3)
