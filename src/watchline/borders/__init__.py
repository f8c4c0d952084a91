"""Border monitoring: of every stream only the crossings of query borders (BMQ-Index).

runs.py         sorted borders, their ranks and checkpoints
step.py         the search between two values, one row and many
generations.py  how queries come and go
monitor.py      `Monitor`: the tables of queries and streams, and the checks
index.py        `BorderIndex`: queries, streams, and what they cross
stationary.py   a grid over boxes that stay: which of them a move enters and leaves
strips.py       the arrays of that grid          grid_build.py  how it is chosen and built
papers/         `DiffRmq`, the rival: two searches and a difference; loaded by who measures it
"""

from __future__ import annotations

from watchline.borders.grid_build import GridSizes, build_grid, grid_sizes
from watchline.borders.index import BorderIndex
from watchline.borders.runs import AUTO, STABS, WALK, Borders, Steps, build_borders
from watchline.borders.stationary import blocks_read, grid_crossings
from watchline.borders.step import (
    ROW_CHANGES,
    Crossings,
    crossings,
    crossings_of_boxes,
    entries_read,
)
from watchline.borders.strips import DIMENSIONS, Grid

__all__ = [
    "AUTO",
    "DIMENSIONS",
    "ROW_CHANGES",
    "STABS",
    "WALK",
    "BorderIndex",
    "Borders",
    "Crossings",
    "Grid",
    "GridSizes",
    "Steps",
    "blocks_read",
    "build_borders",
    "build_grid",
    "crossings",
    "crossings_of_boxes",
    "entries_read",
    "grid_crossings",
    "grid_sizes",
]
