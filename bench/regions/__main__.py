"""`python -m bench.regions`: the parts are described in experiments.py."""

import numba

from bench.common.report import run
from bench.regions.experiments import PARTS

numba.set_num_threads(1)
run("bench.regions", PARTS)
