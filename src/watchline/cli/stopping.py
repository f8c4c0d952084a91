"""How a command that runs Spark stops when SIGINT (Ctrl-C) or SIGTERM comes.

Until the streaming query runs there is nothing to finish: the signal breaks off the start. Then it
only asks to stop, so that the running batch can end. A second Ctrl-C ends the process at once; a
second SIGTERM does nothing, because `timeout` sends it twice, to its child and to its group.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Signals that come together are one wish.
_TOGETHER_SECONDS = 1.0


class Stop:
    """Listens to both signals while it is entered."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._first = 0.0
        self._starting = True

    def __enter__(self) -> Stop:
        self._before = [signal.getsignal(number) for number in SIGNALS]
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(SIGNALS, self._before, strict=True):
            signal.signal(number, handler)

    def started(self) -> None:
        """From here on a signal asks, and breaks off nothing. Called when Spark runs, whose start
        installs a handler of its own."""
        self._starting = False
        self._listen()

    def _listen(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._receive)

    def _receive(self, number: int, _: Any) -> None:
        now = time.monotonic()
        if self.asked.is_set():
            if number == signal.SIGINT and now - self._first > _TOGETHER_SECONDS:
                os._exit(128 + number)
            return
        self._first = now
        self.asked.set()
        if self._starting:
            raise KeyboardInterrupt
