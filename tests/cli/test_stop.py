"""What a signal does to a command: breaks off a start, asks a running one, ends it at last."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import pytest

from watchline.__main__ import main
from watchline.cli import stopping
from watchline.cli.stopping import Stop


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", stopping.SIGNALS)
def test_a_signal_asks_and_breaks_off_nothing(number: int) -> None:
    """A call into Spark goes on to its end, in a thread that PySpark takes no signals in."""
    before = signal.getsignal(number)

    def work() -> bool:
        send(number)
        assert stop.asked.wait(10)
        return threading.current_thread() is threading.main_thread()

    with Stop() as stop:
        assert stop.call(work) is False
        assert stop.asked.is_set()
    assert signal.getsignal(number) is before


def test_a_call_is_cancelled_and_its_error_is_the_callers() -> None:
    cancelled = threading.Event()

    def work() -> None:
        send(signal.SIGTERM)
        assert cancelled.wait(10)
        raise ValueError("Job cancelled")

    with Stop() as stop, pytest.raises(ValueError, match="Job cancelled"):
        stop.call(work, cancelled.set)


def test_a_running_command_is_asked_and_a_second_interrupt_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, ended = [100.0], list[int]()
    monkeypatch.setattr(stopping.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(stopping.os, "_exit", ended.append)
    with Stop() as stop:
        send(signal.SIGINT)
        assert stop.asked.is_set()
        send(signal.SIGINT)  # `timeout -s INT` sends it twice at once
        now[0] += 2
        send(signal.SIGTERM)
        assert ended == []
        send(signal.SIGINT)
        assert ended == [130]


def test_ctrl_c_while_python_imports_is_silent(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Importing:
        def __getattr__(self, name: str) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "watchline.cli", Importing())
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capfd.readouterr() == ("", "")
