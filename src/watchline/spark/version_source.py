"""New versions of a catalog as a stream of their own, so that a registration starts a batch.

The offset is the version. These rows only start a batch. Which version the batch uses is pinned
when it first runs (`version_pin.py`), since a batch that other rows start has a version, too.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from watchline.spark.catalog_ref import CatalogRef


class VersionSource(DataSource):  # type: ignore[misc]
    """`spark.readStream.format("watchline-versions")`."""

    @classmethod
    def name(cls) -> str:
        return "watchline-versions"

    def schema(self) -> str:
        return "version long"

    def streamReader(self, schema: Any) -> VersionReader:  # noqa: N802
        ref = CatalogRef.from_json(json.loads(self.options["secret"]))
        return VersionReader(ref, int(self.options["version"]))


class VersionReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Spark's reader of the catalog's versions: an offset is a version."""

    def __init__(self, ref: CatalogRef, version: int):
        self._ref, self._first = ref, version
        self._catalog: Any = None
        self._target: int | None = None

    def _newest(self) -> int:
        if self._catalog is None:
            self._catalog = self._ref.open()
        return int(self._catalog.version)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"version": self._first}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._newest()

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        newest = self._newest() if self._target is None else self._target
        return {"version": max(start["version"], newest)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(end["version"])]

    def stop(self) -> None:
        """Spark's process for this reader calls it when the JVM has closed the connection, and
        would then print a traceback of the end of file; there is nobody left to tell."""
        if isinstance(sys.exc_info()[1], EOFError):
            os._exit(0)

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        yield (partition.value,)
