"""`SHOW QUERIES WHERE …`: which queries a condition over their ids, streams and properties chooses.

The condition reads `id`, `stream`, `emit` and `properties.name`, also of objects within objects:
`properties.owner.city`. It has the three-valued logic of WHERE. Properties have no declared types:
a property that is missing, or is of another type than the constant beside it, counts as NULL.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from sqlglot import exp

from watchline.model import Emit
from watchline.names import listing
from watchline.sql.constants import Moment, Null, constant
from watchline.sql.syntax import TOO_DEEP, Place, place_of

COLUMNS = ("id", "stream", "emit", "properties")

# What a filter knows of a query: its columns. `stream` is a tuple of all streams that it reads.
Record = Mapping[str, Any]
_Predicate = Callable[[Record], "bool | None"]
_Value = Callable[[Record], Any]

_COMPARE: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


@dataclass(frozen=True)
class QueryFilter:
    """A condition over queries; two of the same text are equal."""

    text: str
    _holds: _Predicate = field(compare=False, repr=False)

    def holds(self, record: Record) -> bool:
        """Whether the condition is true of a query, which a record describes."""
        return self._holds(record) is True


def query_filter(condition: exp.Expr | None, place: Place) -> QueryFilter | None:
    """The filter that a condition is; None for none. Mistakes are refused at their place."""
    if condition is None:
        return None
    where = place_of(condition, place)
    try:
        return QueryFilter(where.text[where.start : where.end], _Binder(place).predicate(condition))
    except RecursionError:
        place.refuse(TOO_DEEP)


class _Binder:
    """Turns one condition into functions of a record."""

    def __init__(self, place: Place):
        self._place = place

    def _refuse(self, node: exp.Expr, problem: str) -> NoReturn:
        place_of(node, self._place).refuse(problem)

    def predicate(self, node: exp.Expr) -> _Predicate:
        if isinstance(node, exp.Paren):
            return self.predicate(node.this)
        if isinstance(node, exp.Not):
            return _negated(self.predicate(node.this))
        if isinstance(node, (exp.And, exp.Or)):
            terms = [self.predicate(term) for term in node.flatten()]
            return _joined(terms, ends_with=isinstance(node, exp.Or))
        if type(node) in _COMPARE:
            compare = _COMPARE[type(node)]
            return _compared(compare, *self._operands(node.this, node.expression))
        if isinstance(node, exp.Between):
            value, low = self._operands(node.this, node.args["low"])
            high = self._operands(node.this, node.args["high"])[1]
            ends = [_compared(operator.ge, value, low), _compared(operator.le, value, high)]
            return _joined(ends, ends_with=False)
        if isinstance(node, exp.In):
            pairs = [self._operands(node.this, value) for value in node.expressions]
            if not pairs:
                self._refuse(node, "IN takes constants: properties.kind IN ('school', 'park')")
            return _joined([_compared(operator.eq, *pair) for pair in pairs], ends_with=True)
        if isinstance(node, exp.Is):
            return self._is(node)
        if isinstance(node, exp.Like):
            like = self._like(node)
            return _negated(like) if node.args.get("negate") else like
        if isinstance(node, exp.Column):
            column = self._column(node)
            return lambda record: _truth(column(record))
        self._refuse(node, "expected a condition over queries, such as properties.kind = 'school'")

    def _is(self, node: exp.Is) -> _Predicate:
        value = self._operand(node.this)
        wanted = constant(node.expression, self._place)
        if isinstance(wanted, Null):
            return lambda record: value(record) is None
        if not isinstance(wanted, bool):
            self._refuse(node, "IS takes NULL, TRUE or FALSE")
        return lambda record: _truth(value(record)) is wanted

    def _like(self, node: exp.Like) -> _Predicate:
        value, pattern = self._operand(node.this), constant(node.expression, self._place)
        if not isinstance(pattern, str):
            self._refuse(
                node, "LIKE takes a string, in which % stands for any text, _ for a letter"
            )
        words = {"%": ".*", "_": "."}
        like = re.compile("".join(words.get(c, re.escape(c)) for c in pattern), re.DOTALL)
        return _compared(lambda text, _: bool(like.fullmatch(text)), value, lambda record: "")

    def _operands(self, left: exp.Expr, right: exp.Expr) -> tuple[_Value, _Value]:
        found = self._operand(left, right), self._operand(right, left)
        if all(not isinstance(_bare(side), exp.Column) for side in (left, right)):
            self._refuse(left, f"compare a query's {listing(COLUMNS)} with something")
        return found

    def _operand(self, node: exp.Expr, beside: exp.Expr | None = None) -> _Value:
        node = _bare(node)
        if isinstance(node, exp.Column):
            return self._column(node)
        value = constant(node, self._place)
        if value is None or isinstance(value, Moment):
            self._refuse(node, "expected a string, a number, TRUE, FALSE or NULL")
        if isinstance(beside, exp.Expr) and _is_emit(_bare(beside)):
            value = self._emitted(node, value)
        plain = None if isinstance(value, Null) else value
        return lambda record: plain

    def _emitted(self, node: exp.Expr, value: Any) -> Any:
        words = [emit.value for emit in Emit]
        if not isinstance(value, str) or value.upper() not in words:
            self._refuse(node, f"emit is {listing(map(repr, words))}")
        return value.upper()

    def _column(self, node: exp.Column) -> _Value:
        first, *path = [part.name for part in node.parts]
        if first not in COLUMNS:
            self._refuse(node, f"a query has {listing(COLUMNS)}, and no {first!r}")
        if (first == "properties") is not bool(path):
            name = "properties.kind" if not path else first
            self._refuse(node, f"expected a property or a plain column, such as {name}")
        return lambda record: _inside(record.get(first), path)


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _is_emit(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and [part.name for part in node.parts] == ["emit"]


def _inside(value: Any, path: list[str]) -> Any:
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _negated(term: _Predicate) -> _Predicate:
    def holds(record: Record) -> bool | None:
        value = term(record)
        return None if value is None else not value

    return holds


def _joined(terms: list[_Predicate], ends_with: bool) -> _Predicate:
    """OR if a single True decides, AND if a single False does."""

    def holds(record: Record) -> bool | None:
        result: bool | None = not ends_with
        for term in terms:
            value = term(record)
            if value is ends_with:
                return ends_with
            result = None if value is None else result
        return result

    return holds


def _compared(compare: Callable[[Any, Any], bool], left: _Value, right: _Value) -> _Predicate:
    def holds(record: Record) -> bool | None:
        firsts, seconds = _several(left(record)), _several(right(record))
        if any(_kind(a) != _kind(b) or not _kind(a) for a in firsts for b in seconds):
            return None
        of = all if compare is operator.ne else any
        return of(compare(a, b) for a in firsts for b in seconds)

    return holds


def _several(value: Any) -> tuple[Any, ...]:
    """A join reads several streams; any other value is one."""
    return value if isinstance(value, tuple) else (value,)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float, Fraction)):
        return "number"
    return "string" if isinstance(value, str) else ""
