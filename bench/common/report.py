"""What every benchmark shares: timing, the machine, Markdown tables, and a runner that keeps going.

A benchmark is a set of parts. The runner prints each table as soon as a part has it. A contestant
that is not installed, throws, or answers wrongly is a row that says so (`attempt`); a part that
throws is told, and the next part begins. The exit code is 1 if anything failed.

Ratios that a part publishes (`publish`) are measured within one run each. The parts that publish
some are run as often as `--runs` says, and a last table has the range of each ratio.
"""

from __future__ import annotations

import argparse
import functools
import os
import platform
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

# A part of a benchmark: whether it is to be quick, and where its figures go, to what it prints.
Part = Callable[[bool, Path], Iterator[str]]
T = TypeVar("T")

RUNS = 3
NOT_INSTALLED = "not installed"


# --- time and tables


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


def number(value: float, form: str = ".1f") -> str:
    """A number of a table; a dash where a contestant that failed has none."""
    return format(value, form) if isfinite(value) else "–"


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{date.today().isoformat()}, {os.cpu_count()} cores, {memory:.0f} GiB,"
        f" Python {platform.python_version()}, {platform.system()}"
    )


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header), *([["---"] * len(list(header))]), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# --- contestants that fail


class WrongAnswer(AssertionError):
    """A contestant did not find what the others found."""


@dataclass
class Findings:
    """What the runner collects from the parts of one process."""

    # By contestant or part: why it failed.
    failures: dict[str, str] = field(default_factory=dict)
    # By name: the ratio of each run.
    ratios: dict[str, list[float]] = field(default_factory=dict)
    # Measurements that several parts of a run share.
    shared: list[Any] = field(default_factory=list)

    @property
    def published(self) -> int:
        return sum(map(len, self.ratios.values()))


_found = Findings()


def attempt(who: str, call: Callable[[], T]) -> T | None:
    """What the call gives, or None if it throws: that is told at once and kept for the end."""
    try:
        return call()
    except Exception as problem:
        failed(who, problem)
        return None


def failed(who: str, problem: Exception) -> None:
    """Tell that a contestant or a part failed, and why."""
    reason = _found.failures[who] = _reason(problem)
    say(f"FAILED: {who}: {reason}")
    if reason != NOT_INSTALLED:
        traceback.print_exception(problem, file=sys.stderr)


def _reason(problem: Exception) -> str:
    if isinstance(problem, ModuleNotFoundError):
        return NOT_INSTALLED
    if isinstance(problem, AssertionError):
        return f"WRONG ANSWER: {_first_line(problem)}"
    return f"{type(problem).__name__}: {_first_line(problem)}"


def _first_line(problem: Exception) -> str:
    """Short enough for a cell of a table."""
    text = str(problem).strip().partition("\n")[0].replace("|", "/")
    return text if len(text) <= 120 else f"{text[:119]}…"


def failure_row(who: str, columns: int) -> list[str]:
    """The row of a contestant that failed."""
    return [who, f"**{_found.failures[who]}**", *[""] * (columns - 2)]


def require_same(found: Any, expected: Any) -> None:
    """Refuse an answer that is not the expected one."""
    if found != expected:
        raise WrongAnswer(f"{found} instead of {expected}")


def agreed(answers: Mapping[str, Any], expected: Any) -> list[str]:
    """The contestants that gave the expected answer. A wrong one is told; None failed before."""
    for who, found in answers.items():
        if found is not None and found != expected:
            failed(who, WrongAnswer(f"{found} instead of {expected}"))
    return [who for who, found in answers.items() if found == expected]


def in_turn(names: Sequence[str], turn: int) -> list[str]:
    """The contestants in another order each turn: who comes after whom matters to the caches."""
    first = turn % max(len(names), 1)
    return [*names[first:], *names[:first]]


# --- ratios over several runs


def publish(name: str, ratio: float) -> float:
    """A ratio of this run that will be told as a range over all runs; it comes back as it is."""
    if isfinite(ratio):
        _found.ratios.setdefault(name, []).append(ratio)
    return ratio


def once_a_run(make: Callable[..., T]) -> Callable[..., T]:
    """`functools.cache` for what several parts of a run share: the next run measures it anew."""
    kept = functools.cache(make)
    _found.shared.append(kept)
    return kept


def ranges(ratios: Mapping[str, Sequence[float]]) -> str:
    rows = [
        [name, f"{number(min(of))} to {number(max(of))}×", f"{len(of)}"]
        for name, of in ratios.items()
    ]
    return table(["ratio", "lowest to highest", "runs"], rows)


# --- the runner


def plain(part: Callable[[bool], Iterator[str]]) -> Part:
    """A part without figures."""

    def with_figures(quick: bool, _: Path) -> Iterator[str]:
        return part(quick)

    return with_figures


def run(program: str, parts: Mapping[str, Part], arguments: Sequence[str] | None = None) -> None:
    """The parts that the command line names, or all; ends the program if something failed."""
    chosen = _chosen(program, parts, arguments)
    _found.failures.clear()
    _found.ratios.clear()
    print(f"{machine()}.{' Quick: small sizes.' if chosen.quick else ''}", flush=True)
    names = list(chosen.parts or parts)
    for turn in range(chosen.runs):
        if turn:
            print(f"\n# Run {turn + 1} of {chosen.runs}", flush=True)
        for kept in _found.shared:
            kept.cache_clear()
        names = [name for name in names if _printed(name, parts[name], chosen)]
        if not names:
            break
    if _found.ratios:
        print(f"\n## Ratios, each measured within one run\n\n{ranges(_found.ratios)}", flush=True)
    if _found.failures:
        rows = ([who, why] for who, why in _found.failures.items())
        print(f"\n## Failed\n\n{table(['who', 'why'], rows)}", flush=True)
        raise SystemExit(1)


def _chosen(
    program: str, parts: Mapping[str, Part], arguments: Sequence[str] | None
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(parts)}; all if none is named")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one run")
    parser.add_argument("--runs", type=int, help=f"how often ratios are measured ({RUNS})")
    parser.add_argument("--figures", type=Path, default=Path("docs/benchmarks/figures"))
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.parts if name not in parts]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there is {', '.join(parts)}")
    if chosen.runs is None:
        chosen.runs = 1 if chosen.quick else RUNS
    if chosen.runs < 1:
        parser.error("--runs must be 1 or more")
    return chosen


def _printed(name: str, part: Part, chosen: argparse.Namespace) -> bool:
    """Print what a part has, as it comes; whether it published ratios, so that it runs again."""
    say(name)
    before = _found.published

    def print_all() -> None:
        for text in part(chosen.quick, chosen.figures):
            print(f"\n{text}", flush=True)

    attempt(f"part {name}", print_all)
    return _found.published > before
