"""Rows of streams on their way in and out, for all engines.

columns.py     rows as NumPy columns, by the attributes of a stream
acceptance.py  a batch of rows -> accepted ones, in the order in which they count
sharding.py    the shard of an object
slot_columns.py  columns whose values stay in slots from batch to batch
hashing.py     hashes of ids and texts
id_table.py    the slot of an object's id
value_index.py  the place of a value in a column that does not change
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
    extent,
    in_time,
    row_schema,
    sequence,
    stable_order,
    times_of,
)
from watchline.rows.columns import (
    ARROW,
    Columns,
    check_columns,
    check_rows,
    mask_of,
    one_array,
)
from watchline.rows.id_table import IdTable
from watchline.rows.output import (
    OWN,
    change_schema,
    change_table,
    no_changes,
    shown_names,
)
from watchline.rows.sharding import shards_of
from watchline.rows.slot_columns import (
    MANY,
    NumberColumn,
    SlotColumn,
    StringColumn,
    slot_column,
    taken,
    taken_rows,
    text_hashes,
)
from watchline.rows.value_index import ValueIndex

__all__ = [
    "ARROW",
    "MANY",
    "OWN",
    "TIME",
    "AcceptedRows",
    "Columns",
    "IdTable",
    "NumberColumn",
    "Rejects",
    "Rows",
    "SlotColumn",
    "StringColumn",
    "ValueIndex",
    "accepted",
    "change_schema",
    "change_table",
    "check_columns",
    "check_rows",
    "conformed",
    "extent",
    "in_time",
    "mask_of",
    "no_changes",
    "one_array",
    "row_schema",
    "sequence",
    "shards_of",
    "shown_names",
    "slot_column",
    "stable_order",
    "taken",
    "taken_rows",
    "text_hashes",
    "times_of",
]
