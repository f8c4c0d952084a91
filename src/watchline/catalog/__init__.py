"""The durable, versioned catalog of streams and queries.

catalog.py  the public class: commands in, versions out
state.py    the fold of the log, the views that callers get
boxes.py    bulk registrations as columns
log.py      the Delta table underneath, and its twin in memory
guard.py    a record of the newest commit, by which damage is noticed
mending.py  checking a catalog's files, and mending them
codec.py    the model as JSON
explain.py  EXPLAIN QUERY
"""

from watchline.catalog.boxes import BoxBlock
from watchline.catalog.catalog import Catalog, CatalogLike, opened_catalog
from watchline.catalog.codec import dumps as definition_of
from watchline.catalog.mending import Health, check, repair
from watchline.catalog.state import Commit, Entry, Queries

__all__ = [
    "BoxBlock",
    "Catalog",
    "CatalogLike",
    "Commit",
    "Entry",
    "Health",
    "Queries",
    "check",
    "definition_of",
    "opened_catalog",
    "repair",
]
