"""The query model: what a registered stream or query *is*, whatever text it came from.

Invariant: every value here is immutable, comparable, hashable, and its `repr` is a statement or a
piece of one that parses back into an equal value. (`repr` shortens a `Query` or `Polygon` of more
than a thousand characters, for people; its `sql` is always whole.) A constructor refuses what has
no meaning, so a model that exists is a model that can run.

    text.py       how names, numbers, times and strings are written in SQL
    condition.py  types, half-open ranges, atoms, the disjunctive normal form
    region.py     box, circle, polygon; bound to a focal object; k nearest neighbours
    retention.py  which objects of a stream are kept
    query.py      streams, windows, queries
"""

from watchline.model.condition import (
    INF,
    MAX_BIGINT,
    MAX_DOUBLE,
    MIN_BIGINT,
    TRUE,
    Atom,
    Attribute,
    Compare,
    Condition,
    Conjunction,
    InRange,
    IsNull,
    NoneOf,
    NotNull,
    OneOf,
    Range,
    Type,
    compare,
    condition_sql,
    conjoin,
    conjunction,
    in_range,
    nearest_double,
    range_where,
)
from watchline.model.query import (
    MATCHES_ARE_NOT_SHED,
    MATCHES_HAVE_NO_BIRTH,
    MAX_AHEAD,
    Emit,
    Query,
    RangeWindow,
    RowsWindow,
    Source,
    Stream,
    Window,
)
from watchline.model.region import (
    Box,
    Circle,
    Knn,
    MovingBox,
    MovingCircle,
    MovingKnn,
    ObjectId,
    Polygon,
    Region,
)
from watchline.model.retention import Keep, Retention, Shed
from watchline.model.text import (
    UNIT_MICROSECONDS,
    YEAR_1,
    YEAR_9999,
    interval_sql,
    micros_of,
    name_sql,
    shortened,
    timestamp_sql,
)

__all__ = [
    "INF",
    "MATCHES_ARE_NOT_SHED",
    "MATCHES_HAVE_NO_BIRTH",
    "MAX_AHEAD",
    "MAX_BIGINT",
    "MAX_DOUBLE",
    "MIN_BIGINT",
    "TRUE",
    "UNIT_MICROSECONDS",
    "YEAR_1",
    "YEAR_9999",
    "Atom",
    "Attribute",
    "Box",
    "Circle",
    "Compare",
    "Condition",
    "Conjunction",
    "Emit",
    "InRange",
    "IsNull",
    "Keep",
    "Knn",
    "MovingBox",
    "MovingCircle",
    "MovingKnn",
    "NoneOf",
    "NotNull",
    "ObjectId",
    "OneOf",
    "Polygon",
    "Query",
    "Range",
    "RangeWindow",
    "Region",
    "Retention",
    "RowsWindow",
    "Shed",
    "Source",
    "Stream",
    "Type",
    "Window",
    "compare",
    "condition_sql",
    "conjoin",
    "conjunction",
    "in_range",
    "interval_sql",
    "micros_of",
    "name_sql",
    "nearest_double",
    "range_where",
    "shortened",
    "timestamp_sql",
]
