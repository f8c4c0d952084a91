"""Rows against all EMIT MATCHES queries of a stream, without Spark.

limits.py   from how many boxes on an index or a part of its own is worth having
plan.py     a plan: boxes by key and axes, and residues for refinement
planner.py  queries -> plan
joined.py   a plan of some queries of other plans
search.py   rows -> candidates of each part, through its indexes
layers.py   a stack of plans that follows the catalog
engine.py   rows -> pairs of row and query
matcher.py  `wl.Matcher`: rows -> matches as users get them
"""

from watchline.matching.engine import MatchPairs, PairMatcher, PreparedPlan, match, prepare
from watchline.matching.joined import joined
from watchline.matching.layers import Layer, LayeredPlan, PlanSource, is_among
from watchline.matching.matcher import Matcher, bare, match_table
from watchline.matching.plan import (
    NEVER,
    Part,
    Plan,
    Residue,
    circles_of,
    is_exact,
    is_static,
)
from watchline.matching.planner import keys_of, likely_plan, plan, plan_all, plan_and_rest
from watchline.matching.search import (
    PartSearch,
    SearchRows,
    access_path,
    index_cost,
    index_over,
    of_each_run,
)

__all__ = [
    "NEVER",
    "Layer",
    "LayeredPlan",
    "MatchPairs",
    "Matcher",
    "PairMatcher",
    "Part",
    "PartSearch",
    "Plan",
    "PlanSource",
    "PreparedPlan",
    "Residue",
    "SearchRows",
    "access_path",
    "bare",
    "circles_of",
    "index_cost",
    "index_over",
    "is_among",
    "is_exact",
    "is_static",
    "joined",
    "keys_of",
    "likely_plan",
    "match",
    "match_table",
    "of_each_run",
    "plan",
    "plan_all",
    "plan_and_rest",
    "prepare",
]
