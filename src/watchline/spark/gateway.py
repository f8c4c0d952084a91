"""The JVM that a Python driver starts: deaf to signals that are meant for the driver, and quiet.

Ctrl-C in a terminal and `timeout` signal a whole process group, and systemd signals
all processes of a service. Were the JVM or its Python workers hit, the batch would fail and print
pages while the driver stops it. So the JVM gets a session of its own, and ignores SIGTERM; its
workers are its children, and it ends when the driver does, because its standard input ends then.

Its standard error comes through a pipe. Lines that every start prints are left out; the last lines
are kept until it runs, and are part of the error if it does not.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections import deque
from contextlib import suppress
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from watchline.errors import EngineError

_CHATTER = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|Using Spark's default log4j profile"
    rb"|Setting default log level to"
    rb"|To adjust logging level use"
)
_KEPT_LINES = 20
_SECONDS = 15.0


class ErrorOutput(threading.Thread):
    """Passes on what a JVM writes to its standard error, except what every start writes."""

    def __init__(self) -> None:
        super().__init__(name="watchline-jvm-errors", daemon=True)
        self._read, self.write_end = os.pipe()
        self._last: deque[bytes] = deque(maxlen=_KEPT_LINES)
        self.starting, self.quiet = True, False

    def run(self) -> None:
        with os.fdopen(self._read, "rb") as lines:
            for line in lines:
                if self.starting:
                    self._last.append(line)
                    if _CHATTER.match(line):
                        continue
                if not self.quiet:
                    with suppress(OSError):
                        os.write(2, line)

    def last_lines(self) -> str:
        """What was said before the JVM went, without the chatter."""
        self.join(_SECONDS)
        lines = [line.decode(errors="replace").strip() for line in self._last]
        return "; ".join(line for line in lines if line and not _CHATTER.match(line.encode()))


def launch(settings: dict[str, str]) -> tuple[Any, ErrorOutput]:
    """A JVM with these settings, and its standard error; an `EngineError` tells why it failed."""
    errors = ErrorOutput()
    errors.start()
    conf = SparkConf()
    conf.setAll(list(settings.items()))
    try:
        gateway = launch_gateway(conf, {"stderr": errors.write_end, "start_new_session": True})
    except PySparkRuntimeError:
        os.close(errors.write_end)
        # Some of its failures a JVM tells on standard output, which is the driver's own.
        why = errors.last_lines() or "what it said is printed above"
        raise EngineError(f"Spark's JVM did not start: {why}") from None
    except BaseException:
        # Broken off by a signal: what a half-started JVM says of it is no news.
        errors.quiet = True
        os.close(errors.write_end)
        raise
    os.close(errors.write_end)
    signal = gateway.jvm.sun.misc.Signal
    signal.handle(signal("TERM"), gateway.jvm.sun.misc.SignalHandler.SIG_IGN)
    return gateway, errors


def close(spark: SparkSession) -> None:
    """Stop Spark, and wait until its JVM is gone: a restart may need what it holds."""
    gateway = spark.sparkContext._gateway
    with suppress(Exception):
        spark.stop()
    process = getattr(gateway, "proc", None)
    if process is None:  # spark-submit's own
        return
    with suppress(Exception):
        gateway.shutdown()
    with suppress(OSError, subprocess.TimeoutExpired):
        process.stdin.close()
        process.wait(_SECONDS)
    SparkContext._gateway = SparkContext._jvm = None
