"""Border monitoring: of every stream only the crossings of query borders (BMQ-Index).

lists.py        sorted borders, their ranks and checkpoints
search.py       the search between two values, one row and many
generations.py  how queries come and go
base.py         the tables of queries and streams, and the checks
index.py        `BorderIndex`: queries, streams, and what they cross
diff.py         `DiffRmq`: the rival, two searches and a difference
"""

from __future__ import annotations

from watchline.border.diff import DiffRmq
from watchline.border.index import BorderIndex
from watchline.border.lists import AUTO, STABS, WALK, Borders, Steps, build
from watchline.border.search import Crossings, crossings, crossings_of_boxes

__all__ = [
    "AUTO",
    "STABS",
    "WALK",
    "BorderIndex",
    "Borders",
    "Crossings",
    "DiffRmq",
    "Steps",
    "build",
    "crossings",
    "crossings_of_boxes",
]
