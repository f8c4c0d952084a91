"""One shard's engine for changes: which objects enter and leave which queries. Without Spark.

explain.py  the plan of a query, for EXPLAIN
flips.py    an old row and a new row -> the boxes that hold only one of them
watcher.py  the EMIT CHANGES queries of a stream, following the catalog
rows.py     a batch of rows -> accepted ones, in the order in which they count
changes.py  changes as a table
blob.py     the state as bytes
tracker.py  rows and versions -> changes
"""

from watchline.tracking.changes import change_schema, change_table
from watchline.tracking.rows import Rejects, accepted
from watchline.tracking.tracker import Tracker
from watchline.tracking.watcher import WatchBase, Watcher, prepare_changes

__all__ = [
    "Rejects",
    "Tracker",
    "WatchBase",
    "Watcher",
    "accepted",
    "change_schema",
    "change_table",
    "prepare_changes",
]
