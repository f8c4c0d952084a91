"""The durable, versioned catalog of streams and queries.

catalog.py  the public class: commands in, versions out
state.py    the fold of the log, the views that callers get
boxes.py    bulk registrations as columns
log.py      the Delta table underneath, and its twin in memory
codec.py    the model as JSON
answering.py  which queries a call answers, and what is told about the others
explain.py  EXPLAIN QUERY
"""

from watchline.catalog.answering import Call, Unanswered, all_ids, unanswered, warn_unanswered
from watchline.catalog.boxes import BoxBlock
from watchline.catalog.catalog import Catalog
from watchline.catalog.state import Commit, Entry, Queries

__all__ = [
    "BoxBlock",
    "Call",
    "Catalog",
    "Commit",
    "Entry",
    "Queries",
    "Unanswered",
    "all_ids",
    "unanswered",
    "warn_unanswered",
]
