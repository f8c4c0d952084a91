"""How the model writes itself as SQL: names, numbers, strings, times.

Invariant: what is written here, the parser reads back as the same value, to the last bit.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from enum import Enum


class SqlWord(str, Enum):
    """A word of the language."""

    def __repr__(self) -> str:
        return str(self.value)


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)

UNIT_MICROSECONDS = {
    "WEEKS": 604_800_000_000,
    "DAYS": 86_400_000_000,
    "HOURS": 3_600_000_000,
    "MINUTES": 60_000_000,
    "SECONDS": 1_000_000,
    "MILLISECONDS": 1_000,
    "MICROSECONDS": 1,
}

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Words with a meaning of their own in the language: as a name they are written in quotes.
_RESERVED = frozenset(
    "ALTER CONNECT_BY_ROOT GRANT INSERT LIST NULLABLE PARTITIONED_BY REGEXP RETURNING REVOKE"
    " ROLLBACK TABLESAMPLE UNCACHE UNKNOWN"
    " ACCURACY ALL AND ANY ARRAY AS ASC BETWEEN BY CASE CAST CIRCLE COLLATE CORRIDOR CREATE CROSS"
    " CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATE DATETIME DEFAULT DESC"
    " DISTINCT DIV DROP ELSE EMIT END ESCAPE EXCEPT EXISTS EXPLAIN FALSE FILTER FOR FROM GLOB"
    " GROUP HAVING IF ILIKE IN INNER INSIDE INTERSECT INTERVAL INTO IS ISNULL JOIN KNN LATERAL"
    " LEFT LIKE LIMIT MAP MAX MOD NOT NOTNULL NULL OBJECT ON OR ORDER OUTER OVER OVERLAPS"
    " PIVOT POINT POLYGON QUALIFY QUERY RANGE REPLACE RIGHT RLIKE ROW ROWS SELECT SET SHOW"
    " SIMILAR SOME STREAM STRUCT TABLE THEN TIME TIMEOUT TIMESTAMP TRUE UNION UNPIVOT UNTIL USING"
    " VALUES WHEN WHERE WINDOW WITH WITHIN XOR".split()
)


def name_sql(name: str) -> str:
    """A name as SQL: bare where that reads back as the same name, else in double quotes."""
    if _PLAIN_NAME.match(name) and name.upper() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def shortened(text: str, limit: int = 1_000) -> str:
    """The text for people: of a long one the beginning and the end, and how much is left out."""
    if len(text) <= limit:
        return text
    end = limit // 4
    left_out = len(text) - limit
    return f"{text[: limit - end]}… ({left_out:,} characters more) …{text[-end:]}"


def string_sql(value: str) -> str:
    """A string as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def number_sql(value: int | float) -> str:
    """A finite number that reads back as itself."""
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def scalar_sql(value: int | float | str | bool) -> str:
    """A number, boolean or string as an SQL literal."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return string_sql(value) if isinstance(value, str) else number_sql(value)


def timestamp_sql(micros: int) -> str | None:
    """A timestamp literal; None outside the calendar's years 1 to 9999, where there is none."""
    try:
        moment = _EPOCH + micros * _MICROSECOND
    except OverflowError:
        return None
    return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(sep=' ')}'"


def micros_of(moment: datetime) -> int:
    """Microseconds since 1970; a moment without a zone is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return (moment - _EPOCH) // _MICROSECOND


# Times that have a literal: the calendar's years 1 to 9999.
YEAR_1, YEAR_9999 = micros_of(datetime.min), micros_of(datetime.max)


def interval_sql(micros: int) -> str:
    """The length in the largest unit that divides it: `90 SECONDS`, `1 HOUR`."""
    unit, size = next((u, size) for u, size in UNIT_MICROSECONDS.items() if micros % size == 0)
    return f"{micros // size} {unit if micros != size else unit[:-1]}"
