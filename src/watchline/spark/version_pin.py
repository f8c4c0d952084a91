"""One catalog version and one wall clock per micro-batch, the same on every replay.

The first task of a micro-batch that asks writes down the newest version and the time under
(streaming query, batch); every other task, and every later replay of the batch, reads that. Both
ids are Spark's own and survive a restart from the checkpoint. The store creates a pin only if it is
absent, so two tasks cannot disagree.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from watchline.catalog import Catalog
from watchline.clock import micros_now
from watchline.spark.store import FileStore, store_at

FOLDER = "_runs"
KEPT = 100


class Pin(NamedTuple):
    """What a batch goes by: a version, and the wall clock in microseconds (None: no clock was
    pinned, so no row is of the future)."""

    version: int
    now: int | None

    @staticmethod
    def read(text: str) -> Pin:
        """A pin as it was written; older ones have no clock."""
        version, *now = map(int, text.split())
        return Pin(version, now[0] if now else None)

    def __str__(self) -> str:
        return str(self.version) if self.now is None else f"{self.version} {self.now}"


def run_store(catalog: Catalog, uri: str, query_id: str) -> FileStore:
    """The store beside a catalog for the pins of one streaming query."""
    if catalog.folder is not None:
        return store_at(os.path.join(catalog.folder, FOLDER, query_id))
    return store_at(f"{uri}/{FOLDER}/{query_id}")


def pinned(catalog: Catalog, store: FileStore, batch_id: int) -> Pin:
    """What this batch of the store's streaming query goes by, now and for ever."""
    found = store.create_if_absent(
        str(batch_id), lambda: str(Pin(catalog.version, micros_now())).encode("ascii")
    )
    # On an object store old pins stay.
    if found.is_new and catalog.folder is not None:
        store.delete(str(batch_id - KEPT))
    return Pin.read(found.content.decode("ascii") or "0")
