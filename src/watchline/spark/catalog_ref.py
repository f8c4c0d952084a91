"""Where another process finds the catalog. Kept apart: it loads nothing but the catalog."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from watchline.catalog import Catalog


@dataclass(frozen=True)
class CatalogRef:
    """Where a worker finds the catalog: a place, or the statements themselves."""

    uri: str | None = None
    # Another catalog at the same place is another catalog.
    catalog_id: str = ""
    storage_options: tuple[tuple[str, str], ...] = ()
    statements: tuple[str, ...] = ()

    @staticmethod
    def of(catalog: Catalog) -> CatalogRef:
        """How other processes find an open catalog."""
        if catalog.uri is None:
            return CatalogRef(statements=catalog.statements())
        # Workers may have another working folder.
        uri = catalog.uri if catalog.folder is None else os.path.abspath(catalog.folder)
        options = tuple(sorted((catalog.storage_options or {}).items()))
        return CatalogRef(uri, catalog.id, options)

    def as_json(self) -> list[Any]:
        return [self.uri, self.catalog_id, self.storage_options, self.statements]

    @staticmethod
    def from_json(parts: list[Any]) -> CatalogRef:
        uri, catalog_id, options, statements = parts
        return CatalogRef(uri, catalog_id, tuple(map(tuple, options)), tuple(statements))

    def open(self) -> Catalog:
        if self.uri is None:
            return Catalog.of(self.statements)
        return Catalog(self.uri, create=False, storage_options=dict(self.storage_options) or None)
