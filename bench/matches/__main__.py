"""`python -m bench.matches`: the parts are described in experiments.py."""

from bench.common.report import run
from bench.matches.experiments import PARTS

run("bench.matches", PARTS)
