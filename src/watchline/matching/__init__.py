"""Rows against all EMIT MATCHES queries of a stream, without Spark.

plan.py    queries -> boxes by key and axes, and what remains for refinement
search.py  rows -> candidates of each part, through its indexes
engine.py  rows -> pairs of row and query
"""

from watchline.matching.engine import Base, Matcher, Pairs, prepare
from watchline.matching.plan import Part, Plan, Residue, plan

__all__ = ["Base", "Matcher", "Pairs", "Part", "Plan", "Residue", "plan", "prepare"]
