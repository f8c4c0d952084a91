"""The query indexes: against their peers, in the papers' experiments, while they change.

    python -m bench.indexes [peers|parallel|papers|memory|dynamic|tuning|hotspots …] [--quick]

Without a part, all of them. Tables go to standard output, figures to the folder of `--figures`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.changes import dynamic
from bench.hotspots import hotspots
from bench.memory import memory
from bench.papers import papers
from bench.race import parallel, peers
from bench.report import machine, say
from bench.tuning import tuning

Part = Callable[[bool], Iterator[str]]


def main() -> None:
    chosen = arguments()
    parts: dict[str, Part] = {
        "peers": peers,
        "parallel": parallel,
        "papers": lambda quick: papers(quick, chosen.figures),
        "memory": memory,
        "dynamic": dynamic,
        "tuning": tuning,
        "hotspots": hotspots,
    }
    unknown = set(chosen.parts) - set(parts)
    if unknown:
        raise SystemExit(f"there is no part {', '.join(unknown)}; there is {', '.join(parts)}")
    print(f"{machine()}.{' Quick: small sizes.' if chosen.quick else ''}", flush=True)
    for name in chosen.parts or parts:
        say(name)
        for text in parts[name](chosen.quick):
            print(f"\n{text}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.indexes")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--figures", type=Path, default=Path("docs/benchmarks/figures"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
