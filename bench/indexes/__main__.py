"""The query indexes: against their peers, in the papers' experiments, while they change.

    python -m bench.indexes [peers|parallel|papers|memory|dynamic|tuning|hotspots …]
        [--quick] [--runs N] [--figures DIR]

Without a part, all of them. Tables go to standard output, figures to the folder of `--figures`.
"""

from __future__ import annotations

from bench.common.report import Part, plain, run
from bench.indexes.changes import dynamic
from bench.indexes.hotspots import hotspots
from bench.indexes.memory import memory
from bench.indexes.papers import papers
from bench.indexes.race import parallel, peers
from bench.indexes.tuning import tuning

PARTS: dict[str, Part] = {
    "peers": plain(peers),
    "parallel": plain(parallel),
    "papers": papers,
    "memory": plain(memory),
    "dynamic": plain(dynamic),
    "tuning": plain(tuning),
    "hotspots": plain(hotspots),
}


if __name__ == "__main__":
    run("bench.indexes", PARTS)
