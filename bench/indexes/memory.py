"""What an index says it takes, what the process grows by, and what the papers' formula gives.

Each case runs in a process of its own, which has built a small index of the kind before, so that
compiled code does not count. What it grows by is its anonymous memory after the collector and the
allocator have given back what they can.
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import watchline as wl
from bench.common.report import attempt, failure_row, say, table
from bench.common.workloads import Workload, setting, storage
from bench.indexes.peers import Contestant, contestants, own, paper

L = 16
HEADER = [
    "who",
    "`nbytes`, MiB",
    "process, MiB",
    "of the process",
    "formula, MiB",
    "of the formula",
    "without the boxes",
]


@dataclass(frozen=True)
class Size:
    """Bytes: as told by the index (0 if it does not tell), and as the process grew."""

    told: int
    process: int


def mib(size: float) -> str:
    return f"{size / 2**20:,.1f}"


def give_back() -> None:
    """Free memory goes from the allocator to the system."""
    ctypes.CDLL(None).malloc_trim(0)


def resident() -> int:
    """Bytes of anonymous memory of this process."""
    gc.collect()
    give_back()
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def cases(w: Workload) -> list[Contestant]:
    """All that race, and the papers' other rivals at the same unit and L."""
    more = ["sci", "lci"] if w.dims == 1 else ["cells", "vcs"]
    return [*contestants(w), *(paper(kind, w.r, L) for kind in more), own("scan", "")]


def builders(w: Workload) -> list[Contestant]:
    """The cases that build something of their own, not only search it in another way."""
    first: dict[Any, Contestant] = {}
    for case in cases(w):
        first.setdefault(case.build, case)
    return list(first.values())


def measured(setting_name: str, who: str, quick: bool) -> Size:
    """The size of a contestant of this name, in a fresh process."""
    task = json.dumps([setting_name, who, quick])
    command = [sys.executable, "-m", "bench.indexes.memory", task]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        problem = ModuleNotFoundError if last.startswith("ModuleNotFoundError") else RuntimeError
        raise problem(last)
    return Size(**json.loads(done.stdout))


def measure(setting_name: str, name: str, quick: bool) -> Size:
    w = setting(setting_name, quick)
    who = next(c for c in cases(w) if c.name == name)
    few = w.few()
    who.prepare(who.build(few), few.points)()
    before = resident()
    index = who.build(w)
    return Size(getattr(index, "nbytes", 0) if who.kind else 0, resident() - before)


def memory(quick: bool) -> Iterator[str]:
    yield "## Memory"
    for name in "AC":
        w = setting(name, quick)
        rows = []
        for who in builders(w)[:: 3 if quick else 1]:
            say(f"memory: {name}, {who.name}")
            size = attempt(who.name, partial(measured, name, who.name, quick))
            rows.append(line(w, who, size) if size else failure_row(who.name, len(HEADER)))
        yield f"### {name}: {len(w.lo):,} {'intervals' if w.dims == 1 else 'boxes'}"
        yield table(HEADER, rows)
    yield (
        "Formula: 4N + 8nμ of the papers, μ counted by their definitions; it leaves out the borders"
        " of the queries, which our `nbytes` has (what `scan` takes): the last column is the ratio"
        " without them."
    )


def line(w: Workload, who: Contestant, size: Size) -> list[str]:
    told = [mib(size.told), mib(size.process), f"{size.told / max(size.process, 1):.2f}"]
    if not who.kind:
        return [who.name, "", mib(size.process), "", "", "", ""]
    if "unit" not in who.tuning:
        return [who.name, *told, "", "", ""]
    formula = storage(who.kind, w, who.tuning.get("L", 1))
    bare = size.told - wl.index.build("scan", w.lo, w.hi).nbytes
    return [who.name, *told, mib(formula), f"{size.told / formula:.2f}", f"{bare / formula:.2f}"]


def main(task: str) -> None:
    arguments: Any = json.loads(task)
    print(json.dumps(asdict(measure(*arguments))))


if __name__ == "__main__":
    main(sys.argv[1])
