"""Rows against all EMIT MATCHES queries of a stream, without Spark.

plan.py    queries -> boxes by key and axes, and what remains for refinement
engine.py  rows -> pairs of row and query
"""

from watchline.matching.engine import Matcher, Pairs
from watchline.matching.plan import Part, Plan, Residue, plan

__all__ = ["Matcher", "Pairs", "Part", "Plan", "Residue", "plan"]
