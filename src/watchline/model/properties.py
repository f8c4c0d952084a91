"""Properties: a JSON object that is kept with a query and decides nothing.

They are kept as canonical JSON text: keys in order, no blanks, no NaN. So equal properties are
equal texts, and a query with properties stays comparable and hashable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from watchline.errors import InvalidQuery

# The most characters of the properties of one query.
MAX_PROPERTIES = 65_536

_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def canonical_properties(value: Any) -> str | None:
    """Properties as canonical JSON, from a mapping or JSON text; None where there are none.

    What is no JSON object is refused: an `InvalidQuery`.
    """
    if value is None:
        return None
    found = _read(value) if isinstance(value, str) else value
    if not isinstance(found, Mapping):
        raise InvalidQuery(
            f'properties are a JSON object such as {{"kind": "school"}}, not {_shown(value)}'
        )
    if not found:
        return None
    try:
        text = _ENCODER.encode(found if isinstance(found, dict) else dict(found))
        text.encode()
    except UnicodeEncodeError:
        raise InvalidQuery("the properties have text that is not valid Unicode") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidQuery(f"the properties cannot be written as JSON: {error}") from None
    if len(text) > MAX_PROPERTIES:
        raise InvalidQuery(
            f"the properties have {len(text):,} characters; the limit is {MAX_PROPERTIES:,}"
        )
    return text


def _read(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except InvalidQuery:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidQuery(f"the properties are no JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidQuery(f"the properties have {twice!r} twice")
    return found


def _no_constant(word: str) -> NoReturn:
    raise InvalidQuery(f"the properties have {word}, which JSON does not know: leave it out")


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
