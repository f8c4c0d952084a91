"""What every benchmark shares: timing, the machine, a Markdown table, and parts to choose from."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

# A part of a benchmark: whether it is to be quick, and where its figures go, to what it prints.
Part = Callable[[bool, Path], Iterator[str]]


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


def run(program: str, parts: Mapping[str, Part]) -> None:
    """The parts that the command line names, or all, printed as they come."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--figures", type=Path, default=Path("docs/benchmarks/figures"))
    chosen = parser.parse_args()
    unknown = [name for name in chosen.parts if name not in parts]
    if unknown:
        raise SystemExit(f"there is no part {', '.join(unknown)}; there is {', '.join(parts)}")
    print(f"{machine()}.{' Quick: small sizes.' if chosen.quick else ''}", flush=True)
    for name in chosen.parts or parts:
        say(name)
        for text in parts[name](chosen.quick, chosen.figures):
            print(f"\n{text}", flush=True)
