"""What a signal does to a command: breaks off a start, asks a running one, ends it at last."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest

from watchline.__main__ import main
from watchline.cli import stopping
from watchline.cli.stopping import Stop


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", stopping.SIGNALS)
def test_a_start_is_broken_off(number: int) -> None:
    before = signal.getsignal(number)
    with Stop() as stop:
        with pytest.raises(KeyboardInterrupt):
            send(number)
        assert stop.asked.is_set()
    assert signal.getsignal(number) is before


def test_a_running_command_is_asked_and_a_second_interrupt_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, ended = [100.0], list[int]()
    monkeypatch.setattr(stopping.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(stopping.os, "_exit", ended.append)
    with Stop() as stop:
        stop.started()
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
