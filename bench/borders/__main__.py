"""`python -m bench.borders`: the parts are described in experiments.py."""

import numba

from bench.borders.experiments import PARTS
from bench.common.report import run

numba.set_num_threads(1)
run("bench.borders", PARTS)
