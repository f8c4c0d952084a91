"""What every benchmark shares: timing, the machine, and a Markdown table."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any


def say(text: str) -> None:
    """Progress, beside the table on standard output."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def timed(run: Callable[[], Any], repeat: int = 1) -> list[float]:
    """Seconds of each run."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return seconds


def spread(seconds: list[float]) -> str:
    """Best, median and worst, in the unit that fits."""
    return " / ".join(amount(s) for s in (min(seconds), statistics.median(seconds), max(seconds)))


def amount(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{date.today().isoformat()}, {os.cpu_count()} cores, {memory:.0f} GiB,"
        f" Python {platform.python_version()}, {platform.system()}"
    )


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header), *([["---"] * len(list(header))]), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
