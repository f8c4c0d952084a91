"""Rows against all EMIT MATCHES queries of a stream, without Spark.

limits.py  from how many boxes on what is worth having
plan.py    queries -> boxes by key and axes, and what remains for refinement
search.py  rows -> candidates of each part, through its indexes
engine.py  rows -> pairs of row and query
matcher.py `wl.Matcher`: rows -> matches as users get them
"""

from watchline.matching.engine import Base, Layer, PairMatcher, Pairs, base_of, match, prepare
from watchline.matching.matcher import Matcher, matched
from watchline.matching.plan import (
    Part,
    Plan,
    Residue,
    is_static,
    keys_of,
    likely_plan,
    living,
    narrowed,
    plan,
    plan_all,
)

__all__ = [
    "Base",
    "Layer",
    "Matcher",
    "PairMatcher",
    "Pairs",
    "Part",
    "Plan",
    "Residue",
    "base_of",
    "is_static",
    "keys_of",
    "likely_plan",
    "living",
    "match",
    "matched",
    "narrowed",
    "plan",
    "plan_all",
    "prepare",
]
