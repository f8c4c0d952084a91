"""Stores of named files: what is written is there whole, and one of several creators wins."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from watchline.errors import InvalidState
from watchline.spark import store as stores
from watchline.spark.shard_state import StateFiles
from watchline.spark.store import (
    UNFINISHED,
    Created,
    FileStore,
    LocalStore,
    MemoryStore,
    ObjectStore,
    store_at,
)

KINDS = ("local", "objects", "memory")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    """A store of each kind, in a folder that is not there yet."""
    made: dict[str, Callable[[], FileStore]] = {
        "local": lambda: LocalStore(str(tmp_path / "a" / "b")),
        # Arrow and Delta take a local URL as they take that of an object store.
        "objects": lambda: ObjectStore(f"file://{tmp_path}/a/b"),
        "memory": MemoryStore,
    }
    return made[request.param]()


def test_what_is_written_is_read(store: FileStore) -> None:
    assert store.read("1-0-x.state") is None
    store.write("1-0-x.state", b"first")
    store.write("1-0-x.state", b"\0second")
    store.write("empty", b"")
    assert store.read("1-0-x.state") == b"\0second"
    assert store.read("empty") == b""


def test_names_are_listed_by_their_beginning_and_deleted(store: FileStore) -> None:
    assert store.list() == []
    for name in ("11-0", "1-1", "1-0"):
        store.write(name, b"x")
    assert store.list() == ["1-0", "1-1", "11-0"]
    assert store.list("1-") == ["1-0", "1-1"]
    store.delete("1-0")
    store.delete("1-0")  # an absent one is no error
    assert store.list() == ["1-1", "11-0"]
    assert store.read("1-0") is None


def test_the_first_creator_wins_and_others_need_no_content(store: FileStore) -> None:
    assert store.create_if_absent("7", lambda: b"3 1000") == Created(b"3 1000", is_new=True)

    def never() -> bytes:
        raise AssertionError("the name is there")

    assert store.create_if_absent("7", never) == Created(b"3 1000", is_new=False)
    assert store.create_if_absent("8", lambda: b"4 1000") == Created(b"4 1000", is_new=True)


def test_creators_at_once_agree(store: FileStore) -> None:
    """All have made their content before any of them gives it to the store."""
    writers = 1 if isinstance(store, MemoryStore) else 4
    ready = threading.Barrier(writers)

    def create(i: int) -> Created:
        def content() -> bytes:
            ready.wait(30)
            return str(i).encode()

        return store.create_if_absent("0", content)

    with ThreadPoolExecutor(writers) as pool:
        found = list(pool.map(create, range(writers)))
    assert len({created.content for created in found}) == 1
    assert sum(created.is_new for created in found) == 1
    assert store.create_if_absent("0", lambda: b"later").content == found[0].content


def test_a_created_file_of_a_folder_is_a_file_and_can_be_deleted(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    store.create_if_absent("0", lambda: b"1 2")
    assert [path.name for path in tmp_path.iterdir()] == ["0"]
    assert store.read("0") == b"1 2"
    store.delete("0")
    assert store.create_if_absent("0", lambda: b"3 4").is_new


@pytest.mark.parametrize("call", ["write", "create_if_absent"])
def test_a_process_that_dies_leaves_no_part_under_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """At the last moment before the file has its name, the folder has all of it or nothing."""
    store = LocalStore(str(tmp_path))
    seen: list[tuple[list[str], bytes]] = []

    def died(source: str, target: str) -> None:
        seen.append((sorted(os.listdir(tmp_path)), Path(source).read_bytes()))
        raise KeyboardInterrupt

    monkeypatch.setattr(stores.os, "replace", died)
    monkeypatch.setattr(stores.os, "link", died)
    content = b"x" * 100_000
    with pytest.raises(KeyboardInterrupt):
        store.write("1-5-t.state", content) if call == "write" else store.create_if_absent(
            "1-5-t.state", lambda: content
        )
    [(names, written)] = seen
    assert written == content
    assert len(names) == 1
    assert names[0].startswith("1-5-t.state.")
    assert names[0].endswith(UNFINISHED)
    assert store.read("1-5-t.state") is None


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    store = LocalStore(str(tmp_path))
    monkeypatch.setattr(stores.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.write("0", b"x")
    assert list(tmp_path.iterdir()) == []


def test_contents_are_synced_before_they_have_their_name_and_names_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def recorded(name: str) -> None:
        call = getattr(os, name)

        def recorder(*args: object) -> object:
            done.append(name)
            return call(*args)

        monkeypatch.setattr(stores.os, name, recorder)

    for name in ("fsync", "replace", "link"):
        recorded(name)
    LocalStore(str(tmp_path)).write("a", b"x")
    assert done == ["fsync", "replace", "fsync"]
    done.clear()
    LocalStore(str(tmp_path)).create_if_absent("b", lambda: b"x")
    assert done == ["fsync", "link", "fsync"]


def test_what_a_crash_left_of_a_state_is_tidied_with_it(tmp_path: Path) -> None:
    files = StateFiles(LocalStore(str(tmp_path)))
    files.save(1, 9, "t", b"x")
    for number in (2, 8):
        (tmp_path / f"1-{number}-u.state.0{UNFINISHED}").write_bytes(b"a part")
    files.tidy(1, 9)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "1-8-u.state.0.new",
        "1-9-t.state",
    ]


def test_the_place_decides_the_store(tmp_path: Path) -> None:
    local = store_at(str(tmp_path))
    assert isinstance(local, LocalStore)
    assert local.place == str(tmp_path)
    assert isinstance(store_at(f"file://{tmp_path}"), LocalStore)
    # Nothing is asked of an object store, or even of Arrow's list of them, before it is used.
    assert isinstance(store_at("s3://bucket/catalog/_runs/query"), ObjectStore)
    assert isinstance(store_at("az://container/catalog/_runs/query"), ObjectStore)


def test_a_store_in_memory_tears_and_loses_writes_and_outlives_its_user() -> None:
    kept: dict[str, bytes] = {}

    def fate(name: str, content: bytes) -> bytes | None:
        return {"torn": content[:2], "lost": None}.get(name, content)

    before = MemoryStore(kept, fate)
    for name in ("whole", "torn", "lost"):
        before.write(name, b"content")
    after = MemoryStore(kept)
    assert {name: after.read(name) for name in ("whole", "torn", "lost")} == {
        "whole": b"content",
        "torn": b"co",
        "lost": None,
    }
    with pytest.raises(InvalidState, match="the state file lost of the checkpoint is missing"):
        StateFiles(after).load("lost")
