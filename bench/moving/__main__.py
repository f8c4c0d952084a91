"""Moving queries: the experiments of the SOLE paper (sections 7.3 to 7.6) on exact answers, the
kernels on one core, and Spark.

    python -m bench.moving
        [still|moving|earth|traffic|response|grid|shared|plans|spark|neighbours …]
        [--quick] [--figures DIR]

Without a part, all of them. Tables go to standard output, figures to the folder of `--figures`.
"""

from __future__ import annotations

from bench.common.report import Part, run
from bench.moving.earth import earth
from bench.moving.kernel import moving, still, traffic
from bench.moving.neighbours import neighbours
from bench.moving.plans import plans
from bench.moving.response import grid, response
from bench.moving.shared import shared
from bench.moving.spark import spark

PARTS: dict[str, Part] = {
    "still": still,
    "moving": moving,
    "earth": earth,
    "traffic": traffic,
    "response": response,
    "grid": grid,
    "shared": shared,
    "plans": plans,
    "spark": spark,
    "neighbours": neighbours,
}


if __name__ == "__main__":
    run("bench.moving", PARTS)
