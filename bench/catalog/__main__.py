"""`python -m bench.catalog`: the parts are described in experiments.py."""

from bench.catalog.experiments import PARTS
from bench.common.report import run

run("bench.catalog", PARTS)
