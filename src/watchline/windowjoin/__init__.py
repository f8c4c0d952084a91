"""Sliding-window joins of streams, for many queries at once.

plan.py     queries -> directions: which rows come, which wait, what links them
frame.py    the rows of a batch and those kept from before, as keys that kernels compare
sides.py    which queries' selections a row satisfies, as bits
probe.py    rows that come meet those that wait: the shared join
indexed.py  the paper's SJ-Join, and its rival IBS-JS
chain.py    joins of three streams or more
"""

from watchline.windowjoin.chain import chained
from watchline.windowjoin.frame import LONGEST, Frame, Stretch
from watchline.windowjoin.indexed import PIECES, IndexedDirection
from watchline.windowjoin.plan import Direction, Half, Life, Member, Shape, directions, halves
from watchline.windowjoin.probe import BitsDirection, Pairs, way_of

__all__ = [
    "LONGEST",
    "PIECES",
    "BitsDirection",
    "Direction",
    "Frame",
    "Half",
    "IndexedDirection",
    "Life",
    "Member",
    "Pairs",
    "Shape",
    "Stretch",
    "chained",
    "directions",
    "halves",
    "way_of",
]
