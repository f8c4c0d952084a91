"""scripts/setup with a Python that only pretends to install: twice at once, and interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "scripts" / "setup"
# It writes down each installation as it begins and ends. Where `slow` is, the installation takes
# until that file is gone; a package that is half there stays if it does not come so far.
PYTHON = """\
#!/bin/bash
case "$*" in
  "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  "-m pip install"*)
    echo begin >> log
    touch .venv/half
    while [ -e slow ]; do sleep 0.02; done
    rm .venv/half
    echo end >> log ;;
  "--version") echo "Python 3.11.0" ;;
esac
"""
ONE = ["begin", "end", "begin", "end"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    shutil.copy(SETUP, tmp_path / "scripts")
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    for name, text in (
        ("python3", PYTHON),
        ("java", "#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n"),
    ):
        program = tmp_path / "programs" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    return tmp_path


def start(project: Path) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return subprocess.Popen(
        ["scripts/setup"], cwd=project, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=kept | {"PATH": f"{project / 'programs'}:{os.environ['PATH']}", "PYTHON": "python3"},
        # Where these tests run in the background, Ctrl-C is ignored, and would be in here.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> str:
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    return printed


def log(project: Path) -> list[str]:
    path = project / "log"
    return path.read_text().split() if path.exists() else []


def wait_for_an_installation(project: Path, process: subprocess.Popen[str]) -> None:
    while not (project / ".venv" / "half").exists():
        assert process.poll() is None
        time.sleep(0.01)


def interrupted(process: subprocess.Popen[str], number: int) -> int:
    """Signal a process and all that it has started until it ends: its exit code. A shell that is
    just starting a program may pass over the first Ctrl-C."""
    for _ in range(600):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(0.1)
    raise AssertionError("it does not end")


def test_it_installs_once_and_then_does_nothing(project: Path) -> None:
    assert "creating .venv with Python 3.11.0" in finish(start(project))
    assert log(project) == ONE
    assert finish(start(project)) == ""
    assert log(project) == ONE


def test_it_installs_again_when_the_lock_file_is_newer(project: Path) -> None:
    finish(start(project))
    (project / ".venv" / "rival").touch()
    later = time.time() + 5
    os.utime(project / "requirements.lock", (later, later))
    assert "creating" not in finish(start(project))
    assert log(project) == ONE * 2
    assert (project / ".venv" / "rival").exists()


def test_a_lock_file_that_changes_meanwhile_is_installed_by_the_next_run(project: Path) -> None:
    (project / "slow").touch()
    first = start(project)
    wait_for_an_installation(project, first)
    time.sleep(0.05)
    (project / "requirements.lock").touch()
    (project / "slow").unlink()
    finish(first)
    finish(start(project))
    assert log(project) == ONE * 2


@pytest.mark.skipif(shutil.which("flock") is None, reason="needs flock")
def test_of_two_at_once_the_second_waits_and_finds_all_done(project: Path) -> None:
    (project / "slow").touch()
    first = start(project)
    wait_for_an_installation(project, first)
    second = start(project)
    assert second.stdout is not None
    assert second.stdout.readline() == "another make is installing .venv: waiting for it\n"
    assert log(project) == ["begin"]
    (project / "slow").unlink()
    finish(first)
    assert finish(second) == ""
    assert log(project) == ONE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_after_an_interruption_the_next_run_starts_anew(project: Path, number: int) -> None:
    (project / "slow").touch()
    first = start(project)
    wait_for_an_installation(project, first)
    assert interrupted(first, number) != 0
    (project / "slow").unlink()
    assert "the last installation did not end" in finish(start(project))
    assert not (project / ".venv" / "half").exists()
    assert log(project) == ["begin", *ONE]
    assert finish(start(project)) == ""
