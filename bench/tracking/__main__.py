"""`python -m bench.tracking`: the parts are described in experiments.py."""

from bench.common.report import run
from bench.tracking.experiments import PARTS

run("bench.tracking", PARTS)
