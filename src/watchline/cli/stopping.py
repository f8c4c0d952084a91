"""How a command that runs Spark stops when SIGINT (Ctrl-C) or SIGTERM comes.

A first signal only asks to stop: the command finishes the call into Spark that it is in, stops what
it has started and says so. A second Ctrl-C ends the process at once; a second SIGTERM does nothing,
because `timeout` sends it twice, to its child and to its group.

Calls into Spark run in a thread of their own. A signal interrupts the main thread alone, so no call
is broken off half way; and PySpark, which takes Ctrl-C for itself where it starts in the main
thread, leaves it to us.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Signals that come together are one wish.
_TOGETHER_SECONDS = 1.0
_LOOK_SECONDS = 0.2


class Stop:
    """Listens to both signals while it is entered; `asked` is set once one has come."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._first = 0.0

    def __enter__(self) -> Stop:
        self._before = [signal.getsignal(number) for number in SIGNALS]
        for number in SIGNALS:
            signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(SIGNALS, self._before, strict=True):
            signal.signal(number, handler)

    def call(self, work: Callable[[], T], cancel: Callable[[], object] | None = None) -> T:
        """The result of a call into Spark; `cancel` is called as long as a signal asks to stop."""
        with ThreadPoolExecutor(1, "watchline-spark") as thread:
            done = thread.submit(work)
            while not done.done():
                wait([done], _LOOK_SECONDS)
                if self.asked.is_set() and cancel is not None:
                    cancel()
            return done.result()

    def _receive(self, number: int, _: Any) -> None:
        now = time.monotonic()
        if not self.asked.is_set():
            self._first = now
            self.asked.set()
        elif number == signal.SIGINT and now - self._first > _TOGETHER_SECONDS:
            os._exit(128 + number)
