"""Tile38 with the same fences and rows, if its server is on the PATH: how old an event is when a
subscriber has it. Its protocol is that of Redis, over two connections of this process."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from typing import Any

import numpy as np

SERVER = "tile38-server"
# Degrees that the unit square becomes: a fence of Tile38 lies on the globe.
DEGREES = 10.0


def tile38_delays(
    lo: Any, hi: Any, objects: int, per_second: int, seconds: float
) -> list[float] | None:
    """Seconds from each row to each of its events; None where there is no server."""
    program = shutil.which(SERVER)
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        server = subprocess.Popen(
            [program, "-h", "127.0.0.1", "-p", str(port), "-d", folder, "-q"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            return _delays(port, (lo, hi), objects, per_second, seconds)
        finally:
            server.terminate()
            server.wait(30)


def _delays(
    port: int, boxes: tuple[Any, Any], objects: int, per_second: int, seconds: float
) -> list[float]:
    (west, south), (east, north) = boxes[0] * DEGREES, boxes[1] * DEGREES
    setting = _connected(port)
    fences = [
        _command(
            f"SETCHAN q{i} WITHIN cars FENCE DETECT enter,exit BOUNDS {south[i]} {west[i]}"
            f" {north[i]} {east[i]}"
        )
        for i in range(len(west))
    ]
    _send_all(setting, fences)
    rng = np.random.default_rng(5)
    listening = _connected(port)
    listening.sendall(_command("PSUBSCRIBE q*"))
    sent: dict[int, float] = {}
    found: list[float] = []
    over = threading.Event()
    listener = threading.Thread(target=_listen, args=(listening, sent, found, over), daemon=True)
    listener.start()
    count, start = max(per_second // 100, 1), time.time()
    for step in range(int(seconds * per_second / count)):
        time.sleep(max(start + step * count / per_second - time.time(), 0))
        ids, places = rng.integers(0, objects, count), rng.random((count, 2)) * DEGREES
        sent.update(dict.fromkeys(ids.tolist(), time.time()))
        rows = [
            _command(f"SET cars {i} POINT {y} {x}")
            for i, (x, y) in zip(ids.tolist(), places.tolist(), strict=True)
        ]
        _send_all(setting, rows)
    time.sleep(1.0)
    over.set()
    return found


def _connected(port: int) -> socket.socket:
    until = time.monotonic() + 30
    while (made := _connection(port)) is None:
        if time.monotonic() > until:
            raise ConnectionError("Tile38 does not listen after 30 seconds")
        time.sleep(0.05)
    return made


def _connection(port: int) -> socket.socket | None:
    with suppress(ConnectionRefusedError):
        return socket.create_connection(("127.0.0.1", port))
    return None


def _command(text: str) -> bytes:
    words = text.encode().split()
    parts = [b"*%d\r\n" % len(words), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)]
    return b"".join(parts)


def _send_all(to: socket.socket, commands: list[bytes]) -> None:
    """Send the commands in pipelines, and read a line of reply for each."""
    for start in range(0, len(commands), 100):
        part = commands[start : start + 100]
        to.sendall(b"".join(part))
        missing = len(part)
        while missing:
            reply = to.recv(1 << 16)
            if not reply or b"-ERR" in reply:
                raise ConnectionError(f"Tile38 answers {reply[:200]!r}")
            missing -= reply.count(b"\n")


def _listen(
    listening: socket.socket, sent: dict[int, float], found: list[float], over: threading.Event
) -> None:
    """Note how old each event is as it comes."""
    listening.settimeout(0.2)
    rest, mark = b"", b'"id":"'
    while not over.is_set():
        try:
            rest += listening.recv(1 << 16)
        except TimeoutError:
            continue
        now = time.time()
        *whole, rest = rest.split(b"\r\n")
        for line in whole:
            at = line.find(mark)
            if at >= 0:
                number = line[at + len(mark) :].partition(b'"')[0]
                found.append(now - sent[int(number)])
