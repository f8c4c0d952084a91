"""The query model: what a registered stream or query *is*, whatever text it came from.

Invariant: every value here is immutable, comparable, hashable, and its `repr` is a statement or a
piece of one that parses back into an equal value. (`repr` shortens a `Query` or a region of more
than a thousand characters, for people; its `sql` is always whole.) A constructor refuses what has
no meaning, so a model that exists is a model that can run.

    text.py       how names, numbers, times and strings are written in SQL
    condition.py  types, half-open ranges, atoms, the disjunctive normal form
    region.py     box, circle, polygon, corridor; bound to a focal object; k nearest neighbours
    retention.py  which objects of a stream are kept
    properties.py what is kept with a query for those who read its answers
    query.py      streams, windows, queries
    centre.py     the centre of a query, for distances
"""

from watchline.model.centre import Centred, centre_of
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
    Inside,
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
from watchline.model.properties import canonical_properties
from watchline.model.query import (
    JOINS_HAVE_NO_PLACE,
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
    LONGEST,
    SHORTEST,
    Box,
    Circle,
    Corridor,
    Knn,
    MovingBox,
    MovingCircle,
    MovingKnn,
    ObjectId,
    Polygon,
    Region,
    StaticRegion,
)
from watchline.model.retention import Keep, Retention, Shed
from watchline.model.text import (
    UNIT_MICROSECONDS,
    YEAR_1,
    YEAR_9999,
    interval_sql,
    micros_of,
    name_sql,
    scalar_sql,
    shortened,
    string_sql,
    timestamp_sql,
)

__all__ = [
    "INF",
    "JOINS_HAVE_NO_PLACE",
    "LONGEST",
    "MATCHES_ARE_NOT_SHED",
    "MATCHES_HAVE_NO_BIRTH",
    "MAX_AHEAD",
    "MAX_BIGINT",
    "MAX_DOUBLE",
    "MIN_BIGINT",
    "SHORTEST",
    "TRUE",
    "UNIT_MICROSECONDS",
    "YEAR_1",
    "YEAR_9999",
    "Atom",
    "Attribute",
    "Box",
    "Centred",
    "Circle",
    "Compare",
    "Condition",
    "Conjunction",
    "Corridor",
    "Emit",
    "InRange",
    "Inside",
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
    "StaticRegion",
    "Stream",
    "Type",
    "Window",
    "canonical_properties",
    "centre_of",
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
    "scalar_sql",
    "shortened",
    "string_sql",
    "timestamp_sql",
]
