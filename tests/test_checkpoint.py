"""A plan for a checkpoint is carried out as a whole, wherever a kill breaks it off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from watchline import checkpoint
from watchline.checkpoint import FOLDER, LOCK, NEW, PLAN, Rewriting
from watchline.errors import InvalidState

# What changes files, and may be the last thing that a process does.
STEPS = ["rename", "replace", "unlink", "rmdir", "fsync"]


class Killed(BaseException):
    """The process ends here."""


def begun(folder: Path) -> Path:
    """A checkpoint, and what is prepared for it."""
    place = folder / "checkpoint"
    for name, text in {
        "state/0/0/7.zip": "old",
        "offsets/7": "2 partitions",
        "offsets/.7.crc": "sum",
        "watchline-catalog": "id changes 2",
        "watchline-state/query/0-7-a.state": "old",
        "watchline-state/query/0-8-b.state": "new",
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    work = Path(checkpoint.prepared(str(place)))
    (work / NEW / "0" / "0").mkdir(parents=True)
    (work / NEW / "0" / "0" / "7.zip").write_text("new")
    return place


PLANNED = Rewriting(
    {"offsets/7": "3 partitions", "watchline-catalog": "id changes 3"},
    ["watchline-state/query/0-7-a.state"],
)


def content(place: Path) -> dict[str, str]:
    files = (path for path in place.rglob("*") if path.is_file() and path.name != LOCK)
    return {str(path.relative_to(place)): path.read_text() for path in files}


WANTED = {
    "state/0/0/7.zip": "new",
    "offsets/7": "3 partitions",
    "watchline-catalog": "id changes 3",
    "watchline-state/query/0-8-b.state": "new",
}


def killed_at(moment: int, monkeypatch: pytest.MonkeyPatch, act: Any) -> bool:
    """Whether the process came to its so many-th step, and was killed before it."""
    count = 0
    with monkeypatch.context() as patched:
        for name in STEPS:
            real = getattr(os, name)

            def step(*args: Any, real: Any = real, **more: Any) -> Any:
                nonlocal count
                count += 1
                if count > moment:
                    raise Killed
                return real(*args, **more)

            patched.setattr(os, name, step)
        try:
            act()
        except Killed:
            return True
    return False


def test_a_plan_is_carried_out(tmp_path: Path) -> None:
    place = begun(tmp_path)
    checkpoint.commit(str(place), PLANNED)
    checkpoint.finish(str(place))
    assert content(place) == WANTED
    checkpoint.finish(str(place))
    assert content(place) == WANTED


def test_without_a_plan_nothing_has_happened(tmp_path: Path) -> None:
    place = begun(tmp_path)
    before = {name: text for name, text in content(place).items() if FOLDER not in name}
    checkpoint.finish(str(place))
    assert content(place) == before


def test_a_kill_leaves_the_old_or_the_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every step, and at every step of the one that carries the plan out afterwards."""
    for moment in range(1_000):
        place = begun(tmp_path / str(moment))
        before = {name: text for name, text in content(place).items() if FOLDER not in name}

        def act(place: Path = place) -> None:
            checkpoint.commit(str(place), PLANNED)
            checkpoint.finish(str(place))

        if not killed_at(moment, monkeypatch, act):
            break
        is_planned = (place / FOLDER / PLAN).exists() or content(place).get(
            "watchline-catalog"
        ) == "id changes 3"
        killed_at(moment % 7, monkeypatch, lambda place=place: checkpoint.finish(str(place)))
        checkpoint.finish(str(place))
        found = {name: text for name, text in content(place).items() if not name.endswith(".new")}
        assert found == (WANTED if is_planned else before), moment
    assert 10 < moment < 1_000


def test_who_runs_and_who_rewrites_exclude_each_other(tmp_path: Path) -> None:
    place = str(tmp_path)
    program = f"from watchline import checkpoint; checkpoint.hold({place!r}, alone=True)"

    def other(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)

    checkpoint.hold(place)
    assert "is in use: a job runs on it" in other(program).stderr
    assert other(program.replace(", alone=True", "")).returncode == 0
    checkpoint.release(place)
    assert other(program).returncode == 0
    checkpoint.hold(place, alone=True)
    refused = other(program.replace(", alone=True", "")).stderr
    assert "it is being given another number of shards" in refused
    checkpoint.release(place)
    checkpoint.release(place)
    with pytest.raises(FileNotFoundError):
        checkpoint.hold(str(tmp_path / "nowhere"))
    assert InvalidState.__name__ in refused
