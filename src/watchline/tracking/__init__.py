"""One shard's engine of changes, without Spark: which objects enter and leave which queries.

tracker.py          `wl.Tracker`: rows and versions -> changes
saved.py            a state as it was read: a snapshot, and the deltas after it
objects.py          the objects of a shard: their latest rows, and who holds them
object_table.py     latest rows in slots that stay from batch to batch
object_index.py     an index over objects, for queries that come and go
expiry_queue.py     objects by the time of their last row, for time-outs
batch.py            one batch: its moves, and what they change
linked_rows.py      rows in order -> moves
speeds.py           moves -> SPEED, where a query asks for it
speeds.py           moves -> SPEED, where a query asks for it
queries.py          the EMIT CHANGES queries of a stream, following the catalog; shared by shards
plan.py             queries -> boxes for those that a row alone decides, columns for the others
ranges.py           an old row and a new row -> the boxes that hold only one of them
tracked_queries.py  the queries as one tracker has them: version, lives, sizes
resharding.py       the states of shards, dealt to another number of shards
lives.py            when queries begin and end by themselves
proximity.py        the queries of a tracker that move or rank
row_operator.py     their operator, for rows and query ids
filters.py          conditions of these queries
answers.py          who is in which answer, and the changes between answers
memberships.py      who is in which answers, as the modules of a tracker hand it on
distances.py        how far the objects of changes are from the centres of queries
timeline/           what the k nearest of a shard did, and the merge of all shards
retention/          which objects are kept, and what is given up under a bound
"""

from watchline.tracking.batch import TimeSpan
from watchline.tracking.filters import candidates_that_pay, ranges_of
from watchline.tracking.plan import ChangePlan, prepare_changes
from watchline.tracking.queries import ChangeQueries
from watchline.tracking.ranges import GRID, MoveCosts, bordered_runs
from watchline.tracking.resharding import resharded
from watchline.tracking.saved import Saved, TouchedState
from watchline.tracking.timeline.format import (
    PLAIN,
    QUERIES,
    Timeline,
    pack_timeline,
    split_timeline,
    unpack_timeline,
)
from watchline.tracking.timeline.merged import MergedAnswers
from watchline.tracking.timeline.sent import WHOLE, Received, SentTimelines
from watchline.tracking.tracker import Keeping, Tracker

__all__ = [
    "GRID",
    "PLAIN",
    "QUERIES",
    "WHOLE",
    "ChangePlan",
    "ChangeQueries",
    "Keeping",
    "MergedAnswers",
    "MoveCosts",
    "Received",
    "Saved",
    "SentTimelines",
    "TimeSpan",
    "Timeline",
    "TouchedState",
    "Tracker",
    "bordered_runs",
    "candidates_that_pay",
    "pack_timeline",
    "prepare_changes",
    "ranges_of",
    "resharded",
    "split_timeline",
    "unpack_timeline",
]
