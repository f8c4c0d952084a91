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

from watchline import hooks
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
    from watchline import border, evaluate, index, model, roads, sql
    from watchline.border import BorderIndex
    from watchline.catalog import Catalog
    from watchline.matching import Matcher
    from watchline.spark import changes, counters, joins, matches, session
    from watchline.tracking import Joiner, Tracker


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

_MODULES = (
    "border",
    "catalog",
    "evaluate",
    "index",
    "matching",
    "model",
    "roads",
    "spark",
    "sql",
    "tracking",
)
_FUNCTIONS = {
    "BorderIndex": "border",
    "Catalog": "catalog",
    "Joiner": "tracking",
    "Matcher": "matching",
    "Tracker": "tracking",
    "changes": "spark",
    "counters": "spark",
    "joins": "spark",
    "matches": "spark",
    "session": "spark",
}


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"watchline.{_FUNCTIONS[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"watchline.{name}")
    raise AttributeError(f"module 'watchline' has no attribute {name!r}")


def _planner(queries: Any, stream: Any, emit: Any) -> hooks.PlanLines:
    explain = importlib.import_module("watchline.tracking.explain")
    return explain.planner(queries, stream, emit)  # type: ignore[no-any-return]


def _join_planner(queries: Any) -> hooks.PlanLines:
    explain = importlib.import_module("watchline.tracking.explain_joins")
    return explain.join_planner(queries)  # type: ignore[no-any-return]


hooks.planner, hooks.join_planner = _planner, _join_planner


def __dir__() -> list[str]:
    return sorted(__all__)
