"""The durable, versioned catalog of streams and queries.

catalog.py  the public class: commands in, versions out
state.py    the fold of the log, the views that callers get
boxes.py    bulk registrations as columns
log.py      the Delta table underneath, and its twin in memory
codec.py    the model as JSON
explain.py  EXPLAIN QUERY
"""

from watchline.catalog.boxes import BoxBlock
from watchline.catalog.catalog import Catalog
from watchline.catalog.codec import dumps as definition_of
from watchline.catalog.state import Commit, Entry, Queries

__all__ = ["BoxBlock", "Catalog", "Commit", "Entry", "Queries", "definition_of"]
