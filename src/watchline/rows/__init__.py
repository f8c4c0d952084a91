"""Rows of streams on their way in and out, for all engines.

columns.py     rows as NumPy columns, by the attributes of a stream
acceptance.py  a batch of rows -> accepted ones, in the order in which they count
sharding.py    the shard of an object
output.py      changes as a table
blob.py        the state of an engine as bytes
"""

from watchline.rows.acceptance import (
    TIME,
    AcceptedRows,
    Rejects,
    Rows,
    accepted,
    conformed,
    in_time,
    row_schema,
    sequence,
    stable_order,
    times_of,
)
from watchline.rows.columns import ARROW, Columns, check_columns, check_rows, mask_of
from watchline.rows.output import OWN, change_schema, change_table
from watchline.rows.sharding import shards_of

__all__ = [
    "ARROW",
    "OWN",
    "TIME",
    "AcceptedRows",
    "Columns",
    "Rejects",
    "Rows",
    "accepted",
    "change_schema",
    "change_table",
    "check_columns",
    "check_rows",
    "conformed",
    "in_time",
    "mask_of",
    "row_schema",
    "sequence",
    "shards_of",
    "stable_order",
    "times_of",
]
