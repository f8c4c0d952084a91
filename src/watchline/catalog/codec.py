"""The model as JSON, and back.

The log keeps what a query *means*, not only what was typed, so that a later and better parser never
changes a registered query, and a worker reads ten thousand queries without parsing any. A dataclass
becomes an object with its class under `$` and its fields that differ from their defaults; a field
added later with a default therefore reads old logs. Renaming a class or field needs a new format.
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from watchline import model

_CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(model.Attribute, model.Range, model.InRange, model.OneOf, model.NoneOf),
        *(model.IsNull, model.NotNull, model.Compare, model.Inside, model.Distance),
        model.Conjunction,
        *(model.Box, model.Circle, model.Polygon, model.Corridor, model.MovingBox),
        *(model.MovingCircle, model.Knn, model.MovingKnn),
        *(model.RangeWindow, model.RowsWindow, model.Source),
        *(model.Stream, model.Query, model.Type, model.Emit, model.Retention, model.Shed),
    )
}


def dumps(value: Any) -> str:
    """A model as the compact JSON text that the log keeps."""
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def loads(text: str) -> Any:
    """The model of such a text."""
    return _model(json.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return {"$": type(value).__name__, "value": value.value}
    if is_dataclass(value):
        changed = {f.name: getattr(value, f.name) for f in fields(value)}
        defaults = {f.name: f.default for f in fields(value) if f.default is not MISSING}
        kept = {k: _plain(v) for k, v in changed.items() if k not in defaults or defaults[k] != v}
        return {"$": type(value).__name__, **kept}
    if isinstance(value, bytes):
        return {"$": "bytes", "base64": base64.b64encode(value).decode()}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and math.isinf(value):
        return {"$": "inf", "sign": 1 if value > 0 else -1}
    return value


def _model(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_model(v) for v in value)
    if not isinstance(value, dict):
        return value
    kind = value.pop("$")
    if kind == "bytes":
        return base64.b64decode(value["base64"])
    if kind == "inf":
        return value["sign"] * math.inf
    if issubclass(_CLASSES[kind], Enum):
        return _CLASSES[kind](value["value"])
    parts = {name: _model(v) for name, v in value.items()}
    if kind == "Query":
        _leave_out_ignored(parts)
    return _CLASSES[kind](**parts)


def _leave_out_ignored(parts: dict[str, Any]) -> None:
    """Clauses that older logs have where they never did anything, and that are refused now."""
    if parts.get("emit", model.Emit.MATCHES) is model.Emit.MATCHES:
        parts.pop("accuracy", None)
        if len(parts["sources"]) == 1:
            parts.pop("lifetime", None)
