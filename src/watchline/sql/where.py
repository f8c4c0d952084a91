"""A WHERE expression to disjunctive normal form, with its types checked.

NOT is pushed down to the comparisons first, which is sound in SQL's three-valued logic; then AND
multiplies and OR adds. Contradictory conjunctions vanish as they appear. Cost: the number of
conjunctions is bounded, and so is the work of multiplying (`MAX_WORK` atoms touched).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NoReturn

from sqlglot import exp

from watchline.errors import InvalidRange
from watchline.model import (
    INF,
    MAX_DOUBLE,
    SPEED,
    TRUE,
    Atom,
    Attribute,
    Condition,
    Conjunction,
    Corridor,
    Inside,
    IsNull,
    NoneOf,
    NotNull,
    OneOf,
    Polygon,
    Range,
    Type,
    compare,
    conjoin,
    conjunction,
    in_range,
    range_where,
)
from watchline.sql.constants import ARITHMETIC, Constant, Moment, Null, constant, moment
from watchline.sql.lengths import Surface, is_measure, speed
from watchline.sql.syntax import InsidePredicate, InsideSyntax, Place, place_of

MAX_CONJUNCTIONS = 1_000
# The catalog keeps every alternative with all of its regions.
MAX_CORNERS = 1_000_000
MAX_WORK = 1_000_000

_OPS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_NEGATED = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SWAPPED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_COMPUTE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Conjunctions = list[Conjunction]


class ConditionBinder:
    """Turns the conditions of one statement into DNF.

    `resolve` finds a column's attribute, `locate` makes the atom of a region, negated or not, and
    `surface` is what SPEED is measured on.
    """

    def __init__(
        self,
        resolve: Callable[[exp.Column], Attribute],
        locate: Callable[[InsideSyntax, bool], Inside],
        around: Place,
        surface: Surface,
    ):
        self._resolve = resolve
        self._locate = locate
        self._around = around
        self._surface = surface
        self._work = 0

    def bind(self, conditions: list[exp.Expr]) -> Condition:
        """All conditions together; refused if they can never hold."""
        result = self._all((self._dnf(node, negated=False) for node in conditions), conditions[0])
        if not result:
            self._refuse(conditions[0], "the condition can never be true: no row can satisfy it")
        corners = sum(map(_corners, result)) if len(result) > 1 else 0
        if corners > MAX_CORNERS:
            self._refuse(
                conditions[0],
                f"the regions of the condition have {corners:,} vertices once its ORs are"
                f" multiplied out; the limit is {MAX_CORNERS:,}: write a region that all"
                " alternatives share as the clause INSIDE after the condition, or split it into"
                " several queries",
            )
        return (TRUE,) if TRUE in result else tuple(result)

    # --- logic

    def _dnf(self, node: exp.Expr, negated: bool) -> Conjunctions:
        if isinstance(node, exp.Paren):
            return self._dnf(node.this, negated)
        if isinstance(node, exp.Not):
            return self._dnf(node.this, not negated)
        if isinstance(node, (exp.And, exp.Or)):
            terms = (self._dnf(term, negated) for term in _flat(node, type(node)))
            multiply = isinstance(node, exp.And) is not negated
            return self._all(terms, node) if multiply else self._any(terms, node)
        return self._predicate(node, negated)

    def _any(self, terms: Iterable[Conjunctions], node: exp.Expr) -> Conjunctions:
        result: dict[Conjunction, None] = {}
        for term in terms:
            result.update(dict.fromkeys(term))
            self._check_size(len(result), node)
        return list(result)

    def _all(self, terms: Iterable[Conjunctions], node: exp.Expr) -> Conjunctions:
        certain: list[Atom] = []
        choices = []
        for term in terms:
            if len(term) == 1:
                certain += term[0].atoms
            else:
                choices.append(term)
        # What holds in every alternative is merged once, not once per product.
        base = conjunction(certain)
        result: Conjunctions = [base] if base is not None else []
        for term in choices:
            sizes = [sum(len(c.atoms) + 1 for c in side) for side in (result, term)]
            self._work += sizes[0] * len(term) + sizes[1] * len(result)
            if self._work > MAX_WORK:
                self._too_large(node)
            both = (conjoin(a, b) for a in result for b in term)
            result = list(dict.fromkeys(c for c in both if c is not None))
            self._check_size(len(result), node)
        return result

    def _check_size(self, size: int, node: exp.Expr) -> None:
        if size > MAX_CONJUNCTIONS:
            self._too_large(node)

    def _too_large(self, node: exp.Expr) -> NoReturn:
        self._refuse(
            node,
            f"the condition has more than {MAX_CONJUNCTIONS:,} alternatives once its ORs are"
            " multiplied out: split it into several queries",
        )

    # --- predicates

    def _predicate(self, node: exp.Expr, negated: bool) -> Conjunctions:
        if type(node) in _OPS:
            op = _OPS[type(node)]
            return self._comparison(node, _NEGATED[op] if negated else op)
        if isinstance(node, exp.Between):
            return self._between(node, negated)
        if isinstance(node, exp.In):
            return self._in(node, negated)
        if isinstance(node, exp.Is):
            return self._is(node, negated)
        if isinstance(node, exp.Boolean):
            return [TRUE] if bool(node.this) is not negated else []
        if isinstance(node, InsidePredicate):
            return _atoms(self._locate(node.this, negated))
        if isinstance(node, exp.Column):
            attribute = self._resolve(node)
            if attribute.type is not Type.BOOLEAN:
                self._refuse(
                    node,
                    f"expected a condition such as {attribute!r} = …;"
                    f" {attribute.name!r} is {attribute.type.value}, not BOOLEAN",
                )
            return _atoms(OneOf(attribute, (not negated,)))
        self._refuse(
            node,
            "expected a condition of =, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, INSIDE, AND, OR,"
            " NOT;"
            f" {self._quoted(node)} is none",
        )

    def _comparison(self, node: exp.Expr, op: str) -> Conjunctions:
        left = self._operand(node.this, beside=node.expression)
        right = self._operand(node.expression, beside=node.this)
        if isinstance(left, Attribute) and isinstance(right, Attribute):
            return self._two_attributes(left, op, right, node)
        if isinstance(left, Attribute):
            assert not isinstance(right, Attribute)
            return self._with_constant(left, op, right, node)
        if isinstance(right, Attribute):
            return self._with_constant(right, _SWAPPED[op], left, node)
        return self._two_constants(left, op, right, node)

    def _between(self, node: exp.Between, negated: bool) -> Conjunctions:
        low = exp.GTE(this=node.this, expression=node.args["low"])
        high = exp.LTE(this=node.this, expression=node.args["high"])
        return self._dnf(exp.And(this=low, expression=high), negated)

    def _in(self, node: exp.In, negated: bool) -> Conjunctions:
        left = self._operand(node.this)
        if not isinstance(left, Attribute):
            self._refuse(node, "IN needs an attribute on its left")
        if not node.expressions:
            self._refuse(node, "IN takes a list of constants: x IN (1, 2, 3)")
        constants = [self._constant_only(value, beside=node.this) for value in node.expressions]
        if not left.type.ordered:
            values = tuple(sorted({self._member(left, c, node) for c in constants}))
            return _set(left, values, negated)
        ranges = [self._range(left, "=", c, node) for c in constants]
        points = sorted({r for r in ranges if r is not None}, key=lambda r: r.lo)
        chosen = _gaps(points) if negated else points
        self._check_size(len(chosen), node)
        return [c for r in chosen for c in _atoms(in_range(left, r))]

    def _is(self, node: exp.Is, negated: bool) -> Conjunctions:
        left = self._operand(node.this)
        if not isinstance(left, Attribute):
            self._refuse(node, "IS NULL needs an attribute on its left")
        if isinstance(node.expression, exp.Null):
            return _atoms(NotNull(left) if negated else IsNull(left))
        if isinstance(node.expression, exp.Boolean) and left.type is Type.BOOLEAN:
            value = bool(node.expression.this)
            if not negated:
                return _atoms(OneOf(left, (value,)))
            return [*_atoms(OneOf(left, (not value,))), *_atoms(IsNull(left))]
        self._refuse(node, "IS takes NULL, NOT NULL or, for BOOLEAN attributes, TRUE or FALSE")

    # --- comparisons by the kind of their sides

    def _two_attributes(
        self, left: Attribute, op: str, right: Attribute, node: exp.Expr
    ) -> Conjunctions:
        numbers = {Type.DOUBLE, Type.BIGINT}
        if left.type is not right.type and not {left.type, right.type} <= numbers:
            self._refuse(
                node,
                f"{left!r} is {left.type.value} and {right!r} is {right.type.value}:"
                " they cannot be compared",
            )
        if not left.type.ordered:
            self._check_equality_only(left, op, node)
        atom = compare(left, op, right)
        return _atoms(atom) if atom else []

    def _with_constant(
        self, attribute: Attribute, op: str, value: Constant, node: exp.Expr
    ) -> Conjunctions:
        if isinstance(value, Null):
            self._refuse(
                node,
                f"a comparison with NULL is never true: write {attribute!r} IS NULL or IS NOT NULL",
            )
        if not attribute.type.ordered:
            self._check_equality_only(attribute, op, node)
            return _set(attribute, (self._member(attribute, value, node),), op == "<>")
        if op == "<>":
            point = self._range(attribute, "=", value, node)
            gaps = _gaps([point] if point else [])
            return [c for r in gaps for c in _atoms(in_range(attribute, r))]
        found = self._range(attribute, op, value, node)
        return _atoms(in_range(attribute, found)) if found else []

    def _two_constants(self, a: Constant, op: str, b: Constant, node: exp.Expr) -> Conjunctions:
        if type(a) is not type(b) or isinstance(a, (Null, Moment)):
            self._refuse(node, "expected an attribute on one side of the comparison")
        return [TRUE] if _COMPUTE[op](a, b) else []  # type: ignore[arg-type]

    # --- operands

    def _operand(self, node: exp.Expr, beside: exp.Expr | None = None) -> Attribute | Constant:
        """An attribute or a constant; beside SPEED a constant may have a unit."""
        node = _without_parentheses(node)
        if isinstance(node, exp.Column):
            return self._resolve(node)
        if is_measure(node) and beside is not None:
            other = _without_parentheses(beside)
            if isinstance(other, exp.Column) and self._resolve(other) == SPEED:
                return Fraction(speed(node, self._around, self._surface))
        value = constant(node, self._around)
        if value is None:
            self._refuse_operand(node)
        return value

    def _constant_only(self, node: exp.Expr, beside: exp.Expr) -> Constant:
        value = self._operand(node, beside)
        if isinstance(value, Attribute):
            self._refuse(node, "IN takes constants: compare attributes with = and OR")
        return value

    def _refuse_operand(self, node: exp.Expr) -> NoReturn:
        if inside := node.find(InsidePredicate):
            self._refuse(inside, "INSIDE is no value: it is a condition, for AND, OR and NOT")
        if isinstance(node, (exp.Predicate, exp.Connector, exp.Not)):
            self._refuse(node, "comparisons do not chain: write x > 1 AND x < 5")
        if isinstance(node, (*ARITHMETIC, exp.Mod, exp.Neg)) and node.find(exp.Column):
            remedy = (
                "move the constants to the other side of the comparison"
                if _can_move_constants(node)
                else "compute it before Watchline, as a column that the stream declares"
            )
            self._refuse(node, f"arithmetic on attributes is not supported: {remedy}")
        self._refuse(node, f"expected an attribute or a constant; {self._quoted(node)} is neither")

    def _range(
        self, attribute: Attribute, op: str, value: Constant, node: exp.Expr
    ) -> Range | None:
        if attribute.type is Type.TIMESTAMP and isinstance(value, str):
            value = moment(value, self._place(node))
        wanted = Moment if attribute.type is Type.TIMESTAMP else Fraction
        if not isinstance(value, wanted):
            self._refuse_type(attribute, value, node)
        number = Fraction(value.micros) if isinstance(value, Moment) else value
        assert isinstance(number, Fraction)
        try:
            return range_where(op, number, attribute.type)
        except InvalidRange as error:
            self._refuse(node, str(error), error)

    def _member(self, attribute: Attribute, value: Constant, node: exp.Expr) -> str | bool:
        wanted = bool if attribute.type is Type.BOOLEAN else str
        if not isinstance(value, wanted):
            self._refuse_type(attribute, value, node)
        assert isinstance(value, (str, bool))
        return value

    def _refuse_type(self, attribute: Attribute, value: Constant, node: exp.Expr) -> NoReturn:
        expected = {
            Type.STRING: "a string in '…'",
            Type.BOOLEAN: "TRUE or FALSE",
            Type.TIMESTAMP: "a time such as TIMESTAMP '2026-03-01 12:30:00'",
        }.get(attribute.type, "a number")
        kinds = {Fraction: "a number", str: "a string", bool: "a boolean", Moment: "a time"}
        found = kinds.get(type(value), "NULL")
        self._refuse(
            node, f"{attribute!r} is {attribute.type.value}: expected {expected}, found {found}"
        )

    def _check_equality_only(self, attribute: Attribute, op: str, node: exp.Expr) -> None:
        if op not in ("=", "<>"):
            of = attribute.type.value
            self._refuse(node, f"{attribute!r} is {of}: it allows only =, <> or IN")

    def _refuse(self, node: exp.Expr, problem: str, cause: Exception | None = None) -> NoReturn:
        # Finding the place walks the expression: only now, when it is needed.
        self._place(node).refuse(problem, cause)

    def _quoted(self, node: exp.Expr) -> str:
        place = self._place(node)
        text = place.text[place.start : place.end]
        if isinstance(node, exp.Func):
            return f"the function {text.partition('(')[0].split()[0]}"
        return repr(text if len(text) <= 40 else text[:39] + "…")

    def _place(self, node: exp.Expr) -> Place:
        return place_of(node, self._around)


def _without_parentheses(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _can_move_constants(operand: exp.Expr) -> bool:
    """Whether a comparison can be written with its only attribute alone on one side.

    A sum, a difference and a product with constants can; nothing can be moved past a remainder or
    out of a divisor, and not to a side that has an attribute itself.
    """
    whole = operand
    while isinstance(whole.parent, (exp.Predicate, exp.Paren)) and whole.parent is not whole:
        whole = whole.parent
    columns = list(whole.find_all(exp.Column))
    if len(columns) != 1:
        return False
    node: exp.Expr = columns[0]
    while node is not operand and node.parent is not None:
        below, node = node, node.parent
        if not isinstance(node, (*ARITHMETIC, exp.Neg, exp.Paren)):
            return False
        if isinstance(node, exp.Div) and node.expression is below:
            return False
    return True


def _flat(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The terms of a chain of ANDs or ORs, which sqlglot nests to the left, without recursion."""
    terms: list[exp.Expr] = []
    stack = [node]
    while stack:
        top = stack.pop()
        if type(top) is kind:
            stack += (top.expression, top.this)
        else:
            terms.append(top)
    return terms


def _corners(alternative: Conjunction) -> int:
    """The vertices of all polygons and corridors of a conjunction."""
    regions = (atom.region for atom in alternative.atoms if isinstance(atom, Inside))
    return sum(r.vertices for r in regions if isinstance(r, (Polygon, Corridor)))


def _atoms(atom: Atom) -> Conjunctions:
    return [Conjunction((atom,))]


def _set(attribute: Attribute, values: tuple[str | bool, ...], negated: bool) -> Conjunctions:
    if attribute.type is Type.BOOLEAN:
        kept = tuple(v for v in (False, True) if (v in values) is not negated)
        return _atoms(OneOf(attribute, kept)) if kept else []
    return _atoms(NoneOf(attribute, values) if negated else OneOf(attribute, values))


def _gaps(points: list[Range]) -> list[Range]:
    """What is left of the line between sorted, disjoint ranges; below -MAX_DOUBLE is nothing."""
    starts = [-INF, *(p.hi for p in points)]
    ends = [*(p.lo for p in points), INF]
    pairs = zip(starts, ends, strict=True)
    return [Range(lo, hi) for lo, hi in pairs if lo < hi and hi > -MAX_DOUBLE]
