"""Hypothesis strategies for rows, conditions and queries, adversarial at every border.

Conditions come as the trees of tests/reference.py, and `condition_sql` writes them as SQL, so that
the oracle never sees what the parser made of them.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from watchline import sql
from watchline.model import Stream

DECLARATION = (
    "CREATE STREAM rows (id BIGINT, d DOUBLE, e DOUBLE, n BIGINT, m BIGINT, s STRING, u STRING,"
    " b BOOLEAN, c BOOLEAN, ts TIMESTAMP, tt TIMESTAMP) OBJECT id TIME ts POINT (d, e)"
)
TYPES = {
    "d": "DOUBLE",
    "e": "DOUBLE",
    "n": "BIGINT",
    "m": "BIGINT",
    "s": "STRING",
    "u": "STRING",
    "b": "BOOLEAN",
    "c": "BOOLEAN",
    "tt": "TIMESTAMP",
}
MAX = 1.7976931348623157e308


def stream() -> Stream:
    statement = sql.statement(DECLARATION)
    assert isinstance(statement, sql.CreateStream)
    return statement.stream


def _neighbours(values: list[float]) -> list[float]:
    return [w for v in values for w in (math.nextafter(v, -MAX), v, math.nextafter(v, MAX))]


DOUBLES = _neighbours(
    [0.0, -0.0, 5e-324, 1.0, -1.0, 0.1, 40.0, 2.0**53, -(2.0**63), 1e300, MAX, -MAX]
)
BIGINTS = [
    *range(-2, 3),
    *(sign * 2**53 + i for sign in (1, -1) for i in (-1, 0, 1)),
    *(2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1),
]
STRINGS = ["", "a", "b", "ab", "it's", "ünï", "🚕", "\ue000", "\U00010000", "A", " a"]
MOMENTS = [0, 1, -1, 1_772_323_200_000_000, 1_772_323_200_000_001, -62_135_596_800_000_000]

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "DOUBLE": st.sampled_from([d for d in DOUBLES if math.isfinite(d)])
    | st.floats(allow_nan=False, allow_infinity=False),
    "BIGINT": st.sampled_from(BIGINTS) | st.integers(-(2**63), 2**63 - 1),
    "STRING": st.sampled_from(STRINGS) | st.text(st.characters(codec="utf-8"), max_size=3),
    "BOOLEAN": st.booleans(),
    "TIMESTAMP": st.sampled_from(MOMENTS),
}
ODD = {"DOUBLE": st.sampled_from([None, math.nan, math.inf, -math.inf])}


def rows() -> st.SearchStrategy[dict[str, Any]]:
    columns = {
        name: st.one_of(VALUES[kind], VALUES[kind], VALUES[kind], ODD.get(kind, st.none()))
        for name, kind in TYPES.items()
    }
    return st.fixed_dictionaries(columns)


# --- conditions

OPS = ["=", "<>", "<", "<=", ">", ">="]


def _ops(kind: str) -> list[str]:
    return OPS if kind in ("DOUBLE", "BIGINT", "TIMESTAMP") else OPS[:2]


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[Any, ...]:
    name = draw(st.sampled_from(sorted(TYPES)))
    kind = TYPES[name]
    attribute, constant = ("attr", name), VALUES[kind]
    if kind == "BIGINT":
        # A fractional constant beside an integer is compared exactly.
        constant = constant | st.floats(-1e19, 1e19)
    form = draw(st.sampled_from(["cmp", "cmp", "cmp", "flipped", "two", "in", "isnull", "between"]))
    if form == "isnull":
        return ("isnull", attribute)
    if form == "in":
        values = draw(st.lists(constant, min_size=1, max_size=4))
        return ("in", attribute, [("const", v) for v in values])
    if form == "between" and len(_ops(kind)) > 2:
        return ("between", attribute, ("const", draw(constant)), ("const", draw(constant)))
    op = draw(st.sampled_from(_ops(kind)))
    if form == "two":
        alike = [n for n, k in TYPES.items() if k == kind or {k, kind} == {"DOUBLE", "BIGINT"}]
        return ("cmp", op, attribute, ("attr", draw(st.sampled_from(alike))))
    other = ("const", draw(constant))
    return ("cmp", op, other, attribute) if form == "flipped" else ("cmp", op, attribute, other)


def conditions() -> st.SearchStrategy[tuple[Any, ...]]:
    leaf = st.one_of(
        comparisons(),
        comparisons(),
        static_regions.map(within),
        st.sampled_from([("true",), ("false",)]),
    )

    def combine(inner: st.SearchStrategy[tuple[Any, ...]]) -> st.SearchStrategy[tuple[Any, ...]]:
        several = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(
            st.tuples(st.just("not"), inner),
            several.map(lambda parts: ("and", *parts)),
            several.map(lambda parts: ("or", *parts)),
        )

    return st.recursive(leaf, combine, max_leaves=6)


def condition_sql(tree: tuple[Any, ...]) -> str:
    """The tree as a person would type it; attributes are typed by their names."""
    kind, *parts = tree
    if kind in ("true", "false"):
        return str(kind).upper()
    if kind == "not":
        return f"NOT ({condition_sql(parts[0])})"
    if kind in ("and", "or"):
        return f" {kind.upper()} ".join(f"({condition_sql(p)})" for p in parts)
    if kind == "isnull":
        return f"{parts[0][1]} IS NULL"
    if kind == "inside":
        return region_sql(parts[0])
    if kind == "distance":
        op, one, other, length = parts
        return f"DISTANCE({one}, {other}) {op} {length!r}"
    times = any(p[0] == "attr" and TYPES.get(p[1]) == "TIMESTAMP" for p in parts if len(p) == 2)

    def operand(part: tuple[Any, ...]) -> str:
        return str(part[1]) if part[0] == "attr" else constant_sql(part[1], times)

    if kind == "in":
        return f"{operand(parts[0])} IN ({', '.join(map(operand, parts[1]))})"
    if kind == "between":
        return f"{operand(parts[0])} BETWEEN {operand(parts[1])} AND {operand(parts[2])}"
    return f"{operand(parts[1])} {parts[0]} {operand(parts[2])}"


def constant_sql(value: Any, is_time: bool) -> str:
    if is_time:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=value)
        return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


# --- regions

small = st.integers(-3, 3).map(float)
triangle = st.sampled_from(
    [[(0.0, 0.0), (2.0, 0.0), (1.0, 2.0)], [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]]
)
path = st.lists(st.tuples(small, small), min_size=2, max_size=4)
static_regions: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    st.builds(
        lambda x, y, width, height: ("box", x, y, x + width, y + height),
        *(small, small),
        *[st.sampled_from([-2.0, 0.5, 1.0, 3.0])] * 2,
    ),
    st.tuples(st.just("circle"), small, small, st.sampled_from([0.5, 1.0, 2.0, 1e-170, 1e200])),
    st.tuples(st.just("polygon"), triangle.map(lambda ring: [ring])),
    st.tuples(
        st.just("corridor"),
        st.lists(path, min_size=1, max_size=2),
        st.sampled_from([0.5, 1.0, 2.0, 1e-140, 1e140]),
    ),
)
regions = st.one_of(
    st.none(), st.tuples(st.just("box"), small, small, small, small), static_regions
)


def within(region: tuple[Any, ...]) -> tuple[Any, ...]:
    """INSIDE as a condition over the point of the stream."""
    return ("inside", region, ("attr", "d"), ("attr", "e"))


def region_sql(region: tuple[Any, ...] | None) -> str:
    if region is None:
        return ""
    kind, *parts = region
    if kind == "polygon":
        rings = ", ".join(f"({_points([*ring, ring[0]])})" for ring in parts[0])
        return f"INSIDE POLYGON 'POLYGON ({rings})'"
    if kind == "corridor":
        lines = ", ".join(f"({_points(line)})" for line in parts[0])
        return f"INSIDE CORRIDOR 'MULTILINESTRING ({lines})' WITHIN {parts[1]!r}"
    moves = ["'M'"] if kind in ("mbox", "mcircle") else []
    values = ", ".join([*moves, *(constant_sql(part, False) for part in parts)])
    return f"INSIDE {'CIRCLE ' if kind in ('circle', 'mcircle') else ''}({values})"


def _points(points: list[tuple[float, float]]) -> str:
    return ", ".join(f"{x!r} {y!r}" for x, y in points)


def knn_sql(knn: tuple[Any, ...] | None) -> str:
    if knn is None:
        return ""
    kind, *parts = knn
    moves = ["'M'"] if kind == "mknn" else []
    return f"kNN ({', '.join([*moves, *(constant_sql(part, False) for part in parts)])})"


def life_sql(lifetime: int | None, until: int | None = None) -> str:
    """FOR INTERVAL and UNTIL of these microseconds."""
    length = "" if lifetime is None else f" FOR INTERVAL {lifetime} MICROSECONDS"
    if until is None:
        return length
    moment = datetime(1970, 1, 1) + timedelta(microseconds=until)
    return f"{length} UNTIL TIMESTAMP '{moment.isoformat(sep=' ')}'"
