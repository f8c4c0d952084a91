"""Sliding-window joins of streams, for many queries at once.

joiner.py      `wl.Joiner`: rows of several streams and versions -> joined rows
feeds.py       the rows of a stream that are kept: in windows, and those that wait
plan.py        `JoinPlan`: a joiner's queries as directions, and the tuples they find
directions.py  queries -> directions: which rows come, which wait, what links them
windows.py     the rows of a batch and those kept from before, as keys that kernels compare
nearby.py      points, and the cells by which those that are near each other are found
sides.py       which queries' selections a row satisfies, as bits
probe.py       rows that come meet those that wait: the shared join
chain.py       joins of three streams or more
papers/        the paper's SJ-Join, and its rival IBS-JS
"""

from watchline.joining.chain import chained
from watchline.joining.directions import (
    Direction,
    DirectionShape,
    Half,
    Life,
    Member,
    directions_of,
    halves,
)
from watchline.joining.joiner import Joiner
from watchline.joining.plan import columns_of
from watchline.joining.probe import BitsDirection, JoinedPairs, way_of
from watchline.joining.windows import LONGEST, JoinFrame, Stretch

__all__ = [
    "LONGEST",
    "BitsDirection",
    "Direction",
    "DirectionShape",
    "Half",
    "JoinFrame",
    "JoinedPairs",
    "Joiner",
    "Life",
    "Member",
    "Stretch",
    "chained",
    "columns_of",
    "directions_of",
    "halves",
    "way_of",
]
