"""`python -m bench.regions`: the parts are described in experiments.py, earth.py and spark.py."""

import numba

from bench.common.report import plain, run
from bench.regions.earth import earth
from bench.regions.experiments import PARTS
from bench.regions.spark import spark

numba.set_num_threads(1)
run("bench.regions", PARTS | {"earth": plain(earth), "spark": plain(spark)})
