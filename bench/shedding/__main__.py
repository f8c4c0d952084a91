"""Bounded memory: the experiments of the SOLE paper's sections 7.1, 7.2, 7.5, 7.7 and 7.8 on a road
network.

    python -m bench.shedding [cache|sharing|load|supported|arrivals|pauses|overhead …] [--quick]
        [--figures DIR]

Without a part, all of them. Tables go to standard output, figures to the folder of `--figures`.
"""

from __future__ import annotations

from bench.common.report import Part, run
from bench.shedding.cache import cache
from bench.shedding.load import load
from bench.shedding.overhead import overhead
from bench.shedding.sharing import sharing
from bench.shedding.time import arrivals, pauses, supported

PARTS: dict[str, Part] = {
    "cache": cache,
    "sharing": sharing,
    "load": load,
    "supported": supported,
    "arrivals": arrivals,
    "pauses": pauses,
    "overhead": overhead,
}


if __name__ == "__main__":
    run("bench.shedding", PARTS)
