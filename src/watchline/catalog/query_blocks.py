"""Bulk registrations: the queries of one are a block of columns, never an object for each.

What is common to all of them stands here. What a query of the block looks like is left to the
kinds: boxes (boxes.py) and regions (region_blocks.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.errors import DuplicateQuery, InvalidQuery
from watchline.kernels.arrays import Mask
from watchline.model import Emit, Query
from watchline.rows import ValueIndex

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Block(ABC):
    """The living queries of one bulk registration. All of them read one stream and emit alike."""

    version: int
    stream: str
    emit: Emit
    ids: pa.Array

    # What one of its queries is called.
    one = "query"

    def __len__(self) -> int:
        return len(self.ids)

    @abstractmethod
    def query(self, i: int) -> Query:
        """The query at this place."""

    @property
    @abstractmethod
    def kind(self) -> object:
        """What decides which kernels its queries need: blocks of one kind need the same."""

    @abstractmethod
    def all_properties(self) -> pa.Array:
        """The properties of all its queries, null for those without."""

    @abstractmethod
    def kept(self, mask: Mask) -> Self:
        """The block with these of its queries alone."""

    def position(self, query_id: str) -> int:
        """Where the id stands in the block, or -1."""
        return int(self.numbers.find(pa.array([query_id], pa.string()))[0])

    @cached_property
    def numbers(self) -> ValueIndex:
        """Where ids stand; made when one is first looked for."""
        return ValueIndex(self.ids)

    def queries(self) -> Iterator[Query]:
        return (self.query(i) for i in range(len(self)))

    def without(self, dead: set[str]) -> Self:
        """The block less these ids; one pass, however many they are."""
        gone = pc.is_in(self.ids, pa.array(sorted(dead), pa.string()))
        return self.kept(~np.asarray(gone.to_numpy(zero_copy_only=False), dtype=np.bool_))


def emit_of(emit: str | Emit) -> Emit:
    """What a caller of a bulk registration wants to be emitted."""
    try:
        return Emit(emit.upper())
    except (ValueError, AttributeError):
        raise InvalidQuery(f"emit must be 'changes' or 'matches', not {emit!r}") from None


def query_ids(ids: Any, call: str) -> pa.Array:
    """The ids that a caller of this call gave, each one a string that stands there once."""
    if isinstance(ids, (str, bytes)):
        raise InvalidQuery(f"ids must be a list of query ids, not the one string {ids[:40]!r}")
    try:
        ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
        array = ids if isinstance(ids, pa.Array) else pa.array(ids, pa.string())
        array = array.cast(pa.string()) if pa.types.is_large_string(array.type) else array
    except (pa.ArrowException, UnicodeError, TypeError) as error:
        raise InvalidQuery(f"query ids must be strings: {error}") from None
    if array.type != pa.string():
        raise InvalidQuery(f"query ids must be strings, not {array.type}")
    if len(array) == 0:
        raise InvalidQuery(f"{call} got no ids")
    if array.null_count or pc.any(pc.equal(array, "")).as_py():
        raise InvalidQuery("a query id must not be null or empty")
    if len(pc.unique(array)) < len(array):
        counts = pc.value_counts(array)
        twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        raise DuplicateQuery(f"query id {twice[0].as_py()!r} stands in the ids more than once")
    return array
