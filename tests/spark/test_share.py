"""Objects shared by processes: built once, mapped by all, and never half written."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import watchline as wl
from watchline.spark import share
from watchline.spark.share import KEPT, KEPT_IN_ALL, shared


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"watchline-{os.getuid()}"


def never() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    raise AssertionError("it is there already")


def test_an_object_is_built_once(folder: Path) -> None:
    first = shared("a", "1", lambda: np.arange(10))
    assert first.tolist() == list(range(10))
    assert shared("a", "1", never).tolist() == list(range(10))
    assert oct(folder.stat().st_mode & 0o777) == "0o700"


def test_what_one_changes_the_others_do_not_see(folder: Path) -> None:
    one = shared("a", "1", lambda: np.arange(10))
    one[0] = 99
    assert shared("a", "1", never)[0] == 0


def test_an_index_is_mapped_not_copied(folder: Path) -> None:
    lo = np.arange(50_000.0)
    index = shared("i", "1", lambda: wl.index.build("cei", lo, lo + 3))
    mapped = shared("i", "1", lambda: wl.index.build("cei", lo, lo + 3))
    rows = mapped._boxes.rows
    while isinstance(rows, np.ndarray):
        owner, rows = rows, rows.base
    assert isinstance(owner.base, memoryview)
    assert mapped.stab([7.5]).ids.tolist() == index.stab([7.5]).ids.tolist()
    mapped.insert([60_000], [7.0], [8.0])
    assert sorted(mapped.stab([7.5]).ids.tolist()) == [5, 6, 7, 60_000]
    # Bounds and ids are one memory after mapping, as they were before.
    mapped.remove([6])
    assert sorted(mapped.stab([7.5]).ids.tolist()) == [5, 7, 60_000]


def test_only_the_newest_are_kept(folder: Path) -> None:
    for version in range(8):
        shared("a", str(version), lambda: np.arange(3))
        os.utime(next(folder.glob("*.bin")))
    shared("b", "1", lambda: np.arange(3))
    assert len(list(folder.glob("*.bin"))) == KEPT + 1


def test_there_is_a_limit_to_all_files_together(folder: Path) -> None:
    for number in range(KEPT_IN_ALL + 5):
        shared(f"job {number}", "1", lambda: np.arange(3))
    assert len(list(folder.glob("*.bin"))) == KEPT_IN_ALL


def test_another_program_reads_none_of_ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared("a", "1", lambda: np.arange(3))
    monkeypatch.setattr(share, "code_of", lambda: "another")
    assert shared("a", "1", lambda: np.arange(5)).tolist() == [0, 1, 2, 3, 4]


def test_a_damaged_file_is_not_read(folder: Path) -> None:
    shared("a", "1", lambda: np.arange(100_000))
    [path] = folder.glob("*.bin")
    for damage in (b"", b"something else", path.read_bytes()[:200]):
        path.write_bytes(damage)
        assert shared("a", "1", lambda: np.arange(5)).tolist() == [0, 1, 2, 3, 4]


def test_a_folder_of_others_is_not_used(folder: Path) -> None:
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    assert shared("a", "1", lambda: 5) == 5
    assert list(folder.iterdir()) == []


def test_without_room_everyone_builds_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, value: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(share, "_write", full)
    assert shared("a", "1", lambda: 5) == 5
    assert list(folder.glob("*.bin")) == []


def test_a_failed_build_leaves_nothing(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        shared("a", "1", lambda: 1 // 0)
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        shared("a", "2", lambda: lambda: 1)
    assert list(folder.glob("*.bin")) == []
    assert list(folder.glob("*.tmp")) == []


def test_processes_that_race_build_once(folder: Path, tmp_path: Path) -> None:
    program = """
import sys, tempfile, time
from pathlib import Path
tempfile.tempdir = sys.argv[1]
from watchline.spark.share import shared
def build():
    time.sleep(0.5)
    with open(sys.argv[1] + "/built", "a") as file:
        file.write("x")
    return list(range(5))
print(shared("a", "1", build))
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [run.communicate()[0] for run in runs] == ["[0, 1, 2, 3, 4]\n"] * 3
    assert (tmp_path / "built").read_text() == "x"
    assert share._folder() is not None
