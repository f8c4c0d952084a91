"""One shard's engines, without Spark: which objects enter and leave which queries, and joins.

explain.py  the plan of a query, for EXPLAIN
flips.py    an old row and a new row -> the boxes that hold only one of them
watcher.py  the EMIT CHANGES queries of a stream, following the catalog
rows.py     a batch of rows -> accepted ones, in the order in which they count
changes.py  changes as a table
blob.py     the state as bytes
tracker.py  rows and versions -> changes
joiner.py   rows of several streams and versions -> joined rows
"""

from watchline.tracking.changes import change_schema, change_table
from watchline.tracking.joiner import Joiner
from watchline.tracking.rows import Rejects, accepted
from watchline.tracking.tracker import Tracker
from watchline.tracking.watcher import WatchBase, Watcher, prepare_changes

__all__ = [
    "Joiner",
    "Rejects",
    "Tracker",
    "WatchBase",
    "Watcher",
    "accepted",
    "change_schema",
    "change_table",
    "prepare_changes",
]
