"""The durable, versioned catalog of streams and queries.

catalog.py  the public class: commands in, versions out
state.py    the fold of the log, the views that callers get
query_blocks.py   bulk registrations as columns: what all of them have
boxes.py    those of boxes
region_blocks.py  those of regions
commands.py commands as rows of the log, and back
pending.py  the commands of one commit while it is made
log.py      the Delta table underneath, and its twin in memory
guard.py    a record of the newest commit, by which damage is noticed
mending.py  checking a catalog's files, and mending them
codec.py    the model as JSON
known_properties.py  properties by id, for results
answering.py  which queries a call answers, and what is told about the others
selecting.py  the columns that all queries of a call select
"""

from watchline.catalog.answering import Call, Unanswered, all_ids, unanswered, warn_unanswered
from watchline.catalog.boxes import BoxBlock
from watchline.catalog.catalog import Catalog, CatalogLike, opened_catalog
from watchline.catalog.codec import dumps as definition_of
from watchline.catalog.known_properties import KnownProperties
from watchline.catalog.mending import Health, check, repair
from watchline.catalog.query_blocks import Block
from watchline.catalog.region_blocks import RegionBlock
from watchline.catalog.selecting import agreed
from watchline.catalog.state import Commit, Entry, Queries

__all__ = [
    "Block",
    "BoxBlock",
    "Call",
    "Catalog",
    "CatalogLike",
    "Commit",
    "Entry",
    "Health",
    "KnownProperties",
    "Queries",
    "RegionBlock",
    "Unanswered",
    "agreed",
    "all_ids",
    "check",
    "definition_of",
    "opened_catalog",
    "repair",
    "unanswered",
    "warn_unanswered",
]
