"""The state of a tracker as it was read: a snapshot, and the deltas after it.

A delta has the rows of objects that some batches changed, and the lives of queries that began,
ended or started in them. So it says nothing of a query that stays as it was, however many there
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from watchline.errors import InvalidState
from watchline.model import Stream
from watchline.rows import blob as blobs
from watchline.tracking.lives import after_delta
from watchline.tracking.objects import TouchedObjects


class TouchedState(NamedTuple):
    """What some batches changed in a tracker: objects, and queries whose lives changed."""

    objects: TouchedObjects
    lives: frozenset[str]


class SavedDelta(NamedTuple):
    """The tables of a delta, and the queries whose lives it has."""

    tables: list[pa.Table]
    lives: frozenset[str]


class Saved(NamedTuple):
    """A snapshot and the deltas after it, which were read and found to be of a catalog and stream.
    `head` is that of the last delta, with all lives."""

    head: dict[str, Any]
    stream: Stream
    objects: pa.Table
    # So many of the objects, the last ones, are other shards'.
    others: int
    # Where only some objects are kept: by how many queries, and the shadows of others.
    more: list[pa.Table]
    deltas: list[SavedDelta]

    @staticmethod
    def of(blob: bytes, identity: str, stream: str, deltas: Sequence[bytes] = ()) -> Saved:
        """Read a snapshot and deltas; those of another catalog or stream are refused."""
        first, (objects, *more) = blobs.unpack(blob)
        later = [blobs.unpack(delta, blobs.DELTAS) for delta in deltas]
        heads = [first, *(head for head, _ in later)]
        for head in heads:
            if "stream" not in head:
                raise InvalidState("the state is one of joins, not of a tracker")
            blobs.check_catalog(head["catalog"], identity)
        declared = blobs.stream_of(heads[-1]["stream"])
        if declared.name != stream:
            raise InvalidState(f"the state belongs to stream {declared.name!r}, not to {stream!r}")
        lives = after_delta({}, first)
        read = []
        for head, tables in later:
            before, lives = lives, after_delta(lives, head)
            read.append(SavedDelta(tables, _named(head, before)))
        return Saved(heads[-1] | lives, declared, objects, first["others"], more, read)


def _named(head: dict[str, Any], before: dict[str, Any]) -> frozenset[str]:
    """The queries whose lives a delta may have changed."""
    if "births" in head:
        every = (*head["births"], *head["waiting"], *before["births"], *before["waiting"])
        return frozenset(every)
    return frozenset(name for names in head["lives"].values() for name in names)
