"""Rows against all EMIT MATCHES queries of a stream, without Spark.

limits.py   from how many boxes on an index or a part of its own is worth having
plan.py     a plan: boxes by key and axes, regions, and residues for refinement
residues.py what is left to check on candidates
shapes.py   regions of queries -> columns of the index of regions
planner.py  queries -> plan
draft.py    a plan in the making
alternatives.py  keys, sides and regions of an alternative
groups.py   boxes and regions that ask about the same axes -> parts
joined.py   a plan of some queries of other plans
search.py   rows -> candidates of each part, through its indexes
layers.py   a stack of plans that follows the catalog
engine.py   rows -> pairs of row and query
matcher.py  `wl.Matcher`: rows -> matches as users get them
"""

from watchline.matching.engine import (
    MatchPairs,
    PairMatcher,
    PreparedPlan,
    Search,
    match,
    prepare,
    search_over,
)
from watchline.matching.joined import joined
from watchline.matching.layers import Layer, LayeredPlan, PlanSource, is_among
from watchline.matching.matcher import Matcher, bare, match_table
from watchline.matching.plan import (
    NEVER,
    Part,
    Plan,
    RegionPart,
    bounding_boxes,
    is_exact,
    is_static,
)
from watchline.matching.planner import keys_of, likely_plan, plan, plan_all, plan_and_rest
from watchline.matching.residues import Residues
from watchline.matching.search import (
    PartSearch,
    RegionSearch,
    SearchRows,
    access_path,
    index_cost,
    index_over,
    of_each_run,
)
from watchline.matching.shapes import is_region

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
    "RegionPart",
    "RegionSearch",
    "Residues",
    "Search",
    "SearchRows",
    "access_path",
    "bare",
    "bounding_boxes",
    "index_cost",
    "index_over",
    "is_among",
    "is_exact",
    "is_region",
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
    "search_over",
]
