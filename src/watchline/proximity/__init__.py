"""Moving objects against moving and stationary regions and nearest neighbours, through one grid.

operator.py       `Operator`: the objects of a shard, its queries, and one grid
query_columns.py  `Moving`: queries that move or rank, as columns
events.py         events in their order: rows, time-outs, ends of queries
regions.py        range queries that move       nearest.py  nearest neighbours
bulk.py           many objects or queries at once, between events
tables.py         objects, queries, and the changes of answers, as kernels take them
grid.py           cells, and the lists of who is in them
labels.py         numbers that order objects as their ids do
"""

from watchline.proximity.events import Events, run_events
from watchline.proximity.operator import GUESS, Operator
from watchline.proximity.query_columns import (
    Filter,
    Moving,
    all_moving,
    moving,
    object_type,
)
from watchline.proximity.tables import (
    ADD,
    CENTRE,
    CIRCLE,
    CLOSE,
    END,
    FIRST,
    FRESH,
    INSIDE,
    NO_FILTER,
    REFRESH,
    REMOVE,
    RETURN,
    ROW,
    SHED,
    TIMEOUT,
    UNHOLD,
    AnswerChanges,
)

__all__ = [
    "ADD",
    "CENTRE",
    "CIRCLE",
    "CLOSE",
    "END",
    "FIRST",
    "FRESH",
    "GUESS",
    "INSIDE",
    "NO_FILTER",
    "REFRESH",
    "REMOVE",
    "RETURN",
    "ROW",
    "SHED",
    "TIMEOUT",
    "UNHOLD",
    "AnswerChanges",
    "Events",
    "Filter",
    "Moving",
    "Operator",
    "all_moving",
    "moving",
    "object_type",
    "run_events",
]
