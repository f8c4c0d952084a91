"""Watchline answers millions of standing queries over live data.

    import watchline as wl

    cat = wl.Catalog("my-catalog")
    cat.execute("CREATE STREAM t (symbol STRING, price DOUBLE, ts TIMESTAMP) OBJECT symbol TIME ts")
    cat.execute("CREATE QUERY cheap AS SELECT * FROM t WHERE symbol = 'IBM' AND price < 40")

Parts load when first used, so that `import watchline` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from watchline._version import __version__
from watchline.errors import (
    CatalogBusy,
    CatalogError,
    DuplicateQuery,
    DuplicateStream,
    InvalidQuery,
    InvalidRange,
    QuerySyntaxError,
    UnknownAttribute,
    UnknownQuery,
    UnknownStream,
    UnknownVersion,
    WatchlineError,
)

if TYPE_CHECKING:
    from watchline import evaluate, model, sql
    from watchline.catalog import Catalog


__all__ = [
    "Catalog",
    "CatalogBusy",
    "CatalogError",
    "DuplicateQuery",
    "DuplicateStream",
    "InvalidQuery",
    "InvalidRange",
    "QuerySyntaxError",
    "UnknownAttribute",
    "UnknownQuery",
    "UnknownStream",
    "UnknownVersion",
    "WatchlineError",
    "__version__",
    "evaluate",
    "model",
    "sql",
]

_MODULES = ("catalog", "evaluate", "model", "sql")


def __getattr__(name: str) -> Any:
    if name == "Catalog":
        return importlib.import_module("watchline.catalog").Catalog
    if name in _MODULES:
        return importlib.import_module(f"watchline.{name}")
    raise AttributeError(f"module 'watchline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
