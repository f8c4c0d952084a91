"""The objects of a tracker: the latest row of each, and how many queries hold it.

All access to objects goes through `Objects`. A tracker that is one of several shards has its own
objects and, of the other shards, only those that some query moves with.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watchline.kernels.arrays import Integers, Mask
from watchline.model import Stream
from watchline.rows import Columns, row_schema


class Objects:
    """The objects of one shard of a stream.

    `rows` are the latest rows of its own objects, `others` those of focal objects that other shards
    own. `held` counts, for each own object, the queries that hold it and that a row alone decides;
    where all objects are kept nobody reads it. `newest` is the newest time of the stream.
    """

    def __init__(self, stream: Stream):
        self.clear(stream)

    def clear(self, stream: Stream) -> None:
        """No objects of this stream, and nothing seen."""
        self.stream = stream
        self.rows = self.others = self.no_rows()
        self.held: Integers = np.empty(0, np.int64)
        # Not known after a restore from a state that did not count.
        self.is_held_known = True
        self.newest: int | None = None

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def no_rows(self) -> pa.Table:
        """A table of the stream's columns without rows."""
        return row_schema(self.stream).empty_table()

    def columns(self) -> Columns:
        """The rows of own objects, for conditions."""
        return Columns(self.rows, self.stream)

    def ids(self) -> pa.Array:
        """The ids of own objects."""
        return self.rows[self.stream.object].combine_chunks()

    def every_row(self) -> pa.Table:
        """The rows of own objects, and then those of others."""
        return pa.concat_tables([self.rows, self.others])

    @property
    def nbytes(self) -> int:
        """The bytes of own rows."""
        return int(self.rows.nbytes)

    # --- changes

    def replace(self, rows: pa.Table, others: pa.Table, held: Integers, newest: int | None) -> None:
        """After a batch: all objects, by how many queries they are held, and the newest time."""
        self.rows, self.others, self.held, self.newest = rows, others, held, newest

    def keep(self, kept: Mask) -> None:
        """Keep these of the own objects."""
        self.rows, self.held = self.rows.filter(pa.array(kept)), self.held[kept]

    def add(self, rows: pa.Table, held: Integers) -> None:
        """More own objects, each held by so many queries."""
        self.rows = pa.concat_tables([self.rows, rows])
        self.held = np.concatenate([self.held, held])

    def set_held(self, held: Integers) -> None:
        """So many queries hold each own object now."""
        self.held, self.is_held_known = held, True

    # --- state

    def held_table(self) -> pa.Table:
        """How many queries hold each own object, for a state."""
        return pa.table({"held": self.held.astype(np.int32)})

    def take_over(self, every: pa.Table, others: int, newest: int | None) -> None:
        """The objects of a state, the last of which are others'. Who holds them is not known."""
        own = every.num_rows - others
        self.rows, self.others, self.newest = every.slice(0, own), every.slice(own), newest
        self.held, self.is_held_known = np.ones(own, np.int64), False

    def take_over_held(self, table: pa.Table) -> None:
        """The counts of a state that has them."""
        self.set_held(table["held"].to_numpy().astype(np.int64))
