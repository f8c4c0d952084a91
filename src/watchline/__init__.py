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
    CatalogDamaged,
    CatalogError,
    CatalogMissing,
    DuplicateQuery,
    DuplicateStream,
    EngineError,
    InvalidNetwork,
    InvalidQuery,
    InvalidRange,
    InvalidState,
    QuerySyntaxError,
    SchemaMismatch,
    SelectWarning,
    UnansweredWarning,
    UnknownAttribute,
    UnknownQuery,
    UnknownStream,
    UnknownVersion,
    WatchlineError,
    WatchlineWarning,
)

if TYPE_CHECKING:
    from watchline import borders as border
    from watchline import evaluate, index, model, sql
    from watchline import simulate as roads
    from watchline.borders import BorderIndex
    from watchline.catalog import Catalog
    from watchline.joining import Joiner
    from watchline.matching import Matcher
    from watchline.spark import changes, counters, joins, matches, session
    from watchline.tracking import Tracker


__all__ = [
    "BorderIndex",
    "Catalog",
    "CatalogBusy",
    "CatalogDamaged",
    "CatalogError",
    "CatalogMissing",
    "DuplicateQuery",
    "DuplicateStream",
    "EngineError",
    "InvalidNetwork",
    "InvalidQuery",
    "InvalidRange",
    "InvalidState",
    "Joiner",
    "Matcher",
    "QuerySyntaxError",
    "SchemaMismatch",
    "SelectWarning",
    "Tracker",
    "UnansweredWarning",
    "UnknownAttribute",
    "UnknownQuery",
    "UnknownStream",
    "UnknownVersion",
    "WatchlineError",
    "WatchlineWarning",
    "__version__",
    "border",
    "changes",
    "counters",
    "evaluate",
    "index",
    "joins",
    "matches",
    "model",
    "roads",
    "session",
    "sql",
]

# Modules by their public name.
_MODULES = {
    "border": "borders",
    "catalog": "catalog",
    "evaluate": "evaluate",
    "index": "index",
    "model": "model",
    "roads": "simulate",
    "spark": "spark",
    "sql": "sql",
}
# Classes and functions by the package that has them.
_HOMES = {
    "BorderIndex": "borders",
    "Catalog": "catalog",
    "Joiner": "joining",
    "Matcher": "matching",
    "Tracker": "tracking",
    "changes": "spark",
    "counters": "spark",
    "joins": "spark",
    "matches": "spark",
    "session": "spark",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"watchline.{_HOMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"watchline.{_MODULES[name]}")
    raise AttributeError(f"module 'watchline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
