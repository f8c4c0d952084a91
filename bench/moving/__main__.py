"""Moving queries: the experiments of the SOLE paper (sections 7.3 to 7.6) on exact answers, the
kernels on one core, and Spark.

    python -m bench.moving
        [still|moving|traffic|response|grid|shared|plans|spark …] [--quick] [--figures DIR]

Without a part, all of them. Tables go to standard output, figures to the folder of `--figures`.
"""

from __future__ import annotations

from bench.moving_kernel import moving, still, traffic
from bench.moving_plans import plans
from bench.moving_response import grid, response
from bench.moving_shared import shared
from bench.moving_spark import spark
from bench.report import Part, run

PARTS: dict[str, Part] = {
    "still": still,
    "moving": moving,
    "traffic": traffic,
    "response": response,
    "grid": grid,
    "shared": shared,
    "plans": plans,
    "spark": spark,
}


if __name__ == "__main__":
    run("bench.moving", PARTS)
